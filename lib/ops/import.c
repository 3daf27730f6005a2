/* SPDX-License-Identifier: Apache-2.0 */

/* Files into the hot store as a run.
 *
 * Records that carry an `_id` are written as they come. Those without one wait in a spool: the `_id` derived for equal
 * records counts their occurrences, and only when all have been seen is it known which ones have an equal. */

#include <crawlarchive/import.h>

#include <stdio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/options.h"
#include "core/result.h"
#include "ops/hot_writer.h"
#include "ops/id_spool.h"
#include "ops/input.h"
#include "ops/run_guard.h"
#include "ops/run_progress.h"
#include "ports/context.h"

#define ORIGIN "import"
#define HEARTBEAT_MS 30000

struct importer {
    cra_engine *engine;
    cra_context *context;
    const cra_allocator *allocator;
    const char *report;
    const char *id;
    cra_import_options options;
    cra_run *run;
    cra_hot_scope scope;
    cra_run_progress *progress;
    cra_hot_writer *writer;
    cra_id_spool *spool; /* NULL until a record without `_id` comes */
    cra_buf prepared;
};

/* ---- before ----------------------------------------------------------------------------------- */

/* Register the run, or take it as it is registered. */
static cra_status find_run(struct importer *im, cra_error *err)
{
    const cra_run_doc *doc;
    cra_error why = {0};
    const cra_status status = cra_run_add(im->engine, im->report, im->id, im->options.collection, &im->run, &why);

    if (status != CRA_OK && status != CRA_EXISTS) {
        if (err != NULL)
            *err = why;
        return status;
    }
    if (status == CRA_EXISTS)
        CRA_TRY(cra_run_get(im->engine, im->report, im->id, &im->run, err));
    doc = cra_run_doc_of(im->run);
    if (im->options.collection != NULL && doc->collection != NULL &&
        strcmp(im->options.collection, doc->collection) != 0)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "run %s/%s lives in collection '%s', not in '%s'", im->report,
                             im->id, doc->collection, im->options.collection);
    return CRA_OK;
}

static cra_status check_state(const struct importer *im, const cra_run_doc *doc, cra_error *err)
{
    if (doc->state == CRA_RUN_HOT)
        return CRA_OK;
    return cra_error_set(err, CRA_INVALID, ORIGIN, "run %s/%s is %s: only a hot run takes records", im->report, im->id,
                         cra_run_state_name((cra_run_state)doc->state));
}

/* Before each batch: a stop that was asked for, a sweep that began meanwhile. */
static cra_status admit(void *user, int64_t *deadline_ms, cra_error *err)
{
    struct importer *im = user;
    cra_run_doc doc;
    cra_status status;

    *deadline_ms = 0;
    CRA_TRY(cra_context_check_cancel(im->context, err));
    if (cra_run_progress_cancelled(im->progress))
        return cra_error_set(err, CRA_CANCELLED, ORIGIN, "run %s/%s: stopped as asked", im->report, im->id);
    CRA_TRY(cra_catalog_run_get(cra_engine_catalog(im->engine), im->report, im->id, &doc, err));
    status = check_state(im, &doc, err);
    cra_run_doc_cleanup(&doc, im->allocator);
    return status;
}

static cra_status prepare(struct importer *im, cra_error *err)
{
    const cra_config *config = cra_engine_config(im->engine);
    const int64_t docs = im->options.batch_docs > 0 ? im->options.batch_docs
                                                    : cra_config_report_int(config, "import.batch_docs", im->report, 0);
    const int64_t bytes = im->options.batch_bytes > 0
                              ? im->options.batch_bytes
                              : cra_config_report_int(config, "import.batch_bytes", im->report, 0);

    CRA_TRY(find_run(im, err));
    CRA_TRY(check_state(im, cra_run_doc_of(im->run), err));
    CRA_TRY(cra_hot_scope_init(im->engine, cra_run_doc_of(im->run), &im->scope, err));
    CRA_TRY(cra_run_progress_start(im->context, "import", im->report, im->id, HEARTBEAT_MS, &im->progress, err));
    return cra_hot_writer_new(im->engine, im->scope.scope.collection, docs, bytes, false, admit, im, &im->writer, err);
}

/* ---- records ---------------------------------------------------------------------------------- */

static void tell_progress(struct importer *im, const char *phase)
{
    const cra_hot_counts *counts = cra_hot_writer_counts(im->writer);

    cra_run_progress_set(im->progress, phase, counts->read, -1, counts->bytes, NULL);
}

