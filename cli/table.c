/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#define EVERY UINT64_MAX
#define ON(id) (UINT64_C(1) << CRA_CLI_COMMAND_##id)

_Static_assert(CRA_CLI_COMMAND_END < 64, "the set of commands of an option is a word");

const cra_cli_command cra_cli_commands[CRA_CLI_COMMAND_END] = {
#define COMMAND(id, function, name, group, least, most, arguments, summary, description, json, e1, h1, e2, h2, codes)  \
    {name, CRA_CLI_GROUP_##group, least, most, arguments, summary, description, json, {e1, h1, e2, h2}, codes},
#include "options.def"
#undef COMMAND
};

const cra_cli_option cra_cli_options[CRA_CLI_OPTION_END] = {
#define OPTION(id, name, short_name, argument, kind, choices, default_text, help, commands)                            \
    {name, short_name, argument, CRA_CLI_##kind, choices, default_text, help, commands},
#include "options.def"
#undef OPTION
};

const char *const cra_cli_group_titles[CRA_CLI_GROUP_END] = {
    "Getting started", "Records in and out", "Runs and their dates", "Archive, sweep, restore",
    "Indexes",         "Looking around",
};

static const struct {
    int code;
    const char *text;
} exit_codes[] = {
    {0, "done"},
    {1, "failed"},
    {2, "usage or configuration"},
    {3, "partly failed"},
    {4, "no (sync-needed only)"},
    {10, "not found"},
    {11, "locked by another worker"},
    {12, "denied"},
    {13, "corrupt"},
    {14, "unavailable, try again"},
    {130, "interrupted by INT after a clean checkpoint; 143: by TERM"},
};

bool cra_cli_option_is_global(const cra_cli_option *option)
{
    return option->commands == EVERY;
}

bool cra_cli_option_applies(const cra_cli_option *option, cra_cli_command_id command)
{
    return (option->commands & (UINT64_C(1) << command)) != 0;
}

const char *cra_cli_exit_code_text(int code)
{
    for (size_t i = 0; i < sizeof exit_codes / sizeof exit_codes[0]; i++)
        if (exit_codes[i].code == code)
            return exit_codes[i].text;
    return NULL;
}

bool cra_cli_choice_at(const char *choices, size_t index, char *word, size_t size, bool *has_argument)
{
    for (; index > 0; index--) {
        choices = strchr(choices, '|');
        if (!choices)
            return false;
        choices++;
    }
    size_t length = strcspn(choices, "|");
    size_t name = strcspn(choices, "=|");
    *has_argument = name < length;
    if (name >= size)
        return false;
    memcpy(word, choices, name);
    word[name] = '\0';
    return true;
}

#define LONGEST_WORD 31

/* Edits (insert, delete, replace, swap of neighbours) between two words of at most LONGEST_WORD bytes. */
static size_t edits(const char *a, const char *b)
{
    size_t rows[3][LONGEST_WORD + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    size_t width = strlen(b);
    if (strlen(a) > LONGEST_WORD || width > LONGEST_WORD)
        return SIZE_MAX;
    for (size_t j = 0; j <= width; j++)
        above[j] = j;
    memcpy(before, above, sizeof rows[0]);
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        size_t *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[width];
}

const char *cra_cli_nearest(const char *text, const char *const *words, size_t count)
{
    const char *best = NULL;
    size_t length = strlen(text);
    size_t least = length < 3 ? 2 : length / 3 + 2; /* exclusive: a longer word may have more slips */
    for (size_t i = 0; i < count; i++) {
        size_t distance = edits(text, words[i]);
        if (distance < least) {
            least = distance;
            best = words[i];
        }
    }
    /* Else a word that was begun, or one that another tool calls by a longer name. */
    for (size_t i = 0; !best && length >= 3 && i < count; i++)
        if (strncmp(words[i], text, length) == 0)
            best = words[i];
    return best;
}
