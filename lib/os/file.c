/* SPDX-License-Identifier: Apache-2.0 */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "os/entropy.h"

#define READ_CHUNK 65536u

cra_status cra_file_error(cra_error *err, int errno_value, const char *verb, const char *path)
{
    char text[96];
    const cra_status status = cra_status_from_errno(errno_value);

    if (strerror_r(errno_value, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", errno_value);
    cra_error_set_native(err, status, errno_value, "file", "cannot %s '%.300s': %s", verb, path, text);
    if (errno_value == ENOSPC || errno_value == EDQUOT)
        cra_error_hint(err, "free space on that file system, then run again");
    else if (errno_value == EMFILE || errno_value == ENFILE)
        cra_error_hint(err, "raise the limit of open files (ulimit -n)");
    return status;
}

int cra_fd_write(int fd, const void *data, size_t size)
{
    const unsigned char *next = data;

    while (size > 0) {
        const ssize_t written = write(fd, next, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        if (written == 0)
            return EIO;
        next += written;
        size -= (size_t)written;
    }
    return 0;
}

int cra_fd_pread(int fd, int64_t offset, size_t size, cra_buf *out)
{
    while (size > 0) {
        /* Bounded, so that a length beyond the file's end costs no memory. */
        const size_t wanted = size < READ_CHUNK ? size : READ_CHUNK;
        if (cra_buf_reserve(out, wanted) != CRA_OK)
            return ENOMEM;
        const size_t room = out->capacity - out->size;
        const ssize_t got = pread(fd, out->data + out->size, room < size ? room : size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        if (got == 0)
            return 0;
        out->size += (size_t)got;
        offset += got;
        size -= (size_t)got;
    }
    return 0;
}

cra_status cra_file_read(const char *path, int64_t max_bytes, cra_buf *out, cra_error *err)
{
    const size_t before = out->size;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cra_file_error(err, errno, "open", path);

    /* One byte more than allowed tells a file that is too large, whatever its size was a moment ago. */
    const int code = cra_fd_pread(fd, 0, (size_t)max_bytes + 1, out);
    close(fd);
    if (code != 0) {
        out->size = before;
        return cra_file_error(err, code, "read", path);
    }
    if (out->size - before > (size_t)max_bytes) {
        out->size = before;
        return cra_error_set(err, CRA_INVALID, "file", "'%.300s' is larger than %lld bytes", path,
                             (long long)max_bytes);
    }
    return CRA_OK;
}

/* Append the folder of `path`: "." where it has no `/`, "/" where that is the only one. */
static cra_status append_folder(cra_buf *out, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        return cra_buf_append_str(out, ".");
    return cra_buf_append(out, path, slash == path ? 1 : (size_t)(slash - path));
}

static cra_status no_memory(cra_error *err, const char *path)
{
    return cra_error_set(err, CRA_NOMEM, "file", "out of memory while writing '%.300s'", path);
}

static cra_status sync_folder_of(const char *path, const cra_allocator *allocator, cra_error *err)
{
    cra_buf folder;
    cra_buf_init(&folder, allocator);

    cra_status status = append_folder(&folder, path);
    const char *name = status == CRA_OK ? cra_buf_cstr(&folder) : NULL;
    status = name == NULL ? no_memory(err, path) : cra_folder_sync(name, err);
    cra_buf_cleanup(&folder);
    return status;
}

/* @return 0 or the errno of the step that failed; the temporary is gone then */
static int write_temporary(const char *temporary, cra_bytes content, unsigned mode)
{
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
    if (fd < 0)
        return errno;

    int code = cra_fd_write(fd, content.data, content.size);
    if (code == 0 && fsync(fd) != 0)
        code = errno;
    if (close(fd) != 0 && code == 0)
        code = errno;
    if (code != 0)
        unlink(temporary);
    return code;
}

cra_status cra_file_write_atomic(const char *path, cra_bytes content, unsigned mode, const cra_allocator *allocator,
                                 cra_error *err)
{
    char random[17];
    const cra_status status = cra_os_random_hex(random, 8, err);
    if (status != CRA_OK)
        return status;

    /* In the same folder, so that the rename stays on one file system. */
    cra_buf temporary;
    cra_buf_init(&temporary, allocator);
    const char *name = NULL;
    if (cra_buf_appendf(&temporary, "%s.%s.tmp", path, random) == CRA_OK)
        name = cra_buf_cstr(&temporary);
    if (name == NULL) {
        cra_buf_cleanup(&temporary);
        return no_memory(err, path);
    }

    int code = write_temporary(name, content, mode);
    if (code == 0 && rename(name, path) != 0) {
        code = errno;
        unlink(name);
    }
    cra_buf_cleanup(&temporary);
    return code != 0 ? cra_file_error(err, code, "write", path) : sync_folder_of(path, allocator, err);
}

cra_status cra_folder_sync(const char *path, cra_error *err)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return cra_file_error(err, errno, "open the folder", path);

    /* EINVAL: a file system that has nothing to sync in a folder. */
    const int code = fsync(fd) != 0 && errno != EINVAL ? errno : 0;
    close(fd);
    return code == 0 ? CRA_OK : cra_file_error(err, code, "sync the folder", path);
}

static cra_status make_one(const char *path, const cra_allocator *allocator, cra_error *err)
{
    if (mkdir(path, 0777) == 0)
        return sync_folder_of(path, allocator, err);

    struct stat status;
    const int code = errno;
    /* Also where it stands and may not be made anew: a read-only or foreign parent. */
    if (stat(path, &status) == 0)
        return S_ISDIR(status.st_mode) ? CRA_OK : cra_file_error(err, ENOTDIR, "make the folder", path);
    return cra_file_error(err, code, "make the folder", path);
}

cra_status cra_folder_make(const char *path, const cra_allocator *allocator, cra_error *err)
{
    char *copy = cra_strdup(allocator, path);
    if (copy == NULL)
        return no_memory(err, path);

    cra_status status = CRA_OK;
    for (char *slash = strchr(copy + (*copy == '/'), '/'); slash != NULL && status == CRA_OK;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        status = make_one(copy, allocator, err);
        *slash = '/';
    }
    if (status == CRA_OK)
        status = make_one(copy, allocator, err);
    cra_free(allocator, copy);
    return status;
}

cra_status cra_spool_open(const char *folder, unsigned flags, const cra_allocator *allocator, cra_spool *out,
                          cra_error *err)
{
    const char *chosen = folder != NULL ? folder : getenv("TMPDIR");
    char random[17];

    *out = (cra_spool){-1, NULL, allocator};
    if (chosen == NULL || *chosen == '\0')
        chosen = "/tmp";
    const cra_status status = cra_os_random_hex(random, 8, err);
    if (status != CRA_OK)
        return status;

    cra_buf path;
    cra_buf_init(&path, allocator);
    if (cra_buf_appendf(&path, "%s/crawlarchive-%s.spool", chosen, random) == CRA_OK)
        out->path = cra_buf_detach_cstr(&path);
    cra_buf_cleanup(&path);
    if (out->path == NULL)
        return no_memory(err, chosen);

    out->fd = open(out->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out->fd < 0) {
        const int code = errno;
        const cra_status failure = cra_file_error(err, code, "make the spool file", out->path);
        cra_error_hint(err, "point TMPDIR at a folder that can be written");
        cra_spool_close(out);
        return failure;
    }
    if ((flags & CRA_SPOOL_NAMED) == 0) {
        unlink(out->path);
        cra_free(allocator, out->path);
        out->path = NULL;
    }
    return CRA_OK;
}

void cra_spool_close(cra_spool *spool)
{
    if (spool->fd >= 0)
        close(spool->fd);
    spool->fd = -1;
    cra_free(spool->allocator, spool->path);
    spool->path = NULL;
}

void cra_spool_remove(cra_spool *spool)
{
    if (spool->path != NULL)
        unlink(spool->path);
    cra_spool_close(spool);
}
