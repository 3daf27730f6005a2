/* SPDX-License-Identifier: Apache-2.0 */
#include <crawlarchive/codec.h>

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/options.h"
#include "codec/avro_schema.h"
#include "codec/compress.h"
#include "codec/encode.h"
#include "codec/encode_varint.h"
#include "codec/profile.h"

#define SYNC_SIZE 16
#define DEFAULT_BLOCK_BYTES (256 * 1024)
#define DEFAULT_SAMPLE_BYTES (4 * 1024 * 1024)
/* What a record of the typed profile is called; its documents come from anywhere. */
#define RECORD_NAME "document"

static const char magic[4] = {'O', 'b', 'j', 1};

static const char raw_schema[] =
    "{\"type\":\"record\",\"name\":\"" RECORD_NAME "\",\"" CRA_PROFILE_PROPERTY "\":\"" CRA_PROFILE_RAW
    "\",\"fields\":[{\"name\":\"" CRA_PROFILE_BSON_FIELD "\",\"type\":\"bytes\"}]}";

struct cra_avro_writer {
    const cra_allocator *allocator;
    cra_avro_profile profile;
    cra_avro_codec codec;
    int codec_level;
    size_t block_bytes;
    size_t sample_bytes;
    uint8_t sync[SYNC_SIZE];
    cra_write_fn write;
    void *user;

    cra_buf metadata; /* the caller's header entries, encoded */
    int64_t metadata_count;
    cra_buf schema_text;     /* empty until it is known */
    cra_avro_infer *infer;   /* while documents are held back */
    cra_buf held;            /* those, concatenated */
    cra_avro_schema *schema; /* typed, once known */
    cra_encoder *encoder;
    cra_codec_ctx *compressor;

    cra_buf block; /* records of the open block */
    int64_t block_records;
    cra_buf stored; /* a block as it goes out; the header, too */
    bool header_written;
    bool finished;
    cra_status broken; /* the file cannot go on: the sink failed */
    cra_avro_writer_stats stats;
};

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "avro", "no memory to write a container");
}

/* ---- header and blocks ------------------------------------------------------------------------ */

static cra_status append_sized(cra_buf *out, const void *data, size_t size)
{
    uint8_t head[CRA_VARINT_MAX];

    CRA_TRY(cra_buf_append(out, head, cra_varint_put(head, (int64_t)size)));
    return cra_buf_append(out, data, size);
}

static cra_status append_entry(cra_buf *out, const char *key, cra_bytes value)
{
    CRA_TRY(append_sized(out, key, strlen(key)));
    return append_sized(out, value.data, value.size);
}

static cra_status append_long(cra_buf *out, int64_t number)
{
    uint8_t head[CRA_VARINT_MAX];

    return cra_buf_append(out, head, cra_varint_put(head, number));
}

static cra_status build_header(cra_avro_writer *writer, cra_buf *out)
{
    const char *profile = writer->profile == CRA_AVRO_PROFILE_RAW ? CRA_PROFILE_RAW : CRA_PROFILE_TYPED;

    CRA_TRY(cra_buf_append(out, magic, sizeof magic));
    CRA_TRY(append_long(out, 3 + writer->metadata_count));
    CRA_TRY(append_entry(out, "avro.codec", cra_bytes_of_str(cra_avro_codec_name(writer->codec))));
    CRA_TRY(append_entry(out, "avro.schema", cra_buf_bytes(&writer->schema_text)));
    CRA_TRY(append_entry(out, CRA_PROFILE_PROPERTY, cra_bytes_of_str(profile)));
    CRA_TRY(cra_buf_append(out, writer->metadata.data, writer->metadata.size));
    CRA_TRY(append_long(out, 0));
    return cra_buf_append(out, writer->sync, SYNC_SIZE);
}

/* Whatever goes wrong in the sink, the file has lost its place: nothing more can be written. */
static cra_status emit(cra_avro_writer *writer, cra_bytes bytes, cra_error *err)
{
    if (bytes.size == 0)
        return CRA_OK;
    const cra_status status = writer->write(writer->user, bytes.data, bytes.size, err);
    if (status != CRA_OK)
        writer->broken = status;
    else
        writer->stats.bytes_out += (int64_t)bytes.size;
    return status;
}

