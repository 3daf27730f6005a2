/* SPDX-License-Identifier: Apache-2.0 */

/* Collections: a row of `collections`, a table, and a view by which the shell reads it. */

#include <stdio.h>
#include <string.h>

#include "backends/sqlite/sqlite_docstore.h"
#include "base/buf.h"

#define ORIGIN "sqlite"

cra_status cra_sqlite_quote(cra_buf *sql, const char *text)
{
    CRA_TRY(cra_buf_append_byte(sql, '\''));
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            CRA_TRY(cra_buf_append_byte(sql, '\''));
        CRA_TRY(cra_buf_append_byte(sql, (uint8_t)*text));
    }
    return cra_buf_append_byte(sql, '\'');
}

cra_status cra_sqlite_collection_find(cra_sqlite *store, sqlite3 *db, const char *name, cra_sqlite_collection *out,
                                      cra_error *err)
{
    sqlite3_stmt *statement = NULL;
    cra_status status =
        cra_sqlite_prepare(store, db, "SELECT id, run_field FROM collections WHERE name = ?", &statement, err);

    if (status == CRA_OK) {
        cra_sqlite_bind_text(statement, 1, name);
        const int code = sqlite3_step(statement);
        if (code == SQLITE_DONE) {
            status = cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "there is no collection %.200s", name);
        } else if (code != SQLITE_ROW) {
            status = cra_sqlite_error(store, db, "read a collection", err);
        } else {
            out->id = sqlite3_column_int64(statement, 0);
            snprintf(out->run_field, sizeof out->run_field, "%s", (const char *)sqlite3_column_text(statement, 1));
        }
    }
    sqlite3_finalize(statement);
    return status;
}

/* The view's name: letters, digits and underscores of the collection's. Where that is not all, the name may be
 * another collection's as well, so that the collection's number follows behind a sign that no plain name has. SQL
 * takes capitals for small letters: they do not tell names apart. */
