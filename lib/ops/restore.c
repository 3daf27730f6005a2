/* SPDX-License-Identifier: Apache-2.0 */
#include <crawlarchive/restore.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/options.h"
#include "core/result.h"
#include "exec/pool.h"
#include "ops/restore_job.h"
#include "os/thread.h"
#include "ports/context.h"

#define ORIGIN "restore"
#define DEFAULT_BATCH_DOCS 1000
#define DEFAULT_BATCH_BYTES (8 * 1024 * 1024)
#define DEFAULT_PARALLEL 4
#define DEFAULT_WORKERS 2
#define DEFAULT_HEARTBEAT_MS 30000
#define DEFAULT_BUDGET (256 * 1024 * 1024)

/* All runs of one call. */
struct batch {
    cra_engine *engine;
    const char *report;
    cra_restore_options options;
    cra_budget *budget;
    cra_mutex mutex; /* guards the result and the callback */
    cra_result *result;
};

static int64_t choose(const struct batch *batch, int64_t given, const char *key, int64_t fallback)
{
    return given > 0 ? given : cra_config_report_int(cra_engine_config(batch->engine), key, batch->report, fallback);
}

static void resolve_options(struct batch *batch)
{
    cra_restore_options *options = &batch->options;

    options->batch_docs = choose(batch, options->batch_docs, "restore.batch_docs", DEFAULT_BATCH_DOCS);
    options->batch_bytes = choose(batch, options->batch_bytes, "restore.batch_bytes", DEFAULT_BATCH_BYTES);
    options->parallel_runs = choose(batch, options->parallel_runs, "restore.parallel_runs", DEFAULT_PARALLEL);
    options->workers = choose(batch, options->workers, "restore.workers", DEFAULT_WORKERS);
    options->heartbeat_ms = choose(batch, options->heartbeat_ms, "restore.heartbeat", DEFAULT_HEARTBEAT_MS);
}

static cra_status tell(struct batch *batch, const cra_item *item, cra_error *err)
{
    cra_status status;

    cra_mutex_lock(&batch->mutex);
    status = cra_result_add(batch->result, item, err);
    if (batch->options.on_item != NULL)
        batch->options.on_item(batch->options.user, item);
    cra_mutex_unlock(&batch->mutex);
    return status;
}

/* After a stop the runs that are left are told as cancelled, too: nothing goes missing from the result. */
static cra_status restore_one(void *user, size_t worker, void *item_of_queue, cra_error *err)
{
    struct batch *batch = user;
    const char *run = item_of_queue;
    cra_restore_job job = {.engine = batch->engine,
                           .allocator = cra_engine_allocator(batch->engine),
                           .options = batch->options,
                           .budget = batch->budget,
                           .distinct = -1};
    cra_item item;
    cra_status status, told;

    (void)worker;
    cra_item_init(&item, batch->report, run);
    status = cra_context_check_cancel(cra_engine_context(batch->engine), &item.error);
    if (status == CRA_OK) {
        status = cra_restore_run(&job, batch->report, run, &item, err);
    } else {
        item.status = CRA_ITEM_FAILED;
        item.reason = CRA_REASON_CANCELLED;
    }
    told = tell(batch, &item, err);
    cra_restore_job_cleanup(&job);
    return status == CRA_NOMEM ? status : told;
}

static bool is_repeated(const char *const *runs, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(runs[i], runs[index]) == 0)
            return true;
    }
    return false;
}

static void *job_of(const char *run)
{
    return (void *)(uintptr_t)run;
}

static cra_status run_parallel(struct batch *batch, const char *const *runs, size_t count, cra_error *err)
{
    const size_t workers = (size_t)batch->options.parallel_runs < count ? (size_t)batch->options.parallel_runs : count;
    const cra_pool_options options = {workers, workers, true, restore_one, NULL, batch};
    cra_pool *pool;
    cra_status status = CRA_OK, waited;

    CRA_TRY(cra_pool_new(&options, cra_engine_allocator(batch->engine), &pool, err));
    for (size_t i = 0; i < count && status == CRA_OK; i++) {
        if (!is_repeated(runs, i))
            status = cra_pool_submit(pool, job_of(runs[i]), err);
    }
    waited = cra_pool_wait(pool, err);
    cra_pool_free(pool);
    return status != CRA_OK ? status : waited;
}

static cra_status run_all(struct batch *batch, const char *const *runs, size_t count, cra_error *err)
{
    if (count > 1 && batch->options.parallel_runs > 1)
        return run_parallel(batch, runs, count, err);
    for (size_t i = 0; i < count; i++) {
        if (!is_repeated(runs, i))
            CRA_TRY(restore_one(batch, 0, job_of(runs[i]), err));
    }
    return CRA_OK;
}

static cra_status start(struct batch *batch, cra_error *err)
{
    const cra_allocator *allocator = cra_engine_allocator(batch->engine);
    const int64_t budget = cra_config_int(cra_engine_config(batch->engine), "memory.budget", DEFAULT_BUDGET);
    cra_status status;

    CRA_TRY(cra_mutex_init(&batch->mutex, err));
    status = cra_budget_new(budget, allocator, &batch->budget, err);
    if (status == CRA_OK)
        status = cra_result_new(allocator, &batch->result, err);
    if (status != CRA_OK) {
        cra_budget_free(batch->budget);
        cra_mutex_destroy(&batch->mutex);
    }
    return status;
}

static cra_status check_arguments(cra_engine *engine, const char *report, const char *const *runs, size_t count,
                                  cra_error *err)
{
    if (engine == NULL || report == NULL || (runs == NULL && count > 0))
        return cra_error_set(err, CRA_INVALID, ORIGIN, "a restore needs an engine, a report and runs");
    for (size_t i = 0; i < count; i++) {
        if (runs[i] == NULL || runs[i][0] == '\0')
            return cra_error_set(err, CRA_INVALID, ORIGIN, "the id of a run is empty");
    }
    return CRA_OK;
}

/* The caller's error gets the first failure of the items. */
static cra_status judge(const struct batch *batch, cra_error *err)
{
    const cra_status status = cra_result_status(batch->result);

    for (size_t i = 0; status != CRA_OK && err != NULL && i < cra_result_count(batch->result); i++) {
        const cra_item *item = cra_result_at(batch->result, i);
        if (item->status == CRA_ITEM_OK)
            continue;
        *err = item->error;
        break;
    }
    return status;
}

cra_status cra_restore_runs(cra_engine *engine, const char *report, const char *const *runs, size_t count,
                            const cra_restore_options *options, cra_result **out, cra_error *err)
{
    struct batch batch = {.engine = engine, .report = report, .options = CRA_RESTORE_OPTIONS_INIT};
    cra_status status;

    if (out != NULL)
        *out = NULL;
    CRA_TRY(check_arguments(engine, report, runs, count, err));
    if (cra_options_read(&batch.options, sizeof(batch.options), options) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "options of another version of this library");
    resolve_options(&batch);
    CRA_TRY(start(&batch, err));
    status = run_all(&batch, runs, count, err);
    if (status == CRA_OK)
        status = cra_cancel_requested(cra_engine_context(engine)) ? CRA_CANCELLED : judge(&batch, err);
    if (status == CRA_CANCELLED)
        cra_error_set(err, CRA_CANCELLED, ORIGIN, "stopped as asked");
    cra_budget_free(batch.budget);
    cra_mutex_destroy(&batch.mutex);
    if (out != NULL && status != CRA_NOMEM)
        *out = batch.result;
    else
        cra_result_free(batch.result);
    return status;
}
