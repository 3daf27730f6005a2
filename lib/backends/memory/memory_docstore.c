/* SPDX-License-Identifier: Apache-2.0 */

/* Records in memory: each collection an array in the order of `_id`, all under one lock. */

#include "backends/memory/memory_docstore.h"

#include <stdio.h>
#include <string.h>

#include "backends/memory/memory.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "os/thread.h"

#define ORIGIN "memory"
#define CODE_INVALID_ID 53
#define MAX_BATCH_DOCS 100000
#define MAX_BATCH_BYTES 48000000

typedef struct memory_docstore {
    cra_context *context;
    const cra_allocator *allocator;
    cra_mutex lock;
    cra_memory_collection **collections;
    size_t count;
    size_t capacity;
} memory_docstore;

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory");
}

/* ---- collections ---- */

static cra_memory_collection *find_collection(const memory_docstore *store, const char *name)
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

static cra_status add_collection(memory_docstore *store, const char *name, cra_bytes options,
                                 cra_memory_collection **out, cra_error *err)
{
    cra_memory_collection *collection = cra_calloc(store->allocator, 1, sizeof *collection);

    *out = NULL;
    if (collection == NULL)
        return no_memory(err);
    cra_buf_init(&collection->options, store->allocator);
    cra_buf_init(&collection->indexes, store->allocator);
    collection->name = cra_strdup(store->allocator, name);
    if (collection->name == NULL || append_id_index(&collection->indexes) != CRA_OK ||
        cra_buf_append(&collection->options, options.data, options.size) != CRA_OK ||
        cra_array_grow(store->allocator, (void **)&store->collections, &store->capacity, store->count + 1,
                       sizeof *store->collections) != CRA_OK) {
        free_collection(store->allocator, collection);
        return no_memory(err);
    }
    store->collections[store->count++] = collection;
    *out = collection;
    return CRA_OK;
}

static cra_status need_collection(memory_docstore *store, const char *name, cra_memory_collection **out, cra_error *err)
{
    static const uint8_t empty[5] = {5, 0, 0, 0, 0};

    *out = find_collection(store, name);
    return *out != NULL ? CRA_OK : add_collection(store, name, cra_bytes_of(empty, sizeof empty), out, err);
}

static cra_status no_collection(cra_error *err, const char *name)
{
    return cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "there is no collection %.200s", name);
}

/* ---- documents ---- */

static int compare_keys(cra_bytes a, cra_bytes b)
{
    const int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* Index of the first document whose key is not below `key`. */
static size_t lower_bound(const cra_memory_collection *collection, cra_bytes key)
{
    size_t low = 0;
    size_t high = collection->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_keys(cra_memory_key(collection->documents[middle]), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const cra_memory_collection *collection, size_t at, cra_bytes key)
{
    return at < collection->count && cra_bytes_equal(cra_memory_key(collection->documents[at]), key);
}

static cra_status key_of(cra_value id, cra_buf *key, cra_error *err)
{
    cra_buf_clear(key);
    const cra_status status = cra_value_order_key(id, key);
    if (status == CRA_OK)
        return CRA_OK;
    return status == CRA_NOMEM ? no_memory(err) : cra_error_set(err, status, ORIGIN, "a damaged _id");
}

/* The first document above `after` (type 0: the first of all). */
static cra_status first_above(const cra_memory_collection *collection, cra_value after, cra_buf *key, size_t *at,
                              cra_error *err)
{
    *at = 0;
    if (after.type == 0)
        return CRA_OK;
    CRA_TRY(key_of(after, key, err));
    *at = lower_bound(collection, cra_buf_bytes(key));
    if (is_at(collection, *at, cra_buf_bytes(key)))
        (*at)++;
    return CRA_OK;
}

static bool is_in_scope(cra_bytes document, const cra_scope *scope)
{
    cra_value value;

    return cra_bson_path(document, scope->run_field, &value) == CRA_OK &&
           cra_value_compare(value, scope->run_value) == 0;
}

/* Whether every element of `match` is identical to the document's field of that name, which may be a path. */
static bool matches(cra_bytes document, cra_bytes match)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_value value;

    if (match.size == 0)
        return true;
    if (cra_bson_iter_init(&iter, match, NULL) != CRA_OK)
        return false;
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        if (cra_bson_path(document, element.name, &value) != CRA_OK || !cra_value_identical(value, element.value))
            return false;
    }
    return true;
}

