/* SPDX-License-Identifier: Apache-2.0 */

/* Objects that stand for a BSON type: {"$oid": "…"} and its like, of extended JSON v2 and v1.
 *
 * The members of a candidate are scanned first, their values skipped; the shape that results decides, and only then
 * are the values read, in the order in which BSON has them. */

#include "codec/ejson_read.h"

#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "codec/bson_raw.h"
#include "codec/decimal128.h"
#include "codec/ejson_text.h"

typedef struct member {
    const uint8_t *key; /* as it stands in the text: a key with escapes is no name of a type */
    size_t key_size;
    size_t value_at;
} member;

/* An object of at most two members; `count` is 3 where there are more. */
typedef struct shape {
    member members[2];
    size_t count;
    size_t end; /* behind the closing brace */
} shape;

static bool scan_key(cra_ejson_reader *r, member *out)
{
    if (cra_ejson_peek(r) != '"')
        return false;
    const size_t start = r->at + 1;
    if (!cra_ejson_skip(r))
        return false;
    out->key = r->text + start;
    out->key_size = r->at - start - 1;
    if (cra_ejson_peek(r) != ':')
        return false;
    r->at++;
    return true;
}

/* False where the object is malformed (reading it as a document then says where). The reader moves. */
static bool scan_object(cra_ejson_reader *r, shape *out)
{
    out->count = 0;
    if (cra_ejson_peek(r) != '{')
        return false;
    r->at++;
    for (;;) {
        member next;
        if (!scan_key(r, &next))
            return false;
        cra_ejson_peek(r);
        next.value_at = r->at;
        if (!cra_ejson_skip(r))
            return false;
        if (out->count < 2)
            out->members[out->count] = next;
        if (out->count < 3)
            out->count++;
        const int c = cra_ejson_peek(r);
        r->at++;
        if (c == '}')
            break;
        if (c != ',')
            return false;
    }
    out->end = r->at;
    return true;
}

static bool key_is(const member *m, const char *name)
{
    return m->key_size == strlen(name) && memcmp(m->key, name, m->key_size) == 0;
}

/* Whether the object has exactly these two members, in any order; their values' positions. */
static bool is_pair(const shape *s, const char *first, const char *second, size_t at[2])
{
    if (s->count != 2)
        return false;
    const bool swapped = key_is(&s->members[0], second);
    if (!key_is(&s->members[swapped ? 1 : 0], first) || !key_is(&s->members[swapped ? 0 : 1], second))
        return false;
    at[0] = s->members[swapped ? 1 : 0].value_at;
    at[1] = s->members[swapped ? 0 : 1].value_at;
    return true;
}

static bool is_text(const cra_ejson_reader *r, size_t at)
{
    return r->text[at] == '"';
}

/* ---- reading the parts ----------------------------------------------------------------------------------------- */

static cra_status fail_at(cra_ejson_reader *r, size_t at, const char *message)
{
    r->at = at;
    return cra_ejson_fail(r, message);
}

/* Characters of the string at `at`, decoded behind what is written so far: `*size` bytes at out->data + out->size, to
 * be taken or left before anything is appended. */
static cra_status borrow_text(cra_ejson_reader *r, size_t at, size_t *size)
{
    const size_t start = r->out->size;

    r->at = at;
    CRA_TRY(cra_ejson_characters(r));
    *size = r->out->size - start;
    r->out->size = start;
    return CRA_OK;
}

static char *borrowed(cra_ejson_reader *r)
{
    return (char *)r->out->data + r->out->size;
}

static cra_status append_le32(cra_ejson_reader *r, uint32_t number)
{
    uint8_t bytes[4];

    cra_put_le32(bytes, number);
    return cra_buf_append(r->out, bytes, sizeof bytes);
}

static cra_status append_le64(cra_ejson_reader *r, uint64_t number)
{
    uint8_t bytes[8];

    cra_put_le64(bytes, number);
    return cra_buf_append(r->out, bytes, sizeof bytes);
}

