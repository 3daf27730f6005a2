/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_SYS_DOCSTORE_H
#define CRAWLARCHIVE_SYS_DOCSTORE_H

/** @file sys/docstore.h
 * The docstore port: records as BSON, by collection, with indexes.
 */

#include <crawlarchive/bson.h>

CRA_BEGIN_DECLS

/** A guarded handle on a docstore. Shareable between threads. */
typedef struct cra_docstore cra_docstore;

/** The records of one run: those of `collection` whose `run_field` equals `run_value`.
 *
 * `run_value` compares as MongoDB compares (int32 18, int64 18 and 18.0 are one run).
 */
typedef struct cra_scope {
    const char *collection;
    const char *run_field;  /**< dotted path */
    cra_value run_value;
} cra_scope;

typedef struct cra_docstore_limits {
    size_t struct_size;
    int64_t max_document_bytes;
    int64_t max_batch_docs;
    int64_t max_batch_bytes;
} cra_docstore_limits;

/** What became of one document of a write batch. */
typedef enum cra_write_outcome {
    CRA_WRITE_UNSENT = 0, /**< the batch stopped before it: nothing was written */
    CRA_WRITE_NEW = 1,    /**< inserted, durable */
    CRA_WRITE_ID_EXISTS = 2, /**< a document with this `_id` is in the collection (of whatever run); left alone */
    CRA_WRITE_FAILED = 3, /**< refused for itself (another unique index, validator, size); see `native_code` */
    CRA_WRITE_UNKNOWN = 4 /**< sent, but the answer was lost: fetch it to know */
} cra_write_outcome;

typedef struct cra_write_result {
    cra_write_outcome outcome;
    int32_t native_code;
    char message[160];    /**< for FAILED: why, one line; else "" */
} cra_write_result;

/** State of one index against the spec that was asked for. */
typedef enum cra_index_outcome {
    CRA_INDEX_CREATED = 0,
    CRA_INDEX_PRESENT = 1,  /**< an identical one was there */
    CRA_INDEX_BUILDING = 2  /**< asked for and not yet usable; list again */
} cra_index_outcome;

typedef struct cra_docstore_health {
    size_t struct_size;
    int64_t lag_ms;           /**< replication lag; 0 where there is no replication, -1 where it cannot be told */
    bool durable_writes;      /**< an acknowledged write survives the loss of any one node or a power cut */
} cra_docstore_health;

/** Feature bits. */
enum {
    CRA_DOCSTORE_SHARED = 1,      /**< several processes may open it at once */
    CRA_DOCSTORE_FIND = 2,        /**< slot `find` is offered */
    CRA_DOCSTORE_REPLACE_IF = 4,  /**< slot `replace_if` is offered */
    CRA_DOCSTORE_INDEX_LATE = 8   /**< building an index after the load is faster here and equally safe */
};

/** Which documents of a page. */
typedef struct cra_page_request {
    size_t struct_size;
    cra_value after_id;  /**< only ids above this one; type 0: from the start */
    bool ids_only;       /**< documents `{_id: …}` alone */
    int64_t max_docs;
    int64_t max_bytes;   /**< stop after the document that reaches it; at least one is returned */
} cra_page_request;

