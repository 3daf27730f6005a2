/* SPDX-License-Identifier: Apache-2.0 */

/* The catalog in memory: runs sorted by (report, run) under one lock. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/memory/memory.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "os/thread.h"

#define ORIGIN "memory"

/* Named bytes with a version: a checkpoint of a run, or a summary of the catalog. */
typedef struct note {
    struct note *next;
    char *name;
    int64_t version;
    cra_buf content;
} note;

typedef struct entry {
    cra_run_doc run;
    note *checkpoints;
} entry;

typedef struct memory_catalog {
    cra_context *context;
    const cra_allocator *allocator;
    cra_mutex lock;
    entry **entries; /* in byte order of (report, run) */
    size_t count;
    size_t capacity;
    note *summaries;
} memory_catalog;

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory");
}

static cra_status no_run(cra_error *err, const char *report, const char *run)
{
    return cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "report %.200s has no run %.200s", report, run);
}

/* ---- notes ---- */

static note *find_note(note *list, const char *name)
{
    while (list != NULL && strcmp(list->name, name) != 0)
        list = list->next;
    return list;
}

static void free_note(const cra_allocator *allocator, note *n)
{
    cra_buf_cleanup(&n->content);
    cra_free(allocator, n->name);
    cra_free(allocator, n);
}

static void free_notes(const cra_allocator *allocator, note *list)
{
    while (list != NULL) {
        note *next = list->next;
        free_note(allocator, list);
        list = next;
    }
}

static cra_status put_note(const cra_allocator *allocator, note **list, const char *name, cra_bytes content)
{
    note *n = find_note(*list, name);
    cra_buf copy;

    cra_buf_init(&copy, allocator);
    CRA_TRY(cra_buf_append(&copy, content.data, content.size));
    if (n == NULL) {
        n = cra_calloc(allocator, 1, sizeof *n);
        char *own = cra_strdup(allocator, name);
        if (n == NULL || own == NULL) {
            cra_free(allocator, n);
            cra_free(allocator, own);
            cra_buf_cleanup(&copy);
            return CRA_NOMEM;
        }
        n->name = own;
        n->next = *list;
        *list = n;
    } else {
        cra_buf_cleanup(&n->content);
    }
    n->content = copy; /* moved */
    n->version++;
    return CRA_OK;
}

static void remove_note(const cra_allocator *allocator, note **list, const char *name)
{
    while (*list != NULL && strcmp((*list)->name, name) != 0)
        list = &(*list)->next;
    note *n = *list;
    if (n == NULL)
        return;
    *list = n->next;
    free_note(allocator, n);
}

/* ---- runs ---- */

static int compare_keys(const char *a_report, const char *a_run, const char *b_report, const char *b_run)
{
    const int order = strcmp(a_report, b_report);
    return order != 0 ? order : strcmp(a_run, b_run);
}

