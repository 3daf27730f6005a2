/* SPDX-License-Identifier: Apache-2.0 */

/* Damaged and odd container files: each gives what tests/data/avro-bad says, in bounded memory. */

#include <crawlarchive/codec.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "kit/data.h"
#include "kit/test_allocator.h"

#define PEAK_MAX (96 << 20)

typedef struct expectation {
    const char *file;
    int records;
    cra_status end;       /* CRA_DONE, or how it fails */
    const char *message;  /* must be in the error's message; NULL: any */
    int dead;
} expectation;

static const expectation expectations[] = {
    {"00_good", 3, CRA_DONE, NULL, 0},
    {"02_header_only", 0, CRA_DONE, NULL, 0},
    {"04_trunc_in_sync", 2, CRA_CORRUPT, "truncated at byte", 0},
    {"06_trunc_in_count_varint", 2, CRA_CORRUPT, "truncated at byte", 0},
    {"08_zero_count_block_first", 1, CRA_DONE, NULL, 0},
    {"10_concat", 6, CRA_DONE, NULL, 0},
    {"12_count_too_big", 0, CRA_CORRUPT, "block at byte", 0},
    {"14_neg_count", 0, CRA_CORRUPT, "negative count", 0},
    {"16_huge_string", 0, CRA_CORRUPT, "beyond the block", 0},
    {"18_varint11", 0, CRA_CORRUPT, "longer than 64 bits", 0},
    {"20_invalid_utf8", 0, CRA_DONE, NULL, 1},
    {"22_null_array_bomb", 0, CRA_CORRUPT, "too large", 0},
    {"24_neg_array_wrongsize", 0, CRA_CORRUPT, "block at byte", 0},
    {"26_map_key_nul", 0, CRA_DONE, NULL, 1},
    {"28_union_bad_index", 0, CRA_CORRUPT, "no such branch", 0},
    {"30_enum_oob", 0, CRA_CORRUPT, "no such symbol", 0},
    {"32_dotted_field", 1, CRA_DONE, NULL, 0},
    {"34_recursive_deep", 0, CRA_CORRUPT, "deep", 0},
    {"36_nan", 3, CRA_DONE, NULL, 0},
    {"38_meta_neg_count", 1, CRA_DONE, NULL, 0},
    {"40_unknown_codec", 0, CRA_UNSUPPORTED, "codec '", 0},
    {"42_zlib_wrapped_deflate", 0, CRA_CORRUPT, "block at byte", 0},
    {"44_deflate_trunc", 0, CRA_CORRUPT, "block at byte", 0},
    {"46_snappy", 1, CRA_DONE, NULL, 0},
    {"48_snappy_short", 0, CRA_CORRUPT, "block at byte", 0},
    {"50_xz", 0, CRA_UNSUPPORTED, "xz", 0}, /* this build reads no xz */
    {"52_zero_size_block_nullrec", 5, CRA_DONE, NULL, 0},
    {"54_error_type", 1, CRA_DONE, NULL, 0},
    {"56_unicode_fieldname", 1, CRA_DONE, NULL, 0},
    {"58_union_in_union_dup", 0, CRA_CORRUPT, NULL, 0},
    {"60_codec_empty", 1, CRA_DONE, NULL, 0},
    {"62_len0_block_after_full", 5, CRA_DONE, NULL, 0},
    {"64_zero_count_but_bytes", 1, CRA_DONE, NULL, 0},
    {"66_dup_named_type", 0, CRA_CORRUPT, NULL, 0},
    {"68_fixed_zero", 2, CRA_DONE, NULL, 0},
    {"70_default_missing_big_int", 1, CRA_DONE, NULL, 0},
};

/* Bytes in memory as a source that gives a few at a time. */
typedef struct memory_source {
    cra_bytes data;
    size_t at, step;
} memory_source;

static cra_status read_memory(void *user, void *buffer, size_t capacity, size_t *got, cra_error *err)
{
    memory_source *source = user;
    size_t n = source->data.size - source->at;

    (void)err;
    if (n > capacity)
        n = capacity;
    if (source->step > 0 && n > source->step)
        n = source->step;
    if (n > 0)
        memcpy(buffer, source->data.data + source->at, n);
    source->at += n;
    *got = n;
    return CRA_OK;
}

