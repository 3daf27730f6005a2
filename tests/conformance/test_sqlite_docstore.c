/* SPDX-License-Identifier: Apache-2.0 */

/* The docstore suite on sqlite:, and several processes that write to one file. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/sqlite/sqlite_db.h"
#include "conformance/suite_docstore.h"
#include "kit/data.h"
#include "kit/test_allocator.h"
#include "ports/context.h"

#define PROCESSES 4
#define BATCHES 20
#define BATCH_DOCS 10
#define DOCUMENT_SIZE 14

extern const cra_backend cra_backend_sqlite;

typedef struct fixture {
    cra_test_allocator kit;
    cra_context *context;
    char folder[512];
    char uri[640];
    int number;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;

    cra_test_make_folder(f->folder, sizeof f->folder);
    cra_test_allocator_init(&f->kit);
    options.allocator = &f->kit.allocator;
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

static cra_status open_uri(fixture *f, unsigned flags, cra_docstore **out, cra_error *err)
{
    const cra_open_args args = {sizeof args, f->context, f->uri, flags, NULL, 0};

    return cra_docstore_open(&args, out, err);
}

static cra_status open_empty(void *user, cra_docstore **out, cra_error *err)
{
    fixture *f = user;

    snprintf(f->uri, sizeof f->uri, "sqlite:%s/records%d.db", f->folder, f->number++);
    return open_uri(f, CRA_OPEN_CREATE, out, err);
}

static cra_status reopen(void *user, bool read_only, cra_docstore **out, cra_error *err)
{
    return open_uri(user, read_only ? CRA_OPEN_READ_ONLY : 0, out, err);
}

static void passes_the_suite(void **state)
{
    fixture *f = *state;
    const cra_docstore_fixture suite = {f, f->context, open_empty, reopen};
    cra_conformance t = {.report = cra_conformance_print};

    assert_int_equal(cra_conformance_docstore(&t, &suite), 0);
    assert_true(t.checks > 500);
    assert_int_equal(t.skipped, 0);
}

/* One process: write the same records as all the others. @return how many were new to it, 255 for a failure */
static int work(const char *uri)
{
    cra_context *context = NULL;
    cra_docstore *store = NULL;
    int new_count = 0;

    if (cra_context_new_bare(NULL, &context, NULL) != CRA_OK ||
        cra_backend_register(context, &cra_backend_sqlite, NULL) != CRA_OK)
        return 255;
    const cra_open_args args = {sizeof args, context, uri, CRA_OPEN_CREATE, NULL, 0};
    if (cra_docstore_open(&args, &store, NULL) != CRA_OK)
        return 255;
    for (int batch = 0; batch < BATCHES; batch++) {
        uint8_t documents[BATCH_DOCS][DOCUMENT_SIZE];
        cra_bytes views[BATCH_DOCS];
        cra_write_result results[BATCH_DOCS];
        for (int i = 0; i < BATCH_DOCS; i++) {
            const uint8_t bytes[DOCUMENT_SIZE] = {DOCUMENT_SIZE, 0,   0,   0, CRA_BSON_INT32,
                                                  '_',           'i', 'd', 0, (uint8_t)(batch * BATCH_DOCS + i)};
            memcpy(documents[i], bytes, sizeof bytes);
            views[i] = (cra_bytes){documents[i], sizeof bytes};
        }
        if (cra_docstore_write_batch(store, "c", views, BATCH_DOCS, 0, results, NULL) != CRA_OK)
            return 255;
        for (int i = 0; i < BATCH_DOCS; i++) {
            if (results[i].outcome != CRA_WRITE_NEW && results[i].outcome != CRA_WRITE_ID_EXISTS)
                return 255;
            new_count += results[i].outcome == CRA_WRITE_NEW ? 1 : 0;
        }
    }
    cra_docstore_free(store);
    cra_context_free(context);
    return new_count;
}

static void processes_share_the_file(void **state)
{
    fixture *f = *state;
    pid_t children[PROCESSES];
    int total = 0;

    snprintf(f->uri, sizeof f->uri, "sqlite:%s/shared.db", f->folder);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(work(f->uri));
        assert_true(children[i] > 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_int_not_equal(WEXITSTATUS(status), 255);
        total += WEXITSTATUS(status);
    }
    assert_int_equal(total, BATCHES * BATCH_DOCS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(passes_the_suite, setup, teardown),
        cmocka_unit_test_setup_teardown(processes_share_the_file, setup, teardown),
    };

    return cmocka_run_group_tests_name("sqlite_docstore", tests, NULL, NULL);
}
