/* SPDX-License-Identifier: Apache-2.0 */

/* Reading records: by id, by run in the order of `_id`, by a field through its index. */

#include "backends/sqlite/sqlite_docstore.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#define ORIGIN "sqlite"
#define MAX_BATCH_DOCS 100000
#define MAX_BATCH_BYTES 48000000

static const cra_bytes no_bytes = {NULL, 0};

/* What a reading call works with; cleaned up as a whole. */
typedef struct reader {
    cra_sqlite *store;
    sqlite3 *db;
    cra_sqlite_collection collection;
    sqlite3_stmt *statement;
    cra_buf sql;
    cra_buf key;
    cra_buf after;
} reader;

static void reader_init(reader *r, cra_sqlite *store)
{
    const cra_allocator *allocator = cra_context_allocator(store->context);

    memset(r, 0, sizeof *r);
    r->store = store;
    cra_buf_init(&r->sql, allocator);
    cra_buf_init(&r->key, allocator);
    cra_buf_init(&r->after, allocator);
}

static void reader_cleanup(reader *r)
{
    sqlite3_finalize(r->statement);
    cra_sqlite_give(r->store, r->db);
    cra_buf_cleanup(&r->sql);
    cra_buf_cleanup(&r->key);
    cra_buf_cleanup(&r->after);
}

/* Take a connection and find the collection. CRA_DONE where that is missing: it has no records. */
static cra_status reader_open(reader *r, const char *name, cra_error *err)
{
    cra_error missing = {.status = CRA_OK};

    CRA_TRY(cra_sqlite_take(r->store, &r->db, err));
    const cra_status status = cra_sqlite_collection_find(r->store, r->db, name, &r->collection, &missing);
    if (status == CRA_NOT_FOUND)
        return CRA_DONE;
    if (status != CRA_OK && err != NULL)
        *err = missing;
    return status;
}

