/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/archive.h>
#include <crawlarchive/index.h>
#include <crawlarchive/restore.h>

#include "backends/memory/memory.h"
#include "base/buf.h"
#include "kit/data.h"
#include "kit/life.h"
#include "ops/engine_internal.h"

#define DAY INT64_C(86400000)

/* ---- a memory docstore whose writes can be made to fail ------------------------------------------ */

static struct {
    const cra_docstore_vtable *inner;
    cra_docstore_vtable outer;
    atomic_llong writes;    /* calls so far */
    atomic_llong fail_from; /* this call and all behind it fail; 0: none */
    cra_status status;
    void (*after_write)(void *user, int64_t call);
    void *user;
} faulty;

static cra_status faulty_write(void *self, const char *collection, const cra_bytes *documents, size_t count,
                               int64_t deadline_ms, cra_write_result *results, cra_error *err)
{
    const int64_t call = atomic_fetch_add(&faulty.writes, 1) + 1;
    const int64_t from = atomic_load(&faulty.fail_from);
    cra_status status;

    if (from != 0 && call >= from)
        return cra_error_set(err, faulty.status, "faulty", "told to fail");
    status = faulty.inner->write_batch(self, collection, documents, count, deadline_ms, results, err);
    if (faulty.after_write != NULL)
        faulty.after_write(faulty.user, call);
    return status;
}

static cra_status open_faulty(const cra_open_args *args, const cra_docstore_vtable **vtable, void **self,
                              cra_error *err)
{
    const cra_status status = cra_memory_docstore_open(args, &faulty.inner, self, err);

    if (status != CRA_OK)
        return status;
    faulty.outer = *faulty.inner;
    faulty.outer.write_batch = faulty_write;
    *vtable = &faulty.outer;
    return CRA_OK;
}

static const cra_backend backend = {
    .struct_size = sizeof(backend),
    .abi_version = CRA_ABI_VERSION,
    .scheme = "faulty",
    .description = "a memory docstore that fails on demand",
    .open_docstore = open_faulty,
};

/* ---- fixture ----------------------------------------------------------------------------------- */

static int open_life(void **state, cra_life_kind kind, const char *const *settings)
{
    cra_life *life = test_calloc(1, sizeof(*life));

    memset(&faulty, 0, sizeof(faulty));
    cra_life_open_with(life, kind, settings, &backend);
    *state = life;
    return 0;
}

static int set_up_memory(void **state)
{
    return open_life(state, CRA_LIFE_MEMORY, NULL);
}

static int set_up_sqlite(void **state)
{
    return open_life(state, CRA_LIFE_SQLITE, NULL);
}

static int set_up_faulty(void **state)
{
    static const char *const settings[] = {"hot.uri", "faulty:", "archive.block_bytes", "4KiB", NULL};

    return open_life(state, CRA_LIFE_MEMORY, settings);
}

static int tear_down(void **state)
{
    cra_life_close(*state);
    test_free(*state);
    return 0;
}

/* What a restore came to; the texts are cut copies. */
struct outcome {
    cra_status status;
    cra_item_status item;
    cra_reason reason;
    int64_t counts[CRA_COUNT_END];
    char detail[700];
    cra_error error;
};

static struct outcome restore_with(cra_life *life, const char *id, cra_restore_options options)
{
    struct outcome o = {.reason = CRA_REASON_NONE};
    cra_result *result = NULL;

    if (options.batch_docs == 0)
        options.batch_docs = 10;
    o.status = cra_restore_runs(life->engine, "prices", &id, 1, &options, &result, &o.error);
    if (result != NULL) {
        const cra_item *item = cra_result_at(result, 0);
        o.item = item->status;
        o.reason = item->reason;
        memcpy(o.counts, item->counts, sizeof(o.counts));
        snprintf(o.detail, sizeof(o.detail), "%s", item->detail != NULL ? item->detail : "");
        assert_int_equal(o.counts[CRA_COUNT_RECORDS_READ],
                         o.counts[CRA_COUNT_RECORDS_NEW] + o.counts[CRA_COUNT_RECORDS_IDENTICAL] +
                             o.counts[CRA_COUNT_RECORDS_CONFLICT] + o.counts[CRA_COUNT_RECORDS_FAILED] +
                             o.counts[CRA_COUNT_RECORDS_UNSENT]);
    }
    cra_result_free(result);
    return o;
}

