/* SPDX-License-Identifier: Apache-2.0 */

/* The context that programs get: every backend that is compiled in, under a scheme of its own. */

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/sys/backend.h>

#include "kit/test_allocator.h"

static void registers_the_builtin_backends(void **state)
{
    cra_context *context = NULL;
    cra_error err = {0};
    size_t count = 0;

    (void)state;
    assert_int_equal(cra_context_new(NULL, &context, &err), CRA_OK);
    for (const cra_backend *b = cra_backend_at(context, 0); b != NULL; b = cra_backend_at(context, ++count)) {
        assert_int_equal(b->struct_size, sizeof *b);
        assert_int_equal(b->abi_version, CRA_ABI_VERSION);
        assert_true(b->description != NULL && b->description[0] != '\0');
        assert_true(b->open_catalog != NULL || b->open_docstore != NULL || b->open_blobstore != NULL ||
                    b->open_events != NULL);
    }
    /* Taken already, where built in: a program cannot replace a backend unawares. */
    const cra_backend *first = cra_backend_at(context, 0);
    if (first != NULL)
        assert_int_equal(cra_backend_register(context, first, &err), CRA_EXISTS);
    cra_context_free(context);
}

static void refuses_options_it_does_not_know(void **state)
{
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;
    cra_error err = {0};

    (void)state;
    options.struct_size = 1;
    assert_int_equal(cra_context_new(&options, &context, &err), CRA_INVALID);
    assert_null(context);
    assert_true(err.message[0] != '\0');
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;

    (void)user;
    options.allocator = allocator;
    const cra_status status = cra_context_new(&options, &context, NULL);
    cra_context_free(context);
    return status;
}

static void survives_lack_of_memory(void **state)
{
    (void)state;
    cra_torture(attempt, NULL, CRA_OK, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_the_builtin_backends),
        cmocka_unit_test(refuses_options_it_does_not_know),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("builtin", tests, NULL, NULL);
}
