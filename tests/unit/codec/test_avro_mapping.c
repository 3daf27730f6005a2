/* SPDX-License-Identifier: Apache-2.0 */

/* The mapping of Avro to BSON, row by row. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "kit/test_allocator.h"
#include "unit/codec/avro_bytes.h"

#define FIELD(type) "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"f\",\"type\":" type "}]}"

typedef struct row {
    const char *type; /* of field f */
    const char *bytes;
    size_t size;
    const char *value; /* canonical extended JSON of f; NULL: the block fails */
} row;
#define ROW(type, bytes, value) {type, bytes, sizeof(bytes) - 1, value}

static const row rows[] = {
    ROW("\"null\"", "", "null"),
    ROW("\"boolean\"", "\x01", "true"),
    ROW("\"boolean\"", "\x02", NULL),
    ROW("\"int\"", "\x7f", "{\"$numberInt\":\"-64\"}"),
    ROW("\"int\"", "\xff\xff\xff\xff\x0f", "{\"$numberInt\":\"-2147483648\"}"),
    ROW("\"int\"", "\xff\xff\xff\xff\x1f", NULL), /* beyond 32 bits */
    ROW("\"long\"", "\x02", "{\"$numberLong\":\"1\"}"),
    ROW("\"long\"", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "{\"$numberLong\":\"-9223372036854775808\"}"),
    ROW("\"long\"", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", NULL),
    ROW("\"float\"", "\x00\x00\xc0\x3f", "{\"$numberDouble\":\"1.5\"}"),
    ROW("\"double\"", "\x00\x00\x00\x00\x00\x00\x00\x80", "{\"$numberDouble\":\"-0.0\"}"),
    ROW("\"bytes\"", "\x04\x00\xff", "{\"$binary\":{\"base64\":\"AP8=\",\"subType\":\"00\"}}"),
    ROW("\"bytes\"", "\x05", NULL),     /* a negative length */
    ROW("\"string\"", "\x06" "a\0b", "\"a\\u0000b\""),
    ROW("\"string\"", "\x20" "a", NULL), /* beyond the block */
    ROW("{\"type\":\"fixed\",\"name\":\"x\",\"size\":0}", "", "{\"$binary\":{\"base64\":\"\",\"subType\":\"00\"}}"),
    ROW("{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"A\",\"B\"]}", "\x02", "\"B\""),
    ROW("{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"A\",\"B\"]}", "\x04", NULL),
    ROW("{\"type\":\"array\",\"items\":\"int\"}", "\x04\x02\x04\x00", "[{\"$numberInt\":\"1\"},{\"$numberInt\":\"2\"}]"),
    ROW("{\"type\":\"array\",\"items\":\"int\"}", "\x03\x04\x02\x04\x00",
        "[{\"$numberInt\":\"1\"},{\"$numberInt\":\"2\"}]"),
    ROW("{\"type\":\"array\",\"items\":\"int\"}", "\x03\x06\x02\x04\x00", NULL), /* the block's size is wrong */
    ROW("{\"type\":\"map\",\"values\":\"boolean\"}", "\x02\x06" "$.x" "\x01\x00", "{\"$.x\":true}"),
    ROW("[\"null\",\"int\"]", "\x00", "null"),
    ROW("[\"int\",\"null\",\"string\"]", "\x04\x02z", "\"z\""),
    ROW("[\"int\",\"null\"]", "\x04", NULL),
    ROW("{\"type\":\"int\",\"logicalType\":\"date\"}", "\x01", "{\"$date\":{\"$numberLong\":\"-86400000\"}}"),
    ROW("{\"type\":\"int\",\"logicalType\":\"time-millis\"}", "\x02", "{\"$numberInt\":\"1\"}"),
    ROW("{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}", "\x02", "{\"$date\":{\"$numberLong\":\"1\"}}"),
    ROW("{\"type\":\"long\",\"logicalType\":\"local-timestamp-millis\"}", "\x02", "{\"$date\":{\"$numberLong\":\"1\"}}"),
    ROW("{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"}", "\x03", "{\"$numberLong\":\"-2\"}"),
    ROW("{\"type\":\"long\",\"logicalType\":\"no-such\"}", "\x02", "{\"$numberLong\":\"1\"}"),
    ROW("{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":6,\"scale\":2}", "\x04\x04\xb0",
        "{\"$numberDecimal\":\"12.00\"}"),
    ROW("{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":6,\"scale\":2}", "\x02\xff",
        "{\"$numberDecimal\":\"-0.01\"}"),
    ROW("{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":2,\"scale\":6}", "\x02\x01",
        "{\"$binary\":{\"base64\":\"AQ==\",\"subType\":\"00\"}}"), /* scale above precision: ignored */
    ROW("{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":60,\"scale\":1}",
        "\x24\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        "\"8711228593176024664662389950253266213273.5\""), /* beyond 34 digits: text */
    ROW("{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":60,\"scale\":0}",
        "\x22\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
        "\"-43556142965880123323311949751266331066368\""),
    ROW("{\"type\":\"fixed\",\"name\":\"x\",\"size\":2,\"logicalType\":\"decimal\",\"precision\":4,\"scale\":0}",
        "\x00\x07", "{\"$numberDecimal\":\"7\"}"),
    ROW("{\"type\":\"string\",\"logicalType\":\"uuid\"}", "\x48" "00112233-4455-6677-8899-aabbccddeeff",
        "{\"$binary\":{\"base64\":\"ABEiM0RVZneImaq7zN3u/w==\",\"subType\":\"04\"}}"),
    ROW("{\"type\":\"string\",\"logicalType\":\"uuid\"}", "\x48" "00112233-4455-6677-8899-AABBCCDDEEFF",
        "\"00112233-4455-6677-8899-AABBCCDDEEFF\""),
    ROW("{\"type\":\"fixed\",\"name\":\"d\",\"size\":12,\"logicalType\":\"duration\"}",
        "\x01\x00\x00\x00\x02\x00\x00\x00\xff\xff\xff\xff",
        "{\"months\":{\"$numberLong\":\"1\"},\"days\":{\"$numberLong\":\"2\"},\"millis\":{\"$numberLong\":\"4294967295\"}}"),
};

static void every_row_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char schema[1024], expect[1024];
        cra_test_allocator kit;
        cra_doc_batch batch;
        cra_error err;
        cra_buf json;

        cra_error_clear(&err);
        cra_test_allocator_init(&kit);
        snprintf(schema, sizeof schema, FIELD("%s"), rows[i].type);
        const cra_status status = decode_bytes(&kit.allocator, NULL, schema, NULL, rows[i].bytes, rows[i].size, 1,
                                               &json, &batch, &err);
        if (rows[i].value == NULL) {
            if (status != CRA_CORRUPT || strstr(err.message, "block at byte 100") == NULL)
                fail_msg("row %zu (%s): %s, %s", i, rows[i].type, cra_status_name(status), err.message);
        } else {
            snprintf(expect, sizeof expect, "{\"f\":%s}", rows[i].value);
            if (status != CRA_OK || strcmp((const char *)json.data, expect) != 0)
                fail_msg("row %zu (%s): %s, not %s; %s", i, rows[i].type,
                         status == CRA_OK ? (const char *)json.data : cra_status_name(status), expect, err.message);
        }
        cra_buf_cleanup(&json);
        cra_test_allocator_check(&kit);
    }
}

