/* SPDX-License-Identifier: Apache-2.0 */

/* deliver, schedule, hold, release, retention explain, sync-needed */

#include <string.h>

#include "output.h"

static void dated(cra_cli *cli, const cra_run_doc *run, bool with_outcome)
{
    char due[40];
    if (cli->json) {
        cra_cli_json json;
        cra_cli_json_begin(&json, NULL);
        cra_cli_json_put_text(&json, "run", run->run);
        if (with_outcome)
            cra_cli_json_put_text(&json, "outcome", run->outcome);
        cra_cli_json_put_time(&json, "archive_at", run->archive_at);
        cra_cli_json_put_text(&json, "rule", run->rule);
        cra_cli_print_json(cli, &json);
        return;
    }
    if (cli->quiet)
        return;
    cra_time_format(run->archive_at, due, sizeof due);
    if (run->archive_at == CRA_TIME_NONE)
        cra_cli_print(cli, "%s/%s has no archive date\n", run->report, run->run);
    else
        cra_cli_print(cli, "%s/%s leaves the hot store from %s (%s)\n", run->report, run->run, due,
                      run->rule ? run->rule : "no rule");
}

static void held(cra_cli *cli, const cra_run_doc *run)
{
    if (cli->json) {
        cra_cli_json json;
        cra_cli_json_begin(&json, NULL);
        cra_cli_json_put_text(&json, "run", run->run);
        cra_cli_json_put_bool(&json, "held", run->held);
        cra_cli_json_put_text(&json, "hold_reason", run->hold_reason);
        cra_cli_print_json(cli, &json);
    } else if (!cli->quiet) {
        cra_cli_print(cli, "%s/%s is %s%s%s\n", run->report, run->run, run->held ? "held" : "not held",
                      run->hold_reason ? ": " : "", run->hold_reason ? run->hold_reason : "");
    }
}

cra_status cra_cmd_deliver(cra_cli *cli, cra_error *err)
{
    cra_run *run = NULL, *after = NULL;
    const char *outcome = cra_cli_text(&cli->args, CRA_CLI_OPTION_OUTCOME);
    if (!outcome)
        return cra_error_set(err, CRA_INVALID, "usage",
                             "deliver needs --outcome: success, failed, empty or a word of "
                             "the configuration");
    cra_status status = cra_cli_open_run(cli, 0, &run, err);
    if (status == CRA_OK)
        status = cra_run_deliver(cli->engine, run, outcome,
                                 cra_cli_number(&cli->args, CRA_CLI_OPTION_DELIVER_AT, CRA_TIME_NONE), &after, err);
    if (status == CRA_OK)
        dated(cli, cra_run_doc_of(after), true);
    cra_run_free(after);
    cra_run_free(run);
    return status;
}

static cra_status schedule(cra_cli *cli, const cra_run *run, cra_run **after, cra_error *err)
{
    const cra_cli_args *args = &cli->args;
    if (cra_cli_given(args, CRA_CLI_OPTION_RECOMPUTE))
        return cra_run_recompute(cli->engine, run, after, err);
    cra_time_ms at = cra_cli_number(args, CRA_CLI_OPTION_SCHEDULE_AT, CRA_TIME_NONE);
    if (cra_cli_given(args, CRA_CLI_OPTION_IN)) {
        cra_status status = cra_catalog_now(cra_engine_catalog(cli->engine), &at, err);
        if (status != CRA_OK)
            return status;
        int64_t window = cra_cli_number(args, CRA_CLI_OPTION_IN, 0);
        if (window > INT64_C(253402300799999) - at) /* the end of the year 9999 */
            return cra_error_set(err, CRA_INVALID, "usage", "option --in: the date would lie beyond the year 9999");
        at += window;
    }
    return cra_run_schedule(cli->engine, run, at, after, err);
}

cra_status cra_cmd_schedule(cra_cli *cli, cra_error *err)
{
    const cra_cli_args *args = &cli->args;
    cra_run *run = NULL, *after = NULL;
    int ways = cra_cli_given(args, CRA_CLI_OPTION_SCHEDULE_AT) + cra_cli_given(args, CRA_CLI_OPTION_IN) +
               cra_cli_given(args, CRA_CLI_OPTION_CLEAR) + cra_cli_given(args, CRA_CLI_OPTION_RECOMPUTE);
    if (ways != 1)
        return cra_error_set(err, CRA_INVALID, "usage",
                             "schedule needs exactly one of --at, --in, --clear, --recompute");
    cra_status status = cra_cli_open_run(cli, 0, &run, err);
    if (status == CRA_OK)
        status = schedule(cli, run, &after, err);
    if (status == CRA_OK)
        dated(cli, cra_run_doc_of(after), false);
    cra_run_free(after);
    cra_run_free(run);
    return status;
}

