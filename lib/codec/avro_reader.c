/* SPDX-License-Identifier: Apache-2.0 */

/* Scanner, program and decoder joined, for one thread. */

#include <crawlarchive/codec.h>

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/options.h"

struct cra_avro_reader {
    const cra_allocator *allocator;
    cra_avro_options options;
    cra_avro_scanner *scanner;
    cra_buf reader_schema;
    cra_avro_program *program;
    cra_avro_decoder *decoder;
    uint32_t file_index; /* of the header that program and decoder are for */
};

/* Program and decoder for the header at hand. */
static cra_status take_header(cra_avro_reader *r, cra_error *err)
{
    cra_avro_decoder_free(r->decoder);
    r->decoder = NULL;
    cra_avro_program_free(r->program);
    r->program = NULL;
    const cra_avro_codec codec = cra_avro_scanner_codec(r->scanner);
    cra_bytes name = {NULL, 0};
    if (!cra_avro_codec_supported(codec)) {
        (void)cra_avro_scanner_metadata(r->scanner, "avro.codec", &name);
        return cra_error_set(err, CRA_UNSUPPORTED, "avro", "the codec '%.*s' is not one that this build can read",
                             (int)(name.size > 100 ? 100 : name.size), (const char *)name.data);
    }
    const cra_status status = cra_avro_program_new(r->allocator, &r->options, cra_avro_scanner_schema(r->scanner),
                                                   cra_buf_bytes(&r->reader_schema), &r->program, err);
    return status == CRA_OK ? cra_avro_decoder_new(r->allocator, r->program, codec, &r->decoder, err) : status;
}

cra_status cra_avro_reader_open(const cra_allocator *allocator, const cra_avro_options *options,
                                const cra_source *source, cra_bytes reader_schema, cra_avro_reader **out,
                                cra_error *err)
{
    cra_avro_options own = CRA_AVRO_OPTIONS_INIT;

    *out = NULL;
    if (cra_options_read(&own, sizeof own, options) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, "avro", "options of another version of this library");
    cra_avro_reader *r = cra_calloc(allocator, 1, sizeof *r);
    if (r == NULL)
        return cra_error_set(err, CRA_NOMEM, "avro", "out of memory");
    r->allocator = allocator;
    r->options = own;
    cra_buf_init(&r->reader_schema, allocator);
    cra_status status = cra_buf_append(&r->reader_schema, reader_schema.data, reader_schema.size);
    if (status != CRA_OK)
        cra_error_set(err, status, "avro", "out of memory");
    else
        status = cra_avro_scanner_open(allocator, &own, source, &r->scanner, err);
    if (status == CRA_OK)
        status = take_header(r, err);
    if (status != CRA_OK) {
        cra_avro_reader_free(r);
        return status;
    }
    *out = r;
    return CRA_OK;
}

cra_status cra_avro_reader_next(cra_avro_reader *reader, cra_doc_batch *out, cra_error *err)
{
    for (;;) {
        cra_avro_block block;
        cra_status status = cra_avro_scanner_next(reader->scanner, &block, err);

        memset(out, 0, sizeof *out);
        if (status != CRA_OK)
            return status;
        if (block.file_index != reader->file_index) {
            reader->file_index = block.file_index;
            status = take_header(reader, err);
            if (status != CRA_OK)
                return status;
        }
        status = cra_avro_decoder_block(reader->decoder, &block, out, err);
        if (status == CRA_CORRUPT && reader->options.salvage)
            continue; /* a block that cannot be decoded is left out like one that cannot be found */
        if (status != CRA_OK || out->count > 0 || out->dead_count > 0)
            return status;
    }
}

const cra_avro_scanner *cra_avro_reader_scanner(const cra_avro_reader *reader)
{
    return reader->scanner;
}

void cra_avro_reader_free(cra_avro_reader *reader)
{
    if (reader == NULL)
        return;
    cra_avro_decoder_free(reader->decoder);
    cra_avro_program_free(reader->program);
    cra_avro_scanner_free(reader->scanner);
    cra_buf_cleanup(&reader->reader_schema);
    cra_free(reader->allocator, reader);
}
