/* SPDX-License-Identifier: Apache-2.0 */

/* Archives that a stream wrote: records twice, older versions beside newer ones, records without `_id`. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/restore.h>

#include "base/buf.h"
#include "kit/life.h"
#include "ops/engine_internal.h"

static int open_life(void **state, cra_life_kind kind, const char *const *settings)
{
    cra_life *life = test_calloc(1, sizeof(*life));

    cra_life_open(life, kind, settings);
    *state = life;
    return 0;
}

static int set_up_memory(void **state)
{
    return open_life(state, CRA_LIFE_MEMORY, NULL);
}

static int set_up_sqlite(void **state)
{
    return open_life(state, CRA_LIFE_SQLITE, NULL);
}

static int set_up_versioned(void **state)
{
    static const char *const settings[] = {"archive.record_version_field", "rev", NULL};

    return open_life(state, CRA_LIFE_MEMORY, settings);
}

static int tear_down(void **state)
{
    cra_life_close(*state);
    test_free(*state);
    return 0;
}

static cra_status append(void *user, const void *data, size_t size, cra_error *err)
{
    (void)err;
    return cra_buf_append(user, data, size);
}

static void write_container(cra_buf *out, const char *json_lines)
{
    cra_avro_writer_options options = CRA_AVRO_WRITER_OPTIONS_INIT;
    cra_bytes text = cra_bytes_of_str(json_lines);
    cra_avro_writer *writer = NULL;
    cra_error error = {0};
    cra_buf record;
    size_t used;

    cra_buf_init(&record, NULL);
    memset(options.sync, 7, sizeof(options.sync));
    cra_life_expect(cra_avro_writer_open(NULL, &options, append, out, &writer, &error), CRA_OK, &error);
    while (cra_bson_from_json(text, &record, &used, &error) == CRA_OK) {
        cra_life_expect(cra_avro_writer_append(writer, cra_buf_bytes(&record), &error), CRA_OK, &error);
        text.data += used;
        text.size -= used;
        cra_buf_clear(&record);
    }
    cra_life_expect(cra_avro_writer_finish(writer, NULL, &error), CRA_OK, &error);
    cra_avro_writer_free(writer);
    cra_buf_cleanup(&record);
}

/* A data file of another writer in the folder of run 18. */
static void put_file(cra_life *life, const char *name, const char *json_lines)
{
    const cra_route_list *routes = cra_engine_routes(life->engine);
    cra_blob_info info = {.struct_size = sizeof(info)};
    cra_blobstore *store = NULL;
    cra_error error = {0};
    char object[200];
    cra_buf file;

    cra_buf_init(&file, NULL);
    write_container(&file, json_lines);
    snprintf(object, sizeof(object), "prices/18/%s", name);
    cra_life_expect(cra_engine_blobstore(life->engine, routes->entries[0].uri, &store, &error), CRA_OK, &error);
    cra_life_expect(cra_blobstore_put(store, object, cra_buf_bytes(&file), 0, &info, &error), CRA_OK, &error);
    cra_buf_cleanup(&file);
}

static void make_archived(cra_life *life)
{
    cra_error error = {0};
    cra_run_doc doc;

    cra_life_make_run(life, "prices", "18", 0);
    cra_life_deliver(life, "prices", "18", "success");
    cra_life_expect(cra_catalog_run_get(cra_engine_catalog(life->engine), "prices", "18", &doc, &error), CRA_OK,
                    &error);
    doc.state = CRA_RUN_ARCHIVED;
    cra_life_expect(cra_catalog_run_replace(cra_engine_catalog(life->engine), &doc, doc.version, NULL, &error), CRA_OK,
                    &error);
    cra_run_doc_cleanup(&doc, cra_context_allocator(life->context));
}

static cra_status restore(cra_life *life, cra_item *item, cra_error *error)
{
    static const char *const runs[] = {"18"};
    cra_result *result = NULL;
    const cra_status status = cra_restore_runs(life->engine, "prices", runs, 1, NULL, &result, error);

    *item = *cra_result_at(result, 0);
    item->report = item->run = item->detail = item->location = NULL; /* they die with the result */
    cra_result_free(result);
    return status;
}

/* The run's hot records as relaxed JSON, one behind the other. */
static void expect_hot(cra_life *life, int64_t count, const char *part)
{
    cra_bytes stream, document;
    cra_buf dump, text;

    cra_buf_init(&dump, NULL);
    cra_buf_init(&text, NULL);
    assert_int_equal(cra_life_dump(life, "prices", "18", &dump), count);
    stream = cra_buf_bytes(&dump);
    while (cra_bson_next_document(&stream, &document) == CRA_OK)
        assert_int_equal(cra_bson_to_json(document, CRA_JSON_RELAXED, &text, NULL), CRA_OK);
    if (part != NULL && strstr(cra_buf_cstr(&text), part) == NULL)
        fail_msg("'%s' is not in %s", part, cra_buf_cstr(&text));
    cra_buf_cleanup(&dump);
    cra_buf_cleanup(&text);
}

