/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config_table.h"

#include <string.h>

static const cra_config_key keys[] = {
#define CRA_KEY(path, type, default_text, allowed, example, help)                                                      \
    {path, CRA_CONFIG_##type, default_text, allowed, example, help},
#include "core/config_keys.def"
#undef CRA_KEY
};
#define KEYS (sizeof keys / sizeof keys[0])

const cra_config_key *cra_config_key_at(size_t index)
{
    return index < KEYS ? &keys[index] : NULL;
}

/* Whether `pattern[0…size)` matches the whole path; a `*` stands for one byte or more, dots among them where `dotted`.
 * No table row has more than two, so that trying every length is cheap. */
static bool matches(const char *pattern, size_t size, const char *path, bool dotted)
{
    while (size > 0 && *pattern != '*') {
        if (*pattern != *path)
            return false;
        pattern++;
        path++;
        size--;
    }
    if (size == 0)
        return *path == '\0';
    while (*path != '\0' && (dotted || *path != '.')) {
        path++;
        if (matches(pattern + 1, size - 1, path, dotted))
            return true;
    }
    return false;
}

const cra_config_key *cra_config_key_find(const char *path)
{
    for (size_t i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].path, path) == 0 && strchr(path, '*') == NULL)
            return &keys[i];
    }
    for (size_t i = 0; i < KEYS; i++) {
        if (strchr(keys[i].path, '*') != NULL && matches(keys[i].path, strlen(keys[i].path), path, true))
            return &keys[i];
    }
    return NULL;
}

bool cra_config_is_section(const char *path, bool dotted)
{
    for (size_t i = 0; i < KEYS; i++) {
        for (const char *dot = strchr(keys[i].path, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
            if (matches(keys[i].path, (size_t)(dot - keys[i].path), path, dotted))
                return true;
        }
    }
    return false;
}

/* The component of a key below `parent`, or NULL. */
static const char *child_of(const char *pattern, const char *parent)
{
    if (parent[0] == '\0')
        return pattern;
    for (const char *dot = strchr(pattern, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
        if (matches(pattern, (size_t)(dot - pattern), parent, true))
            return dot + 1;
    }
    return NULL;
}

size_t cra_config_children(const char *parent, char (*names)[CRA_CONFIG_NAME_SIZE], size_t max)
{
    size_t count = 0;

    for (size_t i = 0; i < KEYS && count < max; i++) {
        const char *child = child_of(keys[i].path, parent);
        const size_t size = child == NULL ? 0 : strcspn(child, ".");
        if (size == 0 || child[0] == '*' || size >= CRA_CONFIG_NAME_SIZE)
            continue;
        memcpy(names[count], child, size);
        names[count][size] = '\0';
        bool known = false;
        for (size_t j = 0; j < count; j++)
            known = known || strcmp(names[j], names[count]) == 0;
        count += known ? 0 : 1;
    }
    return count;
}

const char *cra_config_type_name(cra_config_type type)
{
    static const char *const names[] = {
        [CRA_CONFIG_TEXT] = "text",
        [CRA_CONFIG_URI] = "a URI",
        [CRA_CONFIG_PATH] = "a path",
        [CRA_CONFIG_INT] = "a whole number",
        [CRA_CONFIG_SIZE] = "a size such as 8MiB",
        [CRA_CONFIG_DURATION] = "a duration such as 30s or 1d12h",
        [CRA_CONFIG_PERCENT] = "a percentage from 0% to 100%",
        [CRA_CONFIG_BOOL] = "true or false",
        [CRA_CONFIG_ENUM] = "one word",
        [CRA_CONFIG_LIST] = "a list of words",
        [CRA_CONFIG_ROUTES] = "a list of {until: RUN, uri: URI}, the last without until",
        [CRA_CONFIG_INDEXES] = "a list of index documents such as {key: {url: 1}, unique: true}",
    };

    return names[type];
}
