/* SPDX-License-Identifier: Apache-2.0 */

/* What is SQLite's own: files that are not ours, locks and deadlines, plans of queries, what SQL cannot index, and the
 * shell with the extension. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/sqlite/sqlite_docstore.h"
#include "base/buf.h"
#include "kit/data.h"
#include "kit/test_allocator.h"
#include "ports/context.h"

extern const cra_backend cra_backend_sqlite;

typedef struct fixture {
    cra_test_allocator kit;
    cra_context *context;
    char folder[512];
    char path[640];
    char uri[700];
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;

    cra_test_make_folder(f->folder, sizeof f->folder);
    snprintf(f->path, sizeof f->path, "%s/store.db", f->folder);
    snprintf(f->uri, sizeof f->uri, "sqlite:%s", f->path);
    cra_test_allocator_init(&f->kit);
    options.allocator = &f->kit.allocator;
    assert_int_equal(cra_context_new_bare(&options, &f->context, NULL), CRA_OK);
    assert_int_equal(cra_backend_register(f->context, &cra_backend_sqlite, NULL), CRA_OK);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;

    cra_context_free(f->context);
    cra_test_allocator_check(&f->kit);
    cra_test_remove_tree(f->folder);
    free(f);
    return 0;
}

static cra_status open_store(fixture *f, unsigned flags, cra_docstore **out, cra_error *err)
{
    const cra_open_args args = {sizeof args, f->context, f->uri, flags, NULL, 0};

    return cra_docstore_open(&args, out, err);
}

static cra_status open_catalog(fixture *f, unsigned flags, cra_catalog **out, cra_error *err)
{
    const cra_open_args args = {sizeof args, f->context, f->uri, flags, NULL, 0};

    return cra_catalog_open(&args, out, err);
}

/* Run SQL as another program would. */
static void run_sql(fixture *f, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(cra_sqlite_register_functions(db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void from_json(const char *json, cra_buf *out)
{
    cra_buf_clear(out);
    assert_int_equal(cra_bson_from_json(cra_bytes_of_str(json), out, NULL, NULL), CRA_OK);
}

static void write_json(cra_docstore *store, const char *json, cra_write_outcome wanted, const char *message)
{
    cra_write_result result;
    cra_buf document;

    cra_buf_init(&document, NULL);
    from_json(json, &document);
    const cra_bytes view = cra_buf_bytes(&document);
    assert_int_equal(cra_docstore_write_batch(store, "c", &view, 1, 0, &result, NULL), CRA_OK);
    assert_int_equal(result.outcome, wanted);
    if (message != NULL)
        assert_non_null(strstr(result.message, message));
    cra_buf_cleanup(&document);
}

static cra_status ensure_json(cra_docstore *store, const char *json, cra_error *err)
{
    cra_index_outcome outcome;
    cra_buf spec;

    cra_buf_init(&spec, NULL);
    from_json(json, &spec);
    const cra_status status = cra_docstore_index_ensure(store, "c", cra_buf_bytes(&spec), &outcome, err);
    cra_buf_cleanup(&spec);
    return status;
}

/* ---- files ---- */

static void a_missing_file_is_not_found(void **state)
{
    fixture *f = *state;
    cra_docstore *store = NULL;
    cra_error err = {0};

    assert_int_equal(open_store(f, 0, &store, &err), CRA_NOT_FOUND);
    assert_null(store);
    assert_non_null(strstr(err.message, f->path));
    assert_non_null(strstr(err.hint, "init"));
    assert_int_equal(access(f->path, F_OK), -1); /* and nothing was made */
    assert_int_equal(open_store(f, CRA_OPEN_READ_ONLY | CRA_OPEN_CREATE, &store, &err), CRA_NOT_FOUND);
    assert_int_equal(access(f->path, F_OK), -1);
    snprintf(f->uri, sizeof f->uri, "sqlite:%s/none/store.db", f->folder);
    assert_int_equal(open_store(f, CRA_OPEN_CREATE, &store, &err), CRA_NOT_FOUND);
    snprintf(f->uri, sizeof f->uri, "sqlite:");
    assert_int_equal(open_store(f, CRA_OPEN_CREATE, &store, &err), CRA_INVALID);
    snprintf(f->uri, sizeof f->uri, "sqlite:%s/store.db?mode=ro", f->folder);
    assert_int_equal(open_store(f, CRA_OPEN_CREATE, &store, &err), CRA_INVALID);
}

static void files_of_others_are_left_alone(void **state)
{
    fixture *f = *state;
    cra_docstore *store = NULL;
    cra_error err = {0};

    run_sql(f, "CREATE TABLE theirs (a)");
    assert_int_equal(open_store(f, CRA_OPEN_CREATE, &store, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "another program"));
    run_sql(f, "DROP TABLE theirs; PRAGMA application_id = 5");
    assert_int_equal(open_store(f, CRA_OPEN_CREATE, &store, &err), CRA_INVALID);
    FILE *file = fopen(f->path, "wb");
    assert_non_null(file);
    for (int i = 0; i < 500; i++)
        fprintf(file, "no database at all\n");
    fclose(file);
    assert_int_equal(open_store(f, CRA_OPEN_CREATE, &store, &err), CRA_CORRUPT);
    assert_int_equal(err.native_code & 0xFF, SQLITE_NOTADB);
}

static void a_newer_schema_is_refused(void **state)
{
    fixture *f = *state;
    cra_docstore *store = NULL;
    cra_catalog *catalog = NULL;
    cra_error err = {0};

    assert_int_equal(open_catalog(f, CRA_OPEN_CREATE, &catalog, &err), CRA_OK);
    cra_catalog_free(catalog);
    run_sql(f, "PRAGMA user_version = 99");
    assert_int_equal(open_store(f, CRA_OPEN_CREATE, &store, &err), CRA_UNSUPPORTED);
    assert_non_null(strstr(err.message, "99"));
    assert_int_equal(open_catalog(f, CRA_OPEN_READ_ONLY, &catalog, &err), CRA_UNSUPPORTED);
}

static void number_of(fixture *f, const char *sql, int64_t wanted)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;

    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(cra_sqlite_register_functions(db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int64(statement, 0), wanted);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static void catalog_and_records_share_a_file(void **state)
{
    fixture *f = *state;
    cra_docstore *store = NULL;
    cra_catalog *catalog = NULL;
    cra_run_doc run;
    cra_error err = {0};

    assert_int_equal(open_catalog(f, CRA_OPEN_CREATE, &catalog, &err), CRA_OK);
    assert_int_equal(open_store(f, CRA_OPEN_CREATE, &store, &err), CRA_OK);
    cra_run_doc_init(&run);
    run.report = (char *)(uintptr_t) "r";
    run.run = (char *)(uintptr_t) "1";
    run.collection = (char *)(uintptr_t) "c";
    assert_int_equal(cra_catalog_run_insert(catalog, &run, &err), CRA_OK);
    write_json(store, "{\"_id\":1,\"run_id\":1}", CRA_WRITE_NEW, NULL);
    number_of(f, "PRAGMA application_id", CRA_SQLITE_APPLICATION_ID);
    number_of(f, "PRAGMA user_version", CRA_SQLITE_SCHEMA_VERSION);
    number_of(f, "PRAGMA page_size", 8192);
    number_of(f, "SELECT count(*) FROM runs WHERE report = 'r' AND state = 0 AND archive_at IS NULL", 1);
    number_of(f, "SELECT bson_get(doc, 'run_id') FROM v_c", 1);
    number_of(f, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'", 1);
    cra_catalog_free(catalog);
    cra_docstore_free(store);
}

/* ---- locks ---- */

static void a_locked_file_is_waited_for_until_the_deadline(void **state)
{
    fixture *f = *state;
    cra_docstore *store = NULL;
    cra_write_result result;
    cra_buf document;
    sqlite3 *other = NULL;
    cra_error err = {0};

    cra_buf_init(&document, NULL);
    from_json("{\"_id\":1,\"run_id\":1}", &document);
    const cra_bytes view = cra_buf_bytes(&document);
    assert_int_equal(open_store(f, CRA_OPEN_CREATE, &store, &err), CRA_OK);
    assert_int_equal(sqlite3_open(f->path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    const int64_t begun = cra_context_monotonic_ms(f->context);
    assert_int_equal(cra_docstore_write_batch(store, "c", &view, 1, begun + 200, &result, &err), CRA_TIMEOUT);
    const int64_t waited = cra_context_monotonic_ms(f->context) - begun;
    assert_true(waited >= 150 && waited < 5000);
    assert_int_equal(result.outcome, CRA_WRITE_UNSENT);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(
        cra_docstore_write_batch(store, "c", &view, 1, cra_context_monotonic_ms(f->context) + 60000, &result, &err),
        CRA_OK);
    assert_int_equal(result.outcome, CRA_WRITE_NEW);
    sqlite3_close(other);
    cra_docstore_free(store);
    cra_buf_cleanup(&document);
}

/* ---- indexes ---- */

/* The plan of find() on `path`, as text. */
static void plan_of(fixture *f, const char *path, bool with_null, char *out, size_t size)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    cra_buf sql;
    size_t used = 0;

    cra_buf_init(&sql, NULL);
    assert_int_equal(cra_buf_append_str(&sql, "EXPLAIN QUERY PLAN "), CRA_OK);
    assert_int_equal(cra_sqlite_find_sql(1, path, with_null, &sql), CRA_OK);
    assert_non_null(cra_buf_cstr(&sql));
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(cra_sqlite_register_functions(db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, (const char *)sql.data, -1, &statement, NULL), SQLITE_OK);
    out[0] = '\0';
    while (sqlite3_step(statement) == SQLITE_ROW)
        used += (size_t)snprintf(out + used, size - used, "%s; ", (const char *)sqlite3_column_text(statement, 3));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    cra_buf_cleanup(&sql);
}

static void queries_use_indexes(void **state)
{
    fixture *f = *state;
    cra_docstore *store = NULL;
    char plan[2048];
    cra_error err = {0};

    assert_int_equal(open_store(f, CRA_OPEN_CREATE, &store, &err), CRA_OK);
    write_json(store, "{\"_id\":1,\"run_id\":1,\"url\":\"x\"}", CRA_WRITE_NEW, NULL);
    plan_of(f, "url", false, plan, sizeof plan);
    assert_null(strstr(plan, "i_"));
    assert_int_equal(ensure_json(store, "{\"key\":{\"url\":1}}", &err), CRA_OK);
    plan_of(f, "url", true, plan, sizeof plan);
    assert_non_null(strstr(plan, "USING INDEX i_1 "));
    assert_non_null(strstr(plan, "USING INDEX i_1_arrays"));
    assert_null(strstr(plan, "SCAN c_1"));
    assert_int_equal(ensure_json(store, "{\"key\":{\"it's.x\":-1},\"sparse\":true}", &err), CRA_OK);
    plan_of(f, "it's.x", false, plan, sizeof plan);
    assert_non_null(strstr(plan, "USING INDEX i_2 "));
    assert_null(strstr(plan, "SCAN c_1"));
    plan_of(f, "it's.x", true, plan, sizeof plan); /* what is missing is not in a sparse index */
    assert_null(strstr(plan, "USING INDEX i_2 "));
    cra_docstore_free(store);
}

static void what_sql_cannot_index_is_refused(void **state)
{
    static const char *const unsupported[] = {
        "{\"key\":{\"a\":\"text\"}}",
        "{\"key\":{\"a\":\"2dsphere\"}}",
        "{\"key\":{\"a\":\"hashed\"}}",
        "{\"key\":{\"$**\":1}}",
        "{\"key\":{\"a.$**\":1}}",
        "{\"key\":{\"a\":1},\"collation\":{\"locale\":\"de\"}}",
        "{\"key\":{\"a\":1},\"partialFilterExpression\":{\"a\":{\"$in\":[1]}}}",
    };
    fixture *f = *state;
    cra_docstore *store = NULL;
    cra_error err = {0};

    assert_int_equal(open_store(f, CRA_OPEN_CREATE, &store, &err), CRA_OK);
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++) {
        if (ensure_json(store, unsupported[i], &err) != CRA_UNSUPPORTED)
            fail_msg("%s: %s", unsupported[i], err.message);
    }
    assert_int_equal(ensure_json(store, "{\"key\":{\"a\":1},\"collation\":{\"locale\":\"simple\"}}", &err), CRA_OK);
    /* A time to live is kept and listed; nothing expires. */
    assert_int_equal(ensure_json(store, "{\"key\":{\"at\":1},\"expireAfterSeconds\":1}", &err), CRA_OK);
    cra_docstore_free(store);
}

static void unique_indexes_take_no_arrays(void **state)
{
    fixture *f = *state;
    cra_docstore *store = NULL;
    cra_error err = {0};

    assert_int_equal(open_store(f, CRA_OPEN_CREATE, &store, &err), CRA_OK);
    assert_int_equal(ensure_json(store, "{\"key\":{\"a.b\":1},\"unique\":true,\"sparse\":true}", &err), CRA_OK);
    write_json(store, "{\"_id\":1,\"a\":{\"b\":[1]}}", CRA_WRITE_FAILED, "unique index over an array");
    write_json(store, "{\"_id\":2,\"a\":[{\"b\":1}]}", CRA_WRITE_FAILED, "unique index over an array");
    write_json(store, "{\"_id\":3,\"a\":{\"b\":1},\"c\":[1]}", CRA_WRITE_NEW, NULL);
    assert_int_equal(ensure_json(store, "{\"key\":{\"c\":1},\"unique\":true}", &err), CRA_UNSUPPORTED);
    assert_int_equal(ensure_json(store, "{\"key\":{\"c\":1}}", &err), CRA_OK);
    cra_docstore_free(store);
}

static void collections_that_are_no_tables_are_refused(void **state)
{
    static const char *const options[] = {"{\"capped\":true,\"size\":4096}", "{\"timeseries\":{\"timeField\":\"t\"}}",
                                          "{\"viewOn\":\"x\"}"};
    fixture *f = *state;
    cra_docstore *store = NULL;
    cra_buf spec;
    cra_buf out;
    cra_error err = {0};

    cra_buf_init(&spec, NULL);
    cra_buf_init(&out, NULL);
    assert_int_equal(open_store(f, CRA_OPEN_CREATE, &store, &err), CRA_OK);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        from_json(options[i], &spec);
        assert_int_equal(cra_docstore_collection_create(store, "c", cra_buf_bytes(&spec), &err), CRA_UNSUPPORTED);
    }
    from_json("{\"capped\":false,\"validator\":{\"a\":{\"$exists\":true}}}", &spec);
    assert_int_equal(cra_docstore_collection_create(store, "c", cra_buf_bytes(&spec), &err), CRA_OK);
    assert_int_equal(cra_docstore_collection_get(store, "c", &out, &err), CRA_OK);
    assert_true(cra_bytes_equal(cra_buf_bytes(&spec), cra_buf_bytes(&out))); /* given back as it was given */
    cra_buf_cleanup(&spec);
    cra_buf_cleanup(&out);
    cra_docstore_free(store);
}

/* ---- functions ---- */

static void text_of(fixture *f, const char *sql, const char *wanted)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;

    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(cra_sqlite_register_functions(db), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const char *got = (const char *)sqlite3_column_text(statement, 0);
    if (wanted == NULL)
        assert_null(got);
    else
        assert_string_equal(got != NULL ? got : "(null)", wanted);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static void functions_read_documents(void **state)
{
    fixture *f = *state;
    cra_docstore *store = NULL;
    cra_error err = {0};

    assert_int_equal(open_store(f, CRA_OPEN_CREATE, &store, &err), CRA_OK);
    write_json(
        store,
        "{\"_id\":{\"$oid\":\"5f0000000000000000000001\"},\"run_id\":7,\"s\":\"t\\u00e9xt\",\"i\":-5,\"d\":1.5,"
        "\"b\":true,\"n\":null,\"l\":[1,{\"x\":\"y\"}],\"o\":{\"p\":\"q\"},\"t\":{\"$date\":\"2024-01-02T03:04:05Z\"}}",
        CRA_WRITE_NEW, NULL);
    text_of(f, "SELECT bson_get(doc, 's') FROM c_1", "t\xc3\xa9xt");
    text_of(f, "SELECT typeof(bson_get(doc, 'i')) || bson_get(doc, 'i') FROM c_1", "integer-5");
    text_of(f, "SELECT typeof(bson_get(doc, 'd')) || bson_get(doc, 'd') FROM c_1", "real1.5");
    text_of(f, "SELECT bson_get(doc, 'b') FROM c_1", "1");
    text_of(f, "SELECT bson_get(doc, 'n') FROM c_1", NULL);
    text_of(f, "SELECT bson_get(doc, 'none') FROM c_1", NULL);
    text_of(f, "SELECT bson_get(doc, 'l.1.x') FROM c_1", "y");
    text_of(f, "SELECT bson_get(doc, 'o') FROM c_1", "{\"p\":\"q\"}");
    text_of(f, "SELECT json_extract(json, '$.o.p') FROM v_c WHERE run = 7", "q");
    text_of(f, "SELECT bson_key(doc, 'run_id') = bson_key(doc, 'run_id') FROM c_1", "1");
    text_of(f, "SELECT bson_key(doc, 'none') = bson_key(doc, 'n') FROM c_1", "1"); /* missing is null */
    text_of(f, "SELECT bson_has(doc, 'n') || bson_has(doc, 'none') FROM c_1", "10");
    text_of(f, "SELECT bson_is_array(doc, 'l.x') FROM c_1", "1");
    text_of(f, "SELECT bson_is_array(doc, 'o.p') FROM c_1", NULL);
    /* What is no document gives no answer, and does no harm. */
    text_of(f, "SELECT bson_json(x'05000000')", NULL);
    text_of(f, "SELECT bson_json(NULL)", NULL);
    text_of(f, "SELECT bson_json('text')", NULL);
    text_of(f, "SELECT bson_get(x'ffffffff00', 'a')", NULL);
    text_of(f, "SELECT bson_get(x'0c0000001061000100000000', NULL)", NULL);
    text_of(f, "SELECT bson_match(x'00', x'00')", "0");
    text_of(f, "SELECT bson_any(x'0500000000', 'a', NULL)", "0");
    cra_docstore_free(store);
}

/* ---- memory ---- */

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    fixture *f = user;
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;
    cra_docstore *store = NULL;
    cra_buf out;
    size_t count = 0;
    cra_write_result result;
    cra_index_outcome outcome;
    static const uint8_t document[] = {14, 0, 0, 0, 16, '_', 'i', 'd', 0, 1, 0, 0, 0, 0};
    static const uint8_t spec[] = {22, 0, 0, 0, 3, 'k', 'e', 'y', 0, 12, 0, 0, 0, 16, 'a', 0, 1, 0, 0, 0, 0, 0};
    const cra_value id = {CRA_BSON_INT32, document + 9, 4};
    const cra_scope scope = {"c", "run_id", id};
    const cra_bytes view = {document, sizeof document};
    const cra_page_request request = {sizeof request, {0, NULL, 0}, true, 10, 1000};
    int64_t number = 0;

    (void)unlink(f->path);
    cra_buf_init(&out, allocator);
    options.allocator = allocator;
    cra_status status = cra_context_new_bare(&options, &context, NULL);
    if (status == CRA_OK)
        status = cra_backend_register(context, &cra_backend_sqlite, NULL);
    const cra_open_args args = {sizeof args, context, f->uri, CRA_OPEN_CREATE, NULL, 0};
    if (status == CRA_OK)
        status = cra_docstore_open(&args, &store, NULL);
    if (status == CRA_OK)
        status = cra_docstore_index_ensure(store, "c", (cra_bytes){spec, sizeof spec}, &outcome, NULL);
    if (status == CRA_OK)
        status = cra_docstore_write_batch(store, "c", &view, 1, 0, &result, NULL);
    if (status == CRA_OK)
        status = cra_docstore_fetch(store, "c", &id, 1, &out, NULL);
    if (status == CRA_OK)
        status = cra_docstore_page(store, &scope, &request, &out, &count, NULL);
    if (status == CRA_OK)
        status = cra_docstore_find(store, "c", "a", id, id, 5, &out, &count, NULL);
    if (status == CRA_OK)
        status = cra_docstore_replace_if(store, "c", id, view, view, NULL);
    if (status == CRA_OK)
        status = cra_docstore_delete_batch(store, &scope, &id, 1, view, 0, &number, NULL);
    if (status == CRA_OK)
        status = cra_docstore_count(store, &scope, &number, NULL);
    cra_docstore_free(store);
    cra_context_free(context);
    cra_buf_cleanup(&out);
    return status;
}

static void survives_lack_of_memory(void **state)
{
    cra_torture(attempt, *state, CRA_OK, 1000);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_missing_file_is_not_found),
        CASE(files_of_others_are_left_alone),
        CASE(a_newer_schema_is_refused),
        CASE(catalog_and_records_share_a_file),
        CASE(a_locked_file_is_waited_for_until_the_deadline),
        CASE(queries_use_indexes),
        CASE(what_sql_cannot_index_is_refused),
        CASE(unique_indexes_take_no_arrays),
        CASE(collections_that_are_no_tables_are_refused),
        CASE(functions_read_documents),
        CASE(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("sqlite_store", tests, NULL, NULL);
}
