/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/encode.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "codec/encode_varint.h"
#include "codec/infer_hash.h"
#include "codec/profile.h"

/* A branch's number takes one byte; the profile needs 23 of them. */
#define MAX_BRANCHES 64

struct cra_encoder {
    const cra_allocator *allocator;
    cra_encode_checker *checker;
    cra_encode_record **records; /* by node index; owned */
    cra_encode_value **values;   /* by index of the node of the type; owned */
    size_t node_count;
    const cra_encode_record *root;
    uint8_t raw_branch; /* encoded branch of the bytes in `_raw` */
};

static cra_status compile_value(cra_encoder *encoder, const cra_avro_node *node, const cra_encode_value **out,
                                cra_error *err);
static cra_status compile_record(cra_encoder *encoder, const cra_avro_node *node, bool is_root,
                                 const cra_encode_record **out, cra_error *err);

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "avro", "no memory to compile a schema");
}

static cra_status not_typed(cra_error *err, const char *where, const char *what)
{
    return cra_error_set(err, CRA_INVALID, "avro", "the schema is not of the typed profile: \"%s\" %s",
                         where == NULL ? "(root)" : where, what);
}

static bool has_fields(const cra_avro_node *node, const char *const *names, const cra_avro_type *types, size_t count)
{
    if (node->type != CRA_AVRO_RECORD || node->count != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const cra_avro_node *type = node->as.fields[i].type;
        if (strcmp(node->as.fields[i].name, names[i]) != 0 || type->type != types[i])
            return false;
        /* The only fixed inside another type is an ObjectId. */
        if (type->type == CRA_AVRO_FIXED && type->as.fixed_size != 12)
            return false;
    }
    return true;
}

/* Shapes of the types marked by "cra.type". */
static const struct shape {
    const char *cra_type;
    cra_kind kind;
    cra_avro_type type;
    int64_t size; /* of a fixed; fields of a record; symbols of an enum */
    const char *names[2];
    cra_avro_type types[2];
} shapes[] = {
    {CRA_TYPE_DOCUMENT, CRA_KIND_DOCUMENT, CRA_AVRO_RECORD, 1, {"bson"}, {CRA_AVRO_BYTES}},
    {CRA_TYPE_ARRAY, CRA_KIND_ARRAY, CRA_AVRO_RECORD, 1, {"bson"}, {CRA_AVRO_BYTES}},
    {CRA_TYPE_BINARY, CRA_KIND_BINARY, CRA_AVRO_RECORD, 2, {"subtype", "data"}, {CRA_AVRO_INT, CRA_AVRO_BYTES}},
    {CRA_TYPE_UNDEFINED, CRA_KIND_UNDEFINED, CRA_AVRO_ENUM, 1, {NULL}, {CRA_AVRO_NULL}},
    {CRA_TYPE_OBJECTID, CRA_KIND_OBJECTID, CRA_AVRO_FIXED, 12, {NULL}, {CRA_AVRO_NULL}},
    {CRA_TYPE_DATE, CRA_KIND_DATE, CRA_AVRO_RECORD, 1, {"date"}, {CRA_AVRO_LONG}},
    {CRA_TYPE_NULL, CRA_KIND_NULL, CRA_AVRO_ENUM, 1, {NULL}, {CRA_AVRO_NULL}},
    {CRA_TYPE_REGEX, CRA_KIND_REGEX, CRA_AVRO_RECORD, 2, {"pattern", "options"}, {CRA_AVRO_STRING, CRA_AVRO_STRING}},
    {CRA_TYPE_DBPOINTER, CRA_KIND_DBPOINTER, CRA_AVRO_RECORD, 2, {"ref", "id"}, {CRA_AVRO_STRING, CRA_AVRO_FIXED}},
    {CRA_TYPE_CODE, CRA_KIND_CODE, CRA_AVRO_RECORD, 1, {"code"}, {CRA_AVRO_STRING}},
    {CRA_TYPE_SYMBOL, CRA_KIND_SYMBOL, CRA_AVRO_RECORD, 1, {"symbol"}, {CRA_AVRO_STRING}},
    {CRA_TYPE_CODE_W_SCOPE,
     CRA_KIND_CODE_W_SCOPE,
     CRA_AVRO_RECORD,
     2,
     {"code", "scope"},
     {CRA_AVRO_STRING, CRA_AVRO_BYTES}},
    {CRA_TYPE_TIMESTAMP, CRA_KIND_TIMESTAMP, CRA_AVRO_RECORD, 2, {"t", "i"}, {CRA_AVRO_LONG, CRA_AVRO_LONG}},
    {CRA_TYPE_DECIMAL128, CRA_KIND_DECIMAL128, CRA_AVRO_FIXED, 16, {NULL}, {CRA_AVRO_NULL}},
    {CRA_TYPE_MINKEY, CRA_KIND_MINKEY, CRA_AVRO_ENUM, 1, {NULL}, {CRA_AVRO_NULL}},
    {CRA_TYPE_MAXKEY, CRA_KIND_MAXKEY, CRA_AVRO_ENUM, 1, {NULL}, {CRA_AVRO_NULL}},
};

