/* SPDX-License-Identifier: Apache-2.0 */

/* Extended JSON beyond the corpus: plain JSON, v1, what is no wrapper, errors with their place, numbers and dates. */

#include <crawlarchive/bson.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "codec/ejson_text.h"
#include "kit/test_allocator.h"

static cra_test_allocator kit;

static cra_bytes text_of(const char *text)
{
    return cra_bytes_of_str(text);
}

/* Read `json`, write it, compare the text. */
static void check_becomes(const char *json, cra_json_mode mode, const char *expected)
{
    cra_buf bson;
    cra_buf out;
    cra_error err;

    cra_buf_init(&bson, &kit.allocator);
    cra_buf_init(&out, &kit.allocator);
    if (cra_bson_from_json(text_of(json), &bson, NULL, &err) != CRA_OK)
        fail_msg("%s: %s", json, err.message);
    assert_int_equal(cra_bson_validate(cra_buf_bytes(&bson), CRA_BSON_CHECK_UTF8, NULL), CRA_OK);
    assert_int_equal(cra_bson_to_json(cra_buf_bytes(&bson), mode, &out, NULL), CRA_OK);
    assert_string_equal(cra_buf_cstr(&out), expected);
    cra_buf_cleanup(&bson);
    cra_buf_cleanup(&out);
}

static void check_refused(const char *json, const char *place)
{
    cra_buf bson;
    cra_error err;

    cra_error_clear(&err);
    cra_buf_init(&bson, &kit.allocator);
    assert_int_equal(cra_buf_append_str(&bson, "kept"), CRA_OK);
    if (cra_bson_from_json(text_of(json), &bson, NULL, &err) != CRA_CORRUPT)
        fail_msg("accepted: %s", json);
    assert_int_equal(bson.size, 4);
    if (strstr(err.message, place) == NULL)
        fail_msg("%s: %s, expected %s", json, err.message, place);
    cra_buf_cleanup(&bson);
}

static int setup(void **state)
{
    (void)state;
    cra_test_allocator_init(&kit);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cra_test_allocator_check(&kit);
    return 0;
}

static void plain_json_gets_the_narrowest_type(void **state)
{
    (void)state;
    check_becomes(" {\t} \n", CRA_JSON_CANONICAL, "{}");
    check_becomes("{\"a\":[1,-2147483648,2147483648,-9223372036854775808]}", CRA_JSON_CANONICAL,
                  "{\"a\":[{\"$numberInt\":\"1\"},{\"$numberInt\":\"-2147483648\"},"
                  "{\"$numberLong\":\"2147483648\"},{\"$numberLong\":\"-9223372036854775808\"}]}");
    check_becomes("{\"a\":[9223372036854775808,1.0,1e2,-0.5,0.1]}", CRA_JSON_RELAXED,
                  "{\"a\":[9.223372036854776E+18,1.0,100.0,-0.5,0.1]}");
    check_becomes("{\"b\":[true,false,null,\"\",{},[]],\"a\":1,\"a\":2,\"\":3,\"x.y\":4}", CRA_JSON_RELAXED,
                  "{\"b\":[true,false,null,\"\",{},[]],\"a\":1,\"a\":2,\"\":3,\"x.y\":4}");
    check_becomes("\xEF\xBB\xBF{\"a\":1}", CRA_JSON_RELAXED, "{\"a\":1}");
}

static void strings_keep_every_character(void **state)
{
    (void)state;
    check_becomes("{\"s\":\"\\u0000\\b\\f\\n\\r\\t\\\"\\\\\\/\\u001f\\u00e9\\uD83D\\uDE00long enough to run\"}",
                  CRA_JSON_RELAXED,
                  "{\"s\":\"\\u0000\\b\\f\\n\\r\\t\\\"\\\\/\\u001f\xC3\xA9\xF0\x9F\x98\x80long enough to run\"}");
    check_becomes("{\"k\\n\\u00e9\":1}", CRA_JSON_RELAXED, "{\"k\\n\xC3\xA9\":1}");
}

