/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/codec.h>

#include "base/buf.h"
#include "codec/encode.h"
#include "kit/test_allocator.h"
#include "random_document.h"

/* A schema inferred from samples, and its encoder. */
typedef struct fixture {
    cra_test_allocator kit;
    cra_avro_infer *infer;
    cra_buf text;
    cra_avro_schema *schema;
    cra_encoder *encoder;
    cra_encode_checker *checker;
    cra_buf document;
    cra_buf record;
} fixture;

static int setup(void **state)
{
    static fixture own;

    memset(&own, 0, sizeof own);
    cra_test_allocator_init(&own.kit);
    cra_buf_init(&own.text, &own.kit.allocator);
    cra_buf_init(&own.document, &own.kit.allocator);
    cra_buf_init(&own.record, &own.kit.allocator);
    if (cra_avro_infer_new(&own.kit.allocator, &own.infer, NULL) != CRA_OK)
        return -1;
    *state = &own;
    return 0;
}

static int teardown(void **state)
{
    fixture *own = *state;

    cra_encode_checker_free(own->checker);
    cra_encoder_free(own->encoder);
    cra_avro_schema_free(own->schema);
    cra_avro_infer_free(own->infer);
    cra_buf_cleanup(&own->text);
    cra_buf_cleanup(&own->document);
    cra_buf_cleanup(&own->record);
    cra_test_allocator_check(&own->kit);
    return 0;
}

/* Make a document of `elements`; it stays valid until the next one. */
static cra_bytes make(fixture *own, const char *elements, size_t size)
{
    size_t mark;

    cra_buf_clear(&own->document);
    assert_int_equal(cra_bson_begin(&own->document, &mark), CRA_OK);
    assert_int_equal(cra_buf_append(&own->document, elements, size), CRA_OK);
    assert_int_equal(cra_bson_end(&own->document, mark), CRA_OK);
    return cra_buf_bytes(&own->document);
}

#define MAKE(own, elements) make(own, elements, sizeof(elements) - 1)

static void learn(fixture *own, cra_bytes document)
{
    assert_int_equal(cra_avro_infer_add(own->infer, document, NULL), CRA_OK);
}

static void compile(fixture *own)
{
    cra_error err = {0};

    assert_int_equal(cra_avro_infer_schema(own->infer, "r", &own->text, NULL), CRA_OK);
    if (cra_avro_schema_parse(&own->kit.allocator, cra_buf_bytes(&own->text), true, &own->schema, &err) != CRA_OK)
        fail_msg("%s", err.message);
    if (cra_encoder_new(&own->kit.allocator, own->schema, &own->encoder, &err) != CRA_OK)
        fail_msg("%s", err.message);
    assert_int_equal(cra_encode_checker_new(&own->kit.allocator, own->schema, &own->checker), CRA_OK);
}

/* Encode; @return whether it went to `_raw` */
static bool encode(fixture *own, cra_bytes document)
{
    cra_error err = {0};
    bool raw;

    cra_buf_clear(&own->record);
    if (cra_encoder_record(own->encoder, document, &own->record, &raw, &err) != CRA_OK)
        fail_msg("%s", err.message);
    return raw;
}

static void assert_record(fixture *own, const char *bytes, size_t size)
{
    assert_int_equal(own->record.size, size);
    assert_memory_equal(own->record.data, bytes, size);
}

#define ASSERT_RECORD(own, bytes) assert_record(own, bytes, sizeof(bytes) - 1)

static void fields_are_written_in_order_and_absent_ones_as_null(void **state)
{
    fixture *own = *state;

    learn(own, MAKE(own, "\020a\0\1\0\0\0"
                         "\002b\0\3\0\0\0hi\0"
                         "\010c\0\1"));
    compile(own);
    assert_false(encode(own, MAKE(own, "\020a\0\xFF\xFF\xFF\xFF"
                                       "\002b\0\1\0\0\0\0"
                                       "\010c\0\0")));
    ASSERT_RECORD(own, "\2\1\2\0\2\0\0");
    assert_false(encode(own, MAKE(own, "\010c\0\1")));
    ASSERT_RECORD(own, "\0\0\2\1\0");
    assert_false(encode(own, MAKE(own, "")));
    ASSERT_RECORD(own, "\0\0\0\0");
}

