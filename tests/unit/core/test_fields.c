/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "core/fields.h"

static cra_status count(void *user, const cra_fields *element, cra_value value)
{
    (void)value;
    assert_true(element->document.size >= 5);
    ++*(int *)user;
    return CRA_OK;
}

static void values_are_read(void **state)
{
    cra_buf document;
    cra_error err = {0};
    size_t mark;
    size_t list;
    size_t inner;
    cra_time_ms time = 7;
    int64_t number = 7;
    bool flag = false;
    char text[4] = "x";
    int visited = 0;

    (void)state;
    cra_buf_init(&document, NULL);
    assert_int_equal(cra_bson_begin(&document, &mark), CRA_OK);
    assert_int_equal(cra_bson_put_date(&document, "date", -1), CRA_OK);
    assert_int_equal(cra_bson_put_int64(&document, "number", 5), CRA_OK);
    assert_int_equal(cra_bson_put_bool(&document, "flag", true), CRA_OK);
    assert_int_equal(cra_bson_put_string(&document, "text", "abc"), CRA_OK);
    assert_int_equal(cra_bson_put_null(&document, "nothing"), CRA_OK);
    assert_int_equal(cra_bson_put_begin(&document, "list", CRA_BSON_ARRAY, &list), CRA_OK);
    assert_int_equal(cra_bson_put_begin(&document, "0", CRA_BSON_DOCUMENT, &inner), CRA_OK);
    assert_int_equal(cra_bson_end(&document, inner), CRA_OK);
    assert_int_equal(cra_bson_end(&document, list), CRA_OK);
    assert_int_equal(cra_bson_end(&document, mark), CRA_OK);

    const cra_fields fields = {cra_buf_bytes(&document), "test", "x.", &err};
    assert_int_equal(cra_fields_time(&fields, "date", CRA_REQUIRED, &time), CRA_OK);
    assert_int_equal(time, -1);
    assert_int_equal(cra_fields_int(&fields, "number", CRA_REQUIRED, 0, &number), CRA_OK);
    assert_int_equal(number, 5);
    assert_int_equal(cra_fields_bool(&fields, "flag", CRA_REQUIRED, &flag), CRA_OK);
    assert_true(flag);
    assert_int_equal(cra_fields_chars(&fields, "text", CRA_REQUIRED, text, sizeof text), CRA_OK);
    assert_string_equal(text, "abc");
    assert_int_equal(cra_fields_chars(&fields, "text", CRA_REQUIRED, text, 3), CRA_CORRUPT);
    assert_int_equal(cra_fields_each(&fields, "list", CRA_REQUIRED, CRA_BSON_DOCUMENT, count, &visited), CRA_OK);
    assert_int_equal(cra_fields_each(&fields, "absent", CRA_OPTIONAL, CRA_BSON_DOCUMENT, count, &visited), CRA_OK);
    assert_int_equal(visited, 1);

    /* Absent and null are one; what is not there changes nothing. */
    assert_int_equal(cra_fields_time(&fields, "nothing", CRA_OPTIONAL, &time), CRA_OK);
    assert_int_equal(time, -1);
    assert_int_equal(cra_fields_int(&fields, "nothing", CRA_REQUIRED, 0, &number), CRA_CORRUPT);
    assert_string_equal(err.message, "test: x.nothing is missing");
    assert_int_equal(cra_fields_int(&fields, "number", CRA_REQUIRED, 6, &number), CRA_CORRUPT);
    assert_string_equal(err.message, "test: x.number must be 6 or more");
    cra_buf_cleanup(&document);
}

static void damage_is_named(void **state)
{
    /* An element whose text runs beyond the document, and a list that holds such a one. */
    static const uint8_t cut[] = {14, 0, 0, 0, 0x02, 'a', 0, 99, 0, 0, 0, 'x', 0, 0};
    static const uint8_t bad_list[] = {22, 0, 0, 0, 0x04, 'l', 0, 14, 0, 0, 0, 0x02, '0', 0, 99, 0, 0, 0, 'x', 0, 0, 0};
    static const uint8_t bad_size[] = {13, 0, 0, 0, 0x04, 'l', 0, 4, 0, 0, 0, 0, 0};
    cra_error err = {0};
    int64_t number;
    int visited = 0;

    (void)state;
    cra_fields fields = {cra_bytes_of(cut, sizeof cut), "test", "", &err};
    assert_int_equal(cra_fields_int(&fields, "b", CRA_OPTIONAL, 0, &number), CRA_CORRUPT);
    assert_non_null(strstr(err.message, "b cannot be read"));
    fields.document = cra_bytes_of(bad_list, sizeof bad_list);
    assert_int_equal(cra_fields_each(&fields, "l", CRA_REQUIRED, CRA_BSON_STRING, count, &visited), CRA_CORRUPT);
    fields.document = cra_bytes_of(bad_size, sizeof bad_size);
    assert_int_equal(cra_fields_each(&fields, "l", CRA_REQUIRED, CRA_BSON_STRING, count, &visited), CRA_CORRUPT);
    assert_int_equal(visited, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(damage_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
