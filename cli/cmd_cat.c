/* SPDX-License-Identifier: Apache-2.0 */

/* cat: a run's records to standard output */

#include <string.h>

#include "records.h"

/* Split PATH=VALUE; VALUE is JSON, or else the string itself. `path` and `value` live in the buffers. */
static cra_status parse_where(const char *text, cra_buf *path, cra_buf *document, cra_value *value, cra_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return cra_error_set(err, CRA_INVALID, "usage", "option --where: '%s' is not PATH=VALUE", text);
    cra_buf json;
    size_t mark = 0;
    cra_buf_init(&json, NULL);
    cra_status status = cra_buf_append(path, text, (size_t)(equals - text));
    if (status == CRA_OK)
        status = cra_buf_append(&json, "{\"v\":", 5);
    if (status == CRA_OK)
        status = cra_buf_append(&json, equals + 1, strlen(equals + 1));
    if (status == CRA_OK)
        status = cra_buf_append(&json, "}", 1);
    if (status == CRA_OK)
        status = cra_bson_from_json((cra_bytes){json.data, json.size}, document, NULL, NULL);
    if (status != CRA_OK && status != CRA_NOMEM) {
        document->size = 0;
        status = cra_bson_begin(document, &mark);
        if (status == CRA_OK)
            status = cra_bson_put_string(document, "v", equals + 1);
        if (status == CRA_OK)
            status = cra_bson_end(document, mark);
    }
    if (status == CRA_OK)
        status = cra_bson_find((cra_bytes){document->data, document->size}, "v", 1, value);
    cra_buf_cleanup(&json);
    return status == CRA_OK || (err && err->message[0] != '\0')
               ? status
               : cra_error_set(err, status, "usage", "option --where: '%s' cannot be understood", text);
}

static cra_status copy(cra_cli *cli, cra_reader *reader, cra_error *err)
{
    static const cra_cli_to forms[] = {CRA_CLI_TO_NDJSON, CRA_CLI_TO_BSON, CRA_CLI_TO_AVRO};
    cra_cli_sink sink;
    cra_cli_writer writer = {0};
    cra_status status = cra_cli_sink_open(&sink, cli, NULL, err);
    if (status == CRA_OK)
        status = cra_cli_writer_open(&writer, forms[cra_cli_number(&cli->args, CRA_CLI_OPTION_CAT_FORMAT, 0)],
                                     CRA_AVRO_CODEC_SNAPPY, &sink, err);
    while (status == CRA_OK) {
        cra_bytes document;
        status = cra_cli_check_signal(err);
        if (status == CRA_OK)
            status = cra_reader_next(reader, &document, err);
        if (status == CRA_OK)
            status = cra_cli_writer_append(&writer, document, err);
    }
    if (status == CRA_DONE)
        status = cra_cli_writer_finish(&writer, err);
    cra_cli_writer_close(&writer);
    return status;
}

cra_status cra_cmd_cat(cra_cli *cli, cra_error *err)
{
    cra_reader_options options = CRA_READER_OPTIONS_INIT;
    cra_buf path, document;
    cra_run *run = NULL;
    cra_reader *reader = NULL;
    cra_status status = CRA_OK;
    const char *where = cra_cli_text(&cli->args, CRA_CLI_OPTION_WHERE);
    cra_buf_init(&path, NULL);
    cra_buf_init(&document, NULL);
    options.from = (cra_read_from)cra_cli_number(&cli->args, CRA_CLI_OPTION_CAT_FROM, CRA_READ_AUTO);
    options.limit = cra_cli_number(&cli->args, CRA_CLI_OPTION_LIMIT, 0);
    if (where) {
        status = parse_where(where, &path, &document, &options.where, err);
        options.where_path = status == CRA_OK ? cra_buf_cstr(&path) : NULL;
    }
    if (status == CRA_OK)
        status = cra_cli_open_run(cli, CRA_ENGINE_READ_ONLY, &run, err);
    if (status == CRA_OK)
        status = cra_reader_open(cli->engine, run, &options, &reader, err);
    if (status == CRA_OK)
        status = copy(cli, reader, err);
    cra_reader_free(reader);
    cra_run_free(run);
    cra_buf_cleanup(&document);
    cra_buf_cleanup(&path);
    return status == CRA_DONE ? CRA_OK : status;
}