static void records_that_stand_twice_are_one(void **state)
{
    cra_life *life = *state;
    cra_error error = {0};
    cra_item item;

    make_archived(life);
    put_file(life, "a", "{\"_id\":1,\"a\":1}{\"_id\":2,\"a\":2}{\"_id\":1,\"a\":1}");
    put_file(life, "b", "{\"_id\":2,\"a\":2}{\"_id\":3,\"a\":3}");
    cra_life_expect(restore(life, &item, &error), CRA_OK, &error);
    assert_int_equal(item.counts[CRA_COUNT_RECORDS_READ], 5);
    assert_int_equal(item.counts[CRA_COUNT_RECORDS_NEW], 3);
    assert_int_equal(item.counts[CRA_COUNT_RECORDS_IDENTICAL], 2);
    expect_hot(life, 3, NULL);
    assert_int_equal(cra_life_state(life, "prices", "18"), CRA_RUN_RESTORED);
}

static void versions_that_nothing_decides_are_refused(void **state)
{
    cra_life *life = *state;
    cra_error error = {0};
    cra_item item;

    make_archived(life);
    put_file(life, "a", "{\"_id\":1,\"a\":1}{\"_id\":2,\"a\":2}");
    put_file(life, "b", "{\"_id\":2,\"a\":3}");
    assert_int_equal(restore(life, &item, &error), CRA_CONFLICT);
    assert_int_equal(item.reason, CRA_REASON_AMBIGUOUS_VERSIONS);
    expect_hot(life, 0, NULL);
    assert_int_equal(cra_life_state(life, "prices", "18"), CRA_RUN_ARCHIVED);
}

static void the_version_field_decides(void **state)
{
    cra_life *life = *state;
    cra_error error = {0};
    cra_item item;

    make_archived(life);
    put_file(life, "a", "{\"_id\":1,\"rev\":7,\"a\":\"newest\"}{\"_id\":2,\"a\":\"only\"}{\"_id\":1,\"a\":\"none\"}");
    put_file(life, "b", "{\"_id\":1,\"rev\":3,\"a\":\"old\"}{\"_id\":1,\"rev\":7,\"a\":\"newest\"}");
    cra_life_expect(restore(life, &item, &error), CRA_OK, &error);
    assert_int_equal(item.counts[CRA_COUNT_RECORDS_NEW], 2);
    assert_int_equal(item.counts[CRA_COUNT_RECORDS_IDENTICAL], 1);
    assert_int_equal(item.counts[CRA_COUNT_DUPLICATES], 2);
    expect_hot(life, 2, "newest");
    expect_hot(life, 2, "only");
}

static void a_tie_of_versions_is_refused(void **state)
{
    cra_life *life = *state;
    cra_error error = {0};
    cra_item item;

    make_archived(life);
    put_file(life, "a", "{\"_id\":1,\"rev\":7,\"a\":1}{\"_id\":1,\"rev\":3,\"a\":3}");
    put_file(life, "b", "{\"_id\":1,\"rev\":7.0,\"a\":2}");
    assert_int_equal(restore(life, &item, &error), CRA_CONFLICT);
    assert_int_equal(item.reason, CRA_REASON_AMBIGUOUS_VERSIONS);
}

/* What import derives for a file, restore derives for the same records in an archive. */
static void derived_ids_are_those_of_import(void **state)
{
    static const char lines[] = "{\"a\":1}\n{\"a\":2}\n{\"a\":1}\n{\"a\":1}\n{\"_id\":5,\"a\":1}\n";
    cra_life *life = *state;
    cra_life_bytes bytes;
    const cra_input input = cra_life_input(&bytes, "lines", lines, sizeof(lines) - 1, CRA_FORMAT_AUTO);
    cra_error error = {0};
    cra_buf imported, restored;
    cra_item item;

    cra_buf_init(&imported, NULL);
    cra_buf_init(&restored, NULL);
    cra_life_expect(cra_import_run(life->engine, "prices", "18", &input, 1, NULL, NULL, &error), CRA_OK, &error);
    assert_int_equal(cra_life_dump(life, "prices", "18", &imported), 5);
    cra_life_remove_records(life, "prices", "18");
    cra_life_deliver(life, "prices", "18", "success");
    put_file(life, "a", "{\"a\":1}{\"a\":2}");
    put_file(life, "b", "{\"a\":1}{\"a\":1}{\"_id\":5,\"a\":1}");
    cra_run_doc doc;
    cra_life_expect(cra_catalog_run_get(cra_engine_catalog(life->engine), "prices", "18", &doc, &error), CRA_OK,
                    &error);
    doc.state = CRA_RUN_ARCHIVED;
    cra_life_expect(cra_catalog_run_replace(cra_engine_catalog(life->engine), &doc, doc.version, NULL, &error), CRA_OK,
                    &error);
    cra_run_doc_cleanup(&doc, cra_context_allocator(life->context));
    cra_life_expect(restore(life, &item, &error), CRA_OK, &error);
    assert_int_equal(item.counts[CRA_COUNT_RECORDS_NEW], 5);
    cra_life_dump(life, "prices", "18", &restored);
    assert_int_equal(imported.size, restored.size);
    assert_memory_equal(imported.data, restored.data, restored.size);
    cra_buf_cleanup(&imported);
    cra_buf_cleanup(&restored);
}

