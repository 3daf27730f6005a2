/* SPDX-License-Identifier: Apache-2.0 */

/* The faults that other tests rely on: each does to a store what its mode says, once, at its call. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/memory/memory.h"
#include "kit/fault_catalog.h"
#include "kit/fault_docstore.h"
#include "kit/test_allocator.h"
#include "ports/context.h"

typedef struct fixture {
    cra_test_allocator kit;
    cra_context *context;
    cra_fault fault;
    cra_catalog *catalog;
    cra_docstore *store;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    const cra_catalog_vtable *catalog = NULL;
    const cra_docstore_vtable *store = NULL;
    void *self = NULL;

    cra_test_allocator_init(&f->kit);
    options.allocator = &f->kit.allocator;
    assert_int_equal(cra_context_new_bare(&options, &f->context, NULL), CRA_OK);
    const cra_open_args args = {sizeof args, f->context, "memory:", 0, NULL, 0};
    assert_int_equal(cra_memory_catalog_open(&args, &catalog, &self, NULL), CRA_OK);
    assert_int_equal(cra_fault_catalog(catalog, self, &f->fault, &catalog, &self), CRA_OK);
    assert_int_equal(cra_catalog_wrap(f->context, catalog, self, false, &f->catalog, NULL), CRA_OK);
    assert_int_equal(cra_memory_docstore_open(&args, &store, &self, NULL), CRA_OK);
    assert_int_equal(cra_fault_docstore(store, self, &f->fault, &store, &self), CRA_OK);
    assert_int_equal(cra_docstore_wrap(f->context, store, self, false, &f->store, NULL), CRA_OK);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;

    cra_catalog_free(f->catalog);
    cra_docstore_free(f->store);
    cra_context_free(f->context);
    cra_test_allocator_check(&f->kit);
    free(f);
    return 0;
}

/* Order a fault for the next call. */
static void order(fixture *f, cra_fault_mode mode)
{
    f->fault.mode = mode;
    f->fault.status = CRA_UNAVAILABLE;
    f->fault.at = atomic_load(&f->fault.calls) + 1;
}

static cra_status insert(fixture *f, const char *run, cra_error *err)
{
    cra_run_doc doc;

    cra_run_doc_init(&doc);
    doc.report = (char *)(uintptr_t) "r";
    doc.run = (char *)(uintptr_t)run;
    doc.collection = (char *)(uintptr_t) "c";
    return cra_catalog_run_insert(f->catalog, &doc, err);
}

static cra_status count_run(void *user, const cra_run_doc *run)
{
    (void)run;
    (*(int *)user)++;
    return CRA_OK;
}

static int list(fixture *f, cra_status wanted)
{
    const cra_run_query query = CRA_RUN_QUERY_INIT;
    int count = 0;

    assert_int_equal(cra_catalog_run_list(f->catalog, &query, count_run, &count, NULL), wanted);
    return count;
}

static void catalogs_fail_as_told(void **state)
{
    fixture *f = *state;
    cra_error err = {0};

    order(f, CRA_FAULT_BEFORE);
    assert_int_equal(insert(f, "1", &err), CRA_UNAVAILABLE);
    assert_string_equal(err.message, "fault at call 1: catalog.run_insert");
    assert_int_equal(list(f, CRA_OK), 0);
    order(f, CRA_FAULT_AFTER);
    assert_int_equal(insert(f, "1", &err), CRA_UNAVAILABLE);
    assert_int_equal(list(f, CRA_OK), 1);
    order(f, CRA_FAULT_TWICE);
    assert_int_equal(insert(f, "2", &err), CRA_EXISTS);
    assert_int_equal(list(f, CRA_OK), 2);
    order(f, CRA_FAULT_SHORT);
    assert_int_equal(list(f, CRA_UNAVAILABLE), 1);
    assert_int_equal(atomic_load(&f->fault.hits), 4);
    /* Only what is named counts. */
    f->fault.only = "docstore.";
    order(f, CRA_FAULT_BEFORE);
    assert_int_equal(insert(f, "3", &err), CRA_OK);
}

