/* SPDX-License-Identifier: Apache-2.0 */

/* The small leaves: options structs, similar names, UTF-8. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/version.h>

#include "base/options.h"
#include "base/similar.h"
#include "base/utf8.h"

typedef struct old_options {
    size_t struct_size;
    int a;
    int b;
} old_options;

typedef struct new_options {
    size_t struct_size;
    int a;
    int b;
    int c;
    int d;
} new_options;

static void an_older_caller_gets_the_defaults(void **state)
{
    const old_options given = {sizeof given, 1, 2};
    new_options own = {sizeof own, 10, 20, 30, 40};

    (void)state;
    assert_int_equal(cra_options_read(&own, sizeof own, &given), CRA_OK);
    assert_int_equal(own.struct_size, sizeof own);
    assert_int_equal(own.a, 1);
    assert_int_equal(own.b, 2);
    assert_int_equal(own.c, 30);
    assert_int_equal(own.d, 40);
    assert_int_equal(cra_options_read(&own, sizeof own, NULL), CRA_OK);
    assert_int_equal(own.a, 1);
}

static void a_newer_caller_is_heard_or_refused(void **state)
{
    new_options given = {sizeof given, 1, 2, 0, 0};
    old_options own = {sizeof own, 10, 20};

    (void)state;
    assert_int_equal(cra_options_read(&own, sizeof own, &given), CRA_OK);
    assert_int_equal(own.a, 1);
    given.d = 1;
    own.a = 10;
    assert_int_equal(cra_options_read(&own, sizeof own, &given), CRA_INVALID);
    assert_int_equal(own.a, 10);
    assert_int_equal(cra_options_check(&given, sizeof own), CRA_INVALID);
    assert_int_equal(cra_options_check(&given, sizeof given), CRA_OK);
}

static void an_untrue_size_is_refused(void **state)
{
    old_options given = {0, 1, 2};

    (void)state;
    assert_int_equal(cra_options_check(&given, sizeof given), CRA_INVALID);
    given.struct_size = sizeof(size_t) - 1;
    assert_int_equal(cra_options_check(&given, sizeof given), CRA_INVALID);
    given.struct_size = (size_t)0xA5A5A5A5A5A5A5A5u;
    assert_int_equal(cra_options_check(&given, sizeof given), CRA_INVALID);
    assert_int_equal(cra_options_check(NULL, sizeof given), CRA_OK);
}

static void measures_how_near_names_are(void **state)
{
    static const char *const names[] = {"sqlite", "memory", "file", "jsonl"};
    char long_name[80];

    (void)state;
    assert_int_equal(cra_edit_distance("", ""), 0);
    assert_int_equal(cra_edit_distance("abc", ""), 3);
    assert_int_equal(cra_edit_distance("", "abc"), 3);
    assert_int_equal(cra_edit_distance("kitten", "sitting"), 3);
    assert_int_equal(cra_edit_distance("file", "flie"), 1);
    assert_int_equal(cra_edit_distance("ab", "ba"), 1);
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_true(cra_edit_distance(long_name, "x") == SIZE_MAX);
    assert_string_equal(cra_nearest_name("sqlte", names, 4), "sqlite");
    assert_string_equal(cra_nearest_name("fiel", names, 4), "file");
    assert_string_equal(cra_nearest_name("json", names, 4), "jsonl");
    assert_null(cra_nearest_name("postgresql", names, 4));
    assert_null(cra_nearest_name("", names, 4));
    assert_null(cra_nearest_name("file", names, 0));
}

static void checks_utf8(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        size_t good;
    } table[] = {
        {"", 0, 0},
        {"plain ascii text of some length", 31, 31},
        {"eight by", 8, 8},
        {"a\0b", 3, 3},
        {"\xc3\xa9", 2, 2},
        {"\xe2\x82\xac", 3, 3},
        {"\xf0\x9f\x98\x80", 4, 4},
        {"\xf4\x8f\xbf\xbf", 4, 4},
        {"\xed\x9f\xbf\xee\x80\x80", 6, 6},
        {"12345678\xff", 9, 8},
        {"12345678123\xc3", 12, 11}, /* cut */
        {"\x80", 1, 0},
        {"\xc0\xaf", 2, 0}, /* overlong */
        {"\xc1\xbf", 2, 0},
        {"\xe0\x9f\xbf", 3, 0},
        {"\xf0\x8f\xbf\xbf", 4, 0},
        {"\xed\xa0\x80", 3, 0},     /* surrogate */
        {"\xf4\x90\x80\x80", 4, 0}, /* beyond U+10FFFF */
        {"\xf5\x80\x80\x80", 4, 0},
        {"\xe2\x82", 2, 0},
        {"\xe2\x28\xa1", 3, 0},
        {"\xf0\x9f\x98\x28", 4, 0},
        {"a\xc3\xa9\xc3", 4, 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(cra_utf8_check((const uint8_t *)table[i].text, table[i].size), table[i].good);
        assert_int_equal(cra_utf8_valid(table[i].text, table[i].size), table[i].good == table[i].size);
    }
}

/* Every code point and nothing else: counted over all sequences of up to three bytes. */
static void counts_all_short_sequences(void **state)
{
    size_t one = 0;
    size_t two = 0;
    size_t three = 0;

    (void)state;
    for (unsigned a = 0; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            for (unsigned c = 0; c < 256; c++) {
                const uint8_t bytes[3] = {(uint8_t)a, (uint8_t)b, (uint8_t)c};
                const size_t length = cra_utf8_length(bytes, 3);
                one += length == 1;
                two += length == 2;
                three += length == 3;
            }
        }
    }
    assert_int_equal(one, 128u * 65536u);
    assert_int_equal(two, (0x800u - 0x80u) * 256u);
    assert_int_equal(three, 0x10000u - 0x800u - 0x800u);
}

static void tells_its_version(void **state)
{
    (void)state;
    assert_string_equal(cra_version(), CRA_VERSION_STRING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_older_caller_gets_the_defaults),
        cmocka_unit_test(a_newer_caller_is_heard_or_refused),
        cmocka_unit_test(an_untrue_size_is_refused),
        cmocka_unit_test(measures_how_near_names_are),
        cmocka_unit_test(checks_utf8),
        cmocka_unit_test(counts_all_short_sequences),
        cmocka_unit_test(tells_its_version),
    };

    return cmocka_run_group_tests_name("leaves", tests, NULL, NULL);
}
