/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_RUN_GUARD_H
#define CRA_OPS_RUN_GUARD_H

/* Exclusive work on one run: its lease, kept alive by a thread of its own, the run's document as last read, its
 * checkpoints, and the progress that the heartbeat reports. Sweep, archive and restore of one run share one lease.
 *
 * A guard belongs to the operation that made it; check, deadline and progress may be called from its workers. */

#include <crawlarchive/run.h>

typedef struct cra_run_guard cra_run_guard;

/* Take the lease of a run (lease.ttl; grace for a takeover: half of it, the command deadline), read its document,
 * start the renewing thread (every third of the ttl) and the heartbeat (every `heartbeat_ms`).
 * CRA_LOCKED where another holds it, CRA_NOT_FOUND. `operation` is static text: "sweep", "archive", "restore". */
cra_status cra_run_guard_acquire(cra_engine *engine, const char *report, const char *run, const char *operation,
                                 int64_t heartbeat_ms, cra_run_guard **out, cra_error *err);

/* Stop the threads, give the lease back, free. NULL is legal. Keeps quiet about a lease that was lost. */
void cra_run_guard_release(cra_run_guard *guard);

/* The run as last read or stored; valid until the next refresh, store or update. */
const cra_run_doc *cra_run_guard_doc(const cra_run_guard *guard);
cra_status cra_run_guard_refresh(cra_run_guard *guard, cra_error *err);

/* Before each batch: CRA_CANCELLED where a stop was asked for, CRA_LOCKED where the lease is lost or its local
 * deadline (monotonic time at sending + ttl - margin) has passed. Makes no store call. Thread-safe. */
cra_status cra_run_guard_check(cra_run_guard *guard, cra_error *err);

/* Monotonic deadline for the next command: now + half the ttl, and never behind the lease. Thread-safe. */
int64_t cra_run_guard_deadline(cra_run_guard *guard);

/* Read the run afresh, let `change` edit a copy, store it under lease and version; again from the start where
 * another writer came between (a hold, a schedule). `change` decides on the fresh document: whatever status but
 * CRA_OK it returns ends the update and is returned (CRA_CONFLICT with its own message, CRA_DONE for "nothing to
 * do", which is returned as CRA_OK without a write). Texts in the copy are replaced with cra_run_doc_set_text()
 * and the context's allocator. */
typedef cra_status (*cra_run_change_fn)(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err);
cra_status cra_run_guard_update(cra_run_guard *guard, cra_run_change_fn change, void *user, cra_error *err);

/* The same loop for callers without a lease (deliver, schedule, hold). `*run_out` (nullable) receives the run
 * afterwards. */
cra_status cra_run_update(cra_engine *engine, const char *report, const char *run, cra_run_change_fn change, void *user,
                          cra_run **run_out, cra_error *err);

/* Checkpoints of the run under the lease; the guard remembers versions. get: CRA_NOT_FOUND. */
cra_status cra_run_guard_checkpoint_get(cra_run_guard *guard, const char *name, cra_buf *out, cra_error *err);
cra_status cra_run_guard_checkpoint_put(cra_run_guard *guard, const char *name, cra_bytes content, cra_error *err);
cra_status cra_run_guard_checkpoint_remove(cra_run_guard *guard, const char *name, cra_error *err);

/* Fence of the lease. */
int64_t cra_run_guard_fence(const cra_run_guard *guard);

/* Tell where the work stands; thread-safe, cheap. `phase` is static text; `checkpoint` is copied (nullable: as it
 * was). total -1: unknown. */
void cra_run_guard_progress(cra_run_guard *guard, const char *phase, int64_t records, int64_t total, int64_t bytes,
                            const char *checkpoint);

#endif
