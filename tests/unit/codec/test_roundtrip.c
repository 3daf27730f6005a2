/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/codec.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/hash.h"
#include "kit/data.h"
#include "kit/test_allocator.h"
#include "random_document.h"

/* BSON to a container and back: byte for byte the same, whatever the documents
 * are. */

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

static cra_status append_to(void *user, const void *data, size_t size, cra_error *err)
{
    (void)err;
    return cra_buf_append(user, data, size);
}

static cra_status read_view(void *user, void *buffer, size_t capacity, size_t *got, cra_error *err)
{
    cra_bytes *rest = user;

    (void)err;
    *got = rest->size < capacity ? rest->size : capacity;
    if (*got > 0)
        memcpy(buffer, rest->data, *got);
    rest->data += *got;
    rest->size -= *got;
    return CRA_OK;
}

static cra_avro_writer_options defaults(void)
{
    cra_avro_writer_options options = CRA_AVRO_WRITER_OPTIONS_INIT;

    memcpy(options.sync, "0123456789abcdef", 16);
    return options;
}

static void write_file(cra_bytes documents, const cra_avro_writer_options *options, cra_buf *file,
                       cra_avro_writer_stats *stats)
{
    cra_avro_writer *writer;
    cra_bytes document;
    cra_error err = {0};
    cra_status status = cra_avro_writer_open(&kit.allocator, options, append_to, file, &writer, &err);

    while (status == CRA_OK && cra_bson_next_document(&documents, &document) == CRA_OK)
        status = cra_avro_writer_append(writer, document, &err);
    if (status == CRA_OK)
        status = cra_avro_writer_finish(writer, stats, &err);
    if (status != CRA_OK)
        fail_msg("%s", err.message);
    assert_int_equal(documents.size, 0);
    cra_avro_writer_free(writer);
}

/* The documents of `file` are those of `expected`. */
static void assert_file_holds(const cra_buf *file, cra_bytes expected)
{
    cra_bytes rest = cra_buf_bytes(file);
    const cra_source source = {sizeof source, read_view, NULL, &rest};
    const cra_bytes none = {NULL, 0};
    cra_avro_options options = CRA_AVRO_OPTIONS_INIT;
    cra_avro_reader *reader;
    cra_doc_batch batch;
    cra_error err = {0};
    cra_status status;

    options.max_document_bytes = INT32_MAX;
    if (cra_avro_reader_open(&kit.allocator, &options, &source, none, &reader, &err) != CRA_OK)
        fail_msg("%s", err.message);
    while ((status = cra_avro_reader_next(reader, &batch, &err)) == CRA_OK) {
        if (batch.dead_count > 0)
            fail_msg("%s", batch.dead[0].reason);
        assert_true(batch.documents.size <= expected.size);
        assert_memory_equal(batch.documents.data, expected.data, batch.documents.size);
        expected.data += batch.documents.size;
        expected.size -= batch.documents.size;
    }
    if (status != CRA_DONE)
        fail_msg("%s", err.message);
    assert_int_equal(expected.size, 0);
    cra_avro_reader_free(reader);
}

static cra_avro_writer_stats round_trip(cra_bytes documents, const cra_avro_writer_options *options)
{
    cra_avro_writer_stats stats;
    cra_buf file;

    cra_buf_init(&file, &kit.allocator);
    write_file(documents, options, &file, &stats);
    assert_file_holds(&file, documents);
    cra_buf_cleanup(&file);
    return stats;
}

static cra_avro_writer_stats round_trip_defaults(cra_bytes documents)
{
    const cra_avro_writer_options options = defaults();

    return round_trip(documents, &options);
}

static void random_documents(void **state)
{
    (void)state;
    cra_buf documents;

    cra_buf_init(&documents, &kit.allocator);
    for (uint64_t seed = 1; seed <= 60; seed++) {
        random_source source = {.state = seed * UINT64_C(0x9E3779B97F4A7C15)};
        cra_buf_clear(&documents);
        for (int i = 0; i < 40; i++)
            random_document(&source, &documents);
        round_trip_defaults(cra_buf_bytes(&documents));
        /* A sample of one document: most others hold what it did not. */
        cra_avro_writer_options options = defaults();
        options.sample_bytes = 1;
        options.block_bytes = 2000;
        options.codec = (cra_avro_codec)(seed % 4);
        round_trip(cra_buf_bytes(&documents), &options);
        options.profile = CRA_AVRO_PROFILE_RAW;
        round_trip(cra_buf_bytes(&documents), &options);
    }
    cra_buf_cleanup(&documents);
}