static void records_of_another_run_fail_the_restore(void **state)
{
    cra_life *life = *state;
    cra_error error = {0};
    cra_item item;

    make_archived(life);
    put_file(life, "a", "{\"_id\":1,\"run_id\":18}{\"_id\":2,\"run_id\":19}{\"_id\":3}");
    assert_int_equal(restore(life, &item, &error), CRA_PARTIAL);
    assert_int_equal(item.reason, CRA_REASON_RECORDS);
    assert_int_equal(item.counts[CRA_COUNT_RECORDS_NEW], 2);
    assert_int_equal(item.counts[CRA_COUNT_RECORDS_FAILED], 1);
    assert_int_equal(cra_life_state(life, "prices", "18"), CRA_RUN_RESTORING);
    assert_non_null(strstr(item.error.message, "_id 2"));
}

/* ---- want of memory ---------------------------------------------------------------------------- */

static cra_status prepare_world(cra_context *context, cra_config *config, cra_engine **engine, cra_error *error)
{
    CRA_TRY(cra_config_set(config, "catalog.uri", "memory:", error));
    CRA_TRY(cra_config_set(config, "hot.uri", "memory:", error));
    CRA_TRY(cra_config_set(config, "archive.uri", "memory:", error));
    CRA_TRY(cra_config_validate(config, error));
    return cra_engine_open(context, config, CRA_ENGINE_CREATE, engine, error);
}

static cra_status prepare_run(cra_engine *engine, const cra_buf *file, cra_error *error)
{
    const cra_allocator *allocator = cra_engine_allocator(engine);
    cra_blob_info info = {.struct_size = sizeof(info)};
    cra_blobstore *store;
    cra_run_doc doc;
    cra_status status;

    CRA_TRY(cra_run_add(engine, "prices", "18", NULL, NULL, error));
    CRA_TRY(cra_engine_blobstore(engine, "memory:", &store, error));
    CRA_TRY(cra_blobstore_put(store, "prices/18/a", cra_buf_bytes(file), 0, &info, error));
    CRA_TRY(cra_catalog_run_get(cra_engine_catalog(engine), "prices", "18", &doc, error));
    doc.state = CRA_RUN_ARCHIVED;
    status = cra_catalog_run_replace(cra_engine_catalog(engine), &doc, doc.version, NULL, error);
    cra_run_doc_cleanup(&doc, allocator);
    return status;
}

static cra_status restore_once(const cra_allocator *allocator, void *user)
{
    static const char *const runs[] = {"18"};
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;
    cra_config *config = NULL;
    cra_engine *engine = NULL;
    cra_error error = {0};
    cra_status status;

    options.allocator = allocator;
    status = cra_context_new(&options, &context, &error);
    if (status == CRA_OK)
        status = cra_config_new(context, &config, &error);
    if (status == CRA_OK)
        status = prepare_world(context, config, &engine, &error);
    if (status == CRA_OK)
        status = prepare_run(engine, user, &error);
    if (status == CRA_OK)
        status = cra_restore_runs(engine, "prices", runs, 1, NULL, NULL, &error);
    cra_engine_free(engine);
    cra_config_free(config);
    cra_context_free(context);
    return status;
}

static void restoring_without_memory(void **state)
{
    cra_buf file;

    (void)state;
    cra_buf_init(&file, NULL);
    write_container(&file, "{\"_id\":1,\"a\":1}{\"a\":2}{\"a\":2}{\"_id\":1,\"a\":1}");
    cra_torture(restore_once, &file, CRA_OK, 500);
    cra_buf_cleanup(&file);
}

int main(void)
{
#define BOTH(name)                                                                                                     \
    cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down),                                                   \
        cmocka_unit_test_setup_teardown(name, set_up_sqlite, tear_down)
    const struct CMUnitTest tests[] = {
        BOTH(records_that_stand_twice_are_one),
        BOTH(versions_that_nothing_decides_are_refused),
        cmocka_unit_test_setup_teardown(the_version_field_decides, set_up_versioned, tear_down),
        cmocka_unit_test_setup_teardown(a_tie_of_versions_is_refused, set_up_versioned, tear_down),
        BOTH(derived_ids_are_those_of_import),
        BOTH(records_of_another_run_fail_the_restore),
        cmocka_unit_test(restoring_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
