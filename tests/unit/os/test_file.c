/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "kit/data.h"
#include "kit/test_allocator.h"
#include "os/file.h"

typedef struct place {
    cra_test_allocator kit;
    char root[256];
} place;

static int setup(void **state)
{
    place *p = calloc(1, sizeof *p);

    cra_test_allocator_init(&p->kit);
    cra_test_make_folder(p->root, sizeof p->root);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    place *p = *state;

    cra_test_allocator_check(&p->kit);
    cra_test_remove_tree(p->root);
    free(p);
    return 0;
}

static const char *below(const place *p, const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", p->root, name);
    return path;
}

static int entries(const char *folder)
{
    DIR *stream = opendir(folder);
    int count = 0;

    assert_non_null(stream);
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream))
        count += entry->d_name[0] != '.';
    closedir(stream);
    return count;
}

static void writes_and_reads_whole_files(void **state)
{
    place *p = *state;
    const char *path = below(p, "f");
    cra_buf out;

    cra_buf_init(&out, &p->kit.allocator);
    assert_int_equal(cra_file_write_atomic(path, cra_bytes_of_str("first"), 0600, &p->kit.allocator, NULL), CRA_OK);
    assert_int_equal(cra_file_write_atomic(path, cra_bytes_of_str("second"), 0600, &p->kit.allocator, NULL), CRA_OK);
    assert_int_equal(cra_buf_append_str(&out, ">"), CRA_OK);
    assert_int_equal(cra_file_read(path, 6, &out, NULL), CRA_OK);
    assert_string_equal(cra_buf_cstr(&out), ">second");
    assert_int_equal(entries(p->root), 1); /* no temporary is left */

    cra_error err = {0};
    assert_int_equal(cra_file_read(path, 5, &out, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "larger than 5 bytes"));
    assert_int_equal(out.size, 7);
    assert_int_equal(cra_file_read(below(p, "none"), 5, &out, &err), CRA_NOT_FOUND);
    assert_int_equal(err.native_code, ENOENT);
    assert_non_null(strstr(err.message, "/none'"));
    cra_buf_cleanup(&out);
}

static void a_failed_write_leaves_the_old_file(void **state)
{
    place *p = *state;
    cra_error err = {0};

    /* The target is a folder: the rename fails. */
    assert_int_equal(mkdir(below(p, "d"), 0700), 0);
    assert_true(cra_file_write_atomic(below(p, "d"), cra_bytes_of_str("x"), 0600, &p->kit.allocator, &err) < 0);
    assert_true(err.message[0] != '\0');
    assert_int_equal(entries(p->root), 1);
    assert_int_equal(cra_file_write_atomic(below(p, "no/f"), cra_bytes_of_str("x"), 0600, &p->kit.allocator, &err),
                     CRA_NOT_FOUND);
}

static void tells_a_full_disk(void **state)
{
    cra_error err = {0};

    (void)state;
    const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        skip();
    const int code = cra_fd_write(fd, "x", 1);
    close(fd);
    assert_int_equal(code, ENOSPC);
    assert_int_equal(cra_file_error(&err, code, "write", "/some/file"), CRA_IO);
    assert_int_equal(err.native_code, ENOSPC);
    assert_non_null(strstr(err.message, "cannot write '/some/file'"));
    assert_non_null(strstr(err.hint, "free space"));
}

static void makes_folders(void **state)
{
    place *p = *state;
    cra_error err = {0};
    char path[600];

    snprintf(path, sizeof path, "%s/a/b//c", p->root);
    assert_int_equal(cra_folder_make(path, &p->kit.allocator, &err), CRA_OK);
    assert_int_equal(cra_folder_make(path, &p->kit.allocator, &err), CRA_OK);
    assert_int_equal(access(below(p, "a/b/c"), F_OK), 0);
    assert_int_equal(cra_folder_sync(below(p, "a"), &err), CRA_OK);
    assert_int_equal(cra_folder_sync(below(p, "none"), &err), CRA_NOT_FOUND);
    assert_int_equal(cra_file_write_atomic(below(p, "f"), cra_bytes_of_str("x"), 0600, &p->kit.allocator, NULL),
                     CRA_OK);
    assert_true(cra_folder_make(below(p, "f/g"), &p->kit.allocator, &err) < 0);
    assert_true(cra_folder_make(below(p, "f"), &p->kit.allocator, &err) < 0);
}

