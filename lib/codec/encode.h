/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_ENCODE_H
#define CRA_CODEC_ENCODE_H

/* BSON documents to Avro records of the typed profile. One walk writes a record (encode_walk.c); a second reads it
 * back against the document (encode_check.c), by the schema and not by what the first was compiled to. Whatever
 * does not give the same bytes is kept whole in `_raw` instead. */

#include "codec/avro_schema.h"
#include "codec/encode_key.h"
#include "codec/infer_kind.h"

typedef struct cra_encoder cra_encoder;

/* Compile `schema` (borrowed for the encoder's life).
 * @return CRA_OK, CRA_INVALID where it is not of the typed profile as profile.h has it, CRA_NOMEM */
cra_status cra_encoder_new(const cra_allocator *allocator, const cra_avro_schema *schema, cra_encoder **out,
                           cra_error *err);
/* Append the record for `document`; `*raw` tells whether it had to go into `_raw`. Allocates nothing but the
 * growth of `out`, which is unchanged on failure.
 * @return CRA_OK, CRA_CORRUPT (no valid document), CRA_NOMEM */
cra_status cra_encoder_record(const cra_encoder *encoder, cra_bytes document, cra_buf *out, bool *raw, cra_error *err);
void cra_encoder_free(cra_encoder *encoder);

/* ---- what encode.c compiles for encode_walk.c ------------------------------------------------- */

/* Branch of a kind that a value does not have. */
#define CRA_NO_BRANCH 0xFF

typedef struct cra_encode_record cra_encode_record;

/* One place of the schema: a field's type, or an array's items. */
typedef struct cra_encode_value {
    uint8_t branch[CRA_KIND_COUNT]; /* encoded branch by kind; 0 where there is no union; or CRA_NO_BRANCH */
    bool is_union;
    bool wrapped_date;
    bool empty_document;  /* documents are maps, always empty */
    bool opaque_document; /* `record` is NULL */
    bool opaque_array;    /* `items` is NULL */
    const cra_encode_record *record;
    const struct cra_encode_value *items;
} cra_encode_value;

typedef struct cra_encode_field {
    cra_encode_key key;
    uint32_t hash;
    const cra_encode_value *value;
} cra_encode_field;

struct cra_encode_record {
    const cra_encode_field *fields; /* without `_raw` */
    size_t count;
    const uint32_t *table; /* open addressing by hash: index into `fields` plus 1, or 0 */
    size_t table_size;     /* a power of two */
};

/* Result of the walk and the check where the typed form does not fit the document. */
#define CRA_ENCODE_UNFIT CRA_UNSUPPORTED

/* Append the typed form of `document` (framed: its length and terminator are right) up to, not including, the
 * root's `_raw`. `*opaque` is set where parts were taken over unseen. What is appended before a failure is
 * left to the caller. @return CRA_OK, CRA_ENCODE_UNFIT, CRA_NOMEM */
cra_status cra_encode_walk(const cra_encode_record *root, cra_bytes document, cra_buf *out, bool *opaque);

/* ---- encode_check.c --------------------------------------------------------------------------- */

/* A schema prepared for reading back. */
typedef struct cra_encode_checker cra_encode_checker;

/* `schema` is borrowed for the checker's life. @return CRA_OK, CRA_NOMEM */
cra_status cra_encode_checker_new(const cra_allocator *allocator, const cra_avro_schema *schema,
                                  cra_encode_checker **out);
/* Whether `record` gives exactly `document` and ends where that ends. */
bool cra_encode_check(const cra_encode_checker *checker, cra_bytes record, cra_bytes document);
void cra_encode_checker_free(cra_encode_checker *checker);

#endif
