/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_ID_SPOOL_H
#define CRA_OPS_ID_SPOOL_H

/* Records without `_id`, kept in a temporary file until all have been seen, then given back in the same order with
 * the `_id` derived for each. Memory does not grow with their number. Belongs to one thread. */

#include "ops/engine_internal.h"
#include "ops/record.h"

typedef struct cra_id_spool cra_id_spool;

/* `report` and `run` are borrowed. */
cra_status cra_id_spool_new(cra_engine *engine, const char *report, const char *run, cra_id_spool **out,
                            cra_error *err);
cra_status cra_id_spool_add(cra_id_spool *spool, cra_bytes document, cra_error *err);
/* End of adding. */
cra_status cra_id_spool_rewind(cra_id_spool *spool, cra_error *err);
/* Next record and its `_id`, borrowed until the next call. CRA_DONE at the end. */
cra_status cra_id_spool_next(cra_id_spool *spool, cra_bytes *document, cra_value *id, cra_error *err);
/* Records that were added and not given back yet. */
int64_t cra_id_spool_left(const cra_id_spool *spool);
void cra_id_spool_free(cra_id_spool *spool);

#endif
