/* SPDX-License-Identifier: Apache-2.0 */

/* Decimal128 beyond the corpus (see test_bson_corpus.c): unscaled integers, limits, the forms of text. */

#include "codec/decimal128.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void check_integer(const char *bytes, size_t size, int32_t scale, const char *expected)
{
    uint8_t decimal[CRA_DECIMAL128_SIZE];
    char text[CRA_DECIMAL128_TEXT_SIZE];

    const bool good = cra_decimal128_from_int_be((const uint8_t *)bytes, size, scale, decimal);
    assert_int_equal(good, expected != NULL);
    if (good) {
        assert_int_equal(cra_decimal128_to_string(decimal, text), strlen(expected));
        assert_string_equal(text, expected);
    }
}

static void unscaled_integers_become_decimals(void **state)
{
    (void)state;
    check_integer("", 0, 0, "0");
    check_integer("\0", 1, 2, "0.00");
    check_integer("\x7F", 1, 0, "127");
    check_integer("\x80", 1, 0, "-128");
    check_integer("\xFF", 1, 0, "-1");
    check_integer("\xFF\xFF\xFF", 3, 3, "-0.001");
    check_integer("\x00\xFF", 2, 1, "25.5");
    check_integer("\xFF\x00", 2, 0, "-256");
    check_integer("\x30\x39", 2, -2, "1.2345E+6");
    /* 10^34 - 1 and 10^34, either sign. */
    check_integer("\x01\xED\x09\xBE\xAD\x87\xC0\x37\x8D\x8E\x63\xFF\xFF\xFF\xFF", 15, 0,
                  "9999999999999999999999999999999999");
    check_integer("\x01\xED\x09\xBE\xAD\x87\xC0\x37\x8D\x8E\x64\x00\x00\x00\x00", 15, 0, NULL);
    check_integer("\xFE\x12\xF6\x41\x52\x78\x3F\xC8\x72\x71\x9C\x00\x00\x00\x01", 15, 0,
                  "-9999999999999999999999999999999999");
    check_integer("\xFE\x12\xF6\x41\x52\x78\x3F\xC8\x72\x71\x9C\x00\x00\x00\x00", 15, 0, NULL);
    check_integer("\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, 0, NULL);
    check_integer("\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, 0, NULL);
    /* Sign extension of any length costs nothing. */
    check_integer("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05", 20, 0, "5");
    check_integer("\x01", 1, 6176, "1E-6176");
    check_integer("\x01", 1, 6177, NULL);
    check_integer("\x01", 1, INT32_MIN, NULL);
    check_integer("\x0A", 1, 6177, "1E-6176");
}

static void text_is_read_exactly_or_not_at_all(void **state)
{
    static const struct {
        const char *text;
        const char *expected; /* NULL: refused */
    } cases[] = {
        {"1", "1"},
        {"+1.", "1"},
        {".5", "0.5"},
        {"-0.00", "-0.00"},
        {"iNf", "Infinity"},
        {"-INFINITY", "-Infinity"},
        {"-nan", "NaN"},
        {"1e3", "1E+3"},
        {"12345678901234567890123456789012345", NULL},
        {"12345678901234567890123456789012340", "1.234567890123456789012345678901234E+34"},
        {"1E6144", "1.000000000000000000000000000000000E+6144"},
        {"1E6145", NULL},
        {"1E-6177", NULL},
        {"0E99999999999999999999", "0E+6111"},
        {"0E-99999999999999999999", "0E-6176"},
        {"", NULL},
        {"+", NULL},
        {".", NULL},
        {"1e", NULL},
        {"1e+", NULL},
        {"1.2.3", NULL},
        {" 1", NULL},
        {"1 ", NULL},
        {"infinit", NULL},
        {"0x1", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t decimal[CRA_DECIMAL128_SIZE];
        char text[CRA_DECIMAL128_TEXT_SIZE];
        const bool good = cra_decimal128_from_string(cases[i].text, strlen(cases[i].text), decimal);
        if (good != (cases[i].expected != NULL))
            fail_msg("%s", cases[i].text);
        if (good) {
            cra_decimal128_to_string(decimal, text);
            assert_string_equal(text, cases[i].expected);
        }
    }
}

static void coefficients_beyond_34_digits_are_zero(void **state)
{
    uint8_t decimal[CRA_DECIMAL128_SIZE];
    char text[CRA_DECIMAL128_TEXT_SIZE];

    (void)state;
    memset(decimal, 0xFF, sizeof decimal);
    decimal[15] = 0xB0; /* a coefficient of all ones under exponent 0, then the form with the leading bits 100 */
    decimal[14] = 0x41;
    cra_decimal128_to_string(decimal, text);
    assert_string_equal(text, "-0");
    decimal[15] = 0x6C;
    decimal[14] = 0x10;
    decimal[13] = 0x00;
    cra_decimal128_to_string(decimal, text);
    assert_string_equal(text, "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unscaled_integers_become_decimals),
        cmocka_unit_test(text_is_read_exactly_or_not_at_all),
        cmocka_unit_test(coefficients_beyond_34_digits_are_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
