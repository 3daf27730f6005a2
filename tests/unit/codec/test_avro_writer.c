/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/codec.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "kit/test_allocator.h"
#include "random_document.h"

static cra_test_allocator kit;
static cra_buf file;    /* what the writer gave */
static int writes_left; /* of the sink, before it fails; negative: it never does */

static cra_status sink(void *user, const void *data, size_t size, cra_error *err)
{
    assert_true(size > 0);
    if (writes_left == 0)
        return cra_error_set(err, CRA_IO, "test", "the disk is full");
    writes_left -= writes_left > 0;
    return cra_buf_append(user, data, size);
}

static int setup(void **state)
{
    (void)state;
    cra_test_allocator_init(&kit);
    cra_buf_init(&file, &kit.allocator);
    writes_left = -1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cra_buf_cleanup(&file);
    cra_test_allocator_check(&kit);
    return 0;
}

static cra_avro_writer_options defaults(void)
{
    cra_avro_writer_options options = CRA_AVRO_WRITER_OPTIONS_INIT;

    memcpy(options.sync, "0123456789abcdef", 16);
    options.codec = CRA_AVRO_CODEC_NULL;
    return options;
}

static cra_avro_writer *open_writer(const cra_avro_writer_options *options)
{
    cra_avro_writer *writer = NULL;
    cra_error err = {0};

    if (cra_avro_writer_open(&kit.allocator, options, sink, &file, &writer, &err) != CRA_OK)
        fail_msg("%s", err.message);
    return writer;
}

/* {n: number, text: <size bytes>} */
static void make_document(cra_buf *out, int64_t number, size_t size)
{
    size_t mark;
    char *text = cra_calloc(&kit.allocator, size + 1, 1);

    memset(text, 'x', size);
    assert_int_equal(cra_bson_begin(out, &mark), CRA_OK);
    assert_int_equal(cra_bson_put_int64(out, "n", number), CRA_OK);
    assert_int_equal(cra_bson_put_string(out, "text", text), CRA_OK);
    assert_int_equal(cra_bson_end(out, mark), CRA_OK);
    cra_free(&kit.allocator, text);
}

static cra_status append(cra_avro_writer *writer, int64_t number, size_t size)
{
    cra_buf document;

    cra_buf_init(&document, &kit.allocator);
    make_document(&document, number, size);
    const cra_status status = cra_avro_writer_append(writer, cra_buf_bytes(&document), NULL);
    cra_buf_cleanup(&document);
    return status;
}

/* ---- a look at the file, with nothing of the library ------------------------------------------ */

static int64_t take_long(cra_bytes *rest)
{
    uint64_t bits = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        assert_true(rest->size > 0 && shift < 64);
        byte = *rest->data++;
        rest->size--;
        bits |= (uint64_t)(byte & 0x7F) << shift;
        shift += 7;
    } while (byte >= 0x80);
    return (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
}

static cra_bytes take_bytes(cra_bytes *rest, int64_t size)
{
    const cra_bytes taken = {rest->data, (size_t)size};

    assert_true(size >= 0 && (size_t)size <= rest->size);
    rest->data += size;
    rest->size -= (size_t)size;
    return taken;
}

/* Step over the header. @return value of `key` there, empty with NULL data where it has none */
static cra_bytes take_header(cra_bytes *rest, const char *key)
{
    cra_bytes found = {NULL, 0};

    assert_memory_equal(take_bytes(rest, 4).data, "Obj\1", 4);
    for (int64_t count = take_long(rest); count > 0; count--) {
        const cra_bytes name = take_bytes(rest, take_long(rest));
        const cra_bytes value = take_bytes(rest, take_long(rest));
        if (cra_bytes_equal(name, cra_bytes_of_str(key)))
            found = value;
    }
    assert_int_equal(take_long(rest), 0);
    assert_memory_equal(take_bytes(rest, 16).data, "0123456789abcdef", 16);
    return found;
}

static cra_bytes metadata_of_file(const char *key)
{
    cra_bytes rest = cra_buf_bytes(&file);

    return take_header(&rest, key);
}

/* Records of each block, at most `capacity`. @return blocks */
static size_t blocks_of_file(int64_t *records, size_t capacity)
{
    cra_bytes rest = cra_buf_bytes(&file);
    size_t count = 0;

    take_header(&rest, "");
    while (rest.size > 0) {
        assert_true(count < capacity);
        records[count++] = take_long(&rest);
        take_bytes(&rest, take_long(&rest));
        assert_memory_equal(take_bytes(&rest, 16).data, "0123456789abcdef", 16);
    }
    return count;
}

