/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_SWEEP_PLAN_H
#define CRA_OPS_SWEEP_PLAN_H

/* Inside of a plan, for the sweep that executes it. */

#include <crawlarchive/sweep.h>

#include "core/plan.h"
#include "ops/engine_internal.h"

/* A closed run without a stored date: another service wrote its outcome. */
typedef struct cra_plan_undated {
    char *report, *run;
} cra_plan_undated;

struct cra_sweep_plan {
    const cra_allocator *allocator;
    cra_sweep_options options; /* report and runs are not kept: the items are */
    char *report, *stop_file;
    cra_time_ms now;           /* the time it was made for */
    bool hypothetical;         /* for another time than the catalog's */
    cra_plan_scope scope;
    cra_result *items;         /* by archive date */
    cra_plan_undated *undated;
    size_t undated_count, undated_capacity;
};

#endif