static void fill(fixture *f, uint8_t documents[4][21], cra_bytes views[4])
{
    for (int i = 0; i < 4; i++) {
        const uint8_t bytes[21] = {21, 0, 0, 0, 16, '_', 'i', 'd', 0, (uint8_t)(i + 1), 0, 0, 0, 16, 'r', 0, 7};
        memcpy(documents[i], bytes, sizeof bytes);
        views[i] = (cra_bytes){documents[i], sizeof bytes};
    }
    (void)f;
}

static void docstores_fail_as_told(void **state)
{
    static const uint8_t seven[4] = {7, 0, 0, 0};
    const cra_scope scope = {"c", "r", {CRA_BSON_INT32, seven, 4}};
    fixture *f = *state;
    uint8_t documents[4][21];
    cra_bytes views[4];
    cra_value ids[4];
    cra_write_result results[4];
    int64_t number = 0;
    size_t count = 0;
    cra_buf out;

    cra_buf_init(&out, &f->kit.allocator);
    fill(f, documents, views);
    for (int i = 0; i < 4; i++)
        ids[i] = (cra_value){CRA_BSON_INT32, documents[i] + 9, 4};
    order(f, CRA_FAULT_BEFORE);
    assert_int_equal(cra_docstore_write_batch(f->store, "c", views, 4, 0, results, NULL), CRA_UNAVAILABLE);
    assert_int_equal(results[3].outcome, CRA_WRITE_UNSENT);
    order(f, CRA_FAULT_SHORT);
    assert_int_equal(cra_docstore_write_batch(f->store, "c", views, 4, 0, results, NULL), CRA_UNAVAILABLE);
    assert_int_equal(results[1].outcome, CRA_WRITE_NEW);
    assert_int_equal(results[2].outcome, CRA_WRITE_UNSENT);
    order(f, CRA_FAULT_AFTER);
    assert_int_equal(cra_docstore_write_batch(f->store, "c", views, 4, 0, results, NULL), CRA_UNAVAILABLE);
    for (int i = 0; i < 4; i++)
        assert_int_equal(results[i].outcome, CRA_WRITE_UNKNOWN);
    assert_int_equal(cra_docstore_count(f->store, &scope, &number, NULL), CRA_OK);
    assert_int_equal(number, 4);

    const cra_page_request request = {sizeof request, {0, NULL, 0}, false, 4, 1000};
    order(f, CRA_FAULT_SHORT);
    assert_int_equal(cra_docstore_page(f->store, &scope, &request, &out, &count, NULL), CRA_OK);
    assert_int_equal(count, 2);
    cra_buf_cleanup(&out);
    order(f, CRA_FAULT_AFTER);
    assert_int_equal(cra_docstore_fetch(f->store, "c", ids, 4, &out, NULL), CRA_UNAVAILABLE);
    assert_int_equal(out.size, 0);
    order(f, CRA_FAULT_TWICE);
    assert_int_equal(cra_docstore_fetch(f->store, "c", ids, 4, &out, NULL), CRA_OK);
    assert_int_equal(out.size, 4 * 21);

    order(f, CRA_FAULT_SHORT);
    assert_int_equal(cra_docstore_delete_batch(f->store, &scope, ids, 4, (cra_bytes){NULL, 0}, 0, &number, NULL),
                     CRA_UNAVAILABLE);
    assert_int_equal(cra_docstore_count(f->store, &scope, &number, NULL), CRA_OK);
    assert_int_equal(number, 2);
    order(f, CRA_FAULT_TWICE); /* the second time nothing is there any more */
    assert_int_equal(cra_docstore_delete_batch(f->store, &scope, ids, 4, (cra_bytes){NULL, 0}, 0, &number, NULL),
                     CRA_OK);
    assert_int_equal(number, 0);
    cra_buf_cleanup(&out);
}

/* Run a child that is told to be killed at its first write. */
static void kill_at(fixture *f, cra_fault_mode mode)
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0) {
        order(f, mode);
        (void)insert(f, "1", NULL);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void processes_are_killed(void **state)
{
    kill_at(*state, CRA_FAULT_KILL_BEFORE);
    kill_at(*state, CRA_FAULT_KILL_AFTER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(catalogs_fail_as_told, setup, teardown),
        cmocka_unit_test_setup_teardown(docstores_fail_as_told, setup, teardown),
        cmocka_unit_test_setup_teardown(processes_are_killed, setup, teardown),
    };

    return cmocka_run_group_tests_name("memory_faults", tests, NULL, NULL);
}
