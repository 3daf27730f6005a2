/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/encode.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "codec/profile.h"

/* What a node of the schema stands for. Made from the schema itself, not from what the walk was compiled to. */
typedef struct check_node {
    uint8_t bson_type;          /* 0 where none (null, union) */
    const cra_encode_key *keys; /* of a document's fields; owned */
    bool visited;
} check_node;

struct cra_encode_checker {
    const cra_allocator *allocator;
    const cra_avro_node *root;
    check_node *nodes; /* by node index */
    size_t node_count;
};

typedef struct cursors {
    const cra_encode_checker *checker;
    const uint8_t *avro, *avro_end;
    const uint8_t *bson, *bson_end;
} cursors;

static bool check_document(cursors *at, const cra_avro_node *node);
static bool check_array(cursors *at, const cra_avro_node *items);

static uint8_t type_of_marked(const char *cra_type)
{
    static const struct {
        const char *name;
        uint8_t type;
    } types[] = {
        {CRA_TYPE_DOCUMENT, CRA_BSON_DOCUMENT},   {CRA_TYPE_ARRAY, CRA_BSON_ARRAY},
        {CRA_TYPE_BINARY, CRA_BSON_BINARY},       {CRA_TYPE_UNDEFINED, CRA_BSON_UNDEFINED},
        {CRA_TYPE_OBJECTID, CRA_BSON_OBJECTID},   {CRA_TYPE_DATE, CRA_BSON_DATE},
        {CRA_TYPE_NULL, CRA_BSON_NULL},           {CRA_TYPE_REGEX, CRA_BSON_REGEX},
        {CRA_TYPE_DBPOINTER, CRA_BSON_DBPOINTER}, {CRA_TYPE_CODE, CRA_BSON_CODE},
        {CRA_TYPE_SYMBOL, CRA_BSON_SYMBOL},       {CRA_TYPE_CODE_W_SCOPE, CRA_BSON_CODE_W_SCOPE},
        {CRA_TYPE_TIMESTAMP, CRA_BSON_TIMESTAMP}, {CRA_TYPE_DECIMAL128, CRA_BSON_DECIMAL128},
        {CRA_TYPE_MINKEY, CRA_BSON_MINKEY},       {CRA_TYPE_MAXKEY, CRA_BSON_MAXKEY},
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, cra_type) == 0)
            return types[i].type;
    }
    return 0;
}

static uint8_t type_of(const cra_avro_node *node)
{
    static const uint8_t types[] = {
        [CRA_AVRO_BOOLEAN] = CRA_BSON_BOOL,    [CRA_AVRO_INT] = CRA_BSON_INT32,
        [CRA_AVRO_LONG] = CRA_BSON_INT64,      [CRA_AVRO_DOUBLE] = CRA_BSON_DOUBLE,
        [CRA_AVRO_BYTES] = CRA_BSON_BINARY,    [CRA_AVRO_STRING] = CRA_BSON_STRING,
        [CRA_AVRO_RECORD] = CRA_BSON_DOCUMENT, [CRA_AVRO_MAP] = CRA_BSON_DOCUMENT,
        [CRA_AVRO_ARRAY] = CRA_BSON_ARRAY,     [CRA_AVRO_FIXED] = 0,
    };

    if (node->cra_type != NULL)
        return type_of_marked(node->cra_type);
    if (node->type == CRA_AVRO_LONG && node->logical == CRA_LOGICAL_TIMESTAMP_MILLIS)
        return CRA_BSON_DATE;
    return types[node->type];
}

static cra_status visit(cra_encode_checker *checker, const cra_avro_node *node)
{
    check_node *own = &checker->nodes[node->index];

    if (own->visited)
        return CRA_OK;
    own->visited = true;
    own->bson_type = type_of(node);
    if (node->type == CRA_AVRO_ARRAY)
        return visit(checker, node->as.items);
    if (node->type == CRA_AVRO_UNION) {
        for (size_t i = 0; i < node->count; i++)
            CRA_TRY(visit(checker, node->as.branches[i]));
    }
    if (node->type != CRA_AVRO_RECORD || node->cra_type != NULL)
        return CRA_OK;

    cra_encode_key *keys = cra_calloc(checker->allocator, node->count, sizeof *keys);
    if (keys == NULL)
        return CRA_NOMEM;
    own->keys = keys;
    for (size_t i = 0; i < node->count; i++) {
        const cra_avro_field *field = &node->as.fields[i];
        cra_encode_key_init(&keys[i], field->original != NULL ? field->original : field->name);
        CRA_TRY(visit(checker, field->type));
    }
    return CRA_OK;
}

cra_status cra_encode_checker_new(const cra_allocator *allocator, const cra_avro_schema *schema,
                                  cra_encode_checker **out)
{
    cra_encode_checker *checker = cra_calloc(allocator, 1, sizeof *checker);

    *out = NULL;
    if (checker == NULL)
        return CRA_NOMEM;
    checker->allocator = allocator;
    checker->root = cra_avro_schema_root(schema);
    checker->node_count = cra_avro_schema_node_count(schema);
    checker->nodes = cra_calloc(allocator, checker->node_count, sizeof *checker->nodes);
    const cra_status status = checker->nodes == NULL ? CRA_NOMEM : visit(checker, checker->root);
    if (status != CRA_OK) {
        cra_encode_checker_free(checker);
        return status;
    }
    *out = checker;
    return CRA_OK;
}

