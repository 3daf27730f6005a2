/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_RETENTION_H
#define CRAWLARCHIVE_RETENTION_H

/** @file retention.h
 * The retention policy: why a run ended decides when it leaves the hot store. Pure: `now` is a parameter.
 */

#include <crawlarchive/result.h>
#include <crawlarchive/sys/catalog.h>

CRA_BEGIN_DECLS

/** Windows and anchors by outcome, with overrides per report. Immutable once built; shareable. */
typedef struct cra_policy cra_policy;

/** Which stored time a window starts from. */
typedef enum cra_anchor { CRA_ANCHOR_DELIVERED_AT, CRA_ANCHOR_ENDED_AT, CRA_ANCHOR_RESTORED_AT } cra_anchor;

/** The policy with the defaults: success 3d after delivery, failed 7d, empty 30m, restored 3d. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_policy_new(const cra_allocator *allocator, cra_policy **out, cra_error *err);
CRA_EXPORT void cra_policy_free(cra_policy *policy);

/** Set the window of an outcome, for one report or (NULL) for all. A new outcome word defines the user's own.
 *  @param window_ms  0 or more  @param anchor  for "restored" always CRA_ANCHOR_RESTORED_AT
 *  @return CRA_INVALID, CRA_NOMEM */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_policy_set_window(cra_policy *policy, const char *report, const char *outcome,
                                                           int64_t window_ms, cra_anchor anchor, cra_error *err);
/** Let a status word of the user's own ("no_data") stand for an outcome ("empty"). */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_policy_map_word(cra_policy *policy, const char *word, const char *outcome,
                                                         cra_error *err);
/** The outcome that a word stands for: itself where it is one; NULL where unknown. Borrowed. */
CRA_EXPORT const char *cra_policy_outcome(const cra_policy *policy, const char *word);
/** The anchor of an outcome. @return false where the outcome is unknown */
CRA_EXPORT bool cra_policy_anchor(const cra_policy *policy, const char *outcome, cra_anchor *out);

#define CRA_DECISION_STEPS_MAX 12

/** A decision and how it came about. Plain data without pointers: copyable, needs no cleanup. */
typedef struct cra_decision {
    size_t struct_size;
    cra_time_ms archive_at;   /**< when the run is due; CRA_TIME_NONE where there is no date */
    cra_time_ms stored_at;    /**< the date stored with the run, which stands when the policy changes */
    bool due;                 /**< archive_at <= now, closed, not held, state hot or restored */
    cra_reason reason;        /**< why it is not due: NOT_DUE, HELD, NO_ANCHOR, FUTURE_ANCHOR; else NONE */
    char rule[96];            /**< "success", "report prices: success", "explicit", "restored", … */
    char anchor_field[24];    /**< "delivered_at", "ended_at", "restored_at", "" */
    cra_time_ms anchor;       /**< CRA_TIME_NONE where none */
    int64_t window_ms;        /**< -1 where none */
    size_t steps_count;
    char steps[CRA_DECISION_STEPS_MAX][160]; /**< for people, in order */
} cra_decision;

/** Decide when a run is due by the policy as it is now (`recompute`), or by its stored date where it has one.
 *
 * Rules in order: hold; explicit date (until a restore consumes it); restored window; window of report and
 * outcome; window of outcome. A run without outcome is not closed and never due. Missing or future anchors
 * (beyond `now`) are reported and never due. The result depends on the arguments alone: not on time zone,
 * locale or clock.
 */
CRA_EXPORT cra_status cra_policy_decide(const cra_policy *policy, const cra_run_doc *run, cra_time_ms now,
                                        bool recompute, cra_decision *out);

CRA_END_DECLS

#endif
