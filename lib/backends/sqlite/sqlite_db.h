/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BACKENDS_SQLITE_DB_H
#define CRA_BACKENDS_SQLITE_DB_H

/* One SQLite file shared by threads and processes: connections, schema, errors. Catalog and docstore may lie in one
 * file; each opens it for itself. */

#include <sqlite3.h>

#include <crawlarchive/sys/backend.h>

#include "backends/sqlite/sqlite_functions.h"
#include "os/thread.h"

/* "CRA1": how `file` and we ourselves tell our databases from others. */
#define CRA_SQLITE_APPLICATION_ID 0x43524131
/* Version of the tables; a newer one is refused. */
#define CRA_SQLITE_SCHEMA_VERSION 1

/* Most connections that are kept open between calls. */
#define CRA_SQLITE_IDLE_MAX 16

typedef struct cra_sqlite {
    cra_context *context;
    char *path;
    bool read_only;
    char run_field[256]; /* path that new collections are clustered by */
    cra_mutex mutex;
    /* Connections that nobody uses; a call takes one, so that a heartbeat never waits for a page. */
    sqlite3 *idle[CRA_SQLITE_IDLE_MAX];
    size_t idle_count;
} cra_sqlite;

/* Open the file of a URI "sqlite:PATH"; creates it and its tables with CRA_OPEN_CREATE. */
cra_status cra_sqlite_open(const cra_open_args *args, cra_sqlite **out, cra_error *err);
void cra_sqlite_close(cra_sqlite *store);

/* Take a connection for the length of one call, and give it back (NULL is legal). */
cra_status cra_sqlite_take(cra_sqlite *store, sqlite3 **out, cra_error *err);
void cra_sqlite_give(cra_sqlite *store, sqlite3 *db);

/* Fill `err` with what SQLite said while `doing` ("write records"). */
cra_status cra_sqlite_error(const cra_sqlite *store, sqlite3 *db, const char *doing, cra_error *err);

cra_status cra_sqlite_exec(cra_sqlite *store, sqlite3 *db, const char *sql, const char *doing, cra_error *err);
cra_status cra_sqlite_prepare(cra_sqlite *store, sqlite3 *db, const char *sql, sqlite3_stmt **out, cra_error *err);

/* A write transaction; `deadline_ms` of the monotonic clock (0: none) is looked at after the lock is held, and again
 * right before the commit. On failure nothing is pending. CRA_TIMEOUT, CRA_UNAVAILABLE (locked by another). */
cra_status cra_sqlite_begin(cra_sqlite *store, sqlite3 *db, int64_t deadline_ms, const char *doing, cra_error *err);
cra_status cra_sqlite_commit(cra_sqlite *store, sqlite3 *db, int64_t deadline_ms, const char *doing, cra_error *err);
void cra_sqlite_rollback(sqlite3 *db);

/* Bind and read. Texts and blobs are borrowed until the step; NULL text binds NULL. */
int cra_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text);
int cra_sqlite_bind_bytes(sqlite3_stmt *statement, int index, cra_bytes bytes);
cra_bytes cra_sqlite_column_bytes(sqlite3_stmt *statement, int column);

cra_status cra_sqlite_catalog_open(const cra_open_args *args, const cra_catalog_vtable **vtable, void **self,
                                   cra_error *err);
cra_status cra_sqlite_docstore_open(const cra_open_args *args, const cra_docstore_vtable **vtable, void **self,
                                    cra_error *err);

#endif