static cra_kind kind_of_marked(const cra_avro_node *node)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *shape = &shapes[i];
        if (strcmp(shape->cra_type, node->cra_type) != 0 || shape->type != node->type)
            continue;
        if (node->type == CRA_AVRO_FIXED)
            return node->as.fixed_size == shape->size ? shape->kind : CRA_KIND_NONE;
        if (node->type == CRA_AVRO_ENUM)
            return node->count == 1 ? shape->kind : CRA_KIND_NONE;
        return has_fields(node, shape->names, shape->types, (size_t)shape->size) ? shape->kind : CRA_KIND_NONE;
    }
    return CRA_KIND_NONE;
}

static cra_kind kind_of_node(const cra_avro_node *node)
{
    if (node->cra_type != NULL)
        return kind_of_marked(node);
    switch (node->type) {
    case CRA_AVRO_BOOLEAN:
        return CRA_KIND_BOOL;
    case CRA_AVRO_INT:
        return CRA_KIND_INT32;
    case CRA_AVRO_LONG:
        return node->logical == CRA_LOGICAL_TIMESTAMP_MILLIS ? CRA_KIND_DATE : CRA_KIND_INT64;
    case CRA_AVRO_DOUBLE:
        return CRA_KIND_DOUBLE;
    case CRA_AVRO_BYTES:
        return CRA_KIND_BYTES;
    case CRA_AVRO_STRING:
        return CRA_KIND_STRING;
    case CRA_AVRO_RECORD:
    case CRA_AVRO_MAP:
        return CRA_KIND_DOCUMENT;
    case CRA_AVRO_ARRAY:
        return CRA_KIND_ARRAY;
    default:
        return CRA_KIND_NONE;
    }
}

static cra_status add_branch(cra_encoder *encoder, cra_encode_value *value, const cra_avro_node *node, uint8_t branch,
                             cra_error *err)
{
    const cra_kind kind = kind_of_node(node);

    if (kind == CRA_KIND_NONE || value->branch[kind] != CRA_NO_BRANCH)
        return not_typed(err, node->full_name, "is a type that it does not have");
    value->branch[kind] = branch;
    if (kind == CRA_KIND_DATE)
        value->wrapped_date = node->cra_type != NULL;
    if (kind == CRA_KIND_DOCUMENT) {
        value->opaque_document = node->cra_type != NULL;
        value->empty_document = node->type == CRA_AVRO_MAP;
        if (!value->opaque_document && !value->empty_document)
            return compile_record(encoder, node, false, &value->record, err);
    }
    if (kind == CRA_KIND_ARRAY) {
        value->opaque_array = node->cra_type != NULL;
        if (!value->opaque_array)
            return compile_value(encoder, node->as.items, &value->items, err);
    }
    return CRA_OK;
}

