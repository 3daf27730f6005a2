/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/engine.h"

#include "base/alloc.h"
#include "base/buf.h"

struct collector {
    cra_settings *settings;
    const char *section;
};

static void free_setting(const cra_allocator *allocator, cra_setting *setting)
{
    cra_free(allocator, (void *)(uintptr_t)setting->key);
    cra_free(allocator, (void *)(uintptr_t)setting->value);
}

static cra_status add_setting(cra_settings *settings, const char *key, const char *value)
{
    cra_setting *slot;
    char *own_key, *own_value;

    CRA_TRY(cra_array_grow(settings->allocator, (void **)&settings->items, &settings->capacity, settings->count + 1,
                           sizeof(*settings->items)));
    own_key = cra_strdup(settings->allocator, key);
    own_value = cra_strdup(settings->allocator, value);
    slot = &settings->items[settings->count];
    slot->key = own_key;
    slot->value = own_value;
    if (own_key == NULL || own_value == NULL) {
        free_setting(settings->allocator, slot);
        return CRA_NOMEM;
    }
    settings->count++;
    return CRA_OK;
}

static cra_status collect_entry(void *user, const cra_config_entry *entry)
{
    struct collector *collector = user;
    const size_t prefix = strlen(collector->section);

    if (entry->value == NULL || strncmp(entry->path, collector->section, prefix) != 0)
        return CRA_OK;
    if (strcmp(entry->path + prefix, "uri") == 0)
        return CRA_OK;
    return add_setting(collector->settings, entry->path + prefix, entry->value);
}

cra_status cra_settings_collect(const cra_config *config, const char *section, const cra_allocator *allocator,
                                cra_settings *out, cra_error *err)
{
    struct collector collector = {out, section};
    cra_status status;

    memset(out, 0, sizeof(*out));
    out->allocator = allocator;
    status = cra_config_each(config, collect_entry, &collector);
    if (status == CRA_OK)
        return CRA_OK;
    cra_settings_cleanup(out);
    return cra_error_set(err, status, "engine", "cannot collect the settings of '%s'", section);
}

void cra_settings_cleanup(cra_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        free_setting(settings->allocator, &settings->items[i]);
    cra_free(settings->allocator, settings->items);
    memset(settings, 0, sizeof(*settings));
}

void cra_engine_redact(const char *uri, char *out, size_t size)
{
    const char *slashes = strstr(uri, "://");
    const char *host = slashes == NULL ? uri : slashes + 3;
    size_t used = 0;

    if (slashes != NULL) {
        const size_t authority = strcspn(host, "/?");
        for (size_t i = authority; i > 0; i--) {
            if (host[i - 1] == '@') {
                host += i;
                break;
            }
        }
        for (const char *at = uri; at < slashes + 3 && used + 1 < size; at++)
            out[used++] = *at;
    }
    for (const char *at = host; *at != '\0' && *at != '?' && used + 1 < size; at++)
        out[used++] = *at;
    if (size > 0)
        out[used] = '\0';
}
