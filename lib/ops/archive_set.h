/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_ARCHIVE_SET_H
#define CRA_OPS_ARCHIVE_SET_H

/* The archive of one run as restore would read it: where it is, its manifest (ours, adopted, or made from a listing of
 * foreign files), exactly its parts, and what else lies beside them. Loading only reads. */

#include <crawlarchive/codec.h>
#include <crawlarchive/result.h>

#include "core/field_map.h"
#include "core/manifest.h"
#include "core/naming.h"
#include "ops/engine_internal.h"
#include "ops/intents.h"
#include "ops/run_guard.h"

typedef enum cra_archive_origin {
    CRA_ARCHIVE_NONE,     /* nothing is there */
    CRA_ARCHIVE_MANIFEST, /* our manifest */
    CRA_ARCHIVE_ADOPTED,  /* foreign files, taken into an adopted manifest earlier */
    CRA_ARCHIVE_FOREIGN   /* foreign files, listed now */
} cra_archive_origin;

/* One object below the run's folder, as listed at load. */
typedef struct cra_archive_file {
    char *name; /* relative to the folder */
    int64_t size_bytes;
    cra_time_ms modified_at;
    char etag[72];
    cra_blob_class kind;
} cra_archive_file;

typedef struct cra_archive_set {
    cra_engine *engine;
    cra_run_doc run;         /* a copy: the run as it was at load */
    cra_archive_origin origin;
    cra_blobstore *store;      /* borrowed from the engine; NULL where origin is NONE */
    char *store_uri;           /* the route's URI */
    char *folder;              /* object-name prefix of the run, with the slash at its end */
    char *location;            /* store_uri + folder, for people and the catalog */
    cra_manifest manifest;     /* names in it are relative to `folder`; for FOREIGN: names, sizes, ETags only */
    char manifest_name[256];   /* object name of the manifest within the store, "" where none */
    char manifest_digest[65];  /* SHA-256 of its bytes, hexadecimal, "" where none */
    char *reader_schema;       /* the run's schema file of a foreign archive; NULL: each file's own */
    cra_field_map fields;      /* archive.fields */
    cra_archive_file *files;   /* all that was listed */
    size_t files_count, files_capacity;
    cra_intents intents;       /* see cra_archive_name_is_ours() */
    bool filter_by_run;        /* the location is shared by several runs: records are filtered by the run field */
    cra_reason reason;         /* NONE, or why the archive may not be relied on for a delete: INCOMPLETE, SPLIT,
                                  STALE_MANIFEST, IN_PROGRESS, UNREADABLE, NO_ARCHIVE, FOREIGN_RUN */
    char detail[256];          /* what and where, for people */
    int64_t parts_bytes;       /* stored size of all parts */
} cra_archive_set;

/* Find and load the archive of a run. CRA_OK also where `reason` says that it is not fit: the caller decides.
 * Another status is a store's failure. Release with cra_archive_set_cleanup() in every case. */
cra_status cra_archive_set_load(cra_engine *engine, const cra_run_doc *run, cra_archive_set *out, cra_error *err);
void cra_archive_set_cleanup(cra_archive_set *set);

/* The place a run's archive is written to: its stored location, else its route's. Fills store, store_uri, folder and
 * location; nothing is listed. */
cra_status cra_archive_set_locate(cra_engine *engine, const cra_run_doc *run, cra_archive_set *out, cra_error *err);

/* List again and compare sizes and ETags of all parts with the manifest; fills `reason` and `detail`. */
cra_status cra_archive_set_check_parts(cra_archive_set *set, cra_error *err);

/* A reader over part `index` from the store: pinned to its ETag, read in ranges. `salvage` as in codec.h. With
 * `sha256` (nullable, 65 bytes) the digest of the whole object is there once the reader has reached its end.
 * An empty object is CRA_DONE. archive.fields are NOT yet applied: see cra_archive_part_next(). */
typedef struct cra_archive_part cra_archive_part;
cra_status cra_archive_part_open(cra_archive_set *set, size_t index, bool salvage, cra_archive_part **out,
                                 cra_error *err);
/* Documents of the next block as the archive means them: archive.fields applied, records of other runs filtered out
 * where the location is shared. `block_offset` (nullable) is the block's place in the file, for checkpoints.
 * Borrowed until the next call. CRA_DONE at the end. */
cra_status cra_archive_part_next(cra_archive_part *part, cra_doc_batch *out, int64_t *block_offset, cra_error *err);
/* Hexadecimal SHA-256 of the whole object; only after CRA_DONE. "" where bytes were skipped. */
const char *cra_archive_part_sha256(const cra_archive_part *part);
void cra_archive_part_free(cra_archive_part *part);

/* Count the records of part `index` from its block headers, payloads skipped. CRA_CORRUPT where it is cut. */
cra_status cra_archive_part_count(cra_archive_set *set, size_t index, int64_t *records, cra_error *err);

/* The file of that name as listed, or NULL. */
const cra_archive_file *cra_archive_set_file(const cra_archive_set *set, const char *relative_name);

/* Pin the parts of a foreign archive: its listing, with the counts and digests found while it was read, becomes an
 * adopted manifest, stored as checkpoint "adopted". From the moment the run is `sweeping`, exactly these parts are its
 * archive. Fills manifest_digest. */
cra_status cra_archive_set_adopt(cra_archive_set *set, cra_run_guard *guard, cra_time_ms now, cra_error *err);

/* Intents: (generation, fence) pairs under which objects of ours may lie in the run's folder. Stored as checkpoint
 * "intents" and only appended to, until the objects of an entry are confirmed gone or named by a manifest. */
bool cra_archive_name_is_ours(const cra_archive_set *set, const char *relative_name);

#endif
