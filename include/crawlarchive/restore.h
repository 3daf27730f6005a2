/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_RESTORE_H
#define CRAWLARCHIVE_RESTORE_H

/** @file restore.h
 * Archived runs back into the hot store, indexed and ready to query.
 */

#include <crawlarchive/run.h>

CRA_BEGIN_DECLS

typedef struct cra_restore_options {
    size_t struct_size;
    int64_t batch_docs;      /**< 0: restore.batch_docs (per report) */
    int64_t batch_bytes;     /**< 0: restore.batch_bytes */
    int64_t parallel_runs;   /**< 0: restore.parallel_runs */
    int64_t workers;         /**< per run; 0: restore.workers */
    int64_t heartbeat_ms;    /**< 0: restore.heartbeat (30 s) */
    const char *into;        /**< another collection: state and dates are not touched; NULL: the run's own */
    bool salvage;            /**< deliver what can be read of damaged parts */
    bool skip_ttl;           /**< leave out a TTL index that would be created */
    bool thaw;               /**< ask for frozen objects and wait */
    cra_item_fn on_item;     /**< nullable; from one thread at a time */
    void *user;
} cra_restore_options;
#define CRA_RESTORE_OPTIONS_INIT {sizeof(cra_restore_options), 0, 0, 0, 0, 0, NULL, false, false, false, NULL, NULL}

/** Restore runs in parallel, each on its own: lease, indexes, records in batches, recount, fresh window.
 *
 * Interrupted, it resumes from its checkpoint; run twice, it changes nothing. Read = new + identical + conflict +
 * failed + unsent, for every item. A record already in the hot store with other bytes is kept, and the item
 * FAILED with CONFLICT. @param out  receives the result, also with CRA_PARTIAL
 */
CRA_EXPORT cra_status cra_restore_runs(cra_engine *engine, const char *report, const char *const *runs, size_t count,
                                       const cra_restore_options *options, cra_result **out, cra_error *err);

CRA_END_DECLS

#endif
