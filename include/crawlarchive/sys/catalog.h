/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_SYS_CATALOG_H
#define CRAWLARCHIVE_SYS_CATALOG_H

/** @file sys/catalog.h
 * The catalog port: runs and their dates, leases with fence, checkpoints, summaries.
 */

#include <crawlarchive/error.h>

CRA_BEGIN_DECLS

/** A guarded handle on a catalog. Shareable between threads. */
typedef struct cra_catalog cra_catalog;

/** Where a run stands (lifecycle: hot → sweeping → archived → restoring → restored → sweeping → …). */
typedef enum cra_run_state {
    CRA_RUN_HOT = 0,
    CRA_RUN_SWEEPING = 1,
    CRA_RUN_ARCHIVED = 2,
    CRA_RUN_RESTORING = 3,
    CRA_RUN_RESTORED = 4
} cra_run_state;

/** Every stored field of a run: X(kind, name, who writes it and what it says).
 *
 * Kinds: TEXT (char *, NULL where unset), TIME (cra_time_ms, CRA_TIME_NONE where unset),
 * INT (int64_t, -1 where unset unless noted), BOOL. The table drives copies, storage columns,
 * the page crawlarchive-catalog(5) and field maps; add a field here and everywhere follows.
 * The lease (owner, fence, expiry) belongs to the same stored document but is written by the
 * lease slots alone.
 */
#define CRA_RUN_FIELDS(X)                                                                                  \
    X(TEXT, report, "import, run add: the report the run belongs to")                                      \
    X(TEXT, run, "import, run add: the run's id")                                                          \
    X(TEXT, collection, "import, run add: hot collection of its records")                                  \
    X(INT, state, "every operation: cra_run_state")                                                        \
    X(TEXT, outcome, "deliver: success, failed, empty or the user's own; unset until closed")              \
    X(INT, records, "import, archive: number of records, -1 where unknown")                                \
    X(TIME, created_at, "import, run add: registration")                                                   \
    X(TIME, delivered_at, "deliver: end of a successful run, the anchor of its window")                    \
    X(TIME, ended_at, "deliver: end of any other run")                                                     \
    X(TIME, restored_at, "restore: end of the last attempt to restore; anchor of a restored run")          \
    X(TIME, archive_at, "deliver, schedule, restore, plan: when the run is due")                           \
    X(TEXT, rule, "with archive_at: the rule that gave it")                                                \
    X(TIME, explicit_at, "schedule: explicit date; consumed when a restore begins")                        \
    X(BOOL, held, "hold, release: exempt from every sweep")                                                \
    X(TEXT, hold_reason, "hold: why")                                                                      \
    X(TEXT, location, "archive, sweep: URI of the run's folder in the archive")                            \
    X(INT, generation, "archive: current generation of the archive, -1 before the first")                  \
    X(TEXT, manifest, "archive: object name of the current manifest, below the location's store")          \
    X(TEXT, manifest_digest, "archive: SHA-256 of the current manifest, hexadecimal")                      \
    X(TIME, archived_at, "archive: commit of the current generation")                                      \
    X(TIME, closed_at, "deliver: when the outcome was stored")                                             \
    X(INT, restores, "restore: restores begun so far; above 0 `auto` verifies by content")                 \
    X(TIME, state_since, "every operation: when the state was entered")                                    \
    X(TEXT, last_reason, "every operation: why the last step failed; unset after a success")               \
    X(TIME, last_reason_at, "every operation: when it failed")

/** A run as stored. Texts are owned by the struct (allocator of whoever filled it). */
typedef struct cra_run_doc {
#define CRA_RUN_FIELD_TEXT(name) char *name;
#define CRA_RUN_FIELD_TIME(name) cra_time_ms name;
#define CRA_RUN_FIELD_INT(name) int64_t name;
#define CRA_RUN_FIELD_BOOL(name) bool name;
#define CRA_RUN_FIELD(kind, name, help) CRA_RUN_FIELD_##kind(name)
    CRA_RUN_FIELDS(CRA_RUN_FIELD)
#undef CRA_RUN_FIELD
#undef CRA_RUN_FIELD_TEXT
#undef CRA_RUN_FIELD_TIME
#undef CRA_RUN_FIELD_INT
#undef CRA_RUN_FIELD_BOOL
    int64_t version;         /**< of the stored document; a compare-and-set names the one it read */
    char lease_owner[40];    /**< "" where released; read-only here */
    int64_t lease_fence;     /**< grows with every acquisition; read-only here */
    cra_time_ms lease_expires_at; /**< 0 where released; read-only here */
} cra_run_doc;

