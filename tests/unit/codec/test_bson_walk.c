/* SPDX-License-Identifier: Apache-2.0 */

/* Walking, finding, checking and building BSON; every cut and every changed byte of a document of all types. */

#include <crawlarchive/bson.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "codec/bson_raw.h"
#include "kit/test_allocator.h"

static const char everything[] =
    "{\"d\":{\"$numberDouble\":\"1.5\"},\"s\":\"text\",\"o\":{\"a\":[1,{\"b\":2}]},\"bin\":{\"$binary\":"
    "{\"base64\":\"AQI=\",\"subType\":\"02\"}},\"u\":{\"$undefined\":true},\"oid\":{\"$oid\":"
    "\"56e1fc72e0c917e9c4714161\"},\"t\":true,\"date\":{\"$date\":{\"$numberLong\":\"1\"}},\"n\":null,\"r\":"
    "{\"$regularExpression\":{\"pattern\":\"p\",\"options\":\"i\"}},\"p\":{\"$dbPointer\":{\"$ref\":\"c\",\"$id\":"
    "{\"$oid\":\"56e1fc72e0c917e9c4714161\"}}},\"c\":{\"$code\":\"f\"},\"sym\":{\"$symbol\":\"y\"},\"cs\":{\"$code\":"
    "\"f\",\"$scope\":{\"x\":1}},\"i\":7,\"ts\":{\"$timestamp\":{\"t\":1,\"i\":2}},\"l\":{\"$numberLong\":\"8\"},"
    "\"dec\":{\"$numberDecimal\":\"1.0\"},\"min\":{\"$minKey\":1},\"max\":{\"$maxKey\":1},\"_id\":9}";

static void make_everything(cra_buf *out)
{
    cra_buf_init(out, NULL);
    assert_int_equal(cra_bson_from_json(cra_bytes_of_str(everything), out, NULL, NULL), CRA_OK);
}

/* All there is to do with a document; nothing may step outside it. */
static cra_status use_all(cra_bytes document, int depth)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_status status = cra_bson_iter_init(&iter, document, NULL);

    while (status == CRA_OK && (status = cra_bson_iter_next(&iter, &element, NULL)) == CRA_OK) {
        cra_value found;
        int64_t integer = 0;
        cra_buf key;
        cra_buf_init(&key, NULL);
        (void)cra_value_order_key(element.value, &key);
        (void)cra_value_to_json(element.value, CRA_JSON_RELAXED, &key, NULL);
        cra_buf_cleanup(&key);
        assert_int_equal(cra_bson_find(document, element.name, element.name_size, &found), CRA_OK);
        assert_int_equal(cra_value_compare(element.value, element.value), 0);
        (void)cra_value_as_int64(element.value, &integer);
        if (depth < 3)
            (void)use_all(cra_value_document(element.value), depth + 1);
    }
    return status;
}

static void every_cut_is_corrupt(void **state)
{
    cra_buf doc;

    (void)state;
    make_everything(&doc);
    for (size_t size = 0; size < doc.size; size++) {
        uint8_t *cut = malloc(size + 1);
        memcpy(cut + 1, doc.data, size);
        const cra_bytes view = cra_bytes_of(cut + 1, size);
        assert_int_equal(cra_bson_validate(view, 0, NULL), CRA_CORRUPT);
        assert_int_equal(use_all(view, 0), CRA_CORRUPT);
        /* The length told true: the inner values must notice. */
        if (size >= 5) {
            cra_put_le32(cut + 1, (uint32_t)size);
            cut[size] = 0;
            (void)use_all(view, 0);
            (void)cra_bson_validate(view, CRA_BSON_CHECK_UTF8, NULL);
        }
        free(cut);
    }
    cra_buf_cleanup(&doc);
}

static void every_changed_byte_is_survived(void **state)
{
    static const uint8_t values[] = {0x00, 0x01, 0x02, 0x05, 0x0F, 0x13, 0x7F, 0x80, 0xFF};
    cra_buf doc;
    long refused = 0;

    (void)state;
    make_everything(&doc);
    uint8_t *copy = malloc(doc.size);
    for (size_t at = 0; at < doc.size; at++) {
        for (size_t i = 0; i < sizeof values; i++) {
            memcpy(copy, doc.data, doc.size);
            copy[at] = values[i];
            const cra_bytes view = cra_bytes_of(copy, doc.size);
            const bool valid = cra_bson_validate(view, CRA_BSON_CHECK_UTF8, NULL) == CRA_OK;
            const cra_status walked = use_all(view, 0);
            if (valid)
                assert_int_equal(walked, CRA_DONE);
            refused += !valid;
        }
    }
    assert_true(refused > 500);
    free(copy);
    cra_buf_cleanup(&doc);
}

static void finds_by_name_and_path(void **state)
{
    cra_buf doc;
    cra_value value;
    int64_t number = 0;

    (void)state;
    make_everything(&doc);
    const cra_bytes view = cra_buf_bytes(&doc);
    assert_int_equal(cra_bson_validate(view, CRA_BSON_CHECK_UTF8 | CRA_BSON_CHECK_SIZE, NULL), CRA_OK);
    assert_int_equal(cra_bson_path(view, "o.a.1.b", &value), CRA_OK);
    assert_true(cra_value_as_int64(value, &number));
    assert_int_equal(number, 2);
    static const char *const absent[] = {"", "x", "o.x", "o.a.2", "o.a.01", "o.a.x", "o.a.", "s.x", "o.a.1.b.c"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        assert_int_equal(cra_bson_path(view, absent[i], &value), CRA_NOT_FOUND);
        assert_int_equal(value.type, 0);
    }
    assert_int_equal(cra_bson_find(view, "s", 1, &value), CRA_OK);
    assert_true(cra_bytes_equal(cra_value_text(value), cra_bytes_of_str("text")));
    assert_false(cra_value_as_int64(value, &number));
    assert_int_equal(cra_bson_find(view, "d", 1, &value), CRA_OK);
    assert_false(cra_value_as_int64(value, &number));
    assert_null(cra_value_text(value).data);
    assert_int_equal(cra_value_document(value).size, 0);
    cra_buf_cleanup(&doc);
}

