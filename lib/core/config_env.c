/* SPDX-License-Identifier: Apache-2.0 */

/* Values from the environment: CRAWLARCHIVE_LEASE__TTL is lease.ttl. Names of the user's own are in lower case there;
 * others are given with their whole section: CRAWLARCHIVE_RETENTION__REPORTS='{Prices: {success: 14d}}'. */

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/similar.h"
#include "core/config.h"

#define PREFIX "CRAWLARCHIVE_"
#define MAX_VARIABLES 96
#define NAME_SIZE 64

/* Variables with our prefix that are not keys. */
static bool is_reserved(const char *name, size_t size)
{
    static const char config[] = "CONFIG";
    static const char test[] = "TEST_";

    return (size == sizeof config - 1 && memcmp(name, config, size) == 0) ||
           (size >= sizeof test - 1 && memcmp(name, test, sizeof test - 1) == 0);
}

static cra_status append_path(const char *name, size_t size, cra_buf *out)
{
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        if (c == '_' && i + 1 < size && name[i + 1] == '_') {
            c = '.';
            i++;
        } else if (c >= 'A' && c <= 'Z') {
            c = (char)(c - 'A' + 'a');
        }
        CRA_TRY(cra_buf_append_byte(out, (uint8_t)c));
    }
    return CRA_OK;
}

/* The variable of a key; "" for keys with names of the user's own. */
static void variable_of(const char *path, char out[NAME_SIZE])
{
    size_t at = sizeof PREFIX - 1;

    out[0] = '\0';
    if (strchr(path, '*') != NULL || 2 * strlen(path) + sizeof PREFIX > NAME_SIZE)
        return;
    memcpy(out, PREFIX, sizeof PREFIX);
    for (; *path != '\0'; path++) {
        if (*path == '.') {
            out[at++] = '_';
            out[at++] = '_';
        } else {
            out[at++] = *path >= 'a' && *path <= 'z' ? (char)(*path - 'a' + 'A') : *path;
        }
    }
    out[at] = '\0';
}

static cra_status unknown_variable(const char *variable, size_t size, cra_error *err)
{
    char names[MAX_VARIABLES][NAME_SIZE];
    const char *list[MAX_VARIABLES];
    char name[NAME_SIZE];
    size_t count = 0;

    for (size_t i = 0; cra_config_key_at(i) != NULL && count < MAX_VARIABLES; i++) {
        variable_of(cra_config_key_at(i)->path, names[count]);
        if (names[count][0] != '\0') {
            list[count] = names[count];
            count++;
        }
    }
    snprintf(name, sizeof name, "%.*s", (int)size, variable);
    const char *nearest = cra_nearest_name(name, list, count);
    return cra_error_set(
        err, CRA_INVALID, "config",
        "environment: %s names no key of the configuration (path in capitals, levels joined by __)%s%s%s", name,
        nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest, nearest == NULL ? "" : "\"?");
}

static cra_status put_variable(cra_config *config, const char *variable, size_t name_size, const char *value,
                               cra_error *err)
{
    const cra_config_origin origin = {"environment", 0, NULL};
    cra_buf path;
    cra_status status;

    cra_buf_init(&path, config->allocator);
    status = append_path(variable + sizeof PREFIX - 1, name_size - (sizeof PREFIX - 1), &path);
    const char *text = status == CRA_OK ? cra_buf_cstr(&path) : NULL;
    if (text == NULL)
        status = cra_error_set(err, CRA_NOMEM, "config", "out of memory");
    else if (cra_config_key_find(text) == NULL && (text[0] == '\0' || !cra_config_is_section(text, true)))
        status = unknown_variable(variable, name_size, err);
    else
        status = cra_config_put_text(config, text, value, &origin, err);
    cra_buf_cleanup(&path);
    return status;
}

cra_status cra_config_load_environment(cra_config *config, const char *const *environment, cra_error *err)
{
    for (; environment != NULL && *environment != NULL; environment++) {
        const char *variable = *environment;
        const char *equals = strchr(variable, '=');
        if (equals == NULL || strncmp(variable, PREFIX, sizeof PREFIX - 1) != 0)
            continue;
        const size_t size = (size_t)(equals - variable);
        if (is_reserved(variable + sizeof PREFIX - 1, size - (sizeof PREFIX - 1)))
            continue;
        CRA_TRY(put_variable(config, variable, size, equals + 1, err));
    }
    return CRA_OK;
}