void cra_encode_checker_free(cra_encode_checker *checker)
{
    if (checker == NULL)
        return;
    for (size_t i = 0; checker->nodes != NULL && i < checker->node_count; i++)
        cra_free(checker->allocator, (void *)checker->nodes[i].keys);
    cra_free(checker->allocator, checker->nodes);
    cra_free(checker->allocator, checker);
}

/* ---- reading back ----------------------------------------------------------------------------- */

static bool get_long_slow(cursors *at, int64_t *out)
{
    uint64_t bits = 0;

    for (unsigned shift = 0; shift < 64 && at->avro < at->avro_end; shift += 7) {
        const uint8_t byte = *at->avro++;
        if (shift == 63 && byte > 1)
            return false;
        bits |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
            return true;
        }
    }
    return false;
}

/* Most numbers are branches and small lengths, of one byte. */
static inline bool get_long(cursors *at, int64_t *out)
{
    if (at->avro < at->avro_end && *at->avro < 0x80) {
        const uint8_t byte = *at->avro++;
        *out = (int64_t)(byte >> 1) ^ -(int64_t)(byte & 1);
        return true;
    }
    return get_long_slow(at, out);
}

/* The document goes on with exactly these bytes. */
static inline bool bson_has(cursors *at, const void *data, size_t size)
{
    if ((size_t)(at->bson_end - at->bson) < size || memcmp(at->bson, data, size) != 0)
        return false;
    at->bson += size;
    return true;
}

static inline bool bson_has_byte(cursors *at, uint8_t byte)
{
    return at->bson < at->bson_end && *at->bson++ == byte;
}

