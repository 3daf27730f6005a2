/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "kit/life.h"
#include "ops/hot_writer.h"

/* ---- a docstore that answers as it is told ------------------------------------------------------ */

#define CAPACITY 64

static struct script {
    cra_buf stored[CAPACITY]; /* documents */
    size_t count;
    int64_t calls;
    int64_t fail_call;  /* this call answers `fail_status`, 1-based; 0: none */
    int64_t fail_calls; /* and so do that many behind it */
    cra_status fail_status;
    bool write_all_the_same; /* what was sent arrives though the answer is lost */
    size_t refuse;           /* row that is refused for itself, 1-based */
    size_t max_docs_seen, max_bytes_seen;
    int64_t deadline_seen;
    bool fetch_fails;
} script;

static cra_value id_of(cra_bytes document)
{
    cra_value id = {0, NULL, 0};

    assert_int_equal(cra_bson_find(document, "_id", 3, &id), CRA_OK);
    return id;
}

static cra_buf *find_stored(cra_value id)
{
    for (size_t i = 0; i < script.count; i++) {
        if (cra_value_compare(id_of(cra_buf_bytes(&script.stored[i])), id) == 0)
            return &script.stored[i];
    }
    return NULL;
}

static void store(cra_bytes document)
{
    assert_true(script.count < CAPACITY);
    cra_buf_init(&script.stored[script.count], NULL);
    assert_int_equal(cra_buf_append(&script.stored[script.count++], document.data, document.size), CRA_OK);
}

static void scripted_close(void *self)
{
    (void)self;
    for (size_t i = 0; i < script.count; i++)
        cra_buf_cleanup(&script.stored[i]);
    script.count = 0;
}

static cra_status scripted_limits(void *self, cra_docstore_limits *out, cra_error *err)
{
    (void)self;
    (void)err;
    out->max_document_bytes = 200;
    out->max_batch_docs = 10;
    out->max_batch_bytes = 1000;
    return CRA_OK;
}

static void write_row(cra_bytes document, size_t row, cra_write_result *result)
{
    if (row + 1 == script.refuse) {
        result->outcome = CRA_WRITE_FAILED;
        snprintf(result->message, sizeof(result->message), "another unique index");
    } else if (find_stored(id_of(document)) != NULL) {
        result->outcome = CRA_WRITE_ID_EXISTS;
    } else {
        store(document);
        result->outcome = CRA_WRITE_NEW;
    }
}

static cra_status scripted_write(void *self, const char *collection, const cra_bytes *documents, size_t count,
                                 int64_t deadline_ms, cra_write_result *results, cra_error *err)
{
    const int64_t call = ++script.calls;
    const bool fails =
        script.fail_call != 0 && call >= script.fail_call && call <= script.fail_call + script.fail_calls;
    size_t bytes = 0;

    (void)self;
    assert_string_equal(collection, "records");
    script.deadline_seen = deadline_ms;
    for (size_t i = 0; i < count; i++) {
        bytes += documents[i].size;
        if (!fails || script.write_all_the_same)
            write_row(documents[i], i, &results[i]);
        if (fails)
            results[i].outcome = script.write_all_the_same ? CRA_WRITE_UNKNOWN : CRA_WRITE_UNSENT;
    }
    script.max_docs_seen = count > script.max_docs_seen ? count : script.max_docs_seen;
    script.max_bytes_seen = bytes > script.max_bytes_seen ? bytes : script.max_bytes_seen;
    return fails ? cra_error_set(err, script.fail_status, "script", "told to fail") : CRA_OK;
}

static cra_status scripted_fetch(void *self, const char *collection, const cra_value *ids, size_t count, cra_buf *out,
                                 cra_error *err)
{
    (void)self;
    (void)collection;
    if (script.fetch_fails)
        return cra_error_set(err, CRA_IO, "script", "told to fail");
    for (size_t i = count; i > 0; i--) {
        const cra_buf *found = find_stored(ids[i - 1]);
        if (found != NULL)
            CRA_TRY(cra_buf_append(out, found->data, found->size));
    }
    return CRA_OK;
}

static cra_status scripted_page(void *self, const cra_scope *scope, const cra_page_request *request, cra_buf *out,
                                size_t *count, cra_error *err)
{
    (void)self;
    (void)scope;
    (void)request;
    (void)out;
    (void)err;
    *count = 0;
    return CRA_OK;
}

