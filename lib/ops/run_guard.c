/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/run_guard.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "exec/heartbeat.h"
#include "ops/engine_internal.h"
#include "ops/run_progress.h"
#include "os/entropy.h"
#include "os/thread.h"

#define ORIGIN "lease"
#define DEFAULT_TTL_MS 30000
#define MIN_MARGIN_MS 20
#define DEFAULT_HEARTBEAT_MS 30000
/* Writers that come between again and again: more than this is no accident. */
#define MAX_UPDATES 100

/* Version of a checkpoint as we stored or read it last. */
struct known_checkpoint {
    char *name;
    int64_t version; /* 0: there is none */
};

struct cra_run_guard {
    cra_engine *engine;
    cra_catalog *catalog;
    cra_context *context;
    const cra_allocator *allocator;
    char *report;
    char *run;
    int64_t ttl_ms;
    int64_t margin_ms;
    cra_mutex mutex; /* guards lease, checkpoints */
    bool mutex_ready;
    cra_lease lease;
    bool held;
    atomic_llong local_deadline_ms; /* monotonic; nothing is written behind it */
    atomic_bool lost;
    cra_heartbeat *renewal;
    cra_run_progress *progress;
    cra_run_doc doc;
    bool doc_ready;
    struct known_checkpoint *checkpoints;
    size_t checkpoints_count;
    size_t checkpoints_capacity;
};

/* ---- lease ------------------------------------------------------------------------------------ */

static cra_lease current_lease(cra_run_guard *guard)
{
    cra_lease lease;

    cra_mutex_lock(&guard->mutex);
    lease = guard->lease;
    cra_mutex_unlock(&guard->mutex);
    return lease;
}

/* A store that says "locked" means for good: another has the lease now. */
static cra_status note_status(cra_run_guard *guard, cra_status status)
{
    if (status == CRA_LOCKED)
        atomic_store(&guard->lost, true);
    return status;
}

/* A store that cannot be reached is tried again at the next beat; the local deadline stops the work meanwhile. */
static cra_status renew(void *user, cra_error *err)
{
    cra_run_guard *guard = user;
    cra_lease lease = current_lease(guard);
    const int64_t sent_ms = cra_context_monotonic_ms(guard->context);
    const cra_status status =
        cra_catalog_lease_renew(guard->catalog, guard->report, guard->run, &lease, guard->ttl_ms, err);

    if (status == CRA_OK) {
        cra_mutex_lock(&guard->mutex);
        guard->lease = lease;
        cra_mutex_unlock(&guard->mutex);
        atomic_store(&guard->local_deadline_ms, sent_ms + guard->ttl_ms - guard->margin_ms);
        return CRA_OK;
    }
    if (status == CRA_LOCKED || status == CRA_NOT_FOUND) {
        atomic_store(&guard->lost, true);
        return status;
    }
    return CRA_OK;
}

static cra_status acquire_lease(cra_run_guard *guard, cra_error *err)
{
    char owner[CRA_UUID_TEXT_SIZE];
    int64_t sent_ms;

    CRA_TRY(cra_os_uuid(owner, err));
    sent_ms = cra_context_monotonic_ms(guard->context);
    CRA_TRY(cra_catalog_lease_acquire(guard->catalog, guard->report, guard->run, owner, guard->ttl_ms,
                                      guard->ttl_ms / 2, &guard->lease, err));
    guard->held = true;
    atomic_store(&guard->local_deadline_ms, sent_ms + guard->ttl_ms - guard->margin_ms);
    return CRA_OK;
}

/* Renewing goes by the machine's clock also where the program lends one: the store's time does not wait. */
static cra_status start_renewal(cra_run_guard *guard, cra_error *err)
{
    const cra_heartbeat_options options = {guard->ttl_ms / 3 > 0 ? guard->ttl_ms / 3 : 1, renew, guard, NULL, NULL};

    return cra_heartbeat_start(&options, guard->allocator, &guard->renewal, err);
}