/* A whole object of one member: the wrapped value inside a wrapper. */
static cra_status value_of_type(cra_ejson_reader *r, size_t at, uint8_t wanted, const char *message)
{
    uint8_t type = 0;

    r->at = at;
    CRA_TRY(cra_ejson_value(r, &type));
    return type == wanted ? CRA_OK : fail_at(r, at, message);
}

/* Characters and a NUL, for the texts of a regular expression. */
static cra_status cstring(cra_ejson_reader *r, size_t at)
{
    const size_t start = r->out->size;

    r->at = at;
    CRA_TRY(cra_ejson_characters(r));
    if (memchr(r->out->data + start, 0, r->out->size - start) != NULL)
        return fail_at(r, at, "a regular expression that holds U+0000, which BSON cannot");
    return cra_buf_append_byte(r->out, 0);
}

/* ---- types of one member --------------------------------------------------------------------------------------- */

static cra_status read_objectid(cra_ejson_reader *r, size_t at)
{
    uint8_t bytes[CRA_BSON_OBJECTID_SIZE];
    char hex[2 * CRA_BSON_OBJECTID_SIZE + 1] = {0};
    size_t size;

    CRA_TRY(borrow_text(r, at, &size));
    if (size == sizeof hex - 1)
        memcpy(hex, borrowed(r), size);
    if (!cra_hex_decode(hex, bytes, sizeof bytes))
        return fail_at(r, at, "$oid must be 24 hexadecimal digits");
    return cra_buf_append(r->out, bytes, sizeof bytes);
}

static cra_status read_uuid(cra_ejson_reader *r, size_t at)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    uint8_t bytes[5 + 16] = {16, 0, 0, 0, 4};
    char hex[33] = {0};
    size_t size;
    size_t digits = 0;

    CRA_TRY(borrow_text(r, at, &size));
    const char *text = borrowed(r);
    bool good = size == sizeof form - 1;
    for (size_t i = 0; good && i < size; i++) {
        if (form[i] == 'x')
            hex[digits++] = text[i];
        else
            good = text[i] == '-';
    }
    if (!good || !cra_hex_decode(hex, bytes + 5, 16))
        return fail_at(r, at, "$uuid must be 32 hexadecimal digits in groups of 8-4-4-4-12");
    return cra_buf_append(r->out, bytes, sizeof bytes);
}

static cra_status read_int32(cra_ejson_reader *r, size_t at)
{
    size_t size;
    int64_t integer;

    CRA_TRY(borrow_text(r, at, &size));
    if (!cra_ejson_parse_int64(borrowed(r), size, &integer) || integer < INT32_MIN || integer > INT32_MAX)
        return fail_at(r, at, "$numberInt must be an integer of 32 bits");
    return append_le32(r, (uint32_t)integer);
}

static cra_status read_int64(cra_ejson_reader *r, size_t at)
{
    size_t size;
    int64_t integer;

    CRA_TRY(borrow_text(r, at, &size));
    if (!cra_ejson_parse_int64(borrowed(r), size, &integer))
        return fail_at(r, at, "$numberLong must be an integer of 64 bits");
    return append_le64(r, (uint64_t)integer);
}

static cra_status read_double(cra_ejson_reader *r, size_t at)
{
    size_t size;
    double real;
    uint8_t bytes[8];

    CRA_TRY(borrow_text(r, at, &size));
    const bool infinite = size >= 8 && memcmp(borrowed(r) + size - 8, "Infinity", 8) == 0;
    if (!cra_ejson_parse_double(borrowed(r), size, &real) && !infinite)
        return fail_at(r, at, "$numberDouble must be a number within a double's range");
    cra_put_le_double(bytes, real);
    return cra_buf_append(r->out, bytes, sizeof bytes);
}

