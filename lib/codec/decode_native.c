/* SPDX-License-Identifier: Apache-2.0 */

/* Our own profile: what profile.h says back into the BSON that it was. */

#include "codec/decode.h"

static bool run_timestamp(cra_decode *d, const uint8_t *key, size_t key_size)
{
    int64_t t, i;

    if (!cra_decode_long(d, &t) || !cra_decode_long(d, &i))
        return false;
    if (t < 0 || t > UINT32_MAX || i < 0 || i > UINT32_MAX)
        return cra_decode_fail(d, "a timestamp is out of range");
    if (!cra_decode_head(d, CRA_BSON_TIMESTAMP, key, key_size, 8))
        return false;
    cra_decode_le32(d, (uint32_t)i);
    cra_decode_le32(d, (uint32_t)t);
    return true;
}

static bool run_binary(cra_decode *d, const uint8_t *key, size_t key_size)
{
    int64_t subtype;
    const uint8_t *data;
    size_t size;

    if (!cra_decode_int(d, &subtype) || !cra_decode_blob(d, &data, &size))
        return false;
    if (subtype < 0 || subtype > 255)
        return cra_decode_fail(d, "a binary subtype is out of range");
    if (!cra_decode_head(d, CRA_BSON_BINARY, key, key_size, 5 + size))
        return false;
    const uint8_t byte = (uint8_t)subtype;
    cra_decode_le32(d, (uint32_t)size);
    cra_decode_bytes(d, &byte, 1);
    cra_decode_bytes(d, data, size);
    return true;
}

/* Text and NUL of a C string; a NUL inside would end it early. */
static bool put_cstring(cra_decode *d)
{
    const uint8_t *text;
    size_t size;

    if (!cra_decode_blob(d, &text, &size))
        return false;
    if (memchr(text, '\0', size) != NULL)
        return cra_decode_fail(d, "a regular expression holds a NUL");
    if (!cra_decode_room(d, size + 1))
        return false;
    cra_decode_bytes(d, text, size);
    cra_decode_bytes(d, "", 1);
    return true;
}

/* Length, text, NUL. */
static bool put_text(cra_decode *d)
{
    const uint8_t *text;
    size_t size;

    if (!cra_decode_blob(d, &text, &size) || !cra_decode_room(d, size + 5))
        return false;
    cra_decode_le32(d, (uint32_t)size + 1);
    cra_decode_bytes(d, text, size);
    cra_decode_bytes(d, "", 1);
    return true;
}

static bool run_dbpointer(cra_decode *d, const uint8_t *key, size_t key_size)
{
    const uint8_t *id;

    if (!cra_decode_head(d, CRA_BSON_DBPOINTER, key, key_size, 0) || !put_text(d) || !cra_decode_take(d, 12, &id) ||
        !cra_decode_room(d, 12))
        return false;
    cra_decode_bytes(d, id, 12);
    return true;
}

/* A document as bytes; structure is checked before it is handed on. */
static bool put_document(cra_decode *d)
{
    const uint8_t *data;
    size_t size;

    if (!cra_decode_blob(d, &data, &size))
        return false;
    if (cra_bson_validate(cra_bytes_of(data, size), 0, NULL) != CRA_OK)
        return cra_decode_fail(d, "a stored document is damaged");
    if (!cra_decode_room(d, size))
        return false;
    cra_decode_bytes(d, data, size);
    return true;
}

static bool run_scoped(cra_decode *d, const uint8_t *key, size_t key_size)
{
    if (!cra_decode_head(d, CRA_BSON_CODE_W_SCOPE, key, key_size, 4))
        return false;
    const size_t mark = d->out.size;
    cra_decode_le32(d, 0);
    if (!put_text(d) || !put_document(d))
        return false;
    cra_put_le32(d->out.data + mark, (uint32_t)(d->out.size - mark));
    return true;
}

/* The whole document, in place of what has been emitted; the null fields behind it emit nothing. */
static bool run_raw(cra_decode *d)
{
    d->out.size = d->document;
    d->raw = true;
    return put_document(d);
}

bool cra_decode_native(cra_decode *d, const cra_instruction *code, const uint8_t *key, size_t key_size)
{
    const uint8_t *data;
    int64_t symbol;

    switch ((cra_op)code->op) {
    case CRA_OP_RAW:
        return run_raw(d);
    case CRA_OP_NATIVE_FIXED:
        if (!cra_decode_take(d, code->b, &data) || !cra_decode_head(d, (uint8_t)code->a, key, key_size, code->b))
            return false;
        cra_decode_bytes(d, data, code->b);
        return true;
    case CRA_OP_NATIVE_SYMBOL:
        if (!cra_decode_long(d, &symbol))
            return false;
        return symbol == 0 ? cra_decode_head(d, (uint8_t)code->a, key, key_size, 0)
                           : cra_decode_fail(d, "an enum has no such symbol");
    case CRA_OP_NATIVE_TIMESTAMP:
        return run_timestamp(d, key, key_size);
    case CRA_OP_NATIVE_BINARY:
        return run_binary(d, key, key_size);
    case CRA_OP_NATIVE_REGEX:
        return cra_decode_head(d, CRA_BSON_REGEX, key, key_size, 0) && put_cstring(d) && put_cstring(d);
    case CRA_OP_NATIVE_DBPOINTER:
        return run_dbpointer(d, key, key_size);
    case CRA_OP_NATIVE_TEXT:
        return cra_decode_head(d, (uint8_t)code->a, key, key_size, 0) && put_text(d);
    case CRA_OP_NATIVE_SCOPED:
        return run_scoped(d, key, key_size);
    case CRA_OP_NATIVE_OPAQUE:
        return cra_decode_head(d, (uint8_t)code->a, key, key_size, 0) && put_document(d);
    default:
        return cra_decode_fail(d, "an instruction that cannot be");
    }
}