static struct outcome restore(cra_life *life, const char *id)
{
    const cra_restore_options options = CRA_RESTORE_OPTIONS_INIT;

    return restore_with(life, id, options);
}

static void expect(const struct outcome *o, cra_status status, cra_reason reason)
{
    cra_life_expect(o->status, status, &o->error);
    if (o->reason != reason)
        fail_msg("reason %s instead of %s: %s", cra_reason_name(o->reason), cra_reason_name(reason), o->detail);
}

static void expect_counts(const struct outcome *o, int64_t fresh, int64_t identical, int64_t conflict)
{
    assert_int_equal(o->counts[CRA_COUNT_RECORDS_NEW], fresh);
    assert_int_equal(o->counts[CRA_COUNT_RECORDS_IDENTICAL], identical);
    assert_int_equal(o->counts[CRA_COUNT_RECORDS_CONFLICT], conflict);
}

static void set_state(cra_life *life, const char *id, cra_run_state state)
{
    cra_error error = {0};
    cra_run_doc doc;

    cra_life_expect(cra_catalog_run_get(cra_engine_catalog(life->engine), "prices", id, &doc, &error), CRA_OK, &error);
    doc.state = state;
    cra_life_expect(cra_catalog_run_replace(cra_engine_catalog(life->engine), &doc, doc.version, NULL, &error), CRA_OK,
                    &error);
    cra_run_doc_cleanup(&doc, cra_context_allocator(life->context));
}

static void archive(cra_life *life, const char *id)
{
    cra_run *run = cra_life_run(life, "prices", id);
    cra_error error = {0};
    cra_result *result = NULL;

    cra_life_expect(cra_archive_run(life->engine, run, NULL, &result, &error), CRA_OK, &error);
    cra_result_free(result);
    cra_run_free(run);
}

/* A run of `count` records, closed, archived and gone from the hot store, as a sweep leaves it. */
static void make_archived(cra_life *life, const char *id, int64_t count, cra_buf *before)
{
    cra_life_make_run(life, "prices", id, count);
    cra_life_deliver(life, "prices", id, "success");
    if (before != NULL)
        cra_life_dump(life, "prices", id, before);
    archive(life, id);
    cra_life_remove_records(life, "prices", id);
    set_state(life, id, CRA_RUN_ARCHIVED);
    assert_int_equal(cra_life_count(life, "prices", id), 0);
}

static void expect_same(cra_life *life, const char *id, const cra_buf *before)
{
    cra_buf after;

    cra_buf_init(&after, NULL);
    cra_life_dump(life, "prices", id, &after);
    assert_int_equal(after.size, before->size);
    assert_memory_equal(after.data, before->data, before->size);
    cra_buf_cleanup(&after);
}

/* ---- the way back ------------------------------------------------------------------------------ */

static void records_come_back_byte_for_byte(void **state)
{
    cra_life *life = *state;
    struct outcome o;
    cra_buf before;
    cra_run *run;

    cra_buf_init(&before, NULL);
    make_archived(life, "18", 57, &before);
    o = restore(life, "18");
    expect(&o, CRA_OK, CRA_REASON_NONE);
    expect_counts(&o, 57, 0, 0);
    expect_same(life, "18", &before);
    run = cra_life_run(life, "prices", "18");
    const cra_run_doc *doc = cra_run_doc_of(run);
    assert_int_equal(doc->state, CRA_RUN_RESTORED);
    assert_int_equal(doc->restores, 1);
    assert_true(doc->archive_at == doc->restored_at + 3 * DAY);
    assert_string_equal(doc->rule, "restored");
    assert_null(doc->last_reason);
    cra_run_free(run);
    cra_buf_cleanup(&before);
}

static void a_second_restore_changes_nothing(void **state)
{
    cra_life *life = *state;
    struct outcome o;
    cra_run *first, *second;

    make_archived(life, "18", 23, NULL);
    o = restore(life, "18");
    expect(&o, CRA_OK, CRA_REASON_NONE);
    first = cra_life_run(life, "prices", "18");
    cra_life_advance(life, 60000);
    o = restore(life, "18");
    expect(&o, CRA_OK, CRA_REASON_NONE);
    expect_counts(&o, 0, 23, 0);
    second = cra_life_run(life, "prices", "18");
    assert_true(cra_run_doc_of(first)->archive_at == cra_run_doc_of(second)->archive_at);
    assert_true(cra_run_doc_of(first)->version == cra_run_doc_of(second)->version);
    cra_run_free(first);
    cra_run_free(second);
}