/** The slots of a docstore. Those without "optional" are required. Each may be called from any thread. */
typedef struct cra_docstore_vtable {
    size_t struct_size;
    uint64_t features;

    /** Close and free the store. */
    void (*close)(void *self);

    /** Limits to keep to; constant while the store is open. */
    cra_status (*limits)(void *self, cra_docstore_limits *out, cra_error *err);

    /** Insert `count` documents (each with `_id` first) into a collection, idempotent by `_id`: an `_id`
     *  that is there is never overwritten. One bad document never loses the others of its batch.
     *  Fills `results[count]`. What is NEW is durable when the call returns CRA_OK. Nothing is begun at or
     *  after `deadline_ms` of the context's monotonic clock (0: none), and a batch is not committed after it.
     *  The collection is created where missing.
     *  @return CRA_OK, also where some were not NEW; else the results say what is known, and rows that
     *  are UNSENT were not written */
    cra_status (*write_batch)(void *self, const char *collection, const cra_bytes *documents, size_t count,
                              int64_t deadline_ms, cra_write_result *results, cra_error *err);

    /** Append those of the `count` ids that are in the collection, whole, in any order, to `out`.
     *  Ids that are not there are left out without error. Reads what is durable (majority). */
    cra_status (*fetch)(void *self, const char *collection, const cra_value *ids, size_t count, cra_buf *out,
                        cra_error *err);

    /** Append one page of a run's documents to `out`, ascending in MongoDB's order of `_id`, over mixed
     *  types. `*count` 0 means the end. A document that stays unchanged is never left out or repeated. */
    cra_status (*page)(void *self, const cra_scope *scope, const cra_page_request *request, cra_buf *out,
                       size_t *count, cra_error *err);

    /** Number of the run's documents, exact. A collection that is not there counts 0. */
    cra_status (*count)(void *self, const cra_scope *scope, int64_t *out, cra_error *err);

    /** Delete those of the `count` ids that belong to the run; others are left alone and already gone is
     *  success. Durable on return. `match` (empty view: none) is a document whose elements must be
     *  identical to the record's fields of those names. Deadline as in write_batch: after it nothing is
     *  committed. `*removed` is what the store says; the caller checks the post-condition by reading. */
    cra_status (*delete_batch)(void *self, const cra_scope *scope, const cra_value *ids, size_t count, cra_bytes match,
                               int64_t deadline_ms, int64_t *removed, cra_error *err);

    /** Append the collection's indexes as MongoDB index documents ({v, key, name, …}), `_id_` included.
     *  @return CRA_NOT_FOUND where the collection is missing */
    cra_status (*index_list)(void *self, const char *collection, cra_buf *out, size_t *count, cra_error *err);

    /** Create one index from a MongoDB index document ({key, name, unique, partialFilterExpression, …});
     *  identical is PRESENT. The collection is created where missing. Existing documents are indexed before
     *  it is reported CREATED, and queries use it.
     *  @return CRA_CONFLICT (other options under that name or key; native_code 85 or 86),
     *  CRA_INVALID (67), CRA_EXISTS (duplicate key while building a unique one), CRA_UNSUPPORTED */
    cra_status (*index_ensure)(void *self, const char *collection, cra_bytes spec, cra_index_outcome *outcome,
                               cra_error *err);

    /** Append the collection's create options as one document. @return CRA_NOT_FOUND */
    cra_status (*collection_get)(void *self, const char *collection, cra_buf *out, cra_error *err);

    /** Create a collection with options (as collection_get gives them). @return CRA_EXISTS, CRA_UNSUPPORTED */
    cra_status (*collection_create)(void *self, const char *collection, cra_bytes options, cra_error *err);

    /** Lag and durability at this moment. */
    cra_status (*health)(void *self, cra_docstore_health *out, cra_error *err);

    /** Optional (CRA_DOCSTORE_FIND): append at most `max_docs` documents whose `path` equals `value`,
     *  through an index on it where there is one; in order of `_id` above `after_id`. */
    cra_status (*find)(void *self, const char *collection, const char *path, cra_value value, cra_value after_id,
                       int64_t max_docs, cra_buf *out, size_t *count, cra_error *err);

    /** Optional (CRA_DOCSTORE_REPLACE_IF): replace the document with this `_id` if all elements of `match`
     *  are identical to its fields; atomic. @return CRA_CONFLICT where it is missing or differs */
    cra_status (*replace_if)(void *self, const char *collection, cra_value id, cra_bytes match, cra_bytes document,
                             cra_error *err);
} cra_docstore_vtable;

/* ---- index documents, for backends -------------------------------------------------------------- */

/** How a wanted index relates to those that are there. */
typedef enum cra_index_match {
    CRA_INDEX_MATCH_NONE,      /**< neither its name nor its definition is taken */
    CRA_INDEX_MATCH_IDENTICAL, /**< there already */
    CRA_INDEX_MATCH_OPTIONS,   /**< same identity with other options or another name: server code 85 */
    CRA_INDEX_MATCH_NAME       /**< its name belongs to another identity: server code 86 */
} cra_index_match;

