/* SPDX-License-Identifier: Apache-2.0 */
#include "args.h"

#include <stdlib.h>
#include <string.h>

#include <crawlarchive/config.h>

/* An option as it stands on the line. Which row of the table it is, is known once the command is: one name may
 * stand in several rows, which agree on whether an argument follows. */
typedef struct token {
    const char *name; /* as written, without dashes; borrowed from argv */
    size_t length;
    char letter;       /* of a short option, else 0 */
    const char *value; /* NULL where there is none */
} token;

typedef struct line {
    token *options;
    size_t options_count;
    const char **words;
    size_t words_count;
} line;

static bool token_is(const token *given, const cra_cli_option *option)
{
    if (given->letter != 0)
        return given->letter == option->short_name;
    return strlen(option->name) == given->length && memcmp(option->name, given->name, given->length) == 0;
}

static const cra_cli_option *any_row(const token *given)
{
    for (size_t i = 0; i < CRA_CLI_OPTION_END; i++)
        if (token_is(given, &cra_cli_options[i]))
            return &cra_cli_options[i];
    return NULL;
}

static cra_status need_value(token *given, int argc, char **argv, int *at, cra_error *err)
{
    const cra_cli_option *row = any_row(given);
    if (!row || !row->argument || given->value)
        return CRA_OK;
    if (*at + 1 >= argc)
        return cra_error_set(err, CRA_INVALID, "usage", "option --%s needs %s", row->name, row->argument);
    given->value = argv[++*at];
    return CRA_OK;
}

static cra_status read_long(line *out, int argc, char **argv, int *at, cra_error *err)
{
    token *given = &out->options[out->options_count++];
    given->name = argv[*at] + 2;
    given->length = strcspn(given->name, "=");
    given->value = given->name[given->length] == '=' ? given->name + given->length + 1 : NULL;
    return need_value(given, argc, argv, at, err);
}

static cra_status read_short(line *out, int argc, char **argv, int *at, cra_error *err)
{
    for (const char *letter = argv[*at] + 1; *letter != '\0'; letter++) {
        token *given = &out->options[out->options_count++];
        given->name = letter;
        given->length = 1;
        given->letter = *letter;
        const cra_cli_option *row = any_row(given);
        if (row && row->argument) {
            if (letter[1] != '\0')
                given->value = letter + 1 + (letter[1] == '=');
            return need_value(given, argc, argv, at, err);
        }
    }
    return CRA_OK;
}

static cra_status split(int argc, char **argv, line *out, cra_error *err)
{
    size_t most = 1;
    for (int i = 1; i < argc; i++)
        most += strlen(argv[i]) + 1;
    out->options = calloc(most, sizeof *out->options);
    out->words = calloc((size_t)argc + 1, sizeof *out->words);
    if (!out->options || !out->words)
        return cra_error_set(err, CRA_NOMEM, "usage", "out of memory");
    bool only_words = false;
    for (int i = 1; i < argc; i++) {
        const char *text = argv[i];
        cra_status status = CRA_OK;
        if (only_words || text[0] != '-' || text[1] == '\0')
            out->words[out->words_count++] = text;
        else if (strcmp(text, "--") == 0)
            only_words = true;
        else if (text[1] == '-')
            status = read_long(out, argc, argv, &i, err);
        else
            status = read_short(out, argc, argv, &i, err);
        if (status != CRA_OK)
            return status;
    }
    return CRA_OK;
}

/* ---- command --------------------------------------------------------------------------------- */

/* Number of words of a command's name that `words` begin with: all of them, or 0. */
static size_t command_words(const cra_cli_command *command, const char *const *words, size_t count)
{
    const char *space = strchr(command->name, ' ');
    if (!space)
        return count >= 1 && strcmp(words[0], command->name) == 0 ? 1 : 0;
    size_t length = (size_t)(space - command->name);
    bool same = count >= 2 && strlen(words[0]) == length && strncmp(words[0], command->name, length) == 0 &&
                strcmp(words[1], space + 1) == 0;
    return same ? 2 : 0;
}

