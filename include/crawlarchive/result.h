/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_RESULT_H
#define CRAWLARCHIVE_RESULT_H

/** @file result.h
 * What an operation over runs came to: an item a run, counts, reasons, sums.
 */

#include <crawlarchive/error.h>

CRA_BEGIN_DECLS

/** Why a run was kept, or an item failed: X(CONSTANT, "word that scripts see", "for people"). */
#define CRA_REASONS(X)                                                                                       \
    X(NOT_DUE, "not_due", "its archive date has not come, it is not closed, or it is archived already")      \
    X(HELD, "held", "a hold exempts it")                                                                     \
    X(LOCKED, "locked", "another worker has its lease")                                                      \
    X(NO_ARCHIVE, "no_archive", "there is no archive of it")                                                 \
    X(INCOMPLETE, "incomplete", "a part of the archive is missing, cut, empty or not as the manifest says")  \
    X(COUNT_DIFFERS, "count_differs", "the archive does not hold as many distinct records")                  \
    X(IDS_MISSING, "ids_missing", "records are not in the archive")                                          \
    X(CONTENT_DIFFERS, "content_differs", "records differ from their archived copies")                       \
    X(UNREADABLE, "unreadable", "the archive cannot be read")                                                \
    X(FOREIGN_RUN, "foreign_run", "the archive is another run's")                                            \
    X(STALE_MANIFEST, "stale_manifest", "there are data files that no manifest knows")                       \
    X(IN_PROGRESS, "in_progress", "the archive is still being written")                                      \
    X(SPLIT, "split", "archives of it are in two places")                                                    \
    X(NOT_EMPTY, "not_empty", "its outcome is empty, but it has records")                                    \
    X(LATE, "late", "records arrived after verification began")                                              \
    X(AMBIGUOUS_VERSIONS, "ambiguous_versions", "the archive holds two versions of a record")                \
    X(NO_ANCHOR, "no_anchor", "the date its window starts from is missing")                                  \
    X(FUTURE_ANCHOR, "future_anchor", "the date its window starts from is in the future")                    \
    X(STORE_ERROR, "store_error", "a store failed")                                                          \
    X(NOT_FOUND, "not_found", "no such run")                                                                 \
    X(INDEXES, "indexes", "the indexes could not be ensured")                                                \
    X(CORRUPT, "corrupt", "the archive is damaged")                                                          \
    X(CONFLICT, "conflict", "the hot store has other versions of records, or the state does not allow it")   \
    X(DENIED, "denied", "permission refused")                                                                \
    X(UNAVAILABLE, "unavailable", "a store cannot be reached")                                               \
    X(TTL_INDEX, "ttl_index", "a TTL index would remove the restored records")                               \
    X(FROZEN_OBJECT, "frozen_object", "an object is in cold storage")                                        \
    X(CANCELLED, "cancelled", "it was asked to stop")                                                        \
    X(FEWER, "fewer", "the hot store lacks records that the last generation has")                            \
    X(RECORDS, "records", "some records could not be written")                                               \
    X(INVALID, "invalid", "an option or the run's data does not allow it")

typedef enum cra_reason {
    CRA_REASON_NONE = 0,
#define CRA_REASON_CONSTANT(constant, word, help) CRA_REASON_##constant,
    CRA_REASONS(CRA_REASON_CONSTANT)
#undef CRA_REASON_CONSTANT
} cra_reason;

/** The word of a reason; NULL for CRA_REASON_NONE. */
CRA_EXPORT const char *cra_reason_name(cra_reason reason);
/** The sentence of a reason; NULL for CRA_REASON_NONE. */
CRA_EXPORT const char *cra_reason_text(cra_reason reason);
/** The reason that a store's status stands for (DENIED to denied, TIMEOUT and UNAVAILABLE to unavailable, …). */
CRA_EXPORT cra_reason cra_reason_from_status(cra_status status);

/** How an item ended. */
typedef enum cra_item_status {
    CRA_ITEM_OK = 0,   /**< archived, restored, swept, verified ok */
    CRA_ITEM_KEPT,     /**< sweep: left as it is, with a reason */
    CRA_ITEM_BAD,      /**< verify: the archive does not hold it */
    CRA_ITEM_UNKNOWN,  /**< verify: could not be told */
    CRA_ITEM_LOCKED,
    CRA_ITEM_FAILED
} cra_item_status;

/** What is counted: X(CONSTANT, "key"). -1 means unknown or not applicable. */
#define CRA_COUNTS(X)                                                                  \
    X(RECORDS, "records")                                                              \
    X(BYTES, "bytes")                                                                  \
    X(PARTS, "parts")                                                                  \
    X(GENERATION, "generation")                                                        \
    X(RECORDS_ARCHIVED, "records_archived")                                            \
    X(RECORDS_HOT, "records_hot")                                                      \
    X(DUPLICATES, "duplicates")                                                        \
    X(RECORDS_REMOVED, "records_removed")                                              \
    X(RECORDS_READ, "records_read")                                                    \
    X(RECORDS_NEW, "records_new")                                                      \
    X(RECORDS_IDENTICAL, "records_identical")                                          \
    X(RECORDS_CONFLICT, "records_conflict")                                            \
    X(RECORDS_FAILED, "records_failed")                                                \
    X(RECORDS_UNSENT, "records_unsent")                                                \
    X(ELAPSED_MS, "elapsed_ms")

typedef enum cra_count {
#define CRA_COUNT_CONSTANT(constant, key) CRA_COUNT_##constant,
    CRA_COUNTS(CRA_COUNT_CONSTANT)
#undef CRA_COUNT_CONSTANT
    CRA_COUNT_END
} cra_count;

/** One run's outcome. Strings are borrowed: from the result, or for the callback's duration. */
typedef struct cra_item {
    size_t struct_size;
    const char *report;
    const char *run;
    cra_item_status status;
    cra_reason reason;
    const char *level;     /**< verify and sweep: the level that was proven, or NULL */
    const char *location;  /**< where its archive is, or NULL */
    const char *detail;    /**< one line for people: which part, which ids; or NULL */
    int64_t counts[CRA_COUNT_END];
    cra_error error;       /**< status CRA_OK where nothing failed */
} cra_item;

/** Gets each item as it is finished; from one thread at a time. */
typedef void (*cra_item_fn)(void *user, const cra_item *item);

/** The items of one call and their sums. */
typedef struct cra_result cra_result;

CRA_EXPORT size_t cra_result_count(const cra_result *result);
/** @return NULL past the end; borrowed from the result */
CRA_EXPORT const cra_item *cra_result_at(const cra_result *result, size_t index);
/** Sum of one count over all items, unknown ones left out. */
CRA_EXPORT int64_t cra_result_sum(const cra_result *result, cra_count count);
/** Number of items of a status. */
CRA_EXPORT size_t cra_result_tally(const cra_result *result, cra_item_status status);
/** CRA_OK where all went well, CRA_PARTIAL where some failed, the common status where all failed for one
 *  reason, else CRA_IO (cli: exit codes for several runs). */
CRA_EXPORT cra_status cra_result_status(const cra_result *result);
/** What ended a sweep early ("max_runs", "max_share", "time_budget", "stop_file", "signal", "error"), or NULL. */
CRA_EXPORT const char *cra_result_stopped_by(const cra_result *result);
/** Runs still due after a sweep; -1 where they could not be counted. */
CRA_EXPORT int64_t cra_result_still_due(const cra_result *result);
CRA_EXPORT void cra_result_free(cra_result *result);

CRA_END_DECLS

#endif