static cra_status scripted_count(void *self, const cra_scope *scope, int64_t *out, cra_error *err)
{
    (void)self;
    (void)scope;
    (void)err;
    *out = (int64_t)script.count;
    return CRA_OK;
}

static cra_status scripted_delete(void *self, const cra_scope *scope, const cra_value *ids, size_t count,
                                  cra_bytes match, int64_t deadline_ms, int64_t *removed, cra_error *err)
{
    (void)self;
    (void)scope;
    (void)ids;
    (void)count;
    (void)match;
    (void)deadline_ms;
    (void)err;
    *removed = 0;
    return CRA_OK;
}

static cra_status scripted_index_list(void *self, const char *collection, cra_buf *out, size_t *count, cra_error *err)
{
    (void)self;
    (void)collection;
    (void)out;
    (void)err;
    *count = 0;
    return CRA_OK;
}

static cra_status scripted_index_ensure(void *self, const char *collection, cra_bytes spec, cra_index_outcome *outcome,
                                        cra_error *err)
{
    (void)self;
    (void)collection;
    (void)spec;
    (void)err;
    *outcome = CRA_INDEX_PRESENT;
    return CRA_OK;
}

static cra_status scripted_collection_get(void *self, const char *collection, cra_buf *out, cra_error *err)
{
    (void)self;
    (void)out;
    return cra_error_set(err, CRA_NOT_FOUND, "script", "no collection %s", collection);
}

static cra_status scripted_collection_create(void *self, const char *collection, cra_bytes options, cra_error *err)
{
    (void)self;
    (void)collection;
    (void)options;
    (void)err;
    return CRA_OK;
}

static cra_status scripted_health(void *self, cra_docstore_health *out, cra_error *err)
{
    (void)self;
    (void)err;
    out->lag_ms = 0;
    out->durable_writes = true;
    return CRA_OK;
}

static const cra_docstore_vtable scripted = {
    .struct_size = sizeof(scripted),
    .close = scripted_close,
    .limits = scripted_limits,
    .write_batch = scripted_write,
    .fetch = scripted_fetch,
    .page = scripted_page,
    .count = scripted_count,
    .delete_batch = scripted_delete,
    .index_list = scripted_index_list,
    .index_ensure = scripted_index_ensure,
    .collection_get = scripted_collection_get,
    .collection_create = scripted_collection_create,
    .health = scripted_health,
};

static cra_status open_scripted(const cra_open_args *args, const cra_docstore_vtable **vtable, void **self,
                                cra_error *err)
{
    (void)args;
    (void)err;
    *vtable = &scripted;
    *self = &script;
    return CRA_OK;
}

static const cra_backend backend = {
    .struct_size = sizeof(backend),
    .abi_version = CRA_ABI_VERSION,
    .scheme = "scripted",
    .description = "answers as it is told",
    .open_docstore = open_scripted,
};

/* ---- fixture ----------------------------------------------------------------------------------- */

struct fixture {
    cra_life life;
    cra_hot_writer *writer;
    cra_status admit;
    int admitted;
};

static const char *const settings[] = {"hot.uri", "scripted:", NULL};

static int set_up(void **state)
{
    struct fixture *f = test_calloc(1, sizeof(*f));

    memset(&script, 0, sizeof(script));
    cra_life_open_with(&f->life, CRA_LIFE_SQLITE, settings, &backend);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cra_hot_writer_free(f->writer);
    cra_life_close(&f->life);
    test_free(f);
    return 0;
}

static cra_status admit(void *user, int64_t *deadline_ms, cra_error *err)
{
    struct fixture *f = user;

    f->admitted++;
    *deadline_ms = 12345678;
    return f->admit == CRA_OK ? CRA_OK : cra_error_set(err, f->admit, "test", "not admitted");
}

static void make_writer(struct fixture *f, int64_t docs, int64_t bytes, bool compare_only)
{
    cra_error error = {0};

    cra_life_expect(
        cra_hot_writer_new(f->life.engine, "records", docs, bytes, compare_only, admit, f, &f->writer, &error), CRA_OK,
        &error);
}

static cra_status add(struct fixture *f, const char *json)
{
    cra_buf document;
    cra_error error = {0};
    cra_status status;

    cra_buf_init(&document, NULL);
    assert_int_equal(cra_bson_from_json(cra_bytes_of_str(json), &document, NULL, NULL), CRA_OK);
    status = cra_hot_writer_add(f->writer, cra_buf_bytes(&document), &error);
    cra_buf_cleanup(&document);
    return status;
}

