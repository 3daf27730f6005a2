/* SPDX-License-Identifier: Apache-2.0 */

/* A run's records, from the hot store by pages or from its archive part by part. */

#include <crawlarchive/reader.h>

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/options.h"
#include "ops/archive_set.h"

#define PAGE_DOCS 1000
#define PAGE_BYTES (4 * 1024 * 1024)

struct cra_reader {
    cra_engine *engine;
    const cra_allocator *allocator;
    cra_run_doc run;
    cra_reader_options options;
    char *where_path;
    cra_buf where; /* bytes of options.where */
    int64_t delivered;
    cra_bytes rest; /* documents read and not yet delivered */
    bool from_archive;
    /* hot */
    cra_hot_scope hot;
    cra_buf page, after;
    cra_value after_id;
    /* archive */
    cra_archive_set set;
    cra_archive_part *part;
    size_t next_part;
};

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "reader", "out of memory");
}

/* ---- which documents ------------------------------------------------------------------------- */

/* Equality as a query has it: the value itself, or an element of an array at the path. */
static bool is_wanted(const cra_reader *r, cra_bytes document)
{
    cra_value value;
    cra_bson_iter iter;
    cra_bson_element element;

    if (r->where_path == NULL)
        return true;
    if (cra_bson_path(document, r->where_path, &value) != CRA_OK)
        return r->options.where.type == CRA_BSON_NULL;
    if (cra_value_compare(value, r->options.where) == 0)
        return true;
    if (value.type != CRA_BSON_ARRAY || cra_bson_iter_init(&iter, cra_value_document(value), NULL) != CRA_OK)
        return false;
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        if (cra_value_compare(element.value, r->options.where) == 0)
            return true;
    }
    return false;
}

/* ---- where they come from -------------------------------------------------------------------- */

static cra_status next_page(cra_reader *r, cra_error *err)
{
    const cra_page_request request = {.struct_size = sizeof request,
                                      .after_id = r->after_id,
                                      .max_docs = PAGE_DOCS,
                                      .max_bytes = PAGE_BYTES};
    size_t count = 0;
    cra_bytes document;
    cra_value last = {0, NULL, 0};

    cra_buf_clear(&r->page);
    cra_status status =
        cra_docstore_page(cra_engine_docstore(r->engine), &r->hot.scope, &request, &r->page, &count, err);
    if (status != CRA_OK)
        return status;
    if (count == 0)
        return CRA_DONE;
    r->rest = cra_buf_bytes(&r->page);
    for (cra_bytes rest = r->rest; cra_bson_next_document(&rest, &document) == CRA_OK;)
        (void)cra_bson_find(document, "_id", 3, &last);
    cra_buf_clear(&r->after);
    if (cra_buf_append(&r->after, last.data, last.size) != CRA_OK)
        return no_memory(err);
    r->after_id = (cra_value){last.type, r->after.data, r->after.size};
    return CRA_OK;
}

static cra_status next_block(cra_reader *r, cra_error *err)
{
    for (;;) {
        cra_doc_batch batch;
        cra_status status;

        if (r->part == NULL) {
            if (r->next_part == r->set.manifest.parts_count)
                return CRA_DONE;
            status = cra_archive_part_open(&r->set, r->next_part++, false, &r->part, err);
            if (status == CRA_DONE)
                continue;
            if (status != CRA_OK)
                return status;
        }
        status = cra_archive_part_next(r->part, &batch, NULL, err);
        if (status == CRA_OK) {
            r->rest = batch.documents;
            return CRA_OK;
        }
        if (status != CRA_DONE)
            return status;
        cra_archive_part_free(r->part);
        r->part = NULL;
    }
}

