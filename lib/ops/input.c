/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/input.h"

#include "base/alloc.h"
#include "base/buf.h"

#define ORIGIN "import"
#define READ_SIZE (256 * 1024)

struct cra_input_reader {
    const cra_allocator *allocator;
    cra_input_bytes bytes;
    const cra_input_format *format; /* NULL: an empty file */
    void *self;
};

/* ---- bytes ------------------------------------------------------------------------------------ */

void cra_input_bytes_init(cra_input_bytes *bytes, const cra_input *input, const cra_allocator *allocator)
{
    memset(bytes, 0, sizeof(*bytes));
    bytes->name = input->name != NULL ? input->name : "input";
    bytes->source = input->source;
    cra_buf_init(&bytes->window, allocator);
}

void cra_input_bytes_cleanup(cra_input_bytes *bytes)
{
    cra_buf_cleanup(&bytes->window);
}

cra_bytes cra_input_bytes_view(const cra_input_bytes *bytes)
{
    return cra_bytes_of(bytes->window.data + bytes->start, bytes->window.size - bytes->start);
}

void cra_input_bytes_consume(cra_input_bytes *bytes, size_t count)
{
    bytes->start += count;
    bytes->offset += (int64_t)count;
}

/* Move what is not consumed to the front, once that is worth it. */
static void compact(cra_input_bytes *bytes)
{
    const size_t left = bytes->window.size - bytes->start;

    if (bytes->start == 0 || left > bytes->start)
        return;
    if (left > 0)
        memmove(bytes->window.data, bytes->window.data + bytes->start, left);
    bytes->window.size = left;
    bytes->start = 0;
}

cra_status cra_input_bytes_more(cra_input_bytes *bytes, cra_error *err)
{
    size_t got = 0;

    if (bytes->ended)
        return CRA_OK;
    compact(bytes);
    if (cra_buf_reserve(&bytes->window, READ_SIZE) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "%s: no memory to read", bytes->name);
    CRA_TRY(bytes->source.read(bytes->source.user, bytes->window.data + bytes->window.size, READ_SIZE, &got, err));
    bytes->window.size += got;
    bytes->ended = got == 0;
    return CRA_OK;
}

cra_status cra_input_bytes_fill(cra_input_bytes *bytes, size_t need, cra_error *err)
{
    while (!bytes->ended && bytes->window.size - bytes->start < need)
        CRA_TRY(cra_input_bytes_more(bytes, err));
    return CRA_OK;
}

/* ---- formats ---------------------------------------------------------------------------------- */

static bool begins_with(cra_bytes view, const char *magic, size_t size)
{
    return view.size >= size && memcmp(view.data, magic, size) == 0;
}

/* The length of a BSON document has a zero (16 MiB: a one) as its last byte; no JSON text has a control character in
 * its first four. */
static bool looks_like_bson(cra_bytes view)
{
    return view.size >= 5 && view.data[3] <= 0x04;
}

static cra_status guess(cra_input_bytes *bytes, cra_format *out, cra_error *err)
{
    cra_bytes view;

    CRA_TRY(cra_input_bytes_fill(bytes, 5, err));
    view = cra_input_bytes_view(bytes);
    if (begins_with(view, "Obj\1", 4)) {
        *out = CRA_FORMAT_AVRO;
        return CRA_OK;
    }
    if (begins_with(view, "\x1f\x8b", 2) || begins_with(view, "\x28\xb5\x2f\xfd", 4)) {
        cra_error_set(err, CRA_UNSUPPORTED, ORIGIN, "%s is compressed", bytes->name);
        cra_error_hint(err, "decompress it into a pipe and import -");
        return CRA_UNSUPPORTED;
    }
    *out = looks_like_bson(view) ? CRA_FORMAT_BSON : CRA_FORMAT_JSON;
    return CRA_OK;
}

static cra_status choose(cra_input_reader *reader, cra_format wanted, cra_error *err)
{
    cra_format format = wanted;

    if (format == CRA_FORMAT_AUTO)
        CRA_TRY(guess(&reader->bytes, &format, err));
    switch (format) {
    case CRA_FORMAT_JSON:
    case CRA_FORMAT_NDJSON:
        reader->format = &cra_input_json;
        return CRA_OK;
    case CRA_FORMAT_BSON:
        reader->format = &cra_input_bson;
        return CRA_OK;
    case CRA_FORMAT_AVRO:
        reader->format = &cra_input_avro;
        return CRA_OK;
    case CRA_FORMAT_AUTO:
    default:
        return cra_error_set(err, CRA_INVALID, ORIGIN, "%s: unknown format", reader->bytes.name);
    }
}

static cra_status open_format(cra_input_reader *reader, const cra_input *input, const cra_avro_options *avro,
                              cra_error *err)
{
    cra_status status;

    if (input->source.read == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "%s: the source cannot be read", reader->bytes.name);
    CRA_TRY(choose(reader, input->format, err));
    status = reader->format->open(reader->allocator, &reader->bytes, avro, &reader->self, err);
    if (status != CRA_DONE)
        return status;
    reader->format = NULL;
    return CRA_OK;
}

cra_status cra_input_reader_open(const cra_allocator *allocator, const cra_input *input, const cra_avro_options *avro,
                                 cra_input_reader **out, cra_error *err)
{
    cra_input_reader *reader = cra_calloc(allocator, 1, sizeof(*reader));
    cra_status status;

    *out = NULL;
    if (reader == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory to read");
    reader->allocator = allocator;
    cra_input_bytes_init(&reader->bytes, input, allocator);
    status = open_format(reader, input, avro, err);
    if (status != CRA_OK) {
        cra_input_reader_free(reader);
        return status;
    }
    *out = reader;
    return CRA_OK;
}

cra_status cra_input_reader_next(cra_input_reader *reader, cra_input_record *out, cra_error *err)
{
    memset(out, 0, sizeof(*out));
    return reader->format == NULL ? CRA_DONE : reader->format->next(reader->self, out, err);
}

void cra_input_reader_free(cra_input_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->format != NULL && reader->self != NULL)
        reader->format->close(reader->self);
    cra_input_bytes_cleanup(&reader->bytes);
    cra_free(reader->allocator, reader);
}