/** Check an index document ({key, name, unique, …}) by the rules that servers have: key directions and types, known
 *  options, no partial and sparse at once, TTL on one field only, nothing but a plain `_id`.
 *  @return CRA_OK, CRA_INVALID (native_code 67) naming what is wrong */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_index_check(cra_bytes spec, cra_error *err);
/** Append a checked index document as a store keeps it: v, key, name (made from the key where absent), then the other
 *  options in their order. @return CRA_OK, CRA_INVALID, CRA_NOMEM */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_index_normalize(cra_bytes spec, cra_buf *out, cra_error *err);
/** Compare a normalised spec with `existing` (concatenated, normalised). Identity is key (order and numeric value),
 *  unique, sparse, collation, partialFilterExpression and wildcardProjection; v, ns, background, dropDups and the
 *  versions of text and 2dsphere are ignored; all other options must match for "identical".
 *  `*found` (nullable) receives the one that matched, borrowed. */
CRA_EXPORT cra_index_match cra_index_classify(cra_bytes existing, cra_bytes spec, cra_bytes *found);

/** Check a partialFilterExpression: `$and`, `$eq`, `$exists: true`, `$gt`, `$gte`, `$lt`, `$lte`, `$type` and plain
 *  values. @return CRA_OK, CRA_INVALID (native_code 67), CRA_UNSUPPORTED for what newer servers know beside ($or, $in) */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_index_filter_check(cra_bytes filter, cra_error *err);
/** Whether a document is in the index of a checked partialFilterExpression. */
CRA_EXPORT bool cra_index_filter_matches(cra_bytes filter, cra_bytes document);

/* ---- the same, through a guarded handle ------------------------------------------------------- */

CRA_EXPORT uint64_t cra_docstore_features(const cra_docstore *docstore);
CRA_EXPORT cra_status cra_docstore_get_limits(cra_docstore *docstore, cra_docstore_limits *out, cra_error *err);
CRA_EXPORT cra_status cra_docstore_write_batch(cra_docstore *docstore, const char *collection,
                                               const cra_bytes *documents, size_t count, int64_t deadline_ms,
                                               cra_write_result *results, cra_error *err);
CRA_EXPORT cra_status cra_docstore_fetch(cra_docstore *docstore, const char *collection, const cra_value *ids,
                                         size_t count, cra_buf *out, cra_error *err);
CRA_EXPORT cra_status cra_docstore_page(cra_docstore *docstore, const cra_scope *scope,
                                        const cra_page_request *request, cra_buf *out, size_t *count, cra_error *err);
CRA_EXPORT cra_status cra_docstore_count(cra_docstore *docstore, const cra_scope *scope, int64_t *out, cra_error *err);
CRA_EXPORT cra_status cra_docstore_delete_batch(cra_docstore *docstore, const cra_scope *scope, const cra_value *ids,
                                                size_t count, cra_bytes match, int64_t deadline_ms, int64_t *removed,
                                                cra_error *err);
CRA_EXPORT cra_status cra_docstore_index_list(cra_docstore *docstore, const char *collection, cra_buf *out,
                                              size_t *count, cra_error *err);
CRA_EXPORT cra_status cra_docstore_index_ensure(cra_docstore *docstore, const char *collection, cra_bytes spec,
                                                cra_index_outcome *outcome, cra_error *err);
CRA_EXPORT cra_status cra_docstore_collection_get(cra_docstore *docstore, const char *collection, cra_buf *out,
                                                  cra_error *err);
CRA_EXPORT cra_status cra_docstore_collection_create(cra_docstore *docstore, const char *collection,
                                                     cra_bytes options, cra_error *err);
CRA_EXPORT cra_status cra_docstore_get_health(cra_docstore *docstore, cra_docstore_health *out, cra_error *err);
CRA_EXPORT cra_status cra_docstore_find(cra_docstore *docstore, const char *collection, const char *path,
                                        cra_value value, cra_value after_id, int64_t max_docs, cra_buf *out,
                                        size_t *count, cra_error *err);
CRA_EXPORT cra_status cra_docstore_replace_if(cra_docstore *docstore, const char *collection, cra_value id,
                                              cra_bytes match, cra_bytes document, cra_error *err);

CRA_END_DECLS

#endif
