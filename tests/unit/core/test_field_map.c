/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "core/field_map.h"
#include "kit/test_allocator.h"

/* Apply rules ("path type", NULL at the end) to a document in extended JSON; the result is canonical. */
static cra_status apply(const cra_allocator *allocator, const char *const *rules, const char *json, cra_buf *out,
                        cra_error *err)
{
    cra_field_map map;
    cra_buf document;
    cra_buf rewritten;

    cra_field_map_init(&map, allocator);
    cra_buf_init(&document, allocator);
    cra_buf_init(&rewritten, allocator);
    cra_status status = cra_bson_from_json(cra_bytes_of_str(json), &document, NULL, err);
    for (; *rules != NULL && status == CRA_OK; rules++) {
        char path[64];
        const char *space = strchr(*rules, ' ');
        snprintf(path, sizeof path, "%.*s", (int)(space - *rules), *rules);
        status = cra_field_map_add(&map, path, space + 1, err);
    }
    if (status == CRA_OK)
        status = cra_field_map_apply(&map, cra_buf_bytes(&document), &rewritten, err);
    if (status == CRA_OK) {
        assert_int_equal(cra_bson_validate(cra_buf_bytes(&rewritten), 0, NULL), CRA_OK);
        status = cra_bson_to_json(cra_buf_bytes(&rewritten), CRA_JSON_CANONICAL, out, err);
    } else {
        assert_int_equal(rewritten.size, 0);
    }
    cra_field_map_cleanup(&map);
    cra_buf_cleanup(&document);
    cra_buf_cleanup(&rewritten);
    return status;
}

#define OID "665f00000000000000000001"

static void types_are_given_back(void **state)
{
    static const struct {
        const char *rule;
        const char *from;
        const char *to;
    } cases[] = {
        {"a objectid", "\"" OID "\"", "{\"$oid\":\"" OID "\"}"},
        {"a objectid", "{\"$oid\":\"" OID "\"}", "{\"$oid\":\"" OID "\"}"},
        {"a objectid", "{\"$binary\":{\"base64\":\"Zl8AAAAAAAAAAAAB\",\"subType\":\"00\"}}", "{\"$oid\":\"" OID "\"}"},
        {"a decimal", "\"1.10\"", "{\"$numberDecimal\":\"1.10\"}"},
        {"a decimal", "-7", "{\"$numberDecimal\":\"-7\"}"},
        {"a int32", "{\"$numberLong\":\"-5\"}", "{\"$numberInt\":\"-5\"}"},
        {"a int64", "5", "{\"$numberLong\":\"5\"}"},
        {"a double", "5", "{\"$numberDouble\":\"5.0\"}"},
        {"a date", "1796101402007", "{\"$date\":{\"$numberLong\":\"1796101402007\"}}"},
        {"a date", "\"2026-12-01T05:03:22Z\"", "{\"$date\":{\"$numberLong\":\"1796101402000\"}}"},
        {"a int64", "null", "null"},
        {"a absent_if_null", "\"x\"", "\"x\""},
        {"b int64", "{\"$numberInt\":\"1\"}", "{\"$numberInt\":\"1\"}"},
    };
    cra_buf out;

    (void)state;
    cra_buf_init(&out, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const rules[] = {cases[i].rule, NULL};
        char json[160];
        char expected[160];
        cra_error err = {0};
        snprintf(json, sizeof json, "{\"a\":%s}", cases[i].from);
        snprintf(expected, sizeof expected, "{\"a\":%s}", cases[i].to);
        cra_buf_clear(&out);
        if (apply(NULL, rules, json, &out, &err) != CRA_OK)
            fail_msg("%s: %s", json, err.message);
        assert_string_equal(cra_buf_cstr(&out), expected);
    }
    cra_buf_cleanup(&out);
}

