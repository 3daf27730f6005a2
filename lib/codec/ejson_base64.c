/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "codec/ejson_text.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

cra_status cra_base64_encode(cra_bytes data, cra_buf *out)
{
    if (data.size > SIZE_MAX / 2)
        return CRA_NOMEM;
    CRA_TRY(cra_buf_reserve(out, (data.size + 2) / 3 * 4));

    uint8_t *to = out->data + out->size;
    for (size_t i = 0; i < data.size; i += 3) {
        const size_t left = data.size - i;
        const uint32_t group = (uint32_t)data.data[i] << 16 | (left > 1 ? (uint32_t)data.data[i + 1] << 8 : 0) |
                               (left > 2 ? data.data[i + 2] : 0u);
        *to++ = (uint8_t)alphabet[group >> 18];
        *to++ = (uint8_t)alphabet[group >> 12 & 63];
        *to++ = left > 1 ? (uint8_t)alphabet[group >> 6 & 63] : '=';
        *to++ = left > 2 ? (uint8_t)alphabet[group & 63] : '=';
    }
    out->size += (data.size + 2) / 3 * 4;
    return CRA_OK;
}

static unsigned digit_value(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26u;
    if (c >= '0' && c <= '9')
        return c - '0' + 52u;
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

bool cra_base64_decode(uint8_t *text, size_t *size)
{
    size_t digits = *size;
    uint8_t *to = text;
    uint32_t bits = 0;
    unsigned held = 0;

    if (digits % 4 != 0)
        return false;
    for (int padding = 0; padding < 2 && digits > 0 && text[digits - 1] == '='; padding++)
        digits--;
    for (size_t i = 0; i < digits; i++) {
        const unsigned value = digit_value(text[i]);
        if (value > 63)
            return false;
        bits = bits << 6 | value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            *to++ = (uint8_t)(bits >> held);
        }
    }
    *size = (size_t)(to - text);
    return true;
}