/** Make `doc` an empty run: texts NULL, times CRA_TIME_NONE, integers -1, state HOT, restores 0. */
CRA_EXPORT void cra_run_doc_init(cra_run_doc *doc);
/** Free the texts with `allocator` (the one that made them) and make it empty again. */
CRA_EXPORT void cra_run_doc_cleanup(cra_run_doc *doc, const cra_allocator *allocator);
/** Deep copy into an uninitialised `to`. @return CRA_OK, CRA_NOMEM (then `to` is empty) */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_run_doc_copy(cra_run_doc *to, const cra_run_doc *from,
                                                      const cra_allocator *allocator);
/** Replace one text field (`*field`) by a copy of `text` (NULL clears). @return CRA_OK, CRA_NOMEM (unchanged) */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_run_doc_set_text(char **field, const char *text,
                                                          const cra_allocator *allocator);

/** A lease as held: proof of exclusive work on one run until `expires_at` of the catalog's clock. */
typedef struct cra_lease {
    char owner[40];              /**< UUID of the holder, text */
    int64_t fence;               /**< of this acquisition */
    cra_time_ms expires_at;      /**< catalog time */
} cra_lease;

/** Which runs to list. */
typedef struct cra_run_query {
    size_t struct_size;
    const char *report;     /**< NULL: every report */
    const char *run;        /**< NULL: every run */
    unsigned state_mask;    /**< bit 1u << cra_run_state; 0: every state */
    bool closed_only;       /**< only runs with an outcome */
    bool held_only;
    bool undated_only;      /**< only runs without archive_at */
    cra_time_ms due_before; /**< CRA_TIME_NONE: any; else archive_at <= due_before, ordered by archive_at */
    const char *after_report; /**< resume behind this key of the same order; NULL: from the start */
    const char *after_run;
    cra_time_ms after_archive_at; /**< with due_before, part of the key */
    size_t limit;           /**< most rows; 0: no limit */
} cra_run_query;

#define CRA_RUN_QUERY_INIT \
    { sizeof(cra_run_query), NULL, NULL, 0, false, false, false, CRA_TIME_NONE, NULL, NULL, CRA_TIME_NONE, 0 }

/** Gets one run, borrowed for the call; a status other than CRA_OK ends the listing and is returned.
 *  It must not call the catalog. */
typedef cra_status (*cra_run_visit_fn)(void *user, const cra_run_doc *run);

/** Feature bits. */
enum {
    CRA_CATALOG_SHARED = 1 /**< several processes may open it at once */
};

/** The slots of a catalog. All are required. Each may be called from any thread at any time. */
typedef struct cra_catalog_vtable {
    size_t struct_size;
    uint64_t features;

    /** Close and free the store. */
    void (*close)(void *self);

    /** The store's own time of day: one clock for all workers that share the store. */
    cra_status (*now)(void *self, cra_time_ms *out, cra_error *err);

    /** Visit the runs of a query, ordered by (report, run) as bytes, or by (archive_at, report, run)
     *  where `due_before` is set. What other writers change meanwhile may or may not be seen; a run
     *  that stays unchanged is seen exactly once. */
    cra_status (*run_list)(void *self, const cra_run_query *query, cra_run_visit_fn visit, void *user, cra_error *err);

    /** Add a run; its version becomes 1. (report, run) is the key. @return CRA_EXISTS */
    cra_status (*run_insert)(void *self, const cra_run_doc *run, cra_error *err);

    /** Replace a run atomically and durably, if its stored version is still `expect_version`, and, where
     *  `lease` is given, if owner and fence are still those stored. The version grows by one; the lease
     *  is left as it is. A stalled holder therefore writes nothing after its lease was taken.
     *  @return CRA_NOT_FOUND, CRA_CONFLICT (version), CRA_LOCKED (lease) */
    cra_status (*run_replace)(void *self, const cra_run_doc *next, int64_t expect_version, const cra_lease *lease,
                              cra_error *err);

    /** Remove a run, its lease and its checkpoints, under the same conditions; already gone is success. */
    cra_status (*run_remove)(void *self, const char *report, const char *run, int64_t expect_version, cra_error *err);

    /** Take the lease of a run for `ttl_ms` of the store's time. Free means released, or expired for at
     *  least `grace_ms` (the old holder's last command may take so long). The fence grows by one.
     *  Atomic: of any number of callers at once, one wins. The version does not change.
     *  @return CRA_LOCKED (message names owner and expiry), CRA_NOT_FOUND (no such run) */
    cra_status (*lease_acquire)(void *self, const char *report, const char *run, const char *owner, int64_t ttl_ms,
                                int64_t grace_ms, cra_lease *out, cra_error *err);

    /** Extend a held lease to now + ttl_ms. @return CRA_LOCKED where it was taken by another */
    cra_status (*lease_renew)(void *self, const char *report, const char *run, cra_lease *lease, int64_t ttl_ms,
                              cra_error *err);

    /** Give a lease back; a lease that was lost already is success. The fence stays. */
    cra_status (*lease_release)(void *self, const char *report, const char *run, const cra_lease *lease,
                                cra_error *err);

    /** Append a checkpoint (opaque bytes) to `out` and say its version. @return CRA_NOT_FOUND */
    cra_status (*checkpoint_get)(void *self, const char *report, const char *run, const char *name, cra_buf *out,
                                 int64_t *version, cra_error *err);

    /** Store a checkpoint durably, if `lease` is still the stored one and the stored version is
     *  `expect_version` (0: none is stored). The version grows by one. @return CRA_LOCKED, CRA_CONFLICT */
    cra_status (*checkpoint_put)(void *self, const char *report, const char *run, const char *name,
                                 const cra_lease *lease, int64_t expect_version, cra_bytes content, cra_error *err);

    /** Remove a checkpoint if `lease` is still the stored one; already gone is success. @return CRA_LOCKED */
    cra_status (*checkpoint_remove)(void *self, const char *report, const char *run, const char *name,
                                    const cra_lease *lease, cra_error *err);

    /** Store the summary of an operation ("sweep", "restore"), replacing the last one of that name. */
    cra_status (*summary_put)(void *self, const char *name, cra_bytes content, cra_error *err);

    /** Append the last summary of that name. @return CRA_NOT_FOUND */
    cra_status (*summary_get)(void *self, const char *name, cra_buf *out, cra_error *err);
} cra_catalog_vtable;

