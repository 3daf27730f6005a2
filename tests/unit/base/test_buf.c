/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "kit/test_allocator.h"

static void grows_and_hands_over(void **state)
{
    cra_test_allocator kit;
    cra_buf buf;

    (void)state;
    cra_test_allocator_init(&kit);
    cra_buf_init(&buf, &kit.allocator);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(cra_buf_append_byte(&buf, (uint8_t)i), CRA_OK);
    assert_int_equal(buf.size, 1000);
    assert_int_equal(buf.data[999], 999 & 0xFF);
    cra_buf_clear(&buf);
    assert_int_equal(cra_buf_append_str(&buf, "a"), CRA_OK);
    assert_int_equal(cra_buf_appendf(&buf, "%d-%s", 7, "b"), CRA_OK);
    assert_string_equal(cra_buf_cstr(&buf), "a7-b");
    assert_int_equal(buf.size, 4);
    char *text = cra_buf_detach_cstr(&buf);
    assert_string_equal(text, "a7-b");
    assert_int_equal(buf.size, 0);
    cra_free(&kit.allocator, text);
    assert_int_equal(cra_buf_append_byte(&buf, 0), CRA_OK);
    assert_int_equal(cra_buf_reserve(&buf, SIZE_MAX), CRA_NOMEM);
    assert_int_equal(cra_buf_append(&buf, NULL, 0), CRA_OK);
    cra_buf_cleanup(&buf);
    cra_test_allocator_check(&kit);
}

static void want_of_memory_keeps_the_content(void **state)
{
    cra_test_allocator kit;
    cra_buf buf;
    const char text[100] = "x";

    (void)state;
    cra_test_allocator_init(&kit);
    cra_buf_init(&buf, &kit.allocator);
    assert_int_equal(cra_buf_append_str(&buf, "kept"), CRA_OK);
    kit.fail_at = kit.allocations + 1;
    assert_int_equal(cra_buf_append(&buf, text, sizeof text), CRA_NOMEM);
    assert_true(cra_bytes_equal(cra_buf_bytes(&buf), cra_bytes_of_str("kept")));
    cra_buf_cleanup(&buf);
    cra_test_allocator_check(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_hands_over),
        cmocka_unit_test(want_of_memory_keeps_the_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
