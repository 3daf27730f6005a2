/* SPDX-License-Identifier: Apache-2.0 */

/* The catalog in SQLite: a column for every field of a run, so that the shell can be asked; leases and checkpoints
 * beside them. */

#include "backends/sqlite/sqlite_catalog.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

/* Column names in the order of CRA_RUN_FIELDS, and the number of them. */
#define COLUMN_NAME(kind, name, help) #name ", "
#define COLUMN_MARK(kind, name, help) "?, "
#define COLUMN_SET(kind, name, help) #name " = ?, "
#define COLUMN_ONE(kind, name, help) +1
#define FIELDS_COUNT (0 CRA_RUN_FIELDS(COLUMN_ONE))
#define SELECT_RUNS                                                                                                    \
    "SELECT " CRA_RUN_FIELDS(COLUMN_NAME) "version, lease_owner, lease_fence, lease_expires_at FROM runs WHERE 1 "

static void close_catalog(void *self)
{
    cra_sqlite_close(self);
}

static cra_status catalog_now(void *self, cra_time_ms *out, cra_error *err)
{
    cra_sqlite *store = self;

    (void)err;
    /* All that share the file share the machine, and with it the clock. */
    *out = cra_context_wall_ms(store->context);
    return CRA_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int bind_time(sqlite3_stmt *statement, int index, cra_time_ms time)
{
    return time == CRA_TIME_NONE ? sqlite3_bind_null(statement, index) : sqlite3_bind_int64(statement, index, time);
}

/* Bind every field from index 1 on. @return the next free index */
static int bind_run(sqlite3_stmt *statement, const cra_run_doc *run)
{
    int index = 1;

#define BIND_TEXT(name) cra_sqlite_bind_text(statement, index++, run->name);
#define BIND_TIME(name) bind_time(statement, index++, run->name);
#define BIND_INT(name) sqlite3_bind_int64(statement, index++, run->name);
#define BIND_BOOL(name) sqlite3_bind_int(statement, index++, run->name ? 1 : 0);
#define BIND(kind, name, help) BIND_##kind(name)
    CRA_RUN_FIELDS(BIND)
#undef BIND
#undef BIND_BOOL
#undef BIND_INT
#undef BIND_TIME
#undef BIND_TEXT
    return index;
}

/* The row as a run whose texts are borrowed from the statement. */
static void read_run(sqlite3_stmt *statement, cra_run_doc *run)
{
    int column = 0;

    cra_run_doc_init(run);
#define READ_TEXT(name) run->name = (char *)(uintptr_t)sqlite3_column_text(statement, column++);
#define READ_TIME(name)                                                                                                \
    run->name = sqlite3_column_type(statement, column) == SQLITE_NULL ? CRA_TIME_NONE                                  \
                                                                      : sqlite3_column_int64(statement, column);       \
    column++;
#define READ_INT(name) run->name = sqlite3_column_int64(statement, column++);
#define READ_BOOL(name) run->name = sqlite3_column_int(statement, column++) != 0;
#define READ(kind, name, help) READ_##kind(name)
    CRA_RUN_FIELDS(READ)
#undef READ
#undef READ_BOOL
#undef READ_INT
#undef READ_TIME
#undef READ_TEXT
    run->version = sqlite3_column_int64(statement, column++);
    const char *owner = (const char *)sqlite3_column_text(statement, column++);
    snprintf(run->lease_owner, sizeof run->lease_owner, "%s", owner != NULL ? owner : "");
    run->lease_fence = sqlite3_column_int64(statement, column++);
    run->lease_expires_at = sqlite3_column_int64(statement, column);
}

/* The WHERE and ORDER of a query. Values are numbered parameters, so that their place does not depend on the text. */
static cra_status build_query(const cra_run_query *query, cra_buf *sql)
{
    CRA_TRY(cra_buf_append_str(sql, SELECT_RUNS));
    if (query->report != NULL)
        CRA_TRY(cra_buf_append_str(sql, "AND report = ?1 "));
    if (query->run != NULL)
        CRA_TRY(cra_buf_append_str(sql, "AND run = ?2 "));
    if (query->state_mask != 0) {
        const char *separator = "AND state IN (";
        for (int state = 0; state < 32; state++) {
            if ((query->state_mask & 1u << state) == 0)
                continue;
            CRA_TRY(cra_buf_appendf(sql, "%s%d", separator, state));
            separator = ", ";
        }
        CRA_TRY(cra_buf_append_str(sql, ") "));
    }
    if (query->closed_only)
        CRA_TRY(cra_buf_append_str(sql, "AND outcome IS NOT NULL "));
    if (query->held_only)
        CRA_TRY(cra_buf_append_str(sql, "AND held "));
    if (query->undated_only)
        CRA_TRY(cra_buf_append_str(sql, "AND archive_at IS NULL "));
    if (query->due_before != CRA_TIME_NONE) {
        CRA_TRY(cra_buf_append_str(sql, "AND archive_at <= ?3 "));
        if (query->after_report != NULL)
            CRA_TRY(cra_buf_append_str(sql, "AND (archive_at, report, run) > (?6, ?4, ?5) "));
        CRA_TRY(cra_buf_append_str(sql, "ORDER BY archive_at, report, run"));
    } else {
        if (query->after_report != NULL)
            CRA_TRY(cra_buf_append_str(sql, "AND (report, run) > (?4, ?5) "));
        CRA_TRY(cra_buf_append_str(sql, "ORDER BY report, run"));
    }
    if (query->limit > 0)
        CRA_TRY(cra_buf_appendf(sql, " LIMIT %zu", query->limit));
    return cra_buf_cstr(sql) != NULL ? CRA_OK : CRA_NOMEM;
}

static void bind_query(sqlite3_stmt *statement, const cra_run_query *query)
{
    /* Binding a parameter that the text does not hold is refused, harmlessly. */
    cra_sqlite_bind_text(statement, 1, query->report);
    cra_sqlite_bind_text(statement, 2, query->run);
    bind_time(statement, 3, query->due_before);
    cra_sqlite_bind_text(statement, 4, query->after_report);
    cra_sqlite_bind_text(statement, 5, query->after_run);
    bind_time(statement, 6, query->after_archive_at);
}

static cra_status run_list(void *self, const cra_run_query *query, cra_run_visit_fn visit, void *user, cra_error *err)
{
    cra_sqlite *store = self;
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    cra_buf sql;
    int code = SQLITE_DONE;

    cra_buf_init(&sql, cra_context_allocator(store->context));
    cra_status status = build_query(query, &sql);
    if (status != CRA_OK)
        cra_error_set(err, status, "sqlite", "out of memory");
    else
        status = cra_sqlite_take(store, &db, err);
    if (status == CRA_OK)
        status = cra_sqlite_prepare(store, db, (const char *)sql.data, &statement, err);
    if (status == CRA_OK)
        bind_query(statement, query);
    while (status == CRA_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        cra_run_doc run;
        read_run(statement, &run);
        status = visit(user, &run);
    }
    if (status == CRA_OK && code != SQLITE_DONE)
        status = cra_sqlite_error(store, db, "list runs", err);
    sqlite3_finalize(statement);
    cra_sqlite_give(store, db);
    cra_buf_cleanup(&sql);
    return status;
}

static cra_status run_insert(void *self, const cra_run_doc *run, cra_error *err)
{
    cra_sqlite *store = self;
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;

    cra_status status = cra_sqlite_take(store, &db, err);
    if (status == CRA_OK)
        status = cra_sqlite_prepare(
            store, db,
            "INSERT INTO runs (" CRA_RUN_FIELDS(COLUMN_NAME) "version) VALUES (" CRA_RUN_FIELDS(COLUMN_MARK) "1)",
            &statement, err);
    if (status == CRA_OK) {
        bind_run(statement, run);
        if (sqlite3_step(statement) != SQLITE_DONE)
            status =
                (sqlite3_errcode(db) & 0xFF) == SQLITE_CONSTRAINT
                    ? cra_error_set(err, CRA_EXISTS, "sqlite", "report %s has a run %s already", run->report, run->run)
                    : cra_sqlite_error(store, db, "add a run", err);
    }
    sqlite3_finalize(statement);
    cra_sqlite_give(store, db);
    return status;
}

/* Tell apart why a conditional change met no row. */
static cra_status explain_no_change(cra_sqlite *store, sqlite3 *db, const char *report, const char *run,
                                    int64_t expect_version, const cra_lease *lease, cra_error *err)
{
    cra_sqlite_row row;
    const cra_status status = cra_sqlite_read_row(store, db, report, run, &row, err);

    if (status != CRA_OK)
        return status;
    if (lease != NULL && !cra_sqlite_row_is_held(&row, lease))
        return cra_error_set(err, CRA_LOCKED, "sqlite", "the lease of run %s was taken by another worker", run);
    return cra_error_set(err, CRA_CONFLICT, "sqlite", "run %s was changed meanwhile (version %lld, expected %lld)", run,
                         (long long)row.version, (long long)expect_version);
}

static cra_status run_replace(void *self, const cra_run_doc *next, int64_t expect_version, const cra_lease *lease,
                              cra_error *err)
{
    static const char sql[] = "UPDATE runs SET " CRA_RUN_FIELDS(
        COLUMN_SET) "version = version + 1 "
                    "WHERE report = ? AND run = ? AND version = ? AND (? OR (lease_owner = ? AND "
                    "lease_fence = ?))";
    cra_sqlite *store = self;
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;

    cra_status status = cra_sqlite_take(store, &db, err);
    if (status == CRA_OK)
        status = cra_sqlite_begin(store, db, 0, "change a run", err);
    if (status == CRA_OK)
        status = cra_sqlite_prepare(store, db, sql, &statement, err);
    if (status == CRA_OK) {
        int index = bind_run(statement, next);
        cra_sqlite_bind_text(statement, index++, next->report);
        cra_sqlite_bind_text(statement, index++, next->run);
        sqlite3_bind_int64(statement, index++, expect_version);
        sqlite3_bind_int(statement, index++, lease == NULL);
        cra_sqlite_bind_text(statement, index++, lease != NULL ? lease->owner : "");
        sqlite3_bind_int64(statement, index, lease != NULL ? lease->fence : 0);
        if (sqlite3_step(statement) != SQLITE_DONE)
            status = cra_sqlite_error(store, db, "change a run", err);
        else if (sqlite3_changes(db) == 0)
            status = explain_no_change(store, db, next->report, next->run, expect_version, lease, err);
    }
    sqlite3_finalize(statement);
    if (status == CRA_OK)
        status = cra_sqlite_commit(store, db, 0, "change a run", err);
    cra_sqlite_give(store, db);
    return status;
}

static cra_status run_remove(void *self, const char *report, const char *run, int64_t expect_version, cra_error *err)
{
    cra_sqlite *store = self;
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    cra_sqlite_row row;

    cra_status status = cra_sqlite_take(store, &db, err);
    if (status == CRA_OK)
        status = cra_sqlite_begin(store, db, 0, "remove a run", err);
    if (status == CRA_OK)
        status = cra_sqlite_read_row(store, db, report, run, &row, err);
    if (status == CRA_NOT_FOUND) { /* already gone */
        cra_error_clear(err);
        cra_sqlite_give(store, db);
        return CRA_OK;
    }
    if (status == CRA_OK && row.version != expect_version)
        status = explain_no_change(store, db, report, run, expect_version, NULL, err);
    static const char *const sql[] = {"DELETE FROM runs WHERE report = ? AND run = ?",
                                      "DELETE FROM checkpoints WHERE report = ? AND run = ?"};
    for (size_t i = 0; status == CRA_OK && i < 2; i++) {
        status = cra_sqlite_prepare(store, db, sql[i], &statement, err);
        if (status == CRA_OK) {
            cra_sqlite_bind_text(statement, 1, report);
            cra_sqlite_bind_text(statement, 2, run);
            if (sqlite3_step(statement) != SQLITE_DONE)
                status = cra_sqlite_error(store, db, "remove a run", err);
        }
        sqlite3_finalize(statement);
        statement = NULL;
    }
    if (status == CRA_OK)
        status = cra_sqlite_commit(store, db, 0, "remove a run", err);
    cra_sqlite_give(store, db);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static const cra_catalog_vtable vtable = {
    .struct_size = sizeof vtable,
    .features = CRA_CATALOG_SHARED,
    .close = close_catalog,
    .now = catalog_now,
    .run_list = run_list,
    .run_insert = run_insert,
    .run_replace = run_replace,
    .run_remove = run_remove,
    .lease_acquire = cra_sqlite_lease_acquire,
    .lease_renew = cra_sqlite_lease_renew,
    .lease_release = cra_sqlite_lease_release,
    .checkpoint_get = cra_sqlite_checkpoint_get,
    .checkpoint_put = cra_sqlite_checkpoint_put,
    .checkpoint_remove = cra_sqlite_checkpoint_remove,
    .summary_put = cra_sqlite_summary_put,
    .summary_get = cra_sqlite_summary_get,
};

cra_status cra_sqlite_catalog_open(const cra_open_args *args, const cra_catalog_vtable **out_vtable, void **self,
                                   cra_error *err)
{
    cra_sqlite *store = NULL;
    const cra_status status = cra_sqlite_open(args, &store, err);

    *out_vtable = &vtable;
    *self = store;
    return status;
}