static cra_status read_decimal(cra_ejson_reader *r, size_t at)
{
    uint8_t bytes[CRA_DECIMAL128_SIZE];
    size_t size;

    CRA_TRY(borrow_text(r, at, &size));
    if (!cra_decimal128_from_string(borrowed(r), size, bytes))
        return fail_at(r, at, "$numberDecimal must be a number that a decimal128 holds exactly");
    return cra_buf_append(r->out, bytes, sizeof bytes);
}

static cra_status read_symbol(cra_ejson_reader *r, size_t at)
{
    r->at = at;
    return cra_ejson_string(r);
}

/* ISO text, milliseconds as v1 had them, or {"$numberLong": "…"}. */
static cra_status read_date(cra_ejson_reader *r, size_t at)
{
    const size_t start = r->out->size;
    size_t size;
    int64_t time = 0;
    uint8_t type = 0;

    if (is_text(r, at)) {
        CRA_TRY(borrow_text(r, at, &size));
        if (!cra_ejson_parse_date(borrowed(r), size, &time))
            return fail_at(r, at, "$date must be a date such as 2024-01-31T23:59:59.999Z");
        return append_le64(r, (uint64_t)time);
    }

    r->at = at;
    CRA_TRY(cra_ejson_value(r, &type));
    const cra_value value = {type, r->out->data + start, r->out->size - start};
    if (type == CRA_BSON_DOUBLE || !cra_value_as_int64(value, &time))
        return fail_at(r, at, "$date must be text, an integer or $numberLong");
    r->out->size = start;
    return append_le64(r, (uint64_t)time);
}

static cra_status read_timestamp(cra_ejson_reader *r, size_t at)
{
    static const char message[] = "$timestamp must be {\"t\": seconds, \"i\": increment}, each of 32 bits";
    shape inner;
    size_t parts[2];
    uint64_t stamp = 0;

    r->at = at;
    if (!scan_object(r, &inner) || !is_pair(&inner, "t", "i", parts))
        return fail_at(r, at, message);
    for (int i = 0; i < 2; i++) {
        const size_t start = r->out->size;
        uint8_t type = 0;
        int64_t integer = 0;
        r->at = parts[i];
        CRA_TRY(cra_ejson_value(r, &type));
        const cra_value value = {type, r->out->data + start, r->out->size - start};
        if (!cra_value_as_int64(value, &integer) || integer < 0 || integer > UINT32_MAX)
            return fail_at(r, parts[i], message);
        stamp = stamp << 32 | (uint64_t)integer;
        r->out->size = start;
    }
    return append_le64(r, stamp);
}

static cra_status read_db_pointer(cra_ejson_reader *r, size_t at)
{
    shape inner;
    size_t parts[2];

    r->at = at;
    if (!scan_object(r, &inner) || !is_pair(&inner, "$ref", "$id", parts))
        return fail_at(r, at, "$dbPointer must be {\"$ref\": text, \"$id\": {\"$oid\": …}}");
    r->at = parts[0];
    CRA_TRY(cra_ejson_string(r));
    return value_of_type(r, parts[1], CRA_BSON_OBJECTID, "$id of a $dbPointer must be an $oid");
}

/* Options are a set that BSON stores in alphabetical order. */
static void sort_options(char *options, size_t count)
{
    size_t counts[256] = {0};
    char *to = options;

    for (size_t i = 0; i < count; i++)
        counts[(uint8_t)options[i]]++;
    for (size_t c = 1; c < 256; c++) {
        memset(to, (int)c, counts[c]);
        to += counts[c];
    }
}

static bool is_ascii(const uint8_t *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] >= 0x80)
            return false;
    }
    return true;
}

static cra_status read_regex_parts(cra_ejson_reader *r, const size_t parts[2])
{
    CRA_TRY(cstring(r, parts[0]));
    const size_t start = r->out->size;
    CRA_TRY(cstring(r, parts[1]));
    const size_t size = r->out->size - start - 1;
    if (is_ascii(r->out->data + start, size))
        sort_options((char *)r->out->data + start, size);
    return CRA_OK;
}

