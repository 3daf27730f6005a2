/* SPDX-License-Identifier: Apache-2.0 */

/* The parts of an archive to the hot store: each part is one job of a pool, with its own reader and writer. What is
 * counted is the record within its part, so a restore goes on in the middle of a block. */

#include <stdio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "exec/pool.h"
#include "ops/restore_job.h"
#include "os/thread.h"

#define ORIGIN "restore"
/* A checkpoint after this many batches' worth of records or bytes. */
#define CHECKPOINT_BATCHES 8
/* With many parts a checkpoint is large: it is not written more often than this. */
#define MANY_PARTS 256
#define MANY_PARTS_PAUSE_MS 2000
/* What a reader holds beside its batch: a range, a block as stored and as decoded. */
#define READER_BYTES (8 * 1024 * 1024)

struct pass {
    cra_restore_job *job;
    cra_restore_pass kind;
    cra_mutex mutex;        /* guards job->parts, job's failure, and what follows */
    cra_hot_counts tail;    /* of records that no checkpoint covers */
    int64_t records, bytes; /* done, for the heartbeat */
    int64_t saved_ms;
    bool unsaved;
};

/* One part under way. */
struct part_work {
    struct pass *pass;
    cra_restore_job *job;
    size_t index;
    cra_archive_part *part;
    cra_hot_writer *writer;
    cra_mark_cursor occurrences, losers;
    cra_buf prepared;
    int64_t first;  /* records that an earlier attempt brought */
    int64_t number; /* of the next record */
    int64_t offset;
    int64_t told_records, told_bytes; /* of the writer's counts, told to the heartbeat */
    int64_t committed_ms;
    cra_hot_counts before;    /* of earlier attempts */
    cra_hot_counts committed; /* of the writer, at the last checkpoint */
};

void cra_hot_counts_add(cra_hot_counts *sum, const cra_hot_counts *more)
{
    sum->read += more->read;
    sum->fresh += more->fresh;
    sum->identical += more->identical;
    sum->conflict += more->conflict;
    sum->failed += more->failed;
    sum->unsent += more->unsent;
    sum->bytes += more->bytes;
}

static void subtract(cra_hot_counts *from, const cra_hot_counts *less)
{
    from->read -= less->read;
    from->fresh -= less->fresh;
    from->identical -= less->identical;
    from->conflict -= less->conflict;
    from->failed -= less->failed;
    from->unsent -= less->unsent;
    from->bytes -= less->bytes;
}

static const char *part_name(const struct part_work *work)
{
    return work->job->set.manifest.parts[work->index].name;
}

static void note(struct pass *pass, cra_reason reason, cra_status status, const char *detail)
{
    cra_mutex_lock(&pass->mutex);
    cra_restore_note(pass->job, reason, status, detail);
    cra_mutex_unlock(&pass->mutex);
}

/* ---- checkpoints ------------------------------------------------------------------------------- */

/* Under the mutex. */
static bool checkpoint_is_due(const struct pass *pass)
{
    const int64_t elapsed = cra_context_monotonic_ms(cra_engine_context(pass->job->engine)) - pass->saved_ms;

    return pass->job->set.manifest.parts_count < MANY_PARTS || elapsed >= MANY_PARTS_PAUSE_MS;
}

static cra_status save(struct pass *pass, cra_error *err)
{
    CRA_TRY(cra_restore_checkpoint_save(pass->job, err));
    pass->saved_ms = cra_context_monotonic_ms(cra_engine_context(pass->job->engine));
    pass->unsaved = false;
    return CRA_OK;
}

/* Everything before `number` is durable: keep that with the job, and store it where that is due. */
static cra_status publish(struct part_work *work, bool done, cra_error *err)
{
    struct pass *pass = work->pass;
    cra_restore_part *part = &work->job->parts[work->index];
    cra_status status = CRA_OK;

    work->committed = *cra_hot_writer_counts(work->writer);
    work->committed_ms = cra_context_monotonic_ms(cra_engine_context(work->job->engine));
    if (pass->kind != CRA_RESTORE_PASS_MAIN)
        return CRA_OK;
    cra_mutex_lock(&pass->mutex);
    part->records = work->number;
    part->offset = work->offset;
    part->done = done;
    part->counts = work->before;
    cra_hot_counts_add(&part->counts, &work->committed);
    pass->unsaved = true;
    if (checkpoint_is_due(pass))
        status = save(pass, err);
    cra_mutex_unlock(&pass->mutex);
    return status;
}

