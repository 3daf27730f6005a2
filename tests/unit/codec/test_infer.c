/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "codec/infer.h"
#include "kit/test_allocator.h"

static cra_test_allocator kit;

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

static cra_avro_infer *new_infer(void)
{
    cra_avro_infer *infer;

    assert_int_equal(cra_avro_infer_new(&kit.allocator, &infer, NULL), CRA_OK);
    return infer;
}

static void add(cra_avro_infer *infer, const cra_buf *document)
{
    cra_error err = {0};

    if (cra_avro_infer_add(infer, cra_buf_bytes(document), &err) != CRA_OK)
        fail_msg("%s", err.message);
}

/* A document of elements given as raw bytes. */
static void add_raw(cra_avro_infer *infer, const char *elements, size_t size)
{
    cra_buf document;
    size_t mark;

    cra_buf_init(&document, &kit.allocator);
    assert_int_equal(cra_bson_begin(&document, &mark), CRA_OK);
    assert_int_equal(cra_buf_append(&document, elements, size), CRA_OK);
    assert_int_equal(cra_bson_end(&document, mark), CRA_OK);
    add(infer, &document);
    cra_buf_cleanup(&document);
}

#define ADD(infer, elements) add_raw(infer, elements, sizeof(elements) - 1)

static void assert_schema(const cra_avro_infer *infer, const char *expected)
{
    cra_buf schema;

    cra_buf_init(&schema, &kit.allocator);
    assert_int_equal(cra_avro_infer_schema(infer, "r", &schema, NULL), CRA_OK);
    assert_string_equal(cra_buf_cstr(&schema), expected);
    cra_buf_cleanup(&schema);
}

static bool schema_has(const cra_avro_infer *infer, const char *part)
{
    cra_buf schema;

    cra_buf_init(&schema, &kit.allocator);
    assert_int_equal(cra_avro_infer_schema(infer, NULL, &schema, NULL), CRA_OK);
    const bool has = strstr(cra_buf_cstr(&schema), part) != NULL;
    cra_buf_cleanup(&schema);
    return has;
}

#define HEAD "{\"type\":\"record\",\"name\":\"r\",\"cra.profile\":\"typed\",\"fields\":["
#define RAW "{\"name\":\"_raw\",\"type\":[\"null\",{\"type\":\"bytes\",\"cra.type\":\"raw\"}],\"default\":null}"
#define TAIL "," RAW "]}"
#define FIELD(name, types) "{\"name\":\"" name "\",\"type\":[\"null\"," types "],\"default\":null}"
#define NAMED(name, types, key)                                                                                        \
    "{\"name\":\"" name "\",\"type\":[\"null\"," types "],\"default\":null,\"cra.name\":\"" key "\"}"

static void nothing_seen_leaves_raw_alone(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    assert_schema(infer, HEAD RAW "]}");
    cra_avro_infer_free(infer);
    cra_avro_infer_free(NULL);
}

static void types_of_one_path_become_a_union(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    ADD(infer, "\020a\0\1\0\0\0");
    ADD(infer, "\002a\0\2\0\0\0x\0");
    ADD(infer, "\012a\0");
    ADD(infer, "\020a\0\2\0\0\0");
    assert_schema(infer, HEAD FIELD("a", "\"string\",{\"name\":\"bson_null\",\"cra.type\":\"null\",\"type\":\"enum\","
                                         "\"symbols\":[\"null\"]},\"int\"") TAIL);
    cra_avro_infer_free(infer);
}

static void date_is_wrapped_only_beside_int64(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    ADD(infer, "\011a\0\1\0\0\0\0\0\0\0");
    assert_schema(infer, HEAD FIELD("a", "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}") TAIL);
    ADD(infer, "\022a\0\1\0\0\0\0\0\0\0");
    assert_schema(infer, HEAD FIELD("a", "{\"name\":\"bson_date\",\"cra.type\":\"date\",\"type\":\"record\",\"fields\":"
                                         "[{\"name\":\"date\",\"type\":{\"type\":\"long\",\"logicalType\":"
                                         "\"timestamp-millis\"}}]},\"long\"") TAIL);
    cra_avro_infer_free(infer);
}