static cra_status read_regex(cra_ejson_reader *r, size_t at)
{
    shape inner;
    size_t parts[2];

    r->at = at;
    if (!scan_object(r, &inner) || !is_pair(&inner, "pattern", "options", parts))
        return fail_at(r, at, "$regularExpression must be {\"pattern\": text, \"options\": text}");
    return read_regex_parts(r, parts);
}

/* $minKey and $maxKey, whose value is 1. */
static cra_status read_key_limit(cra_ejson_reader *r, size_t at)
{
    const size_t start = r->out->size;

    CRA_TRY(value_of_type(r, at, CRA_BSON_INT32, "$minKey and $maxKey must be 1"));
    if (cra_le32(r->out->data + start) != 1)
        return fail_at(r, at, "$minKey and $maxKey must be 1");
    r->out->size = start;
    return CRA_OK;
}

static cra_status read_undefined(cra_ejson_reader *r, size_t at)
{
    const size_t start = r->out->size;

    CRA_TRY(value_of_type(r, at, CRA_BSON_BOOL, "$undefined must be true"));
    if (r->out->data[start] != 1)
        return fail_at(r, at, "$undefined must be true");
    r->out->size = start;
    return CRA_OK;
}

/* ---- binary and code, of one member or two --------------------------------------------------------------------- */

/* Positions of the base64 text and of the subtype in hexadecimal. */
static cra_status read_binary_parts(cra_ejson_reader *r, const size_t parts[2])
{
    const size_t start = r->out->size;
    char hex[3] = "0";
    uint8_t subtype;
    size_t size;

    CRA_TRY(borrow_text(r, parts[1], &size));
    if (size == 1 || size == 2)
        memcpy(hex + 2 - size, borrowed(r), size);
    if (size < 1 || size > 2 || !cra_hex_decode(hex, &subtype, 1))
        return fail_at(r, parts[1], "the subtype of a $binary must be one or two hexadecimal digits");

    const uint8_t head[9] = {0, 0, 0, 0, subtype};
    const size_t inner = subtype == 2 ? 4 : 0;
    CRA_TRY(cra_buf_append(r->out, head, 5 + inner));
    CRA_TRY(borrow_text(r, parts[0], &size));
    if (!cra_base64_decode((uint8_t *)borrowed(r), &size))
        return fail_at(r, parts[0], "$binary must be base64 with padding");
    if (size > INT32_MAX - 16)
        return fail_at(r, parts[0], "a $binary too long for BSON");
    r->out->size += size;
    cra_put_le32(r->out->data + start, (uint32_t)(size + inner));
    if (inner > 0)
        cra_put_le32(r->out->data + start + 5, (uint32_t)size);
    return CRA_OK;
}

static cra_status read_binary(cra_ejson_reader *r, size_t at)
{
    shape inner;
    size_t parts[2];

    r->at = at;
    if (!scan_object(r, &inner) || !is_pair(&inner, "base64", "subType", parts))
        return fail_at(r, at, "$binary must be {\"base64\": text, \"subType\": text}");
    return read_binary_parts(r, parts);
}

static cra_status read_code(cra_ejson_reader *r, size_t at)
{
    return read_symbol(r, at);
}