/* ---- the same, through a guarded handle: arguments checked, writes refused on read-only handles ---- */

CRA_EXPORT cra_status cra_catalog_now(cra_catalog *catalog, cra_time_ms *out, cra_error *err);
CRA_EXPORT cra_status cra_catalog_run_list(cra_catalog *catalog, const cra_run_query *query, cra_run_visit_fn visit,
                                           void *user, cra_error *err);
/** Read one run by its whole key into an uninitialised `out` (cra_run_doc_cleanup() with the context's
 *  allocator). @return CRA_NOT_FOUND */
CRA_EXPORT cra_status cra_catalog_run_get(cra_catalog *catalog, const char *report, const char *run, cra_run_doc *out,
                                          cra_error *err);
CRA_EXPORT cra_status cra_catalog_run_insert(cra_catalog *catalog, const cra_run_doc *run, cra_error *err);
CRA_EXPORT cra_status cra_catalog_run_replace(cra_catalog *catalog, const cra_run_doc *next, int64_t expect_version,
                                              const cra_lease *lease, cra_error *err);
CRA_EXPORT cra_status cra_catalog_run_remove(cra_catalog *catalog, const char *report, const char *run,
                                             int64_t expect_version, cra_error *err);
CRA_EXPORT cra_status cra_catalog_lease_acquire(cra_catalog *catalog, const char *report, const char *run,
                                                const char *owner, int64_t ttl_ms, int64_t grace_ms, cra_lease *out,
                                                cra_error *err);
CRA_EXPORT cra_status cra_catalog_lease_renew(cra_catalog *catalog, const char *report, const char *run,
                                              cra_lease *lease, int64_t ttl_ms, cra_error *err);
CRA_EXPORT cra_status cra_catalog_lease_release(cra_catalog *catalog, const char *report, const char *run,
                                                const cra_lease *lease, cra_error *err);
CRA_EXPORT cra_status cra_catalog_checkpoint_get(cra_catalog *catalog, const char *report, const char *run,
                                                 const char *name, cra_buf *out, int64_t *version, cra_error *err);
CRA_EXPORT cra_status cra_catalog_checkpoint_put(cra_catalog *catalog, const char *report, const char *run,
                                                 const char *name, const cra_lease *lease, int64_t expect_version,
                                                 cra_bytes content, cra_error *err);
CRA_EXPORT cra_status cra_catalog_checkpoint_remove(cra_catalog *catalog, const char *report, const char *run,
                                                    const char *name, const cra_lease *lease, cra_error *err);
CRA_EXPORT cra_status cra_catalog_summary_put(cra_catalog *catalog, const char *name, cra_bytes content,
                                              cra_error *err);
CRA_EXPORT cra_status cra_catalog_summary_get(cra_catalog *catalog, const char *name, cra_buf *out, cra_error *err);

CRA_END_DECLS

#endif
