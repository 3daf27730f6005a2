/* SPDX-License-Identifier: Apache-2.0 */

/* The guard of the catalog port: which backends it takes, and what it lets through to them. */

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

static cra_status spy_now(void *self, cra_time_ms *out, cra_error *err)
{
    (void)err;
    *out = 5;
    return reached(self);
}

static cra_status spy_run_list(void *self, const cra_run_query *query, cra_run_visit_fn visit, void *user,
                               cra_error *err)
{
    cra_run_doc run;

    (void)err;
    (void)reached(self);
    if (query->run == NULL)
        return CRA_OK;
    cra_run_doc_init(&run);
    run.report = (char *)(uintptr_t)query->report;
    run.run = (char *)(uintptr_t)query->run;
    return strcmp(query->run, "none") != 0 ? visit(user, &run) : CRA_OK;
}

static cra_status spy_run_insert(void *self, const cra_run_doc *run, cra_error *err)
{
    (void)run;
    (void)err;
    return reached(self);
}

static cra_status spy_run_replace(void *self, const cra_run_doc *next, int64_t expect_version, const cra_lease *lease,
                                  cra_error *err)
{
    (void)next;
    (void)expect_version;
    (void)lease;
    (void)err;
    return reached(self);
}

static cra_status spy_run_remove(void *self, const char *report, const char *run, int64_t expect_version,
                                 cra_error *err)
{
    (void)report;
    (void)run;
    (void)expect_version;
    (void)err;
    return reached(self);
}

static cra_status spy_acquire(void *self, const char *report, const char *run, const char *owner, int64_t ttl_ms,
                              int64_t grace_ms, cra_lease *out, cra_error *err)
{
    (void)report;
    (void)run;
    (void)owner;
    (void)ttl_ms;
    (void)grace_ms;
    (void)err;
    assert_int_equal(out->fence, 0); /* cleared before */
    return reached(self);
}

static cra_status spy_renew(void *self, const char *report, const char *run, cra_lease *lease, int64_t ttl_ms,
                            cra_error *err)
{
    (void)report;
    (void)run;
    (void)lease;
    (void)ttl_ms;
    (void)err;
    return reached(self);
}

static cra_status spy_release(void *self, const char *report, const char *run, const cra_lease *lease, cra_error *err)
{
    (void)report;
    (void)run;
    (void)lease;
    (void)err;
    return reached(self);
}

static cra_status spy_checkpoint_get(void *self, const char *report, const char *run, const char *name, cra_buf *out,
                                     int64_t *version, cra_error *err)
{
    (void)report;
    (void)run;
    (void)name;
    (void)out;
    (void)err;
    *version = 1;
    return reached(self);
}

static cra_status spy_checkpoint_put(void *self, const char *report, const char *run, const char *name,
                                     const cra_lease *lease, int64_t expect_version, cra_bytes content, cra_error *err)
{
    (void)report;
    (void)run;
    (void)name;
    (void)lease;
    (void)expect_version;
    (void)content;
    (void)err;
    return reached(self);
}

static cra_status spy_checkpoint_remove(void *self, const char *report, const char *run, const char *name,
                                        const cra_lease *lease, cra_error *err)
{
    (void)report;
    (void)run;
    (void)name;
    (void)lease;
    (void)err;
    return reached(self);
}

static cra_status spy_summary_put(void *self, const char *name, cra_bytes content, cra_error *err)
{
    (void)name;
    (void)content;
    (void)err;
    return reached(self);
}

static cra_status spy_summary_get(void *self, const char *name, cra_buf *out, cra_error *err)
{
    (void)name;
    (void)out;
    (void)err;
    return reached(self);
}

static const cra_catalog_vtable full = {
    .struct_size = sizeof(cra_catalog_vtable),
    .features = CRA_CATALOG_SHARED,
    .close = spy_close,
    .now = spy_now,
    .run_list = spy_run_list,
    .run_insert = spy_run_insert,
    .run_replace = spy_run_replace,
    .run_remove = spy_run_remove,
    .lease_acquire = spy_acquire,
    .lease_renew = spy_renew,
    .lease_release = spy_release,
    .checkpoint_get = spy_checkpoint_get,
    .checkpoint_put = spy_checkpoint_put,
    .checkpoint_remove = spy_checkpoint_remove,
    .summary_put = spy_summary_put,
    .summary_get = spy_summary_get,
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
#define SLOT(name) {offsetof(cra_catalog_vtable, name), "'" #name "'"}
        SLOT(close),          SLOT(now),
        SLOT(run_list),       SLOT(run_insert),
        SLOT(run_replace),    SLOT(run_remove),
        SLOT(lease_acquire),  SLOT(lease_renew),
        SLOT(lease_release),  SLOT(checkpoint_get),
        SLOT(checkpoint_put), SLOT(checkpoint_remove),
        SLOT(summary_put),    SLOT(summary_get),
#undef SLOT
    };

    (void)state;
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        cra_catalog_vtable vtable = full;
        cra_catalog *catalog = (cra_catalog *)&f;
        cra_error err = {0};
        memset((char *)&vtable + slots[i].offset, 0, sizeof(void (*)(void)));
        assert_int_equal(cra_catalog_wrap(f.context, &vtable, &f.spy, false, &catalog, &err), CRA_INVALID);
        assert_null(catalog);
        assert_non_null(strstr(err.message, slots[i].name));
    }
    assert_int_equal(f.spy.closed, 0);
}

