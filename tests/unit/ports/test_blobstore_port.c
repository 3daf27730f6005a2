/* SPDX-License-Identifier: Apache-2.0 */

/* The guard in front of a backend: what it refuses must never reach the backend. */

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "kit/test_allocator.h"
#include "ports/blobstore.h"
#include "ports/context.h"

/* A backend that counts its calls and answers with `status`. */
typedef struct spy {
    int calls;
    int closed;
    int aborted;
    cra_status status;
    size_t give; /* bytes that read appends */
} spy;

static cra_status answer(spy *s, cra_error *err)
{
    s->calls++;
    return s->status == CRA_OK ? CRA_OK : cra_error_set(err, s->status, "spy", "as told");
}

static void spy_close(void *self)
{
    ((spy *)self)->closed++;
}

static cra_status spy_list(void *self, const char *prefix, cra_blob_visit_fn visit, void *user, cra_error *err)
{
    (void)prefix;
    (void)visit;
    (void)user;
    return answer(self, err);
}

static cra_status spy_stat(void *self, const char *name, cra_blob_info *out, cra_error *err)
{
    (void)name;
    assert_int_equal(out->struct_size, sizeof *out);
    out->size_bytes = 42;
    strcpy(out->etag, "tag");
    return answer(self, err);
}

static cra_status spy_read(void *self, const char *name, int64_t offset, int64_t length, const char *etag, cra_buf *out,
                           cra_error *err)
{
    spy *s = self;

    (void)name;
    (void)offset;
    (void)length;
    (void)etag;
    for (size_t i = 0; i < s->give; i++)
        assert_int_equal(cra_buf_append(out, "x", 1), CRA_OK);
    return answer(s, err);
}

static cra_status spy_put_open(void *self, const char *name, unsigned flags, const char *tag, void **writer,
                               cra_error *err)
{
    (void)name;
    (void)flags;
    (void)tag;
    *writer = self;
    return answer(self, err);
}

static cra_status spy_put_write(void *self, void *writer, cra_bytes bytes, cra_error *err)
{
    assert_ptr_equal(self, writer);
    assert_true(bytes.size > 0);
    return answer(self, err);
}

static cra_status spy_put_commit(void *self, void *writer, cra_blob_info *out, cra_error *err)
{
    assert_ptr_equal(self, writer);
    out->size_bytes = 7;
    return answer(self, err);
}

static void spy_put_abort(void *self, void *writer)
{
    assert_ptr_equal(self, writer);
    ((spy *)self)->aborted++;
}

static cra_status spy_named(void *self, const char *name, cra_error *err)
{
    (void)name;
    return answer(self, err);
}

static const cra_blobstore_vtable full = {
    .struct_size = sizeof(cra_blobstore_vtable),
    .features = CRA_BLOBSTORE_IF_ABSENT | CRA_BLOBSTORE_UPLOADS | CRA_BLOBSTORE_THAW,
    .close = spy_close,
    .list = spy_list,
    .stat = spy_stat,
    .read = spy_read,
    .put_open = spy_put_open,
    .put_write = spy_put_write,
    .put_commit = spy_put_commit,
    .put_abort = spy_put_abort,
    .remove = spy_named,
    .upload_list = spy_list,
    .upload_abort = spy_named,
    .thaw = spy_named,
};

static cra_test_allocator kit;
static cra_context *context;
static spy the_spy;

static int setup(void **state)
{
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;

    (void)state;
    cra_test_allocator_init(&kit);
    memset(&the_spy, 0, sizeof the_spy);
    options.allocator = &kit.allocator;
    return cra_context_new_bare(&options, &context, NULL) == CRA_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    cra_context_free(context);
    cra_test_allocator_check(&kit);
    return 0;
}

static cra_blobstore *wrap(const cra_blobstore_vtable *vtable, bool read_only)
{
    cra_blobstore *store = NULL;

    assert_int_equal(cra_blobstore_wrap(context, vtable, &the_spy, read_only, &store, NULL), CRA_OK);
    return store;
}

static const cra_bytes some = {(const uint8_t *)"some", 4};

static void refuses_missing_slots(void **state)
{
    /* Every required slot in turn. */
    for (int i = 0; i < 9; i++) {
        cra_blobstore_vtable v = full;
        cra_blobstore *store = NULL;
        cra_error err = {0};
        const char *name = NULL;
        switch (i) {
        case 0:
            v.close = NULL;
            name = "'close'";
            break;
        case 1:
            v.list = NULL;
            name = "'list'";
            break;
        case 2:
            v.stat = NULL;
            name = "'stat'";
            break;
        case 3:
            v.read = NULL;
            name = "'read'";
            break;
        case 4:
            v.put_open = NULL;
            name = "'put_open'";
            break;
        case 5:
            v.put_write = NULL;
            name = "'put_write'";
            break;
        case 6:
            v.put_commit = NULL;
            name = "'put_commit'";
            break;
        case 7:
            v.put_abort = NULL;
            name = "'put_abort'";
            break;
        default:
            v.remove = NULL;
            name = "'remove'";
            break;
        }
        assert_int_equal(cra_blobstore_wrap(context, &v, &the_spy, false, &store, &err), CRA_INVALID);
        assert_null(store);
        assert_non_null(strstr(err.message, name));
    }
    (void)state;
}

