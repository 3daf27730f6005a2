/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CORE_PLAN_H
#define CRA_CORE_PLAN_H

/* The pure part of planning a sweep: which runs, how many, and when that would be too many. */

#include <crawlarchive/retention.h>

/* More hot runs than this in scope, and half of them is the most that a sweep takes without being told otherwise. */
#define CRA_PLAN_SMALL_SCOPE 20
#define CRA_PLAN_DEFAULT_SHARE 0.5

/* The scope of a plan, counted as its runs are seen. Plain data. */
typedef struct cra_plan_scope {
    int64_t hot;      /* runs whose records are in the hot store, wholly or in part */
    int64_t selected; /* runs that are to be swept */
    int64_t kept;
} cra_plan_scope;

/* Whether records of a run in this state are in the hot store. */
bool cra_plan_is_hot(cra_run_state state);

/* Count a run, and say why it is kept: the decision's reason, LOCKED where a worker's lease has not expired at `now`,
 * NONE where it is selected. */
cra_reason cra_plan_add(cra_plan_scope *scope, const cra_run_doc *run, const cra_decision *decision, cra_time_ms now);

/* Whether the selected runs are beyond the share of hot runs that a sweep may remove. A wrong clock or anchor makes
 * many runs due at once, which no schedule does.
 * @param max_share  0…1; negative: CRA_PLAN_DEFAULT_SHARE where more than CRA_PLAN_SMALL_SCOPE are hot, else none */
bool cra_plan_exceeds_share(const cra_plan_scope *scope, double max_share);

/* How many of the selected runs are done now. @param max_runs  0: no limit */
int64_t cra_plan_limit(const cra_plan_scope *scope, int64_t max_runs);

#endif
