/* SPDX-License-Identifier: Apache-2.0 */

/* The catalog suite on sqlite:, on two handles and in two processes. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/sqlite/sqlite_db.h"
#include "conformance/suite_catalog.h"
#include "kit/data.h"
#include "kit/test_allocator.h"
#include "os/clock.h"
#include "ports/context.h"

#define PROCESSES 4
#define STEPS 15

extern const cra_backend cra_backend_sqlite;

typedef struct fixture {
    cra_test_allocator kit;
    cra_context *context;
    char folder[512];
    char uri[640];
    int number;
    atomic_llong ahead_ms;
} fixture;

static cra_time_ms wall_ms(void *user)
{
    fixture *f = user;

    return cra_os_wall_ms() + atomic_load(&f->ahead_ms);
}

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    const cra_clock clock = {wall_ms, NULL, NULL, f};
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;

    cra_test_make_folder(f->folder, sizeof f->folder);
    cra_test_allocator_init(&f->kit);
    options.allocator = &f->kit.allocator;
    options.clock = &clock;
    assert_int_equal(cra_context_new_bare(&options, &f->context, NULL), CRA_OK);
    assert_int_equal(cra_backend_register(f->context, &cra_backend_sqlite, NULL), CRA_OK);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;

    cra_context_free(f->context);
    cra_test_allocator_check(&f->kit);
    cra_test_remove_tree(f->folder);
    free(f);
    return 0;
}

static cra_status open_uri(fixture *f, unsigned flags, cra_catalog **out, cra_error *err)
{
    const cra_open_args args = {sizeof args, f->context, f->uri, flags, NULL, 0};

    return cra_catalog_open(&args, out, err);
}

static cra_status open_empty(void *user, cra_catalog **out, cra_error *err)
{
    fixture *f = user;

    snprintf(f->uri, sizeof f->uri, "sqlite:%s/catalog%d.db", f->folder, f->number++);
    return open_uri(f, CRA_OPEN_CREATE, out, err);
}

static cra_status reopen(void *user, bool read_only, cra_catalog **out, cra_error *err)
{
    return open_uri(user, read_only ? CRA_OPEN_READ_ONLY : 0, out, err);
}

static void advance(void *user, int64_t duration_ms)
{
    fixture *f = user;

    atomic_fetch_add(&f->ahead_ms, duration_ms);
}

static void passes_the_suite(void **state)
{
    fixture *f = *state;
    const cra_catalog_fixture suite = {f, &f->kit.allocator, open_empty, reopen, advance};
    cra_conformance t = {.report = cra_conformance_print};

    assert_int_equal(cra_conformance_catalog(&t, &suite), 0);
    assert_true(t.checks > 300);
    assert_int_equal(t.skipped, 0);
}

/* One process: count the run's records up under a lease of its own, each time. */
static int work(const char *uri, int number)
{
    cra_context *context = NULL;
    cra_catalog *catalog = NULL;
    char owner[16];
    int done = 0;

    snprintf(owner, sizeof owner, "process-%d", number);
    if (cra_context_new_bare(NULL, &context, NULL) != CRA_OK ||
        cra_backend_register(context, &cra_backend_sqlite, NULL) != CRA_OK)
        return 1;
    const cra_open_args args = {sizeof args, context, uri, CRA_OPEN_CREATE, NULL, 0};
    if (cra_catalog_open(&args, &catalog, NULL) != CRA_OK)
        return 2;
    for (int attempts = 0; done < STEPS && attempts < 100000; attempts++) {
        cra_lease lease;
        cra_run_doc doc;
        const cra_status status = cra_catalog_lease_acquire(catalog, "r", "1", owner, 60000, 0, &lease, NULL);
        if (status == CRA_NOT_FOUND || status == CRA_LOCKED) {
            usleep(500);
            continue;
        }
        if (status != CRA_OK || cra_catalog_run_get(catalog, "r", "1", &doc, NULL) != CRA_OK)
            return 3;
        doc.records++;
        if (cra_catalog_run_replace(catalog, &doc, doc.version, &lease, NULL) != CRA_OK)
            return 4;
        cra_run_doc_cleanup(&doc, NULL);
        if (cra_catalog_lease_release(catalog, "r", "1", &lease, NULL) != CRA_OK)
            return 5;
        done++;
    }
    cra_catalog_free(catalog);
    cra_context_free(context);
    return done == STEPS ? 0 : 6;
}

static void processes_share_the_file(void **state)
{
    fixture *f = *state;
    cra_catalog *catalog = NULL;
    cra_run_doc run;
    pid_t children[PROCESSES];

    snprintf(f->uri, sizeof f->uri, "sqlite:%s/shared.db", f->folder);
    /* All create the file at once. */
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(work(f->uri, i));
        assert_true(children[i] > 0);
    }
    assert_int_equal(open_uri(f, CRA_OPEN_CREATE, &catalog, NULL), CRA_OK);
    cra_run_doc_init(&run);
    run.report = (char *)(uintptr_t) "r";
    run.run = (char *)(uintptr_t) "1";
    run.collection = (char *)(uintptr_t) "c";
    run.records = 0;
    assert_int_equal(cra_catalog_run_insert(catalog, &run, NULL), CRA_OK);
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(cra_catalog_run_get(catalog, "r", "1", &run, NULL), CRA_OK);
    assert_int_equal(run.records, PROCESSES * STEPS);
    assert_int_equal(run.lease_fence, PROCESSES * STEPS);
    cra_run_doc_cleanup(&run, &f->kit.allocator);
    cra_catalog_free(catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(passes_the_suite, setup, teardown),
        cmocka_unit_test_setup_teardown(processes_share_the_file, setup, teardown),
    };

    return cmocka_run_group_tests_name("sqlite_catalog", tests, NULL, NULL);
}
