/* SPDX-License-Identifier: Apache-2.0 */
#include "core/field_map.h"

#include <string.h>

#include <crawlarchive/config.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/hash.h"
#include "codec/decimal128.h"

static const struct {
    const char *word;
    cra_field_type type;
} type_words[] = {
    {"objectid", CRA_FIELD_OBJECTID},
    {"decimal", CRA_FIELD_DECIMAL},
    {"int32", CRA_FIELD_INT32},
    {"int64", CRA_FIELD_INT64},
    {"date", CRA_FIELD_DATE},
    {"double", CRA_FIELD_DOUBLE},
    {"absent_if_null", CRA_FIELD_ABSENT_IF_NULL},
};

static const char *type_word(cra_field_type type)
{
    for (size_t i = 0; i < sizeof type_words / sizeof type_words[0]; i++) {
        if (type_words[i].type == type)
            return type_words[i].word;
    }
    return "?";
}

void cra_field_map_init(cra_field_map *map, const cra_allocator *allocator)
{
    memset(map, 0, sizeof *map);
    map->allocator = allocator;
}

void cra_field_map_cleanup(cra_field_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        cra_free(map->allocator, map->rules[i].path);
    cra_free(map->allocator, map->rules);
    cra_field_map_init(map, map->allocator);
}

cra_status cra_field_map_add(cra_field_map *map, const char *path, const char *type, cra_error *err)
{
    const size_t words = sizeof type_words / sizeof type_words[0];
    size_t word = 0;

    while (word < words && strcmp(type_words[word].word, type) != 0)
        word++;
    if (word == words)
        return cra_error_set(err, CRA_INVALID, "config",
                             "archive.fields: %s: unknown type \"%s\"; allowed: objectid, decimal, int32, int64, "
                             "date, double, absent_if_null",
                             path, type);
    if (cra_array_grow(map->allocator, (void **)&map->rules, &map->capacity, map->count + 1, sizeof *map->rules) !=
        CRA_OK)
        return cra_error_set(err, CRA_NOMEM, "config", "out of memory");
    char *copy = cra_strdup(map->allocator, path);
    if (copy == NULL)
        return cra_error_set(err, CRA_NOMEM, "config", "out of memory");
    map->rules[map->count++] = (cra_field_rule){copy, type_words[word].type};
    return CRA_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A converted value: its bytes lie in `bytes`. */
typedef struct converted {
    uint8_t bytes[16];
    cra_value value;
} converted;

static bool text_of(cra_value value, char *out, size_t size)
{
    const cra_bytes text = cra_value_text(value);

    if (value.type != CRA_BSON_STRING || text.size >= size || memchr(text.data, '\0', text.size) != NULL)
        return false;
    memcpy(out, text.data, text.size);
    out[text.size] = '\0';
    return true;
}

static void put_little_endian(uint8_t *out, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(number >> (8 * i));
}

static bool to_objectid(cra_value from, converted *to)
{
    char text[32];

    if (from.type == CRA_BSON_BINARY && from.size == 4 + 1 + 12) {
        memcpy(to->bytes, from.data + 5, 12);
        return true;
    }
    return text_of(from, text, sizeof text) && cra_hex_decode(text, to->bytes, 12);
}

static bool to_decimal(cra_value from, converted *to)
{
    char text[128];
    int64_t number;

    if (text_of(from, text, sizeof text))
        return cra_decimal128_from_string(text, strlen(text), to->bytes);
    if ((from.type == CRA_BSON_INT32 || from.type == CRA_BSON_INT64) && cra_value_as_int64(from, &number)) {
        uint8_t big_endian[8];
        for (size_t i = 0; i < 8; i++)
            big_endian[i] = (uint8_t)((uint64_t)number >> (8 * (7 - i)));
        return cra_decimal128_from_int_be(big_endian, 8, 0, to->bytes);
    }
    return false;
}

static bool to_date(cra_value from, converted *to)
{
    char text[64];
    int64_t number;

    if (text_of(from, text, sizeof text)) {
        if (cra_time_parse(text, &number, NULL) != CRA_OK)
            return false;
    } else if ((from.type != CRA_BSON_INT64 && from.type != CRA_BSON_INT32) || !cra_value_as_int64(from, &number)) {
        return false;
    }
    put_little_endian(to->bytes, (uint64_t)number, 8);
    return true;
}

static bool to_double(cra_value from, converted *to)
{
    int64_t number;
    uint64_t bits;

    if (!cra_value_as_int64(from, &number))
        return false;
    const double real = (double)number;
    /* Beyond 2^53 not every integer is a double: a lossy value would never compare equal again. */
    if (number > (INT64_C(1) << 53) || number < -(INT64_C(1) << 53))
        return false;
    memcpy(&bits, &real, sizeof bits);
    put_little_endian(to->bytes, bits, 8);
    return true;
}

static bool to_integer(cra_value from, converted *to, bool narrow)
{
    int64_t number;

    if (!cra_value_as_int64(from, &number) || (narrow && (number < INT32_MIN || number > INT32_MAX)))
        return false;
    put_little_endian(to->bytes, (uint64_t)number, narrow ? 4 : 8);
    return true;
}

static const struct {
    uint8_t bson_type;
    uint8_t size;
} target[] = {
    [CRA_FIELD_OBJECTID] = {CRA_BSON_OBJECTID, 12},  [CRA_FIELD_DECIMAL] = {CRA_BSON_DECIMAL128, 16},
    [CRA_FIELD_INT32] = {CRA_BSON_INT32, 4},         [CRA_FIELD_INT64] = {CRA_BSON_INT64, 8},
    [CRA_FIELD_DATE] = {CRA_BSON_DATE, 8},           [CRA_FIELD_DOUBLE] = {CRA_BSON_DOUBLE, 8},
    [CRA_FIELD_ABSENT_IF_NULL] = {CRA_BSON_NULL, 0},
};

static bool convert(cra_field_type type, cra_value from, converted *to)
{
    bool done = false;

    switch (type) {
    case CRA_FIELD_OBJECTID:
        done = to_objectid(from, to);
        break;
    case CRA_FIELD_DECIMAL:
        done = to_decimal(from, to);
        break;
    case CRA_FIELD_INT32:
        done = to_integer(from, to, true);
        break;
    case CRA_FIELD_INT64:
        done = to_integer(from, to, false);
        break;
    case CRA_FIELD_DATE:
        done = to_date(from, to);
        break;
    case CRA_FIELD_DOUBLE:
        done = to_double(from, to);
        break;
    case CRA_FIELD_ABSENT_IF_NULL:
        break;
    }
    if (done)
        to->value = (cra_value){target[type].bson_type, to->bytes, target[type].size};
    return done;
}

/* ---- documents ------------------------------------------------------------------------------- */

#define PATH_MAX_BYTES 1024

typedef struct rewriter {
    const cra_field_map *map;
    cra_buf *out;
    cra_error *err;
    char path[PATH_MAX_BYTES]; /* of the element at hand, dotted, without array positions */
} rewriter;

static cra_status out_of_memory(rewriter *rewrite)
{
    return cra_error_set(rewrite->err, CRA_NOMEM, "archive", "out of memory");
}

static const cra_field_rule *rule_of(const rewriter *rewrite)
{
    for (size_t i = 0; i < rewrite->map->count; i++) {
        if (strcmp(rewrite->map->rules[i].path, rewrite->path) == 0)
            return &rewrite->map->rules[i];
    }
    return NULL;
}

/* Whether any rule lies below the path at hand. */
static bool has_rule_below(const rewriter *rewrite)
{
    const size_t size = strlen(rewrite->path);

    for (size_t i = 0; i < rewrite->map->count; i++) {
        const char *path = rewrite->map->rules[i].path;
        if (strncmp(path, rewrite->path, size) == 0 && path[size] == '.')
            return true;
    }
    return false;
}

static cra_status rewrite_document(rewriter *rewrite, cra_bytes document, bool is_array, size_t depth);

static cra_status put_nested(rewriter *rewrite, const cra_bson_element *element, size_t depth)
{
    /* Type and name as they are, then the document anew. */
    if (cra_buf_append_byte(rewrite->out, element->value.type) != CRA_OK ||
        cra_buf_append(rewrite->out, element->name, element->name_size + 1) != CRA_OK)
        return out_of_memory(rewrite);
    return rewrite_document(rewrite, cra_value_document(element->value), element->value.type == CRA_BSON_ARRAY,
                            depth + 1);
}

static cra_status put_converted(rewriter *rewrite, const cra_field_rule *rule, const cra_bson_element *element)
{
    converted to;

    if (element->value.type == CRA_BSON_NULL && rule->type == CRA_FIELD_ABSENT_IF_NULL)
        return CRA_OK;
    if (element->value.type == CRA_BSON_NULL || rule->type == CRA_FIELD_ABSENT_IF_NULL ||
        element->value.type == target[rule->type].bson_type)
        to.value = element->value;
    else if (!convert(rule->type, element->value, &to))
        return cra_error_set(rewrite->err, CRA_CORRUPT, "archive",
                             "archive.fields: %s: a value of BSON type 0x%02x cannot become \"%s\"", rule->path,
                             element->value.type, type_word(rule->type));
    return cra_bson_put_value(rewrite->out, element->name, to.value) == CRA_OK ? CRA_OK : out_of_memory(rewrite);
}

static cra_status rewrite_element(rewriter *rewrite, const cra_bson_element *element, size_t depth)
{
    const bool nested = element->value.type == CRA_BSON_DOCUMENT || element->value.type == CRA_BSON_ARRAY;
    const cra_field_rule *rule = nested ? NULL : rule_of(rewrite);

    if (rule != NULL)
        return put_converted(rewrite, rule, element);
    if (nested && depth < CRA_BSON_MAX_DEPTH &&
        (has_rule_below(rewrite) || (element->value.type == CRA_BSON_ARRAY && rule_of(rewrite) != NULL)))
        return put_nested(rewrite, element, depth);
    return cra_bson_put_value(rewrite->out, element->name, element->value) == CRA_OK ? CRA_OK : out_of_memory(rewrite);
}

static cra_status rewrite_document(rewriter *rewrite, cra_bytes document, bool is_array, size_t depth)
{
    const size_t path_size = strlen(rewrite->path);
    cra_bson_iter iter;
    cra_bson_element element;
    size_t mark;

    CRA_TRY(cra_bson_iter_init(&iter, document, rewrite->err));
    if (cra_bson_begin(rewrite->out, &mark) != CRA_OK)
        return out_of_memory(rewrite);
    cra_status status;
    while ((status = cra_bson_iter_next(&iter, &element, rewrite->err)) == CRA_OK) {
        /* A name too long for a path has no rule; it must not pass for its parent's. */
        if (!is_array && path_size + 1 + element.name_size >= PATH_MAX_BYTES) {
            if (cra_bson_put_value(rewrite->out, element.name, element.value) != CRA_OK)
                return out_of_memory(rewrite);
            continue;
        }
        /* Positions in arrays are no part of a path. */
        if (!is_array) {
            char *end = rewrite->path + path_size;
            if (path_size > 0)
                *end++ = '.';
            memcpy(end, element.name, element.name_size + 1);
        }
        status = rewrite_element(rewrite, &element, depth);
        rewrite->path[path_size] = '\0';
        if (status != CRA_OK)
            return status;
    }
    if (status != CRA_DONE)
        return status;
    return cra_bson_end(rewrite->out, mark) == CRA_OK ? CRA_OK : out_of_memory(rewrite);
}

cra_status cra_field_map_apply(const cra_field_map *map, cra_bytes document, cra_buf *out, cra_error *err)
{
    rewriter rewrite = {.map = map, .out = out, .err = err};
    const size_t before = out->size;
    const cra_status status = rewrite_document(&rewrite, document, false, 0);

    if (status != CRA_OK)
        out->size = before;
    return status;
}