static void refuses_bits_without_slots(void **state)
{
    cra_blobstore *store = NULL;
    cra_blobstore_vtable v = full;

    (void)state;
    v.upload_abort = NULL;
    assert_int_equal(cra_blobstore_wrap(context, &v, &the_spy, false, &store, NULL), CRA_INVALID);
    v = full;
    v.upload_list = NULL;
    assert_int_equal(cra_blobstore_wrap(context, &v, &the_spy, false, &store, NULL), CRA_INVALID);
    v = full;
    v.thaw = NULL;
    assert_int_equal(cra_blobstore_wrap(context, &v, &the_spy, false, &store, NULL), CRA_INVALID);
    v = full;
    v.features |= 1u << 20;
    assert_int_equal(cra_blobstore_wrap(context, &v, &the_spy, false, &store, NULL), CRA_INVALID);
    v = full;
    v.struct_size = 3;
    assert_int_equal(cra_blobstore_wrap(context, &v, &the_spy, false, &store, NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_wrap(context, NULL, &the_spy, false, &store, NULL), CRA_INVALID);
    assert_null(store);
    assert_int_equal(the_spy.closed, 0); /* it stays the caller's */
}

static void a_shorter_vtable_lacks_the_rest(void **state)
{
    cra_blobstore_vtable v = full;
    cra_error err = {0};

    (void)state;
    v.struct_size = offsetof(cra_blobstore_vtable, upload_list);
    v.features = 0;
    cra_blobstore *store = wrap(&v, false);
    assert_int_equal(cra_blobstore_upload_list(store, "", NULL, NULL, &err), CRA_UNSUPPORTED);
    assert_int_equal(cra_blobstore_upload_abort(store, "t", &err), CRA_UNSUPPORTED);
    assert_int_equal(cra_blobstore_thaw(store, "o", &err), CRA_UNSUPPORTED);
    assert_int_equal(cra_blobstore_put(store, "o", some, CRA_PUT_IF_ABSENT, NULL, &err), CRA_UNSUPPORTED);
    assert_int_equal(the_spy.calls, 0);
    assert_int_equal(cra_blobstore_features(store), 0);
    cra_blobstore_free(store);
    assert_int_equal(the_spy.closed, 1);
}

static void what_is_refused_never_reaches_the_backend(void **state)
{
    cra_blobstore *store = wrap(&full, false);
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    cra_blob_writer *writer = NULL;
    cra_buf out;

    (void)state;
    cra_buf_init(&out, &kit.allocator);
    assert_int_equal(cra_blobstore_stat(store, NULL, &info, NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_stat(store, "../x", &info, NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_list(store, "/x", NULL, NULL, NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_list(store, "a/../", NULL, NULL, NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_list(store, NULL, NULL, NULL, NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_read(store, "a", INT64_MAX, 1, NULL, &out, NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_put_open(store, "a", 8, NULL, &writer, NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_put_open(store, "a", 0, "a b", &writer, NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_put_open(store, "a", 0, "", &writer, NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_upload_abort(store, "", NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_upload_abort(store, NULL, NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_upload_list(store, "a//", NULL, NULL, NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_thaw(store, "a/", NULL), CRA_INVALID);
    info.struct_size = 0;
    assert_int_equal(cra_blobstore_stat(store, "a", &info, NULL), CRA_INVALID);
    info.struct_size = sizeof info + 1;
    assert_int_equal(cra_blobstore_stat(store, "a", &info, NULL), CRA_INVALID);
    assert_int_equal(the_spy.calls, 0);
    assert_null(writer);

    cra_blobstore *reader = NULL;
    assert_int_equal(cra_blobstore_read_only(store, &reader, NULL), CRA_OK);
    assert_int_equal(cra_blobstore_put(reader, "a", some, 0, NULL, NULL), CRA_DENIED);
    assert_int_equal(cra_blobstore_remove(reader, "a", NULL), CRA_DENIED);
    assert_int_equal(cra_blobstore_upload_abort(reader, "a", NULL), CRA_DENIED);
    assert_int_equal(cra_blobstore_thaw(reader, "a", NULL), CRA_DENIED);
    assert_int_equal(the_spy.calls, 0);
    assert_int_equal(cra_blobstore_list(reader, "", NULL, NULL, NULL), CRA_OK);
    assert_int_equal(the_spy.calls, 1);
    cra_blobstore_free(reader);
    assert_int_equal(the_spy.closed, 0);
    cra_blobstore_free(store);
    assert_int_equal(the_spy.closed, 1);
    cra_blobstore_free(NULL);
    cra_buf_cleanup(&out);
}

static void an_older_caller_gets_what_it_has_room_for(void **state)
{
    cra_blobstore *store = wrap(&full, false);
    cra_blob_info info = CRA_BLOB_INFO_INIT;

    (void)state;
    info.struct_size = offsetof(cra_blob_info, etag);
    strcpy(info.etag, "beyond");
    assert_int_equal(cra_blobstore_stat(store, "a", &info, NULL), CRA_OK);
    assert_int_equal(info.size_bytes, 42);
    assert_string_equal(info.etag, "beyond");
    assert_int_equal(info.struct_size, offsetof(cra_blob_info, etag));
    cra_blobstore_free(store);
}

static void a_failed_read_leaves_nothing(void **state)
{
    cra_blobstore *store = wrap(&full, false);
    cra_error err = {0};
    cra_buf out;

    (void)state;
    cra_buf_init(&out, &kit.allocator);
    assert_int_equal(cra_buf_append(&out, "ab", 2), CRA_OK);
    the_spy.give = 3;
    the_spy.status = CRA_IO;
    assert_int_equal(cra_blobstore_read(store, "a", 0, 10, NULL, &out, &err), CRA_IO);
    assert_int_equal(out.size, 2);
    the_spy.status = CRA_OK;
    assert_int_equal(cra_blobstore_read(store, "a", 0, 2, NULL, &out, &err), CRA_INTERNAL);
    assert_int_equal(out.size, 2);
    assert_int_equal(cra_blobstore_read(store, "a", 0, 3, NULL, &out, &err), CRA_OK);
    assert_int_equal(out.size, 5);
    cra_buf_cleanup(&out);
    cra_blobstore_free(store);
}

static void a_failed_write_allows_only_abort(void **state)
{
    cra_blobstore *store = wrap(&full, false);
    cra_blob_writer *writer = NULL;
    const cra_bytes nothing = {NULL, 0};

    (void)state;
    assert_int_equal(cra_blobstore_put_open(store, "a", 0, "tag-1", &writer, NULL), CRA_OK);
    assert_int_equal(cra_blob_writer_write(writer, nothing, NULL), CRA_OK); /* the spy would object */
    the_spy.status = CRA_IO;
    assert_int_equal(cra_blob_writer_write(writer, some, NULL), CRA_IO);
    the_spy.status = CRA_OK;
    const int calls = the_spy.calls;
    assert_int_equal(cra_blob_writer_write(writer, some, NULL), CRA_INVALID);
    assert_int_equal(cra_blob_writer_commit(writer, NULL, NULL), CRA_INVALID);
    assert_int_equal(the_spy.calls, calls);
    assert_int_equal(the_spy.aborted, 1);

    /* A whole put cleans up after itself. */
    the_spy.status = CRA_IO;
    assert_int_equal(cra_blobstore_put(store, "a", some, 0, NULL, NULL), CRA_IO);
    assert_int_equal(the_spy.aborted, 1); /* put_open failed: no writer */
    the_spy.status = CRA_OK;
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    assert_int_equal(cra_blobstore_put(store, "a", some, 0, &info, NULL), CRA_OK);
    assert_int_equal(info.size_bytes, 7);
    info.struct_size = 0;
    assert_int_equal(cra_blobstore_put(store, "a", some, 0, &info, NULL), CRA_INVALID);
    assert_int_equal(the_spy.aborted, 2); /* before anything was committed */
    cra_blobstore_free(store);
}

static void knows_names(void **state)
{
    (void)state;
    assert_true(cra_blob_name_valid("a"));
    assert_true(cra_blob_name_valid("a/b.c/..."));
    assert_false(cra_blob_name_valid("a/.."));
    assert_false(cra_blob_name_valid("\xff"));
    assert_true(cra_blob_prefix_valid(""));
    assert_true(cra_blob_prefix_valid("a/"));
    assert_true(cra_blob_prefix_valid("a/.."));
    assert_false(cra_blob_prefix_valid("a/../"));
    assert_false(cra_blob_prefix_valid("/"));
    assert_true(cra_blob_tag_valid("7-3.a_B"));
    assert_false(cra_blob_tag_valid("a/b"));
    assert_false(cra_blob_tag_valid("12345678901234567890123456789012345678901234567890123456789012345"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(refuses_missing_slots, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_bits_without_slots, setup, teardown),
        cmocka_unit_test_setup_teardown(a_shorter_vtable_lacks_the_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_refused_never_reaches_the_backend, setup, teardown),
        cmocka_unit_test_setup_teardown(an_older_caller_gets_what_it_has_room_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_read_leaves_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_write_allows_only_abort, setup, teardown),
        cmocka_unit_test(knows_names),
    };

    return cmocka_run_group_tests_name("blobstore_port", tests, NULL, NULL);
}
