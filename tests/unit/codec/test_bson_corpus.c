/* SPDX-License-Identifier: Apache-2.0 */

/* The BSON corpus of the MongoDB specifications, used where it lies: what is valid converts both ways, what is not is
 * refused. Skipped where it is absent. */

#include <crawlarchive/bson.h>

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/hash.h"
#include "kit/data.h"
#include "kit/test_allocator.h"

/* {"$date": 42}: refused by the specification, but v1 tools wrote dates so, and we read them. */
static const char accepted_date[] = "Bad $date (number, not string or hash)";

/* A coefficient beyond 34 digits: zero by IEEE 754 and the specification of decimal128, a number to one driver. */
static const char uncanonical_decimal[] = "Scientific - Longest";

static cra_test_allocator kit;
static const char *current_file;
static char current_case[512];

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fail_msg("%s: %s: not so: %s", current_file, current_case, #condition);                                    \
    } while (0)

static bool field_text(cra_bytes document, const char *name, cra_bytes *out)
{
    cra_value value;

    if (cra_bson_find(document, name, strlen(name), &value) != CRA_OK)
        return false;
    *out = cra_value_text(value);
    return out->data != NULL;
}

static bool field_bson(cra_bytes document, const char *name, cra_buf *out)
{
    cra_bytes hex;

    out->size = 0;
    if (!field_text(document, name, &hex))
        return false;
    assert_int_equal(cra_buf_reserve(out, hex.size / 2 + 1), CRA_OK);
    CHECK(cra_hex_decode((const char *)hex.data, out->data, hex.size / 2));
    out->size = hex.size / 2;
    return true;
}

static void check_parses_to(cra_bytes json, const cra_buf *expected)
{
    cra_error err;
    cra_buf bson;

    cra_buf_init(&bson, &kit.allocator);
    if (cra_bson_from_json(json, &bson, NULL, &err) != CRA_OK)
        fail_msg("%s: %s: %s", current_file, current_case, err.message);
    if (expected != NULL)
        CHECK(cra_bytes_equal(cra_buf_bytes(&bson), cra_buf_bytes(expected)));
    cra_buf_cleanup(&bson);
}

/* Texts may differ in white space and number formats: both are parsed. */
static void check_writes_same_as(const cra_buf *bson, cra_json_mode mode, cra_bytes json)
{
    cra_buf written;
    cra_buf expected;

    cra_buf_init(&written, &kit.allocator);
    cra_buf_init(&expected, &kit.allocator);
    CHECK(cra_bson_to_json(cra_buf_bytes(bson), mode, &written, NULL) == CRA_OK);
    CHECK(cra_bson_from_json(json, &expected, NULL, NULL) == CRA_OK);
    check_parses_to(cra_buf_bytes(&written), &expected);
    cra_buf_cleanup(&written);
    cra_buf_cleanup(&expected);
}

static void check_valid(cra_bytes item)
{
    cra_buf canonical;
    cra_buf degenerate;
    cra_bytes json;
    cra_value lossy;
    const bool is_lossy = cra_bson_find(item, "lossy", 5, &lossy) == CRA_OK && lossy.data[0] == 1;

    cra_buf_init(&canonical, &kit.allocator);
    cra_buf_init(&degenerate, &kit.allocator);
    CHECK(field_bson(item, "canonical_bson", &canonical));
    CHECK(cra_bson_validate(cra_buf_bytes(&canonical), CRA_BSON_CHECK_UTF8, NULL) == CRA_OK);
    CHECK(field_text(item, "canonical_extjson", &json));
    check_parses_to(json, is_lossy ? NULL : &canonical);
    check_writes_same_as(&canonical, CRA_JSON_CANONICAL, json);
    if (field_text(item, "relaxed_extjson", &json)) {
        check_parses_to(json, NULL);
        check_writes_same_as(&canonical, CRA_JSON_RELAXED, json);
    }
    if (field_text(item, "degenerate_extjson", &json))
        check_parses_to(json, is_lossy ? NULL : &canonical);
    if (strcmp(current_case, uncanonical_decimal) != 0 && field_bson(item, "degenerate_bson", &degenerate)) {
        CHECK(field_text(item, "canonical_extjson", &json));
        check_writes_same_as(&degenerate, CRA_JSON_CANONICAL, json);
    }
    cra_buf_cleanup(&canonical);
    cra_buf_cleanup(&degenerate);
}

