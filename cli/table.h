/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CLI_TABLE_H
#define CRA_CLI_TABLE_H

/* The command line as data, made from options.def. Immutable. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum cra_cli_group {
    CRA_CLI_GROUP_START,
    CRA_CLI_GROUP_RECORDS,
    CRA_CLI_GROUP_RUNS,
    CRA_CLI_GROUP_ARCHIVE,
    CRA_CLI_GROUP_INDEXES,
    CRA_CLI_GROUP_LOOK,
    CRA_CLI_GROUP_END
} cra_cli_group;

typedef enum cra_cli_kind {
    CRA_CLI_FLAG,
    CRA_CLI_TEXT,
    CRA_CLI_LIST,
    CRA_CLI_COUNT,
    CRA_CLI_SIZE,
    CRA_CLI_DURATION,
    CRA_CLI_TIME,
    CRA_CLI_PERCENT,
    CRA_CLI_ENUM
} cra_cli_kind;

typedef enum cra_cli_command_id {
#define COMMAND(id, ...) CRA_CLI_COMMAND_##id,
#include "options.def"
#undef COMMAND
    CRA_CLI_COMMAND_END
} cra_cli_command_id;

typedef enum cra_cli_option_id {
#define OPTION(id, ...) CRA_CLI_OPTION_##id,
#include "options.def"
#undef OPTION
    CRA_CLI_OPTION_END
} cra_cli_option_id;

typedef struct cra_cli_command {
    const char *name;
    cra_cli_group group;
    int least;
    int most;
    const char *arguments;
    const char *summary;
    const char *description;
    const char *json;
    const char *examples[4]; /* command, what it does, twice */
    const char *exit_codes;
} cra_cli_command;

typedef struct cra_cli_option {
    const char *name;
    char short_name;      /* 0 where there is none */
    const char *argument; /* NULL: a flag */
    cra_cli_kind kind;
    const char *choices; /* "a|b|c", ENUM only */
    const char *default_text;
    const char *help;
    uint64_t commands; /* bit 1 << cra_cli_command_id */
} cra_cli_option;

extern const cra_cli_command cra_cli_commands[CRA_CLI_COMMAND_END];
extern const cra_cli_option cra_cli_options[CRA_CLI_OPTION_END];
extern const char *const cra_cli_group_titles[CRA_CLI_GROUP_END];

bool cra_cli_option_is_global(const cra_cli_option *option);
bool cra_cli_option_applies(const cra_cli_option *option, cra_cli_command_id command);
/* What an exit code means; NULL for one that is not ours. */
const char *cra_cli_exit_code_text(int code);
/* The `index`-th choice of "a|b|c=ARG": its word without the argument. false past the end. */
bool cra_cli_choice_at(const char *choices, size_t index, char *word, size_t size, bool *has_argument);
/* The nearest of `words[count]` to a misspelt one, or NULL where none is near. */
const char *cra_cli_nearest(const char *text, const char *const *words, size_t count);

/* Print the overview of commands, or the help of one command. */
void cra_cli_help_overview(FILE *out);
void cra_cli_help_command(FILE *out, cra_cli_command_id command);
/* Print a completion script. false where the shell is none of bash, zsh, fish. */
bool cra_cli_completion(FILE *out, const char *shell);

#endif