static bool commit_is_due(const struct part_work *work)
{
    const cra_restore_options *options = &work->job->options;
    const cra_hot_counts *counts = cra_hot_writer_counts(work->writer);
    const int64_t elapsed = cra_context_monotonic_ms(cra_engine_context(work->job->engine)) - work->committed_ms;

    return counts->read - work->committed.read >= options->batch_docs * CHECKPOINT_BATCHES ||
           counts->bytes - work->committed.bytes >= options->batch_bytes * CHECKPOINT_BATCHES ||
           elapsed >= options->heartbeat_ms;
}

/* A batch cut short once in a while costs little; a restart that repeats little is worth it. */
static cra_status maybe_commit(struct part_work *work, cra_error *err)
{
    if (work->pass->kind != CRA_RESTORE_PASS_MAIN || !commit_is_due(work))
        return CRA_OK;
    CRA_TRY(cra_hot_writer_flush(work->writer, err));
    return publish(work, false, err);
}

static void tell_progress(struct part_work *work)
{
    struct pass *pass = work->pass;
    const cra_hot_counts *counts = cra_hot_writer_counts(work->writer);
    char text[160];
    int64_t records, bytes;

    snprintf(text, sizeof(text), "%.100s, record %lld", part_name(work), (long long)work->number);
    cra_mutex_lock(&pass->mutex);
    records = pass->records += counts->read - work->told_records;
    bytes = pass->bytes += counts->bytes - work->told_bytes;
    cra_mutex_unlock(&pass->mutex);
    work->told_records = counts->read;
    work->told_bytes = counts->bytes;
    cra_run_guard_progress(work->job->guard, pass->kind == CRA_RESTORE_PASS_MAIN ? "insert" : "compare", records,
                           work->job->set.manifest.records, bytes, text);
}

/* ---- records ----------------------------------------------------------------------------------- */

static cra_status admit(void *user, int64_t *deadline_ms, cra_error *err)
{
    struct part_work *work = user;

    CRA_TRY(cra_run_guard_check(work->job->guard, err));
    *deadline_ms = cra_run_guard_deadline(work->job->guard);
    return CRA_OK;
}

static cra_status choose_id(struct part_work *work, cra_bytes document, uint64_t tag, uint8_t *bytes, cra_value *id,
                            cra_error *err)
{
    const cra_run_doc *run = &work->job->set.run;
    int64_t occurrence = 0;
    bool again;

    if (cra_bson_find(document, "_id", 3, id) == CRA_OK)
        return CRA_OK;
    CRA_TRY(cra_mark_cursor_find(&work->occurrences, tag, &again, &occurrence, err));
    cra_record_derive_id(run->report, run->run, document, again ? occurrence : 0, bytes, id);
    return CRA_OK;
}

static cra_status write_record(struct part_work *work, cra_bytes document, cra_error *err)
{
    const uint64_t tag = cra_mark_tag(work->index, work->number);
    const cra_scope *scope = &work->job->scope.scope;
    uint8_t derived[CRA_DERIVED_ID_SIZE];
    cra_value id = {0, NULL, 0};
    cra_error why = {0};
    int64_t ignored;
    bool loses;
    cra_status status;

    CRA_TRY(cra_mark_cursor_find(&work->losers, tag, &loses, &ignored, err));
    if (loses)
        return CRA_OK;
    CRA_TRY(choose_id(work, document, tag, derived, &id, err));
    cra_buf_clear(&work->prepared);
    status = cra_record_prepare(document, scope->run_field, scope->run_value, id, &work->prepared, &why);
    if (status == CRA_OK)
        return cra_hot_writer_add(work->writer, cra_buf_bytes(&work->prepared), err);
    if (status == CRA_NOMEM) {
        if (err != NULL)
            *err = why;
        return status;
    }
    cra_hot_writer_refuse(work->writer, id, document.size, why.message);
    return CRA_OK;
}

static void refuse_dead(struct part_work *work, const cra_dead_letter *dead)
{
    const cra_value none = {0, NULL, 0};
    char why[300];

    snprintf(why, sizeof(why), "%.100s, block at %lld, record %lld: %.120s", part_name(work),
             (long long)dead->block_offset, (long long)dead->record, dead->reason);
    cra_hot_writer_refuse(work->writer, none, (size_t)dead->byte_size, why);
    cra_mutex_lock(&work->pass->mutex);
    work->job->dead_letters++;
    cra_mutex_unlock(&work->pass->mutex);
}

/* Documents in their order, then dead letters: the numbering of restore_versions.c. */
static cra_status write_block(struct part_work *work, cra_doc_batch *batch, cra_error *err)
{
    cra_bytes document;

    while (cra_bson_next_document(&batch->documents, &document) == CRA_OK) {
        if (work->number >= work->first)
            CRA_TRY(write_record(work, document, err));
        work->number++;
        CRA_TRY(maybe_commit(work, err));
    }
    for (size_t i = 0; i < batch->dead_count; i++) {
        if (work->number >= work->first)
            refuse_dead(work, &batch->dead[i]);
        work->number++;
    }
    tell_progress(work);
    return cra_run_guard_check(work->job->guard, err);
}

