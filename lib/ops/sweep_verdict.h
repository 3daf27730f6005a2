/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_SWEEP_VERDICT_H
#define CRA_OPS_SWEEP_VERDICT_H

/* What was proven before the first delete, and how far the deletes have come: the checkpoint "sweep". It holds while
 * the archive is unchanged and the frozen list is the one that was verified. */

#include <crawlarchive/verify.h>

#include "ops/frozen_list.h"

typedef struct cra_sweep_verdict {
    cra_verify_level level;
    char manifest_digest[CRA_SHA256_HEX_SIZE];
    cra_frozen_info list;
    char list_path[1200];
    int64_t position; /* ids of the list that are done */
    int64_t removed;  /* records removed so far, earlier attempts included */
} cra_sweep_verdict;

/* CRA_NOMEM. */
cra_status cra_sweep_verdict_encode(const cra_sweep_verdict *verdict, cra_buf *out);
/* CRA_CORRUPT naming the key. */
cra_status cra_sweep_verdict_decode(cra_bytes stored, cra_sweep_verdict *out, cra_error *err);

#endif