static void put_stored(const char *json)
{
    cra_buf document;

    cra_buf_init(&document, NULL);
    assert_int_equal(cra_bson_from_json(cra_bytes_of_str(json), &document, NULL, NULL), CRA_OK);
    store(cra_buf_bytes(&document));
    cra_buf_cleanup(&document);
}

static cra_status flush(struct fixture *f)
{
    cra_error error = {0};

    return cra_hot_writer_flush(f->writer, &error);
}

static void expect_counts(struct fixture *f, int64_t fresh, int64_t identical, int64_t conflict, int64_t failed,
                          int64_t unsent)
{
    const cra_hot_counts *counts = cra_hot_writer_counts(f->writer);

    assert_int_equal(counts->fresh, fresh);
    assert_int_equal(counts->identical, identical);
    assert_int_equal(counts->conflict, conflict);
    assert_int_equal(counts->failed, failed);
    assert_int_equal(counts->unsent, unsent);
    assert_int_equal(counts->read, fresh + identical + conflict + failed + unsent);
}

/* ---- tests ------------------------------------------------------------------------------------- */

static void every_record_is_classified(void **state)
{
    struct fixture *f = *state;

    put_stored("{\"_id\":1,\"a\":1}");
    put_stored("{\"_id\":2,\"a\":1}");
    make_writer(f, 0, 0, false);
    assert_int_equal(add(f, "{\"_id\":1,\"a\":1}"), CRA_OK);
    assert_int_equal(add(f, "{\"_id\":2,\"a\":2}"), CRA_OK);
    assert_int_equal(add(f, "{\"_id\":3,\"a\":3}"), CRA_OK);
    assert_int_equal(add(f, "{\"_id\":3,\"a\":3}"), CRA_OK);
    assert_int_equal(add(f, "{\"_id\":3,\"a\":4}"), CRA_OK);
    assert_int_equal(flush(f), CRA_OK);
    expect_counts(f, 1, 2, 2, 0, 0);
    assert_non_null(strstr(cra_hot_writer_detail(f->writer), "_id 2"));
    assert_int_equal(script.deadline_seen, 12345678);
}

static void a_hot_record_with_its_id_behind_is_the_same(void **state)
{
    struct fixture *f = *state;

    put_stored("{\"a\":1,\"_id\":1}");
    make_writer(f, 0, 0, false);
    assert_int_equal(add(f, "{\"_id\":1,\"a\":1}"), CRA_OK);
    assert_int_equal(flush(f), CRA_OK);
    expect_counts(f, 0, 1, 0, 0, 0);
}

static void batches_are_bounded_by_documents_and_bytes(void **state)
{
    struct fixture *f = *state;
    char json[120];

    make_writer(f, 1000, 0, false);
    for (int i = 0; i < 25; i++) {
        snprintf(json, sizeof(json), "{\"_id\":%d}", i);
        assert_int_equal(add(f, json), CRA_OK);
    }
    for (int i = 25; i < 45; i++) {
        snprintf(json, sizeof(json), "{\"_id\":%d,\"t\":\"%080d\"}", i, i);
        assert_int_equal(add(f, json), CRA_OK);
    }
    assert_int_equal(flush(f), CRA_OK);
    expect_counts(f, 45, 0, 0, 0, 0);
    assert_int_equal(script.max_docs_seen, 10);
    assert_true(script.max_bytes_seen <= 1000);
}

static void one_bad_record_loses_no_other(void **state)
{
    struct fixture *f = *state;
    char json[400];

    make_writer(f, 0, 0, false);
    script.refuse = 3;
    assert_int_equal(add(f, "{\"_id\":1}"), CRA_OK);
    snprintf(json, sizeof(json), "{\"_id\":\"giant\",\"t\":\"%0300d\"}", 1);
    assert_int_equal(add(f, json), CRA_OK);
    assert_int_equal(add(f, "{\"_id\":2}"), CRA_OK);
    assert_int_equal(add(f, "{\"_id\":3}"), CRA_OK);
    assert_int_equal(add(f, "{\"_id\":4}"), CRA_OK);
    assert_int_equal(flush(f), CRA_OK);
    expect_counts(f, 3, 0, 0, 2, 0);
    assert_non_null(strstr(cra_hot_writer_detail(f->writer), "giant"));
    assert_non_null(strstr(cra_hot_writer_detail(f->writer), "_id 3: another unique index"));
}

