/* SPDX-License-Identifier: Apache-2.0 */

/* Documents into NDJSON, a JSON array, BSON, Avro, a schema or a count. */

#include <string.h>
#include <unistd.h>

#include "records.h"

static cra_status open_avro(cra_cli_writer *writer, cra_avro_codec codec, cra_error *err)
{
    cra_avro_writer_options options = CRA_AVRO_WRITER_OPTIONS_INIT;
    options.codec = codec;
    if (getentropy(options.sync, sizeof options.sync) != 0)
        return cra_error_set(err, CRA_IO, "random", "the system gives no random bytes");
    return cra_avro_writer_open(NULL, &options, cra_cli_sink_write, writer->sink, &writer->avro, err);
}

cra_status cra_cli_writer_open(cra_cli_writer *writer, cra_cli_to to, cra_avro_codec codec, cra_cli_sink *sink,
                               cra_error *err)
{
    memset(writer, 0, sizeof *writer);
    writer->to = to;
    writer->sink = sink;
    cra_buf_init(&writer->text, NULL);
    if (to == CRA_CLI_TO_AVRO)
        return open_avro(writer, codec, err);
    if (to == CRA_CLI_TO_SCHEMA)
        return cra_avro_infer_new(NULL, &writer->infer, err);
    return CRA_OK;
}

static cra_status append_json(cra_cli_writer *writer, cra_bytes document, cra_error *err)
{
    cra_buf *text = &writer->text;
    text->size = 0;
    cra_status status = CRA_OK;
    if (writer->to == CRA_CLI_TO_JSON)
        status = cra_buf_append(text, writer->records == 0 ? "[\n" : ",\n", 2);
    if (status == CRA_OK)
        status = cra_bson_to_json(document, CRA_JSON_CANONICAL, text, err);
    if (status == CRA_OK && writer->to == CRA_CLI_TO_NDJSON)
        status = cra_buf_append(text, "\n", 1);
    if (status == CRA_OK)
        status = cra_cli_sink_write(writer->sink, text->data, text->size, err);
    return status;
}

cra_status cra_cli_writer_append(cra_cli_writer *writer, cra_bytes document, cra_error *err)
{
    cra_status status = CRA_OK;
    switch (writer->to) {
    case CRA_CLI_TO_NDJSON:
    case CRA_CLI_TO_JSON:
        status = append_json(writer, document, err);
        break;
    case CRA_CLI_TO_BSON:
        status = cra_cli_sink_write(writer->sink, document.data, document.size, err);
        break;
    case CRA_CLI_TO_AVRO:
        status = cra_avro_writer_append(writer->avro, document, err);
        break;
    case CRA_CLI_TO_SCHEMA:
        status = cra_avro_infer_add(writer->infer, document, err);
        break;
    case CRA_CLI_TO_COUNT:
        break;
    }
    if (status == CRA_OK)
        writer->records++;
    return status;
}

static cra_status finish_text(cra_cli_writer *writer, cra_error *err)
{
    char number[32];
    switch (writer->to) {
    case CRA_CLI_TO_JSON:
        return writer->records == 0 ? cra_cli_sink_write(writer->sink, "[]\n", 3, err)
                                    : cra_cli_sink_write(writer->sink, "\n]\n", 3, err);
    case CRA_CLI_TO_COUNT:
        return cra_cli_sink_write(writer->sink, number,
                                  (size_t)snprintf(number, sizeof number, "%lld\n", (long long)writer->records), err);
    default:
        return CRA_OK;
    }
}

cra_status cra_cli_writer_finish(cra_cli_writer *writer, cra_error *err)
{
    if (writer->to == CRA_CLI_TO_AVRO)
        return cra_avro_writer_finish(writer->avro, NULL, err);
    if (writer->to != CRA_CLI_TO_SCHEMA)
        return finish_text(writer, err);
    if (writer->records == 0)
        return CRA_OK;
    writer->text.size = 0;
    cra_status status = cra_avro_infer_schema(writer->infer, "Record", &writer->text, err);
    if (status == CRA_OK)
        status = cra_buf_append(&writer->text, "\n", 1);
    return status == CRA_OK ? cra_cli_sink_write(writer->sink, writer->text.data, writer->text.size, err) : status;
}

void cra_cli_writer_close(cra_cli_writer *writer)
{
    cra_avro_writer_free(writer->avro);
    cra_avro_infer_free(writer->infer);
    cra_buf_cleanup(&writer->text);
    writer->avro = NULL;
    writer->infer = NULL;
}