static void a_hot_run_is_only_compared(void **state)
{
    cra_life *life = *state;
    struct outcome o;

    cra_life_make_run(life, "prices", "18", 10);
    cra_life_deliver(life, "prices", "18", "success");
    archive(life, "18");
    o = restore(life, "18");
    expect(&o, CRA_OK, CRA_REASON_NONE);
    expect_counts(&o, 0, 10, 0);
    assert_int_equal(cra_life_state(life, "prices", "18"), CRA_RUN_HOT);
    cra_life_remove_records(life, "prices", "18");
    o = restore(life, "18");
    expect(&o, CRA_CONFLICT, CRA_REASON_CONFLICT);
    assert_int_equal(o.counts[CRA_COUNT_RECORDS_UNSENT], 10);
    assert_int_equal(cra_life_count(life, "prices", "18"), 0);
    assert_int_equal(cra_life_state(life, "prices", "18"), CRA_RUN_HOT);
}

static void an_explicit_date_is_consumed(void **state)
{
    cra_life *life = *state;
    cra_error error = {0};
    struct outcome o;
    cra_run *run;

    cra_life_make_run(life, "prices", "18", 3);
    run = cra_life_run(life, "prices", "18");
    cra_life_expect(cra_run_schedule(life->engine, run, 1000, NULL, &error), CRA_OK, &error);
    cra_run_free(run);
    cra_life_deliver(life, "prices", "18", "success");
    archive(life, "18");
    cra_life_remove_records(life, "prices", "18");
    set_state(life, "18", CRA_RUN_ARCHIVED);
    o = restore(life, "18");
    expect(&o, CRA_OK, CRA_REASON_NONE);
    run = cra_life_run(life, "prices", "18");
    assert_true(cra_run_doc_of(run)->explicit_at == CRA_TIME_NONE);
    assert_true(cra_run_doc_of(run)->archive_at == cra_run_doc_of(run)->restored_at + 3 * DAY);
    cra_run_free(run);
}

static void a_sweep_that_stopped_is_undone(void **state)
{
    cra_life *life = *state;
    struct outcome o;
    cra_buf before;

    cra_buf_init(&before, NULL);
    cra_life_make_run(life, "prices", "18", 20);
    cra_life_dump(life, "prices", "18", &before);
    cra_life_deliver(life, "prices", "18", "success");
    archive(life, "18");
    cra_life_remove_records(life, "prices", "18");
    cra_life_add_records(life, "prices", "18", 0, 7);
    set_state(life, "18", CRA_RUN_SWEEPING);
    o = restore(life, "18");
    expect(&o, CRA_OK, CRA_REASON_NONE);
    expect_counts(&o, 13, 7, 0);
    expect_same(life, "18", &before);
    assert_int_equal(cra_life_state(life, "prices", "18"), CRA_RUN_RESTORED);
    cra_buf_cleanup(&before);
}

static void several_runs_come_back_at_once(void **state)
{
    static const char *const runs[] = {"1", "2", "3", "nowhere", "4", "2"};
    cra_life *life = *state;
    cra_restore_options options = CRA_RESTORE_OPTIONS_INIT;
    cra_result *result = NULL;
    cra_error error = {0};
    cra_status status;

    make_archived(life, "1", 11, NULL);
    cra_life_make_run(life, "prices", "2", 0);
    make_archived(life, "3", 0, NULL);
    options.parallel_runs = 3;
    status = cra_restore_runs(life->engine, "prices", runs, 6, &options, &result, &error);
    assert_int_equal(status, CRA_PARTIAL);
    assert_int_equal(cra_result_count(result), 5); /* one is named twice */
    assert_int_equal(cra_result_tally(result, CRA_ITEM_OK), 2);
    for (size_t i = 0; i < cra_result_count(result); i++) {
        const cra_item *item = cra_result_at(result, i);
        if (strcmp(item->run, "nowhere") == 0 || strcmp(item->run, "4") == 0)
            assert_int_equal(item->reason, CRA_REASON_NOT_FOUND);
        if (strcmp(item->run, "2") == 0)
            assert_int_equal(item->reason, CRA_REASON_NO_ARCHIVE);
    }
    cra_result_free(result);
    assert_int_equal(cra_life_count(life, "prices", "1"), 11);
}

