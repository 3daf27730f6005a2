/* SPDX-License-Identifier: Apache-2.0 */

/* The blobstore suite on file:, and what only a file system shows. */

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "conformance/suite_blobstore.h"
#include "kit/data.h"
#include "kit/test_allocator.h"
#include "os/thread.h"
#include "ports/context.h"

extern const cra_backend cra_backend_file;

typedef struct files {
    cra_test_allocator kit;
    cra_context *context;
    char root[256];
    char folder[300]; /* of the store, below the root */
    char uri[320];
    int opened;
} files;

static int setup(void **state)
{
    files *f = calloc(1, sizeof *f);
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;

    cra_test_allocator_init(&f->kit);
    options.allocator = &f->kit.allocator;
    assert_int_equal(cra_context_new_bare(&options, &f->context, NULL), CRA_OK);
    assert_int_equal(cra_backend_register(f->context, &cra_backend_file, NULL), CRA_OK);
    cra_test_make_folder(f->root, sizeof f->root);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    files *f = *state;

    cra_context_free(f->context);
    cra_test_allocator_check(&f->kit);
    cra_test_remove_tree(f->root);
    free(f);
    return 0;
}

static cra_status open_flags(files *f, unsigned flags, cra_blobstore **out, cra_error *err)
{
    const cra_open_args args = {sizeof args, f->context, f->uri, flags, NULL, 0};

    return cra_blobstore_open(&args, out, err);
}

static cra_status open_empty(void *user, cra_blobstore **out, cra_error *err)
{
    files *f = user;

    snprintf(f->folder, sizeof f->folder, "%s/store-%d", f->root, f->opened++);
    snprintf(f->uri, sizeof f->uri, "file:%s", f->folder);
    return open_flags(f, CRA_OPEN_CREATE, out, err);
}

static cra_status reopen(void *user, unsigned flags, cra_blobstore **out, cra_error *err)
{
    return open_flags(user, flags, out, err);
}

static cra_blobstore *fresh(files *f)
{
    cra_blobstore *store = NULL;

    assert_int_equal(open_empty(f, &store, NULL), CRA_OK);
    return store;
}

static cra_bytes bytes(const char *text)
{
    const cra_bytes view = {(const uint8_t *)text, strlen(text)};

    return view;
}

static void passes_the_suite(void **state)
{
    const cra_blobstore_fixture fixture = {*state, open_empty, reopen};
    cra_conformance t = {.report = cra_conformance_print};

    assert_int_equal(cra_conformance_blobstore(&t, &fixture), 0);
    assert_true(t.checks > 200);
    assert_int_equal(t.skipped, 1); /* thaw */
}

/* Path of a file below the store's folder. Static buffer. */
static const char *path_of(const files *f, const char *name)
{
    static char path[1024];

    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    return path;
}

