/* SPDX-License-Identifier: Apache-2.0 */

/* One value against its row of the table. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/similar.h"
#include "base/uri.h"
#include "core/config.h"

#define MAX_NAMES 32

/* ---- messages -------------------------------------------------------------------------------- */

cra_status cra_config_wrong(const cra_config_origin *origin, const char *path, cra_error *err, const char *format, ...)
{
    char what[400];
    char line[24] = "";
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (origin->line > 0)
        snprintf(line, sizeof line, ":%zu", origin->line);
    return cra_error_set(err, CRA_INVALID, "config", "%.160s%s: %.80s: %s", origin->source, line, path, what);
}

static void append(char *text, size_t size, const char *more)
{
    strncat(text, more, size - strlen(text) - 1);
}

cra_status cra_config_unknown(const cra_config_origin *origin, const char *path, cra_error *err)
{
    char names[MAX_NAMES][CRA_CONFIG_NAME_SIZE];
    const char *list[MAX_NAMES];
    char parent[128] = "";
    char allowed[300] = "";
    const char *dot = strrchr(path, '.');
    const char *name = dot == NULL ? path : dot + 1;

    if (dot != NULL)
        snprintf(parent, sizeof parent, "%.*s", (int)(dot - path), path);
    const size_t count = cra_config_children(parent, names, MAX_NAMES);
    for (size_t i = 0; i < count; i++) {
        list[i] = names[i];
        append(allowed, sizeof allowed, i == 0 ? "; allowed: " : ", ");
        append(allowed, sizeof allowed, names[i]);
    }
    const char *nearest = cra_nearest_name(name, list, count);
    return cra_config_wrong(origin, path, err, "unknown key%s%s%s%s", allowed,
                            nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest,
                            nearest == NULL ? "" : "\"?");
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool parse_integer(const char *text, int64_t *out)
{
    char *end;

    if (strlen(text) > 18 || text[strspn(text, "0123456789")] != '\0' || text[0] == '\0')
        return false;
    *out = strtoll(text, &end, 10);
    return true;
}

static bool parse_percent(const char *text, int64_t *out)
{
    char digits[4] = "";
    const size_t size = strspn(text, "0123456789");

    if (size == 0 || size > 3 || (text[size] != '\0' && strcmp(text + size, "%") != 0))
        return false;
    memcpy(digits, text, size);
    return parse_integer(digits, out) && *out <= 100;
}

bool cra_config_number(cra_config_type type, const char *text, int64_t *out)
{
    switch (type) {
    case CRA_CONFIG_INT:
        return parse_integer(text, out);
    case CRA_CONFIG_SIZE:
        return cra_size_parse(text, out, NULL) == CRA_OK;
    case CRA_CONFIG_DURATION:
        return cra_duration_parse(text, out, NULL) == CRA_OK;
    case CRA_CONFIG_PERCENT:
        return parse_percent(text, out);
    case CRA_CONFIG_BOOL:
        *out = strcmp(text, "true") == 0;
        return *out != 0 || strcmp(text, "false") == 0;
    default:
        return false;
    }
}

static cra_status check_number(const cra_config_key *key, const char *path, const char *text,
                               const cra_config_origin *origin, cra_error *err)
{
    int64_t number;

    if (!cra_config_number(key->type, text, &number))
        return cra_config_wrong(origin, path, err, "'%.60s' is not %s%s%s", text, cra_config_type_name(key->type),
                                key->allowed == NULL ? "" : "; allowed: ", key->allowed == NULL ? "" : key->allowed);
    if (key->allowed == NULL)
        return CRA_OK;

    const char *dots = strstr(key->allowed, "..");
    char least_text[32] = "";
    int64_t least = 0;
    int64_t most = 0;
    snprintf(least_text, sizeof least_text, "%.*s", (int)(dots - key->allowed), key->allowed);
    if (!cra_config_number(key->type, least_text, &least) || !cra_config_number(key->type, dots + 2, &most))
        return cra_error_set(err, CRA_INTERNAL, "config", "the table has a bad range for %s", path);
    if (number < least || number > most)
        return cra_config_wrong(origin, path, err, "'%.60s' is out of range; allowed: %s", text, key->allowed);
    return CRA_OK;
}

static cra_status check_word(const cra_config_key *key, const char *path, const char *text,
                             const cra_config_origin *origin, cra_error *err)
{
    char words[128];
    char shown[160] = "";
    const char *list[MAX_NAMES];
    size_t count = 0;

    snprintf(words, sizeof words, "%s", key->allowed);
    for (char *word = words; word != NULL && count < MAX_NAMES;) {
        char *bar = strchr(word, '|');
        if (bar != NULL)
            *bar = '\0';
        if (strcmp(word, text) == 0)
            return CRA_OK;
        append(shown, sizeof shown, count == 0 ? "" : ", ");
        append(shown, sizeof shown, word);
        list[count++] = word;
        word = bar == NULL ? NULL : bar + 1;
    }
    const char *nearest = cra_nearest_name(text, list, count);
    return cra_config_wrong(origin, path, err, "'%.60s' is not allowed; allowed: %s%s%s%s", text, shown,
                            nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest,
                            nearest == NULL ? "" : "\"?");
}

static cra_status check_text(const cra_config_key *key, const char *path, const char *text,
                             const cra_config_origin *origin, cra_error *err)
{
    if (text[0] == '\0' && key->type != CRA_CONFIG_LIST)
        return cra_config_wrong(origin, path, err, "is empty; it must be %s", cra_config_type_name(key->type));
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            return cra_config_wrong(origin, path, err, "holds a control character");
    }
    /* Never quoted: it may hold a password. */
    if (key->type == CRA_CONFIG_URI && cra_uri_scheme_size(text) == 0)
        return cra_config_wrong(origin, path, err, "is not a URI; it begins with a scheme such as sqlite: or file:");
    return CRA_OK;
}