/* Index of the first entry that is not below (report, run). */
static size_t lower_bound(const memory_catalog *store, const char *report, const char *run)
{
    size_t low = 0;
    size_t high = store->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const cra_run_doc *at = &store->entries[middle]->run;
        if (compare_keys(at->report, at->run, report, run) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static entry *find(const memory_catalog *store, const char *report, const char *run)
{
    const size_t at = lower_bound(store, report, run);

    if (at == store->count ||
        compare_keys(store->entries[at]->run.report, store->entries[at]->run.run, report, run) != 0)
        return NULL;
    return store->entries[at];
}

static void free_entry(const cra_allocator *allocator, entry *e)
{
    cra_run_doc_cleanup(&e->run, allocator);
    free_notes(allocator, e->checkpoints);
    cra_free(allocator, e);
}

static cra_status catalog_now(void *self, cra_time_ms *out, cra_error *err)
{
    const memory_catalog *store = self;

    (void)err;
    *out = cra_context_wall_ms(store->context);
    return CRA_OK;
}

static bool is_wanted(const cra_run_doc *run, const cra_run_query *query)
{
    if ((query->report != NULL && strcmp(run->report, query->report) != 0) ||
        (query->run != NULL && strcmp(run->run, query->run) != 0))
        return false;
    if (query->state_mask != 0 && (query->state_mask & 1u << run->state) == 0)
        return false;
    if ((query->closed_only && run->outcome == NULL) || (query->held_only && !run->held) ||
        (query->undated_only && run->archive_at != CRA_TIME_NONE))
        return false;
    const bool by_date = query->due_before != CRA_TIME_NONE;
    if (by_date && (run->archive_at == CRA_TIME_NONE || run->archive_at > query->due_before))
        return false;
    if (query->after_report == NULL)
        return true;
    if (by_date && run->archive_at != query->after_archive_at)
        return run->archive_at > query->after_archive_at;
    return compare_keys(run->report, run->run, query->after_report, query->after_run) > 0;
}

static int compare_due(const void *a, const void *b)
{
    const cra_run_doc *left = *(const cra_run_doc *const *)a;
    const cra_run_doc *right = *(const cra_run_doc *const *)b;

    if (left->archive_at != right->archive_at)
        return left->archive_at < right->archive_at ? -1 : 1;
    return compare_keys(left->report, left->run, right->report, right->run);
}

static cra_status visit_locked(const memory_catalog *store, const cra_run_query *query, cra_run_visit_fn visit,
                               void *user, cra_error *err)
{
    const cra_run_doc **found = cra_calloc(store->allocator, store->count + 1, sizeof *found);
    cra_status status = CRA_OK;
    size_t count = 0;

    if (found == NULL)
        return no_memory(err);
    for (size_t i = 0; i < store->count; i++) {
        if (is_wanted(&store->entries[i]->run, query))
            found[count++] = &store->entries[i]->run;
    }
    if (query->due_before != CRA_TIME_NONE)
        qsort(found, count, sizeof *found, compare_due);
    if (query->limit > 0 && count > query->limit)
        count = query->limit;
    for (size_t i = 0; status == CRA_OK && i < count; i++)
        status = visit(user, found[i]);
    cra_free(store->allocator, found);
    return status;
}

static cra_status run_list(void *self, const cra_run_query *query, cra_run_visit_fn visit, void *user, cra_error *err)
{
    memory_catalog *store = self;

    cra_mutex_lock(&store->lock);
    const cra_status status = visit_locked(store, query, visit, user, err);
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status insert_locked(memory_catalog *store, const cra_run_doc *run, cra_error *err)
{
    if (find(store, run->report, run->run) != NULL)
        return cra_error_set(err, CRA_EXISTS, ORIGIN, "report %.200s has a run %.200s already", run->report, run->run);
    if (cra_array_grow(store->allocator, (void **)&store->entries, &store->capacity, store->count + 1,
                       sizeof *store->entries) != CRA_OK)
        return no_memory(err);
    entry *e = cra_calloc(store->allocator, 1, sizeof *e);
    if (e == NULL)
        return no_memory(err);
    if (cra_run_doc_copy(&e->run, run, store->allocator) != CRA_OK) {
        cra_free(store->allocator, e);
        return no_memory(err);
    }
    e->run.version = 1;
    e->run.lease_owner[0] = '\0';
    e->run.lease_fence = 0;
    e->run.lease_expires_at = 0;
    const size_t at = lower_bound(store, run->report, run->run);
    memmove(&store->entries[at + 1], &store->entries[at], (store->count - at) * sizeof *store->entries);
    store->entries[at] = e;
    store->count++;
    return CRA_OK;
}

static cra_status run_insert(void *self, const cra_run_doc *run, cra_error *err)
{
    memory_catalog *store = self;

    cra_mutex_lock(&store->lock);
    const cra_status status = insert_locked(store, run, err);
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status check_lease(const entry *e, const cra_lease *lease, cra_error *err)
{
    if (e->run.lease_fence == lease->fence && strcmp(e->run.lease_owner, lease->owner) == 0)
        return CRA_OK;
    return cra_error_set(err, CRA_LOCKED, ORIGIN, "the lease of run %.200s was taken by another worker", e->run.run);
}

static cra_status check_version(const entry *e, int64_t expect_version, cra_error *err)
{
    if (e->run.version == expect_version)
        return CRA_OK;
    return cra_error_set(err, CRA_CONFLICT, ORIGIN, "run %.200s was changed meanwhile (version %lld, expected %lld)",
                         e->run.run, (long long)e->run.version, (long long)expect_version);
}

static cra_status replace_locked(memory_catalog *store, const cra_run_doc *next, int64_t expect_version,
                                 const cra_lease *lease, cra_error *err)
{
    entry *e = find(store, next->report, next->run);
    cra_run_doc copy;

    if (e == NULL)
        return no_run(err, next->report, next->run);
    if (lease != NULL)
        CRA_TRY(check_lease(e, lease, err));
    CRA_TRY(check_version(e, expect_version, err));
    if (cra_run_doc_copy(&copy, next, store->allocator) != CRA_OK)
        return no_memory(err);
    copy.version = e->run.version + 1;
    memcpy(copy.lease_owner, e->run.lease_owner, sizeof copy.lease_owner);
    copy.lease_fence = e->run.lease_fence;
    copy.lease_expires_at = e->run.lease_expires_at;
    cra_run_doc_cleanup(&e->run, store->allocator);
    e->run = copy;
    return CRA_OK;
}

static cra_status run_replace(void *self, const cra_run_doc *next, int64_t expect_version, const cra_lease *lease,
                              cra_error *err)
{
    memory_catalog *store = self;

    cra_mutex_lock(&store->lock);
    const cra_status status = replace_locked(store, next, expect_version, lease, err);
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status run_remove(void *self, const char *report, const char *run, int64_t expect_version, cra_error *err)
{
    memory_catalog *store = self;
    cra_status status = CRA_OK;

    cra_mutex_lock(&store->lock);
    entry *e = find(store, report, run);
    if (e != NULL)
        status = check_version(e, expect_version, err);
    if (e != NULL && status == CRA_OK) {
        const size_t at = lower_bound(store, report, run);
        memmove(&store->entries[at], &store->entries[at + 1], (store->count - at - 1) * sizeof *store->entries);
        store->count--;
        free_entry(store->allocator, e);
    }
    cra_mutex_unlock(&store->lock);
    return status;
}

/* ---- leases ---- */

static cra_status acquire_locked(memory_catalog *store, const char *report, const char *run, const char *owner,
                                 int64_t ttl_ms, int64_t grace_ms, cra_lease *out, cra_error *err)
{
    entry *e = find(store, report, run);
    const cra_time_ms now = cra_context_wall_ms(store->context);

    if (e == NULL)
        return no_run(err, report, run);
    /* Released leases have no owner; a holder that died may have a last command under way for the grace. */
    if (e->run.lease_owner[0] != '\0' && e->run.lease_expires_at > 0 && e->run.lease_expires_at + grace_ms > now)
        return cra_error_set(err, CRA_LOCKED, ORIGIN, "run %.200s is leased by %s until %lld (%lld ms from now)", run,
                             e->run.lease_owner, (long long)e->run.lease_expires_at,
                             (long long)(e->run.lease_expires_at - now));
    snprintf(e->run.lease_owner, sizeof e->run.lease_owner, "%s", owner);
    e->run.lease_fence++;
    e->run.lease_expires_at = now + ttl_ms;
    snprintf(out->owner, sizeof out->owner, "%s", owner);
    out->fence = e->run.lease_fence;
    out->expires_at = e->run.lease_expires_at;
    return CRA_OK;
}

static cra_status lease_acquire(void *self, const char *report, const char *run, const char *owner, int64_t ttl_ms,
                                int64_t grace_ms, cra_lease *out, cra_error *err)
{
    memory_catalog *store = self;

    cra_mutex_lock(&store->lock);
    const cra_status status = acquire_locked(store, report, run, owner, ttl_ms, grace_ms, out, err);
    cra_mutex_unlock(&store->lock);
    return status;
}

/* The entry of a run whose stored lease is `lease`; NULL with NOT_FOUND or LOCKED. */
static entry *find_held(memory_catalog *store, const char *report, const char *run, const cra_lease *lease,
                        cra_status *status, cra_error *err)
{
    entry *e = find(store, report, run);

    *status = e == NULL ? no_run(err, report, run) : check_lease(e, lease, err);
    return *status == CRA_OK ? e : NULL;
}

static cra_status lease_renew(void *self, const char *report, const char *run, cra_lease *lease, int64_t ttl_ms,
                              cra_error *err)
{
    memory_catalog *store = self;
    cra_status status;

    cra_mutex_lock(&store->lock);
    entry *e = find_held(store, report, run, lease, &status, err);
    if (e != NULL) {
        e->run.lease_expires_at = cra_context_wall_ms(store->context) + ttl_ms;
        lease->expires_at = e->run.lease_expires_at;
    }
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status lease_release(void *self, const char *report, const char *run, const cra_lease *lease, cra_error *err)
{
    memory_catalog *store = self;

    (void)err;
    cra_mutex_lock(&store->lock);
    entry *e = find(store, report, run);
    if (e != NULL && check_lease(e, lease, NULL) == CRA_OK) {
        e->run.lease_owner[0] = '\0';
        e->run.lease_expires_at = 0;
    }
    cra_mutex_unlock(&store->lock);
    return CRA_OK;
}

/* ---- checkpoints and summaries ---- */

static cra_status checkpoint_get(void *self, const char *report, const char *run, const char *name, cra_buf *out,
                                 int64_t *version, cra_error *err)
{
    memory_catalog *store = self;
    cra_status status = CRA_OK;

    cra_mutex_lock(&store->lock);
    const entry *e = find(store, report, run);
    const note *n = e != NULL ? find_note(e->checkpoints, name) : NULL;
    if (n == NULL)
        status = cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "run %.200s has no checkpoint %.200s", run, name);
    else if (cra_buf_append(out, n->content.data, n->content.size) != CRA_OK)
        status = no_memory(err);
    else
        *version = n->version;
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status checkpoint_put(void *self, const char *report, const char *run, const char *name,
                                 const cra_lease *lease, int64_t expect_version, cra_bytes content, cra_error *err)
{
    memory_catalog *store = self;
    cra_status status;

    cra_mutex_lock(&store->lock);
    entry *e = find_held(store, report, run, lease, &status, err);
    if (e != NULL) {
        const note *n = find_note(e->checkpoints, name);
        const int64_t version = n != NULL ? n->version : 0;
        if (version != expect_version)
            status = cra_error_set(err, CRA_CONFLICT, ORIGIN,
                                   "checkpoint %.200s of run %.200s has version %lld, expected %lld", name, run,
                                   (long long)version, (long long)expect_version);
        else if (put_note(store->allocator, &e->checkpoints, name, content) != CRA_OK)
            status = no_memory(err);
    }
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status checkpoint_remove(void *self, const char *report, const char *run, const char *name,
                                    const cra_lease *lease, cra_error *err)
{
    memory_catalog *store = self;
    cra_status status;

    cra_mutex_lock(&store->lock);
    entry *e = find_held(store, report, run, lease, &status, err);
    if (e != NULL)
        remove_note(store->allocator, &e->checkpoints, name);
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status summary_put(void *self, const char *name, cra_bytes content, cra_error *err)
{
    memory_catalog *store = self;

    cra_mutex_lock(&store->lock);
    const cra_status status = put_note(store->allocator, &store->summaries, name, content);
    cra_mutex_unlock(&store->lock);
    return status == CRA_OK ? CRA_OK : no_memory(err);
}

static cra_status summary_get(void *self, const char *name, cra_buf *out, cra_error *err)
{
    memory_catalog *store = self;
    cra_status status = CRA_OK;

    cra_mutex_lock(&store->lock);
    const note *n = find_note(store->summaries, name);
    if (n == NULL)
        status = cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "there is no summary %.200s yet", name);
    else if (cra_buf_append(out, n->content.data, n->content.size) != CRA_OK)
        status = no_memory(err);
    cra_mutex_unlock(&store->lock);
    return status;
}

/* ---- opening ---- */

static void catalog_close(void *self)
{
    memory_catalog *store = self;
    const cra_allocator *allocator = store->allocator;

    for (size_t i = 0; i < store->count; i++)
        free_entry(allocator, store->entries[i]);
    cra_free(allocator, store->entries);
    free_notes(allocator, store->summaries);
    cra_mutex_destroy(&store->lock);
    cra_free(allocator, store);
}

static const cra_catalog_vtable catalog_vtable = {
    .struct_size = sizeof(cra_catalog_vtable),
    .features = 0,
    .close = catalog_close,
    .now = catalog_now,
    .run_list = run_list,
    .run_insert = run_insert,
    .run_replace = run_replace,
    .run_remove = run_remove,
    .lease_acquire = lease_acquire,
    .lease_renew = lease_renew,
    .lease_release = lease_release,
    .checkpoint_get = checkpoint_get,
    .checkpoint_put = checkpoint_put,
    .checkpoint_remove = checkpoint_remove,
    .summary_put = summary_put,
    .summary_get = summary_get,
};

cra_status cra_memory_catalog_open(const cra_open_args *args, const cra_catalog_vtable **vtable, void **self,
                                   cra_error *err)
{
    const cra_allocator *allocator = cra_context_allocator(args->context);
    memory_catalog *store = cra_calloc(allocator, 1, sizeof *store);

    if (store == NULL)
        return no_memory(err);
    const cra_status status = cra_mutex_init(&store->lock, err);
    if (status != CRA_OK) {
        cra_free(allocator, store);
        return status;
    }
    store->context = args->context;
    store->allocator = allocator;
    *vtable = &catalog_vtable;
    *self = store;
    return CRA_OK;
}
