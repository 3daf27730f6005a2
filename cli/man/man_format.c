/* SPDX-License-Identifier: Apache-2.0 */

/* crawlarchive.yaml(5) and crawlarchive-catalog(5), from the tables of the library */

#include <string.h>

#include <crawlarchive/sys/catalog.h>

#include "page.h"

typedef struct key {
    const char *path;
    const char *type;
    const char *default_text;
    const char *allowed;
    const char *example;
    const char *help;
} key;

static const key keys[] = {
#define CRA_KEY(path, type, default_text, allowed, example, help) {path, #type, default_text, allowed, example, help},
#include "core/config_keys.def"
#undef CRA_KEY
};

static const char *type_text(const char *type)
{
    static const char *const texts[][2] = {
        {"INT", "a whole number"},
        {"SIZE", "a size, such as 8MiB"},
        {"DURATION", "a duration, such as 30s or 1d12h"},
        {"TEXT", "text"},
        {"URI", "the URI of a store"},
        {"ENUM", "a word"},
        {"LIST", "a word or a list of words"},
        {"BOOL", "true or false"},
        {"PERCENT", "a percentage"},
        {"ROUTES", "a list of routes"},
        {"INDEXES", "a list of index documents"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(texts[i][0], type) == 0)
            return texts[i][1];
    return "a value";
}

static void print_key(FILE *page, const key *row)
{
    char text[1024];
    bool example = row->example && row->example[0] != '\0';
    snprintf(text, sizeof text, "%s It is %s%s%s%s.%s%s%s%s%s", row->help, type_text(row->type),
             row->allowed ? " (" : "", row->allowed ? row->allowed : "", row->allowed ? ")" : "",
             row->default_text ? " Default: " : "", row->default_text ? row->default_text : "",
             row->default_text ? "." : "", example ? " Example: " : "", example ? row->example : "");
    cra_man_tag(page, row->path, NULL, text);
}

bool cra_man_config(const char *folder)
{
    FILE *page = cra_man_open(folder, "crawlarchive.yaml", 5, "configuration of crawlarchive");
    if (!page)
        return false;
    cra_man_section(page, "DESCRIPTION");
    cra_man_text(page, "One YAML file. It is the one that --config names, else that of $CRAWLARCHIVE_CONFIG, else "
                       "./crawlarchive.yaml, else /etc/crawlarchive.yaml. Relative paths in URIs resolve against the "
                       "file. Every value can be overridden by the environment: CRAWLARCHIVE_ and the path in "
                       "capitals, levels joined by two underscores. Secrets belong in the environment or in files of "
                       "their own; they are redacted in logs.");
    cra_man_paragraph(page, "\"crawlarchive init\" writes a commented file, \"crawlarchive config show\" the effective "
                            "values with their sources, and \"crawlarchive config check\" tries every store.");
    cra_man_section(page, "KEYS");
    cra_man_text(page, "Levels are joined by dots here; * is a name of your own.");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        print_key(page, &keys[i]);
    cra_man_section(page, "SEE ALSO");
    fputs(".BR crawlarchive (1),\n.BR crawlarchive\\-catalog (5)\n", page);
    return cra_man_close(page);
}

bool cra_man_catalog(const char *folder)
{
    static const char *const fields[][3] = {
#define FIELD(kind, name, help) {#kind, #name, help},
        CRA_RUN_FIELDS(FIELD)
#undef FIELD
    };
    FILE *page = cra_man_open(folder, "crawlarchive-catalog", 5, "what is stored of each run");
    if (!page)
        return false;
    cra_man_section(page, "DESCRIPTION");
    cra_man_text(page,
                 "The catalog holds one document for each run. These are its fields, their types, who writes them "
                 "and what they say. In stores of your own the names can be mapped with catalog.fields. The lease "
                 "of a run (owner, fence, expiry) stands in the same document and is written by its holder.");
    cra_man_section(page, "FIELDS");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const char *kind = fields[i][0];
        cra_man_tag(page, fields[i][1],
                    strcmp(kind, "TEXT") == 0   ? "text"
                    : strcmp(kind, "TIME") == 0 ? "time"
                    : strcmp(kind, "INT") == 0  ? "integer"
                                                : "boolean",
                    fields[i][2]);
    }
    cra_man_section(page, "STATES");
    cra_man_text(page, "A run is hot, then sweeping while its records are removed, then archived, restoring while they "
                       "come back, and restored, from where it is swept again when its window ends.");
    cra_man_section(page, "SEE ALSO");
    fputs(".BR crawlarchive (1),\n.BR crawlarchive.yaml (5)\n", page);
    return cra_man_close(page);
}
