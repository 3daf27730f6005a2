/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CORE_CONFIG_TABLE_H
#define CRA_CORE_CONFIG_TABLE_H

/* The table of configuration keys and how paths find their rows. */

#include <crawlarchive/types.h>

typedef enum cra_config_type {
    CRA_CONFIG_TEXT,
    CRA_CONFIG_URI,
    CRA_CONFIG_PATH, /* of a file or folder; relative ones resolve against the file's folder */
    CRA_CONFIG_INT,
    CRA_CONFIG_SIZE,
    CRA_CONFIG_DURATION,
    CRA_CONFIG_PERCENT,
    CRA_CONFIG_BOOL,
    CRA_CONFIG_ENUM,
    CRA_CONFIG_LIST,   /* words, kept as "a,b,c" */
    CRA_CONFIG_ROUTES, /* list of {until, uri} */
    CRA_CONFIG_INDEXES /* list of index documents */
} cra_config_type;

typedef struct cra_config_key {
    const char *path; /* with `*` for names of the user's own */
    cra_config_type type;
    const char *default_text; /* NULL: unset */
    const char *allowed;      /* range or words; NULL: any */
    const char *example;      /* NULL: the default; "": none */
    const char *help;
} cra_config_key;

/* The keys in the table's order; NULL past the end. */
const cra_config_key *cra_config_key_at(size_t index);
/* The row of a path ("restore.reports.wide.batch_docs"), or NULL. A name of the user's own may hold dots. */
const cra_config_key *cra_config_key_find(const char *path);
/* Whether keys lie below a path. With `dotted` a name of the user's own in it may hold dots. */
bool cra_config_is_section(const char *path, bool dotted);

#define CRA_CONFIG_NAME_SIZE 48

/* Names that may stand below `parent` ("" for the top), at most `max`, each once; `*` is left out.
 * @return how many */
size_t cra_config_children(const char *parent, char (*names)[CRA_CONFIG_NAME_SIZE], size_t max);

/* "a duration", "a whole number", … for messages and the manual. */
const char *cra_config_type_name(cra_config_type type);

#endif
