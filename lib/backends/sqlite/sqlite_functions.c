/* SPDX-License-Identifier: Apache-2.0 */

/* SQL functions over BSON blobs. They are deterministic and innocuous, so that expression indexes and views may use
 * them. Also compiled into the loadable extension. */

#include <sqlite3.h>
#include <string.h>

#include <crawlarchive/sys/docstore.h>

#include "backends/sqlite/sqlite_functions.h"

/* Document and path of a call; false (and a NULL result) where either is missing or damaged. */
static bool arguments(sqlite3_value **argv, cra_value *value)
{
    const char *path = (const char *)sqlite3_value_text(argv[1]);
    const cra_bytes document = {sqlite3_value_blob(argv[0]), (size_t)sqlite3_value_bytes(argv[0])};

    value->type = 0;
    return path != NULL && document.data != NULL && cra_bson_path(document, path, value) == CRA_OK;
}

static void result_buffer(sqlite3_context *context, cra_status status, const cra_buf *buffer, bool text)
{
    if (status == CRA_NOMEM)
        sqlite3_result_error_nomem(context);
    else if (status != CRA_OK)
        sqlite3_result_null(context);
    else if (text)
        sqlite3_result_text64(context, (const char *)buffer->data, buffer->size, SQLITE_TRANSIENT, SQLITE_UTF8);
    else
        sqlite3_result_blob64(context, buffer->data, buffer->size, SQLITE_TRANSIENT);
}

/* bson_key(DOC, PATH): the order key of the value at PATH, that of null where there is none: memcmp orders keys as
 * MongoDB orders values. What indexes are built on. */
static void bson_key(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const cra_value null_value = {CRA_BSON_NULL, NULL, 0};
    cra_value value;
    cra_buf key;

    (void)argc;
    cra_buf_init(&key, NULL);
    const cra_status status = cra_value_order_key(arguments(argv, &value) ? value : null_value, &key);
    result_buffer(context, status, &key, false);
    cra_buf_cleanup(&key);
}

/* bson_has(DOC, PATH): 1 where there is a value at PATH. */
static void bson_has(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    cra_value value;

    (void)argc;
    sqlite3_result_int(context, arguments(argv, &value) ? 1 : 0);
}

/* bson_is_array(DOC, PATH): 1 where PATH leads to an array or through one, NULL elsewhere, so that a partial index
 * holds only such documents. */
static void bson_is_array(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const char *path = (const char *)sqlite3_value_text(argv[1]);
    cra_bytes document = {sqlite3_value_blob(argv[0]), (size_t)sqlite3_value_bytes(argv[0])};

    (void)argc;
    while (path != NULL && document.data != NULL && *path != '\0') {
        const size_t size = strcspn(path, ".");
        cra_value value;

        if (cra_bson_find(document, path, size, &value) != CRA_OK)
            break;
        if (value.type == CRA_BSON_ARRAY) {
            sqlite3_result_int(context, 1);
            return;
        }
        if (value.type != CRA_BSON_DOCUMENT)
            break;
        document = cra_value_document(value);
        path += size + (path[size] == '.');
    }
    sqlite3_result_null(context);
}

/* bson_get(DOC, PATH): the value as SQL has it; documents, arrays and odd types as extended JSON. */
static void bson_get(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    cra_value value;
    cra_buf json;
    int64_t number;

    (void)argc;
    if (!arguments(argv, &value)) {
        sqlite3_result_null(context);
        return;
    }
    const cra_bytes text = cra_value_text(value);
    switch (value.type) {
    case CRA_BSON_STRING:
        sqlite3_result_text64(context, (const char *)text.data, text.size, SQLITE_TRANSIENT, SQLITE_UTF8);
        return;
    case CRA_BSON_INT32:
    case CRA_BSON_INT64:
        (void)cra_value_as_int64(value, &number);
        sqlite3_result_int64(context, number);
        return;
    case CRA_BSON_BOOL:
        sqlite3_result_int(context, value.data[0]);
        return;
    case CRA_BSON_DOUBLE: {
        double real;
        memcpy(&real, value.data, sizeof real);
        sqlite3_result_double(context, real);
        return;
    }
    case CRA_BSON_NULL:
    case CRA_BSON_UNDEFINED:
        sqlite3_result_null(context);
        return;
    default:
        cra_buf_init(&json, NULL);
        result_buffer(context, cra_value_to_json(value, CRA_JSON_RELAXED, &json, NULL), &json, true);
        cra_buf_cleanup(&json);
    }
}

