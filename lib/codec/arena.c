/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/arena.h"

#include <stdalign.h>
#include <string.h>

#include "base/alloc.h"

#define CHUNK_SIZE 4096

struct cra_arena_chunk {
    struct cra_arena_chunk *next;
    size_t used;
    size_t size;
    alignas(max_align_t) uint8_t data[];
};

void cra_arena_init(cra_arena *arena, const cra_allocator *allocator)
{
    arena->allocator = allocator;
    arena->chunks = NULL;
}

void cra_arena_cleanup(cra_arena *arena)
{
    while (arena->chunks != NULL) {
        struct cra_arena_chunk *next = arena->chunks->next;
        cra_free(arena->allocator, arena->chunks);
        arena->chunks = next;
    }
}

void *cra_arena_take(cra_arena *arena, size_t count, size_t size)
{
    const size_t align = alignof(max_align_t);

    if (size != 0 && count > (SIZE_MAX / 2) / size)
        return NULL;
    const size_t need = (count * size + align - 1) / align * align;

    struct cra_arena_chunk *chunk = arena->chunks;
    if (chunk == NULL || chunk->size - chunk->used < need) {
        const size_t capacity = need > CHUNK_SIZE / 4 ? need : CHUNK_SIZE;
        struct cra_arena_chunk *fresh = cra_malloc(arena->allocator, sizeof *fresh + capacity);
        if (fresh == NULL)
            return NULL;
        fresh->used = 0;
        fresh->size = capacity;
        if (chunk != NULL && capacity == need) { /* filled at once: the open chunk stays in front */
            fresh->next = chunk->next;
            chunk->next = fresh;
        } else {
            fresh->next = chunk;
            arena->chunks = fresh;
        }
        chunk = fresh;
    }
    void *memory = chunk->data + chunk->used;
    chunk->used += need;
    memset(memory, 0, need);
    return memory;
}

char *cra_arena_text(cra_arena *arena, const char *text, size_t size)
{
    char *copy = cra_arena_take(arena, size + 1, 1);

    if (copy != NULL && size > 0)
        memcpy(copy, text, size);
    return copy;
}
