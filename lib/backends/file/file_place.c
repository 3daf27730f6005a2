/* SPDX-License-Identifier: Apache-2.0 */

/* From a name to an open folder. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/file/file_store.h"

/* A folder that we just saw may be removed, empty, by another process; as often as this we begin again. */
#define MAX_RACES 16

cra_status cra_file_store_error(const cra_file_store *store, int errno_value, const char *verb, const char *name,
                                cra_error *err)
{
    char text[96];
    const cra_status status = cra_status_from_errno(errno_value);

    if (strerror_r(errno_value, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", errno_value);
    cra_error_set_native(err, status, errno_value, CRA_FILE_ORIGIN, "cannot %s '%.200s' in %.200s: %s", verb, name,
                         store->root, text);
    if (errno_value == ENOSPC || errno_value == EDQUOT)
        cra_error_hint(err, "free space on the file system of %.100s, then run again", store->root);
    else if (errno_value == EMFILE || errno_value == ENFILE)
        cra_error_hint(err, "raise the limit of open files (ulimit -n)");
    else if (errno_value == ENAMETOOLONG)
        cra_error_hint(err, "this file system takes at most %d bytes between two '/'", NAME_MAX);
    return status;
}

/* Why a segment could not be opened as a folder. */
static cra_status folder_error(const cra_file_store *store, int parent, const char *segment, int code, bool create,
                               const char *name, cra_error *err)
{
    struct stat status;

    if ((code == ENOTDIR || code == ELOOP) && fstatat(parent, segment, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISLNK(status.st_mode))
            return cra_error_set_native(err, CRA_DENIED, code, CRA_FILE_ORIGIN,
                                        "'%.100s' on the way to '%.200s' in %.150s is a symbolic link, which is not "
                                        "followed",
                                        segment, name, store->root);
        if (create)
            return cra_error_set_native(err, CRA_UNSUPPORTED, code, CRA_FILE_ORIGIN,
                                        "'%.200s' in %.150s needs the folder '%.100s', but an object has that name",
                                        name, store->root, segment);
    }
    return cra_file_store_error(store, code, "find", name, err);
}

/* Make and open one folder; its entry is durable on return, also where another process made it just now and has
 * not come to that yet. @return the descriptor, or -1 with errno */
static int make_folder(int parent, const char *segment)
{
    if (mkdirat(parent, segment, 0777) != 0 && errno != EEXIST)
        return -1;
    if (fsync(parent) != 0 && errno != EINVAL)
        return -1;
    return openat(parent, segment, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* One segment further: closes `parent`. @return the descriptor, or -1 with `*status` */
static int step(const cra_file_store *store, int parent, const char *segment, bool create, const char *name,
                cra_status *status, cra_error *err)
{
    int next = openat(parent, segment, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (next < 0 && errno == ENOENT && create)
        next = make_folder(parent, segment);
    if (next < 0)
        *status = folder_error(store, parent, segment, errno, create, name, err);
    close(parent);
    return next;
}

static cra_status walk(const cra_file_store *store, const char *name, bool create, cra_file_place *out, cra_error *err)
{
    cra_status status = CRA_OK;
    const char *rest = name;

    out->folder_fd = fcntl(store->root_fd, F_DUPFD_CLOEXEC, 0);
    if (out->folder_fd < 0)
        return cra_file_store_error(store, errno, "find", name, err);
    for (const char *slash = strchr(rest, '/'); slash != NULL; slash = strchr(rest, '/')) {
        char segment[NAME_MAX + 1];
        const size_t size = (size_t)(slash - rest);
        if (size >= sizeof segment) {
            close(out->folder_fd);
            return cra_file_store_error(store, ENAMETOOLONG, "find", name, err);
        }
        memcpy(segment, rest, size);
        segment[size] = '\0';
        out->folder_fd = step(store, out->folder_fd, segment, create, name, &status, err);
        if (out->folder_fd < 0)
            return status;
        rest = slash + 1;
    }
    out->base = rest;
    return CRA_OK;
}

cra_status cra_file_place_open(const cra_file_store *store, const char *name, bool create, cra_file_place *out,
                               cra_error *err)
{
    cra_error attempt = {0};
    cra_status status = CRA_OK;

    for (int i = 0; i < MAX_RACES; i++) {
        status = walk(store, name, create, out, &attempt);
        if (!create || status != CRA_NOT_FOUND)
            break;
    }
    if (status != CRA_OK && err != NULL)
        *err = attempt;
    return status;
}

void cra_file_info(const struct stat *status, cra_blob_info *out)
{
    const int64_t seconds = (int64_t)status->st_mtim.tv_sec;
    const long nanoseconds = status->st_mtim.tv_nsec;

    out->size_bytes = (int64_t)status->st_size;
    out->modified_at = seconds * 1000 + nanoseconds / 1000000;
    snprintf(out->etag, sizeof out->etag, "%llx.%lx-%llx-%llx", (unsigned long long)seconds, (unsigned long)nanoseconds,
             (unsigned long long)status->st_size, (unsigned long long)status->st_ino);
    out->frozen = false;
}