/* Write a record under `id` where it has none of its own; `*no_id` where it needs one. */
static cra_status write_record(struct importer *im, cra_bytes document, cra_value id, bool *no_id, cra_error *err)
{
    cra_value own = {0, NULL, 0};
    cra_error why = {0};
    cra_status status;

    *no_id = false;
    cra_buf_clear(&im->prepared);
    status =
        cra_record_prepare(document, im->scope.scope.run_field, im->scope.scope.run_value, id, &im->prepared, &why);
    if (status == CRA_OK)
        return cra_hot_writer_add(im->writer, cra_buf_bytes(&im->prepared), err);
    if (status == CRA_NOT_FOUND) {
        *no_id = true;
        return CRA_OK;
    }
    if (status == CRA_NOMEM) {
        if (err != NULL)
            *err = why;
        return status;
    }
    if (cra_bson_find(document, "_id", 3, &own) != CRA_OK)
        own.type = 0;
    cra_hot_writer_refuse(im->writer, own, document.size, why.message);
    return CRA_OK;
}

static cra_status spool_record(struct importer *im, cra_bytes document, cra_error *err)
{
    if (im->spool == NULL)
        CRA_TRY(cra_id_spool_new(im->engine, im->report, im->id, &im->spool, err));
    return cra_id_spool_add(im->spool, document, err);
}

static cra_status take_record(struct importer *im, const cra_input_record *record, cra_error *err)
{
    const cra_value none = {0, NULL, 0};
    bool no_id;

    if (record->refused != NULL) {
        cra_hot_writer_refuse(im->writer, none, record->bytes, record->refused);
        return CRA_OK;
    }
    CRA_TRY(write_record(im, record->document, none, &no_id, err));
    return no_id ? spool_record(im, record->document, err) : CRA_OK;
}

static cra_status read_input(struct importer *im, const cra_input *input, cra_error *err)
{
    cra_input_reader *reader;
    cra_input_record record;
    cra_status status;

    CRA_TRY(cra_input_reader_open(im->allocator, input, &im->options.avro, &reader, err));
    while ((status = cra_input_reader_next(reader, &record, err)) == CRA_OK) {
        status = take_record(im, &record, err);
        if (status != CRA_OK)
            break;
        tell_progress(im, "read");
    }
    cra_input_reader_free(reader);
    return status == CRA_DONE ? CRA_OK : status;
}

static cra_status write_spooled(struct importer *im, cra_error *err)
{
    cra_bytes document;
    cra_value id;
    bool no_id;
    cra_status status;

    if (im->spool == NULL)
        return CRA_OK;
    CRA_TRY(cra_id_spool_rewind(im->spool, err));
    while ((status = cra_id_spool_next(im->spool, &document, &id, err)) == CRA_OK) {
        CRA_TRY(write_record(im, document, id, &no_id, err));
        tell_progress(im, "derive ids");
    }
    return status == CRA_DONE ? CRA_OK : status;
}

/* A damaged file ends the reading; what came before it is written all the same. */
static cra_status read_all(struct importer *im, const cra_input *inputs, size_t count, cra_error *err)
{
    cra_error damage = {0}, why = {0};
    cra_status damaged = CRA_OK, status = CRA_OK;

    for (size_t i = 0; i < count && damaged == CRA_OK; i++)
        damaged = read_input(im, &inputs[i], &damage);
    if (damaged == CRA_OK || damaged == CRA_CORRUPT || damaged == CRA_UNSUPPORTED) {
        status = write_spooled(im, &why);
        if (status == CRA_OK)
            status = cra_hot_writer_flush(im->writer, &why);
    }
    if (damaged != CRA_OK || status != CRA_OK) {
        if (err != NULL)
            *err = damaged != CRA_OK ? damage : why;
        return damaged != CRA_OK ? damaged : status;
    }
    return CRA_OK;
}

/* What was read and neither written nor refused: it is told, so that the sums hold. */
static void count_unsent(struct importer *im)
{
    cra_hot_writer_abandon(im->writer);
    if (im->spool != NULL)
        cra_hot_writer_skip(im->writer, cra_id_spool_left(im->spool), 0);
}

/* ---- after ------------------------------------------------------------------------------------ */

static cra_status set_records(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    const int64_t *records = user;

    (void)now;
    (void)err;
    if (run->records == *records)
        return CRA_DONE;
    run->records = *records;
    return CRA_OK;
}

static cra_status store_count(struct importer *im, cra_error *err)
{
    int64_t records;

    CRA_TRY(cra_docstore_count(cra_engine_docstore(im->engine), &im->scope.scope, &records, err));
    return cra_run_update(im->engine, im->report, im->id, set_records, &records, NULL, err);
}

