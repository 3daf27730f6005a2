/* SPDX-License-Identifier: Apache-2.0 */

/* Listing in byte order of whole names, one folder's names in memory at a time. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/file/file_store.h"
#include "base/alloc.h"
#include "base/buf.h"

/* Entries of one folder. A folder's key ends in '/', as it stands in the names below it: so `a.b` comes before
 * `a/b`, and `a0` behind it. */
typedef struct folder_keys {
    char **keys;
    size_t count;
    size_t capacity;
} folder_keys;

typedef struct listing {
    const cra_file_store *store;
    const char *prefix;
    bool temporaries; /* visit those, and nothing else */
    cra_blob_visit_fn visit;
    void *user;
    cra_error *err;
    cra_buf path; /* from the root to the folder that is walked: "" or "a/b/" */
} listing;

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_keys(const cra_allocator *allocator, folder_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        cra_free(allocator, keys->keys[i]);
    cra_free(allocator, keys->keys);
}

static cra_status no_memory(const listing *l)
{
    return cra_error_set(l->err, CRA_NOMEM, CRA_FILE_ORIGIN, "out of memory while listing %.200s", l->store->root);
}

static const char *path_text(listing *l)
{
    const char *text = cra_buf_cstr(&l->path);

    return text != NULL ? text : "";
}

