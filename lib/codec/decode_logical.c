/* SPDX-License-Identifier: Apache-2.0 */

/* Logical types: numbers with a meaning. */

#include "codec/decode.h"

#include "base/utf8.h"
#include "codec/decimal128.h"

#define DAY_MS INT64_C(86400000)
/* Digits of a decimal that is too long for a Decimal128; longer ones are refused. */
#define DECIMAL_TEXT_BYTES_MAX 4096

static bool put_date(cra_decode *d, const uint8_t *key, size_t key_size, int64_t millis)
{
    if (!cra_decode_head(d, CRA_BSON_DATE, key, key_size, 8))
        return false;
    cra_decode_le64(d, (uint64_t)millis);
    return true;
}

static bool run_floor(cra_decode *d, const cra_instruction *code, const uint8_t *key, size_t key_size)
{
    const int64_t unit = (int64_t)code->a;
    int64_t number;

    if (!cra_decode_long(d, &number))
        return false;
    int64_t millis = number / unit;
    if (number % unit != 0) {
        d->lossy_dates++;
        millis -= number < 0;
    }
    return put_date(d, key, key_size, millis);
}

/* The unscaled number as decimal digits with its point: for what 34 digits do not hold. Schoolbook division by 10^9 of
 * a magnitude of at most 4 KiB. */
static bool put_long_decimal(cra_decode *d, const uint8_t *key, size_t key_size, const uint8_t *data, size_t size,
                             int32_t scale)
{
    uint32_t words[DECIMAL_TEXT_BYTES_MAX / 4 + 1] = {0};
    uint8_t digits[DECIMAL_TEXT_BYTES_MAX * 5 / 2 + 16];
    size_t count = 0;
    const bool negative = (data[0] & 0x80) != 0;

    if (size > DECIMAL_TEXT_BYTES_MAX || scale < 0 || (size_t)scale > sizeof digits - 16) {
        d->dead = "a decimal is too long";
        return true;
    }
    /* Magnitude, least significant word first. */
    unsigned carry = negative;
    for (size_t i = 0; i < size; i++) {
        unsigned byte = data[size - 1 - i];
        if (negative) {
            byte = (uint8_t)~byte + carry;
            carry = byte >> 8;
            byte &= 0xFF;
        }
        words[i / 4] |= (uint32_t)byte << (8 * (i % 4));
    }
    if (negative && carry != 0)
        words[size / 4] |= UINT32_C(1) << (8 * (size % 4));
    size_t used = size / 4 + 1;
    while (used > 0 && words[used - 1] == 0)
        used--;
    while (used > 0) {
        uint64_t rest = 0;
        for (size_t i = used; i-- > 0;) {
            rest = rest << 32 | words[i];
            words[i] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        digits[count++] = (uint8_t)('0' + rest);
        while (used > 0 && words[used - 1] == 0)
            used--;
    }
    while (count <= (size_t)scale)
        digits[count++] = '0';

    const size_t text = count + negative + (scale > 0);
    if (!cra_decode_head(d, CRA_BSON_STRING, key, key_size, 5 + text))
        return false;
    cra_decode_le32(d, (uint32_t)text + 1);
    if (negative)
        cra_decode_bytes(d, "-", 1);
    for (size_t i = count; i-- > 0;) {
        cra_decode_bytes(d, &digits[i], 1);
        if (i == (size_t)scale && scale > 0)
            cra_decode_bytes(d, ".", 1);
    }
    cra_decode_bytes(d, "", 1);
    return true;
}

static bool put_decimal(cra_decode *d, const uint8_t *key, size_t key_size, const uint8_t *data, size_t size,
                        int32_t scale)
{
    uint8_t decimal[CRA_DECIMAL128_SIZE];

    if (!cra_decimal128_from_int_be(data, size, scale, decimal))
        return put_long_decimal(d, key, key_size, data, size, scale);
    if (!cra_decode_head(d, CRA_BSON_DECIMAL128, key, key_size, sizeof decimal))
        return false;
    cra_decode_bytes(d, decimal, sizeof decimal);
    return true;
}

static bool run_decimal(cra_decode *d, const cra_instruction *code, const uint8_t *key, size_t key_size)
{
    const uint8_t *data;
    size_t size = code->a;

    if (size > 0 ? !cra_decode_take(d, size, &data) : !cra_decode_blob(d, &data, &size))
        return false;
    return put_decimal(d, key, key_size, data, size, (int32_t)code->b);
}

/* Bytes that hold, again as bytes and an int, the unscaled number and the scale. */
static bool run_big_decimal(cra_decode *d, const uint8_t *key, size_t key_size)
{
    const uint8_t *data, *unscaled;
    size_t size, unscaled_size;
    int64_t scale;

    if (!cra_decode_blob(d, &data, &size))
        return false;
    const uint8_t *outer_at = d->at;
    const uint8_t *outer_end = d->end;
    d->at = data;
    d->end = data + size;
    const bool whole = cra_decode_blob(d, &unscaled, &unscaled_size) && cra_decode_int(d, &scale) && d->at == d->end;
    d->at = outer_at;
    d->end = outer_end;
    if (!whole) {
        d->failed = CRA_OK;
        d->dead = "a big-decimal is malformed";
        return true;
    }
    return put_decimal(d, key, key_size, unscaled, unscaled_size, (int32_t)scale);
}

static int hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Canonical: 8-4-4-4-12 digits in lower case, so that the text can be had back from the bytes. */
static bool parse_uuid(const uint8_t *text, size_t size, uint8_t out[16])
{
    size_t n = 0;

    if (size != 36)
        return false;
    for (size_t i = 0; i < size;) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (text[i++] != '-')
                return false;
            continue;
        }
        const int high = hex_digit(text[i]);
        const int low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[n++] = (uint8_t)(high << 4 | low);
        i += 2;
    }
    return n == 16;
}

