/* SPDX-License-Identifier: Apache-2.0 */

/* A restore that dies at any of its store calls, before or after the call was done, and is run again: the same final
 * state. "Dead" means that from that call on no store answers; the lease stays as it was and runs out. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/archive.h>
#include <crawlarchive/restore.h>

#include "backends/memory/memory.h"
#include "base/buf.h"
#include "kit/life.h"

static struct {
    const cra_catalog_vtable *catalog;
    const cra_docstore_vtable *docstore;
    const cra_blobstore_vtable *blobstore;
    cra_catalog_vtable catalog_outer;
    cra_docstore_vtable docstore_outer;
    cra_blobstore_vtable blobstore_outer;
    atomic_llong calls;
    long long die_at; /* 0: never */
    bool after;       /* the call is done, its answer is lost */
    atomic_bool dead;
} grave;

static cra_status dead(cra_error *err)
{
    return cra_error_set(err, CRA_IO, "grave", "dead at call %lld", grave.die_at);
}

/* Whether the call is still made. */
static bool begin(bool *last)
{
    if (atomic_load(&grave.dead))
        return false;
    *last = grave.die_at != 0 && atomic_fetch_add(&grave.calls, 1) + 1 == grave.die_at;
    if (*last && !grave.after) {
        atomic_store(&grave.dead, true);
        return false;
    }
    return true;
}

#define PASS(err, call)                                                                                                \
    do {                                                                                                               \
        bool last_ = false;                                                                                            \
        if (!begin(&last_))                                                                                            \
            return dead(err);                                                                                          \
        const cra_status status_ = (call);                                                                             \
        if (!last_)                                                                                                    \
            return status_;                                                                                            \
        atomic_store(&grave.dead, true);                                                                               \
        return dead(err);                                                                                              \
    } while (0)

/* ---- catalog ----------------------------------------------------------------------------------- */

static cra_status grave_now(void *self, cra_time_ms *out, cra_error *err)
{
    PASS(err, grave.catalog->now(self, out, err));
}

static cra_status grave_run_list(void *self, const cra_run_query *query, cra_run_visit_fn visit, void *user,
                                 cra_error *err)
{
    PASS(err, grave.catalog->run_list(self, query, visit, user, err));
}

static cra_status grave_run_replace(void *self, const cra_run_doc *next, int64_t version, const cra_lease *lease,
                                    cra_error *err)
{
    PASS(err, grave.catalog->run_replace(self, next, version, lease, err));
}

static cra_status grave_lease_acquire(void *self, const char *report, const char *run, const char *owner, int64_t ttl,
                                      int64_t grace, cra_lease *out, cra_error *err)
{
    PASS(err, grave.catalog->lease_acquire(self, report, run, owner, ttl, grace, out, err));
}

static cra_status grave_lease_renew(void *self, const char *report, const char *run, cra_lease *lease, int64_t ttl,
                                    cra_error *err)
{
    if (atomic_load(&grave.dead)) /* its moment depends on the machine: not counted */
        return dead(err);
    return grave.catalog->lease_renew(self, report, run, lease, ttl, err);
}

static cra_status grave_lease_release(void *self, const char *report, const char *run, const cra_lease *lease,
                                      cra_error *err)
{
    PASS(err, grave.catalog->lease_release(self, report, run, lease, err));
}

static cra_status grave_checkpoint_get(void *self, const char *report, const char *run, const char *name, cra_buf *out,
                                       int64_t *version, cra_error *err)
{
    PASS(err, grave.catalog->checkpoint_get(self, report, run, name, out, version, err));
}

static cra_status grave_checkpoint_put(void *self, const char *report, const char *run, const char *name,
                                       const cra_lease *lease, int64_t version, cra_bytes content, cra_error *err)
{
    PASS(err, grave.catalog->checkpoint_put(self, report, run, name, lease, version, content, err));
}

static cra_status grave_checkpoint_remove(void *self, const char *report, const char *run, const char *name,
                                          const cra_lease *lease, cra_error *err)
{
    PASS(err, grave.catalog->checkpoint_remove(self, report, run, name, lease, err));
}

