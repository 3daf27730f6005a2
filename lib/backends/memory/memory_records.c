/* SPDX-License-Identifier: Apache-2.0 */

/* Documents in memory: each collection's in an array in the order of `_id`. */

#include <stdio.h>
#include <string.h>

#include "backends/memory/memory_docstore.h"
#include "base/alloc.h"
#include "base/buf.h"

#define ORIGIN "memory"
#define CODE_INVALID_ID 53

/* ---- finding ---- */

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
    return status == CRA_NOMEM ? cra_memory_no_memory(err) : cra_error_set(err, status, ORIGIN, "a damaged _id");
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

static cra_status check_deadline(const cra_memory_docstore *store, int64_t deadline_ms, const char *doing,
                                 cra_error *err)
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
static cra_status write_one(cra_memory_docstore *store, cra_memory_collection *collection, cra_bytes document,
                            cra_buf *key, cra_write_result *result, cra_error *err)
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
        return cra_memory_no_memory(err);
    if (status != CRA_OK) {
        refuse(result, why.native_code, why.message);
        return CRA_OK;
    }
    cra_memory_document *made = new_document(store->allocator, document, cra_buf_bytes(key));
    if (made == NULL || cra_array_grow(store->allocator, (void **)&collection->documents, &collection->capacity,
                                       collection->count + 1, sizeof *collection->documents) != CRA_OK) {
        cra_free(store->allocator, made);
        return cra_memory_no_memory(err);
    }
    memmove(&collection->documents[at + 1], &collection->documents[at],
            (collection->count - at) * sizeof *collection->documents);
    collection->documents[at] = made;
    collection->count++;
    result->outcome = CRA_WRITE_NEW;
    return CRA_OK;
}

static cra_status write_locked(cra_memory_docstore *store, const char *name, const cra_bytes *documents, size_t count,
                               int64_t deadline_ms, cra_write_result *results, cra_error *err)
{
    cra_memory_collection *collection;
    cra_buf key;

    CRA_TRY(check_deadline(store, deadline_ms, "write records", err));
    CRA_TRY(cra_memory_need(store, name, &collection, err));
    cra_buf_init(&key, store->allocator);
    cra_status status = CRA_OK;
    for (size_t i = 0; status == CRA_OK && i < count; i++)
        status = write_one(store, collection, documents[i], &key, &results[i], err);
    cra_buf_cleanup(&key);
    return status;
}

cra_status cra_memory_write_batch(void *self, const char *collection, const cra_bytes *documents, size_t count,
                                  int64_t deadline_ms, cra_write_result *results, cra_error *err)
{
    cra_memory_docstore *store = self;

    memset(results, 0, count * sizeof *results);
    cra_mutex_lock(&store->lock);
    const cra_status status = write_locked(store, collection, documents, count, deadline_ms, results, err);
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status delete_locked(cra_memory_docstore *store, const cra_scope *scope, const cra_value *ids, size_t count,
                                cra_bytes match, int64_t deadline_ms, int64_t *removed, cra_error *err)
{
    cra_memory_collection *collection = cra_memory_find(store, scope->collection);
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

cra_status cra_memory_delete_batch(void *self, const cra_scope *scope, const cra_value *ids, size_t count,
                                   cra_bytes match, int64_t deadline_ms, int64_t *removed, cra_error *err)
{
    cra_memory_docstore *store = self;

    *removed = 0;
    cra_mutex_lock(&store->lock);
    const cra_status status = delete_locked(store, scope, ids, count, match, deadline_ms, removed, err);
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status replace_locked(cra_memory_docstore *store, const char *name, cra_value id, cra_bytes match,
                                 cra_bytes document, cra_buf *key, cra_error *err)
{
    cra_memory_collection *collection = cra_memory_find(store, name);
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
        return cra_memory_no_memory(err);
    cra_free(store->allocator, collection->documents[at]);
    collection->documents[at] = made;
    return CRA_OK;
}

cra_status cra_memory_replace_if(void *self, const char *collection, cra_value id, cra_bytes match, cra_bytes document,
                                 cra_error *err)
{
    cra_memory_docstore *store = self;
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
    return cra_memory_no_memory(err);
}

static cra_status fetch_locked(cra_memory_docstore *store, const char *name, const cra_value *ids, size_t count,
                               cra_buf *out, cra_error *err)
{
    const cra_memory_collection *collection = cra_memory_find(store, name);
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

cra_status cra_memory_fetch(void *self, const char *collection, const cra_value *ids, size_t count, cra_buf *out,
                            cra_error *err)
{
    cra_memory_docstore *store = self;

    cra_mutex_lock(&store->lock);
    const cra_status status = fetch_locked(store, collection, ids, count, out, err);
    cra_mutex_unlock(&store->lock);
    return status;
}

static cra_status page_locked(cra_memory_docstore *store, const cra_scope *scope, const cra_page_request *request,
                              cra_buf *out, size_t *count, cra_error *err)
{
    const cra_memory_collection *collection = cra_memory_find(store, scope->collection);
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

cra_status cra_memory_page(void *self, const cra_scope *scope, const cra_page_request *request, cra_buf *out,
                           size_t *count, cra_error *err)
{
    cra_memory_docstore *store = self;

    *count = 0;
    cra_mutex_lock(&store->lock);
    const cra_status status = page_locked(store, scope, request, out, count, err);
    cra_mutex_unlock(&store->lock);
    return status;
}

cra_status cra_memory_count(void *self, const cra_scope *scope, int64_t *out, cra_error *err)
{
    cra_memory_docstore *store = self;

    (void)err;
    *out = 0;
    cra_mutex_lock(&store->lock);
    const cra_memory_collection *collection = cra_memory_find(store, scope->collection);
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

cra_status cra_memory_search(void *self, const char *name, const char *path, cra_value value, cra_value after_id,
                             int64_t max_docs, cra_buf *out, size_t *count, cra_error *err)
{
    cra_memory_docstore *store = self;
    cra_status status = CRA_OK;
    size_t at = 0;
    cra_buf key;

    *count = 0;
    cra_buf_init(&key, store->allocator);
    cra_mutex_lock(&store->lock);
    const cra_memory_collection *collection = cra_memory_find(store, name);
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
