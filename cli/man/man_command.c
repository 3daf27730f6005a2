/* SPDX-License-Identifier: Apache-2.0 */

/* crawlarchive(1) and a page for each command */

#include <stdlib.h>
#include <string.h>

#include "page.h"

static void page_name(cra_cli_command_id command, char *out, size_t size)
{
    snprintf(out, size, "crawlarchive-%s", cra_cli_commands[command].name);
    for (char *at = out; *at != '\0'; at++)
        if (*at == ' ')
            *at = '-';
}

static void print_option(FILE *page, const cra_cli_option *option)
{
    char tag[64], text[640];
    if (option->short_name != 0)
        snprintf(tag, sizeof tag, "-%c, --%s", option->short_name, option->name);
    else
        snprintf(tag, sizeof tag, "--%s", option->name);
    snprintf(text, sizeof text, "%s.%s%s%s%s%s%s", option->help, option->choices ? " One of " : "",
             option->choices ? option->choices : "", option->choices ? "." : "",
             option->default_text ? " Default: " : "", option->default_text ? option->default_text : "",
             option->default_text ? "." : "");
    cra_man_tag(page, tag, option->argument, text);
}

static bool print_options(FILE *page, cra_cli_command_id command)
{
    bool some = false;
    for (size_t i = 0; i < CRA_CLI_OPTION_END; i++) {
        const cra_cli_option *option = &cra_cli_options[i];
        if (cra_cli_option_is_global(option) || !cra_cli_option_applies(option, command))
            continue;
        if (!some)
            cra_man_section(page, "OPTIONS");
        some = true;
        print_option(page, option);
    }
    return some;
}

static void print_exit_codes(FILE *page, const char *codes)
{
    cra_man_section(page, "EXIT STATUS");
    while (*codes != '\0') {
        char *end = NULL, tag[16];
        int code = (int)strtol(codes, &end, 10);
        snprintf(tag, sizeof tag, "%d", code);
        cra_man_tag(page, tag, NULL, cra_cli_exit_code_text(code));
        codes = end + strspn(end, " ");
    }
}

static void see_also(FILE *page, bool main_page)
{
    cra_man_section(page, "SEE ALSO");
    if (!main_page)
        fputs(".BR crawlarchive (1),\n", page);
    fputs(".BR crawlarchive.yaml (5),\n.BR crawlarchive\\-catalog (5)\n", page);
}

bool cra_man_command(const char *folder, cra_cli_command_id command)
{
    const cra_cli_command *row = &cra_cli_commands[command];
    char name[64];
    page_name(command, name, sizeof name);
    FILE *page = cra_man_open(folder, name, 1, row->summary);
    if (!page)
        return false;
    cra_man_section(page, "SYNOPSIS");
    fputs("\\fBcrawlarchive ", page);
    cra_man_escaped(page, row->name);
    fputs("\\fR [\\fIOPTIONS\\fR]", page);
    if (row->arguments[0] != '\0') {
        fputs(" \\fI", page);
        cra_man_escaped(page, row->arguments);
        fputs("\\fR", page);
    }
    fputc('\n', page);
    cra_man_section(page, "DESCRIPTION");
    cra_man_text(page, row->description);
    print_options(page, command);
    cra_man_section(page, "GLOBAL OPTIONS");
    for (size_t i = 0; i < CRA_CLI_OPTION_END; i++)
        if (cra_cli_option_is_global(&cra_cli_options[i]))
            print_option(page, &cra_cli_options[i]);
    if (row->json[0] != '\0') {
        cra_man_section(page, "JSON");
        cra_man_text(page, "Keys that are always present with --output json:");
        cra_man_paragraph(page, row->json);
    }
    print_exit_codes(page, row->exit_codes);
    cra_man_section(page, "EXAMPLES");
    for (size_t i = 0; i < 4; i += 2) {
        fputs(i > 0 ? ".PP\n" : "", page);
        cra_man_example(page, row->examples[i + 1], row->examples[i]);
    }
    see_also(page, false);
    return cra_man_close(page);
}

