/* SPDX-License-Identifier: Apache-2.0 */

/* Leases, and what may be written only under one. Each change is one immediate transaction: SQLite's write lock makes
 * read, decision and write one step. */

#include <stdio.h>
#include <string.h>

#include "backends/sqlite/sqlite_catalog.h"
#include "base/buf.h"

cra_status cra_sqlite_read_row(cra_sqlite *store, sqlite3 *db, const char *report, const char *run, cra_sqlite_row *out,
                               cra_error *err)
{
    sqlite3_stmt *statement = NULL;
    cra_status status = cra_sqlite_prepare(
        store, db, "SELECT version, lease_owner, lease_fence, lease_expires_at FROM runs WHERE report = ? AND run = ?",
        &statement, err);

    memset(out, 0, sizeof *out);
    if (status == CRA_OK) {
        cra_sqlite_bind_text(statement, 1, report);
        cra_sqlite_bind_text(statement, 2, run);
        const int code = sqlite3_step(statement);
        if (code == SQLITE_DONE)
            status = cra_error_set(err, CRA_NOT_FOUND, "sqlite", "report %s has no run %s", report, run);
        else if (code != SQLITE_ROW)
            status = cra_sqlite_error(store, db, "read a run", err);
    }
    if (status == CRA_OK) {
        const char *owner = (const char *)sqlite3_column_text(statement, 1);
        out->version = sqlite3_column_int64(statement, 0);
        snprintf(out->lease_owner, sizeof out->lease_owner, "%s", owner != NULL ? owner : "");
        out->lease_fence = sqlite3_column_int64(statement, 2);
        out->lease_expires_at = sqlite3_column_int64(statement, 3);
    }
    sqlite3_finalize(statement);
    return status;
}

bool cra_sqlite_row_is_held(const cra_sqlite_row *row, const cra_lease *lease)
{
    return row->lease_fence == lease->fence && strcmp(row->lease_owner, lease->owner) == 0;
}

/* A transaction that has read the run: `*db` is taken and begun. On failure nothing is held. */
static cra_status begin_with_row(cra_sqlite *store, const char *report, const char *run, const char *doing,
                                 sqlite3 **db, cra_sqlite_row *row, cra_error *err)
{
    cra_status status = cra_sqlite_take(store, db, err);
    if (status == CRA_OK)
        status = cra_sqlite_begin(store, *db, 0, doing, err);
    if (status == CRA_OK)
        status = cra_sqlite_read_row(store, *db, report, run, row, err);
    if (status != CRA_OK) {
        cra_sqlite_give(store, *db);
        *db = NULL;
    }
    return status;
}

static cra_status check_held(const cra_sqlite_row *row, const cra_lease *lease, const char *run, cra_error *err)
{
    if (cra_sqlite_row_is_held(row, lease))
        return CRA_OK;
    return cra_error_set(err, CRA_LOCKED, "sqlite", "the lease of run %s was taken by another worker", run);
}

static cra_status write_lease(cra_sqlite *store, sqlite3 *db, const char *report, const char *run, const char *owner,
                              int64_t fence, cra_time_ms expires_at, cra_error *err)
{
    sqlite3_stmt *statement = NULL;
    cra_status status = cra_sqlite_prepare(store, db,
                                           "UPDATE runs SET lease_owner = ?, lease_fence = ?, lease_expires_at = ? "
                                           "WHERE report = ? AND run = ?",
                                           &statement, err);

    if (status == CRA_OK) {
        cra_sqlite_bind_text(statement, 1, owner);
        sqlite3_bind_int64(statement, 2, fence);
        sqlite3_bind_int64(statement, 3, expires_at);
        cra_sqlite_bind_text(statement, 4, report);
        cra_sqlite_bind_text(statement, 5, run);
        if (sqlite3_step(statement) != SQLITE_DONE)
            status = cra_sqlite_error(store, db, "write a lease", err);
    }
    sqlite3_finalize(statement);
    return status;
}

cra_status cra_sqlite_lease_acquire(void *self, const char *report, const char *run, const char *owner, int64_t ttl_ms,
                                    int64_t grace_ms, cra_lease *out, cra_error *err)
{
    cra_sqlite *store = self;
    sqlite3 *db = NULL;
    cra_sqlite_row row;

    cra_status status = begin_with_row(store, report, run, "take a lease", &db, &row, err);
    if (status != CRA_OK)
        return status;
    const cra_time_ms now = cra_context_wall_ms(store->context);
    /* Released leases have no owner; a holder that died may have a last command under way for the grace. */
    if (row.lease_owner[0] != '\0' && row.lease_expires_at > 0 && row.lease_expires_at + grace_ms > now)
        status = cra_error_set(err, CRA_LOCKED, "sqlite", "run %s is leased by %s for another %lld ms", run,
                               row.lease_owner, (long long)(row.lease_expires_at + grace_ms - now));
    if (status == CRA_OK)
        status = write_lease(store, db, report, run, owner, row.lease_fence + 1, now + ttl_ms, err);
    if (status == CRA_OK)
        status = cra_sqlite_commit(store, db, 0, "take a lease", err);
    cra_sqlite_give(store, db);
    if (status == CRA_OK) {
        snprintf(out->owner, sizeof out->owner, "%s", owner);
        out->fence = row.lease_fence + 1;
        out->expires_at = now + ttl_ms;
    }
    return status;
}