/* The words that may stand first (`family` NULL), or second behind `family`. */
static size_t candidates(const char *family, const char **words, char (*room)[24])
{
    size_t count = 0;
    for (size_t i = 0; i < CRA_CLI_COMMAND_END; i++) {
        const char *name = cra_cli_commands[i].name;
        size_t first = strcspn(name, " ");
        if (!family) {
            memcpy(room[count], name, first);
            room[count][first] = '\0';
            if (count > 0 && strcmp(room[count - 1], room[count]) == 0)
                continue;
            words[count] = room[count];
            count++;
        } else if (name[first] == ' ' && strlen(family) == first && strncmp(name, family, first) == 0) {
            words[count++] = name + first + 1;
        }
    }
    return count;
}

static cra_status unknown_command(const char *const *words, size_t count, cra_error *err)
{
    const char *names[CRA_CLI_COMMAND_END];
    char room[CRA_CLI_COMMAND_END][24];
    size_t second = candidates(words[0], names, room);
    if (second > 0) {
        char list[128] = "";
        for (size_t i = 0; i < second; i++) {
            strncat(list, i > 0 ? ", " : "", sizeof list - strlen(list) - 1);
            strncat(list, names[i], sizeof list - strlen(list) - 1);
        }
        const char *near = count > 1 ? cra_cli_nearest(words[1], names, second) : NULL;
        if (count > 1)
            cra_error_set(err, CRA_INVALID, "usage", "no command '%s %s'; there is: %s", words[0], words[1], list);
        else
            cra_error_set(err, CRA_INVALID, "usage", "'%s' needs one of: %s", words[0], list);
        if (near)
            cra_error_hint(err, "did you mean '%s %s'?", words[0], near);
        return CRA_INVALID;
    }
    const char *near = cra_cli_nearest(words[0], names, candidates(NULL, names, room));
    cra_error_set(err, CRA_INVALID, "usage", "no command '%s'", words[0]);
    if (near)
        cra_error_hint(err, "did you mean '%s'?", near);
    else
        cra_error_hint(err, "'crawlarchive --help' lists the commands");
    return CRA_INVALID;
}

/* "help COMMAND" is "COMMAND --help", as elsewhere. */
static void take_help_word(line *given, cra_cli_args *out)
{
    if (given->words_count > 0 && strcmp(given->words[0], "help") == 0) {
        out->help = true;
        given->words_count--;
        memmove(given->words, given->words + 1, given->words_count * sizeof *given->words);
    }
}

static cra_status find_command(line *given, cra_cli_args *out, cra_error *err)
{
    take_help_word(given, out);
    if (given->words_count == 0) {
        out->overview = true;
        return CRA_OK;
    }
    for (size_t i = 0; i < CRA_CLI_COMMAND_END; i++) {
        size_t used = command_words(&cra_cli_commands[i], given->words, given->words_count);
        if (used > 0) {
            out->command = (cra_cli_command_id)i;
            out->count = given->words_count - used;
            memmove(given->words, given->words + used, out->count * sizeof *given->words);
            out->arguments = given->words;
            given->words = NULL;
            return CRA_OK;
        }
    }
    return unknown_command(given->words, given->words_count, err);
}

/* ---- values ---------------------------------------------------------------------------------- */

static cra_status read_count(const cra_cli_option *row, const char *text, int64_t *out, cra_error *err)
{
    char *end = NULL;
    long long number = strtoll(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || number == 0 || number > INT64_C(1000000000000000))
        return cra_error_set(err, CRA_INVALID, "usage", "option --%s: '%s' is no whole number above 0", row->name,
                             text);
    *out = number;
    return CRA_OK;
}

static cra_status read_percent(const cra_cli_option *row, const char *text, double *out, cra_error *err)
{
    char *end = NULL;
    double percent = strtod(text, &end);
    if (*text < '0' || *text > '9' || (*end != '\0' && strcmp(end, "%") != 0) || !(percent <= 100.0))
        return cra_error_set(err, CRA_INVALID, "usage", "option --%s: '%s' is no percentage such as 50%%", row->name,
                             text);
    *out = percent / 100.0;
    return CRA_OK;
}

