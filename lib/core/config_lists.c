/* SPDX-License-Identifier: Apache-2.0 */

/* The two keys whose values are lists of mappings: routes and index documents. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crawlarchive/bson.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "core/config.h"

static cra_status out_of_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "config", "out of memory");
}

static cra_config_origin at_line(const cra_config_origin *origin, const cra_yaml_node *node)
{
    cra_config_origin moved = *origin;

    if (origin->line > 0)
        moved.line = node->line;
    return moved;
}

/* ---- routes ---------------------------------------------------------------------------------- */

static cra_status add_route(const cra_config *config, const cra_yaml_node *node, const char *path,
                            const cra_config_origin *origin, cra_route_list *list, cra_error *err)
{
    static const cra_config_key uri_key = {"archive.routes", CRA_CONFIG_URI, NULL, NULL, NULL, NULL};
    const cra_config_origin here = at_line(origin, node);
    const cra_yaml_node *uri = node->kind == CRA_YAML_MAP ? cra_yaml_get(node, "uri") : NULL;
    const cra_yaml_node *until = node->kind == CRA_YAML_MAP ? cra_yaml_get(node, "until") : NULL;

    if (uri == NULL || node->count != (until == NULL ? 1u : 2u) || uri->kind != CRA_YAML_SCALAR ||
        (until != NULL && (until->kind != CRA_YAML_SCALAR || until->text[0] == '\0')))
        return cra_config_wrong(&here, path, err, "a route is {until: RUN, uri: URI}, the last one {uri: URI}");
    CRA_TRY(cra_config_check_value(&uri_key, path, uri->text, &here, err));

    char *resolved;
    cra_status status = cra_config_resolve(config, &uri_key, uri->text, &here, &resolved);
    if (status == CRA_OK)
        status = cra_route_list_add(list, until == NULL ? NULL : until->text, resolved);
    cra_free(config->allocator, resolved);
    return status == CRA_OK ? CRA_OK : out_of_memory(err);
}

static cra_status read_routes(const cra_config *config, const char *path, const cra_yaml_node *node,
                              const cra_config_origin *origin, cra_route_list *list, cra_error *err)
{
    cra_error order = {0};

    if (node->kind != CRA_YAML_LIST)
        return cra_config_wrong(origin, path, err, "must be %s", cra_config_type_name(CRA_CONFIG_ROUTES));
    for (size_t i = 0; i < node->count; i++)
        CRA_TRY(add_route(config, &node->children[i], path, origin, list, err));
    if (cra_route_list_check(list, &order) != CRA_OK)
        return cra_config_wrong(origin, path, err, "%s", order.message);
    return CRA_OK;
}

cra_status cra_config_put_routes(cra_config *config, const char *path, const cra_yaml_node *node,
                                 const cra_config_origin *origin, cra_error *err)
{
    cra_route_list list;

    cra_route_list_init(&list, config->allocator);
    cra_status status = read_routes(config, path, node, origin, &list, err);
    char *source = status == CRA_OK ? cra_config_source_text(config->allocator, origin) : NULL;
    if (status == CRA_OK && source == NULL)
        status = out_of_memory(err);
    if (status != CRA_OK) {
        cra_route_list_cleanup(&list);
        return status;
    }
    cra_route_list_cleanup(&config->routes);
    cra_free(config->allocator, config->routes_source);
    config->routes = list;
    config->routes_source = source;
    return CRA_OK;
}

cra_status cra_config_routes(const cra_config *config, cra_route_list *list, cra_error *err)
{
    const char *uri = cra_config_text(config, "archive.uri");
    cra_status status = CRA_OK;

    if (config->routes.count == 0 && uri == NULL)
        return cra_error_set(err, CRA_INVALID, "config", "archive.uri or archive.routes must be set");
    if (config->routes.count == 0)
        status = cra_route_list_add(list, NULL, uri);
    for (size_t i = 0; i < config->routes.count && status == CRA_OK; i++)
        status = cra_route_list_add(list, config->routes.entries[i].until, config->routes.entries[i].uri);
    return status == CRA_OK ? cra_route_list_check(list, err) : out_of_memory(err);
}

