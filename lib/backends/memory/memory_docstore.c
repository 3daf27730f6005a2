/* SPDX-License-Identifier: Apache-2.0 */

/* Collections in memory, all under one lock. */

#include "backends/memory/memory_docstore.h"

#include <string.h>

#include "backends/memory/memory.h"
#include "base/alloc.h"
#include "base/buf.h"

#define ORIGIN "memory"
#define MAX_BATCH_DOCS 100000
#define MAX_BATCH_BYTES 48000000

cra_status cra_memory_no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory");
}

/* ---- collections ---- */

cra_memory_collection *cra_memory_find(const cra_memory_docstore *store, const char *name)
{
    for (size_t i = 0; i < store->count; i++) {
        if (strcmp(store->collections[i]->name, name) == 0)
            return store->collections[i];
    }
    return NULL;
}

static void free_collection(const cra_allocator *allocator, cra_memory_collection *collection)
{
    for (size_t i = 0; i < collection->count; i++)
        cra_free(allocator, collection->documents[i]);
    cra_free(allocator, collection->documents);
    cra_buf_cleanup(&collection->options);
    cra_buf_cleanup(&collection->indexes);
    cra_free(allocator, collection->name);
    cra_free(allocator, collection);
}

static cra_status append_id_index(cra_buf *out)
{
    static const uint8_t two[4] = {2, 0, 0, 0};
    static const uint8_t one[4] = {1, 0, 0, 0};
    size_t mark;
    size_t key;

    CRA_TRY(cra_bson_begin(out, &mark));
    CRA_TRY(cra_bson_put_value(out, "v", (cra_value){CRA_BSON_INT32, two, sizeof two}));
    CRA_TRY(cra_bson_put_begin(out, "key", CRA_BSON_DOCUMENT, &key));
    CRA_TRY(cra_bson_put_value(out, "_id", (cra_value){CRA_BSON_INT32, one, sizeof one}));
    CRA_TRY(cra_bson_end(out, key));
    CRA_TRY(cra_bson_put_string(out, "name", "_id_"));
    return cra_bson_end(out, mark);
}

static cra_status add_collection(cra_memory_docstore *store, const char *name, cra_bytes options,
                                 cra_memory_collection **out, cra_error *err)
{
    cra_memory_collection *collection = cra_calloc(store->allocator, 1, sizeof *collection);

    *out = NULL;
    if (collection == NULL)
        return cra_memory_no_memory(err);
    cra_buf_init(&collection->options, store->allocator);
    cra_buf_init(&collection->indexes, store->allocator);
    collection->name = cra_strdup(store->allocator, name);
    if (collection->name == NULL || append_id_index(&collection->indexes) != CRA_OK ||
        cra_buf_append(&collection->options, options.data, options.size) != CRA_OK ||
        cra_array_grow(store->allocator, (void **)&store->collections, &store->capacity, store->count + 1,
                       sizeof *store->collections) != CRA_OK) {
        free_collection(store->allocator, collection);
        return cra_memory_no_memory(err);
    }
    store->collections[store->count++] = collection;
    *out = collection;
    return CRA_OK;
}

cra_status cra_memory_need(cra_memory_docstore *store, const char *name, cra_memory_collection **out, cra_error *err)
{
    static const uint8_t empty[5] = {5, 0, 0, 0, 0};

    *out = cra_memory_find(store, name);
    return *out != NULL ? CRA_OK : add_collection(store, name, cra_bytes_of(empty, sizeof empty), out, err);
}

static cra_status no_collection(cra_error *err, const char *name)
{
    return cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "there is no collection %.200s", name);
}

/* ---- indexes and collections ---- */

