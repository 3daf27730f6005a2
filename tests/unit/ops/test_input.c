/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "kit/data.h"
#include "kit/life.h"
#include "ops/input.h"
#include "ops/marks.h"

struct fixture {
    cra_test_allocator memory;
    cra_buf records; /* relaxed JSON, a line each */
    int64_t refused;
    cra_error error;
};

static int set_up(void **state)
{
    struct fixture *f = test_calloc(1, sizeof(*f));

    cra_test_allocator_init(&f->memory);
    cra_buf_init(&f->records, NULL);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cra_buf_cleanup(&f->records);
    cra_test_allocator_check(&f->memory);
    test_free(f);
    return 0;
}

/* A source that hands out few bytes at a time, so that every boundary is met. */
struct drip {
    cra_bytes left;
    size_t step;
};

static cra_status read_drip(void *user, void *buffer, size_t capacity, size_t *got, cra_error *err)
{
    struct drip *drip = user;

    (void)err;
    *got = drip->left.size < drip->step ? drip->left.size : drip->step;
    *got = *got < capacity ? *got : capacity;
    if (*got > 0)
        memcpy(buffer, drip->left.data, *got);
    drip->left.data += *got;
    drip->left.size -= *got;
    return CRA_OK;
}

static cra_status read_all(struct fixture *f, const cra_allocator *allocator, const void *data, size_t size,
                           size_t step, cra_format format)
{
    struct drip drip = {{data, size}, step};
    const cra_input input = {sizeof(input), "crawl.json", {sizeof(cra_source), read_drip, NULL, &drip}, format};
    cra_input_reader *reader = NULL;
    cra_input_record record;
    cra_status status;

    cra_buf_clear(&f->records);
    f->refused = 0;
    cra_error_clear(&f->error);
    status = cra_input_reader_open(allocator, &input, NULL, &reader, &f->error);
    while (status == CRA_OK && (status = cra_input_reader_next(reader, &record, &f->error)) == CRA_OK) {
        if (record.refused != NULL) {
            f->refused++;
            continue;
        }
        assert_int_equal(cra_bson_to_json(record.document, CRA_JSON_RELAXED, &f->records, NULL), CRA_OK);
        assert_int_equal(cra_buf_append_byte(&f->records, '\n'), CRA_OK);
    }
    cra_input_reader_free(reader);
    return status == CRA_DONE ? CRA_OK : status;
}

/* Whatever the size of the reads, the outcome is the same. */
static cra_status read_text(struct fixture *f, const char *text)
{
    const size_t size = strlen(text);
    cra_status whole, dripped;

    dripped = read_all(f, &f->memory.allocator, text, size, 1, CRA_FORMAT_AUTO);
    const size_t seen = f->records.size;
    whole = read_all(f, &f->memory.allocator, text, size, size + 1, CRA_FORMAT_AUTO);
    assert_int_equal(dripped, whole);
    assert_int_equal(seen, f->records.size);
    return whole;
}

static size_t count_lines(const struct fixture *f)
{
    size_t lines = 0;

    for (size_t i = 0; i < f->records.size; i++)
        lines += f->records.data[i] == '\n';
    return lines;
}

static void json_comes_in_any_shape(void **state)
{
    static const char *const shapes[] = {
        "[{\"a\":1},{\"a\":2}]",    " [ {\"a\":1} ,\n {\"a\":2} ] \n",
        "{\"a\":1}\n{\"a\":2}\n",   "{\"a\":1}\r\n\r\n{\"a\":2}",
        "{\"a\":1}{\"a\":2}",       "\xEF\xBB\xBF{\"a\":1}\n{\"a\":2}",
        "[{\"a\":1}]\n[{\"a\":2}]", "[]{\"a\":1}[]\n{\"a\":2}",
    };
    struct fixture *f = *state;
    cra_buf expected;

    cra_buf_init(&expected, NULL);
    assert_int_equal(read_text(f, shapes[0]), CRA_OK);
    assert_int_equal(cra_buf_append(&expected, f->records.data, f->records.size), CRA_OK);
    assert_int_equal(count_lines(f), 2);
    for (size_t i = 1; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        assert_int_equal(read_text(f, shapes[i]), CRA_OK);
        assert_int_equal(f->records.size, expected.size);
        assert_memory_equal(f->records.data, expected.data, expected.size);
    }
    cra_buf_cleanup(&expected);
}

static void braces_in_strings_do_not_count(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_text(f, "{\"a\":\"}{][\\\"}\\\\\"}\n{\"b\":{\"c\":[{}]}}"), CRA_OK);
    assert_int_equal(count_lines(f), 2);
}

