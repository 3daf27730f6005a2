/* SPDX-License-Identifier: Apache-2.0 */

/* BSON to extended JSON v2. What is not UTF-8 inside a document comes out as U+FFFD: JSON text has no other way to
 * stay text, and the BSON itself stays the truth. */

#include <crawlarchive/bson.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "codec/bson_raw.h"
#include "codec/decimal128.h"
#include "codec/ejson_text.h"

typedef struct writer {
    cra_buf *out;
    cra_json_mode mode;
    cra_error *err;
} writer;

static cra_status put(writer *w, const char *text)
{
    return cra_buf_append_str(w->out, text);
}

static bool needs_escape(uint8_t c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

static cra_status put_escape(writer *w, uint8_t c)
{
    static const char *const shorts[0x20] = {
        ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t",
    };
    static const char hex[] = "0123456789abcdef";

    if (c == '"')
        return put(w, "\\\"");
    if (c == '\\')
        return put(w, "\\\\");
    if (shorts[c] != NULL)
        return put(w, shorts[c]);

    const char text[7] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15], '\0'};
    return put(w, text);
}

static cra_status put_text(writer *w, const void *text, size_t size)
{
    const uint8_t *at = text;
    const uint8_t *end = at + size;

    CRA_TRY(cra_buf_append_byte(w->out, '"'));
    while (at < end) {
        const uint8_t *run = at;
        while (at < end && !needs_escape(*at))
            at++;
        CRA_TRY(cra_utf8_append_repaired(w->out, run, (size_t)(at - run)));
        if (at < end)
            CRA_TRY(put_escape(w, *at++));
    }
    return cra_buf_append_byte(w->out, '"');
}

/* `{"$name":"text"}` of a text that needs no escapes. */
static cra_status put_wrapped(writer *w, const char *name, const char *text)
{
    return cra_buf_appendf(w->out, "{\"%s\":\"%s\"}", name, text);
}

static cra_status put_integer(writer *w, const char *name, int64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, number);
    return w->mode == CRA_JSON_RELAXED ? put(w, text) : put_wrapped(w, name, text);
}

static cra_status put_double(writer *w, double number)
{
    char text[CRA_EJSON_DOUBLE_SIZE];

    cra_ejson_format_double(number, text);
    /* The words for NaN and the infinities are no JSON numbers. */
    const bool plain = w->mode == CRA_JSON_RELAXED && text[0] != 'N' && text[0] != 'I' && text[1] != 'I';
    return plain ? put(w, text) : put_wrapped(w, "$numberDouble", text);
}

static cra_status put_date(writer *w, int64_t time)
{
    char text[CRA_EJSON_DATE_SIZE];

    if (w->mode == CRA_JSON_RELAXED && cra_ejson_format_date(time, text))
        return put_wrapped(w, "$date", text);
    return cra_buf_appendf(w->out, "{\"$date\":{\"$numberLong\":\"%" PRId64 "\"}}", time);
}

static cra_status put_objectid(writer *w, const uint8_t *bytes)
{
    char hex[2 * CRA_BSON_OBJECTID_SIZE + 1];

    cra_hex_encode(bytes, CRA_BSON_OBJECTID_SIZE, hex);
    return put_wrapped(w, "$oid", hex);
}

static cra_status put_binary(writer *w, cra_value value)
{
    const uint8_t subtype = value.data[4];
    const size_t head = subtype == 2 ? 9 : 5;

    CRA_TRY(put(w, "{\"$binary\":{\"base64\":\""));
    CRA_TRY(cra_base64_encode(cra_bytes_of(value.data + head, value.size - head), w->out));
    return cra_buf_appendf(w->out, "\",\"subType\":\"%02x\"}}", (unsigned)subtype);
}

static cra_status put_regex(writer *w, cra_value value)
{
    const char *pattern = (const char *)value.data;
    const size_t pattern_size = strlen(pattern);
    const char *options = pattern + pattern_size + 1;

    CRA_TRY(put(w, "{\"$regularExpression\":{\"pattern\":"));
    CRA_TRY(put_text(w, pattern, pattern_size));
    CRA_TRY(put(w, ",\"options\":"));
    /* Options are a set, written in alphabetical order; anything but letters stays as it is. */
    char sorted[16];
    size_t count = strlen(options);
    if (count < sizeof sorted) {
        memcpy(sorted, options, count);
        for (size_t i = 1; i < count; i++) {
            for (size_t j = i; j > 0 && sorted[j - 1] > sorted[j]; j--) {
                const char swapped = sorted[j];
                sorted[j] = sorted[j - 1];
                sorted[j - 1] = swapped;
            }
        }
        options = sorted;
    }
    CRA_TRY(put_text(w, options, count));
    return put(w, "}}");
}

static cra_status put_db_pointer(writer *w, cra_value value)
{
    const size_t text_size = (size_t)cra_le32(value.data) - 1;

    CRA_TRY(put(w, "{\"$dbPointer\":{\"$ref\":"));
    CRA_TRY(put_text(w, value.data + 4, text_size));
    CRA_TRY(put(w, ",\"$id\":"));
    CRA_TRY(put_objectid(w, value.data + 4 + text_size + 1));
    return put(w, "}}");
}

