/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_TESTS_RANDOM_DOCUMENT_H
#define CRA_TESTS_RANDOM_DOCUMENT_H

/* Random BSON documents of every type, from a seed: odd and clashing keys, NUL and broken UTF-8 in text, extreme
 * numbers, arrays whose keys are no positions. All are structurally valid. Include after <cmocka.h>. */

#include <stdio.h>
#include <string.h>

#include <crawlarchive/bson.h>

typedef struct random_source {
    uint64_t state;
    bool tame; /* nothing that has to go into `_raw`, once types and order have been seen */
} random_source;

static inline uint32_t random_below(random_source *source, uint32_t bound)
{
    source->state ^= source->state << 13;
    source->state ^= source->state >> 7;
    source->state ^= source->state << 17;
    return (uint32_t)((source->state >> 16) % bound);
}

static inline bool random_one_in(random_source *source, uint32_t bound)
{
    return random_below(source, bound) == 0;
}

static inline void random_put(cra_buf *out, const void *data, size_t size)
{
    assert_int_equal(cra_buf_append(out, data, size), CRA_OK);
}

static inline void random_bytes(random_source *source, cra_buf *out, size_t size)
{
    while (size-- > 0) {
        const uint8_t byte = (uint8_t)random_below(source, 256);
        random_put(out, &byte, 1);
    }
}

static inline void random_put32(cra_buf *out, size_t number)
{
    const uint8_t bytes[4] = {(uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16),
                              (uint8_t)(number >> 24)};
    random_put(out, bytes, sizeof bytes);
}

/* Without NUL where `is_cstring`. */
static inline void random_text(random_source *source, cra_buf *out, bool is_cstring)
{
    static const char *const pieces[] = {"a",  "Title ", "\xC3\xBC", "\xE2\x82\xAC", "\xF0\x9F\x90\x9D",
                                         "\"", "\\",     "\n"};
    const uint32_t count = random_one_in(source, 20) ? 300 : random_below(source, 6);

    for (uint32_t i = 0; i < count; i++) {
        const char *piece = pieces[random_below(source, sizeof pieces / sizeof *pieces)];
        random_put(out, piece, strlen(piece));
    }
    if (!is_cstring && random_one_in(source, 10))
        random_put(out, "\0x", 2);
    if (!source->tame && random_one_in(source, 60))
        random_put(out, "\xFF", 1);
}

static inline void random_string(random_source *source, cra_buf *out)
{
    const size_t start = out->size;

    random_put32(out, 0);
    random_text(source, out, false);
    random_put(out, "", 1);
    const size_t size = out->size - start - 4;
    for (int i = 0; i < 4; i++)
        out->data[start + (size_t)i] = (uint8_t)(size >> (8 * i));
}

static inline void random_cstring(random_source *source, cra_buf *out)
{
    random_text(source, out, true);
    random_put(out, "", 1);
}

