/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_SWEEP_H
#define CRAWLARCHIVE_SWEEP_H

/** @file sweep.h
 * Plan which runs leave the hot store, then remove what is due and verified.
 */

#include <crawlarchive/verify.h>

CRA_BEGIN_DECLS

/** What would happen and why: data, made with handles that cannot write. */
typedef struct cra_sweep_plan cra_sweep_plan;

typedef struct cra_sweep_options {
    size_t struct_size;
    cra_time_ms as_of;           /**< plan for this time; CRA_TIME_NONE: the catalog's now. Such a plan cannot be executed */
    const char *report;          /**< NULL: every report */
    const cra_run *const *runs;  /**< only these; NULL: all. It selects, it does not override dates */
    size_t runs_count;
    cra_verify_level level;
    int64_t rate;                /**< records a second; 0: no limit */
    int64_t batch_docs;          /**< 0: sweep.batch_docs */
    int64_t max_runs;            /**< 0: no limit */
    double max_share;            /**< 0…1 of hot runs in scope; negative: 0.5 where more than 20 are in scope, else none */
    int64_t time_budget_ms;      /**< 0: no limit */
    const char *stop_file;       /**< stop when this file exists; NULL: none */
    cra_item_fn on_item;         /**< nullable */
    void *user;
} cra_sweep_options;
#define CRA_SWEEP_OPTIONS_INIT                                                                                 \
    {                                                                                                          \
        sizeof(cra_sweep_options), CRA_TIME_NONE, NULL, NULL, 0, CRA_VERIFY_AUTO, 0, 0, 0, -1.0, 0, NULL, NULL, \
            NULL                                                                                               \
    }

/** Decide for each closed run in scope, with reason, counts and bytes. Writes nothing. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_sweep_plan_new(cra_engine *engine, const cra_sweep_options *options,
                                                        cra_sweep_plan **out, cra_error *err);
CRA_EXPORT size_t cra_sweep_plan_count(const cra_sweep_plan *plan);
/** Item: OK (would be swept) or KEPT with its reason. Borrowed. */
CRA_EXPORT const cra_item *cra_sweep_plan_at(const cra_sweep_plan *plan, size_t index);
/** Whether the plan is beyond max_share, in which case executing it removes nothing. */
CRA_EXPORT bool cra_sweep_plan_exceeds_share(const cra_sweep_plan *plan);
CRA_EXPORT void cra_sweep_plan_free(cra_sweep_plan *plan);

/** Act on a plan: store computed dates, and for each selected run lease, re-check, verify, delete, report.
 *
 * It stops at a batch's end on cancel, stop file, time budget. Selected = swept + kept, each kept run with its
 * reason. @return CRA_OK, CRA_PARTIAL where a run was kept because verification failed or could not be done,
 * CRA_CONFLICT beyond max_share, CRA_INVALID for a plan `as_of` another time
 */
CRA_EXPORT cra_status cra_sweep_execute(cra_engine *engine, const cra_sweep_plan *plan, cra_result **out,
                                        cra_error *err);

CRA_END_DECLS

#endif
