/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_DIGEST_SORTER_H
#define CRA_OPS_DIGEST_SORTER_H

/* Sorts any number of (key digest, content digest, tag) in bounded memory: runs are sorted in memory and spilled to
 * unlinked temporary files, then merged. Belongs to one thread. */

#include "ops/record.h"

typedef struct cra_digest_entry {
    cra_digest key;
    cra_digest content;
    uint64_t tag; /* position in its source: the order among equal (key, content) */
} cra_digest_entry;

typedef struct cra_digest_sorter cra_digest_sorter;

/* `folder` holds the spill files; `memory_bytes` bounds the memory of sorting and merging. */
cra_status cra_digest_sorter_new(const cra_allocator *allocator, const char *folder, int64_t memory_bytes,
                                 cra_digest_sorter **out, cra_error *err);
cra_status cra_digest_sorter_add(cra_digest_sorter *sorter, const cra_digest_entry *entry, cra_error *err);
/* End of adding; may be called again to read from the start. */
cra_status cra_digest_sorter_rewind(cra_digest_sorter *sorter, cra_error *err);
/* Next entry ascending by key, content, tag. CRA_DONE at the end. */
cra_status cra_digest_sorter_next(cra_digest_sorter *sorter, cra_digest_entry *out, cra_error *err);
int64_t cra_digest_sorter_count(const cra_digest_sorter *sorter);
void cra_digest_sorter_free(cra_digest_sorter *sorter);

#endif