static cra_status write_header(cra_avro_writer *writer, cra_error *err)
{
    if (writer->header_written)
        return CRA_OK;
    cra_buf_clear(&writer->stored);
    if (build_header(writer, &writer->stored) != CRA_OK)
        return no_memory(err);
    CRA_TRY(emit(writer, cra_buf_bytes(&writer->stored), err));
    writer->header_written = true;
    return CRA_OK;
}

static cra_status flush_block(cra_avro_writer *writer, cra_bytes records, int64_t count, cra_error *err)
{
    uint8_t head[2 * CRA_VARINT_MAX];
    cra_bytes payload = records;

    CRA_TRY(write_header(writer, err));
    if (writer->codec != CRA_AVRO_CODEC_NULL) {
        cra_buf_clear(&writer->stored);
        const cra_status status =
            cra_compress(writer->compressor, writer->codec, writer->codec_level, records, &writer->stored);
        if (status != CRA_OK)
            return cra_error_set(err, status, "avro", "cannot compress a block of %zu bytes as %s", records.size,
                                 cra_avro_codec_name(writer->codec));
        payload = cra_buf_bytes(&writer->stored);
    }
    size_t size = cra_varint_put(head, count);
    size += cra_varint_put(head + size, (int64_t)payload.size);
    CRA_TRY(emit(writer, cra_bytes_of(head, size), err));
    CRA_TRY(emit(writer, payload, err));
    CRA_TRY(emit(writer, cra_bytes_of(writer->sync, SYNC_SIZE), err));
    writer->stats.blocks++;
    return CRA_OK;
}

/* Close the block before its last record, which began at `start`, and leave that one alone in the next. */
static cra_status flush_before(cra_avro_writer *writer, size_t start, cra_error *err)
{
    CRA_TRY(flush_block(writer, cra_bytes_of(writer->block.data, start), writer->block_records, err));
    memmove(writer->block.data, writer->block.data + start, writer->block.size - start);
    writer->block.size -= start;
    writer->block_records = 0;
    return CRA_OK;
}

/* ---- records ---------------------------------------------------------------------------------- */

static cra_status encode(cra_avro_writer *writer, cra_bytes document, bool *raw, cra_error *err)
{
    const size_t start = writer->block.size;

    if (writer->profile == CRA_AVRO_PROFILE_TYPED)
        return cra_encoder_record(writer->encoder, document, &writer->block, raw, err);
    *raw = false;
    CRA_TRY(cra_bson_validate(document, 0, err));
    if (append_sized(&writer->block, document.data, document.size) != CRA_OK) {
        writer->block.size = start;
        return no_memory(err);
    }
    return CRA_OK;
}

/* Add a record to the open block. A record that fills a block of its own gets one, so that nobody has to hold it
 * beside others. Where the flush fails the record is not in the file, and not in the statistics. */
static cra_status add_record(cra_avro_writer *writer, cra_bytes document, cra_error *err)
{
    const size_t start = writer->block.size;
    bool raw;

    CRA_TRY(encode(writer, document, &raw, err));
    if (start > 0 && writer->block.size - start >= writer->block_bytes) {
        const cra_status status = flush_before(writer, start, err);
        if (status != CRA_OK) {
            writer->block.size = start;
            return status;
        }
    }
    writer->block_records++;
    writer->stats.records++;
    writer->stats.raw_records += raw;
    writer->stats.bytes_in += (int64_t)document.size;
    return CRA_OK;
}

static cra_status flush_full(cra_avro_writer *writer, size_t limit, cra_error *err)
{
    if (writer->block_records == 0 || writer->block.size < limit)
        return CRA_OK;
    CRA_TRY(flush_block(writer, cra_buf_bytes(&writer->block), writer->block_records, err));
    cra_buf_clear(&writer->block);
    writer->block_records = 0;
    return CRA_OK;
}

static cra_status compile_schema(cra_avro_writer *writer, cra_error *err)
{
    CRA_TRY(cra_avro_schema_parse(writer->allocator, cra_buf_bytes(&writer->schema_text), true, &writer->schema, err));
    return cra_encoder_new(writer->allocator, writer->schema, &writer->encoder, err);
}

/* The sample is complete: settle the schema and write what was held back. May be called again after it failed for
 * want of memory: it goes on where it stopped. */
