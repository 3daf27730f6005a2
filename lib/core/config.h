/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CORE_CONFIG_H
#define CRA_CORE_CONFIG_H

/* Inside of the configuration; only config_*.c look at it, and ops/config_file.c, which adds file and context. */

#include <crawlarchive/config.h>

#include "core/config_table.h"
#include "core/config_yaml.h"
#include "core/route.h"

/* One value that is set. */
typedef struct cra_config_value {
    const cra_config_key *key;
    char *path;
    char *text;
    char *source; /* "FILE:LINE", "environment", "program" */
} cra_config_value;

/* Index documents of one report (NULL: the default ones). */
typedef struct cra_config_index_list {
    const cra_config_key *key;
    char *report;
    char *source;
    cra_buf documents; /* concatenated BSON */
    size_t count;
} cra_config_index_list;

struct cra_config {
    const cra_allocator *allocator;
    cra_context *context;     /* of ops/config_file.c; core does not look at it */
    cra_config_value *values; /* sorted by path */
    size_t values_count;
    size_t values_capacity;
    cra_route_list routes; /* archive.routes */
    char *routes_source;
    cra_config_index_list *indexes;
    size_t indexes_count;
    size_t indexes_capacity;
    cra_policy *policy;
};

/* An empty configuration. @return CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_config_create(const cra_allocator *allocator, cra_config **out, cra_error *err);
/* What cra_config_validate() does, against the names of the backends there are. */
CRA_MUST_CHECK cra_status cra_config_check(cra_config *config, const char *const *schemes, size_t schemes_count,
                                           cra_error *err);

/* The value of a path, or NULL where it is not set. */
const cra_config_value *cra_config_find(const cra_config *config, const char *path);

/* Where a value comes from, while it is being set. */
typedef struct cra_config_origin {
    const char *source; /* "FILE", "environment", "program" */
    size_t line;        /* 0: none */
    const char *folder; /* relative paths resolve against it; NULL: they stay */
} cra_config_origin;

/* "FILE:LINE: PATH: " + message. @return CRA_INVALID */
cra_status CRA_PRINTF(4, 5)
    cra_config_wrong(const cra_config_origin *origin, const char *path, cra_error *err, const char *format, ...);
/* The same for a path that is no key: names what is allowed beside it and the nearest. */
cra_status cra_config_unknown(const cra_config_origin *origin, const char *path, cra_error *err);

/* Check a value against its key. @return CRA_INVALID */
CRA_MUST_CHECK cra_status cra_config_check_value(const cra_config_key *key, const char *path, const char *text,
                                                 const cra_config_origin *origin, cra_error *err);
/* Check a value against its key and keep it, replacing an earlier one. */
CRA_MUST_CHECK cra_status cra_config_put(cra_config *config, const cra_config_key *key, const char *path,
                                         const char *text, const cra_config_origin *origin, cra_error *err);
/* Keep what a tree holds below `path`; "" is the whole file, which must be a mapping. */
CRA_MUST_CHECK cra_status cra_config_put_node(cra_config *config, const char *path, const cra_yaml_node *node,
                                              const cra_config_origin *origin, cra_error *err);
/* Keep one value given as text; lists and sections are written as in the file. */
CRA_MUST_CHECK cra_status cra_config_put_text(cra_config *config, const char *path, const char *value,
                                              const cra_config_origin *origin, cra_error *err);
/* Keep a list of routes, or of index documents. */
CRA_MUST_CHECK cra_status cra_config_put_routes(cra_config *config, const char *path, const cra_yaml_node *node,
                                                const cra_config_origin *origin, cra_error *err);
CRA_MUST_CHECK cra_status cra_config_put_indexes(cra_config *config, const cra_config_key *key, const char *path,
                                                 const cra_yaml_node *node, const cra_config_origin *origin,
                                                 cra_error *err);
/* "FILE:LINE" or the source alone; NULL on no memory. */
char *cra_config_source_text(const cra_allocator *allocator, const cra_config_origin *origin);
/* A copy of a value, its relative path resolved against the origin's folder. @return CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_config_resolve(const cra_config *config, const cra_config_key *key, const char *text,
                                             const cra_config_origin *origin, char **out);
/* Parse number, size, duration, percentage or truth value. False where `text` is none. */
bool cra_config_number(cra_config_type type, const char *text, int64_t *out);
/* Append a URI with its secrets replaced by "(redacted)". */
CRA_MUST_CHECK cra_status cra_config_redact(const char *uri, cra_buf *out);

#endif
