/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/encode.h"

#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "codec/encode_varint.h"
#include "codec/infer_hash.h"

/* Dates that every reader can show: the years 1 to 9999, which is all that Python and SQL know. */
#define FIRST_DATE INT64_C(-62135596800000)
#define LAST_DATE INT64_C(253402300799999)

typedef struct encode_walk {
    cra_buf *out;
    const uint8_t *at;  /* in the document */
    const uint8_t *end; /* of the innermost document: its terminator */
    bool opaque;
} encode_walk;

static cra_status put_document(encode_walk *walk, const cra_encode_record *record, unsigned depth);
static cra_status put_value(encode_walk *walk, const cra_encode_value *value, uint8_t type, unsigned depth);

static uint32_t load32(const uint8_t *data)
{
    return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

static uint64_t load64(const uint8_t *data)
{
    return (uint64_t)load32(data) | (uint64_t)load32(data + 4) << 32;
}

static inline size_t left(const encode_walk *walk)
{
    return (size_t)(walk->end - walk->at);
}

static inline cra_status reserve(encode_walk *walk, size_t size)
{
    if (walk->out->capacity - walk->out->size >= size)
        return CRA_OK;
    return cra_buf_reserve(walk->out, size);
}

/* The put_… functions without status need room that was reserved before. */
static inline void put_byte(encode_walk *walk, uint8_t byte)
{
    walk->out->data[walk->out->size++] = byte;
}

static inline void put_long(encode_walk *walk, int64_t number)
{
    walk->out->size += cra_varint_put(walk->out->data + walk->out->size, number);
}

static inline void put_bytes(encode_walk *walk, const uint8_t *data, size_t size)
{
    memcpy(walk->out->data + walk->out->size, data, size);
    walk->out->size += size;
}

/* Length and bytes: Avro's string and bytes. */
static cra_status put_sized(encode_walk *walk, const uint8_t *data, size_t size)
{
    CRA_TRY(reserve(walk, CRA_VARINT_MAX + size));
    put_long(walk, (int64_t)size);
    put_bytes(walk, data, size);
    return CRA_OK;
}

/* Whether text is well-formed. Most of it is ASCII and short, and needs no loop over single bytes. */
static cra_status check_text(cra_bytes text)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    uint64_t word = 0;
    size_t at = 0;

    if (text.size < sizeof word) {
        for (; at < text.size; at++)
            word |= text.data[at];
        if (word < 0x80)
            return CRA_OK;
        at = 0;
    } else {
        for (; at < text.size - sizeof word; at += sizeof word) {
            memcpy(&word, text.data + at, sizeof word);
            if ((word & high) != 0)
                break;
        }
        if ((word & high) == 0) {
            memcpy(&word, text.data + text.size - sizeof word, sizeof word);
            if ((word & high) == 0)
                return CRA_OK;
        }
    }
    return cra_utf8_valid(text.data + at, text.size - at) ? CRA_OK : CRA_ENCODE_UNFIT;
}

/* Split off a BSON string: length with terminator, text, terminator. */
static cra_status take_string(encode_walk *walk, cra_bytes *text)
{
    if (left(walk) < 5)
        return CRA_ENCODE_UNFIT;
    const size_t size = load32(walk->at);
    if (size == 0 || size > left(walk) - 4 || walk->at[4 + size - 1] != 0)
        return CRA_ENCODE_UNFIT;
    *text = cra_bytes_of(walk->at + 4, size - 1);
    walk->at += 4 + size;
    return check_text(*text);
}

static cra_status take_cstring(encode_walk *walk, cra_bytes *text)
{
    const uint8_t *end = memchr(walk->at, 0, left(walk));

    if (end == NULL)
        return CRA_ENCODE_UNFIT;
    *text = cra_bytes_of(walk->at, (size_t)(end - walk->at));
    walk->at = end + 1;
    return check_text(*text);
}

/* Split off an embedded document whose length and terminator are right. */
static cra_status take_document(encode_walk *walk, cra_bytes *document)
{
    if (left(walk) < 5)
        return CRA_ENCODE_UNFIT;
    const size_t size = load32(walk->at);
    if (size < 5 || size > left(walk) || walk->at[size - 1] != 0)
        return CRA_ENCODE_UNFIT;
    *document = cra_bytes_of(walk->at, size);
    walk->at += size;
    return CRA_OK;
}

static cra_status put_string(encode_walk *walk)
{
    cra_bytes text;

    CRA_TRY(take_string(walk, &text));
    return put_sized(walk, text.data, text.size);
}

static cra_status put_fixed(encode_walk *walk, size_t size)
{
    if (left(walk) < size)
        return CRA_ENCODE_UNFIT;
    CRA_TRY(reserve(walk, size));
    put_bytes(walk, walk->at, size);
    walk->at += size;
    return CRA_OK;
}