static void write_raw(const files *f, const char *name, const char *content)
{
    FILE *file = fopen(path_of(f, name), "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, strlen(content), file), strlen(content));
    assert_int_equal(fclose(file), 0);
}

static cra_status join(void *user, const char *name, const cra_blob_info *info)
{
    char *text = user;

    (void)info;
    strcat(text, name);
    strcat(text, " ");
    return CRA_OK;
}

static void names_of(cra_blobstore *store, const char *prefix, char *out)
{
    out[0] = '\0';
    assert_int_equal(cra_blobstore_list(store, prefix, join, out, NULL), CRA_OK);
}

static void needs_its_root(void **state)
{
    files *f = *state;
    cra_blobstore *store = NULL;
    cra_error err = {0};

    snprintf(f->folder, sizeof f->folder, "%s/not/there", f->root);
    snprintf(f->uri, sizeof f->uri, "file:%s", f->folder);
    assert_int_equal(open_flags(f, 0, &store, &err), CRA_NOT_FOUND);
    assert_null(store);
    assert_non_null(strstr(err.message, "/not/there"));
    assert_true(err.hint[0] != '\0');
    /* Reading only makes nothing, whatever else is asked for. */
    assert_int_equal(open_flags(f, CRA_OPEN_CREATE | CRA_OPEN_READ_ONLY, &store, &err), CRA_NOT_FOUND);
    assert_int_equal(open_flags(f, CRA_OPEN_CREATE, &store, &err), CRA_OK);
    cra_blobstore_free(store);

    write_raw(f, "plain", "x");
    snprintf(f->uri, sizeof f->uri, "file:%s", path_of(f, "plain"));
    assert_int_equal(open_flags(f, 0, &store, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "not a folder"));
}

static void refuses_other_uris(void **state)
{
    static const char *const uris[] = {"file:", "file://host/tmp", "file:/tmp?colour=red", "file:/tmp%zz"};
    files *f = *state;
    cra_blobstore *store = NULL;

    for (size_t i = 0; i < sizeof uris / sizeof uris[0]; i++) {
        cra_error err = {0};
        snprintf(f->uri, sizeof f->uri, "%s", uris[i]);
        assert_int_equal(open_flags(f, 0, &store, &err), CRA_INVALID);
        assert_true(err.message[0] != '\0');
    }
    snprintf(f->uri, sizeof f->uri, "file://localhost%s", f->root);
    assert_int_equal(open_flags(f, 0, &store, NULL), CRA_OK);
    cra_blobstore_free(store);
    snprintf(f->uri, sizeof f->uri, "file://%s", f->root);
    assert_int_equal(open_flags(f, 0, &store, NULL), CRA_OK);
    cra_blobstore_free(store);
}

static void shows_hidden_files_of_others(void **state)
{
    files *f = *state;
    cra_blobstore *store = fresh(f);
    char names[1024];

    write_raw(f, ".crawl-1-2.avro.inprogress.7f", "half");
    write_raw(f, "_SUCCESS", "");
    write_raw(f, ".x.cra-tag-0123456789abcdef.tmp", "ours");
    write_raw(f, ".x.cra-tag-0123456789abcdeX.tmp", "not ours");
    write_raw(f, ".cra-tag-0123456789abcdef.tmp", "not ours: it hides no name");
    write_raw(f, "x.cra-tag-0123456789abcdef.tmp", "not ours: not hidden");
    names_of(store, "", names);
    assert_string_equal(names, ".cra-tag-0123456789abcdef.tmp .crawl-1-2.avro.inprogress.7f "
                               ".x.cra-tag-0123456789abcdeX.tmp _SUCCESS x.cra-tag-0123456789abcdef.tmp ");
    names[0] = '\0';
    assert_int_equal(cra_blobstore_upload_list(store, "", join, names, NULL), CRA_OK);
    assert_string_equal(names, "x.cra-tag-0123456789abcdef.tmp ");

    /* Ours is no object for any slot. */
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    const char *ours = ".x.cra-tag-0123456789abcdef.tmp";
    assert_int_equal(cra_blobstore_stat(store, ours, &info, NULL), CRA_NOT_FOUND);
    assert_int_equal(cra_blobstore_put(store, ours, bytes("x"), 0, NULL, NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_remove(store, ours, NULL), CRA_OK);
    assert_int_equal(access(path_of(f, ours), F_OK), 0);
    /* Nor is an object of others an upload. */
    assert_int_equal(cra_blobstore_upload_abort(store, "_SUCCESS", NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_upload_abort(store, "../x.cra-tag-0123456789abcdef.tmp", NULL), CRA_INVALID);
    assert_int_equal(cra_blobstore_upload_abort(store, "x.cra-tag-0123456789abcdef.tmp", NULL), CRA_OK);
    assert_int_equal(access(path_of(f, ours), F_OK), -1);
    cra_blobstore_free(store);
}

static void never_follows_links(void **state)
{
    files *f = *state;
    cra_blobstore *store = fresh(f);
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    cra_error err = {0};
    char secret[300];
    char names[256];
    cra_buf out;

    cra_buf_init(&out, NULL);
    snprintf(secret, sizeof secret, "%s/secret", f->root);
    assert_int_equal(mkdir(secret, 0700), 0);
    snprintf(secret, sizeof secret, "%s/secret/file", f->root);
    FILE *file = fopen(secret, "wb");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(symlink("../secret", path_of(f, "folder")), 0);
    assert_int_equal(symlink("../secret/file", path_of(f, "link")), 0);

    names_of(store, "", names);
    assert_string_equal(names, "");
    assert_int_equal(cra_blobstore_stat(store, "link", &info, &err), CRA_DENIED);
    assert_non_null(strstr(err.message, "symbolic link"));
    assert_int_equal(cra_blobstore_read(store, "folder/file", 0, 1, NULL, &out, &err), CRA_DENIED);
    assert_non_null(strstr(err.message, "symbolic link"));
    assert_int_equal(cra_blobstore_put(store, "folder/new", bytes("x"), 0, NULL, &err), CRA_DENIED);
    assert_int_equal(cra_blobstore_remove(store, "folder/file", &err), CRA_DENIED);
    assert_int_equal(access(secret, F_OK), 0);
    /* A put replaces the link itself, not what it names. */
    assert_int_equal(cra_blobstore_put(store, "link", bytes("own"), 0, NULL, &err), CRA_OK);
    assert_int_equal(cra_blobstore_stat(store, "link", &info, &err), CRA_OK);
    assert_int_equal(info.size_bytes, 3);
    cra_buf_cleanup(&out);
    cra_blobstore_free(store);
}

static void pipes_and_folders_are_no_objects(void **state)
{
    files *f = *state;
    cra_blobstore *store = fresh(f);
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    char names[64];

    assert_int_equal(mkfifo(path_of(f, "pipe"), 0600), 0);
    assert_int_equal(cra_blobstore_stat(store, "pipe", &info, NULL), CRA_NOT_FOUND);
    names_of(store, "", names);
    assert_string_equal(names, "");
    cra_blobstore_free(store);
}

static void an_object_and_a_folder_exclude_each_other(void **state)
{
    files *f = *state;
    cra_blobstore *store = fresh(f);
    cra_error err = {0};

    assert_int_equal(cra_blobstore_put(store, "a", bytes("x"), 0, NULL, NULL), CRA_OK);
    assert_int_equal(cra_blobstore_put(store, "a/b", bytes("x"), 0, NULL, &err), CRA_UNSUPPORTED);
    assert_non_null(strstr(err.message, "an object has that name"));
    assert_int_equal(cra_blobstore_put(store, "b/c", bytes("x"), 0, NULL, NULL), CRA_OK);
    assert_int_equal(cra_blobstore_put(store, "b", bytes("x"), 0, NULL, &err), CRA_UNSUPPORTED);
    assert_int_equal(cra_blobstore_put(store, "b", bytes("x"), CRA_PUT_IF_ABSENT, NULL, &err), CRA_EXISTS);
    cra_blobstore_free(store);
}

static void names_too_long_are_told(void **state)
{
    files *f = *state;
    cra_blobstore *store = fresh(f);
    cra_error err = {0};
    char name[600];

    memset(name, 'n', sizeof name);
    name[250] = '\0';
    assert_int_equal(cra_blobstore_put(store, name, bytes("x"), 0, NULL, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "too long"));
    memset(name, 'n', sizeof name);
    name[300] = '/';
    name[302] = '\0';
    assert_int_equal(cra_blobstore_put(store, name, bytes("x"), 0, NULL, &err), CRA_INVALID);
    assert_true(err.hint[0] != '\0');
    cra_blobstore_free(store);
}

static void empty_folders_go(void **state)
{
    files *f = *state;
    cra_blobstore *store = fresh(f);

    assert_int_equal(cra_blobstore_put(store, "r/1/a", bytes("x"), 0, NULL, NULL), CRA_OK);
    assert_int_equal(cra_blobstore_put(store, "r/2/a", bytes("x"), 0, NULL, NULL), CRA_OK);
    assert_int_equal(cra_blobstore_remove(store, "r/1/a", NULL), CRA_OK);
    assert_int_equal(access(path_of(f, "r/1"), F_OK), -1);
    assert_int_equal(access(path_of(f, "r/2/a"), F_OK), 0);
    assert_int_equal(cra_blobstore_remove(store, "r/2/a", NULL), CRA_OK);
    assert_int_equal(access(path_of(f, "r"), F_OK), -1);
    assert_int_equal(access(f->folder, F_OK), 0);
    cra_blobstore_free(store);
}

static void a_change_in_place_is_seen(void **state)
{
    files *f = *state;
    cra_blobstore *store = fresh(f);
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    cra_buf out;

    cra_buf_init(&out, NULL);
    assert_int_equal(cra_blobstore_put(store, "a", bytes("one"), 0, &info, NULL), CRA_OK);
    write_raw(f, "a", "two");
    assert_int_equal(cra_blobstore_read(store, "a", 0, 3, info.etag, &out, NULL), CRA_CONFLICT);
    assert_int_equal(out.size, 0);
    cra_buf_cleanup(&out);
    cra_blobstore_free(store);
}

static void a_tree_too_deep_is_told(void **state)
{
    files *f = *state;
    cra_blobstore *store = fresh(f);
    cra_error err = {0};
    char path[1024];

    snprintf(path, sizeof path, "%s", f->folder);
    for (int i = 0; i < 66; i++) {
        strcat(path, "/d");
        assert_int_equal(mkdir(path, 0700), 0);
    }
    char names[16] = "";
    assert_int_equal(cra_blobstore_list(store, "", join, names, &err), CRA_UNSUPPORTED);
    assert_non_null(strstr(err.message, "deeper"));
    cra_blobstore_free(store);
}

static void a_folder_that_may_not_be_read_is_told(void **state)
{
    files *f = *state;
    cra_blobstore *store = fresh(f);
    cra_error err = {0};
    char names[64] = "";

    assert_int_equal(cra_blobstore_put(store, "d/a", bytes("x"), 0, NULL, NULL), CRA_OK);
    assert_int_equal(chmod(path_of(f, "d"), 0), 0);
    if (geteuid() == 0) /* whom nothing is denied */
        assert_int_equal(cra_blobstore_list(store, "", join, names, &err), CRA_OK);
    else
        assert_int_equal(cra_blobstore_list(store, "", join, names, &err), CRA_DENIED);
    assert_int_equal(chmod(path_of(f, "d"), 0700), 0);
    cra_blobstore_free(store);
}

/* A limit of the file's size stands for a disk that is full. */
static void a_failed_write_leaves_nothing(void **state)
{
    files *f = *state;
    cra_blobstore *store = fresh(f);
    cra_error err = {0};
    struct rlimit before;
    char names[64];

    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit limit = {5, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const cra_status status = cra_blobstore_put(store, "r/a", bytes("too much"), 0, NULL, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, old);
    assert_int_equal(status, CRA_IO);
    assert_int_equal(err.native_code, EFBIG);
    assert_non_null(strstr(err.message, "r/a"));
    assert_non_null(strstr(err.message, f->folder));
    names_of(store, "", names);
    assert_string_equal(names, "");
    names[0] = '\0';
    assert_int_equal(cra_blobstore_upload_list(store, "", join, names, NULL), CRA_OK);
    assert_string_equal(names, "");
    cra_blobstore_free(store);
}

typedef struct rival {
    cra_blobstore *store;
    int number;
    cra_thread thread;
    cra_status status;
} rival;

/* Makes and empties folders that others make and empty at the same time. */
static void contend(void *user)
{
    rival *r = user;
    char name[32];
    char names[4096];

    snprintf(name, sizeof name, "r/x/%d", r->number);
    for (int i = 0; i < 100 && r->status == CRA_OK; i++) {
        r->status = cra_blobstore_put(r->store, name, bytes("x"), i % 2 == 0 ? CRA_PUT_IF_ABSENT : 0, NULL, NULL);
        names[0] = '\0';
        if (r->status == CRA_OK)
            r->status = cra_blobstore_list(r->store, "", join, names, NULL);
        if (r->status == CRA_OK && strstr(names, name) == NULL)
            r->status = CRA_INTERNAL;
        if (r->status == CRA_OK)
            r->status = cra_blobstore_remove(r->store, name, NULL);
    }
}

static void threads_share_a_store(void **state)
{
    cra_blobstore *store = fresh(*state);
    rival rivals[4];

    for (int i = 0; i < 4; i++) {
        rivals[i] = (rival){.store = store, .number = i};
        assert_int_equal(cra_thread_start(&rivals[i].thread, contend, &rivals[i], NULL, NULL), CRA_OK);
    }
    for (int i = 0; i < 4; i++) {
        cra_thread_join(&rivals[i].thread);
        assert_int_equal(rivals[i].status, CRA_OK);
    }
    cra_blobstore_free(store);
}

/* A visit to every slot that allocates. */
static cra_status attempt(const cra_allocator *allocator, void *user)
{
    const files *f = user;
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;
    cra_blobstore *store = NULL;
    cra_blob_writer *writer = NULL;
    char uri[320];
    char names[256] = "";
    cra_buf out;

    cra_buf_init(&out, allocator);
    options.allocator = allocator;
    snprintf(uri, sizeof uri, "file:%s/torture", f->root);
    cra_status status = cra_context_new_bare(&options, &context, NULL);
    if (status == CRA_OK)
        status = cra_backend_register(context, &cra_backend_file, NULL);
    const cra_open_args args = {sizeof args, context, uri, CRA_OPEN_CREATE, NULL, 0};
    if (status == CRA_OK)
        status = cra_blobstore_open(&args, &store, NULL);
    if (status == CRA_OK)
        status = cra_blobstore_put(store, "a/b", bytes("x"), 0, NULL, NULL);
    if (status == CRA_OK)
        status = cra_blobstore_list(store, "", join, names, NULL);
    if (status == CRA_OK)
        status = cra_blobstore_read(store, "a/b", 0, 10, NULL, &out, NULL);
    if (status == CRA_OK)
        status = cra_blobstore_put_open(store, "a/c", 0, "tag", &writer, NULL);
    if (status == CRA_OK) {
        names[0] = '\0';
        status = cra_blobstore_upload_list(store, "a/", join, names, NULL);
        names[strlen(names) > 0 ? strlen(names) - 1 : 0] = '\0';
    }
    if (status == CRA_OK)
        status = cra_blobstore_upload_abort(store, names, NULL);
    cra_blob_writer_abort(writer);
    if (status == CRA_OK)
        status = cra_blobstore_remove(store, "a/c", NULL);
    cra_blobstore_free(store);
    cra_context_free(context);
    cra_buf_cleanup(&out);
    return status;
}

static void survives_lack_of_memory(void **state)
{
    cra_torture(attempt, *state, CRA_OK, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(passes_the_suite, setup, teardown),
        cmocka_unit_test_setup_teardown(needs_its_root, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_other_uris, setup, teardown),
        cmocka_unit_test_setup_teardown(shows_hidden_files_of_others, setup, teardown),
        cmocka_unit_test_setup_teardown(never_follows_links, setup, teardown),
        cmocka_unit_test_setup_teardown(pipes_and_folders_are_no_objects, setup, teardown),
        cmocka_unit_test_setup_teardown(an_object_and_a_folder_exclude_each_other, setup, teardown),
        cmocka_unit_test_setup_teardown(names_too_long_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(empty_folders_go, setup, teardown),
        cmocka_unit_test_setup_teardown(a_change_in_place_is_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(a_tree_too_deep_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_that_may_not_be_read_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_write_leaves_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_share_a_store, setup, teardown),
        cmocka_unit_test_setup_teardown(survives_lack_of_memory, setup, teardown),
    };

    return cmocka_run_group_tests_name("file_blobstore", tests, NULL, NULL);
}
