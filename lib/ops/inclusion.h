/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_INCLUSION_H
#define CRA_OPS_INCLUSION_H

/* The proof that every hot record of a run is in its archive: freezing the hot ids, reading the archive, and comparing
 * the two. Used by verify (no list is kept) and by sweep (nothing but the list is deleted afterwards). */

#include <crawlarchive/verify.h>

#include "ops/archive_set.h"
#include "ops/frozen_list.h"

typedef struct cra_inclusion_request {
    cra_verify_level level;  /* AUTO is resolved by the run's past */
    const char *list_path;   /* where the frozen list is kept; NULL: nowhere */
    bool remainder;          /* the hot store holds only what a sweep left: a count proves nothing */
    cra_run_guard *guard;    /* nullable: checked between pages and blocks */
} cra_inclusion_request;

typedef struct cra_inclusion {
    cra_item_status status;  /* OK, BAD, UNKNOWN */
    cra_reason reason;
    cra_verify_level level;  /* that was proven, or tried */
    int64_t records_hot;
    int64_t records_archived; /* distinct ids where they were read, else as the manifest says */
    int64_t duplicates;       /* archived records beyond the first of each id; -1 where they were not read */
    cra_frozen_info list;
    char detail[384];
    cra_error error;          /* of a store, where status is UNKNOWN */
} cra_inclusion;

/* Prove that the run's hot records are in `set`. CRA_OK with the verdict in `out`, whatever it is; another status only
 * for NOMEM, CANCELLED and LOCKED. */
cra_status cra_inclusion_prove(cra_engine *engine, const cra_run_doc *run, cra_archive_set *set,
                               const cra_inclusion_request *request, cra_inclusion *out, cra_error *err);

/* Check an archive against its own manifest, for a run that has left the hot store: parts whole, sizes and counts; with
 * CONTENT their digests, too. */
cra_status cra_archive_set_self_check(cra_archive_set *set, cra_verify_level level, cra_inclusion *out, cra_error *err);

#endif
