/* SPDX-License-Identifier: Apache-2.0 */

/* Reading past values that the reader does not want. */

#include "codec/decode.h"

#define SKIP_DEPTH_MAX 1000

static bool skip_items(cra_decode *d, const cra_avro_node *node, unsigned depth)
{
    int64_t count;
    const uint8_t *limit, *data;
    size_t size;

    for (;;) {
        if (!cra_decode_items(d, &count, &limit))
            return false;
        if (count == 0)
            return true;
        if (limit != NULL) { /* the block says where it ends */
            d->at = limit;
            continue;
        }
        for (; count > 0; count--) {
            const uint8_t *before = d->at;
            if (node->type == CRA_AVRO_MAP && !cra_decode_blob(d, &data, &size))
                return false;
            if (!cra_decode_skip(d, node->as.items, depth + 1))
                return false;
            if (d->at == before)
                break; /* items without bytes: the others are like this one */
        }
    }
}

bool cra_decode_skip(cra_decode *d, const cra_avro_node *node, unsigned depth)
{
    const uint8_t *data;
    size_t size;
    int64_t number;

    if (depth > SKIP_DEPTH_MAX)
        return cra_decode_fail(d, "a value is nested too deep");
    switch (node->type) {
    case CRA_AVRO_NULL:
        return true;
    case CRA_AVRO_BOOLEAN:
        return cra_decode_take(d, 1, &data);
    case CRA_AVRO_INT:
    case CRA_AVRO_LONG:
    case CRA_AVRO_ENUM:
        return cra_decode_long(d, &number);
    case CRA_AVRO_FLOAT:
        return cra_decode_take(d, 4, &data);
    case CRA_AVRO_DOUBLE:
        return cra_decode_take(d, 8, &data);
    case CRA_AVRO_BYTES:
    case CRA_AVRO_STRING:
        return cra_decode_blob(d, &data, &size);
    case CRA_AVRO_FIXED:
        return cra_decode_take(d, (size_t)node->as.fixed_size, &data);
    case CRA_AVRO_RECORD:
        for (size_t i = 0; i < node->count; i++) {
            if (!cra_decode_skip(d, node->as.fields[i].type, depth + 1))
                return false;
        }
        return true;
    case CRA_AVRO_UNION:
        if (!cra_decode_long(d, &number))
            return false;
        if (number < 0 || number >= (int64_t)node->count)
            return cra_decode_fail(d, "a union has no such branch");
        return cra_decode_skip(d, node->as.branches[number], depth + 1);
    case CRA_AVRO_ARRAY:
    case CRA_AVRO_MAP:
        return skip_items(d, node, depth);
    }
    return cra_decode_fail(d, "a type that cannot be");
}
