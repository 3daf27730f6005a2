/* SPDX-License-Identifier: Apache-2.0 */

/* Unique indexes without indexes: the keys of a document are made anew and looked for among those of all others.
 * Quadratic, and right; whoever has many records has another store. */

#include <string.h>

#include "backends/memory/memory_docstore.h"
#include "base/alloc.h"
#include "base/buf.h"

/* Most keys of one document under one index: arrays of several thousand elements pass. */
#define MAX_KEYS 100000

/* The keys of one document, each with its size in front. */
typedef struct key_list {
    cra_buf bytes;
    size_t count;
} key_list;

/* What is indexed of one field: every element of an array, or the one value. */
typedef struct field_values {
    cra_buf keys; /* order keys, each with its size in front */
    size_t count;
    size_t left; /* elements of an array that come next */
} field_values;

static const cra_value null_value = {CRA_BSON_NULL, NULL, 0};

static cra_value option(cra_bytes index, const char *name)
{
    cra_value value = {0, NULL, 0};

    (void)cra_bson_find(index, name, strlen(name), &value);
    return value;
}

static bool is_set(cra_bytes index, const char *name)
{
    const cra_value value = option(index, name);
    int64_t number;

    if (value.type == CRA_BSON_BOOL)
        return value.size > 0 && value.data[0] != 0;
    return cra_value_as_int64(value, &number) && number != 0;
}

static cra_status append_key(cra_buf *keys, cra_value value)
{
    const size_t at = keys->size;
    size_t size = 0;

    CRA_TRY(cra_buf_append(keys, &size, sizeof size));
    CRA_TRY(cra_value_order_key(value, keys));
    size = keys->size - at - sizeof size;
    memcpy(keys->data + at, &size, sizeof size);
    return CRA_OK;
}

static size_t count_elements(cra_value array)
{
    cra_bson_iter iter;
    cra_bson_element element;
    size_t count = 0;

    if (cra_bson_iter_init(&iter, cra_value_document(array), NULL) != CRA_OK)
        return 0;
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK)
        count++;
    return count;
}

static cra_status take_value(void *user, cra_value value)
{
    field_values *f = user;

    /* The array itself is announced before its elements, and is not a key, unless it is empty. */
    if (f->left > 0) {
        f->left--;
    } else if (value.type == CRA_BSON_ARRAY) {
        f->left = count_elements(value);
        if (f->left > 0)
            return CRA_OK;
        value = (cra_value){CRA_BSON_UNDEFINED, NULL, 0};
    }
    f->count++;
    return append_key(&f->keys, value);
}

/* Append every combination of `prefix` and the fields from `iter` on. */
static cra_status combine(cra_bytes document, cra_bson_iter iter, const cra_buf *prefix, key_list *out, bool *any)
{
    cra_bson_element element;
    field_values values = {.count = 0};

    const cra_status next = cra_bson_iter_next(&iter, &element, NULL);
    if (next == CRA_DONE) {
        if (out->count++ >= MAX_KEYS)
            return CRA_UNSUPPORTED;
        CRA_TRY(cra_buf_append(&out->bytes, &prefix->size, sizeof prefix->size));
        return cra_buf_append(&out->bytes, prefix->data, prefix->size);
    }
    if (next != CRA_OK)
        return next;
    cra_buf_init(&values.keys, prefix->allocator);
    cra_status status = cra_bson_path_each(document, element.name, take_value, &values);
    *any = *any || values.count > 0;
    if (status == CRA_OK && values.count == 0)
        status = append_key(&values.keys, null_value);

    for (size_t at = 0; status == CRA_OK && at < values.keys.size;) {
        cra_buf longer;
        size_t size;
        memcpy(&size, values.keys.data + at, sizeof size);
        cra_buf_init(&longer, prefix->allocator);
        status = cra_buf_append(&longer, prefix->data, prefix->size);
        if (status == CRA_OK)
            status = cra_buf_append(&longer, values.keys.data + at, sizeof size + size);
        if (status == CRA_OK)
            status = combine(document, iter, &longer, out, any);
        cra_buf_cleanup(&longer);
        at += sizeof size + size;
    }
    cra_buf_cleanup(&values.keys);
    return status;
}