/* ---- index documents ------------------------------------------------------------------------- */

static cra_status put_little_endian(cra_buf *out, const char *name, uint8_t type, uint64_t bits, size_t size)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
    return cra_bson_put_value(out, name, (cra_value){type, bytes, size});
}

/* "-12", "3.25": digits with at most one point. What a double cannot hold exactly after one division is refused, so
 * that no locale and no rounding of a parser decides what an index means. */
static bool parse_plain_number(const char *text, int64_t *mantissa, int *decimals)
{
    const bool negative = *text == '-';
    bool point = false;
    size_t digits = 0;

    *mantissa = 0;
    *decimals = 0;
    for (text += negative || *text == '+' ? 1 : 0; *text != '\0'; text++) {
        if (*text == '.' && !point) {
            point = true;
            continue;
        }
        if (*text < '0' || *text > '9' || *mantissa > (INT64_MAX - 9) / 10)
            return false;
        *mantissa = *mantissa * 10 + (*text - '0');
        *decimals += point ? 1 : 0;
        digits++;
    }
    *mantissa = negative ? -*mantissa : *mantissa;
    return digits > 0 && (!point || (*decimals <= 22 && llabs(*mantissa) <= INT64_C(1) << 53));
}

static cra_status put_number(cra_buf *out, const char *name, const char *text, int64_t mantissa, int decimals)
{
    if (strchr(text, '.') == NULL && mantissa >= INT32_MIN && mantissa <= INT32_MAX)
        return put_little_endian(out, name, CRA_BSON_INT32, (uint64_t)mantissa, 4);
    if (strchr(text, '.') == NULL)
        return cra_bson_put_int64(out, name, mantissa);

    double number = (double)mantissa;
    double power = 1;
    for (int i = 0; i < decimals; i++)
        power *= 10;
    number /= power;
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return put_little_endian(out, name, CRA_BSON_DOUBLE, bits, 8);
}

static cra_status put_scalar(cra_buf *out, const char *name, const cra_yaml_node *node, const char *path,
                             const cra_config_origin *origin, cra_error *err)
{
    int64_t mantissa;
    int decimals;

    if (!node->plain)
        return cra_bson_put_string(out, name, node->text);
    if (cra_yaml_is_null(node))
        return cra_bson_put_null(out, name);
    if (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0)
        return cra_bson_put_bool(out, name, node->text[0] == 't');
    if (parse_plain_number(node->text, &mantissa, &decimals))
        return put_number(out, name, node->text, mantissa, decimals);
    if (node->text[strspn(node->text, "0123456789+-.eE")] == '\0' && strpbrk(node->text, "0123456789") != NULL) {
        const cra_config_origin here = at_line(origin, node);
        return cra_config_wrong(&here, path, err,
                                "'%.60s' is a number that cannot be kept exactly; quote it if it is text", node->text);
    }
    return cra_bson_put_string(out, name, node->text);
}

static cra_status put_node(cra_buf *out, const char *name, const cra_yaml_node *node, const char *path,
                           const cra_config_origin *origin, cra_error *err)
{
    char index[24];
    size_t mark;

    if (node->kind == CRA_YAML_SCALAR)
        return put_scalar(out, name, node, path, origin, err);
    CRA_TRY(cra_bson_put_begin(out, name, node->kind == CRA_YAML_MAP ? CRA_BSON_DOCUMENT : CRA_BSON_ARRAY, &mark));
    for (size_t i = 0; i < node->count; i++) {
        snprintf(index, sizeof index, "%zu", i);
        CRA_TRY(put_node(out, node->kind == CRA_YAML_MAP ? node->children[i].key : index, &node->children[i], path,
                         origin, err));
    }
    return cra_bson_end(out, mark);
}

