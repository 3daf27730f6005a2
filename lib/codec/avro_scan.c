/* SPDX-License-Identifier: Apache-2.0 */

/* Walking a container file: header, blocks, sync marks. Nothing here is decoded; claimed sizes are compared with what
 * is allowed before they are used, and memory grows only as bytes really arrive. */

#include <crawlarchive/codec.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/options.h"

#define ORIGIN "avro"
#define SYNC_SIZE 16
#define READ_CHUNK (256 * 1024)
#define BLOCK_BYTES_DEFAULT (INT64_C(1) << 30)
#define HEADER_BYTES_DEFAULT (INT64_C(16) << 20)
#define MAGIC_SIZE 4
static const uint8_t magic[MAGIC_SIZE] = {'O', 'b', 'j', 1};

struct cra_avro_scanner {
    const cra_allocator *allocator;
    cra_avro_options options;
    cra_source source;
    cra_buf data;       /* bytes read and not yet forgotten */
    size_t position;    /* in `data` */
    int64_t data_start; /* place of data[0] in the file */
    bool at_end;        /* the source has no more */
    /* the current header */
    cra_buf header; /* metadata: pairs of length-prefixed key and value */
    cra_buf schema;
    cra_avro_codec codec;
    uint8_t sync[SYNC_SIZE];
    uint32_t file_index;
    /* what went wrong before: it is told again */
    cra_status failed;
    cra_error failure;
    int64_t skipped_bytes, skipped_ranges;
};

static int64_t offset_of(const cra_avro_scanner *s)
{
    return s->data_start + (int64_t)s->position;
}

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory");
}

