/* SPDX-License-Identifier: Apache-2.0 */

/* When a run leaves the hot store: its end, its schedule, its hold, and what they come to. */

#include <crawlarchive/run.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/similar.h"
#include "ops/engine_internal.h"
#include "ops/run_guard.h"

#define ORIGIN "run"

static const cra_policy *policy_of(const cra_engine *engine)
{
    return cra_config_policy(cra_engine_config(engine));
}

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a run");
}

/* Replace the date by what the policy says now; an explicit date stands. */
static cra_status set_date(cra_engine *engine, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    cra_decision decision = {.struct_size = sizeof(decision)};
    const cra_status status = cra_policy_decide(policy_of(engine), run, now, true, &decision);

    if (status != CRA_OK)
        return cra_error_set(err, status, ORIGIN, "run %s/%s: its archive date cannot be computed", run->report,
                             run->run);
    run->archive_at = decision.archive_at;
    if (cra_run_doc_set_text(&run->rule, decision.archive_at != CRA_TIME_NONE ? decision.rule : NULL,
                             cra_engine_allocator(engine)) != CRA_OK)
        return no_memory(err);
    return CRA_OK;
}

static cra_status check_arguments(cra_engine *engine, const cra_run *run, cra_run **out, cra_error *err)
{
    if (out != NULL)
        *out = NULL;
    if (engine == NULL || run == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "an engine and a run are needed");
    return CRA_OK;
}

static cra_status update(cra_engine *engine, const cra_run *run, cra_run_change_fn change, void *user, cra_run **out,
                         cra_error *err)
{
    const cra_run_doc *doc = cra_run_doc_of(run);

    return cra_run_update(engine, doc->report, doc->run, change, user, out, err);
}

/* ---- deliver ---------------------------------------------------------------------------------- */

struct delivery {
    cra_engine *engine;
    const char *outcome;
    cra_anchor anchor;
    cra_time_ms at;
};

static cra_time_ms *anchor_field(cra_run_doc *run, cra_anchor anchor)
{
    return anchor == CRA_ANCHOR_DELIVERED_AT ? &run->delivered_at : &run->ended_at;
}

static bool same_outcome(const struct delivery *delivery, const cra_run_doc *run)
{
    const char *stored = run->outcome == NULL ? NULL : cra_policy_outcome(policy_of(delivery->engine), run->outcome);

    return stored != NULL && strcmp(stored, delivery->outcome) == 0;
}

/* A run that was restored keeps the date its restore gave it. */
static cra_status date_delivery(struct delivery *delivery, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    if (run->state == CRA_RUN_RESTORED && run->archive_at != CRA_TIME_NONE)
        return CRA_OK;
    return set_date(delivery->engine, run, now, err);
}

static cra_status deliver_run(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    struct delivery *delivery = user;
    cra_time_ms *field = anchor_field(run, delivery->anchor);
    const cra_time_ms at = delivery->at == CRA_TIME_NONE ? now : delivery->at;

    if (at > now)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "run %s/%s: the time of its end is in the future", run->report,
                             run->run);
    if (run->state != CRA_RUN_HOT && run->state != CRA_RUN_RESTORED)
        return cra_error_set(err, CRA_CONFLICT, ORIGIN, "run %s/%s is %s: its outcome cannot change now", run->report,
                             run->run, cra_run_state_name((cra_run_state)run->state));
    const bool again = same_outcome(delivery, run);
    if (again) {
        /* Another service may have written the outcome alone: then what is missing is added. */
        if (*field != CRA_TIME_NONE && run->archive_at != CRA_TIME_NONE)
            return CRA_DONE;
        if (*field == CRA_TIME_NONE)
            *field = at;
    } else {
        *field = at;
        if (cra_run_doc_set_text(&run->outcome, delivery->outcome, cra_engine_allocator(delivery->engine)) != CRA_OK)
            return no_memory(err);
    }
    if (run->closed_at == CRA_TIME_NONE || !again)
        run->closed_at = now;
    return date_delivery(delivery, run, now, err);
}

