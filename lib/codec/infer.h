/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_INFER_H
#define CRA_CODEC_INFER_H

/* What documents look like: a tree of the kinds seen at every path, and the schema made from it. The public
 * entry points are in codec.h; this is what infer.c (grows the tree), infer_order.c (order of fields),
 * infer_names.c (names for Avro) and infer_schema.c (writes the schema) share. */

#include <crawlarchive/codec.h>

#include "codec/infer_kind.h"

/* Documents whose keys are data must not grow the schema without bound: behind these limits a part of a document
 * is kept opaque, as bytes, and what is new at the root goes to `_raw`. */
#define CRA_INFER_MAX_FIELDS 2000          /* of one record */
#define CRA_INFER_MAX_NODES 10000          /* fields in all */
#define CRA_INFER_MAX_KEY_BYTES 512        /* of one key; a longer one is left unseen */
#define CRA_INFER_MAX_KEYS_BYTES (1 << 20) /* in all */
#define CRA_INFER_MAX_DEPTH 32             /* levels of documents and arrays below the root */
#define CRA_INFER_MAX_EDGES 32             /* different fields behind one; more are not counted */

/* A record of more fields than this, of which its documents have less than one in CRA_INFER_SPARSE_RATIO, is
 * taken for a dictionary and kept opaque: a column a key would help nobody. */
#define CRA_INFER_SPARSE_FIELDS 100
#define CRA_INFER_SPARSE_RATIO 8

typedef struct cra_infer_record cra_infer_record;

/* What was seen at one place. */
typedef struct cra_infer_value {
    uint32_t kinds;                /* CRA_KIND_BIT()s */
    bool opaque_document;          /* documents here are kept as bytes; `record` is NULL */
    bool opaque_array;             /* arrays, likewise; `items` is NULL */
    cra_infer_record *record;      /* all documents seen here, merged; owned */
    struct cra_infer_value *items; /* all items of all arrays seen here, merged; owned */
} cra_infer_value;

/* How often a field stood right before another one. */
typedef struct cra_infer_edge {
    uint32_t to; /* ordinal of the other */
    uint32_t count;
} cra_infer_edge;

typedef struct cra_infer_field {
    char *key; /* NUL-terminated, well-formed UTF-8; owned */
    size_t key_size;
    uint32_t hash;
    uint32_t ordinal;      /* fields seen before it, in this record */
    cra_infer_edge *edges; /* at most CRA_INFER_MAX_EDGES; owned */
    size_t edge_count, edge_capacity;
    struct cra_infer_field *next; /* in the order of first sight */
    cra_infer_value value;
} cra_infer_field;

struct cra_infer_record {
    cra_infer_field *first, *last;
    size_t count;
    cra_infer_field **table; /* open addressing by hash; owned; NULL while there are few fields */
    size_t table_size;       /* a power of two, or 0 */
    int64_t documents;       /* merged here */
    int64_t elements;        /* of those documents, together */
};

struct cra_avro_infer {
    const cra_allocator *allocator;
    cra_infer_record root;
    size_t nodes; /* fields alive in the tree */
    size_t keys_bytes;
};

/* Fields of `record` in the order that most of its documents have, into `out` (`record->count` of them).
 * @return CRA_OK, CRA_NOMEM */
cra_status cra_infer_order(const cra_allocator *allocator, const cra_infer_record *record, const cra_infer_field **out);

/* Whether a record is better kept opaque; never asked for the root. */
bool cra_infer_is_sparse(const cra_infer_record *record);

/* Names already given in one scope, compared without regard to ASCII case: records' fields, or all named types. */
typedef struct cra_names {
    const cra_allocator *allocator;
    char **table; /* owned strings, as given */
    size_t table_size;
    size_t count;
} cra_names;

void cra_names_init(cra_names *names, const cra_allocator *allocator);
void cra_names_cleanup(cra_names *names);
/* Longest name that cra_names_add() gives. */
#define CRA_NAME_MAX 80
/* Whether `text` is a name that Avro allows, of at most CRA_NAME_MAX bytes. */
bool cra_name_is_valid(cra_bytes text);
/* Give a name to `wanted`: itself where it is valid and free; else mangled to [A-Za-z_][A-Za-z0-9_]*, with a
 * number behind it where that is taken. `*name` is owned by `names`. @return CRA_OK, CRA_NOMEM */
cra_status cra_names_add(cra_names *names, cra_bytes wanted, const char **name);

#endif