typedef struct outcome {
    cra_status end;
    cra_error error;
    int records, dead;
    cra_buf documents; /* all of them, concatenated */
} outcome;

/* Read a file to its end. */
static void read_all(const cra_allocator *allocator, const cra_avro_options *options, cra_bytes data, size_t step,
                     outcome *out)
{
    memory_source memory = {data, 0, step};
    const cra_source source = {sizeof source, read_memory, NULL, &memory};
    cra_avro_reader *reader = NULL;
    cra_doc_batch batch;

    memset(out, 0, sizeof *out);
    cra_buf_init(&out->documents, NULL);
    out->end = cra_avro_reader_open(allocator, options, &source, (cra_bytes){NULL, 0}, &reader, &out->error);
    while (out->end == CRA_OK) {
        out->end = cra_avro_reader_next(reader, &batch, &out->error);
        if (out->end != CRA_OK)
            break;
        cra_bytes rest = batch.documents;
        cra_bytes document;
        size_t counted = 0;
        while (cra_bson_next_document(&rest, &document) == CRA_OK) {
            assert_int_equal(cra_bson_validate(document, CRA_BSON_CHECK_UTF8, NULL), CRA_OK);
            counted++;
        }
        assert_int_equal(rest.size, 0);
        assert_int_equal(counted, batch.count);
        assert_int_equal(cra_buf_append(&out->documents, batch.documents.data, batch.documents.size), CRA_OK);
        out->records += (int)batch.count;
        out->dead += (int)batch.dead_count;
    }
    cra_avro_reader_free(reader);
}

static void load(const char *file, cra_buf *data)
{
    char name[128];

    snprintf(name, sizeof name, "avro-bad/%s.avro", file);
    cra_buf_init(data, NULL);
    cra_test_read_file(cra_test_inside(name), data);
}

static void every_file_gives_what_is_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        const expectation *expect = &expectations[i];
        static const size_t steps[] = {0, 1, 7};
        cra_buf data;

        load(expect->file, &data);
        for (size_t s = 0; s < 3; s++) {
            cra_test_allocator kit;
            outcome out;

            cra_test_allocator_init(&kit);
            read_all(&kit.allocator, NULL, cra_buf_bytes(&data), steps[s], &out);
            if (out.end != expect->end || out.records != expect->records || out.dead != expect->dead ||
                (expect->message != NULL && strstr(out.error.message, expect->message) == NULL))
                fail_msg("%s: %s after %d records, %d dead: %s", expect->file, cra_status_name(out.end), out.records,
                         out.dead, out.error.message);
            assert_true(atomic_load(&kit.bytes_peak) < PEAK_MAX);
            cra_test_allocator_check(&kit);
            cra_buf_cleanup(&out.documents);
        }
        cra_buf_cleanup(&data);
    }
}

/* The one value of the first document of a file, as JSON. */
static void first_json(const char *file, const cra_avro_options *options, cra_buf *json)
{
    cra_buf data;
    outcome out;
    cra_bytes document;

    load(file, &data);
    read_all(NULL, options, cra_buf_bytes(&data), 0, &out);
    assert_int_equal(out.end, CRA_DONE);
    cra_bytes rest = cra_buf_bytes(&out.documents);
    assert_int_equal(cra_bson_next_document(&rest, &document), CRA_OK);
    cra_buf_init(json, NULL);
    assert_int_equal(cra_bson_to_json(document, CRA_JSON_CANONICAL, json, NULL), CRA_OK);
    assert_non_null(cra_buf_cstr(json));
    cra_buf_cleanup(&out.documents);
    cra_buf_cleanup(&data);
}

static void policies_decide_about_invalid_text(void **state)
{
    cra_avro_options options = CRA_AVRO_OPTIONS_INIT;
    cra_buf json;

    (void)state;
    options.invalid_utf8 = CRA_UTF8_REPLACE;
    first_json("20_invalid_utf8", &options, &json);
    assert_non_null(strstr((const char *)json.data, "\xEF\xBF\xBD"));
    cra_buf_cleanup(&json);
    options.invalid_utf8 = CRA_UTF8_BINARY;
    first_json("20_invalid_utf8", &options, &json);
    assert_non_null(strstr((const char *)json.data, "$binary"));
    cra_buf_cleanup(&json);
}

