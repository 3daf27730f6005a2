/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "kit/test_allocator.h"

static void copies_and_refuses_what_overflows(void **state)
{
    cra_test_allocator kit;

    (void)state;
    cra_test_allocator_init(&kit);
    assert_null(cra_calloc(&kit.allocator, SIZE_MAX / 2, 3));
    assert_null(cra_strdup(&kit.allocator, NULL));
    char *text = cra_strndup(&kit.allocator, "abcd", 2);
    assert_string_equal(text, "ab");
    uint8_t *zeros = cra_calloc(&kit.allocator, 3, 2);
    assert_memory_equal(zeros, "\0\0\0\0\0\0", 6);
    void *nothing = cra_malloc(&kit.allocator, 0);
    assert_non_null(nothing);
    cra_free(&kit.allocator, text);
    cra_free(&kit.allocator, zeros);
    cra_free(&kit.allocator, nothing);
    cra_free(&kit.allocator, NULL);
    cra_test_allocator_check(&kit);
}

static void arrays_double_and_survive_failure(void **state)
{
    cra_test_allocator kit;
    void *array = NULL;
    size_t capacity = 0;

    (void)state;
    cra_test_allocator_init(&kit);
    assert_int_equal(cra_array_grow(&kit.allocator, &array, &capacity, 1, 4), CRA_OK);
    assert_int_equal(capacity, 8);
    assert_int_equal(cra_array_grow(&kit.allocator, &array, &capacity, 9, 4), CRA_OK);
    assert_int_equal(capacity, 16);
    kit.fail_at = kit.allocations + 1;
    assert_int_equal(cra_array_grow(&kit.allocator, &array, &capacity, 17, 4), CRA_NOMEM);
    assert_int_equal(capacity, 16);
    assert_int_equal(cra_array_grow(&kit.allocator, &array, &capacity, SIZE_MAX, 4), CRA_NOMEM);
    memset(array, 0, 64);
    cra_free(&kit.allocator, array);
    cra_test_allocator_check(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_and_refuses_what_overflows),
        cmocka_unit_test(arrays_double_and_survive_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
