/* SPDX-License-Identifier: Apache-2.0 */

/* convert: the codec alone, file to file */

#include <errno.h>
#include <string.h>

#include "records.h"

enum bad_records { BAD_FAIL, BAD_SKIP, BAD_DIVERT };

typedef struct conversion {
    cra_cli *cli;
    cra_format from;
    cra_avro_options avro;
    enum bad_records policy;
    FILE *diverted;
    cra_cli_sink sink;
    cra_cli_writer writer;
    cra_buf schema; /* the last one that was printed */
    int64_t bytes_in;
    int64_t bad;
    int64_t skipped;
} conversion;

/* ---- bad records ----------------------------------------------------------------------------- */

static void base64(cra_bytes bytes, cra_buf *out, cra_cli_json *json)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.size && json->status == CRA_OK; i += 3) {
        size_t left = bytes.size - i;
        uint32_t group = (uint32_t)bytes.data[i] << 16 | (left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0) |
                         (left > 2 ? bytes.data[i + 2] : 0u);
        char text[4] = {digits[group >> 18], digits[group >> 12 & 63], left > 1 ? digits[group >> 6 & 63] : '=',
                        left > 2 ? digits[group & 63] : '='};
        json->status = cra_buf_append(out, text, 4);
    }
}

static cra_status divert(conversion *self, const char *path, const cra_cli_record *record, cra_error *err)
{
    cra_cli_json json;
    cra_buf payload;
    cra_buf_init(&payload, NULL);
    cra_cli_json_begin(&json, NULL);
    cra_cli_json_put_text(&json, "file", path);
    cra_cli_json_put_int(&json, "offset", record->offset);
    cra_cli_json_put_int(&json, "record", record->record);
    cra_cli_json_put_text(&json, "reason", record->reason);
    base64(record->payload, &payload, &json);
    cra_cli_json_put_text(&json, "payload", payload.size > 0 ? cra_buf_cstr(&payload) : "");
    cra_cli_json_close(&json, '}');
    cra_status status = json.status;
    if (status != CRA_OK)
        cra_error_set(err, status, "convert", "out of memory");
    else if (fwrite(json.text.data, 1, json.text.size, self->diverted) != json.text.size ||
             fputc('\n', self->diverted) == EOF)
        status = cra_error_set_native(err, CRA_IO, errno, "file", "%s: %s",
                                      cra_cli_text(&self->cli->args, CRA_CLI_OPTION_BAD_RECORDS), strerror(errno));
    cra_buf_cleanup(&payload);
    cra_cli_json_cleanup(&json);
    return status;
}

static cra_status take_bad(conversion *self, const char *path, const cra_cli_record *record, cra_error *err)
{
    self->bad++;
    if (self->policy == BAD_FAIL) {
        cra_error_set(err, CRA_CORRUPT, "convert", "%s: offset %lld, record %lld: %s", path, (long long)record->offset,
                      (long long)record->record, record->reason);
        cra_error_hint(err, "--bad-records skip leaves such records out, divert=FILE keeps them");
        return CRA_CORRUPT;
    }
    if (self->cli->verbose > 0)
        cra_cli_warn(self->cli, "%s: offset %lld, record %lld: %s", path, (long long)record->offset,
                     (long long)record->record, record->reason);
    return self->policy == BAD_DIVERT ? divert(self, path, record, err) : CRA_OK;
}

/* ---- one input ------------------------------------------------------------------------------- */

/* The schema as the file says it; the same one twice is printed once. */
static cra_status print_schema(conversion *self, cra_bytes schema, cra_error *err)
{
    if (self->schema.size == schema.size && memcmp(self->schema.data, schema.data, schema.size) == 0)
        return CRA_OK;
    self->schema.size = 0;
    cra_status status = cra_buf_append(&self->schema, schema.data, schema.size);
    if (status != CRA_OK)
        return cra_error_set(err, status, "convert", "out of memory");
    status = cra_cli_sink_write(&self->sink, schema.data, schema.size, err);
    return status == CRA_OK ? cra_cli_sink_write(&self->sink, "\n", 1, err) : status;
}

static cra_status copy_record(conversion *self, const char *path, cra_cli_record *record, cra_error *err)
{
    cra_error why = {0};
    if (record->bad)
        return take_bad(self, path, record, err);
    cra_status status = cra_cli_writer_append(&self->writer, record->document, &why);
    if (status == CRA_CORRUPT) { /* it is whole, but has no form there, such as text that is not UTF-8 in JSON */
        record->payload = record->document;
        snprintf(record->reason, sizeof record->reason, "%.255s", why.message);
        return take_bad(self, path, record, err);
    }
    if (status != CRA_OK && err)
        *err = why;
    return status;
}

static cra_status copy_records(conversion *self, const char *path, cra_cli_reader *reader, cra_error *err)
{
    cra_cli_record record;
    for (;;) {
        cra_status status = cra_cli_check_signal(err);
        if (status == CRA_OK)
            status = cra_cli_reader_next(reader, &record, err);
        if (status == CRA_OK)
            status = copy_record(self, path, &record, err);
        if (status != CRA_OK)
            return status == CRA_DONE ? CRA_OK : status;
    }
}

