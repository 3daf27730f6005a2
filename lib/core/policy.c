/* SPDX-License-Identifier: Apache-2.0 */

/* The table of windows: outcomes, overrides per report, words of the user's own. The rules are in policy_decide.c. */

#include "core/policy.h"

#include <string.h>

#include "base/alloc.h"
#include "base/similar.h"

#define MAX_NAMES 64 /* outcomes that a message suggests from */

static const struct {
    const char *name;
    int64_t window_ms;
    cra_anchor anchor;
} built_in[] = {
    {"success", 3 * INT64_C(86400000), CRA_ANCHOR_DELIVERED_AT},
    {"failed", 7 * INT64_C(86400000), CRA_ANCHOR_ENDED_AT},
    {"empty", 30 * INT64_C(60000), CRA_ANCHOR_ENDED_AT},
    {CRA_POLICY_RESTORED, 3 * INT64_C(86400000), CRA_ANCHOR_RESTORED_AT},
};
#define BUILT_IN (sizeof built_in / sizeof built_in[0])

static cra_status out_of_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "policy", "out of memory");
}

static cra_status add_outcome(cra_policy *policy, const char *name, int64_t window_ms, cra_anchor anchor)
{
    const cra_status status = cra_array_grow(policy->allocator, (void **)&policy->outcomes, &policy->outcomes_capacity,
                                             policy->outcomes_count + 1, sizeof *policy->outcomes);
    if (status != CRA_OK)
        return status;
    char *copy = cra_strdup(policy->allocator, name);
    if (copy == NULL)
        return CRA_NOMEM;
    policy->outcomes[policy->outcomes_count++] = (cra_policy_outcome_entry){copy, window_ms, anchor};
    return CRA_OK;
}

cra_status cra_policy_new(const cra_allocator *allocator, cra_policy **out, cra_error *err)
{
    cra_policy *policy = cra_calloc(allocator, 1, sizeof *policy);
    cra_status status = policy == NULL ? CRA_NOMEM : CRA_OK;

    *out = NULL;
    if (policy != NULL)
        policy->allocator = allocator;
    for (size_t i = 0; i < BUILT_IN && status == CRA_OK; i++)
        status = add_outcome(policy, built_in[i].name, built_in[i].window_ms, built_in[i].anchor);
    if (status != CRA_OK) {
        cra_policy_free(policy);
        return out_of_memory(err);
    }
    *out = policy;
    return CRA_OK;
}

void cra_policy_free(cra_policy *policy)
{
    if (policy == NULL)
        return;
    const cra_allocator *allocator = policy->allocator;
    for (size_t i = 0; i < policy->outcomes_count; i++)
        cra_free(allocator, policy->outcomes[i].name);
    for (size_t i = 0; i < policy->overrides_count; i++)
        cra_free(allocator, policy->overrides[i].report);
    for (size_t i = 0; i < policy->words_count; i++)
        cra_free(allocator, policy->words[i].word);
    cra_free(allocator, policy->outcomes);
    cra_free(allocator, policy->overrides);
    cra_free(allocator, policy->words);
    cra_free(allocator, policy);
}

size_t cra_policy_find(const cra_policy *policy, const char *outcome)
{
    size_t index = 0;

    while (index < policy->outcomes_count && strcmp(policy->outcomes[index].name, outcome) != 0)
        index++;
    return index;
}

