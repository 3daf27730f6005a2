/* SPDX-License-Identifier: Apache-2.0 */

/* Writing, deleting and replacing records: one transaction a call, committed before the deadline or not at all. */

#include <stdio.h>
#include <string.h>

#include "backends/sqlite/sqlite_docstore.h"
#include "base/buf.h"

#define ORIGIN "sqlite"
#define CODE_INVALID_ID 53

cra_status cra_sqlite_first_value(cra_bytes document, cra_value *out)
{
    cra_bson_iter iter;
    cra_bson_element element;

    CRA_TRY(cra_bson_iter_init(&iter, document, NULL));
    CRA_TRY(cra_bson_iter_next(&iter, &element, NULL));
    *out = element.value;
    return CRA_OK;
}

cra_status cra_sqlite_key(cra_value value, cra_buf *key, cra_error *err)
{
    cra_buf_clear(key);
    const cra_status status = cra_value_order_key(value, key);
    if (status == CRA_OK)
        return CRA_OK;
    return cra_error_set(err, status, ORIGIN, "%s", status == CRA_NOMEM ? "out of memory" : "a damaged value");
}

/* What a writing call works with; cleaned up as a whole. */
typedef struct job {
    cra_sqlite *store;
    sqlite3 *db;
    cra_sqlite_collection collection;
    sqlite3_stmt *select; /* doc by id_key */
    sqlite3_stmt *change; /* the INSERT, DELETE or UPDATE */
    cra_buf run_key;
    cra_buf id_key;
    cra_buf indexes;
} job;

static void job_init(job *j, cra_sqlite *store)
{
    const cra_allocator *allocator = cra_context_allocator(store->context);

    memset(j, 0, sizeof *j);
    j->store = store;
    cra_buf_init(&j->run_key, allocator);
    cra_buf_init(&j->id_key, allocator);
    cra_buf_init(&j->indexes, allocator);
}

static void job_cleanup(job *j)
{
    sqlite3_finalize(j->select);
    sqlite3_finalize(j->change);
    cra_sqlite_give(j->store, j->db);
    cra_buf_cleanup(&j->run_key);
    cra_buf_cleanup(&j->id_key);
    cra_buf_cleanup(&j->indexes);
}

static cra_status job_prepare(job *j, const char *change, cra_error *err)
{
    char sql[128];

    snprintf(sql, sizeof sql, "SELECT doc, run_key FROM c_%lld WHERE id_key = ?", (long long)j->collection.id);
    CRA_TRY(cra_sqlite_prepare(j->store, j->db, sql, &j->select, err));
    snprintf(sql, sizeof sql, change, (long long)j->collection.id);
    return cra_sqlite_prepare(j->store, j->db, sql, &j->change, err);
}

/* Step to the document with the job's id key. CRA_DONE where there is none. */
static cra_status select_document(job *j, cra_bytes *document, cra_error *err)
{
    sqlite3_reset(j->select);
    cra_sqlite_bind_bytes(j->select, 1, cra_buf_bytes(&j->id_key));
    const int code = sqlite3_step(j->select);
    if (code == SQLITE_DONE)
        return CRA_DONE;
    if (code != SQLITE_ROW)
        return cra_sqlite_error(j->store, j->db, "read a record", err);
    *document = cra_sqlite_column_bytes(j->select, 0);
    return CRA_OK;
}

/* The key by which a record is clustered; a record without the run field has an empty one. */
static cra_status take_run_key(job *j, cra_bytes document, cra_error *err)
{
    cra_value value;

    cra_buf_clear(&j->run_key);
    if (cra_bson_path(document, j->collection.run_field, &value) != CRA_OK)
        return CRA_OK;
    return cra_sqlite_key(value, &j->run_key, err);
}

/* ---- writing ---- */

static void refuse(cra_write_result *result, int32_t code, const char *message)
{
    result->outcome = CRA_WRITE_FAILED;
    result->native_code = code;
    snprintf(result->message, sizeof result->message, "%.159s", message);
}

/* Whether the document can be stored at all; `result` says why not. */
static bool may_write(const job *j, cra_bytes document, cra_value *id, cra_write_result *result)
{
    cra_error why = {.status = CRA_OK};

    if (cra_bson_validate(document, CRA_BSON_CHECK_SIZE, &why) != CRA_OK ||
        cra_sqlite_first_value(document, id) != CRA_OK) {
        refuse(result, 0, why.message[0] != '\0' ? why.message : "the document is damaged");
        return false;
    }
    if (id->type == CRA_BSON_ARRAY || id->type == CRA_BSON_REGEX || id->type == CRA_BSON_UNDEFINED) {
        refuse(result, CODE_INVALID_ID, "an _id must not be an array, a regular expression or undefined");
        return false;
    }
    if (cra_sqlite_indexes_take(cra_buf_bytes(&j->indexes), document, &why) != CRA_OK) {
        refuse(result, 0, why.message);
        return false;
    }
    return true;
}

