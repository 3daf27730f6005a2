/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/sqlite/sqlite_db.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/uri.h"

#define ORIGIN "sqlite"
#define BUSY_TIMEOUT_MS 10000
#define SWITCH_ATTEMPTS 100
#define SWITCH_PAUSE_MS 10

/* Made once; every statement can be repeated, so that two processes may create the file at the same moment. */
static const char schema_sql[] = "CREATE TABLE IF NOT EXISTS runs ("
#define COLUMN_TEXT(name) #name " TEXT,"
#define COLUMN_TIME(name) #name " INTEGER,"
#define COLUMN_INT(name) #name " INTEGER NOT NULL,"
#define COLUMN_BOOL(name) #name " INTEGER NOT NULL,"
#define COLUMN(kind, name, help) COLUMN_##kind(name)
    CRA_RUN_FIELDS(COLUMN)
#undef COLUMN
#undef COLUMN_BOOL
#undef COLUMN_INT
#undef COLUMN_TIME
#undef COLUMN_TEXT
        " version INTEGER NOT NULL,"
        " lease_owner TEXT NOT NULL DEFAULT '',"
        " lease_fence INTEGER NOT NULL DEFAULT 0,"
        " lease_expires_at INTEGER NOT NULL DEFAULT 0,"
        " PRIMARY KEY (report, run)) WITHOUT ROWID;"
        "CREATE INDEX IF NOT EXISTS runs_by_run ON runs (run);"
        "CREATE INDEX IF NOT EXISTS runs_due ON runs (archive_at, report, run) WHERE archive_at IS NOT NULL;"
        "CREATE INDEX IF NOT EXISTS runs_by_state ON runs (state, report, run);"
        "CREATE TABLE IF NOT EXISTS checkpoints (report TEXT, run TEXT, name TEXT, version INTEGER NOT NULL,"
        " content BLOB NOT NULL, PRIMARY KEY (report, run, name)) WITHOUT ROWID;"
        "CREATE TABLE IF NOT EXISTS summaries (name TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID;"
        "CREATE TABLE IF NOT EXISTS collections (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
        " run_field TEXT NOT NULL, options BLOB NOT NULL);"
        "CREATE TABLE IF NOT EXISTS collection_indexes (id INTEGER PRIMARY KEY, collection INTEGER NOT NULL,"
        " name TEXT NOT NULL, spec BLOB NOT NULL, UNIQUE (collection, name));";

/* ---- errors ---------------------------------------------------------------------------------- */

static cra_status status_of(int code)
{
    switch (code & 0xFF) {
    case SQLITE_NOMEM:
        return CRA_NOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return CRA_UNAVAILABLE;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
        return CRA_DENIED;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return CRA_CORRUPT;
    case SQLITE_INTERRUPT:
        return CRA_CANCELLED;
    default:
        return CRA_IO;
    }
}

cra_status cra_sqlite_error(const cra_sqlite *store, sqlite3 *db, const char *doing, cra_error *err)
{
    const int code = db != NULL ? sqlite3_extended_errcode(db) : SQLITE_NOMEM;
    cra_status status = status_of(code);

    /* "unable to open" is all that SQLite says of a missing folder, of missing rights and of a full table of files. */
    if ((code & 0xFF) == SQLITE_CANTOPEN && sqlite3_system_errno(db) != 0)
        status = cra_status_from_errno(sqlite3_system_errno(db));

    cra_error_set_native(err, status, code, ORIGIN, "cannot %s: %s: %s", doing, store->path,
                         db != NULL ? sqlite3_errmsg(db) : "out of memory");
    if (status == CRA_UNAVAILABLE)
        cra_error_hint(err, "another process is writing to the file; try again");
    else if ((code & 0xFF) == SQLITE_FULL)
        cra_error_hint(err, "make room on the file system of %s", store->path);
    return status;
}

