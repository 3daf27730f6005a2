/* SPDX-License-Identifier: Apache-2.0 */

/* Indexes of collections: SQL indexes over bson_key(), which the planner uses for find(). What SQL cannot do as a
 * server would (text, geo, hashed, wildcard; unique over arrays) is refused, never approximated. */

#include <string.h>

#include "backends/sqlite/sqlite_docstore.h"
#include "base/buf.h"

#define ORIGIN "sqlite"

static cra_value option(cra_bytes index, const char *name)
{
    cra_value value = {0, NULL, 0};

    (void)cra_bson_find(index, name, strlen(name), &value);
    return value;
}

static bool is_set(cra_bytes index, const char *name)
{
    const cra_value value = option(index, name);
    int64_t number;

    if (value.type == CRA_BSON_BOOL)
        return value.size > 0 && value.data[0] != 0;
    return cra_value_as_int64(value, &number) && number != 0;
}

static int name_length(cra_bytes index)
{
    const cra_bytes name = cra_value_text(option(index, "name"));
    return (int)(name.size < 200 ? name.size : 200);
}

static const char *name_text(cra_bytes index)
{
    return (const char *)cra_value_text(option(index, "name")).data;
}

/* ---- listing ---- */

static cra_status append_id_index(cra_buf *out)
{
    static const uint8_t two[4] = {2, 0, 0, 0};
    static const uint8_t one[4] = {1, 0, 0, 0};
    size_t mark;
    size_t key;

    CRA_TRY(cra_bson_begin(out, &mark));
    CRA_TRY(cra_bson_put_value(out, "v", (cra_value){CRA_BSON_INT32, two, sizeof two}));
    CRA_TRY(cra_bson_put_begin(out, "key", CRA_BSON_DOCUMENT, &key));
    CRA_TRY(cra_bson_put_value(out, "_id", (cra_value){CRA_BSON_INT32, one, sizeof one}));
    CRA_TRY(cra_bson_end(out, key));
    CRA_TRY(cra_bson_put_string(out, "name", "_id_"));
    return cra_bson_end(out, mark);
}

cra_status cra_sqlite_indexes_append(cra_sqlite *store, sqlite3 *db, const cra_sqlite_collection *collection,
                                     cra_buf *out, size_t *count, cra_error *err)
{
    sqlite3_stmt *statement = NULL;
    cra_status status = append_id_index(out);
    int code = SQLITE_DONE;

    *count = 1;
    if (status != CRA_OK)
        return cra_error_set(err, status, ORIGIN, "out of memory");
    status = cra_sqlite_prepare(store, db, "SELECT spec FROM collection_indexes WHERE collection = ? ORDER BY id",
                                &statement, err);
    if (status == CRA_OK)
        sqlite3_bind_int64(statement, 1, collection->id);
    while (status == CRA_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        const cra_bytes spec = cra_sqlite_column_bytes(statement, 0);
        if (cra_buf_append(out, spec.data, spec.size) != CRA_OK)
            status = cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory");
        (*count)++;
    }
    if (status == CRA_OK && code != SQLITE_DONE)
        status = cra_sqlite_error(store, db, "list indexes", err);
    sqlite3_finalize(statement);
    return status;
}

cra_status cra_sqlite_index_list(void *self, const char *name, cra_buf *out, size_t *count, cra_error *err)
{
    cra_sqlite *store = self;
    cra_sqlite_collection collection;
    sqlite3 *db = NULL;

    *count = 0;
    cra_status status = cra_sqlite_take(store, &db, err);
    if (status == CRA_OK)
        status = cra_sqlite_collection_find(store, db, name, &collection, err);
    if (status == CRA_OK)
        status = cra_sqlite_indexes_append(store, db, &collection, out, count, err);
    cra_sqlite_give(store, db);
    return status;
}

/* ---- arrays under unique indexes ---- */

static cra_status see_array(void *user, cra_value value)
{
    bool *array = user;

    *array = *array || value.type == CRA_BSON_ARRAY;
    return CRA_OK;
}

