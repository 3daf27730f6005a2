/* SPDX-License-Identifier: Apache-2.0 */

/* Keys whose memcmp order is that of the values.
 *
 * A key is the class byte of the type and a payload that ends by itself: no payload is a proper prefix of another of
 * its class, so that keys nest and follow each other.
 *
 *   number      kind; for finite ones exponent (2 bytes), pairs of digits plus one, 00; negative: all complemented
 *   string      bytes with 00 written 00 FF, then 00 00 (so that "a" comes before "a\0")
 *   document    for each element: class, name, 00, payload; then 00
 *   array       for each element: class, payload; then 00
 *   binary      length, subtype, bytes
 *   the others  their bytes, numbers big-endian, signs flipped
 */

#include "base/buf.h"
#include "codec/bson_number.h"
#include "codec/bson_order.h"
#include "codec/bson_raw.h"

static cra_status append_be32(cra_buf *out, uint32_t number)
{
    const uint8_t bytes[4] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8),
                              (uint8_t)number};

    return cra_buf_append(out, bytes, sizeof bytes);
}

static cra_status append_be64(cra_buf *out, uint64_t number)
{
    CRA_TRY(append_be32(out, (uint32_t)(number >> 32)));
    return append_be32(out, (uint32_t)number);
}

static cra_status append_number(cra_value value, cra_buf *out)
{
    cra_exact number;

    cra_exact_of(value, &number);
    CRA_TRY(cra_buf_reserve(out, 4 + number.count / 2 + 1));
    uint8_t *to = out->data + out->size;
    *to++ = (uint8_t)(0x10 * (number.kind + 1));
    if (number.kind == CRA_EXACT_NEGATIVE || number.kind == CRA_EXACT_POSITIVE) {
        const uint8_t flip = number.kind == CRA_EXACT_NEGATIVE ? 0xFF : 0x00;
        const uint32_t exponent = (uint32_t)(number.exponent + 0x8000);
        *to++ = (uint8_t)(exponent >> 8) ^ flip;
        *to++ = (uint8_t)exponent ^ flip;
        for (unsigned i = 0; i < number.count; i += 2) {
            const unsigned second = i + 1 < number.count ? number.digits[i + 1] : 0;
            *to++ = (uint8_t)(number.digits[i] * 10u + second + 1u) ^ flip;
        }
        *to++ = flip;
    }
    out->size = (size_t)(to - out->data);
    return CRA_OK;
}

static cra_status append_text(cra_bytes text, cra_buf *out)
{
    static const uint8_t escape = 0xFF;
    static const uint8_t end[2] = {0x00, 0x00};

    CRA_TRY(cra_buf_reserve(out, text.size + sizeof end));
    while (text.size > 0) {
        const uint8_t *nul = memchr(text.data, 0, text.size);
        const size_t run = nul == NULL ? text.size : (size_t)(nul - text.data) + 1;
        CRA_TRY(cra_buf_append(out, text.data, run));
        if (nul != NULL)
            CRA_TRY(cra_buf_append(out, &escape, 1));
        text.data += run;
        text.size -= run;
    }
    return cra_buf_append(out, end, sizeof end);
}

static cra_status append_payload(cra_value value, cra_buf *out, unsigned depth);

static cra_status append_document(cra_value value, cra_buf *out, unsigned depth)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_status status;

    if (depth >= CRA_BSON_MAX_DEPTH)
        return CRA_CORRUPT;
    CRA_TRY(cra_bson_iter_init(&iter, cra_bytes_of(value.data, value.size), NULL));
    while ((status = cra_bson_iter_next(&iter, &element, NULL)) == CRA_OK) {
        CRA_TRY(cra_buf_append_byte(out, (uint8_t)cra_order_class_of(element.value.type)));
        if (value.type == CRA_BSON_DOCUMENT)
            CRA_TRY(cra_buf_append(out, element.name, element.name_size + 1));
        CRA_TRY(append_payload(element.value, out, depth + 1));
    }
    if (status != CRA_DONE)
        return status;
    return cra_buf_append_byte(out, 0);
}

/* What follows the class byte of a sound value. */
static cra_status append_payload(cra_value value, cra_buf *out, unsigned depth)
{
    switch (cra_order_class_of(value.type)) {
    case CRA_ORDER_NUMBER:
        return append_number(value, out);
    case CRA_ORDER_STRING:
    case CRA_ORDER_CODE:
        return append_text(cra_value_text(value), out);
    case CRA_ORDER_DOCUMENT:
    case CRA_ORDER_ARRAY:
        return append_document(value, out, depth);
    case CRA_ORDER_BINARY:
        CRA_TRY(append_be32(out, cra_le32(value.data)));
        return cra_buf_append(out, value.data + 4, value.size - 4);
    case CRA_ORDER_OBJECTID:
    case CRA_ORDER_BOOL:
    case CRA_ORDER_REGEX:
        return cra_buf_append(out, value.data, value.size);
    case CRA_ORDER_DATE:
        return append_be64(out, cra_le64(value.data) ^ (uint64_t)1 << 63);
    case CRA_ORDER_TIMESTAMP:
        return append_be64(out, cra_le64(value.data));
    case CRA_ORDER_DBPOINTER:
        CRA_TRY(append_be32(out, (uint32_t)value.size));
        return cra_buf_append(out, value.data, value.size);
    case CRA_ORDER_CODE_W_SCOPE:
        CRA_TRY(append_text(cra_value_text(cra_bson_scoped_code(value)), out));
        return append_document(cra_bson_scope(value), out, depth);
    default:
        return CRA_OK;
    }
}

cra_status cra_value_order_key(cra_value value, cra_buf *out)
{
    const size_t start = out->size;

    if (!cra_value_sound(value))
        return CRA_CORRUPT;

    cra_status status = cra_buf_append_byte(out, (uint8_t)cra_order_class_of(value.type));
    if (status == CRA_OK)
        status = append_payload(value, out, 0);
    if (status != CRA_OK)
        out->size = start;
    return status;
}
