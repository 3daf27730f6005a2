/* SPDX-License-Identifier: Apache-2.0 */

/* The blobstore suite on memory:, with all features and with them switched off. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/memory/memory.h"
#include "conformance/suite_blobstore.h"
#include "kit/test_allocator.h"
#include "ports/context.h"

typedef struct fixture {
    cra_test_allocator kit;
    cra_context *context;
    cra_blobstore_vtable vtable; /* the last one opened, features switched off */
    bool bare;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;

    cra_test_allocator_init(&f->kit);
    options.allocator = &f->kit.allocator;
    assert_int_equal(cra_context_new_bare(&options, &f->context, NULL), CRA_OK);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;

    cra_context_free(f->context);
    cra_test_allocator_check(&f->kit);
    free(f);
    return 0;
}

static cra_status open_in(cra_context *context, cra_blobstore **out, cra_blobstore_vtable *bare, cra_error *err)
{
    const cra_open_args args = {sizeof args, context, "memory:", CRA_OPEN_CREATE, NULL, 0};
    const cra_blobstore_vtable *vtable = NULL;
    void *self = NULL;
    cra_status status = cra_memory_blobstore_open(&args, &vtable, &self, err);

    if (status != CRA_OK)
        return status;
    if (bare != NULL) {
        *bare = *vtable;
        bare->features = 0;
        bare->upload_list = NULL;
        bare->upload_abort = NULL;
        vtable = bare;
    }
    status = cra_blobstore_wrap(context, vtable, self, false, out, err);
    if (status != CRA_OK)
        vtable->close(self);
    return status;
}

static cra_status open_empty(void *user, cra_blobstore **out, cra_error *err)
{
    fixture *f = user;

    return open_in(f->context, out, f->bare ? &f->vtable : NULL, err);
}

static void passes_the_suite(void **state)
{
    const cra_blobstore_fixture suite = {*state, open_empty, NULL};
    cra_conformance t = {.report = cra_conformance_print};

    assert_int_equal(cra_conformance_blobstore(&t, &suite), 0);
    assert_true(t.checks > 200);
    assert_int_equal(t.skipped, 2); /* thaw, and what outlives the handle */
}

static void passes_the_suite_without_features(void **state)
{
    fixture *f = *state;
    const cra_blobstore_fixture suite = {f, open_empty, NULL};
    cra_conformance t = {.report = NULL};

    f->bare = true;
    assert_int_equal(cra_conformance_blobstore(&t, &suite), 0);
    assert_int_equal(t.skipped, 5);
}

/* The suite itself must notice: a store that loses the last byte of each write. */
static const cra_blobstore_vtable *whole;

static cra_status lossy_write(void *self, void *writer, cra_bytes bytes, cra_error *err)
{
    bytes.size--;
    return whole->put_write(self, writer, bytes, err);
}

static cra_status open_lossy(void *user, cra_blobstore **out, cra_error *err)
{
    fixture *f = user;
    const cra_open_args args = {sizeof args, f->context, "memory:", 0, NULL, 0};
    void *self = NULL;
    const cra_status status = cra_memory_blobstore_open(&args, &whole, &self, err);

    if (status != CRA_OK)
        return status;
    f->vtable = *whole;
    f->vtable.put_write = lossy_write;
    return cra_blobstore_wrap(f->context, &f->vtable, self, false, out, err);
}

static void the_suite_notices(void **state)
{
    const cra_blobstore_fixture suite = {*state, open_lossy, NULL};
    cra_conformance t = {.report = NULL};

    assert_true(cra_conformance_blobstore(&t, &suite) > 10);
}

static void frees_what_nobody_ended(void **state)
{
    fixture *f = *state;
    const cra_open_args args = {sizeof args, f->context, "memory:", 0, NULL, 0};
    const cra_blobstore_vtable *vtable = NULL;
    void *self = NULL;
    void *writer = NULL;

    assert_int_equal(cra_memory_blobstore_open(&args, &vtable, &self, NULL), CRA_OK);
    assert_int_equal(vtable->put_open(self, "o", 0, "t", &writer, NULL), CRA_OK);
    assert_int_equal(vtable->put_write(self, writer, (cra_bytes){(const uint8_t *)"x", 1}, NULL), CRA_OK);
    vtable->close(self); /* the writer goes with it: teardown counts */
}

static cra_status look(void *user, const char *name, const cra_blob_info *info)
{
    (void)info;
    strcpy(user, name);
    return CRA_OK;
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;
    cra_blobstore *store = NULL;
    cra_blob_writer *writer = NULL;
    char name[256] = "";
    cra_buf out;

    (void)user;
    cra_buf_init(&out, allocator);
    options.allocator = allocator;
    cra_status status = cra_context_new_bare(&options, &context, NULL);
    if (status == CRA_OK)
        status = open_in(context, &store, NULL, NULL);
    if (status == CRA_OK)
        status = cra_blobstore_put(store, "a/b", (cra_bytes){(const uint8_t *)"x", 1}, 0, NULL, NULL);
    if (status == CRA_OK)
        status = cra_blobstore_put(store, "a/a", (cra_bytes){(const uint8_t *)"x", 1}, 0, NULL, NULL);
    if (status == CRA_OK)
        status = cra_blobstore_list(store, "", look, name, NULL);
    if (status == CRA_OK)
        status = cra_blobstore_read(store, "a/b", 0, 10, NULL, &out, NULL);
    if (status == CRA_OK)
        status = cra_blobstore_put_open(store, "a/c", 0, "tag", &writer, NULL);
    if (status == CRA_OK)
        status = cra_blobstore_upload_list(store, "a/", look, name, NULL);
    cra_blob_writer_abort(writer);
    cra_blobstore_free(store);
    cra_context_free(context);
    cra_buf_cleanup(&out);
    return status;
}

static void survives_lack_of_memory(void **state)
{
    (void)state;
    cra_torture(attempt, NULL, CRA_OK, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(passes_the_suite, setup, teardown),
        cmocka_unit_test_setup_teardown(passes_the_suite_without_features, setup, teardown),
        cmocka_unit_test_setup_teardown(the_suite_notices, setup, teardown),
        cmocka_unit_test_setup_teardown(frees_what_nobody_ended, setup, teardown),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("memory_blobstore", tests, NULL, NULL);
}
