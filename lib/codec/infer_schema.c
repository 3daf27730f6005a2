/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/infer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "codec/profile.h"

typedef struct schema_writer {
    const cra_avro_infer *infer;
    cra_buf *out;
    cra_names types;  /* names of all named types */
    uint32_t defined; /* special types (by slot) that stand in the text already */
} schema_writer;

/* Types of the profile that have a name: defined where they first occur, named from then on. Opaque documents and
 * arrays, and dates beside int64, need slots of their own: their kinds have a plain form as well. */
enum { OPAQUE_DOCUMENT = CRA_KIND_DOCUMENT, OPAQUE_ARRAY = CRA_KIND_ARRAY, WRAPPED_DATE = CRA_KIND_DATE };

#define ENUM_OF(word) "\"enum\",\"symbols\":[\"" word "\"]"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"
#define RECORD_OF(fields) "\"record\",\"fields\":[" fields "]"
#define BYTES_FIELD(name) FIELD(name, "\"bytes\"")
#define STRING_FIELD(name) FIELD(name, "\"string\"")
#define LONG_FIELD(name) FIELD(name, "\"long\"")
#define TIMESTAMP_MILLIS "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}"

static const struct special {
    const char *name;
    const char *cra_type;
    const char *form; /* value of "type" and what belongs to it */
} specials[CRA_KIND_COUNT] = {
    [OPAQUE_DOCUMENT] = {"bson_document", CRA_TYPE_DOCUMENT, RECORD_OF(BYTES_FIELD("bson"))},
    [OPAQUE_ARRAY] = {"bson_array", CRA_TYPE_ARRAY, RECORD_OF(BYTES_FIELD("bson"))},
    [CRA_KIND_BINARY] = {"bson_binary", CRA_TYPE_BINARY,
                         RECORD_OF(FIELD("subtype", "\"int\"") "," BYTES_FIELD("data"))},
    [CRA_KIND_UNDEFINED] = {"bson_undefined", CRA_TYPE_UNDEFINED, ENUM_OF("undefined")},
    [CRA_KIND_OBJECTID] = {"bson_objectid", CRA_TYPE_OBJECTID, "\"fixed\",\"size\":12"},
    [WRAPPED_DATE] = {"bson_date", CRA_TYPE_DATE, RECORD_OF(FIELD("date", TIMESTAMP_MILLIS))},
    [CRA_KIND_NULL] = {"bson_null", CRA_TYPE_NULL, ENUM_OF("null")},
    [CRA_KIND_REGEX] = {"bson_regex", CRA_TYPE_REGEX, RECORD_OF(STRING_FIELD("pattern") "," STRING_FIELD("options"))},
    /* Its id has a type of its own: the same one as ObjectId would be defined twice or used before. */
    [CRA_KIND_DBPOINTER] = {"bson_dbpointer", CRA_TYPE_DBPOINTER,
                            RECORD_OF(STRING_FIELD("ref") "," FIELD(
                                "id", "{\"type\":\"fixed\",\"name\":\"bson_dbpointer_id\",\"size\":12}"))},
    [CRA_KIND_CODE] = {"bson_code", CRA_TYPE_CODE, RECORD_OF(STRING_FIELD("code"))},
    [CRA_KIND_SYMBOL] = {"bson_symbol", CRA_TYPE_SYMBOL, RECORD_OF(STRING_FIELD("symbol"))},
    [CRA_KIND_CODE_W_SCOPE] = {"bson_code_w_scope", CRA_TYPE_CODE_W_SCOPE,
                               RECORD_OF(STRING_FIELD("code") "," BYTES_FIELD("scope"))},
    [CRA_KIND_TIMESTAMP] = {"bson_timestamp", CRA_TYPE_TIMESTAMP, RECORD_OF(LONG_FIELD("t") "," LONG_FIELD("i"))},
    [CRA_KIND_DECIMAL128] = {"bson_decimal128", CRA_TYPE_DECIMAL128, "\"fixed\",\"size\":16"},
    [CRA_KIND_MINKEY] = {"bson_minkey", CRA_TYPE_MINKEY, ENUM_OF("minkey")},
    [CRA_KIND_MAXKEY] = {"bson_maxkey", CRA_TYPE_MAXKEY, ENUM_OF("maxkey")},
};

static const char *const primitives[CRA_KIND_COUNT] = {
    [CRA_KIND_DOUBLE] = "\"double\"", [CRA_KIND_STRING] = "\"string\"", [CRA_KIND_BYTES] = "\"bytes\"",
    [CRA_KIND_BOOL] = "\"boolean\"",  [CRA_KIND_INT32] = "\"int\"",     [CRA_KIND_INT64] = "\"long\"",
};

