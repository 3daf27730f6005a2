/* SPDX-License-Identifier: Apache-2.0 */
#include "log_store.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log_file.h"

/* What is in the log now: one entry a name, in byte order. */
typedef struct entry {
    char *name;
    int64_t offset; /* of the content; never used twice, hence the etag */
    int64_t size;
    cra_time_ms time;
} entry;

typedef struct log_store {
    cra_context *context;
    const cra_allocator *allocator;
    char *path;
    int fd;
    bool read_only;
    int64_t end; /* of the log */
    pthread_mutex_t lock;
    entry *entries;
    size_t count;
    size_t capacity;
} log_store;

typedef struct writer {
    char *name;
    unsigned flags;
    cra_buf content;
} writer;

/* ---- memory: always through the context ---- */

static void *allocate(const log_store *store, size_t size)
{
    return store->allocator->malloc_fn(store->allocator->user, size);
}

static void release(const log_store *store, void *memory)
{
    if (memory != NULL)
        store->allocator->free_fn(store->allocator->user, memory);
}

static char *copy_text(const log_store *store, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = allocate(store, size);

    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

static cra_status no_memory(cra_error *err, const char *name)
{
    return cra_error_set(err, CRA_NOMEM, "log", "out of memory at object '%.250s'", name);
}

static cra_status not_found(cra_error *err, const char *name)
{
    return cra_error_set(err, CRA_NOT_FOUND, "log", "no object '%.250s'", name);
}

/* ---- the index; the lock is held ---- */

static size_t lower_bound(const log_store *store, const char *name)
{
    size_t low = 0;
    size_t high = store->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(store->entries[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static entry *find(const log_store *store, const char *name)
{
    const size_t at = lower_bound(store, name);

    return at < store->count && strcmp(store->entries[at].name, name) == 0 ? &store->entries[at] : NULL;
}

static void forget(log_store *store, const char *name)
{
    entry *e = find(store, name);

    if (e == NULL)
        return;
    const size_t at = (size_t)(e - store->entries);
    release(store, e->name);
    memmove(e, e + 1, (store->count - at - 1) * sizeof *e);
    store->count--;
}

/* Make room for one more entry, so that what follows a durable append cannot fail. */
static cra_status reserve(log_store *store)
{
    if (store->count < store->capacity)
        return CRA_OK;
    const size_t capacity = store->capacity == 0 ? 16 : 2 * store->capacity;
    entry *grown = store->allocator->realloc_fn(store->allocator->user, store->entries, capacity * sizeof *grown);
    if (grown == NULL)
        return CRA_NOMEM;
    store->entries = grown;
    store->capacity = capacity;
    return CRA_OK;
}

/* Enter a record; takes `name`. reserve() came before. */
static entry *enter(log_store *store, char *name, const log_record *record)
{
    forget(store, name);
    const size_t at = lower_bound(store, name);
    memmove(&store->entries[at + 1], &store->entries[at], (store->count - at) * sizeof(entry));
    store->entries[at] = (entry){name, record->content_offset, record->content_size, record->time};
    store->count++;
    return &store->entries[at];
}

static cra_status replay(void *user, const log_record *record)
{
    log_store *store = user;

    if (record->kind == LOG_REMOVE) {
        forget(store, record->name);
        return CRA_OK;
    }
    char *name = copy_text(store, record->name);
    if (name == NULL || reserve(store) != CRA_OK) {
        release(store, name);
        return CRA_NOMEM;
    }
    enter(store, name, record);
    return CRA_OK;
}

static void fill_info(const entry *e, cra_blob_info *out)
{
    out->size_bytes = e->size;
    out->modified_at = e->time;
    snprintf(out->etag, sizeof out->etag, "%llx", (unsigned long long)e->offset);
    out->frozen = false;
}

/* ---- reading ---- */

/* The names are copied under the lock one at a time: a visitor may use the store. */
static cra_status log_list(void *self, const char *prefix, cra_blob_visit_fn visit, void *user, cra_error *err)
{
    log_store *store = self;
    cra_status status = CRA_OK;
    char *last = copy_text(store, prefix);
    bool first = true;

    while (status == CRA_OK && last != NULL) {
        cra_blob_info info = CRA_BLOB_INFO_INIT;
        pthread_mutex_lock(&store->lock);
        size_t at = lower_bound(store, last);
        if (!first && at < store->count && strcmp(store->entries[at].name, last) == 0)
            at++;
        const bool more = at < store->count && strncmp(store->entries[at].name, prefix, strlen(prefix)) == 0;
        release(store, last);
        last = more ? copy_text(store, store->entries[at].name) : NULL;
        if (last != NULL)
            fill_info(&store->entries[at], &info);
        pthread_mutex_unlock(&store->lock);
        if (!more)
            return CRA_OK;
        first = false;
        if (last != NULL)
            status = visit(user, last, &info);
    }
    if (last == NULL)
        return no_memory(err, prefix);
    release(store, last);
    return status;
}

static cra_status log_stat(void *self, const char *name, cra_blob_info *out, cra_error *err)
{
    log_store *store = self;

    pthread_mutex_lock(&store->lock);
    const entry *e = find(store, name);
    if (e != NULL)
        fill_info(e, out);
    pthread_mutex_unlock(&store->lock);
    return e != NULL ? CRA_OK : not_found(err, name);
}

/* Nothing in a log is overwritten, so the bytes of an entry need no lock. */
static cra_status log_read(void *self, const char *name, int64_t offset, int64_t length, const char *etag, cra_buf *out,
                           cra_error *err)
{
    log_store *store = self;
    cra_blob_info info = CRA_BLOB_INFO_INIT;

    pthread_mutex_lock(&store->lock);
    const entry *found = find(store, name);
    const entry copy = found != NULL ? *found : (entry){NULL, 0, 0, 0};
    pthread_mutex_unlock(&store->lock);
    if (found == NULL)
        return not_found(err, name);
    fill_info(&copy, &info);
    if (etag != NULL && strcmp(etag, info.etag) != 0)
        return cra_error_set(err, CRA_CONFLICT, "log", "object '%.250s' is another version", name);
    if (offset >= copy.size)
        return CRA_OK;

    size_t left = (size_t)(length < copy.size - offset ? length : copy.size - offset);
    int64_t from = copy.offset + offset;
    if (cra_buf_reserve(out, left) != CRA_OK)
        return no_memory(err, name);
    while (left > 0) {
        const ssize_t got = pread(store->fd, out->data + out->size, left, (off_t)from);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cra_error_set_native(err, CRA_IO, errno, "log", "cannot read '%.200s' from '%s'", name, store->path);
        if (got == 0)
            return cra_error_set(err, CRA_CORRUPT, "log", "'%s' ends within object '%.200s'", store->path, name);
        out->size += (size_t)got;
        from += got;
        left -= (size_t)got;
    }
    return CRA_OK;
}

/* ---- writing: the content is kept until commit, which appends it in one record ---- */

static void free_writer(const log_store *store, writer *w)
{
    cra_buf_cleanup(&w->content);
    release(store, w->name);
    release(store, w);
}

static cra_status log_put_open(void *self, const char *name, unsigned flags, const char *tag, void **out,
                               cra_error *err)
{
    log_store *store = self;
    writer *w = allocate(store, sizeof *w);

    (void)tag; /* a writer that dies leaves nothing that could carry it */
    if (w == NULL)
        return no_memory(err, name);
    w->flags = flags;
    w->name = copy_text(store, name);
    cra_buf_init(&w->content, store->allocator);
    if (w->name == NULL) {
        free_writer(store, w);
        return no_memory(err, name);
    }
    *out = w;
    return CRA_OK;
}

static cra_status log_put_write(void *self, void *opaque, cra_bytes bytes, cra_error *err)
{
    writer *w = opaque;

    (void)self;
    return cra_buf_append(&w->content, bytes.data, bytes.size) == CRA_OK ? CRA_OK : no_memory(err, w->name);
}

static cra_status commit_locked(log_store *store, writer *w, cra_blob_info *out, cra_error *err)
{
    const cra_bytes content = {w->content.data, w->content.size};
    log_record record = {
        .kind = LOG_PUT, .name = w->name, .name_size = strlen(w->name), .time = cra_context_wall_ms(store->context)};

    if ((w->flags & CRA_PUT_IF_ABSENT) != 0 && find(store, w->name) != NULL)
        return cra_error_set(err, CRA_EXISTS, "log", "object '%.250s' is already there", w->name);
    if (reserve(store) != CRA_OK)
        return no_memory(err, w->name);
    const cra_status status = log_file_append(store->fd, store->path, &store->end, &record, content, err);
    if (status != CRA_OK)
        return status;
    fill_info(enter(store, w->name, &record), out);
    w->name = NULL; /* the index has it */
    return CRA_OK;
}

static cra_status log_put_commit(void *self, void *opaque, cra_blob_info *out, cra_error *err)
{
    log_store *store = self;

    pthread_mutex_lock(&store->lock);
    const cra_status status = commit_locked(store, opaque, out, err);
    pthread_mutex_unlock(&store->lock);
    free_writer(store, opaque);
    return status;
}

static void log_put_abort(void *self, void *opaque)
{
    if (opaque != NULL)
        free_writer(self, opaque);
}

static cra_status log_remove(void *self, const char *name, cra_error *err)
{
    log_store *store = self;
    const cra_bytes nothing = {NULL, 0};
    log_record record = {
        .kind = LOG_REMOVE, .name = name, .name_size = strlen(name), .time = cra_context_wall_ms(store->context)};
    cra_status status = CRA_OK;

    pthread_mutex_lock(&store->lock);
    if (find(store, name) != NULL)
        status = log_file_append(store->fd, store->path, &store->end, &record, nothing, err);
    if (status == CRA_OK)
        forget(store, name);
    pthread_mutex_unlock(&store->lock);
    return status;
}

/* ---- opening ---- */

static void log_close(void *self)
{
    log_store *store = self;

    for (size_t i = 0; i < store->count; i++)
        release(store, store->entries[i].name);
    release(store, store->entries);
    if (store->fd >= 0)
        close(store->fd);
    pthread_mutex_destroy(&store->lock);
    release(store, store->path);
    release(store, store);
}

static const cra_blobstore_vtable log_vtable = {
    .struct_size = sizeof(cra_blobstore_vtable),
    .features = CRA_BLOBSTORE_IF_ABSENT,
    .close = log_close,
    .list = log_list,
    .stat = log_stat,
    .read = log_read,
    .put_open = log_put_open,
    .put_write = log_put_write,
    .put_commit = log_put_commit,
    .put_abort = log_put_abort,
    .remove = log_remove,
};

static cra_status open_log(log_store *store, unsigned flags, cra_error *err)
{
    cra_status status;

    store->fd = log_file_open(store->path, flags, &status, err);
    if (store->fd < 0)
        return status;
    status = log_file_scan(store->fd, store->path, store->allocator, replay, store, &store->end, err);
    /* What lies behind the last whole record is what a killed process was appending. */
    if (status == CRA_OK && !store->read_only && ftruncate(store->fd, (off_t)store->end) != 0)
        status = cra_error_set_native(err, CRA_IO, errno, "log", "cannot cut the torn end of '%s'", store->path);
    return status;
}

static cra_status log_open(const cra_open_args *args, const cra_blobstore_vtable **vtable, void **self, cra_error *err)
{
    const cra_allocator *allocator = cra_context_allocator(args->context);
    log_store *store = allocator->malloc_fn(allocator->user, sizeof *store);

    if (store == NULL)
        return no_memory(err, args->uri);
    memset(store, 0, sizeof *store);
    store->context = args->context;
    store->allocator = allocator;
    store->fd = -1;
    store->read_only = (args->flags & CRA_OPEN_READ_ONLY) != 0;
    if (pthread_mutex_init(&store->lock, NULL) != 0) {
        release(store, store);
        return cra_error_set(err, CRA_UNAVAILABLE, "log", "the system cannot give another mutex");
    }
    store->path = copy_text(store, args->uri + strlen("log:"));
    const cra_status status = store->path == NULL      ? no_memory(err, args->uri)
                              : store->path[0] == '\0' ? cra_error_set(err, CRA_INVALID, "log", "log: needs a path")
                                                       : open_log(store, args->flags, err);
    if (status != CRA_OK) {
        log_close(store);
        return status;
    }
    *vtable = &log_vtable;
    *self = store;
    return CRA_OK;
}

const cra_backend log_store_backend = {
    .struct_size = sizeof(cra_backend),
    .abi_version = CRA_ABI_VERSION,
    .scheme = "log",
    .description = "objects in one append-only file",
    .open_blobstore = log_open,
};
