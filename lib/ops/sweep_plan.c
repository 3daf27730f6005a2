/* SPDX-License-Identifier: Apache-2.0 */

/* What a sweep would do, and why: decided run by run through an engine that cannot write. */

#include "ops/sweep_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "core/result.h"
#include "ops/archive_set.h"

typedef struct planner {
    cra_engine *reader; /* cannot write */
    cra_sweep_plan *plan;
    bool named; /* the caller named the runs: each is told, due or not */
    cra_run_doc *selected; /* those to be told, before the archive was looked at */
    size_t selected_count, selected_capacity;
    cra_error *err;
} planner;

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "sweep", "out of memory");
}

static cra_status decide(const planner *p, const cra_run_doc *run, cra_decision *out)
{
    memset(out, 0, sizeof *out);
    out->struct_size = sizeof *out;
    return cra_policy_decide(cra_config_policy(cra_engine_config(p->reader)), run, p->plan->now, false, out);
}

static cra_status note_undated(planner *p, const cra_run_doc *run)
{
    cra_sweep_plan *plan = p->plan;

    if (cra_array_grow(plan->allocator, (void **)&plan->undated, &plan->undated_capacity, plan->undated_count + 1,
                       sizeof *plan->undated) != CRA_OK)
        return no_memory(p->err);
    cra_plan_undated *entry = &plan->undated[plan->undated_count];
    entry->report = cra_strdup(plan->allocator, run->report);
    entry->run = cra_strdup(plan->allocator, run->run);
    if (entry->report == NULL || entry->run == NULL) {
        cra_free(plan->allocator, entry->report);
        cra_free(plan->allocator, entry->run);
        return no_memory(p->err);
    }
    plan->undated_count++;
    return CRA_OK;
}

/* Worth telling: due, or due but for a hold, or without a usable anchor. */
static bool is_told(const planner *p, const cra_run_doc *run, const cra_decision *decision)
{
    if (p->named || decision->due)
        return true;
    switch (decision->reason) {
    case CRA_REASON_NO_ANCHOR:
    case CRA_REASON_FUTURE_ANCHOR:
        return run->state != CRA_RUN_ARCHIVED && run->outcome != NULL;
    case CRA_REASON_HELD:
        return decision->archive_at != CRA_TIME_NONE && decision->archive_at <= p->plan->now;
    default:
        return false;
    }
}

static cra_status take_run(void *user, const cra_run_doc *run)
{
    planner *p = user;
    cra_decision decision;

    cra_status status = decide(p, run, &decision);
    if (status != CRA_OK)
        return cra_error_set(p->err, status, "sweep", "run %s: its date cannot be decided", run->run);
    (void)cra_plan_add(&p->plan->scope, run, &decision, p->plan->now);
    if (run->outcome != NULL && run->archive_at == CRA_TIME_NONE && decision.archive_at != CRA_TIME_NONE &&
        run->state != CRA_RUN_ARCHIVED)
        status = note_undated(p, run);
    if (status != CRA_OK || !is_told(p, run, &decision))
        return status;
    if (cra_array_grow(p->plan->allocator, (void **)&p->selected, &p->selected_capacity, p->selected_count + 1,
                       sizeof *p->selected) != CRA_OK ||
        cra_run_doc_copy(&p->selected[p->selected_count], run, p->plan->allocator) != CRA_OK)
        return no_memory(p->err);
    p->selected_count++;
    return CRA_OK;
}

static cra_status list_runs(planner *p, const char *report)
{
    cra_run_query query = CRA_RUN_QUERY_INIT;

    query.report = report;
    query.state_mask = 1u << CRA_RUN_HOT | 1u << CRA_RUN_SWEEPING | 1u << CRA_RUN_RESTORING | 1u << CRA_RUN_RESTORED;
    return cra_catalog_run_list(cra_engine_catalog(p->reader), &query, take_run, p, p->err);
}

static cra_status read_named(planner *p, const cra_sweep_options *options)
{
    for (size_t i = 0; i < options->runs_count; i++) {
        const cra_run_doc *named = cra_run_doc_of(options->runs[i]);
        cra_run_doc run;

        cra_status status = cra_catalog_run_get(cra_engine_catalog(p->reader), named->report, named->run, &run, p->err);
        if (status == CRA_OK)
            status = take_run(p, &run);
        cra_run_doc_cleanup(&run, p->plan->allocator);
        if (status != CRA_OK)
            return status;
    }
    return CRA_OK;
}

/* ---- the archive, lightly -------------------------------------------------------------------- */

static cra_status count_hot(const planner *p, const cra_run_doc *run, int64_t *count)
{
    cra_hot_scope hot;
    const cra_status status = cra_hot_scope_init(p->reader, run, &hot, p->err);

    return status == CRA_OK ? cra_docstore_count(cra_engine_docstore(p->reader), &hot.scope, count, p->err) : status;
}

/* What a listing of the archive tells already: whether it is there, whole by names and sizes, and nobody's at work. */
static cra_status look_at_archive(planner *p, const cra_run_doc *run, cra_archive_set *set, cra_item *item)
{
    cra_error cause;
    int64_t hot = -1;

    cra_error_clear(&cause);
    cra_status status = cra_archive_set_load(p->reader, run, set, &cause);
    if (status == CRA_NOMEM) {
        if (p->err != NULL)
            *p->err = cause;
        return status;
    }
    if (status != CRA_OK) {
        item->status = CRA_ITEM_KEPT;
        item->reason = CRA_REASON_STORE_ERROR;
        item->error = cause;
        return CRA_OK;
    }
    item->location = set->location;
    item->counts[CRA_COUNT_BYTES] = set->parts_bytes;
    if (run->outcome != NULL && strcmp(run->outcome, "empty") == 0 && run->state != CRA_RUN_SWEEPING) {
        status = count_hot(p, run, &hot);
        if (status != CRA_OK)
            return status;
        item->counts[CRA_COUNT_RECORDS] = hot;
        if (hot > 0)
            item->reason = CRA_REASON_NOT_EMPTY;
    }
    if (item->reason == CRA_REASON_NONE && p->plan->options.level != CRA_VERIFY_TRUST && hot != 0)
        item->reason = set->reason;
    if (item->reason != CRA_REASON_NONE) {
        item->status = CRA_ITEM_KEPT;
        item->detail = item->reason == set->reason ? set->detail : NULL;
    }
    return CRA_OK;
}

