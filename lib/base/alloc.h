/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BASE_ALLOC_H
#define CRA_BASE_ALLOC_H

/* Memory through a cra_allocator; a NULL allocator means the C library's. */

#include <crawlarchive/types.h>

/* NULL on no memory; size 0 gives a valid pointer. */
void *cra_malloc(const cra_allocator *allocator, size_t size);
/* Zeroed array; NULL on no memory or when count * size overflows. */
void *cra_calloc(const cra_allocator *allocator, size_t count, size_t size);
/* NULL on no memory, `ptr` then stays valid. */
void *cra_realloc(const cra_allocator *allocator, void *ptr, size_t size);
/* NULL is legal. */
void cra_free(const cra_allocator *allocator, void *ptr);
/* Copies; NULL on no memory. `cra_strdup(a, NULL)` is NULL. */
char *cra_strdup(const cra_allocator *allocator, const char *text);
char *cra_strndup(const cra_allocator *allocator, const char *text, size_t size);
void *cra_memdup(const cra_allocator *allocator, const void *data, size_t size);

/* Grow `*array` (elements of `element_size`) so that it holds at least `need`; doubles. */
cra_status cra_array_grow(const cra_allocator *allocator, void **array, size_t *capacity, size_t need,
                          size_t element_size);

#endif