static void other_versions_of_the_struct(void **state)
{
    struct {
        cra_catalog_vtable known;
        void *unknown;
    } larger = {full, NULL};
    cra_catalog_vtable vtable = full;
    cra_catalog *catalog = NULL;
    cra_error err = {0};

    (void)state;
    larger.known.struct_size = sizeof larger;
    assert_int_equal(cra_catalog_wrap(f.context, &larger.known, &f.spy, false, &catalog, &err), CRA_OK);
    cra_catalog_free(catalog);
    larger.unknown = &f;
    assert_int_equal(cra_catalog_wrap(f.context, &larger.known, &f.spy, false, &catalog, &err), CRA_INVALID);
    vtable.struct_size = offsetof(cra_catalog_vtable, summary_get); /* too old: a required slot is not there */
    assert_int_equal(cra_catalog_wrap(f.context, &vtable, &f.spy, false, &catalog, &err), CRA_INVALID);
    vtable.struct_size = 0;
    assert_int_equal(cra_catalog_wrap(f.context, &vtable, &f.spy, false, &catalog, &err), CRA_INVALID);
    assert_int_equal(cra_catalog_wrap(f.context, NULL, &f.spy, false, &catalog, &err), CRA_INVALID);
    vtable = full;
    vtable.features |= 1u << 20;
    assert_int_equal(cra_catalog_wrap(f.context, &vtable, &f.spy, false, &catalog, &err), CRA_INVALID);
}

static void second_handles_close_nothing(void **state)
{
    cra_catalog *catalog = NULL;
    cra_catalog *reader = NULL;

    (void)state;
    assert_int_equal(cra_catalog_wrap(f.context, &full, &f.spy, false, &catalog, NULL), CRA_OK);
    assert_int_equal(cra_catalog_read_only(catalog, &reader, NULL), CRA_OK);
    cra_catalog_free(reader);
    assert_int_equal(f.spy.closed, 0);
    cra_catalog_free(catalog);
    assert_int_equal(f.spy.closed, 1);
    cra_catalog_free(NULL);
}

/* Every call that writes, with arguments that are right. @return how many came to `wanted` */
static int write_all(cra_catalog *catalog, cra_status wanted)
{
    const cra_bytes bytes = {(const uint8_t *)"x", 1};
    cra_lease lease = {"me", 1, 1};
    cra_run_doc run;
    int count = 0;

    cra_run_doc_init(&run);
    run.report = (char *)(uintptr_t) "r";
    run.run = (char *)(uintptr_t) "1";
    run.collection = (char *)(uintptr_t) "c";
    count += cra_catalog_run_insert(catalog, &run, NULL) == wanted;
    count += cra_catalog_run_replace(catalog, &run, 1, NULL, NULL) == wanted;
    count += cra_catalog_run_remove(catalog, "r", "1", 1, NULL) == wanted;
    count += cra_catalog_lease_renew(catalog, "r", "1", &lease, 1, NULL) == wanted;
    count += cra_catalog_lease_release(catalog, "r", "1", &lease, NULL) == wanted;
    count += cra_catalog_checkpoint_put(catalog, "r", "1", "c", &lease, 0, bytes, NULL) == wanted;
    count += cra_catalog_checkpoint_remove(catalog, "r", "1", "c", &lease, NULL) == wanted;
    count += cra_catalog_summary_put(catalog, "s", bytes, NULL) == wanted;
    count += cra_catalog_lease_acquire(catalog, "r", "1", "me", 1, 0, &lease, NULL) == wanted;
    return count;
}

static void writes_do_not_reach_a_read_only_backend(void **state)
{
    cra_catalog *catalog = NULL;

    (void)state;
    assert_int_equal(cra_catalog_wrap(f.context, &full, &f.spy, true, &catalog, NULL), CRA_OK);
    assert_int_equal(write_all(catalog, CRA_DENIED), 9);
    assert_int_equal(f.spy.calls, 0);
    cra_catalog_free(catalog);
    assert_int_equal(cra_catalog_wrap(f.context, &full, &f.spy, false, &catalog, NULL), CRA_OK);
    assert_int_equal(write_all(catalog, CRA_OK), 9);
    assert_int_equal(f.spy.calls, 9);
    cra_catalog_free(catalog);
}

static cra_status ignore(void *user, const cra_run_doc *run)
{
    (void)user;
    (void)run;
    return CRA_OK;
}