/* ---- tests ------------------------------------------------------------------------------------
 */

static void the_raw_profile_is_these_bytes(void **state)
{
    (void)state;
    cra_avro_writer_options options = defaults();
    cra_avro_writer_stats stats;
    static const char expected[] = "Obj\1\6"
                                   "\024avro.codec"
                                   "\010null"
                                   "\026avro.schema"
                                   "\xC2\1"
                                   "{\"type\":\"record\",\"name\":\"document\",\"cra.profile\":\"raw\","
                                   "\"fields\":[{\"name\":\"bson\","
                                   "\"type\":\"bytes\"}]}"
                                   "\026cra.profile"
                                   "\6"
                                   "raw"
                                   "\0"
                                   "0123456789abcdef"
                                   "\4\x18"
                                   "\x0A\5\0\0\0\0"
                                   "\x0A\5\0\0\0\0"
                                   "0123456789abcdef";

    options.profile = CRA_AVRO_PROFILE_RAW;
    cra_avro_writer *writer = open_writer(&options);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cra_avro_writer_append(writer, cra_bytes_of("\5\0\0\0\0", 5), NULL), CRA_OK);
    assert_int_equal(cra_avro_writer_finish(writer, &stats, NULL), CRA_OK);
    assert_int_equal(file.size, sizeof expected - 1);
    assert_memory_equal(file.data, expected, sizeof expected - 1);
    assert_int_equal(stats.records, 2);
    assert_int_equal(stats.raw_records, 0);
    assert_int_equal(stats.bytes_in, 10);
    assert_int_equal(stats.bytes_out, sizeof expected - 1);
    assert_int_equal(stats.blocks, 1);
    cra_avro_writer_free(writer);
    cra_avro_writer_free(NULL);
}

static void the_header_holds_schema_codec_and_metadata(void **state)
{
    (void)state;
    static const char *const metadata[] = {"run", "r-1", "empty", "", NULL};
    cra_avro_writer_options options = defaults();

    options.metadata = metadata;
    options.codec = CRA_AVRO_CODEC_DEFLATE;
    cra_avro_writer *writer = open_writer(&options);
    assert_int_equal(append(writer, 1, 10), CRA_OK);
    assert_int_equal(cra_avro_writer_schema(writer).size, 0);
    assert_int_equal(cra_avro_writer_finish(writer, NULL, NULL), CRA_OK);

    assert_true(cra_bytes_equal(metadata_of_file("avro.codec"), cra_bytes_of_str("deflate")));
    assert_true(cra_bytes_equal(metadata_of_file("avro.schema"), cra_avro_writer_schema(writer)));
    assert_true(cra_bytes_equal(metadata_of_file("cra.profile"), cra_bytes_of_str("typed")));
    assert_true(cra_bytes_equal(metadata_of_file("run"), cra_bytes_of_str("r-1")));
    assert_non_null(metadata_of_file("empty").data);
    assert_int_equal(metadata_of_file("empty").size, 0);
    cra_avro_writer_free(writer);
}

static void no_documents_make_a_file_of_no_records(void **state)
{
    (void)state;
    const cra_avro_writer_options options = defaults();
    cra_avro_writer_stats stats;
    int64_t records[1];

    cra_avro_writer *writer = open_writer(&options);
    assert_int_equal(cra_avro_writer_finish(writer, &stats, NULL), CRA_OK);
    assert_int_equal(stats.blocks, 0);
    assert_int_equal(stats.bytes_out, file.size);
    assert_int_equal(blocks_of_file(records, 1), 0);
    cra_avro_writer_free(writer);
}

static void blocks_close_at_their_size(void **state)
{
    (void)state;
    cra_avro_writer_options options = defaults();
    int64_t records[16];

    /* Records of 104 bytes: tag, n, tag, length, text, `_raw`. */
    options.block_bytes = 300;
    options.sample_bytes = 1;
    cra_avro_writer *writer = open_writer(&options);
    for (int i = 0; i < 8; i++)
        assert_int_equal(append(writer, i, 98), CRA_OK);
    assert_int_equal(cra_avro_writer_finish(writer, NULL, NULL), CRA_OK);
    assert_int_equal(blocks_of_file(records, 16), 3);
    assert_int_equal(records[0], 3);
    assert_int_equal(records[1], 3);
    assert_int_equal(records[2], 2);
    cra_avro_writer_free(writer);
}

