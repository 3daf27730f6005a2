/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/infer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "codec/infer_hash.h"

/* Below this a walk over the fields is as good as a table. */
#define TABLE_FROM_FIELDS 8

static cra_status add_document(cra_avro_infer *infer, cra_infer_record *record, cra_bytes document, unsigned depth);
static void free_record(cra_avro_infer *infer, cra_infer_record *record);

static void clear_value(cra_avro_infer *infer, cra_infer_value *value)
{
    if (value->record != NULL) {
        free_record(infer, value->record);
        cra_free(infer->allocator, value->record);
        value->record = NULL;
    }
    if (value->items != NULL) {
        clear_value(infer, value->items);
        cra_free(infer->allocator, value->items);
        value->items = NULL;
    }
}

static void free_record(cra_avro_infer *infer, cra_infer_record *record)
{
    cra_infer_field *field = record->first;

    while (field != NULL) {
        cra_infer_field *next = field->next;
        clear_value(infer, &field->value);
        infer->nodes--;
        infer->keys_bytes -= field->key_size;
        cra_free(infer->allocator, field->key);
        cra_free(infer->allocator, field->edges);
        cra_free(infer->allocator, field);
        field = next;
    }
    cra_free(infer->allocator, record->table);
    memset(record, 0, sizeof *record);
}

static bool has_key(const cra_infer_field *field, const char *key, size_t size)
{
    return field->key_size == size && memcmp(field->key, key, size) == 0;
}

static void table_insert(cra_infer_field **table, size_t size, cra_infer_field *field)
{
    size_t slot = field->hash & (size - 1);

    while (table[slot] != NULL)
        slot = (slot + 1) & (size - 1);
    table[slot] = field;
}

static cra_status table_reserve(cra_avro_infer *infer, cra_infer_record *record)
{
    if (record->count < TABLE_FROM_FIELDS || 2 * (record->count + 1) <= record->table_size)
        return CRA_OK;

    const size_t size = record->table_size == 0 ? 4 * TABLE_FROM_FIELDS : 2 * record->table_size;
    cra_infer_field **table = cra_calloc(infer->allocator, size, sizeof(cra_infer_field *));
    if (table == NULL)
        return CRA_NOMEM;
    for (cra_infer_field *field = record->first; field != NULL; field = field->next)
        table_insert(table, size, field);
    cra_free(infer->allocator, record->table);
    record->table = table;
    record->table_size = size;
    return CRA_OK;
}

static cra_infer_field *find_field(const cra_infer_record *record, const char *key, size_t size, uint32_t hash)
{
    if (record->table == NULL) {
        cra_infer_field *field = record->first;
        while (field != NULL && !has_key(field, key, size))
            field = field->next;
        return field;
    }

    size_t slot = hash & (record->table_size - 1);
    while (record->table[slot] != NULL && !has_key(record->table[slot], key, size))
        slot = (slot + 1) & (record->table_size - 1);
    return record->table[slot];
}

static cra_status insert_field(cra_avro_infer *infer, cra_infer_record *record, const cra_bson_element *element,
                               uint32_t hash, cra_infer_field **out)
{
    CRA_TRY(table_reserve(infer, record));
    cra_infer_field *field = cra_calloc(infer->allocator, 1, sizeof *field);
    if (field == NULL)
        return CRA_NOMEM;
    field->key = cra_strndup(infer->allocator, element->name, element->name_size);
    if (field->key == NULL) {
        cra_free(infer->allocator, field);
        return CRA_NOMEM;
    }
    field->key_size = element->name_size;
    field->hash = hash;
    field->ordinal = (uint32_t)record->count;

    if (record->last == NULL)
        record->first = field;
    else
        record->last->next = field;
    record->last = field;
    record->count++;
    if (record->table != NULL)
        table_insert(record->table, record->table_size, field);
    infer->nodes++;
    infer->keys_bytes += field->key_size;
    *out = field;
    return CRA_OK;
}

/* Note that `field` stood right behind `previous` (NULL: nothing did). */
static cra_status count_edge(cra_avro_infer *infer, cra_infer_field *previous, const cra_infer_field *field)
{
    if (previous == NULL || previous == field)
        return CRA_OK;
    for (size_t i = 0; i < previous->edge_count; i++) {
        if (previous->edges[i].to == field->ordinal) {
            previous->edges[i].count += previous->edges[i].count < UINT32_MAX;
            return CRA_OK;
        }
    }
    if (previous->edge_count == CRA_INFER_MAX_EDGES)
        return CRA_OK;

    void *edges = previous->edges;
    const cra_status status = cra_array_grow(infer->allocator, &edges, &previous->edge_capacity,
                                             previous->edge_count + 1, sizeof *previous->edges);
    previous->edges = edges;
    if (status != CRA_OK)
        return status;
    previous->edges[previous->edge_count++] = (cra_infer_edge){field->ordinal, 1};
    return CRA_OK;
}

static bool is_full(const cra_avro_infer *infer, const cra_infer_record *record, size_t key_size)
{
    return record->count >= CRA_INFER_MAX_FIELDS || infer->nodes >= CRA_INFER_MAX_NODES ||
           infer->keys_bytes + key_size > CRA_INFER_MAX_KEYS_BYTES;
}

