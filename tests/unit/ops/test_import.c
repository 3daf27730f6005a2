/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/result.h>

#include "base/buf.h"
#include "kit/life.h"

static int set_up_memory(void **state)
{
    cra_life *life = test_calloc(1, sizeof(*life));

    cra_life_open(life, CRA_LIFE_MEMORY, NULL);
    *state = life;
    return 0;
}

static int set_up_sqlite(void **state)
{
    cra_life *life = test_calloc(1, sizeof(*life));

    cra_life_open(life, CRA_LIFE_SQLITE, NULL);
    *state = life;
    return 0;
}

static int tear_down(void **state)
{
    cra_life_close(*state);
    test_free(*state);
    return 0;
}

/* What an import came to; the texts are cut copies. */
struct outcome {
    cra_status status;
    int64_t counts[CRA_COUNT_END];
    cra_reason reason;
    char detail[600];
    cra_error error;
};

static struct outcome import_bytes(cra_life *life, const char *id, const void *data, size_t size, cra_format format)
{
    struct outcome outcome = {.reason = CRA_REASON_NONE};
    cra_import_options options = CRA_IMPORT_OPTIONS_INIT;
    cra_life_bytes bytes;
    const cra_input input = cra_life_input(&bytes, "crawl.data", data, size, format);
    cra_result *result = NULL;

    options.batch_docs = 3;
    outcome.status = cra_import_run(life->engine, "prices", id, &input, 1, &options, &result, &outcome.error);
    if (result != NULL) {
        const cra_item *item = cra_result_at(result, 0);
        memcpy(outcome.counts, item->counts, sizeof(outcome.counts));
        outcome.reason = item->reason;
        snprintf(outcome.detail, sizeof(outcome.detail), "%s", item->detail != NULL ? item->detail : "");
    }
    cra_result_free(result);
    return outcome;
}

static struct outcome import_text(cra_life *life, const char *id, const char *text)
{
    return import_bytes(life, id, text, strlen(text), CRA_FORMAT_AUTO);
}

static void expect(const struct outcome *o, cra_status status, int64_t fresh, int64_t identical, int64_t conflict,
                   int64_t failed)
{
    cra_life_expect(o->status, status, &o->error);
    assert_int_equal(o->counts[CRA_COUNT_RECORDS_NEW], fresh);
    assert_int_equal(o->counts[CRA_COUNT_RECORDS_IDENTICAL], identical);
    assert_int_equal(o->counts[CRA_COUNT_RECORDS_CONFLICT], conflict);
    assert_int_equal(o->counts[CRA_COUNT_RECORDS_FAILED], failed);
    assert_int_equal(o->counts[CRA_COUNT_RECORDS_READ],
                     fresh + identical + conflict + failed + o->counts[CRA_COUNT_RECORDS_UNSENT]);
}

static int64_t records_of(cra_life *life, const char *id)
{
    cra_run *run = cra_life_run(life, "prices", id);
    const int64_t records = cra_run_doc_of(run)->records;

    cra_run_free(run);
    return records;
}

static const char five[] = "[{\"_id\":1,\"a\":1},{\"_id\":\"two\",\"a\":2},{\"_id\":3.5},"
                           "{\"_id\":{\"$oid\":\"665f00000000000000000001\"}},{\"a\":5,\"_id\":5,\"run_id\":18}]";

static void records_become_a_run(void **state)
{
    cra_life *life = *state;
    struct outcome o = import_text(life, "18", five);

    expect(&o, CRA_OK, 5, 0, 0, 0);
    assert_int_equal(records_of(life, "18"), 5);
    assert_int_equal(cra_life_count(life, "prices", "18"), 5);
    assert_int_equal(cra_life_state(life, "prices", "18"), CRA_RUN_HOT);
}

