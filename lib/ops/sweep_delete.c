/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/sweep_delete.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#define ATTEMPTS_MAX 5
#define RETRY_FIRST_MS 100

typedef struct deleter {
    cra_engine *engine;
    cra_run_guard *guard;
    cra_sweep_pace *pace;
    cra_sweep_verdict *verdict;
    cra_hot_scope hot;
    const char *revision_field;
    cra_buf found; /* scratch: records that are still there, or a match document */
} deleter;

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "sweep", "out of memory");
}

/* Hold and fence, on the stored document. */
static cra_status check_before_batch(deleter *d, cra_error *err)
{
    cra_status status = cra_run_guard_check(d->guard, err);

    if (status == CRA_OK)
        status = cra_run_guard_refresh(d->guard, err);
    if (status != CRA_OK)
        return status;
    const cra_run_doc *run = cra_run_guard_doc(d->guard);
    if (run->held)
        return cra_error_set(err, CRA_CONFLICT, "sweep", "run %s: a hold was set", run->run);
    if (run->lease_fence != cra_run_guard_fence(d->guard))
        return cra_error_set(err, CRA_LOCKED, "sweep", "run %s: another worker took the lease", run->run);
    return CRA_OK;
}

/* One delete command, again while the store asks for patience and the lease allows it. */
static cra_status delete_ids(deleter *d, const cra_value *ids, size_t count, cra_bytes match, cra_error *err)
{
    int64_t wait_ms = RETRY_FIRST_MS;

    for (int attempt = 1;; attempt++) {
        cra_error cause;
        int64_t removed;

        cra_error_clear(&cause);
        const cra_status status =
            cra_docstore_delete_batch(cra_engine_docstore(d->engine), &d->hot.scope, ids, count, match,
                                      cra_run_guard_deadline(d->guard), &removed, &cause);
        if (status != CRA_TIMEOUT && status != CRA_UNAVAILABLE) {
            if (status != CRA_OK && err != NULL)
                *err = cause;
            return status;
        }
        if (attempt == ATTEMPTS_MAX) {
            if (err != NULL)
                *err = cause;
            return status;
        }
        cra_context_sleep_ms(cra_engine_context(d->engine), wait_ms);
        wait_ms *= 2;
        const cra_status guarded = cra_run_guard_check(d->guard, err);
        if (guarded != CRA_OK)
            return guarded;
    }
}

/* With a revision field each record's own revision joins its filter: an edited record stays. */
static cra_status delete_by_revision(deleter *d, const cra_value *ids, const cra_value *revisions, size_t count,
                                     cra_error *err)
{
    cra_status status = CRA_OK;

    for (size_t i = 0; status == CRA_OK && i < count; i++) {
        cra_buf match;
        size_t mark;

        cra_buf_init(&match, cra_engine_allocator(d->engine));
        if (revisions[i].type != 0 &&
            (cra_bson_begin(&match, &mark) != CRA_OK ||
             cra_bson_put_value(&match, d->revision_field, revisions[i]) != CRA_OK ||
             cra_bson_end(&match, mark) != CRA_OK))
            status = no_memory(err);
        if (status == CRA_OK)
            status = delete_ids(d, &ids[i], 1, cra_buf_bytes(&match), err);
        cra_buf_cleanup(&match);
    }
    return status;
}

/* The post-condition: how many of the ids are still there as records of this run. */
static cra_status count_left(deleter *d, const cra_value *ids, size_t count, int64_t *left, cra_error *err)
{
    cra_bytes document;

    *left = 0;
    cra_buf_clear(&d->found);
    const cra_status status = cra_docstore_fetch(cra_engine_docstore(d->engine), d->hot.scope.collection, ids, count,
                                                 &d->found, err);
    if (status != CRA_OK)
        return status;
    cra_bytes rest = cra_buf_bytes(&d->found);
    while (cra_bson_next_document(&rest, &document) == CRA_OK) {
        cra_value run;
        if (cra_bson_path(document, d->hot.scope.run_field, &run) == CRA_OK &&
            cra_value_compare(run, d->hot.scope.run_value) == 0)
            (*left)++;
    }
    return CRA_OK;
}

static cra_status delete_batch(deleter *d, const cra_value *ids, const cra_value *revisions, size_t count,
                               cra_error *err)
{
    const cra_bytes no_match = {NULL, 0};
    int64_t left = 0;

    /* A second try for what a store said it had removed and had not. */
    for (int attempt = 0; attempt < 2; attempt++) {
        cra_status status = d->revision_field != NULL ? delete_by_revision(d, ids, revisions, count, err)
                                                      : delete_ids(d, ids, count, no_match, err);
        if (status == CRA_OK)
            status = count_left(d, ids, count, &left, err);
        if (status != CRA_OK)
            return status;
        if (left == 0 || d->revision_field != NULL)
            break;
    }
    if (left > 0 && d->revision_field == NULL)
        return cra_error_set(err, CRA_IO, "sweep", "%lld records of a batch are still there after their delete",
                             (long long)left);
    d->verdict->position += (int64_t)count;
    d->verdict->removed += (int64_t)count - left;
    return CRA_OK;
}