static cra_status truncated(const cra_avro_scanner *s, const char *where, cra_error *err)
{
    return cra_error_set(err, CRA_CORRUPT, ORIGIN, "truncated at byte %lld, within %s",
                         (long long)(s->data_start + (int64_t)s->data.size), where);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Forget what lies before the position. */
static void forget(cra_avro_scanner *s)
{
    if (s->position == 0)
        return;
    s->data.size -= s->position;
    memmove(s->data.data, s->data.data + s->position, s->data.size);
    s->data_start += (int64_t)s->position;
    s->position = 0;
}

/* Have `need` bytes behind the position. CRA_DONE where the source ends before. */
static cra_status fill(cra_avro_scanner *s, size_t need, cra_error *err)
{
    while (s->data.size - s->position < need) {
        size_t got = 0;

        if (s->at_end)
            return CRA_DONE;
        if (cra_buf_reserve(&s->data, READ_CHUNK) != CRA_OK)
            return no_memory(err);
        const cra_status status =
            s->source.read(s->source.user, s->data.data + s->data.size, READ_CHUNK, &got, err);
        if (status != CRA_OK)
            return status;
        s->at_end = got == 0;
        s->data.size += got;
    }
    return CRA_OK;
}

/* Read one zig-zag number. CRA_DONE where the source ends before its first byte. */
static cra_status read_long(cra_avro_scanner *s, const char *where, int64_t *out, cra_error *err)
{
    uint64_t bits = 0;

    for (unsigned shift = 0;; shift += 7) {
        const cra_status status = fill(s, 1, err);
        if (status == CRA_DONE)
            return shift == 0 ? CRA_DONE : truncated(s, where, err);
        if (status != CRA_OK)
            return status;
        const uint8_t byte = s->data.data[s->position++];
        if (shift == 63 && byte > 1)
            return cra_error_set(err, CRA_CORRUPT, ORIGIN, "byte %lld: a number in %s is longer than 64 bits",
                                 (long long)offset_of(s) - 1, where);
        bits |= (uint64_t)(byte & 0x7F) << shift;
        if ((byte & 0x80) == 0)
            break;
    }
    *out = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
    return CRA_OK;
}

/* The same where the end would be a cut. */
static cra_status need_long(cra_avro_scanner *s, const char *where, int64_t *out, cra_error *err)
{
    const cra_status status = read_long(s, where, out, err);
    return status == CRA_DONE ? truncated(s, where, err) : status;
}

static cra_status need_bytes(cra_avro_scanner *s, size_t size, const char *where, cra_error *err)
{
    const cra_status status = fill(s, size, err);
    return status == CRA_DONE ? truncated(s, where, err) : status;
}

/* ---- header ---------------------------------------------------------------------------------- */

/* Append one length-prefixed item of the metadata to the header as it is kept. */
static cra_status read_item(cra_avro_scanner *s, cra_error *err)
{
    int64_t size;

    CRA_TRY(need_long(s, "the header", &size, err));
    if (size < 0 || size > s->options.max_header_bytes ||
        (int64_t)s->header.size + size > s->options.max_header_bytes)
        return cra_error_set(err, CRA_CORRUPT, ORIGIN, "byte %lld: the header claims an item of %lld bytes",
                             (long long)offset_of(s), (long long)size);
    CRA_TRY(need_bytes(s, (size_t)size, "the header", err));
    if (cra_buf_append(&s->header, &size, sizeof size) != CRA_OK ||
        cra_buf_append(&s->header, s->data.data + s->position, (size_t)size) != CRA_OK)
        return no_memory(err);
    s->position += (size_t)size;
    return CRA_OK;
}

static cra_status read_metadata(cra_avro_scanner *s, cra_error *err)
{
    int64_t count, size;

    cra_buf_clear(&s->header);
    for (;;) {
        CRA_TRY(need_long(s, "the header", &count, err));
        if (count == 0)
            return CRA_OK;
        if (count < 0) { /* the count's absolute value, then the bytes of the block */
            if (count == INT64_MIN)
                return cra_error_set(err, CRA_CORRUPT, ORIGIN, "the header claims an impossible number of items");
            count = -count;
            CRA_TRY(need_long(s, "the header", &size, err));
        }
        while (count-- > 0) {
            CRA_TRY(read_item(s, err));
            CRA_TRY(read_item(s, err));
        }
    }
}

/* Item at `*at` of the kept header; advances. */
static bool next_item(const cra_buf *header, size_t *at, cra_bytes *out)
{
    int64_t size;

    if (*at >= header->size)
        return false;
    memcpy(&size, header->data + *at, sizeof size);
    *out = cra_bytes_of(header->data + *at + sizeof size, (size_t)size);
    *at += sizeof size + (size_t)size;
    return true;
}

bool cra_avro_scanner_metadata(const cra_avro_scanner *scanner, const char *key, cra_bytes *out)
{
    cra_bytes name, value;
    size_t at = 0;

    while (next_item(&scanner->header, &at, &name) && next_item(&scanner->header, &at, &value)) {
        if (cra_bytes_equal(name, cra_bytes_of_str(key))) {
            *out = value;
            return true;
        }
    }
    return false;
}

static cra_status read_header(cra_avro_scanner *s, cra_error *err)
{
    cra_bytes value;

    CRA_TRY(need_bytes(s, MAGIC_SIZE, "the header", err));
    if (memcmp(s->data.data + s->position, magic, MAGIC_SIZE) != 0)
        return cra_error_set(err, CRA_CORRUPT, ORIGIN, "byte %lld: no Avro container begins here",
                             (long long)offset_of(s));
    s->position += MAGIC_SIZE;
    CRA_TRY(read_metadata(s, err));
    CRA_TRY(need_bytes(s, SYNC_SIZE, "the header", err));
    memcpy(s->sync, s->data.data + s->position, SYNC_SIZE);
    s->position += SYNC_SIZE;

    if (!cra_avro_scanner_metadata(s, "avro.schema", &value))
        return cra_error_set(err, CRA_CORRUPT, ORIGIN, "the header has no avro.schema");
    cra_buf_clear(&s->schema);
    if (cra_buf_append(&s->schema, value.data, value.size) != CRA_OK)
        return no_memory(err);
    s->codec = CRA_AVRO_CODEC_NULL;
    if (cra_avro_scanner_metadata(s, "avro.codec", &value))
        s->codec = cra_avro_codec_from_name(value);
    forget(s);
    return CRA_OK;
}

cra_status cra_avro_scanner_open(const cra_allocator *allocator, const cra_avro_options *options,
                                 const cra_source *source, cra_avro_scanner **out, cra_error *err)
{
    cra_avro_options own = CRA_AVRO_OPTIONS_INIT;

    *out = NULL;
    if (cra_options_read(&own, sizeof own, options) != CRA_OK || source == NULL || source->read == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "options of another version of this library, or no source");
    cra_avro_scanner *s = cra_calloc(allocator, 1, sizeof *s);
    if (s == NULL)
        return no_memory(err);
    s->allocator = allocator;
    s->options = own;
    if (s->options.max_block_bytes <= 0)
        s->options.max_block_bytes = BLOCK_BYTES_DEFAULT;
    if (s->options.max_header_bytes <= 0)
        s->options.max_header_bytes = HEADER_BYTES_DEFAULT;
    s->source = *source;
    cra_buf_init(&s->data, allocator);
    cra_buf_init(&s->header, allocator);
    cra_buf_init(&s->schema, allocator);

    cra_status status = fill(s, 1, err);
    if (status == CRA_OK)
        status = read_header(s, err);
    if (status != CRA_OK) {
        cra_avro_scanner_free(s);
        return status;
    }
    *out = s;
    return CRA_OK;
}

void cra_avro_scanner_free(cra_avro_scanner *scanner)
{
    if (scanner == NULL)
        return;
    cra_buf_cleanup(&scanner->data);
    cra_buf_cleanup(&scanner->header);
    cra_buf_cleanup(&scanner->schema);
    cra_free(scanner->allocator, scanner);
}

cra_bytes cra_avro_scanner_schema(const cra_avro_scanner *scanner)
{
    return cra_buf_bytes(&scanner->schema);
}

cra_avro_codec cra_avro_scanner_codec(const cra_avro_scanner *scanner)
{
    return scanner->codec;
}

int64_t cra_avro_scanner_skipped(const cra_avro_scanner *scanner, int64_t *ranges)
{
    if (ranges != NULL)
        *ranges = scanner->skipped_ranges;
    return scanner->skipped_bytes;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Count and size of the next block, checked. CRA_DONE at a clean end. */
static cra_status read_block_head(cra_avro_scanner *s, cra_avro_block *out, cra_error *err)
{
    memset(out, 0, sizeof *out);
    out->offset = offset_of(s);
    cra_status status = fill(s, MAGIC_SIZE, err);
    if (status != CRA_OK && status != CRA_DONE)
        return status;
    if (status == CRA_OK && memcmp(s->data.data + s->position, magic, MAGIC_SIZE) == 0) {
        s->file_index++;
        CRA_TRY(read_header(s, err));
    }
    out->offset = offset_of(s);
    out->file_index = s->file_index;
    CRA_TRY(read_long(s, "a block's count", &out->records, err));
    CRA_TRY(need_long(s, "a block's size", &out->stored_bytes, err));
    if (out->records < 0)
        return cra_error_set(err, CRA_CORRUPT, ORIGIN, "block at byte %lld: negative count %lld",
                             (long long)out->offset, (long long)out->records);
    if (out->stored_bytes < 0 || out->stored_bytes > s->options.max_block_bytes)
        return cra_error_set(err, CRA_CORRUPT, ORIGIN, "block at byte %lld: size %lld is negative or above the limit",
                             (long long)out->offset, (long long)out->stored_bytes);
    return CRA_OK;
}

static cra_status check_sync(cra_avro_scanner *s, size_t at, int64_t block_offset, cra_error *err)
{
    if (memcmp(s->data.data + at, s->sync, SYNC_SIZE) == 0)
        return CRA_OK;
    return cra_error_set(err, CRA_CORRUPT, ORIGIN, "block at byte %lld: the sync mark behind it is wrong",
                         (long long)block_offset);
}

/* The payload in memory, and the sync mark behind it. */
static cra_status load_payload(cra_avro_scanner *s, cra_avro_block *out, cra_error *err)
{
    const size_t size = (size_t)out->stored_bytes;

    CRA_TRY(need_bytes(s, size, "a block", err));
    const cra_status status = need_bytes(s, size + SYNC_SIZE, "a sync mark", err);
    if (status != CRA_OK) {
        /* Salvage takes a last block whose mark is cut: the decoder tells whether it is whole. */
        if (status != CRA_CORRUPT || !s->options.salvage || !s->at_end)
            return status;
        out->payload = cra_bytes_of(s->data.data + s->position, size);
        s->position = s->data.size;
        return CRA_OK;
    }
    CRA_TRY(check_sync(s, s->position + size, out->offset, err));
    out->payload = cra_bytes_of(s->data.data + s->position, size);
    s->position += size + SYNC_SIZE;
    return CRA_OK;
}

/* The payload left out, by the source where it can. */
static cra_status skip_payload(cra_avro_scanner *s, const cra_avro_block *block, cra_error *err)
{
    uint64_t left = (uint64_t)block->stored_bytes;
    const size_t held = s->data.size - s->position;

    if (left > held && s->source.skip != NULL && !s->at_end) {
        const uint64_t beyond = left - held;
        const cra_status status = s->source.skip(s->source.user, beyond, err);
        if (status != CRA_OK)
            return status;
        s->data_start += (int64_t)s->data.size + (int64_t)beyond;
        s->data.size = 0;
        s->position = 0;
        left = 0;
    }
    while (left > 0) {
        CRA_TRY(need_bytes(s, 1, "a block", err));
        size_t n = s->data.size - s->position;
        if (n > left)
            n = (size_t)left;
        s->position += n;
        left -= n;
        if (left > 0)
            forget(s);
    }
    CRA_TRY(need_bytes(s, SYNC_SIZE, "a sync mark", err));
    CRA_TRY(check_sync(s, s->position, block->offset, err));
    s->position += SYNC_SIZE;
    return CRA_OK;
}

/* Salvage: go to behind the next sync mark after `from`. CRA_DONE where there is none. */
static cra_status find_sync(cra_avro_scanner *s, int64_t from, cra_error *err)
{
    /* The damaged block's bytes may be in memory still: look at them again. */
    if (from >= s->data_start && from - s->data_start <= (int64_t)s->data.size)
        s->position = (size_t)(from - s->data_start);
    for (;;) {
        const cra_status status = fill(s, SYNC_SIZE, err);
        if (status != CRA_OK) {
            s->skipped_bytes += s->data_start + (int64_t)s->data.size - from;
            s->skipped_ranges++;
            s->position = s->data.size;
            return status;
        }
        for (size_t at = s->position; at + SYNC_SIZE <= s->data.size; at++) {
            const uint8_t *found = memchr(s->data.data + at, s->sync[0], s->data.size - SYNC_SIZE + 1 - at);
            if (found == NULL)
                break;
            at = (size_t)(found - s->data.data);
            if (memcmp(found, s->sync, SYNC_SIZE) == 0) {
                s->position = at + SYNC_SIZE;
                s->skipped_bytes += offset_of(s) - from;
                s->skipped_ranges++;
                return CRA_OK;
            }
        }
        s->position = s->data.size - (SYNC_SIZE - 1);
        forget(s);
    }
}

static cra_status read_block(cra_avro_scanner *s, bool with_payload, cra_avro_block *out, cra_error *err)
{
    for (;;) {
        forget(s);
        cra_status status = read_block_head(s, out, err);
        if (status != CRA_OK)
            return status;
        /* A block of no records may carry bytes; they mean nothing. */
        status = with_payload && out->records > 0 ? load_payload(s, out, err) : skip_payload(s, out, err);
        if (status != CRA_OK || out->records > 0)
            return status;
    }
}

static cra_status next_block(cra_avro_scanner *s, bool with_payload, cra_avro_block *out, cra_error *err)
{
    cra_error cause;

    if (s->failed != CRA_OK) {
        if (s->failed != CRA_DONE && err != NULL)
            *err = s->failure;
        return s->failed;
    }
    for (;;) {
        cra_error_clear(&cause);
        const cra_status status = read_block(s, with_payload, out, &cause);
        if (status == CRA_OK)
            return CRA_OK;
        if (status == CRA_CORRUPT && s->options.salvage) {
            const cra_status found = find_sync(s, out->offset + 1, err);
            if (found == CRA_OK)
                continue;
            s->failed = found;
            return found;
        }
        s->failed = status;
        s->failure = cause;
        if (status != CRA_DONE && err != NULL)
            *err = cause;
        return status;
    }
}

cra_status cra_avro_scanner_next(cra_avro_scanner *scanner, cra_avro_block *out, cra_error *err)
{
    return next_block(scanner, true, out, err);
}

cra_status cra_avro_scanner_skip(cra_avro_scanner *scanner, cra_avro_block *out, cra_error *err)
{
    return next_block(scanner, false, out, err);
}
