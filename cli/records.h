/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CLI_RECORDS_H
#define CRA_CLI_RECORDS_H

/* Records out of files and into them, one at a time and in bounded memory. */

#include "output.h"

/* ---- a file as a source ---------------------------------------------------------------------- */

/* Reads one file, opened at the first read and closed at its end; "-" is standard input. A signal ends a read. */
typedef struct cra_cli_file {
    const char *path; /* borrowed */
    int descriptor;   /* -1: not open */
    bool ended;
    int64_t bytes; /* read so far */
} cra_cli_file;

/* Check that the file is there and can be read. @return CRA_NOT_FOUND, CRA_DENIED, CRA_INVALID (a folder) */
cra_status cra_cli_file_init(cra_cli_file *file, const char *path, cra_error *err);
cra_status cra_cli_file_read(void *file, void *buffer, size_t capacity, size_t *got, cra_error *err);
void cra_cli_file_close(cra_cli_file *file);

/* ---- reading --------------------------------------------------------------------------------- */

/* One record, or why there is none in its place. */
typedef struct cra_cli_record {
    cra_bytes document; /* borrowed until the next call; empty where it is bad */
    bool bad;
    char reason[256];
    int64_t offset;    /* in the file: of the record, in Avro of its block */
    int64_t record;    /* number in the file, from 0; in Avro in its block */
    cra_bytes payload; /* the bytes that are bad */
} cra_cli_record;

typedef struct cra_cli_reader cra_cli_reader;

/* Open a file; AUTO looks at its first bytes. `*out` is NULL for an empty file (CRA_DONE).
 * @return CRA_CORRUPT (no format that is known), CRA_UNSUPPORTED (compressed), as cra_avro_reader_open() */
cra_status cra_cli_reader_open(cra_cli_file *file, cra_format format, const cra_avro_options *avro,
                               cra_cli_reader **out, cra_error *err);
/* @return CRA_OK, CRA_DONE, CRA_CORRUPT naming file and place: what came before is whole */
cra_status cra_cli_reader_next(cra_cli_reader *reader, cra_cli_record *out, cra_error *err);
/* Writer's schema of an Avro file, else empty. */
cra_bytes cra_cli_reader_schema(const cra_cli_reader *reader);
/* Bytes that salvage left out of an Avro file. */
int64_t cra_cli_reader_skipped(const cra_cli_reader *reader);
void cra_cli_reader_free(cra_cli_reader *reader);

/* ---- writing --------------------------------------------------------------------------------- */

typedef enum cra_cli_to {
    CRA_CLI_TO_NDJSON,
    CRA_CLI_TO_JSON,
    CRA_CLI_TO_BSON,
    CRA_CLI_TO_AVRO,
    CRA_CLI_TO_SCHEMA,
    CRA_CLI_TO_COUNT
} cra_cli_to;

/* Standard output, or a file that appears whole when it is committed. */
typedef struct cra_cli_sink {
    cra_cli *cli;
    FILE *file; /* NULL: standard output */
    const char *path;
    char temporary[1100];
    int64_t bytes;
} cra_cli_sink;

cra_status cra_cli_sink_open(cra_cli_sink *sink, cra_cli *cli, const char *path, cra_error *err);
cra_status cra_cli_sink_write(void *sink, const void *data, size_t size, cra_error *err);
cra_status cra_cli_sink_commit(cra_cli_sink *sink, cra_error *err);
/* Remove what was not committed. */
void cra_cli_sink_close(cra_cli_sink *sink);

typedef struct cra_cli_writer {
    cra_cli_to to;
    cra_cli_sink *sink;
    cra_avro_writer *avro;
    cra_avro_infer *infer;
    cra_buf text;
    int64_t records;
} cra_cli_writer;

/* `codec` is of Avro. The sink is borrowed. */
cra_status cra_cli_writer_open(cra_cli_writer *writer, cra_cli_to to, cra_avro_codec codec, cra_cli_sink *sink,
                               cra_error *err);
/* @return CRA_CORRUPT where the document cannot be written in this form: nothing was written of it */
cra_status cra_cli_writer_append(cra_cli_writer *writer, cra_bytes document, cra_error *err);
cra_status cra_cli_writer_finish(cra_cli_writer *writer, cra_error *err);
void cra_cli_writer_close(cra_cli_writer *writer);

#endif