static cra_status put_named_text(writer *w, const char *name, cra_value value)
{
    const cra_bytes text = cra_value_text(value);

    CRA_TRY(cra_buf_appendf(w->out, "{\"%s\":", name));
    CRA_TRY(put_text(w, text.data, text.size));
    return put(w, "}");
}

static cra_status put_value(writer *w, cra_value value, unsigned depth);

static cra_status put_document(writer *w, cra_bytes document, bool is_array, unsigned depth)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_status status;
    bool first = true;

    if (depth >= CRA_BSON_MAX_DEPTH)
        return cra_error_set(w->err, CRA_CORRUPT, "bson", "found a document nested deeper than %d levels",
                             CRA_BSON_MAX_DEPTH);
    CRA_TRY(cra_bson_iter_init(&iter, document, w->err));
    CRA_TRY(put(w, is_array ? "[" : "{"));
    while ((status = cra_bson_iter_next(&iter, &element, w->err)) == CRA_OK) {
        if (!first)
            CRA_TRY(put(w, ","));
        first = false;
        if (!is_array) {
            CRA_TRY(put_text(w, element.name, element.name_size));
            CRA_TRY(put(w, ":"));
        }
        CRA_TRY(put_value(w, element.value, depth + 1));
    }
    if (status != CRA_DONE)
        return status;
    return put(w, is_array ? "]" : "}");
}

static cra_status put_scoped_code(writer *w, cra_value value, unsigned depth)
{
    const cra_bytes code = cra_value_text(cra_bson_scoped_code(value));
    const cra_value scope = cra_bson_scope(value);

    CRA_TRY(put(w, "{\"$code\":"));
    CRA_TRY(put_text(w, code.data, code.size));
    CRA_TRY(put(w, ",\"$scope\":"));
    CRA_TRY(put_document(w, cra_bytes_of(scope.data, scope.size), false, depth));
    return put(w, "}");
}

static cra_status put_decimal(writer *w, const uint8_t *bytes)
{
    char text[CRA_DECIMAL128_TEXT_SIZE];

    cra_decimal128_to_string(bytes, text);
    return put_wrapped(w, "$numberDecimal", text);
}

/* A sound value; `depth` levels are open around it. */
static cra_status put_value(writer *w, cra_value value, unsigned depth)
{
    const cra_bytes text = cra_value_text(value);

    switch (value.type) {
    case CRA_BSON_STRING:
        return put_text(w, text.data, text.size);
    case CRA_BSON_INT32:
        return put_integer(w, "$numberInt", (int32_t)cra_le32(value.data));
    case CRA_BSON_INT64:
        return put_integer(w, "$numberLong", (int64_t)cra_le64(value.data));
    case CRA_BSON_DOUBLE:
        return put_double(w, cra_le_double(value.data));
    case CRA_BSON_DECIMAL128:
        return put_decimal(w, value.data);
    case CRA_BSON_DOCUMENT:
    case CRA_BSON_ARRAY:
        return put_document(w, cra_value_document(value), value.type == CRA_BSON_ARRAY, depth);
    case CRA_BSON_BINARY:
        return put_binary(w, value);
    case CRA_BSON_UNDEFINED:
        return put(w, "{\"$undefined\":true}");
    case CRA_BSON_OBJECTID:
        return put_objectid(w, value.data);
    case CRA_BSON_BOOL:
        return put(w, value.data[0] != 0 ? "true" : "false");
    case CRA_BSON_DATE:
        return put_date(w, (int64_t)cra_le64(value.data));
    case CRA_BSON_NULL:
        return put(w, "null");
    case CRA_BSON_REGEX:
        return put_regex(w, value);
    case CRA_BSON_DBPOINTER:
        return put_db_pointer(w, value);
    case CRA_BSON_CODE:
        return put_named_text(w, "$code", value);
    case CRA_BSON_SYMBOL:
        return put_named_text(w, "$symbol", value);
    case CRA_BSON_CODE_W_SCOPE:
        return put_scoped_code(w, value, depth);
    case CRA_BSON_TIMESTAMP:
        return cra_buf_appendf(w->out, "{\"$timestamp\":{\"t\":%" PRIu32 ",\"i\":%" PRIu32 "}}",
                               cra_le32(value.data + 4), cra_le32(value.data));
    case CRA_BSON_MINKEY:
        return put(w, "{\"$minKey\":1}");
    default:
        return put(w, "{\"$maxKey\":1}");
    }
}

static cra_status finish(writer *w, cra_status status, size_t start)
{
    if (status != CRA_OK)
        w->out->size = start;
    if (status == CRA_NOMEM)
        cra_error_set(w->err, status, "bson", "no memory for extended JSON");
    return status;
}

cra_status cra_bson_to_json(cra_bytes document, cra_json_mode mode, cra_buf *out, cra_error *err)
{
    writer w = {out, mode, err};
    const size_t start = out->size;

    return finish(&w, put_document(&w, document, false, 0), start);
}

cra_status cra_value_to_json(cra_value value, cra_json_mode mode, cra_buf *out, cra_error *err)
{
    writer w = {out, mode, err};
    const size_t start = out->size;

    if (!cra_value_sound(value))
        return cra_error_set(err, CRA_CORRUPT, "bson", "found a value that is not a whole %s",
                             cra_bson_type_name(value.type));
    return finish(&w, put_value(&w, value, 0), start);
}
