/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/ejson_read.h"

#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "codec/bson_raw.h"
#include "codec/ejson_text.h"

/* ---- position -------------------------------------------------------------------------------------------------- */

cra_status cra_ejson_fail(cra_ejson_reader *r, const char *message)
{
    const size_t end = r->at < r->size ? r->at : r->size;
    size_t line = 1;
    size_t column = 1;

    if (r->err == NULL)
        return CRA_CORRUPT;
    for (size_t i = 0; i < end; i++) {
        if (r->text[i] == '\n') {
            line++;
            column = 1;
        } else if ((r->text[i] & 0xC0) != 0x80) {
            column++;
        }
    }
    return cra_error_set(r->err, CRA_CORRUPT, "json", "%s at line %zu, column %zu", message, line, column);
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

int cra_ejson_peek(cra_ejson_reader *r)
{
    while (r->at < r->size && is_space(r->text[r->at]))
        r->at++;
    return r->at < r->size ? r->text[r->at] : -1;
}

/* ---- skipping -------------------------------------------------------------------------------------------------- */

static bool skip_string(cra_ejson_reader *r)
{
    for (r->at++; r->at < r->size; r->at++) {
        if (r->text[r->at] == '"') {
            r->at++;
            return true;
        }
        if (r->text[r->at] == '\\')
            r->at++;
    }
    return false;
}

bool cra_ejson_skip(cra_ejson_reader *r)
{
    size_t open = 0;

    do {
        const int c = cra_ejson_peek(r);
        if (c < 0)
            return false;
        if (c == '"') {
            if (!skip_string(r))
                return false;
        } else if (c == '{' || c == '[') {
            open++;
            r->at++;
        } else if (c == '}' || c == ']') {
            if (open == 0)
                return false;
            open--;
            r->at++;
        } else if (c == ',' || c == ':') {
            if (open == 0)
                return false;
            r->at++;
        } else {
            while (r->at < r->size && strchr(" \n\r\t\",:{}[]", r->text[r->at]) == NULL)
                r->at++;
            /* strchr() finds the NUL, too, and no token holds one. */
            if (r->at < r->size && r->text[r->at] == '\0')
                return false;
        }
    } while (open > 0);
    return true;
}

/* ---- strings --------------------------------------------------------------------------------------------------- */

/* Bytes before the next quote, backslash or control character, eight at a time. */
static size_t plain_run(const uint8_t *text, size_t size)
{
    const uint64_t ones = 0x0101010101010101u;
    const uint64_t tops = 0x8080808080808080u;
    size_t at = 0;

    while (size - at >= 8) {
        uint64_t word;
        memcpy(&word, text + at, sizeof word);
        const uint64_t quote = word ^ (ones * '"');
        const uint64_t slash = word ^ (ones * '\\');
        const uint64_t stops = ((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash);
        if ((stops & tops) != 0)
            break;
        at += 8;
    }
    while (at < size && text[at] >= 0x20 && text[at] != '"' && text[at] != '\\')
        at++;
    return at;
}

/* Four hexadecimal digits; -1 where there are none. */
static int32_t hex4(const cra_ejson_reader *r, size_t at)
{
    int32_t number = 0;

    if (r->size - at < 4 || at > r->size)
        return -1;
    for (size_t i = at; i < at + 4; i++) {
        const uint8_t c = r->text[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return -1;
        number = number << 4 | digit;
    }
    return number;
}

/* `\uXXXX`, with its other half where it is a surrogate; the reader stands on the backslash. */
static cra_status unicode_escape(cra_ejson_reader *r)
{
    uint8_t bytes[4];
    int32_t point = hex4(r, r->at + 2);

    if (point < 0)
        return cra_ejson_fail(r, "an escape without four hexadecimal digits");
    size_t size = 6;
    if (point >= 0xD800 && point <= 0xDFFF) {
        const bool paired = r->size - r->at >= 12 && r->text[r->at + 6] == '\\' && r->text[r->at + 7] == 'u';
        const int32_t low = paired ? hex4(r, r->at + 8) : -1;
        if (point > 0xDBFF || low < 0xDC00 || low > 0xDFFF)
            return cra_ejson_fail(r, "half of a surrogate pair");
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        size = 12;
    }
    r->at += size;
    return cra_buf_append(r->out, bytes, cra_utf8_encode((uint32_t)point, bytes));
}

static cra_status escape(cra_ejson_reader *r)
{
    static const char names[] = "\"\\/bfnrt";
    static const char bytes[] = "\"\\/\b\f\n\r\t";

    if (r->size - r->at < 2)
        return cra_ejson_fail(r, "a string without its end");
    const uint8_t c = r->text[r->at + 1];
    if (c == 'u')
        return unicode_escape(r);
    const char *name = c == '\0' ? NULL : strchr(names, c);
    if (name == NULL)
        return cra_ejson_fail(r, "an unknown escape");
    r->at += 2;
    return cra_buf_append_byte(r->out, (uint8_t)bytes[name - names]);
}

cra_status cra_ejson_characters(cra_ejson_reader *r)
{
    if (cra_ejson_peek(r) != '"')
        return cra_ejson_fail(r, "expected a string");
    r->at++;
    for (;;) {
        const size_t run = plain_run(r->text + r->at, r->size - r->at);
        const size_t good = cra_utf8_check(r->text + r->at, run);
        if (good != run) {
            r->at += good;
            return cra_ejson_fail(r, "text that is not UTF-8");
        }
        CRA_TRY(cra_buf_append(r->out, r->text + r->at, run));
        r->at += run;
        if (r->at == r->size)
            return cra_ejson_fail(r, "a string without its end");
        if (r->text[r->at] == '"')
            break;
        if (r->text[r->at] != '\\')
            return cra_ejson_fail(r, "a control character in a string");
        CRA_TRY(escape(r));
    }
    r->at++;
    return CRA_OK;
}

cra_status cra_ejson_string(cra_ejson_reader *r)
{
    static const uint8_t length[4] = {0};
    const size_t start = r->out->size;

    CRA_TRY(cra_buf_append(r->out, length, sizeof length));
    CRA_TRY(cra_ejson_characters(r));
    CRA_TRY(cra_buf_append_byte(r->out, 0));
    if (r->out->size - start > INT32_MAX)
        return cra_ejson_fail(r, "a string too long for BSON");
    cra_put_le32(r->out->data + start, (uint32_t)(r->out->size - start - 4));
    return CRA_OK;
}

static cra_status key(cra_ejson_reader *r)
{
    const size_t start = r->out->size;

    if (cra_ejson_peek(r) != '"')
        return cra_ejson_fail(r, "expected a key in quotes");
    const size_t at = r->at;
    CRA_TRY(cra_ejson_characters(r));
    if (memchr(r->out->data + start, 0, r->out->size - start) != NULL) {
        r->at = at;
        return cra_ejson_fail(r, "a key that holds U+0000, which BSON cannot");
    }
    CRA_TRY(cra_buf_append_byte(r->out, 0));
    if (cra_ejson_peek(r) != ':')
        return cra_ejson_fail(r, "expected ':'");
    r->at++;
    return CRA_OK;
}

/* ---- plain values ---------------------------------------------------------------------------------------------- */

static size_t digits_at(const cra_ejson_reader *r, size_t at)
{
    const size_t start = at;

    while (at < r->size && r->text[at] >= '0' && r->text[at] <= '9')
        at++;
    return at - start;
}

/* Length of the JSON number at the reader's position; 0 where its grammar is broken. */
static size_t number_size(const cra_ejson_reader *r, bool *integral)
{
    size_t at = r->at;

    *integral = true;
    if (at < r->size && r->text[at] == '-')
        at++;
    const size_t whole = digits_at(r, at);
    if (whole == 0 || (whole > 1 && r->text[at] == '0'))
        return 0;
    at += whole;
    if (at < r->size && r->text[at] == '.') {
        const size_t fraction = digits_at(r, at + 1);
        if (fraction == 0)
            return 0;
        *integral = false;
        at += 1 + fraction;
    }
    if (at < r->size && (r->text[at] == 'e' || r->text[at] == 'E')) {
        at++;
        if (at < r->size && (r->text[at] == '+' || r->text[at] == '-'))
            at++;
        const size_t exponent = digits_at(r, at);
        if (exponent == 0)
            return 0;
        *integral = false;
        at += exponent;
    }
    return at - r->at;
}

/* int32 where it fits, else int64, else double. */
static cra_status number(cra_ejson_reader *r, uint8_t *type)
{
    bool integral;
    uint8_t bytes[8];
    size_t width = 8;
    int64_t integer;
    double real;
    const char *text = (const char *)r->text + r->at;
    const size_t size = number_size(r, &integral);

    if (size == 0)
        return cra_ejson_fail(r, "a malformed number");
    if (integral && cra_ejson_parse_int64(text, size, &integer)) {
        const bool small = integer >= INT32_MIN && integer <= INT32_MAX;
        width = small ? 4 : 8;
        *type = small ? CRA_BSON_INT32 : CRA_BSON_INT64;
        cra_put_le64(bytes, (uint64_t)integer);
    } else if (cra_ejson_parse_double(text, size, &real)) {
        *type = CRA_BSON_DOUBLE;
        cra_put_le_double(bytes, real);
    } else {
        return cra_ejson_fail(r, "a number too large for a double");
    }
    r->at += size;
    return cra_buf_append(r->out, bytes, width);
}

static bool word(cra_ejson_reader *r, const char *wanted)
{
    const size_t size = strlen(wanted);

    if (r->size - r->at < size || memcmp(r->text + r->at, wanted, size) != 0)
        return false;
    r->at += size;
    return true;
}

/* ---- documents and arrays -------------------------------------------------------------------------------------- */

static cra_status open_level(cra_ejson_reader *r, size_t *mark)
{
    if (r->depth >= CRA_BSON_MAX_DEPTH)
        return cra_ejson_fail(r, "nested too deep");
    r->depth++;
    r->at++;
    return cra_bson_begin(r->out, mark);
}

static cra_status close_level(cra_ejson_reader *r, size_t mark)
{
    r->depth--;
    r->at++;
    const cra_status status = cra_bson_end(r->out, mark);
    return status == CRA_INVALID ? cra_ejson_fail(r, "a document too large for BSON") : status;
}

/* The value behind a name, whose type byte waits at `type_at`. */
static cra_status named_value(cra_ejson_reader *r, size_t type_at)
{
    uint8_t type = 0;

    CRA_TRY(cra_ejson_value(r, &type));
    r->out->data[type_at] = type;
    return CRA_OK;
}

cra_status cra_ejson_document(cra_ejson_reader *r)
{
    size_t mark;

    if (cra_ejson_peek(r) != '{')
        return cra_ejson_fail(r, "expected '{'");
    CRA_TRY(open_level(r, &mark));
    int c = cra_ejson_peek(r);
    if (c == '}')
        return close_level(r, mark);
    for (;;) {
        const size_t type_at = r->out->size;
        CRA_TRY(cra_buf_append_byte(r->out, 0));
        CRA_TRY(key(r));
        CRA_TRY(named_value(r, type_at));
        c = cra_ejson_peek(r);
        if (c == '}')
            return close_level(r, mark);
        if (c != ',')
            return cra_ejson_fail(r, "expected ',' or '}'");
        r->at++;
    }
}

static cra_status append_index(cra_buf *out, size_t index)
{
    char digits[24];
    char *to = digits + sizeof digits;

    *--to = '\0';
    do {
        *--to = (char)('0' + index % 10);
        index /= 10;
    } while (index > 0);
    return cra_buf_append(out, to, (size_t)(digits + sizeof digits - to));
}

static cra_status array(cra_ejson_reader *r)
{
    size_t mark;

    CRA_TRY(open_level(r, &mark));
    int c = cra_ejson_peek(r);
    if (c == ']')
        return close_level(r, mark);
    for (size_t index = 0;; index++) {
        const size_t type_at = r->out->size;
        CRA_TRY(cra_buf_append_byte(r->out, 0));
        CRA_TRY(append_index(r->out, index));
        CRA_TRY(named_value(r, type_at));
        c = cra_ejson_peek(r);
        if (c == ']')
            return close_level(r, mark);
        if (c != ',')
            return cra_ejson_fail(r, "expected ',' or ']'");
        r->at++;
    }
}

static cra_status object(cra_ejson_reader *r, uint8_t *type)
{
    bool found = false;

    CRA_TRY(cra_ejson_wrapper(r, type, &found));
    if (found)
        return CRA_OK;
    *type = CRA_BSON_DOCUMENT;
    return cra_ejson_document(r);
}

cra_status cra_ejson_value(cra_ejson_reader *r, uint8_t *type)
{
    const int c = cra_ejson_peek(r);

    switch (c) {
    case '"':
        *type = CRA_BSON_STRING;
        return cra_ejson_string(r);
    case '{':
        return object(r, type);
    case '[':
        *type = CRA_BSON_ARRAY;
        return array(r);
    case 't':
    case 'f':
        *type = CRA_BSON_BOOL;
        if (word(r, "true"))
            return cra_buf_append_byte(r->out, 1);
        if (word(r, "false"))
            return cra_buf_append_byte(r->out, 0);
        break;
    case 'n':
        *type = CRA_BSON_NULL;
        if (word(r, "null"))
            return CRA_OK;
        break;
    default:
        if (c == '-' || (c >= '0' && c <= '9'))
            return number(r, type);
        break;
    }
    return cra_ejson_fail(r, c < 0 ? "the text ends where a value is expected" : "expected a value");
}

/* ---- entry ----------------------------------------------------------------------------------------------------- */

static cra_status read_one(cra_ejson_reader *r, bool alone)
{
    if (r->size >= 3 && memcmp(r->text, "\xEF\xBB\xBF", 3) == 0)
        r->at = 3;
    if (cra_ejson_peek(r) < 0)
        return CRA_DONE;
    /* A document cannot be a value of another type: at the top every key is ordinary. */
    CRA_TRY(cra_ejson_document(r));
    if (alone && cra_ejson_peek(r) >= 0)
        return cra_ejson_fail(r, "text behind the object");
    return CRA_OK;
}

cra_status cra_bson_from_json(cra_bytes text, cra_buf *out, size_t *consumed, cra_error *err)
{
    cra_ejson_reader r = {.text = text.data, .size = text.size, .out = out, .err = err};
    const size_t start = out->size;
    const cra_status status = read_one(&r, consumed == NULL);

    if (status < 0)
        out->size = start;
    if (status == CRA_NOMEM)
        cra_error_set(err, status, "json", "no memory for the document");
    if (consumed != NULL)
        *consumed = status < 0 ? 0 : r.at;
    return status;
}
