/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CORE_FIELDS_H
#define CRA_CORE_FIELDS_H

/* Checked reading of stored documents: each getter names the key in its error, so that a person can find it. */

#include <crawlarchive/bson.h>

/* A document being read. Borrowed; no cleanup. */
typedef struct cra_fields {
    cra_bytes document;
    const char *origin; /* of errors: "manifest", "checkpoint" */
    const char *path;   /* in front of keys in messages: "" or "parts[3]." */
    cra_error *err;     /* nullable */
} cra_fields;

typedef enum cra_presence { CRA_OPTIONAL, CRA_REQUIRED } cra_presence;

/* Report that a key is not what it must be. @return CRA_CORRUPT */
cra_status cra_fields_wrong(const cra_fields *fields, const char *key, const char *what);

/* Each getter leaves `*out` alone where an optional key is missing or null, and returns CRA_CORRUPT where a required
 * one is missing or a value has another type. */

/* A copy, owned by the caller (it replaces and frees nothing); text with a NUL is refused. Also CRA_NOMEM. */
CRA_MUST_CHECK cra_status cra_fields_text(const cra_fields *fields, const char *key, cra_presence presence,
                                          const cra_allocator *allocator, char **out);
/* Text into a fixed array of `size` bytes; longer text is refused. */
CRA_MUST_CHECK cra_status cra_fields_chars(const cra_fields *fields, const char *key, cra_presence presence, char *out,
                                           size_t size);
/* An integer of at least `min`. */
CRA_MUST_CHECK cra_status cra_fields_int(const cra_fields *fields, const char *key, cra_presence presence, int64_t min,
                                         int64_t *out);
CRA_MUST_CHECK cra_status cra_fields_bool(const cra_fields *fields, const char *key, cra_presence presence, bool *out);
/* A BSON Date, or RFC 3339 text. */
CRA_MUST_CHECK cra_status cra_fields_time(const cra_fields *fields, const char *key, cra_presence presence,
                                          cra_time_ms *out);
/* A document or an array (`type`), borrowed. */
CRA_MUST_CHECK cra_status cra_fields_document(const cra_fields *fields, const char *key, cra_presence presence,
                                              uint8_t type, cra_bytes *out);

/* Gets one element of an array with its own path; it must hold a document where `type` says so. */
typedef cra_status (*cra_fields_visit_fn)(void *user, const cra_fields *element, cra_value value);
/* Visit the elements of array `key`, all of BSON type `type`. @return also what `visit` returns */
CRA_MUST_CHECK cra_status cra_fields_each(const cra_fields *fields, const char *key, cra_presence presence,
                                          uint8_t type, cra_fields_visit_fn visit, void *user);

#endif