cra_status cra_sqlite_exec(cra_sqlite *store, sqlite3 *db, const char *sql, const char *doing, cra_error *err)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? CRA_OK : cra_sqlite_error(store, db, doing, err);
}

cra_status cra_sqlite_prepare(cra_sqlite *store, sqlite3 *db, const char *sql, sqlite3_stmt **out, cra_error *err)
{
    return sqlite3_prepare_v2(db, sql, -1, out, NULL) == SQLITE_OK
               ? CRA_OK
               : cra_sqlite_error(store, db, "prepare a statement", err);
}

int cra_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text)
{
    return text == NULL ? sqlite3_bind_null(statement, index)
                        : sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

int cra_sqlite_bind_bytes(sqlite3_stmt *statement, int index, cra_bytes bytes)
{
    return bytes.size == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                           : sqlite3_bind_blob64(statement, index, bytes.data, bytes.size, SQLITE_STATIC);
}

cra_bytes cra_sqlite_column_bytes(sqlite3_stmt *statement, int column)
{
    const void *data = sqlite3_column_blob(statement, column);
    return cra_bytes_of(data, (size_t)sqlite3_column_bytes(statement, column));
}

/* ---- transactions ---------------------------------------------------------------------------- */

static cra_status check_deadline(const cra_sqlite *store, int64_t deadline_ms, const char *doing, cra_error *err)
{
    if (deadline_ms == 0 || cra_context_monotonic_ms(store->context) < deadline_ms)
        return CRA_OK;
    return cra_error_set(err, CRA_TIMEOUT, ORIGIN, "cannot %s: the deadline of the command has passed", doing);
}

void cra_sqlite_rollback(sqlite3 *db)
{
    if (!sqlite3_get_autocommit(db))
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
}

cra_status cra_sqlite_begin(cra_sqlite *store, sqlite3 *db, int64_t deadline_ms, const char *doing, cra_error *err)
{
    cra_status status = check_deadline(store, deadline_ms, doing, err);

    if (status != CRA_OK)
        return status;
    /* Who must be done by then need not wait for the lock any longer. */
    const int64_t left = deadline_ms == 0 ? BUSY_TIMEOUT_MS : deadline_ms - cra_context_monotonic_ms(store->context);
    sqlite3_busy_timeout(db, left < BUSY_TIMEOUT_MS ? (int)(left > 0 ? left : 0) : BUSY_TIMEOUT_MS);
    const int code = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS);
    status = check_deadline(store, deadline_ms, doing, err);
    if (status == CRA_OK && code != SQLITE_OK)
        return cra_sqlite_error(store, db, doing, err);
    if (status != CRA_OK)
        cra_sqlite_rollback(db);
    return status;
}

cra_status cra_sqlite_commit(cra_sqlite *store, sqlite3 *db, int64_t deadline_ms, const char *doing, cra_error *err)
{
    cra_status status = check_deadline(store, deadline_ms, doing, err);

    if (status == CRA_OK)
        status = cra_sqlite_exec(store, db, "COMMIT", doing, err);
    if (status != CRA_OK)
        cra_sqlite_rollback(db);
    return status;
}

/* ---- connections ----------------------------------------------------------------------------- */

/* The switch is lasting; of two processes that make it at once, SQLite turns one away without waiting. */
static cra_status use_log(cra_sqlite *store, sqlite3 *db, cra_error *err)
{
    int code = SQLITE_BUSY;

    for (int attempt = 0; attempt < SWITCH_ATTEMPTS && (code & 0xFF) == SQLITE_BUSY; attempt++) {
        if (attempt > 0)
            cra_context_sleep_ms(store->context, SWITCH_PAUSE_MS);
        code = sqlite3_exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", NULL, NULL, NULL);
    }
    return code == SQLITE_OK ? CRA_OK : cra_sqlite_error(store, db, "switch to write-ahead logging", err);
}

