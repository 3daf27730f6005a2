/* SPDX-License-Identifier: Apache-2.0 */

/* The guard of the docstore port: which backends it takes, and what it lets through to them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kit/test_allocator.h"
#include "ports/context.h"

/* A backend that counts what reaches it. */
typedef struct spy {
    int calls;
    int closed;
} spy;

static cra_status reached(void *self)
{
    ((spy *)self)->calls++;
    return CRA_OK;
}

static void spy_close(void *self)
{
    ((spy *)self)->closed++;
}

static cra_status spy_limits(void *self, cra_docstore_limits *out, cra_error *err)
{
    (void)err;
    assert_int_equal(out->struct_size, sizeof *out);
    return reached(self);
}

static cra_status spy_write(void *self, const char *collection, const cra_bytes *documents, size_t count,
                            int64_t deadline_ms, cra_write_result *results, cra_error *err)
{
    (void)collection;
    (void)documents;
    (void)count;
    (void)deadline_ms;
    (void)err;
    assert_int_equal(results[0].outcome, CRA_WRITE_UNSENT); /* cleared before */
    return reached(self);
}

static cra_status spy_fetch(void *self, const char *collection, const cra_value *ids, size_t count, cra_buf *out,
                            cra_error *err)
{
    (void)collection;
    (void)ids;
    (void)count;
    (void)out;
    (void)err;
    return reached(self);
}

static cra_status spy_page(void *self, const cra_scope *scope, const cra_page_request *request, cra_buf *out,
                           size_t *count, cra_error *err)
{
    (void)scope;
    (void)request;
    (void)out;
    (void)count;
    (void)err;
    return reached(self);
}

static cra_status spy_count(void *self, const cra_scope *scope, int64_t *out, cra_error *err)
{
    (void)scope;
    (void)out;
    (void)err;
    return reached(self);
}

static cra_status spy_delete(void *self, const cra_scope *scope, const cra_value *ids, size_t count, cra_bytes match,
                             int64_t deadline_ms, int64_t *removed, cra_error *err)
{
    (void)scope;
    (void)ids;
    (void)count;
    (void)match;
    (void)deadline_ms;
    (void)removed;
    (void)err;
    return reached(self);
}

static cra_status spy_index_list(void *self, const char *collection, cra_buf *out, size_t *count, cra_error *err)
{
    (void)collection;
    (void)out;
    (void)count;
    (void)err;
    return reached(self);
}

static cra_status spy_index_ensure(void *self, const char *collection, cra_bytes spec, cra_index_outcome *outcome,
                                   cra_error *err)
{
    (void)collection;
    (void)spec;
    (void)outcome;
    (void)err;
    return reached(self);
}

static cra_status spy_get(void *self, const char *collection, cra_buf *out, cra_error *err)
{
    (void)collection;
    (void)out;
    (void)err;
    return reached(self);
}

static cra_status spy_create(void *self, const char *collection, cra_bytes options, cra_error *err)
{
    (void)collection;
    (void)options;
    (void)err;
    return reached(self);
}

static cra_status spy_health(void *self, cra_docstore_health *out, cra_error *err)
{
    (void)out;
    (void)err;
    return reached(self);
}

static cra_status spy_find(void *self, const char *collection, const char *path, cra_value value, cra_value after_id,
                           int64_t max_docs, cra_buf *out, size_t *count, cra_error *err)
{
    (void)collection;
    (void)path;
    (void)value;
    (void)after_id;
    (void)max_docs;
    (void)out;
    (void)count;
    (void)err;
    return reached(self);
}

static cra_status spy_replace(void *self, const char *collection, cra_value id, cra_bytes match, cra_bytes document,
                              cra_error *err)
{
    (void)collection;
    (void)id;
    (void)match;
    (void)document;
    (void)err;
    return reached(self);
}

static const cra_docstore_vtable full = {
    .struct_size = sizeof(cra_docstore_vtable),
    .features = CRA_DOCSTORE_FIND | CRA_DOCSTORE_REPLACE_IF,
    .close = spy_close,
    .limits = spy_limits,
    .write_batch = spy_write,
    .fetch = spy_fetch,
    .page = spy_page,
    .count = spy_count,
    .delete_batch = spy_delete,
    .index_list = spy_index_list,
    .index_ensure = spy_index_ensure,
    .collection_get = spy_get,
    .collection_create = spy_create,
    .health = spy_health,
    .find = spy_find,
    .replace_if = spy_replace,
};

typedef struct fixture {
    cra_test_allocator kit;
    cra_context *context;
    spy spy;
} fixture;

static fixture f;