static cra_status put_binary(encode_walk *walk, cra_kind kind)
{
    const size_t size = load32(walk->at);
    const uint8_t subtype = walk->at[4];

    if (size > left(walk) - 5)
        return CRA_ENCODE_UNFIT;
    if (kind == CRA_KIND_BINARY) {
        CRA_TRY(reserve(walk, CRA_VARINT_MAX));
        put_long(walk, subtype);
        /* Some subtypes have a form of their own, which this walk does not know. */
        walk->opaque = true;
    }
    CRA_TRY(put_sized(walk, walk->at + 5, size));
    walk->at += 5 + size;
    return CRA_OK;
}

static cra_status put_date(encode_walk *walk)
{
    if (left(walk) < 8)
        return CRA_ENCODE_UNFIT;
    const int64_t date = (int64_t)load64(walk->at);
    if (date < FIRST_DATE || date > LAST_DATE)
        return CRA_ENCODE_UNFIT;
    walk->at += 8;
    CRA_TRY(reserve(walk, CRA_VARINT_MAX));
    put_long(walk, date);
    return CRA_OK;
}

static cra_status put_regex(encode_walk *walk)
{
    for (int i = 0; i < 2; i++) {
        cra_bytes text;
        CRA_TRY(take_cstring(walk, &text));
        CRA_TRY(put_sized(walk, text.data, text.size));
    }
    return CRA_OK;
}

static cra_status put_dbpointer(encode_walk *walk)
{
    CRA_TRY(put_string(walk));
    return put_fixed(walk, 12);
}

static cra_status put_code_w_scope(encode_walk *walk)
{
    const uint8_t *start = walk->at;
    cra_bytes scope;

    if (left(walk) < 4)
        return CRA_ENCODE_UNFIT;
    walk->at += 4;
    CRA_TRY(put_string(walk));
    CRA_TRY(take_document(walk, &scope));
    if (load32(start) != (size_t)(walk->at - start))
        return CRA_ENCODE_UNFIT;
    walk->opaque = true;
    return put_sized(walk, scope.data, scope.size);
}

static cra_status put_timestamp(encode_walk *walk)
{
    if (left(walk) < 8)
        return CRA_ENCODE_UNFIT;
    CRA_TRY(reserve(walk, 2 * CRA_VARINT_MAX));
    put_long(walk, load32(walk->at + 4)); /* seconds are the high half */
    put_long(walk, load32(walk->at));
    walk->at += 8;
    return CRA_OK;
}

static cra_status put_opaque(encode_walk *walk)
{
    cra_bytes document;

    CRA_TRY(take_document(walk, &document));
    walk->opaque = true;
    return put_sized(walk, document.data, document.size);
}

/* One block of all items, whose count is known only behind them: a byte is kept free for it, and the items move
 * where it needs more. Keys are not looked at here: the check finds those that are no positions. */
static cra_status put_items(encode_walk *walk, const cra_encode_value *items, unsigned depth)
{
    uint8_t head[CRA_VARINT_MAX];
    int64_t count = 0;

    CRA_TRY(reserve(walk, 1));
    const size_t mark = walk->out->size;
    put_byte(walk, 0);
    for (; walk->at < walk->end; count++) {
        const uint8_t type = *walk->at++;
        const uint8_t *key_end = memchr(walk->at, 0, left(walk));
        if (key_end == NULL)
            return CRA_ENCODE_UNFIT;
        walk->at = key_end + 1;
        CRA_TRY(put_value(walk, items, type, depth));
    }
    if (count == 0)
        return CRA_OK; /* the byte is the end mark */

    const size_t size = cra_varint_put(head, count);
    CRA_TRY(reserve(walk, size));
    uint8_t *block = walk->out->data + mark;
    if (size > 1)
        memmove(block + size, block + 1, walk->out->size - mark - 1);
    memcpy(block, head, size);
    walk->out->size += size - 1;
    put_byte(walk, 0);
    return CRA_OK;
}

/* Embedded document or array, walked to its end. */
static cra_status put_embedded(encode_walk *walk, const cra_encode_value *value, cra_kind kind, unsigned depth)
{
    const uint8_t *end = walk->end;
    cra_bytes document;

    if (depth >= CRA_BSON_MAX_DEPTH)
        return CRA_ENCODE_UNFIT;
    CRA_TRY(take_document(walk, &document));
    walk->at = document.data + 4;
    walk->end = document.data + document.size - 1;
    cra_status status;
    if (kind == CRA_KIND_ARRAY) {
        status = put_items(walk, value->items, depth + 1);
    } else if (value->empty_document) {
        status = document.size == 5 ? reserve(walk, 1) : CRA_ENCODE_UNFIT;
        if (status == CRA_OK)
            put_byte(walk, 0);
    } else {
        status = put_document(walk, value->record, depth + 1);
    }
    walk->at = document.data + document.size;
    walk->end = end;
    return status;
}