/* Whether `path` ends at an array, or passes one. */
static bool meets_array(cra_bytes document, const char *path)
{
    bool array = false;
    cra_value value;

    (void)cra_bson_path_each(document, path, see_array, &array);
    if (array)
        return true;
    /* An array on the way shows as values that the plain path does not find, or finds by index. */
    for (const char *dot = strchr(path, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
        char head[512];
        const size_t size = (size_t)(dot - path);
        if (size >= sizeof head)
            return true;
        memcpy(head, path, size);
        head[size] = '\0';
        if (cra_bson_path(document, head, &value) == CRA_OK && value.type == CRA_BSON_ARRAY)
            return true;
    }
    return false;
}

static bool key_meets_array(cra_bytes index, cra_bytes document)
{
    const cra_value filter = option(index, "partialFilterExpression");
    cra_bson_iter iter;
    cra_bson_element element;

    if (filter.type != 0 && !cra_index_filter_matches(cra_value_document(filter), document))
        return false;
    if (cra_bson_iter_init(&iter, cra_value_document(option(index, "key")), NULL) != CRA_OK)
        return false;
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        if (meets_array(document, element.name))
            return true;
    }
    return false;
}

cra_status cra_sqlite_indexes_take(cra_bytes indexes, cra_bytes document, cra_error *err)
{
    cra_bytes index;

    while (cra_bson_next_document(&indexes, &index) == CRA_OK) {
        if (is_set(index, "unique") && key_meets_array(index, document))
            return cra_error_set(err, CRA_UNSUPPORTED, ORIGIN,
                                 "a unique index over an array is not supported here: %.*s", name_length(index),
                                 name_text(index));
    }
    return CRA_OK;
}

/* ---- creating ---- */

static cra_status check_supported(cra_bytes spec, cra_error *err)
{
    cra_bson_iter iter;
    cra_bson_element element;
    const cra_value filter = option(spec, "partialFilterExpression");
    const cra_value collation = option(spec, "collation");

    CRA_TRY(cra_bson_iter_init(&iter, cra_value_document(option(spec, "key")), err));
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        const cra_bytes type = cra_value_text(element.value);
        if (type.data != NULL)
            return cra_error_set(err, CRA_UNSUPPORTED, ORIGIN, "index %.*s: %.*s indexes are not supported here",
                                 name_length(spec), name_text(spec), (int)(type.size < 40 ? type.size : 40),
                                 (const char *)type.data);
        if (strstr(element.name, "$**") != NULL)
            return cra_error_set(err, CRA_UNSUPPORTED, ORIGIN, "index %.*s: wildcard indexes are not supported here",
                                 name_length(spec), name_text(spec));
    }
    if (collation.type != 0) {
        cra_value locale;
        if (cra_bson_find(cra_value_document(collation), "locale", 6, &locale) != CRA_OK ||
            !cra_bytes_equal(cra_value_text(locale), cra_bytes_of_str("simple")))
            return cra_error_set(err, CRA_UNSUPPORTED, ORIGIN, "index %.*s: collations are not supported here",
                                 name_length(spec), name_text(spec));
    }
    return filter.type != 0 ? cra_index_filter_check(cra_value_document(filter), err) : CRA_OK;
}

/* " WHERE …" of a sparse or partial index. */
static cra_status append_where(cra_bytes spec, cra_buf *sql)
{
    const cra_bytes filter = cra_value_document(option(spec, "partialFilterExpression"));
    cra_bson_iter iter;
    cra_bson_element element;

    if (filter.size > 0) {
        CRA_TRY(cra_buf_append_str(sql, " WHERE bson_match(doc, x'"));
        for (size_t i = 0; i < filter.size; i++)
            CRA_TRY(cra_buf_appendf(sql, "%02x", filter.data[i]));
        return cra_buf_append_str(sql, "')");
    }
    if (!is_set(spec, "sparse"))
        return CRA_OK;
    CRA_TRY(cra_bson_iter_init(&iter, cra_value_document(option(spec, "key")), NULL));
    const char *separator = " WHERE ";
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        CRA_TRY(cra_buf_appendf(sql, "%sbson_has(doc, ", separator));
        CRA_TRY(cra_sqlite_quote(sql, element.name));
        CRA_TRY(cra_buf_append_byte(sql, ')'));
        separator = " OR ";
    }
    return CRA_OK;
}