static void a_second_import_changes_nothing(void **state)
{
    cra_life *life = *state;
    struct outcome o = import_text(life, "18", five);

    expect(&o, CRA_OK, 5, 0, 0, 0);
    o = import_text(life, "18", five);
    expect(&o, CRA_OK, 0, 5, 0, 0);
    assert_int_equal(records_of(life, "18"), 5);
}

static void nothing_is_overwritten(void **state)
{
    cra_life *life = *state;
    cra_buf before, after;
    struct outcome o = import_text(life, "18", five);

    cra_buf_init(&before, NULL);
    cra_buf_init(&after, NULL);
    cra_life_dump(life, "prices", "18", &before);
    o = import_text(life, "18", "{\"_id\":1,\"a\":7}\n{\"_id\":6}\n");
    expect(&o, CRA_PARTIAL, 1, 0, 1, 0);
    assert_int_equal(o.reason, CRA_REASON_CONFLICT);
    assert_non_null(strstr(o.detail, "_id 1"));
    assert_int_equal(cra_life_dump(life, "prices", "18", &after), 6);
    assert_int_equal(records_of(life, "18"), 6);
    /* the ids of another run are not this run's */
    o = import_text(life, "19", "{\"_id\":1,\"a\":1}\n");
    expect(&o, CRA_PARTIAL, 0, 0, 1, 0);
    cra_buf_cleanup(&before);
    cra_buf_cleanup(&after);
}

static void records_of_another_run_are_refused(void **state)
{
    cra_life *life = *state;
    struct outcome o =
        import_text(life, "18", "{\"_id\":1,\"run_id\":19}\n{\"run_id\":19}\n{\"_id\":2,\"run_id\":18}\n");

    expect(&o, CRA_PARTIAL, 1, 0, 0, 2);
    assert_int_equal(o.reason, CRA_REASON_RECORDS);
    assert_non_null(strstr(o.detail, "_id 1"));
    assert_int_equal(records_of(life, "18"), 1);
}

static void derived_ids_count_occurrences(void **state)
{
    static const char text[] = "{\"a\":1}\n{\"a\":2}\n{\"a\":1}\n{\"a\":1}\n{\"_id\":9,\"a\":1}\n{\"a\":3}\n";
    cra_life *life = *state;
    struct outcome o = import_text(life, "18", text);

    expect(&o, CRA_OK, 6, 0, 0, 0);
    o = import_text(life, "18", text);
    expect(&o, CRA_OK, 0, 6, 0, 0);
    o = import_text(life, "18", "{\"a\":1}\n{\"a\":1}\n{\"a\":1}\n{\"a\":1}\n");
    expect(&o, CRA_OK, 1, 3, 0, 0);
    assert_int_equal(records_of(life, "18"), 7);
    o = import_text(life, "19", text);
    expect(&o, CRA_PARTIAL, 5, 0, 1, 0); /* other runs have other ids; 9 is taken */
}

static void a_cut_file_gives_its_whole_records(void **state)
{
    cra_life *life = *state;
    struct outcome o = import_text(life, "18", "{\"_id\":1}\n{\"a\":1}\n{\"_id\":2}\n{\"_id\":");

    expect(&o, CRA_CORRUPT, 3, 0, 0, 0);
    assert_int_equal(o.reason, CRA_REASON_CORRUPT);
    assert_non_null(strstr(o.error.message, "crawl.data"));
    assert_non_null(strstr(o.error.message, "line 4"));
    assert_int_equal(records_of(life, "18"), 3);
}

static void every_bson_type_arrives_byte_for_byte(void **state)
{
    cra_life *life = *state;
    cra_buf file, dump;
    struct outcome o;

    cra_buf_init(&file, NULL);
    cra_buf_init(&dump, NULL);
    for (int64_t i = 0; i < 30; i += 3) /* int32 ids: their order is the file's */
        cra_life_record(&file, "18", i);
    o = import_bytes(life, "18", file.data, file.size, CRA_FORMAT_AUTO);
    expect(&o, CRA_OK, 10, 0, 0, 0);
    assert_int_equal(cra_life_dump(life, "prices", "18", &dump), 10);
    assert_int_equal(dump.size, file.size);
    assert_memory_equal(dump.data, file.data, file.size);
    cra_buf_cleanup(&file);
    cra_buf_cleanup(&dump);
}

