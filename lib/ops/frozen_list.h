/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_FROZEN_LIST_H
#define CRA_OPS_FROZEN_LIST_H

/* The ids of a run's hot records, paged once. The list is verified, and nothing but what it names is ever deleted.
 * It is a local file whose digest and count are checkpointed: a worker that finds another file, or none, freezes
 * what is left anew. */

#include "base/hash.h"
#include "ops/digest_sorter.h"
#include "ops/engine_internal.h"
#include "ops/run_guard.h"

typedef struct cra_frozen_info {
    int64_t count;
    int64_t bytes; /* of BSON, where whole records were read; else -1 */
    char sha256[CRA_SHA256_HEX_SIZE];
} cra_frozen_info;

/* Path of the list of one run and fence in the spool folder. CRA_NOMEM. */
cra_status cra_frozen_list_path(cra_engine *engine, const char *report, const char *run, int64_t fence, cra_buf *out);

/* Page the run's hot records and write their ids to `path` (NULL: to nowhere, for a verification that deletes
 * nothing). With `sorter`, each record's digests are added to it; `rule` NULL: ids alone are read and entries have a
 * zero content digest. With rule->without_id the key is the content digest.
 * `guard` (nullable) is checked between pages and told the progress. `revision_field` (nullable): its value is kept
 * with the id. */
cra_status cra_frozen_list_make(cra_engine *engine, const cra_run_doc *run, const char *path,
                                const cra_digest_rule *rule, const char *revision_field, cra_digest_sorter *sorter,
                                cra_run_guard *guard, cra_frozen_info *out, cra_error *err);

/* Reads a list back, in its order. */
typedef struct cra_frozen_reader cra_frozen_reader;

/* CRA_NOT_FOUND where the file is missing, CRA_CORRUPT where count or digest differ. */
cra_status cra_frozen_reader_open(const cra_allocator *allocator, const char *path, const cra_frozen_info *expect,
                                  cra_frozen_reader **out, cra_error *err);
/* Skip the first `count` ids. */
cra_status cra_frozen_reader_seek(cra_frozen_reader *reader, int64_t count, cra_error *err);
/* The next `max` ids at most, and their revision values (type 0: none), borrowed until the next call.
 * CRA_DONE at the end. */
cra_status cra_frozen_reader_batch(cra_frozen_reader *reader, size_t max, const cra_value **ids,
                                   const cra_value **revisions, size_t *count, cra_error *err);
void cra_frozen_reader_free(cra_frozen_reader *reader);

#endif
