/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_RUN_PROGRESS_H
#define CRA_OPS_RUN_PROGRESS_H

/* What the heartbeat of one run reports, from a thread of its own. Thread-safe. */

#include <crawlarchive/context.h>

typedef struct cra_run_progress cra_run_progress;

/* Report every `heartbeat_ms` (and in finer steps between) to the context's callback; without a callback there is
 * no thread. `operation` is static text, `report` and `run` are copied. */
cra_status cra_run_progress_start(cra_context *context, const char *operation, const char *report, const char *run,
                                  int64_t heartbeat_ms, cra_run_progress **out, cra_error *err);
/* Stop the thread, free; NULL is legal. */
void cra_run_progress_stop(cra_run_progress *progress);

/* As cra_run_guard_progress(). */
void cra_run_progress_set(cra_run_progress *progress, const char *phase, int64_t records, int64_t total, int64_t bytes,
                          const char *checkpoint);
/* Whether the callback asked this operation to stop. NULL: no. */
bool cra_run_progress_cancelled(const cra_run_progress *progress);

#endif