static void named_types_are_defined_once(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    ADD(infer, "\007_id\0abcdefghijkl"
               "\007b\0abcdefghijkl");
    assert_schema(infer, HEAD FIELD("_id", "{\"name\":\"bson_objectid\",\"cra.type\":\"objectid\",\"type\":\"fixed\","
                                           "\"size\":12}") "," FIELD("b", "\"bson_objectid\"") TAIL);
    cra_avro_infer_free(infer);
}

static void embedded_documents_merge_into_one_record(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    /* {d: [{x: 1}, {y: true}]} */
    ADD(infer, "\004d\0\x20\0\0\0"
               "\0030\0\x0C\0\0\0"
               "\020x\0\1\0\0\0\0"
               "\0031\0\x09\0\0\0"
               "\010y\0\1\0"
               "\0");
    assert_schema(
        infer, HEAD FIELD("d", "{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"d\",\"fields\":[" FIELD(
                                   "x", "\"int\"") "," FIELD("y", "\"boolean\"") "]}}") TAIL);
    cra_avro_infer_free(infer);
}

static void empty_documents_and_arrays_have_a_type(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    ADD(infer, "\004a\0\5\0\0\0\0"
               "\003d\0\5\0\0\0\0");
    assert_schema(infer, HEAD FIELD("a", "{\"type\":\"array\",\"items\":\"string\"}") "," FIELD(
                             "d", "{\"type\":\"map\",\"values\":\"string\"}") TAIL);
    cra_avro_infer_free(infer);
}

static void mixed_items_become_a_union_without_null(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    ADD(infer, "\004a\0\x10\0\0\0"
               "\0100\0\1"
               "\0201\0\1\0\0\0"
               "\0");
    assert_schema(infer, HEAD FIELD("a", "{\"type\":\"array\",\"items\":[\"boolean\",\"int\"]}") TAIL);
    cra_avro_infer_free(infer);
}

static void new_fields_keep_their_place_among_their_neighbours(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    ADD(infer, "\010a\0\1"
               "\010c\0\1");
    ADD(infer, "\010a\0\1"
               "\010b\0\1"
               "\010c\0\1"
               "\010d\0\1");
    assert_schema(infer, HEAD FIELD("a", "\"boolean\"") "," FIELD("b", "\"boolean\"") "," FIELD(
                             "c", "\"boolean\"") "," FIELD("d", "\"boolean\"") TAIL);
    cra_avro_infer_free(infer);
}

#define ORDER4(a, b, c, d)                                                                                             \
    HEAD FIELD(a, "\"boolean\"") "," FIELD(b, "\"boolean\"") "," FIELD(c, "\"boolean\"") "," FIELD(d, "\"boolean\"")   \
        TAIL

static void alternatives_keep_their_place_too(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    ADD(infer, "\010a\0\1"
               "\010c\0\1"
               "\010d\0\1");
    ADD(infer, "\010b\0\1"
               "\010c\0\1");
    assert_schema(infer, ORDER4("a", "b", "c", "d"));
    cra_avro_infer_free(infer);
}

static void the_order_of_most_documents_wins(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    ADD(infer, "\010b\0\1"
               "\010a\0\1"
               "\010c\0\1");
    for (int i = 0; i < 3; i++)
        ADD(infer, "\010a\0\1"
                   "\010b\0\1"
                   "\010c\0\1"
                   "\010d\0\1");
    assert_schema(infer, ORDER4("a", "b", "c", "d"));
    cra_avro_infer_free(infer);
}

static void odd_keys_are_mangled_and_kept(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    /* "", "a.b", "a_b", "A_B", "\u00fc", "1", "_raw", "q\"\n" */
    ADD(infer, "\010\0\1"
               "\010a.b\0\1"
               "\010a_b\0\1"
               "\010A_B\0\1"
               "\010\xC3\xBC\0\1"
               "\0101\0\1"
               "\010_raw\0\1"
               "\010q\"\n\0\1");
    assert_schema(
        infer,
        HEAD NAMED("_", "\"boolean\"", "") "," NAMED("a_b_3", "\"boolean\"", "a.b") "," FIELD(
            "a_b",
            "\"boolean\"") "," NAMED("A_B_2", "\"boolean\"",
                                     "A_B") "," NAMED("__2", "\"boolean\"",
                                                      "\xC3\xBC") "," NAMED("_1", "\"boolean\"",
                                                                            "1") "," NAMED("_raw_2", "\"boolean\"",
                                                                                           "_raw") "," NAMED("q__",
                                                                                                             "\"boolean"
                                                                                                             "\"",
                                                                                                             "q\\\"\\u0"
                                                                                                             "00a")
            TAIL);
    cra_avro_infer_free(infer);
}