static cra_status store_position(deleter *d, cra_error *err)
{
    cra_buf stored;

    cra_buf_init(&stored, cra_engine_allocator(d->engine));
    cra_status status = cra_sweep_verdict_encode(d->verdict, &stored);
    status = status == CRA_OK ? cra_run_guard_checkpoint_put(d->guard, "sweep", cra_buf_bytes(&stored), err)
                              : no_memory(err);
    cra_buf_cleanup(&stored);
    return status;
}

/* Learn from the batch, and wait where the store is behind or a rate is kept. */
static cra_status keep_pace(deleter *d, size_t count, int64_t latency_ms, cra_error *err)
{
    const cra_context *context = cra_engine_context(d->engine);
    cra_docstore_health health = {.struct_size = sizeof health};

    cra_status status = cra_docstore_get_health(cra_engine_docstore(d->engine), &health, err);
    if (status != CRA_OK)
        return status;
    const cra_batch_sample sample = {.latency_ms = latency_ms, .lag_ms = health.lag_ms};
    int64_t wait_ms = cra_batch_learn(&d->pace->control, &sample);
    const int64_t owed = cra_rate_take(&d->pace->rate, (int64_t)count, cra_context_monotonic_ms(context));
    if (owed > wait_ms)
        wait_ms = owed;
    while (wait_ms > 0 && !cra_sweep_must_stop(d->engine, d->pace)) {
        /* In steps, so that a lost lease or a stop file is seen in time. */
        const int64_t step = wait_ms < 500 ? wait_ms : 500;
        cra_context_sleep_ms(context, step);
        wait_ms -= step;
        if ((status = cra_run_guard_check(d->guard, err)) != CRA_OK)
            return status;
        if (wait_ms <= 0 && health.lag_ms > 0) {
            status = cra_docstore_get_health(cra_engine_docstore(d->engine), &health, err);
            if (status != CRA_OK)
                return status;
            wait_ms = cra_batch_lag(&d->pace->control, health.lag_ms);
        }
    }
    return CRA_OK;
}

static cra_status walk(deleter *d, cra_frozen_reader *reader, cra_error *err)
{
    const cra_context *context = cra_engine_context(d->engine);

    cra_status status = cra_frozen_reader_seek(reader, d->verdict->position, err);
    while (status == CRA_OK) {
        const cra_value *ids, *revisions;
        size_t count;
        char place[48];

        if (cra_sweep_must_stop(d->engine, d->pace))
            return CRA_DONE;
        status = cra_frozen_reader_batch(reader, (size_t)cra_batch_size(&d->pace->control), &ids, &revisions, &count,
                                         err);
        if (status == CRA_DONE)
            return CRA_OK;
        if (status == CRA_OK)
            status = check_before_batch(d, err);
        const int64_t begun = cra_context_monotonic_ms(context);
        if (status == CRA_OK)
            status = delete_batch(d, ids, revisions, count, err);
        const int64_t latency = cra_context_monotonic_ms(context) - begun;
        if (status == CRA_OK)
            status = store_position(d, err);
        snprintf(place, sizeof place, "id %lld of %lld", (long long)d->verdict->position,
                 (long long)d->verdict->list.count);
        cra_run_guard_progress(d->guard, "delete", d->verdict->removed, d->verdict->list.count, -1, place);
        if (status == CRA_OK)
            status = keep_pace(d, count, latency, err);
    }
    return status;
}

cra_status cra_sweep_delete(cra_engine *engine, cra_run_guard *guard, cra_sweep_pace *pace, cra_sweep_verdict *verdict,
                            cra_error *err)
{
    deleter d = {.engine = engine, .guard = guard, .pace = pace, .verdict = verdict};
    cra_frozen_reader *reader = NULL;

    d.revision_field = cra_config_text(cra_engine_config(engine), "hot.revision_field");
    cra_buf_init(&d.found, cra_engine_allocator(engine));
    cra_status status = cra_hot_scope_init(engine, cra_run_guard_doc(guard), &d.hot, err);
    if (status == CRA_OK)
        status = cra_frozen_reader_open(cra_engine_allocator(engine), verdict->list_path, &verdict->list, &reader, err);
    if (status == CRA_OK)
        status = walk(&d, reader, err);
    cra_frozen_reader_free(reader);
    cra_buf_cleanup(&d.found);
    return status;
}