static void version_one_is_read(void **state)
{
    (void)state;
    check_becomes("{\"d\":{\"$date\":\"2024-02-29T12:00:00.250+0100\"},\"e\":{\"$date\":1000},"
                  "\"f\":{\"$date\":{\"$numberLong\":\"-1\"}}}",
                  CRA_JSON_RELAXED,
                  "{\"d\":{\"$date\":\"2024-02-29T11:00:00.250Z\"},\"e\":{\"$date\":\"1970-01-01T00:00:01Z\"},"
                  "\"f\":{\"$date\":{\"$numberLong\":\"-1\"}}}");
    check_becomes("{\"b\":{\"$binary\":\"AQI=\",\"$type\":\"00\"},\"c\":{\"$type\":\"80\",\"$binary\":\"\"}}",
                  CRA_JSON_CANONICAL,
                  "{\"b\":{\"$binary\":{\"base64\":\"AQI=\",\"subType\":\"00\"}},"
                  "\"c\":{\"$binary\":{\"base64\":\"\",\"subType\":\"80\"}}}");
    check_becomes("{\"r\":{\"$regex\":\"^a\",\"$options\":\"mi\"},\"s\":{\"$options\":\"\",\"$regex\":\"b\"}}",
                  CRA_JSON_CANONICAL,
                  "{\"r\":{\"$regularExpression\":{\"pattern\":\"^a\",\"options\":\"im\"}},"
                  "\"s\":{\"$regularExpression\":{\"pattern\":\"b\",\"options\":\"\"}}}");
    check_becomes("{\"c\":{\"$scope\":{\"x\":1},\"$code\":\"f()\"}}", CRA_JSON_RELAXED,
                  "{\"c\":{\"$code\":\"f()\",\"$scope\":{\"x\":1}}}");
}