static cra_status first_value(cra_bytes document, cra_value *out)
{
    cra_bson_iter iter;
    cra_bson_element element;

    CRA_TRY(cra_bson_iter_init(&iter, document, NULL));
    CRA_TRY(cra_bson_iter_next(&iter, &element, NULL));
    *out = element.value;
    return CRA_OK;
}

static cra_memory_document *new_document(const cra_allocator *allocator, cra_bytes document, cra_bytes key)
{
    cra_memory_document *made = cra_malloc(allocator, sizeof *made + document.size + key.size);

    if (made == NULL)
        return NULL;
    made->document_size = document.size;
    made->key_size = key.size;
    memcpy(made->bytes, document.data, document.size);
    memcpy(made->bytes + document.size, key.data, key.size);
    return made;
}

/* ---- writing ---- */

static cra_status check_deadline(const memory_docstore *store, int64_t deadline_ms, const char *doing, cra_error *err)
{
    if (deadline_ms == 0 || cra_context_monotonic_ms(store->context) < deadline_ms)
        return CRA_OK;
    return cra_error_set(err, CRA_TIMEOUT, ORIGIN, "cannot %s: the deadline of the command has passed", doing);
}

static void refuse(cra_write_result *result, int32_t code, const char *message)
{
    result->outcome = CRA_WRITE_FAILED;
    result->native_code = code;
    snprintf(result->message, sizeof result->message, "%.*s", (int)sizeof result->message - 1, message);
}

/* Insert one document or say in `result` why not; a failure is want of memory. */
static cra_status write_one(memory_docstore *store, cra_memory_collection *collection, cra_bytes document, cra_buf *key,
                            cra_write_result *result, cra_error *err)
{
    cra_error why = {.status = CRA_OK};
    cra_value id;

    if (cra_bson_validate(document, CRA_BSON_CHECK_SIZE, &why) != CRA_OK || first_value(document, &id) != CRA_OK) {
        refuse(result, 0, why.message[0] != '\0' ? why.message : "the document is damaged");
        return CRA_OK;
    }
    if (id.type == CRA_BSON_ARRAY || id.type == CRA_BSON_REGEX || id.type == CRA_BSON_UNDEFINED) {
        refuse(result, CODE_INVALID_ID, "an _id must not be an array, a regular expression or undefined");
        return CRA_OK;
    }
    CRA_TRY(key_of(id, key, err));
    const size_t at = lower_bound(collection, cra_buf_bytes(key));
    if (is_at(collection, at, cra_buf_bytes(key))) {
        result->outcome = CRA_WRITE_ID_EXISTS;
        return CRA_OK;
    }
    const cra_status status = cra_memory_check_unique(collection, document, NULL, store->allocator, &why);
    if (status == CRA_NOMEM)
        return no_memory(err);
    if (status != CRA_OK) {
        refuse(result, why.native_code, why.message);
        return CRA_OK;
    }
    cra_memory_document *made = new_document(store->allocator, document, cra_buf_bytes(key));
    if (made == NULL || cra_array_grow(store->allocator, (void **)&collection->documents, &collection->capacity,
                                       collection->count + 1, sizeof *collection->documents) != CRA_OK) {
        cra_free(store->allocator, made);
        return no_memory(err);
    }
    memmove(&collection->documents[at + 1], &collection->documents[at],
            (collection->count - at) * sizeof *collection->documents);
    collection->documents[at] = made;
    collection->count++;
    result->outcome = CRA_WRITE_NEW;
    return CRA_OK;
}

