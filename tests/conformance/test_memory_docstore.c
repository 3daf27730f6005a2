/* SPDX-License-Identifier: Apache-2.0 */

/* The docstore suite on memory:, with all features and with them switched off. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/memory/memory.h"
#include "conformance/suite_docstore.h"
#include "kit/test_allocator.h"
#include "ports/context.h"

typedef struct fixture {
    cra_test_allocator kit;
    cra_context *context;
    cra_docstore_vtable vtable; /* of the last store that was spoiled on purpose */
    void (*spoil)(cra_docstore_vtable *vtable);
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

static const cra_docstore_vtable *whole;

static cra_status open_in(cra_context *context, fixture *f, cra_docstore **out, cra_error *err)
{
    const cra_open_args args = {sizeof args, context, "memory:", CRA_OPEN_CREATE, NULL, 0};
    const cra_docstore_vtable *vtable = NULL;
    void *self = NULL;
    cra_status status = cra_memory_docstore_open(&args, &vtable, &self, err);

    if (status != CRA_OK)
        return status;
    whole = vtable;
    if (f != NULL && f->spoil != NULL) {
        f->vtable = *vtable;
        f->spoil(&f->vtable);
        vtable = &f->vtable;
    }
    status = cra_docstore_wrap(context, vtable, self, false, out, err);
    if (status != CRA_OK)
        vtable->close(self);
    return status;
}

static cra_status open_empty(void *user, cra_docstore **out, cra_error *err)
{
    fixture *f = user;

    return open_in(f->context, f, out, err);
}

static void passes_the_suite(void **state)
{
    fixture *f = *state;
    const cra_docstore_fixture suite = {f, f->context, open_empty, NULL};
    cra_conformance t = {.report = cra_conformance_print};

    assert_int_equal(cra_conformance_docstore(&t, &suite), 0);
    assert_true(t.checks > 500);
    assert_int_equal(t.skipped, 1); /* what outlives the handle */
}

static void switch_off(cra_docstore_vtable *vtable)
{
    vtable->features = 0;
    vtable->find = NULL;
    vtable->replace_if = NULL;
}

static void passes_the_suite_without_features(void **state)
{
    fixture *f = *state;
    const cra_docstore_fixture suite = {f, f->context, open_empty, NULL};
    cra_conformance t = {.report = cra_conformance_print};

    f->spoil = switch_off;
    assert_int_equal(cra_conformance_docstore(&t, &suite), 0);
    assert_int_equal(t.skipped, 3);
}

/* The suite itself must notice: a store that deletes whatever the run, and one whose pages repeat. */
static cra_status delete_any(void *self, const cra_scope *scope, const cra_value *ids, size_t count, cra_bytes match,
                             int64_t deadline_ms, int64_t *removed, cra_error *err)
{
    static const uint8_t one[4] = {1, 0, 0, 0};
    static const uint8_t two[4] = {2, 0, 0, 0};
    cra_scope other = *scope;

    (void)deadline_ms;
    (void)match;
    for (int run = 1; run <= 2; run++) {
        int64_t removed_now = 0;
        other.run_value = (cra_value){CRA_BSON_INT32, run == 1 ? one : two, 4};
        const cra_status status =
            whole->delete_batch(self, &other, ids, count, (cra_bytes){NULL, 0}, 0, &removed_now, err);
        if (status != CRA_OK)
            return status;
        *removed += removed_now;
    }
    return CRA_OK;
}

static cra_status page_anew(void *self, const cra_scope *scope, const cra_page_request *request, cra_buf *out,
                            size_t *count, cra_error *err)
{
    cra_page_request again = *request;

    /* As a query is that compares ids of the type of the bound only. */
    if (again.after_id.type != CRA_BSON_INT32)
        again.after_id = (cra_value){0, NULL, 0};
    return whole->page(self, scope, &again, out, count, err);
}

static void spoil_delete(cra_docstore_vtable *vtable)
{
    vtable->delete_batch = delete_any;
}

static void spoil_page(cra_docstore_vtable *vtable)
{
    vtable->page = page_anew;
}