static void fill_item(const struct importer *im, cra_status status, const cra_error *why, cra_item *item)
{
    const cra_hot_counts *counts = cra_hot_writer_counts(im->writer);

    item->counts[CRA_COUNT_RECORDS] = counts->read;
    item->counts[CRA_COUNT_RECORDS_READ] = counts->read;
    item->counts[CRA_COUNT_BYTES] = counts->bytes;
    item->counts[CRA_COUNT_RECORDS_NEW] = counts->fresh;
    item->counts[CRA_COUNT_RECORDS_IDENTICAL] = counts->identical;
    item->counts[CRA_COUNT_RECORDS_CONFLICT] = counts->conflict;
    item->counts[CRA_COUNT_RECORDS_FAILED] = counts->failed;
    item->counts[CRA_COUNT_RECORDS_UNSENT] = counts->unsent;
    item->detail = cra_hot_writer_detail(im->writer);
    if (status == CRA_OK)
        return;
    item->status = CRA_ITEM_FAILED;
    item->error = *why;
    if (status != CRA_PARTIAL)
        item->reason = cra_reason_from_status(status);
    else
        item->reason = counts->failed > 0 ? CRA_REASON_RECORDS : CRA_REASON_CONFLICT;
    if (item->detail == NULL)
        item->detail = why->message;
}

static cra_status judge(const struct importer *im, cra_error *err)
{
    const cra_hot_counts *counts = cra_hot_writer_counts(im->writer);

    if (counts->conflict == 0 && counts->failed == 0)
        return CRA_OK;
    return cra_error_set(err, CRA_PARTIAL, ORIGIN, "run %s/%s: %lld of %lld records were not taken: %.300s", im->report,
                         im->id, (long long)(counts->conflict + counts->failed), (long long)counts->read,
                         cra_hot_writer_detail(im->writer));
}

static cra_status add_item(struct importer *im, cra_status status, const cra_error *why, cra_result *result,
                           cra_error *err)
{
    cra_item item;

    cra_item_init(&item, im->report, im->id);
    fill_item(im, status, why, &item);
    return cra_result_add(result, &item, err);
}

static cra_status import_all(struct importer *im, const cra_input *inputs, size_t count, cra_result *result,
                             cra_error *err)
{
    cra_error why = {0}, counting = {0};
    cra_status status, counted;

    CRA_TRY(prepare(im, err));
    status = read_all(im, inputs, count, &why);
    count_unsent(im);
    counted = store_count(im, &counting);
    if (status == CRA_OK && counted != CRA_OK) {
        status = counted;
        why = counting;
    }
    if (status == CRA_OK)
        status = judge(im, &why);
    CRA_TRY(add_item(im, status, &why, result, err));
    if (status != CRA_OK && err != NULL)
        *err = why;
    return status;
}

static cra_status check_arguments(cra_engine *engine, const char *report, const char *id, const cra_input *inputs,
                                  size_t count, cra_error *err)
{
    if (engine == NULL || report == NULL || id == NULL || (inputs == NULL && count > 0))
        return cra_error_set(err, CRA_INVALID, ORIGIN, "an import needs an engine, a report, a run and its files");
    for (size_t i = 0; i < count; i++) {
        if (inputs[i].struct_size != sizeof(inputs[i]))
            return cra_error_set(err, CRA_INVALID, ORIGIN, "input %zu has an unknown size", i);
    }
    return CRA_OK;
}

cra_status cra_import_run(cra_engine *engine, const char *report, const char *id, const cra_input *inputs, size_t count,
                          const cra_import_options *options, cra_result **out, cra_error *err)
{
    struct importer im = {.engine = engine, .report = report, .id = id, .options = CRA_IMPORT_OPTIONS_INIT};
    cra_result *result;
    cra_status status;

    if (out != NULL)
        *out = NULL;
    CRA_TRY(check_arguments(engine, report, id, inputs, count, err));
    if (cra_options_read(&im.options, sizeof(im.options), options) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "options of another version of this library");
    im.context = cra_engine_context(engine);
    im.allocator = cra_engine_allocator(engine);
    cra_buf_init(&im.prepared, im.allocator);
    CRA_TRY(cra_result_new(im.allocator, &result, err));
    status = import_all(&im, inputs, count, result, err);
    cra_run_progress_stop(im.progress);
    cra_hot_writer_free(im.writer);
    cra_id_spool_free(im.spool);
    cra_run_free(im.run);
    cra_buf_cleanup(&im.prepared);
    if (out != NULL && cra_result_count(result) > 0)
        *out = result;
    else
        cra_result_free(result);
    return status;
}
