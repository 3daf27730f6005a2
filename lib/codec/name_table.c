/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/name_table.h"

#include <string.h>

#include "base/alloc.h"

struct cra_name_slot {
    const char *name; /* NULL: free */
    void *value;
    uint64_t hash;
};

/* FNV-1a with the bits mixed at the end. */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
    return hash ^ (hash >> 29);
}

void cra_name_table_init(cra_name_table *table, const cra_allocator *allocator)
{
    memset(table, 0, sizeof *table);
    table->allocator = allocator;
}

void cra_name_table_cleanup(cra_name_table *table)
{
    cra_free(table->allocator, table->slots);
    cra_name_table_init(table, table->allocator);
}

void cra_name_table_clear(cra_name_table *table)
{
    if (table->count > 0)
        memset(table->slots, 0, table->capacity * sizeof *table->slots);
    table->count = 0;
}

/* The slot of `name`, or the free one where it belongs. The table has a free slot. */
static struct cra_name_slot *find(const cra_name_table *table, const char *name, uint64_t hash)
{
    size_t at = (size_t)hash & (table->capacity - 1);

    for (;; at = (at + 1) & (table->capacity - 1)) {
        struct cra_name_slot *slot = &table->slots[at];
        if (slot->name == NULL || (slot->hash == hash && strcmp(slot->name, name) == 0))
            return slot;
    }
}

void *cra_name_table_get(const cra_name_table *table, const char *name)
{
    return table->capacity == 0 ? NULL : find(table, name, hash_of(name))->value;
}

static cra_status grow(cra_name_table *table)
{
    cra_name_table bigger = *table;

    bigger.capacity = table->capacity == 0 ? 16 : table->capacity * 2;
    bigger.slots = cra_calloc(table->allocator, bigger.capacity, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return CRA_NOMEM;
    for (size_t i = 0; i < table->capacity; i++) {
        const struct cra_name_slot *slot = &table->slots[i];
        if (slot->name != NULL)
            *find(&bigger, slot->name, slot->hash) = *slot;
    }
    cra_free(table->allocator, table->slots);
    *table = bigger;
    return CRA_OK;
}

cra_status cra_name_table_put(cra_name_table *table, const char *name, void *value)
{
    const uint64_t hash = hash_of(name);

    /* At most half full: probes stay short. */
    if (table->count + 1 > table->capacity / 2 && grow(table) != CRA_OK)
        return CRA_NOMEM;
    struct cra_name_slot *slot = find(table, name, hash);
    if (slot->name != NULL)
        return CRA_EXISTS;
    slot->name = name;
    slot->value = value;
    slot->hash = hash;
    table->count++;
    return CRA_OK;
}