static cra_status open_connection(cra_sqlite *store, bool create, sqlite3 **out, cra_error *err)
{
    const int access = store->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    const int flags = access | (create && !store->read_only ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX;
    sqlite3 *db = NULL;
    cra_status status = CRA_OK;

    *out = NULL;
    if (sqlite3_open_v2(store->path, &db, flags, NULL) != SQLITE_OK) {
        status = cra_sqlite_error(store, db, "open the database", err);
        sqlite3_close(db);
        return status;
    }
    sqlite3_extended_result_codes(db, 1);
    sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS);
    /* Memory that SQLite may use for itself is its own page cache; statements are small. */
    if (cra_sqlite_register_functions(db) != SQLITE_OK)
        status = cra_sqlite_error(store, db, "register functions", err);
    if (status == CRA_OK && create)
        status = cra_sqlite_exec(store, db, "PRAGMA page_size = 8192", "set the page size", err);
    if (status == CRA_OK && !store->read_only)
        status = use_log(store, db, err);
    if (status != CRA_OK) {
        sqlite3_close(db);
        return status;
    }
    *out = db;
    return CRA_OK;
}

cra_status cra_sqlite_take(cra_sqlite *store, sqlite3 **out, cra_error *err)
{
    *out = NULL;
    cra_mutex_lock(&store->mutex);
    if (store->idle_count > 0)
        *out = store->idle[--store->idle_count];
    cra_mutex_unlock(&store->mutex);
    return *out != NULL ? CRA_OK : open_connection(store, false, out, err);
}

void cra_sqlite_give(cra_sqlite *store, sqlite3 *db)
{
    if (db == NULL)
        return;
    cra_sqlite_rollback(db);
    cra_mutex_lock(&store->mutex);
    const bool kept = store->idle_count < CRA_SQLITE_IDLE_MAX;
    if (kept)
        store->idle[store->idle_count++] = db;
    cra_mutex_unlock(&store->mutex);
    if (!kept)
        sqlite3_close(db);
}

/* ---- opening --------------------------------------------------------------------------------- */

static cra_status read_number(cra_sqlite *store, sqlite3 *db, const char *sql, int64_t *out, cra_error *err)
{
    sqlite3_stmt *statement = NULL;
    cra_status status = cra_sqlite_prepare(store, db, sql, &statement, err);

    if (status == CRA_OK && sqlite3_step(statement) != SQLITE_ROW)
        status = cra_sqlite_error(store, db, "read the schema version", err);
    if (status == CRA_OK)
        *out = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return status;
}

/* Bring the schema forward, or refuse a file that is not ours or is newer than we are. */
static cra_status ensure_schema(cra_sqlite *store, sqlite3 *db, bool create, cra_error *err)
{
    int64_t application_id = 0;
    int64_t version = 0;
    int64_t tables = 0;
    char sql[96];

    cra_status status = read_number(store, db, "PRAGMA application_id", &application_id, err);
    if (status == CRA_OK)
        status = read_number(store, db, "PRAGMA user_version", &version, err);
    if (status != CRA_OK)
        return status;
    /* What is neither marked nor empty is somebody's, too. */
    if (application_id == 0)
        status = read_number(store, db, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (status != CRA_OK)
        return status;
    if ((application_id != 0 || tables > 0) && application_id != CRA_SQLITE_APPLICATION_ID)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "%s is a database of another program", store->path);
    if (version > CRA_SQLITE_SCHEMA_VERSION)
        return cra_error_set(err, CRA_UNSUPPORTED, ORIGIN,
                             "%s has schema version %lld; this program knows %d: a newer one is needed", store->path,
                             (long long)version, CRA_SQLITE_SCHEMA_VERSION);
    if (version == CRA_SQLITE_SCHEMA_VERSION)
        return CRA_OK;
    if (!create || store->read_only) {
        cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "%s holds no stores yet", store->path);
        cra_error_hint(err, "`crawlarchive init` creates them");
        return CRA_NOT_FOUND;
    }
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d", CRA_SQLITE_APPLICATION_ID,
             CRA_SQLITE_SCHEMA_VERSION);
    status = cra_sqlite_begin(store, db, 0, "create the tables", err);
    if (status == CRA_OK)
        status = cra_sqlite_exec(store, db, schema_sql, "create the tables", err);
    if (status == CRA_OK)
        status = cra_sqlite_exec(store, db, sql, "create the tables", err);
    if (status == CRA_OK)
        return cra_sqlite_commit(store, db, 0, "create the tables", err);
    cra_sqlite_rollback(db);
    return status;
}