/* ---- parts ------------------------------------------------------------------------------------- */

/* Damage is one part's: the others are restored all the same, and the run is reported failed. */
static bool is_damage(cra_status status)
{
    return status == CRA_CORRUPT || status == CRA_CONFLICT || status == CRA_UNSUPPORTED || status == CRA_NOT_FOUND;
}

static void note_damage(struct part_work *work, const char *what)
{
    char detail[400];

    snprintf(detail, sizeof(detail), "%.120s: %.260s", part_name(work), what);
    note(work->pass, CRA_REASON_CORRUPT, CRA_CORRUPT, detail);
}

/* The part was read to its end: is it what the manifest says? */
static bool check_part(struct part_work *work)
{
    const cra_manifest_part *expected = &work->job->set.manifest.parts[work->index];
    const char *sha256 = cra_archive_part_sha256(work->part);

    if (work->job->options.salvage && sha256[0] == '\0') {
        note_damage(work, "damaged ranges were left out");
        return false;
    }
    if (expected->sha256[0] != '\0' && sha256[0] != '\0' && strcmp(expected->sha256, sha256) != 0) {
        note_damage(work, "its digest is not the manifest's");
        return false;
    }
    if (expected->records >= 0 && !work->job->set.filter_by_run && work->number != expected->records) {
        char what[120];
        snprintf(what, sizeof(what), "it holds %lld records, the manifest says %lld", (long long)work->number,
                 (long long)expected->records);
        note_damage(work, what);
        return false;
    }
    return true;
}

/* CRA_OK where the store is well, whatever the part is; `*whole` tells about the part. */
static cra_status read_part(struct part_work *work, bool *whole, cra_error *err)
{
    cra_error why = {0};
    cra_doc_batch batch;
    cra_status status;

    *whole = false;
    status = cra_archive_part_open(&work->job->set, work->index, work->job->options.salvage, &work->part, &why);
    if (status == CRA_DONE) {
        *whole = true;
        return CRA_OK;
    }
    while (status == CRA_OK) {
        status = cra_archive_part_next(work->part, &batch, &work->offset, &why);
        if (status == CRA_OK)
            CRA_TRY(write_block(work, &batch, err));
    }
    if (status == CRA_DONE) {
        *whole = check_part(work);
        return CRA_OK;
    }
    if (is_damage(status)) {
        note_damage(work, why.message);
        return CRA_OK;
    }
    if (err != NULL)
        *err = why;
    return status;
}

/* What the writer refused, in words; kept for the item. */
static void note_records(struct part_work *work)
{
    const cra_hot_counts *counts = cra_hot_writer_counts(work->writer);
    const char *detail = cra_hot_writer_detail(work->writer);

    if (detail == NULL || counts->conflict + counts->failed == 0)
        return;
    cra_mutex_lock(&work->pass->mutex);
    if (work->job->detail[0] == '\0')
        snprintf(work->job->detail, sizeof(work->job->detail), "%s", detail);
    cra_mutex_unlock(&work->pass->mutex);
}

/* Counts that no checkpoint holds: of an interrupted part, or of a pass without checkpoints. */
static void add_tail(struct part_work *work)
{
    cra_hot_counts tail = *cra_hot_writer_counts(work->writer);

    if (work->pass->kind == CRA_RESTORE_PASS_MAIN)
        subtract(&tail, &work->committed);
    cra_mutex_lock(&work->pass->mutex);
    cra_hot_counts_add(&work->pass->tail, &tail);
    cra_mutex_unlock(&work->pass->mutex);
}

static cra_status work_part(struct part_work *work, cra_error *err)
{
    bool whole;
    cra_status status = read_part(work, &whole, err);

    if (status == CRA_OK)
        status = cra_hot_writer_flush(work->writer, err);
    if (status == CRA_OK)
        status = publish(work, whole, err);
    cra_hot_writer_abandon(work->writer);
    note_records(work);
    add_tail(work);
    return status;
}