static void view_name(const char *collection, int64_t id, char *out, size_t size)
{
    bool plain = true;
    size_t used = (size_t)snprintf(out, size, "v_");

    for (const char *c = collection; *c != '\0' && used + 24 < size; c++) {
        const bool capital = *c >= 'A' && *c <= 'Z';
        const bool kept = capital || (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '_';
        plain = plain && kept && !capital;
        out[used++] = kept ? *c : '_';
    }
    out[used] = '\0';
    if (!plain || used + 24 >= size)
        snprintf(out + used, size - used, "$%lld", (long long)id);
}

static cra_status create_tables(cra_sqlite *store, sqlite3 *db, const char *name, int64_t id, cra_error *err)
{
    char view[128];
    cra_buf sql;

    view_name(name, id, view, sizeof view);
    cra_buf_init(&sql, cra_context_allocator(store->context));
    cra_status status =
        cra_buf_appendf(&sql,
                        "CREATE TABLE c_%lld (run_key BLOB NOT NULL, id_key BLOB NOT NULL, doc BLOB NOT NULL,"
                        " PRIMARY KEY (run_key, id_key)) WITHOUT ROWID;"
                        "CREATE UNIQUE INDEX c_%lld_id ON c_%lld (id_key);"
                        "CREATE VIEW \"%s\" AS SELECT bson_get(doc, '_id') AS _id, bson_get(doc, ",
                        (long long)id, (long long)id, (long long)id, view);
    if (status == CRA_OK)
        status = cra_sqlite_quote(&sql, store->run_field);
    if (status == CRA_OK)
        status = cra_buf_appendf(&sql, ") AS run, bson_json(doc) AS json, doc FROM c_%lld", (long long)id);
    if (status == CRA_OK && cra_buf_cstr(&sql) == NULL)
        status = CRA_NOMEM;
    status = status == CRA_OK ? cra_sqlite_exec(store, db, (const char *)sql.data, "create a collection", err)
                              : cra_error_set(err, status, ORIGIN, "out of memory");
    cra_buf_cleanup(&sql);
    return status;
}

/* Inside a write transaction, for a name that is not there. */
static cra_status add_collection(cra_sqlite *store, sqlite3 *db, const char *name, cra_bytes options,
                                 cra_sqlite_collection *out, cra_error *err)
{
    sqlite3_stmt *statement = NULL;
    cra_status status = cra_sqlite_prepare(
        store, db, "INSERT INTO collections (name, run_field, options) VALUES (?, ?, ?)", &statement, err);

    if (status == CRA_OK) {
        cra_sqlite_bind_text(statement, 1, name);
        cra_sqlite_bind_text(statement, 2, store->run_field);
        cra_sqlite_bind_bytes(statement, 3, options);
        if (sqlite3_step(statement) != SQLITE_DONE)
            status = cra_sqlite_error(store, db, "create a collection", err);
    }
    sqlite3_finalize(statement);
    if (status != CRA_OK)
        return status;
    out->id = sqlite3_last_insert_rowid(db);
    snprintf(out->run_field, sizeof out->run_field, "%s", store->run_field);
    return create_tables(store, db, name, out->id, err);
}

cra_status cra_sqlite_collection_need(cra_sqlite *store, sqlite3 *db, const char *name, cra_sqlite_collection *out,
                                      cra_error *err)
{
    static const uint8_t empty[5] = {5, 0, 0, 0, 0};
    cra_error missing = {.status = CRA_OK};
    const cra_status status = cra_sqlite_collection_find(store, db, name, out, &missing);

    if (status == CRA_NOT_FOUND)
        return add_collection(store, db, name, cra_bytes_of(empty, sizeof empty), out, err);
    if (status != CRA_OK && err != NULL)
        *err = missing;
    return status;
}

cra_status cra_sqlite_collection_get(void *self, const char *name, cra_buf *out, cra_error *err)
{
    cra_sqlite *store = self;
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;

    cra_status status = cra_sqlite_take(store, &db, err);
    if (status == CRA_OK)
        status = cra_sqlite_prepare(store, db, "SELECT options FROM collections WHERE name = ?", &statement, err);
    if (status == CRA_OK) {
        cra_sqlite_bind_text(statement, 1, name);
        const int code = sqlite3_step(statement);
        if (code == SQLITE_DONE) {
            status = cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "there is no collection %.200s", name);
        } else if (code != SQLITE_ROW) {
            status = cra_sqlite_error(store, db, "read a collection", err);
        } else {
            const cra_bytes options = cra_sqlite_column_bytes(statement, 0);
            if (cra_buf_append(out, options.data, options.size) != CRA_OK)
                status = cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory");
        }
    }
    sqlite3_finalize(statement);
    cra_sqlite_give(store, db);
    return status;
}

/* Options that change what a collection is cannot be had from a table. */
static cra_status check_options(const char *name, cra_bytes options, cra_error *err)
{
    static const char *const unsupported[] = {"capped", "timeseries", "viewOn"};
    cra_value value;

    CRA_TRY(cra_bson_validate(options, 0, err));
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++) {
        if (cra_bson_find(options, unsupported[i], strlen(unsupported[i]), &value) == CRA_OK &&
            !(value.type == CRA_BSON_BOOL && value.data[0] == 0))
            return cra_error_set(err, CRA_UNSUPPORTED, ORIGIN, "collection %.200s: the option %s is not supported here",
                                 name, unsupported[i]);
    }
    return CRA_OK;
}

cra_status cra_sqlite_collection_create(void *self, const char *name, cra_bytes options, cra_error *err)
{
    cra_sqlite *store = self;
    sqlite3 *db = NULL;
    cra_sqlite_collection collection;

    cra_status status = check_options(name, options, err);
    if (status == CRA_OK)
        status = cra_sqlite_take(store, &db, err);
    if (status == CRA_OK)
        status = cra_sqlite_begin(store, db, 0, "create a collection", err);
    if (status == CRA_OK) {
        cra_error missing = {.status = CRA_OK};
        status = cra_sqlite_collection_find(store, db, name, &collection, &missing);
        if (status == CRA_OK)
            status = cra_error_set(err, CRA_EXISTS, ORIGIN, "collection %.200s is there already", name);
        else if (status == CRA_NOT_FOUND)
            status = add_collection(store, db, name, options, &collection, err);
        else if (err != NULL)
            *err = missing;
    }
    if (status == CRA_OK)
        status = cra_sqlite_commit(store, db, 0, "create a collection", err);
    cra_sqlite_give(store, db);
    return status;
}
