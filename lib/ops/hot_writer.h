/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_HOT_WRITER_H
#define CRA_OPS_HOT_WRITER_H

/* Records into a hot collection, in batches bounded by documents and bytes, each record classified: new, identical
 * (already there with the same bytes), conflict (there with other bytes: kept), failed, unsent. Used by import and
 * restore. Belongs to one thread. */

#include <crawlarchive/engine.h>

typedef struct cra_hot_counts {
    int64_t read, fresh, identical, conflict, failed, unsent;
    int64_t bytes; /* of records read */
} cra_hot_counts;

typedef struct cra_hot_writer cra_hot_writer;

/* Called before each batch; not CRA_OK stops (the batch is then unsent) and is returned. `*deadline_ms` receives the
 * command's monotonic deadline (0: none). */
typedef cra_status (*cra_hot_admit_fn)(void *user, int64_t *deadline_ms, cra_error *err);

/* batch_docs and batch_bytes are cut to the store's limits. `compare_only`: nothing is written; a record that is not
 * there counts as unsent. `collection` is borrowed. */
cra_status cra_hot_writer_new(cra_engine *engine, const char *collection, int64_t batch_docs, int64_t batch_bytes,
                              bool compare_only, cra_hot_admit_fn admit, void *user, cra_hot_writer **out,
                              cra_error *err);
/* Take one prepared record (`_id` first), copied. A full batch is written. A record that fails is counted and named,
 * and the call is CRA_OK; a store that fails is its status, and the batch's records are unsent. */
cra_status cra_hot_writer_add(cra_hot_writer *writer, cra_bytes document, cra_error *err);
/* Count a record that never became fit to be written (another run's, no document) as read and failed, and name it.
 * `id` type 0: it has none. */
void cra_hot_writer_refuse(cra_hot_writer *writer, cra_value id, size_t bytes, const char *why);
/* Count records that were read and will not be given, such as those behind a stop, as read and unsent. */
void cra_hot_writer_skip(cra_hot_writer *writer, int64_t records, int64_t bytes);
/* After a failure: count what still waits for its batch as unsent. */
void cra_hot_writer_abandon(cra_hot_writer *writer);
cra_status cra_hot_writer_flush(cra_hot_writer *writer, cra_error *err);
const cra_hot_counts *cra_hot_writer_counts(const cra_hot_writer *writer);
/* One line that names the first conflicting or failed ids and why; NULL where there are none. Borrowed. */
const char *cra_hot_writer_detail(const cra_hot_writer *writer);
void cra_hot_writer_free(cra_hot_writer *writer);

#endif
