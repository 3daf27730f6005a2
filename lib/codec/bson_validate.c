/* SPDX-License-Identifier: Apache-2.0 */
#include <crawlarchive/bson.h>

#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "codec/bson_raw.h"

/* A walk over all levels of one document: `ends` holds, for each open document, the offset behind it. */
typedef struct validator {
    const uint8_t *data;
    size_t position;
    size_t depth;
    size_t ends[CRA_BSON_MAX_DEPTH];
    unsigned flags;
    cra_error *err;
} validator;

static cra_status corrupt(const validator *v, size_t offset, const char *found)
{
    return cra_error_set(v->err, CRA_CORRUPT, "bson", "found %s at offset %zu of the document", found, offset);
}

static cra_status check_text(const validator *v, size_t offset, size_t size)
{
    if ((v->flags & CRA_BSON_CHECK_UTF8) == 0)
        return CRA_OK;
    const size_t good = cra_utf8_check(v->data + offset, size);
    return good == size ? CRA_OK : corrupt(v, offset + good, "text that is not UTF-8");
}

static cra_status open_document(validator *v, size_t offset, size_t size)
{
    if (v->depth == CRA_BSON_MAX_DEPTH)
        return corrupt(v, offset, "a document nested too deep");
    v->ends[v->depth++] = offset + size;
    v->position = offset + 4;
    return CRA_OK;
}

/* The text inside values; an embedded document is opened, any other value is stepped over. */
static cra_status check_value(validator *v, uint8_t type, size_t offset, size_t size)
{
    size_t text;

    v->position = offset + size;
    switch (type) {
    case CRA_BSON_STRING:
    case CRA_BSON_SYMBOL:
    case CRA_BSON_CODE:
        return check_text(v, offset + 4, size - 5);
    case CRA_BSON_DBPOINTER:
        return check_text(v, offset + 4, size - 5 - CRA_BSON_OBJECTID_SIZE);
    case CRA_BSON_REGEX:
        return check_text(v, offset, size);
    case CRA_BSON_DOCUMENT:
    case CRA_BSON_ARRAY:
        return open_document(v, offset, size);
    case CRA_BSON_CODE_W_SCOPE:
        text = cra_le32(v->data + offset + 4);
        CRA_TRY(check_text(v, offset + 8, text - 1));
        /* The scope is the last part of the value: it ends where the value does. */
        return open_document(v, offset + 8 + text, size - 8 - text);
    default:
        return CRA_OK;
    }
}

static cra_status check_element(validator *v, size_t end)
{
    const size_t offset = v->position;
    const uint8_t type = v->data[offset];
    const uint8_t *name = v->data + offset + 1;
    const uint8_t *name_end = memchr(name, 0, end - offset - 1);

    if (type == 0)
        return corrupt(v, offset, "a terminator before the document's end");
    if (name_end == NULL)
        return corrupt(v, offset, "an element name without its terminator");
    CRA_TRY(check_text(v, offset + 1, (size_t)(name_end - name)));

    const size_t value_at = (size_t)(name_end - v->data) + 1;
    size_t size = 0;
    const char *problem = cra_bson_measure(type, v->data + value_at, end - value_at, &size);
    if (problem != NULL)
        return corrupt(v, value_at, problem);
    return check_value(v, type, value_at, size);
}

cra_status cra_bson_validate(cra_bytes document, unsigned flags, cra_error *err)
{
    validator v = {.data = document.data, .flags = flags, .err = err};
    size_t size = 0;
    const char *problem = cra_bson_measure(CRA_BSON_DOCUMENT, document.data, document.size, &size);

    if (problem == NULL && size != document.size)
        problem = "bytes behind a document's end";
    if (problem != NULL)
        return corrupt(&v, 0, problem);
    if ((flags & CRA_BSON_CHECK_SIZE) != 0 && size > CRA_BSON_MAX_DOCUMENT_BYTES)
        return cra_error_set(err, CRA_CORRUPT, "bson", "found a document of %zu bytes, at most %u are stored", size,
                             CRA_BSON_MAX_DOCUMENT_BYTES);

    CRA_TRY(open_document(&v, 0, size));
    while (v.depth > 0) {
        const size_t end = v.ends[v.depth - 1] - 1; /* of the terminator, which measuring has seen */
        if (v.position == end) {
            v.depth--;
            v.position++;
        } else {
            CRA_TRY(check_element(&v, end));
        }
    }
    return CRA_OK;
}
