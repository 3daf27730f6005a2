/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/import.h>

#include "base/buf.h"
#include "kit/test_allocator.h"
#include "ops/record.h"

struct fixture {
    cra_test_allocator memory;
    cra_buf document, out, scratch;
    cra_error error;
};

static int set_up(void **state)
{
    struct fixture *f = test_calloc(1, sizeof(*f));

    cra_test_allocator_init(&f->memory);
    cra_buf_init(&f->document, &f->memory.allocator);
    cra_buf_init(&f->out, &f->memory.allocator);
    cra_buf_init(&f->scratch, &f->memory.allocator);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cra_buf_cleanup(&f->document);
    cra_buf_cleanup(&f->out);
    cra_buf_cleanup(&f->scratch);
    cra_test_allocator_check(&f->memory);
    test_free(f);
    return 0;
}

static cra_bytes from_json(struct fixture *f, const char *json)
{
    cra_buf_clear(&f->document);
    assert_int_equal(cra_bson_from_json(cra_bytes_of_str(json), &f->document, NULL, &f->error), CRA_OK);
    return cra_buf_bytes(&f->document);
}

static cra_value int32_value(const uint8_t bytes[4])
{
    const cra_value value = {CRA_BSON_INT32, bytes, 4};

    return value;
}

static const uint8_t eighteen[4] = {18, 0, 0, 0};
static const cra_value none = {0, NULL, 0};

static void expect_json(struct fixture *f, const char *expected)
{
    cra_buf text;

    cra_buf_init(&text, NULL);
    assert_int_equal(cra_bson_to_json(cra_buf_bytes(&f->out), CRA_JSON_RELAXED, &text, NULL), CRA_OK);
    cra_buf other;
    cra_buf_init(&other, NULL);
    cra_buf document;
    cra_buf_init(&document, NULL);
    assert_int_equal(cra_bson_from_json(cra_bytes_of_str(expected), &document, NULL, NULL), CRA_OK);
    assert_int_equal(cra_bson_to_json(cra_buf_bytes(&document), CRA_JSON_RELAXED, &other, NULL), CRA_OK);
    assert_string_equal(cra_buf_cstr(&text), cra_buf_cstr(&other));
    cra_buf_cleanup(&text);
    cra_buf_cleanup(&other);
    cra_buf_cleanup(&document);
}

static void id_digest(struct fixture *f, const char *json, cra_digest *out)
{
    const cra_bytes document = from_json(f, json);
    cra_value id;

    assert_int_equal(cra_bson_find(document, "_id", 3, &id), CRA_OK);
    assert_int_equal(cra_record_id_digest(id, out, &f->scratch), CRA_OK);
}

static void equal_ids_have_equal_digests(void **state)
{
    struct fixture *f = *state;
    cra_digest a, b, c;

    id_digest(f, "{\"_id\": 1}", &a);
    id_digest(f, "{\"_id\": 1.0}", &b);
    id_digest(f, "{\"_id\": \"1\"}", &c);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_memory_not_equal(&a, &c, sizeof(a));
}

static void content(struct fixture *f, const char *json, const cra_digest_rule *rule, cra_digest *out)
{
    assert_int_equal(cra_record_content_digest(from_json(f, json), rule, out, &f->scratch, &f->error), CRA_OK);
}

static void content_ignores_where_the_id_stands(void **state)
{
    struct fixture *f = *state;
    cra_digest a, b, c;

    content(f, "{\"_id\": 1, \"a\": 2, \"b\": 3}", NULL, &a);
    content(f, "{\"a\": 2, \"b\": 3, \"_id\": 1}", NULL, &b);
    content(f, "{\"b\": 3, \"a\": 2, \"_id\": 1}", NULL, &c);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_memory_not_equal(&a, &c, sizeof(a));
}