static inline uint32_t load32(const uint8_t *data)
{
    return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

/* The document goes on with this int32 or int64. */
static inline bool bson_has32(cursors *at, uint64_t number)
{
    if (at->bson_end - at->bson < 4 || load32(at->bson) != number)
        return false;
    at->bson += 4;
    return true;
}

static inline bool bson_has64(cursors *at, uint64_t number)
{
    return at->bson_end - at->bson >= 8 && bson_has32(at, number & UINT32_MAX) && bson_has32(at, number >> 32);
}

/* The next `size` bytes are the same on both sides. */
static bool same_bytes(cursors *at, size_t size)
{
    if ((size_t)(at->avro_end - at->avro) < size || !bson_has(at, at->avro, size))
        return false;
    at->avro += size;
    return true;
}

static bool get_size(cursors *at, size_t *out)
{
    int64_t size;

    if (!get_long(at, &size) || size < 0 || size > at->avro_end - at->avro)
        return false;
    *out = (size_t)size;
    return true;
}

static bool check_string(cursors *at)
{
    size_t size;

    return get_size(at, &size) && bson_has32(at, size + 1) && same_bytes(at, size) && bson_has_byte(at, 0);
}

static bool check_cstring(cursors *at)
{
    size_t size;

    return get_size(at, &size) && same_bytes(at, size) && bson_has_byte(at, 0);
}

static bool check_opaque(cursors *at)
{
    size_t size;

    return get_size(at, &size) && same_bytes(at, size);
}

static bool check_binary(cursors *at, bool marked)
{
    int64_t subtype = 0;
    size_t size;

    if (marked && (!get_long(at, &subtype) || subtype < 1 || subtype > UINT8_MAX))
        return false;
    return get_size(at, &size) && bson_has32(at, size) && bson_has_byte(at, (uint8_t)subtype) && same_bytes(at, size);
}

static bool check_code_w_scope(cursors *at)
{
    const uint8_t *start = at->bson;

    if (at->bson_end - at->bson < 4)
        return false;
    at->bson += 4;
    if (!check_string(at) || !check_opaque(at))
        return false;
    return load32(start) == (size_t)(at->bson - start);
}

static bool check_int32(cursors *at)
{
    int64_t number;

    return get_long(at, &number) && number >= INT32_MIN && number <= INT32_MAX &&
           bson_has32(at, (uint32_t)(int32_t)number);
}

static bool check_int64(cursors *at)
{
    int64_t number;

    return get_long(at, &number) && bson_has64(at, (uint64_t)number);
}

static bool check_timestamp(cursors *at)
{
    int64_t seconds, increment;

    return get_long(at, &seconds) && get_long(at, &increment) && bson_has32(at, (uint64_t)increment) &&
           bson_has32(at, (uint64_t)seconds);
}

/* What follows the key. */
static bool check_value(cursors *at, const cra_avro_node *node, uint8_t type)
{
    int64_t symbol;

    switch (type) {
    case CRA_BSON_DOUBLE:
        return same_bytes(at, 8);
    case CRA_BSON_STRING:
    case CRA_BSON_CODE:
    case CRA_BSON_SYMBOL:
        return check_string(at);
    case CRA_BSON_DOCUMENT:
        return node->cra_type != NULL ? check_opaque(at) : check_document(at, node);
    case CRA_BSON_ARRAY:
        return node->cra_type != NULL ? check_opaque(at) : check_array(at, node->as.items);
    case CRA_BSON_BINARY:
        return check_binary(at, node->cra_type != NULL);
    case CRA_BSON_UNDEFINED:
    case CRA_BSON_NULL:
    case CRA_BSON_MINKEY:
    case CRA_BSON_MAXKEY:
        return get_long(at, &symbol) && symbol == 0;
    case CRA_BSON_OBJECTID:
        return same_bytes(at, 12);
    case CRA_BSON_BOOL:
        return same_bytes(at, 1);
    case CRA_BSON_REGEX:
        return check_cstring(at) && check_cstring(at);
    case CRA_BSON_DBPOINTER:
        return check_string(at) && same_bytes(at, 12);
    case CRA_BSON_CODE_W_SCOPE:
        return check_code_w_scope(at);
    case CRA_BSON_INT32:
        return check_int32(at);
    case CRA_BSON_DATE:
    case CRA_BSON_INT64:
        return check_int64(at);
    case CRA_BSON_TIMESTAMP:
        return check_timestamp(at);
    case CRA_BSON_DECIMAL128:
        return same_bytes(at, 16);
    default:
        return false;
    }
}

/* The type of the branch that is chosen, or of what is no union. @return NULL where there is no such branch */
static inline const cra_avro_node *get_branch(cursors *at, const cra_avro_node *node)
{
    int64_t branch;

    if (node->type != CRA_AVRO_UNION)
        return node;
    if (!get_long(at, &branch) || branch < 0 || (size_t)branch >= node->count)
        return NULL;
    return node->as.branches[branch];
}

/* A field's element; nothing at all where its branch is null. */
static bool check_field(cursors *at, const cra_avro_node *node, const cra_encode_key *key)
{
    node = get_branch(at, node);
    if (node == NULL || node->type == CRA_AVRO_NULL)
        return node != NULL;
    const uint8_t type = at->checker->nodes[node->index].bson_type;
    if (!bson_has_byte(at, type) || !cra_encode_key_at(key, at->bson, (size_t)(at->bson_end - at->bson)))
        return false;
    at->bson += key->size;
    return check_value(at, node, type);
}

static bool check_item(cursors *at, const cra_avro_node *node, const char *key, size_t key_size)
{
    node = get_branch(at, node);
    if (node == NULL || node->type == CRA_AVRO_NULL)
        return false;
    const uint8_t type = at->checker->nodes[node->index].bson_type;
    return bson_has_byte(at, type) && bson_has(at, key, key_size) && check_value(at, node, type);
}

/* The terminator of a document that began at `start`, whose length must tell where it is. */
static bool check_end(cursors *at, const uint8_t *start)
{
    return bson_has_byte(at, 0) && load32(start) == (size_t)(at->bson - start);
}

static bool check_document(cursors *at, const cra_avro_node *node)
{
    const uint8_t *start = at->bson;

    if (at->bson_end - at->bson < 5)
        return false;
    at->bson += 4;
    if (node->type == CRA_AVRO_MAP) {
        int64_t count;
        if (!get_long(at, &count) || count != 0)
            return false;
        return check_end(at, start);
    }
    const cra_encode_key *keys = at->checker->nodes[node->index].keys;
    for (size_t i = 0; i < node->count; i++) {
        if (!check_field(at, node->as.fields[i].type, &keys[i]))
            return false;
    }
    return check_end(at, start);
}

/* Count the decimal `key` up. @return its digits */
static size_t next_key(char *key, size_t digits)
{
    size_t i = digits;

    while (i > 0 && key[i - 1] == '9')
        key[--i] = '0';
    if (i > 0) {
        key[i - 1]++;
        return digits;
    }
    key[0] = '1';
    key[digits] = '0';
    key[digits + 1] = '\0';
    return digits + 1;
}

static bool check_array(cursors *at, const cra_avro_node *items)
{
    const uint8_t *start = at->bson;
    char key[24] = "0";
    size_t digits = 1;
    int64_t count;

    if (at->bson_end - at->bson < 5)
        return false;
    at->bson += 4;
    for (;;) {
        if (!get_long(at, &count) || count < 0)
            return false;
        if (count == 0)
            break;
        for (; count > 0; count--) {
            if (!check_item(at, items, key, digits + 1))
                return false;
            digits = next_key(key, digits);
        }
    }
    return check_end(at, start);
}

bool cra_encode_check(const cra_encode_checker *checker, cra_bytes record, cra_bytes document)
{
    cursors at = {.checker = checker,
                  .avro = record.data,
                  .avro_end = record.data + record.size,
                  .bson = document.data,
                  .bson_end = document.data + document.size};

    return check_document(&at, checker->root) && at.avro == at.avro_end && at.bson == at.bson_end;
}
