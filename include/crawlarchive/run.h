/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_RUN_H
#define CRAWLARCHIVE_RUN_H

/** @file run.h
 * Runs: register, get, list, deliver, schedule, hold, explain, sync-needed.
 */

#include <crawlarchive/engine.h>

CRA_BEGIN_DECLS

/** A run as it was read: a snapshot. */
typedef struct cra_run cra_run;

/** Name of a state: "hot", "sweeping", "archived", "restoring", "restored". */
CRA_EXPORT const char *cra_run_state_name(cra_run_state state);

/** Find a run by its whole id, else as REPORT/RUN split at the first slash.
 *  @return CRA_NOT_FOUND, CRA_INVALID where two reports hold the id (the message lists the candidates) */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_run_find(cra_engine *engine, const char *name, cra_run **out, cra_error *err);
/** Find a run by report and id. @return CRA_NOT_FOUND */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_run_get(cra_engine *engine, const char *report, const char *id, cra_run **out,
                                                 cra_error *err);
/** Its stored fields, borrowed. */
CRA_EXPORT const cra_run_doc *cra_run_doc_of(const cra_run *run);
CRA_EXPORT void cra_run_free(cra_run *run);

/** Visit the runs of a query (see sys/catalog.h); undated closed runs are shown with their computed date. */
CRA_EXPORT cra_status cra_run_each(cra_engine *engine, const cra_run_query *query, cra_run_visit_fn visit, void *user,
                                   cra_error *err);

/** Register a run whose records are already in the hot store.
 *  @param collection  NULL: from hot.collection  @return CRA_EXISTS, CRA_INVALID (a name with control characters) */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_run_add(cra_engine *engine, const char *report, const char *id,
                                                 const char *collection, cra_run **out, cra_error *err);

/** The run has ended: store outcome and time, compute and store its archive date.
 *
 * The same outcome again changes nothing. @param outcome  an outcome or a mapped word
 * @param at  CRA_TIME_NONE: the catalog's now; the future is CRA_INVALID
 * @param out  nullable: the run afterwards
 * @return CRA_CONFLICT while sweeping, archived or restoring; CRA_INVALID for an unknown word (nearest one named)
 */
CRA_EXPORT cra_status cra_run_deliver(cra_engine *engine, const cra_run *run, const char *outcome, cra_time_ms at,
                                      cra_run **out, cra_error *err);

/** Explicit archive date; a past one is due at once. CRA_TIME_NONE clears it and computes the policy's date. */
CRA_EXPORT cra_status cra_run_schedule(cra_engine *engine, const cra_run *run, cra_time_ms at, cra_run **out,
                                       cra_error *err);
/** Apply the policy as it is now in place of the stored date; an explicit date stands. */
CRA_EXPORT cra_status cra_run_recompute(cra_engine *engine, const cra_run *run, cra_run **out, cra_error *err);

/** Exempt from every sweep, a running one included, which stops at its next batch. @param reason  nullable */
CRA_EXPORT cra_status cra_run_hold(cra_engine *engine, const cra_run *run, const char *reason, cra_run **out,
                                   cra_error *err);
CRA_EXPORT cra_status cra_run_release(cra_engine *engine, const cra_run *run, cra_run **out, cra_error *err);

/** Which rule gave the date, step by step, by the catalog's time. */
CRA_EXPORT cra_status cra_run_explain(cra_engine *engine, const cra_run *run, cra_decision *out, cra_error *err);

/** Whether the export's usual sync step should copy the run: no while sweeping, archived, restoring, and while
 *  restored until its archive date; else yes. @param reason  receives a static text */
CRA_EXPORT cra_status cra_run_sync_needed(cra_engine *engine, const cra_run *run, bool *out, const char **reason,
                                          cra_error *err);

CRA_END_DECLS

#endif