static void record_names_avoid_the_schema_language(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    ADD(infer, "\003String\0\x09\0\0\0"
               "\010y\0\1\0");
    assert_true(schema_has(infer, "\"name\":\"String_2\",\"fields\""));
    assert_true(schema_has(infer, "\"name\":\"String\",\"type\":[\"null\",{"));
    cra_avro_infer_free(infer);
}

static void bad_utf8_and_huge_keys_are_left_unseen(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();
    char element[CRA_INFER_MAX_KEY_BYTES + 4];

    ADD(infer, "\010\xFF\0\1");
    memset(element, 'k', sizeof element);
    element[0] = 0x0A;
    element[sizeof element - 1] = '\0';
    add_raw(infer, element, sizeof element);
    assert_schema(infer, HEAD RAW "]}");
    cra_avro_infer_free(infer);
}

static void damaged_documents_leave_nothing(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();
    cra_error err = {0};
    const uint8_t cut[] = {0x0F, 0, 0, 0, 0x08, 'a', 0, 1, 0x02, 'b', 0, 9, 0, 0, 0};

    assert_int_equal(cra_avro_infer_add(infer, cra_bytes_of(cut, sizeof cut), &err), CRA_CORRUPT);
    assert_true(err.message[0] != '\0');
    assert_schema(infer, HEAD RAW "]}");
    cra_avro_infer_free(infer);
}

/* {d: {k0: true, k1: true, …}}, `first` to `first + count`. */
static void add_keys(cra_avro_infer *infer, bool embedded, int first, int count)
{
    cra_buf document;
    size_t mark, inner = 0;
    char key[16];

    cra_buf_init(&document, &kit.allocator);
    assert_int_equal(cra_bson_begin(&document, &mark), CRA_OK);
    if (embedded)
        assert_int_equal(cra_bson_put_begin(&document, "d", CRA_BSON_DOCUMENT, &inner), CRA_OK);
    for (int i = first; i < first + count; i++) {
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(cra_bson_put_bool(&document, key, true), CRA_OK);
    }
    if (embedded)
        assert_int_equal(cra_bson_end(&document, inner), CRA_OK);
    assert_int_equal(cra_bson_end(&document, mark), CRA_OK);
    add(infer, &document);
    cra_buf_cleanup(&document);
}

static void too_many_fields_make_a_document_opaque(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    add_keys(infer, true, 0, CRA_INFER_MAX_FIELDS);
    assert_true(schema_has(infer, "\"k1999\""));
    add_keys(infer, true, 1, CRA_INFER_MAX_FIELDS);
    assert_int_equal(infer->nodes, 1);
    assert_schema(infer, HEAD FIELD("d", "{\"name\":\"bson_document\",\"cra.type\":\"document\",\"type\":\"record\","
                                         "\"fields\":[{\"name\":\"bson\",\"type\":\"bytes\"}]}") TAIL);
    /* It stays so. */
    add_keys(infer, true, 0, 1);
    assert_int_equal(infer->nodes, 1);
    cra_avro_infer_free(infer);
}

static void the_root_stops_growing(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    for (int i = 0; i < 5; i++)
        add_keys(infer, false, i * 1000, 1000);
    assert_int_equal(infer->nodes, CRA_INFER_MAX_FIELDS);
    assert_true(schema_has(infer, "\"k1999\""));
    assert_false(schema_has(infer, "\"k2000\""));
    cra_avro_infer_free(infer);
}