static cra_status release_sample(cra_avro_writer *writer, cra_error *err)
{
    if (writer->infer == NULL)
        return CRA_OK;
    if (writer->encoder == NULL) {
        cra_avro_schema_free(writer->schema);
        writer->schema = NULL;
        cra_buf_clear(&writer->schema_text);
        cra_status status = cra_avro_infer_schema(writer->infer, RECORD_NAME, &writer->schema_text, err);
        if (status == CRA_OK)
            status = compile_schema(writer, err);
        if (status != CRA_OK) {
            cra_buf_clear(&writer->schema_text);
            return status;
        }
    }

    cra_bytes stream = cra_buf_bytes(&writer->held), document;
    cra_status status = CRA_OK;
    while (status == CRA_OK && cra_bson_next_document(&stream, &document) == CRA_OK) {
        status = flush_full(writer, writer->block_bytes, err);
        if (status == CRA_OK)
            status = add_record(writer, document, err);
        if (status != CRA_OK)
            stream.size += document.size;
    }
    if (status != CRA_OK) {
        memmove(writer->held.data, writer->held.data + writer->held.size - stream.size, stream.size);
        writer->held.size = stream.size;
        return status;
    }
    cra_buf_cleanup(&writer->held);
    cra_avro_infer_free(writer->infer);
    writer->infer = NULL;
    return CRA_OK;
}

static cra_status hold_back(cra_avro_writer *writer, cra_bytes document, cra_error *err)
{
    if (cra_buf_reserve(&writer->held, document.size) != CRA_OK)
        return no_memory(err);
    CRA_TRY(cra_avro_infer_add(writer->infer, document, err));
    return cra_buf_append(&writer->held, document.data, document.size);
}

/* ---- public entry points ---------------------------------------------------------------------- */

static cra_status take_metadata(cra_avro_writer *writer, const char *const *metadata, cra_error *err)
{
    for (; metadata != NULL && metadata[0] != NULL; metadata += 2) {
        if (metadata[1] == NULL)
            return cra_error_set(err, CRA_INVALID, "avro", "the metadata key \"%s\" has no value", metadata[0]);
        if (strncmp(metadata[0], "avro.", 5) == 0 || strcmp(metadata[0], CRA_PROFILE_PROPERTY) == 0)
            return cra_error_set(err, CRA_INVALID, "avro", "the metadata key \"%s\" is reserved", metadata[0]);
        if (append_entry(&writer->metadata, metadata[0], cra_bytes_of_str(metadata[1])) != CRA_OK)
            return no_memory(err);
        writer->metadata_count++;
    }
    return CRA_OK;
}

static cra_status check_options(const cra_avro_writer_options *options, cra_error *err)
{
    static const uint8_t no_sync[SYNC_SIZE];

    if (options->profile != CRA_AVRO_PROFILE_TYPED && options->profile != CRA_AVRO_PROFILE_RAW)
        return cra_error_set(err, CRA_INVALID, "avro", "there is no profile %d", (int)options->profile);
    if (options->block_bytes < 0 || options->sample_bytes < 0)
        return cra_error_set(err, CRA_INVALID, "avro", "sizes of blocks and samples cannot be negative");
    if (memcmp(options->sync, no_sync, SYNC_SIZE) == 0)
        return cra_error_set(err, CRA_INVALID, "avro", "the sync mark is not set: it must be 16 random bytes");
    if (options->profile == CRA_AVRO_PROFILE_RAW && options->schema.size > 0)
        return cra_error_set(err, CRA_INVALID, "avro", "the raw profile has a schema of its own");
    if (!cra_avro_codec_supported(options->codec))
        return cra_error_set(err, CRA_UNSUPPORTED, "avro", "this build cannot write codec %s",
                             cra_avro_codec_name(options->codec));
    return CRA_OK;
}

static size_t size_or(int64_t size, size_t otherwise)
{
    if (size == 0)
        return otherwise;
    return (uint64_t)size > SIZE_MAX ? SIZE_MAX : (size_t)size;
}

