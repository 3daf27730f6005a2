/* SPDX-License-Identifier: Apache-2.0 */

/* sweep: plan, then act on the plan */

#include <string.h>

#include "runs.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const cra_cli_field fields[] = {
    {"run", CRA_CLI_FIELD_RUN, 0},
    {"action", CRA_CLI_FIELD_WORD, 0},
    {"reason", CRA_CLI_FIELD_REASON, 0},
    {"records", CRA_CLI_FIELD_COUNT, CRA_COUNT_RECORDS},
};
static const cra_cli_form form = {{"sweep", "keep", "keep", "keep", "keep", "keep"}, fields, COUNT_OF(fields)};

/* Items of a sweep: none of them fails the command by itself, execute() has the last word. */
typedef struct sweeping {
    cra_cli_items items;
    bool locked; /* a run was kept because another worker has it */
} sweeping;

static void on_item(void *user, const cra_item *item)
{
    sweeping *sweep = user;
    cra_item kept = *item;
    if (item->status == CRA_ITEM_LOCKED) { /* for a sweep that is no trouble: another worker does it */
        kept.status = CRA_ITEM_KEPT;
        kept.reason = CRA_REASON_LOCKED;
    }
    sweep->locked = sweep->locked || kept.reason == CRA_REASON_LOCKED;
    cra_cli_on_item(&sweep->items, &kept);
}

static void take_options(const cra_cli *cli, const cra_cli_runs *runs, cra_sweep_options *out)
{
    const cra_cli_args *args = &cli->args;
    out->as_of = cra_cli_number(args, CRA_CLI_OPTION_AS_OF, CRA_TIME_NONE);
    out->report = cra_cli_text(args, CRA_CLI_OPTION_REPORT);
    out->runs = runs->items;
    out->runs_count = runs->count;
    out->level = (cra_verify_level)cra_cli_number(args, CRA_CLI_OPTION_VERIFY_LEVEL, CRA_VERIFY_AUTO);
    out->rate = cra_cli_number(args, CRA_CLI_OPTION_RATE, 0);
    out->batch_docs = cra_cli_number(args, CRA_CLI_OPTION_BATCH_DOCS, 0);
    out->max_runs = cra_cli_number(args, CRA_CLI_OPTION_MAX_RUNS, 0);
    if (cra_cli_given(args, CRA_CLI_OPTION_MAX_SHARE))
        out->max_share = args->values[CRA_CLI_OPTION_MAX_SHARE].share;
    out->time_budget_ms = cra_cli_number(args, CRA_CLI_OPTION_TIME_BUDGET, 0);
    out->stop_file = cra_cli_text(args, CRA_CLI_OPTION_STOP_FILE);
    out->on_item = on_item;
}

static void summary(cra_cli *cli, int64_t selected, int64_t swept, int64_t removed, int64_t still_due,
                    const char *stopped_by)
{
    cra_cli_sum_int(cli, "selected", selected);
    cra_cli_sum_int(cli, "swept", swept);
    cra_cli_sum_int(cli, "kept", selected - swept);
    cra_cli_sum_int(cli, "records_removed", removed);
    cra_cli_sum_int(cli, "still_due", still_due);
    cra_cli_sum_text(cli, "stopped_by", stopped_by);
    cra_cli_print_summary(cli, stdout);
}

/* What would happen: `swept` are the runs that would be, nothing is removed. */
static cra_status tell_plan(cra_cli *cli, const cra_sweep_plan *plan, cra_cli_items *items, cra_error *err)
{
    bool exceeds = cra_sweep_plan_exceeds_share(plan);
    int64_t due = 0, swept = 0;
    for (size_t i = 0; i < cra_sweep_plan_count(plan); i++) {
        const cra_item *item = cra_sweep_plan_at(plan, i);
        cra_cli_on_item(items, item);
        swept += item->status == CRA_ITEM_OK;
        due += item->status == CRA_ITEM_OK || (item->reason != CRA_REASON_NOT_DUE && item->reason != CRA_REASON_HELD);
    }
    summary(cli, (int64_t)items->tally.runs, exceeds ? 0 : swept, 0, due, exceeds ? "max_share" : NULL);
    if (!exceeds)
        return CRA_OK;
    cra_error_set(err, CRA_CONFLICT, "sweep",
                  "%lld runs are due, more than the share of the hot runs that may go at once", (long long)swept);
    cra_error_hint(err, "check the clock and the dates, then raise --max-share");
    return CRA_CONFLICT;
}

static cra_status execute(cra_cli *cli, const cra_sweep_plan *plan, sweeping *sweep, cra_error *err)
{
    cra_result *result = NULL;
    cra_status status = cra_sweep_execute(cli->engine, plan, &result, err);
    if (!result)
        return status;
    const char *stopped_by = cra_result_stopped_by(result);
    summary(cli, (int64_t)cra_result_count(result), (int64_t)cra_result_tally(result, CRA_ITEM_OK),
            cra_result_sum(result, CRA_COUNT_RECORDS_REMOVED), cra_result_still_due(result), stopped_by);
    if (status == CRA_PARTIAL)
        cra_error_clear(err); /* each run has told why it stays */
    if (stopped_by && strcmp(stopped_by, "signal") == 0 && status == CRA_OK)
        status = cra_cli_check_signal(err);
    if (status == CRA_OK && sweep->locked && cli->args.values[CRA_CLI_OPTION_SWEEP_RUN].times + cli->args.count == 1)
        status = cra_error_set(err, CRA_LOCKED, "sweep", "another worker has the run");
    cra_result_free(result);
    return status;
}

static cra_status find_runs(cra_cli *cli, cra_cli_runs *runs, cra_error *err)
{
    const cra_cli_value *named = &cli->args.values[CRA_CLI_OPTION_SWEEP_RUN];
    cra_status status = cra_cli_runs_find(cli, named->list, named->times, NULL, runs, err);
    if (status == CRA_OK) /* --run A B C */
        status = cra_cli_runs_find(cli, cli->args.arguments, cli->args.count, NULL, runs, err);
    return status;
}

cra_status cra_cmd_sweep(cra_cli *cli, cra_error *err)
{
    bool dry = cra_cli_given(&cli->args, CRA_CLI_OPTION_DRY_RUN);
    if (cra_cli_given(&cli->args, CRA_CLI_OPTION_AS_OF) && !dry)
        return cra_error_set(err, CRA_INVALID, "usage", "--as-of goes only with --dry-run");
    if (cli->args.count > 0 && !cra_cli_given(&cli->args, CRA_CLI_OPTION_SWEEP_RUN))
        return cra_error_set(err, CRA_INVALID, "usage", "sweep takes no argument '%s'; runs are selected with --run",
                             cli->args.arguments[0]);
    sweeping sweep = {{cli, &form, {0}}, false};
    cra_cli_runs runs = {0};
    cra_sweep_plan *plan = NULL;
    cra_sweep_options options = CRA_SWEEP_OPTIONS_INIT;
    cra_status status = cra_cli_open_engine(cli, dry ? CRA_ENGINE_READ_ONLY : 0, err);
    if (status == CRA_OK)
        status = find_runs(cli, &runs, err);
    if (status == CRA_OK) {
        take_options(cli, &runs, &options);
        options.user = &sweep;
        if (dry)
            options.on_item = NULL;
        status = cra_sweep_plan_new(cli->engine, &options, &plan, err);
    }
    if (status == CRA_OK)
        status = dry ? tell_plan(cli, plan, &sweep.items, err) : execute(cli, plan, &sweep, err);
    cra_sweep_plan_free(plan);
    cra_cli_runs_cleanup(&runs);
    return status;
}
