/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_TESTS_AVRO_BYTES_H
#define CRA_TESTS_AVRO_BYTES_H

/* Decoding hand-made records: a schema, the bytes of one block, and what comes out as canonical extended JSON. */

#include <string.h>

#include <crawlarchive/codec.h>

#include "base/buf.h"

/* Decode one block of `records` records. The documents as JSON, one behind the other separated by newlines, in `json`
 * (initialised here, always to be cleaned up). */
static inline cra_status decode_bytes(const cra_allocator *allocator, const cra_avro_options *options,
                                      const char *writer, const char *reader, const void *bytes, size_t size,
                                      int64_t records, cra_buf *json, cra_doc_batch *batch, cra_error *err)
{
    const cra_bytes reader_schema = reader != NULL ? cra_bytes_of_str(reader) : (cra_bytes){NULL, 0};
    const cra_avro_block block = {.offset = 100, .records = records, .stored_bytes = (int64_t)size,
                                  .payload = cra_bytes_of(bytes, size)};
    cra_avro_program *program = NULL;
    cra_avro_decoder *decoder = NULL;
    cra_bytes document;

    cra_buf_init(json, NULL);
    memset(batch, 0, sizeof *batch);
    cra_status status =
        cra_avro_program_new(allocator, options, cra_bytes_of_str(writer), reader_schema, &program, err);
    if (status == CRA_OK)
        status = cra_avro_decoder_new(allocator, program, CRA_AVRO_CODEC_NULL, &decoder, err);
    if (status == CRA_OK)
        status = cra_avro_decoder_block(decoder, &block, batch, err);
    cra_bytes rest = batch->documents;
    while (status == CRA_OK && cra_bson_next_document(&rest, &document) == CRA_OK) {
        status = json->size > 0 ? cra_buf_append(json, "\n", 1) : CRA_OK;
        if (status == CRA_OK)
            status = cra_bson_to_json(document, CRA_JSON_CANONICAL, json, err);
    }
    if (status == CRA_OK && cra_buf_cstr(json) == NULL)
        status = CRA_NOMEM;
    cra_avro_decoder_free(decoder);
    cra_avro_program_free(program);
    batch->documents = (cra_bytes){NULL, 0};
    batch->payload = (cra_bytes){NULL, 0};
    batch->dead = NULL;
    return status;
}

#endif