static int setup(void **state)
{
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;

    (void)state;
    memset(&f, 0, sizeof f);
    cra_test_allocator_init(&f.kit);
    options.allocator = &f.kit.allocator;
    assert_int_equal(cra_context_new_bare(&options, &f.context, NULL), CRA_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cra_context_free(f.context);
    cra_test_allocator_check(&f.kit);
    return 0;
}

static void missing_slots_are_named(void **state)
{
    static const struct {
        size_t offset;
        const char *name;
    } slots[] = {
#define SLOT(name) {offsetof(cra_docstore_vtable, name), #name}
        SLOT(close),        SLOT(limits),         SLOT(write_batch),       SLOT(fetch),
        SLOT(page),         SLOT(count),          SLOT(delete_batch),      SLOT(index_list),
        SLOT(index_ensure), SLOT(collection_get), SLOT(collection_create), SLOT(health),
        SLOT(find),         SLOT(replace_if),
#undef SLOT
    };

    (void)state;
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        cra_docstore_vtable vtable = full;
        cra_docstore *store = (cra_docstore *)&f;
        cra_error err = {0};
        memset((char *)&vtable + slots[i].offset, 0, sizeof(void (*)(void)));
        assert_int_equal(cra_docstore_wrap(f.context, &vtable, &f.spy, false, &store, &err), CRA_INVALID);
        assert_null(store);
        assert_non_null(strstr(err.message, slots[i].name));
    }
}

static void other_versions_of_the_struct(void **state)
{
    struct {
        cra_docstore_vtable known;
        void *unknown;
    } larger = {full, NULL};
    cra_docstore_vtable older = full;
    cra_docstore *store = NULL;

    (void)state;
    larger.known.struct_size = sizeof larger;
    assert_int_equal(cra_docstore_wrap(f.context, &larger.known, &f.spy, false, &store, NULL), CRA_OK);
    cra_docstore_free(store);
    larger.unknown = &f;
    assert_int_equal(cra_docstore_wrap(f.context, &larger.known, &f.spy, false, &store, NULL), CRA_INVALID);
    /* Optional slots that an older header did not have are not there, whatever lies behind the struct. */
    older.struct_size = offsetof(cra_docstore_vtable, find);
    assert_int_equal(cra_docstore_wrap(f.context, &older, &f.spy, false, &store, NULL), CRA_INVALID); /* claims them */
    older.features = 0;
    assert_int_equal(cra_docstore_wrap(f.context, &older, &f.spy, false, &store, NULL), CRA_OK);
    assert_int_equal(cra_docstore_features(store), 0);
    cra_docstore_free(store);
    older.struct_size = offsetof(cra_docstore_vtable, health);
    assert_int_equal(cra_docstore_wrap(f.context, &older, &f.spy, false, &store, NULL), CRA_INVALID);
    older = full;
    older.features |= 1u << 30;
    assert_int_equal(cra_docstore_wrap(f.context, &older, &f.spy, false, &store, NULL), CRA_INVALID);
    assert_int_equal(f.spy.closed, 2);
}

static const uint8_t one[4] = {1, 0, 0, 0};
static const uint8_t document_bytes[] = {14, 0, 0, 0, CRA_BSON_INT32, '_', 'i', 'd', 0, 1, 0, 0, 0, 0};
static const cra_value id = {CRA_BSON_INT32, one, 4};
static const cra_bytes document = {document_bytes, sizeof document_bytes};
static const cra_bytes no_match = {NULL, 0};

/* Every call that writes, with arguments that are right. @return how many came to `wanted` */
static int write_all(cra_docstore *store, cra_status wanted)
{
    const cra_scope scope = {"c", "run", {CRA_BSON_INT32, one, 4}};
    cra_write_result result;
    cra_index_outcome outcome;
    int64_t removed;
    int count = 0;

    count += cra_docstore_write_batch(store, "c", &document, 1, 0, &result, NULL) == wanted;
    count += cra_docstore_delete_batch(store, &scope, &id, 1, no_match, 0, &removed, NULL) == wanted;
    count += cra_docstore_index_ensure(store, "c", document, &outcome, NULL) == wanted;
    count += cra_docstore_collection_create(store, "c", document, NULL) == wanted;
    count += cra_docstore_replace_if(store, "c", id, no_match, document, NULL) == wanted;
    return count;
}

static void writes_do_not_reach_a_read_only_backend(void **state)
{
    cra_docstore *store = NULL;
    cra_docstore *reader = NULL;

    (void)state;
    assert_int_equal(cra_docstore_wrap(f.context, &full, &f.spy, false, &store, NULL), CRA_OK);
    assert_int_equal(cra_docstore_read_only(store, &reader, NULL), CRA_OK);
    assert_int_equal(write_all(reader, CRA_DENIED), 5);
    assert_int_equal(f.spy.calls, 0);
    cra_docstore_free(reader);
    assert_int_equal(f.spy.closed, 0);
    assert_int_equal(write_all(store, CRA_OK), 5);
    assert_int_equal(f.spy.calls, 5);
    cra_docstore_free(store);
    assert_int_equal(f.spy.closed, 1);
    cra_docstore_free(NULL);
}

