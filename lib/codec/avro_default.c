/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/avro_default.h"

#include <json-c/json.h>
#include <string.h>

#include "base/buf.h"
#include "codec/avro_schema_internal.h"
#include "codec/bson_raw.h"
#include "codec/decimal128.h"

#define ORIGIN "avro"
#define DEPTH_MAX CRA_BSON_MAX_DEPTH

typedef struct evaluator {
    const cra_avro_options *options;
    cra_buf *out;
    cra_error *err;
} evaluator;

static cra_status wrong(evaluator *e, const char *what)
{
    return cra_error_set(e->err, CRA_CORRUPT, ORIGIN, "a default is no %s", what);
}

static cra_status put(evaluator *e, const void *data, size_t size)
{
    return cra_buf_append(e->out, data, size) == CRA_OK ? CRA_OK
                                                        : cra_error_set(e->err, CRA_NOMEM, ORIGIN, "out of memory");
}

static cra_status put_number(evaluator *e, uint64_t number, size_t size)
{
    uint8_t bytes[8];

    cra_put_le64(bytes, number);
    return put(e, bytes, size);
}

static cra_status evaluate(evaluator *e, const cra_avro_node *node, json_object *json, size_t depth, uint8_t *type);

static cra_status integer(evaluator *e, const cra_avro_node *node, json_object *json, uint8_t *type)
{
    if (!json_object_is_type(json, json_type_int))
        return wrong(e, "integer");
    int64_t number = json_object_get_int64(json);
    if (node->type == CRA_AVRO_INT && (number < INT32_MIN || number > INT32_MAX))
        return wrong(e, "32-bit integer");
    switch (node->logical) {
    case CRA_LOGICAL_DATE:
        *type = CRA_BSON_DATE;
        return put_number(e, (uint64_t)(number * 86400000), 8);
    case CRA_LOGICAL_TIMESTAMP_MILLIS:
    case CRA_LOGICAL_LOCAL_TIMESTAMP_MILLIS:
        *type = CRA_BSON_DATE;
        return put_number(e, (uint64_t)number, 8);
    default:
        *type = node->type == CRA_AVRO_INT ? CRA_BSON_INT32 : CRA_BSON_INT64;
        return put_number(e, (uint64_t)number, node->type == CRA_AVRO_INT ? 4 : 8);
    }
}

static cra_status real(evaluator *e, json_object *json, uint8_t *type)
{
    uint8_t bytes[8];

    if (!json_object_is_type(json, json_type_double) && !json_object_is_type(json, json_type_int))
        return wrong(e, "number");
    cra_put_le_double(bytes, json_object_get_double(json));
    *type = CRA_BSON_DOUBLE;
    return put(e, bytes, sizeof bytes);
}

static cra_status text(evaluator *e, json_object *json, uint8_t *type)
{
    if (!json_object_is_type(json, json_type_string))
        return wrong(e, "string");
    const size_t size = (size_t)json_object_get_string_len(json);
    *type = CRA_BSON_STRING;
    CRA_TRY(put_number(e, size + 1, 4));
    CRA_TRY(put(e, json_object_get_string(json), size));
    return put(e, "", 1);
}

/* Bytes in JSON are text whose code points 0–255 are the bytes. */
static cra_status bytes(evaluator *e, const cra_avro_node *node, json_object *json, uint8_t *type)
{
    cra_buf plain;
    uint8_t decimal[CRA_DECIMAL128_SIZE];

    if (!json_object_is_type(json, json_type_string))
        return wrong(e, "string of bytes");
    const uint8_t *at = (const uint8_t *)json_object_get_string(json);
    const uint8_t *end = at + json_object_get_string_len(json);
    cra_buf_init(&plain, e->out->allocator);
    cra_status status = CRA_OK;
    while (status == CRA_OK && at < end) {
        uint8_t byte = *at++;
        if (byte >= 0x80) {
            if ((byte & 0xFC) != 0xC0 || at == end)
                status = wrong(e, "string of bytes");
            else
                byte = (uint8_t)(byte << 6 | (*at++ & 0x3F));
        }
        if (status == CRA_OK)
            status = cra_buf_append(&plain, &byte, 1);
    }
    if (status == CRA_OK && node->type == CRA_AVRO_FIXED && (int64_t)plain.size != node->as.fixed_size)
        status = wrong(e, "value of its fixed size");
    if (status == CRA_OK && node->logical == CRA_LOGICAL_DECIMAL &&
        cra_decimal128_from_int_be(plain.data, plain.size, node->scale, decimal)) {
        *type = CRA_BSON_DECIMAL128;
        status = put(e, decimal, sizeof decimal);
    } else if (status == CRA_OK) {
        *type = CRA_BSON_BINARY;
        status = put_number(e, plain.size, 4);
        if (status == CRA_OK)
            status = put(e, "", 1);
        if (status == CRA_OK)
            status = put(e, plain.data, plain.size);
    }
    cra_buf_cleanup(&plain);
    return status;
}

