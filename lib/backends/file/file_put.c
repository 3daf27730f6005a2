/* SPDX-License-Identifier: Apache-2.0 */

/* Writing: a temporary beside the object, made durable, then given the object's name in one step. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backends/file/file_store.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "os/file.h"

typedef struct writer {
    char *name;       /* of the object */
    const char *base; /* its last segment */
    cra_buf temporary;
    unsigned flags;
    int folder_fd;
    int fd;
} writer;

static void free_writer(const cra_file_store *store, writer *w)
{
    if (w->fd >= 0)
        close(w->fd);
    if (w->folder_fd >= 0)
        close(w->folder_fd);
    cra_buf_cleanup(&w->temporary);
    cra_free(store->allocator, w->name);
    cra_free(store->allocator, w);
}

static const char *temporary(const writer *w)
{
    return (const char *)w->temporary.data;
}

/* Give up: nothing is left behind. */
static void discard(const cra_file_store *store, writer *w)
{
    if (w->fd >= 0)
        unlinkat(w->folder_fd, temporary(w), 0);
    free_writer(store, w);
}

/* Open the temporary of `w`, whose name is set. */
static cra_status open_temporary(const cra_file_store *store, writer *w, const char *tag, cra_error *err)
{
    for (int attempt = 0;; attempt++) {
        cra_file_place place = {-1, NULL};
        cra_status status = cra_file_place_open(store, w->name, true, &place, err);
        if (status != CRA_OK)
            return status;
        w->folder_fd = place.folder_fd;
        w->base = place.base;
        cra_buf_clear(&w->temporary);
        status = cra_file_temporary_name(w->base, tag, &w->temporary, err);
        if (status != CRA_OK)
            return status;
        if (cra_buf_cstr(&w->temporary) == NULL)
            return cra_error_set(err, CRA_NOMEM, CRA_FILE_ORIGIN, "out of memory while writing '%.200s'", w->name);

        w->fd = openat(w->folder_fd, temporary(w), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (w->fd >= 0)
            return CRA_OK;
        /* ENOENT: the folder, still empty, was removed under us by another process. */
        if (errno != ENOENT || attempt == 16)
            return cra_file_store_error(store, errno, "write", w->name, err);
        close(w->folder_fd);
        w->folder_fd = -1;
    }
}

cra_status cra_file_put_open(void *self, const char *name, unsigned flags, const char *tag, void **out, cra_error *err)
{
    const cra_file_store *store = self;
    const char *slash = strrchr(name, '/');

    if (store->read_only)
        return cra_file_store_error(store, EROFS, "write", name, err);
    if (cra_file_is_temporary(slash != NULL ? slash + 1 : name))
        return cra_error_set(err, CRA_INVALID, CRA_FILE_ORIGIN, "'%.300s' is a name for temporaries", name);

    writer *w = cra_calloc(store->allocator, 1, sizeof *w);
    if (w == NULL)
        return cra_error_set(err, CRA_NOMEM, CRA_FILE_ORIGIN, "out of memory while writing '%.200s'", name);
    w->fd = -1;
    w->folder_fd = -1;
    w->flags = flags;
    cra_buf_init(&w->temporary, store->allocator);
    w->name = cra_strdup(store->allocator, name);
    const cra_status status =
        w->name == NULL ? cra_error_set(err, CRA_NOMEM, CRA_FILE_ORIGIN, "out of memory while writing '%.200s'", name)
                        : open_temporary(store, w, tag, err);
    if (status != CRA_OK) {
        free_writer(store, w);
        return status;
    }
    *out = w;
    return CRA_OK;
}

cra_status cra_file_put_write(void *self, void *opaque, cra_bytes bytes, cra_error *err)
{
    const cra_file_store *store = self;
    writer *w = opaque;
    const int code = cra_fd_write(w->fd, bytes.data, bytes.size);

    return code == 0 ? CRA_OK : cra_file_store_error(store, code, "write", w->name, err);
}

/* Make the bytes durable. The time is set from the precise clock: the kernel's own stamp moves in steps of some
 * milliseconds, in which a name could be replaced twice, by the same size and, re-used, the same inode. */
static int settle(writer *w, cra_blob_info *out)
{
    struct timespec now[2];
    struct stat status;

    clock_gettime(CLOCK_REALTIME, &now[0]);
    now[1] = now[0];
    if (futimens(w->fd, now) != 0 || fsync(w->fd) != 0 || fstat(w->fd, &status) != 0)
        return errno;
    cra_file_info(&status, out);
    return 0;
}

/* Give the temporary its name. */
static int publish(const writer *w)
{
    if ((w->flags & CRA_PUT_IF_ABSENT) == 0)
        return renameat(w->folder_fd, temporary(w), w->folder_fd, w->base) == 0 ? 0 : errno;
    /* Unlike rename, link refuses a name that is taken. */
    if (linkat(w->folder_fd, temporary(w), w->folder_fd, w->base, 0) != 0)
        return errno;
    unlinkat(w->folder_fd, temporary(w), 0);
    return 0;
}

static cra_status publish_error(const cra_file_store *store, const writer *w, int code, cra_error *err)
{
    if (code == EEXIST)
        return cra_error_set_native(err, CRA_EXISTS, code, CRA_FILE_ORIGIN, "'%.250s' is already in %.200s", w->name,
                                    store->root);
    if (code == EISDIR || code == ENOTEMPTY)
        return cra_error_set_native(err, CRA_UNSUPPORTED, code, CRA_FILE_ORIGIN,
                                    "'%.250s' is a folder in %.200s, because other objects lie below that name",
                                    w->name, store->root);
    if ((w->flags & CRA_PUT_IF_ABSENT) != 0 && (code == EPERM || code == EOPNOTSUPP))
        return cra_error_set_native(err, CRA_UNSUPPORTED, code, CRA_FILE_ORIGIN,
                                    "the file system of %.200s has no hard links, which '%.200s' needs to be written "
                                    "only where it is absent",
                                    store->root, w->name);
    return cra_file_store_error(store, code, "commit", w->name, err);
}

cra_status cra_file_put_commit(void *self, void *opaque, cra_blob_info *out, cra_error *err)
{
    const cra_file_store *store = self;
    writer *w = opaque;
    cra_status status = CRA_OK;

    int code = settle(w, out);
    if (code != 0) {
        status = cra_file_store_error(store, code, "write", w->name, err);
        discard(store, w);
        return status;
    }
    code = publish(w);
    if (code != 0) {
        status = publish_error(store, w, code, err);
        discard(store, w);
        return status;
    }
    if (fsync(w->folder_fd) != 0 && errno != EINVAL) {
        status = cra_file_store_error(store, errno, "commit", w->name, err);
        /* Where nothing was replaced it can be taken back. */
        if ((w->flags & CRA_PUT_IF_ABSENT) != 0)
            unlinkat(w->folder_fd, w->base, 0);
    }
    free_writer(store, w);
    return status;
}

void cra_file_put_abort(void *self, void *opaque)
{
    if (opaque != NULL)
        discard(self, opaque);
}