static void arrays_are_one_block(void **state)
{
    fixture *own = *state;
    cra_buf elements;
    char key[8];

    learn(own, MAKE(own, "\004a\0\x09\0\0\0"
                         "\0100\0\1"
                         "\0"));
    compile(own);
    assert_false(encode(own, MAKE(own, "\004a\0\5\0\0\0\0")));
    ASSERT_RECORD(own, "\2\0\0");
    assert_false(encode(own, MAKE(own, "\004a\0\x0D\0\0\0"
                                       "\0100\0\1"
                                       "\0101\0\0"
                                       "\0")));
    ASSERT_RECORD(own, "\2\4\1\0\0\0");

    /* A count of two bytes moves the items behind it; keys grow to four digits. */
    cra_buf_init(&elements, &own->kit.allocator);
    random_put(&elements, "\004a\0\0\0\0\0", 7);
    for (int i = 0; i < 1200; i++) {
        snprintf(key, sizeof key, "\x08%d", i);
        random_put(&elements, key, strlen(key) + 1);
        random_put(&elements, "\1", 1);
    }
    random_put(&elements, "", 1);
    elements.data[3] = (uint8_t)(elements.size - 3);
    elements.data[4] = (uint8_t)((elements.size - 3) >> 8);
    assert_false(encode(own, make(own, (const char *)elements.data, elements.size)));
    assert_int_equal(own->record.size, 1 + 2 + 1200 + 1 + 1);
    assert_memory_equal(own->record.data, "\2\xE0\x12\1\1", 5);
    cra_buf_cleanup(&elements);
}

/* The root's `_raw` stands behind one field in these. */
static void assert_raw(fixture *own, cra_bytes document)
{
    assert_true(encode(own, document));
    assert_true(document.size < 64);
    const uint8_t head[] = {0, 2, (uint8_t)(2 * document.size)};
    assert_int_equal(own->record.size, sizeof head + document.size);
    assert_memory_equal(own->record.data, head, sizeof head);
    assert_memory_equal(own->record.data + sizeof head, document.data, document.size);
}

static void what_differs_is_kept_whole(void **state)
{
    fixture *own = *state;

    learn(own, MAKE(own, "\002a\0\1\0\0\0\0"));
    learn(own, MAKE(own, "\011a\0\0\0\0\0\0\0\0\0"));
    learn(own, MAKE(own, "\004a\0\x09\0\0\0"
                         "\0100\0\1"
                         "\0"));
    learn(own, MAKE(own, "\003a\0\5\0\0\0\0"));
    compile(own);
    /* Unseen field, unseen type, a key twice, text that is no UTF-8, a date beyond the year 9999 and one before 1,
     * an array whose keys are no positions, a document where only empty ones were seen. */
    assert_raw(own, MAKE(own, "\010b\0\1"));
    assert_raw(own, MAKE(own, "\010a\0\1"));
    assert_raw(own, MAKE(own, "\002a\0\1\0\0\0\0"
                              "\002a\0\1\0\0\0\0"));
    assert_raw(own, MAKE(own, "\002a\0\2\0\0\0\xFF\0"));
    assert_raw(own, MAKE(own, "\011a\0\x00\x0C\x98\x0F\x78\xE6\0\0"));
    assert_raw(own, MAKE(own, "\011a\0\0\0\0\0\0\0\0\x80"));
    assert_raw(own, MAKE(own, "\004a\0\x09\0\0\0"
                              "\0101\0\1"
                              "\0"));
    assert_raw(own, MAKE(own, "\004a\0\x0A\0\0\0"
                              "\01000\0\1"
                              "\0"));
    assert_raw(own, MAKE(own, "\003a\0\x09\0\0\0"
                              "\0100\0\1"
                              "\0"));
    /* And these are not. */
    assert_false(encode(own, MAKE(own, "\002a\0\4\0\0\0\0\xC3\xBC\0")));
    assert_false(encode(own, MAKE(own, "\003a\0\5\0\0\0\0")));
}