static cra_status add_embedded(cra_avro_infer *infer, cra_infer_value *value, cra_value seen, unsigned depth)
{
    if (value->opaque_document)
        return CRA_OK;
    if (depth < CRA_INFER_MAX_DEPTH) {
        if (value->record == NULL)
            value->record = cra_calloc(infer->allocator, 1, sizeof *value->record);
        if (value->record == NULL)
            return CRA_NOMEM;
        const cra_status status = add_document(infer, value->record, cra_value_document(seen), depth + 1);
        /* DONE: it is full, and what does not fit would send every document whole to `_raw`. */
        if (status != CRA_DONE)
            return status;
        free_record(infer, value->record);
        cra_free(infer->allocator, value->record);
        value->record = NULL;
    }
    value->opaque_document = true;
    return CRA_OK;
}

static cra_status add_value(cra_avro_infer *infer, cra_infer_value *value, cra_value seen, unsigned depth);

static cra_status add_array(cra_avro_infer *infer, cra_infer_value *value, cra_value seen, unsigned depth)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_status status;

    if (depth >= CRA_INFER_MAX_DEPTH) {
        value->opaque_array = true;
        return CRA_OK;
    }
    CRA_TRY(cra_bson_iter_init(&iter, cra_value_document(seen), NULL));
    while ((status = cra_bson_iter_next(&iter, &element, NULL)) == CRA_OK) {
        if (value->items == NULL)
            value->items = cra_calloc(infer->allocator, 1, sizeof *value->items);
        if (value->items == NULL)
            return CRA_NOMEM;
        CRA_TRY(add_value(infer, value->items, element.value, depth + 1));
    }
    return status == CRA_DONE ? CRA_OK : status;
}

static cra_status add_value(cra_avro_infer *infer, cra_infer_value *value, cra_value seen, unsigned depth)
{
    cra_kind kind = cra_kind_of_type(seen.type);

    if (kind == CRA_KIND_NONE)
        return CRA_CORRUPT;
    if (kind == CRA_KIND_BYTES && seen.data[4] != 0)
        kind = CRA_KIND_BINARY;
    if (kind == CRA_KIND_DOCUMENT)
        CRA_TRY(add_embedded(infer, value, seen, depth));
    if (kind == CRA_KIND_ARRAY)
        CRA_TRY(add_array(infer, value, seen, depth));
    value->kinds |= CRA_KIND_BIT(kind);
    return CRA_OK;
}

/* Merge `document` (valid) into `record`. @return CRA_OK, CRA_NOMEM, CRA_DONE where a new key found no room;
 * the root, at depth 0, leaves such keys unseen instead */
static cra_status add_document(cra_avro_infer *infer, cra_infer_record *record, cra_bytes document, unsigned depth)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_infer_field *previous = NULL;
    cra_status status;

    CRA_TRY(cra_bson_iter_init(&iter, document, NULL));
    record->documents++;
    while ((status = cra_bson_iter_next(&iter, &element, NULL)) == CRA_OK) {
        record->elements++;
        cra_infer_field *field = previous == NULL ? record->first : previous->next;
        if (field == NULL || !has_key(field, element.name, element.name_size)) {
            const uint32_t hash = cra_key_hash(element.name, element.name_size);
            field = find_field(record, element.name, element.name_size, hash);
            if (field == NULL) {
                if (element.name_size > CRA_INFER_MAX_KEY_BYTES || !cra_utf8_valid(element.name, element.name_size))
                    continue;
                if (is_full(infer, record, element.name_size)) {
                    if (depth > 0)
                        return CRA_DONE;
                    continue;
                }
                CRA_TRY(insert_field(infer, record, &element, hash, &field));
            }
        }
        CRA_TRY(count_edge(infer, previous, field));
        previous = field;
        CRA_TRY(add_value(infer, &field->value, element.value, depth));
    }
    return status == CRA_DONE ? CRA_OK : status;
}

bool cra_infer_is_sparse(const cra_infer_record *record)
{
    return record->count > CRA_INFER_SPARSE_FIELDS &&
           record->elements < (int64_t)record->count * record->documents / CRA_INFER_SPARSE_RATIO;
}

cra_status cra_avro_infer_new(const cra_allocator *allocator, cra_avro_infer **out, cra_error *err)
{
    *out = cra_calloc(allocator, 1, sizeof **out);
    if (*out == NULL)
        return cra_error_set(err, CRA_NOMEM, "avro", "no memory to infer a schema");
    (*out)->allocator = allocator;
    return CRA_OK;
}

cra_status cra_avro_infer_add(cra_avro_infer *infer, cra_bytes document, cra_error *err)
{
    /* A damaged document should leave nothing of itself in the schema. */
    CRA_TRY(cra_bson_validate(document, 0, err));
    const cra_status status = add_document(infer, &infer->root, document, 0);
    if (status == CRA_NOMEM)
        return cra_error_set(err, status, "avro", "no memory to infer a schema");
    return status;
}

void cra_avro_infer_free(cra_avro_infer *infer)
{
    if (infer == NULL)
        return;
    free_record(infer, &infer->root);
    cra_free(infer->allocator, infer);
}
