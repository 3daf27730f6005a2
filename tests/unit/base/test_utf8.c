/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "kit/test_allocator.h"

/* The slow and obvious decoder: the oracle. */
static bool oracle(const uint8_t *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        const uint8_t lead = data[at];
        const size_t length = lead < 0x80 ? 1 : (lead & 0xE0) == 0xC0 ? 2 : (lead & 0xF0) == 0xE0 ? 3 : 4;
        uint32_t point = length == 1 ? lead : lead & (0x7Fu >> length);
        if ((lead & 0xC0) == 0x80 || lead >= 0xF8 || size - at < length)
            return false;
        for (size_t i = 1; i < length; i++) {
            if ((data[at + i] & 0xC0) != 0x80)
                return false;
            point = point << 6 | (data[at + i] & 0x3Fu);
        }
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        if (point < least[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
            return false;
        at += length;
    }
    return true;
}

static void agrees_with_the_oracle_at_every_alignment(void **state)
{
    static const uint8_t bytes[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2,
                                    0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF};
    const size_t count = sizeof bytes;
    long good = 0;

    (void)state;
    for (size_t code = 0; code < count * count * count * count; code++) {
        uint8_t text[24];
        const size_t shift = code % 9;
        memset(text, 'x', sizeof text);
        size_t rest = code;
        for (size_t i = 0; i < 4; i++, rest /= count)
            text[shift + i] = bytes[rest % count];
        const bool expected = oracle(text, shift + 4);
        assert_int_equal(cra_utf8_valid(text, shift + 4), expected);
        assert_int_equal(cra_utf8_valid(text, sizeof text), oracle(text, sizeof text));
        good += expected;
    }
    assert_true(good > 1000);
}

static void every_code_point_encodes_to_one_valid_character(void **state)
{
    (void)state;
    for (uint32_t point = 0; point <= 0x10FFFF; point++) {
        uint8_t bytes[4];
        if (point >= 0xD800 && point <= 0xDFFF)
            continue;
        const size_t size = cra_utf8_encode(point, bytes);
        assert_true(oracle(bytes, size));
        assert_int_equal(cra_utf8_length(bytes, size), size);
        assert_int_equal(cra_utf8_length(bytes, size - 1), 0);
    }
}

static void repairs_each_maximal_part_once(void **state)
{
    static const struct {
        const char *text;
        const char *repaired;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"\xC3\xA9", "\xC3\xA9"},
        {"a\xFFz", "a\xEF\xBF\xBDz"},
        /* Cut short: one for the whole part. */
        {"\xE2\x82", "\xEF\xBF\xBD"},
        {"\xF0\x9F\x98z", "\xEF\xBF\xBDz"},
        /* Overlong and surrogates: one for each byte. */
        {"\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xE0\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\x41"},
    };
    cra_test_allocator kit;

    (void)state;
    cra_test_allocator_init(&kit);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_buf out;
        cra_buf_init(&out, &kit.allocator);
        assert_int_equal(cra_utf8_append_repaired(&out, cases[i].text, strlen(cases[i].text)), CRA_OK);
        assert_string_equal(cra_buf_cstr(&out), cases[i].repaired);
        cra_buf_cleanup(&out);
    }
    cra_test_allocator_check(&kit);
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    char text[400];
    cra_buf out;

    (void)user;
    memset(text, 0xFF, sizeof text);
    cra_buf_init(&out, allocator);
    const cra_status status = cra_utf8_append_repaired(&out, text, sizeof text);
    if (status != CRA_OK)
        assert_int_equal(out.size, 0);
    cra_buf_cleanup(&out);
    return status;
}

static void repair_survives_want_of_memory(void **state)
{
    (void)state;
    cra_torture(attempt, NULL, CRA_OK, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_oracle_at_every_alignment),
        cmocka_unit_test(every_code_point_encodes_to_one_valid_character),
        cmocka_unit_test(repairs_each_maximal_part_once),
        cmocka_unit_test(repair_survives_want_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