static void spools_vanish_or_stay(void **state)
{
    place *p = *state;
    cra_spool spool;
    cra_error err = {0};
    char path[512];
    char content[4] = "";

    assert_int_equal(cra_spool_open(p->root, 0, &p->kit.allocator, &spool, &err), CRA_OK);
    assert_null(spool.path);
    assert_int_equal(entries(p->root), 0);
    assert_int_equal(cra_fd_write(spool.fd, "abc", 3), 0);
    assert_int_equal(pread(spool.fd, content, 3, 0), 3);
    assert_string_equal(content, "abc");
    cra_spool_close(&spool);

    assert_int_equal(cra_spool_open(p->root, CRA_SPOOL_NAMED, &p->kit.allocator, &spool, &err), CRA_OK);
    assert_int_equal(entries(p->root), 1);
    snprintf(path, sizeof path, "%s", spool.path);
    struct stat found;
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
    cra_spool_close(&spool);
    assert_int_equal(entries(p->root), 1);
    assert_int_equal(unlink(path), 0);

    assert_int_equal(cra_spool_open(p->root, CRA_SPOOL_NAMED, &p->kit.allocator, &spool, &err), CRA_OK);
    cra_spool_remove(&spool);
    assert_int_equal(entries(p->root), 0);

    assert_int_equal(cra_spool_open(below(p, "none"), 0, &p->kit.allocator, &spool, &err), CRA_NOT_FOUND);
    assert_int_equal(spool.fd, -1);
    cra_spool_close(&spool);
}

static void reads_ranges(void **state)
{
    place *p = *state;
    cra_buf out;

    cra_buf_init(&out, &p->kit.allocator);
    assert_int_equal(
        cra_file_write_atomic(below(p, "f"), cra_bytes_of_str("0123456789"), 0600, &p->kit.allocator, NULL), CRA_OK);
    const int fd = open(below(p, "f"), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(cra_fd_pread(fd, 4, 3, &out), 0);
    assert_int_equal(cra_fd_pread(fd, 8, 1u << 30, &out), 0);
    assert_int_equal(cra_fd_pread(fd, 10, 1, &out), 0);
    assert_string_equal(cra_buf_cstr(&out), "45689");
    assert_true(out.capacity < 1u << 20); /* a length beyond the end costs no memory */
    close(fd);
    assert_int_equal(cra_fd_pread(-1, 0, 1, &out), EBADF);
    assert_int_equal(cra_fd_write(-1, "x", 1), EBADF);
    cra_buf_cleanup(&out);
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    const place *p = user;
    char path[512];
    cra_spool spool = {-1, NULL, allocator};
    cra_buf out;

    cra_buf_init(&out, allocator);
    snprintf(path, sizeof path, "%s/a/b", p->root);
    cra_status status = cra_folder_make(path, allocator, NULL);
    snprintf(path, sizeof path, "%s/a/b/f", p->root);
    if (status == CRA_OK)
        status = cra_file_write_atomic(path, cra_bytes_of_str("x"), 0600, allocator, NULL);
    if (status == CRA_OK)
        status = cra_file_read(path, 10, &out, NULL);
    if (status == CRA_OK)
        status = cra_spool_open(p->root, CRA_SPOOL_NAMED, allocator, &spool, NULL);
    cra_spool_remove(&spool);
    cra_buf_cleanup(&out);
    return status;
}

static void survives_lack_of_memory(void **state)
{
    cra_torture(attempt, *state, CRA_OK, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_and_reads_whole_files, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_write_leaves_the_old_file, setup, teardown),
        cmocka_unit_test_setup_teardown(tells_a_full_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(makes_folders, setup, teardown),
        cmocka_unit_test_setup_teardown(spools_vanish_or_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(survives_lack_of_memory, setup, teardown),
    };

    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