static cra_status read_scoped_code(cra_ejson_reader *r, const size_t parts[2])
{
    const size_t start = r->out->size;

    CRA_TRY(append_le32(r, 0));
    r->at = parts[0];
    CRA_TRY(cra_ejson_string(r));
    r->at = parts[1];
    CRA_TRY(cra_ejson_document(r));
    if (r->out->size - start > INT32_MAX)
        return fail_at(r, parts[0], "a $code too long for BSON");
    cra_put_le32(r->out->data + start, (uint32_t)(r->out->size - start));
    return CRA_OK;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

typedef struct wrapper {
    const char *key;
    uint8_t type;
    cra_status (*read)(cra_ejson_reader *r, size_t at); /* the value at `at` */
} wrapper;

static const wrapper wrappers[] = {
    {"$oid", CRA_BSON_OBJECTID, read_objectid},          {"$date", CRA_BSON_DATE, read_date},
    {"$numberLong", CRA_BSON_INT64, read_int64},         {"$numberInt", CRA_BSON_INT32, read_int32},
    {"$numberDouble", CRA_BSON_DOUBLE, read_double},     {"$numberDecimal", CRA_BSON_DECIMAL128, read_decimal},
    {"$binary", CRA_BSON_BINARY, read_binary},           {"$uuid", CRA_BSON_BINARY, read_uuid},
    {"$timestamp", CRA_BSON_TIMESTAMP, read_timestamp},  {"$regularExpression", CRA_BSON_REGEX, read_regex},
    {"$symbol", CRA_BSON_SYMBOL, read_symbol},           {"$code", CRA_BSON_CODE, read_code},
    {"$dbPointer", CRA_BSON_DBPOINTER, read_db_pointer}, {"$undefined", CRA_BSON_UNDEFINED, read_undefined},
    {"$minKey", CRA_BSON_MINKEY, read_key_limit},        {"$maxKey", CRA_BSON_MAXKEY, read_key_limit},
};

/* Two members together; the first of them may be read alone, too. */
static cra_status read_pair(cra_ejson_reader *r, const shape *s, uint8_t *type, bool *found)
{
    size_t parts[2];

    *found = true;
    if (is_pair(s, "$code", "$scope", parts)) {
        *type = CRA_BSON_CODE_W_SCOPE;
        return read_scoped_code(r, parts);
    }
    if (is_pair(s, "$binary", "$type", parts) && is_text(r, parts[0]) && is_text(r, parts[1])) {
        *type = CRA_BSON_BINARY;
        return read_binary_parts(r, parts);
    }
    if (is_pair(s, "$regex", "$options", parts) && is_text(r, parts[0]) && is_text(r, parts[1])) {
        *type = CRA_BSON_REGEX;
        return read_regex_parts(r, parts);
    }
    *found = false;
    return CRA_OK;
}

static const wrapper *find_wrapper(const member *m)
{
    for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++) {
        if (key_is(m, wrappers[i].key))
            return &wrappers[i];
    }
    return NULL;
}

/* Whether an object that begins with this key can stand for a type: a look at one key, before any scan. */
static bool may_wrap(const member *m)
{
    return find_wrapper(m) != NULL || key_is(m, "$regex") || key_is(m, "$options") || key_is(m, "$type") ||
           key_is(m, "$scope");
}

static cra_status read_wrapper(cra_ejson_reader *r, const shape *s, uint8_t *type, bool *found)
{
    const wrapper *known = find_wrapper(&s->members[0]);

    CRA_TRY(read_pair(r, s, type, found));
    if (*found || known == NULL)
        return CRA_OK;
    if (s->count != 1)
        return fail_at(r, s->members[0].value_at, "a value of a type with other fields beside it");
    *type = known->type;
    *found = true;
    return known->read(r, s->members[0].value_at);
}

cra_status cra_ejson_wrapper(cra_ejson_reader *r, uint8_t *type, bool *found)
{
    const size_t start = r->at;
    member first;
    shape s;

    *found = false;
    r->at++;
    bool candidate = cra_ejson_peek(r) == '"' && r->size - r->at > 1 && r->text[r->at + 1] == '$';
    candidate = candidate && scan_key(r, &first) && may_wrap(&first);
    r->at = start;
    candidate = candidate && scan_object(r, &s);
    r->at = start;
    if (!candidate)
        return CRA_OK;

    /* Only code with scope nests for good, and it opens a document each time. */
    if (r->wrappers > CRA_BSON_MAX_DEPTH)
        return cra_ejson_fail(r, "nested too deep");
    r->wrappers++;
    const cra_status status = read_wrapper(r, &s, type, found);
    r->wrappers--;
    if (status == CRA_OK)
        r->at = *found ? s.end : start;
    return status;
}