static void a_large_document_gets_a_block_of_its_own(void **state)
{
    (void)state;
    cra_avro_writer_options options = defaults();
    int64_t records[8];

    options.block_bytes = 1000;
    cra_avro_writer *writer = open_writer(&options);
    assert_int_equal(append(writer, 0, 10), CRA_OK);
    assert_int_equal(append(writer, 1, 10), CRA_OK);
    assert_int_equal(append(writer, 2, 5000), CRA_OK);
    assert_int_equal(append(writer, 3, 10), CRA_OK);
    assert_int_equal(cra_avro_writer_finish(writer, NULL, NULL), CRA_OK);
    assert_int_equal(blocks_of_file(records, 8), 3);
    assert_int_equal(records[0], 2);
    assert_int_equal(records[1], 1);
    assert_int_equal(records[2], 1);
    cra_avro_writer_free(writer);
}

static void write_all(const cra_avro_writer_options *options, cra_avro_writer_stats *stats)
{
    random_source source = {.state = 7};
    cra_buf documents;

    cra_buf_init(&documents, &kit.allocator);
    for (int i = 0; i < 50; i++)
        random_document(&source, &documents);
    cra_avro_writer *writer = open_writer(options);
    cra_bytes stream = cra_buf_bytes(&documents), document;
    while (cra_bson_next_document(&stream, &document) == CRA_OK)
        assert_int_equal(cra_avro_writer_append(writer, document, NULL), CRA_OK);
    assert_int_equal(cra_avro_writer_finish(writer, stats, NULL), CRA_OK);
    cra_avro_writer_free(writer);
    cra_buf_cleanup(&documents);
}

static void the_same_input_gives_the_same_file(void **state)
{
    (void)state;
    cra_avro_writer_options options = defaults();
    cra_avro_writer_stats stats;
    cra_buf first;

    options.codec = CRA_AVRO_CODEC_SNAPPY;
    write_all(&options, &stats);
    first = file;
    cra_buf_init(&file, &kit.allocator);
    write_all(&options, &stats);
    assert_true(cra_bytes_equal(cra_buf_bytes(&first), cra_buf_bytes(&file)));
    assert_int_equal(stats.records, 50);
    assert_int_equal(stats.bytes_out, file.size);
    cra_buf_cleanup(&first);
}

static void a_given_schema_needs_no_sample(void **state)
{
    (void)state;
    cra_avro_writer_options options = defaults();
    cra_avro_writer_stats stats;
    cra_buf schema, first;

    options.sample_bytes = 1;
    cra_avro_writer *writer = open_writer(&options);
    assert_int_equal(append(writer, 0, 10), CRA_OK);
    assert_int_equal(cra_avro_writer_finish(writer, NULL, NULL), CRA_OK);
    cra_buf_init(&schema, &kit.allocator);
    const cra_bytes text = cra_avro_writer_schema(writer);
    assert_int_equal(cra_buf_append(&schema, text.data, text.size), CRA_OK);
    cra_avro_writer_free(writer);
    first = file;
    cra_buf_init(&file, &kit.allocator);

    options.schema = cra_buf_bytes(&schema);
    writer = open_writer(&options);
    assert_true(cra_bytes_equal(cra_avro_writer_schema(writer), options.schema));
    assert_int_equal(append(writer, 0, 10), CRA_OK);
    assert_int_equal(cra_avro_writer_finish(writer, &stats, NULL), CRA_OK);
    assert_int_equal(stats.raw_records, 0);
    assert_true(cra_bytes_equal(cra_buf_bytes(&first), cra_buf_bytes(&file)));
    cra_avro_writer_free(writer);
    cra_buf_cleanup(&first);
    cra_buf_cleanup(&schema);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    static const char *const no_value[] = {"key", NULL, NULL};
    static const char *const reserved[] = {"avro.codec", "snappy", NULL};
    static const char *const profile[] = {"cra.profile", "raw", NULL};
    cra_avro_writer *writer;
    cra_avro_writer_options options[9];

    for (size_t i = 0; i < 9; i++)
        options[i] = defaults();
    memset(options[0].sync, 0, 16);
    options[1].metadata = no_value;
    options[2].metadata = reserved;
    options[3].metadata = profile;
    options[4].block_bytes = -1;
    options[5].profile = (cra_avro_profile)9;
    options[6].schema = cra_bytes_of_str("\"string\"");
    options[7].profile = CRA_AVRO_PROFILE_RAW;
    options[7].schema = cra_bytes_of_str("\"string\"");
    options[8].struct_size = 1;
    for (size_t i = 0; i < 9; i++) {
        cra_error err = {0};
        assert_int_equal(cra_avro_writer_open(&kit.allocator, &options[i], sink, &file, &writer, &err), CRA_INVALID);
        assert_null(writer);
        assert_true(err.message[0] != '\0');
    }
    options[0] = defaults();
    options[0].codec = CRA_AVRO_CODEC_UNKNOWN;
    assert_int_equal(cra_avro_writer_open(&kit.allocator, &options[0], sink, &file, &writer, NULL), CRA_UNSUPPORTED);
    options[0] = defaults();
    options[0].schema = cra_bytes_of_str("{");
    assert_int_equal(cra_avro_writer_open(&kit.allocator, &options[0], sink, &file, &writer, NULL), CRA_CORRUPT);
    assert_int_equal(file.size, 0);
}

