/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/bson.h>

#include "base/buf.h"
#include "core/manifest.h"
#include "kit/data.h"
#include "kit/test_allocator.h"

#define DIGEST "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

/* Everything that a manifest can say, in one. */
static cra_status fill_documents(cra_manifest *m)
{
    size_t mark;
    size_t key;

    CRA_TRY(cra_bson_begin(&m->collection_options, &mark));
    CRA_TRY(cra_bson_put_bool(&m->collection_options, "capped", false));
    CRA_TRY(cra_bson_end(&m->collection_options, mark));
    for (int i = 0; i < 2; i++) {
        CRA_TRY(cra_bson_begin(&m->indexes, &mark));
        CRA_TRY(cra_bson_put_begin(&m->indexes, "key", CRA_BSON_DOCUMENT, &key));
        CRA_TRY(cra_bson_put_int64(&m->indexes, i == 0 ? "run_id" : "url", 1));
        CRA_TRY(cra_bson_end(&m->indexes, key));
        CRA_TRY(cra_bson_end(&m->indexes, mark));
    }
    CRA_TRY(cra_bson_begin(&m->run_document, &mark));
    CRA_TRY(cra_bson_put_string(&m->run_document, "run", "184000"));
    CRA_TRY(cra_bson_put_date(&m->run_document, "delivered_at", 1796101402000));
    CRA_TRY(cra_bson_put_int64(&m->run_document, "records", 5));
    return cra_bson_end(&m->run_document, mark);
}

static cra_status fill(cra_manifest *m)
{
    const cra_manifest_part parts[] = {
        {.name = (char *)(uintptr_t) "part-2-7-00000.avro",
         .size_bytes = 1000,
         .etag = (char *)(uintptr_t) "\"e-1\"",
         .sha256 = DIGEST,
         .records = 3,
         .bytes = 300,
         .kept = true},
        {.name = (char *)(uintptr_t) "dt=1/foreign", .size_bytes = 0, .records = 2, .bytes = -1, .foreign = true},
    };

    CRA_TRY(cra_manifest_set_text(m, &m->report, "pri\"ces\\ \n\xC3\xBC"));
    CRA_TRY(cra_manifest_set_text(m, &m->run, "184000"));
    CRA_TRY(cra_manifest_set_text(m, &m->run_field, "run_id"));
    CRA_TRY(cra_manifest_set_text(m, &m->collection, "records_prices"));
    CRA_TRY(cra_manifest_set_text(m, &m->codec, "snappy"));
    CRA_TRY(cra_manifest_set_text(m, &m->profile, "typed"));
    m->generation = 2;
    m->fence = 7;
    m->previous_generation = 1;
    m->created_at = INT64_C(1796101402007);
    m->written_after_close = true;
    m->level = 3;
    m->records = 5;
    m->distinct_ids = 4;
    m->bytes = 700;
    m->ids_in_records = true;
    for (size_t i = 0; i < 2; i++)
        CRA_TRY(cra_manifest_add_part(m, &parts[i]));
    CRA_TRY(cra_manifest_add_superseded(m, "part-1-3-00000.avro"));
    return fill_documents(m);
}