static void check_decode_error(cra_bytes item)
{
    cra_buf bson;
    cra_error err;

    cra_buf_init(&bson, &kit.allocator);
    cra_error_clear(&err);
    CHECK(field_bson(item, "bson", &bson));
    CHECK(cra_bson_validate(cra_buf_bytes(&bson), CRA_BSON_CHECK_UTF8, &err) == CRA_CORRUPT);
    CHECK(strstr(err.message, "offset") != NULL);
    cra_buf_cleanup(&bson);
}

static void check_parse_error(cra_bytes item, bool decimal)
{
    cra_buf bson;
    cra_buf json;
    cra_bytes text;
    cra_error err;

    cra_buf_init(&bson, &kit.allocator);
    cra_buf_init(&json, &kit.allocator);
    cra_error_clear(&err);
    CHECK(field_text(item, "string", &text));
    if (decimal) {
        assert_int_equal(cra_buf_append_str(&json, "{\"d\": {\"$numberDecimal\": \""), CRA_OK);
        assert_int_equal(cra_buf_append(&json, text.data, text.size), CRA_OK);
        assert_int_equal(cra_buf_append_str(&json, "\"}}"), CRA_OK);
        text = cra_buf_bytes(&json);
    }
    const cra_status expected = strcmp(current_case, accepted_date) == 0 ? CRA_OK : CRA_CORRUPT;
    CHECK(cra_bson_from_json(text, &bson, NULL, &err) == expected);
    if (expected != CRA_OK) {
        CHECK(bson.size == 0);
        CHECK(strstr(err.message, "line 1, column ") != NULL);
    }
    cra_buf_cleanup(&json);
    cra_buf_cleanup(&bson);
}

static int check_list(cra_bytes document, const char *list, bool decimal)
{
    cra_value value;
    cra_bson_iter iter;
    cra_bson_element element;
    int count = 0;

    if (cra_bson_find(document, list, strlen(list), &value) != CRA_OK)
        return 0;
    assert_int_equal(cra_bson_iter_init(&iter, cra_value_document(value), NULL), CRA_OK);
    for (; cra_bson_iter_next(&iter, &element, NULL) == CRA_OK; count++) {
        const cra_bytes item = cra_value_document(element.value);
        cra_bytes text = {NULL, 0};
        field_text(item, "description", &text);
        snprintf(current_case, sizeof current_case, "%.*s", (int)text.size, (const char *)text.data);
        if (strcmp(list, "valid") == 0)
            check_valid(item);
        else if (strcmp(list, "decodeErrors") == 0)
            check_decode_error(item);
        else
            check_parse_error(item, decimal);
    }
    return count;
}

static int check_file(const char *path, const char *name)
{
    cra_buf text;
    cra_buf document;
    cra_bytes type = {NULL, 0};
    cra_error err;

    current_file = name;
    cra_buf_init(&text, &kit.allocator);
    cra_buf_init(&document, &kit.allocator);
    cra_test_read_file(path, &text);
    if (cra_bson_from_json(cra_buf_bytes(&text), &document, NULL, &err) != CRA_OK)
        fail_msg("%s: %s", path, err.message);
    const cra_bytes view = cra_buf_bytes(&document);
    assert_true(field_text(view, "bson_type", &type));
    const bool decimal = strcmp((const char *)type.data, "0x13") == 0;
    const int count = check_list(view, "valid", decimal) + check_list(view, "decodeErrors", decimal) +
                      check_list(view, "parseErrors", decimal);
    cra_buf_cleanup(&text);
    cra_buf_cleanup(&document);
    return count;
}

static void the_corpus_holds(void **state)
{
    const char *root = cra_test_outside("bson-corpus");
    char folder[4096];
    int files = 0;
    int cases = 0;

    (void)state;
    if (root == NULL) {
        print_message("the BSON corpus is not here: skipped\n");
        skip();
    }
    snprintf(folder, sizeof folder, "%s", root);
    cra_test_allocator_init(&kit);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[8192];
        if (strstr(entry->d_name, ".json") == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        cases += check_file(path, entry->d_name);
        files++;
    }
    closedir(dir);
    cra_test_allocator_check(&kit);
    print_message("%d files, %d cases\n", files, cases);
    assert_true(files >= 30 && cases >= 800);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_corpus_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