static void names_come_as_written(void **state)
{
    cra_buf json;

    (void)state;
    first_json("32_dotted_field", NULL, &json);
    assert_non_null(strstr((const char *)json.data, "\"a.b\""));
    cra_buf_cleanup(&json);
}

static void salvage_takes_what_is_whole(void **state)
{
    cra_avro_options options = CRA_AVRO_OPTIONS_INIT;
    cra_buf data;
    outcome out;

    (void)state;
    options.salvage = true;
    load("04_trunc_in_sync", &data);
    read_all(NULL, &options, cra_buf_bytes(&data), 0, &out);
    assert_int_equal(out.end, CRA_DONE);
    assert_true(out.records > 2);
    cra_buf_cleanup(&out.documents);
    cra_buf_cleanup(&data);
}

/* Cut at every byte: whole blocks come out, and only a cut at a block's end is no failure. */
static void a_cut_anywhere_is_told(void **state)
{
    cra_buf data;
    outcome whole, out;
    int clean = 0;

    (void)state;
    load("10_concat", &data);
    read_all(NULL, NULL, cra_buf_bytes(&data), 0, &whole);
    for (size_t size = 1; size < data.size; size++) {
        read_all(NULL, NULL, cra_bytes_of(data.data, size), 0, &out);
        assert_true(out.end == CRA_CORRUPT || out.end == CRA_DONE);
        clean += out.end == CRA_DONE;
        assert_true(out.documents.size <= whole.documents.size);
        if (out.documents.size > 0)
            assert_memory_equal(out.documents.data, whole.documents.data, out.documents.size);
        cra_buf_cleanup(&out.documents);
    }
    assert_in_range(clean, 1, 8);
    cra_buf_cleanup(&whole.documents);
    cra_buf_cleanup(&data);
}

/* Any one byte changed: no crash, no hang, no memory without bound. What comes out is BSON (read_all checks). */
static void a_changed_byte_does_no_harm(void **state)
{
    static const char *const files[] = {"00_good", "46_snappy", "24_neg_array_wrongsize", "38_meta_neg_count", "36_nan"};

    (void)state;
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        cra_buf data;

        load(files[f], &data);
        for (size_t at = 0; at < data.size; at++) {
            static const uint8_t masks[] = {0x01, 0x80, 0xFF};
            for (size_t m = 0; m < sizeof masks; m++) {
                cra_test_allocator kit;
                outcome out;

                cra_test_allocator_init(&kit);
                data.data[at] ^= masks[m];
                read_all(&kit.allocator, NULL, cra_buf_bytes(&data), 0, &out);
                data.data[at] ^= masks[m];
                assert_true(atomic_load(&kit.bytes_peak) < PEAK_MAX);
                cra_test_allocator_check(&kit);
                cra_buf_cleanup(&out.documents);
            }
        }
        cra_buf_cleanup(&data);
    }
}

static cra_status torture_attempt(const cra_allocator *allocator, void *user)
{
    outcome out;

    read_all(allocator, NULL, *(const cra_bytes *)user, 0, &out);
    cra_buf_cleanup(&out.documents);
    return out.end;
}

static void memory_may_run_out_anywhere(void **state)
{
    static const char *const files[] = {"00_good", "10_concat", "46_snappy", "34_recursive_deep"};
    static const cra_status ends[] = {CRA_DONE, CRA_DONE, CRA_DONE, CRA_CORRUPT};

    (void)state;
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        cra_buf data;

        load(files[f], &data);
        cra_bytes bytes = cra_buf_bytes(&data);
        cra_torture(torture_attempt, &bytes, ends[f], 500);
        cra_buf_cleanup(&data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_gives_what_is_right), cmocka_unit_test(policies_decide_about_invalid_text),
        cmocka_unit_test(names_come_as_written),          cmocka_unit_test(salvage_takes_what_is_whole),
        cmocka_unit_test(a_cut_anywhere_is_told),         cmocka_unit_test(a_changed_byte_does_no_harm),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
