/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/decimal128.h"

#include <stdio.h>
#include <string.h>

#include "codec/bson_raw.h"

#define EXPONENT_BIAS 6176
#define LIMBS 4

/* Decimal digits of a 128-bit number, given as limbs with the most significant first (they are consumed).
 * Returns how many there are without leading zeros, 1 for zero. */
static unsigned limbs_to_digits(uint32_t limbs[LIMBS], uint8_t digits[39])
{
    uint8_t reversed[39];
    unsigned count = 0;
    bool more = true;

    while (more) {
        uint64_t rest = 0;
        more = false;
        for (int i = 0; i < LIMBS; i++) {
            const uint64_t part = rest << 32 | limbs[i];
            limbs[i] = (uint32_t)(part / 10);
            rest = part % 10;
            more = more || limbs[i] != 0;
        }
        reversed[count++] = (uint8_t)rest;
    }
    for (unsigned i = 0; i < count; i++)
        digits[i] = reversed[count - 1 - i];
    return count;
}

void cra_decimal128_unpack(const uint8_t bytes[CRA_DECIMAL128_SIZE], cra_decimal128 *out)
{
    const uint64_t low = cra_le64(bytes);
    const uint64_t high = cra_le64(bytes + 8);
    const unsigned combination = (unsigned)(high >> 58) & 0x1F;

    memset(out, 0, sizeof *out);
    out->negative = high >> 63 != 0;
    out->count = 1;
    if (combination >= 0x1E) {
        out->kind = combination == 0x1F ? CRA_DECIMAL128_NAN : CRA_DECIMAL128_INFINITE;
        return;
    }

    out->kind = CRA_DECIMAL128_FINITE;
    if (combination >= 0x18) {
        /* The leading bits 100 stand before the coefficient: always beyond 34 digits. */
        out->exponent = (int32_t)(high >> 47 & 0x3FFF) - EXPONENT_BIAS;
        return;
    }
    out->exponent = (int32_t)(high >> 49 & 0x3FFF) - EXPONENT_BIAS;

    const uint64_t top = high & 0x1FFFFFFFFFFFFu;
    uint32_t limbs[LIMBS] = {(uint32_t)(top >> 32), (uint32_t)top, (uint32_t)(low >> 32), (uint32_t)low};
    uint8_t digits[39];
    const unsigned count = limbs_to_digits(limbs, digits);
    if (count > CRA_DECIMAL128_DIGITS)
        return;
    out->count = count;
    memcpy(out->digits, digits, count);
}

void cra_decimal128_pack(const cra_decimal128 *number, uint8_t out[CRA_DECIMAL128_SIZE])
{
    uint32_t limbs[LIMBS] = {0};
    uint64_t high = number->negative ? (uint64_t)1 << 63 : 0;
    uint64_t low = 0;

    if (number->kind == CRA_DECIMAL128_NAN) {
        high |= (uint64_t)0x1F << 58;
    } else if (number->kind == CRA_DECIMAL128_INFINITE) {
        high |= (uint64_t)0x1E << 58;
    } else {
        for (unsigned d = 0; d < number->count; d++) {
            uint64_t carry = number->digits[d];
            for (int i = LIMBS - 1; i >= 0; i--) {
                carry += (uint64_t)limbs[i] * 10;
                limbs[i] = (uint32_t)carry;
                carry >>= 32;
            }
        }
        high |= (uint64_t)(number->exponent + EXPONENT_BIAS) << 49;
        high |= (uint64_t)limbs[0] << 32 | limbs[1];
        low = (uint64_t)limbs[2] << 32 | limbs[3];
    }
    cra_put_le64(out, low);
    cra_put_le64(out + 8, high);
}

/* Digits with a point and without an exponent: "12.3", "0.00123". */
static char *write_plain(const cra_decimal128 *number, char *out)
{
    int whole = (int)number->count + number->exponent; /* digits before the point; exponent <= 0 */

    if (whole <= 0) {
        *out++ = '0';
        *out++ = '.';
        for (; whole < 0; whole++)
            *out++ = '0';
        whole = -1;
    }
    for (unsigned i = 0; i < number->count; i++) {
        if ((int)i == whole)
            *out++ = '.';
        *out++ = (char)('0' + number->digits[i]);
    }
    return out;
}

static char *write_scientific(const cra_decimal128 *number, int32_t adjusted, char *out)
{
    *out++ = (char)('0' + number->digits[0]);
    if (number->count > 1)
        *out++ = '.';
    for (unsigned i = 1; i < number->count; i++)
        *out++ = (char)('0' + number->digits[i]);
    return out + snprintf(out, 7, "E%+d", (int)adjusted);
}

size_t cra_decimal128_to_string(const uint8_t bytes[CRA_DECIMAL128_SIZE], char out[CRA_DECIMAL128_TEXT_SIZE])
{
    cra_decimal128 number;
    char *to = out;

    cra_decimal128_unpack(bytes, &number);
    if (number.kind == CRA_DECIMAL128_NAN) {
        memcpy(out, "NaN", 4);
        return 3;
    }
    if (number.negative)
        *to++ = '-';
    if (number.kind == CRA_DECIMAL128_INFINITE) {
        memcpy(to, "Infinity", 8);
        to += 8;
    } else {
        const int32_t adjusted = number.exponent + (int32_t)number.count - 1;
        if (number.exponent <= 0 && adjusted >= -6)
            to = write_plain(&number, to);
        else
            to = write_scientific(&number, adjusted, to);
    }
    *to = '\0';
    return (size_t)(to - out);
}