/* Insert one document. A refused statement undoes itself alone, and the transaction goes on. */
static cra_status write_one(job *j, cra_bytes document, cra_write_result *result, cra_error *err)
{
    cra_bytes there;
    cra_value id;

    if (!may_write(j, document, &id, result))
        return CRA_OK;
    CRA_TRY(take_run_key(j, document, err));
    CRA_TRY(cra_sqlite_key(id, &j->id_key, err));
    sqlite3_reset(j->change);
    cra_sqlite_bind_bytes(j->change, 1, cra_buf_bytes(&j->run_key));
    cra_sqlite_bind_bytes(j->change, 2, cra_buf_bytes(&j->id_key));
    cra_sqlite_bind_bytes(j->change, 3, document);
    if (sqlite3_step(j->change) == SQLITE_DONE) {
        result->outcome = CRA_WRITE_NEW;
        return CRA_OK;
    }
    if ((sqlite3_errcode(j->db) & 0xFF) != SQLITE_CONSTRAINT)
        return cra_sqlite_error(j->store, j->db, "write records", err);
    sqlite3_reset(j->change);
    const cra_status status = select_document(j, &there, err);
    if (status == CRA_OK)
        result->outcome = CRA_WRITE_ID_EXISTS;
    else if (status == CRA_DONE)
        refuse(result, CRA_SQLITE_DUPLICATE_KEY, "a document has the same key in a unique index");
    else
        return status;
    return CRA_OK;
}

static cra_status write_all(job *j, const char *name, const cra_bytes *documents, size_t count,
                            cra_write_result *results, cra_error *err)
{
    size_t indexes;

    CRA_TRY(cra_sqlite_collection_need(j->store, j->db, name, &j->collection, err));
    CRA_TRY(cra_sqlite_indexes_append(j->store, j->db, &j->collection, &j->indexes, &indexes, err));
    CRA_TRY(job_prepare(j, "INSERT INTO c_%lld (run_key, id_key, doc) VALUES (?, ?, ?)", err));
    for (size_t i = 0; i < count; i++)
        CRA_TRY(write_one(j, documents[i], &results[i], err));
    sqlite3_reset(j->select);
    sqlite3_reset(j->change);
    return CRA_OK;
}

cra_status cra_sqlite_write_batch(void *self, const char *collection, const cra_bytes *documents, size_t count,
                                  int64_t deadline_ms, cra_write_result *results, cra_error *err)
{
    cra_sqlite *store = self;
    job j;

    job_init(&j, store);
    memset(results, 0, count * sizeof *results);
    cra_status status = cra_sqlite_take(store, &j.db, err);
    if (status == CRA_OK)
        status = cra_sqlite_begin(store, j.db, deadline_ms, "write records", err);
    if (status == CRA_OK)
        status = write_all(&j, collection, documents, count, results, err);
    if (status == CRA_OK)
        status = cra_sqlite_commit(store, j.db, deadline_ms, "write records", err);
    if (status != CRA_OK)
        memset(results, 0, count * sizeof *results); /* all of it was rolled back */
    job_cleanup(&j);
    return status;
}

/* ---- deleting ---- */

static bool is_in_scope(cra_bytes document, const cra_scope *scope)
{
    cra_value value;

    return cra_bson_path(document, scope->run_field, &value) == CRA_OK &&
           cra_value_compare(value, scope->run_value) == 0;
}

/* Whether every element of `match` is identical to the document's field of that name, which may be a path. */
static bool matches(cra_bytes document, cra_bytes match)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_value value;

    if (match.size == 0)
        return true;
    if (cra_bson_iter_init(&iter, match, NULL) != CRA_OK)
        return false;
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        if (cra_bson_path(document, element.name, &value) != CRA_OK || !cra_value_identical(value, element.value))
            return false;
    }
    return true;
}

/* Delete the record with the job's keys. */
static cra_status delete_keyed(job *j, int64_t *removed, cra_error *err)
{
    sqlite3_reset(j->change);
    cra_sqlite_bind_bytes(j->change, 1, cra_buf_bytes(&j->run_key));
    cra_sqlite_bind_bytes(j->change, 2, cra_buf_bytes(&j->id_key));
    if (sqlite3_step(j->change) != SQLITE_DONE)
        return cra_sqlite_error(j->store, j->db, "delete records", err);
    *removed += sqlite3_changes(j->db);
    return CRA_OK;
}

