/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/sweep_run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "ops/archive_commit.h"
#include "ops/inclusion.h"
#include "ops/sweep_delete.h"
#include "ops/sweep_verdict.h"

typedef struct sweeper {
    cra_engine *engine;
    cra_sweep_pace *pace;
    cra_run_guard *guard;
    cra_archive_set set;
    cra_sweep_verdict verdict;
    cra_item *item;
    cra_sweep_texts *texts;
    bool no_archive_needed; /* an empty run without records anywhere */
} sweeper;

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "sweep", "out of memory");
}

/* The run stays, with a reason; CRA_DONE ends its sweep without being a failure of the call. */
static cra_status keep(sweeper *s, cra_reason reason, const char *detail)
{
    s->item->status = reason == CRA_REASON_LOCKED ? CRA_ITEM_LOCKED : CRA_ITEM_KEPT;
    s->item->reason = reason;
    if (detail != NULL)
        snprintf(s->texts->detail, sizeof s->texts->detail, "%s", detail);
    return CRA_DONE;
}

/* ---- is it still due? ------------------------------------------------------------------------ */

/* Decide on a fresh document: may its sweep begin, or go on? */
static cra_reason may_sweep(cra_engine *engine, const cra_run_doc *run, cra_time_ms now)
{
    cra_decision decision;

    if (run->held)
        return CRA_REASON_HELD;
    if (run->state == CRA_RUN_SWEEPING)
        return CRA_REASON_NONE;
    if (run->state == CRA_RUN_ARCHIVED)
        return CRA_REASON_NOT_DUE;
    memset(&decision, 0, sizeof decision);
    decision.struct_size = sizeof decision;
    if (cra_policy_decide(cra_config_policy(cra_engine_config(engine)), run, now, false, &decision) != CRA_OK)
        return CRA_REASON_STORE_ERROR;
    return decision.due ? CRA_REASON_NONE : decision.reason != CRA_REASON_NONE ? decision.reason : CRA_REASON_NOT_DUE;
}

static cra_status recheck(sweeper *s, cra_error *err)
{
    cra_docstore_health health = {.struct_size = sizeof health};
    cra_time_ms now;

    cra_status status = cra_catalog_now(cra_engine_catalog(s->engine), &now, err);
    if (status != CRA_OK)
        return status;
    const cra_reason reason = may_sweep(s->engine, cra_run_guard_doc(s->guard), now);
    if (reason != CRA_REASON_NONE)
        return keep(s, reason, NULL);

    status = cra_docstore_get_health(cra_engine_docstore(s->engine), &health, err);
    if (status == CRA_OK && !health.durable_writes)
        return cra_error_set(err, CRA_INVALID, "sweep",
                             "the hot store does not acknowledge writes durably: nothing is deleted on its word");
    return status;
}

/* An empty run needs no archive, but must be empty. */
static cra_status check_empty(sweeper *s, cra_error *err)
{
    const cra_run_doc *run = cra_run_guard_doc(s->guard);
    cra_hot_scope hot;
    int64_t count;

    if (run->outcome == NULL || strcmp(run->outcome, "empty") != 0 || run->state == CRA_RUN_SWEEPING)
        return CRA_OK;
    cra_status status = cra_hot_scope_init(s->engine, run, &hot, err);
    if (status == CRA_OK)
        status = cra_docstore_count(cra_engine_docstore(s->engine), &hot.scope, &count, err);
    if (status == CRA_OK && count > 0) {
        char text[96];
        snprintf(text, sizeof text, "its outcome is empty, but it has %lld records", (long long)count);
        s->item->counts[CRA_COUNT_RECORDS] = count;
        return keep(s, CRA_REASON_NOT_EMPTY, text);
    }
    s->no_archive_needed = status == CRA_OK && s->set.reason == CRA_REASON_NO_ARCHIVE;
    return status;
}

/* ---- the proof ------------------------------------------------------------------------------- */

static cra_status store_verdict(sweeper *s, cra_error *err)
{
    cra_buf stored;

    cra_buf_init(&stored, cra_engine_allocator(s->engine));
    cra_status status = cra_sweep_verdict_encode(&s->verdict, &stored);
    status = status == CRA_OK ? cra_run_guard_checkpoint_put(s->guard, "sweep", cra_buf_bytes(&stored), err)
                              : no_memory(err);
    cra_buf_cleanup(&stored);
    return status;
}

