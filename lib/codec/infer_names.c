/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/infer.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

/* The C locale's letters, whatever locale the program has set. */
static bool is_letter(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static char fold(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

static size_t hash_folded(const char *name)
{
    uint32_t hash = UINT32_C(2166136261);

    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)fold(*name)) * UINT32_C(16777619);
    return hash;
}

static bool equal_folded(const char *a, const char *b)
{
    while (*a != '\0' && fold(*a) == fold(*b)) {
        a++;
        b++;
    }
    return fold(*a) == fold(*b);
}

/* Place of `name` in the table: its own, or the free one where it belongs. */
static size_t slot_of(const cra_names *names, const char *name)
{
    const size_t mask = names->table_size - 1;
    size_t slot = hash_folded(name) & mask;

    while (names->table[slot] != NULL && !equal_folded(names->table[slot], name))
        slot = (slot + 1) & mask;
    return slot;
}

static cra_status make_room(cra_names *names)
{
    if (2 * (names->count + 1) <= names->table_size)
        return CRA_OK;

    cra_names bigger = *names;
    bigger.table_size = names->table_size == 0 ? 32 : 2 * names->table_size;
    bigger.table = cra_calloc(names->allocator, bigger.table_size, sizeof *bigger.table);
    if (bigger.table == NULL)
        return CRA_NOMEM;
    for (size_t i = 0; i < names->table_size; i++) {
        if (names->table[i] != NULL)
            bigger.table[slot_of(&bigger, names->table[i])] = names->table[i];
    }
    cra_free(names->allocator, names->table);
    *names = bigger;
    return CRA_OK;
}

static size_t mangle(cra_bytes wanted, char out[CRA_NAME_MAX + 1])
{
    size_t size = 0;

    if (wanted.size == 0 || is_digit(wanted.data[0]))
        out[size++] = '_';
    for (size_t i = 0; i < wanted.size && size < CRA_NAME_MAX; i++) {
        const uint8_t byte = wanted.data[i];
        /* One underscore for a whole character, not one for each of its bytes. */
        if ((byte & 0xC0) != 0x80)
            out[size++] = is_letter(byte) || is_digit(byte) ? (char)byte : '_';
    }
    out[size] = '\0';
    return size;
}

void cra_names_init(cra_names *names, const cra_allocator *allocator)
{
    names->allocator = allocator;
    names->table = NULL;
    names->table_size = 0;
    names->count = 0;
}

void cra_names_cleanup(cra_names *names)
{
    for (size_t i = 0; i < names->table_size; i++)
        cra_free(names->allocator, names->table[i]);
    cra_free(names->allocator, names->table);
    cra_names_init(names, names->allocator);
}

bool cra_name_is_valid(cra_bytes text)
{
    if (text.size == 0 || text.size > CRA_NAME_MAX || !is_letter(text.data[0]))
        return false;
    for (size_t i = 1; i < text.size; i++) {
        if (!is_letter(text.data[i]) && !is_digit(text.data[i]))
            return false;
    }
    return true;
}

cra_status cra_names_add(cra_names *names, cra_bytes wanted, const char **name)
{
    char candidate[CRA_NAME_MAX + 1];
    size_t size = mangle(wanted, candidate);

    CRA_TRY(make_room(names));
    size_t slot = slot_of(names, candidate);
    /* Ends: among count + 1 candidates one is free. */
    for (unsigned number = 2; names->table[slot] != NULL; number++) {
        char suffix[16];
        const int length = snprintf(suffix, sizeof suffix, "_%u", number);
        const size_t keep = size + (size_t)length > CRA_NAME_MAX ? CRA_NAME_MAX - (size_t)length : size;
        memcpy(candidate + keep, suffix, (size_t)length + 1);
        slot = slot_of(names, candidate);
    }

    char *own = cra_strdup(names->allocator, candidate);
    if (own == NULL)
        return CRA_NOMEM;
    names->table[slot] = own;
    names->count++;
    *name = own;
    return CRA_OK;
}
