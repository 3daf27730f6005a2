/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CORE_CONFIG_YAML_H
#define CRA_CORE_CONFIG_YAML_H

/* YAML text as a small tree with line numbers. What a configuration does not need is refused: anchors and aliases
 * (and with them texts that grow when they are read), tags, several documents, duplicate keys, keys that are no
 * text, and anything beyond the limits below. */

#include <crawlarchive/error.h>

#define CRA_YAML_MAX_BYTES (1024u * 1024u)
#define CRA_YAML_MAX_DEPTH 32
#define CRA_YAML_MAX_NODES 50000
#define CRA_YAML_MAX_KEYS 5000 /* of one mapping */

typedef enum cra_yaml_kind { CRA_YAML_SCALAR, CRA_YAML_LIST, CRA_YAML_MAP } cra_yaml_kind;

typedef struct cra_yaml_node cra_yaml_node;
struct cra_yaml_node {
    cra_yaml_kind kind;
    size_t line;             /* from 1; of the key where there is one */
    char *key;               /* in its mapping; else NULL */
    char *text;              /* of a scalar */
    bool plain;              /* scalar without quotes: may be a number, a truth value or null */
    cra_yaml_node *children; /* owned array */
    size_t count;
    size_t capacity;
};

/* Parse one document; an empty text is an empty mapping. `name` stands for the file in messages.
 * @param out  on success to be released with cra_yaml_cleanup(); on failure it is empty
 * @return CRA_INVALID ("NAME:LINE: what"), CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_yaml_parse(cra_bytes text, const char *name, const cra_allocator *allocator,
                                         cra_yaml_node *out, cra_error *err);
void cra_yaml_cleanup(cra_yaml_node *node, const cra_allocator *allocator);

/* The value of a key, or NULL. */
const cra_yaml_node *cra_yaml_get(const cra_yaml_node *map, const char *key);
/* Whether it is an empty or null plain scalar: `key:` with nothing behind it. */
bool cra_yaml_is_null(const cra_yaml_node *node);

#endif