static void a_lost_answer_is_looked_up(void **state)
{
    struct fixture *f = *state;

    make_writer(f, 0, 0, false);
    script.fail_call = 1;
    script.fail_status = CRA_TIMEOUT;
    script.write_all_the_same = true;
    assert_int_equal(add(f, "{\"_id\":1}"), CRA_OK);
    assert_int_equal(add(f, "{\"_id\":2}"), CRA_OK);
    assert_int_equal(flush(f), CRA_OK);
    expect_counts(f, 0, 2, 0, 0, 0);
    assert_int_equal(script.count, 2);
}

static void a_store_that_is_away_is_asked_again(void **state)
{
    struct fixture *f = *state;

    make_writer(f, 0, 0, false);
    script.fail_call = 1;
    script.fail_calls = 1;
    script.fail_status = CRA_UNAVAILABLE;
    assert_int_equal(add(f, "{\"_id\":1}"), CRA_OK);
    assert_int_equal(flush(f), CRA_OK);
    expect_counts(f, 1, 0, 0, 0, 0);
    assert_int_equal(script.calls, 3);
    assert_int_equal(f->admitted, 3);
}

static void what_a_dead_store_did_not_take_is_unsent(void **state)
{
    struct fixture *f = *state;

    make_writer(f, 2, 0, false);
    assert_int_equal(add(f, "{\"_id\":1}"), CRA_OK);
    assert_int_equal(add(f, "{\"_id\":2}"), CRA_OK);
    script.fail_call = script.calls + 1;
    script.fail_calls = 1000;
    script.fail_status = CRA_IO;
    assert_int_equal(add(f, "{\"_id\":3}"), CRA_OK);
    assert_int_equal(add(f, "{\"_id\":4}"), CRA_IO);
    expect_counts(f, 2, 0, 0, 0, 2);
}

static void what_is_not_admitted_is_unsent(void **state)
{
    struct fixture *f = *state;

    make_writer(f, 0, 0, false);
    assert_int_equal(add(f, "{\"_id\":1}"), CRA_OK);
    f->admit = CRA_LOCKED;
    assert_int_equal(flush(f), CRA_LOCKED);
    expect_counts(f, 0, 0, 0, 0, 1);
    assert_int_equal(script.calls, 0);
}

static void comparing_writes_nothing(void **state)
{
    struct fixture *f = *state;

    put_stored("{\"_id\":1,\"a\":1}");
    put_stored("{\"_id\":2,\"a\":1}");
    make_writer(f, 0, 0, true);
    assert_int_equal(add(f, "{\"_id\":1,\"a\":1}"), CRA_OK);
    assert_int_equal(add(f, "{\"_id\":2,\"a\":2}"), CRA_OK);
    assert_int_equal(add(f, "{\"_id\":3,\"a\":3}"), CRA_OK);
    assert_int_equal(flush(f), CRA_OK);
    expect_counts(f, 0, 1, 1, 0, 1);
    assert_int_equal(script.calls, 0);
    assert_int_equal(script.count, 2);
}

static void a_failed_comparison_is_told(void **state)
{
    struct fixture *f = *state;

    put_stored("{\"_id\":1,\"a\":1}");
    make_writer(f, 0, 0, false);
    script.fetch_fails = true;
    assert_int_equal(add(f, "{\"_id\":1,\"a\":1}"), CRA_OK);
    assert_int_equal(add(f, "{\"_id\":2,\"a\":1}"), CRA_OK);
    assert_int_equal(flush(f), CRA_IO);
    expect_counts(f, 1, 0, 0, 0, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_record_is_classified),
        TEST(a_hot_record_with_its_id_behind_is_the_same),
        TEST(batches_are_bounded_by_documents_and_bytes),
        TEST(one_bad_record_loses_no_other),
        TEST(a_lost_answer_is_looked_up),
        TEST(a_store_that_is_away_is_asked_again),
        TEST(what_a_dead_store_did_not_take_is_unsent),
        TEST(what_is_not_admitted_is_unsent),
        TEST(comparing_writes_nothing),
        TEST(a_failed_comparison_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
