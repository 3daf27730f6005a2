/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/bson_number.h"

#include <string.h>

#include "codec/bson_raw.h"
#include "codec/decimal128.h"

#define GROUP_BASE 1000000000u /* nine digits */
#define GROUP_DIGITS 9u
#define GROUPS (CRA_EXACT_DIGITS / GROUP_DIGITS)

/* A natural number in groups of nine decimal digits, the least significant first. */
typedef struct natural {
    unsigned count;
    uint32_t groups[GROUPS];
} natural;

static void natural_set(natural *number, uint64_t value)
{
    number->count = 0;
    for (; value != 0; value /= GROUP_BASE)
        number->groups[number->count++] = (uint32_t)(value % GROUP_BASE);
}

static void natural_multiply(natural *number, uint32_t factor)
{
    uint64_t carry = 0;

    for (unsigned i = 0; i < number->count; i++) {
        carry += (uint64_t)number->groups[i] * factor;
        number->groups[i] = (uint32_t)(carry % GROUP_BASE);
        carry /= GROUP_BASE;
    }
    if (carry != 0)
        number->groups[number->count++] = (uint32_t)carry;
}

/* number × base^power, in steps of the largest power that fits a group. */
static void natural_scale(natural *number, uint32_t base, unsigned power, unsigned step, uint32_t step_factor)
{
    for (; power >= step; power -= step)
        natural_multiply(number, step_factor);
    for (; power > 0; power--)
        natural_multiply(number, base);
}

/* Digits without zeros at either end; `power` is that of ten of the number's last digit. */
static void set_digits(cra_exact *out, const natural *number, int32_t power)
{
    unsigned count = 0;

    for (unsigned i = number->count; i-- > 0;) {
        uint32_t group = number->groups[i];
        for (uint32_t unit = GROUP_BASE / 10; unit > 0; unit /= 10) {
            const uint8_t digit = (uint8_t)(group / unit);
            group %= unit;
            if (count > 0 || digit != 0)
                out->digits[count++] = digit;
        }
    }
    out->exponent = (int32_t)count + power;
    while (count > 0 && out->digits[count - 1] == 0)
        count--;
    out->count = count;
}

static void of_integer(int64_t value, cra_exact *out)
{
    natural number;

    out->kind = value == 0 ? CRA_EXACT_ZERO : value < 0 ? CRA_EXACT_NEGATIVE : CRA_EXACT_POSITIVE;
    natural_set(&number, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    set_digits(out, &number, 0);
}

static void of_double(uint64_t bits, cra_exact *out)
{
    const bool negative = bits >> 63 != 0;
    const unsigned biased = (unsigned)(bits >> 52) & 0x7FF;
    uint64_t mantissa = bits & 0xFFFFFFFFFFFFFu;

    if (biased == 0x7FF) {
        out->kind = mantissa != 0 ? CRA_EXACT_NAN : negative ? CRA_EXACT_NEGATIVE_INFINITY : CRA_EXACT_INFINITY;
        return;
    }
    if (biased == 0 && mantissa == 0) {
        out->kind = CRA_EXACT_ZERO;
        return;
    }
    out->kind = negative ? CRA_EXACT_NEGATIVE : CRA_EXACT_POSITIVE;

    int exponent = (biased == 0 ? 1 : (int)biased) - 1075;
    if (biased != 0)
        mantissa |= (uint64_t)1 << 52;
    while ((mantissa & 1) == 0) {
        mantissa >>= 1;
        exponent++;
    }

    natural number;
    natural_set(&number, mantissa);
    if (exponent >= 0)
        natural_scale(&number, 2, (unsigned)exponent, 29, 1u << 29);
    else
        natural_scale(&number, 5, (unsigned)-exponent, 12, 244140625u); /* m × 2^-k = m × 5^k × 10^-k */
    set_digits(out, &number, exponent < 0 ? exponent : 0);
}

static void of_decimal(const uint8_t *bytes, cra_exact *out)
{
    cra_decimal128 number;

    cra_decimal128_unpack(bytes, &number);
    if (number.kind == CRA_DECIMAL128_NAN) {
        out->kind = CRA_EXACT_NAN;
        return;
    }
    if (number.kind == CRA_DECIMAL128_INFINITE) {
        out->kind = number.negative ? CRA_EXACT_NEGATIVE_INFINITY : CRA_EXACT_INFINITY;
        return;
    }
    if (number.count == 1 && number.digits[0] == 0) {
        out->kind = CRA_EXACT_ZERO;
        return;
    }
    out->kind = number.negative ? CRA_EXACT_NEGATIVE : CRA_EXACT_POSITIVE;
    out->exponent = number.exponent + (int32_t)number.count;
    out->count = number.count;
    memcpy(out->digits, number.digits, number.count);
    while (out->digits[out->count - 1] == 0)
        out->count--;
}

void cra_exact_of(cra_value value, cra_exact *out)
{
    out->exponent = 0;
    out->count = 0;
    switch (value.type) {
    case CRA_BSON_INT32:
        of_integer((int32_t)cra_le32(value.data), out);
        break;
    case CRA_BSON_INT64:
        of_integer((int64_t)cra_le64(value.data), out);
        break;
    case CRA_BSON_DOUBLE:
        of_double(cra_le64(value.data), out);
        break;
    default:
        of_decimal(value.data, out);
        break;
    }
}

static int compare_magnitudes(const cra_exact *a, const cra_exact *b)
{
    if (a->exponent != b->exponent)
        return a->exponent < b->exponent ? -1 : 1;

    const unsigned common = a->count < b->count ? a->count : b->count;
    const int order = memcmp(a->digits, b->digits, common);
    if (order != 0 || a->count == b->count)
        return order;
    return a->count < b->count ? -1 : 1;
}

int cra_exact_compare(const cra_exact *a, const cra_exact *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == CRA_EXACT_POSITIVE)
        return compare_magnitudes(a, b);
    if (a->kind == CRA_EXACT_NEGATIVE)
        return compare_magnitudes(b, a);
    return 0;
}