static cra_status write_locked(memory_docstore *store, const char *name, const cra_bytes *documents, size_t count,
                               int64_t deadline_ms, cra_write_result *results, cra_error *err)
{
    cra_memory_collection *collection;
    cra_buf key;

    CRA_TRY(check_deadline(store, deadline_ms, "write records", err));
    CRA_TRY(need_collection(store, name, &collection, err));
    cra_buf_init(&key, store->allocator);
    cra_status status = CRA_OK;
    for (size_t i = 0; status == CRA_OK && i < count; i++)
        status = write_one(store, collection, documents[i], &key, &results[i], err);
    cra_buf_cleanup(&key);
    return status;
}

static cra_status write_batch(void *self, const char *collection, const cra_bytes *documents, size_t count,
                              int64_t deadline_ms, cra_write_result *results, cra_error *err)
{
    memory_docstore *store = self;

    memset(results, 0, count * sizeof *results);
    cra_mutex_lock(&store->lock);
    const cra_status status = write_locked(store, collection, documents, count, deadline_ms, results, err);
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status delete_locked(memory_docstore *store, const cra_scope *scope, const cra_value *ids, size_t count,
                                cra_bytes match, int64_t deadline_ms, int64_t *removed, cra_error *err)
{
    cra_memory_collection *collection = find_collection(store, scope->collection);
    cra_buf key;

    CRA_TRY(check_deadline(store, deadline_ms, "delete records", err));
    if (collection == NULL)
        return CRA_OK;
    cra_buf_init(&key, store->allocator);
    cra_status status = CRA_OK;
    for (size_t i = 0; i < count; i++) {
        status = key_of(ids[i], &key, err);
        if (status != CRA_OK)
            break;
        const size_t at = lower_bound(collection, cra_buf_bytes(&key));
        if (!is_at(collection, at, cra_buf_bytes(&key)) ||
            !is_in_scope(cra_memory_bytes(collection->documents[at]), scope) ||
            !matches(cra_memory_bytes(collection->documents[at]), match))
            continue;
        cra_free(store->allocator, collection->documents[at]);
        memmove(&collection->documents[at], &collection->documents[at + 1],
                (collection->count - at - 1) * sizeof *collection->documents);
        collection->count--;
        (*removed)++;
    }
    cra_buf_cleanup(&key);
    return status;
}

static cra_status delete_batch(void *self, const cra_scope *scope, const cra_value *ids, size_t count, cra_bytes match,
                               int64_t deadline_ms, int64_t *removed, cra_error *err)
{
    memory_docstore *store = self;

    *removed = 0;
    cra_mutex_lock(&store->lock);
    const cra_status status = delete_locked(store, scope, ids, count, match, deadline_ms, removed, err);
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status replace_locked(memory_docstore *store, const char *name, cra_value id, cra_bytes match,
                                 cra_bytes document, cra_buf *key, cra_error *err)
{
    cra_memory_collection *collection = find_collection(store, name);
    cra_value new_id;

    CRA_TRY(cra_bson_validate(document, CRA_BSON_CHECK_SIZE, err));
    if (first_value(document, &new_id) != CRA_OK || cra_value_compare(new_id, id) != 0)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "a replacement must keep its _id");
    CRA_TRY(key_of(id, key, err));
    const size_t at = collection != NULL ? lower_bound(collection, cra_buf_bytes(key)) : 0;
    if (collection == NULL || !is_at(collection, at, cra_buf_bytes(key)) ||
        !matches(cra_memory_bytes(collection->documents[at]), match))
        return cra_error_set(err, CRA_CONFLICT, ORIGIN, "the document is missing or was changed meanwhile");
    CRA_TRY(cra_memory_check_unique(collection, document, collection->documents[at], store->allocator, err));
    cra_memory_document *made = new_document(store->allocator, document, cra_buf_bytes(key));
    if (made == NULL)
        return no_memory(err);
    cra_free(store->allocator, collection->documents[at]);
    collection->documents[at] = made;
    return CRA_OK;
}

static cra_status replace_if(void *self, const char *collection, cra_value id, cra_bytes match, cra_bytes document,
                             cra_error *err)
{
    memory_docstore *store = self;
    cra_buf key;

    cra_buf_init(&key, store->allocator);
    cra_mutex_lock(&store->lock);
    const cra_status status = replace_locked(store, collection, id, match, document, &key, err);
    cra_mutex_unlock(&store->lock);
    cra_buf_cleanup(&key);
    return status;
}

/* ---- reading ---- */

static cra_status append_document(cra_buf *out, cra_bytes document, bool ids_only, cra_error *err)
{
    const size_t before = out->size;
    cra_status status;

    if (ids_only) {
        cra_value id;
        size_t mark;
        status = first_value(document, &id);
        if (status == CRA_OK)
            status = cra_bson_begin(out, &mark);
        if (status == CRA_OK)
            status = cra_bson_put_value(out, "_id", id);
        if (status == CRA_OK)
            status = cra_bson_end(out, mark);
    } else {
        status = cra_buf_append(out, document.data, document.size);
    }
    if (status == CRA_OK)
        return CRA_OK;
    out->size = before;
    return no_memory(err);
}

static cra_status fetch_locked(memory_docstore *store, const char *name, const cra_value *ids, size_t count,
                               cra_buf *out, cra_error *err)
{
    const cra_memory_collection *collection = find_collection(store, name);
    cra_status status = CRA_OK;
    cra_buf key;

    cra_buf_init(&key, store->allocator);
    for (size_t i = 0; collection != NULL && status == CRA_OK && i < count; i++) {
        status = key_of(ids[i], &key, err);
        if (status != CRA_OK)
            break;
        const size_t at = lower_bound(collection, cra_buf_bytes(&key));
        if (is_at(collection, at, cra_buf_bytes(&key)))
            status = append_document(out, cra_memory_bytes(collection->documents[at]), false, err);
    }
    cra_buf_cleanup(&key);
    return status;
}

static cra_status fetch(void *self, const char *collection, const cra_value *ids, size_t count, cra_buf *out,
                        cra_error *err)
{
    memory_docstore *store = self;

    cra_mutex_lock(&store->lock);
    const cra_status status = fetch_locked(store, collection, ids, count, out, err);
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status page_locked(memory_docstore *store, const cra_scope *scope, const cra_page_request *request,
                              cra_buf *out, size_t *count, cra_error *err)
{
    const cra_memory_collection *collection = find_collection(store, scope->collection);
    const size_t before = out->size;
    size_t at = 0;
    cra_buf key;

    if (collection == NULL)
        return CRA_OK;
    cra_buf_init(&key, store->allocator);
    cra_status status = first_above(collection, request->after_id, &key, &at, err);
    cra_buf_cleanup(&key);
    for (; status == CRA_OK && at < collection->count && (int64_t)*count < request->max_docs; at++) {
        const cra_bytes document = cra_memory_bytes(collection->documents[at]);
        if (!is_in_scope(document, scope))
            continue;
        status = append_document(out, document, request->ids_only, err);
        if (status == CRA_OK)
            (*count)++;
        if ((int64_t)(out->size - before) >= request->max_bytes)
            break;
    }
    return status;
}

static cra_status page(void *self, const cra_scope *scope, const cra_page_request *request, cra_buf *out, size_t *count,
                       cra_error *err)
{
    memory_docstore *store = self;

    *count = 0;
    cra_mutex_lock(&store->lock);
    const cra_status status = page_locked(store, scope, request, out, count, err);
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status count_scope(void *self, const cra_scope *scope, int64_t *out, cra_error *err)
{
    memory_docstore *store = self;

    (void)err;
    *out = 0;
    cra_mutex_lock(&store->lock);
    const cra_memory_collection *collection = find_collection(store, scope->collection);
    for (size_t i = 0; collection != NULL && i < collection->count; i++)
        *out += is_in_scope(cra_memory_bytes(collection->documents[i]), scope) ? 1 : 0;
    cra_mutex_unlock(&store->lock);
    return CRA_OK;
}

typedef struct search {
    cra_value wanted;
    bool any;
    bool equal;
} search;

static cra_status compare_found(void *user, cra_value value)
{
    search *s = user;

    s->any = true;
    s->equal = s->equal || cra_value_compare(value, s->wanted) == 0;
    return CRA_OK;
}

/* Equality as a query has it: with the value, with an element of an array; a missing field equals null. */
static bool is_found(cra_bytes document, const char *path, cra_value wanted)
{
    search s = {wanted, false, false};

    if (cra_bson_path_each(document, path, compare_found, &s) != CRA_OK)
        return false;
    return s.equal || (!s.any && wanted.type == CRA_BSON_NULL);
}

static cra_status find(void *self, const char *name, const char *path, cra_value value, cra_value after_id,
                       int64_t max_docs, cra_buf *out, size_t *count, cra_error *err)
{
    memory_docstore *store = self;
    cra_status status = CRA_OK;
    size_t at = 0;
    cra_buf key;

    *count = 0;
    cra_buf_init(&key, store->allocator);
    cra_mutex_lock(&store->lock);
    const cra_memory_collection *collection = find_collection(store, name);
    if (collection != NULL)
        status = first_above(collection, after_id, &key, &at, err);
    for (; collection != NULL && status == CRA_OK && at < collection->count && (int64_t)*count < max_docs; at++) {
        const cra_bytes document = cra_memory_bytes(collection->documents[at]);
        if (!is_found(document, path, value))
            continue;
        status = append_document(out, document, false, err);
        if (status == CRA_OK)
            (*count)++;
    }
    cra_mutex_unlock(&store->lock);
    cra_buf_cleanup(&key);
    return status;
}

/* ---- indexes and collections ---- */

static cra_status index_list(void *self, const char *name, cra_buf *out, size_t *count, cra_error *err)
{
    memory_docstore *store = self;
    cra_status status = CRA_OK;

    *count = 0;
    cra_mutex_lock(&store->lock);
    const cra_memory_collection *collection = find_collection(store, name);
    if (collection == NULL) {
        status = no_collection(err, name);
    } else {
        cra_bytes rest = cra_buf_bytes(&collection->indexes);
        cra_bytes index;
        status = cra_buf_append(out, rest.data, rest.size) == CRA_OK ? CRA_OK : no_memory(err);
        while (status == CRA_OK && cra_bson_next_document(&rest, &index) == CRA_OK)
            (*count)++;
    }
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status ensure_locked(memory_docstore *store, const char *name, cra_bytes spec, cra_index_outcome *outcome,
                                cra_error *err)
{
    cra_memory_collection *collection;
    cra_value filter;
    cra_value text = {0, NULL, 0};

    if (cra_bson_find(spec, "partialFilterExpression", 23, &filter) == CRA_OK)
        CRA_TRY(cra_index_filter_check(cra_value_document(filter), err));
    CRA_TRY(need_collection(store, name, &collection, err));
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
        return no_memory(err);
    *outcome = CRA_INDEX_CREATED;
    return CRA_OK;
}

static cra_status index_ensure(void *self, const char *collection, cra_bytes spec, cra_index_outcome *outcome,
                               cra_error *err)
{
    memory_docstore *store = self;
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
    memory_docstore *store = self;
    cra_status status = CRA_OK;

    cra_mutex_lock(&store->lock);
    const cra_memory_collection *collection = find_collection(store, name);
    if (collection == NULL)
        status = no_collection(err, name);
    else if (cra_buf_append(out, collection->options.data, collection->options.size) != CRA_OK)
        status = no_memory(err);
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status collection_create(void *self, const char *name, cra_bytes options, cra_error *err)
{
    static const char *const unsupported[] = {"capped", "timeseries", "viewOn"};
    memory_docstore *store = self;
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
    if (find_collection(store, name) != NULL)
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
    memory_docstore *store = self;
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
    .write_batch = write_batch,
    .fetch = fetch,
    .page = page,
    .count = count_scope,
    .delete_batch = delete_batch,
    .index_list = index_list,
    .index_ensure = index_ensure,
    .collection_get = collection_get,
    .collection_create = collection_create,
    .health = health,
    .find = find,
    .replace_if = replace_if,
};

cra_status cra_memory_docstore_open(const cra_open_args *args, const cra_docstore_vtable **vtable, void **self,
                                    cra_error *err)
{
    const cra_allocator *allocator = cra_context_allocator(args->context);
    memory_docstore *store = cra_calloc(allocator, 1, sizeof *store);

    if (store == NULL)
        return no_memory(err);
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