cra_status cra_sqlite_lease_renew(void *self, const char *report, const char *run, cra_lease *lease, int64_t ttl_ms,
                                  cra_error *err)
{
    cra_sqlite *store = self;
    sqlite3 *db = NULL;
    cra_sqlite_row row;

    cra_status status = begin_with_row(store, report, run, "renew a lease", &db, &row, err);
    if (status != CRA_OK)
        return status;
    const cra_time_ms expires_at = cra_context_wall_ms(store->context) + ttl_ms;
    status = check_held(&row, lease, run, err);
    if (status == CRA_OK)
        status = write_lease(store, db, report, run, lease->owner, lease->fence, expires_at, err);
    if (status == CRA_OK)
        status = cra_sqlite_commit(store, db, 0, "renew a lease", err);
    cra_sqlite_give(store, db);
    if (status == CRA_OK)
        lease->expires_at = expires_at;
    return status;
}

cra_status cra_sqlite_lease_release(void *self, const char *report, const char *run, const cra_lease *lease,
                                    cra_error *err)
{
    cra_sqlite *store = self;
    sqlite3 *db = NULL;
    cra_sqlite_row row;

    cra_status status = begin_with_row(store, report, run, "release a lease", &db, &row, err);
    if (status == CRA_NOT_FOUND) {
        cra_error_clear(err);
        return CRA_OK;
    }
    if (status != CRA_OK)
        return status;
    if (cra_sqlite_row_is_held(&row, lease))
        status = write_lease(store, db, report, run, "", lease->fence, 0, err);
    if (status == CRA_OK)
        status = cra_sqlite_commit(store, db, 0, "release a lease", err);
    cra_sqlite_give(store, db);
    return status;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static cra_status read_checkpoint(cra_sqlite *store, sqlite3 *db, const char *report, const char *run, const char *name,
                                  cra_buf *out, int64_t *version, cra_error *err)
{
    sqlite3_stmt *statement = NULL;
    cra_status status = cra_sqlite_prepare(
        store, db, "SELECT version, content FROM checkpoints WHERE report = ? AND run = ? AND name = ?", &statement,
        err);

    *version = 0;
    if (status == CRA_OK) {
        cra_sqlite_bind_text(statement, 1, report);
        cra_sqlite_bind_text(statement, 2, run);
        cra_sqlite_bind_text(statement, 3, name);
        const int code = sqlite3_step(statement);
        if (code == SQLITE_DONE) {
            status = cra_error_set(err, CRA_NOT_FOUND, "sqlite", "run %s has no checkpoint %s", run, name);
        } else if (code != SQLITE_ROW) {
            status = cra_sqlite_error(store, db, "read a checkpoint", err);
        } else {
            const cra_bytes content = cra_sqlite_column_bytes(statement, 1);
            *version = sqlite3_column_int64(statement, 0);
            if (out != NULL && cra_buf_append(out, content.data, content.size) != CRA_OK)
                status = cra_error_set(err, CRA_NOMEM, "sqlite", "out of memory");
        }
    }
    sqlite3_finalize(statement);
    return status;
}

cra_status cra_sqlite_checkpoint_get(void *self, const char *report, const char *run, const char *name, cra_buf *out,
                                     int64_t *version, cra_error *err)
{
    cra_sqlite *store = self;
    sqlite3 *db = NULL;

    cra_status status = cra_sqlite_take(store, &db, err);
    if (status == CRA_OK)
        status = read_checkpoint(store, db, report, run, name, out, version, err);
    cra_sqlite_give(store, db);
    return status;
}

static cra_status write_checkpoint(cra_sqlite *store, sqlite3 *db, const char *report, const char *run,
                                   const char *name, int64_t version, cra_bytes content, cra_error *err)
{
    sqlite3_stmt *statement = NULL;
    cra_status status = cra_sqlite_prepare(store, db,
                                           "INSERT OR REPLACE INTO checkpoints (report, run, name, version, content) "
                                           "VALUES (?, ?, ?, ?, ?)",
                                           &statement, err);

    if (status == CRA_OK) {
        cra_sqlite_bind_text(statement, 1, report);
        cra_sqlite_bind_text(statement, 2, run);
        cra_sqlite_bind_text(statement, 3, name);
        sqlite3_bind_int64(statement, 4, version);
        cra_sqlite_bind_bytes(statement, 5, content);
        if (sqlite3_step(statement) != SQLITE_DONE)
            status = cra_sqlite_error(store, db, "store a checkpoint", err);
    }
    sqlite3_finalize(statement);
    return status;
}

cra_status cra_sqlite_checkpoint_put(void *self, const char *report, const char *run, const char *name,
                                     const cra_lease *lease, int64_t expect_version, cra_bytes content, cra_error *err)
{
    cra_sqlite *store = self;
    sqlite3 *db = NULL;
    cra_sqlite_row row;
    int64_t version = 0;

    cra_status status = begin_with_row(store, report, run, "store a checkpoint", &db, &row, err);
    if (status != CRA_OK)
        return status;
    status = check_held(&row, lease, run, err);
    if (status == CRA_OK) {
        status = read_checkpoint(store, db, report, run, name, NULL, &version, err);
        if (status == CRA_NOT_FOUND) {
            cra_error_clear(err);
            status = CRA_OK;
        }
    }
    if (status == CRA_OK && version != expect_version)
        status = cra_error_set(err, CRA_CONFLICT, "sqlite", "checkpoint %s of run %s has version %lld, expected %lld",
                               name, run, (long long)version, (long long)expect_version);
    if (status == CRA_OK)
        status = write_checkpoint(store, db, report, run, name, version + 1, content, err);
    if (status == CRA_OK)
        status = cra_sqlite_commit(store, db, 0, "store a checkpoint", err);
    cra_sqlite_give(store, db);
    return status;
}

cra_status cra_sqlite_checkpoint_remove(void *self, const char *report, const char *run, const char *name,
                                        const cra_lease *lease, cra_error *err)
{
    cra_sqlite *store = self;
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    cra_sqlite_row row;

    cra_status status = begin_with_row(store, report, run, "remove a checkpoint", &db, &row, err);
    if (status != CRA_OK)
        return status;
    status = check_held(&row, lease, run, err);
    if (status == CRA_OK)
        status = cra_sqlite_prepare(store, db, "DELETE FROM checkpoints WHERE report = ? AND run = ? AND name = ?",
                                    &statement, err);
    if (status == CRA_OK) {
        cra_sqlite_bind_text(statement, 1, report);
        cra_sqlite_bind_text(statement, 2, run);
        cra_sqlite_bind_text(statement, 3, name);
        if (sqlite3_step(statement) != SQLITE_DONE)
            status = cra_sqlite_error(store, db, "remove a checkpoint", err);
    }
    sqlite3_finalize(statement);
    if (status == CRA_OK)
        status = cra_sqlite_commit(store, db, 0, "remove a checkpoint", err);
    cra_sqlite_give(store, db);
    return status;
}

/* ---- summaries ------------------------------------------------------------------------------- */

cra_status cra_sqlite_summary_put(void *self, const char *name, cra_bytes content, cra_error *err)
{
    cra_sqlite *store = self;
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;

    cra_status status = cra_sqlite_take(store, &db, err);
    if (status == CRA_OK)
        status = cra_sqlite_prepare(store, db, "INSERT OR REPLACE INTO summaries (name, content) VALUES (?, ?)",
                                    &statement, err);
    if (status == CRA_OK) {
        cra_sqlite_bind_text(statement, 1, name);
        cra_sqlite_bind_bytes(statement, 2, content);
        if (sqlite3_step(statement) != SQLITE_DONE)
            status = cra_sqlite_error(store, db, "store a summary", err);
    }
    sqlite3_finalize(statement);
    cra_sqlite_give(store, db);
    return status;
}

cra_status cra_sqlite_summary_get(void *self, const char *name, cra_buf *out, cra_error *err)
{
    cra_sqlite *store = self;
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;

    cra_status status = cra_sqlite_take(store, &db, err);
    if (status == CRA_OK)
        status = cra_sqlite_prepare(store, db, "SELECT content FROM summaries WHERE name = ?", &statement, err);
    if (status == CRA_OK) {
        cra_sqlite_bind_text(statement, 1, name);
        const int code = sqlite3_step(statement);
        if (code == SQLITE_DONE) {
            status = cra_error_set(err, CRA_NOT_FOUND, "sqlite", "there is no summary %s yet", name);
        } else if (code != SQLITE_ROW) {
            status = cra_sqlite_error(store, db, "read a summary", err);
        } else {
            const cra_bytes content = cra_sqlite_column_bytes(statement, 0);
            if (cra_buf_append(out, content.data, content.size) != CRA_OK)
                status = cra_error_set(err, CRA_NOMEM, "sqlite", "out of memory");
        }
    }
    sqlite3_finalize(statement);
    cra_sqlite_give(store, db);
    return status;
}