static cra_status restore_part(struct pass *pass, size_t index, cra_error *err)
{
    cra_restore_job *job = pass->job;
    struct part_work work = {.pass = pass, .job = job, .index = index};
    cra_status status;

    if (pass->kind == CRA_RESTORE_PASS_MAIN) {
        work.first = job->parts[index].records;
        work.before = job->parts[index].counts;
        if (job->parts[index].done)
            return CRA_OK;
    }
    work.committed_ms = cra_context_monotonic_ms(cra_engine_context(job->engine));
    cra_buf_init(&work.prepared, job->allocator);
    cra_mark_cursor_init(&work.occurrences, job->occurrences, job->allocator);
    cra_mark_cursor_init(&work.losers, job->losers, job->allocator);
    status =
        cra_hot_writer_new(job->engine, job->scope.scope.collection, job->options.batch_docs, job->options.batch_bytes,
                           pass->kind == CRA_RESTORE_PASS_COMPARE, admit, &work, &work.writer, err);
    if (status == CRA_OK)
        status = work_part(&work, err);
    cra_hot_writer_free(work.writer);
    cra_archive_part_free(work.part);
    cra_mark_cursor_cleanup(&work.occurrences);
    cra_mark_cursor_cleanup(&work.losers);
    cra_buf_cleanup(&work.prepared);
    return status;
}

/* ---- passes ------------------------------------------------------------------------------------ */

struct task {
    struct pass *pass;
    size_t index;
};

/* Memory of all runs together is bounded: a part is begun with a ticket for what it may hold. */
static cra_status run_task(void *user, size_t worker, void *item, cra_error *err)
{
    struct task *task = item;
    cra_restore_job *job = task->pass->job;
    const int64_t ticket = 3 * job->options.batch_bytes + READER_BYTES;
    cra_status status;

    (void)user;
    (void)worker;
    CRA_TRY(cra_budget_acquire(job->budget, ticket, err));
    status = cra_run_guard_check(job->guard, err);
    if (status == CRA_OK)
        status = restore_part(task->pass, task->index, err);
    cra_budget_release(job->budget, ticket);
    return status;
}

static cra_status run_on_pool(struct pass *pass, struct task *tasks, size_t count, cra_error *err)
{
    cra_restore_job *job = pass->job;
    const size_t workers = (size_t)job->options.workers < count ? (size_t)job->options.workers : count;
    const cra_pool_options options = {workers, workers * 2, false, run_task, NULL, pass};
    cra_pool *pool;
    cra_status status = CRA_OK;
    cra_status waited;

    CRA_TRY(cra_pool_new(&options, job->allocator, &pool, err));
    for (size_t i = 0; i < count && status == CRA_OK; i++)
        status = cra_pool_submit(pool, &tasks[i], NULL);
    waited = cra_pool_wait(pool, err);
    cra_pool_free(pool);
    return waited;
}

static cra_status run_parts(struct pass *pass, cra_error *err)
{
    cra_restore_job *job = pass->job;
    const size_t count = job->set.manifest.parts_count;
    struct task *tasks;
    cra_status status = CRA_OK;

    if (count == 0)
        return CRA_OK;
    tasks = cra_calloc(job->allocator, count, sizeof(*tasks));
    if (tasks == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for %zu parts", count);
    for (size_t i = 0; i < count; i++)
        tasks[i] = (struct task){pass, i};
    if (count == 1 || job->options.workers == 1) {
        for (size_t i = 0; i < count && status == CRA_OK; i++)
            status = run_task(pass, 0, &tasks[i], err);
    } else {
        status = run_on_pool(pass, tasks, count, err);
    }
    cra_free(job->allocator, tasks);
    return status;
}

/* Whatever stopped the pass, what is durable is remembered, unless the lease is no longer ours. */
static void save_what_is_left(struct pass *pass)
{
    if (pass->kind == CRA_RESTORE_PASS_MAIN && pass->unsaved)
        (void)cra_restore_checkpoint_save(pass->job, NULL);
}

static void count_main(struct pass *pass)
{
    cra_restore_job *job = pass->job;

    job->total = pass->tail;
    for (size_t i = 0; i < job->set.manifest.parts_count; i++)
        cra_hot_counts_add(&job->total, &job->parts[i].counts);
}

cra_status cra_restore_records(cra_restore_job *job, cra_restore_pass kind, cra_hot_counts *counts, cra_error *err)
{
    struct pass pass = {.job = job, .kind = kind};
    cra_status status;

    CRA_TRY(cra_mutex_init(&pass.mutex, err));
    for (size_t i = 0; kind == CRA_RESTORE_PASS_MAIN && i < job->set.manifest.parts_count; i++) {
        pass.records += job->parts[i].counts.read;
        pass.bytes += job->parts[i].counts.bytes;
    }
    status = run_parts(&pass, err);
    save_what_is_left(&pass);
    cra_mutex_destroy(&pass.mutex);
    if (kind == CRA_RESTORE_PASS_MAIN)
        count_main(&pass);
    if (counts != NULL)
        *counts = pass.tail;
    return status;
}
