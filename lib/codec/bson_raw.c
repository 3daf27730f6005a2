/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/bson_raw.h"

static const char *fixed(size_t wanted, size_t available, size_t *size)
{
    if (available < wanted)
        return "a value cut short";
    *size = wanted;
    return NULL;
}

/* int32 length that counts the terminator, bytes, NUL. */
static const char *text(const uint8_t *data, size_t available, size_t *size)
{
    if (available < 5)
        return "a string cut short";

    const uint32_t length = cra_le32(data);
    if (length < 1 || length > available - 4)
        return "a string length that does not fit";
    if (data[4 + (size_t)length - 1] != 0)
        return "a string without its terminator";
    *size = 4 + (size_t)length;
    return NULL;
}

static const char *document(const uint8_t *data, size_t available, size_t *size)
{
    if (available < CRA_BSON_EMPTY_DOCUMENT_SIZE)
        return "a document cut short";

    const uint32_t length = cra_le32(data);
    if (length < CRA_BSON_EMPTY_DOCUMENT_SIZE || length > available || length > INT32_MAX)
        return "a document length that does not fit";
    if (data[length - 1] != 0)
        return "a document without its terminator";
    *size = length;
    return NULL;
}

static const char *binary(const uint8_t *data, size_t available, size_t *size)
{
    if (available < 5)
        return "a binary cut short";

    const uint32_t length = cra_le32(data);
    if (length > available - 5 || length > INT32_MAX)
        return "a binary length that does not fit";
    /* The old subtype repeats the length inside. */
    if (data[4] == 2 && (length < 4 || cra_le32(data + 5) != length - 4))
        return "a binary of subtype 2 whose inner length is wrong";
    *size = 5 + (size_t)length;
    return NULL;
}

static const char *regex(const uint8_t *data, size_t available, size_t *size)
{
    const uint8_t *end = available == 0 ? NULL : memchr(data, 0, available);
    if (end == NULL)
        return "a regular expression without its terminator";

    const size_t pattern = (size_t)(end - data) + 1;
    end = pattern == available ? NULL : memchr(data + pattern, 0, available - pattern);
    if (end == NULL)
        return "regular expression options without their terminator";
    *size = (size_t)(end - data) + 1;
    return NULL;
}

static const char *db_pointer(const uint8_t *data, size_t available, size_t *size)
{
    size_t name = 0;
    const char *problem = text(data, available, &name);

    if (problem != NULL)
        return problem;
    if (available - name < CRA_BSON_OBJECTID_SIZE)
        return "a DBPointer cut short";
    *size = name + CRA_BSON_OBJECTID_SIZE;
    return NULL;
}

static const char *scoped_code(const uint8_t *data, size_t available, size_t *size)
{
    if (available < 4 + 5 + CRA_BSON_EMPTY_DOCUMENT_SIZE)
        return "a code with scope cut short";

    const uint32_t length = cra_le32(data);
    if (length < 4 + 5 + CRA_BSON_EMPTY_DOCUMENT_SIZE || length > available || length > INT32_MAX)
        return "a code with scope whose length does not fit";

    size_t code = 0;
    size_t scope = 0;
    const char *problem = text(data + 4, length - 4, &code);
    if (problem == NULL)
        problem = document(data + 4 + code, length - 4 - code, &scope);
    if (problem == NULL && 4 + code + scope != length)
        problem = "a code with scope whose parts do not fill it";
    if (problem == NULL)
        *size = length;
    return problem;
}

static const char *boolean(const uint8_t *data, size_t available, size_t *size)
{
    if (available < 1)
        return "a boolean cut short";
    if (data[0] > 1)
        return "a boolean that is neither 0 nor 1";
    *size = 1;
    return NULL;
}

const char *cra_bson_measure(uint8_t type, const uint8_t *data, size_t available, size_t *size)
{
    switch (type) {
    case CRA_BSON_STRING:
    case CRA_BSON_SYMBOL:
    case CRA_BSON_CODE:
        return text(data, available, size);
    case CRA_BSON_INT32:
        return fixed(4, available, size);
    case CRA_BSON_DOUBLE:
    case CRA_BSON_DATE:
    case CRA_BSON_TIMESTAMP:
    case CRA_BSON_INT64:
        return fixed(8, available, size);
    case CRA_BSON_DOCUMENT:
    case CRA_BSON_ARRAY:
        return document(data, available, size);
    case CRA_BSON_OBJECTID:
        return fixed(CRA_BSON_OBJECTID_SIZE, available, size);
    case CRA_BSON_BOOL:
        return boolean(data, available, size);
    case CRA_BSON_NULL:
    case CRA_BSON_UNDEFINED:
    case CRA_BSON_MINKEY:
    case CRA_BSON_MAXKEY:
        return fixed(0, available, size);
    case CRA_BSON_BINARY:
        return binary(data, available, size);
    case CRA_BSON_DECIMAL128:
        return fixed(16, available, size);
    case CRA_BSON_REGEX:
        return regex(data, available, size);
    case CRA_BSON_DBPOINTER:
        return db_pointer(data, available, size);
    case CRA_BSON_CODE_W_SCOPE:
        return scoped_code(data, available, size);
    default:
        return "an unknown element type";
    }
}

const char *cra_bson_type_name(uint8_t type)
{
    static const char *const names[] = {
        "unknown", "double",    "string", "object",  "array",     "binData",    "undefined", "objectId",
        "bool",    "date",      "null",   "regex",   "dbPointer", "javascript", "symbol",    "javascriptWithScope",
        "int",     "timestamp", "long",   "decimal",
    };

    if (type < sizeof names / sizeof names[0])
        return names[type];
    return type == CRA_BSON_MINKEY ? "minKey" : type == CRA_BSON_MAXKEY ? "maxKey" : names[0];
}
