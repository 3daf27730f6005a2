/* SPDX-License-Identifier: Apache-2.0 */

/* Objects in memory: a sorted array under one lock. */

#include <stdio.h>
#include <string.h>

#include "backends/memory/memory.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "os/thread.h"

#define ORIGIN "memory"

typedef struct object {
    char *name;
    uint8_t *content;
    size_t size;
    uint64_t version; /* never given twice in a store */
    cra_time_ms modified_at;
} object;

/* A put in progress. The store keeps it in a list, so that what nobody commits or aborts is shown as an upload and
 * freed with the store. */
typedef struct writer {
    struct writer *next;
    char *token; /* NAME?upload=NUMBER&tag=TAG */
    char *name;
    cra_buf content;
    unsigned flags;
    cra_time_ms begun_at;
    bool aborted; /* by upload_abort: its owner has not noticed yet */
} writer;

typedef struct memory_store {
    cra_context *context;
    const cra_allocator *allocator;
    cra_mutex lock;
    object *objects; /* in byte order of names */
    size_t count;
    size_t capacity;
    writer *writers;
    uint64_t last_number; /* of versions and uploads */
    bool read_only;
} memory_store;

static cra_status no_memory(cra_error *err, const char *name)
{
    return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory at object '%.250s'", name);
}

static cra_status not_found(cra_error *err, const char *name)
{
    return cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "no object '%.250s'", name);
}