static void an_empty_run_needs_no_archive(void **state)
{
    cra_life *life = *state;
    struct outcome o;

    cra_life_make_run(life, "prices", "18", 0);
    cra_life_deliver(life, "prices", "18", "empty");
    set_state(life, "18", CRA_RUN_ARCHIVED);
    o = restore(life, "18");
    expect(&o, CRA_OK, CRA_REASON_NONE);
    expect_counts(&o, 0, 0, 0);
    assert_int_equal(cra_life_state(life, "prices", "18"), CRA_RUN_RESTORED);
}

static void without_an_archive_nothing_begins(void **state)
{
    cra_life *life = *state;
    struct outcome o;
    cra_run *run;

    cra_life_make_run(life, "prices", "18", 0);
    cra_life_deliver(life, "prices", "18", "success");
    set_state(life, "18", CRA_RUN_ARCHIVED);
    o = restore(life, "18");
    expect(&o, CRA_NOT_FOUND, CRA_REASON_NO_ARCHIVE);
    run = cra_life_run(life, "prices", "18");
    assert_int_equal(cra_run_doc_of(run)->state, CRA_RUN_ARCHIVED);
    assert_string_equal(cra_run_doc_of(run)->last_reason, "no_archive");
    cra_run_free(run);
}

static void a_run_that_is_held_by_a_worker_is_locked(void **state)
{
    cra_life *life = *state;
    cra_lease lease = {.fence = 0};
    cra_error error = {0};
    struct outcome o;

    make_archived(life, "18", 3, NULL);
    cra_life_expect(cra_catalog_lease_acquire(cra_engine_catalog(life->engine), "prices", "18", "another", 60000, 0,
                                              &lease, &error),
                    CRA_OK, &error);
    o = restore(life, "18");
    expect(&o, CRA_LOCKED, CRA_REASON_LOCKED);
    assert_int_equal(o.item, CRA_ITEM_LOCKED);
}

/* ---- conflicts --------------------------------------------------------------------------------- */

static void write_json(cra_life *life, const char *collection, const char *json)
{
    cra_write_result result = {0};
    cra_error error = {0};
    cra_buf buf;

    cra_buf_init(&buf, NULL);
    assert_int_equal(cra_bson_from_json(cra_bytes_of_str(json), &buf, NULL, NULL), CRA_OK);
    const cra_bytes document = cra_buf_bytes(&buf);
    cra_life_expect(
        cra_docstore_write_batch(cra_engine_docstore(life->engine), collection, &document, 1, 0, &result, &error),
        CRA_OK, &error);
    assert_int_equal(result.outcome, CRA_WRITE_NEW);
    cra_buf_cleanup(&buf);
}

static void a_hot_record_is_never_overwritten(void **state)
{
    cra_life *life = *state;
    char json[120];
    struct outcome o;
    cra_run *run;

    make_archived(life, "18", 12, NULL);
    snprintf(json, sizeof(json), "{\"_id\":%lld,\"run_id\":18,\"edited\":true}", (long long)cra_life_id_base("18") + 3);
    write_json(life, "records_prices", json);
    o = restore(life, "18");
    expect(&o, CRA_CONFLICT, CRA_REASON_CONFLICT);
    expect_counts(&o, 11, 0, 1);
    snprintf(json, sizeof(json), "_id %lld", (long long)cra_life_id_base("18") + 3);
    assert_non_null(strstr(o.detail, json));
    run = cra_life_run(life, "prices", "18");
    assert_int_equal(cra_run_doc_of(run)->state, CRA_RUN_RESTORED);
    cra_run_free(run);
    assert_int_equal(cra_life_count(life, "prices", "18"), 12);
}

/* ---- targets ----------------------------------------------------------------------------------- */