static cra_status take_path(cra_sqlite *store, const char *text, cra_error *err)
{
    cra_uri uri;
    cra_status status = cra_uri_parse(text, cra_context_allocator(store->context), &uri, err);

    if (status == CRA_OK)
        status = cra_uri_check_params(&uri, NULL, 0, err);
    if (status == CRA_OK && (uri.path[0] == '\0' || uri.authority != NULL))
        status = cra_error_set(err, CRA_INVALID, ORIGIN, "a database is given as sqlite:PATH");
    if (status == CRA_OK) {
        store->path = cra_strdup(cra_context_allocator(store->context), uri.path);
        if (store->path == NULL)
            status = cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory");
    }
    cra_uri_cleanup(&uri);
    return status;
}

static cra_status open_file(cra_sqlite *store, bool create, cra_error *err)
{
    struct stat info;
    sqlite3 *db = NULL;

    if (!create && stat(store->path, &info) != 0 && errno == ENOENT) {
        cra_error_set_native(err, CRA_NOT_FOUND, ENOENT, ORIGIN, "%s does not exist", store->path);
        cra_error_hint(err, "`crawlarchive init` creates the stores");
        return CRA_NOT_FOUND;
    }
    cra_status status = open_connection(store, create, &db, err);
    if (status == CRA_OK)
        status = ensure_schema(store, db, create, err);
    if (status == CRA_OK)
        cra_sqlite_give(store, db);
    else
        sqlite3_close(db);
    return status;
}

/* The setting "run_field": what new collections are clustered by. */
static void take_run_field(cra_sqlite *store, const cra_open_args *args)
{
    const char *field = "run_id";

    for (size_t i = 0; i < args->settings_count; i++) {
        if (strcmp(args->settings[i].key, "run_field") == 0 && args->settings[i].value != NULL)
            field = args->settings[i].value;
    }
    snprintf(store->run_field, sizeof store->run_field, "%s", field);
}

cra_status cra_sqlite_open(const cra_open_args *args, cra_sqlite **out, cra_error *err)
{
    const cra_allocator *allocator = cra_context_allocator(args->context);
    cra_sqlite *store = cra_calloc(allocator, 1, sizeof *store);

    *out = NULL;
    if (store == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory");
    store->context = args->context;
    store->read_only = (args->flags & CRA_OPEN_READ_ONLY) != 0;
    take_run_field(store, args);
    cra_status status = cra_mutex_init(&store->mutex, err);
    if (status != CRA_OK) {
        cra_free(allocator, store);
        return status;
    }
    status = take_path(store, args->uri, err);
    if (status == CRA_OK)
        status = open_file(store, (args->flags & CRA_OPEN_CREATE) != 0, err);
    if (status != CRA_OK) {
        cra_sqlite_close(store);
        return status;
    }
    *out = store;
    return CRA_OK;
}

void cra_sqlite_close(cra_sqlite *store)
{
    if (store == NULL)
        return;
    const cra_allocator *allocator = cra_context_allocator(store->context);
    for (size_t i = 0; i < store->idle_count; i++)
        sqlite3_close(store->idle[i]);
    cra_free(allocator, store->path);
    cra_mutex_destroy(&store->mutex);
    cra_free(allocator, store);
}