/* Take up an interrupted sweep on its verdict. CRA_NOT_FOUND where the verdict does not hold any more. */
static cra_status resume_verdict(sweeper *s, cra_error *err)
{
    cra_frozen_reader *reader = NULL;
    cra_buf stored;

    cra_buf_init(&stored, cra_engine_allocator(s->engine));
    cra_status status = cra_run_guard_checkpoint_get(s->guard, "sweep", &stored, err);
    if (status == CRA_OK)
        status = cra_sweep_verdict_decode(cra_buf_bytes(&stored), &s->verdict, err);
    cra_buf_cleanup(&stored);
    if (status == CRA_OK && s->verdict.level != CRA_VERIFY_TRUST) {
        if (strcmp(s->verdict.manifest_digest, s->set.manifest_digest) != 0)
            status = CRA_NOT_FOUND;
        else if (s->set.reason == CRA_REASON_NONE)
            status = cra_archive_set_check_parts(&s->set, err);
        if (status == CRA_OK && s->set.reason != CRA_REASON_NONE)
            return keep(s, s->set.reason, s->set.detail);
    }
    if (status == CRA_OK)
        status = cra_frozen_reader_open(cra_engine_allocator(s->engine), s->verdict.list_path, &s->verdict.list,
                                        &reader, err);
    cra_frozen_reader_free(reader);
    if (status == CRA_CORRUPT || status == CRA_DENIED)
        status = CRA_NOT_FOUND; /* another machine's list, or a damaged one */
    return status;
}

/* Freeze what is there and prove that the archive has it. */
static cra_status prove(sweeper *s, bool remainder, cra_error *err)
{
    const cra_run_doc *run = cra_run_guard_doc(s->guard);
    cra_inclusion inclusion;
    cra_buf path;

    memset(&s->verdict, 0, sizeof s->verdict);
    cra_buf_init(&path, cra_engine_allocator(s->engine));
    cra_status status = cra_frozen_list_path(s->engine, run->report, run->run, cra_run_guard_fence(s->guard), &path);
    if (status != CRA_OK || path.size >= sizeof s->verdict.list_path) {
        cra_buf_cleanup(&path);
        return status != CRA_OK ? no_memory(err)
                                : cra_error_set(err, CRA_INVALID, "sweep", "spool.folder is too long a path");
    }
    memcpy(s->verdict.list_path, path.data, path.size);
    cra_buf_cleanup(&path);

    const cra_inclusion_request request = {.level = s->pace->options->level,
                                           .list_path = s->verdict.list_path,
                                           .remainder = remainder,
                                           .guard = s->guard};
    status = cra_inclusion_prove(s->engine, run, &s->set, &request, &inclusion, err);
    if (status != CRA_OK)
        return status;
    s->item->level = cra_verify_level_name(inclusion.level);
    s->item->counts[CRA_COUNT_RECORDS] = inclusion.records_hot;
    s->item->counts[CRA_COUNT_DUPLICATES] = inclusion.duplicates;
    if (inclusion.status != CRA_ITEM_OK) {
        unlink(s->verdict.list_path);
        s->item->error = inclusion.error;
        return keep(s, inclusion.reason, inclusion.detail);
    }
    s->verdict.level = inclusion.level;
    s->verdict.list = inclusion.list;
    return CRA_OK;
}

/* ---- states ---------------------------------------------------------------------------------- */

typedef struct entering {
    sweeper *sweep;
    cra_reason reason;
} entering;

static cra_status set_location(sweeper *s, cra_run_doc *run, cra_error *err)
{
    const cra_allocator *allocator = cra_engine_allocator(s->engine);

    if (cra_run_doc_set_text(&run->location, s->no_archive_needed ? NULL : s->set.location, allocator) != CRA_OK)
        return no_memory(err);
    if (s->set.origin != CRA_ARCHIVE_MANIFEST || run->manifest != NULL)
        return CRA_OK;
    /* A manifest found in the folder is from now on the one that counts. */
    run->generation = s->set.manifest.generation;
    if (cra_run_doc_set_text(&run->manifest, s->set.manifest_name, allocator) != CRA_OK ||
        cra_run_doc_set_text(&run->manifest_digest, s->set.manifest_digest, allocator) != CRA_OK)
        return no_memory(err);
    return CRA_OK;
}

