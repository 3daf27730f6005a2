/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/life.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "kit/data.h"
#include "ops/engine_internal.h"
#include "os/clock.h"

void cra_life_expect_at(cra_status status, cra_status expected, const cra_error *error, const char *file, int line)
{
    if (status == expected)
        return;
    print_error("%s:%d: %s instead of %s: %s\n", file, line, cra_status_name(status), cra_status_name(expected),
                error != NULL ? error->message : "");
    _fail(file, line);
}

#define EXPECT_OK(call, error) cra_life_expect((call), CRA_OK, (error))

/* ---- the world -------------------------------------------------------------------------------- */

static cra_time_ms wall_ms(void *user)
{
    const cra_life *life = user;

    return cra_os_wall_ms() + (cra_time_ms)atomic_load(&life->ahead_ms);
}

static int progress(void *user, const cra_progress *progress)
{
    cra_life *life = user;

    return life->on_progress != NULL ? life->on_progress(life->progress_user, progress) : 0;
}

static void set(cra_life *life, const char *path, const char *value)
{
    cra_error error = {0};

    EXPECT_OK(cra_config_set(life->config, path, value, &error), &error);
}

static void set_all(cra_life *life, const char *const *settings)
{
    for (size_t i = 0; settings != NULL && settings[i] != NULL; i += 2)
        set(life, settings[i], settings[i + 1]);
}

static void configure(cra_life *life)
{
    char uri[600];

    if (life->kind == CRA_LIFE_MEMORY) {
        set(life, "catalog.uri", "memory:");
        set(life, "hot.uri", "memory:");
        set(life, "archive.uri", "memory:");
    } else {
        snprintf(uri, sizeof(uri), "sqlite:%s/crawl.db", life->folder);
        set(life, "catalog.uri", uri);
        set(life, "hot.uri", uri);
        snprintf(uri, sizeof(uri), "file:%s/archive", life->folder);
        set(life, "archive.uri", uri);
    }
    set(life, "spool.folder", life->folder);
}

static void open_engine(cra_life *life, const char *const *settings)
{
    cra_error error = {0};

    EXPECT_OK(cra_config_new(life->context, &life->config, &error), &error);
    configure(life);
    set_all(life, settings);
    EXPECT_OK(cra_config_validate(life->config, &error), &error);
    EXPECT_OK(cra_engine_open(life->context, life->config, CRA_ENGINE_CREATE, &life->engine, &error), &error);
}

void cra_life_open(cra_life *life, cra_life_kind kind, const char *const *settings)
{
    cra_life_open_with(life, kind, settings, NULL);
}

void cra_life_open_with(cra_life *life, cra_life_kind kind, const char *const *settings, const cra_backend *backend)
{
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_clock clock = {wall_ms, NULL, NULL, life};
    cra_error error = {0};

    memset(life, 0, sizeof(*life));
    life->kind = kind;
    cra_test_allocator_init(&life->memory);
    cra_test_make_folder(life->folder, sizeof(life->folder));
    options.allocator = &life->memory.allocator;
    options.clock = &clock;
    options.progress = progress;
    options.progress_user = life;
    EXPECT_OK(cra_context_new(&options, &life->context, &error), &error);
    if (backend != NULL)
        EXPECT_OK(cra_backend_register(life->context, backend, &error), &error);
    open_engine(life, settings);
}

void cra_life_reopen(cra_life *life, const char *const *settings)
{
    assert_int_not_equal(life->kind, CRA_LIFE_MEMORY);
    cra_engine_free(life->engine);
    cra_config_free(life->config);
    open_engine(life, settings);
}

void cra_life_close(cra_life *life)
{
    cra_engine_free(life->engine);
    cra_config_free(life->config);
    cra_context_free(life->context);
    cra_test_remove_tree(life->folder);
    cra_test_allocator_check(&life->memory);
}

void cra_life_advance(cra_life *life, int64_t duration_ms)
{
    atomic_fetch_add(&life->ahead_ms, duration_ms);
}

/* ---- records ---------------------------------------------------------------------------------- */

