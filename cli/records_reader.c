/* SPDX-License-Identifier: Apache-2.0 */

/* Records of a file: Avro containers, concatenated BSON, JSON by bracket or by line. */

#include <stdlib.h>
#include <string.h>

#include "records.h"

#define LONGEST_RECORD (64u * 1024u * 1024u)
#define CHUNK (64u * 1024u)

enum json_place { TOP, FIRST, BEHIND_ITEM, ITEM }; /* where in an array, if in one */

struct cra_cli_reader {
    cra_cli_file *file;
    cra_format format; /* never AUTO */
    cra_buf window;    /* what is read and not consumed begins at `start` */
    size_t start;
    int64_t offset; /* of `start` in the file */
    int64_t records;
    size_t pending; /* bytes of the record that was handed out: consumed at the next call */
    enum json_place place;
    cra_buf document;
    cra_avro_reader *avro;
    cra_doc_batch batch;
    cra_bytes rest; /* documents of the batch that are still to be handed out */
    size_t dead;    /* dead letters of it that were */
    int64_t index;  /* of the next record in the block */
};

static cra_bytes view(const cra_cli_reader *reader)
{
    return (cra_bytes){reader->window.data + reader->start, reader->window.size - reader->start};
}

static void consume(cra_cli_reader *reader, size_t count)
{
    reader->start += count;
    reader->offset += (int64_t)count;
}

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "records", "out of memory");
}

static cra_status corrupt(const cra_cli_reader *reader, const char *what, cra_error *err)
{
    return cra_error_set(err, CRA_CORRUPT, "records", "%s: offset %lld: %s", reader->file->path,
                         (long long)reader->offset, what);
}

/* One more read into the window; nothing at the end of the file. */
static cra_status more(cra_cli_reader *reader, cra_error *err)
{
    if (reader->file->ended)
        return CRA_OK;
    if (reader->start > 0) {
        memmove(reader->window.data, reader->window.data + reader->start, reader->window.size - reader->start);
        reader->window.size -= reader->start;
        reader->start = 0;
    }
    size_t room =
        reader->window.size > CHUNK ? reader->window.size : CHUNK; /* doubling: a long record is not quadratic */
    size_t got = 0;
    if (cra_buf_reserve(&reader->window, room) != CRA_OK)
        return no_memory(err);
    cra_status status = cra_cli_file_read(reader->file, reader->window.data + reader->window.size, room, &got, err);
    reader->window.size += got;
    return status;
}

static cra_status fill(cra_cli_reader *reader, size_t need, cra_error *err)
{
    cra_status status = CRA_OK;
    while (status == CRA_OK && view(reader).size < need && !reader->file->ended)
        status = more(reader, err);
    return status;
}

static void set_bad(cra_cli_reader *reader, const cra_error *why, size_t size, cra_cli_record *out)
{
    out->bad = true;
    out->document = (cra_bytes){NULL, 0};
    snprintf(out->reason, sizeof out->reason, "%.255s", why->message);
    out->payload = (cra_bytes){view(reader).data, size};
}

