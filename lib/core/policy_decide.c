/* SPDX-License-Identifier: Apache-2.0 */

/* When a run is due, and why: the rules of retention in their order. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <crawlarchive/config.h>

#include "core/policy.h"

#define TIME_SIZE 40
#define DURATION_SIZE 48

/* ---- steps ----------------------------------------------------------------------------------- */

static void CRA_PRINTF(2, 3) step(cra_decision *out, const char *format, ...)
{
    va_list args;

    if (out->steps_count == CRA_DECISION_STEPS_MAX)
        return;
    va_start(args, format);
    vsnprintf(out->steps[out->steps_count++], sizeof out->steps[0], format, args);
    va_end(args);
}

static void step_with_time(cra_decision *out, const char *text, cra_time_ms time)
{
    char formatted[TIME_SIZE];

    cra_time_format(time, formatted, sizeof formatted);
    step(out, "%s %s", text, formatted);
}

/* ---- the date -------------------------------------------------------------------------------- */

static cra_time_ms anchor_of(const cra_run_doc *run, cra_anchor anchor)
{
    switch (anchor) {
    case CRA_ANCHOR_DELIVERED_AT:
        return run->delivered_at;
    case CRA_ANCHOR_ENDED_AT:
        return run->ended_at;
    case CRA_ANCHOR_RESTORED_AT:
        break;
    }
    return run->restored_at;
}

/* A window so long that no date holds it never ends. */
static cra_time_ms add_window(cra_time_ms anchor, int64_t window_ms)
{
    return anchor > 0 && window_ms > INT64_MAX - anchor ? INT64_MAX : anchor + window_ms;
}

static bool counts_as_restored(const cra_run_doc *run)
{
    return run->state == CRA_RUN_RESTORED || run->state == CRA_RUN_RESTORING;
}

/* Index of the outcome whose window applies; outcomes_count where there is none. A run being swept keeps the window
 * it was swept by: the restore's, where one came after its end. */
static size_t window_outcome(const cra_policy *policy, const cra_run_doc *run)
{
    const char *outcome;

    if (counts_as_restored(run) || (run->state == CRA_RUN_SWEEPING && run->restored_at != CRA_TIME_NONE))
        return cra_policy_find(policy, CRA_POLICY_RESTORED);
    outcome = cra_policy_outcome(policy, run->outcome);
    return outcome == NULL ? policy->outcomes_count : cra_policy_find(policy, outcome);
}

static void note_rule(cra_decision *out, const char *report, const char *outcome)
{
    if (report == NULL)
        snprintf(out->rule, sizeof out->rule, "%s", outcome);
    else
        snprintf(out->rule, sizeof out->rule, "report %.60s: %s", report, outcome);
}

/* The policy's date: window and anchor into `out`; CRA_TIME_NONE where the anchor is missing. */
static cra_time_ms policy_date(const cra_policy *policy, const cra_run_doc *run, size_t index, cra_decision *out)
{
    const cra_policy_outcome_entry *outcome = &policy->outcomes[index];
    const cra_policy_override *override =
        run->report == NULL ? NULL : cra_policy_find_override(policy, run->report, index);
    char window[DURATION_SIZE];
    char anchor[TIME_SIZE];

    note_rule(out, override == NULL ? NULL : override->report, outcome->name);
    out->window_ms = override == NULL ? outcome->window_ms : override->window_ms;
    out->anchor = anchor_of(run, outcome->anchor);
    snprintf(out->anchor_field, sizeof out->anchor_field, "%s", cra_policy_anchor_field(outcome->anchor));
    cra_duration_format(out->window_ms, window, sizeof window);
    if (out->anchor == CRA_TIME_NONE) {
        step(out, "rule '%s': %s after %s, which is missing", out->rule, window, out->anchor_field);
        return CRA_TIME_NONE;
    }
    cra_time_format(out->anchor, anchor, sizeof anchor);
    step(out, "rule '%s': %s after %s %s", out->rule, window, out->anchor_field, anchor);
    return add_window(out->anchor, out->window_ms);
}