static bool is_descending(cra_value direction)
{
    static const uint8_t zero_bytes[4] = {0};

    return cra_value_compare(direction, (cra_value){CRA_BSON_INT32, zero_bytes, sizeof zero_bytes}) < 0;
}

/* The SQL of an index: its own, and one of the documents that have an array at its first field, by which find()
 * reaches their elements. */
static cra_status build_sql(const cra_sqlite_collection *collection, int64_t id, cra_bytes spec, cra_buf *sql)
{
    cra_bson_iter iter;
    cra_bson_element element;
    const char *separator = "";
    const char *first = NULL;

    CRA_TRY(cra_buf_appendf(sql, "CREATE %sINDEX i_%lld ON c_%lld (", is_set(spec, "unique") ? "UNIQUE " : "",
                            (long long)id, (long long)collection->id));
    CRA_TRY(cra_bson_iter_init(&iter, cra_value_document(option(spec, "key")), NULL));
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        first = first == NULL ? element.name : first;
        CRA_TRY(cra_buf_appendf(sql, "%sbson_key(doc, ", separator));
        CRA_TRY(cra_sqlite_quote(sql, element.name));
        CRA_TRY(cra_buf_append_str(sql, is_descending(element.value) ? ") DESC" : ")"));
        separator = ", ";
    }
    CRA_TRY(cra_buf_append_byte(sql, ')'));
    CRA_TRY(append_where(spec, sql));
    if (first != NULL && !is_set(spec, "unique")) {
        CRA_TRY(cra_buf_appendf(sql, "; CREATE INDEX i_%lld_arrays ON c_%lld (bson_is_array(doc, ", (long long)id,
                                (long long)collection->id));
        CRA_TRY(cra_sqlite_quote(sql, first));
        CRA_TRY(cra_buf_append_str(sql, ")) WHERE bson_is_array(doc, "));
        CRA_TRY(cra_sqlite_quote(sql, first));
        CRA_TRY(cra_buf_append_str(sql, ") IS NOT NULL"));
    }
    return cra_buf_cstr(sql) != NULL ? CRA_OK : CRA_NOMEM;
}