static void tame_documents_need_no_raw(void **state)
{
    (void)state;
    cra_buf documents;

    cra_buf_init(&documents, &kit.allocator);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        random_source source = {.state = seed * 7919, .tame = true};
        cra_buf_clear(&documents);
        for (int i = 0; i < 200; i++)
            random_document(&source, &documents);
        const cra_avro_writer_stats stats = round_trip_defaults(cra_buf_bytes(&documents));
        assert_int_equal(stats.records, 200);
        assert_int_equal(stats.raw_records, 0);
    }
    cra_buf_cleanup(&documents);
}

/* Call `use` with every document whose hexadecimal text follows `label` in a
 * file of the BSON corpus. */
static size_t each_in_corpus(const char *label, void (*use)(const cra_buf *document, cra_buf *all), cra_buf *all)
{
    char folder[4096], path[8192];
    size_t count = 0;
    const char *found = cra_test_outside("bson-corpus");

    if (found == NULL)
        return 0;
    snprintf(folder, sizeof folder, "%s", found);
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        cra_buf text, document;
        if (strstr(entry->d_name, ".json") == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        cra_buf_init(&text, &kit.allocator);
        cra_buf_init(&document, &kit.allocator);
        cra_test_read_file(path, &text);
        for (const char *at = cra_buf_cstr(&text); (at = strstr(at, label)) != NULL;) {
            at += strlen(label);
            const size_t size = strcspn(at, "\"") / 2;
            cra_buf_clear(&document);
            assert_int_equal(cra_buf_reserve(&document, size + 1), CRA_OK);
            char *digits = cra_strndup(&kit.allocator, at, 2 * size);
            assert_true(cra_hex_decode(digits, document.data, size));
            cra_free(&kit.allocator, digits);
            document.size = size;
            use(&document, all);
            count++;
        }
        cra_buf_cleanup(&text);
        cra_buf_cleanup(&document);
    }
    closedir(entries);
    return count;
}

static void use_valid(const cra_buf *document, cra_buf *all)
{
    const cra_avro_writer_stats stats = round_trip_defaults(cra_buf_bytes(document));

    assert_int_equal(stats.records, 1);
    assert_int_equal(cra_buf_append(all, document->data, document->size), CRA_OK);
}

/* Damaged: refused, or kept as it is. */
static void use_damaged(const cra_buf *document, cra_buf *all)
{
    const cra_avro_writer_options options = defaults();
    cra_avro_writer *writer;
    cra_buf file;

    (void)all;
    cra_buf_init(&file, &kit.allocator);
    assert_int_equal(cra_avro_writer_open(&kit.allocator, &options, append_to, &file, &writer, NULL), CRA_OK);
    const cra_status status = cra_avro_writer_append(writer, cra_buf_bytes(document), NULL);
    assert_int_equal(status, cra_bson_validate(cra_buf_bytes(document), 0, NULL));
    assert_int_equal(cra_avro_writer_finish(writer, NULL, NULL), CRA_OK);
    if (status == CRA_OK)
        assert_file_holds(&file, cra_buf_bytes(document));
    cra_avro_writer_free(writer);
    cra_buf_cleanup(&file);
}

static void the_bson_corpus(void **state)
{
    (void)state;
    cra_buf all;

    cra_buf_init(&all, &kit.allocator);
    size_t count = each_in_corpus("\"canonical_bson\": \"", use_valid, &all);
    if (count == 0) {
        cra_buf_cleanup(&all);
        skip();
    }
    assert_true(count > 700);
    assert_true(each_in_corpus("\"degenerate_bson\": \"", use_valid, &all) > 3);
    round_trip_defaults(cra_buf_bytes(&all));
    assert_true(each_in_corpus("\"bson\": \"", use_damaged, &all) > 50);
    cra_buf_cleanup(&all);
}

static void documents_from_json(void **state)
{
    (void)state;
    static const char *const names[] = {"json/books.json", "json/covers.json", "json/restaurant.json"};
    static const int64_t counts[] = {431, 5071, 2548};

    for (size_t i = 0; i < 3; i++) {
        const char *path = cra_test_outside(names[i]);
        cra_buf text, documents;
        if (path == NULL)
            skip();
        cra_buf_init(&text, &kit.allocator);
        cra_buf_init(&documents, &kit.allocator);
        cra_test_read_file(path, &text);
        cra_bytes rest = cra_buf_bytes(&text);
        size_t consumed = 0;
        cra_status status;
        cra_error err = {0};
        while ((status = cra_bson_from_json(rest, &documents, &consumed, &err)) == CRA_OK) {
            rest.data += consumed;
            rest.size -= consumed;
        }
        if (status != CRA_DONE)
            fail_msg("%s", err.message);
        const cra_avro_writer_stats stats = round_trip_defaults(cra_buf_bytes(&documents));
        assert_int_equal(stats.records, counts[i]);
        assert_int_equal(stats.raw_records, 0);
        cra_buf_cleanup(&text);
        cra_buf_cleanup(&documents);
    }
}

