/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/bson_order.h"

#include "base/buf.h"
#include "codec/bson_number.h"
#include "codec/bson_raw.h"

cra_order_class cra_order_class_of(uint8_t type)
{
    static const uint8_t classes[] = {
        [CRA_BSON_DOUBLE] = CRA_ORDER_NUMBER,
        [CRA_BSON_STRING] = CRA_ORDER_STRING,
        [CRA_BSON_DOCUMENT] = CRA_ORDER_DOCUMENT,
        [CRA_BSON_ARRAY] = CRA_ORDER_ARRAY,
        [CRA_BSON_BINARY] = CRA_ORDER_BINARY,
        [CRA_BSON_UNDEFINED] = CRA_ORDER_UNDEFINED,
        [CRA_BSON_OBJECTID] = CRA_ORDER_OBJECTID,
        [CRA_BSON_BOOL] = CRA_ORDER_BOOL,
        [CRA_BSON_DATE] = CRA_ORDER_DATE,
        [CRA_BSON_NULL] = CRA_ORDER_NULL,
        [CRA_BSON_REGEX] = CRA_ORDER_REGEX,
        [CRA_BSON_DBPOINTER] = CRA_ORDER_DBPOINTER,
        [CRA_BSON_CODE] = CRA_ORDER_CODE,
        [CRA_BSON_SYMBOL] = CRA_ORDER_STRING,
        [CRA_BSON_CODE_W_SCOPE] = CRA_ORDER_CODE_W_SCOPE,
        [CRA_BSON_INT32] = CRA_ORDER_NUMBER,
        [CRA_BSON_TIMESTAMP] = CRA_ORDER_TIMESTAMP,
        [CRA_BSON_INT64] = CRA_ORDER_NUMBER,
        [CRA_BSON_DECIMAL128] = CRA_ORDER_NUMBER,
    };

    if (type < sizeof classes / sizeof classes[0])
        return (cra_order_class)classes[type];
    if (type == CRA_BSON_MINKEY)
        return CRA_ORDER_MINKEY;
    return type == CRA_BSON_MAXKEY ? CRA_ORDER_MAXKEY : CRA_ORDER_NONE;
}