/* A null branch is left out: it is written for an absent element, never for a value. */
static cra_status compile_value(cra_encoder *encoder, const cra_avro_node *node, const cra_encode_value **out,
                                cra_error *err)
{
    if (encoder->values[node->index] != NULL) {
        *out = encoder->values[node->index];
        return CRA_OK;
    }

    cra_encode_value *value = cra_calloc(encoder->allocator, 1, sizeof *value);
    if (value == NULL)
        return no_memory(err);
    encoder->values[node->index] = value;
    *out = value;
    memset(value->branch, CRA_NO_BRANCH, sizeof value->branch);
    if (node->type != CRA_AVRO_UNION)
        return add_branch(encoder, value, node, 0, err);

    value->is_union = true;
    if (node->count > MAX_BRANCHES)
        return not_typed(err, NULL, "holds a union of too many branches");
    for (size_t i = 0; i < node->count; i++) {
        if (node->as.branches[i]->type != CRA_AVRO_NULL)
            CRA_TRY(add_branch(encoder, value, node->as.branches[i], (uint8_t)(2 * i), err));
    }
    return CRA_OK;
}

static cra_status compile_table(cra_encoder *encoder, cra_encode_record *record, cra_error *err)
{
    size_t size = 4;

    while (size < 2 * record->count)
        size *= 2;
    uint32_t *table = cra_calloc(encoder->allocator, size, sizeof *table);
    if (table == NULL)
        return no_memory(err);
    record->table = table;
    record->table_size = size;
    for (size_t i = 0; i < record->count; i++) {
        size_t slot = record->fields[i].hash & (size - 1);
        while (table[slot] != 0)
            slot = (slot + 1) & (size - 1);
        table[slot] = (uint32_t)(i + 1);
    }
    return CRA_OK;
}

/* The last field of the root, and nothing else, is `_raw`. */
static cra_status compile_raw(cra_encoder *encoder, const cra_avro_node *node, cra_error *err)
{
    const cra_avro_field *field = node->count > 0 ? &node->as.fields[node->count - 1] : NULL;

    if (field == NULL || strcmp(field->name, CRA_PROFILE_RAW_FIELD) != 0 || field->type->count != 2)
        return not_typed(err, node->full_name, "does not end with the field _raw");
    const cra_avro_node *bytes = field->type->as.branches[1];
    if (bytes->type != CRA_AVRO_BYTES || bytes->cra_type == NULL || strcmp(bytes->cra_type, CRA_TYPE_RAW) != 0)
        return not_typed(err, field->name, "does not hold documents");
    encoder->raw_branch = 2;
    return CRA_OK;
}

static cra_status compile_fields(cra_encoder *encoder, const cra_avro_node *node, cra_encode_record *record,
                                 cra_error *err)
{
    cra_encode_field *fields = cra_calloc(encoder->allocator, record->count, sizeof *fields);
    if (fields == NULL)
        return no_memory(err);
    record->fields = fields;
    for (size_t i = 0; i < record->count; i++) {
        const cra_avro_field *field = &node->as.fields[i];
        cra_encode_key_init(&fields[i].key, field->original != NULL ? field->original : field->name);
        fields[i].hash = cra_key_hash(fields[i].key.text, fields[i].key.size - 1);
        CRA_TRY(compile_value(encoder, field->type, &fields[i].value, err));
    }
    return compile_table(encoder, record, err);
}

static cra_status compile_record(cra_encoder *encoder, const cra_avro_node *node, bool is_root,
                                 const cra_encode_record **out, cra_error *err)
{
    if (encoder->records[node->index] != NULL) {
        *out = encoder->records[node->index];
        return CRA_OK;
    }

    cra_encode_record *record = cra_calloc(encoder->allocator, 1, sizeof *record);
    if (record == NULL)
        return no_memory(err);
    encoder->records[node->index] = record;
    *out = record;
    for (size_t i = 0; i < node->count; i++) {
        const cra_avro_node *type = node->as.fields[i].type;
        if (type->type != CRA_AVRO_UNION || type->count == 0 || type->as.branches[0]->type != CRA_AVRO_NULL)
            return not_typed(err, node->as.fields[i].name, "cannot be absent");
    }
    if (is_root)
        CRA_TRY(compile_raw(encoder, node, err));
    record->count = is_root ? node->count - 1 : node->count;
    return compile_fields(encoder, node, record, err);
}

