/* SPDX-License-Identifier: Apache-2.0 */

/* One new generation of a run's archive: freeze, write, prove, commit. The order of the store's calls is the crash
 * table: whatever is left by a death in between is garbage that our own intents name, and nothing counts before the
 * catalog names the manifest. */

#include <crawlarchive/archive.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/options.h"
#include "core/result.h"
#include "ops/archive_commit.h"
#include "ops/digest_sorter.h"
#include "ops/part_writer.h"

#define PAGE_DOCS 1000
#define PAGE_BYTES (4 * 1024 * 1024)
#define DEFAULT_MEMORY (16 * 1024 * 1024)

typedef struct archiver {
    cra_engine *engine;
    const cra_archive_options *options;
    cra_run_guard *guard;
    cra_archive_set previous; /* the archive as it was found */
    cra_archive_set target;   /* the generation that is written */
    bool remainder;           /* a sweep's late records: the verified parts stay, what is left is added */
    cra_part_writer *writer;
    cra_digest_sorter *written, *before; /* ids of the new records and of the previous generation */
    cra_buf scratch;
    int64_t records;
    cra_item item;
} archiver;

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "archive", "out of memory");
}

static cra_status refuse(archiver *a, cra_reason reason, cra_status status, cra_error *err, const char *text)
{
    a->item.reason = reason;
    return cra_error_set(err, status, "archive", "run %s: %s", cra_run_guard_doc(a->guard)->run, text);
}

/* Which runs can be archived: those whose records are in the hot store. */
static cra_status check_state(archiver *a, cra_error *err)
{
    const cra_run_doc *run = cra_run_guard_doc(a->guard);
    cra_buf verdict;

    switch ((cra_run_state)run->state) {
    case CRA_RUN_HOT:
    case CRA_RUN_RESTORED:
        return CRA_OK;
    case CRA_RUN_ARCHIVED:
        return refuse(a, CRA_REASON_CONFLICT, CRA_CONFLICT, err, "is archived already; its records left the hot store");
    case CRA_RUN_RESTORING:
        return refuse(a, CRA_REASON_CONFLICT, CRA_CONFLICT, err, "is being restored: finish that first");
    case CRA_RUN_SWEEPING:
        break;
    }
    if (run->held)
        return refuse(a, CRA_REASON_HELD, CRA_CONFLICT, err, "a hold stopped its sweep: release or restore it first");
    cra_buf_init(&verdict, cra_engine_allocator(a->engine));
    const cra_status status = cra_run_guard_checkpoint_get(a->guard, "sweep", &verdict, err);
    cra_buf_cleanup(&verdict);
    if (status == CRA_OK)
        return refuse(a, CRA_REASON_CONFLICT, CRA_CONFLICT, err, "its sweep is under way: run sweep to finish it");
    if (status != CRA_NOT_FOUND)
        return status;
    cra_error_clear(err);
    a->remainder = true;
    return CRA_OK;
}

/* ---- the previous generation ----------------------------------------------------------------- */

/* Whether the previous archive tells which ids it holds. */
static bool has_previous_ids(const archiver *a)
{
    return a->previous.origin != CRA_ARCHIVE_NONE && a->previous.reason == CRA_REASON_NONE &&
           a->previous.manifest.parts_count > 0;
}

static cra_status add_id(archiver *a, cra_digest_sorter *sorter, cra_bytes document, cra_error *err)
{
    cra_digest_entry entry;
    cra_value id;

    memset(&entry, 0, sizeof entry);
    if (cra_bson_find(document, "_id", 3, &id) != CRA_OK)
        return CRA_DONE;
    if (cra_record_id_digest(id, &entry.key, &a->scratch) != CRA_OK)
        return no_memory(err);
    return cra_digest_sorter_add(sorter, &entry, err);
}

/* Collect the ids of the previous generation. CRA_DONE where its records carry none. */
static cra_status read_previous_ids(archiver *a, cra_error *err)
{
    for (size_t i = 0; i < a->previous.manifest.parts_count; i++) {
        cra_archive_part *part = NULL;
        cra_status status = cra_archive_part_open(&a->previous, i, false, &part, err);

        while (status == CRA_OK) {
            cra_doc_batch batch;
            cra_bytes document;

            status = cra_run_guard_check(a->guard, err);
            if (status == CRA_OK)
                status = cra_archive_part_next(part, &batch, NULL, err);
            if (status != CRA_OK)
                break;
            cra_bytes rest = batch.documents;
            while (status == CRA_OK && cra_bson_next_document(&rest, &document) == CRA_OK)
                status = add_id(a, a->before, document, err);
            if (status == CRA_DONE) {
                cra_archive_part_free(part);
                return CRA_DONE;
            }
        }
        cra_archive_part_free(part);
        if (status != CRA_DONE)
            return status;
    }
    return CRA_OK;
}