static void dollar_keys_without_a_types_shape_are_ordinary(void **state)
{
    static const char *const texts[] = {
        "{\"$oid\":\"at the top\"}",
        "{\"a\":{\"$set\":{\"b\":1}}}",
        "{\"a\":{\"$regex\":\"x\"}}",
        "{\"a\":{\"$regex\":{\"b\":1},\"$options\":\"i\"}}",
        "{\"a\":{\"$type\":\"string\"}}",
        "{\"a\":{\"$options\":1}}",
        "{\"a\":{\"$scope\":{}}}",
        "{\"a\":{\"b\":1,\"$oid\":5}}",
        "{\"a\":{\"$ref\":\"c\",\"$id\":1,\"$db\":\"d\"}}",
        "{\"a\":{\"$\":1}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_becomes(texts[i], CRA_JSON_RELAXED, texts[i]);
}

static void errors_name_line_and_column(void **state)
{
    (void)state;
    check_refused("{\n \"a\": tru}", "line 2, column 7");
    check_refused("{\"\xC3\xA9\": x}", "line 1, column 7");
    check_refused("{", "line 1, column 2");
    check_refused("[1]", "column 1");
    check_refused("{\"a\":1,}", "column 8");
    check_refused("{\"a\" 1}", "column 6");
    check_refused("{\"a\":1 \"b\":2}", "column 8");
    check_refused("{\"a\":[1,]}", "column 9");
    check_refused("{\"a\":[1 2]}", "column 9");
    check_refused("{\"a\":1} x", "column 9");
    check_refused("{\"a\":01}", "number");
    check_refused("{\"a\":-}", "number");
    check_refused("{\"a\":1.}", "number");
    check_refused("{\"a\":1e}", "number");
    check_refused("{\"a\":1e999}", "too large");
    check_refused("{\"a\":NaN}", "value");
    check_refused("{\"a\":\"\x01\"}", "control character");
    check_refused("{\"a\":\"\xFF\"}", "UTF-8");
    check_refused("{\"a\":\"\\q\"}", "escape");
    check_refused("{\"a\":\"\\u12\"}", "hexadecimal");
    check_refused("{\"a\":\"\\ud800\"}", "surrogate");
    check_refused("{\"a\":\"\\udc00\"}", "surrogate");
    check_refused("{\"a\":\"\\ud800\\u0041\"}", "surrogate");
    check_refused("{\"a\":\"x", "end");
    check_refused("{\"a\":\"\\", "end");
    check_refused("{\"a\\u0000\":1}", "U+0000");
    check_refused("{\"a\":{\"$oid\":\"xyz\"}}", "$oid");
    check_refused("{\"a\":{\"$numberInt\":\"2147483648\"}}", "$numberInt");
    check_refused("{\"a\":{\"$numberLong\":\"9223372036854775808\"}}", "$numberLong");
    check_refused("{\"a\":{\"$numberDouble\":\"1e999\"}}", "$numberDouble");
    check_refused("{\"a\":{\"$date\":\"2023-02-29T00:00:00Z\"}}", "$date");
    check_refused("{\"a\":{\"$binary\":{\"base64\":\"A\",\"subType\":\"00\"}}}", "base64");
    check_refused("{\"a\":{\"$timestamp\":{\"t\":4294967296,\"i\":0}}}", "$timestamp");
}

static void consumed_serves_streams(void **state)
{
    static const char text[] = " {\"a\":1}\n{\"b\":\"}\"}{}  ";
    cra_buf bson;
    size_t at = 0;
    size_t used = 0;
    int documents = 0;
    cra_status status;

    (void)state;
    cra_buf_init(&bson, &kit.allocator);
    while ((status = cra_bson_from_json(cra_bytes_of(text + at, sizeof text - 1 - at), &bson, &used, NULL)) == CRA_OK) {
        documents++;
        at += used;
    }
    assert_int_equal(status, CRA_DONE);
    assert_int_equal(documents, 3);
    assert_int_equal(at + used, sizeof text - 1);
    assert_int_equal(bson.size, 12 + 14 + 5);
    assert_int_equal(cra_bson_from_json(text_of(" \n"), &bson, NULL, NULL), CRA_DONE);
    cra_buf_cleanup(&bson);
}

/* `depth` copies of `open`, then `close`. */
static cra_status read_nested(const char *open, const char *middle, const char *close, int depth)
{
    cra_buf json;
    cra_buf bson;

    cra_buf_init(&json, &kit.allocator);
    cra_buf_init(&bson, &kit.allocator);
    for (int i = 0; i < depth; i++)
        assert_int_equal(cra_buf_append_str(&json, open), CRA_OK);
    assert_int_equal(cra_buf_append_str(&json, middle), CRA_OK);
    for (int i = 0; i < depth; i++)
        assert_int_equal(cra_buf_append_str(&json, close), CRA_OK);
    const cra_status status = cra_bson_from_json(cra_buf_bytes(&json), &bson, NULL, NULL);
    if (status == CRA_OK)
        assert_int_equal(cra_bson_validate(cra_buf_bytes(&bson), 0, NULL), CRA_OK);
    cra_buf_cleanup(&json);
    cra_buf_cleanup(&bson);
    return status;
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    assert_int_equal(read_nested("{\"a\":", "1", "}", CRA_BSON_MAX_DEPTH), CRA_OK);
    assert_int_equal(read_nested("{\"a\":", "1", "}", CRA_BSON_MAX_DEPTH + 1), CRA_CORRUPT);
    assert_int_equal(read_nested("{\"a\":", "1", "}", 100000), CRA_CORRUPT);
    assert_int_equal(read_nested("{\"$date\":", "1", "}", 2000), CRA_CORRUPT);
    assert_int_equal(read_nested("{\"$code\":\"\",\"$scope\":", "{}", "}", 2000), CRA_CORRUPT);
    assert_int_equal(read_nested("{\"$scope\":", "{}", "}", 2000), CRA_CORRUPT);
}

static void doubles_are_shortest_and_come_back(void **state)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {0.1, "0.1"},
        {-12.5, "-12.5"},
        {1e16, "10000000000000000.0"},
        {1e17, "1E+17"},
        {1.5e300, "1.5E+300"},
        {0.00001, "0.00001"},
        {0.000001, "1E-6"},
        {5e-324, "5E-324"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.7976931348623157e308, "1.7976931348623157E+308"},
    };
    uint64_t random = 0x9E3779B97F4A7C15u;
    char text[CRA_EJSON_DOUBLE_SIZE];
    double back;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_ejson_format_double(cases[i].number, text);
        assert_string_equal(text, cases[i].text);
        assert_true(cra_ejson_parse_double(text, strlen(text), &back));
        assert_memory_equal(&back, &cases[i].number, sizeof back);
    }
    for (int i = 0; i < 50000; i++) {
        double number;
        random = random * 6364136223846793005u + 1442695040888963407u;
        memcpy(&number, &random, sizeof number);
        const size_t size = cra_ejson_format_double(number, text);
        assert_true(size < sizeof text);
        if (text[0] == 'N')
            continue;
        assert_true(cra_ejson_parse_double(text, size, &back));
        assert_memory_equal(&back, &number, sizeof back);
        /* Our own reader and the C library's agree. */
        back = strtod(text, NULL);
        assert_memory_equal(&back, &number, sizeof back);
    }
}