static void the_id_comes_first(void **state)
{
    cra_buf doc;
    cra_buf moved;
    cra_buf again;
    cra_bson_iter iter;
    cra_bson_element element;

    (void)state;
    make_everything(&doc);
    cra_buf_init(&moved, NULL);
    cra_buf_init(&again, NULL);
    assert_int_equal(cra_bson_id_first(cra_buf_bytes(&doc), &moved), CRA_OK);
    assert_int_equal(moved.size, doc.size);
    assert_int_equal(cra_bson_validate(cra_buf_bytes(&moved), 0, NULL), CRA_OK);
    assert_int_equal(cra_bson_iter_init(&iter, cra_buf_bytes(&moved), NULL), CRA_OK);
    assert_int_equal(cra_bson_iter_next(&iter, &element, NULL), CRA_OK);
    assert_string_equal(element.name, "_id");
    assert_int_equal(cra_bson_iter_next(&iter, &element, NULL), CRA_OK);
    assert_string_equal(element.name, "d");
    assert_int_equal(cra_bson_id_first(cra_buf_bytes(&moved), &again), CRA_OK);
    assert_true(cra_bytes_equal(cra_buf_bytes(&moved), cra_buf_bytes(&again)));
    assert_int_equal(cra_bson_id_first(cra_bytes_of(doc.data, doc.size - 1), &again), CRA_CORRUPT);
    cra_buf_cleanup(&doc);
    cra_buf_cleanup(&moved);
    cra_buf_cleanup(&again);
}

static void splits_a_concatenation(void **state)
{
    static const uint8_t stream[] = {5, 0, 0, 0, 0, 8, 0, 0, 0, 10, 'n', 0, 0, 9, 0, 0};
    cra_bytes rest = cra_bytes_of(stream, sizeof stream);
    cra_bytes document;

    (void)state;
    assert_int_equal(cra_bson_next_document(&rest, &document), CRA_OK);
    assert_int_equal(document.size, 5);
    assert_int_equal(cra_bson_next_document(&rest, &document), CRA_OK);
    assert_int_equal(document.size, 8);
    assert_int_equal(cra_bson_next_document(&rest, &document), CRA_CORRUPT);
    rest.size = 0;
    assert_int_equal(cra_bson_next_document(&rest, &document), CRA_DONE);
}

static cra_status build(const cra_allocator *allocator, void *user)
{
    cra_buf *out = user;
    size_t top = 0;
    size_t inner = 0;
    cra_buf doc;

    cra_buf_init(&doc, allocator);
    cra_status status = cra_bson_begin(&doc, &top);
    if (status == CRA_OK)
        status = cra_bson_put_string(&doc, "s", "a text of some length, so that the buffer must grow more than once");
    if (status == CRA_OK)
        status = cra_bson_put_int64(&doc, "i", -2);
    if (status == CRA_OK)
        status = cra_bson_put_bool(&doc, "b", true);
    if (status == CRA_OK)
        status = cra_bson_put_date(&doc, "d", 5);
    if (status == CRA_OK)
        status = cra_bson_put_begin(&doc, "a", CRA_BSON_ARRAY, &inner);
    if (status == CRA_OK)
        status = cra_bson_put_binary(&doc, "0", 2, cra_bytes_of_str("x"));
    if (status == CRA_OK)
        status = cra_bson_put_null(&doc, "1");
    if (status == CRA_OK)
        status = cra_bson_end(&doc, inner);
    if (status == CRA_OK)
        status = cra_bson_end(&doc, top);
    if (status == CRA_OK) {
        out->size = 0;
        assert_int_equal(cra_bson_to_json(cra_buf_bytes(&doc), CRA_JSON_RELAXED, out, NULL), CRA_OK);
    }
    cra_buf_cleanup(&doc);
    return status;
}

static void builds_what_was_asked(void **state)
{
    static const cra_value unsound = {CRA_BSON_STRING, (const uint8_t *)"\1\0\0\0x", 5};
    cra_buf json;
    size_t mark;

    (void)state;
    cra_buf_init(&json, NULL);
    cra_torture(build, &json, CRA_OK, 50);
    assert_string_equal(cra_buf_cstr(&json),
                        "{\"s\":\"a text of some length, so that the buffer must grow more than once\",\"i\":-2,"
                        "\"b\":true,\"d\":{\"$date\":\"1970-01-01T00:00:00.005Z\"},"
                        "\"a\":[{\"$binary\":{\"base64\":\"eA==\",\"subType\":\"02\"}},null]}");
    json.size = 0;
    assert_int_equal(cra_bson_put_value(&json, "v", unsound), CRA_INVALID);
    assert_int_equal(cra_bson_put_begin(&json, "v", CRA_BSON_STRING, &mark), CRA_INVALID);
    assert_int_equal(cra_bson_end(&json, 7), CRA_INVALID);
    assert_int_equal(json.size, 0);
    cra_buf_cleanup(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_is_corrupt),   cmocka_unit_test(every_changed_byte_is_survived),
        cmocka_unit_test(finds_by_name_and_path), cmocka_unit_test(the_id_comes_first),
        cmocka_unit_test(splits_a_concatenation), cmocka_unit_test(builds_what_was_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
