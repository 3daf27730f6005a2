/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BACKENDS_SQLITE_DOCSTORE_H
#define CRA_BACKENDS_SQLITE_DOCSTORE_H

/* The parts of the SQLite docstore: collections and their indexes (sqlite_collection.c, sqlite_index.c), writing
 * (sqlite_write.c), reading (sqlite_docstore.c).
 *
 * A collection is a table c_ID (run_key, id_key, doc) clustered by run: both keys are order keys of BSON values, so
 * that order and equality are MongoDB's. */

#include "backends/sqlite/sqlite_db.h"

#define CRA_SQLITE_DUPLICATE_KEY 11000

/* A collection as a call sees it. */
typedef struct cra_sqlite_collection {
    int64_t id;
    char run_field[256]; /* path of the value that its table is clustered by */
} cra_sqlite_collection;

/* Read a collection by name. @return CRA_NOT_FOUND */
cra_status cra_sqlite_collection_find(cra_sqlite *store, sqlite3 *db, const char *name, cra_sqlite_collection *out,
                                      cra_error *err);
/* The same, creating it where missing; inside a write transaction. */
cra_status cra_sqlite_collection_need(cra_sqlite *store, sqlite3 *db, const char *name, cra_sqlite_collection *out,
                                      cra_error *err);

/* Append the index documents of a collection, `_id_` first. */
cra_status cra_sqlite_indexes_append(cra_sqlite *store, sqlite3 *db, const cra_sqlite_collection *collection,
                                     cra_buf *out, size_t *count, cra_error *err);
/* Whether `document` has an array where a unique index of `indexes` looks, which SQL cannot index element by
 * element. @return CRA_UNSUPPORTED naming the index */
cra_status cra_sqlite_indexes_take(cra_bytes indexes, cra_bytes document, cra_error *err);
/* Append `text` as an SQL literal. */
cra_status cra_sqlite_quote(cra_buf *sql, const char *text);

/* Append the statement of find(): ?1 the value's order key, ?2 the lower bound of ids, ?3 the limit. `with_null`: the
 * value equals a missing field. */
cra_status cra_sqlite_find_sql(int64_t collection, const char *path, bool with_null, cra_buf *sql);

/* Order key of a value, in place of what `key` held. */
cra_status cra_sqlite_key(cra_value value, cra_buf *key, cra_error *err);
/* The first element's value: the `_id`. */
cra_status cra_sqlite_first_value(cra_bytes document, cra_value *out);

/* Slots. */
cra_status cra_sqlite_index_list(void *self, const char *collection, cra_buf *out, size_t *count, cra_error *err);
cra_status cra_sqlite_index_ensure(void *self, const char *collection, cra_bytes spec, cra_index_outcome *outcome,
                                   cra_error *err);
cra_status cra_sqlite_collection_get(void *self, const char *collection, cra_buf *out, cra_error *err);
cra_status cra_sqlite_collection_create(void *self, const char *collection, cra_bytes options, cra_error *err);
cra_status cra_sqlite_write_batch(void *self, const char *collection, const cra_bytes *documents, size_t count,
                                  int64_t deadline_ms, cra_write_result *results, cra_error *err);
cra_status cra_sqlite_delete_batch(void *self, const cra_scope *scope, const cra_value *ids, size_t count,
                                   cra_bytes match, int64_t deadline_ms, int64_t *removed, cra_error *err);
cra_status cra_sqlite_replace_if(void *self, const char *collection, cra_value id, cra_bytes match, cra_bytes document,
                                 cra_error *err);

#endif
