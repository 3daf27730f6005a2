/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_IMPORT_H
#define CRAWLARCHIVE_IMPORT_H

/** @file import.h
 * Records in: files into the hot store, as a run.
 */

#include <crawlarchive/codec.h>
#include <crawlarchive/run.h>

CRA_BEGIN_DECLS

typedef enum cra_format {
    CRA_FORMAT_AUTO, /**< by content: Avro magic, BSON length, "[" or "{" */
    CRA_FORMAT_JSON, /**< one array, or one document */
    CRA_FORMAT_NDJSON,
    CRA_FORMAT_BSON, /**< concatenated documents */
    CRA_FORMAT_AVRO
} cra_format;

/** A file to be read. */
typedef struct cra_input {
    size_t struct_size;
    const char *name;   /**< for messages */
    cra_source source;
    cra_format format;
} cra_input;

typedef struct cra_import_options {
    size_t struct_size;
    const char *collection;       /**< NULL: from the configuration */
    int64_t batch_docs;           /**< 0: import.batch_docs */
    int64_t batch_bytes;          /**< 0: import.batch_bytes */
    cra_avro_options avro;        /**< for Avro inputs */
} cra_import_options;
#define CRA_IMPORT_OPTIONS_INIT {sizeof(cra_import_options), NULL, 0, 0, CRA_AVRO_OPTIONS_INIT}

/** Load the records of `inputs` into the hot store as run `id` of `report`, and register the run.
 *
 * The run field is added where absent (another run's value is an error), `_id` is derived where absent from a
 * hash of run, record and occurrence, so that a second import changes nothing. An `_id` already there with the
 * same run and bytes is present; else nothing is overwritten, and the item's detail names it (CRA_PARTIAL).
 * Only a hot, unclosed or closed run takes records; counts: RECORDS, BYTES, RECORDS_NEW, _IDENTICAL, _CONFLICT, _FAILED.
 * @param item  nullable; its strings are borrowed from the engine until the next call on this thread
 */
CRA_EXPORT cra_status cra_import_run(cra_engine *engine, const char *report, const char *id, const cra_input *inputs,
                                     size_t count, const cra_import_options *options, cra_result **out,
                                     cra_error *err);

/** The run field's value that a run id stands for: an integer (int32, int64), an ObjectId, else a string.
 *  Appends the value's bytes to `out` and says the type. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_run_value(const char *id, cra_buf *out, uint8_t *type);

CRA_END_DECLS

#endif