static cra_status open_catalog(const cra_open_args *args, const cra_catalog_vtable **vtable, void **self,
                               cra_error *err)
{
    const cra_status status = cra_memory_catalog_open(args, &grave.catalog, self, err);

    if (status != CRA_OK)
        return status;
    grave.catalog_outer = *grave.catalog;
    grave.catalog_outer.now = grave_now;
    grave.catalog_outer.run_list = grave_run_list;
    grave.catalog_outer.run_replace = grave_run_replace;
    grave.catalog_outer.lease_acquire = grave_lease_acquire;
    grave.catalog_outer.lease_renew = grave_lease_renew;
    grave.catalog_outer.lease_release = grave_lease_release;
    grave.catalog_outer.checkpoint_get = grave_checkpoint_get;
    grave.catalog_outer.checkpoint_put = grave_checkpoint_put;
    grave.catalog_outer.checkpoint_remove = grave_checkpoint_remove;
    *vtable = &grave.catalog_outer;
    return CRA_OK;
}

/* ---- docstore ---------------------------------------------------------------------------------- */

static cra_status grave_write_batch(void *self, const char *collection, const cra_bytes *documents, size_t count,
                                    int64_t deadline_ms, cra_write_result *results, cra_error *err)
{
    PASS(err, grave.docstore->write_batch(self, collection, documents, count, deadline_ms, results, err));
}

static cra_status grave_fetch(void *self, const char *collection, const cra_value *ids, size_t count, cra_buf *out,
                              cra_error *err)
{
    PASS(err, grave.docstore->fetch(self, collection, ids, count, out, err));
}

static cra_status grave_count(void *self, const cra_scope *scope, int64_t *out, cra_error *err)
{
    PASS(err, grave.docstore->count(self, scope, out, err));
}

static cra_status grave_index_list(void *self, const char *collection, cra_buf *out, size_t *count, cra_error *err)
{
    PASS(err, grave.docstore->index_list(self, collection, out, count, err));
}

static cra_status grave_index_ensure(void *self, const char *collection, cra_bytes spec, cra_index_outcome *outcome,
                                     cra_error *err)
{
    PASS(err, grave.docstore->index_ensure(self, collection, spec, outcome, err));
}

static cra_status open_docstore(const cra_open_args *args, const cra_docstore_vtable **vtable, void **self,
                                cra_error *err)
{
    const cra_status status = cra_memory_docstore_open(args, &grave.docstore, self, err);

    if (status != CRA_OK)
        return status;
    grave.docstore_outer = *grave.docstore;
    grave.docstore_outer.write_batch = grave_write_batch;
    grave.docstore_outer.fetch = grave_fetch;
    grave.docstore_outer.count = grave_count;
    grave.docstore_outer.index_list = grave_index_list;
    grave.docstore_outer.index_ensure = grave_index_ensure;
    *vtable = &grave.docstore_outer;
    return CRA_OK;
}

/* ---- blobstore --------------------------------------------------------------------------------- */

static cra_status grave_list(void *self, const char *prefix, cra_blob_visit_fn visit, void *user, cra_error *err)
{
    PASS(err, grave.blobstore->list(self, prefix, visit, user, err));
}

static cra_status grave_read(void *self, const char *name, int64_t offset, int64_t length, const char *etag,
                             cra_buf *out, cra_error *err)
{
    PASS(err, grave.blobstore->read(self, name, offset, length, etag, out, err));
}

static cra_status open_blobstore(const cra_open_args *args, const cra_blobstore_vtable **vtable, void **self,
                                 cra_error *err)
{
    const cra_status status = cra_memory_blobstore_open(args, &grave.blobstore, self, err);

    if (status != CRA_OK)
        return status;
    grave.blobstore_outer = *grave.blobstore;
    grave.blobstore_outer.list = grave_list;
    grave.blobstore_outer.read = grave_read;
    *vtable = &grave.blobstore_outer;
    return CRA_OK;
}

static const cra_backend backend = {
    .struct_size = sizeof(backend),
    .abi_version = CRA_ABI_VERSION,
    .scheme = "grave",
    .description = "stores in memory that die at a call",
    .open_catalog = open_catalog,
    .open_docstore = open_docstore,
    .open_blobstore = open_blobstore,
};