/* Index of the first object whose name is not below `name`. */
static size_t lower_bound(const memory_store *store, const char *name)
{
    size_t low = 0;
    size_t high = store->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(store->objects[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static object *find(const memory_store *store, const char *name)
{
    const size_t at = lower_bound(store, name);

    return at < store->count && strcmp(store->objects[at].name, name) == 0 ? &store->objects[at] : NULL;
}

static void fill_info(const object *o, cra_blob_info *out)
{
    out->size_bytes = (int64_t)o->size;
    out->modified_at = o->modified_at;
    snprintf(out->etag, sizeof out->etag, "%016llx", (unsigned long long)o->version);
    out->frozen = false;
}

/* ---- reading ---- */

/* Copy the name and state of the first object behind `last` (or at it, where `from` is) that begins with `prefix`.
 * @return CRA_DONE where there is none */
static cra_status next_object(memory_store *store, const char *prefix, bool from, cra_buf *last, cra_blob_info *info)
{
    cra_status status = CRA_DONE;

    cra_mutex_lock(&store->lock);
    size_t at = lower_bound(store, (const char *)last->data);
    if (!from && at < store->count && strcmp(store->objects[at].name, (const char *)last->data) == 0)
        at++;
    if (at < store->count && strncmp(store->objects[at].name, prefix, strlen(prefix)) == 0) {
        const object *o = &store->objects[at];
        cra_buf_clear(last);
        status = cra_buf_append_str(last, o->name);
        if (status == CRA_OK && cra_buf_cstr(last) == NULL)
            status = CRA_NOMEM;
        fill_info(o, info);
    }
    cra_mutex_unlock(&store->lock);
    return status;
}

/* The lock is not held while `visit` runs, which may use the store. */
static cra_status memory_list(void *self, const char *prefix, cra_blob_visit_fn visit, void *user, cra_error *err)
{
    memory_store *store = self;
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    cra_buf last;

    cra_buf_init(&last, store->allocator);
    cra_status status = cra_buf_append_str(&last, prefix);
    if (status == CRA_OK && cra_buf_cstr(&last) == NULL)
        status = CRA_NOMEM;
    bool from = true;
    bool stopped = false;
    while (status == CRA_OK) {
        status = next_object(store, prefix, from, &last, &info);
        if (status != CRA_OK)
            break;
        status = visit(user, (const char *)last.data, &info);
        stopped = status != CRA_OK;
        from = false;
    }
    cra_buf_cleanup(&last);
    if (stopped)
        return status;
    return status == CRA_DONE ? CRA_OK : no_memory(err, prefix);
}

static cra_status memory_stat(void *self, const char *name, cra_blob_info *out, cra_error *err)
{
    memory_store *store = self;

    cra_mutex_lock(&store->lock);
    const object *found = find(store, name);
    if (found != NULL)
        fill_info(found, out);
    cra_mutex_unlock(&store->lock);
    return found != NULL ? CRA_OK : not_found(err, name);
}

static cra_status read_locked(const memory_store *store, const char *name, int64_t offset, int64_t length,
                              const char *etag, cra_buf *out, cra_error *err)
{
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    const object *found = find(store, name);

    if (found == NULL)
        return not_found(err, name);
    fill_info(found, &info);
    if (etag != NULL && strcmp(etag, info.etag) != 0)
        return cra_error_set(err, CRA_CONFLICT, ORIGIN, "object '%.250s' is another version", name);
    if ((uint64_t)offset >= found->size)
        return CRA_OK;
    const size_t left = found->size - (size_t)offset;
    const size_t size = (uint64_t)length < left ? (size_t)length : left;
    return cra_buf_append(out, found->content + offset, size) == CRA_OK ? CRA_OK : no_memory(err, name);
}

static cra_status memory_read(void *self, const char *name, int64_t offset, int64_t length, const char *etag,
                              cra_buf *out, cra_error *err)
{
    memory_store *store = self;

    cra_mutex_lock(&store->lock);
    const cra_status status = read_locked(store, name, offset, length, etag, out, err);
    cra_mutex_unlock(&store->lock);
    return status;
}

/* ---- writing ---- */

static void free_writer(const memory_store *store, writer *w)
{
    cra_buf_cleanup(&w->content);
    cra_free(store->allocator, w->name);
    cra_free(store->allocator, w->token);
    cra_free(store->allocator, w);
}

static void unlink_writer(memory_store *store, const writer *w)
{
    writer **link = &store->writers;

    while (*link != w)
        link = &(*link)->next;
    *link = w->next;
}

static writer *new_writer(memory_store *store, const char *name, unsigned flags, const char *tag, uint64_t number)
{
    cra_buf token;
    writer *w = cra_calloc(store->allocator, 1, sizeof *w);

    if (w == NULL)
        return NULL;
    cra_buf_init(&w->content, store->allocator);
    cra_buf_init(&token, store->allocator);
    w->flags = flags;
    w->begun_at = cra_context_wall_ms(store->context);
    w->name = cra_strdup(store->allocator, name);
    if (cra_buf_appendf(&token, "%s?upload=%llu&tag=%s", name, (unsigned long long)number, tag != NULL ? tag : "") ==
        CRA_OK)
        w->token = cra_buf_detach_cstr(&token);
    cra_buf_cleanup(&token);
    if (w->name == NULL || w->token == NULL) {
        free_writer(store, w);
        return NULL;
    }
    return w;
}

static cra_status memory_put_open(void *self, const char *name, unsigned flags, const char *tag, void **out,
                                  cra_error *err)
{
    memory_store *store = self;

    if (store->read_only)
        return cra_error_set(err, CRA_DENIED, ORIGIN, "the store is open for reading only: '%.250s'", name);
    cra_mutex_lock(&store->lock);
    writer *w = new_writer(store, name, flags, tag, ++store->last_number);
    if (w != NULL) {
        w->next = store->writers;
        store->writers = w;
    }
    cra_mutex_unlock(&store->lock);
    *out = w;
    return w != NULL ? CRA_OK : no_memory(err, name);
}

static cra_status check_alive(const writer *w, cra_error *err)
{
    return w->aborted ? cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "the upload of '%.250s' was aborted", w->name)
                      : CRA_OK;
}

static cra_status memory_put_write(void *self, void *opaque, cra_bytes bytes, cra_error *err)
{
    memory_store *store = self;
    writer *w = opaque;

    cra_mutex_lock(&store->lock);
    cra_status status = check_alive(w, err);
    if (status == CRA_OK && cra_buf_append(&w->content, bytes.data, bytes.size) != CRA_OK)
        status = no_memory(err, w->name);
    cra_mutex_unlock(&store->lock);
    return status;
}

/* The object of the writer's name, made where it is missing; its content is untouched. NULL on no memory. */
static object *place_for(memory_store *store, writer *w)
{
    const size_t at = lower_bound(store, w->name);

    if (at < store->count && strcmp(store->objects[at].name, w->name) == 0)
        return &store->objects[at];
    if (cra_array_grow(store->allocator, (void **)&store->objects, &store->capacity, store->count + 1,
                       sizeof(object)) != CRA_OK)
        return NULL;
    memmove(&store->objects[at + 1], &store->objects[at], (store->count - at) * sizeof(object));
    store->count++;
    store->objects[at] = (object){.name = w->name};
    w->name = NULL; /* moved */
    return &store->objects[at];
}

static cra_status commit_locked(memory_store *store, writer *w, cra_blob_info *out, cra_error *err)
{
    const cra_status status = check_alive(w, err);

    if (status != CRA_OK)
        return status;
    if ((w->flags & CRA_PUT_IF_ABSENT) != 0 && find(store, w->name) != NULL)
        return cra_error_set(err, CRA_EXISTS, ORIGIN, "object '%.250s' is already there", w->name);
    object *o = place_for(store, w);
    if (o == NULL)
        return no_memory(err, w->name);
    cra_free(store->allocator, o->content);
    o->content = w->content.data; /* moved */
    o->size = w->content.size;
    cra_buf_init(&w->content, store->allocator);
    o->version = ++store->last_number;
    o->modified_at = cra_context_wall_ms(store->context);
    fill_info(o, out);
    return CRA_OK;
}

static cra_status memory_put_commit(void *self, void *opaque, cra_blob_info *out, cra_error *err)
{
    memory_store *store = self;
    writer *w = opaque;

    cra_mutex_lock(&store->lock);
    const cra_status status = commit_locked(store, w, out, err);
    unlink_writer(store, w);
    cra_mutex_unlock(&store->lock);
    free_writer(store, w);
    return status;
}

static void memory_put_abort(void *self, void *opaque)
{
    memory_store *store = self;

    if (opaque == NULL)
        return;
    cra_mutex_lock(&store->lock);
    unlink_writer(store, opaque);
    cra_mutex_unlock(&store->lock);
    free_writer(store, opaque);
}

static cra_status memory_remove(void *self, const char *name, cra_error *err)
{
    memory_store *store = self;

    if (store->read_only)
        return cra_error_set(err, CRA_DENIED, ORIGIN, "the store is open for reading only: '%.250s'", name);
    cra_mutex_lock(&store->lock);
    object *found = find(store, name);
    if (found != NULL) {
        const size_t at = (size_t)(found - store->objects);
        cra_free(store->allocator, found->name);
        cra_free(store->allocator, found->content);
        memmove(found, found + 1, (store->count - at - 1) * sizeof(object));
        store->count--;
    }
    cra_mutex_unlock(&store->lock);
    return CRA_OK;
}

/* ---- uploads ---- */

/* Copy the token of the first upload in order behind `last`. */
static cra_status next_upload(memory_store *store, const char *prefix, cra_buf *last, cra_blob_info *info)
{
    const writer *next = NULL;
    cra_status status = CRA_DONE;

    cra_mutex_lock(&store->lock);
    for (const writer *w = store->writers; w != NULL; w = w->next) {
        if (!w->aborted && strncmp(w->token, prefix, strlen(prefix)) == 0 &&
            strcmp(w->token, (const char *)last->data) > 0 && (next == NULL || strcmp(w->token, next->token) < 0))
            next = w;
    }
    if (next != NULL) {
        cra_buf_clear(last);
        status = cra_buf_append_str(last, next->token);
        if (status == CRA_OK && cra_buf_cstr(last) == NULL)
            status = CRA_NOMEM;
        info->size_bytes = (int64_t)next->content.size;
        info->modified_at = next->begun_at;
    }
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status memory_upload_list(void *self, const char *prefix, cra_blob_visit_fn visit, void *user,
                                     cra_error *err)
{
    memory_store *store = self;
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    cra_buf last;

    cra_buf_init(&last, store->allocator);
    cra_status status = cra_buf_cstr(&last) != NULL ? CRA_OK : CRA_NOMEM;
    bool stopped = false;
    while (status == CRA_OK) {
        status = next_upload(store, prefix, &last, &info);
        if (status != CRA_OK)
            break;
        status = visit(user, (const char *)last.data, &info);
        stopped = status != CRA_OK;
    }
    cra_buf_cleanup(&last);
    if (stopped)
        return status;
    return status == CRA_DONE ? CRA_OK : no_memory(err, prefix);
}

static cra_status memory_upload_abort(void *self, const char *token, cra_error *err)
{
    memory_store *store = self;

    (void)err;
    cra_mutex_lock(&store->lock);
    for (writer *w = store->writers; w != NULL; w = w->next) {
        if (strcmp(w->token, token) == 0) {
            w->aborted = true;
            cra_buf_cleanup(&w->content);
        }
    }
    cra_mutex_unlock(&store->lock);
    return CRA_OK;
}

/* ---- opening ---- */

static void memory_close(void *self)
{
    memory_store *store = self;
    const cra_allocator *allocator = store->allocator;

    for (size_t i = 0; i < store->count; i++) {
        cra_free(allocator, store->objects[i].name);
        cra_free(allocator, store->objects[i].content);
    }
    cra_free(allocator, store->objects);
    while (store->writers != NULL) {
        writer *w = store->writers;
        store->writers = w->next;
        free_writer(store, w);
    }
    cra_mutex_destroy(&store->lock);
    cra_free(allocator, store);
}

static const cra_blobstore_vtable memory_vtable = {
    .struct_size = sizeof(cra_blobstore_vtable),
    .features = CRA_BLOBSTORE_IF_ABSENT | CRA_BLOBSTORE_UPLOADS,
    .close = memory_close,
    .list = memory_list,
    .stat = memory_stat,
    .read = memory_read,
    .put_open = memory_put_open,
    .put_write = memory_put_write,
    .put_commit = memory_put_commit,
    .put_abort = memory_put_abort,
    .remove = memory_remove,
    .upload_list = memory_upload_list,
    .upload_abort = memory_upload_abort,
    .thaw = NULL,
};

cra_status cra_memory_blobstore_open(const cra_open_args *args, const cra_blobstore_vtable **vtable, void **self,
                                     cra_error *err)
{
    const cra_allocator *allocator = cra_context_allocator(args->context);
    memory_store *store = cra_calloc(allocator, 1, sizeof *store);

    if (store == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory while opening a store");
    const cra_status status = cra_mutex_init(&store->lock, err);
    if (status != CRA_OK) {
        cra_free(allocator, store);
        return status;
    }
    store->context = args->context;
    store->allocator = allocator;
    store->read_only = (args->flags & CRA_OPEN_READ_ONLY) != 0;
    *vtable = &memory_vtable;
    *self = store;
    return CRA_OK;
}