static void another_collection_changes_no_state(void **state)
{
    cra_life *life = *state;
    cra_restore_options options = CRA_RESTORE_OPTIONS_INIT;
    struct outcome o;
    cra_run *before, *after;
    int64_t count = 0;
    cra_error error = {0};
    cra_hot_scope scope;

    make_archived(life, "18", 9, NULL);
    before = cra_life_run(life, "prices", "18");
    options.into = "aside";
    o = restore_with(life, "18", options);
    expect(&o, CRA_OK, CRA_REASON_NONE);
    expect_counts(&o, 9, 0, 0);
    after = cra_life_run(life, "prices", "18");
    assert_true(cra_run_doc_of(before)->version == cra_run_doc_of(after)->version);
    cra_life_expect(cra_hot_scope_init(life->engine, cra_run_doc_of(after), &scope, &error), CRA_OK, &error);
    scope.scope.collection = "aside";
    cra_life_expect(cra_docstore_count(cra_engine_docstore(life->engine), &scope.scope, &count, &error), CRA_OK,
                    &error);
    assert_int_equal(count, 9);
    options.into = "records_prices";
    o = restore_with(life, "18", options);
    expect(&o, CRA_INVALID, CRA_REASON_INVALID);
    cra_run_free(before);
    cra_run_free(after);
}

static void ensure_index(cra_life *life, const char *json)
{
    cra_index_outcome outcome;
    cra_error error = {0};
    cra_buf spec;

    cra_buf_init(&spec, NULL);
    assert_int_equal(cra_bson_from_json(cra_bytes_of_str(json), &spec, NULL, NULL), CRA_OK);
    cra_life_expect(cra_docstore_index_ensure(cra_engine_docstore(life->engine), "records_prices", cra_buf_bytes(&spec),
                                              &outcome, &error),
                    CRA_OK, &error);
    cra_buf_cleanup(&spec);
}

static void a_ttl_index_on_the_target_is_refused(void **state)
{
    cra_life *life = *state;
    struct outcome o;

    make_archived(life, "18", 4, NULL);
    ensure_index(life, "{\"key\":{\"seen\":1},\"name\":\"seen_1\",\"expireAfterSeconds\":60}");
    o = restore(life, "18");
    expect(&o, CRA_CONFLICT, CRA_REASON_TTL_INDEX);
    assert_non_null(strstr(o.detail, "seen_1"));
    assert_int_equal(cra_life_state(life, "prices", "18"), CRA_RUN_ARCHIVED);
    assert_int_equal(cra_life_count(life, "prices", "18"), 0);
}

static size_t count_indexes(cra_life *life, const char *collection)
{
    cra_error error = {0};
    cra_buf list;
    size_t count = 0;

    cra_buf_init(&list, NULL);
    cra_life_expect(cra_docstore_index_list(cra_engine_docstore(life->engine), collection, &list, &count, &error),
                    CRA_OK, &error);
    cra_buf_cleanup(&list);
    return count;
}

static void indexes_of_the_manifest_are_made(void **state)
{
    cra_life *life = *state;
    cra_restore_options options = CRA_RESTORE_OPTIONS_INIT;
    struct outcome o;

    cra_life_make_run(life, "prices", "18", 4);
    ensure_index(life, "{\"key\":{\"run_id\":1},\"name\":\"run_id_1\"}");
    ensure_index(life, "{\"key\":{\"seen\":1},\"name\":\"seen_1\",\"expireAfterSeconds\":60}");
    cra_life_deliver(life, "prices", "18", "success");
    archive(life, "18");
    options.into = "fresh";
    o = restore_with(life, "18", options);
    expect(&o, CRA_CONFLICT, CRA_REASON_TTL_INDEX);
    options.skip_ttl = true;
    o = restore_with(life, "18", options);
    expect(&o, CRA_OK, CRA_REASON_NONE);
    assert_int_equal(count_indexes(life, "fresh"), 2); /* with the one on _id */
}

/* ---- interruptions ----------------------------------------------------------------------------- */

