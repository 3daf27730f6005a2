/* SPDX-License-Identifier: Apache-2.0 */

/* The catalog suite on memory:. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/memory/memory.h"
#include "conformance/suite_catalog.h"
#include "kit/test_allocator.h"
#include "ports/context.h"

typedef struct fixture {
    cra_test_allocator kit;
    cra_context *context;
    cra_catalog_vtable vtable; /* of a store that is spoiled on purpose */
    atomic_llong now_ms;
} fixture;

static cra_time_ms wall_ms(void *user)
{
    fixture *f = user;

    return atomic_load(&f->now_ms);
}

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    const cra_clock clock = {wall_ms, NULL, NULL, f};
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;

    atomic_init(&f->now_ms, 1000000);
    cra_test_allocator_init(&f->kit);
    options.allocator = &f->kit.allocator;
    options.clock = &clock;
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

static cra_status open_in(cra_context *context, cra_catalog **out, cra_error *err)
{
    const cra_open_args args = {sizeof args, context, "memory:", CRA_OPEN_CREATE, NULL, 0};
    const cra_catalog_vtable *vtable = NULL;
    void *self = NULL;
    cra_status status = cra_memory_catalog_open(&args, &vtable, &self, err);

    if (status != CRA_OK)
        return status;
    status = cra_catalog_wrap(context, vtable, self, false, out, err);
    if (status != CRA_OK)
        vtable->close(self);
    return status;
}

static cra_status open_empty(void *user, cra_catalog **out, cra_error *err)
{
    fixture *f = user;

    return open_in(f->context, out, err);
}

static void advance(void *user, int64_t duration_ms)
{
    fixture *f = user;

    atomic_fetch_add(&f->now_ms, duration_ms);
}

static void passes_the_suite(void **state)
{
    fixture *f = *state;
    const cra_catalog_fixture suite = {f, &f->kit.allocator, open_empty, NULL, advance};
    cra_conformance t = {.report = cra_conformance_print};

    assert_int_equal(cra_conformance_catalog(&t, &suite), 0);
    assert_true(t.checks > 300);
    assert_int_equal(t.skipped, 1); /* what outlives the handle */
}

/* The suite itself must notice: a catalog that does not look at leases, and one that forgets the version. */
static const cra_catalog_vtable *whole;

static cra_status replace_without_lease(void *self, const cra_run_doc *next, int64_t expect_version,
                                        const cra_lease *lease, cra_error *err)
{
    (void)lease;
    return whole->run_replace(self, next, expect_version, NULL, err);
}

static cra_status acquire_without_grace(void *self, const char *report, const char *run, const char *owner,
                                        int64_t ttl_ms, int64_t grace_ms, cra_lease *out, cra_error *err)
{
    (void)grace_ms;
    return whole->lease_acquire(self, report, run, owner, ttl_ms, 0, out, err);
}

static cra_status open_spoiled(void *user, cra_catalog **out, cra_error *err)
{
    fixture *f = user;
    const cra_open_args args = {sizeof args, f->context, "memory:", 0, NULL, 0};
    void *self = NULL;
    const cra_status status = cra_memory_catalog_open(&args, &whole, &self, err);

    if (status != CRA_OK)
        return status;
    f->vtable = *whole;
    f->vtable.run_replace = replace_without_lease;
    f->vtable.lease_acquire = acquire_without_grace;
    return cra_catalog_wrap(f->context, &f->vtable, self, false, out, err);
}

static void the_suite_notices(void **state)
{
    fixture *f = *state;
    const cra_catalog_fixture suite = {f, &f->kit.allocator, open_spoiled, NULL, advance};
    cra_conformance t = {.report = NULL};

    t.only = "a_stalled_holder_writes_nothing";
    assert_true(cra_conformance_catalog(&t, &suite) >= 2);
    t.only = "an_expired_lease_waits_for_the_grace";
    assert_true(cra_conformance_catalog(&t, &suite) >= 1);
}

static cra_status see(void *user, const cra_run_doc *run)
{
    (void)user;
    return run->run != NULL ? CRA_OK : CRA_INTERNAL;
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_run_query query = CRA_RUN_QUERY_INIT;
    const cra_bytes bytes = {(const uint8_t *)"content", 7};
    cra_context *context = NULL;
    cra_catalog *catalog = NULL;
    cra_lease lease;
    cra_run_doc run;
    cra_run_doc got;
    int64_t version;
    cra_buf out;

    (void)user;
    cra_buf_init(&out, allocator);
    cra_run_doc_init(&run);
    cra_run_doc_init(&got);
    run.report = (char *)(uintptr_t) "r";
    run.run = (char *)(uintptr_t) "1";
    run.collection = (char *)(uintptr_t) "c";
    options.allocator = allocator;
    cra_status status = cra_context_new_bare(&options, &context, NULL);
    if (status == CRA_OK)
        status = open_in(context, &catalog, NULL);
    if (status == CRA_OK)
        status = cra_catalog_run_insert(catalog, &run, NULL);
    run.outcome = (char *)(uintptr_t) "success";
    if (status == CRA_OK)
        status = cra_catalog_run_replace(catalog, &run, 1, NULL, NULL);
    if (status == CRA_OK)
        status = cra_catalog_run_list(catalog, &query, see, NULL, NULL);
    if (status == CRA_OK)
        status = cra_catalog_run_get(catalog, "r", "1", &got, NULL);
    if (status == CRA_OK)
        status = cra_catalog_lease_acquire(catalog, "r", "1", "me", 1000, 0, &lease, NULL);
    if (status == CRA_OK)
        status = cra_catalog_checkpoint_put(catalog, "r", "1", "c", &lease, 0, bytes, NULL);
    if (status == CRA_OK)
        status = cra_catalog_checkpoint_get(catalog, "r", "1", "c", &out, &version, NULL);
    if (status == CRA_OK)
        status = cra_catalog_summary_put(catalog, "s", bytes, NULL);
    if (status == CRA_OK)
        status = cra_catalog_summary_get(catalog, "s", &out, NULL);
    cra_run_doc_cleanup(&got, allocator);
    cra_catalog_free(catalog);
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
        cmocka_unit_test_setup_teardown(the_suite_notices, setup, teardown),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("memory_catalog", tests, NULL, NULL);
}
