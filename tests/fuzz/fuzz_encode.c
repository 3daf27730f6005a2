/* SPDX-License-Identifier: Apache-2.0 */

/* The writer on arbitrary bytes: the first document makes the schema, all are encoded by it. What the writer takes
 * must come back byte for byte. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crawlarchive/codec.h>

#include "base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_encode: %s\n", what);
        abort();
    }
}

static cra_status append_to(void *user, const void *data, size_t size, cra_error *err)
{
    (void)err;
    return cra_buf_append(user, data, size);
}

static cra_status read_view(void *user, void *buffer, size_t capacity, size_t *got, cra_error *err)
{
    cra_bytes *rest = user;

    (void)err;
    *got = rest->size < capacity ? rest->size : capacity;
    if (*got > 0)
        memcpy(buffer, rest->data, *got);
    rest->data += *got;
    rest->size -= *got;
    return CRA_OK;
}

static void read_back(const cra_buf *file, cra_bytes expected)
{
    cra_bytes rest = cra_buf_bytes(file);
    const cra_source source = {sizeof source, read_view, NULL, &rest};
    const cra_bytes none = {NULL, 0};
    cra_avro_reader *reader;
    cra_doc_batch batch;
    cra_status status;

    require(cra_avro_reader_open(NULL, NULL, &source, none, &reader, NULL) == CRA_OK, "the file does not open");
    while ((status = cra_avro_reader_next(reader, &batch, NULL)) == CRA_OK) {
        require(batch.dead_count == 0, "a record is refused");
        require(batch.documents.size <= expected.size &&
                    memcmp(batch.documents.data, expected.data, batch.documents.size) == 0,
                "a document differs");
        expected.data += batch.documents.size;
        expected.size -= batch.documents.size;
    }
    require(status == CRA_DONE && expected.size == 0, "documents are missing");
    cra_avro_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cra_avro_writer_options options = CRA_AVRO_WRITER_OPTIONS_INIT;
    cra_avro_writer *writer;
    cra_bytes stream = {data, size}, document;
    cra_buf file, taken;

    memcpy(options.sync, "0123456789abcdef", 16);
    options.codec = CRA_AVRO_CODEC_NULL;
    options.sample_bytes = 1;
    options.block_bytes = 256;
    cra_buf_init(&file, NULL);
    cra_buf_init(&taken, NULL);
    require(cra_avro_writer_open(NULL, &options, append_to, &file, &writer, NULL) == CRA_OK, "no writer");
    while (cra_bson_next_document(&stream, &document) == CRA_OK) {
        const cra_status status = cra_avro_writer_append(writer, document, NULL);
        require(status == CRA_OK || status == CRA_CORRUPT, "an odd status");
        require((status == CRA_OK) == (cra_bson_validate(document, 0, NULL) == CRA_OK), "validity is seen differently");
        if (status == CRA_OK)
            require(cra_buf_append(&taken, document.data, document.size) == CRA_OK, "no memory");
    }
    require(cra_avro_writer_finish(writer, NULL, NULL) == CRA_OK, "the file does not end");
    read_back(&file, cra_buf_bytes(&taken));
    cra_avro_writer_free(writer);
    cra_buf_cleanup(&file);
    cra_buf_cleanup(&taken);
    return 0;
}
