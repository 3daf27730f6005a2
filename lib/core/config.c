/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config.h"

#include <stdio.h>
#include <string.h>

#include <crawlarchive/bson.h>

#include "base/alloc.h"
#include "base/buf.h"

cra_status cra_config_create(const cra_allocator *allocator, cra_config **out, cra_error *err)
{
    cra_config *config = cra_calloc(allocator, 1, sizeof *config);

    *out = NULL;
    if (config == NULL)
        return cra_error_set(err, CRA_NOMEM, "config", "out of memory");
    config->allocator = allocator;
    cra_route_list_init(&config->routes, allocator);
    const cra_status status = cra_policy_new(allocator, &config->policy, err);
    if (status != CRA_OK) {
        cra_config_free(config);
        return status;
    }
    *out = config;
    return CRA_OK;
}

void cra_config_free(cra_config *config)
{
    if (config == NULL)
        return;
    const cra_allocator *allocator = config->allocator;
    for (size_t i = 0; i < config->values_count; i++) {
        cra_free(allocator, config->values[i].path);
        cra_free(allocator, config->values[i].text);
        cra_free(allocator, config->values[i].source);
    }
    cra_free(allocator, config->values);
    for (size_t i = 0; i < config->indexes_count; i++) {
        cra_free(allocator, config->indexes[i].report);
        cra_free(allocator, config->indexes[i].source);
        cra_buf_cleanup(&config->indexes[i].documents);
    }
    cra_free(allocator, config->indexes);
    cra_route_list_cleanup(&config->routes);
    cra_free(allocator, config->routes_source);
    cra_policy_free(config->policy);
    cra_free(allocator, config);
}

/* ---- reading --------------------------------------------------------------------------------- */

const cra_config_value *cra_config_find(const cra_config *config, const char *path)
{
    size_t low = 0;
    size_t high = config->values_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(config->values[middle].path, path);
        if (order == 0)
            return &config->values[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const char *cra_config_text(const cra_config *config, const char *path)
{
    const cra_config_value *value = cra_config_find(config, path);

    if (value != NULL)
        return value->text;
    const cra_config_key *key = cra_config_key_find(path);
    return key == NULL ? NULL : key->default_text;
}

int64_t cra_config_int(const cra_config *config, const char *path, int64_t fallback)
{
    const cra_config_key *key = cra_config_key_find(path);
    const char *text = key == NULL ? NULL : cra_config_text(config, path);
    int64_t number;

    return text != NULL && cra_config_number(key->type, text, &number) ? number : fallback;
}

bool cra_config_bool(const cra_config *config, const char *path, bool fallback)
{
    const char *text = cra_config_text(config, path);
    int64_t flag;

    return text != NULL && cra_config_number(CRA_CONFIG_BOOL, text, &flag) ? flag != 0 : fallback;
}

/* The text behind `prefix`, or NULL where `text` (NULL is legal) begins otherwise. */
static const char *behind(const char *text, const char *prefix, size_t size)
{
    return text != NULL && strncmp(text, prefix, size) == 0 ? text + size : NULL;
}

int64_t cra_config_report_int(const cra_config *config, const char *path, const char *report, int64_t fallback)
{
    static const char reports[] = ".reports.";
    const char *dot = strchr(path, '.');

    /* Compared piece by piece: a lookup that allocates could fail, and must not give another report's number then. */
    for (size_t i = 0; dot != NULL && report != NULL && i < config->values_count; i++) {
        const cra_config_value *value = &config->values[i];
        int64_t number;
        const char *rest = behind(value->path, path, (size_t)(dot - path));
        rest = behind(rest, reports, sizeof reports - 1);
        rest = behind(rest, report, strlen(report));
        if (rest != NULL && strcmp(rest, dot) == 0 && cra_config_number(value->key->type, value->text, &number))
            return number;
    }
    return cra_config_int(config, path, fallback);
}

const cra_policy *cra_config_policy(const cra_config *config)
{
    return config->policy;
}

/* ---- showing --------------------------------------------------------------------------------- */

static bool is_secret_param(const char *param, size_t size)
{
    static const char *const words[] = {"secret", "password", "token", "credential"};
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)(size < sizeof name ? size : sizeof name - 1), param);
    for (char *c = name; *c != '\0'; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strstr(name, words[i]) != NULL)
            return true;
    }
    return false;
}

/* "?key=value&…" with the values of secrets replaced. */
static cra_status redact_params(const char *params, cra_buf *out)
{
    while (*params != '\0') {
        const size_t size = 1 + strcspn(params + 1, "&");
        const size_t name = strcspn(params, "=");
        const bool secret = name < size && is_secret_param(params, name);
        CRA_TRY(cra_buf_append(out, params, secret ? name + 1 : size));
        if (secret)
            CRA_TRY(cra_buf_append_str(out, "(redacted)"));
        params += size;
    }
    return CRA_OK;
}