static void order_differs(void **state)
{
    fixture *own = *state;

    learn(own, MAKE(own, "\010a\0\1"
                         "\010b\0\1"));
    compile(own);
    assert_true(encode(own, MAKE(own, "\010b\0\1"
                                      "\010a\0\1")));
    assert_false(encode(own, MAKE(own, "\010a\0\1"
                                       "\010b\0\1")));
}

/* Every type once. */
static const char everything[] = "\001a\0\0\0\0\0\0\0\xF8\x7F"
                                 "\002b\0\3\0\0\0\0y\0"
                                 "\005c\0\2\0\0\0\0zz"
                                 "\005d\0\1\0\0\0\x80!"
                                 "\006e\0"
                                 "\007f\0abcdefghijkl"
                                 "\010g\0\1"
                                 "\011h\0\1\2\3\0\0\0\0\0"
                                 "\012i\0"
                                 "\013j\0^x\0im\0"
                                 "\014k\0\2\0\0\0c\0abcdefghijkl"
                                 "\015l\0\2\0\0\0f\0"
                                 "\016m\0\2\0\0\0s\0"
                                 "\017n\0\x13\0\0\0\2\0\0\0g\0\x09\0\0\0"
                                 "\010v\0\1\0"
                                 "\020o\0\xFE\xFF\xFF\xFF"
                                 "\021p\0\1\0\0\0\xFF\xFF\xFF\xFF"
                                 "\022q\0\0\0\0\0\0\0\0\x80"
                                 "\023r\0abcdefghijklmnop"
                                 "\177s\0"
                                 "\377t\0"
                                 "\003u\0\x09\0\0\0"
                                 "\010v\0\1\0"
                                 "\004w\0\x09\0\0\0"
                                 "\0100\0\1\0"
                                 "\003x\0\5\0\0\0\0"
                                 "\004y\0\5\0\0\0\0";

static void every_type_is_typed(void **state)
{
    fixture *own = *state;

    learn(own, MAKE(own, everything));
    compile(own);
    assert_false(encode(own, MAKE(own, everything)));
}

/* The same types, all at one path. */
static void every_type_fits_one_union(void **state)
{
    fixture *own = *state;
    cra_bson_iter iter;
    cra_bson_element element;
    cra_buf all, one;
    size_t mark;

    cra_buf_init(&all, &own->kit.allocator);
    cra_buf_init(&one, &own->kit.allocator);
    const cra_bytes source = MAKE(own, everything);
    assert_int_equal(cra_bson_iter_init(&iter, source, NULL), CRA_OK);
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        const size_t start = all.size;
        assert_int_equal(cra_bson_begin(&all, &mark), CRA_OK);
        assert_int_equal(cra_bson_put_value(&all, "only", element.value), CRA_OK);
        assert_int_equal(cra_bson_end(&all, mark), CRA_OK);
        learn(own, cra_bytes_of(all.data + start, all.size - start));
    }
    compile(own);
    cra_bytes stream = cra_buf_bytes(&all), document;
    while (cra_bson_next_document(&stream, &document) == CRA_OK)
        assert_false(encode(own, document));
    cra_buf_cleanup(&all);
    cra_buf_cleanup(&one);
}