/* Whether an entry is a folder (1), a file (0) or nothing that concerns us (-1). */
static int kind_of(int folder, const struct dirent *entry)
{
    if (entry->d_type == DT_DIR)
        return 1;
    if (entry->d_type == DT_REG)
        return 0;
    if (entry->d_type != DT_UNKNOWN)
        return -1;

    struct stat status;
    if (fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    return S_ISDIR(status.st_mode) ? 1 : S_ISREG(status.st_mode) ? 0 : -1;
}

/* Whether `key` fits what the prefix still asks for in the walked folder. The walk began at the deepest folder that
 * the prefix names, so there is at most a part of one segment, and below the first level nothing. */
static bool may_match(const listing *l, const char *key)
{
    const size_t prefix_size = strlen(l->prefix);

    return prefix_size <= l->path.size || strncmp(key, l->prefix + l->path.size, prefix_size - l->path.size) == 0;
}

static cra_status add_key(const listing *l, folder_keys *keys, const char *name, bool folder)
{
    const cra_allocator *allocator = l->store->allocator;
    const size_t size = strlen(name);
    char *key = cra_malloc(allocator, size + 2);

    if (key == NULL)
        return CRA_NOMEM;
    memcpy(key, name, size);
    key[size] = folder ? '/' : '\0';
    key[size + 1] = '\0';

    /* A temporary's key is its token: the object's name comes first. */
    const bool temporary = !folder && cra_file_is_temporary(name);
    if (temporary)
        memmove(key, key + 1, size);
    if ((!folder && temporary != l->temporaries) || !may_match(l, key)) {
        cra_free(allocator, key);
        return CRA_OK;
    }
    if (cra_array_grow(allocator, (void **)&keys->keys, &keys->capacity, keys->count + 1, sizeof(char *)) != CRA_OK) {
        cra_free(allocator, key);
        return CRA_NOMEM;
    }
    keys->keys[keys->count++] = key;
    return CRA_OK;
}

static cra_status read_keys(listing *l, int folder, folder_keys *keys)
{
    /* Opened anew: a duplicate would share its position with every other reader of the root's descriptor. */
    const int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = own >= 0 ? fdopendir(own) : NULL;
    if (stream == NULL) {
        const int code = errno;
        if (own >= 0)
            close(own);
        return cra_file_store_error(l->store, code, "list", path_text(l), l->err);
    }

    cra_status status = CRA_OK;
    while (status == CRA_OK) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (entry == NULL) {
            if (errno != 0)
                status = cra_file_store_error(l->store, errno, "list", path_text(l), l->err);
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        const int kind = kind_of(folder, entry);
        if (kind >= 0 && add_key(l, keys, entry->d_name, kind == 1) != CRA_OK)
            status = no_memory(l);
    }
    closedir(stream);
    if (status == CRA_OK && keys->count > 1)
        qsort(keys->keys, keys->count, sizeof(char *), compare_keys);
    return status;
}

/* The status of a key's file. @return false where it is gone since the folder was read, and so no object any more */
static bool stat_file(const listing *l, int folder, const char *key, struct stat *out)
{
    char hidden[NAME_MAX + 2];

    if (l->temporaries)
        snprintf(hidden, sizeof hidden, ".%s", key);
    return fstatat(folder, l->temporaries ? hidden : key, out, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(out->st_mode);
}

static cra_status visit_file(listing *l, int folder, const char *key)
{
    struct stat status;
    cra_blob_info info = CRA_BLOB_INFO_INIT;

    if (!stat_file(l, folder, key, &status))
        return CRA_OK;
    cra_file_info(&status, &info);

    const size_t before = l->path.size;
    if (cra_buf_append_str(&l->path, key) != CRA_OK || cra_buf_cstr(&l->path) == NULL)
        return no_memory(l);
    const cra_status visited = l->visit(l->user, (const char *)l->path.data, &info);
    l->path.size = before;
    return visited;
}

static cra_status walk_folder(listing *l, int folder, int depth);

/* `key` ends in '/'. */
static cra_status walk_below(listing *l, int folder, char *key, int depth)
{
    const size_t size = strlen(key);
    const size_t before = l->path.size;

    if (cra_buf_append(&l->path, key, size) != CRA_OK)
        return no_memory(l);
    if (depth >= CRA_FILE_MAX_DEPTH)
        return cra_error_set(l->err, CRA_UNSUPPORTED, CRA_FILE_ORIGIN, "'%.200s' in %.150s lies deeper than %d folders",
                             path_text(l), l->store->root, CRA_FILE_MAX_DEPTH);
    key[size - 1] = '\0';
    const int below = openat(folder, key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int code = errno;
    key[size - 1] = '/';

    cra_status status = CRA_OK;
    if (below >= 0) {
        status = walk_folder(l, below, depth + 1);
        close(below);
    } else if (code != ENOENT && code != ENOTDIR && code != ELOOP) {
        /* A folder that may not be read would make the listing look complete when it is not. */
        status = cra_file_store_error(l->store, code, "list", path_text(l), l->err);
    }
    l->path.size = before;
    return status;
}

static cra_status walk_folder(listing *l, int folder, int depth)
{
    folder_keys keys = {NULL, 0, 0};
    cra_status status = read_keys(l, folder, &keys);

    for (size_t i = 0; i < keys.count && status == CRA_OK; i++) {
        char *key = keys.keys[i];
        status = key[strlen(key) - 1] == '/' ? walk_below(l, folder, key, depth) : visit_file(l, folder, key);
    }
    free_keys(l->store->allocator, &keys);
    return status;
}

static cra_status list(cra_file_store *store, const char *prefix, bool temporaries, cra_blob_visit_fn visit, void *user,
                       cra_error *err)
{
    listing l = {store, prefix, temporaries, visit, user, err, {NULL, 0, 0, NULL}};
    cra_file_place place = {-1, NULL};

    /* From the deepest folder that the prefix names, not from the root. */
    cra_error missing = {0};
    cra_status status = cra_file_place_open(store, prefix, false, &place, &missing);
    if (status == CRA_NOT_FOUND)
        return CRA_OK;
    if (status != CRA_OK) {
        if (err != NULL)
            *err = missing;
        return status;
    }
    cra_buf_init(&l.path, store->allocator);
    if (cra_buf_append(&l.path, prefix, (size_t)(place.base - prefix)) != CRA_OK)
        status = no_memory(&l);
    else
        status = walk_folder(&l, place.folder_fd, 0);
    cra_buf_cleanup(&l.path);
    close(place.folder_fd);
    return status;
}

cra_status cra_file_list(void *self, const char *prefix, cra_blob_visit_fn visit, void *user, cra_error *err)
{
    return list(self, prefix, false, visit, user, err);
}

cra_status cra_file_upload_list(void *self, const char *prefix, cra_blob_visit_fn visit, void *user, cra_error *err)
{
    return list(self, prefix, true, visit, user, err);
}