static cra_status prepare(cra_avro_writer *writer, const cra_avro_writer_options *options, cra_error *err)
{
    CRA_TRY(take_metadata(writer, options->metadata, err));
    if (writer->codec != CRA_AVRO_CODEC_NULL && cra_codec_ctx_new(writer->allocator, &writer->compressor) != CRA_OK)
        return no_memory(err);
    if (options->profile == CRA_AVRO_PROFILE_TYPED && options->schema.size == 0)
        return cra_avro_infer_new(writer->allocator, &writer->infer, err);

    const cra_bytes schema = options->profile == CRA_AVRO_PROFILE_RAW ? cra_bytes_of_str(raw_schema) : options->schema;
    if (cra_buf_append(&writer->schema_text, schema.data, schema.size) != CRA_OK)
        return no_memory(err);
    return options->profile == CRA_AVRO_PROFILE_RAW ? CRA_OK : compile_schema(writer, err);
}

cra_status cra_avro_writer_open(const cra_allocator *allocator, const cra_avro_writer_options *options,
                                cra_write_fn write, void *user, cra_avro_writer **out, cra_error *err)
{
    cra_avro_writer_options own = CRA_AVRO_WRITER_OPTIONS_INIT;

    *out = NULL;
    if (cra_options_read(&own, sizeof own, options) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, "avro", "the writer's options are of another version");
    CRA_TRY(check_options(&own, err));

    cra_avro_writer *writer = cra_calloc(allocator, 1, sizeof *writer);
    if (writer == NULL)
        return no_memory(err);
    writer->allocator = allocator;
    writer->profile = own.profile;
    writer->codec = own.codec;
    writer->codec_level = own.codec_level;
    writer->block_bytes = size_or(own.block_bytes, DEFAULT_BLOCK_BYTES);
    writer->sample_bytes = size_or(own.sample_bytes, DEFAULT_SAMPLE_BYTES);
    memcpy(writer->sync, own.sync, SYNC_SIZE);
    writer->write = write;
    writer->user = user;
    cra_buf_init(&writer->metadata, allocator);
    cra_buf_init(&writer->schema_text, allocator);
    cra_buf_init(&writer->held, allocator);
    cra_buf_init(&writer->block, allocator);
    cra_buf_init(&writer->stored, allocator);

    const cra_status status = prepare(writer, &own, err);
    if (status != CRA_OK) {
        cra_avro_writer_free(writer);
        return status;
    }
    *out = writer;
    return CRA_OK;
}

static cra_status check_open(const cra_avro_writer *writer, cra_error *err)
{
    if (writer->broken != CRA_OK)
        return cra_error_set(err, writer->broken, "avro", "the file was given up when its sink failed");
    if (writer->finished)
        return cra_error_set(err, CRA_INVALID, "avro", "the file is finished");
    return CRA_OK;
}

cra_status cra_avro_writer_append(cra_avro_writer *writer, cra_bytes document, cra_error *err)
{
    CRA_TRY(check_open(writer, err));
    /* Full blocks and samples are released by the next call, not by the one that filled them: so a document that
     * was taken is never reported as failed. */
    if (writer->infer != NULL && writer->held.size >= writer->sample_bytes)
        CRA_TRY(release_sample(writer, err));
    if (writer->infer != NULL)
        return hold_back(writer, document, err);
    CRA_TRY(flush_full(writer, writer->block_bytes, err));
    return add_record(writer, document, err);
}

cra_status cra_avro_writer_finish(cra_avro_writer *writer, cra_avro_writer_stats *stats, cra_error *err)
{
    CRA_TRY(check_open(writer, err));
    CRA_TRY(release_sample(writer, err));
    CRA_TRY(flush_full(writer, 0, err));
    CRA_TRY(write_header(writer, err));
    writer->finished = true;
    if (stats != NULL)
        *stats = writer->stats;
    return CRA_OK;
}

cra_bytes cra_avro_writer_schema(const cra_avro_writer *writer)
{
    return cra_buf_bytes(&writer->schema_text);
}

void cra_avro_writer_free(cra_avro_writer *writer)
{
    if (writer == NULL)
        return;
    cra_codec_ctx_free(writer->compressor);
    cra_encoder_free(writer->encoder);
    cra_avro_schema_free(writer->schema);
    cra_avro_infer_free(writer->infer);
    cra_buf_cleanup(&writer->metadata);
    cra_buf_cleanup(&writer->schema_text);
    cra_buf_cleanup(&writer->held);
    cra_buf_cleanup(&writer->block);
    cra_buf_cleanup(&writer->stored);
    cra_free(writer->allocator, writer);
}
