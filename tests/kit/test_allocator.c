/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/test_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* In front of each block: its size. Aligned for any object. */
typedef union header {
    size_t size;
    max_align_t align;
} header;

static bool must_fail(cra_test_allocator *kit)
{
    const long long number = atomic_fetch_add(&kit->allocations, 1) + 1;

    if (number != atomic_load(&kit->fail_at))
        return false;
    atomic_store(&kit->failed, true);
    return true;
}

static void count_block(cra_test_allocator *kit, long long blocks, long long bytes)
{
    atomic_fetch_add(&kit->alive, blocks);
    const long long now = atomic_fetch_add(&kit->bytes_alive, bytes) + bytes;
    long long peak = atomic_load(&kit->bytes_peak);
    while (now > peak && !atomic_compare_exchange_weak(&kit->bytes_peak, &peak, now)) {
    }
}

static void *kit_malloc(void *user, size_t size)
{
    cra_test_allocator *kit = user;

    if (must_fail(kit))
        return NULL;
    header *block = malloc(sizeof *block + size);
    if (block == NULL)
        return NULL;
    block->size = size;
    memset(block + 1, 0xA5, size); /* so that nobody leans on zeroed memory */
    count_block(kit, 1, (long long)size);
    return block + 1;
}

static void kit_free(void *user, void *ptr)
{
    cra_test_allocator *kit = user;

    if (ptr == NULL)
        return;
    header *block = (header *)ptr - 1;
    count_block(kit, -1, -(long long)block->size);
    memset(ptr, 0xDD, block->size);
    free(block);
}

static void *kit_realloc(void *user, void *ptr, size_t size)
{
    if (ptr == NULL)
        return kit_malloc(user, size);

    const size_t old_size = ((header *)ptr - 1)->size;
    void *moved = kit_malloc(user, size);
    if (moved == NULL)
        return NULL;
    memcpy(moved, ptr, old_size < size ? old_size : size);
    kit_free(user, ptr);
    return moved;
}

void cra_test_allocator_init(cra_test_allocator *kit)
{
    memset(kit, 0, sizeof *kit);
    kit->allocator.malloc_fn = kit_malloc;
    kit->allocator.realloc_fn = kit_realloc;
    kit->allocator.free_fn = kit_free;
    kit->allocator.user = kit;
}

void cra_test_allocator_check(cra_test_allocator *kit)
{
    assert_int_equal(atomic_load(&kit->alive), 0);
    assert_int_equal(atomic_load(&kit->bytes_alive), 0);
}

void cra_torture(cra_torture_fn attempt, void *user, cra_status expected, long max_points)
{
    cra_test_allocator kit;

    cra_test_allocator_init(&kit);
    assert_int_equal(attempt(&kit.allocator, user), expected);
    cra_test_allocator_check(&kit);
    const long long total = atomic_load(&kit.allocations);
    const long long step = total > max_points && max_points > 0 ? total / max_points : 1;

    for (long long point = 1; point <= total; point += point < 1000 ? 1 : step) {
        cra_test_allocator_init(&kit);
        atomic_store(&kit.fail_at, point);
        const cra_status status = attempt(&kit.allocator, user);
        if (atomic_load(&kit.failed))
            assert_int_equal(status, CRA_NOMEM);
        else
            assert_int_equal(status, expected);
        cra_test_allocator_check(&kit);
    }
}