static cra_status read_choice(const cra_cli_option *row, const char *text, cra_cli_value *out, cra_error *err)
{
    char room[16][24];
    const char *words[16];
    size_t count = 0;
    bool takes = false;
    for (; count < 16 && cra_cli_choice_at(row->choices, count, room[count], sizeof room[count], &takes); count++) {
        size_t length = strlen(room[count]);
        words[count] = room[count];
        if (!takes && strcmp(text, room[count]) == 0) {
            out->number = (int64_t)count;
            return CRA_OK;
        }
        if (takes && strncmp(text, room[count], length) == 0 && text[length] == '=' && text[length + 1] != '\0') {
            out->number = (int64_t)count;
            out->text = text + length + 1;
            return CRA_OK;
        }
    }
    cra_error_set(err, CRA_INVALID, "usage", "option --%s: '%s' is none of %s", row->name, text, row->choices);
    const char *near = cra_cli_nearest(text, words, count);
    if (near)
        cra_error_hint(err, "did you mean '%s'?", near);
    return CRA_INVALID;
}

static cra_status append_list(cra_cli_value *value, const char *text, cra_error *err)
{
    const char **grown = realloc(value->list, (value->times + 1) * sizeof *grown);
    if (!grown)
        return cra_error_set(err, CRA_NOMEM, "usage", "out of memory");
    value->list = grown;
    value->list[value->times] = text;
    return CRA_OK;
}

/* The library's parsers know the units; the option's name is ours to add. */
static cra_status name_option(cra_status status, const cra_cli_option *row, const cra_error *cause, cra_error *err)
{
    if (status == CRA_OK)
        return CRA_OK;
    return cra_error_set(err, CRA_INVALID, "usage", "option --%s: %.400s", row->name, cause->message);
}

static cra_status store(const cra_cli_option *row, const char *text, cra_cli_value *value, cra_error *err)
{
    cra_status status = CRA_OK;
    cra_error cause = {0};
    value->text = text;
    switch (row->kind) {
    case CRA_CLI_FLAG:
    case CRA_CLI_TEXT:
        break;
    case CRA_CLI_LIST:
        status = append_list(value, text, err);
        break;
    case CRA_CLI_COUNT:
        status = read_count(row, text, &value->number, err);
        break;
    case CRA_CLI_SIZE:
        status = name_option(cra_size_parse(text, &value->number, &cause), row, &cause, err);
        break;
    case CRA_CLI_DURATION:
        status = name_option(cra_duration_parse(text, &value->number, &cause), row, &cause, err);
        break;
    case CRA_CLI_TIME:
        status = name_option(cra_time_parse(text, &value->number, &cause), row, &cause, err);
        break;
    case CRA_CLI_PERCENT:
        status = read_percent(row, text, &value->share, err);
        break;
    case CRA_CLI_ENUM:
        status = read_choice(row, text, value, err);
        break;
    }
    if (status == CRA_OK)
        value->times++;
    return status;
}

/* Whether a row of the table belongs to what is asked: to its command, or to all where there is none. */
static bool row_applies(size_t row, const cra_cli_args *args)
{
    const cra_cli_option *option = &cra_cli_options[row];
    return args->command == CRA_CLI_COMMAND_END ? cra_cli_option_is_global(option)
                                                : cra_cli_option_applies(option, args->command);
}

static cra_status unknown_option(const token *given, const cra_cli_args *args, cra_error *err)
{
    const char *names[CRA_CLI_OPTION_END];
    size_t count = 0;
    for (size_t i = 0; i < CRA_CLI_OPTION_END; i++)
        if (row_applies(i, args))
            names[count++] = cra_cli_options[i].name;
    bool no_command = args->command == CRA_CLI_COMMAND_END;
    const char *command = no_command ? "there is" : cra_cli_commands[args->command].name;
    char name[64];
    size_t length = given->length < sizeof name ? given->length : sizeof name - 1;
    memcpy(name, given->name, length);
    name[length] = '\0';
    const char *near = given->letter != 0 ? NULL : cra_cli_nearest(name, names, count);
    cra_error_set(err, CRA_INVALID, "usage", "%s%s no option %s%s", command, no_command ? "" : " has",
                  given->letter != 0 ? "-" : "--", name);
    if (near)
        cra_error_hint(err, "did you mean --%s?", near);
    else if (no_command)
        cra_error_hint(err, "'crawlarchive --help' lists the options");
    else
        cra_error_hint(err, "'crawlarchive %s --help' lists its options", command);
    return CRA_INVALID;
}

