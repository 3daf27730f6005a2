/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 80

/* Words of `text` in lines of WIDTH, behind `indent` spaces; `column` is where the cursor stands. */
static void print_wrapped(FILE *out, const char *text, int indent, int column)
{
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_option(FILE *out, const cra_cli_option *option)
{
    const char *argument = option->argument ? option->argument : "";
    char letter[8] = "    ";
    if (option->short_name != 0)
        snprintf(letter, sizeof letter, "-%c, ", option->short_name);
    int column = fprintf(out, "  %s--%s%s%s", letter, option->name, option->argument ? " " : "", argument);
    const int indent = 30;
    if (column > indent - 2) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", indent - column, "");
    char text[512];
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s", option->help, option->choices ? " [" : "",
             option->choices ? option->choices : "", option->choices ? "]" : "",
             option->default_text ? " (default: " : "", option->default_text ? option->default_text : "",
             option->default_text ? ")" : "");
    print_wrapped(out, text, indent, indent);
}

static void print_options(FILE *out, cra_cli_command_id command, bool global)
{
    for (size_t i = 0; i < CRA_CLI_OPTION_END; i++) {
        const cra_cli_option *option = &cra_cli_options[i];
        if (cra_cli_option_is_global(option) == global && (global || cra_cli_option_applies(option, command)))
            print_option(out, option);
    }
}

void cra_cli_help_overview(FILE *out)
{
    fputs("crawlarchive archives crawl runs as Avro, sweeps them from the hot store on a\n"
          "schedule that reflects why they ended, and restores them on demand.\n\n"
          "Usage: crawlarchive [GLOBAL OPTIONS] COMMAND [OPTIONS] [ARGUMENTS]\n",
          out);
    for (int group = 0; group < CRA_CLI_GROUP_END; group++) {
        fprintf(out, "\n%s\n", cra_cli_group_titles[group]);
        for (size_t i = 0; i < CRA_CLI_COMMAND_END; i++)
            if ((int)cra_cli_commands[i].group == group)
                fprintf(out, "  %-18s %s\n", cra_cli_commands[i].name, cra_cli_commands[i].summary);
    }
    fputs("\nGlobal options, before or after the command\n", out);
    print_options(out, CRA_CLI_COMMAND_END, true);
    fputs("\n'crawlarchive COMMAND --help' tells more about one command.\n"
          "Without a configuration, begin with 'crawlarchive init'.\n",
          out);
}

static bool has_options(cra_cli_command_id command)
{
    for (size_t i = 0; i < CRA_CLI_OPTION_END; i++)
        if (!cra_cli_option_is_global(&cra_cli_options[i]) && cra_cli_option_applies(&cra_cli_options[i], command))
            return true;
    return false;
}

void cra_cli_help_command(FILE *out, cra_cli_command_id command)
{
    const cra_cli_command *row = &cra_cli_commands[command];
    fprintf(out, "crawlarchive %s - %s\n\nUsage: crawlarchive %s%s%s%s\n\n", row->name, row->summary, row->name,
            has_options(command) ? " [OPTIONS]" : "", row->arguments[0] != '\0' ? " " : "", row->arguments);
    print_wrapped(out, row->description, 0, 0);
    if (has_options(command)) {
        fputs("\nOptions\n", out);
        print_options(out, command, false);
    }
    fputs("\nGlobal options\n", out);
    print_options(out, command, true);
    fputs("\nUnits: a duration is 500ms 30s 30m 12h 3d 2w 1d12h; a time is RFC 3339, a date is\n"
          "midnight UTC; a size is 64KiB 8MiB. A run is named by its id, or as REPORT/RUN.\n"
          "\nExamples\n",
          out);
    for (size_t i = 0; i < 4; i += 2)
        fprintf(out, "  # %s\n  %s\n", row->examples[i + 1], row->examples[i]);
    if (row->json[0] != '\0') {
        fputs("\nKeys with --output json\n  ", out);
        print_wrapped(out, row->json, 2, 2);
    }
    fputs("\nExit codes\n", out);
    for (const char *code = row->exit_codes; *code != '\0';) {
        char *end = NULL;
        int number = (int)strtol(code, &end, 10);
        fprintf(out, "  %-4d %s\n", number, cra_cli_exit_code_text(number));
        code = end + strspn(end, " ");
    }
}