cra_status cra_cmd_hold(cra_cli *cli, cra_error *err)
{
    cra_run *run = NULL, *after = NULL;
    cra_status status = cra_cli_open_run(cli, 0, &run, err);
    if (status == CRA_OK)
        status = cra_run_hold(cli->engine, run, cra_cli_text(&cli->args, CRA_CLI_OPTION_REASON), &after, err);
    if (status == CRA_OK)
        held(cli, cra_run_doc_of(after));
    cra_run_free(after);
    cra_run_free(run);
    return status;
}

cra_status cra_cmd_release(cra_cli *cli, cra_error *err)
{
    cra_run *run = NULL, *after = NULL;
    cra_status status = cra_cli_open_run(cli, 0, &run, err);
    if (status == CRA_OK)
        status = cra_run_release(cli->engine, run, &after, err);
    if (status == CRA_OK)
        held(cli, cra_run_doc_of(after));
    cra_run_free(after);
    cra_run_free(run);
    return status;
}

static void explain_json(cra_cli *cli, const cra_run_doc *run, const cra_decision *decision)
{
    cra_cli_json json;
    cra_cli_json_begin(&json, NULL);
    cra_cli_json_put_text(&json, "run", run->run);
    cra_cli_json_put_time(&json, "archive_at", decision->archive_at);
    cra_cli_json_put_bool(&json, "due", decision->due);
    cra_cli_json_put_text(&json, "rule", decision->rule[0] != '\0' ? decision->rule : NULL);
    cra_cli_json_put_time(&json, "anchor", decision->anchor);
    cra_cli_json_put_text(&json, "anchor_field", decision->anchor_field[0] != '\0' ? decision->anchor_field : NULL);
    cra_cli_json_put_count(&json, "window_ms", decision->window_ms);
    cra_cli_json_key(&json, "steps");
    cra_cli_json_open(&json, '[');
    for (size_t i = 0; i < decision->steps_count; i++)
        cra_cli_json_text(&json, decision->steps[i]);
    cra_cli_json_close(&json, ']');
    cra_cli_print_json(cli, &json);
}

cra_status cra_cmd_retention_explain(cra_cli *cli, cra_error *err)
{
    cra_run *run = NULL;
    cra_decision decision;
    memset(&decision, 0, sizeof decision);
    decision.struct_size = sizeof decision;
    cra_status status = cra_cli_open_run(cli, CRA_ENGINE_READ_ONLY, &run, err);
    if (status == CRA_OK)
        status = cra_run_explain(cli->engine, run, &decision, err);
    if (status == CRA_OK && cli->json) {
        explain_json(cli, cra_run_doc_of(run), &decision);
    } else if (status == CRA_OK) {
        for (size_t i = 0; i < decision.steps_count; i++)
            cra_cli_print(cli, "%zu. %s\n", i + 1, decision.steps[i]);
        const char *reason = cra_reason_text(decision.reason);
        cra_cli_print(cli, "%s%s%s\n", decision.due ? "due" : "not due", reason ? ": " : "", reason ? reason : "");
    }
    cra_run_free(run);
    return status;
}

cra_status cra_cmd_sync_needed(cra_cli *cli, cra_error *err)
{
    cra_run *run = NULL;
    bool needed = false;
    const char *reason = NULL;
    cra_status status = cra_cli_open_run(cli, CRA_ENGINE_READ_ONLY, &run, err);
    if (status == CRA_OK)
        status = cra_run_sync_needed(cli->engine, run, &needed, &reason, err);
    if (status == CRA_OK) {
        if (cli->json) {
            cra_cli_json json;
            cra_cli_json_begin(&json, NULL);
            cra_cli_json_put_text(&json, "run", cra_run_doc_of(run)->run);
            cra_cli_json_put_bool(&json, "sync_needed", needed);
            cra_cli_json_put_text(&json, "reason", reason);
            cra_cli_print_json(cli, &json);
        } else if (!cli->quiet) {
            cra_cli_print(cli, "%s%s%s\n", needed ? "yes" : "no", reason ? ": " : "", reason ? reason : "");
        }
        cli->exit_code = needed ? 0 : 4;
    }
    cra_run_free(run);
    return status;
}