static void an_interrupted_restore_goes_on(void **state)
{
    cra_life *life = *state;
    struct outcome o;
    cra_buf before;
    cra_run *run;

    cra_buf_init(&before, NULL);
    make_archived(life, "18", 200, &before);
    for (int64_t attempt = 0; attempt < 3; attempt++) {
        faulty.status = CRA_IO;
        atomic_store(&faulty.fail_from, atomic_load(&faulty.writes) + 10);
        o = restore(life, "18");
        expect(&o, CRA_IO, CRA_REASON_STORE_ERROR);
        assert_true(o.counts[CRA_COUNT_RECORDS_UNSENT] > 0);
        run = cra_life_run(life, "prices", "18");
        assert_int_equal(cra_run_doc_of(run)->state, CRA_RUN_RESTORING);
        assert_int_equal(cra_run_doc_of(run)->restores, 1);
        assert_string_equal(cra_run_doc_of(run)->last_reason, "store_error");
        assert_true(cra_run_doc_of(run)->archive_at == cra_run_doc_of(run)->restored_at + 3 * DAY);
        cra_run_free(run);
        if (cra_life_count(life, "prices", "18") > 100)
            break;
    }
    atomic_store(&faulty.fail_from, 0);
    const int64_t writes = atomic_load(&faulty.writes);
    o = restore(life, "18");
    expect(&o, CRA_OK, CRA_REASON_NONE);
    assert_int_equal(o.counts[CRA_COUNT_RECORDS_READ], 200);
    assert_true(atomic_load(&faulty.writes) - writes < 20); /* what the checkpoint covers is not sent again */
    expect_same(life, "18", &before);
    run = cra_life_run(life, "prices", "18");
    assert_int_equal(cra_run_doc_of(run)->state, CRA_RUN_RESTORED);
    assert_null(cra_run_doc_of(run)->last_reason);
    cra_run_free(run);
    cra_buf_cleanup(&before);
}

static void cancel_at_write(void *user, int64_t call)
{
    if (call == 5)
        cra_cancel_request(user);
}

static void a_stop_ends_at_a_batch(void **state)
{
    cra_life *life = *state;
    cra_restore_options options = CRA_RESTORE_OPTIONS_INIT;
    struct outcome o;
    cra_buf before;

    cra_buf_init(&before, NULL);
    make_archived(life, "18", 200, &before);
    atomic_store(&faulty.writes, 0);
    faulty.after_write = cancel_at_write;
    faulty.user = life->context;
    options.workers = 1;
    o = restore_with(life, "18", options);
    expect(&o, CRA_CANCELLED, CRA_REASON_CANCELLED);
    assert_int_equal(cra_life_count(life, "prices", "18"), 50);
    assert_int_equal(cra_life_state(life, "prices", "18"), CRA_RUN_RESTORING);
    faulty.after_write = NULL;
    cra_cancel_reset(life->context);
    o = restore(life, "18");
    expect(&o, CRA_OK, CRA_REASON_NONE);
    expect_same(life, "18", &before);
    cra_buf_cleanup(&before);
}

/* A stalled sweeper's last delete lands while the restore is at work. */
static void delete_late(void *user, int64_t call)
{
    cra_life *life = user;

    if (call == 3) {
        faulty.after_write = NULL;
        cra_life_remove_records(life, "prices", "18");
    }
}

static void what_a_late_delete_removes_is_inserted_again(void **state)
{
    cra_life *life = *state;
    cra_restore_options options = CRA_RESTORE_OPTIONS_INIT;
    struct outcome o;
    cra_buf before;

    cra_buf_init(&before, NULL);
    make_archived(life, "18", 60, &before);
    atomic_store(&faulty.writes, 0);
    faulty.after_write = delete_late;
    faulty.user = life;
    options.workers = 1;
    o = restore_with(life, "18", options);
    expect(&o, CRA_OK, CRA_REASON_NONE);
    expect_same(life, "18", &before);
    assert_int_equal(cra_life_state(life, "prices", "18"), CRA_RUN_RESTORED);
    cra_buf_cleanup(&before);
}

/* A record that came after the archive, and one that a late delete took: their number is right, the records are not. */
static void late_delete_one(void *user, int64_t call)
{
    cra_life *life = user;
    cra_run *run;
    cra_hot_scope scope;
    cra_error error = {0};
    int64_t removed = 0;
    const int32_t number = (int32_t)cra_life_id_base("18");
    const cra_value id = {CRA_BSON_INT32, (const uint8_t *)&number, sizeof(number)};

    if (call != 3)
        return;
    faulty.after_write = NULL;
    run = cra_life_run(life, "prices", "18");
    cra_life_expect(cra_hot_scope_init(life->engine, cra_run_doc_of(run), &scope, &error), CRA_OK, &error);
    cra_life_expect(cra_docstore_delete_batch(cra_engine_docstore(life->engine), &scope.scope, &id, 1,
                                              cra_bytes_of(NULL, 0), 0, &removed, &error),
                    CRA_OK, &error);
    assert_int_equal(removed, 1);
    cra_run_free(run);
}

