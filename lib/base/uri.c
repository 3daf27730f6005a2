/* SPDX-License-Identifier: Apache-2.0 */
#include "base/uri.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/similar.h"

static bool is_scheme_byte(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (!first && ((c >= '0' && c <= '9') || c == '+'));
}

static size_t scheme_prefix(const char *text)
{
    size_t size = 0;

    while (is_scheme_byte(text[size], size == 0))
        size++;
    return size;
}

bool cra_uri_is_scheme(const char *text)
{
    const size_t size = scheme_prefix(text);

    return size > 0 && text[size] == '\0';
}

size_t cra_uri_scheme_size(const char *uri)
{
    const size_t size = scheme_prefix(uri);

    return uri[size] == ':' ? size : 0;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

cra_status cra_percent_decode(const char *text, size_t size, cra_buf *out)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '%') {
            CRA_TRY(cra_buf_append_byte(out, (uint8_t)text[i]));
            continue;
        }
        if (size - i < 3)
            return CRA_INVALID;
        const int high = hex_value(text[i + 1]);
        const int low = hex_value(text[i + 2]);
        /* A decoded NUL would cut the text for everyone who reads it as a string. */
        if (high < 0 || low < 0 || (high == 0 && low == 0))
            return CRA_INVALID;
        CRA_TRY(cra_buf_append_byte(out, (uint8_t)(high << 4 | low)));
        i += 2;
    }
    return CRA_OK;
}

static cra_status decoded(const cra_uri *uri, const char *text, size_t size, char **out)
{
    cra_buf buf;

    cra_buf_init(&buf, uri->allocator);
    cra_status status = cra_percent_decode(text, size, &buf);
    if (status == CRA_OK) {
        *out = cra_buf_detach_cstr(&buf);
        status = *out == NULL ? CRA_NOMEM : CRA_OK;
    }
    cra_buf_cleanup(&buf);
    return status;
}

static cra_status parse_param(cra_uri *uri, const char *text, size_t size)
{
    const char *equals = memchr(text, '=', size);
    const size_t key_size = equals != NULL ? (size_t)(equals - text) : size;
    const size_t value_at = equals != NULL ? key_size + 1 : size;
    cra_uri_param *param = &uri->params[uri->params_count];

    if (key_size == 0)
        return CRA_INVALID;
    *param = (cra_uri_param){NULL, NULL};
    uri->params_count++; /* first, so that cleanup frees what is there */
    CRA_TRY(decoded(uri, text, key_size, &param->key));
    CRA_TRY(decoded(uri, text + value_at, size - value_at, &param->value));
    for (size_t i = 0; i + 1 < uri->params_count; i++) {
        if (strcmp(uri->params[i].key, param->key) == 0)
            return CRA_INVALID;
    }
    return CRA_OK;
}

static cra_status parse_params(cra_uri *uri, const char *text)
{
    size_t count = 1;

    for (const char *c = text; *c != '\0'; c++)
        count += *c == '&';
    uri->params = cra_calloc(uri->allocator, count, sizeof *uri->params);
    if (uri->params == NULL)
        return CRA_NOMEM;
    while (*text != '\0') {
        const size_t size = strcspn(text, "&");
        if (size > 0)
            CRA_TRY(parse_param(uri, text, size));
        text += size;
        text += *text == '&';
    }
    return CRA_OK;
}

static cra_status parse(const char *text, cra_uri *out)
{
    const size_t scheme_size = cra_uri_scheme_size(text);
    if (scheme_size == 0)
        return CRA_INVALID;
    out->scheme = cra_strndup(out->allocator, text, scheme_size);
    if (out->scheme == NULL)
        return CRA_NOMEM;

    const char *rest = text + scheme_size + 1;
    if (strncmp(rest, "//", 2) == 0) {
        const size_t size = strcspn(rest + 2, "/?");
        out->authority = cra_strndup(out->allocator, rest + 2, size);
        if (out->authority == NULL)
            return CRA_NOMEM;
        rest += 2 + size;
    }
    const size_t path_size = strcspn(rest, "?");
    CRA_TRY(decoded(out, rest, path_size, &out->path));
    return rest[path_size] == '?' ? parse_params(out, rest + path_size + 1) : CRA_OK;
}

cra_status cra_uri_parse(const char *text, const cra_allocator *allocator, cra_uri *out, cra_error *err)
{
    *out = (cra_uri){.allocator = allocator};
    const cra_status status = parse(text, out);
    if (status == CRA_OK)
        return CRA_OK;

    /* Not quoted: a URI may hold a password. */
    char scheme[32] = "";
    if (out->scheme != NULL)
        strncat(scheme, out->scheme, sizeof scheme - 1);
    cra_uri_cleanup(out);
    if (status == CRA_NOMEM)
        return cra_error_set(err, status, "uri", "out of memory while reading a URI");
    if (scheme[0] == '\0')
        return cra_error_set(err, status, "uri", "a URI begins with SCHEME:");
    return cra_error_set(err, status, "uri",
                         "the URI of scheme '%s' has a bad %%XX, or a parameter that is nameless or given twice",
                         scheme);
}

void cra_uri_cleanup(cra_uri *uri)
{
    const cra_allocator *allocator = uri->allocator;

    for (size_t i = 0; i < uri->params_count; i++) {
        cra_free(allocator, uri->params[i].key);
        cra_free(allocator, uri->params[i].value);
    }
    cra_free(allocator, uri->params);
    cra_free(allocator, uri->scheme);
    cra_free(allocator, uri->authority);
    cra_free(allocator, uri->path);
    *uri = (cra_uri){.allocator = allocator};
}

const char *cra_uri_param_get(const cra_uri *uri, const char *key)
{
    for (size_t i = 0; i < uri->params_count; i++) {
        if (strcmp(uri->params[i].key, key) == 0)
            return uri->params[i].value;
    }
    return NULL;
}

static bool is_known(const char *key, const char *const *known, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(key, known[i]) == 0)
            return true;
    }
    return false;
}

cra_status cra_uri_check_params(const cra_uri *uri, const char *const *known, size_t count, cra_error *err)
{
    for (size_t i = 0; i < uri->params_count; i++) {
        const char *key = uri->params[i].key;
        if (is_known(key, known, count))
            continue;
        cra_error_set(err, CRA_INVALID, "uri", "'%s:' has no parameter '%.60s'", uri->scheme, key);
        const char *nearest = cra_nearest_name(key, known, count);
        if (nearest != NULL)
            cra_error_hint(err, "did you mean '%s'?", nearest);
        return CRA_INVALID;
    }
    return CRA_OK;
}