/* The value at the cursor, behind its element's key. */
static cra_status put_value(encode_walk *walk, const cra_encode_value *value, uint8_t type, unsigned depth)
{
    cra_kind kind = cra_kind_of_type(type);

    if (kind == CRA_KIND_BYTES) {
        if (left(walk) < 5)
            return CRA_ENCODE_UNFIT;
        if (walk->at[4] != 0)
            kind = CRA_KIND_BINARY;
    }
    if (kind == CRA_KIND_NONE || value->branch[kind] == CRA_NO_BRANCH)
        return CRA_ENCODE_UNFIT;
    CRA_TRY(reserve(walk, 1 + CRA_VARINT_MAX));
    if (value->is_union)
        put_byte(walk, value->branch[kind]);

    switch (kind) {
    case CRA_KIND_DOUBLE:
        return put_fixed(walk, 8);
    case CRA_KIND_STRING:
    case CRA_KIND_CODE:
    case CRA_KIND_SYMBOL:
        return put_string(walk);
    case CRA_KIND_DOCUMENT:
        return value->opaque_document ? put_opaque(walk) : put_embedded(walk, value, kind, depth);
    case CRA_KIND_ARRAY:
        return value->opaque_array ? put_opaque(walk) : put_embedded(walk, value, kind, depth);
    case CRA_KIND_BYTES:
    case CRA_KIND_BINARY:
        return put_binary(walk, kind);
    case CRA_KIND_UNDEFINED:
    case CRA_KIND_NULL:
    case CRA_KIND_MINKEY:
    case CRA_KIND_MAXKEY:
        put_byte(walk, 0); /* the only symbol */
        return CRA_OK;
    case CRA_KIND_OBJECTID:
        return put_fixed(walk, 12);
    case CRA_KIND_BOOL:
        if (left(walk) < 1 || *walk->at > 1)
            return CRA_ENCODE_UNFIT;
        put_byte(walk, *walk->at++);
        return CRA_OK;
    case CRA_KIND_DATE:
        return put_date(walk);
    case CRA_KIND_REGEX:
        return put_regex(walk);
    case CRA_KIND_DBPOINTER:
        return put_dbpointer(walk);
    case CRA_KIND_CODE_W_SCOPE:
        return put_code_w_scope(walk);
    case CRA_KIND_INT32:
        if (left(walk) < 4)
            return CRA_ENCODE_UNFIT;
        put_long(walk, (int32_t)load32(walk->at));
        walk->at += 4;
        return CRA_OK;
    case CRA_KIND_TIMESTAMP:
        return put_timestamp(walk);
    case CRA_KIND_INT64:
        if (left(walk) < 8)
            return CRA_ENCODE_UNFIT;
        put_long(walk, (int64_t)load64(walk->at));
        walk->at += 8;
        return CRA_OK;
    case CRA_KIND_DECIMAL128:
        return put_fixed(walk, 16);
    default:
        return CRA_ENCODE_UNFIT;
    }
}

/* Position of the key at the cursor in the record, `record->count` where it is not there. */
static size_t find_field(const cra_encode_record *record, const char *key, size_t size)
{
    const uint32_t hash = cra_key_hash(key, size - 1);
    size_t slot = hash & (record->table_size - 1);

    for (; record->table[slot] != 0; slot = (slot + 1) & (record->table_size - 1)) {
        const cra_encode_field *field = &record->fields[record->table[slot] - 1];
        if (field->hash == hash && field->key.size == size && memcmp(field->key.text, key, size) == 0)
            return record->table[slot] - 1;
    }
    return record->count;
}

/* Step over the key at the cursor; `*index` of its field, which is expected to be `next`. */
static inline cra_status take_key(encode_walk *walk, const cra_encode_record *record, size_t next, size_t *index)
{
    const size_t room = left(walk);

    if (next < record->count && cra_encode_key_at(&record->fields[next].key, walk->at, room)) {
        walk->at += record->fields[next].key.size;
        *index = next;
        return CRA_OK;
    }

    const uint8_t *key_end = memchr(walk->at, 0, room);
    if (key_end == NULL)
        return CRA_ENCODE_UNFIT;
    *index = find_field(record, (const char *)walk->at, (size_t)(key_end - walk->at) + 1);
    walk->at = key_end + 1;
    /* Unknown, a second time, or out of the schema's order. */
    return *index == record->count || *index < next ? CRA_ENCODE_UNFIT : CRA_OK;
}

static cra_status put_absent(encode_walk *walk, size_t count)
{
    CRA_TRY(reserve(walk, count));
    memset(walk->out->data + walk->out->size, 0, count);
    walk->out->size += count;
    return CRA_OK;
}

static cra_status put_document(encode_walk *walk, const cra_encode_record *record, unsigned depth)
{
    size_t next = 0;

    while (walk->at < walk->end) {
        const uint8_t type = *walk->at++;
        size_t index;
        CRA_TRY(take_key(walk, record, next, &index));
        if (index > next)
            CRA_TRY(put_absent(walk, index - next));
        CRA_TRY(put_value(walk, record->fields[index].value, type, depth));
        next = index + 1;
    }
    return next < record->count ? put_absent(walk, record->count - next) : CRA_OK;
}

cra_status cra_encode_walk(const cra_encode_record *root, cra_bytes document, cra_buf *out, bool *opaque)
{
    encode_walk walk = {.out = out, .at = document.data + 4, .end = document.data + document.size - 1, .opaque = false};
    const cra_status status = put_document(&walk, root, 0);

    *opaque = walk.opaque;
    return status;
}