static void a_late_record_does_not_stand_in_for_a_missing_one(void **state)
{
    cra_life *life = *state;
    cra_restore_options options = CRA_RESTORE_OPTIONS_INIT;
    struct outcome o;

    make_archived(life, "18", 60, NULL);
    cra_life_add_records(life, "prices", "18", 600, 1);
    set_state(life, "18", CRA_RUN_SWEEPING);
    atomic_store(&faulty.writes, 0);
    faulty.after_write = late_delete_one;
    faulty.user = life;
    options.workers = 1;
    o = restore_with(life, "18", options);
    expect(&o, CRA_OK, CRA_REASON_NONE);
    assert_int_equal(cra_life_count(life, "prices", "18"), 61);
}

/* ---- damage ------------------------------------------------------------------------------------ */

struct flipper {
    cra_life *life;
    cra_blobstore *store;
    char name[300];
};

static cra_status find_part(void *user, const char *name, const cra_blob_info *info)
{
    struct flipper *flipper = user;

    (void)info;
    if (strstr(name, "part-") != NULL)
        snprintf(flipper->name, sizeof(flipper->name), "%s", name);
    return CRA_OK;
}

/* Damage one byte near the end of the last part, behind the store's back: on disk, where ETag and size stay. */
static void damage_part(cra_life *life)
{
    struct flipper flipper = {life, NULL, ""};
    const cra_route_list *routes = cra_engine_routes(life->engine);
    cra_error error = {0};
    char path[1024];
    FILE *file;

    cra_life_expect(cra_engine_blobstore(life->engine, routes->entries[0].uri, &flipper.store, &error), CRA_OK, &error);
    cra_life_expect(cra_blobstore_list(flipper.store, "", find_part, &flipper, &error), CRA_OK, &error);
    assert_true(flipper.name[0] != '\0');
    snprintf(path, sizeof(path), "%s/archive/%s", life->folder, flipper.name);
    file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -40, SEEK_END), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, -40, SEEK_END), 0);
    fputc(byte ^ 0xFF, file);
    fclose(file);
}

static void a_damaged_part_fails_the_run(void **state)
{
    cra_life *life = *state;
    struct outcome o;

    make_archived(life, "18", 30, NULL);
    damage_part(life);
    o = restore(life, "18");
    assert_int_equal(o.reason, CRA_REASON_CORRUPT);
    assert_int_equal(o.status, CRA_CORRUPT);
    assert_int_not_equal(cra_life_state(life, "prices", "18"), CRA_RUN_RESTORED);
    assert_int_not_equal(cra_life_state(life, "prices", "18"), CRA_RUN_HOT);
}

static void one_damaged_part_keeps_no_other_back(void **state)
{
    static const char *const settings[] = {"archive.part_docs", "10", NULL};
    cra_restore_options options = CRA_RESTORE_OPTIONS_INIT;
    cra_life *life = *state;
    struct outcome o;

    cra_life_reopen(life, settings);
    make_archived(life, "18", 30, NULL);
    damage_part(life);
    o = restore(life, "18");
    expect(&o, CRA_CORRUPT, CRA_REASON_CORRUPT);
    assert_non_null(strstr(o.detail, "part-"));
    if (cra_life_state(life, "prices", "18") == CRA_RUN_RESTORING)
        assert_true(cra_life_count(life, "prices", "18") >= 20);
    options.salvage = true;
    o = restore_with(life, "18", options);
    expect(&o, CRA_CORRUPT, CRA_REASON_CORRUPT);
    assert_true(cra_life_count(life, "prices", "18") >= 20);
    assert_int_equal(cra_life_state(life, "prices", "18"), CRA_RUN_RESTORING);
}

/* ---- archives of others ------------------------------------------------------------------------ */

static void copy_tree(const char *from, const char *to)
{
    char command[1500];

    snprintf(command, sizeof(command), "mkdir -p '%s' && cp -R '%s/.' '%s'", to, from, to);
    assert_int_equal(system(command), 0); /* NOLINT: a test's own folder */
}