/* Position of the override in the sorted list, or where it belongs. */
static size_t search_override(const cra_policy *policy, const char *report, size_t outcome, bool *found)
{
    size_t low = 0;
    size_t high = policy->overrides_count;

    *found = false;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const cra_policy_override *entry = &policy->overrides[middle];
        int order = strcmp(entry->report, report);
        if (order == 0)
            order = entry->outcome < outcome ? -1 : entry->outcome > outcome;
        if (order == 0)
            *found = true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const cra_policy_override *cra_policy_find_override(const cra_policy *policy, const char *report, size_t outcome)
{
    bool found;
    const size_t at = search_override(policy, report, outcome, &found);

    return found ? &policy->overrides[at] : NULL;
}

static cra_status set_override(cra_policy *policy, const char *report, size_t outcome, int64_t window_ms)
{
    bool found;
    const size_t at = search_override(policy, report, outcome, &found);

    if (found) {
        policy->overrides[at].window_ms = window_ms;
        return CRA_OK;
    }
    const cra_status status =
        cra_array_grow(policy->allocator, (void **)&policy->overrides, &policy->overrides_capacity,
                       policy->overrides_count + 1, sizeof *policy->overrides);
    if (status != CRA_OK)
        return status;
    char *copy = cra_strdup(policy->allocator, report);
    if (copy == NULL)
        return CRA_NOMEM;
    memmove(&policy->overrides[at + 1], &policy->overrides[at],
            (policy->overrides_count - at) * sizeof *policy->overrides);
    policy->overrides[at] = (cra_policy_override){copy, outcome, window_ms};
    policy->overrides_count++;
    return CRA_OK;
}

static size_t find_word(const cra_policy *policy, const char *word)
{
    size_t index = 0;

    while (index < policy->words_count && strcmp(policy->words[index].word, word) != 0)
        index++;
    return index;
}

static cra_status unknown_outcome(const cra_policy *policy, const char *outcome, cra_error *err)
{
    const char *names[MAX_NAMES];
    size_t count = 0;

    for (; count < policy->outcomes_count && count < MAX_NAMES; count++)
        names[count] = policy->outcomes[count].name;
    const char *nearest = cra_nearest_name(outcome, names, count);
    cra_error_set(err, CRA_INVALID, "policy",
                  "'%.60s' is no outcome: success, failed, empty or one that 'retention' names", outcome);
    if (nearest != NULL)
        cra_error_hint(err, "did you mean '%s'?", nearest);
    return CRA_INVALID;
}

/* The anchor of an outcome does not change with the report, and those built in keep theirs. */
static cra_status check_anchor(const cra_policy *policy, size_t outcome, const char *name, cra_anchor anchor,
                               cra_error *err)
{
    if (outcome < policy->outcomes_count && policy->outcomes[outcome].anchor != anchor)
        return cra_error_set(err, CRA_INVALID, "policy", "the window of '%.60s' starts at %s", name,
                             cra_policy_anchor_field(policy->outcomes[outcome].anchor));
    if (outcome >= policy->outcomes_count && anchor == CRA_ANCHOR_RESTORED_AT)
        return cra_error_set(err, CRA_INVALID, "policy",
                             "the window of '%.60s' must start at delivered_at or ended_at: restored_at belongs to "
                             "restored runs",
                             name);
    return CRA_OK;
}

cra_status cra_policy_set_window(cra_policy *policy, const char *report, const char *outcome, int64_t window_ms,
                                 cra_anchor anchor, cra_error *err)
{
    if (outcome == NULL || outcome[0] == '\0')
        return cra_error_set(err, CRA_INVALID, "policy", "an outcome needs a name");
    if (window_ms < 0)
        return cra_error_set(err, CRA_INVALID, "policy", "the window of '%.60s' must be 0 or more", outcome);

    const size_t index = cra_policy_find(policy, outcome);
    cra_status status = check_anchor(policy, index, outcome, anchor, err);
    if (status != CRA_OK)
        return status;
    if (report != NULL) {
        if (index == policy->outcomes_count)
            return unknown_outcome(policy, outcome, err);
        status = set_override(policy, report, index, window_ms);
    } else if (index < policy->outcomes_count) {
        policy->outcomes[index].window_ms = window_ms;
    } else if (find_word(policy, outcome) < policy->words_count) {
        return cra_error_set(err, CRA_INVALID, "policy", "'%.60s' already stands for outcome '%.60s'", outcome,
                             cra_policy_outcome(policy, outcome));
    } else {
        status = add_outcome(policy, outcome, window_ms, anchor);
    }
    return status == CRA_NOMEM ? out_of_memory(err) : status;
}

cra_status cra_policy_map_word(cra_policy *policy, const char *word, const char *outcome, cra_error *err)
{
    if (word == NULL || word[0] == '\0')
        return cra_error_set(err, CRA_INVALID, "policy", "a word for '%.60s' is empty", outcome);
    const size_t index = cra_policy_find(policy, outcome);
    if (index == policy->outcomes_count || strcmp(outcome, CRA_POLICY_RESTORED) == 0)
        return unknown_outcome(policy, outcome, err);
    if (cra_policy_find(policy, word) == index)
        return CRA_OK;

    const size_t known = find_word(policy, word);
    const char *taken = known < policy->words_count ? policy->outcomes[policy->words[known].outcome].name : NULL;
    if (taken == NULL && cra_policy_find(policy, word) < policy->outcomes_count)
        taken = word;
    if (taken != NULL && strcmp(taken, outcome) == 0)
        return CRA_OK;
    if (taken != NULL)
        return cra_error_set(err, CRA_INVALID, "policy",
                             "the word '%.60s' cannot stand for '%.60s': it stands for '%.60s'", word, outcome, taken);

    if (cra_array_grow(policy->allocator, (void **)&policy->words, &policy->words_capacity, policy->words_count + 1,
                       sizeof *policy->words) != CRA_OK)
        return out_of_memory(err);
    char *copy = cra_strdup(policy->allocator, word);
    if (copy == NULL)
        return out_of_memory(err);
    policy->words[policy->words_count++] = (cra_policy_word){copy, index};
    return CRA_OK;
}

const char *cra_policy_outcome(const cra_policy *policy, const char *word)
{
    if (word == NULL || strcmp(word, CRA_POLICY_RESTORED) == 0)
        return NULL;
    const size_t index = cra_policy_find(policy, word);
    if (index < policy->outcomes_count)
        return policy->outcomes[index].name;
    const size_t known = find_word(policy, word);
    return known < policy->words_count ? policy->outcomes[policy->words[known].outcome].name : NULL;
}

bool cra_policy_anchor(const cra_policy *policy, const char *outcome, cra_anchor *out)
{
    const size_t index = outcome == NULL ? policy->outcomes_count : cra_policy_find(policy, outcome);

    if (index == policy->outcomes_count)
        return false;
    *out = policy->outcomes[index].anchor;
    return true;
}

const char *cra_policy_anchor_field(cra_anchor anchor)
{
    switch (anchor) {
    case CRA_ANCHOR_DELIVERED_AT:
        return "delivered_at";
    case CRA_ANCHOR_ENDED_AT:
        return "ended_at";
    case CRA_ANCHOR_RESTORED_AT:
        break;
    }
    return "restored_at";
}
