/* SPDX-License-Identifier: Apache-2.0 */

/* The C library converts, but it writes and expects the locale's decimal point: numbers are handed to it, and taken
 * from it, as digits and an exponent. */

#include "codec/ejson_text.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More digits than any double needs to be told from its neighbours' midpoints; what follows only breaks ties. */
#define DIGITS_MAX 800

typedef struct decimal {
    bool negative;
    int exponent; /* of the first digit: d.ddd × 10^exponent */
    size_t count; /* without zeros at the end; 1 for zero */
    char digits[20];
} decimal;

/* `precision` significant digits of a finite number. */
static void to_decimal(double number, int precision, decimal *out)
{
    char text[48];

    snprintf(text, sizeof text, "%.*e", precision - 1, number);
    out->negative = text[0] == '-';
    out->count = 0;

    const char *at = text;
    for (; *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9')
            out->digits[out->count++] = *at;
    }
    out->exponent = atoi(at + 1);
    while (out->count > 1 && out->digits[out->count - 1] == '0')
        out->count--;
}

static double of_decimal(const decimal *number)
{
    char text[48];

    snprintf(text, sizeof text, "%s%.*se%d", number->negative ? "-" : "", (int)number->count, number->digits,
             number->exponent - (int)number->count + 1);
    return strtod(text, NULL);
}

static void shortest(double number, decimal *out)
{
    /* Texts of up to 15 digits survive a double, so that 15 digits find them all; not among the denormals. */
    const bool normal = number >= DBL_MIN || number <= -DBL_MIN;

    for (int precision = normal ? DBL_DIG : 1; precision <= 17; precision++) {
        to_decimal(number, precision, out);
        const double back = of_decimal(out);
        if (!(back < number) && !(back > number))
            break;
    }
}

static char *write_digits(char *to, const decimal *number, size_t from, size_t count)
{
    for (size_t i = from; i < from + count; i++)
        *to++ = i < number->count ? number->digits[i] : '0';
    return to;
}

size_t cra_ejson_format_double(double number, char out[CRA_EJSON_DOUBLE_SIZE])
{
    decimal parts;
    char *to = out;

    if (!(number >= -DBL_MAX && number <= DBL_MAX)) {
        const char *word = number > 0 ? "Infinity" : number < 0 ? "-Infinity" : "NaN";
        memcpy(out, word, strlen(word) + 1);
        return strlen(word);
    }

    shortest(number, &parts);
    if (parts.negative)
        *to++ = '-';
    if (parts.exponent >= 0 && parts.exponent < 17) {
        const size_t whole = (size_t)parts.exponent + 1;
        to = write_digits(to, &parts, 0, whole);
        *to++ = '.';
        to = write_digits(to, &parts, whole, parts.count > whole ? parts.count - whole : 1);
    } else if (parts.exponent < 0 && parts.exponent >= -5) {
        *to++ = '0';
        *to++ = '.';
        for (int i = -1; i > parts.exponent; i--)
            *to++ = '0';
        to = write_digits(to, &parts, 0, parts.count);
    } else {
        *to++ = parts.digits[0];
        if (parts.count > 1)
            *to++ = '.';
        to = write_digits(to, &parts, 1, parts.count - 1);
        to += snprintf(to, 8, "E%+d", parts.exponent);
    }
    *to = '\0';
    return (size_t)(to - out);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

typedef struct scanned {
    bool negative;
    bool any;         /* a digit was seen */
    uint64_t small;   /* the first 19 digits */
    size_t count;     /* of digits kept, leading zeros not among them */
    int64_t exponent; /* of the last digit kept */
    char digits[DIGITS_MAX + 1];
} scanned;

static void keep_digit(scanned *number, char digit)
{
    if (number->count == 0 && digit == '0')
        return;
    if (number->count < 19)
        number->small = number->small * 10 + (uint64_t)(digit - '0');
    if (number->count < DIGITS_MAX) {
        number->digits[number->count++] = digit;
        return;
    }
    number->exponent++;
    if (digit != '0')
        number->digits[DIGITS_MAX] = '1'; /* a tie no more */
}

static bool scan_exponent(const char *at, const char *end, int64_t *out)
{
    bool negative = false;
    int64_t exponent = 0;

    if (at < end && (*at == '+' || *at == '-'))
        negative = *at++ == '-';
    if (at == end)
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        if (exponent < INT64_MAX / 100)
            exponent = exponent * 10 + (*at - '0');
    }
    *out = negative ? -exponent : exponent;
    return true;
}

static bool scan(const char *at, const char *end, scanned *number)
{
    bool point = false;

    number->any = false;
    number->small = 0;
    number->count = 0;
    number->exponent = 0;
    number->digits[DIGITS_MAX] = '0';
    number->negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    for (; at < end && ((*at >= '0' && *at <= '9') || (*at == '.' && !point)); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        number->any = true;
        number->exponent -= point ? 1 : 0;
        keep_digit(number, *at);
    }

    int64_t written = 0;
    if (at < end && ((*at != 'e' && *at != 'E') || !scan_exponent(at + 1, end, &written)))
        return false;
    number->exponent += written;
    return number->any;
}

static double convert(const scanned *number)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

    if (number->count == 0)
        return 0.0;
    /* Both operands are exact, so that the one operation rounds once, correctly. */
    if (number->count <= 19 && number->small <= (uint64_t)1 << 53) {
        if (number->exponent >= 0 && number->exponent <= 22)
            return (double)number->small * powers[number->exponent];
        if (number->exponent < 0 && number->exponent >= -22)
            return (double)number->small / powers[-number->exponent];
    }

    char text[DIGITS_MAX + 32];
    int64_t exponent = number->exponent;
    size_t count = number->count;
    memcpy(text, number->digits, count);
    if (count == DIGITS_MAX) {
        text[count++] = number->digits[DIGITS_MAX];
        exponent--;
    }
    /* Beyond these it is zero or too large, whatever the digits. */
    exponent = exponent > 100000 ? 100000 : exponent < -100000 ? -100000 : exponent;
    snprintf(text + count, sizeof text - count, "e%d", (int)exponent);
    return strtod(text, NULL);
}

static bool same(const char *text, size_t size, const char *word)
{
    return strlen(word) == size && memcmp(text, word, size) == 0;
}

bool cra_ejson_parse_double(const char *text, size_t size, double *out)
{
    scanned number;

    if (same(text, size, "NaN")) {
        const uint64_t quiet = 0x7FF8000000000000u;
        memcpy(out, &quiet, sizeof quiet);
        return true;
    }
    if (same(text, size, "Infinity") || same(text, size, "-Infinity")) {
        const uint64_t infinity = text[0] == '-' ? 0xFFF0000000000000u : 0x7FF0000000000000u;
        memcpy(out, &infinity, sizeof infinity);
        return true;
    }
    if (!scan(text, text + size, &number))
        return false;

    const double magnitude = convert(&number);
    *out = number.negative ? -magnitude : magnitude;
    return magnitude <= DBL_MAX;
}

bool cra_ejson_parse_int64(const char *text, size_t size, int64_t *out)
{
    const char *end = text + size;
    const bool negative = text < end && *text == '-';
    const uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    uint64_t number = 0;

    text += negative ? 1 : 0;
    if (text == end)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        const unsigned digit = (unsigned)(*text - '0');
        if (number > (limit - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *out = (int64_t)(negative ? 0 - number : number);
    return true;
}
