/* SPDX-License-Identifier: Apache-2.0 */

/* The fault injector itself, and what a killed writer leaves in a folder. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/suite_blobstore.h"
#include "kit/data.h"
#include "kit/fault_blobstore.h"
#include "ports/context.h"

extern const cra_backend cra_backend_file;

typedef struct faults {
    cra_context *context;
    cra_fault fault;
    char root[256];
    char uri[320];
    int opened;
} faults;

static int setup(void **state)
{
    faults *f = calloc(1, sizeof *f);

    assert_int_equal(cra_context_new_bare(NULL, &f->context, NULL), CRA_OK);
    cra_test_make_folder(f->root, sizeof f->root);
    snprintf(f->uri, sizeof f->uri, "file:%s", f->root);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    faults *f = *state;

    cra_context_free(f->context);
    cra_test_remove_tree(f->root);
    free(f);
    return 0;
}

static cra_status open_faulty(faults *f, unsigned flags, cra_blobstore **out, cra_error *err)
{
    const cra_open_args args = {sizeof args, f->context, f->uri, flags, NULL, 0};
    const cra_blobstore_vtable *vtable = NULL;
    void *self = NULL;
    cra_status status = cra_backend_file.open_blobstore(&args, &vtable, &self, err);

    if (status != CRA_OK)
        return status;
    assert_int_equal(cra_fault_blobstore(vtable, self, &f->fault, &vtable, &self), CRA_OK);
    return cra_blobstore_wrap(f->context, vtable, self, (flags & CRA_OPEN_READ_ONLY) != 0, out, err);
}

static cra_status open_empty(void *user, cra_blobstore **out, cra_error *err)
{
    faults *f = user;

    snprintf(f->uri, sizeof f->uri, "file:%s/%d", f->root, f->opened++);
    return open_faulty(f, CRA_OPEN_CREATE, out, err);
}

static cra_status reopen(void *user, unsigned flags, cra_blobstore **out, cra_error *err)
{
    return open_faulty(user, flags, out, err);
}

static void without_a_fault_the_suite_passes(void **state)
{
    faults *f = *state;
    const cra_blobstore_fixture fixture = {f, open_empty, reopen};
    cra_conformance t = {.report = cra_conformance_print};

    assert_int_equal(cra_conformance_blobstore(&t, &fixture), 0);
    assert_true(atomic_load(&f->fault.calls) > 200);
    assert_int_equal(atomic_load(&f->fault.hits), 0);
}

static cra_bytes bytes(const char *text)
{
    const cra_bytes view = {(const uint8_t *)text, strlen(text)};

    return view;
}

static void arm(faults *f, cra_fault_mode mode, long long at, const char *only)
{
    memset(&f->fault, 0, sizeof f->fault);
    f->fault.mode = mode;
    f->fault.at = at;
    f->fault.only = only;
}

/* Whether the object is there, whole. */
static bool is_there(cra_blobstore *store, const char *name)
{
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    const cra_status status = cra_blobstore_stat(store, name, &info, NULL);

    assert_true(status == CRA_OK || status == CRA_NOT_FOUND);
    assert_true(status != CRA_OK || info.size_bytes == 7);
    return status == CRA_OK;
}

static void each_mode_does_what_it_says(void **state)
{
    faults *f = *state;
    cra_blobstore *store = NULL;
    cra_error err = {0};
    cra_buf out;

    cra_buf_init(&out, NULL);
    assert_int_equal(open_faulty(f, 0, &store, NULL), CRA_OK);
    arm(f, CRA_FAULT_BEFORE, 1, "blobstore.put_commit");
    assert_int_equal(cra_blobstore_put(store, "o", bytes("content"), 0, NULL, &err), CRA_IO);
    assert_string_equal(err.message, "fault at call 1: blobstore.put_commit");
    assert_false(is_there(store, "o"));
    arm(f, CRA_FAULT_AFTER, 2, "blobstore.put_commit");
    f->fault.status = CRA_TIMEOUT;
    assert_int_equal(cra_blobstore_put(store, "o", bytes("content"), 0, NULL, &err), CRA_OK);
    assert_int_equal(cra_blobstore_put(store, "p", bytes("content"), 0, NULL, &err), CRA_TIMEOUT);
    assert_true(is_there(store, "p"));
    arm(f, CRA_FAULT_SHORT, 1, "blobstore.read");
    assert_int_equal(cra_blobstore_read(store, "p", 0, 7, NULL, &out, &err), CRA_OK);
    assert_int_equal(out.size, 3);
    arm(f, CRA_FAULT_SHORT, 1, "blobstore.put_write");
    assert_int_equal(cra_blobstore_put(store, "q", bytes("content"), 0, NULL, &err), CRA_IO);
    assert_false(is_there(store, "q"));
    arm(f, CRA_FAULT_TWICE, 1, "blobstore.remove");
    assert_int_equal(cra_blobstore_remove(store, "p", &err), CRA_OK);
    assert_int_equal(atomic_load(&f->fault.hits), 1);
    arm(f, CRA_FAULT_BEFORE, 2, NULL);
    f->fault.times = 2;
    assert_true(is_there(store, "o"));
    assert_int_equal(cra_blobstore_remove(store, "o", NULL), CRA_IO);
    assert_int_equal(cra_blobstore_remove(store, "o", NULL), CRA_IO);
    assert_int_equal(cra_blobstore_remove(store, "o", NULL), CRA_OK);
    cra_buf_cleanup(&out);
    cra_blobstore_free(store);
}