static void the_suite_notices(void **state)
{
    fixture *f = *state;
    const cra_docstore_fixture suite = {f, f->context, open_empty, NULL};
    cra_conformance t = {.report = NULL};

    f->spoil = spoil_delete;
    t.only = "a_delete_keeps_to_its_run";
    assert_true(cra_conformance_docstore(&t, &suite) >= 1);
    t.only = "a_delete_compares_what_it_is_given";
    assert_true(cra_conformance_docstore(&t, &suite) >= 1);
    t.only = "nothing_is_done_after_the_deadline";
    assert_true(cra_conformance_docstore(&t, &suite) >= 1);
    f->spoil = spoil_page;
    t.only = "pages_go_over_mixed_ids";
    assert_true(cra_conformance_docstore(&t, &suite) >= 1);
}

static cra_status torment(cra_docstore *store, cra_buf *scratch)
{
    static const uint8_t document[] = {25, 0,   0, 0, 16, '_', 'i', 'd', 0,   1, 0, 0, 0,
                                       16, 'r', 0, 7, 0,  0,   0,   8,   'a', 0, 1, 0};
    static const uint8_t spec[] = {31, 0, 0, 0, 3, 'k', 'e', 'y', 0,   12,  0,   0,   0, 16, 'a', 0,
                                   1,  0, 0, 0, 0, 8,   'u', 'n', 'i', 'q', 'u', 'e', 0, 1,  0};
    static const uint8_t empty[] = {5, 0, 0, 0, 0};
    const cra_bytes view = {document, sizeof document};
    const cra_value id = {CRA_BSON_INT32, document + 9, 4};
    const cra_value run = {CRA_BSON_INT32, document + 16, 4};
    const cra_value yes = {CRA_BSON_BOOL, document + 23, 1};
    const cra_scope scope = {"c", "r", run};
    const cra_page_request request = {sizeof request, {0, NULL, 0}, true, 10, 1000};
    cra_write_result result;
    cra_index_outcome outcome;
    size_t count;
    int64_t number;
    cra_status status = cra_docstore_collection_create(store, "d", (cra_bytes){empty, sizeof empty}, NULL);

    if (status == CRA_OK)
        status = cra_docstore_collection_get(store, "d", scratch, NULL);
    if (status == CRA_OK)
        status = cra_docstore_index_ensure(store, "c", (cra_bytes){spec, sizeof spec}, &outcome, NULL);
    if (status == CRA_OK)
        status = cra_docstore_index_list(store, "c", scratch, &count, NULL);
    if (status == CRA_OK)
        status = cra_docstore_write_batch(store, "c", &view, 1, 0, &result, NULL);
    if (status == CRA_OK && result.outcome != CRA_WRITE_NEW)
        status = CRA_INTERNAL;
    if (status == CRA_OK)
        status = cra_docstore_replace_if(store, "c", id, view, view, NULL);
    if (status == CRA_OK)
        status = cra_docstore_page(store, &scope, &request, scratch, &count, NULL);
    if (status == CRA_OK)
        status = cra_docstore_fetch(store, "c", &id, 1, scratch, NULL);
    if (status == CRA_OK)
        status = cra_docstore_find(store, "c", "a", yes, id, 5, scratch, &count, NULL);
    if (status == CRA_OK)
        status = cra_docstore_delete_batch(store, &scope, &id, 1, view, 0, &number, NULL);
    return status == CRA_OK && number != 1 ? CRA_INTERNAL : status;
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;
    cra_docstore *store = NULL;
    cra_buf scratch;

    (void)user;
    cra_buf_init(&scratch, allocator);
    options.allocator = allocator;
    cra_status status = cra_context_new_bare(&options, &context, NULL);
    if (status == CRA_OK)
        status = open_in(context, NULL, &store, NULL);
    if (status == CRA_OK)
        status = torment(store, &scratch);
    cra_docstore_free(store);
    cra_context_free(context);
    cra_buf_cleanup(&scratch);
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
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("memory_docstore", tests, NULL, NULL);
}