static cra_status new_guard(cra_engine *engine, const char *report, const char *run, cra_run_guard **out,
                            cra_error *err)
{
    const cra_allocator *allocator = cra_engine_allocator(engine);
    cra_run_guard *guard = cra_calloc(allocator, 1, sizeof(*guard));

    if (guard == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a lease");
    *out = guard;
    guard->engine = engine;
    guard->allocator = allocator;
    guard->context = cra_engine_context(engine);
    guard->catalog = cra_engine_catalog(engine);
    guard->ttl_ms = cra_config_int(cra_engine_config(engine), "lease.ttl", DEFAULT_TTL_MS);
    guard->margin_ms = guard->ttl_ms / 10 > MIN_MARGIN_MS ? guard->ttl_ms / 10 : MIN_MARGIN_MS;
    CRA_TRY(cra_mutex_init(&guard->mutex, err));
    guard->mutex_ready = true;
    guard->report = cra_strdup(allocator, report);
    guard->run = cra_strdup(allocator, run);
    if (guard->report == NULL || guard->run == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a lease");
    return CRA_OK;
}

cra_status cra_run_guard_acquire(cra_engine *engine, const char *report, const char *run, const char *operation,
                                 int64_t heartbeat_ms, cra_run_guard **out, cra_error *err)
{
    cra_run_guard *guard = NULL;
    cra_status status;

    *out = NULL;
    status = new_guard(engine, report, run, &guard, err);
    if (status == CRA_OK)
        status = acquire_lease(guard, err);
    if (status == CRA_OK)
        status = start_renewal(guard, err);
    if (status == CRA_OK)
        status = cra_run_guard_refresh(guard, err);
    if (status == CRA_OK)
        status = cra_run_progress_start(guard->context, operation, report, run,
                                        heartbeat_ms > 0 ? heartbeat_ms : DEFAULT_HEARTBEAT_MS, &guard->progress, err);
    if (status != CRA_OK) {
        cra_run_guard_release(guard);
        return status;
    }
    *out = guard;
    return CRA_OK;
}

void cra_run_guard_release(cra_run_guard *guard)
{
    if (guard == NULL)
        return;
    cra_run_progress_stop(guard->progress);
    (void)cra_heartbeat_stop(guard->renewal, NULL);
    if (guard->held && !atomic_load(&guard->lost))
        (void)cra_catalog_lease_release(guard->catalog, guard->report, guard->run, &guard->lease, NULL);
    if (guard->doc_ready)
        cra_run_doc_cleanup(&guard->doc, guard->allocator);
    for (size_t i = 0; i < guard->checkpoints_count; i++)
        cra_free(guard->allocator, guard->checkpoints[i].name);
    cra_free(guard->allocator, guard->checkpoints);
    cra_free(guard->allocator, guard->report);
    cra_free(guard->allocator, guard->run);
    if (guard->mutex_ready)
        cra_mutex_destroy(&guard->mutex);
    cra_free(guard->allocator, guard);
}

cra_status cra_run_guard_check(cra_run_guard *guard, cra_error *err)
{
    if (cra_run_progress_cancelled(guard->progress) || cra_cancel_requested(guard->context))
        return cra_error_set(err, CRA_CANCELLED, ORIGIN, "run %s/%s: stopped as asked", guard->report, guard->run);
    if (atomic_load(&guard->lost))
        return cra_error_set(err, CRA_LOCKED, ORIGIN, "run %s/%s: the lease was taken by another worker", guard->report,
                             guard->run);
    if (cra_context_monotonic_ms(guard->context) >= atomic_load(&guard->local_deadline_ms))
        return cra_error_set(err, CRA_LOCKED, ORIGIN, "run %s/%s: the lease could not be renewed in time",
                             guard->report, guard->run);
    return CRA_OK;
}

int64_t cra_run_guard_deadline(cra_run_guard *guard)
{
    const int64_t command_ms = cra_context_monotonic_ms(guard->context) + guard->ttl_ms / 2;
    const int64_t lease_ms = atomic_load(&guard->local_deadline_ms);

    return command_ms < lease_ms ? command_ms : lease_ms;
}

int64_t cra_run_guard_fence(const cra_run_guard *guard)
{
    return guard->lease.fence;
}

void cra_run_guard_progress(cra_run_guard *guard, const char *phase, int64_t records, int64_t total, int64_t bytes,
                            const char *checkpoint)
{
    cra_run_progress_set(guard->progress, phase, records, total, bytes, checkpoint);
}

/* ---- the run's document ----------------------------------------------------------------------- */

const cra_run_doc *cra_run_guard_doc(const cra_run_guard *guard)
{
    return &guard->doc;
}

static void adopt_doc(cra_run_guard *guard, const cra_run_doc *doc)
{
    if (guard->doc_ready)
        cra_run_doc_cleanup(&guard->doc, guard->allocator);
    guard->doc = *doc;
    guard->doc_ready = true;
}

cra_status cra_run_guard_refresh(cra_run_guard *guard, cra_error *err)
{
    cra_run_doc doc;

    CRA_TRY(cra_catalog_run_get(guard->catalog, guard->report, guard->run, &doc, err));
    adopt_doc(guard, &doc);
    return CRA_OK;
}

/* One round of read, change, compare-and-set. CRA_CONFLICT with `*again` where another writer came between.
 * `next` is the run afterwards, to be cleaned up in every case. */
static cra_status try_update(cra_engine *engine, const char *report, const char *run, const cra_lease *lease,
                             cra_run_change_fn change, void *user, cra_run_doc *next, bool *again, cra_error *err)
{
    cra_catalog *catalog = cra_engine_catalog(engine);
    cra_time_ms now;
    int64_t version;
    cra_status status;

    *again = false;
    cra_run_doc_init(next);
    CRA_TRY(cra_catalog_now(catalog, &now, err));
    CRA_TRY(cra_catalog_run_get(catalog, report, run, next, err));
    version = next->version;
    status = change(user, next, now, err);
    if (status == CRA_DONE)
        return CRA_OK;
    if (status != CRA_OK)
        return status;
    status = cra_catalog_run_replace(catalog, next, version, lease, err);
    if (status == CRA_OK)
        next->version = version + 1;
    *again = status == CRA_CONFLICT;
    return status;
}

/* The error of the last round; those of earlier ones were only a reason to try again. */
static cra_status pass_error(cra_status status, const cra_error *error, cra_error *err)
{
    if (status != CRA_OK && err != NULL)
        *err = *error;
    return status;
}

cra_status cra_run_guard_update(cra_run_guard *guard, cra_run_change_fn change, void *user, cra_error *err)
{
    const cra_lease lease = current_lease(guard);
    cra_status status = CRA_OK;
    cra_error error = {0};
    bool again = true;

    for (int i = 0; again && i < MAX_UPDATES; i++) {
        cra_run_doc next;
        if (atomic_load(&guard->lost))
            return cra_error_set(err, CRA_LOCKED, ORIGIN, "run %s/%s: the lease was taken by another worker",
                                 guard->report, guard->run);
        status = note_status(
            guard, try_update(guard->engine, guard->report, guard->run, &lease, change, user, &next, &again, &error));
        if (status == CRA_OK)
            adopt_doc(guard, &next);
        else
            cra_run_doc_cleanup(&next, guard->allocator);
    }
    return pass_error(status, &error, err);
}

cra_status cra_run_update(cra_engine *engine, const char *report, const char *run, cra_run_change_fn change, void *user,
                          cra_run **run_out, cra_error *err)
{
    cra_status status = CRA_OK;
    cra_error error = {0};
    bool again = true;

    if (run_out != NULL)
        *run_out = NULL;
    for (int i = 0; again && i < MAX_UPDATES; i++) {
        cra_run_doc next;
        status = try_update(engine, report, run, NULL, change, user, &next, &again, &error);
        if (status == CRA_OK && run_out != NULL)
            status = cra_run_from_doc(engine, &next, run_out, &error);
        cra_run_doc_cleanup(&next, cra_engine_allocator(engine));
    }
    return pass_error(status, &error, err);
}

/* ---- checkpoints ------------------------------------------------------------------------------ */

/* Under the mutex: the entry of a name, made where there is none. NULL on no memory. */
static struct known_checkpoint *find_checkpoint(cra_run_guard *guard, const char *name)
{
    struct known_checkpoint *slot;

    for (size_t i = 0; i < guard->checkpoints_count; i++) {
        if (strcmp(guard->checkpoints[i].name, name) == 0)
            return &guard->checkpoints[i];
    }
    if (cra_array_grow(guard->allocator, (void **)&guard->checkpoints, &guard->checkpoints_capacity,
                       guard->checkpoints_count + 1, sizeof(*guard->checkpoints)) != CRA_OK)
        return NULL;
    slot = &guard->checkpoints[guard->checkpoints_count];
    slot->version = -1;
    slot->name = cra_strdup(guard->allocator, name);
    if (slot->name == NULL)
        return NULL;
    guard->checkpoints_count++;
    return slot;
}

/* Under the mutex: append the stored content to `out` and remember its version (0 where there is none). */
static cra_status read_checkpoint(cra_run_guard *guard, struct known_checkpoint *known, cra_buf *out, cra_error *err)
{
    int64_t version = 0;
    cra_error local;
    cra_status status;

    cra_error_clear(&local);
    status = cra_catalog_checkpoint_get(guard->catalog, guard->report, guard->run, known->name, out, &version, &local);
    if (status == CRA_OK)
        known->version = version;
    else if (status == CRA_NOT_FOUND)
        known->version = 0;
    else
        known->version = -1;
    if (status != CRA_OK && err != NULL)
        *err = local;
    return status;
}

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a checkpoint");
}

cra_status cra_run_guard_checkpoint_get(cra_run_guard *guard, const char *name, cra_buf *out, cra_error *err)
{
    struct known_checkpoint *known;
    cra_status status;

    cra_mutex_lock(&guard->mutex);
    known = find_checkpoint(guard, name);
    status = known == NULL ? no_memory(err) : read_checkpoint(guard, known, out, err);
    cra_mutex_unlock(&guard->mutex);
    return status;
}

/* Under the mutex: learn the version of a checkpoint that was not read yet. */
static cra_status learn_version(cra_run_guard *guard, struct known_checkpoint *known, cra_error *err)
{
    cra_buf ignored;
    cra_error local;
    cra_status status;

    if (known->version >= 0)
        return CRA_OK;
    cra_error_clear(&local);
    cra_buf_init(&ignored, guard->allocator);
    status = read_checkpoint(guard, known, &ignored, &local);
    cra_buf_cleanup(&ignored);
    if (status == CRA_NOT_FOUND)
        return CRA_OK;
    if (status != CRA_OK && err != NULL)
        *err = local;
    return status;
}

/* The fence keeps every other writer out, so a version that is not ours is our own put whose answer was lost:
 * read again, once. */
static cra_status put_checkpoint(cra_run_guard *guard, struct known_checkpoint *known, cra_bytes content,
                                 cra_error *err)
{
    cra_status status = CRA_CONFLICT;

    for (int i = 0; status == CRA_CONFLICT && i < 2; i++) {
        CRA_TRY(learn_version(guard, known, err));
        status = cra_catalog_checkpoint_put(guard->catalog, guard->report, guard->run, known->name, &guard->lease,
                                            known->version, content, err);
        known->version = status == CRA_OK ? known->version + 1 : -1;
    }
    return note_status(guard, status);
}

cra_status cra_run_guard_checkpoint_put(cra_run_guard *guard, const char *name, cra_bytes content, cra_error *err)
{
    struct known_checkpoint *known;
    cra_status status;

    cra_mutex_lock(&guard->mutex);
    known = find_checkpoint(guard, name);
    status = known == NULL ? no_memory(err) : put_checkpoint(guard, known, content, err);
    cra_mutex_unlock(&guard->mutex);
    return status;
}

cra_status cra_run_guard_checkpoint_remove(cra_run_guard *guard, const char *name, cra_error *err)
{
    struct known_checkpoint *known;
    cra_status status;

    cra_mutex_lock(&guard->mutex);
    known = find_checkpoint(guard, name);
    if (known == NULL) {
        status = no_memory(err);
    } else {
        status = note_status(
            guard, cra_catalog_checkpoint_remove(guard->catalog, guard->report, guard->run, name, &guard->lease, err));
        known->version = status == CRA_OK ? 0 : -1;
    }
    cra_mutex_unlock(&guard->mutex);
    return status;
}