static void the_check_notices_every_changed_bit(void **state)
{
    fixture *own = *state;

    learn(own, MAKE(own, everything));
    compile(own);
    const cra_bytes document = MAKE(own, everything);
    assert_false(encode(own, document));
    cra_buf *record = &own->record;
    assert_true(cra_encode_check(own->checker, cra_buf_bytes(record), document));
    for (size_t i = 0; i < record->size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            record->data[i] ^= (uint8_t)(1u << bit);
            assert_false(cra_encode_check(own->checker, cra_buf_bytes(record), document));
            record->data[i] ^= (uint8_t)(1u << bit);
        }
        assert_false(cra_encode_check(own->checker, cra_bytes_of(record->data, i), document));
    }
    for (size_t i = 0; i < own->document.size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            own->document.data[i] ^= (uint8_t)(1u << bit);
            assert_false(cra_encode_check(own->checker, cra_buf_bytes(record), document));
            own->document.data[i] ^= (uint8_t)(1u << bit);
        }
        assert_false(cra_encode_check(own->checker, cra_buf_bytes(record), cra_bytes_of(document.data, i)));
    }
    assert_int_equal(cra_buf_append_byte(record, 0), CRA_OK);
    assert_false(cra_encode_check(own->checker, cra_buf_bytes(record), document));
}

/* Whatever is done to a document: it is refused as damaged, or encoded to something the check accepts or `_raw`;
 * the sanitizers look on. */
static void damaged_documents_are_refused(void **state)
{
    fixture *own = *state;
    cra_error err = {0};
    bool raw;

    learn(own, MAKE(own, everything));
    compile(own);
    const cra_bytes document = MAKE(own, everything);
    for (size_t i = 0; i < document.size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            own->document.data[i] ^= (uint8_t)(1u << bit);
            cra_buf_clear(&own->record);
            const cra_status valid = cra_bson_validate(document, 0, NULL);
            assert_int_equal(cra_encoder_record(own->encoder, document, &own->record, &raw, &err), valid);
            assert_true(valid == CRA_OK || own->record.size == 0);
            own->document.data[i] ^= (uint8_t)(1u << bit);
        }
        assert_int_equal(cra_encoder_record(own->encoder, cra_bytes_of(document.data, i), &own->record, &raw, &err),
                         CRA_CORRUPT);
    }
}

/* Elements cut anywhere, in a document whose own length and end are right. */
static void cut_elements_are_refused(void **state)
{
    fixture *own = *state;
    bool raw;

    learn(own, MAKE(own, everything));
    compile(own);
    for (size_t i = 0; i < sizeof everything; i++) {
        const cra_bytes document = make(own, everything, i);
        const cra_status valid = cra_bson_validate(document, 0, NULL);
        cra_buf_clear(&own->record);
        assert_int_equal(cra_encoder_record(own->encoder, document, &own->record, &raw, NULL), valid);
        if (valid == CRA_OK)
            assert_false(raw);
    }
}

static void deep_and_wide_parts_are_typed_all_the_same(void **state)
{
    fixture *own = *state;
    cra_buf document;
    size_t marks[90], mark;

    cra_buf_init(&document, &own->kit.allocator);
    assert_int_equal(cra_bson_begin(&document, &mark), CRA_OK);
    for (size_t i = 0; i < 90; i++)
        assert_int_equal(cra_bson_put_begin(&document, "0", i % 2 == 0 ? CRA_BSON_ARRAY : CRA_BSON_DOCUMENT, &marks[i]),
                         CRA_OK);
    for (size_t i = 90; i > 0; i--)
        assert_int_equal(cra_bson_end(&document, marks[i - 1]), CRA_OK);
    assert_int_equal(cra_bson_end(&document, mark), CRA_OK);
    learn(own, cra_buf_bytes(&document));
    compile(own);
    assert_false(encode(own, cra_buf_bytes(&document)));
    cra_buf_cleanup(&document);
}