/* Hold, date and state are looked at on the very document that is replaced: a hold set a moment earlier wins. */
static cra_status enter_sweeping(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    entering *enter = user;

    enter->reason = may_sweep(enter->sweep->engine, run, now);
    if (enter->reason != CRA_REASON_NONE)
        return cra_error_set(err, CRA_CONFLICT, "sweep", "run %s: %s", run->run, cra_reason_text(enter->reason));
    if (run->state != CRA_RUN_SWEEPING)
        run->state_since = now;
    run->state = CRA_RUN_SWEEPING;
    cra_archive_stamp_reason(run, CRA_REASON_NONE, now, cra_engine_allocator(enter->sweep->engine));
    return set_location(enter->sweep, run, err);
}

static cra_status enter_archived(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    entering *enter = user;

    if (run->held) {
        enter->reason = CRA_REASON_HELD;
        return cra_error_set(err, CRA_CONFLICT, "sweep", "run %s: a hold was set", run->run);
    }
    run->state = CRA_RUN_ARCHIVED;
    run->state_since = now;
    if (run->records < 0 || enter->sweep->no_archive_needed)
        run->records = enter->sweep->no_archive_needed ? 0 : enter->sweep->set.manifest.records;
    cra_archive_stamp_reason(run, CRA_REASON_NONE, now, cra_engine_allocator(enter->sweep->engine));
    return set_location(enter->sweep, run, err);
}

