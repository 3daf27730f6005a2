/* SPDX-License-Identifier: Apache-2.0 */

/* run list, run show, run add */

#include <string.h>

#include "output.h"

static void run_json(cra_cli *cli, const cra_run_doc *run)
{
    cra_cli_json json;
    cra_cli_json_begin(&json, NULL);
    cra_cli_json_put_text(&json, "report", run->report);
    cra_cli_json_put_text(&json, "run", run->run);
    cra_cli_json_put_text(&json, "state", cra_run_state_name((cra_run_state)run->state));
    cra_cli_json_put_text(&json, "outcome", run->outcome);
    cra_cli_json_put_count(&json, "records", run->records);
    cra_cli_json_put_time(&json, "delivered_at", run->delivered_at);
    cra_cli_json_put_time(&json, "ended_at", run->ended_at);
    cra_cli_json_put_time(&json, "restored_at", run->restored_at);
    cra_cli_json_put_time(&json, "archive_at", run->archive_at);
    cra_cli_json_put_text(&json, "rule", run->rule);
    cra_cli_json_put_bool(&json, "held", run->held);
    cra_cli_json_put_text(&json, "hold_reason", run->hold_reason);
    cra_cli_json_put_text(&json, "location", run->location);
    cra_cli_print_json(cli, &json);
}

static const char *date(cra_time_ms time, char *out, size_t size)
{
    cra_time_format(time, out, size);
    return time == CRA_TIME_NONE ? "-" : out;
}

static const char *dash(const char *text)
{
    return text ? text : "-";
}

static void run_row(cra_cli *cli, const cra_run_doc *run)
{
    char due[40], records[24] = "-";
    if (run->records >= 0)
        snprintf(records, sizeof records, "%lld", (long long)run->records);
    cra_cli_print(cli, "%-16s %-24s %-9s %-9s %10s  %-24s %s%s\n", run->report, run->run,
                  cra_run_state_name((cra_run_state)run->state), dash(run->outcome), records,
                  date(run->archive_at, due, sizeof due), run->held ? "held " : "", run->rule ? run->rule : "");
}

static void time_line(cra_cli *cli, const char *key, cra_time_ms time)
{
    char text[40];
    if (time != CRA_TIME_NONE)
        cra_cli_print(cli, "%-14s %s\n", key, date(time, text, sizeof text));
}

static void text_line(cra_cli *cli, const char *key, const char *text)
{
    if (text)
        cra_cli_print(cli, "%-14s %s\n", key, text);
}

static void int_line(cra_cli *cli, const char *key, int64_t number)
{
    if (number >= 0)
        cra_cli_print(cli, "%-14s %lld\n", key, (long long)number);
}

static void bool_line(cra_cli *cli, const char *key, bool flag)
{
    if (flag)
        cra_cli_print(cli, "%-14s yes\n", key);
}

/* Every stored field that is set, in the order of the catalog. */
static void run_text(cra_cli *cli, const cra_run_doc *run)
{
#define LINE_TEXT(name) text_line(cli, #name, run->name);
#define LINE_TIME(name) time_line(cli, #name, run->name);
#define LINE_BOOL(name) bool_line(cli, #name, run->name);
#define LINE_INT(name)                                                                                                 \
    if (strcmp(#name, "state") == 0)                                                                                   \
        text_line(cli, #name, cra_run_state_name((cra_run_state)run->name));                                           \
    else                                                                                                               \
        int_line(cli, #name, run->name);
#define LINE(kind, name, help) LINE_##kind(name)
    CRA_RUN_FIELDS(LINE)
}

static void show(cra_cli *cli, const cra_run_doc *run)
{
    if (cli->json)
        run_json(cli, run);
    else
        run_text(cli, run);
}

typedef struct listing {
    cra_cli *cli;
    bool due_only;
} listing;

static cra_status visit(void *user, const cra_run_doc *run)
{
    const listing *list = user;
    if (list->due_only && (run->held || !run->outcome || run->state == CRA_RUN_ARCHIVED))
        return CRA_OK;
    if (list->cli->json)
        run_json(list->cli, run);
    else
        run_row(list->cli, run);
    if (cra_cli_signal() != 0)
        return CRA_CANCELLED;
    return list->cli->output_errno == 0 ? CRA_OK : CRA_IO;
}

cra_status cra_cmd_run_list(cra_cli *cli, cra_error *err)
{
    listing list = {cli, cra_cli_given(&cli->args, CRA_CLI_OPTION_DUE)};
    cra_run_query query = CRA_RUN_QUERY_INIT;
    query.report = cra_cli_text(&cli->args, CRA_CLI_OPTION_REPORT);
    query.held_only = cra_cli_given(&cli->args, CRA_CLI_OPTION_HELD);
    if (cra_cli_given(&cli->args, CRA_CLI_OPTION_STATE))
        query.state_mask = 1u << cra_cli_number(&cli->args, CRA_CLI_OPTION_STATE, 0);
    cra_status status = cra_cli_open_engine(cli, CRA_ENGINE_READ_ONLY, err);
    if (status == CRA_OK && list.due_only) {
        query.closed_only = true;
        status = cra_catalog_now(cra_engine_catalog(cli->engine), &query.due_before, err);
    }
    if (status != CRA_OK)
        return status;
    if (!cli->json && !cli->quiet)
        cra_cli_print(cli, "%-16s %-24s %-9s %-9s %10s  %-24s %s\n", "REPORT", "RUN", "STATE", "OUTCOME", "RECORDS",
                      "ARCHIVE AT", "RULE");
    return cra_run_each(cli->engine, &query, visit, &list, err);
}

cra_status cra_cmd_run_show(cra_cli *cli, cra_error *err)
{
    cra_run *run = NULL;
    cra_status status = cra_cli_open_run(cli, CRA_ENGINE_READ_ONLY, &run, err);
    if (status == CRA_OK)
        show(cli, cra_run_doc_of(run));
    cra_run_free(run);
    return status;
}

cra_status cra_cmd_run_add(cra_cli *cli, cra_error *err)
{
    cra_run *run = NULL;
    cra_status status = cra_cli_open_engine(cli, 0, err);
    if (status == CRA_OK)
        status = cra_run_add(cli->engine, cli->args.arguments[0], cli->args.arguments[1],
                             cra_cli_text(&cli->args, CRA_CLI_OPTION_COLLECTION), &run, err);
    if (status == CRA_OK)
        show(cli, cra_run_doc_of(run));
    cra_run_free(run);
    return status;
}
