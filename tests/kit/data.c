/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/data.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

const char *cra_test_outside(const char *relative)
{
    static char path[4096];
    const char *root = getenv("CRAWLARCHIVE_TEST_DATA");

    snprintf(path, sizeof path, "%s/%s", root != NULL && *root != '\0' ? root : "../shared/data", relative);
    return access(path, R_OK) == 0 ? path : NULL;
}

const char *cra_test_inside(const char *relative)
{
    static char path[4096];

    snprintf(path, sizeof path, "tests/data/%s", relative);
    return path;
}

void cra_test_read_file(const char *path, cra_buf *out)
{
    FILE *file = fopen(path, "rb");
    char chunk[65536];
    size_t got;

    if (file == NULL)
        fail_msg("cannot open %s", path);
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0)
        assert_int_equal(cra_buf_append(out, chunk, got), CRA_OK);
    fclose(file);
}

void cra_test_make_folder(char *path, size_t size)
{
    const char *root = getenv("TMPDIR");

    snprintf(path, size, "%s/cra-test-XXXXXX", root != NULL && *root != '\0' ? root : "/tmp");
    if (mkdtemp(path) == NULL)
        fail_msg("cannot make a folder like %s", path);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void cra_test_remove_tree(const char *path)
{
    /* A test may have taken rights away. */
    chmod(path, 0700);
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