static void what_is_not_offered_is_unsupported(void **state)
{
    cra_docstore_vtable bare = full;
    cra_docstore *store = NULL;
    cra_buf out;
    size_t count = 9;
    cra_error err = {0};

    (void)state;
    cra_buf_init(&out, NULL);
    bare.features = 0; /* the slots are there, but not claimed */
    assert_int_equal(cra_docstore_wrap(f.context, &bare, &f.spy, false, &store, NULL), CRA_OK);
    assert_int_equal(cra_docstore_find(store, "c", "a", id, id, 1, &out, &count, &err), CRA_UNSUPPORTED);
    assert_int_equal(count, 0);
    assert_int_equal(cra_docstore_replace_if(store, "c", id, no_match, document, &err), CRA_UNSUPPORTED);
    assert_int_equal(f.spy.calls, 0);
    cra_docstore_free(store);
}

static void wrong_arguments_do_not_reach_the_backend(void **state)
{
    static const uint8_t other[] = {12, 0, 0, 0, CRA_BSON_INT32, 'a', 0, 1, 0, 0, 0, 0};
    static const uint8_t cut[] = {14, 0, 0, 0, CRA_BSON_INT32, '_', 'i', 'd'};
    const cra_bytes no_id = {other, sizeof other};
    const cra_bytes torn = {cut, sizeof cut};
    const cra_value none = {0, NULL, 0};
    const cra_scope scope = {"c", "run", {CRA_BSON_INT32, one, 4}};
    cra_scope bad = scope;
    cra_page_request request = {sizeof request, {0, NULL, 0}, false, 1, 1};
    cra_docstore *store = NULL;
    cra_write_result result;
    cra_index_outcome outcome;
    size_t count;
    int64_t number;
    cra_buf out;

    (void)state;
    cra_buf_init(&out, NULL);
    assert_int_equal(cra_docstore_wrap(f.context, &full, &f.spy, false, &store, NULL), CRA_OK);
    assert_int_equal(cra_docstore_write_batch(store, NULL, &document, 1, 0, &result, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_write_batch(store, "c", &no_id, 1, 0, &result, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_write_batch(store, "c", &torn, 1, 0, &result, NULL), CRA_CORRUPT);
    assert_int_equal(result.outcome, CRA_WRITE_UNSENT);
    assert_int_equal(cra_docstore_fetch(store, "c", &none, 1, &out, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_fetch(store, "", &id, 1, &out, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_page(store, NULL, &request, &out, &count, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_page(store, &scope, NULL, &out, &count, NULL), CRA_INVALID);
    request.max_bytes = 0;
    assert_int_equal(cra_docstore_page(store, &scope, &request, &out, &count, NULL), CRA_INVALID);
    bad.run_value = none;
    assert_int_equal(cra_docstore_count(store, &bad, &number, NULL), CRA_INVALID);
    bad = scope;
    bad.run_field = NULL;
    assert_int_equal(cra_docstore_count(store, &bad, &number, NULL), CRA_INVALID);
    bad = scope;
    bad.collection = "";
    assert_int_equal(cra_docstore_delete_batch(store, &bad, &id, 1, no_match, 0, &number, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_delete_batch(store, &scope, &none, 1, no_match, 0, &number, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_delete_batch(store, &scope, &id, 1, torn, 0, &number, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_index_ensure(store, "c", torn, &outcome, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_index_list(store, "", &out, &count, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_collection_create(store, "c", torn, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_collection_get(store, NULL, &out, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_find(store, "c", "", id, none, 1, &out, &count, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_find(store, "c", "a", none, none, 1, &out, &count, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_find(store, "c", "a", id, none, 0, &out, &count, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_replace_if(store, "c", none, no_match, document, NULL), CRA_INVALID);
    assert_int_equal(cra_docstore_replace_if(store, "c", id, no_match, no_id, NULL), CRA_INVALID);
    assert_int_equal(f.spy.calls, 0);
    /* Nothing to do is done without the backend. */
    assert_int_equal(cra_docstore_write_batch(store, "c", NULL, 0, 0, NULL, NULL), CRA_OK);
    assert_int_equal(cra_docstore_fetch(store, "c", NULL, 0, &out, NULL), CRA_OK);
    assert_int_equal(cra_docstore_delete_batch(store, &scope, NULL, 0, no_match, 0, &number, NULL), CRA_OK);
    assert_int_equal(f.spy.calls, 0);
    cra_docstore_free(store);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(missing_slots_are_named),
        CASE(other_versions_of_the_struct),
        CASE(writes_do_not_reach_a_read_only_backend),
        CASE(what_is_not_offered_is_unsupported),
        CASE(wrong_arguments_do_not_reach_the_backend),
    };

    return cmocka_run_group_tests_name("docstore_port", tests, NULL, NULL);
}
