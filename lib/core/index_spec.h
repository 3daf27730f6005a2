/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CORE_INDEX_SPEC_H
#define CRA_CORE_INDEX_SPEC_H

/* Wanted indexes against those that are there. What makes two indexes one is decided by cra_index_classify(). */

#include <crawlarchive/index.h>

/* One index of a comparison. Borrowed for the call. */
typedef struct cra_index_difference {
    const char *name;      /* "" where an invalid document has none */
    cra_bytes spec;        /* wanted: as it would be created; extra: as it is there */
    cra_bytes key;         /* empty where an invalid document has none */
    cra_index_state state; /* SAME, MISSING, DIFFERENT, INVALID, EXTRA */
    const char *detail;    /* NULL, or what differs or is wrong */
    bool ttl;              /* documents expire by it */
} cra_index_difference;
/* A status other than CRA_OK ends the comparison and is returned. */
typedef cra_status (*cra_index_difference_fn)(void *user, const cra_index_difference *difference);

/* Tell of each wanted index (concatenated documents, in order; the same one twice is told once), then of each that is
 * there without being wanted. The `_id` index is never missing and never extra.
 * @return CRA_CORRUPT (no BSON documents), CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_index_spec_diff(const cra_allocator *allocator, cra_bytes wanted, cra_bytes present,
                                              cra_index_difference_fn each, void *user, cra_error *err);

/* Whether an index removes documents with time. */
bool cra_index_spec_is_ttl(cra_bytes spec);
/* Whether it is the index on `_id` that every collection has ({_id: "hashed"} is another). */
bool cra_index_spec_is_id(cra_bytes spec);

#endif
