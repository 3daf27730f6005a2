/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CORE_FIELD_MAP_H
#define CRA_CORE_FIELD_MAP_H

/* archive.fields: types that a foreign writer flattened, given back. Pure. */

#include <crawlarchive/bson.h>

typedef enum cra_field_type {
    CRA_FIELD_OBJECTID,      /* from 24 hexadecimal digits, or 12 bytes */
    CRA_FIELD_DECIMAL,       /* from decimal text, or an integer */
    CRA_FIELD_INT32,         /* from an integer that fits */
    CRA_FIELD_INT64,         /* from an integer */
    CRA_FIELD_DATE,          /* from milliseconds since the epoch, or RFC 3339 text */
    CRA_FIELD_DOUBLE,        /* from an integer */
    CRA_FIELD_ABSENT_IF_NULL /* a null is left out */
} cra_field_type;

typedef struct cra_field_rule {
    char *path; /* dotted; goes through arrays: "prices.amount" is the amount of each price */
    cra_field_type type;
} cra_field_rule;

typedef struct cra_field_map {
    cra_field_rule *rules;
    size_t count;
    size_t capacity;
    const cra_allocator *allocator;
} cra_field_map;

void cra_field_map_init(cra_field_map *map, const cra_allocator *allocator);
void cra_field_map_cleanup(cra_field_map *map);
/* Add a rule; `type` is "objectid", "decimal", "int32", "int64", "date", "double" or "absent_if_null".
 * @return CRA_INVALID for another word, CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_field_map_add(cra_field_map *map, const char *path, const char *type, cra_error *err);

/* Append `document` with the rules applied. Values that have the type already, and nulls, stay as they are.
 * @return CRA_CORRUPT where a value cannot be given its type (naming path and value's type: the archive has drifted),
 * CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_field_map_apply(const cra_field_map *map, cra_bytes document, cra_buf *out,
                                              cra_error *err);

#endif