static void damaged_documents_leave_the_file_whole(void **state)
{
    (void)state;
    static const char *const damaged[] = {"\6\0\0\0\0", "\5\0\0\0\1", "\013\0\0\0\020a\0\1\0\0"};
    static const size_t sizes[] = {5, 5, 11};

    for (int profile = 0; profile < 2; profile++) {
        cra_avro_writer_options options = defaults();
        cra_avro_writer_stats stats;
        int64_t records[2];
        options.profile = profile == 0 ? CRA_AVRO_PROFILE_TYPED : CRA_AVRO_PROFILE_RAW;
        options.sample_bytes = 1;
        cra_buf_clear(&file);
        cra_avro_writer *writer = open_writer(&options);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(cra_avro_writer_append(writer, cra_bytes_of(damaged[i], sizes[i]), NULL), CRA_CORRUPT);
            assert_int_equal(append(writer, (int64_t)i, 10), CRA_OK);
            assert_int_equal(cra_avro_writer_append(writer, cra_bytes_of(damaged[i], sizes[i]), NULL), CRA_CORRUPT);
        }
        assert_int_equal(cra_avro_writer_finish(writer, &stats, NULL), CRA_OK);
        assert_int_equal(stats.records, 3);
        assert_int_equal(blocks_of_file(records, 2), 1);
        assert_int_equal(records[0], 3);
        cra_avro_writer_free(writer);
    }
}

static void nothing_is_taken_behind_the_end(void **state)
{
    (void)state;
    const cra_avro_writer_options options = defaults();

    cra_avro_writer *writer = open_writer(&options);
    assert_int_equal(cra_avro_writer_finish(writer, NULL, NULL), CRA_OK);
    const size_t size = file.size;
    assert_int_equal(append(writer, 1, 1), CRA_INVALID);
    assert_int_equal(cra_avro_writer_finish(writer, NULL, NULL), CRA_INVALID);
    assert_int_equal(file.size, size);
    cra_avro_writer_free(writer);
}

static void a_failed_sink_ends_the_file(void **state)
{
    (void)state;
    cra_avro_writer_options options = defaults();

    options.block_bytes = 100;
    options.sample_bytes = 1;
    for (int fail_at = 0; fail_at < 10; fail_at++) {
        cra_error err = {0};
        cra_status status = CRA_OK;
        writes_left = fail_at;
        cra_avro_writer *writer = open_writer(&options);
        for (int i = 0; status == CRA_OK && i < 10; i++)
            status = append(writer, i, i % 3 == 2 ? 200 : 40);
        assert_int_equal(status, CRA_IO);
        /* Even when the sink recovers: bytes of the file are missing. */
        writes_left = -1;
        assert_int_equal(append(writer, 1, 1), CRA_IO);
        assert_int_equal(cra_avro_writer_finish(writer, NULL, &err), CRA_IO);
        cra_avro_writer_free(writer);
    }
}

static cra_status discard(void *user, const void *data, size_t size, cra_error *err)
{
    (void)data;
    (void)err;
    *(int64_t *)user += (int64_t)size;
    return CRA_OK;
}

static void memory_does_not_grow_with_the_file(void **state)
{
    (void)state;
    cra_avro_writer_options options = defaults();
    cra_avro_writer_stats stats;
    cra_avro_writer *writer;
    cra_buf document;
    int64_t written = 0;

    options.codec = CRA_AVRO_CODEC_DEFLATE;
    options.sample_bytes = 64 * 1024;
    options.block_bytes = 64 * 1024;
    cra_buf_init(&document, &kit.allocator);
    make_document(&document, 1, 1000);
    assert_int_equal(cra_avro_writer_open(&kit.allocator, &options, discard, &written, &writer, NULL), CRA_OK);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(cra_avro_writer_append(writer, cra_buf_bytes(&document), NULL), CRA_OK);
    assert_int_equal(cra_avro_writer_finish(writer, &stats, NULL), CRA_OK);
    assert_int_equal(stats.bytes_out, written);
    assert_true(stats.bytes_in > 10000000);
    assert_true(atomic_load(&kit.bytes_peak) < 1000000);
    cra_avro_writer_free(writer);
    cra_buf_cleanup(&document);
}