static void same_manifest(const cra_manifest *a, const cra_manifest *b)
{
    assert_string_equal(a->report, b->report);
    assert_string_equal(a->run, b->run);
    assert_string_equal(a->run_field, b->run_field);
    assert_string_equal(a->collection, b->collection);
    assert_string_equal(a->codec, b->codec);
    assert_string_equal(a->profile, b->profile);
    assert_int_equal(a->generation, b->generation);
    assert_int_equal(a->fence, b->fence);
    assert_int_equal(a->previous_generation, b->previous_generation);
    assert_int_equal(a->origin, b->origin);
    assert_int_equal(a->created_at, b->created_at);
    assert_int_equal(a->written_after_close, b->written_after_close);
    assert_int_equal(a->level, b->level);
    assert_int_equal(a->records, b->records);
    assert_int_equal(a->distinct_ids, b->distinct_ids);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->ids_in_records, b->ids_in_records);
    assert_int_equal(a->parts_count, b->parts_count);
    for (size_t i = 0; i < a->parts_count; i++) {
        const cra_manifest_part *p = &a->parts[i];
        const cra_manifest_part *q = &b->parts[i];
        assert_string_equal(p->name, q->name);
        assert_int_equal(p->size_bytes, q->size_bytes);
        assert_true((p->etag == NULL) == (q->etag == NULL));
        if (p->etag != NULL)
            assert_string_equal(p->etag, q->etag);
        assert_string_equal(p->sha256, q->sha256);
        assert_int_equal(p->records, q->records);
        assert_int_equal(p->bytes, q->bytes);
        assert_int_equal(p->foreign, q->foreign);
        assert_int_equal(p->kept, q->kept);
    }
    assert_int_equal(a->superseded_count, b->superseded_count);
    for (size_t i = 0; i < a->superseded_count; i++)
        assert_string_equal(a->superseded[i], b->superseded[i]);
    assert_true(cra_bytes_equal(cra_buf_bytes(&a->collection_options), cra_buf_bytes(&b->collection_options)));
    assert_true(cra_bytes_equal(cra_buf_bytes(&a->indexes), cra_buf_bytes(&b->indexes)));
    assert_true(cra_bytes_equal(cra_buf_bytes(&a->run_document), cra_buf_bytes(&b->run_document)));
}

static void a_manifest_comes_back(void **state)
{
    cra_test_allocator kit;
    cra_manifest manifest;
    cra_manifest back;
    cra_buf text;
    cra_buf again;
    cra_error err = {0};

    (void)state;
    cra_test_allocator_init(&kit);
    cra_manifest_init(&manifest, &kit.allocator);
    cra_buf_init(&text, &kit.allocator);
    cra_buf_init(&again, &kit.allocator);
    assert_int_equal(fill(&manifest), CRA_OK);
    if (cra_manifest_to_json(&manifest, &text, &err) != CRA_OK)
        fail_msg("%s", err.message);
    if (cra_manifest_from_json(cra_buf_bytes(&text), &kit.allocator, &back, &err) != CRA_OK)
        fail_msg("%s", err.message);
    assert_int_equal(back.format, 1);
    same_manifest(&manifest, &back);
    assert_int_equal(cra_manifest_to_json(&back, &again, &err), CRA_OK);
    assert_true(cra_bytes_equal(cra_buf_bytes(&text), cra_buf_bytes(&again)));

    assert_ptr_equal(cra_manifest_find_part(&back, "dt=1/foreign"), &back.parts[1]);
    assert_null(cra_manifest_find_part(&back, "dt=1"));
    assert_true(cra_manifest_knows(&back, "dt=1/foreign"));
    assert_true(cra_manifest_knows(&back, "part-1-3-00000.avro"));
    assert_false(cra_manifest_knows(&back, "part-1-3-00001.avro"));

    char digest[CRA_SHA256_HEX_SIZE];
    cra_manifest_digest(cra_bytes_of_str("test"), digest);
    assert_string_equal(digest, DIGEST);
    cra_manifest_cleanup(&manifest);
    cra_manifest_cleanup(&back);
    cra_manifest_cleanup(&back);
    cra_buf_cleanup(&text);
    cra_buf_cleanup(&again);
    cra_test_allocator_check(&kit);
}

/* The text is a contract: an archive of this format is read for ever, and equal manifests have equal digests. */
static void the_golden_manifest_stands(void **state)
{
    cra_manifest manifest;
    cra_manifest back;
    cra_buf golden;
    cra_buf text;
    cra_error err = {0};

    (void)state;
    cra_buf_init(&golden, NULL);
    cra_buf_init(&text, NULL);
    cra_manifest_init(&manifest, NULL);
    cra_test_read_file("tests/golden/manifest-format-1.json", &golden);
    assert_int_equal(fill(&manifest), CRA_OK);
    assert_int_equal(cra_manifest_to_json(&manifest, &text, &err), CRA_OK);
    assert_string_equal(cra_buf_cstr(&text), cra_buf_cstr(&golden));
    assert_int_equal(cra_manifest_from_json(cra_buf_bytes(&golden), NULL, &back, &err), CRA_OK);
    same_manifest(&manifest, &back);
    cra_manifest_cleanup(&manifest);
    cra_manifest_cleanup(&back);
    cra_buf_cleanup(&golden);
    cra_buf_cleanup(&text);
}

