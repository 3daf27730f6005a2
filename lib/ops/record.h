/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_RECORD_H
#define CRA_OPS_RECORD_H

/* What makes a record itself: its `_id`, its run, its digest. Pure functions over BSON. */

#include <crawlarchive/bson.h>

#include "base/hash.h"

#define CRA_DIGEST_SIZE 16 /* leading half of a SHA-256: 128 bits, no structure to play tricks on */

typedef struct cra_digest {
    uint8_t bytes[CRA_DIGEST_SIZE];
} cra_digest;

/* Digest of an `_id`: of its order key, so that 1 and 1.0, which no collection holds side by side, are one. */
cra_status cra_record_id_digest(cra_value id, cra_digest *out, cra_buf *scratch);

/* Digest of bytes as they are: what tells equal records without `_id` apart. */
void cra_record_bytes_digest(cra_bytes document, cra_digest *out);

/* Which top-level fields a content digest leaves out. */
typedef struct cra_digest_rule {
    const char *const *ignore; /* verify.ignore_fields, NULL-terminated; nullable */
    bool without_id;           /* the archive holds no `_id` */
    const char *without_run;   /* name of the run field where the archive does not hold it; else NULL */
} cra_digest_rule;

/* Digest of a record's bytes with `_id` first, less what the rule leaves out. */
cra_status cra_record_content_digest(cra_bytes document, const cra_digest_rule *rule, cra_digest *out, cra_buf *scratch,
                                     cra_error *err);

/* Append `document` as the hot store holds it: `_id` first, the run field with `run_value` where absent (appended
 * last). `id` is used where the document has none (type 0: then CRA_NOT_FOUND is returned for such a document).
 * Another run's value in the run field is CRA_CONFLICT naming both. A dotted run_field is only checked, never
 * added: a record that lacks it would belong to no run and is CRA_INVALID. NULL: not looked at. `out` is unchanged
 * on failure. */
cra_status cra_record_prepare(cra_bytes document, const char *run_field, cra_value run_value, cra_value id,
                              cra_buf *out, cra_error *err);

/* Derived `_id` of a record that has none: Binary subtype 0 of 16 bytes, from a hash of run, record bytes and
 * occurrence (0 for the first of equal records of the run). `out` receives length, subtype and data: 21 bytes. */
#define CRA_DERIVED_ID_SIZE 21
void cra_record_derive_id(const char *report, const char *run, cra_bytes document, int64_t occurrence,
                          uint8_t out[CRA_DERIVED_ID_SIZE], cra_value *id);

#endif