/* Words of the schema language, which no type may be named. */
static const char *const reserved[] = {"null",   "boolean",          "int",   "long", "float", "double", "bytes",
                                       "string", "record",           "error", "enum", "array", "map",    "union",
                                       "fixed",  "bson_dbpointer_id"};

static cra_status write_record(schema_writer *writer, const cra_infer_record *record, const char *hint, bool is_root);
static cra_status write_kind(schema_writer *writer, const cra_infer_value *value, cra_kind kind, const char *hint);

static cra_status write_special(schema_writer *writer, unsigned slot)
{
    const struct special *special = &specials[slot];

    if ((writer->defined & CRA_KIND_BIT(slot)) != 0)
        return cra_buf_appendf(writer->out, "\"%s\"", special->name);
    writer->defined |= CRA_KIND_BIT(slot);
    return cra_buf_appendf(writer->out, "{\"name\":\"%s\",\"%s\":\"%s\",\"type\":%s}", special->name, CRA_TYPE_PROPERTY,
                           special->cra_type, special->form);
}

/* All branches, separated by commas, and by one from what stands before unless they come `first`. Their order is
 * that of the kinds, whatever was seen first. */
static cra_status write_kinds(schema_writer *writer, const cra_infer_value *value, const char *hint, bool first)
{
    for (unsigned kind = 0; kind < CRA_KIND_COUNT; kind++) {
        if ((value->kinds & CRA_KIND_BIT(kind)) == 0)
            continue;
        if (!first)
            CRA_TRY(cra_buf_append_byte(writer->out, ','));
        first = false;
        CRA_TRY(write_kind(writer, value, (cra_kind)kind, hint));
    }
    return CRA_OK;
}

static cra_status write_items(schema_writer *writer, const cra_infer_value *items, const char *hint)
{
    /* Only empty arrays were seen. A type that says nothing ("null") is refused by some readers. */
    if (items == NULL || items->kinds == 0)
        return cra_buf_append_str(writer->out, "\"string\"");
    if ((items->kinds & (items->kinds - 1)) == 0)
        return write_kinds(writer, items, hint, true);

    CRA_TRY(cra_buf_append_byte(writer->out, '['));
    CRA_TRY(write_kinds(writer, items, hint, true));
    return cra_buf_append_byte(writer->out, ']');
}

static cra_status write_kind(schema_writer *writer, const cra_infer_value *value, cra_kind kind, const char *hint)
{
    switch (kind) {
    case CRA_KIND_DOCUMENT:
        if (value->opaque_document || cra_infer_is_sparse(value->record))
            return write_special(writer, OPAQUE_DOCUMENT);
        /* Records without fields are refused by some readers. */
        if (value->record->count == 0)
            return cra_buf_append_str(writer->out, "{\"type\":\"map\",\"values\":\"string\"}");
        return write_record(writer, value->record, hint, false);
    case CRA_KIND_ARRAY:
        if (value->opaque_array)
            return write_special(writer, OPAQUE_ARRAY);
        CRA_TRY(cra_buf_append_str(writer->out, "{\"type\":\"array\",\"items\":"));
        CRA_TRY(write_items(writer, value->items, hint));
        return cra_buf_append_byte(writer->out, '}');
    case CRA_KIND_DATE:
        if ((value->kinds & CRA_KIND_BIT(CRA_KIND_INT64)) != 0)
            return write_special(writer, WRAPPED_DATE);
        return cra_buf_append_str(writer->out, TIMESTAMP_MILLIS);
    default:
        return primitives[kind] != NULL ? cra_buf_append_str(writer->out, primitives[kind])
                                        : write_special(writer, kind);
    }
}

/* `text` is well-formed UTF-8. */
static cra_status write_json_string(cra_buf *out, const char *text, size_t size)
{
    CRA_TRY(cra_buf_append_byte(out, '"'));
    for (size_t i = 0; i < size; i++) {
        const uint8_t byte = (uint8_t)text[i];
        if (byte < 0x20)
            CRA_TRY(cra_buf_appendf(out, "\\u%04x", byte));
        else if (byte == '"' || byte == '\\')
            CRA_TRY(cra_buf_appendf(out, "\\%c", byte));
        else
            CRA_TRY(cra_buf_append_byte(out, byte));
    }
    return cra_buf_append_byte(out, '"');
}

static cra_status write_field(schema_writer *writer, const cra_infer_field *field, const char *name)
{
    CRA_TRY(cra_buf_appendf(writer->out, "{\"name\":\"%s\",\"type\":[\"null\"", name));
    CRA_TRY(write_kinds(writer, &field->value, name, false));
    CRA_TRY(cra_buf_append_str(writer->out, "],\"default\":null"));
    if (strcmp(name, field->key) != 0) {
        CRA_TRY(cra_buf_append_str(writer->out, ",\"" CRA_NAME_PROPERTY "\":"));
        CRA_TRY(write_json_string(writer->out, field->key, field->key_size));
    }
    return cra_buf_append_byte(writer->out, '}');
}