/* Every key that `document` has under `index`; none where it is not in it. */
static cra_status make_keys(cra_bytes index, cra_bytes document, key_list *out)
{
    const cra_value filter = option(index, "partialFilterExpression");
    const cra_buf empty = {.allocator = out->bytes.allocator};
    cra_bson_iter iter;
    bool any = false;

    if (filter.type != 0 && !cra_index_filter_matches(cra_value_document(filter), document))
        return CRA_OK;
    CRA_TRY(cra_bson_iter_init(&iter, cra_value_document(option(index, "key")), NULL));
    const cra_status status = combine(document, iter, &empty, out, &any);
    if (status == CRA_OK && !any && is_set(index, "sparse")) {
        cra_buf_clear(&out->bytes);
        out->count = 0;
    }
    return status;
}

static bool next_key(const key_list *list, size_t *at, cra_bytes *key)
{
    size_t size;

    if (*at >= list->bytes.size)
        return false;
    memcpy(&size, list->bytes.data + *at, sizeof size);
    *key = cra_bytes_of(list->bytes.data + *at + sizeof size, size);
    *at += sizeof size + size;
    return true;
}

static bool share_a_key(const key_list *a, const key_list *b)
{
    cra_bytes left;
    cra_bytes right;

    for (size_t i = 0; next_key(a, &i, &left);) {
        for (size_t j = 0; next_key(b, &j, &right);) {
            if (cra_bytes_equal(left, right))
                return true;
        }
    }
    return false;
}

/* Whether any document from `first` on, but `except`, has a key of `keys`. */
static cra_status look_for(const cra_memory_collection *collection, size_t first, cra_bytes index, const key_list *keys,
                           const cra_memory_document *except, bool *found)
{
    key_list others = {.count = 0};
    cra_status status = CRA_OK;

    *found = false;
    cra_buf_init(&others.bytes, keys->bytes.allocator);
    for (size_t i = first; status == CRA_OK && !*found && i < collection->count; i++) {
        if (collection->documents[i] == except)
            continue;
        cra_buf_clear(&others.bytes);
        others.count = 0;
        status = make_keys(index, cra_memory_bytes(collection->documents[i]), &others);
        *found = status == CRA_OK && share_a_key(keys, &others);
    }
    cra_buf_cleanup(&others.bytes);
    return status;
}

static cra_status check_one(const cra_memory_collection *collection, size_t first, cra_bytes index, cra_bytes document,
                            const cra_memory_document *except, const cra_allocator *allocator, cra_error *err)
{
    key_list keys = {.count = 0};
    bool found = false;

    cra_buf_init(&keys.bytes, allocator);
    cra_status status = make_keys(index, document, &keys);
    if (status == CRA_OK && keys.count > 0)
        status = look_for(collection, first, index, &keys, except, &found);
    cra_buf_cleanup(&keys.bytes);
    if (status == CRA_OK && !found)
        return CRA_OK;
    if (found) {
        const cra_bytes name = cra_value_text(option(index, "name"));
        return cra_error_set_native(err, CRA_EXISTS, CRA_MEMORY_DUPLICATE_KEY, "memory",
                                    "a document has the same key in the unique index %.*s",
                                    (int)(name.size < 100 ? name.size : 100), (const char *)name.data);
    }
    return cra_error_set(err, status, "memory", "%s",
                         status == CRA_NOMEM ? "out of memory" : "an array has too many elements for an index");
}

cra_status cra_memory_check_unique(const cra_memory_collection *collection, cra_bytes document,
                                   const cra_memory_document *except, const cra_allocator *allocator, cra_error *err)
{
    cra_bytes rest = {collection->indexes.data, collection->indexes.size};
    cra_bytes index;

    while (cra_bson_next_document(&rest, &index) == CRA_OK) {
        if (is_set(index, "unique"))
            CRA_TRY(check_one(collection, 0, index, document, except, allocator, err));
    }
    return CRA_OK;
}

cra_status cra_memory_check_index(const cra_memory_collection *collection, cra_bytes index,
                                  const cra_allocator *allocator, cra_error *err)
{
    if (!is_set(index, "unique"))
        return CRA_OK;
    for (size_t i = 0; i < collection->count; i++)
        CRA_TRY(check_one(collection, i + 1, index, cra_memory_bytes(collection->documents[i]), NULL, allocator, err));
    return CRA_OK;
}