static void options_change_the_mapping(void **state)
{
    cra_avro_options options = CRA_AVRO_OPTIONS_INIT;
    cra_doc_batch batch;
    cra_buf json;

    (void)state;
    options.micros_as_date = true;
    assert_int_equal(decode_bytes(NULL, &options, FIELD("{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"}"), NULL,
                                  "\x01", 1, 1, &json, &batch, NULL),
                     CRA_OK);
    assert_string_equal((const char *)json.data, "{\"f\":{\"$date\":{\"$numberLong\":\"-1\"}}}"); /* the floor */
    assert_int_equal(batch.lossy_dates, 1);
    cra_buf_cleanup(&json);
    options.omit_null = true;
    assert_int_equal(decode_bytes(NULL, &options, FIELD("[\"null\",\"int\"]"), NULL, "\0", 1, 1, &json, &batch, NULL),
                     CRA_OK);
    cra_buf_cleanup(&json);
}

static void a_bad_value_is_one_dead_letter(void **state)
{
    static const char map[] = FIELD("{\"type\":\"map\",\"values\":\"int\"}");
    cra_doc_batch batch;
    cra_buf json;

    (void)state;
    /* Three records: a NUL in a key, one key twice, a good one. */
    static const char bytes[] = "\x02\x02\0\x02\x00"
                                "\x04\x02" "a\x02\x02" "a\x04\x00"
                                "\x02\x02" "b\x02\x00";
    assert_int_equal(decode_bytes(NULL, NULL, map, NULL, bytes, sizeof bytes - 1, 3, &json, &batch, NULL), CRA_OK);
    assert_int_equal(batch.dead_count, 2);
    assert_int_equal(batch.count, 1);
    assert_string_equal((const char *)json.data, "{\"f\":{\"b\":{\"$numberInt\":\"1\"}}}");
    cra_buf_cleanup(&json);
}

static void a_block_is_whole_or_nothing(void **state)
{
    cra_doc_batch batch;
    cra_error err;
    cra_buf json;

    (void)state;
    cra_error_clear(&err);
    /* One byte more than its records need. */
    assert_int_equal(decode_bytes(NULL, NULL, FIELD("\"int\""), NULL, "\x02\x04\x06", 3, 2, &json, &batch, &err),
                     CRA_CORRUPT);
    assert_int_equal(batch.count, 0);
    assert_non_null(strstr(err.message, "left behind"));
    cra_buf_cleanup(&json);
    /* More records without bytes than anyone means. */
    assert_int_equal(decode_bytes(NULL, NULL, FIELD("\"null\""), NULL, "", 0, INT64_C(1) << 40, &json, &batch, &err),
                     CRA_CORRUPT);
    cra_buf_cleanup(&json);
}

static void a_root_that_is_no_record_becomes_a_value(void **state)
{
    cra_doc_batch batch;
    cra_buf json;

    (void)state;
    assert_int_equal(decode_bytes(NULL, NULL, "[\"null\",\"int\"]", NULL, "\x02\x0a\x00", 3, 2, &json, &batch, NULL),
                     CRA_OK);
    assert_string_equal((const char *)json.data, "{\"value\":{\"$numberInt\":\"5\"}}\n{\"value\":null}");
    cra_buf_cleanup(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_holds),
        cmocka_unit_test(options_change_the_mapping),
        cmocka_unit_test(a_bad_value_is_one_dead_letter),
        cmocka_unit_test(a_block_is_whole_or_nothing),
        cmocka_unit_test(a_root_that_is_no_record_becomes_a_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
