/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CORE_POLICY_H
#define CRA_CORE_POLICY_H

/* Inside of the retention policy; only policy.c and policy_decide.c look at it. */

#include <crawlarchive/retention.h>

/* The window of restored runs is kept among the outcomes, but no run ends so. */
#define CRA_POLICY_RESTORED "restored"

typedef struct cra_policy_outcome_entry {
    char *name;
    int64_t window_ms;
    cra_anchor anchor;
} cra_policy_outcome_entry;

typedef struct cra_policy_override {
    char *report;
    size_t outcome; /* index */
    int64_t window_ms;
} cra_policy_override;

typedef struct cra_policy_word {
    char *word;
    size_t outcome; /* index */
} cra_policy_word;

struct cra_policy {
    const cra_allocator *allocator;
    cra_policy_outcome_entry *outcomes; /* the built-in ones first */
    size_t outcomes_count;
    size_t outcomes_capacity;
    cra_policy_override *overrides; /* sorted by report and outcome: looked up for every run of a sweep */
    size_t overrides_count;
    size_t overrides_capacity;
    cra_policy_word *words;
    size_t words_count;
    size_t words_capacity;
};

/* Index of an outcome, outcomes_count where there is none. */
size_t cra_policy_find(const cra_policy *policy, const char *outcome);
/* The override of a report, or NULL. */
const cra_policy_override *cra_policy_find_override(const cra_policy *policy, const char *report, size_t outcome);
/* Name of the field in the run's document. */
const char *cra_policy_anchor_field(cra_anchor anchor);

#endif