static void nothing_is_no_record(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_text(f, ""), CRA_OK);
    assert_int_equal(read_text(f, "[]"), CRA_OK);
    assert_int_equal(read_text(f, " \n\n"), CRA_OK);
    assert_int_equal(count_lines(f), 0);
}

static void bad_json_names_its_place_behind_whole_records(void **state)
{
    static const struct {
        const char *text;
        size_t records;
        const char *place;
    } cases[] = {
        {"{\"a\":1}\n{\"a\":", 1, "line 2"}, {"[{\"a\":1},\n{\"a\":2}", 2, "line 2"},
        {"[{\"a\":1} {\"a\":2}]", 1, "','"}, {"{\"a\":1}\n]", 1, "line 2"},
        {"{\"a\":1}\n\n5", 1, "line 3"},     {"[1,2]", 0, "object"},
        {"[[{\"a\":1}]]", 0, "array"},       {"{\"a\":1}\n{\"a\" 2}\n", 1, "line 2"},
        {"{\"a\":1},{\"a\":2}", 1, "','"},   {"[{\"a\":1},]", 1, "']'"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(read_text(f, cases[i].text), CRA_CORRUPT);
        assert_int_equal(count_lines(f), cases[i].records);
        assert_non_null(strstr(f->error.message, "crawl.json"));
        if (strstr(f->error.message, cases[i].place) == NULL)
            fail_msg("case %zu: '%s' is not in '%s'", i, cases[i].place, f->error.message);
    }
}

static void extended_json_gives_types(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_text(f, "{\"_id\":{\"$oid\":\"665f00000000000000000001\"},\"n\":{\"$numberLong\":\"5\"},"
                                  "\"d\":{\"$date\":\"2026-12-01T00:00:00Z\"},\"q\":{\"$ref\":1}}"),
                     CRA_OK);
    assert_int_equal(count_lines(f), 1);
}

static void append_bson(cra_buf *out, const char *json)
{
    assert_int_equal(cra_bson_from_json(cra_bytes_of_str(json), out, NULL, NULL), CRA_OK);
}

static void bson_is_recognised_and_read(void **state)
{
    struct fixture *f = *state;
    cra_buf file;

    cra_buf_init(&file, NULL);
    append_bson(&file, "{\"a\":1}");
    append_bson(&file, "{\"a\":\"two\"}");
    assert_int_equal(read_all(f, &f->memory.allocator, file.data, file.size, 3, CRA_FORMAT_AUTO), CRA_OK);
    assert_int_equal(count_lines(f), 2);
    for (size_t size = 1; size < file.size; size++) {
        const cra_status status = read_all(f, &f->memory.allocator, file.data, size, 7, CRA_FORMAT_BSON);
        assert_int_equal(status, size == 12 ? CRA_OK : CRA_CORRUPT);
        assert_int_equal(count_lines(f), size >= 12 ? 1 : 0);
        if (status != CRA_OK)
            assert_non_null(strstr(f->error.message, size > 12 ? "offset 12" : "offset 0"));
    }
    cra_buf_cleanup(&file);
}

/* A document whose length begins with the byte of '{' is BSON all the same. */
static void bson_that_begins_like_json_is_bson(void **state)
{
    struct fixture *f = *state;
    char text[200];
    cra_buf file;

    cra_buf_init(&file, NULL);
    snprintf(text, sizeof(text), "{\"a\":\"%0*d\"}", 0x7B - 13, 7);
    append_bson(&file, text);
    assert_int_equal(file.data[0], '{');
    assert_int_equal(read_all(f, &f->memory.allocator, file.data, file.size, 1000, CRA_FORMAT_AUTO), CRA_OK);
    assert_int_equal(count_lines(f), 1);
    cra_buf_cleanup(&file);
}

static void bad_text_harms_its_own_document_alone(void **state)
{
    struct fixture *f = *state;
    cra_buf file;

    cra_buf_init(&file, NULL);
    append_bson(&file, "{\"a\":\"xx\"}");
    file.data[file.size - 4] = 0xFF;
    append_bson(&file, "{\"a\":1}");
    assert_int_equal(read_all(f, &f->memory.allocator, file.data, file.size, 1000, CRA_FORMAT_AUTO), CRA_OK);
    assert_int_equal(count_lines(f), 1);
    assert_int_equal(f->refused, 1);
    cra_buf_cleanup(&file);
}

