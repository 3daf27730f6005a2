/* SPDX-License-Identifier: Apache-2.0 */

/* Resolution of a writer's schema to a reader's, by the specification's table. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "kit/test_allocator.h"
#include "unit/codec/avro_bytes.h"

#define RECORD(fields) "{\"type\":\"record\",\"name\":\"r\",\"fields\":[" fields "]}"
#define F(name, type) "{\"name\":\"" name "\",\"type\":" type "}"
#define FD(name, type, dflt) "{\"name\":\"" name "\",\"type\":" type ",\"default\":" dflt "}"

typedef struct pair {
    const char *what;
    const char *writer, *reader;
    const char *bytes;
    size_t size;
    const char *expect; /* canonical JSON; NULL: it fails with `status` */
    cra_status status;
    const char *message;
} pair;
#define GOOD(what, w, r, bytes, expect) {what, w, r, bytes, sizeof(bytes) - 1, expect, CRA_OK, NULL}
#define FAILS(what, w, r, bytes, status, message) {what, w, r, bytes, sizeof(bytes) - 1, NULL, status, message}

static const pair pairs[] = {
    GOOD("int to long", RECORD(F("a", "\"int\"")), RECORD(F("a", "\"long\"")), "\x02", "{\"a\":{\"$numberLong\":\"1\"}}"),
    GOOD("int to float", RECORD(F("a", "\"int\"")), RECORD(F("a", "\"float\"")), "\x02",
         "{\"a\":{\"$numberDouble\":\"1.0\"}}"),
    GOOD("int to double", RECORD(F("a", "\"int\"")), RECORD(F("a", "\"double\"")), "\x02",
         "{\"a\":{\"$numberDouble\":\"1.0\"}}"),
    GOOD("long to double", RECORD(F("a", "\"long\"")), RECORD(F("a", "\"double\"")), "\x02",
         "{\"a\":{\"$numberDouble\":\"1.0\"}}"),
    GOOD("float to double", RECORD(F("a", "\"float\"")), RECORD(F("a", "\"double\"")), "\x00\x00\x80\x3f",
         "{\"a\":{\"$numberDouble\":\"1.0\"}}"),
    GOOD("string to bytes", RECORD(F("a", "\"string\"")), RECORD(F("a", "\"bytes\"")), "\x02z",
         "{\"a\":{\"$binary\":{\"base64\":\"eg==\",\"subType\":\"00\"}}}"),
    GOOD("bytes to string", RECORD(F("a", "\"bytes\"")), RECORD(F("a", "\"string\"")), "\x02z", "{\"a\":\"z\"}"),
    FAILS("long to int", RECORD(F("a", "\"long\"")), RECORD(F("a", "\"int\"")), "\x02", CRA_CONFLICT, "at a"),
    FAILS("string to int", RECORD(F("a", "\"string\"")), RECORD(F("a", "\"int\"")), "\x00", CRA_CONFLICT, "at a"),
    GOOD("other order", RECORD(F("a", "\"int\"") "," F("b", "\"int\"")), RECORD(F("b", "\"int\"") "," F("a", "\"int\"")),
         "\x02\x04", "{\"a\":{\"$numberInt\":\"1\"},\"b\":{\"$numberInt\":\"2\"}}"),
    GOOD("a skipped field", RECORD(F("a", "{\"type\":\"array\",\"items\":\"string\"}") "," F("b", "\"int\"")),
         RECORD(F("b", "\"int\"")), "\x04\x02x\x02y\x00\x04", "{\"b\":{\"$numberInt\":\"2\"}}"),
    GOOD("a skipped block by its size", RECORD(F("a", "{\"type\":\"map\",\"values\":\"int\"}") "," F("b", "\"int\"")),
         RECORD(F("b", "\"int\"")), "\x01\x06\x02x\x02\x00\x04", "{\"b\":{\"$numberInt\":\"2\"}}"),
    GOOD("defaults", RECORD(F("a", "\"int\"")),
         RECORD(F("a", "\"int\"") "," FD("n", "[\"null\",\"int\"]", "null") "," FD("s", "\"string\"", "\"x\"") ","
                FD("l", "{\"type\":\"array\",\"items\":\"long\"}", "[1,2]") ","
                FD("m", "{\"type\":\"map\",\"values\":\"boolean\"}", "{\"k\":true}") ","
                FD("b", "\"bytes\"", "\"\\u00ff\"") "," FD("d", "\"double\"", "2")),
         "\x02",
         "{\"a\":{\"$numberInt\":\"1\"},\"n\":null,\"s\":\"x\",\"l\":[{\"$numberLong\":\"1\"},{\"$numberLong\":\"2\"}],"
         "\"m\":{\"k\":true},\"b\":{\"$binary\":{\"base64\":\"/w==\",\"subType\":\"00\"}},"
         "\"d\":{\"$numberDouble\":\"2.0\"}}"),
    GOOD("a bad default that is not used", RECORD(F("a", "\"int\"")), RECORD(FD("a", "\"int\"", "\"no number\"")), "\x02",
         "{\"a\":{\"$numberInt\":\"1\"}}"),
    FAILS("a bad default that is", RECORD(F("a", "\"int\"")), RECORD(F("a", "\"int\"") "," FD("b", "\"int\"", "\"x\"")),
          "\x02", CRA_CORRUPT, "default"),
    FAILS("no default", RECORD(F("a", "\"int\"")), RECORD(F("a", "\"int\"") "," F("b", "\"int\"")), "\x02", CRA_CONFLICT,
          "no field b"),
    GOOD("an alias of a field", RECORD(F("old", "\"int\"")),
         RECORD("{\"name\":\"new\",\"aliases\":[\"old\"],\"type\":\"int\"}"), "\x02", "{\"new\":{\"$numberInt\":\"1\"}}"),
    GOOD("union to type", RECORD(F("a", "[\"null\",\"int\"]")), RECORD(F("a", "\"int\"")), "\x02\x02",
         "{\"a\":{\"$numberInt\":\"1\"}}"),
    FAILS("union to type, another branch", RECORD(F("a", "[\"null\",\"int\"]")), RECORD(F("a", "\"int\"")), "\x00",
          CRA_CORRUPT, "do not resolve"),
    GOOD("type to union", RECORD(F("a", "\"int\"")), RECORD(F("a", "[\"null\",\"long\"]")), "\x02",
         "{\"a\":{\"$numberLong\":\"1\"}}"),
    GOOD("union to union", RECORD(F("a", "[\"int\",\"string\"]")), RECORD(F("a", "[\"string\",\"double\"]")), "\x00\x02",
         "{\"a\":{\"$numberDouble\":\"1.0\"}}"),
    FAILS("type to union without it", RECORD(F("a", "\"boolean\"")), RECORD(F("a", "[\"null\",\"int\"]")), "\x00",
          CRA_CONFLICT, "at a"),
    GOOD("enum default", RECORD(F("a", "{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"A\",\"B\"]}")),
         RECORD(F("a", "{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"A\",\"C\"],\"default\":\"C\"}")), "\x02",
         "{\"a\":\"C\"}"),
    FAILS("enum without default", RECORD(F("a", "{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"A\",\"B\"]}")),
          RECORD(F("a", "{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"A\"]}")), "\x02", CRA_CORRUPT, "symbol"),
    FAILS("fixed of another size", RECORD(F("a", "{\"type\":\"fixed\",\"name\":\"x\",\"size\":2}")),
          RECORD(F("a", "{\"type\":\"fixed\",\"name\":\"x\",\"size\":3}")), "\x00\x00", CRA_CONFLICT, "at a"),
    GOOD("nested, with path and default",
         RECORD(F("o", "{\"type\":\"record\",\"name\":\"i\",\"fields\":[" F("x", "\"int\"") "]}")),
         RECORD(F("o", "{\"type\":\"record\",\"name\":\"i\",\"fields\":[" F("x", "\"long\"") ","
                       FD("y", "\"string\"", "\"d\"") "]}")),
         "\x02", "{\"o\":{\"x\":{\"$numberLong\":\"1\"},\"y\":\"d\"}}"),
    FAILS("nested mismatch names its path",
          RECORD(F("o", "{\"type\":\"record\",\"name\":\"i\",\"fields\":[" F("x", "\"string\"") "]}")),
          RECORD(F("o", "{\"type\":\"record\",\"name\":\"i\",\"fields\":[" F("x", "\"int\"") "]}")), "\x00",
          CRA_CONFLICT, "at o.x"),
    GOOD("recursive", RECORD(F("v", "\"int\"") "," F("next", "[\"null\",\"r\"]")),
         RECORD(F("v", "\"long\"") "," F("next", "[\"null\",\"r\"]")), "\x02\x02\x04\x00",
         "{\"v\":{\"$numberLong\":\"1\"},\"next\":{\"v\":{\"$numberLong\":\"2\"},\"next\":null}}"),
};