/* bson_json(DOC): the document as relaxed extended JSON. */
static void bson_json(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const cra_bytes document = {sqlite3_value_blob(argv[0]), (size_t)sqlite3_value_bytes(argv[0])};
    cra_buf json;

    (void)argc;
    cra_buf_init(&json, NULL);
    const cra_status status =
        document.data != NULL ? cra_bson_to_json(document, CRA_JSON_RELAXED, &json, NULL) : CRA_CORRUPT;
    result_buffer(context, status, &json, true);
    cra_buf_cleanup(&json);
}

/* bson_match(DOC, FILTER): 1 where the document is in the partial index of FILTER, a BSON document. */
static void bson_match(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const cra_bytes document = {sqlite3_value_blob(argv[0]), (size_t)sqlite3_value_bytes(argv[0])};
    const cra_bytes filter = {sqlite3_value_blob(argv[1]), (size_t)sqlite3_value_bytes(argv[1])};

    (void)argc;
    sqlite3_result_int(context, cra_index_filter_matches(filter, document) ? 1 : 0);
}

typedef struct key_search {
    cra_buf key;
    cra_bytes wanted;
    bool any;
    bool equal;
} key_search;

static cra_status compare_key(void *user, cra_value value)
{
    key_search *s = user;

    s->any = true;
    s->key.size = 0;
    const cra_status status = cra_value_order_key(value, &s->key);
    if (status != CRA_OK)
        return status;
    s->equal = s->equal || (s->key.size == s->wanted.size && memcmp(s->key.data, s->wanted.data, s->key.size) == 0);
    return CRA_OK;
}

/* bson_any(DOC, PATH, KEY): 1 where any value that a query on PATH looks at has the order key KEY. */
static void bson_any(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const cra_value null_value = {CRA_BSON_NULL, NULL, 0};
    const char *path = (const char *)sqlite3_value_text(argv[1]);
    const cra_bytes document = {sqlite3_value_blob(argv[0]), (size_t)sqlite3_value_bytes(argv[0])};
    key_search s = {.wanted = {sqlite3_value_blob(argv[2]), (size_t)sqlite3_value_bytes(argv[2])}};
    cra_status status = CRA_OK;

    (void)argc;
    cra_buf_init(&s.key, NULL);
    if (path != NULL && s.wanted.data != NULL)
        status = cra_bson_path_each(document, path, compare_key, &s);
    /* A missing field equals null. */
    if (status == CRA_OK && !s.any && s.wanted.data != NULL)
        status = compare_key(&s, null_value);
    cra_buf_cleanup(&s.key);
    if (status == CRA_NOMEM)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_int(context, s.equal ? 1 : 0);
}

int cra_sqlite_register_functions(sqlite3 *db)
{
    static const struct {
        const char *name;
        int arguments;
        void (*function)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"bson_key", 2, bson_key},     {"bson_has", 2, bson_has},   {"bson_is_array", 2, bson_is_array},
        {"bson_get", 2, bson_get},     {"bson_json", 1, bson_json}, {"bson_any", 3, bson_any},
        {"bson_match", 2, bson_match},
    };

    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        const int code = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
                                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                                    functions[i].function, NULL, NULL, NULL);
        if (code != SQLITE_OK)
            return code;
    }
    return SQLITE_OK;
}