/* Delete one record that must be looked at first. */
static cra_status delete_compared(job *j, const cra_scope *scope, cra_bytes match, int64_t *removed, cra_error *err)
{
    cra_bytes document;

    const cra_status status = select_document(j, &document, err);
    if (status != CRA_OK)
        return status == CRA_DONE ? CRA_OK : status;
    if (!is_in_scope(document, scope) || !matches(document, match))
        return CRA_OK;
    const cra_bytes run_key = cra_sqlite_column_bytes(j->select, 1);
    cra_buf_clear(&j->run_key);
    if (cra_buf_append(&j->run_key, run_key.data, run_key.size) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory");
    sqlite3_reset(j->select);
    return delete_keyed(j, removed, err);
}

static cra_status delete_all(job *j, const cra_scope *scope, const cra_value *ids, size_t count, cra_bytes match,
                             int64_t *removed, cra_error *err)
{
    /* The key that a table is clustered by says which run a record is of. */
    const bool by_key = match.size == 0 && strcmp(scope->run_field, j->collection.run_field) == 0;

    CRA_TRY(job_prepare(j, "DELETE FROM c_%lld WHERE run_key = ? AND id_key = ?", err));
    if (by_key)
        CRA_TRY(cra_sqlite_key(scope->run_value, &j->run_key, err));
    for (size_t i = 0; i < count; i++) {
        CRA_TRY(cra_sqlite_key(ids[i], &j->id_key, err));
        CRA_TRY(by_key ? delete_keyed(j, removed, err) : delete_compared(j, scope, match, removed, err));
    }
    sqlite3_reset(j->select);
    sqlite3_reset(j->change);
    return CRA_OK;
}

cra_status cra_sqlite_delete_batch(void *self, const cra_scope *scope, const cra_value *ids, size_t count,
                                   cra_bytes match, int64_t deadline_ms, int64_t *removed, cra_error *err)
{
    cra_sqlite *store = self;
    cra_error missing = {.status = CRA_OK};
    job j;

    job_init(&j, store);
    *removed = 0;
    cra_status status = cra_sqlite_take(store, &j.db, err);
    if (status == CRA_OK)
        status = cra_sqlite_begin(store, j.db, deadline_ms, "delete records", err);
    if (status == CRA_OK) {
        status = cra_sqlite_collection_find(store, j.db, scope->collection, &j.collection, &missing);
        if (status == CRA_NOT_FOUND) { /* nothing is there to delete */
            job_cleanup(&j);
            return CRA_OK;
        }
        if (status != CRA_OK && err != NULL)
            *err = missing;
    }
    if (status == CRA_OK)
        status = delete_all(&j, scope, ids, count, match, removed, err);
    if (status == CRA_OK)
        status = cra_sqlite_commit(store, j.db, deadline_ms, "delete records", err);
    if (status != CRA_OK)
        *removed = 0;
    job_cleanup(&j);
    return status;
}

/* ---- replacing ---- */

static cra_status replace_found(job *j, cra_value id, cra_bytes match, cra_bytes document, cra_error *err)
{
    cra_bytes there;
    size_t indexes;

    CRA_TRY(cra_sqlite_indexes_append(j->store, j->db, &j->collection, &j->indexes, &indexes, err));
    CRA_TRY(cra_sqlite_indexes_take(cra_buf_bytes(&j->indexes), document, err));
    CRA_TRY(job_prepare(j, "UPDATE c_%lld SET run_key = ?, doc = ? WHERE id_key = ?", err));
    CRA_TRY(cra_sqlite_key(id, &j->id_key, err));
    CRA_TRY(take_run_key(j, document, err));
    const cra_status status = select_document(j, &there, err);
    if (status < 0)
        return status;
    if (status == CRA_DONE || !matches(there, match))
        return cra_error_set(err, CRA_CONFLICT, ORIGIN, "the document is missing or was changed meanwhile");
    sqlite3_reset(j->select);
    cra_sqlite_bind_bytes(j->change, 1, cra_buf_bytes(&j->run_key));
    cra_sqlite_bind_bytes(j->change, 2, document);
    cra_sqlite_bind_bytes(j->change, 3, cra_buf_bytes(&j->id_key));
    if (sqlite3_step(j->change) == SQLITE_DONE) {
        sqlite3_reset(j->change);
        return CRA_OK;
    }
    if ((sqlite3_errcode(j->db) & 0xFF) == SQLITE_CONSTRAINT)
        return cra_error_set_native(err, CRA_EXISTS, CRA_SQLITE_DUPLICATE_KEY, ORIGIN,
                                    "a document has the same key in a unique index");
    return cra_sqlite_error(j->store, j->db, "replace a record", err);
}

cra_status cra_sqlite_replace_if(void *self, const char *collection, cra_value id, cra_bytes match, cra_bytes document,
                                 cra_error *err)
{
    cra_sqlite *store = self;
    cra_error missing = {.status = CRA_OK};
    cra_value new_id;
    job j;

    CRA_TRY(cra_bson_validate(document, CRA_BSON_CHECK_SIZE, err));
    if (cra_sqlite_first_value(document, &new_id) != CRA_OK || cra_value_compare(new_id, id) != 0)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "a replacement must keep its _id");
    job_init(&j, store);
    cra_status status = cra_sqlite_take(store, &j.db, err);
    if (status == CRA_OK)
        status = cra_sqlite_begin(store, j.db, 0, "replace a record", err);
    if (status == CRA_OK) {
        status = cra_sqlite_collection_find(store, j.db, collection, &j.collection, &missing);
        if (status == CRA_NOT_FOUND)
            status = cra_error_set(err, CRA_CONFLICT, ORIGIN, "the document is missing");
        else if (status != CRA_OK && err != NULL)
            *err = missing;
    }
    if (status == CRA_OK)
        status = replace_found(&j, id, match, document, err);
    if (status == CRA_OK)
        status = cra_sqlite_commit(store, j.db, 0, "replace a record", err);
    job_cleanup(&j);
    return status;
}