cra_status cra_config_check_value(const cra_config_key *key, const char *path, const char *text,
                                  const cra_config_origin *origin, cra_error *err)
{
    switch (key->type) {
    case CRA_CONFIG_INT:
    case CRA_CONFIG_SIZE:
    case CRA_CONFIG_DURATION:
    case CRA_CONFIG_PERCENT:
    case CRA_CONFIG_BOOL:
        return check_number(key, path, text, origin, err);
    case CRA_CONFIG_ENUM:
        return check_word(key, path, text, origin, err);
    case CRA_CONFIG_TEXT:
    case CRA_CONFIG_URI:
    case CRA_CONFIG_PATH:
    case CRA_CONFIG_LIST:
        return check_text(key, path, text, origin, err);
    case CRA_CONFIG_ROUTES:
    case CRA_CONFIG_INDEXES:
        break;
    }
    return cra_config_wrong(origin, path, err, "must be %s", cra_config_type_name(key->type));
}

/* Field names of a map of run fields: a misspelt one would leave the field unmapped without a word. */
static cra_status check_name(const cra_config_key *key, const char *path, const cra_config_origin *origin,
                             cra_error *err)
{
    static const char *const fields[] = {"id",
#define FIELD_NAME(kind, name, help) #name,
                                         CRA_RUN_FIELDS(FIELD_NAME)
#undef FIELD_NAME
    };
    static const char section[] = "catalog.fields.";
    const size_t count = sizeof fields / sizeof fields[0];

    if (strncmp(key->path, section, sizeof section - 1) != 0)
        return CRA_OK;
    const char *name = path + sizeof section - 1;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i], name) == 0)
            return CRA_OK;
    }
    const char *nearest = cra_nearest_name(name, fields, count);
    return cra_config_wrong(origin, path, err, "a run has no such field%s%s%s",
                            nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest,
                            nearest == NULL ? "" : "\"?");
}

/* ---- relative paths -------------------------------------------------------------------------- */

/* Where the path of a value begins, if it is a relative one: behind "SCHEME:" of a URI without authority. */
static const char *relative_path(const cra_config_key *key, const char *text)
{
    if (key->type == CRA_CONFIG_PATH)
        return text[0] == '/' ? NULL : text;
    if (key->type != CRA_CONFIG_URI)
        return NULL;
    const size_t scheme = cra_uri_scheme_size(text);
    const char *path = text + scheme + 1;
    const bool memory = scheme == 6 && strncmp(text, "memory", 6) == 0;
    return memory || path[0] == '/' || path[0] == '\0' || path[0] == '?' || path[0] == ':' ? NULL : path;
}

