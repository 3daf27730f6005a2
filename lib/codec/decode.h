/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_DECODE_H
#define CRA_CODEC_DECODE_H

/* The state of running a program over one decompressed block. Functions return false on a failure that ends the block
 * (`failed` says which), and note what makes only a record a dead letter in `dead`. */

#include <string.h>

#include "base/buf.h"
#include "codec/avro_program.h"
#include "codec/avro_schema.h"
#include "codec/bson_raw.h"

typedef struct cra_decode {
    const cra_avro_program *program;
    const uint8_t *start, *at, *end; /* input: decompressed records */
    cra_buf out;                     /* BSON, document behind document */
    size_t document;                 /* start of the document at hand in `out` */
    size_t max_document, max_out;
    unsigned depth;
    cra_buf key;        /* scratch: name of a map's entry with its NUL, until its element begins */
    cra_buf names;      /* scratch: where the names of a large map lie */
    bool raw;           /* the record brought its document whole */
    const char *dead;   /* why the record at hand cannot become a document; static text; NULL: it can */
    cra_status failed;
    const char *what;   /* of the failure; static text or a constant of the program */
    int64_t lossy_dates;
} cra_decode;

/* End the block: input is not what the schema says. */
static inline bool cra_decode_fail(cra_decode *d, const char *what)
{
    if (d->failed == CRA_OK) {
        d->failed = CRA_CORRUPT;
        d->what = what;
    }
    return false;
}

static inline bool cra_decode_no_memory(cra_decode *d)
{
    d->failed = CRA_NOMEM;
    d->what = "out of memory";
    return false;
}

/* Room for `size` more bytes of output; refuses documents that grow beyond the limit. */
static inline bool cra_decode_room(cra_decode *d, size_t size)
{
    if (d->out.capacity - d->out.size >= size && d->out.size - d->document + size <= d->max_document)
        return true;
    if (d->out.size - d->document + size > d->max_document)
        return cra_decode_fail(d, "the document is too large");
    if (d->out.size + size > d->max_out)
        return cra_decode_fail(d, "its documents are too large together");
    return cra_buf_reserve(&d->out, size) == CRA_OK ? true : cra_decode_no_memory(d);
}

/* Type and name of an element, with room for `more` bytes behind them. */
static inline bool cra_decode_head(cra_decode *d, uint8_t type, const uint8_t *key, size_t key_size, size_t more)
{
    if (!cra_decode_room(d, 1 + key_size + more))
        return false;
    uint8_t *to = d->out.data + d->out.size;
    *to++ = type;
    memcpy(to, key, key_size);
    d->out.size += 1 + key_size;
    return true;
}

/* Append within room that was made. */
static inline void cra_decode_bytes(cra_decode *d, const void *data, size_t size)
{
    if (size > 0)
        memcpy(d->out.data + d->out.size, data, size);
    d->out.size += size;
}

static inline void cra_decode_le32(cra_decode *d, uint32_t number)
{
    cra_put_le32(d->out.data + d->out.size, number);
    d->out.size += 4;
}

static inline void cra_decode_le64(cra_decode *d, uint64_t number)
{
    cra_put_le64(d->out.data + d->out.size, number);
    d->out.size += 8;
}

/* One zig-zag number of at most 64 bits. */
static inline bool cra_decode_long(cra_decode *d, int64_t *out)
{
    uint64_t bits = 0;

    for (unsigned shift = 0; d->at < d->end; shift += 7) {
        const uint8_t byte = *d->at++;
        if (shift == 63 && byte > 1)
            return cra_decode_fail(d, "a number is longer than 64 bits");
        bits |= (uint64_t)(byte & 0x7F) << shift;
        if ((byte & 0x80) == 0) {
            *out = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
            return true;
        }
    }
    return cra_decode_fail(d, "a number goes beyond the block");
}

static inline bool cra_decode_int(cra_decode *d, int64_t *out)
{
    if (!cra_decode_long(d, out))
        return false;
    return *out >= INT32_MIN && *out <= INT32_MAX ? true : cra_decode_fail(d, "an int is longer than 32 bits");
}

/* `size` bytes of input. */
static inline bool cra_decode_take(cra_decode *d, size_t size, const uint8_t **out)
{
    if ((size_t)(d->end - d->at) < size)
        return cra_decode_fail(d, "a value goes beyond the block");
    *out = d->at;
    d->at += size;
    return true;
}

/* Length-prefixed bytes. */
static inline bool cra_decode_blob(cra_decode *d, const uint8_t **data, size_t *size)
{
    int64_t length;

    if (!cra_decode_long(d, &length))
        return false;
    if (length < 0 || length > d->end - d->at)
        return cra_decode_fail(d, length < 0 ? "a negative length" : "a length goes beyond the block");
    *data = d->at;
    *size = (size_t)length;
    d->at += length;
    return true;
}

/* Head of a block of array or map items: how many; a negative count is followed by the bytes of the block, which must
 * be true: `*limit` is where the items must end, else NULL. */
bool cra_decode_items(cra_decode *d, int64_t *count, const uint8_t **limit);

/* Run one instruction. `key` is the element's name with its NUL. */
bool cra_decode_value(cra_decode *d, uint32_t instruction, const uint8_t *key, size_t key_size);
/* Read and drop one value of the writer's schema. */
bool cra_decode_skip(cra_decode *d, const cra_avro_node *node, unsigned depth);
/* Logical types and our own profile: instructions from DATE on. */
bool cra_decode_logical(cra_decode *d, const cra_instruction *code, const uint8_t *key, size_t key_size);
bool cra_decode_native(cra_decode *d, const cra_instruction *code, const uint8_t *key, size_t key_size);
/* A string's text under its policy, as element of `type`. */
bool cra_decode_text(cra_decode *d, uint8_t type, const uint8_t *key, size_t key_size);

#endif