static void every_pair_resolves_as_specified(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const pair *p = &pairs[i];
        cra_test_allocator kit;
        cra_doc_batch batch;
        cra_error err;
        cra_buf json;

        cra_error_clear(&err);
        cra_test_allocator_init(&kit);
        const cra_status status =
            decode_bytes(&kit.allocator, NULL, p->writer, p->reader, p->bytes, p->size, 1, &json, &batch, &err);
        if (status != p->status || (p->expect != NULL && strcmp((const char *)json.data, p->expect) != 0) ||
            (p->message != NULL && strstr(err.message, p->message) == NULL))
            fail_msg("%s: %s, %s; %s", p->what, cra_status_name(status),
                     json.data != NULL ? (const char *)json.data : "nothing", err.message);
        cra_buf_cleanup(&json);
        cra_test_allocator_check(&kit);
    }
}

static cra_status torture_attempt(const cra_allocator *allocator, void *user)
{
    const pair *p = user;
    cra_doc_batch batch;
    cra_buf json;

    const cra_status status =
        decode_bytes(allocator, NULL, p->writer, p->reader, p->bytes, p->size, 1, &json, &batch, NULL);
    cra_buf_cleanup(&json);
    return status;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (pairs[i].status == CRA_OK)
            cra_torture(torture_attempt, (void *)(uintptr_t)&pairs[i], CRA_OK, 300);
    }
}