static void only_schemas_of_the_profile_are_taken(void **state)
{
    fixture *own = *state;
#define ROOT(fields) "{\"type\":\"record\",\"name\":\"r\",\"cra.profile\":\"typed\",\"fields\":[" fields "]}"
#define RAW "{\"name\":\"_raw\",\"type\":[\"null\",{\"type\":\"bytes\",\"cra.type\":\"raw\"}]}"
#define FIELD(type) "{\"name\":\"a\",\"type\":" type "},"
    static const char *const refused[] = {
        "\"string\"",
        "{\"type\":\"record\",\"name\":\"r\",\"fields\":[" RAW "]}",
        ROOT(""),
        ROOT("{\"name\":\"a\",\"type\":[\"null\",{\"type\":\"bytes\",\"cra.type\":\"raw\"}]}"),
        ROOT("{\"name\":\"_raw\",\"type\":[\"null\",\"bytes\"]}"),
        ROOT("{\"name\":\"_raw\",\"type\":\"bytes\"}"),
        ROOT(FIELD("\"int\"") RAW),
        ROOT(FIELD("[\"int\",\"null\"]") RAW),
        ROOT(FIELD("[\"null\",\"float\"]") RAW),
        ROOT(FIELD("[\"null\",{\"type\":\"fixed\",\"name\":\"f\",\"size\":12}]") RAW),
        ROOT(FIELD("[\"null\",{\"type\":\"fixed\",\"name\":\"f\",\"size\":11,\"cra.type\":\"objectid\"}]") RAW),
        ROOT(FIELD("[\"null\",{\"type\":\"enum\",\"name\":\"f\",\"symbols\":[\"a\",\"b\"],\"cra.type\":\"null\"}]")
                 RAW),
        ROOT(FIELD("[\"null\",{\"type\":\"record\",\"name\":\"f\",\"fields\":[],\"cra.type\":\"regex\"}]") RAW),
        ROOT(FIELD("[\"null\",{\"type\":\"record\",\"name\":\"f\",\"fields\":[{\"name\":\"x\",\"type\":\"string\"}],"
                   "\"cra.type\":\"code\"}]") RAW),
        ROOT(FIELD("[\"null\",{\"type\":\"record\",\"name\":\"f\",\"fields\":[{\"name\":\"code\",\"type\":\"int\"}],"
                   "\"cra.type\":\"code\"}]") RAW),
        ROOT(FIELD("[\"null\",{\"type\":\"fixed\",\"name\":\"f\",\"size\":12,\"cra.type\":\"dbpointer\"}]") RAW),
        ROOT(FIELD("[\"null\",{\"type\":\"fixed\",\"name\":\"f\",\"size\":12,\"cra.type\":\"no such\"}]") RAW),
        ROOT(FIELD("[\"null\",{\"type\":\"record\",\"name\":\"f\",\"fields\":[{\"name\":\"ref\",\"type\":\"string\"},"
                   "{\"name\":\"id\",\"type\":{\"type\":\"fixed\",\"name\":\"g\",\"size\":11}}],"
                   "\"cra.type\":\"dbpointer\"}]") RAW),
    };

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        cra_avro_schema *schema = NULL;
        cra_encoder *encoder = NULL;
        cra_error err = {0};
        assert_int_equal(cra_avro_schema_parse(&own->kit.allocator, cra_bytes_of_str(refused[i]), true, &schema, &err),
                         CRA_OK);
        if (cra_encoder_new(&own->kit.allocator, schema, &encoder, &err) != CRA_INVALID)
            fail_msg("accepted: %s", refused[i]);
        assert_null(encoder);
        assert_true(err.message[0] != '\0');
        cra_avro_schema_free(schema);
    }
}

