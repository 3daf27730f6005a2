/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_SWEEP_DELETE_H
#define CRA_OPS_SWEEP_DELETE_H

/* Walking the frozen list and deleting, batch by batch: the only place of the library that removes records. */

#include "ops/run_guard.h"
#include "ops/sweep_run.h"
#include "ops/sweep_verdict.h"

/* Delete from `verdict->position` on. Before each batch: lease, hold, cancel, stop file, time budget; after it: the
 * post-condition by reading, the checkpoint, the pace.
 * CRA_OK at the list's end; CRA_DONE where it was told to stop (pace->stopped_by); CRA_CONFLICT where a hold was set;
 * CRA_LOCKED where the lease is lost; CRA_CANCELLED; a store's status. */
cra_status cra_sweep_delete(cra_engine *engine, cra_run_guard *guard, cra_sweep_pace *pace, cra_sweep_verdict *verdict,
                            cra_error *err);

#endif