cra_status cra_config_redact(const char *uri, cra_buf *out)
{
    const char *slashes = strstr(uri, "://");
    const size_t params = strcspn(uri, "?");
    size_t at = 0;

    if (slashes != NULL && (size_t)(slashes - uri) < params) {
        const size_t start = (size_t)(slashes - uri) + 3;
        size_t end = start + strcspn(uri + start, "/?");
        while (end > start && uri[end] != '@')
            end--;
        const char *colon = memchr(uri + start, ':', end - start);
        if (uri[end] == '@' && colon != NULL) {
            CRA_TRY(cra_buf_append(out, uri, (size_t)(colon - uri) + 1));
            CRA_TRY(cra_buf_append_str(out, "(redacted)"));
            at = end;
        }
    }
    CRA_TRY(cra_buf_append(out, uri + at, params - at));
    return redact_params(uri + params, out);
}

typedef struct visitor {
    const cra_config *config;
    cra_config_visit_fn visit;
    void *user;
} visitor;

static cra_status tell(const visitor *to, const char *path, const char *value, const char *source)
{
    const cra_config_entry entry = {sizeof entry, path, value, source};

    return to->visit(to->user, &entry);
}

static cra_status tell_value(const visitor *to, const cra_config_value *value)
{
    cra_buf shown;

    if (value->key->type != CRA_CONFIG_URI)
        return tell(to, value->path, value->text, value->source);
    cra_buf_init(&shown, to->config->allocator);
    cra_status status = cra_config_redact(value->text, &shown);
    const char *text = status == CRA_OK ? cra_buf_cstr(&shown) : NULL;
    status = text == NULL ? CRA_NOMEM : tell(to, value->path, text, value->source);
    cra_buf_cleanup(&shown);
    return status;
}

static cra_status tell_route(const visitor *to, size_t index)
{
    const cra_route_entry *route = &to->config->routes.entries[index];
    char path[64];
    cra_buf shown;

    if (route->until != NULL) {
        snprintf(path, sizeof path, "archive.routes.%zu.until", index);
        CRA_TRY(tell(to, path, route->until, to->config->routes_source));
    }
    snprintf(path, sizeof path, "archive.routes.%zu.uri", index);
    cra_buf_init(&shown, to->config->allocator);
    cra_status status = cra_config_redact(route->uri, &shown);
    const char *text = status == CRA_OK ? cra_buf_cstr(&shown) : NULL;
    status = text == NULL ? CRA_NOMEM : tell(to, path, text, to->config->routes_source);
    cra_buf_cleanup(&shown);
    return status;
}

static cra_status append_indexes(cra_bytes stream, cra_buf *out)
{
    cra_bytes document;

    CRA_TRY(cra_buf_append_byte(out, '['));
    for (bool first = true; cra_bson_next_document(&stream, &document) == CRA_OK; first = false) {
        if (!first)
            CRA_TRY(cra_buf_append_byte(out, ','));
        CRA_TRY(cra_bson_to_json(document, CRA_JSON_RELAXED, out, NULL));
    }
    return cra_buf_append_byte(out, ']');
}

static cra_status tell_indexes(const visitor *to, const cra_config_index_list *list)
{
    cra_buf path;
    cra_buf text;

    cra_buf_init(&path, to->config->allocator);
    cra_buf_init(&text, to->config->allocator);
    cra_status status = cra_buf_appendf(&path, list->report == NULL ? "indexes.default" : "indexes.reports.%s",
                                        list->report == NULL ? "" : list->report);
    if (status == CRA_OK)
        status = append_indexes(cra_buf_bytes(&list->documents), &text);
    if (status == CRA_OK && (cra_buf_cstr(&path) == NULL || cra_buf_cstr(&text) == NULL))
        status = CRA_NOMEM;
    if (status == CRA_OK)
        status = tell(to, cra_buf_cstr(&path), cra_buf_cstr(&text), list->source);
    cra_buf_cleanup(&path);
    cra_buf_cleanup(&text);
    return status;
}

static cra_status tell_key(const visitor *to, const cra_config_key *key)
{
    const cra_config *config = to->config;
    bool set = false;

    for (size_t i = 0; i < config->values_count; i++) {
        if (config->values[i].key != key)
            continue;
        set = true;
        CRA_TRY(tell_value(to, &config->values[i]));
    }
    for (size_t i = 0; key->type == CRA_CONFIG_ROUTES && i < config->routes.count; i++, set = true)
        CRA_TRY(tell_route(to, i));
    for (size_t i = 0; key->type == CRA_CONFIG_INDEXES && i < config->indexes_count; i++) {
        if (config->indexes[i].key != key)
            continue;
        set = true;
        CRA_TRY(tell_indexes(to, &config->indexes[i]));
    }
    if (set || strchr(key->path, '*') != NULL || strcmp(key->path, "version") == 0)
        return CRA_OK;
    return tell(to, key->path, key->default_text, "default");
}

cra_status cra_config_each(const cra_config *config, cra_config_visit_fn visit, void *user)
{
    const visitor to = {config, visit, user};

    for (size_t i = 0; cra_config_key_at(i) != NULL; i++)
        CRA_TRY(tell_key(&to, cra_config_key_at(i)));
    return CRA_OK;
}