static cra_status add_item(planner *p, const cra_run_doc *run)
{
    cra_plan_scope ignored = {0, 0, 0};
    cra_archive_set set;
    cra_decision decision;
    cra_item item;

    cra_status status = decide(p, run, &decision);
    if (status != CRA_OK)
        return status;
    memset(&set, 0, sizeof set);
    cra_item_init(&item, run->report, run->run);
    item.counts[CRA_COUNT_RECORDS] = run->records;
    item.reason = cra_plan_add(&ignored, run, &decision, p->plan->now);
    if (item.reason == CRA_REASON_NONE)
        status = look_at_archive(p, run, &set, &item);
    else
        item.status = item.reason == CRA_REASON_LOCKED ? CRA_ITEM_LOCKED : CRA_ITEM_KEPT;
    if (status == CRA_OK)
        status = cra_result_add(p->plan->items, &item, p->err);
    cra_archive_set_cleanup(&set);
    return status;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static int by_date(const void *a, const void *b)
{
    const cra_run_doc *left = a;
    const cra_run_doc *right = b;
    int order = left->archive_at < right->archive_at ? -1 : left->archive_at > right->archive_at;

    if (order == 0)
        order = strcmp(left->report, right->report);
    return order != 0 ? order : strcmp(left->run, right->run);
}

static cra_status fill(planner *p, const cra_sweep_options *options)
{
    cra_status status = p->named ? read_named(p, options) : list_runs(p, options->report);

    if (status == CRA_OK && p->selected_count > 1)
        qsort(p->selected, p->selected_count, sizeof *p->selected, by_date);
    for (size_t i = 0; i < p->selected_count; i++) {
        if (status == CRA_OK)
            status = add_item(p, &p->selected[i]);
        cra_run_doc_cleanup(&p->selected[i], p->plan->allocator);
    }
    cra_free(p->plan->allocator, p->selected);
    return status;
}

static cra_status take_options(cra_sweep_plan *plan, const cra_sweep_options *options, cra_error *err)
{
    plan->options = *options;
    plan->options.runs = NULL;
    plan->options.runs_count = 0;
    plan->report = cra_strdup(plan->allocator, options->report);
    plan->stop_file = cra_strdup(plan->allocator, options->stop_file);
    if ((options->report != NULL && plan->report == NULL) || (options->stop_file != NULL && plan->stop_file == NULL))
        return no_memory(err);
    plan->options.report = plan->report;
    plan->options.stop_file = plan->stop_file;
    return CRA_OK;
}

cra_status cra_sweep_plan_new(cra_engine *engine, const cra_sweep_options *options, cra_sweep_plan **out,
                              cra_error *err)
{
    cra_sweep_options own = CRA_SWEEP_OPTIONS_INIT;
    planner p = {.err = err};

    *out = NULL;
    if (cra_options_read(&own, sizeof own, options) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, "sweep", "options of another version of this library");
    cra_sweep_plan *plan = cra_calloc(cra_engine_allocator(engine), 1, sizeof *plan);
    if (plan == NULL)
        return no_memory(err);
    plan->allocator = cra_engine_allocator(engine);
    p.plan = plan;
    p.named = own.runs != NULL;
    cra_status status = take_options(plan, &own, err);
    if (status == CRA_OK)
        status = cra_engine_read_only(engine, &p.reader, err);
    if (status == CRA_OK)
        status = cra_result_new(plan->allocator, &plan->items, err);
    if (status == CRA_OK)
        status = cra_catalog_now(cra_engine_catalog(p.reader), &plan->now, err);
    if (status == CRA_OK && own.as_of != CRA_TIME_NONE) {
        plan->now = own.as_of;
        plan->hypothetical = true;
    }
    if (status == CRA_OK)
        status = fill(&p, &own);
    cra_engine_free(p.reader);
    if (status != CRA_OK) {
        cra_sweep_plan_free(plan);
        return status;
    }
    *out = plan;
    return CRA_OK;
}

size_t cra_sweep_plan_count(const cra_sweep_plan *plan)
{
    return cra_result_count(plan->items);
}

const cra_item *cra_sweep_plan_at(const cra_sweep_plan *plan, size_t index)
{
    return cra_result_at(plan->items, index);
}

bool cra_sweep_plan_exceeds_share(const cra_sweep_plan *plan)
{
    return cra_plan_exceeds_share(&plan->scope, plan->options.max_share);
}

void cra_sweep_plan_free(cra_sweep_plan *plan)
{
    if (plan == NULL)
        return;
    const cra_allocator *allocator = plan->allocator;
    for (size_t i = 0; i < plan->undated_count; i++) {
        cra_free(allocator, plan->undated[i].report);
        cra_free(allocator, plan->undated[i].run);
    }
    cra_free(allocator, plan->undated);
    cra_free(allocator, plan->report);
    cra_free(allocator, plan->stop_file);
    cra_result_free(plan->items);
    cra_free(allocator, plan);
}