static void put(cra_buf *out, const char *name, uint8_t type, const void *data, size_t size)
{
    const cra_value value = {type, data, size};

    assert_int_equal(cra_bson_put_value(out, name, value), CRA_OK);
}

static void little_endian(uint8_t *out, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(number >> (8 * i));
}

static void put_number(cra_buf *out, const char *name, uint8_t type, uint64_t number, size_t size)
{
    uint8_t bytes[8];

    little_endian(bytes, number, size);
    put(out, name, type, bytes, size);
}

static void put_double(cra_buf *out, const char *name, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    put_number(out, name, CRA_BSON_DOUBLE, bits, 8);
}

int64_t cra_life_id_base(const char *run)
{
    uint32_t hash = 2166136261u;

    for (const char *at = run; *at != '\0'; at++)
        hash = (hash ^ (uint8_t)*at) * 16777619u;
    return (int64_t)(hash % 20000u) * 100000;
}

/* Mixed types, so that paging over them crosses every bracket; runs of one collection share none. */
static void put_id(cra_buf *out, const char *run, int64_t index)
{
    const int64_t number = cra_life_id_base(run) + index;
    uint8_t object_id[12] = {0x66, 0x5f};
    char text[64];

    switch (index % 3) {
    case 0:
        put_number(out, "_id", CRA_BSON_INT32, (uint64_t)number, 4);
        break;
    case 1:
        snprintf(text, sizeof(text), "record-%010lld", (long long)number);
        assert_int_equal(cra_bson_put_string(out, "_id", text), CRA_OK);
        break;
    default:
        little_endian(object_id + 4, (uint64_t)number, 8);
        put(out, "_id", CRA_BSON_OBJECTID, object_id, sizeof(object_id));
        break;
    }
}

static void put_scalars(cra_buf *out, int64_t index)
{
    static const uint64_t nan_payload = UINT64_C(0x7FF8DEADBEEF0001);
    uint8_t decimal[16] = {0};
    char text[64];

    snprintf(text, sizeof(text), "https://example.org/item/%lld?q=\xC3\xA4", (long long)index);
    assert_int_equal(cra_bson_put_string(out, "url", text), CRA_OK);
    put_number(out, "int32", CRA_BSON_INT32, (uint64_t)(uint32_t)-index, 4);
    put_number(out, "int64", CRA_BSON_INT64, (uint64_t)index << 33, 8);
    put_double(out, "price", (double)index / 7.0);
    put_double(out, "minus zero", -0.0);
    put_number(out, "nan", CRA_BSON_DOUBLE, nan_payload, 8);
    put_number(out, "seen", CRA_BSON_DATE, (uint64_t)(1700000000000 + index * 1000), 8);
    put_number(out, "stamp", CRA_BSON_TIMESTAMP, (uint64_t)index + 1, 8);
    decimal[0] = (uint8_t)index;
    decimal[15] = 0x30;
    put(out, "decimal", CRA_BSON_DECIMAL128, decimal, sizeof(decimal));
    assert_int_equal(cra_bson_put_bool(out, "in stock", index % 2 == 0), CRA_OK);
    assert_int_equal(cra_bson_put_null(out, "nothing"), CRA_OK);
}

static void put_oddities(cra_buf *out)
{
    put(out, "undefined", CRA_BSON_UNDEFINED, NULL, 0);
    put(out, "least", CRA_BSON_MINKEY, NULL, 0);
    put(out, "most", CRA_BSON_MAXKEY, NULL, 0);
    put(out, "pattern", CRA_BSON_REGEX, "^a.b\0i", 7);
    put(out, "code", CRA_BSON_CODE, "\4\0\0\0f()\0", 8);
    put(out, "symbol", CRA_BSON_SYMBOL, "\2\0\0\0s\0", 6);
    put(out, "pointer", CRA_BSON_DBPOINTER, "\2\0\0\0c\0\1\2\3\4\5\6\7\10\11\12\13\14", 18);
    put(out, "scoped", CRA_BSON_CODE_W_SCOPE, "\17\0\0\0\2\0\0\0f\0\5\0\0\0\0", 15);
    assert_int_equal(cra_bson_put_binary(out, "uuid", 4, cra_bytes_of("0123456789abcdef", 16)), CRA_OK);
    assert_int_equal(cra_bson_put_string(out, "", "empty key"), CRA_OK);
    assert_int_equal(cra_bson_put_string(out, "a.b", "dotted key"), CRA_OK);
    assert_int_equal(cra_bson_put_string(out, "tab\tkey", "two\nlines\\"), CRA_OK);
}