static void content_leaves_out_what_the_rule_names(void **state)
{
    static const char *const ignore[] = {"seen", NULL};
    const cra_digest_rule rule = {ignore, true, "run_id"};
    struct fixture *f = *state;
    cra_digest a, b, c;

    content(f, "{\"_id\": 1, \"a\": 2, \"seen\": 5, \"run_id\": 18}", &rule, &a);
    content(f, "{\"a\": 2}", &rule, &b);
    content(f, "{\"a\": 3}", &rule, &c);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_memory_not_equal(&a, &c, sizeof(a));
}

static void prepare_moves_the_id_and_adds_the_run(void **state)
{
    struct fixture *f = *state;
    const cra_bytes document = from_json(f, "{\"a\": 1, \"_id\": 5}");

    assert_int_equal(cra_record_prepare(document, "run_id", int32_value(eighteen), none, &f->out, &f->error), CRA_OK);
    expect_json(f, "{\"_id\": 5, \"a\": 1, \"run_id\": 18}");
}

static void prepare_takes_the_run_as_numbers_compare(void **state)
{
    struct fixture *f = *state;
    const cra_bytes document = from_json(f, "{\"_id\": 5, \"run_id\": 18.0}");

    assert_int_equal(cra_record_prepare(document, "run_id", int32_value(eighteen), none, &f->out, &f->error), CRA_OK);
    assert_int_equal(f->out.size, document.size);
    assert_memory_equal(f->out.data, document.data, document.size);
}

static void prepare_refuses_another_run(void **state)
{
    struct fixture *f = *state;
    const cra_bytes document = from_json(f, "{\"_id\": 5, \"run_id\": \"nightly\"}");

    assert_int_equal(cra_record_prepare(document, "run_id", int32_value(eighteen), none, &f->out, &f->error),
                     CRA_CONFLICT);
    assert_non_null(strstr(f->error.message, "nightly"));
    assert_non_null(strstr(f->error.message, "18"));
    assert_int_equal(f->out.size, 0);
}

static void prepare_asks_for_an_id(void **state)
{
    struct fixture *f = *state;
    uint8_t bytes[CRA_DERIVED_ID_SIZE];
    const cra_bytes document = from_json(f, "{\"a\": 1}");
    cra_value id, found;

    assert_int_equal(cra_record_prepare(document, "run_id", int32_value(eighteen), none, &f->out, &f->error),
                     CRA_NOT_FOUND);
    cra_record_derive_id("prices", "18", document, 0, bytes, &id);
    assert_int_equal(cra_record_prepare(document, "run_id", int32_value(eighteen), id, &f->out, &f->error), CRA_OK);
    assert_int_equal(cra_bson_validate(cra_buf_bytes(&f->out), 0, &f->error), CRA_OK);
    assert_int_equal(cra_bson_find(cra_buf_bytes(&f->out), "_id", 3, &found), CRA_OK);
    assert_true(cra_value_identical(found, id));
}

static void prepare_never_adds_a_nested_run_field(void **state)
{
    struct fixture *f = *state;
    cra_bytes document = from_json(f, "{\"_id\": 1, \"meta\": {\"run\": 18}}");

    assert_int_equal(cra_record_prepare(document, "meta.run", int32_value(eighteen), none, &f->out, &f->error), CRA_OK);
    document = from_json(f, "{\"_id\": 1}");
    assert_int_equal(cra_record_prepare(document, "meta.run", int32_value(eighteen), none, &f->out, &f->error),
                     CRA_INVALID);
}

static void prepare_refuses_cut_bson(void **state)
{
    struct fixture *f = *state;
    const cra_bytes document = from_json(f, "{\"_id\": 1, \"a\": \"text\"}");

    for (size_t size = 0; size < document.size; size++) {
        cra_buf_clear(&f->out);
        assert_int_not_equal(cra_record_prepare(cra_bytes_of(document.data, size), "run_id", int32_value(eighteen),
                                                none, &f->out, &f->error),
                             CRA_OK);
    }
}

