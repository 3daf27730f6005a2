/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CLI_ARGS_H
#define CRA_CLI_ARGS_H

/* The command line of one invocation, parsed against the table. */

#include <crawlarchive/error.h>

#include "table.h"

typedef struct cra_cli_value {
    size_t times;      /* how often it was given; 0: not at all */
    const char *text;  /* as given (last one wins); of a choice with an argument: that argument */
    int64_t number;    /* COUNT, SIZE (bytes), DURATION (ms), TIME, ENUM (index of the choice) */
    double share;      /* PERCENT: 0 to 1 */
    const char **list; /* LIST: `times` texts */
} cra_cli_value;

typedef struct cra_cli_args {
    bool overview; /* no command: print the commands */
    bool help;
    bool version;
    bool json;                  /* also set where parsing failed, so that the error takes the right form */
    cra_cli_command_id command; /* CRA_CLI_COMMAND_END where there is none */
    const char **arguments;     /* borrowed texts of argv */
    size_t count;
    cra_cli_value values[CRA_CLI_OPTION_END];
} cra_cli_args;

/* Parse; options may stand anywhere, "--" ends them. `out` must be cleaned up on failure, too.
 * Errors: CRA_INVALID naming the word and the nearest right one, CRA_NOMEM. */
cra_status cra_cli_args_parse(int argc, char **argv, cra_cli_args *out, cra_error *err);
void cra_cli_args_cleanup(cra_cli_args *args);

/* Whether an option was given. */
bool cra_cli_given(const cra_cli_args *args, cra_cli_option_id option);
/* Its number, else `fallback`. */
int64_t cra_cli_number(const cra_cli_args *args, cra_cli_option_id option, int64_t fallback);
/* Its text, else NULL. */
const char *cra_cli_text(const cra_cli_args *args, cra_cli_option_id option);

#endif