/* An option that no command has: its argument may have been taken for the command, so that it is told first. */
static cra_status check_names(const line *given, const cra_cli_args *args, cra_status status, cra_error *err)
{
    for (size_t i = 0; i < given->options_count; i++)
        if (!any_row(&given->options[i]))
            return unknown_option(&given->options[i], args, err);
    return status;
}

static cra_status apply(const line *given, cra_cli_args *out, cra_error *err)
{
    for (size_t i = 0; i < given->options_count; i++) {
        const token *option = &given->options[i];
        size_t row = 0;
        while (row < CRA_CLI_OPTION_END && !(token_is(option, &cra_cli_options[row]) && row_applies(row, out)))
            row++;
        if (row == CRA_CLI_OPTION_END)
            return unknown_option(option, out, err);
        if (!cra_cli_options[row].argument && option->value)
            return cra_error_set(err, CRA_INVALID, "usage", "option --%s takes no value", cra_cli_options[row].name);
        cra_status status = store(&cra_cli_options[row], option->value, &out->values[row], err);
        if (status != CRA_OK)
            return status;
    }
    return CRA_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void look_for_json(const line *given, cra_cli_args *out)
{
    for (size_t i = 0; i < given->options_count; i++)
        if (given->options[i].value && token_is(&given->options[i], &cra_cli_options[CRA_CLI_OPTION_OUTPUT]))
            out->json = strcmp(given->options[i].value, "json") == 0;
}

static cra_status check_count(const cra_cli_args *args, cra_error *err)
{
    const cra_cli_command *command = &cra_cli_commands[args->command];
    bool extra = command->most >= 0 && args->count > (size_t)command->most;
    if (!extra && args->count >= (size_t)command->least)
        return CRA_OK;
    if (extra)
        cra_error_set(err, CRA_INVALID, "usage", "'%s' is one argument too many for %s", args->arguments[command->most],
                      command->name);
    else
        cra_error_set(err, CRA_INVALID, "usage", "%s needs %s", command->name, command->arguments);
    cra_error_hint(err, "'crawlarchive %s --help' tells more", command->name);
    return CRA_INVALID;
}

cra_status cra_cli_args_parse(int argc, char **argv, cra_cli_args *out, cra_error *err)
{
    line given = {0};
    memset(out, 0, sizeof *out);
    out->command = CRA_CLI_COMMAND_END;
    cra_status status = split(argc, argv, &given, err);
    if (given.options)
        look_for_json(&given, out);
    if (status == CRA_OK)
        status = check_names(&given, out, find_command(&given, out, err), err);
    if (status == CRA_OK)
        status = apply(&given, out, err);
    if (status == CRA_OK) {
        out->help = out->help || cra_cli_given(out, CRA_CLI_OPTION_HELP);
        out->version = cra_cli_given(out, CRA_CLI_OPTION_VERSION);
        if (!out->help && !out->version && !out->overview)
            status = check_count(out, err);
    }
    free(given.options);
    free(given.words);
    return status;
}

void cra_cli_args_cleanup(cra_cli_args *args)
{
    free(args->arguments);
    for (size_t i = 0; i < CRA_CLI_OPTION_END; i++)
        free(args->values[i].list);
    memset(args, 0, sizeof *args);
}

bool cra_cli_given(const cra_cli_args *args, cra_cli_option_id option)
{
    return args->values[option].times > 0;
}

int64_t cra_cli_number(const cra_cli_args *args, cra_cli_option_id option, int64_t fallback)
{
    return args->values[option].times > 0 ? args->values[option].number : fallback;
}

const char *cra_cli_text(const cra_cli_args *args, cra_cli_option_id option)
{
    return args->values[option].times > 0 ? args->values[option].text : NULL;
}
