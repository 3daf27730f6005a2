/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_INFER_KIND_H
#define CRA_CODEC_INFER_KIND_H

/* What the typed profile tells apart: the BSON types, with Binary split by whether its subtype is 0. A value's
 * kinds are a set of bits, its branches a table by kind. */

#include <crawlarchive/bson.h>

typedef enum cra_kind {
    CRA_KIND_DOUBLE,
    CRA_KIND_STRING,
    CRA_KIND_DOCUMENT,
    CRA_KIND_ARRAY,
    CRA_KIND_BYTES, /* binary of subtype 0 */
    CRA_KIND_BINARY,
    CRA_KIND_UNDEFINED,
    CRA_KIND_OBJECTID,
    CRA_KIND_BOOL,
    CRA_KIND_DATE,
    CRA_KIND_NULL,
    CRA_KIND_REGEX,
    CRA_KIND_DBPOINTER,
    CRA_KIND_CODE,
    CRA_KIND_SYMBOL,
    CRA_KIND_CODE_W_SCOPE,
    CRA_KIND_INT32,
    CRA_KIND_TIMESTAMP,
    CRA_KIND_INT64,
    CRA_KIND_DECIMAL128,
    CRA_KIND_MINKEY,
    CRA_KIND_MAXKEY,
    CRA_KIND_COUNT,
    CRA_KIND_NONE = CRA_KIND_COUNT
} cra_kind;

#define CRA_KIND_BIT(kind) (UINT32_C(1) << (kind))

/* Kind of a BSON type; CRA_KIND_BYTES for every binary, whose subtype the caller looks at. CRA_KIND_NONE for a
 * byte that is no type. */
static inline cra_kind cra_kind_of_type(uint8_t type)
{
    static const uint8_t kinds[CRA_BSON_DECIMAL128 + 1] = {
        [0] = CRA_KIND_NONE,
        [CRA_BSON_DOUBLE] = CRA_KIND_DOUBLE,
        [CRA_BSON_STRING] = CRA_KIND_STRING,
        [CRA_BSON_DOCUMENT] = CRA_KIND_DOCUMENT,
        [CRA_BSON_ARRAY] = CRA_KIND_ARRAY,
        [CRA_BSON_BINARY] = CRA_KIND_BYTES,
        [CRA_BSON_UNDEFINED] = CRA_KIND_UNDEFINED,
        [CRA_BSON_OBJECTID] = CRA_KIND_OBJECTID,
        [CRA_BSON_BOOL] = CRA_KIND_BOOL,
        [CRA_BSON_DATE] = CRA_KIND_DATE,
        [CRA_BSON_NULL] = CRA_KIND_NULL,
        [CRA_BSON_REGEX] = CRA_KIND_REGEX,
        [CRA_BSON_DBPOINTER] = CRA_KIND_DBPOINTER,
        [CRA_BSON_CODE] = CRA_KIND_CODE,
        [CRA_BSON_SYMBOL] = CRA_KIND_SYMBOL,
        [CRA_BSON_CODE_W_SCOPE] = CRA_KIND_CODE_W_SCOPE,
        [CRA_BSON_INT32] = CRA_KIND_INT32,
        [CRA_BSON_TIMESTAMP] = CRA_KIND_TIMESTAMP,
        [CRA_BSON_INT64] = CRA_KIND_INT64,
        [CRA_BSON_DECIMAL128] = CRA_KIND_DECIMAL128,
    };

    if (type <= CRA_BSON_DECIMAL128)
        return (cra_kind)kinds[type];
    if (type == CRA_BSON_MINKEY)
        return CRA_KIND_MINKEY;
    return type == CRA_BSON_MAXKEY ? CRA_KIND_MAXKEY : CRA_KIND_NONE;
}

#endif
