/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plan.h"

bool cra_plan_is_hot(cra_run_state state)
{
    return state != CRA_RUN_ARCHIVED;
}

static bool is_leased(const cra_run_doc *run, cra_time_ms now)
{
    return run->lease_owner[0] != '\0' && run->lease_expires_at > now;
}

cra_reason cra_plan_add(cra_plan_scope *scope, const cra_run_doc *run, const cra_decision *decision, cra_time_ms now)
{
    cra_reason reason = decision->reason;

    if (decision->due && is_leased(run, now))
        reason = CRA_REASON_LOCKED;
    scope->hot += cra_plan_is_hot((cra_run_state)run->state) ? 1 : 0;
    scope->selected += reason == CRA_REASON_NONE ? 1 : 0;
    scope->kept += reason == CRA_REASON_NONE ? 0 : 1;
    return reason;
}

bool cra_plan_exceeds_share(const cra_plan_scope *scope, double max_share)
{
    if (scope->selected == 0)
        return false;
    if (max_share < 0) {
        if (scope->hot <= CRA_PLAN_SMALL_SCOPE)
            return false;
        max_share = CRA_PLAN_DEFAULT_SHARE;
    }
    /* Written so that a share that is no number exceeds. */
    return !((double)scope->selected <= max_share * (double)scope->hot);
}

int64_t cra_plan_limit(const cra_plan_scope *scope, int64_t max_runs)
{
    return max_runs > 0 && max_runs < scope->selected ? max_runs : scope->selected;
}