cra_status cra_encoder_new(const cra_allocator *allocator, const cra_avro_schema *schema, cra_encoder **out,
                           cra_error *err)
{
    const cra_avro_node *root = cra_avro_schema_root(schema);
    const char *profile = cra_avro_schema_profile(schema);

    *out = NULL;
    if (root->type != CRA_AVRO_RECORD || profile == NULL || strcmp(profile, CRA_PROFILE_TYPED) != 0)
        return not_typed(err, root->full_name, "is not marked as such");

    cra_encoder *encoder = cra_calloc(allocator, 1, sizeof *encoder);
    if (encoder == NULL)
        return no_memory(err);
    encoder->allocator = allocator;
    encoder->node_count = cra_avro_schema_node_count(schema);
    encoder->records = cra_calloc(allocator, encoder->node_count, sizeof *encoder->records);
    encoder->values = cra_calloc(allocator, encoder->node_count, sizeof *encoder->values);
    cra_status status = encoder->records == NULL || encoder->values == NULL
                            ? no_memory(err)
                            : compile_record(encoder, root, true, &encoder->root, err);
    if (status == CRA_OK) {
        status = cra_encode_checker_new(allocator, schema, &encoder->checker);
        if (status != CRA_OK)
            status = no_memory(err);
    }
    if (status != CRA_OK) {
        cra_encoder_free(encoder);
        return status;
    }
    *out = encoder;
    return CRA_OK;
}

void cra_encoder_free(cra_encoder *encoder)
{
    if (encoder == NULL)
        return;
    for (size_t i = 0; i < encoder->node_count; i++) {
        if (encoder->records != NULL && encoder->records[i] != NULL) {
            cra_free(encoder->allocator, (void *)encoder->records[i]->fields);
            cra_free(encoder->allocator, (void *)encoder->records[i]->table);
            cra_free(encoder->allocator, encoder->records[i]);
        }
        if (encoder->values != NULL)
            cra_free(encoder->allocator, encoder->values[i]);
    }
    cra_encode_checker_free(encoder->checker);
    cra_free(encoder->allocator, encoder->records);
    cra_free(encoder->allocator, encoder->values);
    cra_free(encoder->allocator, encoder);
}

/* All fields null but `_raw`, which holds the document. */
static cra_status put_raw(const cra_encoder *encoder, cra_bytes document, cra_buf *out)
{
    uint8_t head[1 + CRA_VARINT_MAX];

    CRA_TRY(cra_buf_reserve(out, encoder->root->count + sizeof head + document.size));
    memset(out->data + out->size, 0, encoder->root->count);
    out->size += encoder->root->count;
    head[0] = encoder->raw_branch;
    const size_t size = 1 + cra_varint_put(head + 1, (int64_t)document.size);
    CRA_TRY(cra_buf_append(out, head, size));
    return cra_buf_append(out, document.data, document.size);
}

static bool is_framed(cra_bytes document)
{
    if (document.size < 5 || document.size > INT32_MAX || document.data[document.size - 1] != 0)
        return false;
    const uint32_t size = (uint32_t)document.data[0] | (uint32_t)document.data[1] << 8 |
                          (uint32_t)document.data[2] << 16 | (uint32_t)document.data[3] << 24;
    return size == document.size;
}

cra_status cra_encoder_record(const cra_encoder *encoder, cra_bytes document, cra_buf *out, bool *raw, cra_error *err)
{
    const size_t start = out->size;
    bool opaque = false;

    *raw = false;
    if (!is_framed(document))
        return cra_error_set(err, CRA_CORRUPT, "bson", "no document: its length and end do not fit its %zu bytes",
                             document.size);

    cra_status status = cra_encode_walk(encoder->root, document, out, &opaque);
    if (status == CRA_OK)
        status = cra_buf_append_byte(out, 0);
    if (status == CRA_OK &&
        !cra_encode_check(encoder->checker, cra_bytes_of(out->data + start, out->size - start), document))
        status = CRA_ENCODE_UNFIT;
    /* What the walk has taken apart is valid; the rest has been looked at by nobody. */
    if (status == CRA_ENCODE_UNFIT || (status == CRA_OK && opaque)) {
        const cra_status valid = cra_bson_validate(document, 0, err);
        if (valid != CRA_OK) {
            out->size = start;
            return valid;
        }
    }
    if (status == CRA_ENCODE_UNFIT) {
        out->size = start;
        *raw = true;
        status = put_raw(encoder, document, out);
    }
    if (status != CRA_OK) {
        out->size = start;
        return cra_error_set(err, status, "avro", "no memory for a record of %zu bytes", document.size);
    }
    return CRA_OK;
}