static void compressed_files_are_named(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_all(f, &f->memory.allocator, "\x1f\x8b\x08\0\0\0", 6, 10, CRA_FORMAT_AUTO), CRA_UNSUPPORTED);
    assert_non_null(strstr(f->error.message, "compressed"));
}

static cra_status read_once(const cra_allocator *allocator, void *user)
{
    static const char text[] = "[{\"a\":1},{\"b\":{\"c\":\"text\"}}]";
    struct fixture *f = user;

    return read_all(f, allocator, text, sizeof(text) - 1, 5, CRA_FORMAT_AUTO);
}

static void json_without_memory(void **state)
{
    cra_torture(read_once, *state, CRA_OK, 200);
}

/* ---- marks ------------------------------------------------------------------------------------- */

static void marks_are_found_wherever_one_looks(void **state)
{
    struct fixture *f = *state;
    const cra_allocator *allocator = &f->memory.allocator;
    cra_marks *marks = NULL;
    cra_mark_cursor cursor;
    int64_t value = 0;
    bool found;

    assert_int_equal(cra_marks_new(allocator, NULL, 1 << 20, &marks, &f->error), CRA_OK);
    for (int64_t i = 2999; i >= 0; i -= 3)
        assert_int_equal(cra_marks_add(marks, cra_mark_tag((size_t)(i % 2), i), i * 10, &f->error), CRA_OK);
    assert_int_equal(cra_marks_seal(marks, &f->error), CRA_OK);
    cra_mark_cursor_init(&cursor, marks, allocator);
    for (size_t source = 0; source < 2; source++) {
        for (int64_t i = 0; i < 3010; i++) {
            const bool expected = i < 3000 && i % 3 == 2 && (size_t)(i % 2) == source;
            assert_int_equal(cra_mark_cursor_find(&cursor, cra_mark_tag(source, i), &found, &value, &f->error), CRA_OK);
            assert_int_equal(found, expected);
            if (found)
                assert_int_equal(value, i * 10);
        }
    }
    for (int64_t i = 2996; i >= 0; i -= 6) { /* backwards, and far */
        assert_int_equal(cra_mark_cursor_find(&cursor, cra_mark_tag((size_t)(i % 2), i), &found, &value, &f->error),
                         CRA_OK);
        assert_true(found);
        assert_int_equal(value, i * 10);
    }
    cra_mark_cursor_cleanup(&cursor);
    cra_marks_free(marks);
}

static void equal_entries_are_numbered_in_order(void **state)
{
    struct fixture *f = *state;
    const cra_allocator *allocator = &f->memory.allocator;
    cra_digest_sorter *sorter = NULL;
    cra_marks *marks = NULL;
    cra_mark_cursor cursor;
    int64_t value = 0;
    bool found;

    assert_int_equal(cra_digest_sorter_new(allocator, NULL, 1 << 20, &sorter, &f->error), CRA_OK);
    for (int64_t i = 0; i < 90; i++) {
        cra_digest_entry entry = {.tag = cra_mark_tag(0, i)};
        entry.key.bytes[0] = (uint8_t)(i % 30);
        assert_int_equal(cra_digest_sorter_add(sorter, &entry, &f->error), CRA_OK);
    }
    assert_int_equal(cra_marks_new(allocator, NULL, 1 << 20, &marks, &f->error), CRA_OK);
    assert_int_equal(cra_marks_add_occurrences(marks, sorter, &f->error), CRA_OK);
    assert_int_equal(cra_marks_seal(marks, &f->error), CRA_OK);
    assert_int_equal(cra_marks_count(marks), 60);
    cra_mark_cursor_init(&cursor, marks, allocator);
    for (int64_t i = 0; i < 90; i++) {
        assert_int_equal(cra_mark_cursor_find(&cursor, cra_mark_tag(0, i), &found, &value, &f->error), CRA_OK);
        assert_int_equal(found ? value : 0, i / 30);
    }
    cra_mark_cursor_cleanup(&cursor);
    cra_marks_free(marks);
    cra_digest_sorter_free(sorter);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(json_comes_in_any_shape),
        TEST(braces_in_strings_do_not_count),
        TEST(nothing_is_no_record),
        TEST(bad_json_names_its_place_behind_whole_records),
        TEST(extended_json_gives_types),
        TEST(bson_is_recognised_and_read),
        TEST(bson_that_begins_like_json_is_bson),
        TEST(bad_text_harms_its_own_document_alone),
        TEST(compressed_files_are_named),
        TEST(json_without_memory),
        TEST(marks_are_found_wherever_one_looks),
        TEST(equal_entries_are_numbered_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