/* Bring the exponent into range without changing the value; false where that cannot be. */
static bool fit_exponent(cra_decimal128 *number, int64_t exponent)
{
    if (number->count == 1 && number->digits[0] == 0) {
        if (exponent < CRA_DECIMAL128_EXPONENT_MIN)
            exponent = CRA_DECIMAL128_EXPONENT_MIN;
        if (exponent > CRA_DECIMAL128_EXPONENT_MAX)
            exponent = CRA_DECIMAL128_EXPONENT_MAX;
    }
    while (exponent > CRA_DECIMAL128_EXPONENT_MAX && number->count < CRA_DECIMAL128_DIGITS) {
        number->digits[number->count++] = 0;
        exponent--;
    }
    while (exponent < CRA_DECIMAL128_EXPONENT_MIN && number->count > 1 && number->digits[number->count - 1] == 0) {
        number->count--;
        exponent++;
    }
    if (exponent < CRA_DECIMAL128_EXPONENT_MIN || exponent > CRA_DECIMAL128_EXPONENT_MAX)
        return false;
    number->exponent = (int32_t)exponent;
    return true;
}

static bool same_word(const char *text, size_t size, const char *lower)
{
    if (strlen(lower) != size)
        return false;
    for (size_t i = 0; i < size; i++) {
        const char c = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
        if (c != lower[i])
            return false;
    }
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* `[eE][+-]?[0-9]+` to the end of the text; huge exponents stop counting where no coefficient could save them. */
static bool read_exponent(const char *text, const char *end, int64_t *out)
{
    bool negative = false;
    int64_t exponent = 0;

    text++;
    if (text < end && (*text == '+' || *text == '-'))
        negative = *text++ == '-';
    if (text == end)
        return false;
    for (; text < end; text++) {
        if (!is_digit(*text))
            return false;
        if (exponent < INT64_MAX / 100)
            exponent = exponent * 10 + (*text - '0');
    }
    *out = negative ? -exponent : exponent;
    return true;
}

/* Digits with at most one point among them; `*exponent` receives the power of ten of the last digit kept. Digits past
 * the 34th must be zeros. Returns where it stopped, NULL where there is no digit or precision would be lost. */
static const char *read_coefficient(const char *text, const char *end, cra_decimal128 *number, int64_t *exponent)
{
    bool point = false;
    bool any = false;

    number->count = 0;
    *exponent = 0;
    for (; text < end && (is_digit(*text) || (*text == '.' && !point)); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        const uint8_t digit = (uint8_t)(*text - '0');
        any = true;
        if (number->count == CRA_DECIMAL128_DIGITS) {
            if (digit != 0)
                return NULL;
            *exponent += point ? 0 : 1;
            continue;
        }
        if (number->count > 0 || digit != 0)
            number->digits[number->count++] = digit;
        *exponent -= point ? 1 : 0;
    }
    if (number->count == 0)
        number->digits[number->count++] = 0;
    return any ? text : NULL;
}

bool cra_decimal128_from_string(const char *text, size_t size, uint8_t out[CRA_DECIMAL128_SIZE])
{
    const char *end = text + size;
    cra_decimal128 number;
    int64_t exponent = 0;
    int64_t written = 0;

    memset(&number, 0, sizeof number);
    if (text < end && (*text == '+' || *text == '-'))
        number.negative = *text++ == '-';
    const size_t rest = (size_t)(end - text);

    if (same_word(text, rest, "nan")) {
        number.kind = CRA_DECIMAL128_NAN;
        number.negative = false;
    } else if (same_word(text, rest, "inf") || same_word(text, rest, "infinity")) {
        number.kind = CRA_DECIMAL128_INFINITE;
    } else {
        text = read_coefficient(text, end, &number, &exponent);
        if (text == NULL)
            return false;
        if (text < end && ((*text != 'e' && *text != 'E') || !read_exponent(text, end, &written)))
            return false;
        if (!fit_exponent(&number, exponent + written))
            return false;
    }
    cra_decimal128_pack(&number, out);
    return true;
}

bool cra_decimal128_from_int_be(const uint8_t *data, size_t size, int32_t scale, uint8_t out[CRA_DECIMAL128_SIZE])
{
    const bool negative = size > 0 && data[0] >= 0x80;
    const uint8_t filler = negative ? 0xFF : 0x00;

    while (size > 0 && data[0] == filler) {
        data++;
        size--;
    }
    /* 34 digits need 113 bits. */
    if (size > 15)
        return false;

    uint32_t limbs[LIMBS] = {0};
    for (size_t i = 0; i < 16; i++) {
        const uint8_t byte = i < 16 - size ? filler : data[i - (16 - size)];
        limbs[i / 4] = limbs[i / 4] << 8 | byte;
    }
    if (negative) {
        uint64_t carry = 1;
        for (int i = LIMBS - 1; i >= 0; i--) {
            carry += (uint32_t)~limbs[i];
            limbs[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }

    cra_decimal128 number;
    uint8_t digits[39];
    memset(&number, 0, sizeof number);
    number.negative = negative;
    number.count = limbs_to_digits(limbs, digits);
    if (number.count > CRA_DECIMAL128_DIGITS)
        return false;
    memcpy(number.digits, digits, number.count);
    if (!fit_exponent(&number, -(int64_t)scale))
        return false;
    cra_decimal128_pack(&number, out);
    return true;
}
