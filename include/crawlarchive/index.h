/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_INDEX_H
#define CRAWLARCHIVE_INDEX_H

/** @file index.h
 * Indexes of a hot collection against what is wanted.
 */

#include <crawlarchive/run.h>

CRA_BEGIN_DECLS

typedef enum cra_index_state {
    CRA_INDEX_STATE_SAME,
    CRA_INDEX_STATE_MISSING,
    CRA_INDEX_STATE_DIFFERENT, /**< name or key is taken by another definition */
    CRA_INDEX_STATE_INVALID,   /**< no server would build it */
    CRA_INDEX_STATE_EXTRA,     /**< there, not asked for */
    CRA_INDEX_STATE_BUILDING,
    CRA_INDEX_STATE_CREATED    /**< by this call */
} cra_index_state;
CRA_EXPORT const char *cra_index_state_name(cra_index_state state);

/** One index. Strings are borrowed for the call. */
typedef struct cra_index_item {
    size_t struct_size;
    const char *collection;
    const char *name;
    cra_bytes key;          /**< BSON document of the key */
    cra_index_state state;
    const char *detail;     /**< NULL, or what differs or failed */
} cra_index_item;
typedef void (*cra_index_fn)(void *user, const cra_index_item *item);

typedef struct cra_index_options {
    size_t struct_size;
    const char *report;      /**< whose configured indexes are wanted (and collection, unless named) */
    const char *collection;  /**< NULL: the report's */
    cra_bytes specs;         /**< wanted index documents, concatenated BSON, in place of the configured; or empty */
    bool skip_ttl;           /**< leave out TTL indexes that would be created */
} cra_index_options;
#define CRA_INDEX_OPTIONS_INIT {sizeof(cra_index_options), NULL, NULL, {NULL, 0}, false}

/** List what is there. */
CRA_EXPORT cra_status cra_index_list(cra_engine *engine, const cra_index_options *options, cra_index_fn each,
                                     void *user, cra_error *err);
/** Compare: same, missing, different, invalid, extra. Writes nothing. */
CRA_EXPORT cra_status cra_index_diff(cra_engine *engine, const cra_index_options *options, cra_index_fn each,
                                     void *user, cra_error *err);
/** Create what is missing, one command an index; the others are told as in a diff.
 *  @return CRA_PARTIAL where some are different, invalid or failed: the others were created all the same */
CRA_EXPORT cra_status cra_index_ensure(cra_engine *engine, const cra_index_options *options, cra_index_fn each,
                                       void *user, cra_error *err);

CRA_END_DECLS

#endif
