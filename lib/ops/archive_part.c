/* SPDX-License-Identifier: Apache-2.0 */

/* Reading one part of an archive: ranges of the stored object, pinned to its ETag, through the codec. */

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/hash.h"
#include "ops/archive_set.h"

#define RANGE_BYTES (1024 * 1024)

/* An object as a source of bytes. */
typedef struct blob_source {
    cra_blobstore *store;
    char *name;
    char etag[72];
    int64_t size, position; /* position of the next range */
    cra_buf range;
    size_t range_used;
    bool skipped; /* bytes were left out: there is no digest of the whole */
    cra_sha256 hash;
} blob_source;

struct cra_archive_part {
    cra_archive_set *set;
    const cra_allocator *allocator;
    blob_source source;
    cra_avro_reader *reader;
    cra_buf documents; /* rewritten by archive.fields or the filter */
    cra_hot_scope hot;
    char sha256[CRA_SHA256_HEX_SIZE];
};

static cra_status next_range(blob_source *source, cra_error *err)
{
    int64_t want = source->size - source->position;
    if (want > RANGE_BYTES)
        want = RANGE_BYTES;

    cra_buf_clear(&source->range);
    source->range_used = 0;
    if (want <= 0)
        return CRA_OK;
    const cra_status status =
        cra_blobstore_read(source->store, source->name, source->position, want, source->etag, &source->range, err);
    if (status != CRA_OK)
        return status;
    if ((int64_t)source->range.size != want)
        return cra_error_set(err, CRA_CORRUPT, "archive", "%s: truncated at byte %lld of %lld", source->name,
                             (long long)(source->position + (int64_t)source->range.size), (long long)source->size);
    source->position += want;
    return CRA_OK;
}

static cra_status source_read(void *user, void *buffer, size_t capacity, size_t *got, cra_error *err)
{
    blob_source *source = user;

    if (source->range_used == source->range.size) {
        const cra_status status = next_range(source, err);
        if (status != CRA_OK)
            return status;
    }
    size_t n = source->range.size - source->range_used;
    if (n > capacity)
        n = capacity;
    if (n > 0) {
        memcpy(buffer, source->range.data + source->range_used, n);
        cra_sha256_update(&source->hash, source->range.data + source->range_used, n);
        source->range_used += n;
    }
    *got = n;
    return CRA_OK;
}

static cra_status source_skip(void *user, uint64_t count, cra_error *err)
{
    blob_source *source = user;
    const uint64_t held = source->range.size - source->range_used;

    source->skipped = true;
    if (count <= held) {
        source->range_used += (size_t)count;
        return CRA_OK;
    }
    const uint64_t beyond = count - held;
    if (beyond > (uint64_t)(source->size - source->position))
        return cra_error_set(err, CRA_CORRUPT, "archive", "%s: truncated: a block ends beyond its %lld bytes",
                             source->name, (long long)source->size);
    cra_buf_clear(&source->range);
    source->range_used = 0;
    source->position += (int64_t)beyond;
    return CRA_OK;
}

/* Ready to read part `index` from its start. */
static cra_status blob_source_init(blob_source *source, cra_archive_set *set, size_t index, cra_error *err)
{
    const cra_allocator *allocator = cra_engine_allocator(set->engine);
    const cra_manifest_part *part = &set->manifest.parts[index];
    cra_buf name;

    memset(source, 0, sizeof *source);
    source->store = set->store;
    source->size = part->size_bytes;
    cra_buf_init(&source->range, allocator);
    cra_sha256_init(&source->hash);
    const cra_archive_file *file = cra_archive_set_file(set, part->name);
    if (file != NULL)
        memcpy(source->etag, file->etag, sizeof source->etag);

    cra_buf_init(&name, allocator);
    if (cra_buf_append_str(&name, set->folder) != CRA_OK || cra_buf_append_str(&name, part->name) != CRA_OK ||
        (source->name = cra_buf_detach_cstr(&name)) == NULL) {
        cra_buf_cleanup(&name);
        return cra_error_set(err, CRA_NOMEM, "archive", "out of memory");
    }
    return CRA_OK;
}

static void blob_source_cleanup(blob_source *source, const cra_allocator *allocator)
{
    cra_buf_cleanup(&source->range);
    cra_free(allocator, source->name);
}

/* ---- documents ------------------------------------------------------------------------------- */

cra_status cra_archive_part_open(cra_archive_set *set, size_t index, bool salvage, cra_archive_part **out,
                                 cra_error *err)
{
    const cra_allocator *allocator = cra_engine_allocator(set->engine);
    cra_avro_options options = CRA_AVRO_OPTIONS_INIT;
    cra_bytes reader_schema = {NULL, 0};

    *out = NULL;
    cra_archive_part *part = cra_calloc(allocator, 1, sizeof *part);
    if (part == NULL)
        return cra_error_set(err, CRA_NOMEM, "archive", "out of memory");
    part->set = set;
    part->allocator = allocator;
    cra_buf_init(&part->documents, allocator);

    options.salvage = salvage;
    if (set->reader_schema != NULL)
        reader_schema = cra_bytes_of_str(set->reader_schema);
    cra_status status = blob_source_init(&part->source, set, index, err);
    if (status == CRA_OK && set->filter_by_run)
        status = cra_hot_scope_init(set->engine, &set->run, &part->hot, err);
    if (status == CRA_OK) {
        const cra_source source = {sizeof source, source_read, source_skip, &part->source};
        status = cra_avro_reader_open(allocator, &options, &source, reader_schema, &part->reader, err);
    }
    if (status != CRA_OK) {
        if (status != CRA_DONE && err != NULL && strstr(err->message, set->manifest.parts[index].name) == NULL) {
            const cra_error cause = *err;
            cra_error_set_native(err, cause.status, cause.native_code, cause.origin, "%s%s: %s", set->folder,
                                 set->manifest.parts[index].name, cause.message);
        }
        cra_archive_part_free(part);
        return status;
    }
    *out = part;
    return CRA_OK;
}