static cra_status convert_file(conversion *self, const char *path, cra_error *err)
{
    cra_cli_file file;
    cra_cli_reader *reader = NULL;
    cra_status status = cra_cli_file_init(&file, path, err);
    if (status == CRA_OK)
        status = cra_cli_reader_open(&file, self->from, &self->avro, &reader, err);
    if (status == CRA_DONE) {
        cra_cli_warn(self->cli, "%s is empty", path);
        status = CRA_OK;
    } else if (status == CRA_OK) {
        cra_bytes schema = cra_cli_reader_schema(reader);
        if (self->writer.to == CRA_CLI_TO_SCHEMA && schema.size > 0)
            status = print_schema(self, schema, err);
        else
            status = copy_records(self, path, reader, err);
        int64_t skipped = cra_cli_reader_skipped(reader);
        if (skipped > 0)
            cra_cli_warn(self->cli, "%s: %lld damaged bytes were left out", path, (long long)skipped);
        self->skipped += skipped;
    }
    self->bytes_in += file.bytes;
    cra_cli_reader_free(reader);
    cra_cli_file_close(&file);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static cra_status take_options(conversion *self, cra_error *err)
{
    const cra_cli_args *args = &self->cli->args;
    if (!cra_cli_given(args, CRA_CLI_OPTION_TO))
        return cra_error_set(err, CRA_INVALID, "usage", "convert needs --to ndjson, json, bson, avro, schema or count");
    self->from = (cra_format)cra_cli_number(args, CRA_CLI_OPTION_CONVERT_FROM, CRA_FORMAT_AUTO);
    self->policy = (enum bad_records)cra_cli_number(args, CRA_CLI_OPTION_BAD_RECORDS, BAD_FAIL);
    self->avro.invalid_utf8 = (cra_utf8_policy)cra_cli_number(args, CRA_CLI_OPTION_INVALID_UTF8, CRA_UTF8_ERROR);
    self->avro.salvage = cra_cli_given(args, CRA_CLI_OPTION_SALVAGE);
    if (self->policy != BAD_DIVERT)
        return CRA_OK;
    const char *path = cra_cli_text(args, CRA_CLI_OPTION_BAD_RECORDS);
    self->diverted = fopen(path, "w");
    if (!self->diverted)
        return cra_error_set_native(err, cra_status_from_errno(errno), errno, "file", "%s: %s", path, strerror(errno));
    return CRA_OK;
}

static cra_status convert_files(conversion *self, cra_error *err)
{
    const cra_cli_args *args = &self->cli->args;
    cra_status status = CRA_OK;
    for (size_t i = 0; i < args->count && status == CRA_OK; i++)
        status = convert_file(self, args->arguments[i], err);
    if (status != CRA_OK && status != CRA_CORRUPT)
        return status;
    /* What was whole in a damaged input is written, too. */
    cra_error later = {0};
    cra_status end = cra_cli_writer_finish(&self->writer, &later);
    if (end == CRA_OK)
        end = cra_cli_sink_commit(&self->sink, &later);
    if (end == CRA_OK || status != CRA_OK)
        return status;
    if (err)
        *err = later;
    return end;
}

static cra_status close_diverted(conversion *self, cra_status status, cra_error *err)
{
    bool failed = self->diverted && fclose(self->diverted) != 0;
    if (!failed || status < CRA_OK)
        return status;
    return cra_error_set_native(err, CRA_IO, errno, "file", "%s: %s",
                                cra_cli_text(&self->cli->args, CRA_CLI_OPTION_BAD_RECORDS), strerror(errno));
}

cra_status cra_cmd_convert(cra_cli *cli, cra_error *err)
{
    conversion self;
    memset(&self, 0, sizeof self);
    self.cli = cli;
    self.avro = (cra_avro_options)CRA_AVRO_OPTIONS_INIT;
    cra_buf_init(&self.schema, NULL);
    cra_status status = take_options(&self, err);
    if (status == CRA_OK)
        status = cra_cli_sink_open(&self.sink, cli, cra_cli_text(&cli->args, CRA_CLI_OPTION_OUTPUT_FILE), err);
    if (status == CRA_OK)
        status = cra_cli_writer_open(
            &self.writer, (cra_cli_to)cra_cli_number(&cli->args, CRA_CLI_OPTION_TO, CRA_CLI_TO_NDJSON),
            (cra_avro_codec)cra_cli_number(&cli->args, CRA_CLI_OPTION_CODEC, CRA_AVRO_CODEC_SNAPPY), &self.sink, err);
    if (status == CRA_OK) {
        status = convert_files(&self, err);
        if (status == CRA_OK || status == CRA_CORRUPT) {
            cra_cli_sum_int(cli, "records", self.writer.records);
            cra_cli_sum_int(cli, "bytes_in", self.bytes_in);
            cra_cli_sum_int(cli, "bytes_out", self.sink.bytes);
            cra_cli_sum_int(cli, "bad_records", self.bad);
            if (cli->json || cli->verbose > 0 || self.bad > 0 || self.skipped > 0 || self.sink.path)
                cra_cli_print_summary(cli, stderr);
        }
    }
    status = close_diverted(&self, status, err);
    if (status == CRA_OK && (self.bad > 0 || self.skipped > 0))
        status = CRA_PARTIAL;
    cra_cli_writer_close(&self.writer);
    cra_cli_sink_close(&self.sink);
    cra_buf_cleanup(&self.schema);
    return status;
}