static cra_status put_document(cra_buf *out, const cra_yaml_node *node, const char *path,
                               const cra_config_origin *origin, cra_error *err)
{
    const cra_config_origin here = at_line(origin, node);
    const cra_yaml_node *key = node->kind == CRA_YAML_MAP ? cra_yaml_get(node, "key") : NULL;
    size_t mark;

    if (key == NULL || key->kind != CRA_YAML_MAP || key->count == 0)
        return cra_config_wrong(&here, path, err, "an index document has a 'key' such as {key: {url: 1}}");
    CRA_TRY(cra_bson_begin(out, &mark));
    for (size_t i = 0; i < node->count; i++)
        CRA_TRY(put_node(out, node->children[i].key, &node->children[i], path, origin, err));
    return cra_bson_end(out, mark);
}

static cra_status read_documents(const cra_yaml_node *node, const char *path, const cra_config_origin *origin,
                                 cra_buf *out, cra_error *err)
{
    if (node->kind != CRA_YAML_LIST)
        return cra_config_wrong(origin, path, err, "must be %s", cra_config_type_name(CRA_CONFIG_INDEXES));
    for (size_t i = 0; i < node->count; i++) {
        const cra_status status = put_document(out, &node->children[i], path, origin, err);
        if (status != CRA_OK)
            return status == CRA_NOMEM ? out_of_memory(err) : status;
    }
    return CRA_OK;
}

static cra_config_index_list *find_list(const cra_config *config, const char *report)
{
    for (size_t i = 0; i < config->indexes_count; i++) {
        const char *own = config->indexes[i].report;
        if (own == NULL ? report == NULL : report != NULL && strcmp(own, report) == 0)
            return &config->indexes[i];
    }
    return NULL;
}

/* Replace or append; takes nothing over. */
static cra_status keep_list(cra_config *config, const cra_config_key *key, const char *report, char *source,
                            const cra_buf *documents, size_t count)
{
    cra_config_index_list *list = find_list(config, report);

    if (list == NULL) {
        CRA_TRY(cra_array_grow(config->allocator, (void **)&config->indexes, &config->indexes_capacity,
                               config->indexes_count + 1, sizeof *config->indexes));
        char *name = cra_strdup(config->allocator, report);
        if (report != NULL && name == NULL)
            return CRA_NOMEM;
        list = &config->indexes[config->indexes_count++];
        *list = (cra_config_index_list){.report = name};
    } else {
        cra_buf_cleanup(&list->documents);
        cra_free(config->allocator, list->source);
    }
    list->key = key;
    list->source = source;
    list->documents = *documents;
    list->count = count;
    return CRA_OK;
}

cra_status cra_config_put_indexes(cra_config *config, const cra_config_key *key, const char *path,
                                  const cra_yaml_node *node, const cra_config_origin *origin, cra_error *err)
{
    static const char section[] = "indexes.reports.";
    const bool own = strncmp(path, section, sizeof section - 1) == 0;
    cra_buf documents;

    cra_buf_init(&documents, config->allocator);
    cra_status status = read_documents(node, path, origin, &documents, err);
    char *source = status == CRA_OK ? cra_config_source_text(config->allocator, origin) : NULL;
    if (status == CRA_OK && (source == NULL || keep_list(config, key, own ? path + sizeof section - 1 : NULL, source,
                                                         &documents, node->count) != CRA_OK))
        status = out_of_memory(err);
    if (status != CRA_OK) {
        cra_buf_cleanup(&documents);
        cra_free(config->allocator, source);
    }
    return status;
}

cra_status cra_config_indexes(const cra_config *config, const char *report, cra_buf *out, size_t *count, cra_error *err)
{
    const cra_config_index_list *list = report == NULL ? NULL : find_list(config, report);

    *count = 0;
    if (list == NULL)
        list = find_list(config, NULL);
    if (list == NULL)
        return CRA_OK;
    if (cra_buf_append(out, list->documents.data, list->documents.size) != CRA_OK)
        return out_of_memory(err);
    *count = list->count;
    return CRA_OK;
}