/* The smallest one, in which a test replaces one key by another text. */
static const char *const smallest[][2] = {
    {"format", "1"},
    {"min_reader", "1"},
    {"report", "\"r\""},
    {"run", "\"1\""},
    {"generation", "1"},
    {"fence", "1"},
    {"origin", "\"adopted\""},
    {"created_at", "\"2026-12-01\""},
    {"written_after_close", "true"},
    {"records", "2"},
    {"ids_in_records", "false"},
    {"parts", "[{\"name\":\"a\",\"size\":1,\"records\":2},{\"name\":\"b\",\"size\":1,\"records\":0}]"}};
#define SMALLEST (sizeof smallest / sizeof smallest[0])

static cra_status read_with(const char *key, const char *value, cra_error *err)
{
    cra_buf text;
    cra_manifest manifest;
    cra_test_allocator kit;
    bool replaced = false;

    cra_test_allocator_init(&kit);
    cra_buf_init(&text, NULL);
    for (size_t i = 0; i < SMALLEST; i++) {
        const bool here = key != NULL && strcmp(smallest[i][0], key) == 0;
        replaced = replaced || here;
        if (here && value == NULL)
            continue;
        assert_int_equal(cra_buf_appendf(&text, "%s\"%s\":%s", text.size == 0 ? "{" : ",", smallest[i][0],
                                         here ? value : smallest[i][1]),
                         CRA_OK);
    }
    if (key != NULL && !replaced)
        assert_int_equal(cra_buf_appendf(&text, ",\"%s\":%s", key, value), CRA_OK);
    assert_int_equal(cra_buf_append_str(&text, "}"), CRA_OK);
    const cra_status status = cra_manifest_from_json(cra_buf_bytes(&text), &kit.allocator, &manifest, err);
    if (status == CRA_OK)
        assert_string_equal(manifest.report, "r");
    else
        assert_null(manifest.report);
    cra_manifest_cleanup(&manifest);
    cra_buf_cleanup(&text);
    cra_test_allocator_check(&kit);
    return status;
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *key;
        const char *value;
        cra_status status;
        const char *message;
    } cases[] = {
        {"format", "0", CRA_CORRUPT, "format must be 1 or more"},
        {"min_reader", "2", CRA_UNSUPPORTED, "needs a reader of format 2; this one reads up to 1"},
        {"min_reader", "\"1\"", CRA_CORRUPT, "min_reader must be an integer"},
        {"report", "5", CRA_CORRUPT, "report must be text"},
        {"report", "\"a\\u0000b\"", CRA_CORRUPT, "report must be text without NUL"},
        {"report", "null", CRA_CORRUPT, "report is missing"},
        {"generation", "-1", CRA_CORRUPT, "generation must be 0 or more"},
        {"generation", "1.5", CRA_CORRUPT, "generation must be an integer"},
        {"previous_generation", "1", CRA_CORRUPT, "previous_generation must be before generation"},
        {"origin", "\"x\"", CRA_CORRUPT, "origin must be archive or adopted"},
        {"origin", "\"a very long word indeed\"", CRA_CORRUPT, "origin is too long"},
        {"created_at", "\"yesterday\"", CRA_CORRUPT, "created_at must be a time"},
        {"created_at", "5", CRA_CORRUPT, "created_at must be text"},
        {"written_after_close", "1", CRA_CORRUPT, "written_after_close must be true or false"},
        {"records", "3", CRA_CORRUPT, "records is not the sum of its parts"},
        {"distinct_ids", "3", CRA_CORRUPT, "distinct_ids must be between 0 and records"},
        {"distinct_ids", "-2", CRA_CORRUPT, "distinct_ids must be 0 or more"},
        {"bytes", "-5", CRA_CORRUPT, "bytes must be 0 or more"},
        {"parts", "{}", CRA_CORRUPT, "parts must be a list"},
        {"parts", "[5]", CRA_CORRUPT, "parts[0] must be an object"},
        {"parts", "[{\"size\":1}]", CRA_CORRUPT, "parts[0].name is missing"},
        {"parts", "[{\"name\":\"a\",\"size\":-1}]", CRA_CORRUPT, "parts[0].size must be 0 or more"},
        {"parts", "[{\"name\":\"a\"}]", CRA_CORRUPT, "parts[0].size is missing"},
        {"parts", "[{\"name\":\"../a\",\"size\":1}]", CRA_CORRUPT, "parts[0].name must be a name below"},
        {"parts", "[{\"name\":\"/a\",\"size\":1}]", CRA_CORRUPT, "parts[0].name must be a name below"},
        {"parts", "[{\"name\":\"a\",\"size\":1,\"sha256\":\"zz\"}]", CRA_CORRUPT, "parts[0].sha256 must be 64"},
        {"parts", "[{\"name\":\"a\",\"size\":1},{\"name\":\"a\",\"size\":1}]", CRA_CORRUPT, "parts name 'a' twice"},
        {"parts", "[{\"name\":\"a\",\"size\":1,\"records\":-4}]", CRA_CORRUPT, "parts[0].records must be 0 or more"},
        {"parts",
         "[{\"name\":\"a\",\"size\":1,\"records\":9223372036854775807},{\"name\":\"b\",\"size\":1,\"records\":1}]",
         CRA_CORRUPT, "more records than can be counted"},
        {"superseded", "[\"a\"]", CRA_CORRUPT, "parts name 'a' twice"},
        {"superseded", "[5]", CRA_CORRUPT, "superseded[0] must be text"},
        {"superseded", "[\"a\\u0000\"]", CRA_CORRUPT, "superseded[0] must be text without NUL"},
        {"superseded", "[\"..\"]", CRA_CORRUPT, "superseded[0] must be a name below"},
        {"indexes", "[1]", CRA_CORRUPT, "indexes[0] must be an object"},
        {"indexes", "5", CRA_CORRUPT, "indexes must be a list"},
        {"run_document", "[]", CRA_CORRUPT, "run_document must be an object"},
        {"collection_options", "5", CRA_CORRUPT, "collection_options must be an object"},
    };
    cra_error err = {0};

    (void)state;
    if (read_with(NULL, NULL, &err) != CRA_OK)
        fail_msg("%s", err.message);
    assert_int_equal(read_with("a_key_of_tomorrow", "{\"x\":[1]}", &err), CRA_OK);
    assert_int_equal(read_with("format", "9", &err), CRA_OK);
    assert_int_equal(read_with("created_at", "{\"$date\":\"2026-12-01T00:00:00Z\"}", &err), CRA_OK);
    assert_int_equal(read_with("parts", "[]", &err), CRA_CORRUPT);
    /* Where one part's count is unknown there is no sum. */
    assert_int_equal(read_with("parts", "[{\"name\":\"a\",\"size\":1}]", &err), CRA_OK);
    for (size_t i = 0; i < SMALLEST; i++) {
        err = (cra_error){0};
        assert_int_equal(read_with(smallest[i][0], NULL, &err), CRA_CORRUPT);
        assert_non_null(strstr(err.message, smallest[i][0]));
        assert_non_null(strstr(err.message, "is missing"));
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        err = (cra_error){0};
        if (read_with(cases[i].key, cases[i].value, &err) != cases[i].status)
            fail_msg("%s: %s gives %s", cases[i].key, cases[i].value, err.message);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("\"%s\" is not in \"%s\"", cases[i].message, err.message);
    }
}