static cra_status append(void *user, const void *data, size_t size, cra_error *err)
{
    (void)err;
    return cra_buf_append(user, data, size);
}

static void write_avro(cra_buf *out, int64_t count)
{
    cra_avro_writer_options options = CRA_AVRO_WRITER_OPTIONS_INIT;
    cra_avro_writer *writer = NULL;
    cra_error error = {0};
    cra_buf record;

    cra_buf_init(&record, NULL);
    memset(options.sync, 7, sizeof(options.sync));
    options.block_bytes = 2000;
    cra_life_expect(cra_avro_writer_open(NULL, &options, append, out, &writer, &error), CRA_OK, &error);
    for (int64_t i = 0; i < count; i++) {
        cra_buf_clear(&record);
        cra_life_record(&record, "18", 3 * i);
        cra_life_expect(cra_avro_writer_append(writer, cra_buf_bytes(&record), &error), CRA_OK, &error);
    }
    cra_life_expect(cra_avro_writer_finish(writer, NULL, &error), CRA_OK, &error);
    cra_avro_writer_free(writer);
    cra_buf_cleanup(&record);
}

static void our_avro_gives_back_the_bson(void **state)
{
    cra_life *life = *state;
    cra_buf file, dump, expected;
    struct outcome o;

    cra_buf_init(&file, NULL);
    cra_buf_init(&dump, NULL);
    cra_buf_init(&expected, NULL);
    write_avro(&file, 12);
    for (int64_t i = 0; i < 12; i++)
        cra_life_record(&expected, "18", 3 * i);
    o = import_bytes(life, "18", file.data, file.size, CRA_FORMAT_AUTO);
    expect(&o, CRA_OK, 12, 0, 0, 0);
    assert_int_equal(cra_life_dump(life, "prices", "18", &dump), 12);
    assert_int_equal(dump.size, expected.size);
    assert_memory_equal(dump.data, expected.data, expected.size);
    /* cut in its last block: the blocks before are whole */
    o = import_bytes(life, "18", file.data, file.size - 30, CRA_FORMAT_AUTO);
    assert_int_equal(o.status, CRA_CORRUPT);
    assert_non_null(strstr(o.error.message, "crawl.data"));
    assert_true(o.counts[CRA_COUNT_RECORDS_IDENTICAL] > 0 && o.counts[CRA_COUNT_RECORDS_IDENTICAL] < 12);
    cra_buf_cleanup(&file);
    cra_buf_cleanup(&dump);
    cra_buf_cleanup(&expected);
}

static void only_a_hot_run_takes_records(void **state)
{
    static const cra_run_state states[] = {CRA_RUN_SWEEPING, CRA_RUN_ARCHIVED, CRA_RUN_RESTORING, CRA_RUN_RESTORED};
    cra_life *life = *state;
    struct outcome o = import_text(life, "18", five);

    expect(&o, CRA_OK, 5, 0, 0, 0);
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        cra_error error = {0};
        cra_run_doc doc;
        cra_life_expect(cra_catalog_run_get(cra_engine_catalog(life->engine), "prices", "18", &doc, &error), CRA_OK,
                        &error);
        doc.state = states[i];
        cra_life_expect(cra_catalog_run_replace(cra_engine_catalog(life->engine), &doc, doc.version, NULL, &error),
                        CRA_OK, &error);
        cra_run_doc_cleanup(&doc, cra_context_allocator(life->context));
        o = import_text(life, "18", "{\"_id\":100}");
        assert_int_equal(o.status, CRA_INVALID);
        assert_non_null(strstr(o.error.message, cra_run_state_name(states[i])));
    }
    assert_int_equal(cra_life_count(life, "prices", "18"), 5);
}

