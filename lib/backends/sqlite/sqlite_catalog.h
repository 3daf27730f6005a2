/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BACKENDS_SQLITE_CATALOG_H
#define CRA_BACKENDS_SQLITE_CATALOG_H

/* The two halves of the SQLite catalog: runs (sqlite_catalog.c), and leases with what they protect (sqlite_lease.c). */

#include "backends/sqlite/sqlite_db.h"

/* What conditional changes look at. */
typedef struct cra_sqlite_row {
    int64_t version;
    char lease_owner[40];
    int64_t lease_fence;
    cra_time_ms lease_expires_at;
} cra_sqlite_row;

/* CRA_NOT_FOUND where there is no such run. */
cra_status cra_sqlite_read_row(cra_sqlite *store, sqlite3 *db, const char *report, const char *run, cra_sqlite_row *out,
                               cra_error *err);
bool cra_sqlite_row_is_held(const cra_sqlite_row *row, const cra_lease *lease);

cra_status cra_sqlite_lease_acquire(void *self, const char *report, const char *run, const char *owner, int64_t ttl_ms,
                                    int64_t grace_ms, cra_lease *out, cra_error *err);
cra_status cra_sqlite_lease_renew(void *self, const char *report, const char *run, cra_lease *lease, int64_t ttl_ms,
                                  cra_error *err);
cra_status cra_sqlite_lease_release(void *self, const char *report, const char *run, const cra_lease *lease,
                                    cra_error *err);
cra_status cra_sqlite_checkpoint_get(void *self, const char *report, const char *run, const char *name, cra_buf *out,
                                     int64_t *version, cra_error *err);
cra_status cra_sqlite_checkpoint_put(void *self, const char *report, const char *run, const char *name,
                                     const cra_lease *lease, int64_t expect_version, cra_bytes content, cra_error *err);
cra_status cra_sqlite_checkpoint_remove(void *self, const char *report, const char *run, const char *name,
                                        const cra_lease *lease, cra_error *err);
cra_status cra_sqlite_summary_put(void *self, const char *name, cra_bytes content, cra_error *err);
cra_status cra_sqlite_summary_get(void *self, const char *name, cra_buf *out, cra_error *err);

#endif