static void dictionaries_are_opaque(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    /* 200 keys, of which every document has ten. */
    for (int i = 0; i < 20; i++)
        add_keys(infer, true, 10 * i, 10);
    assert_true(schema_has(infer, "\"bson_document\""));
    assert_false(schema_has(infer, "\"k1\""));
    cra_avro_infer_free(infer);
}

static void wide_but_dense_documents_are_not(void **state)
{
    (void)state;
    cra_avro_infer *infer = new_infer();

    add_keys(infer, true, 0, 200);
    add_keys(infer, true, 0, 100);
    assert_true(schema_has(infer, "\"k199\""));
    cra_avro_infer_free(infer);
}

static void nest(cra_buf *document, uint8_t type, int levels)
{
    size_t mark;

    assert_int_equal(cra_bson_put_begin(document, "0", type, &mark), CRA_OK);
    if (levels > 1)
        nest(document, type, levels - 1);
    assert_int_equal(cra_bson_end(document, mark), CRA_OK);
}

static void deep_parts_are_opaque(void **state)
{
    (void)state;
    static const uint8_t types[] = {CRA_BSON_DOCUMENT, CRA_BSON_ARRAY};
    static const char *const names[] = {"bson_document", "bson_array"};

    for (int i = 0; i < 2; i++) {
        for (int levels = CRA_INFER_MAX_DEPTH; levels <= 90; levels += 29) {
            cra_avro_infer *infer = new_infer();
            cra_buf document;
            size_t mark;
            cra_buf_init(&document, &kit.allocator);
            assert_int_equal(cra_bson_begin(&document, &mark), CRA_OK);
            nest(&document, types[i], levels);
            assert_int_equal(cra_bson_end(&document, mark), CRA_OK);
            add(infer, &document);
            assert_int_equal(schema_has(infer, names[i]), levels > CRA_INFER_MAX_DEPTH);
            cra_buf_cleanup(&document);
            cra_avro_infer_free(infer);
        }
    }
}

/* Every type, at the root and in an array. */
static const char everything[] = "\001a\0\0\0\0\0\0\0\0\0"
                                 "\002b\0\1\0\0\0\0"
                                 "\005c\0\0\0\0\0\0"
                                 "\005d\0\0\0\0\0\x80"
                                 "\006e\0"
                                 "\007f\0abcdefghijkl"
                                 "\010g\0\0"
                                 "\011h\0\0\0\0\0\0\0\0\0"
                                 "\012i\0"
                                 "\013j\0\0\0"
                                 "\014k\0\1\0\0\0\0abcdefghijkl"
                                 "\015l\0\1\0\0\0\0"
                                 "\016m\0\1\0\0\0\0"
                                 "\017n\0\x0E\0\0\0\1\0\0\0\0\5\0\0\0\0"
                                 "\020o\0\0\0\0\0"
                                 "\021p\0\0\0\0\0\0\0\0\0"
                                 "\022q\0\0\0\0\0\0\0\0\0"
                                 "\023r\0abcdefghijklmnop"
                                 "\177s\0"
                                 "\377t\0"
                                 "\003u\0\x09\0\0\0"
                                 "\010v\0\1\0"
                                 "\004w\0\x09\0\0\0"
                                 "\0100\0\1\0";

static void every_type_has_a_form(void **state)
{
    (void)state;
    static const char *const parts[] = {"\"double\"",     "\"string\"",        "\"bytes\"",
                                        "bson_binary",    "bson_undefined",    "bson_objectid",
                                        "\"boolean\"",    "timestamp-millis",  "bson_null",
                                        "bson_regex",     "bson_dbpointer",    "bson_code",
                                        "bson_symbol",    "bson_code_w_scope", "\"int\"",
                                        "bson_timestamp", "\"long\"",          "bson_decimal128",
                                        "bson_maxkey",    "bson_minkey",       "\"name\":\"u\",\"fields\"",
                                        "\"array\""};
    cra_avro_infer *infer = new_infer();

    ADD(infer, everything);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!schema_has(infer, parts[i]))
            fail_msg("%s is missing", parts[i]);
    }
    cra_avro_infer_free(infer);
}

