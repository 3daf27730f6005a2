/* SPDX-License-Identifier: Apache-2.0 */
#include <crawlarchive/status.h>

#include "base/buf.h"
#include "ops/engine_internal.h"

#define ORIGIN "status"
#define DAY_MS INT64_C(86400000)

struct collector {
    const cra_policy *policy;
    cra_time_ms now;
    cra_status_report report;
};

/* Whether the run leaves the hot store by itself one day, and when. */
static bool has_date(const cra_run_doc *run, const cra_decision *decision)
{
    return run->outcome != NULL &&
           (run->state == CRA_RUN_HOT || run->state == CRA_RUN_RESTORED || run->state == CRA_RUN_RESTORING ||
            run->state == CRA_RUN_SWEEPING) &&
           decision->archive_at != CRA_TIME_NONE &&
           (decision->reason == CRA_REASON_NONE || decision->reason == CRA_REASON_NOT_DUE);
}

static void count_due(struct collector *collector, const cra_run_doc *run)
{
    cra_status_report *report = &collector->report;
    cra_decision decision = {.struct_size = sizeof(decision)};

    if (cra_policy_decide(collector->policy, run, collector->now, false, &decision) != CRA_OK ||
        !has_date(run, &decision))
        return;
    if (decision.reason == CRA_REASON_NONE) {
        report->due_now++;
        report->overdue_kept += run->last_reason != NULL;
    }
    report->due_1d += decision.archive_at <= collector->now + DAY_MS;
    report->due_7d += decision.archive_at <= collector->now + 7 * DAY_MS;
}

static cra_status count_run(void *user, const cra_run_doc *run)
{
    struct collector *collector = user;
    cra_status_report *report = &collector->report;

    if (run->state >= 0 && run->state < CRA_RUN_STATES) {
        report->runs_by_state[run->state]++;
        report->records_by_state[run->state] += run->records > 0 ? run->records : 0;
    }
    report->held += run->held;
    report->restoring += run->state == CRA_RUN_RESTORING;
    report->failures += run->last_reason != NULL;
    count_due(collector, run);
    return CRA_OK;
}

cra_status cra_status_collect(cra_engine *engine, cra_status_report *out, cra_error *err)
{
    cra_run_query query = CRA_RUN_QUERY_INIT;
    struct collector collector = {.report = {.struct_size = sizeof(collector.report)}};

    if (engine == NULL || out == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "an engine and a place for the counts are needed");
    collector.policy = cra_config_policy(cra_engine_config(engine));
    CRA_TRY(cra_catalog_now(cra_engine_catalog(engine), &collector.now, err));
    CRA_TRY(cra_catalog_run_list(cra_engine_catalog(engine), &query, count_run, &collector, err));
    *out = collector.report;
    return CRA_OK;
}

cra_status cra_status_last_sweep(cra_engine *engine, cra_buf *out, cra_error *err)
{
    if (engine == NULL || out == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "an engine and a buffer are needed");
    return cra_catalog_summary_get(cra_engine_catalog(engine), "sweep", out, err);
}
