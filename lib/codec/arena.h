/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_ARENA_H
#define CRA_CODEC_ARENA_H

/* Many small allocations that live and die together. */

#include <crawlarchive/types.h>

typedef struct cra_arena {
    const cra_allocator *allocator;
    struct cra_arena_chunk *chunks;
} cra_arena;

void cra_arena_init(cra_arena *arena, const cra_allocator *allocator);
/* Frees all that was taken. */
void cra_arena_cleanup(cra_arena *arena);
/* Zeroed memory of `count` elements, aligned for any object; NULL on no memory. */
void *cra_arena_take(cra_arena *arena, size_t count, size_t size);
/* A NUL-terminated copy; NULL on no memory. */
char *cra_arena_text(cra_arena *arena, const char *text, size_t size);

#endif
