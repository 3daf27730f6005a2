/* SPDX-License-Identifier: Apache-2.0 */

/* The commented file that `init` writes, made from the table: every key with its help and its default. */

#include <string.h>

#include "base/buf.h"
#include "core/config.h"

/* What the embedded default sets; everything else is commented out. */
static const struct {
    const char *path;
    const char *value;
} embedded[] = {
    {"catalog.uri", "sqlite:crawlarchive.db"}, {"hot.uri", "sqlite:crawlarchive.db"}, {"archive.uri", "file:archive"}};

static const char *embedded_value(const char *path)
{
    for (size_t i = 0; i < sizeof embedded / sizeof embedded[0]; i++) {
        if (strcmp(embedded[i].path, path) == 0)
            return embedded[i].value;
    }
    return NULL;
}

static cra_status append_key(const cra_config_key *key, const char *name, cra_buf *out)
{
    const char *value = embedded_value(key->path);
    /* A plain scalar may not begin with a brace. */
    const char *quote = key->default_text != NULL && key->default_text[0] == '{' ? "\"" : "";

    if (value == NULL && key->example != NULL && key->example[0] == '\0')
        return CRA_OK;
    CRA_TRY(cra_buf_appendf(out, "  # %s\n", key->help));
    if (key->allowed != NULL)
        CRA_TRY(cra_buf_appendf(out, "  # (%s)\n", key->allowed));
    if (value != NULL)
        return cra_buf_appendf(out, "  %s: %s\n", name, value);
    if (key->default_text != NULL)
        return cra_buf_appendf(out, "  # %s: %s%s%s\n", name, quote, key->default_text, quote);
    /* An example with a name of its own holds the whole line. */
    if (strchr(key->path, '*') != NULL || key->type == CRA_CONFIG_ROUTES)
        return cra_buf_appendf(out, "  # %s\n", key->example);
    return cra_buf_appendf(out, "  # %s: %s\n", name, key->example);
}

cra_status cra_config_template(cra_buf *out)
{
    const char *section = "";
    size_t section_size = 0;

    CRA_TRY(cra_buf_append_str(out, "# Configuration of crawlarchive; crawlarchive.yaml(5) explains every key.\n"
                                    "# Values in comments are the defaults or examples. Relative paths begin at this\n"
                                    "# file. CRAWLARCHIVE_LEASE__TTL=10s in the environment wins over lease.ttl here.\n"
                                    "version: 1\n"));
    for (size_t i = 0; cra_config_key_at(i) != NULL; i++) {
        const cra_config_key *key = cra_config_key_at(i);
        const char *dot = strchr(key->path, '.');
        if (dot == NULL)
            continue;
        const size_t size = (size_t)(dot - key->path);
        if (size != section_size || memcmp(section, key->path, size) != 0) {
            section = key->path;
            section_size = size;
            CRA_TRY(cra_buf_appendf(out, "\n%.*s:\n", (int)size, section));
        }
        CRA_TRY(append_key(key, dot + 1, out));
    }
    return CRA_OK;
}