/* Whether the documents that are there can be under a unique index. */
static cra_status check_documents(cra_sqlite *store, sqlite3 *db, const cra_sqlite_collection *collection,
                                  cra_bytes spec, cra_error *err)
{
    sqlite3_stmt *statement = NULL;
    char sql[64];
    int code = SQLITE_DONE;

    if (!is_set(spec, "unique"))
        return CRA_OK;
    sqlite3_snprintf(sizeof sql, sql, "SELECT doc FROM c_%lld", (long long)collection->id);
    cra_status status = cra_sqlite_prepare(store, db, sql, &statement, err);
    while (status == CRA_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
        status = cra_sqlite_indexes_take(spec, cra_sqlite_column_bytes(statement, 0), err);
    if (status == CRA_OK && code != SQLITE_DONE)
        status = cra_sqlite_error(store, db, "read records", err);
    sqlite3_finalize(statement);
    return status;
}

static cra_status store_spec(cra_sqlite *store, sqlite3 *db, const cra_sqlite_collection *collection, cra_bytes spec,
                             int64_t *id, cra_error *err)
{
    sqlite3_stmt *statement = NULL;
    const cra_bytes name = cra_value_text(option(spec, "name"));
    cra_status status = cra_sqlite_prepare(
        store, db, "INSERT INTO collection_indexes (collection, name, spec) VALUES (?, ?, ?)", &statement, err);

    if (status == CRA_OK) {
        sqlite3_bind_int64(statement, 1, collection->id);
        sqlite3_bind_text64(statement, 2, (const char *)name.data, name.size, SQLITE_STATIC, SQLITE_UTF8);
        cra_sqlite_bind_bytes(statement, 3, spec);
        if (sqlite3_step(statement) != SQLITE_DONE)
            status = cra_sqlite_error(store, db, "create an index", err);
    }
    sqlite3_finalize(statement);
    *id = sqlite3_last_insert_rowid(db);
    return status;
}

static cra_status create_index(cra_sqlite *store, sqlite3 *db, const cra_sqlite_collection *collection, cra_bytes spec,
                               cra_error *err)
{
    int64_t id = 0;
    cra_buf sql;

    CRA_TRY(check_documents(store, db, collection, spec, err));
    CRA_TRY(store_spec(store, db, collection, spec, &id, err));
    cra_buf_init(&sql, cra_context_allocator(store->context));
    cra_status status = build_sql(collection, id, spec, &sql);
    if (status != CRA_OK)
        status = cra_error_set(err, status, ORIGIN, "out of memory");
    else if (sqlite3_exec(db, (const char *)sql.data, NULL, NULL, NULL) == SQLITE_OK)
        status = CRA_OK;
    else if ((sqlite3_errcode(db) & 0xFF) == SQLITE_CONSTRAINT)
        status = cra_error_set_native(err, CRA_EXISTS, CRA_SQLITE_DUPLICATE_KEY, ORIGIN,
                                      "index %.*s cannot be unique: two documents have the same key", name_length(spec),
                                      name_text(spec));
    else
        status = cra_sqlite_error(store, db, "create an index", err);
    cra_buf_cleanup(&sql);
    return status;
}

/* Inside a write transaction. */
static cra_status ensure(cra_sqlite *store, sqlite3 *db, const char *name, cra_bytes spec, cra_buf *existing,
                         cra_index_outcome *outcome, cra_error *err)
{
    cra_sqlite_collection collection;
    size_t count;

    CRA_TRY(cra_sqlite_collection_need(store, db, name, &collection, err));
    CRA_TRY(cra_sqlite_indexes_append(store, db, &collection, existing, &count, err));
    switch (cra_index_classify(cra_buf_bytes(existing), spec, NULL)) {
    case CRA_INDEX_MATCH_IDENTICAL:
        *outcome = CRA_INDEX_PRESENT;
        return CRA_OK;
    case CRA_INDEX_MATCH_OPTIONS:
        return cra_error_set_native(err, CRA_CONFLICT, 85, ORIGIN,
                                    "an index like %.*s is there with other options or another name", name_length(spec),
                                    name_text(spec));
    case CRA_INDEX_MATCH_NAME:
        return cra_error_set_native(err, CRA_CONFLICT, 86, ORIGIN, "the name %.*s belongs to another index",
                                    name_length(spec), name_text(spec));
    case CRA_INDEX_MATCH_NONE:
        break;
    }
    *outcome = CRA_INDEX_CREATED;
    return create_index(store, db, &collection, spec, err);
}

cra_status cra_sqlite_index_ensure(void *self, const char *name, cra_bytes spec, cra_index_outcome *outcome,
                                   cra_error *err)
{
    cra_sqlite *store = self;
    sqlite3 *db = NULL;
    cra_buf normal;
    cra_buf existing;

    cra_buf_init(&normal, cra_context_allocator(store->context));
    cra_buf_init(&existing, cra_context_allocator(store->context));
    cra_status status = cra_index_normalize(spec, &normal, err);
    if (status == CRA_OK)
        status = check_supported(cra_buf_bytes(&normal), err);
    if (status == CRA_OK)
        status = cra_sqlite_take(store, &db, err);
    if (status == CRA_OK)
        status = cra_sqlite_begin(store, db, 0, "create an index", err);
    if (status == CRA_OK)
        status = ensure(store, db, name, cra_buf_bytes(&normal), &existing, outcome, err);
    if (status == CRA_OK)
        status = cra_sqlite_commit(store, db, 0, "create an index", err);
    cra_sqlite_give(store, db);
    cra_buf_cleanup(&normal);
    cra_buf_cleanup(&existing);
    return status;
}