void cra_archive_part_free(cra_archive_part *part)
{
    if (part == NULL)
        return;
    cra_avro_reader_free(part->reader);
    blob_source_cleanup(&part->source, part->allocator);
    cra_buf_cleanup(&part->documents);
    cra_free(part->allocator, part);
}

/* Whether a record belongs to this run, where the location holds several. */
static bool is_of_run(const cra_archive_part *part, cra_bytes document)
{
    cra_value value;

    return cra_bson_path(document, part->hot.scope.run_field, &value) == CRA_OK &&
           cra_value_compare(value, part->hot.scope.run_value) == 0;
}

/* Rewrite a batch by the filter and archive.fields into `part->documents`. */
static cra_status rewrite(cra_archive_part *part, cra_doc_batch *batch, cra_error *err)
{
    cra_bytes rest = batch->documents;
    cra_bytes document;
    size_t count = 0;

    cra_buf_clear(&part->documents);
    while (cra_bson_next_document(&rest, &document) == CRA_OK) {
        cra_status status;

        if (part->set->filter_by_run && !is_of_run(part, document))
            continue;
        if (part->set->fields.count > 0)
            status = cra_field_map_apply(&part->set->fields, document, &part->documents, err);
        else if ((status = cra_buf_append(&part->documents, document.data, document.size)) != CRA_OK)
            cra_error_set(err, CRA_NOMEM, "archive", "out of memory");
        if (status != CRA_OK)
            return status;
        count++;
    }
    batch->documents = cra_buf_bytes(&part->documents);
    batch->count = count;
    return CRA_OK;
}

/* The reader stops at the last block; the digest wants every byte of the object. */
static cra_status finish_digest(cra_archive_part *part, cra_error *err)
{
    uint8_t digest[CRA_SHA256_SIZE];
    uint8_t rest[4096];
    size_t got;

    do {
        const cra_status status = source_read(&part->source, rest, sizeof rest, &got, err);
        if (status != CRA_OK)
            return status;
    } while (got > 0);
    if (!part->source.skipped) {
        cra_sha256_final(&part->source.hash, digest);
        cra_hex_encode(digest, sizeof digest, part->sha256);
    }
    return CRA_DONE;
}

cra_status cra_archive_part_next(cra_archive_part *part, cra_doc_batch *out, int64_t *block_offset, cra_error *err)
{
    const cra_status status = cra_avro_reader_next(part->reader, out, err);

    if (status == CRA_DONE)
        return finish_digest(part, err);
    if (status != CRA_OK) {
        if (err != NULL && strstr(err->message, part->source.name) == NULL) {
            const cra_error cause = *err;
            cra_error_set_native(err, cause.status, cause.native_code, cause.origin, "%s: %s", part->source.name,
                                 cause.message);
        }
        return status;
    }
    if (out->dead_count > 0)
        return cra_error_set(err, CRA_CORRUPT, "archive", "%s: record %lld of the block at byte %lld: %s",
                             part->source.name, (long long)out->dead[0].record, (long long)out->dead[0].block_offset,
                             out->dead[0].reason);
    if (block_offset != NULL)
        *block_offset = out->block_offset;
    if (part->set->filter_by_run || part->set->fields.count > 0)
        return rewrite(part, out, err);
    return CRA_OK;
}

const char *cra_archive_part_sha256(const cra_archive_part *part)
{
    return part->sha256;
}

/* ---- counting -------------------------------------------------------------------------------- */

cra_status cra_archive_part_count(cra_archive_set *set, size_t index, int64_t *records, cra_error *err)
{
    const cra_allocator *allocator = cra_engine_allocator(set->engine);
    blob_source blob;
    cra_avro_scanner *scanner = NULL;
    cra_avro_block block;

    *records = 0;
    cra_status status = blob_source_init(&blob, set, index, err);
    if (status == CRA_OK) {
        const cra_source source = {sizeof source, source_read, source_skip, &blob};
        status = cra_avro_scanner_open(allocator, NULL, &source, &scanner, err);
    }
    while (status == CRA_OK) {
        status = cra_avro_scanner_skip(scanner, &block, err);
        if (status == CRA_OK)
            *records += block.records;
    }
    if (status != CRA_DONE && status != CRA_NOMEM && err != NULL && blob.name != NULL &&
        strstr(err->message, blob.name) == NULL) {
        const cra_error cause = *err;
        cra_error_set_native(err, cause.status, cause.native_code, cause.origin, "%s: %s", blob.name, cause.message);
    }
    cra_avro_scanner_free(scanner);
    blob_source_cleanup(&blob, allocator);
    return status == CRA_DONE ? CRA_OK : status;
}