/* {a: true, big: <binary>}, of `size` bytes in all. */
static void put_large(cra_buf *out, size_t size)
{
    const size_t overhead = 4 + 4 + 10 + 1;
    uint8_t *data = cra_calloc(&kit.allocator, size, 1);
    size_t mark;

    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(i * i >> 7);
    assert_int_equal(cra_bson_begin(out, &mark), CRA_OK);
    assert_int_equal(cra_bson_put_bool(out, "a", true), CRA_OK);
    assert_int_equal(cra_bson_put_binary(out, "big", 0, cra_bytes_of(data, size - overhead)), CRA_OK);
    assert_int_equal(cra_bson_end(out, mark), CRA_OK);
    cra_free(&kit.allocator, data);
}

static void documents_of_16_mebibytes(void **state)
{
    (void)state;
    cra_buf documents;
    size_t mark;

    cra_buf_init(&documents, &kit.allocator);
    put_large(&documents, 100);
    put_large(&documents, CRA_BSON_MAX_DOCUMENT_BYTES);
    put_large(&documents, 200);
    /* And one that goes to `_raw`. */
    assert_int_equal(cra_bson_begin(&documents, &mark), CRA_OK);
    assert_int_equal(cra_bson_put_bool(&documents, "a", true), CRA_OK);
    assert_int_equal(cra_bson_put_bool(&documents, "a", true), CRA_OK);
    assert_int_equal(cra_buf_reserve(&documents, CRA_BSON_MAX_DOCUMENT_BYTES), CRA_OK);
    const size_t size = CRA_BSON_MAX_DOCUMENT_BYTES - 4 - 8 - 11 - 1;
    uint8_t *zeros = cra_calloc(&kit.allocator, size, 1);
    assert_int_equal(cra_bson_put_binary(&documents, "more", 5, cra_bytes_of(zeros, size)), CRA_OK);
    cra_free(&kit.allocator, zeros);
    assert_int_equal(cra_bson_end(&documents, mark), CRA_OK);

    const cra_avro_writer_stats stats = round_trip_defaults(cra_buf_bytes(&documents));
    assert_int_equal(stats.records, 4);
    assert_int_equal(stats.raw_records, 1);
    assert_int_equal(stats.blocks, 4);
    cra_buf_cleanup(&documents);
}

static void deep_documents(void **state)
{
    (void)state;
    cra_buf documents;
    size_t marks[100], mark;

    cra_buf_init(&documents, &kit.allocator);
    for (size_t depth = 1; depth < CRA_BSON_MAX_DEPTH; depth++) {
        assert_int_equal(cra_bson_begin(&documents, &mark), CRA_OK);
        for (size_t i = 0; i < depth; i++)
            assert_int_equal(cra_bson_put_begin(&documents, "0",
                                                (i + depth) % 3 == 0 ? CRA_BSON_ARRAY : CRA_BSON_DOCUMENT, &marks[i]),
                             CRA_OK);
        for (size_t i = depth; i > 0; i--)
            assert_int_equal(cra_bson_end(&documents, marks[i - 1]), CRA_OK);
        assert_int_equal(cra_bson_end(&documents, mark), CRA_OK);
    }
    round_trip_defaults(cra_buf_bytes(&documents));
    cra_buf_cleanup(&documents);
}

/* Keys that are data: {prices: {<1,000 of 50,000>: 1.5}}. */
static void documents_whose_keys_are_data(void **state)
{
    (void)state;
    cra_buf documents;
    size_t mark, inner;
    char key[16];

    cra_buf_init(&documents, &kit.allocator);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(cra_bson_begin(&documents, &mark), CRA_OK);
        assert_int_equal(cra_bson_put_int64(&documents, "n", i), CRA_OK);
        assert_int_equal(cra_bson_put_begin(&documents, "prices", CRA_BSON_DOCUMENT, &inner), CRA_OK);
        for (int j = 0; j < 1000; j++) {
            snprintf(key, sizeof key, "sku-%d", i * 1000 + j);
            assert_int_equal(cra_bson_put_int64(&documents, key, j), CRA_OK);
        }
        assert_int_equal(cra_bson_end(&documents, inner), CRA_OK);
        assert_int_equal(cra_bson_end(&documents, mark), CRA_OK);
    }
    const cra_avro_writer_stats stats = round_trip_defaults(cra_buf_bytes(&documents));
    assert_int_equal(stats.raw_records, 0);
    cra_buf_cleanup(&documents);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(random_documents),
        TEST(tame_documents_need_no_raw),
        TEST(the_bson_corpus),
        TEST(documents_from_json),
        TEST(documents_of_16_mebibytes),
        TEST(deep_documents),
        TEST(documents_whose_keys_are_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