/* The word that a person most likely meant. */
struct nearest {
    const char *typed;
    size_t distance;
    char word[64];
};

static void offer_word(struct nearest *nearest, const char *word)
{
    const size_t size = strlen(word);
    const size_t distance = cra_edit_distance(nearest->typed, word);

    if (size == 0 || size >= sizeof(nearest->word) || strcmp(word, "restored") == 0 || distance >= nearest->distance ||
        distance > size / 2)
        return;
    nearest->distance = distance;
    memcpy(nearest->word, word, size + 1);
}

/* Outcomes of the user's own are the names right below `retention`, such as retention.partial.window. */
static cra_status offer_entry(void *user, const cra_config_entry *entry)
{
    static const char section[] = "retention.";
    const char *name = entry->path + sizeof(section) - 1;
    char word[64];
    size_t size;

    if (strncmp(entry->path, section, sizeof(section) - 1) != 0)
        return CRA_OK;
    size = strcspn(name, ".");
    if (size == 0 || size >= sizeof(word) || (size == 7 && memcmp(name, "reports", 7) == 0))
        return CRA_OK;
    memcpy(word, name, size);
    word[size] = '\0';
    offer_word(user, word);
    return CRA_OK;
}

static cra_status unknown_outcome(cra_engine *engine, const char *outcome, cra_error *err)
{
    struct nearest nearest = {outcome, SIZE_MAX, ""};

    offer_word(&nearest, "success");
    offer_word(&nearest, "failed");
    offer_word(&nearest, "empty");
    CRA_TRY(cra_config_each(cra_engine_config(engine), offer_entry, &nearest));
    if (nearest.word[0] != '\0')
        cra_error_set(err, CRA_INVALID, ORIGIN, "unknown outcome '%s'; did you mean '%s'?", outcome, nearest.word);
    else
        cra_error_set(err, CRA_INVALID, ORIGIN, "unknown outcome '%s'", outcome);
    cra_error_hint(err, "outcomes are success, failed, empty and those that the configuration adds");
    return CRA_INVALID;
}

cra_status cra_run_deliver(cra_engine *engine, const cra_run *run, const char *outcome, cra_time_ms at, cra_run **out,
                           cra_error *err)
{
    struct delivery delivery = {engine, NULL, CRA_ANCHOR_ENDED_AT, at};

    CRA_TRY(check_arguments(engine, run, out, err));
    if (outcome == NULL || outcome[0] == '\0')
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the outcome is empty");
    delivery.outcome = cra_policy_outcome(policy_of(engine), outcome);
    if (delivery.outcome == NULL || strcmp(delivery.outcome, "restored") == 0 ||
        !cra_policy_anchor(policy_of(engine), delivery.outcome, &delivery.anchor))
        return unknown_outcome(engine, outcome, err);
    return update(engine, run, deliver_run, &delivery, out, err);
}

/* ---- schedule --------------------------------------------------------------------------------- */

struct schedule {
    cra_engine *engine;
    cra_time_ms at;
};

static cra_status check_schedulable(const cra_run_doc *run, cra_error *err)
{
    if (run->state != CRA_RUN_SWEEPING && run->state != CRA_RUN_ARCHIVED)
        return CRA_OK;
    return cra_error_set(err, CRA_CONFLICT, ORIGIN, "run %s/%s is %s: it has no archive date to change", run->report,
                         run->run, cra_run_state_name((cra_run_state)run->state));
}

static cra_status schedule_run(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    struct schedule *schedule = user;

    CRA_TRY(check_schedulable(run, err));
    if (run->explicit_at == schedule->at && (schedule->at == CRA_TIME_NONE || run->archive_at == schedule->at))
        return CRA_DONE;
    run->explicit_at = schedule->at;
    if (schedule->at == CRA_TIME_NONE)
        return set_date(schedule->engine, run, now, err);
    run->archive_at = schedule->at;
    if (cra_run_doc_set_text(&run->rule, "explicit", cra_engine_allocator(schedule->engine)) != CRA_OK)
        return no_memory(err);
    return CRA_OK;
}