static void a_closed_run_takes_records_while_it_is_hot(void **state)
{
    cra_life *life = *state;
    struct outcome o = import_text(life, "18", five);

    cra_life_deliver(life, "prices", "18", "success");
    o = import_text(life, "18", "{\"_id\":100}");
    expect(&o, CRA_OK, 1, 0, 0, 0);
    assert_int_equal(records_of(life, "18"), 6);
}

static void several_files_are_one_run(void **state)
{
    static const char first[] = "{\"a\":1}\n", second[] = "{\"a\":1}\n{\"a\":2}\n";
    cra_life *life = *state;
    cra_life_bytes bytes[2];
    const cra_input inputs[2] = {
        cra_life_input(&bytes[0], "first", first, sizeof(first) - 1, CRA_FORMAT_NDJSON),
        cra_life_input(&bytes[1], "second", second, sizeof(second) - 1, CRA_FORMAT_AUTO),
    };
    cra_error error = {0};

    cra_life_expect(cra_import_run(life->engine, "prices", "18", inputs, 2, NULL, NULL, &error), CRA_OK, &error);
    assert_int_equal(cra_life_count(life, "prices", "18"), 3);
}

/* A whole import in a world of its own, so that every allocation of it can fail. */
static cra_status import_once(const cra_allocator *allocator, void *user)
{
    static const char text[] = "[{\"_id\":1,\"a\":\"text\"},{\"a\":2},{\"a\":2},{\"_id\":\"x\"}]";
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;
    cra_config *config = NULL;
    cra_engine *engine = NULL;
    cra_result *result = NULL;
    cra_life_bytes bytes;
    const cra_input input = cra_life_input(&bytes, "text", text, sizeof(text) - 1, CRA_FORMAT_AUTO);
    cra_error error = {0};
    cra_status status;

    (void)user;
    options.allocator = allocator;
    status = cra_context_new(&options, &context, &error);
    if (status == CRA_OK)
        status = cra_config_new(context, &config, &error);
    if (status == CRA_OK)
        status = cra_config_set(config, "catalog.uri", "memory:", &error);
    if (status == CRA_OK)
        status = cra_config_set(config, "hot.uri", "memory:", &error);
    if (status == CRA_OK)
        status = cra_config_set(config, "archive.uri", "memory:", &error);
    if (status == CRA_OK)
        status = cra_config_validate(config, &error);
    if (status == CRA_OK)
        status = cra_engine_open(context, config, CRA_ENGINE_CREATE, &engine, &error);
    if (status == CRA_OK)
        status = cra_import_run(engine, "prices", "18", &input, 1, NULL, &result, &error);
    cra_result_free(result);
    cra_engine_free(engine);
    cra_config_free(config);
    cra_context_free(context);
    return status;
}

static void importing_without_memory(void **state)
{
    (void)state;
    cra_torture(import_once, NULL, CRA_OK, 300);
}

int main(void)
{
#define BOTH(name)                                                                                                     \
    cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down),                                                   \
        cmocka_unit_test_setup_teardown(name, set_up_sqlite, tear_down)
    const struct CMUnitTest tests[] = {
        BOTH(records_become_a_run),
        BOTH(a_second_import_changes_nothing),
        BOTH(nothing_is_overwritten),
        BOTH(records_of_another_run_are_refused),
        BOTH(derived_ids_count_occurrences),
        BOTH(a_cut_file_gives_its_whole_records),
        BOTH(every_bson_type_arrives_byte_for_byte),
        BOTH(our_avro_gives_back_the_bson),
        BOTH(only_a_hot_run_takes_records),
        BOTH(a_closed_run_takes_records_while_it_is_hot),
        BOTH(several_files_are_one_run),
        cmocka_unit_test(importing_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