static void what_has_drifted_is_named(void **state)
{
    static const char *const cases[][2] = {
        {"a objectid", "\"665f\""},
        {"a objectid", "5"},
        {"a decimal", "\"1,5\""},
        {"a decimal", "true"},
        {"a int32", "5000000000"},
        {"a int32", "\"5\""},
        {"a int64", "1.5"},
        {"a double", "9007199254740993"},
        {"a double", "-9007199254740993"},
        {"a double", "\"1\""},
        {"a date", "\"yesterday\""},
        {"a date", "1.0"},
        {"a date", "\"0123456789012345678901234567890123456789012345678901234567890123456789\""},
    };
    cra_buf out;

    (void)state;
    cra_buf_init(&out, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const rules[] = {cases[i][0], NULL};
        char json[160];
        cra_error err = {0};
        snprintf(json, sizeof json, "{\"a\":%s}", cases[i][1]);
        assert_int_equal(apply(NULL, rules, json, &out, &err), CRA_CORRUPT);
        assert_non_null(strstr(err.message, "archive.fields: a: "));
    }
    const char *const unknown[] = {"a objectod", NULL};
    cra_error err = {0};
    assert_int_equal(apply(NULL, unknown, "{}", &out, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "absent_if_null"));
    cra_buf_cleanup(&out);
}

static const char *const nested_rules[] = {"_id objectid",        "prices.amount decimal", "n int64",
                                           "tags absent_if_null", "deep.er.x int64",       NULL};
static const char nested[] =
    "{\"_id\":\"" OID "\",\"n\":[1,[2]],\"prices\":[{\"amount\":\"1.5\",\"unit\":\"EUR\"},"
    "{\"amount\":null}],\"tags\":null,\"amount\":\"1\",\"deep\":{\"er\":{\"x\":3},\"y\":{}},\"o\":{\"n\":1}}";

static void paths_go_through_documents_and_arrays(void **state)
{
    cra_buf out;
    cra_error err = {0};

    (void)state;
    cra_buf_init(&out, NULL);
    if (apply(NULL, nested_rules, nested, &out, &err) != CRA_OK)
        fail_msg("%s", err.message);
    assert_string_equal(cra_buf_cstr(&out),
                        "{\"_id\":{\"$oid\":\"" OID "\"},\"n\":[{\"$numberLong\":\"1\"},[{\"$numberLong\":\"2\"}]],"
                        "\"prices\":[{\"amount\":{\"$numberDecimal\":\"1.5\"},\"unit\":\"EUR\"},{\"amount\":null}],"
                        "\"amount\":\"1\",\"deep\":{\"er\":{\"x\":{\"$numberLong\":\"3\"}},\"y\":{}},"
                        "\"o\":{\"n\":{\"$numberInt\":\"1\"}}}");
    cra_buf_cleanup(&out);
}

/* A name beyond any path is left alone, though its parent has a rule. */
static void long_names_have_no_rule(void **state)
{
    static const char *const rules[] = {"a int64", "a.b int64", NULL};
    char json[1400];
    char name[1100];
    cra_buf out;
    cra_error err = {0};

    (void)state;
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    snprintf(json, sizeof json, "{\"a\":{\"%s\":1,\"b\":2}}", name);
    cra_buf_init(&out, NULL);
    assert_int_equal(apply(NULL, rules, json, &out, &err), CRA_OK);
    assert_non_null(strstr(cra_buf_cstr(&out), "xx\":{\"$numberInt\":\"1\"}"));
    assert_non_null(strstr(cra_buf_cstr(&out), "\"b\":{\"$numberLong\":\"2\"}"));
    cra_buf_cleanup(&out);
}

static void damaged_documents_are_refused(void **state)
{
    static const uint8_t cut[] = {14, 0, 0, 0, 0x10, 'a', 0, 1, 0, 0, 0, 0x10, 'b', 0};
    cra_field_map map;
    cra_buf out;

    (void)state;
    cra_field_map_init(&map, NULL);
    cra_buf_init(&out, NULL);
    assert_int_equal(cra_field_map_apply(&map, cra_bytes_of(cut, sizeof cut), &out, NULL), CRA_CORRUPT);
    assert_int_equal(cra_field_map_apply(&map, cra_bytes_of(cut, 3), &out, NULL), CRA_CORRUPT);
    assert_int_equal(out.size, 0);
    cra_buf_cleanup(&out);
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    cra_buf out;

    (void)user;
    cra_buf_init(&out, allocator);
    const cra_status status = apply(allocator, nested_rules, nested, &out, NULL);
    cra_buf_cleanup(&out);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    cra_torture(attempt, NULL, CRA_OK, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_given_back),
        cmocka_unit_test(what_has_drifted_is_named),
        cmocka_unit_test(paths_go_through_documents_and_arrays),
        cmocka_unit_test(long_names_have_no_rule),
        cmocka_unit_test(damaged_documents_are_refused),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