static void texts_that_are_no_manifest(void **state)
{
    static const char *const cases[] = {"", "  ", "[]", "{", "x", "{}", "{}{}"};
    cra_manifest manifest;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_error err = {0};
        assert_int_equal(cra_manifest_from_json(cra_bytes_of_str(cases[i]), NULL, &manifest, &err), CRA_CORRUPT);
        assert_true(err.message[0] != '\0');
        assert_int_equal(manifest.parts_count, 0);
    }
}

/* A cut manifest is never taken for a whole one. */
static void every_prefix_is_refused(void **state)
{
    cra_manifest manifest;
    cra_manifest back;
    cra_buf text;

    (void)state;
    cra_manifest_init(&manifest, NULL);
    cra_buf_init(&text, NULL);
    assert_int_equal(fill(&manifest), CRA_OK);
    assert_int_equal(cra_manifest_to_json(&manifest, &text, NULL), CRA_OK);
    for (size_t size = 0; size < text.size; size++)
        assert_int_equal(cra_manifest_from_json(cra_bytes_of(text.data, size), NULL, &back, NULL), CRA_CORRUPT);
    cra_manifest_cleanup(&manifest);
    cra_buf_cleanup(&text);
}

static void what_would_not_be_read_is_not_written(void **state)
{
    cra_manifest m;
    cra_buf text;
    cra_error err = {0};

    (void)state;
    cra_buf_init(&text, NULL);
    cra_manifest_init(&m, NULL);
    assert_int_equal(cra_manifest_to_json(&m, &text, &err), CRA_CORRUPT);
    assert_non_null(strstr(err.message, "report is missing"));
    assert_int_equal(fill(&m), CRA_OK);
#define REFUSED(member, wrong, part_of_message)                                                                        \
    do {                                                                                                               \
        const int64_t kept_ = (int64_t)(member);                                                                       \
        (member) = (wrong);                                                                                            \
        assert_int_equal(cra_manifest_to_json(&m, &text, &err), CRA_CORRUPT);                                          \
        assert_non_null(strstr(err.message, part_of_message));                                                         \
        (member) = kept_;                                                                                              \
    } while (0)
    REFUSED(m.created_at, CRA_TIME_NONE, "created_at");
    REFUSED(m.fence, -1, "fence");
    REFUSED(m.generation, -1, "generation");
    REFUSED(m.previous_generation, -2, "previous_generation");
    REFUSED(m.records, -1, "records");
    REFUSED(m.records, 6, "sum");
    REFUSED(m.bytes, -2, "bytes");
    REFUSED(m.distinct_ids, 6, "distinct_ids");
    REFUSED(m.parts[0].size_bytes, -1, "parts[0].size");
    REFUSED(m.parts[1].records, -2, "parts[1].records");
    REFUSED(m.parts[1].bytes, -2, "parts[1].bytes");
    assert_int_equal(text.size, 0);
    assert_int_equal(cra_manifest_set_text(&m, &m.run, NULL), CRA_OK);
    assert_int_equal(cra_manifest_to_json(&m, &text, &err), CRA_CORRUPT);
    assert_int_equal(cra_manifest_set_text(&m, &m.run, "1"), CRA_OK);
    assert_int_equal(cra_buf_append_byte(&m.indexes, 5), CRA_OK);
    assert_int_equal(cra_manifest_to_json(&m, &text, &err), CRA_CORRUPT);
    assert_non_null(strstr(err.message, "indexes"));
    cra_manifest_cleanup(&m);
    cra_buf_cleanup(&text);
}

static cra_status there_and_back(const cra_allocator *allocator, void *user)
{
    cra_manifest manifest;
    cra_manifest back;
    cra_buf text;

    (void)user;
    cra_manifest_init(&manifest, allocator);
    cra_manifest_init(&back, allocator);
    cra_buf_init(&text, allocator);
    cra_status status = fill(&manifest);
    if (status == CRA_OK)
        status = cra_manifest_to_json(&manifest, &text, NULL);
    if (status == CRA_OK)
        status = cra_manifest_from_json(cra_buf_bytes(&text), allocator, &back, NULL);
    cra_manifest_cleanup(&manifest);
    cra_manifest_cleanup(&back);
    cra_buf_cleanup(&text);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    cra_torture(there_and_back, NULL, CRA_OK, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_comes_back),   cmocka_unit_test(the_golden_manifest_stands),
        cmocka_unit_test(what_is_wrong_is_named),  cmocka_unit_test(texts_that_are_no_manifest),
        cmocka_unit_test(every_prefix_is_refused), cmocka_unit_test(what_would_not_be_read_is_not_written),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