/* A schema that names itself is not ours, but must do no harm. */
static void recursive_schemas_do_no_harm(void **state)
{
    fixture *own = *state;
    static const char schema[] = ROOT(FIELD("[\"null\",{\"type\":\"record\",\"name\":\"n\",\"fields\":[{\"name\":\"a\","
                                            "\"type\":[\"null\",\"n\"]}]}]") RAW);
    cra_buf document;
    size_t marks[99], mark;

    assert_int_equal(cra_avro_schema_parse(&own->kit.allocator, cra_bytes_of_str(schema), true, &own->schema, NULL),
                     CRA_OK);
    assert_int_equal(cra_encoder_new(&own->kit.allocator, own->schema, &own->encoder, NULL), CRA_OK);
    cra_buf_init(&document, &own->kit.allocator);
    assert_int_equal(cra_bson_begin(&document, &mark), CRA_OK);
    for (size_t i = 0; i < 99; i++)
        assert_int_equal(cra_bson_put_begin(&document, "a", CRA_BSON_DOCUMENT, &marks[i]), CRA_OK);
    for (size_t i = 99; i > 0; i--)
        assert_int_equal(cra_bson_end(&document, marks[i - 1]), CRA_OK);
    assert_int_equal(cra_bson_end(&document, mark), CRA_OK);
    assert_false(encode(own, cra_buf_bytes(&document)));
    cra_buf_cleanup(&document);
}

static void random_documents_are_kept(void **state)
{
    fixture *own = *state;
    random_source source = {.state = 20261201};
    cra_buf documents;
    int typed = 0, total = 0;

    cra_buf_init(&documents, &own->kit.allocator);
    for (int i = 0; i < 300; i++)
        random_document(&source, &documents);
    cra_bytes stream = cra_buf_bytes(&documents), document;
    while (cra_bson_next_document(&stream, &document) == CRA_OK)
        learn(own, document);
    compile(own);
    stream = cra_buf_bytes(&documents);
    while (cra_bson_next_document(&stream, &document) == CRA_OK) {
        const bool raw = encode(own, document);
        total++;
        typed += !raw;
        if (!raw)
            assert_true(cra_encode_check(own->checker, cra_buf_bytes(&own->record), document));
        else
            assert_memory_equal(own->record.data + own->record.size - document.size, document.data, document.size);
    }
    assert_int_equal(total, 300);
    assert_true(typed > 0);
    cra_buf_cleanup(&documents);
}

static cra_status encode_all(const cra_allocator *allocator, void *user)
{
    fixture *own = user;
    cra_avro_schema *schema = NULL;
    cra_encoder *encoder = NULL;
    cra_buf out;
    bool raw;

    cra_buf_init(&out, allocator);
    cra_status status = cra_avro_schema_parse(allocator, cra_buf_bytes(&own->text), true, &schema, NULL);
    if (status == CRA_OK)
        status = cra_encoder_new(allocator, schema, &encoder, NULL);
    for (int i = 0; status == CRA_OK && i < 4; i++)
        status = cra_encoder_record(encoder, cra_buf_bytes(&own->document), &out, &raw, NULL);
    if (status == CRA_NOMEM)
        assert_int_equal(out.size % (own->record.size == 0 ? 1 : own->record.size), 0);
    cra_encoder_free(encoder);
    cra_avro_schema_free(schema);
    cra_buf_cleanup(&out);
    return status;
}

static void memory_runs_out_anywhere(void **state)
{
    fixture *own = *state;

    learn(own, MAKE(own, everything));
    compile(own);
    assert_false(encode(own, MAKE(own, everything)));
    cra_torture(encode_all, own, CRA_OK, 2000);
    /* And the way to `_raw`. */
    cra_buf_clear(&own->record);
    assert_true(encode(own, MAKE(own, "\010new\0\1")));
    cra_torture(encode_all, own, CRA_OK, 2000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(fields_are_written_in_order_and_absent_ones_as_null),
        TEST(arrays_are_one_block),
        TEST(what_differs_is_kept_whole),
        TEST(order_differs),
        TEST(every_type_is_typed),
        TEST(every_type_fits_one_union),
        TEST(the_check_notices_every_changed_bit),
        TEST(damaged_documents_are_refused),
        TEST(cut_elements_are_refused),
        TEST(deep_and_wide_parts_are_typed_all_the_same),
        TEST(only_schemas_of_the_profile_are_taken),
        TEST(recursive_schemas_do_no_harm),
        TEST(random_documents_are_kept),
        TEST(memory_runs_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