cra_status cra_reader_next(cra_reader *reader, cra_bytes *document, cra_error *err)
{
    *document = (cra_bytes){NULL, 0};
    if (reader->options.limit > 0 && reader->delivered >= reader->options.limit)
        return CRA_DONE;
    for (;;) {
        cra_status status = cra_bson_next_document(&reader->rest, document);

        if (status == CRA_OK && is_wanted(reader, *document)) {
            reader->delivered++;
            return CRA_OK;
        }
        if (status == CRA_OK)
            continue;
        if (status != CRA_DONE)
            return cra_error_set(err, CRA_CORRUPT, "reader", "a document is cut");
        if (cra_cancel_requested(cra_engine_context(reader->engine)))
            return cra_error_set(err, CRA_CANCELLED, "reader", "stopped");
        status = reader->from_archive ? next_block(reader, err) : next_page(reader, err);
        if (status != CRA_OK)
            return status;
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool reads_archive(const cra_reader *r)
{
    if (r->options.from != CRA_READ_AUTO)
        return r->options.from == CRA_READ_ARCHIVE;
    return r->run.state != CRA_RUN_HOT && r->run.state != CRA_RUN_RESTORED;
}

/* A part that is missing or cut would be a run with holes: told at once, not in the middle. An empty run that was
 * archived without an archive has no records. */
static cra_status open_archive(cra_reader *r, cra_error *err)
{
    const cra_status status = cra_archive_set_load(r->engine, &r->run, &r->set, err);

    if (status != CRA_OK)
        return status;
    switch (r->set.reason) {
    case CRA_REASON_NONE:
    case CRA_REASON_STALE_MANIFEST:
    case CRA_REASON_IN_PROGRESS:
        return CRA_OK;
    case CRA_REASON_NO_ARCHIVE:
        if (r->run.state == CRA_RUN_ARCHIVED && r->run.location == NULL)
            return CRA_OK;
        return cra_error_set(err, CRA_NOT_FOUND, "reader", "run %s has no archive: %s", r->run.run, r->set.detail);
    default:
        return cra_error_set(err, CRA_CORRUPT, "reader", "the archive of run %s: %s", r->run.run, r->set.detail);
    }
}

static cra_status take_where(cra_reader *r, cra_error *err)
{
    if (r->options.where_path == NULL)
        return CRA_OK;
    r->where_path = cra_strdup(r->allocator, r->options.where_path);
    if (r->where_path == NULL || cra_buf_append(&r->where, r->options.where.data, r->options.where.size) != CRA_OK)
        return no_memory(err);
    r->options.where.data = r->where.data;
    return CRA_OK;
}

cra_status cra_reader_open(cra_engine *engine, const cra_run *run, const cra_reader_options *options, cra_reader **out,
                           cra_error *err)
{
    cra_reader_options own = CRA_READER_OPTIONS_INIT;
    const cra_allocator *allocator = cra_engine_allocator(engine);

    *out = NULL;
    if (cra_options_read(&own, sizeof own, options) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, "reader", "options of another version of this library");
    cra_reader *r = cra_calloc(allocator, 1, sizeof *r);
    if (r == NULL)
        return no_memory(err);
    r->engine = engine;
    r->allocator = allocator;
    r->options = own;
    cra_buf_init(&r->where, allocator);
    cra_buf_init(&r->page, allocator);
    cra_buf_init(&r->after, allocator);
    cra_status status = cra_run_doc_copy(&r->run, cra_run_doc_of(run), allocator);
    if (status != CRA_OK)
        no_memory(err);
    else
        status = take_where(r, err);
    r->from_archive = status == CRA_OK && reads_archive(r);
    if (status == CRA_OK)
        status = r->from_archive ? open_archive(r, err) : cra_hot_scope_init(engine, &r->run, &r->hot, err);
    if (status != CRA_OK) {
        cra_reader_free(r);
        return status;
    }
    *out = r;
    return CRA_OK;
}

void cra_reader_free(cra_reader *reader)
{
    if (reader == NULL)
        return;
    cra_archive_part_free(reader->part);
    cra_archive_set_cleanup(&reader->set);
    cra_buf_cleanup(&reader->where);
    cra_buf_cleanup(&reader->page);
    cra_buf_cleanup(&reader->after);
    cra_free(reader->allocator, reader->where_path);
    cra_run_doc_cleanup(&reader->run, reader->allocator);
    cra_free(reader->allocator, reader);
}