static inline void random_int64(random_source *source, cra_buf *out)
{
    static const int64_t edges[] = {0, 1, -1, 63, 64, -64, -65, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    uint64_t number = (uint64_t)edges[random_below(source, sizeof edges / sizeof *edges)];

    if (random_one_in(source, 2))
        number = (uint64_t)random_below(source, UINT32_MAX) << random_below(source, 33);
    random_put32(out, (uint32_t)number);
    random_put32(out, (uint32_t)(number >> 32));
}

static inline void random_date(random_source *source, cra_buf *out)
{
    if (!source->tame && random_one_in(source, 10)) {
        random_int64(source, out);
        return;
    }
    const int64_t date = (int64_t)random_below(source, UINT32_MAX) * 1000 - INT64_C(1500000000000);
    random_put32(out, (uint32_t)(uint64_t)date);
    random_put32(out, (uint32_t)((uint64_t)date >> 32));
}

static inline void random_double(random_source *source, cra_buf *out)
{
    static const char edges[][8] = {
        {0, 0, 0, 0, 0, 0, 0, 0},           {0, 0, 0, 0, 0, 0, 0, '\x80'},    {0, 0, 0, 0, 0, 0, '\xF0', 0x7F},
        {1, 0, 0, 0, 0, 0, '\xF0', '\xFF'}, {0, 0, 0, 0, 0, 0, '\xF8', 0x7F},
    };

    if (random_one_in(source, 2))
        random_bytes(source, out, 8);
    else
        random_put(out, edges[random_below(source, 5)], 8);
}

static inline void random_elements(random_source *source, cra_buf *out, bool is_array, unsigned depth);

static inline void random_embedded(random_source *source, cra_buf *out, bool is_array, unsigned depth)
{
    size_t mark;

    assert_int_equal(cra_bson_begin(out, &mark), CRA_OK);
    random_elements(source, out, is_array, depth);
    assert_int_equal(cra_bson_end(out, mark), CRA_OK);
}

static inline void random_binary(random_source *source, cra_buf *out)
{
    static const char subtypes[] = {0, 0, 0, 2, 4, 5, '\x80'};
    const char subtype = subtypes[random_below(source, sizeof subtypes)];
    const size_t size = random_below(source, 40);

    random_put32(out, subtype == 2 ? size + 4 : size);
    random_put(out, &subtype, 1);
    if (subtype == 2)
        random_put32(out, size);
    random_bytes(source, out, size);
}

static inline void random_value(random_source *source, cra_buf *out, uint8_t type, unsigned depth)
{
    const size_t start = out->size;

    switch (type) {
    case CRA_BSON_DOUBLE:
        random_double(source, out);
        break;
    case CRA_BSON_STRING:
    case CRA_BSON_CODE:
    case CRA_BSON_SYMBOL:
        random_string(source, out);
        break;
    case CRA_BSON_DOCUMENT:
    case CRA_BSON_ARRAY:
        random_embedded(source, out, type == CRA_BSON_ARRAY, depth + 1);
        break;
    case CRA_BSON_BINARY:
        random_binary(source, out);
        break;
    case CRA_BSON_OBJECTID:
        random_bytes(source, out, 12);
        break;
    case CRA_BSON_BOOL:
        random_put(out, random_one_in(source, 2) ? "\1" : "", 1);
        break;
    case CRA_BSON_DATE:
        random_date(source, out);
        break;
    case CRA_BSON_REGEX:
        random_cstring(source, out);
        random_put(out, random_one_in(source, 2) ? "im" : "xx", 3);
        break;
    case CRA_BSON_DBPOINTER:
        random_string(source, out);
        random_bytes(source, out, 12);
        break;
    case CRA_BSON_CODE_W_SCOPE:
        random_put32(out, 0);
        random_string(source, out);
        random_embedded(source, out, false, depth + 1);
        for (int i = 0; i < 4; i++)
            out->data[start + (size_t)i] = (uint8_t)((out->size - start) >> (8 * i));
        break;
    case CRA_BSON_INT32:
        random_put32(out, random_one_in(source, 2) ? random_below(source, UINT32_MAX) : random_below(source, 200));
        break;
    case CRA_BSON_TIMESTAMP:
    case CRA_BSON_INT64:
        random_int64(source, out);
        break;
    case CRA_BSON_DECIMAL128:
        random_bytes(source, out, 16);
        break;
    default:
        break;
    }
}

static inline void random_key(random_source *source, cra_buf *out)
{
    static const char *const odd[] = {"",    "a.b",  "a_b", "A_B", "$x", "\xC3\xBC", "\xC3\x9C", "url", "URL", "0",
                                      "1a",  "_raw", "_id", "id",  "x",  "x",        "null",     "int", "a-b", "bson",
                                      "\"q", "\x01", "y",   "z",   "w",  "v",        "u",        "Url", "uRL", "t"};
    char key[16];

    if (!source->tame && random_one_in(source, 200)) {
        random_put(out, "\xFEk", 3);
    } else if (random_one_in(source, 30)) {
        snprintf(key, sizeof key, "key%u", random_below(source, 50));
        random_put(out, key, strlen(key) + 1);
    } else {
        const char *name = odd[random_below(source, sizeof odd / sizeof *odd)];
        random_put(out, name, strlen(name) + 1);
    }
}

static inline void random_elements(random_source *source, cra_buf *out, bool is_array, unsigned depth)
{
    static const uint8_t types[] = {
        CRA_BSON_DOUBLE, CRA_BSON_STRING,    CRA_BSON_STRING, CRA_BSON_DOCUMENT,   CRA_BSON_ARRAY,
        CRA_BSON_BINARY, CRA_BSON_OBJECTID,  CRA_BSON_BOOL,   CRA_BSON_DATE,       CRA_BSON_NULL,
        CRA_BSON_REGEX,  CRA_BSON_DBPOINTER, CRA_BSON_CODE,   CRA_BSON_SYMBOL,     CRA_BSON_CODE_W_SCOPE,
        CRA_BSON_INT32,  CRA_BSON_TIMESTAMP, CRA_BSON_INT64,  CRA_BSON_DECIMAL128, CRA_BSON_MINKEY,
        CRA_BSON_MAXKEY, CRA_BSON_UNDEFINED, CRA_BSON_INT32,  CRA_BSON_DATE,       CRA_BSON_STRING,
    };
    uint32_t count = random_below(source, depth == 0 ? 12 : 5);
    char key[16];

    if (is_array && random_one_in(source, 40))
        count = 130;
    if (depth > 6)
        count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t type = types[random_below(source, sizeof types)];
        random_put(out, &type, 1);
        if (is_array && (source->tame || !random_one_in(source, 200))) {
            snprintf(key, sizeof key, "%u", i);
            random_put(out, key, strlen(key) + 1);
        } else if (source->tame) {
            /* Rising keys: one order fits all. */
            snprintf(key, sizeof key, "k%u%u", i, random_below(source, 3));
            random_put(out, key, strlen(key) + 1);
        } else {
            random_key(source, out);
        }
        random_value(source, out, type, depth);
    }
}

/* Append a document. */
static inline void random_document(random_source *source, cra_buf *out)
{
    random_embedded(source, out, false, 0);
}

#endif