static const char *const output[] = {
    "With --output json a question is answered by one object and a list by one object a line. A long command writes "
    "lines whose message_type is progress, item (one run, index or document) or summary (exactly one, last), all on "
    "standard output. Errors are objects with message_type error, status, code, message and hint on standard error.",
    "A run is always a string. Numbers are numbers, durations are in milliseconds with the ending _ms, times are "
    "RFC 3339 in UTC. A declared key is always present, null where its value is unknown. Text output is for people "
    "and may change; progress in text goes to standard error.",
};

bool cra_man_main(const char *folder)
{
    FILE *page = cra_man_open(folder, "crawlarchive", 1, "archive, sweep and restore crawl runs");
    if (!page)
        return false;
    cra_man_section(page, "SYNOPSIS");
    fputs("\\fBcrawlarchive\\fR [\\fIGLOBAL OPTIONS\\fR] \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n",
          page);
    cra_man_section(page, "DESCRIPTION");
    cra_man_text(page, "crawlarchive moves crawl runs between a hot store and an archive of Avro files in object "
                       "storage. Runs leave the hot store on a schedule that reflects why they ended; a run leaves "
                       "only after its archive was verified; any archived run comes back on demand, indexed and ready "
                       "to query.");
    for (int group = 0; group < CRA_CLI_GROUP_END; group++) {
        fputs(".SS ", page);
        cra_man_escaped(page, cra_cli_group_titles[group]);
        fputc('\n', page);
        for (size_t i = 0; i < CRA_CLI_COMMAND_END; i++)
            if ((int)cra_cli_commands[i].group == group)
                cra_man_tag(page, cra_cli_commands[i].name,
                            cra_cli_commands[i].arguments[0] != '\0' ? cra_cli_commands[i].arguments : NULL,
                            cra_cli_commands[i].summary);
    }
    cra_man_section(page, "GLOBAL OPTIONS");
    cra_man_text(page, "They stand before or after the command.");
    for (size_t i = 0; i < CRA_CLI_OPTION_END; i++)
        if (cra_cli_option_is_global(&cra_cli_options[i]))
            print_option(page, &cra_cli_options[i]);
    cra_man_section(page, "UNITS AND NAMES");
    cra_man_text(page,
                 "A duration is 500ms 30s 30m 12h 3d 2w 1d12h; a time is RFC 3339, a date is midnight UTC; a size "
                 "is 64KiB 8MiB. A run is named by its id as the catalog shows it: first as a whole id, then as "
                 "REPORT/RUN split at the first slash; an id that two reports hold is a usage error that lists "
                 "the candidates.");
    cra_man_section(page, "OUTPUT");
    cra_man_text(page, output[0]);
    cra_man_paragraph(page, output[1]);
    print_exit_codes(page, "0 1 2 3 4 10 11 12 13 14 130");
    cra_man_section(page, "ENVIRONMENT");
    cra_man_tag(page, "CRAWLARCHIVE_CONFIG", NULL, "The configuration file, where --config names none.");
    cra_man_tag(page, "CRAWLARCHIVE_*", NULL,
                "Override values of the configuration: the path in capitals, levels joined by two underscores, such as "
                "CRAWLARCHIVE_LEASE__TTL=500ms.");
    cra_man_section(page, "SIGNALS");
    cra_man_text(page, "The first INT or TERM finishes the batch, writes a checkpoint and exits with 130 or 143; the "
                       "second one ends the process at once, with nothing half-visible.");
    cra_man_section(page, "FILES");
    cra_man_tag(page, "./crawlarchive.yaml", NULL, "The configuration file, if it is there; else");
    cra_man_tag(page, "/etc/crawlarchive.yaml", NULL, "the one of the system.");
    see_also(page, true);
    return cra_man_close(page);
}