static void wrong_arguments_do_not_reach_the_backend(void **state)
{
    const cra_bytes bytes = {(const uint8_t *)"x", 1};
    cra_run_query query = CRA_RUN_QUERY_INIT;
    cra_catalog *catalog = NULL;
    cra_lease lease = {"me", 1, 1};
    cra_run_doc run;
    cra_buf out;
    int64_t version;

    (void)state;
    cra_buf_init(&out, NULL);
    cra_run_doc_init(&run);
    assert_int_equal(cra_catalog_wrap(f.context, &full, &f.spy, false, &catalog, NULL), CRA_OK);
    assert_int_equal(cra_catalog_run_insert(catalog, NULL, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_run_insert(catalog, &run, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_run_replace(catalog, &run, 1, NULL, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_run_get(catalog, "", "1", &run, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_run_get(catalog, "r", NULL, &run, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_run_remove(catalog, NULL, "1", 1, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_lease_acquire(catalog, "r", "1", NULL, 1, 0, &lease, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_lease_renew(catalog, "r", "1", NULL, 1, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_lease_renew(catalog, "r", "1", &lease, 0, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_lease_release(catalog, "r", "1", NULL, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_checkpoint_get(catalog, "r", "1", "", &out, &version, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_checkpoint_put(catalog, "r", "1", "c", NULL, 0, bytes, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_checkpoint_put(catalog, "r", "1", "c", &lease, -1, bytes, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_checkpoint_remove(catalog, "r", "1", NULL, &lease, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_summary_put(catalog, NULL, bytes, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_summary_get(catalog, "", &out, NULL), CRA_INVALID);
    assert_int_equal(cra_catalog_run_list(catalog, &query, NULL, NULL, NULL), CRA_INVALID);
    query.struct_size = 3;
    assert_int_equal(cra_catalog_run_list(catalog, &query, ignore, NULL, NULL), CRA_INVALID);
    assert_int_equal(f.spy.calls, 0);
    assert_int_equal(cra_catalog_run_list(catalog, NULL, ignore, NULL, NULL), CRA_OK); /* the defaults */
    assert_int_equal(f.spy.calls, 1);
    cra_catalog_free(catalog);
}

static void one_run_is_copied_out_of_a_list(void **state)
{
    cra_catalog *catalog = NULL;
    cra_run_doc run;
    cra_error err = {0};

    (void)state;
    assert_int_equal(cra_catalog_wrap(f.context, &full, &f.spy, false, &catalog, NULL), CRA_OK);
    assert_int_equal(cra_catalog_run_get(catalog, "r", "none", &run, &err), CRA_NOT_FOUND);
    assert_non_null(strstr(err.message, "none"));
    assert_int_equal(cra_catalog_run_get(catalog, "r", "1", &run, &err), CRA_OK);
    assert_string_equal(run.run, "1");
    cra_run_doc_cleanup(&run, &f.kit.allocator);
    assert_null(run.run);
    atomic_store(&f.kit.fail_at, atomic_load(&f.kit.allocations) + 2);
    assert_int_equal(cra_catalog_run_get(catalog, "r", "1", &run, &err), CRA_NOMEM);
    assert_null(run.report);
    cra_catalog_free(catalog);
}

static cra_status fill_run(const cra_allocator *allocator, void *user)
{
    cra_run_doc doc;
    cra_run_doc copy;

    (void)user;
    cra_run_doc_init(&doc);
    cra_status status = cra_run_doc_set_text(&doc.report, "report", allocator);
    if (status == CRA_OK)
        status = cra_run_doc_set_text(&doc.rule, "rule", allocator);
    if (status == CRA_OK)
        status = cra_run_doc_set_text(&doc.rule, "another", allocator);
    if (status == CRA_OK)
        status = cra_run_doc_set_text(&doc.hold_reason, NULL, allocator);
    if (status == CRA_OK) {
        status = cra_run_doc_copy(&copy, &doc, allocator);
        if (status == CRA_OK) {
            assert_string_equal(copy.rule, "another");
            assert_ptr_not_equal(copy.rule, doc.rule);
            assert_int_equal(copy.archive_at, CRA_TIME_NONE);
            assert_int_equal(copy.restores, 0);
            assert_int_equal(copy.records, -1);
        }
        cra_run_doc_cleanup(&copy, allocator);
    }
    cra_run_doc_cleanup(&doc, allocator);
    return status;
}

static void run_documents_survive_lack_of_memory(void **state)
{
    (void)state;
    cra_torture(fill_run, NULL, CRA_OK, 100);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(missing_slots_are_named),
        CASE(other_versions_of_the_struct),
        CASE(second_handles_close_nothing),
        CASE(writes_do_not_reach_a_read_only_backend),
        CASE(wrong_arguments_do_not_reach_the_backend),
        CASE(one_run_is_copied_out_of_a_list),
        cmocka_unit_test(run_documents_survive_lack_of_memory),
    };

    return cmocka_run_group_tests_name("catalog_port", tests, NULL, NULL);
}
