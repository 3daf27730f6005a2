/* SPDX-License-Identifier: Apache-2.0 */

/* The restore of one run, from lease to release. */

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "core/result.h"
#include "ops/archive_commit.h"
#include "ops/restore_job.h"

#define ORIGIN "restore"
/* A pass that inserts what is missing is repeated while it finds something to insert, up to this often. */
#define PASSES 5

void cra_restore_note(cra_restore_job *job, cra_reason reason, cra_status status, const char *detail)
{
    if (job->error.status != CRA_OK)
        return;
    if (job->reason == CRA_REASON_NONE)
        job->reason = reason;
    cra_error_set(&job->error, status, ORIGIN, "%s", detail);
    snprintf(job->detail, sizeof(job->detail), "%s", detail);
}

void cra_restore_job_cleanup(cra_restore_job *job)
{
    cra_marks_free(job->occurrences);
    cra_marks_free(job->losers);
    cra_free(job->allocator, job->parts);
    cra_archive_set_cleanup(&job->set);
    cra_run_guard_release(job->guard);
    job->occurrences = job->losers = NULL;
    job->parts = NULL;
    job->guard = NULL;
}

static const cra_policy *policy_of(const cra_restore_job *job)
{
    return cra_config_policy(cra_engine_config(job->engine));
}

/* Fail with a message of our own and its reason. */
static cra_status CRA_PRINTF(5, 6)
    fail(cra_restore_job *job, cra_reason reason, cra_status status, cra_error *err, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    job->reason = reason;
    return cra_error_set(err, status, ORIGIN, "%s", text);
}

/* ---- what is to be done ------------------------------------------------------------------------ */

static cra_status choose_mode(cra_restore_job *job, cra_error *err)
{
    const cra_run_doc *run = cra_run_guard_doc(job->guard);

    if (job->options.into != NULL) {
        job->mode = CRA_RESTORE_INTO;
        if (run->collection != NULL && strcmp(run->collection, job->options.into) == 0)
            return fail(job, CRA_REASON_INVALID, CRA_INVALID, err,
                        "'%s' is the run's own collection: restore it without naming one", run->collection);
        return CRA_OK;
    }
    job->mode = run->state == CRA_RUN_HOT || run->state == CRA_RUN_RESTORED ? CRA_RESTORE_COMPARE : CRA_RESTORE_INSERT;
    return CRA_OK;
}

/* A run that ended empty was swept without an archive. */
static bool needs_no_archive(const cra_restore_job *job, const cra_run_doc *run)
{
    const char *outcome = run->outcome == NULL ? NULL : cra_policy_outcome(policy_of(job), run->outcome);

    return job->mode == CRA_RESTORE_INSERT && run->location == NULL &&
           ((outcome != NULL && strcmp(outcome, "empty") == 0) || run->records == 0);
}

static cra_status judge_archive(cra_restore_job *job, cra_error *err)
{
    const char *detail = job->set.detail[0] != '\0' ? job->set.detail : "there is no archive of it";

    switch (job->set.reason) {
    case CRA_REASON_NONE:
    case CRA_REASON_STALE_MANIFEST: /* exactly the manifest's parts are read */
    case CRA_REASON_IN_PROGRESS:    /* what is committed is read */
        break;
    case CRA_REASON_NO_ARCHIVE:
        if (needs_no_archive(job, cra_run_guard_doc(job->guard)))
            return CRA_OK;
        return fail(job, CRA_REASON_NO_ARCHIVE, CRA_NOT_FOUND, err, "%s", detail);
    case CRA_REASON_INCOMPLETE:
    case CRA_REASON_UNREADABLE:
        if (job->options.salvage && job->set.manifest.parts_count > 0) {
            cra_restore_note(job, CRA_REASON_CORRUPT, CRA_CORRUPT, detail);
            return CRA_OK;
        }
        return fail(job, CRA_REASON_CORRUPT, CRA_CORRUPT, err, "%s", detail);
    default:
        return fail(job, CRA_REASON_CORRUPT, CRA_CORRUPT, err, "%s", detail);
    }
    if (job->set.origin == CRA_ARCHIVE_NONE && !needs_no_archive(job, cra_run_guard_doc(job->guard)))
        return fail(job, CRA_REASON_NO_ARCHIVE, CRA_NOT_FOUND, err, "%s", detail);
    return CRA_OK;
}