static cra_status reader_prepare(reader *r, cra_status built, cra_error *err)
{
    if (built != CRA_OK || cra_buf_cstr(&r->sql) == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory");
    return cra_sqlite_prepare(r->store, r->db, (const char *)r->sql.data, &r->statement, err);
}

static cra_status append_document(cra_buf *out, cra_bytes document, bool ids_only, cra_error *err)
{
    const size_t before = out->size;
    cra_status status;

    if (ids_only) {
        cra_value id;
        size_t mark;
        status = cra_sqlite_first_value(document, &id);
        if (status == CRA_OK)
            status = cra_bson_begin(out, &mark);
        if (status == CRA_OK)
            status = cra_bson_put_value(out, "_id", id);
        if (status == CRA_OK)
            status = cra_bson_end(out, mark);
    } else {
        status = cra_buf_append(out, document.data, document.size);
    }
    if (status == CRA_OK)
        return CRA_OK;
    out->size = before;
    return cra_error_set(err, status == CRA_NOMEM ? CRA_NOMEM : CRA_CORRUPT, ORIGIN, "%s",
                         status == CRA_NOMEM ? "out of memory" : "a stored record is damaged");
}

/* ---- by id ---- */

static cra_status fetch_all(reader *r, const cra_value *ids, size_t count, cra_buf *out, cra_error *err)
{
    CRA_TRY(reader_prepare(
        r, cra_buf_appendf(&r->sql, "SELECT doc FROM c_%lld WHERE id_key = ?", (long long)r->collection.id), err));
    for (size_t i = 0; i < count; i++) {
        CRA_TRY(cra_sqlite_key(ids[i], &r->key, err));
        cra_sqlite_bind_bytes(r->statement, 1, cra_buf_bytes(&r->key));
        const int code = sqlite3_step(r->statement);
        if (code == SQLITE_ROW)
            CRA_TRY(append_document(out, cra_sqlite_column_bytes(r->statement, 0), false, err));
        else if (code != SQLITE_DONE)
            return cra_sqlite_error(r->store, r->db, "read records", err);
        sqlite3_reset(r->statement);
    }
    return CRA_OK;
}

static cra_status fetch(void *self, const char *collection, const cra_value *ids, size_t count, cra_buf *out,
                        cra_error *err)
{
    reader r;

    reader_init(&r, self);
    cra_status status = reader_open(&r, collection, err);
    if (status == CRA_OK)
        status = fetch_all(&r, ids, count, out, err);
    reader_cleanup(&r);
    return status == CRA_DONE ? CRA_OK : status;
}

/* ---- by run ---- */

/* Append the condition of a scope. A run field that is not the one the table is clustered by costs a scan. */
static cra_status append_scope(reader *r, const cra_scope *scope)
{
    if (strcmp(scope->run_field, r->collection.run_field) == 0)
        return cra_buf_append_str(&r->sql, "run_key = ?1");
    CRA_TRY(cra_buf_append_str(&r->sql, "bson_has(doc, "));
    CRA_TRY(cra_sqlite_quote(&r->sql, scope->run_field));
    CRA_TRY(cra_buf_append_str(&r->sql, ") AND bson_key(doc, "));
    CRA_TRY(cra_sqlite_quote(&r->sql, scope->run_field));
    return cra_buf_append_str(&r->sql, ") = ?1");
}

static cra_status build_page(reader *r, const cra_scope *scope)
{
    CRA_TRY(cra_buf_appendf(&r->sql, "SELECT doc FROM c_%lld WHERE ", (long long)r->collection.id));
    CRA_TRY(append_scope(r, scope));
    return cra_buf_append_str(&r->sql, " AND id_key > ?2 ORDER BY id_key LIMIT ?3");
}

/* Bind key, lower bound of ids and limit: what pages and queries have in common. */
static cra_status bind_page(reader *r, cra_value value, cra_value after_id, int64_t limit, cra_error *err)
{
    CRA_TRY(cra_sqlite_key(value, &r->key, err));
    if (after_id.type != 0)
        CRA_TRY(cra_sqlite_key(after_id, &r->after, err));
    cra_sqlite_bind_bytes(r->statement, 1, cra_buf_bytes(&r->key));
    cra_sqlite_bind_bytes(r->statement, 2, after_id.type != 0 ? cra_buf_bytes(&r->after) : no_bytes);
    sqlite3_bind_int64(r->statement, 3, limit);
    return CRA_OK;
}

static cra_status read_rows(reader *r, bool ids_only, int64_t max_bytes, cra_buf *out, size_t *count, cra_error *err)
{
    const size_t before = out->size;
    int code;

    while ((code = sqlite3_step(r->statement)) == SQLITE_ROW) {
        CRA_TRY(append_document(out, cra_sqlite_column_bytes(r->statement, 0), ids_only, err));
        (*count)++;
        if ((int64_t)(out->size - before) >= max_bytes)
            return CRA_OK;
    }
    return code == SQLITE_DONE ? CRA_OK : cra_sqlite_error(r->store, r->db, "read records", err);
}

static cra_status page(void *self, const cra_scope *scope, const cra_page_request *request, cra_buf *out, size_t *count,
                       cra_error *err)
{
    const size_t before = out->size;
    reader r;

    *count = 0;
    reader_init(&r, self);
    cra_status status = reader_open(&r, scope->collection, err);
    if (status == CRA_OK)
        status = reader_prepare(&r, build_page(&r, scope), err);
    if (status == CRA_OK)
        status = bind_page(&r, scope->run_value, request->after_id, request->max_docs, err);
    if (status == CRA_OK)
        status = read_rows(&r, request->ids_only, request->max_bytes, out, count, err);
    reader_cleanup(&r);
    if (status < 0) {
        out->size = before;
        *count = 0;
    }
    return status == CRA_DONE ? CRA_OK : status;
}

static cra_status count_run(void *self, const cra_scope *scope, int64_t *out, cra_error *err)
{
    reader r;

    *out = 0;
    reader_init(&r, self);
    cra_status status = reader_open(&r, scope->collection, err);
    if (status == CRA_OK) {
        cra_status built = cra_buf_appendf(&r.sql, "SELECT count(*) FROM c_%lld WHERE ", (long long)r.collection.id);
        if (built == CRA_OK)
            built = append_scope(&r, scope);
        status = reader_prepare(&r, built, err);
    }
    if (status == CRA_OK)
        status = cra_sqlite_key(scope->run_value, &r.key, err);
    if (status == CRA_OK) {
        cra_sqlite_bind_bytes(r.statement, 1, cra_buf_bytes(&r.key));
        if (sqlite3_step(r.statement) == SQLITE_ROW)
            *out = sqlite3_column_int64(r.statement, 0);
        else
            status = cra_sqlite_error(r.store, r.db, "count records", err);
    }
    reader_cleanup(&r);
    return status == CRA_DONE ? CRA_OK : status;
}

/* ---- by field ---- */

/* Two halves: documents without an array on the path, by the index on it; those with one, by the index of such
 * documents, compared element by element. */
cra_status cra_sqlite_find_sql(int64_t collection, const char *path, bool with_null, cra_buf *sql)
{
    CRA_TRY(cra_buf_appendf(sql, "SELECT doc, id_key FROM c_%lld WHERE bson_key(doc, ", (long long)collection));
    CRA_TRY(cra_sqlite_quote(sql, path));
    CRA_TRY(cra_buf_append_str(sql, ") = ?1 AND +id_key > ?2 AND bson_is_array(doc, "));
    CRA_TRY(cra_sqlite_quote(sql, path));
    CRA_TRY(cra_buf_append_str(sql, ") IS NULL"));
    if (!with_null) { /* so that a sparse index serves, too */
        CRA_TRY(cra_buf_append_str(sql, " AND bson_has(doc, "));
        CRA_TRY(cra_sqlite_quote(sql, path));
        CRA_TRY(cra_buf_append_byte(sql, ')'));
    }
    CRA_TRY(cra_buf_appendf(sql, " UNION ALL SELECT doc, id_key FROM c_%lld WHERE bson_is_array(doc, ",
                            (long long)collection));
    CRA_TRY(cra_sqlite_quote(sql, path));
    CRA_TRY(cra_buf_append_str(sql, ") = 1 AND bson_any(doc, "));
    CRA_TRY(cra_sqlite_quote(sql, path));
    return cra_buf_append_str(sql, ", ?1) AND +id_key > ?2 ORDER BY id_key LIMIT ?3");
}

static cra_status find(void *self, const char *collection, const char *path, cra_value value, cra_value after_id,
                       int64_t max_docs, cra_buf *out, size_t *count, cra_error *err)
{
    const size_t before = out->size;
    reader r;

    *count = 0;
    reader_init(&r, self);
    cra_status status = reader_open(&r, collection, err);
    if (status == CRA_OK) {
        const bool with_null = value.type == CRA_BSON_NULL || value.type == CRA_BSON_UNDEFINED;
        status = reader_prepare(&r, cra_sqlite_find_sql(r.collection.id, path, with_null, &r.sql), err);
    }
    if (status == CRA_OK)
        status = bind_page(&r, value, after_id, max_docs, err);
    if (status == CRA_OK)
        status = read_rows(&r, false, INT64_MAX, out, count, err);
    reader_cleanup(&r);
    if (status < 0) {
        out->size = before;
        *count = 0;
    }
    return status == CRA_DONE ? CRA_OK : status;
}

/* ---- opening ---- */

static cra_status limits(void *self, cra_docstore_limits *out, cra_error *err)
{
    (void)self;
    (void)err;
    out->max_document_bytes = CRA_BSON_MAX_DOCUMENT_BYTES;
    out->max_batch_docs = MAX_BATCH_DOCS;
    out->max_batch_bytes = MAX_BATCH_BYTES;
    return CRA_OK;
}

static cra_status health(void *self, cra_docstore_health *out, cra_error *err)
{
    (void)self;
    (void)err;
    out->lag_ms = 0;
    out->durable_writes = true; /* synchronous = FULL */
    return CRA_OK;
}

static void docstore_close(void *self)
{
    cra_sqlite_close(self);
}

static const cra_docstore_vtable docstore_vtable = {
    .struct_size = sizeof(cra_docstore_vtable),
    .features = CRA_DOCSTORE_SHARED | CRA_DOCSTORE_FIND | CRA_DOCSTORE_REPLACE_IF,
    .close = docstore_close,
    .limits = limits,
    .write_batch = cra_sqlite_write_batch,
    .fetch = fetch,
    .page = page,
    .count = count_run,
    .delete_batch = cra_sqlite_delete_batch,
    .index_list = cra_sqlite_index_list,
    .index_ensure = cra_sqlite_index_ensure,
    .collection_get = cra_sqlite_collection_get,
    .collection_create = cra_sqlite_collection_create,
    .health = health,
    .find = find,
    .replace_if = cra_sqlite_replace_if,
};

cra_status cra_sqlite_docstore_open(const cra_open_args *args, const cra_docstore_vtable **vtable, void **self,
                                    cra_error *err)
{
    cra_sqlite *store = NULL;
    const cra_status status = cra_sqlite_open(args, &store, err);

    *vtable = &docstore_vtable;
    *self = store;
    return status;
}