static void derived_ids_tell_run_record_and_occurrence_apart(void **state)
{
    struct fixture *f = *state;
    uint8_t ids[6][CRA_DERIVED_ID_SIZE];
    cra_bytes document = from_json(f, "{\"a\": 1}");
    cra_value id;

    cra_record_derive_id("prices", "18", document, 0, ids[0], &id);
    cra_record_derive_id("prices", "18", document, 1, ids[1], &id);
    cra_record_derive_id("prices", "19", document, 0, ids[2], &id);
    cra_record_derive_id("prices1", "8", document, 0, ids[3], &id);
    document = from_json(f, "{\"a\": 2}");
    cra_record_derive_id("prices", "18", document, 0, ids[4], &id);
    document = from_json(f, "{\"a\": 1}");
    cra_record_derive_id("prices", "18", document, 0, ids[5], &id);
    assert_int_equal(id.type, CRA_BSON_BINARY);
    assert_memory_equal(ids[0], ids[5], CRA_DERIVED_ID_SIZE);
    for (size_t i = 0; i < 5; i++) {
        for (size_t k = i + 1; k < 5; k++)
            assert_memory_not_equal(ids[i], ids[k], CRA_DERIVED_ID_SIZE);
    }
}

static void run_values_have_the_type_that_a_person_means(void **state)
{
    static const struct {
        const char *id;
        uint8_t type;
        size_t size;
    } cases[] = {
        {"18", CRA_BSON_INT32, 4},
        {"-7", CRA_BSON_INT32, 4},
        {"2147483647", CRA_BSON_INT32, 4},
        {"2147483648", CRA_BSON_INT64, 8},
        {"-2147483649", CRA_BSON_INT64, 8},
        {"9223372036854775807", CRA_BSON_INT64, 8},
        {"9223372036854775808", CRA_BSON_STRING, 4 + 20},
        {"-9223372036854775808", CRA_BSON_INT64, 8},
        {"007", CRA_BSON_STRING, 4 + 4},
        {"-0", CRA_BSON_STRING, 4 + 3},
        {"0", CRA_BSON_INT32, 4},
        {"+1", CRA_BSON_STRING, 4 + 3},
        {"665f00000000000000000001", CRA_BSON_OBJECTID, 12},
        {"nightly-17", CRA_BSON_STRING, 4 + 11},
        {"123456789012345678901234", CRA_BSON_OBJECTID, 12},
    };
    struct fixture *f = *state;
    uint8_t type;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cra_buf_clear(&f->out);
        assert_int_equal(cra_run_value(cases[i].id, &f->out, &type), CRA_OK);
        assert_int_equal(type, cases[i].type);
        assert_int_equal(f->out.size, cases[i].size);
    }
    assert_int_equal(cra_run_value("", &f->out, &type), CRA_INVALID);
}

static cra_status prepare_once(const cra_allocator *allocator, void *user)
{
    struct fixture *f = user;
    cra_buf out;
    cra_status status;

    cra_buf_init(&out, allocator);
    status = cra_record_prepare(cra_buf_bytes(&f->document), "run_id", int32_value(eighteen), none, &out, &f->error);
    cra_buf_cleanup(&out);
    return status;
}

static void prepare_without_memory(void **state)
{
    struct fixture *f = *state;

    from_json(
        f, "{\"a\": \"a text that is long enough to make the buffer grow more than once, twice, thrice\", \"_id\": 5}");
    cra_torture(prepare_once, f, CRA_OK, 100);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(equal_ids_have_equal_digests),
        TEST(content_ignores_where_the_id_stands),
        TEST(content_leaves_out_what_the_rule_names),
        TEST(prepare_moves_the_id_and_adds_the_run),
        TEST(prepare_takes_the_run_as_numbers_compare),
        TEST(prepare_refuses_another_run),
        TEST(prepare_asks_for_an_id),
        TEST(prepare_never_adds_a_nested_run_field),
        TEST(prepare_refuses_cut_bson),
        TEST(derived_ids_tell_run_record_and_occurrence_apart),
        TEST(run_values_have_the_type_that_a_person_means),
        TEST(prepare_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