static cra_status first_token(void *user, const char *name, const cra_blob_info *info)
{
    (void)info;
    snprintf(user, 256, "%s", name);
    return CRA_OK;
}

/* In a child that is killed at call `at`: put, replace, remove. */
static void live_and_die(faults *f, cra_fault_mode mode, long long at)
{
    cra_blobstore *store = NULL;
    cra_blob_writer *writer = NULL;

    arm(f, mode, at, NULL);
    if (open_faulty(f, 0, &store, NULL) != CRA_OK)
        _exit(1);
    if (cra_blobstore_put_open(store, "r/1/a", CRA_PUT_IF_ABSENT, "7-3", &writer, NULL) != CRA_OK ||
        cra_blob_writer_write(writer, bytes("con"), NULL) != CRA_OK ||
        cra_blob_writer_write(writer, bytes("tent"), NULL) != CRA_OK ||
        cra_blob_writer_commit(writer, NULL, NULL) != CRA_OK || cra_blobstore_remove(store, "r/0", NULL) != CRA_OK)
        _exit(2);
    cra_blobstore_free(store);
    _exit(0);
}

/* Killed before and after every call, a put is whole or not there, its leftovers can be found and removed, and the
 * same put then succeeds. */
static void a_killed_writer_leaves_whole_objects_only(void **state)
{
    static const cra_fault_mode modes[] = {CRA_FAULT_KILL_BEFORE, CRA_FAULT_KILL_AFTER};
    faults *f = *state;
    int points = 0;

    for (size_t m = 0; m < 2; m++) {
        for (long long at = 1;; at++) {
            cra_blobstore *store = NULL;
            assert_int_equal(open_empty(f, &store, NULL), CRA_OK);
            const pid_t child = fork();
            assert_true(child >= 0);
            if (child == 0)
                live_and_die(f, modes[m], at);
            int ended = 0;
            assert_int_equal(waitpid(child, &ended, 0), child);

            char token[256] = "";
            const bool there = is_there(store, "r/1/a");
            assert_int_equal(cra_blobstore_upload_list(store, "r/1/", first_token, token, NULL), CRA_OK);
            if (WIFSIGNALED(ended) && token[0] != '\0') {
                assert_false(there);
                assert_non_null(strstr(token, "r/1/a.cra-7-3-"));
                assert_int_equal(cra_blobstore_upload_abort(store, token, NULL), CRA_OK);
                token[0] = '\0';
                assert_int_equal(cra_blobstore_upload_list(store, "", first_token, token, NULL), CRA_OK);
                assert_string_equal(token, "");
            }
            assert_int_equal(cra_blobstore_put(store, "r/1/a", bytes("content"), CRA_PUT_IF_ABSENT, NULL, NULL),
                             there ? CRA_EXISTS : CRA_OK);
            assert_true(is_there(store, "r/1/a"));
            cra_blobstore_free(store);
            if (!WIFSIGNALED(ended)) {
                assert_int_equal(WEXITSTATUS(ended), 0);
                break;
            }
            assert_int_equal(WTERMSIG(ended), SIGKILL);
            points++;
        }
    }
    assert_int_equal(points, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_a_fault_the_suite_passes, setup, teardown),
        cmocka_unit_test_setup_teardown(each_mode_does_what_it_says, setup, teardown),
        cmocka_unit_test_setup_teardown(a_killed_writer_leaves_whole_objects_only, setup, teardown),
    };

    return cmocka_run_group_tests_name("file_faults", tests, NULL, NULL);
}