/* One element: type, name, value; the type is known only after the value. */
static cra_status element(evaluator *e, const char *name, const cra_avro_node *node, json_object *json, size_t depth)
{
    const size_t at = e->out->size;
    uint8_t type = 0;

    CRA_TRY(put(e, "", 1));
    CRA_TRY(put(e, name, strlen(name) + 1));
    CRA_TRY(evaluate(e, node, json, depth, &type));
    e->out->data[at] = type;
    return CRA_OK;
}

static cra_status record(evaluator *e, const cra_avro_node *node, json_object *json, size_t depth)
{
    if (!json_object_is_type(json, json_type_object))
        return wrong(e, "record");
    for (size_t i = 0; i < node->count; i++) {
        const cra_avro_field *field = &node->as.fields[i];
        json_object *value = NULL;

        if (json_object_object_get_ex(json, field->name, &value)) {
            CRA_TRY(element(e, field->name, field->type, value, depth));
        } else {
            json_object *parsed = NULL;
            if (field->default_json == NULL)
                return wrong(e, "record with all its fields");
            CRA_TRY(cra_avro_json_parse(cra_bytes_of_str(field->default_json), "a default", &parsed, e->err));
            const cra_status status = element(e, field->name, field->type, parsed, depth);
            json_object_put(parsed);
            CRA_TRY(status);
        }
    }
    return CRA_OK;
}

static cra_status items(evaluator *e, const cra_avro_node *node, json_object *json, size_t depth)
{
    char name[24];

    if (node->type == CRA_AVRO_MAP) {
        if (!json_object_is_type(json, json_type_object))
            return wrong(e, "map");
        json_object_object_foreach(json, key, value)
        {
            CRA_TRY(element(e, key, node->as.items, value, depth));
        }
        return CRA_OK;
    }
    if (!json_object_is_type(json, json_type_array))
        return wrong(e, "array");
    for (size_t i = 0; i < json_object_array_length(json); i++) {
        size_t n = i;
        char *at = name + sizeof name - 1;
        *at = '\0';
        do {
            *--at = (char)('0' + n % 10);
            n /= 10;
        } while (n > 0);
        CRA_TRY(element(e, at, node->as.items, json_object_array_get_idx(json, i), depth));
    }
    return CRA_OK;
}

static cra_status container(evaluator *e, const cra_avro_node *node, json_object *json, size_t depth, uint8_t *type)
{
    size_t mark;

    *type = node->type == CRA_AVRO_ARRAY ? CRA_BSON_ARRAY : CRA_BSON_DOCUMENT;
    if (cra_bson_begin(e->out, &mark) != CRA_OK)
        return cra_error_set(e->err, CRA_NOMEM, ORIGIN, "out of memory");
    CRA_TRY(node->type == CRA_AVRO_RECORD ? record(e, node, json, depth) : items(e, node, json, depth));
    return cra_bson_end(e->out, mark) == CRA_OK ? CRA_OK : cra_error_set(e->err, CRA_NOMEM, ORIGIN, "out of memory");
}

static cra_status evaluate(evaluator *e, const cra_avro_node *node, json_object *json, size_t depth, uint8_t *type)
{
    const uint8_t flag = json_object_get_boolean(json) ? 1 : 0;

    if (depth > DEPTH_MAX)
        return wrong(e, "value of a depth that a document can have");
    switch (node->type) {
    case CRA_AVRO_NULL:
        *type = CRA_BSON_NULL;
        return json == NULL ? CRA_OK : wrong(e, "null");
    case CRA_AVRO_BOOLEAN:
        *type = CRA_BSON_BOOL;
        return json_object_is_type(json, json_type_boolean) ? put(e, &flag, 1) : wrong(e, "boolean");
    case CRA_AVRO_INT:
    case CRA_AVRO_LONG:
        return integer(e, node, json, type);
    case CRA_AVRO_FLOAT:
    case CRA_AVRO_DOUBLE:
        return real(e, json, type);
    case CRA_AVRO_STRING:
    case CRA_AVRO_ENUM:
        return text(e, json, type);
    case CRA_AVRO_BYTES:
    case CRA_AVRO_FIXED:
        return bytes(e, node, json, type);
    case CRA_AVRO_UNION: {
        /* The specification says the first branch; writers use any that fits. */
        const size_t before = e->out->size;
        cra_status status = wrong(e, "value of its union");
        for (size_t i = 0; i < node->count && status == CRA_CORRUPT; i++) {
            e->out->size = before;
            status = evaluate(e, node->as.branches[i], json, depth + 1, type);
        }
        return status;
    }
    default:
        return container(e, node, json, depth + 1, type);
    }
}

cra_status cra_avro_default(const cra_avro_node *node, const char *json, const cra_avro_options *options,
                            uint8_t *type, cra_buf *out, cra_error *err)
{
    evaluator e = {options, out, err};
    json_object *parsed = NULL;

    CRA_TRY(cra_avro_json_parse(cra_bytes_of_str(json), "a default", &parsed, err));
    const cra_status status = evaluate(&e, node, parsed, 0, type);
    json_object_put(parsed);
    return status;
}