/* The stored date stands though the policy gives another one now. */
static void keep_stored_date(const cra_run_doc *run, cra_time_ms by_policy, cra_decision *out)
{
    out->archive_at = run->archive_at;
    if (run->rule != NULL && run->rule[0] != '\0')
        snprintf(out->rule, sizeof out->rule, "%s", run->rule);
    if (by_policy == run->archive_at)
        return;
    if (by_policy != CRA_TIME_NONE)
        step_with_time(out, "by the policy as it is now:", by_policy);
    step_with_time(out, "the stored date stands until it is recomputed:", run->archive_at);
}

/* Date, rule, anchor and window; NO_ANCHOR or FUTURE_ANCHOR where the date cannot be relied on. */
static cra_reason find_date(const cra_policy *policy, const cra_run_doc *run, cra_time_ms now, bool recompute,
                            cra_decision *out)
{
    const bool stored = run->archive_at != CRA_TIME_NONE && !recompute;

    if (run->explicit_at != CRA_TIME_NONE) {
        out->archive_at = run->explicit_at;
        snprintf(out->rule, sizeof out->rule, "explicit");
        step_with_time(out, "an explicit date wins until a restore consumes it:", run->explicit_at);
        return CRA_REASON_NONE;
    }

    const size_t index = window_outcome(policy, run);
    if (index == policy->outcomes_count) {
        if (stored)
            keep_stored_date(run, CRA_TIME_NONE, out);
        if (run->outcome == NULL)
            return CRA_REASON_NONE;
        step(out, "the policy does not know outcome '%.60s'", run->outcome);
        return CRA_REASON_NO_ANCHOR;
    }
    const cra_time_ms by_policy = policy_date(policy, run, index, out);
    if (stored)
        keep_stored_date(run, by_policy, out);
    else
        out->archive_at = by_policy;
    if (out->anchor == CRA_TIME_NONE)
        return CRA_REASON_NO_ANCHOR;
    if (out->anchor > now) {
        step(out, "%s lies in the future: it is not relied on", out->anchor_field);
        return CRA_REASON_FUTURE_ANCHOR;
    }
    return CRA_REASON_NONE;
}

/* ---- due ------------------------------------------------------------------------------------- */

static cra_reason keep(cra_decision *out, cra_reason reason, const char *why)
{
    step(out, "%s", why);
    return reason;
}

/* Why the run is kept for now; NONE where it is due. */
static cra_reason decide_reason(const cra_run_doc *run, cra_time_ms now, cra_reason date_reason, cra_decision *out)
{
    if (run->state == CRA_RUN_ARCHIVED)
        return keep(out, CRA_REASON_NOT_DUE, "it is archived already");
    if (run->held) {
        step(out, "a hold exempts it%s%.100s", run->hold_reason == NULL ? "" : ": ",
             run->hold_reason == NULL ? "" : run->hold_reason);
        return CRA_REASON_HELD;
    }
    if (run->state == CRA_RUN_SWEEPING)
        return keep(out, CRA_REASON_NONE, "due: a sweep of it has begun and goes on");
    if (run->outcome == NULL)
        return keep(out, CRA_REASON_NOT_DUE, "it is not closed: nobody has stored an outcome");
    if (date_reason != CRA_REASON_NONE)
        return date_reason;
    if (out->archive_at > now) {
        step_with_time(out, "not due before", out->archive_at);
        return CRA_REASON_NOT_DUE;
    }
    step_with_time(out, "due since", out->archive_at);
    return CRA_REASON_NONE;
}

cra_status cra_policy_decide(const cra_policy *policy, const cra_run_doc *run, cra_time_ms now, bool recompute,
                             cra_decision *out)
{
    if (policy == NULL || run == NULL || out == NULL)
        return CRA_INVALID;
    memset(out, 0, sizeof *out);
    out->struct_size = sizeof *out;
    out->archive_at = CRA_TIME_NONE;
    out->stored_at = run->archive_at;
    out->anchor = CRA_TIME_NONE;
    out->window_ms = -1;

    const char *outcome = cra_policy_outcome(policy, run->outcome);
    if (outcome != NULL && strcmp(outcome, run->outcome) != 0)
        step(out, "its outcome '%.60s' stands for '%.60s'", run->outcome, outcome);
    const cra_reason date_reason = find_date(policy, run, now, recompute, out);
    out->reason = decide_reason(run, now, date_reason, out);
    out->due = out->reason == CRA_REASON_NONE;
    return CRA_OK;
}