static int compare_sizes(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int compare_bytes(cra_bytes a, cra_bytes b)
{
    const size_t common = a.size < b.size ? a.size : b.size;
    const int order = common == 0 ? 0 : memcmp(a.data, b.data, common);

    return order != 0 ? order : compare_sizes(a.size, b.size);
}

static bool is_integer(uint8_t type)
{
    return type == CRA_BSON_INT32 || type == CRA_BSON_INT64;
}

static int compare_numbers(cra_value a, cra_value b)
{
    if (is_integer(a.type) && is_integer(b.type)) {
        int64_t left = 0;
        int64_t right = 0;
        cra_value_as_int64(a, &left);
        cra_value_as_int64(b, &right);
        return (left > right) - (left < right);
    }
    if (a.type == CRA_BSON_DOUBLE && b.type == CRA_BSON_DOUBLE) {
        const double left = cra_le_double(a.data);
        const double right = cra_le_double(b.data);
        if (left < right || left > right)
            return left < right ? -1 : 1;
        /* Equal, or a NaN among them, which is smaller than any number. */
        return (left >= left) - (right >= right);
    }

    cra_exact left;
    cra_exact right;
    cra_exact_of(a, &left);
    cra_exact_of(b, &right);
    return cra_exact_compare(&left, &right);
}

static int compare_values(cra_value a, cra_value b, unsigned depth);

/* By type, then name (not in arrays, where it is the position), then value; a prefix is smaller. A document that is
 * corrupt behind equal elements is larger than any that is whole, so that the order stays total. */
static int compare_documents(cra_value a, cra_value b, unsigned depth)
{
    cra_bson_iter left;
    cra_bson_iter right;
    const bool named = a.type == CRA_BSON_DOCUMENT;

    if (depth >= CRA_BSON_MAX_DEPTH || cra_bson_iter_init(&left, cra_bytes_of(a.data, a.size), NULL) != CRA_OK ||
        cra_bson_iter_init(&right, cra_bytes_of(b.data, b.size), NULL) != CRA_OK)
        return compare_bytes(cra_bytes_of(a.data, a.size), cra_bytes_of(b.data, b.size));

    for (;;) {
        cra_bson_element x;
        cra_bson_element y;
        const cra_status got_x = cra_bson_iter_next(&left, &x, NULL);
        const cra_status got_y = cra_bson_iter_next(&right, &y, NULL);
        if (got_x != CRA_OK || got_y != CRA_OK) {
            if (got_x == CRA_CORRUPT && got_y == CRA_CORRUPT)
                return compare_bytes(cra_bytes_of(a.data, a.size), cra_bytes_of(b.data, b.size));
            if (got_x == CRA_CORRUPT || got_y == CRA_CORRUPT)
                return got_x == CRA_CORRUPT ? 1 : -1;
            return (got_x == CRA_OK) - (got_y == CRA_OK);
        }

        int order = (int)cra_order_class_of(x.value.type) - (int)cra_order_class_of(y.value.type);
        if (order == 0 && named)
            order = compare_bytes(cra_bytes_of(x.name, x.name_size), cra_bytes_of(y.name, y.name_size));
        if (order == 0)
            order = compare_values(x.value, y.value, depth + 1);
        if (order != 0)
            return order;
    }
}

/* Length, subtype, content. */
static int compare_binaries(cra_value a, cra_value b)
{
    const int order = compare_sizes(a.size, b.size);

    return order != 0 ? order : memcmp(a.data + 4, b.data + 4, a.size - 4);
}

static int compare_regexes(cra_value a, cra_value b)
{
    const char *left = (const char *)a.data;
    const char *right = (const char *)b.data;
    const int order = strcmp(left, right);

    return order != 0 ? order : strcmp(left + strlen(left) + 1, right + strlen(right) + 1);
}

/* Two sound values of the same class. */
static int compare_values(cra_value a, cra_value b, unsigned depth)
{
    int order;

    switch (cra_order_class_of(a.type)) {
    case CRA_ORDER_NUMBER:
        return compare_numbers(a, b);
    case CRA_ORDER_STRING:
    case CRA_ORDER_CODE:
        return compare_bytes(cra_value_text(a), cra_value_text(b));
    case CRA_ORDER_DOCUMENT:
    case CRA_ORDER_ARRAY:
        return compare_documents(a, b, depth);
    case CRA_ORDER_BINARY:
        return compare_binaries(a, b);
    case CRA_ORDER_OBJECTID:
    case CRA_ORDER_BOOL:
        return memcmp(a.data, b.data, a.size);
    case CRA_ORDER_DATE:
        return ((int64_t)cra_le64(a.data) > (int64_t)cra_le64(b.data)) -
               ((int64_t)cra_le64(a.data) < (int64_t)cra_le64(b.data));
    case CRA_ORDER_TIMESTAMP:
        return (cra_le64(a.data) > cra_le64(b.data)) - (cra_le64(a.data) < cra_le64(b.data));
    case CRA_ORDER_REGEX:
        return compare_regexes(a, b);
    case CRA_ORDER_DBPOINTER:
        order = compare_sizes(a.size, b.size);
        return order != 0 ? order : memcmp(a.data, b.data, a.size);
    case CRA_ORDER_CODE_W_SCOPE:
        order = compare_bytes(cra_value_text(cra_bson_scoped_code(a)), cra_value_text(cra_bson_scoped_code(b)));
        return order != 0 ? order : compare_documents(cra_bson_scope(a), cra_bson_scope(b), depth);
    default:
        return 0; /* null, undefined, MinKey, MaxKey: their class is all they have */
    }
}

int cra_value_compare(cra_value a, cra_value b)
{
    const cra_order_class left = cra_value_sound(a) ? cra_order_class_of(a.type) : CRA_ORDER_NONE;
    const cra_order_class right = cra_value_sound(b) ? cra_order_class_of(b.type) : CRA_ORDER_NONE;

    if (left != right)
        return left < right ? -1 : 1;
    if (left != CRA_ORDER_NONE)
        return compare_values(a, b, 0);
    /* What is no value comes first, in some order of its own. */
    if (a.type != b.type)
        return a.type < b.type ? -1 : 1;
    return compare_bytes(cra_bytes_of(a.data, a.size), cra_bytes_of(b.data, b.size));
}
