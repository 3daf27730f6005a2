/* SPDX-License-Identifier: Apache-2.0 */

/* status, route */

#include <string.h>

#include "output.h"

static void by_state(cra_cli_json *json, const char *key, const int64_t *counts)
{
    cra_cli_json_key(json, key);
    cra_cli_json_open(json, '{');
    for (int i = 0; i < CRA_RUN_STATES; i++)
        cra_cli_json_put_count(json, cra_run_state_name((cra_run_state)i), counts[i]);
    cra_cli_json_close(json, '}');
}

static cra_status status_json(cra_cli *cli, const cra_status_report *report, cra_bytes sweep, cra_error *err)
{
    cra_cli_json json;
    cra_buf text;
    cra_buf_init(&text, NULL);
    cra_status status = sweep.size > 0 ? cra_bson_to_json(sweep, CRA_JSON_RELAXED, &text, err) : CRA_OK;
    if (status == CRA_OK) {
        cra_cli_json_begin(&json, NULL);
        by_state(&json, "runs_by_state", report->runs_by_state);
        by_state(&json, "records_by_state", report->records_by_state);
        cra_cli_json_put_count(&json, "due_now", report->due_now);
        cra_cli_json_put_count(&json, "due_1d", report->due_1d);
        cra_cli_json_put_count(&json, "due_7d", report->due_7d);
        cra_cli_json_put_count(&json, "overdue_kept", report->overdue_kept);
        cra_cli_json_key(&json, "last_sweep");
        if (text.size > 0)
            cra_cli_json_raw(&json, text.data, text.size);
        else
            cra_cli_json_null(&json);
        cra_cli_json_put_count(&json, "restoring", report->restoring);
        cra_cli_json_put_count(&json, "failures", report->failures);
        cra_cli_print_json(cli, &json);
    }
    cra_buf_cleanup(&text);
    return status;
}

static cra_status status_text(cra_cli *cli, const cra_status_report *report, cra_bytes sweep, cra_error *err)
{
    cra_cli_print(cli, "%-12s %10s %14s\n", "STATE", "RUNS", "RECORDS");
    for (int i = 0; i < CRA_RUN_STATES; i++)
        cra_cli_print(cli, "%-12s %10lld %14lld\n", cra_run_state_name((cra_run_state)i),
                      (long long)report->runs_by_state[i], (long long)report->records_by_state[i]);
    cra_cli_print(cli, "\n%-24s %lld\n%-24s %lld\n%-24s %lld\n%-24s %lld\n%-24s %lld\n%-24s %lld\n%-24s %lld\n",
                  "due now", (long long)report->due_now, "due within a day", (long long)report->due_1d,
                  "due within 7 days", (long long)report->due_7d, "due, kept last time",
                  (long long)report->overdue_kept, "held", (long long)report->held, "restores in progress",
                  (long long)report->restoring, "runs with a failed step", (long long)report->failures);
    cra_buf text;
    cra_buf_init(&text, NULL);
    cra_status status = sweep.size > 0 ? cra_bson_to_json(sweep, CRA_JSON_RELAXED, &text, err) : CRA_OK;
    if (status == CRA_OK)
        cra_cli_print(cli, "%-24s %.*s\n", "last sweep", text.size > 0 ? (int)text.size : 5,
                      text.size > 0 ? (const char *)text.data : "never");
    cra_buf_cleanup(&text);
    return status;
}

cra_status cra_cmd_status(cra_cli *cli, cra_error *err)
{
    cra_status_report report;
    cra_buf sweep;
    memset(&report, 0, sizeof report);
    report.struct_size = sizeof report;
    cra_buf_init(&sweep, NULL);
    cra_status status = cra_cli_open_engine(cli, CRA_ENGINE_READ_ONLY, err);
    if (status == CRA_OK)
        status = cra_status_collect(cli->engine, &report, err);
    if (status == CRA_OK) {
        status = cra_status_last_sweep(cli->engine, &sweep, err);
        if (status == CRA_NOT_FOUND)
            status = CRA_OK;
    }
    if (status == CRA_OK) {
        cra_bytes document = {sweep.data, sweep.size};
        status = cli->json ? status_json(cli, &report, document, err) : status_text(cli, &report, document, err);
    }
    cra_buf_cleanup(&sweep);
    return status;
}

/* ---- route ----------------------------------------------------------------------------------- */

typedef struct routed {
    cra_cli *cli;
    const char *run;
} routed;

static cra_status on_route(void *user, const cra_route *route)
{
    const routed *to = user;
    if (to->cli->json) {
        cra_cli_json json;
        cra_cli_json_begin(&json, NULL);
        cra_cli_json_put_text(&json, "run", to->run);
        cra_cli_json_put_text(&json, "uri", route->uri);
        cra_cli_json_put_text(&json, "route", route->name);
        cra_cli_print_json(to->cli, &json);
    } else if (to->cli->verbose > 0) {
        cra_cli_print(to->cli, "%s  (%s)\n", route->uri, route->name);
    } else {
        cra_cli_print(to->cli, "%s\n", route->uri);
    }
    return CRA_OK;
}

static cra_status export_routes(cra_cli *cli, cra_error *err)
{
    cra_buf text;
    cra_buf_init(&text, NULL);
    cra_status status = cra_route_export(cli->engine, &text, err);
    if (status == CRA_OK)
        status = cra_buf_append(&text, "\n", 1);
    if (status == CRA_OK)
        status = cra_cli_write(cli, text.data, text.size, err);
    cra_buf_cleanup(&text);
    return status;
}

/* A run that is not registered yet has a route, too, when its report is named. */
static cra_status route_unknown(cra_cli *cli, const char *name, cra_error *err)
{
    const char *slash = strchr(name, '/');
    char report[512];
    if (!slash || slash == name || slash[1] == '\0' || (size_t)(slash - name) >= sizeof report)
        return CRA_NOT_FOUND;
    cra_error_clear(err);
    memcpy(report, name, (size_t)(slash - name));
    report[slash - name] = '\0';
    routed to = {cli, slash + 1};
    return cra_route_of(cli->engine, report, slash + 1, on_route, &to, err);
}

cra_status cra_cmd_route(cra_cli *cli, cra_error *err)
{
    bool list = cra_cli_given(&cli->args, CRA_CLI_OPTION_EXPORT);
    if (list != (cli->args.count == 0))
        return cra_error_set(err, CRA_INVALID, "usage", "route needs either RUN or --export");
    cra_status status = cra_cli_open_engine(cli, CRA_ENGINE_READ_ONLY, err);
    if (status != CRA_OK || list)
        return status == CRA_OK ? export_routes(cli, err) : status;
    cra_run *run = NULL;
    status = cra_run_find(cli->engine, cli->args.arguments[0], &run, err);
    if (status == CRA_NOT_FOUND) {
        status = route_unknown(cli, cli->args.arguments[0], err);
    } else if (status == CRA_OK) {
        const cra_run_doc *doc = cra_run_doc_of(run);
        routed to = {cli, doc->run};
        status = cra_route_of(cli->engine, doc->report, doc->run, on_route, &to, err);
    }
    cra_run_free(run);
    return status;
}