static bool put_uuid(cra_decode *d, const uint8_t *key, size_t key_size, const uint8_t uuid[16])
{
    static const uint8_t subtype = 4;

    if (!cra_decode_head(d, CRA_BSON_BINARY, key, key_size, 5 + 16))
        return false;
    cra_decode_le32(d, 16);
    cra_decode_bytes(d, &subtype, 1);
    cra_decode_bytes(d, uuid, 16);
    return true;
}

static bool run_uuid(cra_decode *d, const uint8_t *key, size_t key_size)
{
    const uint8_t *before = d->at;
    const uint8_t *text;
    size_t size;
    uint8_t uuid[16];

    if (!cra_decode_blob(d, &text, &size))
        return false;
    if (parse_uuid(text, size, uuid))
        return put_uuid(d, key, key_size, uuid);
    d->at = before;
    return cra_decode_text(d, CRA_BSON_STRING, key, key_size);
}

static bool run_duration(cra_decode *d, const uint8_t *key, size_t key_size)
{
    static const char *const names[] = {"months", "days", "millis"};
    const uint8_t *data;

    if (!cra_decode_take(d, 12, &data) || !cra_decode_head(d, CRA_BSON_DOCUMENT, key, key_size, 64))
        return false;
    const size_t mark = d->out.size;
    cra_decode_le32(d, 0);
    for (size_t i = 0; i < 3; i++) {
        const uint8_t type = CRA_BSON_INT64;
        cra_decode_bytes(d, &type, 1);
        cra_decode_bytes(d, names[i], strlen(names[i]) + 1);
        cra_decode_le64(d, cra_le32(data + 4 * i));
    }
    cra_decode_bytes(d, "", 1);
    cra_put_le32(d->out.data + mark, (uint32_t)(d->out.size - mark));
    return true;
}

bool cra_decode_logical(cra_decode *d, const cra_instruction *code, const uint8_t *key, size_t key_size)
{
    const uint8_t *data;
    int64_t number;

    switch ((cra_op)code->op) {
    case CRA_OP_DATE:
        return cra_decode_int(d, &number) && put_date(d, key, key_size, number * DAY_MS);
    case CRA_OP_FLOOR:
        return run_floor(d, code, key, key_size);
    case CRA_OP_DECIMAL:
        return run_decimal(d, code, key, key_size);
    case CRA_OP_BIG_DECIMAL:
        return run_big_decimal(d, key, key_size);
    case CRA_OP_UUID:
        return run_uuid(d, key, key_size);
    case CRA_OP_UUID_FIXED:
        return cra_decode_take(d, 16, &data) && put_uuid(d, key, key_size, data);
    default:
        return run_duration(d, key, key_size);
    }
}
