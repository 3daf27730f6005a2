/* SPDX-License-Identifier: Apache-2.0 */
#include <crawlarchive/error.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void an_error_is_one_line_of_bounded_size(void **state)
{
    cra_error err;
    char name[1000];

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    cra_error_clear(&err);
    assert_int_equal(cra_error_set_native(&err, CRA_IO, 5, "an origin longer than its place", "a\nb\x1b %s", name),
                     CRA_IO);
    assert_int_equal(err.native_code, 5);
    assert_int_equal(strlen(err.origin), sizeof err.origin - 1);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_memory_equal(err.message, "a?b? nnn", 8);
    cra_error_hint(&err, "do %s", "this\n");
    assert_string_equal(err.hint, "do this?");
    /* Its own message as an argument; the hint of the old error goes. */
    cra_error_set(&err, CRA_CORRUPT, "x", "short: %.8s", err.message);
    assert_string_equal(err.message, "short: a?b? nnn");
    assert_string_equal(err.hint, "");
    assert_int_equal(cra_error_set(NULL, CRA_NOMEM, "x", "y"), CRA_NOMEM);
    cra_error_hint(NULL, "y");
    cra_error_clear(NULL);
}

static void statuses_have_names_codes_and_sources(void **state)
{
    cra_error err = {.status = CRA_TIMEOUT};

    (void)state;
    assert_string_equal(cra_status_name(CRA_NOT_FOUND), "not_found");
    assert_string_equal(cra_status_name((cra_status)99), "unknown");
    assert_int_equal(cra_status_exit_code(CRA_CANCELLED), 130);
    assert_int_equal(cra_status_exit_code((cra_status)99), 1);
    assert_int_equal(cra_status_from_errno(ENOENT), CRA_NOT_FOUND);
    assert_int_equal(cra_status_from_errno(EROFS), CRA_DENIED);
    assert_int_equal(cra_status_from_errno(ENOSPC), CRA_IO);
    assert_true(cra_error_is_retryable(&err));
    err.status = CRA_CORRUPT;
    assert_false(cra_error_is_retryable(&err));
    assert_false(cra_error_is_retryable(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_is_one_line_of_bounded_size),
        cmocka_unit_test(statuses_have_names_codes_and_sources),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