/* Schemas: what is accepted, and what is refused. */
static void schemas_are_read_as_writers_write_them(void **state)
{
    static const struct {
        const char *schema;
        bool good;
    } schemas[] = {
        {RECORD(F("a-b", "\"int\"")), true},
        {RECORD(F("a", "\"int\"") "," F("a", "\"int\"")), false},
        {RECORD(F("a", "[\"int\",\"int\"]")), false},
        {RECORD(F("a", "[[\"int\"]]")), false},
        {RECORD(F("a", "\"no_such\"")), false},
        {RECORD(F("a", "{\"type\":\"fixed\",\"name\":\"x\",\"size\":-1}")), false},
        {RECORD(F("a", "{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"A\",\"A\"]}")), false},
        {"{\"type\":\"record\",\"name\":\"n.r\",\"fields\":[" F("a", "{\"type\":\"fixed\",\"name\":\"x\",\"size\":1}") ","
         F("b", "\"x\"") "," F("c", "\"n.x\"") "]}", true},
        {"{", false},
        {"", false},
        {"\"int\" \"int\"", false},
        {"\xEF\xBB\xBF\"int\"", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++) {
        cra_avro_program *program = NULL;
        const cra_status status = cra_avro_program_new(NULL, NULL, cra_bytes_of_str(schemas[i].schema),
                                                       (cra_bytes){NULL, 0}, &program, NULL);
        if ((status == CRA_OK) != schemas[i].good)
            fail_msg("%s: %s", schemas[i].schema, cra_status_name(status));
        cra_avro_program_free(program);
    }
}

static void a_schema_of_any_depth_is_survived(void **state)
{
    cra_buf schema;
    cra_avro_program *program = NULL;

    (void)state;
    cra_buf_init(&schema, NULL);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(cra_buf_append_str(&schema, "{\"type\":\"array\",\"items\":"), CRA_OK);
    assert_int_equal(cra_buf_append_str(&schema, "\"int\""), CRA_OK);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(cra_buf_append_str(&schema, "}"), CRA_OK);
    assert_int_equal(cra_avro_program_new(NULL, NULL, cra_buf_bytes(&schema), (cra_bytes){NULL, 0}, &program, NULL),
                     CRA_CORRUPT);
    cra_buf_cleanup(&schema);
}

static void the_canonical_form_is_the_specifications(void **state)
{
    cra_buf out;

    (void)state;
    cra_buf_init(&out, NULL);
    assert_int_equal(cra_avro_schema_canonical(
                         NULL, cra_bytes_of_str("{\"doc\":\"x\", \"namespace\":\"n\",\"name\":\"r\",\"type\":\"record\", "
                                                "\"fields\":[{\"type\":{\"type\":\"string\"},\"name\":\"a\"},"
                                                "{\"name\":\"b\",\"type\":[\"null\",\"r\"],\"default\":null}]}"),
                         &out, NULL),
                     CRA_OK);
    assert_string_equal(cra_buf_cstr(&out),
                        "{\"name\":\"n.r\",\"type\":\"record\",\"fields\":[{\"name\":\"a\",\"type\":\"string\"},"
                        "{\"name\":\"b\",\"type\":[\"null\",\"n.r\"]}]}");
    cra_buf_cleanup(&out);
}

static void a_program_can_be_listed(void **state)
{
    cra_avro_program *program = NULL;
    cra_buf out;

    (void)state;
    cra_buf_init(&out, NULL);
    assert_int_equal(cra_avro_program_new(NULL, NULL, cra_bytes_of_str(RECORD(F("url", "[\"null\",\"string\"]"))),
                                          (cra_bytes){NULL, 0}, &program, NULL),
                     CRA_OK);
    assert_int_equal(cra_avro_program_disassemble(program, &out), CRA_OK);
    assert_non_null(strstr(cra_buf_cstr(&out), "UNION"));
    assert_non_null(strstr((const char *)out.data, "\"url\""));
    cra_buf_cleanup(&out);
    cra_avro_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_resolves_as_specified),
        cmocka_unit_test(memory_may_run_out_anywhere),
        cmocka_unit_test(schemas_are_read_as_writers_write_them),
        cmocka_unit_test(a_schema_of_any_depth_is_survived),
        cmocka_unit_test(the_canonical_form_is_the_specifications),
        cmocka_unit_test(a_program_can_be_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
