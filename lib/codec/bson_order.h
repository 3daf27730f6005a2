/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_BSON_ORDER_H
#define CRA_CODEC_BSON_ORDER_H

/* MongoDB's order of types, shared by the comparison and by the keys that memcmp compares. */

#include <crawlarchive/bson.h>

/* Place of a type among the types; 0 for what is no BSON type. Types that compare by value share one.
 * The bytes begin every order key: to change one is to change the format of stored keys. */
typedef enum cra_order_class {
    CRA_ORDER_NONE = 0x00,
    CRA_ORDER_MINKEY = 0x02,
    CRA_ORDER_UNDEFINED = 0x05,
    CRA_ORDER_NULL = 0x08,
    CRA_ORDER_NUMBER = 0x10,
    CRA_ORDER_STRING = 0x18,
    CRA_ORDER_DOCUMENT = 0x20,
    CRA_ORDER_ARRAY = 0x28,
    CRA_ORDER_BINARY = 0x30,
    CRA_ORDER_OBJECTID = 0x38,
    CRA_ORDER_BOOL = 0x40,
    CRA_ORDER_DATE = 0x48,
    CRA_ORDER_TIMESTAMP = 0x50,
    CRA_ORDER_REGEX = 0x58,
    CRA_ORDER_DBPOINTER = 0x60,
    CRA_ORDER_CODE = 0x68,
    CRA_ORDER_CODE_W_SCOPE = 0x70,
    CRA_ORDER_MAXKEY = 0xF0
} cra_order_class;

cra_order_class cra_order_class_of(uint8_t type);

#endif
