/* SPDX-License-Identifier: Apache-2.0 */

/* Acting on a plan, run by run. */

#include <crawlarchive/sweep.h>

#include <string.h>

#include "base/buf.h"
#include "core/result.h"
#include "ops/run_guard.h"
#include "ops/sweep_plan.h"
#include "ops/sweep_run.h"

#define BATCH_DOCS_DEFAULT 1000
#define BATCH_DOCS_MAX 10000
#define LAG_DEFAULT_MS 5000

/* ---- dates of runs that another service closed ------------------------------------------------ */

static cra_status store_date(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    cra_engine *engine = user;
    cra_decision decision;

    memset(&decision, 0, sizeof decision);
    decision.struct_size = sizeof decision;
    if (run->archive_at != CRA_TIME_NONE || run->outcome == NULL)
        return CRA_DONE;
    const cra_status status =
        cra_policy_decide(cra_config_policy(cra_engine_config(engine)), run, now, false, &decision);
    if (status != CRA_OK || decision.archive_at == CRA_TIME_NONE)
        return status != CRA_OK ? status : CRA_DONE;
    run->archive_at = decision.archive_at;
    return cra_run_doc_set_text(&run->rule, decision.rule, cra_engine_allocator(engine)) == CRA_OK
               ? CRA_OK
               : cra_error_set(err, CRA_NOMEM, "sweep", "out of memory");
}

static cra_status store_dates(cra_engine *engine, const cra_sweep_plan *plan, cra_error *err)
{
    for (size_t i = 0; i < plan->undated_count; i++) {
        const cra_plan_undated *entry = &plan->undated[i];
        const cra_status status = cra_run_update(engine, entry->report, entry->run, store_date, engine, NULL, err);

        if (status != CRA_OK && status != CRA_NOT_FOUND && status != CRA_CONFLICT)
            return status;
        cra_error_clear(err);
    }
    return CRA_OK;
}

/* ---- the end --------------------------------------------------------------------------------- */

typedef struct due_count {
    cra_engine *engine;
    cra_time_ms now;
    int64_t due;
} due_count;

static cra_status count_due(void *user, const cra_run_doc *run)
{
    due_count *count = user;
    cra_decision decision;

    memset(&decision, 0, sizeof decision);
    decision.struct_size = sizeof decision;
    const cra_status status =
        cra_policy_decide(cra_config_policy(cra_engine_config(count->engine)), run, count->now, false, &decision);
    count->due += status == CRA_OK && decision.due;
    return status;
}

/* Runs still due in the plan's scope; -1 where they could not be counted: that is not zero. */
static int64_t count_still_due(cra_engine *engine, const cra_sweep_plan *plan)
{
    due_count count = {.engine = engine};
    cra_run_query query = CRA_RUN_QUERY_INIT;

    query.report = plan->report;
    query.closed_only = true;
    query.state_mask = 1u << CRA_RUN_HOT | 1u << CRA_RUN_SWEEPING | 1u << CRA_RUN_RESTORING | 1u << CRA_RUN_RESTORED;
    if (cra_catalog_now(cra_engine_catalog(engine), &count.now, NULL) != CRA_OK ||
        cra_catalog_run_list(cra_engine_catalog(engine), &query, count_due, &count, NULL) != CRA_OK)
        return -1;
    return count.due;
}

static cra_status build_summary(const cra_result *result, cra_time_ms now, cra_buf *out)
{
    const size_t swept = cra_result_tally(result, CRA_ITEM_OK);
    size_t mark;

    CRA_TRY(cra_bson_begin(out, &mark));
    CRA_TRY(cra_bson_put_date(out, "time", now));
    CRA_TRY(cra_bson_put_int64(out, "selected", (int64_t)cra_result_count(result)));
    CRA_TRY(cra_bson_put_int64(out, "swept", (int64_t)swept));
    CRA_TRY(cra_bson_put_int64(out, "kept", (int64_t)(cra_result_count(result) - swept)));
    CRA_TRY(cra_bson_put_int64(out, "records_removed", cra_result_sum(result, CRA_COUNT_RECORDS_REMOVED)));
    CRA_TRY(cra_bson_put_int64(out, "still_due", cra_result_still_due(result)));
    if (cra_result_stopped_by(result) != NULL)
        CRA_TRY(cra_bson_put_string(out, "stopped_by", cra_result_stopped_by(result)));
    else
        CRA_TRY(cra_bson_put_null(out, "stopped_by"));
    return cra_bson_end(out, mark);
}

/* Leave word for `status`. The sweep's own outcome does not hang on it. */
static void store_summary(cra_engine *engine, const cra_result *result)
{
    cra_error err;
    cra_buf summary;
    cra_time_ms now;

    cra_error_clear(&err);
    cra_buf_init(&summary, cra_engine_allocator(engine));
    cra_status status = cra_catalog_now(cra_engine_catalog(engine), &now, &err);
    if (status == CRA_OK)
        status = build_summary(result, now, &summary);
    if (status == CRA_OK)
        status = cra_catalog_summary_put(cra_engine_catalog(engine), "sweep", cra_buf_bytes(&summary), &err);
    if (status != CRA_OK)
        cra_log(cra_engine_context(engine), CRA_LOG_WARN, "sweep", "the summary could not be stored: %s", err.message);
    cra_buf_cleanup(&summary);
}