static cra_status index_list(void *self, const char *name, cra_buf *out, size_t *count, cra_error *err)
{
    cra_memory_docstore *store = self;
    cra_status status = CRA_OK;

    *count = 0;
    cra_mutex_lock(&store->lock);
    const cra_memory_collection *collection = cra_memory_find(store, name);
    if (collection == NULL) {
        status = no_collection(err, name);
    } else {
        cra_bytes rest = cra_buf_bytes(&collection->indexes);
        cra_bytes index;
        status = cra_buf_append(out, rest.data, rest.size) == CRA_OK ? CRA_OK : cra_memory_no_memory(err);
        while (status == CRA_OK && cra_bson_next_document(&rest, &index) == CRA_OK)
            (*count)++;
    }
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status ensure_locked(cra_memory_docstore *store, const char *name, cra_bytes spec,
                                cra_index_outcome *outcome, cra_error *err)
{
    cra_memory_collection *collection;
    cra_value filter;
    cra_value text = {0, NULL, 0};

    if (cra_bson_find(spec, "partialFilterExpression", 23, &filter) == CRA_OK)
        CRA_TRY(cra_index_filter_check(cra_value_document(filter), err));
    CRA_TRY(cra_memory_need(store, name, &collection, err));
    (void)cra_bson_find(spec, "name", 4, &text);
    const cra_bytes label = cra_value_text(text);
    switch (cra_index_classify(cra_buf_bytes(&collection->indexes), spec, NULL)) {
    case CRA_INDEX_MATCH_IDENTICAL:
        *outcome = CRA_INDEX_PRESENT;
        return CRA_OK;
    case CRA_INDEX_MATCH_OPTIONS:
        return cra_error_set_native(err, CRA_CONFLICT, 85, ORIGIN,
                                    "an index like %.*s is there with other options or another name",
                                    (int)(label.size < 200 ? label.size : 200), (const char *)label.data);
    case CRA_INDEX_MATCH_NAME:
        return cra_error_set_native(err, CRA_CONFLICT, 86, ORIGIN, "the name %.*s belongs to another index",
                                    (int)(label.size < 200 ? label.size : 200), (const char *)label.data);
    case CRA_INDEX_MATCH_NONE:
        break;
    }
    CRA_TRY(cra_memory_check_index(collection, spec, store->allocator, err));
    if (cra_buf_append(&collection->indexes, spec.data, spec.size) != CRA_OK)
        return cra_memory_no_memory(err);
    *outcome = CRA_INDEX_CREATED;
    return CRA_OK;
}

static cra_status index_ensure(void *self, const char *collection, cra_bytes spec, cra_index_outcome *outcome,
                               cra_error *err)
{
    cra_memory_docstore *store = self;
    cra_buf normal;

    cra_buf_init(&normal, store->allocator);
    cra_status status = cra_index_normalize(spec, &normal, err);
    if (status == CRA_OK) {
        cra_mutex_lock(&store->lock);
        status = ensure_locked(store, collection, cra_buf_bytes(&normal), outcome, err);
        cra_mutex_unlock(&store->lock);
    }
    cra_buf_cleanup(&normal);
    return status;
}

static cra_status collection_get(void *self, const char *name, cra_buf *out, cra_error *err)
{
    cra_memory_docstore *store = self;
    cra_status status = CRA_OK;

    cra_mutex_lock(&store->lock);
    const cra_memory_collection *collection = cra_memory_find(store, name);
    if (collection == NULL)
        status = no_collection(err, name);
    else if (cra_buf_append(out, collection->options.data, collection->options.size) != CRA_OK)
        status = cra_memory_no_memory(err);
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status collection_create(void *self, const char *name, cra_bytes options, cra_error *err)
{
    static const char *const unsupported[] = {"capped", "timeseries", "viewOn"};
    cra_memory_docstore *store = self;
    cra_memory_collection *made;
    cra_value value;
    cra_status status;

    CRA_TRY(cra_bson_validate(options, 0, err));
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++) {
        if (cra_bson_find(options, unsupported[i], strlen(unsupported[i]), &value) == CRA_OK &&
            !(value.type == CRA_BSON_BOOL && value.data[0] == 0))
            return cra_error_set(err, CRA_UNSUPPORTED, ORIGIN, "collection %.200s: the option %s is not supported here",
                                 name, unsupported[i]);
    }
    cra_mutex_lock(&store->lock);
    if (cra_memory_find(store, name) != NULL)
        status = cra_error_set(err, CRA_EXISTS, ORIGIN, "collection %.200s is there already", name);
    else
        status = add_collection(store, name, options, &made, err);
    cra_mutex_unlock(&store->lock);
    return status;
}

/* ---- opening ---- */

static cra_status limits(void *self, cra_docstore_limits *out, cra_error *err)
{
    (void)self;
    (void)err;
    out->max_document_bytes = CRA_BSON_MAX_DOCUMENT_BYTES;
    out->max_batch_docs = MAX_BATCH_DOCS;
    out->max_batch_bytes = MAX_BATCH_BYTES;
    return CRA_OK;
}

static cra_status health(void *self, cra_docstore_health *out, cra_error *err)
{
    (void)self;
    (void)err;
    out->lag_ms = 0;
    /* No acknowledged write is lost before the store itself is: trials of a sweep see what they would see elsewhere. */
    out->durable_writes = true;
    return CRA_OK;
}

static void docstore_close(void *self)
{
    cra_memory_docstore *store = self;
    const cra_allocator *allocator = store->allocator;

    for (size_t i = 0; i < store->count; i++)
        free_collection(allocator, store->collections[i]);
    cra_free(allocator, store->collections);
    cra_mutex_destroy(&store->lock);
    cra_free(allocator, store);
}

static const cra_docstore_vtable docstore_vtable = {
    .struct_size = sizeof(cra_docstore_vtable),
    .features = CRA_DOCSTORE_FIND | CRA_DOCSTORE_REPLACE_IF,
    .close = docstore_close,
    .limits = limits,
    .write_batch = cra_memory_write_batch,
    .fetch = cra_memory_fetch,
    .page = cra_memory_page,
    .count = cra_memory_count,
    .delete_batch = cra_memory_delete_batch,
    .index_list = index_list,
    .index_ensure = index_ensure,
    .collection_get = collection_get,
    .collection_create = collection_create,
    .health = health,
    .find = cra_memory_search,
    .replace_if = cra_memory_replace_if,
};

cra_status cra_memory_docstore_open(const cra_open_args *args, const cra_docstore_vtable **vtable, void **self,
                                    cra_error *err)
{
    const cra_allocator *allocator = cra_context_allocator(args->context);
    cra_memory_docstore *store = cra_calloc(allocator, 1, sizeof *store);

    if (store == NULL)
        return cra_memory_no_memory(err);
    const cra_status status = cra_mutex_init(&store->lock, err);
    if (status != CRA_OK) {
        cra_free(allocator, store);
        return status;
    }
    store->context = args->context;
    store->allocator = allocator;
    *vtable = &docstore_vtable;
    *self = store;
    return CRA_OK;
}
