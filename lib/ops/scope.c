/* SPDX-License-Identifier: Apache-2.0 */
#include <crawlarchive/import.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/hash.h"
#include "ops/engine_internal.h"

#define ORIGIN "run"

/* An integer as it is written: no sign but '-', no leading zero, no "-0", within int64. */
static bool parse_integer(const char *id, int64_t *out)
{
    const bool negative = id[0] == '-';
    const char *digits = id + (negative ? 1 : 0);
    uint64_t magnitude = 0;
    const uint64_t limit = negative ? (uint64_t)INT64_MAX + 1u : (uint64_t)INT64_MAX;

    if (digits[0] == '\0' || (digits[0] == '0' && (digits[1] != '\0' || negative)))
        return false;
    for (const char *at = digits; *at != '\0'; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');
        if (*at < '0' || *at > '9' || magnitude > (limit - digit) / 10)
            return false;
        magnitude = magnitude * 10 + digit;
    }
    *out = negative ? (int64_t)(0u - magnitude) : (int64_t)magnitude;
    return true;
}

static cra_status append_little_endian(cra_buf *out, uint64_t number, size_t size)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
    return cra_buf_append(out, bytes, size);
}

static cra_status append_string(cra_buf *out, const char *text)
{
    const size_t size = strlen(text) + 1;

    CRA_TRY(append_little_endian(out, size, 4));
    return cra_buf_append(out, text, size);
}

cra_status cra_run_value(const char *id, cra_buf *out, uint8_t *type)
{
    uint8_t object_id[12];
    int64_t number;

    if (id == NULL || out == NULL || type == NULL || id[0] == '\0' || strlen(id) > INT32_MAX - 1)
        return CRA_INVALID;
    if (parse_integer(id, &number)) {
        const bool narrow = number >= INT32_MIN && number <= INT32_MAX;
        *type = narrow ? CRA_BSON_INT32 : CRA_BSON_INT64;
        return append_little_endian(out, (uint64_t)number, narrow ? 4 : 8);
    }
    if (cra_hex_decode(id, object_id, sizeof(object_id))) {
        *type = CRA_BSON_OBJECTID;
        return cra_buf_append(out, object_id, sizeof(object_id));
    }
    *type = CRA_BSON_STRING;
    return append_string(out, id);
}

cra_status cra_hot_scope_init(const cra_engine *engine, const cra_run_doc *run, cra_hot_scope *out, cra_error *err)
{
    cra_buf value;
    cra_status status;

    memset(out, 0, sizeof(*out));
    if (run->collection == NULL || run->collection[0] == '\0' || strlen(run->collection) >= sizeof out->collection)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "run %s/%s has no hot collection in the catalog", run->report,
                             run->run);
    cra_buf_init(&value, cra_engine_allocator(engine));
    status = cra_run_value(run->run, &value, &out->scope.run_value.type);
    if (status == CRA_OK && value.size > sizeof(out->value_bytes))
        status = CRA_INVALID;
    if (status == CRA_OK) {
        memcpy(out->value_bytes, value.data, value.size);
        out->scope.run_value.data = out->value_bytes;
        out->scope.run_value.size = value.size;
        memcpy(out->collection, run->collection, strlen(run->collection) + 1);
        out->scope.collection = out->collection;
        out->scope.run_field = cra_engine_run_field(engine);
    }
    cra_buf_cleanup(&value);
    if (status != CRA_OK)
        return cra_error_set(err, status, ORIGIN, "run id '%.64s' cannot be a run field's value", run->run);
    return CRA_OK;
}
