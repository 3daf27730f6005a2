/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_AVRO_SCHEMA_H
#define CRA_CODEC_AVRO_SCHEMA_H

/* A parsed Avro schema: an immutable graph of nodes, owned by one cra_avro_schema. */

#include <crawlarchive/error.h>

typedef enum cra_avro_type {
    CRA_AVRO_NULL,
    CRA_AVRO_BOOLEAN,
    CRA_AVRO_INT,
    CRA_AVRO_LONG,
    CRA_AVRO_FLOAT,
    CRA_AVRO_DOUBLE,
    CRA_AVRO_BYTES,
    CRA_AVRO_STRING,
    CRA_AVRO_RECORD, /* "error" too */
    CRA_AVRO_ENUM,
    CRA_AVRO_ARRAY,
    CRA_AVRO_MAP,
    CRA_AVRO_UNION,
    CRA_AVRO_FIXED
} cra_avro_type;

typedef enum cra_avro_logical {
    CRA_LOGICAL_NONE, /* also where the annotation is unknown or does not fit its type */
    CRA_LOGICAL_DECIMAL,
    CRA_LOGICAL_BIG_DECIMAL,
    CRA_LOGICAL_UUID,
    CRA_LOGICAL_DATE,
    CRA_LOGICAL_TIME_MILLIS,
    CRA_LOGICAL_TIME_MICROS,
    CRA_LOGICAL_TIMESTAMP_MILLIS,
    CRA_LOGICAL_TIMESTAMP_MICROS,
    CRA_LOGICAL_TIMESTAMP_NANOS,
    CRA_LOGICAL_LOCAL_TIMESTAMP_MILLIS,
    CRA_LOGICAL_LOCAL_TIMESTAMP_MICROS,
    CRA_LOGICAL_LOCAL_TIMESTAMP_NANOS,
    CRA_LOGICAL_DURATION
} cra_avro_logical;

typedef struct cra_avro_node cra_avro_node;

typedef struct cra_avro_field {
    const char *name;           /* as written; may hold any UTF-8 but NUL */
    const char *original;       /* property "cra.name": the BSON key before mangling; NULL where absent */
    const cra_avro_node *type;
    const char *default_json;   /* raw JSON text of the default; NULL where absent; evaluated only when used */
    const char *const *aliases; /* NULL-terminated; NULL where none */
} cra_avro_field;

struct cra_avro_node {
    cra_avro_type type;
    cra_avro_logical logical;
    int32_t precision, scale;   /* decimal */
    const char *full_name;      /* named types: with namespace; else NULL */
    const char *cra_type;       /* property "cra.type": which BSON type our typed profile keeps here; or NULL */
    const char *const *aliases; /* full names, NULL-terminated; NULL where none */
    size_t count;               /* fields, symbols, or branches */
    union {
        const cra_avro_field *fields;          /* record */
        const char *const *symbols;            /* enum */
        const cra_avro_node *const *branches;  /* union */
        const cra_avro_node *items;            /* array items, map values */
        int64_t fixed_size;                    /* fixed */
    } as;
    const char *enum_default;   /* enum: symbol or NULL */
    size_t index;               /* position in the schema's node table: programs and visitors key on it */
};

typedef struct cra_avro_schema cra_avro_schema;

/* Parse a schema's JSON (UTF-8, BOM allowed). Deeper than 1,000 levels of JSON is CRA_CORRUPT. */
cra_status cra_avro_schema_parse(const cra_allocator *allocator, cra_bytes json, bool strict_names,
                                 cra_avro_schema **out, cra_error *err);
const cra_avro_node *cra_avro_schema_root(const cra_avro_schema *schema);
size_t cra_avro_schema_node_count(const cra_avro_schema *schema);
/* Property "cra.profile" of the root: "typed", "raw" or NULL. */
const char *cra_avro_schema_profile(const cra_avro_schema *schema);
void cra_avro_schema_free(cra_avro_schema *schema);

#endif