static cra_status name_fields(const cra_infer_field *const *fields, size_t count, cra_names *names, const char **out)
{
    /* Keys that are names keep them, whatever is mangled to the same. */
    for (int mangle = 0; mangle < 2; mangle++) {
        for (size_t i = 0; i < count; i++) {
            const cra_bytes key = cra_bytes_of(fields[i]->key, fields[i]->key_size);
            if (cra_name_is_valid(key) == (mangle == 0))
                CRA_TRY(cra_names_add(names, key, &out[i]));
        }
    }
    return CRA_OK;
}

static cra_status write_raw_field(schema_writer *writer)
{
    return cra_buf_append_str(writer->out, "{\"name\":\"" CRA_PROFILE_RAW_FIELD
                                           "\",\"type\":[\"null\",{\"type\":\"bytes\",\"" CRA_TYPE_PROPERTY
                                           "\":\"" CRA_TYPE_RAW "\"}],\"default\":null}");
}

/* `fields` and `names` have room for all fields. */
static cra_status write_fields_with(schema_writer *writer, const cra_infer_record *record, bool is_root,
                                    const cra_infer_field **fields, const char **names, cra_names *scope)
{
    const char *raw;

    if (is_root)
        CRA_TRY(cra_names_add(scope, cra_bytes_of_str(CRA_PROFILE_RAW_FIELD), &raw));
    CRA_TRY(cra_infer_order(writer->infer->allocator, record, fields));
    CRA_TRY(name_fields(fields, record->count, scope, names));
    for (size_t i = 0; i < record->count; i++) {
        if (i > 0)
            CRA_TRY(cra_buf_append_byte(writer->out, ','));
        CRA_TRY(write_field(writer, fields[i], names[i]));
    }
    if (!is_root)
        return CRA_OK;
    if (record->count > 0)
        CRA_TRY(cra_buf_append_byte(writer->out, ','));
    return write_raw_field(writer);
}

static cra_status write_fields(schema_writer *writer, const cra_infer_record *record, bool is_root)
{
    const cra_allocator *allocator = writer->infer->allocator;
    const cra_infer_field **fields = cra_calloc(allocator, record->count, sizeof *fields);
    const char **names = cra_calloc(allocator, record->count, sizeof *names);
    cra_status status = CRA_NOMEM;
    cra_names scope;

    cra_names_init(&scope, allocator);
    if (fields != NULL && names != NULL)
        status = write_fields_with(writer, record, is_root, fields, names, &scope);
    cra_names_cleanup(&scope);
    cra_free(allocator, (void *)fields);
    cra_free(allocator, (void *)names);
    return status;
}

static cra_status write_record(schema_writer *writer, const cra_infer_record *record, const char *hint, bool is_root)
{
    const char *name;

    CRA_TRY(cra_names_add(&writer->types, cra_bytes_of_str(hint), &name));
    CRA_TRY(cra_buf_appendf(writer->out, "{\"type\":\"record\",\"name\":\"%s\",", name));
    if (is_root)
        CRA_TRY(cra_buf_append_str(writer->out, "\"" CRA_PROFILE_PROPERTY "\":\"" CRA_PROFILE_TYPED "\","));
    CRA_TRY(cra_buf_append_str(writer->out, "\"fields\":["));
    CRA_TRY(write_fields(writer, record, is_root));
    return cra_buf_append_str(writer->out, "]}");
}

static cra_status reserve_names(cra_names *types)
{
    const char *name;

    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        CRA_TRY(cra_names_add(types, cra_bytes_of_str(reserved[i]), &name));
    for (size_t i = 0; i < CRA_KIND_COUNT; i++) {
        if (specials[i].name != NULL)
            CRA_TRY(cra_names_add(types, cra_bytes_of_str(specials[i].name), &name));
    }
    return CRA_OK;
}

cra_status cra_avro_infer_schema(const cra_avro_infer *infer, const char *record_name, cra_buf *out, cra_error *err)
{
    schema_writer writer = {.infer = infer, .out = out};
    const size_t start = out->size;

    cra_names_init(&writer.types, infer->allocator);
    cra_status status = reserve_names(&writer.types);
    if (status == CRA_OK)
        status = write_record(&writer, &infer->root, record_name == NULL ? "document" : record_name, true);
    cra_names_cleanup(&writer.types);
    if (status != CRA_OK) {
        out->size = start;
        return cra_error_set(err, status, "avro", "no memory for the schema");
    }
    return CRA_OK;
}