static cra_status enter_state(sweeper *s, cra_run_change_fn change, cra_error *err)
{
    entering enter = {.sweep = s};
    const cra_status status = cra_run_guard_update(s->guard, change, &enter, err);

    if (status == CRA_CONFLICT && enter.reason != CRA_REASON_NONE)
        return keep(s, enter.reason, NULL);
    return status;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Nothing is left to do with the list and the verdict. */
static cra_status drop_verdict(sweeper *s, cra_error *err)
{
    const cra_status status = cra_run_guard_checkpoint_remove(s->guard, "sweep", err);

    if (status == CRA_OK)
        unlink(s->verdict.list_path);
    return status;
}

static cra_status finish(sweeper *s, cra_error *err)
{
    const cra_run_doc *run = cra_run_guard_doc(s->guard);
    cra_hot_scope hot;
    int64_t left = 0;
    char text[160];

    cra_status status = cra_hot_scope_init(s->engine, run, &hot, err);
    if (status == CRA_OK)
        status = cra_docstore_count(cra_engine_docstore(s->engine), &hot.scope, &left, err);
    if (status != CRA_OK)
        return status;
    if (left > 0) {
        status = drop_verdict(s, err);
        if (status != CRA_OK)
            return status;
        snprintf(text, sizeof text, "%lld records arrived after verification began: archive the run again",
                 (long long)left);
        return keep(s, CRA_REASON_LATE, text);
    }
    status = enter_state(s, enter_archived, err);
    return status == CRA_OK ? drop_verdict(s, err) : status;
}

/* ---- the procedure --------------------------------------------------------------------------- */

static cra_status sweep_guarded(sweeper *s, cra_error *err)
{
    cra_status status = recheck(s, err);
    if (status == CRA_OK)
        status = cra_archive_set_load(s->engine, cra_run_guard_doc(s->guard), &s->set, err);
    if (status == CRA_OK)
        status = check_empty(s, err);
    if (status != CRA_OK)
        return status;
    if (s->no_archive_needed)
        return enter_state(s, enter_archived, err);

    const bool was_sweeping = cra_run_guard_doc(s->guard)->state == CRA_RUN_SWEEPING;
    status = was_sweeping ? resume_verdict(s, err) : CRA_NOT_FOUND;
    if (status == CRA_NOT_FOUND) {
        cra_error_clear(err);
        status = prove(s, was_sweeping, err);
        if (status == CRA_OK && s->set.origin == CRA_ARCHIVE_FOREIGN) {
            cra_time_ms now;
            status = cra_catalog_now(cra_engine_catalog(s->engine), &now, err);
            if (status == CRA_OK)
                status = cra_archive_set_adopt(&s->set, s->guard, now, err);
        }
        if (status == CRA_OK) {
            memcpy(s->verdict.manifest_digest, s->set.manifest_digest, sizeof s->verdict.manifest_digest);
            status = store_verdict(s, err);
        }
        if (status == CRA_OK)
            status = enter_state(s, enter_sweeping, err);
    }
    if (status == CRA_OK)
        status = cra_sweep_delete(s->engine, s->guard, s->pace, &s->verdict, err);
    s->item->counts[CRA_COUNT_RECORDS_REMOVED] = s->verdict.removed;
    if (status == CRA_DONE)
        return keep(s, CRA_REASON_CANCELLED, "stopped at the end of a batch; the next sweep goes on");
    if (status == CRA_CONFLICT)
        return keep(s, CRA_REASON_HELD, "a hold was set while it was swept: restore completes it again");
    return status == CRA_OK ? finish(s, err) : status;
}

bool cra_sweep_must_stop(cra_engine *engine, cra_sweep_pace *pace)
{
    if (pace->stopped_by != NULL)
        return true;
    if (cra_cancel_requested(cra_engine_context(engine)))
        pace->stopped_by = "signal";
    else if (pace->options->stop_file != NULL && access(pace->options->stop_file, F_OK) == 0)
        pace->stopped_by = "stop_file";
    else if (pace->deadline_ms > 0 && cra_context_monotonic_ms(cra_engine_context(engine)) >= pace->deadline_ms)
        pace->stopped_by = "time_budget";
    return pace->stopped_by != NULL;
}

/* Put a failed step's reason where people look for it. */
static void note_failure(sweeper *s, cra_status status, const cra_error *cause)
{
    if (status != CRA_DONE) {
        s->item->error = *cause;
        keep(s, status == CRA_LOCKED ? CRA_REASON_LOCKED
                : status == CRA_CANCELLED ? CRA_REASON_CANCELLED : CRA_REASON_STORE_ERROR, cause->message);
    }
    if (s->guard != NULL && s->item->reason != CRA_REASON_NOT_DUE && s->item->reason != CRA_REASON_HELD &&
        s->item->reason != CRA_REASON_LOCKED && s->item->reason != CRA_REASON_CANCELLED)
        cra_run_note_failure(s->engine, s->guard, s->item->reason);
}

cra_status cra_sweep_run(cra_engine *engine, const char *report, const char *run, cra_sweep_pace *pace, cra_item *item,
                         cra_sweep_texts *texts, cra_error *err)
{
    sweeper s = {.engine = engine, .pace = pace, .item = item, .texts = texts};
    cra_error cause;

    cra_error_clear(&cause);
    memset(texts, 0, sizeof *texts);
    const int64_t started = cra_context_monotonic_ms(cra_engine_context(engine));
    cra_status status = cra_run_guard_acquire(engine, report, run, "sweep", 0, &s.guard, &cause);
    if (status == CRA_OK)
        status = sweep_guarded(&s, &cause);
    if (status == CRA_OK)
        cra_engine_emit(engine, "run.archived", cra_run_guard_doc(s.guard), (cra_bytes){NULL, 0});
    else
        note_failure(&s, status, &cause);
    if (s.set.location != NULL && !s.no_archive_needed)
        snprintf(texts->location, sizeof texts->location, "%s", s.set.location);
    item->location = texts->location[0] != '\0' ? texts->location : NULL;
    item->detail = texts->detail[0] != '\0' ? texts->detail : NULL;
    item->counts[CRA_COUNT_ELAPSED_MS] = cra_context_monotonic_ms(cra_engine_context(engine)) - started;
    cra_run_guard_release(s.guard);
    cra_archive_set_cleanup(&s.set);
    if (status == CRA_NOMEM && err != NULL)
        *err = cause;
    return status == CRA_NOMEM ? CRA_NOMEM : CRA_OK;
}