/* ---- executing ------------------------------------------------------------------------------- */

static void init_pace(cra_engine *engine, const cra_sweep_plan *plan, cra_sweep_pace *pace)
{
    const cra_config *config = cra_engine_config(engine);
    const int64_t now_ms = cra_context_monotonic_ms(cra_engine_context(engine));
    const int64_t batch = plan->options.batch_docs > 0
                              ? plan->options.batch_docs
                              : cra_config_int(config, "sweep.batch_docs", BATCH_DOCS_DEFAULT);
    const int64_t rate = plan->options.rate > 0 ? plan->options.rate : cra_config_int(config, "sweep.rate", 0);
    /* A batch that was asked for is never exceeded; a default may grow. */
    const cra_batch_options options = {.initial = batch,
                                       .min = batch < 10 ? batch : 10,
                                       .max = plan->options.batch_docs > 0 || batch > BATCH_DOCS_MAX ? batch
                                                                                                     : BATCH_DOCS_MAX,
                                       .max_lag_ms = cra_config_int(config, "sweep.lag", LAG_DEFAULT_MS)};

    memset(pace, 0, sizeof *pace);
    pace->options = &plan->options;
    cra_rate_init(&pace->rate, rate, now_ms);
    cra_batch_control_init(&pace->control, &options);
    if (plan->options.time_budget_ms > 0)
        pace->deadline_ms = now_ms + plan->options.time_budget_ms;
}

static cra_status tell(const cra_sweep_plan *plan, cra_result *result, const cra_item *item, cra_error *err)
{
    if (plan->options.on_item != NULL)
        plan->options.on_item(plan->options.user, item);
    return cra_result_add(result, item, err);
}

/* A run that the plan selected, or that is not reached any more. */
static cra_status sweep_item(cra_engine *engine, const cra_sweep_plan *plan, const cra_item *planned,
                             cra_sweep_pace *pace, cra_result *result, cra_error *err)
{
    cra_sweep_texts texts;
    cra_item item;

    cra_item_init(&item, planned->report, planned->run);
    item.counts[CRA_COUNT_RECORDS] = planned->counts[CRA_COUNT_RECORDS];
    if (cra_sweep_must_stop(engine, pace)) {
        item.status = CRA_ITEM_KEPT;
        item.reason = CRA_REASON_CANCELLED;
        item.detail = "not reached: the sweep was stopped before";
        return tell(plan, result, &item, err);
    }
    const cra_status status = cra_sweep_run(engine, planned->report, planned->run, pace, &item, &texts, err);
    return status == CRA_OK ? tell(plan, result, &item, err) : status;
}

static cra_status execute(cra_engine *engine, const cra_sweep_plan *plan, cra_result *result, cra_error *err)
{
    cra_sweep_pace pace;
    int64_t begun = 0;
    const int64_t limit = cra_plan_limit(&plan->scope, plan->options.max_runs);

    init_pace(engine, plan, &pace);
    cra_status status = store_dates(engine, plan, err);
    for (size_t i = 0; status == CRA_OK && i < cra_sweep_plan_count(plan); i++) {
        const cra_item *planned = cra_sweep_plan_at(plan, i);

        if (planned->status != CRA_ITEM_OK) {
            status = tell(plan, result, planned, err);
            continue;
        }
        if (plan->options.max_runs > 0 && begun >= limit) {
            pace.stopped_by = pace.stopped_by != NULL ? pace.stopped_by : "max_runs";
            break;
        }
        begun++;
        status = sweep_item(engine, plan, planned, &pace, result, err);
    }
    cra_result_set_stopped_by(result, status == CRA_OK ? pace.stopped_by : "error");
    return status;
}

cra_status cra_sweep_execute(cra_engine *engine, const cra_sweep_plan *plan, cra_result **out, cra_error *err)
{
    *out = NULL;
    if (plan->hypothetical)
        return cra_error_set(err, CRA_INVALID, "sweep", "a plan for another time than now is only for looking at");
    if (cra_engine_is_read_only(engine))
        return cra_error_set(err, CRA_DENIED, "sweep", "the stores are open for reading only");
    cra_status status = cra_result_new(cra_engine_allocator(engine), out, err);
    if (status != CRA_OK)
        return status;
    if (cra_sweep_plan_exceeds_share(plan)) {
        cra_result_set_stopped_by(*out, "max_share");
        cra_result_set_still_due(*out, count_still_due(engine, plan));
        store_summary(engine, *out);
        cra_error_set(err, CRA_CONFLICT, "sweep",
                      "%lld of %lld hot runs are due: more than --max-share allows; nothing was removed",
                      (long long)plan->scope.selected, (long long)plan->scope.hot);
        cra_error_hint(err, "check the clock and the dates with --dry-run; --max-share raises the limit");
        return CRA_CONFLICT;
    }
    status = execute(engine, plan, *out, err);
    cra_result_set_still_due(*out, count_still_due(engine, plan));
    store_summary(engine, *out);
    if (status != CRA_OK)
        return status;
    if (cra_cancel_requested(cra_engine_context(engine)))
        return cra_error_set(err, CRA_CANCELLED, "sweep", "stopped at the end of a batch");
    return cra_result_status(*out);
}
