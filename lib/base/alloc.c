/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void *cra_malloc(const cra_allocator *allocator, size_t size)
{
    const size_t wanted = size == 0 ? 1 : size;

    if (allocator == NULL || allocator->malloc_fn == NULL)
        return malloc(wanted);
    return allocator->malloc_fn(allocator->user, wanted);
}

void *cra_calloc(const cra_allocator *allocator, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        return NULL;

    void *memory = cra_malloc(allocator, count * size);
    if (memory != NULL)
        memset(memory, 0, count * size);
    return memory;
}

void *cra_realloc(const cra_allocator *allocator, void *ptr, size_t size)
{
    const size_t wanted = size == 0 ? 1 : size;

    if (allocator == NULL || allocator->realloc_fn == NULL)
        return realloc(ptr, wanted);
    return allocator->realloc_fn(allocator->user, ptr, wanted);
}

void cra_free(const cra_allocator *allocator, void *ptr)
{
    if (ptr == NULL)
        return;
    if (allocator == NULL || allocator->free_fn == NULL)
        free(ptr);
    else
        allocator->free_fn(allocator->user, ptr);
}

void *cra_memdup(const cra_allocator *allocator, const void *data, size_t size)
{
    void *copy = cra_malloc(allocator, size);

    if (copy != NULL && size > 0)
        memcpy(copy, data, size);
    return copy;
}

char *cra_strndup(const cra_allocator *allocator, const char *text, size_t size)
{
    char *copy = cra_malloc(allocator, size + 1);

    if (copy != NULL) {
        if (size > 0)
            memcpy(copy, text, size);
        copy[size] = '\0';
    }
    return copy;
}

char *cra_strdup(const cra_allocator *allocator, const char *text)
{
    return text == NULL ? NULL : cra_strndup(allocator, text, strlen(text));
}

cra_status cra_array_grow(const cra_allocator *allocator, void **array, size_t *capacity, size_t need,
                          size_t element_size)
{
    if (need <= *capacity)
        return CRA_OK;

    size_t next = *capacity < 8 ? 8 : *capacity;
    while (next < need) {
        if (next > SIZE_MAX / 2)
            return CRA_NOMEM;
        next *= 2;
    }
    if (next > SIZE_MAX / element_size)
        return CRA_NOMEM;

    void *grown = cra_realloc(allocator, *array, next * element_size);
    if (grown == NULL)
        return CRA_NOMEM;
    *array = grown;
    *capacity = next;
    return CRA_OK;
}