static void a_stream_without_ids_comes_back(void **state)
{
    static const char *const settings[] = {"archive.template", "run_id={run}", "verify.memory", "1MiB", NULL};
    cra_life *life = *state;
    char target[700];
    struct outcome o;
    cra_error error = {0};

    cra_life_reopen(life, settings);
    snprintf(target, sizeof(target), "%s/archive", life->folder);
    copy_tree(cra_test_inside("flink/snappy-run"), target);
    cra_life_expect(cra_run_add(life->engine, "prices", "r-2023-11-14", NULL, NULL, &error), CRA_OK, &error);
    cra_life_deliver(life, "prices", "r-2023-11-14", "success");
    set_state(life, "r-2023-11-14", CRA_RUN_ARCHIVED);
    cra_restore_options options = CRA_RESTORE_OPTIONS_INIT;
    options.batch_docs = 1000;
    options.workers = 2;
    o = restore_with(life, "r-2023-11-14", options);
    expect(&o, CRA_OK, CRA_REASON_NONE);
    expect_counts(&o, 6000, 0, 0);
    assert_int_equal(cra_life_count(life, "prices", "r-2023-11-14"), 6000);
    o = restore_with(life, "r-2023-11-14", options);
    expect(&o, CRA_OK, CRA_REASON_NONE);
    expect_counts(&o, 0, 6000, 0);
}

/* Derived ids beside records of the run under other ids would double it. */
static void a_stream_without_ids_does_not_double_a_run(void **state)
{
    static const char *const settings[] = {"archive.template", "run_id={run}", NULL};
    cra_life *life = *state;
    char target[700];
    struct outcome o;
    cra_error error = {0};

    cra_life_reopen(life, settings);
    snprintf(target, sizeof(target), "%s/archive", life->folder);
    copy_tree(cra_test_inside("flink/snappy-run"), target);
    cra_life_expect(cra_run_add(life->engine, "prices", "r-2023-11-14", NULL, NULL, &error), CRA_OK, &error);
    cra_life_deliver(life, "prices", "r-2023-11-14", "success");
    write_json(life, "records_prices", "{\"_id\":1,\"run_id\":\"r-2023-11-14\"}");
    set_state(life, "r-2023-11-14", CRA_RUN_SWEEPING);
    o = restore(life, "r-2023-11-14");
    expect(&o, CRA_CONFLICT, CRA_REASON_CONFLICT);
    assert_int_equal(cra_life_count(life, "prices", "r-2023-11-14"), 1);
    assert_int_equal(cra_life_state(life, "prices", "r-2023-11-14"), CRA_RUN_SWEEPING);
}

int main(void)
{
#define BOTH(name)                                                                                                     \
    cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down),                                                   \
        cmocka_unit_test_setup_teardown(name, set_up_sqlite, tear_down)
#define FAULTY(name) cmocka_unit_test_setup_teardown(name, set_up_faulty, tear_down)
#define SQLITE(name) cmocka_unit_test_setup_teardown(name, set_up_sqlite, tear_down)
    const struct CMUnitTest tests[] = {
        BOTH(records_come_back_byte_for_byte),
        BOTH(a_second_restore_changes_nothing),
        BOTH(a_hot_run_is_only_compared),
        BOTH(an_explicit_date_is_consumed),
        BOTH(a_sweep_that_stopped_is_undone),
        BOTH(several_runs_come_back_at_once),
        BOTH(an_empty_run_needs_no_archive),
        BOTH(without_an_archive_nothing_begins),
        BOTH(a_run_that_is_held_by_a_worker_is_locked),
        BOTH(a_hot_record_is_never_overwritten),
        BOTH(another_collection_changes_no_state),
        BOTH(a_ttl_index_on_the_target_is_refused),
        BOTH(indexes_of_the_manifest_are_made),
        FAULTY(an_interrupted_restore_goes_on),
        FAULTY(a_stop_ends_at_a_batch),
        FAULTY(what_a_late_delete_removes_is_inserted_again),
        FAULTY(a_late_record_does_not_stand_in_for_a_missing_one),
        SQLITE(a_damaged_part_fails_the_run),
        SQLITE(one_damaged_part_keeps_no_other_back),
        SQLITE(a_stream_without_ids_comes_back),
        SQLITE(a_stream_without_ids_does_not_double_a_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