/* ---- the life of one run ----------------------------------------------------------------------- */

#define RECORDS 60

static const char *const settings[] = {
    "catalog.uri",         "grave:", "hot.uri",           "grave:", "archive.uri", "grave:",
    "archive.block_bytes", "8KiB",   "archive.part_docs", "25",     NULL};

static void archive_and_remove(cra_life *life)
{
    cra_run *run = cra_life_run(life, "prices", "18");
    cra_result *result = NULL;
    cra_error error = {0};
    cra_run_doc doc;

    cra_life_expect(cra_archive_run(life->engine, run, NULL, &result, &error), CRA_OK, &error);
    cra_result_free(result);
    cra_run_free(run);
    cra_life_remove_records(life, "prices", "18");
    cra_life_expect(cra_catalog_run_get(cra_engine_catalog(life->engine), "prices", "18", &doc, &error), CRA_OK,
                    &error);
    doc.state = CRA_RUN_ARCHIVED;
    cra_life_expect(cra_catalog_run_replace(cra_engine_catalog(life->engine), &doc, doc.version, NULL, &error), CRA_OK,
                    &error);
    cra_run_doc_cleanup(&doc, cra_context_allocator(life->context));
}

static cra_status restore_once(cra_life *life, cra_error *error)
{
    static const char *const runs[] = {"18"};
    cra_restore_options options = CRA_RESTORE_OPTIONS_INIT;
    cra_result *result = NULL;
    cra_status status;

    options.batch_docs = 5;
    options.workers = 1; /* so that calls come in one order */
    status = cra_restore_runs(life->engine, "prices", runs, 1, &options, &result, error);
    cra_result_free(result);
    return status;
}

static void expect_restored(cra_life *life, const cra_buf *before)
{
    cra_run *run = cra_life_run(life, "prices", "18");
    const cra_run_doc *doc = cra_run_doc_of(run);
    cra_buf after;

    cra_buf_init(&after, NULL);
    assert_int_equal(doc->state, CRA_RUN_RESTORED);
    assert_int_equal(doc->restores, 1);
    assert_null(doc->last_reason);
    assert_true(doc->archive_at > doc->restored_at);
    assert_int_equal(cra_life_dump(life, "prices", "18", &after), RECORDS);
    assert_int_equal(after.size, before->size);
    assert_memory_equal(after.data, before->data, before->size);
    cra_buf_cleanup(&after);
    cra_run_free(run);
}

/* Die at `die_at`, or be done before; then run again. @return whether it died */
static bool live_once(long long die_at, bool after)
{
    cra_life *life = test_calloc(1, sizeof(*life));
    cra_error error = {0};
    cra_buf before;
    cra_status status;

    memset(&grave, 0, sizeof(grave));
    cra_buf_init(&before, NULL);
    cra_life_open_with(life, CRA_LIFE_MEMORY, settings, &backend);
    cra_life_make_run(life, "prices", "18", RECORDS);
    cra_life_deliver(life, "prices", "18", "success");
    cra_life_dump(life, "prices", "18", &before);
    archive_and_remove(life);
    grave.die_at = die_at;
    grave.after = after;
    status = restore_once(life, &error);
    const bool died = atomic_load(&grave.dead);
    if (!died)
        cra_life_expect(status, CRA_OK, &error);
    grave.die_at = 0;
    atomic_store(&grave.dead, false);
    cra_life_advance(life, 120000); /* the lease runs out */
    if (died)
        cra_life_expect(restore_once(life, &error), CRA_OK, &error);
    expect_restored(life, &before);
    cra_buf_cleanup(&before);
    cra_life_close(life);
    test_free(life);
    return died;
}

static void a_restore_survives_death_before_any_call(void **state)
{
    long long die_at = 1;

    (void)state;
    while (live_once(die_at, false))
        die_at++;
    assert_true(die_at > 20);
}

static void a_restore_survives_death_after_any_call(void **state)
{
    long long die_at = 1;

    (void)state;
    while (live_once(die_at, true))
        die_at++;
    assert_true(die_at > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restore_survives_death_before_any_call),
        cmocka_unit_test(a_restore_survives_death_after_any_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
