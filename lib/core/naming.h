/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CORE_NAMING_H
#define CRA_CORE_NAMING_H

/* Names in the bucket: folders of runs, our own files, and what files of other writers are by their names.
 * All functions append to buffers and keep nothing. */

#include <crawlarchive/error.h>

/* Longest name of one segment, encoded: the limit of every common file system. */
#define CRA_NAMING_SEGMENT_MAX 255

#define CRA_NAMING_SCHEMA "schema.avsc"
#define CRA_NAMING_MANIFEST_COPY "manifest.json"

/* ---- segments -------------------------------------------------------------------------------- */

/* Append a report or run with everything outside [A-Za-z0-9._-] as %XX (upper case).
 * @return CRA_INVALID (empty, ".", "..", longer than a segment may be), CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_naming_encode(const char *text, cra_buf *out, cra_error *err);
/* The reverse: append the text of `size` encoded bytes. @return CRA_INVALID (no encoding of ours), CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_naming_decode(const char *name, size_t size, cra_buf *out, cra_error *err);

/* Whether `name` is safe below a folder: not empty, no leading or trailing '/', no empty, "." or ".." segment, no
 * control character. */
bool cra_naming_is_relative(const char *name);

/* ---- templates ------------------------------------------------------------------------------- */

/* Check a template of run folders: literal segments and {report}, {run}, optionally {prefix} in front (which stands
 * for the path in the store's URI). {report} and {run} share no segment, so that no two runs share a folder.
 * @return CRA_INVALID naming what is wrong */
CRA_MUST_CHECK cra_status cra_naming_check_template(const char *pattern, cra_error *err);
/* Whether a folder of this template holds one run; where not, its records are filtered by `run_field`. */
bool cra_naming_has_run(const char *pattern);
/* Append the folder of a run relative to the store's root, with its final '/': what must be listed, so that run 18
 * never shows files of run 184. Empty for a template without folders.
 * @return CRA_INVALID (template, report or run), CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_naming_folder(const char *pattern, const char *report, const char *run, cra_buf *out,
                                            cra_error *err);
/* Append the hot collection of a run from a template such as "records_{report}"; the texts are taken as they are.
 * @return CRA_INVALID (unknown placeholder, control character, empty or over 255 bytes), CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_naming_collection(const char *pattern, const char *report, const char *run, cra_buf *out,
                                                cra_error *err);

/* ---- files of ours --------------------------------------------------------------------------- */

#define CRA_NAMING_FILE_SIZE 96 /* any name below, with its terminator */

/* "part-<generation>-<fence>-<nnnnn>.avro" */
void cra_naming_part(int64_t generation, int64_t fence, int64_t number, char out[CRA_NAMING_FILE_SIZE]);
/* "manifest-<generation>-<fence>.json" */
void cra_naming_manifest(int64_t generation, int64_t fence, char out[CRA_NAMING_FILE_SIZE]);
/* Take such a name (without folders) apart; false for any name that the functions above do not write. */
bool cra_naming_parse_part(const char *name, int64_t *generation, int64_t *fence, int64_t *number);
bool cra_naming_parse_manifest(const char *name, int64_t *generation, int64_t *fence);

/* ---- files of anyone ------------------------------------------------------------------------- */

typedef enum cra_blob_class {
    CRA_BLOB_DATA,       /* to be read; by its magic it is a container or not */
    CRA_BLOB_SCHEMA,     /* *.avsc */
    CRA_BLOB_MANIFEST,   /* ours: manifest.json, manifest-<generation>-<fence>.json */
    CRA_BLOB_SUCCESS,    /* _SUCCESS */
    CRA_BLOB_IGNORED,    /* bookkeeping of a writer that holds no records: *.crc, _started_…, _metadata */
    CRA_BLOB_IN_PROGRESS /* of a writer at work or killed: blocks until archive.settle after its last change */
} cra_blob_class;

/* What the object `relative_name` (below the run's folder) is, by the habits of Flink, Spark, Hadoop and Kafka
 * Connect. Never by extension, except for schemas and checksums. */
cra_blob_class cra_naming_classify(const char *relative_name);

#endif