static cra_status load_archive(cra_restore_job *job, cra_error *err)
{
    cra_run_guard_progress(job->guard, "archive", 0, -1, 0, NULL);
    CRA_TRY(cra_archive_set_load(job->engine, cra_run_guard_doc(job->guard), &job->set, err));
    CRA_TRY(judge_archive(job, err));
    job->parts = cra_calloc(job->allocator, job->set.manifest.parts_count + 1, sizeof(*job->parts));
    if (job->parts == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a restore");
    return CRA_OK;
}

/* The scope of the target. job->set.run lives as long as the job, the guard's document does not. */
static cra_status find_scope(cra_restore_job *job, cra_error *err)
{
    CRA_TRY(cra_hot_scope_init(job->engine, &job->set.run, &job->scope, err));
    if (job->options.into != NULL)
        job->scope.scope.collection = job->options.into;
    return CRA_OK;
}

static cra_status count_hot(cra_restore_job *job, int64_t *out, cra_error *err)
{
    return cra_docstore_count(cra_engine_docstore(job->engine), &job->scope.scope, out, err);
}

/* Derived `_id`s beside records of the same run under other ids would double the run. What is there must be what the
 * archive would bring. */
static cra_status check_derived(cra_restore_job *job, cra_error *err)
{
    cra_hot_counts found = {0};
    int64_t hot;

    if (!job->derived_ids)
        return CRA_OK;
    CRA_TRY(count_hot(job, &hot, err));
    if (hot == 0)
        return CRA_OK;
    CRA_TRY(cra_restore_records(job, CRA_RESTORE_PASS_COMPARE, &found, err));
    if (found.identical + found.conflict >= hot)
        return CRA_OK;
    return fail(job, CRA_REASON_CONFLICT, CRA_CONFLICT, err,
                "the archive has no _id, and the hot store holds %lld records of the run under ids of its own",
                (long long)hot);
}

/* ---- state ------------------------------------------------------------------------------------- */

static cra_status set_restored_date(cra_restore_job *job, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    cra_decision decision = {.struct_size = sizeof(decision)};

    run->restored_at = now;
    if (cra_policy_decide(policy_of(job), run, now, true, &decision) != CRA_OK)
        return cra_error_set(err, CRA_INTERNAL, ORIGIN, "the restored window cannot be computed");
    run->archive_at = decision.archive_at;
    if (cra_run_doc_set_text(&run->rule, decision.rule, job->allocator) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a run");
    return CRA_OK;
}

/* From its first insert the run is `restoring`, due one window after this attempt: an abandoned restore is swept. */
static cra_status enter_restoring(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    cra_restore_job *job = user;

    if (run->state == CRA_RUN_HOT || run->state == CRA_RUN_RESTORED)
        return fail(job, CRA_REASON_CONFLICT, CRA_CONFLICT, err, "the run became %s meanwhile",
                    cra_run_state_name((cra_run_state)run->state));
    if (run->state != CRA_RUN_RESTORING) {
        run->restores = run->restores < 0 ? 1 : run->restores + 1;
        run->explicit_at = CRA_TIME_NONE;
        run->state = CRA_RUN_RESTORING;
        run->state_since = now;
    }
    return set_restored_date(job, run, now, err);
}

static cra_status enter_restored(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    cra_restore_job *job = user;
    const char *reason = cra_reason_name(job->reason);

    run->state = CRA_RUN_RESTORED;
    run->state_since = now;
    if (run->records < 0)
        run->records = job->distinct;
    if (cra_run_doc_set_text(&run->last_reason, reason, job->allocator) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a run");
    run->last_reason_at = reason == NULL ? CRA_TIME_NONE : now;
    return set_restored_date(job, run, now, err);
}

/* ---- after the records ------------------------------------------------------------------------- */

/* What the counts come to. A conflict leaves the hot record; anything else means that a record is not there. */
static void judge_counts(cra_restore_job *job)
{
    const cra_hot_counts *total = &job->total;
    char text[600];

    if (job->dead_letters > 0 && job->reason == CRA_REASON_NONE) {
        snprintf(text, sizeof(text), "%lld records cannot be decoded: %.400s", (long long)job->dead_letters,
                 job->detail);
        cra_restore_note(job, CRA_REASON_CORRUPT, CRA_CORRUPT, text);
    }
    if (total->failed > 0 && job->reason == CRA_REASON_NONE) {
        snprintf(text, sizeof(text), "%lld records could not be written: %.400s", (long long)total->failed,
                 job->detail);
        cra_restore_note(job, CRA_REASON_RECORDS, CRA_PARTIAL, text);
    }
    if (total->read == 0 && job->set.manifest.records > 0 && job->reason == CRA_REASON_NONE)
        cra_restore_note(job, CRA_REASON_CORRUPT, CRA_CORRUPT, "no record was read from an archive that has some");
}

static void judge_conflicts(cra_restore_job *job)
{
    char text[600];

    if (job->total.conflict == 0 || job->reason != CRA_REASON_NONE)
        return;
    snprintf(text, sizeof(text), "%lld records differ from those in the hot store, which were kept: %.400s",
             (long long)job->total.conflict, job->detail);
    cra_restore_note(job, CRA_REASON_CONFLICT, CRA_CONFLICT, text);
}

/* Count what is there now; while it is not what the archive holds, insert what is missing. A pass that finds nothing
 * to insert has seen every archived record in its place. After a sweep the number alone proves nothing: a late record
 * may stand in for a missing one. */
static cra_status recount(cra_restore_job *job, cra_error *err)
{
    const bool swept = job->set.run.state == CRA_RUN_SWEEPING;
    int64_t hot = 0;

    for (int i = 0; i < PASSES; i++) {
        cra_hot_counts again = {0};
        cra_run_guard_progress(job->guard, "recount", job->total.read, job->set.manifest.records, job->total.bytes,
                               NULL);
        CRA_TRY(cra_run_guard_check(job->guard, err));
        CRA_TRY(count_hot(job, &hot, err));
        if (hot == job->distinct && (i > 0 || !swept))
            return CRA_OK;
        CRA_TRY(cra_restore_records(job, CRA_RESTORE_PASS_AGAIN, &again, err));
        if (again.failed > 0) {
            job->total.read += again.failed;
            job->total.failed += again.failed;
            return CRA_OK;
        }
        job->total.read += again.fresh;
        job->total.fresh += again.fresh;
        if (again.fresh == 0 && hot >= job->distinct)
            return CRA_OK;
    }
    return fail(job, CRA_REASON_CORRUPT, CRA_CORRUPT, err, "the hot store holds %lld records, the archive %lld",
                (long long)hot, (long long)job->distinct);
}

static cra_status finish(cra_restore_job *job, cra_error *err)
{
    judge_counts(job);
    if (job->reason == CRA_REASON_NONE)
        CRA_TRY(recount(job, err));
    judge_counts(job);
    judge_conflicts(job);
    /* Records that failed are tried again by the next restore; damaged parts are not read again. */
    if (job->reason != CRA_REASON_CORRUPT || job->dead_letters > 0)
        CRA_TRY(cra_restore_checkpoint_remove(job, err));
    if (job->mode != CRA_RESTORE_INSERT || (job->reason != CRA_REASON_NONE && job->reason != CRA_REASON_CONFLICT))
        return CRA_OK;
    CRA_TRY(cra_run_guard_update(job->guard, enter_restored, job, err));
    cra_engine_emit(job->engine, "run.restored", cra_run_guard_doc(job->guard), cra_bytes_of(NULL, 0));
    return CRA_OK;
}

/* ---- the three ways ---------------------------------------------------------------------------- */

static cra_status insert_run(cra_restore_job *job, cra_error *err)
{
    CRA_TRY(cra_restore_prepare_target(job, err));
    CRA_TRY(cra_restore_thaw(job, err));
    CRA_TRY(cra_restore_resolve_versions(job, err));
    CRA_TRY(check_derived(job, err));
    if (job->mode == CRA_RESTORE_INSERT)
        CRA_TRY(cra_run_guard_update(job->guard, enter_restoring, job, err));
    CRA_TRY(cra_restore_checkpoint_load(job, err));
    CRA_TRY(cra_restore_records(job, CRA_RESTORE_PASS_MAIN, NULL, err));
    return finish(job, err);
}

static cra_status compare_run(cra_restore_job *job, cra_error *err)
{
    char text[300];

    CRA_TRY(cra_restore_thaw(job, err));
    CRA_TRY(cra_restore_resolve_versions(job, err));
    CRA_TRY(cra_restore_records(job, CRA_RESTORE_PASS_COMPARE, &job->total, err));
    judge_counts(job);
    judge_conflicts(job);
    if (job->total.unsent == 0 || job->reason != CRA_REASON_NONE)
        return CRA_OK;
    snprintf(text, sizeof(text), "%lld archived records are not in the hot store: a run that is %s is only compared",
             (long long)job->total.unsent, cra_run_state_name((cra_run_state)job->set.run.state));
    cra_restore_note(job, CRA_REASON_CONFLICT, CRA_CONFLICT, text);
    return CRA_OK;
}

static cra_status restore_guarded(cra_restore_job *job, cra_error *err)
{
    CRA_TRY(choose_mode(job, err));
    CRA_TRY(load_archive(job, err));
    CRA_TRY(find_scope(job, err));
    return job->mode == CRA_RESTORE_COMPARE ? compare_run(job, err) : insert_run(job, err);
}

/* ---- the item ---------------------------------------------------------------------------------- */

static cra_reason reason_of(cra_status status)
{
    switch (status) {
    case CRA_NOT_FOUND:
        return CRA_REASON_NOT_FOUND;
    case CRA_CORRUPT:
        return CRA_REASON_CORRUPT;
    default:
        return cra_reason_from_status(status);
    }
}

static void fill_counts(const cra_restore_job *job, cra_item *item)
{
    item->counts[CRA_COUNT_RECORDS] = job->total.fresh + job->total.identical;
    item->counts[CRA_COUNT_BYTES] = job->total.bytes;
    item->counts[CRA_COUNT_PARTS] = (int64_t)job->set.manifest.parts_count;
    item->counts[CRA_COUNT_RECORDS_READ] = job->total.read;
    item->counts[CRA_COUNT_RECORDS_NEW] = job->total.fresh;
    item->counts[CRA_COUNT_RECORDS_IDENTICAL] = job->total.identical;
    item->counts[CRA_COUNT_RECORDS_CONFLICT] = job->total.conflict;
    item->counts[CRA_COUNT_RECORDS_FAILED] = job->total.failed;
    item->counts[CRA_COUNT_RECORDS_UNSENT] = job->total.unsent;
    item->counts[CRA_COUNT_DUPLICATES] = job->superseded;
}

static void fill_item(cra_restore_job *job, cra_status status, const cra_error *why, cra_item *item)
{
    fill_counts(job, item);
    item->location = job->set.location;
    if (status != CRA_OK) {
        item->status = status == CRA_LOCKED ? CRA_ITEM_LOCKED : CRA_ITEM_FAILED;
        item->reason = job->reason != CRA_REASON_NONE ? job->reason : reason_of(status);
        item->error = *why;
        item->detail = item->error.message;
    } else if (job->reason != CRA_REASON_NONE) {
        item->status = CRA_ITEM_FAILED;
        item->reason = job->reason;
        item->error = job->error;
        item->detail = job->detail;
    }
}

/* A failed step leaves the state and its reason; a conflict was kept with the state already. */
static void keep_reason(cra_restore_job *job, cra_status status, const cra_item *item)
{
    if (job->guard == NULL || job->mode != CRA_RESTORE_INSERT || item->status == CRA_ITEM_OK)
        return;
    if (status != CRA_OK || item->reason != CRA_REASON_CONFLICT)
        cra_run_note_failure(job->engine, job->guard, item->reason);
}

cra_status cra_restore_run(cra_restore_job *job, const char *report, const char *run, cra_item *item, cra_error *err)
{
    const cra_context *context = cra_engine_context(job->engine);
    const int64_t started_ms = cra_context_monotonic_ms(context);
    cra_error why = {0};
    cra_status status =
        cra_run_guard_acquire(job->engine, report, run, "restore", job->options.heartbeat_ms, &job->guard, &why);

    if (status == CRA_OK)
        status = restore_guarded(job, &why);
    fill_item(job, status, &why, item);
    keep_reason(job, status, item);
    cra_run_guard_release(job->guard);
    job->guard = NULL;
    item->counts[CRA_COUNT_ELAPSED_MS] = cra_context_monotonic_ms(context) - started_ms;
    if (status != CRA_NOMEM && status != CRA_CANCELLED)
        return CRA_OK;
    if (err != NULL)
        *err = why;
    return status;
}