cra_status cra_run_schedule(cra_engine *engine, const cra_run *run, cra_time_ms at, cra_run **out, cra_error *err)
{
    struct schedule schedule = {engine, at};

    CRA_TRY(check_arguments(engine, run, out, err));
    return update(engine, run, schedule_run, &schedule, out, err);
}

static cra_status recompute_run(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    cra_engine *engine = user;

    CRA_TRY(check_schedulable(run, err));
    return set_date(engine, run, now, err);
}

cra_status cra_run_recompute(cra_engine *engine, const cra_run *run, cra_run **out, cra_error *err)
{
    CRA_TRY(check_arguments(engine, run, out, err));
    return update(engine, run, recompute_run, engine, out, err);
}

/* ---- hold ------------------------------------------------------------------------------------- */

struct hold {
    cra_engine *engine;
    bool held;
    const char *reason;
};

static cra_status hold_run(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    struct hold *hold = user;
    const bool same_reason =
        hold->reason == NULL || (run->hold_reason != NULL && strcmp(run->hold_reason, hold->reason) == 0);

    (void)now;
    if (run->held == hold->held && (!hold->held || same_reason))
        return CRA_DONE;
    run->held = hold->held;
    if (cra_run_doc_set_text(&run->hold_reason, hold->held ? hold->reason : NULL, cra_engine_allocator(hold->engine)) !=
        CRA_OK)
        return no_memory(err);
    return CRA_OK;
}

cra_status cra_run_hold(cra_engine *engine, const cra_run *run, const char *reason, cra_run **out, cra_error *err)
{
    struct hold hold = {engine, true, reason};

    CRA_TRY(check_arguments(engine, run, out, err));
    return update(engine, run, hold_run, &hold, out, err);
}

cra_status cra_run_release(cra_engine *engine, const cra_run *run, cra_run **out, cra_error *err)
{
    struct hold hold = {engine, false, NULL};

    CRA_TRY(check_arguments(engine, run, out, err));
    return update(engine, run, hold_run, &hold, out, err);
}

/* ---- questions -------------------------------------------------------------------------------- */

cra_status cra_run_explain(cra_engine *engine, const cra_run *run, cra_decision *out, cra_error *err)
{
    cra_time_ms now;
    cra_status status;

    CRA_TRY(check_arguments(engine, run, NULL, err));
    if (out == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "no place for the decision was given");
    CRA_TRY(cra_catalog_now(cra_engine_catalog(engine), &now, err));
    status = cra_policy_decide(policy_of(engine), cra_run_doc_of(run), now, false, out);
    if (status != CRA_OK)
        return cra_error_set(err, status, ORIGIN, "the run's archive date cannot be computed");
    return CRA_OK;
}

static bool is_fresh(const cra_run_doc *run, cra_time_ms now)
{
    return run->archive_at == CRA_TIME_NONE || now < run->archive_at;
}

cra_status cra_run_sync_needed(cra_engine *engine, const cra_run *run, bool *out, const char **reason, cra_error *err)
{
    const char *why = NULL;
    cra_time_ms now;

    CRA_TRY(check_arguments(engine, run, NULL, err));
    if (out == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "no place for the answer was given");
    const cra_run_doc *doc = cra_run_doc_of(run);
    CRA_TRY(cra_catalog_now(cra_engine_catalog(engine), &now, err));
    switch (doc->state) {
    case CRA_RUN_SWEEPING:
        why = "it is leaving the hot store";
        break;
    case CRA_RUN_ARCHIVED:
        why = "it is archived";
        break;
    case CRA_RUN_RESTORING:
        why = "it is being restored";
        break;
    case CRA_RUN_RESTORED:
        why = is_fresh(doc, now) ? "it was restored and its window has not ended" : NULL;
        break;
    default:
        break;
    }
    *out = why == NULL;
    if (reason != NULL)
        *reason = why != NULL                      ? why
                  : doc->state == CRA_RUN_RESTORED ? "its restored window has ended"
                                                   : "it is hot and was never swept";
    return CRA_OK;
}
