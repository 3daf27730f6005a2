/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/part_writer.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "os/entropy.h"

#define PART_BYTES_DEFAULT (256 * 1024 * 1024)
#define PART_DOCS_DEFAULT 1000000
#define BLOCK_BYTES_DEFAULT (256 * 1024)

struct cra_part_writer {
    const cra_allocator *allocator;
    cra_archive_set *target;
    cra_run_guard *guard;
    cra_avro_codec codec;
    int64_t part_bytes, part_docs, block_bytes;
    int64_t next_number;
    char *schema;
    /* the part in progress */
    cra_blob_writer *blob;
    cra_avro_writer *avro;
    char name[CRA_NAMING_FILE_SIZE];
    cra_sha256 object_hash;  /* of the bytes handed to the store */
    cra_sha256 records_hash; /* of the records, one behind the other */
    int64_t records, record_bytes, object_bytes;
};

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "archive", "out of memory");
}

cra_status cra_part_writer_new(cra_archive_set *target, cra_run_guard *guard, cra_avro_codec codec,
                               cra_part_writer **out, cra_error *err)
{
    const cra_config *config = cra_engine_config(target->engine);
    const cra_allocator *allocator = cra_engine_allocator(target->engine);
    cra_part_writer *writer = cra_calloc(allocator, 1, sizeof *writer);

    *out = writer;
    if (writer == NULL)
        return no_memory(err);
    writer->allocator = allocator;
    writer->target = target;
    writer->guard = guard;
    writer->codec = codec;
    writer->part_bytes = cra_config_int(config, "archive.part_bytes", PART_BYTES_DEFAULT);
    writer->part_docs = cra_config_int(config, "archive.part_docs", PART_DOCS_DEFAULT);
    writer->block_bytes = cra_config_int(config, "archive.block_bytes", BLOCK_BYTES_DEFAULT);
    return CRA_OK;
}

static void drop_part(cra_part_writer *writer)
{
    cra_avro_writer_free(writer->avro);
    writer->avro = NULL;
    cra_blob_writer_abort(writer->blob);
    writer->blob = NULL;
}

void cra_part_writer_free(cra_part_writer *writer)
{
    if (writer == NULL)
        return;
    drop_part(writer);
    cra_free(writer->allocator, writer->schema);
    cra_free(writer->allocator, writer);
}

const char *cra_part_writer_schema(const cra_part_writer *writer)
{
    return writer->schema;
}

static cra_status write_object(void *user, const void *data, size_t size, cra_error *err)
{
    cra_part_writer *writer = user;

    cra_sha256_update(&writer->object_hash, data, size);
    writer->object_bytes += (int64_t)size;
    return cra_blob_writer_write(writer->blob, cra_bytes_of(data, size), err);
}

static cra_status object_name(const cra_archive_set *set, const char *relative, cra_buf *out, cra_error *err)
{
    if (cra_buf_appendf(out, "%s%s", set->folder, relative) != CRA_OK)
        return no_memory(err);
    return CRA_OK;
}

static cra_status open_part(cra_part_writer *writer, cra_error *err)
{
    const cra_manifest *manifest = &writer->target->manifest;
    const char *const metadata[] = {"cra.report", manifest->report, "cra.run", manifest->run, NULL};
    cra_avro_writer_options options = CRA_AVRO_WRITER_OPTIONS_INIT;
    char tag[48];
    cra_buf name;

    cra_naming_part(manifest->generation, manifest->fence, writer->next_number, writer->name);
    snprintf(tag, sizeof tag, "%lld-%lld", (long long)manifest->generation, (long long)manifest->fence);
    cra_sha256_init(&writer->object_hash);
    cra_sha256_init(&writer->records_hash);
    writer->records = 0;
    writer->record_bytes = 0;
    writer->object_bytes = 0;

    cra_buf_init(&name, writer->allocator);
    cra_status status = object_name(writer->target, writer->name, &name, err);
    if (status == CRA_OK)
        status = cra_blobstore_put_open(writer->target->store, (const char *)name.data, 0, tag, &writer->blob, err);
    cra_buf_cleanup(&name);
    options.codec = writer->codec;
    options.block_bytes = writer->block_bytes;
    options.metadata = metadata;
    if (status == CRA_OK)
        status = cra_os_random(options.sync, sizeof options.sync, err);
    if (status == CRA_OK)
        status = cra_avro_writer_open(writer->allocator, &options, write_object, writer, &writer->avro, err);
    if (status != CRA_OK)
        drop_part(writer);
    return status;
}