static void put_nested(cra_buf *out, int64_t index)
{
    size_t outer, inner;

    assert_int_equal(cra_bson_put_begin(out, "mixed", CRA_BSON_ARRAY, &outer), CRA_OK);
    put_number(out, "0", CRA_BSON_INT32, (uint64_t)index, 4);
    assert_int_equal(cra_bson_put_string(out, "1", "one"), CRA_OK);
    assert_int_equal(cra_bson_put_begin(out, "2", CRA_BSON_DOCUMENT, &inner), CRA_OK);
    assert_int_equal(cra_bson_put_int64(out, "deep", index), CRA_OK);
    assert_int_equal(cra_bson_end(out, inner), CRA_OK);
    assert_int_equal(cra_bson_end(out, outer), CRA_OK);
    assert_int_equal(cra_bson_put_begin(out, "empty", CRA_BSON_DOCUMENT, &outer), CRA_OK);
    assert_int_equal(cra_bson_end(out, outer), CRA_OK);
}

void cra_life_record(cra_buf *out, const char *run, int64_t index)
{
    uint8_t type = 0;
    cra_buf value;
    size_t mark;

    cra_buf_init(&value, NULL);
    assert_int_equal(cra_run_value(run, &value, &type), CRA_OK);
    assert_int_equal(cra_bson_begin(out, &mark), CRA_OK);
    put_id(out, run, index);
    put(out, "run_id", type, value.data, value.size);
    put_scalars(out, index);
    put_oddities(out);
    put_nested(out, index);
    assert_int_equal(cra_bson_end(out, mark), CRA_OK);
    cra_buf_cleanup(&value);
}

/* ---- runs ------------------------------------------------------------------------------------- */

cra_run *cra_life_run(cra_life *life, const char *report, const char *run)
{
    cra_error error = {0};
    cra_run *found = NULL;

    EXPECT_OK(cra_run_get(life->engine, report, run, &found, &error), &error);
    return found;
}

cra_run_state cra_life_state(cra_life *life, const char *report, const char *run)
{
    cra_run *found = cra_life_run(life, report, run);
    const cra_run_state state = (cra_run_state)cra_run_doc_of(found)->state;

    cra_run_free(found);
    return state;
}

static void write_one(cra_life *life, const char *collection, const cra_buf *record)
{
    const cra_bytes document = cra_buf_bytes(record);
    cra_write_result result = {0};
    cra_error error = {0};

    EXPECT_OK(cra_docstore_write_batch(cra_engine_docstore(life->engine), collection, &document, 1, 0, &result, &error),
              &error);
    assert_int_equal(result.outcome, CRA_WRITE_NEW);
}

void cra_life_add_records(cra_life *life, const char *report, const char *run, int64_t first, int64_t count)
{
    cra_run *found = cra_life_run(life, report, run);
    cra_buf record;

    cra_buf_init(&record, NULL);
    for (int64_t i = first; i < first + count; i++) {
        cra_buf_clear(&record);
        cra_life_record(&record, run, i);
        write_one(life, cra_run_doc_of(found)->collection, &record);
    }
    cra_buf_cleanup(&record);
    cra_run_free(found);
}

void cra_life_make_run(cra_life *life, const char *report, const char *run, int64_t count)
{
    cra_error error = {0};

    EXPECT_OK(cra_run_add(life->engine, report, run, NULL, NULL, &error), &error);
    cra_life_add_records(life, report, run, 0, count);
}

void cra_life_deliver(cra_life *life, const char *report, const char *run, const char *outcome)
{
    cra_run *found = cra_life_run(life, report, run);
    cra_error error = {0};

    EXPECT_OK(cra_run_deliver(life->engine, found, outcome, CRA_TIME_NONE, NULL, &error), &error);
    cra_run_free(found);
}