static void begin_record(cra_cli_reader *reader, size_t size, cra_cli_record *out)
{
    out->bad = false;
    out->reason[0] = '\0';
    out->offset = reader->offset;
    out->record = reader->records++;
    reader->pending = size;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static cra_status parse_json(cra_cli_reader *reader, size_t size, cra_cli_record *out, cra_error *err)
{
    cra_error why = {0};
    begin_record(reader, size, out);
    reader->document.size = 0;
    cra_status status = cra_bson_from_json((cra_bytes){view(reader).data, size}, &reader->document, NULL, &why);
    if (status == CRA_NOMEM)
        return no_memory(err);
    if (status != CRA_OK)
        set_bad(reader, &why, size, out);
    else
        out->document = (cra_bytes){reader->document.data, reader->document.size};
    return CRA_OK;
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static cra_status skip_blanks(cra_cli_reader *reader, cra_error *err)
{
    for (;;) {
        cra_status status = fill(reader, 1, err);
        cra_bytes now = view(reader);
        size_t blank = 0;
        while (blank < now.size && is_blank(now.data[blank]))
            blank++;
        consume(reader, blank);
        if (status != CRA_OK || blank < now.size || now.size == 0)
            return status;
    }
}

/* Length of the line at the window's start, without its end. */
static cra_status measure_line(cra_cli_reader *reader, size_t *out, cra_error *err)
{
    for (size_t from = 0;;) {
        cra_bytes now = view(reader);
        const uint8_t *end = now.size > from ? memchr(now.data + from, '\n', now.size - from) : NULL;
        if (end || reader->file->ended) {
            *out = end ? (size_t)(end - now.data) : now.size;
            return CRA_OK;
        }
        if (now.size > LONGEST_RECORD)
            return corrupt(reader, "the line that begins here is longer than 64 MiB", err);
        from = now.size;
        cra_status status = more(reader, err);
        if (status != CRA_OK)
            return status;
    }
}

static cra_status next_line(cra_cli_reader *reader, cra_cli_record *out, cra_error *err)
{
    size_t length = 0;
    cra_status status = skip_blanks(reader, err);
    if (status == CRA_OK && view(reader).size == 0)
        return CRA_DONE;
    if (status == CRA_OK)
        status = measure_line(reader, &length, err);
    return status == CRA_OK ? parse_json(reader, length, out, err) : status;
}

/* Walk the brackets until an object begins. */
static cra_status find_object(cra_cli_reader *reader, cra_error *err)
{
    for (;;) {
        cra_status status = skip_blanks(reader, err);
        if (status != CRA_OK)
            return status;
        if (view(reader).size == 0)
            return reader->place == TOP ? CRA_DONE : corrupt(reader, "the file is cut inside an array", err);
        uint8_t next = *view(reader).data;
        if (next == '{')
            return reader->place == BEHIND_ITEM ? corrupt(reader, "',' or ']' was expected", err) : CRA_OK;
        if (next == '[' && reader->place == TOP)
            reader->place = FIRST;
        else if (next == ']' && (reader->place == FIRST || reader->place == BEHIND_ITEM))
            reader->place = TOP;
        else if (next == ',' && reader->place == BEHIND_ITEM)
            reader->place = ITEM;
        else
            return corrupt(reader, "a record must be a JSON object", err);
        consume(reader, 1);
    }
}

/* Extent of the object at the window's start; braces inside strings do not count. */
static cra_status measure_object(cra_cli_reader *reader, size_t *out, cra_error *err)
{
    bool in_string = false, escaped = false;
    size_t depth = 0;
    for (size_t at = 0;; at++) {
        if (at == view(reader).size) {
            cra_status status = more(reader, err);
            if (status != CRA_OK)
                return status;
            if (at == view(reader).size)
                return corrupt(reader, "the file is cut inside the object that begins here", err);
        }
        if (at > LONGEST_RECORD)
            return corrupt(reader, "the object that begins here is longer than 64 MiB", err);
        uint8_t byte = view(reader).data[at];
        if (in_string) {
            in_string = escaped || byte != '"';
            escaped = !escaped && byte == '\\';
        } else if (byte == '"') {
            in_string = true;
        } else if (byte == '{') {
            depth++;
        } else if (byte == '}' && --depth == 0) {
            *out = at + 1;
            return CRA_OK;
        }
    }
}

static cra_status next_object(cra_cli_reader *reader, cra_cli_record *out, cra_error *err)
{
    size_t length = 0;
    cra_status status = find_object(reader, err);
    if (status == CRA_OK)
        status = measure_object(reader, &length, err);
    if (status != CRA_OK)
        return status;
    if (reader->place != TOP)
        reader->place = BEHIND_ITEM;
    return parse_json(reader, length, out, err);
}

/* ---- BSON ------------------------------------------------------------------------------------ */

static uint32_t little_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static cra_status next_bson(cra_cli_reader *reader, cra_cli_record *out, cra_error *err)
{
    cra_error why = {0};
    cra_status status = fill(reader, 4, err);
    if (status != CRA_OK)
        return status;
    if (view(reader).size == 0)
        return CRA_DONE;
    if (view(reader).size < 4)
        return corrupt(reader, "the file is cut inside a document's length", err);
    size_t length = little_endian(view(reader).data);
    if (length < 5 || length > LONGEST_RECORD)
        return corrupt(reader, "no BSON document begins here", err);
    status = fill(reader, length, err);
    if (status != CRA_OK)
        return status;
    if (view(reader).size < length)
        return corrupt(reader, "the file is cut inside the document that begins here", err);
    begin_record(reader, length, out);
    out->document = (cra_bytes){view(reader).data, length};
    if (cra_bson_validate(out->document, 0, &why) != CRA_OK)
        set_bad(reader, &why, length, out);
    return CRA_OK;
}

/* ---- Avro ------------------------------------------------------------------------------------ */

/* The bytes that were looked at to tell the format come first. */
static cra_status avro_read(void *user, void *buffer, size_t capacity, size_t *got, cra_error *err)
{
    cra_cli_reader *reader = user;
    cra_bytes now = view(reader);
    if (now.size == 0)
        return cra_cli_file_read(reader->file, buffer, capacity, got, err);
    *got = now.size < capacity ? now.size : capacity;
    memcpy(buffer, now.data, *got);
    consume(reader, *got);
    return CRA_OK;
}

static cra_status in_file(const cra_cli_reader *reader, cra_status status, cra_error *err)
{
    if (status == CRA_OK || status == CRA_DONE || status == CRA_CANCELLED || !err)
        return status;
    cra_error cause = *err;
    cra_error_set_native(err, status, cause.native_code, cause.origin, "%s: %.400s", reader->file->path, cause.message);
    return status;
}

static cra_status next_avro(cra_cli_reader *reader, cra_cli_record *out, cra_error *err)
{
    while (reader->rest.size == 0 && reader->dead == reader->batch.dead_count) {
        cra_status status = cra_avro_reader_next(reader->avro, &reader->batch, err);
        if (status != CRA_OK) {
            memset(&reader->batch, 0, sizeof reader->batch);
            reader->dead = 0;
            return in_file(reader, status, err);
        }
        reader->rest = reader->batch.documents;
        reader->dead = 0;
        reader->index = 0;
    }
    const cra_doc_batch *batch = &reader->batch;
    out->offset = batch->block_offset;
    out->record = reader->index++;
    out->bad =
        reader->dead < batch->dead_count && (batch->dead[reader->dead].record <= out->record || reader->rest.size == 0);
    if (!out->bad)
        return in_file(reader, cra_bson_next_document(&reader->rest, &out->document), err);
    const cra_dead_letter *letter = &batch->dead[reader->dead++];
    out->offset = letter->block_offset;
    out->record = letter->record;
    out->document = (cra_bytes){NULL, 0};
    snprintf(out->reason, sizeof out->reason, "%s", letter->reason);
    out->payload = (cra_bytes){NULL, 0};
    if (letter->byte_offset >= 0 && letter->byte_size >= 0 && (uint64_t)letter->byte_offset <= batch->payload.size &&
        (uint64_t)letter->byte_size <= batch->payload.size - (uint64_t)letter->byte_offset)
        out->payload = (cra_bytes){batch->payload.data + letter->byte_offset, (size_t)letter->byte_size};
    return CRA_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* An object that ends on its first line is NDJSON, where one bad line does not hide the next. */
static cra_status json_by_line(cra_cli_reader *reader, cra_format *out, cra_error *err)
{
    size_t length = 0;
    cra_status status = measure_line(reader, &length, err);
    const uint8_t *text = view(reader).data;
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    *out = length > 0 && text[0] == '{' && text[length - 1] == '}' ? CRA_FORMAT_NDJSON : CRA_FORMAT_JSON;
    return status;
}

static cra_status guess(cra_cli_reader *reader, cra_error *err)
{
    cra_bytes head = view(reader);
    bool binary = head.size >= 4 && memchr(head.data, 0, 4); /* as the length of every document up to 16 MiB */
    if (head.size >= 4 && memcmp(head.data, "Obj\x01", 4) == 0) {
        reader->format = CRA_FORMAT_AVRO;
    } else if (head.size >= 2 && head.data[0] == 0x1F && head.data[1] == 0x8B) {
        cra_error_set(err, CRA_UNSUPPORTED, "records", "%s is compressed by gzip", reader->file->path);
        cra_error_hint(err, "zcat %s | crawlarchive ... -", reader->file->path);
        return CRA_UNSUPPORTED;
    } else if (!binary && memchr("{[ \t\r\n", head.data[0], 6)) {
        cra_status status = skip_blanks(reader, err);
        return status == CRA_OK && view(reader).size > 0 ? json_by_line(reader, &reader->format, err) : status;
    } else if (head.size >= 5 && little_endian(head.data) >= 5 && little_endian(head.data) <= LONGEST_RECORD) {
        reader->format = CRA_FORMAT_BSON;
    } else {
        return corrupt(reader, "this is neither Avro nor BSON nor JSON", err);
    }
    return CRA_OK;
}

static cra_status open_reader(cra_cli_reader *reader, const cra_avro_options *avro, cra_error *err)
{
    cra_status status = fill(reader, 5, err);
    if (status != CRA_OK)
        return status;
    if (view(reader).size == 0)
        return CRA_DONE;
    if (reader->format != CRA_FORMAT_AVRO && reader->format != CRA_FORMAT_BSON && view(reader).size >= 3 &&
        memcmp(view(reader).data, "\xEF\xBB\xBF", 3) == 0)
        consume(reader, 3);
    if (reader->format == CRA_FORMAT_AUTO && view(reader).size > 0)
        status = guess(reader, err);
    if (status == CRA_OK && reader->format == CRA_FORMAT_AVRO) {
        cra_source source = {sizeof source, avro_read, NULL, reader};
        status =
            in_file(reader, cra_avro_reader_open(NULL, avro, &source, (cra_bytes){NULL, 0}, &reader->avro, err), err);
    }
    return status;
}

cra_status cra_cli_reader_open(cra_cli_file *file, cra_format format, const cra_avro_options *avro,
                               cra_cli_reader **out, cra_error *err)
{
    *out = NULL;
    cra_cli_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return no_memory(err);
    reader->file = file;
    reader->format = format;
    cra_buf_init(&reader->window, NULL);
    cra_buf_init(&reader->document, NULL);
    cra_status status = open_reader(reader, avro, err);
    if (status == CRA_OK)
        *out = reader;
    else
        cra_cli_reader_free(reader);
    return status;
}

cra_status cra_cli_reader_next(cra_cli_reader *reader, cra_cli_record *out, cra_error *err)
{
    consume(reader, reader->pending);
    reader->pending = 0;
    switch (reader->format) {
    case CRA_FORMAT_AVRO:
        return next_avro(reader, out, err);
    case CRA_FORMAT_BSON:
        return next_bson(reader, out, err);
    case CRA_FORMAT_NDJSON:
        return next_line(reader, out, err);
    case CRA_FORMAT_AUTO: /* nothing but white space */
    case CRA_FORMAT_JSON:
        break;
    }
    return next_object(reader, out, err);
}

cra_bytes cra_cli_reader_schema(const cra_cli_reader *reader)
{
    return reader->avro ? cra_avro_scanner_schema(cra_avro_reader_scanner(reader->avro)) : (cra_bytes){NULL, 0};
}

int64_t cra_cli_reader_skipped(const cra_cli_reader *reader)
{
    int64_t ranges = 0;
    return reader->avro ? cra_avro_scanner_skipped(cra_avro_reader_scanner(reader->avro), &ranges) : 0;
}

void cra_cli_reader_free(cra_cli_reader *reader)
{
    if (!reader)
        return;
    cra_avro_reader_free(reader->avro);
    cra_buf_cleanup(&reader->document);
    cra_buf_cleanup(&reader->window);
    free(reader);
}