/* Tell the target about the finished part, so that it can be read like any other. */
static cra_status register_part(cra_part_writer *writer, const cra_blob_info *info, cra_error *err)
{
    cra_archive_set *target = writer->target;
    uint8_t digest[CRA_SHA256_SIZE];
    cra_manifest_part part;

    if (cra_array_grow(writer->allocator, (void **)&target->files, &target->files_capacity, target->files_count + 1,
                       sizeof *target->files) != CRA_OK)
        return no_memory(err);
    cra_archive_file *file = &target->files[target->files_count];
    memset(file, 0, sizeof *file);
    file->name = cra_strdup(writer->allocator, writer->name);
    if (file->name == NULL)
        return no_memory(err);
    file->size_bytes = info->size_bytes;
    file->modified_at = info->modified_at;
    memcpy(file->etag, info->etag, sizeof file->etag);
    file->kind = CRA_BLOB_DATA;
    target->files_count++;

    memset(&part, 0, sizeof part);
    part.name = writer->name;
    part.size_bytes = info->size_bytes;
    part.etag = info->etag[0] != '\0' ? file->etag : NULL;
    cra_sha256_final(&writer->object_hash, digest);
    cra_hex_encode(digest, sizeof digest, part.sha256);
    part.records = writer->records;
    part.bytes = writer->record_bytes;
    return cra_manifest_add_part(&target->manifest, &part) == CRA_OK ? CRA_OK : no_memory(err);
}

/* Read the stored object again: a part counts only when its records are proven to come out as they went in. */
static cra_status prove_part(cra_part_writer *writer, cra_error *err)
{
    cra_archive_set *target = writer->target;
    const size_t index = target->manifest.parts_count - 1;
    const cra_manifest_part *expect = &target->manifest.parts[index];
    cra_archive_part *part = NULL;
    cra_sha256 records_hash;
    uint8_t written[CRA_SHA256_SIZE], read[CRA_SHA256_SIZE];
    int64_t records = 0;

    cra_sha256_init(&records_hash);
    cra_status status = cra_archive_part_open(target, index, false, &part, err);
    while (status == CRA_OK) {
        cra_doc_batch batch;

        status = cra_run_guard_check(writer->guard, err);
        if (status == CRA_OK)
            status = cra_archive_part_next(part, &batch, NULL, err);
        if (status == CRA_OK) {
            cra_sha256_update(&records_hash, batch.documents.data, batch.documents.size);
            records += (int64_t)batch.count;
        }
    }
    cra_sha256_final(&writer->records_hash, written);
    cra_sha256_final(&records_hash, read);
    if (status == CRA_DONE) {
        status = CRA_OK;
        if (records != expect->records || memcmp(written, read, sizeof read) != 0 ||
            strcmp(cra_archive_part_sha256(part), expect->sha256) != 0)
            status = cra_error_set(err, CRA_CORRUPT, "archive", "%s%s: what was stored is not what was written",
                                   target->folder, expect->name);
    }
    cra_archive_part_free(part);
    return status;
}

static cra_status close_part(cra_part_writer *writer, cra_error *err)
{
    cra_blob_info info;

    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    cra_status status = cra_run_guard_check(writer->guard, err);
    if (status == CRA_OK)
        status = cra_avro_writer_finish(writer->avro, NULL, err);
    if (status == CRA_OK) {
        const cra_bytes schema = cra_avro_writer_schema(writer->avro);
        cra_free(writer->allocator, writer->schema);
        writer->schema = cra_strndup(writer->allocator, (const char *)schema.data, schema.size);
        if (writer->schema == NULL)
            status = no_memory(err);
    }
    if (status == CRA_OK) {
        cra_blob_writer *blob = writer->blob;
        writer->blob = NULL;
        status = cra_blob_writer_commit(blob, &info, err);
    }
    drop_part(writer);
    if (status == CRA_OK)
        status = register_part(writer, &info, err);
    if (status == CRA_OK)
        status = prove_part(writer, err);
    writer->next_number++;
    return status;
}

cra_status cra_part_writer_add(cra_part_writer *writer, cra_bytes document, cra_error *err)
{
    if (writer->avro == NULL) {
        const cra_status status = open_part(writer, err);
        if (status != CRA_OK)
            return status;
    }
    const cra_status status = cra_avro_writer_append(writer->avro, document, err);
    if (status != CRA_OK)
        return status;
    cra_sha256_update(&writer->records_hash, document.data, document.size);
    writer->records++;
    writer->record_bytes += (int64_t)document.size;
    if (writer->records >= writer->part_docs || writer->object_bytes >= writer->part_bytes)
        return close_part(writer, err);
    return CRA_OK;
}

cra_status cra_part_writer_finish(cra_part_writer *writer, cra_error *err)
{
    return writer->avro != NULL ? close_part(writer, err) : CRA_OK;
}