static cra_status write_some(const cra_allocator *allocator, void *user)
{
    const cra_avro_writer_options *options = user;
    cra_avro_writer *writer = NULL;
    cra_buf out, document;

    cra_buf_init(&out, NULL);
    cra_buf_init(&document, &kit.allocator);
    cra_status status = cra_avro_writer_open(allocator, options, sink, &out, &writer, NULL);
    for (int i = 0; status == CRA_OK && i < 6; i++) {
        cra_buf_clear(&document);
        make_document(&document, i, i == 3 ? 900 : 100);
        status = cra_avro_writer_append(writer, cra_buf_bytes(&document), NULL);
    }
    if (status == CRA_OK)
        status = cra_avro_writer_finish(writer, NULL, NULL);
    cra_avro_writer_free(writer);
    cra_buf_cleanup(&document);
    cra_buf_cleanup(&out);
    return status;
}

static void memory_runs_out_anywhere(void **state)
{
    (void)state;
    static const char *const metadata[] = {"run", "r-1", NULL};
    cra_avro_writer_options options = defaults();

    options.block_bytes = 250;
    options.sample_bytes = 300;
    options.metadata = metadata;
    options.codec = CRA_AVRO_CODEC_ZSTANDARD;
    cra_torture(write_some, &options, CRA_OK, 500);
    options.profile = CRA_AVRO_PROFILE_RAW;
    options.codec = CRA_AVRO_CODEC_NULL;
    cra_torture(write_some, &options, CRA_OK, 500);
}

/* The caller may try again: the file holds every document once, in order. */
static void it_goes_on_when_memory_is_back(void **state)
{
    (void)state;
    cra_avro_writer_options options = defaults();
    cra_buf reference;

    options.block_bytes = 250;
    options.sample_bytes = 300;
    cra_buf_init(&reference, &kit.allocator);
    for (long fail_at = 0; fail_at < 400; fail_at++) {
        cra_test_allocator failing;
        cra_avro_writer *writer;
        cra_buf_clear(&file);
        cra_test_allocator_init(&failing);
        assert_int_equal(cra_avro_writer_open(&failing.allocator, &options, sink, &file, &writer, NULL), CRA_OK);
        atomic_store(&failing.fail_at, fail_at == 0 ? 0 : atomic_load(&failing.allocations) + fail_at);
        for (int i = 0; i < 6; i++) {
            cra_status status = append(writer, i, i == 3 ? 900 : 100);
            if (status == CRA_NOMEM)
                status = append(writer, i, i == 3 ? 900 : 100);
            assert_int_equal(status, CRA_OK);
        }
        if (cra_avro_writer_finish(writer, NULL, NULL) != CRA_OK)
            assert_int_equal(cra_avro_writer_finish(writer, NULL, NULL), CRA_OK);
        cra_avro_writer_free(writer);
        cra_test_allocator_check(&failing);
        if (fail_at == 0)
            assert_int_equal(cra_buf_append(&reference, file.data, file.size), CRA_OK);
        assert_true(cra_bytes_equal(cra_buf_bytes(&reference), cra_buf_bytes(&file)));
        if (atomic_load(&failing.failed) == false && fail_at > 0)
            break;
    }
    cra_buf_cleanup(&reference);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_raw_profile_is_these_bytes),
        TEST(the_header_holds_schema_codec_and_metadata),
        TEST(no_documents_make_a_file_of_no_records),
        TEST(blocks_close_at_their_size),
        TEST(a_large_document_gets_a_block_of_its_own),
        TEST(the_same_input_gives_the_same_file),
        TEST(a_given_schema_needs_no_sample),
        TEST(wrong_options_are_refused),
        TEST(damaged_documents_leave_the_file_whole),
        TEST(nothing_is_taken_behind_the_end),
        TEST(a_failed_sink_ends_the_file),
        TEST(memory_does_not_grow_with_the_file),
        TEST(memory_runs_out_anywhere),
        TEST(it_goes_on_when_memory_is_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