/* Walk two sorted sets of ids: how many of `from` are not in `in`. */
static cra_status count_missing(cra_digest_sorter *from, cra_digest_sorter *in, int64_t *missing, cra_error *err)
{
    cra_digest_entry left, right, previous;
    bool has_previous = false;

    *missing = 0;
    cra_status status = cra_digest_sorter_rewind(from, err);
    if (status == CRA_OK)
        status = cra_digest_sorter_rewind(in, err);
    if (status != CRA_OK)
        return status;
    cra_status right_status = cra_digest_sorter_next(in, &right, err);
    while ((status = cra_digest_sorter_next(from, &left, err)) == CRA_OK) {
        if (has_previous && memcmp(&previous.key, &left.key, sizeof left.key) == 0)
            continue;
        previous = left;
        has_previous = true;
        while (right_status == CRA_OK && memcmp(&right.key, &left.key, sizeof left.key) < 0)
            right_status = cra_digest_sorter_next(in, &right, err);
        if (right_status != CRA_OK && right_status != CRA_DONE)
            return right_status;
        if (right_status == CRA_DONE || memcmp(&right.key, &left.key, sizeof left.key) != 0)
            (*missing)++;
    }
    return status == CRA_DONE ? CRA_OK : status;
}

/* A generation that lacks records of the last one would lose them when the old one expires. */
static cra_status check_fewer(archiver *a, cra_error *err)
{
    int64_t missing = 0;
    char text[160];

    if (a->options->allow_fewer || a->remainder || a->previous.origin == CRA_ARCHIVE_NONE)
        return CRA_OK;
    if (has_previous_ids(a)) {
        cra_error cause;
        cra_error_clear(&cause);
        cra_status status = read_previous_ids(a, &cause);
        if (status == CRA_OK)
            status = count_missing(a->before, a->written, &missing, err);
        else if (status == CRA_CORRUPT || status == CRA_UNSUPPORTED || status == CRA_CONFLICT || status == CRA_DONE)
            /* It cannot be read, or tells no ids: this generation is its remedy. */
            status = CRA_OK;
        else if (err != NULL)
            *err = cause;
        if (status != CRA_OK)
            return status;
    } else if (a->previous.manifest.distinct_ids > a->records) {
        missing = a->previous.manifest.distinct_ids - a->records;
    }
    if (missing == 0)
        return CRA_OK;
    snprintf(text, sizeof text, "%lld records of the last generation are not in the hot store any more",
             (long long)missing);
    const cra_status status = refuse(a, CRA_REASON_FEWER, CRA_CONFLICT, err, text);
    cra_error_hint(err, "--allow-fewer archives the rest all the same; the last generation stays until it expires");
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static cra_status take_page(archiver *a, cra_bytes page, cra_value *last, cra_error *err)
{
    cra_bytes document;
    cra_status status;

    while ((status = cra_bson_next_document(&page, &document)) == CRA_OK) {
        if (cra_bson_find(document, "_id", 3, last) != CRA_OK)
            return cra_error_set(err, CRA_CORRUPT, "hot", "a record without _id");
        status = cra_part_writer_add(a->writer, document, err);
        if (status == CRA_OK)
            status = add_id(a, a->written, document, err);
        if (status != CRA_OK)
            return status;
        a->records++;
    }
    return status == CRA_DONE ? CRA_OK : cra_error_set(err, CRA_CORRUPT, "hot", "the store gave a cut document");
}

/* Every hot record of the run, in order of `_id`, into parts. */
static cra_status write_records(archiver *a, cra_error *err)
{
    const cra_run_doc *run = cra_run_guard_doc(a->guard);
    cra_page_request request = {.struct_size = sizeof request, .max_docs = PAGE_DOCS, .max_bytes = PAGE_BYTES};
    cra_hot_scope hot;
    cra_buf page, after;
    int64_t bytes = 0;

    cra_status status = cra_hot_scope_init(a->engine, run, &hot, err);
    cra_buf_init(&page, cra_engine_allocator(a->engine));
    cra_buf_init(&after, cra_engine_allocator(a->engine));
    while (status == CRA_OK) {
        size_t count = 0;
        cra_value last = {0, NULL, 0};

        status = cra_run_guard_check(a->guard, err);
        if (status != CRA_OK)
            break;
        cra_buf_clear(&page);
        status = cra_docstore_page(cra_engine_docstore(a->engine), &hot.scope, &request, &page, &count, err);
        if (status != CRA_OK || count == 0)
            break;
        status = take_page(a, cra_buf_bytes(&page), &last, err);
        bytes += (int64_t)page.size;
        cra_run_guard_progress(a->guard, "write", a->records, run->records, bytes, NULL);
        if (status == CRA_OK) {
            cra_buf_clear(&after);
            if (cra_buf_append(&after, last.data, last.size) != CRA_OK)
                status = no_memory(err);
            request.after_id = (cra_value){last.type, after.data, after.size};
        }
    }
    cra_buf_cleanup(&page);
    cra_buf_cleanup(&after);
    return status == CRA_OK ? cra_part_writer_finish(a->writer, err) : status;
}

/* ---- the procedure --------------------------------------------------------------------------- */

static cra_avro_codec chosen_codec(const archiver *a)
{
    const char *name = cra_config_text(cra_engine_config(a->engine), "archive.codec");

    if (a->options->codec >= 0)
        return (cra_avro_codec)a->options->codec;
    return name != NULL ? cra_avro_codec_from_name(cra_bytes_of_str(name)) : CRA_AVRO_CODEC_SNAPPY;
}

static cra_status prepare(archiver *a, cra_error *err)
{
    const cra_allocator *allocator = cra_engine_allocator(a->engine);
    const cra_config *config = cra_engine_config(a->engine);
    const char *folder = cra_config_text(config, "spool.folder");
    const int64_t memory = cra_config_int(config, "verify.memory", DEFAULT_MEMORY) / 2;
    const cra_run_doc *run = cra_run_guard_doc(a->guard);

    cra_status status = cra_archive_set_load(a->engine, run, &a->previous, err);
    if (status == CRA_OK && a->remainder && a->previous.reason != CRA_REASON_NONE)
        return refuse(a, a->previous.reason, CRA_CONFLICT, err, a->previous.detail);
    if (status == CRA_OK)
        status = cra_archive_set_locate(a->engine, run, &a->target, err);
    if (status == CRA_OK)
        status = cra_digest_sorter_new(allocator, folder, memory, &a->written, err);
    if (status == CRA_OK)
        status = cra_digest_sorter_new(allocator, folder, memory, &a->before, err);
    if (status == CRA_OK)
        status = cra_archive_begin_generation(&a->previous, &a->target, a->guard, chosen_codec(a), a->remainder, err);
    if (status == CRA_OK)
        status = cra_archive_collect_garbage(&a->previous, a->guard, a->options->cleanup, err);
    if (status == CRA_OK)
        status = cra_part_writer_new(&a->target, a->guard, chosen_codec(a), &a->writer, err);
    return status;
}

/* Distinct ids of the generation: the hot store's ids are unique; kept parts may share some with what was left. */
static cra_status count_distinct(archiver *a, cra_error *err)
{
    cra_manifest *manifest = &a->target.manifest;
    int64_t added = a->records;

    manifest->distinct_ids = a->records;
    if (!a->remainder)
        return CRA_OK;
    const cra_status ids = read_previous_ids(a, err);
    if (ids == CRA_DONE) {
        manifest->distinct_ids = -1;
        manifest->ids_in_records = false;
        return CRA_OK;
    }
    if (ids != CRA_OK)
        return ids;
    CRA_TRY(count_missing(a->written, a->before, &added, err));
    if (a->previous.manifest.distinct_ids < 0)
        manifest->distinct_ids = -1;
    else
        manifest->distinct_ids = a->previous.manifest.distinct_ids + added;
    return CRA_OK;
}

static cra_status archive_guarded(archiver *a, cra_error *err)
{
    cra_status status = check_state(a, err);
    if (status == CRA_OK)
        status = prepare(a, err);
    if (status == CRA_OK)
        status = write_records(a, err);
    if (status == CRA_OK)
        status = check_fewer(a, err);
    if (status == CRA_OK)
        status = count_distinct(a, err);
    if (status == CRA_OK)
        status = cra_archive_commit(&a->previous, &a->target, a->guard, cra_part_writer_schema(a->writer), err);
    if (status != CRA_OK)
        return status;

    a->item.counts[CRA_COUNT_RECORDS] = a->target.manifest.records;
    a->item.counts[CRA_COUNT_PARTS] = (int64_t)a->target.manifest.parts_count;
    a->item.counts[CRA_COUNT_GENERATION] = a->target.manifest.generation;
    a->item.counts[CRA_COUNT_BYTES] = 0;
    for (size_t i = 0; i < a->target.manifest.parts_count; i++)
        a->item.counts[CRA_COUNT_BYTES] += a->target.manifest.parts[i].size_bytes;
    a->item.location = a->target.location;
    return CRA_OK;
}

static void archiver_cleanup(archiver *a)
{
    cra_part_writer_free(a->writer);
    cra_digest_sorter_free(a->written);
    cra_digest_sorter_free(a->before);
    cra_archive_set_cleanup(&a->previous);
    cra_archive_set_cleanup(&a->target);
    cra_buf_cleanup(&a->scratch);
}

/* One run from lease to release; its item goes into `result`. */
static cra_status archive_one(cra_engine *engine, const cra_run_doc *run, const cra_archive_options *options,
                              cra_result *result, cra_error *err)
{
    archiver a = {.engine = engine, .options = options};
    cra_error cause;

    cra_error_clear(&cause);
    cra_item_init(&a.item, run->report, run->run);
    cra_buf_init(&a.scratch, cra_engine_allocator(engine));
    const int64_t started = cra_context_monotonic_ms(cra_engine_context(engine));
    cra_status status = cra_run_guard_acquire(engine, run->report, run->run, "archive", 0, &a.guard, &cause);
    if (status == CRA_OK)
        status = archive_guarded(&a, &cause);
    if (status != CRA_OK) {
        a.item.status = status == CRA_LOCKED ? CRA_ITEM_LOCKED : CRA_ITEM_FAILED;
        if (a.item.reason == CRA_REASON_NONE)
            a.item.reason = cra_reason_from_status(status);
        a.item.error = cause;
        a.item.detail = cause.message;
        if (a.guard != NULL)
            cra_run_note_failure(engine, a.guard, a.item.reason);
    }
    a.item.counts[CRA_COUNT_ELAPSED_MS] = cra_context_monotonic_ms(cra_engine_context(engine)) - started;
    cra_run_guard_release(a.guard);
    if (options->on_item != NULL)
        options->on_item(options->user, &a.item);
    const cra_status added = cra_result_add(result, &a.item, err);
    archiver_cleanup(&a);
    if (added != CRA_OK)
        return added;
    if (status == CRA_NOMEM || status == CRA_CANCELLED) {
        if (err != NULL)
            *err = cause;
        return status;
    }
    return CRA_OK;
}

cra_status cra_archive_runs(cra_engine *engine, const cra_run *const *runs, size_t count,
                            const cra_archive_options *options, cra_result **out, cra_error *err)
{
    cra_archive_options own = CRA_ARCHIVE_OPTIONS_INIT;

    *out = NULL;
    if (cra_options_read(&own, sizeof own, options) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, "archive", "options of another version of this library");
    const cra_avro_codec codec = own.codec >= 0 ? (cra_avro_codec)own.codec : CRA_AVRO_CODEC_NULL;
    if (!cra_avro_codec_supported(codec))
        return cra_error_set(err, CRA_UNSUPPORTED, "archive", "this build cannot write codec %s",
                             cra_avro_codec_name(codec));
    cra_status status = cra_result_new(cra_engine_allocator(engine), out, err);
    for (size_t i = 0; status == CRA_OK && i < count; i++)
        status = archive_one(engine, cra_run_doc_of(runs[i]), &own, *out, err);
    if (status == CRA_NOMEM) {
        cra_result_free(*out);
        *out = NULL;
    }
    return status == CRA_OK ? cra_result_status(*out) : status;
}

cra_status cra_archive_run(cra_engine *engine, const cra_run *run, const cra_archive_options *options,
                           cra_result **out, cra_error *err)
{
    return cra_archive_runs(engine, &run, 1, options, out, err);
}
