/* SPDX-License-Identifier: Apache-2.0 */

/* The names of what is being written. Hidden files of others (Flink's .part.inprogress.…) are objects like any
 * other: their reader has rules for them. */

#include <limits.h>
#include <string.h>

#include "backends/file/file_store.h"
#include "base/buf.h"
#include "os/entropy.h"

#define MARK ".cra-"
#define END ".tmp"
#define RANDOM_DIGITS 16u

cra_status cra_file_temporary_name(const char *base, const char *tag, cra_buf *out, cra_error *err)
{
    char random[RANDOM_DIGITS + 1];
    const size_t before = out->size;
    cra_status status = cra_os_random_hex(random, RANDOM_DIGITS / 2, err);

    if (status != CRA_OK)
        return status;
    status = cra_buf_appendf(out, ".%s" MARK "%s-%s" END, base, tag != NULL ? tag : "", random);
    if (status != CRA_OK)
        return cra_error_set(err, status, CRA_FILE_ORIGIN, "out of memory while writing '%.200s'", base);
    if (out->size - before > NAME_MAX)
        return cra_error_set(err, CRA_INVALID, CRA_FILE_ORIGIN,
                             "'%.200s' is too long for a file: at most %zu bytes after the last '/'", base,
                             (size_t)NAME_MAX - (out->size - before - strlen(base)));
    return CRA_OK;
}

bool cra_file_is_temporary(const char *base)
{
    const size_t size = strlen(base);
    const size_t tail = 1 + RANDOM_DIGITS + strlen(END); /* -RANDOM.tmp */

    if (base[0] != '.' || size < 2 + strlen(MARK) + tail)
        return false;

    const char *end = base + size - tail;
    if (end[0] != '-' || strspn(end + 1, "0123456789abcdef") != RANDOM_DIGITS ||
        strcmp(end + 1 + RANDOM_DIGITS, END) != 0)
        return false;
    /* A base of at least one byte before the mark, and the mark's own end before the random part. */
    const char *mark = strstr(base + 2, MARK);
    return mark != NULL && mark + strlen(MARK) <= end;
}