static cra_status resolve(const cra_config_key *key, const char *text, const char *folder, cra_buf *out)
{
    const char *relative = folder == NULL ? NULL : relative_path(key, text);

    if (relative == NULL)
        return cra_buf_append_str(out, text);
    CRA_TRY(cra_buf_append(out, text, (size_t)(relative - text)));
    for (const char *c = folder; *c != '\0'; c++) {
        if (key->type == CRA_CONFIG_URI && (*c == '?' || *c == '%'))
            CRA_TRY(cra_buf_appendf(out, "%%%02X", (unsigned)*c));
        else
            CRA_TRY(cra_buf_append_byte(out, (uint8_t)*c));
    }
    if (folder[0] != '\0' && folder[strlen(folder) - 1] != '/')
        CRA_TRY(cra_buf_append_byte(out, '/'));
    return cra_buf_append_str(out, relative);
}

/* ---- keeping --------------------------------------------------------------------------------- */

char *cra_config_source_text(const cra_allocator *allocator, const cra_config_origin *origin)
{
    cra_buf buf;

    cra_buf_init(&buf, allocator);
    cra_status status = cra_buf_append_str(&buf, origin->source);
    if (status == CRA_OK && origin->line > 0)
        status = cra_buf_appendf(&buf, ":%zu", origin->line);
    char *text = status == CRA_OK ? cra_buf_detach_cstr(&buf) : NULL;
    cra_buf_cleanup(&buf);
    return text;
}

cra_status cra_config_resolve(const cra_config *config, const cra_config_key *key, const char *text,
                              const cra_config_origin *origin, char **out)
{
    cra_buf buf;

    cra_buf_init(&buf, config->allocator);
    const cra_status status = resolve(key, text, origin->folder, &buf);
    *out = status == CRA_OK ? cra_buf_detach_cstr(&buf) : NULL;
    cra_buf_cleanup(&buf);
    return *out == NULL ? CRA_NOMEM : CRA_OK;
}

/* Insert or replace; takes `text` and `source` over, also on failure. */
static cra_status keep(cra_config *config, const cra_config_key *key, const char *path, char *text, char *source)
{
    const cra_allocator *allocator = config->allocator;
    cra_config_value *known = (cra_config_value *)(uintptr_t)cra_config_find(config, path);

    if (known != NULL && text != NULL && source != NULL) {
        cra_free(allocator, known->text);
        cra_free(allocator, known->source);
        known->text = text;
        known->source = source;
        return CRA_OK;
    }
    char *copy = cra_strdup(allocator, path);
    if (text == NULL || source == NULL || copy == NULL ||
        cra_array_grow(allocator, (void **)&config->values, &config->values_capacity, config->values_count + 1,
                       sizeof *config->values) != CRA_OK) {
        cra_free(allocator, text);
        cra_free(allocator, source);
        cra_free(allocator, copy);
        return CRA_NOMEM;
    }
    size_t at = config->values_count++;
    for (; at > 0 && strcmp(config->values[at - 1].path, path) > 0; at--)
        config->values[at] = config->values[at - 1];
    config->values[at] = (cra_config_value){key, copy, text, source};
    return CRA_OK;
}

cra_status cra_config_put(cra_config *config, const cra_config_key *key, const char *path, const char *text,
                          const cra_config_origin *origin, cra_error *err)
{
    char *resolved;

    CRA_TRY(check_name(key, path, origin, err));
    CRA_TRY(cra_config_check_value(key, path, text, origin, err));
    cra_status status = cra_config_resolve(config, key, text, origin, &resolved);
    if (status == CRA_OK)
        status = keep(config, key, path, resolved, cra_config_source_text(config->allocator, origin));
    return status == CRA_OK ? CRA_OK : cra_error_set(err, status, "config", "out of memory");
}