static cra_value last_id(cra_bytes page)
{
    cra_bytes document;
    cra_value id = {0, NULL, 0};

    while (cra_bson_next_document(&page, &document) == CRA_OK)
        assert_int_equal(cra_bson_find(document, "_id", 3, &id), CRA_OK);
    return id;
}

int64_t cra_life_dump(cra_life *life, const char *report, const char *run, cra_buf *out)
{
    cra_run *found = cra_life_run(life, report, run);
    cra_page_request request = {sizeof(request), {0, NULL, 0}, false, 100, 1 << 20};
    cra_hot_scope scope;
    cra_error error = {0};
    cra_buf page, id;
    int64_t total = 0;
    size_t count = 0;

    cra_buf_init(&page, NULL);
    cra_buf_init(&id, NULL);
    EXPECT_OK(cra_hot_scope_init(life->engine, cra_run_doc_of(found), &scope, &error), &error);
    do {
        cra_buf_clear(&page);
        EXPECT_OK(cra_docstore_page(cra_engine_docstore(life->engine), &scope.scope, &request, &page, &count, &error),
                  &error);
        total += (int64_t)count;
        assert_int_equal(cra_buf_append(out, page.data, page.size), CRA_OK);
        const cra_value last = last_id(cra_buf_bytes(&page));
        cra_buf_clear(&id);
        if (last.type != 0)
            assert_int_equal(cra_buf_append(&id, last.data, last.size), CRA_OK);
        request.after_id = (cra_value){last.type, id.data, id.size};
    } while (count > 0);
    cra_buf_cleanup(&page);
    cra_buf_cleanup(&id);
    cra_run_free(found);
    return total;
}

int64_t cra_life_count(cra_life *life, const char *report, const char *run)
{
    cra_run *found = cra_life_run(life, report, run);
    cra_hot_scope scope;
    cra_error error = {0};
    int64_t count = -1;

    EXPECT_OK(cra_hot_scope_init(life->engine, cra_run_doc_of(found), &scope, &error), &error);
    EXPECT_OK(cra_docstore_count(cra_engine_docstore(life->engine), &scope.scope, &count, &error), &error);
    cra_run_free(found);
    return count;
}

void cra_life_remove_records(cra_life *life, const char *report, const char *run)
{
    cra_run *found = cra_life_run(life, report, run);
    cra_hot_scope scope;
    cra_error error = {0};
    cra_bytes stream, document;
    cra_buf all;

    cra_buf_init(&all, NULL);
    cra_life_dump(life, report, run, &all);
    EXPECT_OK(cra_hot_scope_init(life->engine, cra_run_doc_of(found), &scope, &error), &error);
    stream = cra_buf_bytes(&all);
    while (cra_bson_next_document(&stream, &document) == CRA_OK) {
        cra_value id;
        int64_t removed = 0;
        assert_int_equal(cra_bson_find(document, "_id", 3, &id), CRA_OK);
        EXPECT_OK(cra_docstore_delete_batch(cra_engine_docstore(life->engine), &scope.scope, &id, 1,
                                            cra_bytes_of(NULL, 0), 0, &removed, &error),
                  &error);
    }
    cra_buf_cleanup(&all);
    cra_run_free(found);
}

/* ---- inputs ----------------------------------------------------------------------------------- */

static cra_status read_bytes(void *user, void *buffer, size_t capacity, size_t *got, cra_error *err)
{
    cra_life_bytes *state = user;

    (void)err;
    *got = state->left.size < capacity ? state->left.size : capacity;
    if (*got > 0)
        memcpy(buffer, state->left.data, *got);
    state->left.data += *got;
    state->left.size -= *got;
    return CRA_OK;
}

cra_input cra_life_input(cra_life_bytes *state, const char *name, const void *data, size_t size, cra_format format)
{
    const cra_source source = {sizeof(source), read_bytes, NULL, state};
    const cra_input input = {sizeof(input), name, source, format};

    state->left = cra_bytes_of(data, size);
    return input;
}