static cra_status infer_all(const cra_allocator *allocator, void *user)
{
    cra_avro_infer *infer = NULL;
    cra_buf *documents = user;
    cra_buf schema;
    cra_bytes stream = cra_buf_bytes(documents), document;

    cra_buf_init(&schema, allocator);
    cra_status status = cra_avro_infer_new(allocator, &infer, NULL);
    while (status == CRA_OK && cra_bson_next_document(&stream, &document) == CRA_OK)
        status = cra_avro_infer_add(infer, document, NULL);
    if (status == CRA_OK)
        status = cra_avro_infer_schema(infer, "r", &schema, NULL);
    /* What was seen before memory ran out is a schema all the same. */
    if (status == CRA_NOMEM && infer != NULL) {
        schema.size = 0;
        assert_int_equal(cra_avro_infer_schema(infer, "r", &schema, NULL), CRA_OK);
    }
    cra_buf_cleanup(&schema);
    cra_avro_infer_free(infer);
    return status;
}

static void memory_runs_out_anywhere(void **state)
{
    (void)state;
    cra_buf documents;
    size_t mark;
    char key[16];

    cra_buf_init(&documents, NULL);
    assert_int_equal(cra_bson_begin(&documents, &mark), CRA_OK);
    assert_int_equal(cra_buf_append(&documents, everything, sizeof everything - 1), CRA_OK);
    for (int i = 0; i < 40; i++) {
        snprintf(key, sizeof key, "k.%d", i);
        assert_int_equal(cra_bson_put_bool(&documents, key, true), CRA_OK);
    }
    assert_int_equal(cra_bson_end(&documents, mark), CRA_OK);
    cra_torture(infer_all, &documents, CRA_OK, 2000);
    cra_buf_cleanup(&documents);
}

static void names_end_in_a_number_where_taken(void **state)
{
    (void)state;
    cra_names names;
    const char *name;
    char wide[2 * CRA_NAME_MAX];

    cra_names_init(&names, &kit.allocator);
    memset(wide, 'w', sizeof wide);
    for (int i = 1; i <= 200; i++) {
        assert_int_equal(cra_names_add(&names, cra_bytes_of(wide, sizeof wide), &name), CRA_OK);
        assert_int_equal(strlen(name), CRA_NAME_MAX);
    }
    assert_string_equal(name + CRA_NAME_MAX - 5, "w_200");
    assert_int_equal(cra_names_add(&names, cra_bytes_of_str("Ab"), &name), CRA_OK);
    assert_string_equal(name, "Ab");
    assert_int_equal(cra_names_add(&names, cra_bytes_of_str("aB"), &name), CRA_OK);
    assert_string_equal(name, "aB_2");
    cra_names_cleanup(&names);

    assert_true(cra_name_is_valid(cra_bytes_of_str("_a9")));
    assert_false(cra_name_is_valid(cra_bytes_of_str("9a")));
    assert_false(cra_name_is_valid(cra_bytes_of_str("")));
    assert_false(cra_name_is_valid(cra_bytes_of_str("a-b")));
    assert_false(cra_name_is_valid(cra_bytes_of(wide, sizeof wide)));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(nothing_seen_leaves_raw_alone),
        TEST(types_of_one_path_become_a_union),
        TEST(date_is_wrapped_only_beside_int64),
        TEST(named_types_are_defined_once),
        TEST(embedded_documents_merge_into_one_record),
        TEST(empty_documents_and_arrays_have_a_type),
        TEST(mixed_items_become_a_union_without_null),
        TEST(new_fields_keep_their_place_among_their_neighbours),
        TEST(alternatives_keep_their_place_too),
        TEST(the_order_of_most_documents_wins),
        TEST(odd_keys_are_mangled_and_kept),
        TEST(record_names_avoid_the_schema_language),
        TEST(bad_utf8_and_huge_keys_are_left_unseen),
        TEST(damaged_documents_leave_nothing),
        TEST(too_many_fields_make_a_document_opaque),
        TEST(the_root_stops_growing),
        TEST(dictionaries_are_opaque),
        TEST(wide_but_dense_documents_are_not),
        TEST(deep_parts_are_opaque),
        TEST(every_type_has_a_form),
        TEST(memory_runs_out_anywhere),
        TEST(names_end_in_a_number_where_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
