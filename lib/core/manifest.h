/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CORE_MANIFEST_H
#define CRA_CORE_MANIFEST_H

/* The manifest of one generation of a run's archive: what a reader must find, to the byte. */

#include <crawlarchive/error.h>

#include "base/hash.h"

/* Version of the JSON this build writes, and the newest `min_reader` that it understands. */
#define CRA_MANIFEST_FORMAT 1

typedef enum cra_manifest_origin {
    CRA_MANIFEST_ARCHIVE, /* we wrote the parts */
    CRA_MANIFEST_ADOPTED  /* parts of another writer, pinned before a sweep */
} cra_manifest_origin;

typedef struct cra_manifest_part {
    char *name;                       /* relative to the run's folder */
    int64_t size_bytes;               /* of the object */
    char *etag;                       /* NULL where the store has none */
    char sha256[CRA_SHA256_HEX_SIZE]; /* of the object; "" where nobody has read it whole */
    int64_t records;                  /* -1 where unknown */
    int64_t bytes;                    /* of the records as BSON; -1 where unknown */
    bool foreign;                     /* written by someone else: never removed as garbage */
    bool kept;                        /* taken over from the previous generation */
} cra_manifest_part;

/* Texts, parts and buffers are owned. Initialise before use; every function leaves it fit for cleanup. */
typedef struct cra_manifest {
    const cra_allocator *allocator;
    int64_t format; /* of the text it was read from; else CRA_MANIFEST_FORMAT */
    int64_t min_reader;
    char *report;
    char *run;
    char *run_field; /* NULL where records are not told apart by a field */
    int64_t generation;
    int64_t fence;
    int64_t previous_generation; /* -1 where there is none */
    cra_manifest_origin origin;
    cra_time_ms created_at;     /* catalog time */
    bool written_after_close;   /* the run had its outcome when the records were read */
    char *collection;           /* hot collection */
    cra_buf collection_options; /* one BSON document, or empty */
    cra_buf indexes;            /* concatenated BSON documents */
    char *codec;                /* of our parts, as in `avro.codec`; NULL where adopted */
    char *profile;              /* "typed", "raw"; NULL where adopted */
    int64_t level;              /* compression level; -1: the codec's own */
    int64_t records;            /* over all parts */
    int64_t distinct_ids;       /* -1 where unknown */
    int64_t bytes;              /* of all records as BSON; -1 where unknown */
    bool ids_in_records;        /* archived records carry `_id` */
    cra_manifest_part *parts;
    size_t parts_count;
    size_t parts_capacity;
    char **superseded; /* data files that were there at commit and are no part: known, not read */
    size_t superseded_count;
    size_t superseded_capacity;
    cra_buf run_document; /* the run as the catalog had it: one BSON document, or empty */
} cra_manifest;

void cra_manifest_init(cra_manifest *manifest, const cra_allocator *allocator);
void cra_manifest_cleanup(cra_manifest *manifest);

/* Replace one text member by a copy; NULL clears it. @return CRA_NOMEM, the member is then unchanged */
CRA_MUST_CHECK cra_status cra_manifest_set_text(cra_manifest *manifest, char **member, const char *text);
/* Append a copy of `part`, texts included. @return CRA_NOMEM, the manifest is then unchanged */
CRA_MUST_CHECK cra_status cra_manifest_add_part(cra_manifest *manifest, const cra_manifest_part *part);
CRA_MUST_CHECK cra_status cra_manifest_add_superseded(cra_manifest *manifest, const char *name);
/* The part of that name, or NULL. */
const cra_manifest_part *cra_manifest_find_part(const cra_manifest *manifest, const char *name);
/* Whether a file of that name is known to it: a part or superseded. */
bool cra_manifest_knows(const cra_manifest *manifest, const char *name);

/* Check what both directions promise: texts present, counts not negative, names relative and given once, parts that
 * add up to `records`. @return CRA_CORRUPT naming the key, CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_manifest_check(const cra_manifest *manifest, cra_error *err);

/* Append the manifest as one JSON object: keys always in the same order, so that equal manifests have equal bytes.
 * It is checked first. @return as cra_manifest_check() */
CRA_MUST_CHECK cra_status cra_manifest_to_json(const cra_manifest *manifest, cra_buf *out, cra_error *err);
/* Read what cra_manifest_to_json() wrote, in this release or any other; keys it does not know are ignored.
 * @param out  uninitialised; on failure it is empty
 * @return CRA_CORRUPT naming the key, CRA_UNSUPPORTED naming the format needed, CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_manifest_from_json(cra_bytes text, const cra_allocator *allocator, cra_manifest *out,
                                                 cra_error *err);

/* SHA-256 of a manifest's text, hexadecimal, as the catalog keeps it. */
void cra_manifest_digest(cra_bytes text, char out[CRA_SHA256_HEX_SIZE]);

#endif
