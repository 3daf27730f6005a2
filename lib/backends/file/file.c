/* SPDX-License-Identifier: Apache-2.0 */

/* Opening, reading and removing; the vtable and the backend. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backends/file/file_store.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/uri.h"
#include "os/file.h"

extern const cra_backend cra_backend_file;

static cra_status not_found(const cra_file_store *store, const char *name, cra_error *err)
{
    return cra_error_set_native(err, CRA_NOT_FOUND, ENOENT, CRA_FILE_ORIGIN, "no object '%.250s' in %.200s", name,
                                store->root);
}

/* Open an object for reading. @return its descriptor, or -1 with `*status` */
static int open_object(const cra_file_store *store, const char *name, struct stat *found, cra_status *status,
                       cra_error *err)
{
    cra_file_place place = {-1, NULL};

    *status = cra_file_place_open(store, name, false, &place, err);
    if (*status == CRA_NOT_FOUND)
        *status = not_found(store, name, err);
    if (*status != CRA_OK)
        return -1;

    /* Without O_NONBLOCK a named pipe in the folder would hold us for ever. */
    int fd = openat(place.folder_fd, place.base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int code = fd < 0 ? errno : 0;
    close(place.folder_fd);
    if (fd >= 0 && fstat(fd, found) != 0)
        code = errno;
    if (fd >= 0 && code == 0 && (!S_ISREG(found->st_mode) || cra_file_is_temporary(place.base)))
        code = ENOENT;
    if (code == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    if (code == ENOENT)
        *status = not_found(store, name, err);
    else if (code == ELOOP)
        *status =
            cra_error_set_native(err, CRA_DENIED, code, CRA_FILE_ORIGIN,
                                 "'%.250s' in %.150s is a symbolic link, which is not followed", name, store->root);
    else
        *status = cra_file_store_error(store, code, "open", name, err);
    return -1;
}

static cra_status file_stat(void *self, const char *name, cra_blob_info *out, cra_error *err)
{
    const cra_file_store *store = self;
    struct stat found;
    cra_status status;
    const int fd = open_object(store, name, &found, &status, err);

    if (fd < 0)
        return status;
    close(fd);
    cra_file_info(&found, out);
    return CRA_OK;
}

static bool has_etag(const struct stat *found, const char *etag)
{
    cra_blob_info info = CRA_BLOB_INFO_INIT;

    cra_file_info(found, &info);
    return strcmp(info.etag, etag) == 0;
}

/* Read from an open object. An object that we replace is another inode, but one that others write in place may
 * change while we read: hence the second look. */
static cra_status read_range(const cra_file_store *store, int fd, const struct stat *found, const char *name,
                             int64_t offset, int64_t length, const char *etag, cra_buf *out, cra_error *err)
{
    struct stat after;
    const int64_t there = found->st_size > offset ? (int64_t)found->st_size - offset : 0;

    if (etag != NULL && !has_etag(found, etag))
        return cra_error_set(err, CRA_CONFLICT, CRA_FILE_ORIGIN, "'%.250s' in %.150s is another version", name,
                             store->root);
    /* In one piece, where it is as large as it was. */
    if (cra_buf_reserve(out, (size_t)(there < length ? there : length)) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, CRA_FILE_ORIGIN, "out of memory while reading '%.200s'", name);
    const int code = cra_fd_pread(fd, offset, (size_t)(there < length ? there : length), out);
    if (code != 0)
        return cra_file_store_error(store, code, "read", name, err);
    if (etag != NULL && (fstat(fd, &after) != 0 || !has_etag(&after, etag)))
        return cra_error_set(err, CRA_CONFLICT, CRA_FILE_ORIGIN, "'%.250s' in %.150s changed while it was read", name,
                             store->root);
    return CRA_OK;
}

static cra_status file_read(void *self, const char *name, int64_t offset, int64_t length, const char *etag,
                            cra_buf *out, cra_error *err)
{
    const cra_file_store *store = self;
    struct stat found;
    cra_status status;
    const int fd = open_object(store, name, &found, &status, err);

    if (fd < 0)
        return status;
    status = read_range(store, fd, &found, name, offset, length, etag, out, err);
    close(fd);
    return status;
}

/* Remove one file of a folder and make that durable; already gone is success. */
static cra_status remove_entry(const cra_file_store *store, int folder, const char *base, const char *name,
                               cra_error *err)
{
    struct stat found;

    /* A folder, a pipe or a link is no object: there is nothing of that name. */
    if (fstatat(folder, base, &found, AT_SYMLINK_NOFOLLOW) == 0) {
        if (!S_ISREG(found.st_mode))
            return CRA_OK;
        if (unlinkat(folder, base, 0) != 0 && errno != ENOENT)
            return cra_file_store_error(store, errno, "remove", name, err);
    } else if (errno != ENOENT) {
        return cra_file_store_error(store, errno, "remove", name, err);
    }
    /* Also where it was gone: whoever removed it may have died before this. */
    if (fsync(folder) != 0 && errno != EINVAL)
        return cra_file_store_error(store, errno, "remove", name, err);
    return CRA_OK;
}

/* Folders are no objects: those that the removal left empty go, as far up as they are. Best effort; cuts `path`. */
static void prune_folders(const cra_file_store *store, char *path)
{
    for (char *slash = strrchr(path, '/'); slash != NULL; slash = strrchr(path, '/')) {
        cra_file_place place = {-1, NULL};
        *slash = '\0';
        if (cra_file_place_open(store, path, false, &place, NULL) != CRA_OK)
            return;
        const int removed = unlinkat(place.folder_fd, place.base, AT_REMOVEDIR);
        close(place.folder_fd);
        if (removed != 0)
            return;
    }
}

/* Remove what stands under `name`; `base`: the entry's name where that is not the last segment of it, else NULL. */
static cra_status remove_name(const cra_file_store *store, const char *name, const char *base, cra_error *err)
{
    cra_file_place place = {-1, NULL};
    cra_error missing = {0};
    cra_status status = cra_file_place_open(store, name, false, &place, &missing);

    if (status == CRA_NOT_FOUND)
        return CRA_OK;
    if (status != CRA_OK) {
        if (err != NULL)
            *err = missing;
        return status;
    }
    char *path = cra_strdup(store->allocator, name);
    if (path == NULL)
        status = cra_error_set(err, CRA_NOMEM, CRA_FILE_ORIGIN, "out of memory while removing '%.200s'", name);
    else
        status = remove_entry(store, place.folder_fd, base != NULL ? base : place.base, name, err);
    close(place.folder_fd);
    if (status == CRA_OK)
        prune_folders(store, path);
    cra_free(store->allocator, path);
    return status;
}

static cra_status file_remove(void *self, const char *name, cra_error *err)
{
    const cra_file_store *store = self;
    const char *slash = strrchr(name, '/');

    if (store->read_only)
        return cra_file_store_error(store, EROFS, "remove", name, err);
    if (cra_file_is_temporary(slash != NULL ? slash + 1 : name))
        return CRA_OK; /* no object has such a name */
    return remove_name(store, name, NULL, err);
}

cra_status cra_file_upload_abort(void *self, const char *token, cra_error *err)
{
    const cra_file_store *store = self;
    const char *slash = strrchr(token, '/');
    cra_buf base;

    if (store->read_only)
        return cra_file_store_error(store, EROFS, "remove", token, err);
    cra_buf_init(&base, store->allocator);
    const char *text = NULL;
    if (cra_buf_appendf(&base, ".%s", slash != NULL ? slash + 1 : token) == CRA_OK)
        text = cra_buf_cstr(&base);

    cra_status status;
    if (text == NULL)
        status = cra_error_set(err, CRA_NOMEM, CRA_FILE_ORIGIN, "out of memory while removing '%.200s'", token);
    else if (!cra_file_is_temporary(text) || strstr(token, "//") != NULL || token[0] == '/' ||
             strncmp(token, "../", 3) == 0 || strstr(token, "/../") != NULL)
        status = cra_error_set(err, CRA_INVALID, CRA_FILE_ORIGIN, "'%.250s' is no upload of this store", token);
    else
        status = remove_name(store, token, text, err);
    cra_buf_cleanup(&base);
    return status;
}

static void file_close(void *self)
{
    cra_file_store *store = self;

    if (store->root_fd >= 0)
        close(store->root_fd);
    cra_free(store->allocator, store->root);
    cra_free(store->allocator, store);
}

static const cra_blobstore_vtable file_vtable = {
    .struct_size = sizeof(cra_blobstore_vtable),
    .features = CRA_BLOBSTORE_IF_ABSENT | CRA_BLOBSTORE_UPLOADS,
    .close = file_close,
    .list = cra_file_list,
    .stat = file_stat,
    .read = file_read,
    .put_open = cra_file_put_open,
    .put_write = cra_file_put_write,
    .put_commit = cra_file_put_commit,
    .put_abort = cra_file_put_abort,
    .remove = file_remove,
    .upload_list = cra_file_upload_list,
    .upload_abort = cra_file_upload_abort,
    .thaw = NULL,
};

/* The root's path from the URI: file:PATH, file:///PATH, file://localhost/PATH. */
static cra_status root_of(const cra_open_args *args, cra_file_store *store, cra_error *err)
{
    cra_uri uri;
    cra_status status = cra_uri_parse(args->uri, store->allocator, &uri, err);

    if (status == CRA_OK)
        status = cra_uri_check_params(&uri, NULL, 0, err);
    if (status == CRA_OK && uri.authority != NULL && uri.authority[0] != '\0' &&
        strcmp(uri.authority, "localhost") != 0)
        status = cra_error_set(err, CRA_INVALID, CRA_FILE_ORIGIN,
                               "file://%.100s names a host; write file:PATH or file:///PATH", uri.authority);
    if (status == CRA_OK && uri.path[0] == '\0')
        status = cra_error_set(err, CRA_INVALID, CRA_FILE_ORIGIN, "file: needs the path of a folder");
    if (status == CRA_OK) {
        store->root = cra_strdup(store->allocator, uri.path);
        if (store->root == NULL)
            status = cra_error_set(err, CRA_NOMEM, CRA_FILE_ORIGIN, "out of memory while opening a folder");
    }
    cra_uri_cleanup(&uri);
    return status;
}

static cra_status open_root(cra_file_store *store, unsigned flags, cra_error *err)
{
    cra_status status = CRA_OK;

    if ((flags & CRA_OPEN_CREATE) != 0 && !store->read_only)
        status = cra_folder_make(store->root, store->allocator, err);
    if (status != CRA_OK)
        return status;
    store->root_fd = open(store->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store->root_fd >= 0)
        return CRA_OK;

    const int code = errno;
    if (code == ENOTDIR)
        return cra_error_set_native(err, CRA_INVALID, code, CRA_FILE_ORIGIN, "'%.300s' is not a folder", store->root);
    status = cra_file_error(err, code, "open the folder", store->root);
    if (code == ENOENT)
        cra_error_hint(err, "make that folder, or let `crawlarchive init` make it");
    return status;
}

static cra_status file_open(const cra_open_args *args, const cra_blobstore_vtable **vtable, void **self, cra_error *err)
{
    const cra_allocator *allocator = cra_context_allocator(args->context);
    cra_file_store *store = cra_calloc(allocator, 1, sizeof *store);

    if (store == NULL)
        return cra_error_set(err, CRA_NOMEM, CRA_FILE_ORIGIN, "out of memory while opening a folder");
    store->allocator = allocator;
    store->root_fd = -1;
    store->read_only = (args->flags & CRA_OPEN_READ_ONLY) != 0;

    cra_status status = root_of(args, store, err);
    if (status == CRA_OK)
        status = open_root(store, args->flags, err);
    if (status != CRA_OK) {
        file_close(store);
        return status;
    }
    *vtable = &file_vtable;
    *self = store;
    return CRA_OK;
}

const cra_backend cra_backend_file = {
    .struct_size = sizeof(cra_backend),
    .abi_version = CRA_ABI_VERSION,
    .scheme = "file",
    .description = "archive in a folder of this machine",
    .open_blobstore = file_open,
};