static void long_numbers_round_once(void **state)
{
    /* 2^53 + 1 is a tie that goes to even; one more digit far behind decides it. */
    char text[1200];
    double number;

    (void)state;
    memset(text, '0', sizeof text);
    memcpy(text, "9007199254740993.", 17);
    assert_true(cra_ejson_parse_double(text, sizeof text, &number));
    assert_true(number == 9007199254740992.0);
    text[sizeof text - 1] = '1';
    assert_true(cra_ejson_parse_double(text, sizeof text, &number));
    assert_true(number == 9007199254740994.0);
    assert_true(cra_ejson_parse_double("1e-999999999999999999999", 24, &number));
    assert_true(number == 0.0);
    assert_false(cra_ejson_parse_double("", 0, &number));
    assert_false(cra_ejson_parse_double(".", 1, &number));
    assert_false(cra_ejson_parse_double("1e", 2, &number));
    assert_false(cra_ejson_parse_double("1x", 2, &number));
}

static void dates_go_both_ways(void **state)
{
    (void)state;
    for (int64_t time = 0; time < INT64_C(253402300800000); time += INT64_C(86399999) * 37) {
        char text[CRA_EJSON_DATE_SIZE];
        cra_time_ms back;
        assert_true(cra_ejson_format_date(time, text));
        assert_true(cra_ejson_parse_date(text, strlen(text), &back));
        assert_int_equal(back, time);
    }
    char text[CRA_EJSON_DATE_SIZE];
    assert_true(cra_ejson_format_date(INT64_C(1709164800000), text));
    assert_string_equal(text, "2024-02-29T00:00:00Z");
    assert_false(cra_ejson_format_date(-1, text));
    assert_false(cra_ejson_format_date(INT64_C(253402300800000), text));
}

static void what_is_not_utf8_is_written_as_replacement(void **state)
{
    static const uint8_t bad[] = {13, 0, 0, 0, 2, 0xFF, 0, 1, 0, 0, 0, 0, 0};
    cra_buf out;

    (void)state;
    cra_buf_init(&out, &kit.allocator);
    assert_int_equal(cra_bson_to_json(cra_bytes_of(bad, sizeof bad), CRA_JSON_RELAXED, &out, NULL), CRA_OK);
    assert_string_equal(cra_buf_cstr(&out), "{\"\xEF\xBF\xBD\":\"\"}");
    out.size = 0;
    assert_int_equal(cra_bson_to_json(cra_bytes_of(bad, 12), CRA_JSON_RELAXED, &out, NULL), CRA_CORRUPT);
    assert_int_equal(out.size, 0);
    const cra_value cut = {CRA_BSON_INT64, bad, 3};
    assert_int_equal(cra_value_to_json(cut, CRA_JSON_RELAXED, &out, NULL), CRA_CORRUPT);
    cra_buf_cleanup(&out);
}

static const char everything[] =
    "{\"o\":{\"$oid\":\"56e1fc72e0c917e9c4714161\"},\"d\":{\"$date\":{\"$numberLong\":\"1\"}},"
    "\"c\":{\"$code\":\"f\",\"$scope\":{\"x\":{\"$numberInt\":\"1\"}}},\"n\":{\"$numberDecimal\":\"1.0\"},"
    "\"b\":{\"$binary\":{\"base64\":\"AQIDBA==\",\"subType\":\"02\"}},\"t\":{\"$timestamp\":{\"t\":1,\"i\":2}},"
    "\"r\":{\"$regularExpression\":{\"pattern\":\"p\",\"options\":\"i\"}},\"a\":[\"text\",{\"$minKey\":1}]}";

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    cra_buf bson;
    cra_buf json;

    (void)user;
    cra_buf_init(&bson, allocator);
    cra_buf_init(&json, allocator);
    cra_status status = cra_bson_from_json(text_of(everything), &bson, NULL, NULL);
    if (status == CRA_OK)
        status = cra_bson_to_json(cra_buf_bytes(&bson), CRA_JSON_CANONICAL, &json, NULL);
    if (status == CRA_OK)
        assert_string_equal(cra_buf_cstr(&json), everything);
    cra_buf_cleanup(&bson);
    cra_buf_cleanup(&json);
    return status;
}

static void survives_want_of_memory(void **state)
{
    (void)state;
    cra_torture(attempt, NULL, CRA_OK, 200);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(plain_json_gets_the_narrowest_type),
        TEST(strings_keep_every_character),
        TEST(version_one_is_read),
        TEST(dollar_keys_without_a_types_shape_are_ordinary),
        TEST(errors_name_line_and_column),
        TEST(consumed_serves_streams),
        TEST(nesting_is_bounded),
        TEST(doubles_are_shortest_and_come_back),
        TEST(long_numbers_round_once),
        TEST(dates_go_both_ways),
        TEST(what_is_not_utf8_is_written_as_replacement),
        TEST(survives_want_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
