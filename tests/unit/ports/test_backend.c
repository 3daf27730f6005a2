/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "kit/test_allocator.h"
#include "ports/backend.h"
#include "ports/context.h"

static cra_status open_nothing(const cra_open_args *args, const cra_blobstore_vtable **vtable, void **self,
                               cra_error *err)
{
    (void)args;
    (void)vtable;
    (void)self;
    return cra_error_set(err, CRA_UNAVAILABLE, "test", "nobody home");
}

static cra_status open_no_events(const cra_open_args *args, const cra_events_vtable **vtable, void **self,
                                 cra_error *err)
{
    (void)args;
    (void)vtable;
    (void)self;
    return cra_error_set(err, CRA_UNAVAILABLE, "test", "nobody listens");
}

static cra_backend named(const char *scheme)
{
    const cra_backend backend = {.struct_size = sizeof backend,
                                 .abi_version = CRA_ABI_VERSION,
                                 .scheme = scheme,
                                 .description = "for tests",
                                 .open_blobstore = open_nothing};

    return backend;
}

static cra_context *make(void)
{
    cra_context *context = NULL;

    assert_int_equal(cra_context_new_bare(NULL, &context, NULL), CRA_OK);
    return context;
}

static void add(cra_context *context, const char *scheme)
{
    const cra_backend backend = named(scheme);

    assert_int_equal(cra_backend_register(context, &backend, NULL), CRA_OK);
}

static void keeps_the_order_and_stays_put(void **state)
{
    static const char *const schemes[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    cra_context *context = make();

    (void)state;
    add(context, schemes[0]);
    const cra_backend *first = cra_backend_at(context, 0);
    for (size_t i = 1; i < 12; i++)
        add(context, schemes[i]);
    assert_ptr_equal(cra_backend_at(context, 0), first);
    for (size_t i = 0; i < 12; i++)
        assert_string_equal(cra_backend_at(context, i)->scheme, schemes[i]);
    assert_null(cra_backend_at(context, 12));
    assert_ptr_equal(cra_backend_for_uri(context, "a:/x", NULL), first);
    cra_context_free(context);
}

static void refuses_what_is_no_backend(void **state)
{
    cra_context *context = make();
    cra_error err = {0};

    (void)state;
    cra_backend backend = named("test");
    backend.abi_version = CRA_ABI_VERSION + 1;
    assert_int_equal(cra_backend_register(context, &backend, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "ABI version 2"));
    backend = named("test");
    backend.struct_size = sizeof(size_t);
    assert_int_equal(cra_backend_register(context, &backend, &err), CRA_INVALID);
    backend = named("test");
    backend.open_blobstore = NULL;
    assert_int_equal(cra_backend_register(context, &backend, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "opens nothing"));
    static const char *const bad[] = {"",      "Test", "1test",           "te st",
                                      "test:", NULL,   "ascheme-ascheme", "aschemeaschemeaschemeaschemeaschemeascheme"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        backend = named(bad[i]);
        assert_int_equal(cra_backend_register(context, &backend, &err), CRA_INVALID);
        assert_non_null(strstr(err.message, "scheme"));
    }
    assert_null(cra_backend_at(context, 0));
    add(context, "test");
    backend = named("test");
    assert_int_equal(cra_backend_register(context, &backend, &err), CRA_EXISTS);
    cra_context_free(context);
}

static void an_unknown_scheme_is_told(void **state)
{
    cra_context *context = make();
    cra_error err = {0};

    (void)state;
    add(context, "sqlite");
    add(context, "file");
    assert_null(cra_backend_for_uri(context, "sqlit:/x?password=hunter2", &err));
    assert_int_equal(err.status, CRA_INVALID);
    assert_non_null(strstr(err.message, "'sqlit'"));
    assert_non_null(strstr(err.message, "sqlite, file"));
    assert_null(strstr(err.message, "hunter2"));
    assert_string_equal(err.hint, "did you mean 'sqlite:'?");
    assert_null(cra_backend_for_uri(context, "/some/path", &err));
    assert_non_null(strstr(err.hint, "file:PATH"));
    assert_null(cra_backend_for_uri(context, "", &err));
    assert_null(cra_backend_for_uri(context, "aschemeaschemeaschemeaschemeaschemeascheme:/x", &err));
    assert_null(cra_backend_for_uri(context, "sqlite", &err));
    cra_context_free(context);
}

static void a_port_that_is_not_offered_is_told(void **state)
{
    cra_context *context = make();
    cra_backend listener = named("bell");
    cra_blobstore *store = NULL;
    cra_events *events = NULL;
    cra_error err = {0};

    (void)state;
    listener.open_blobstore = NULL;
    listener.open_events = open_no_events;
    assert_int_equal(cra_backend_register(context, &listener, NULL), CRA_OK);
    add(context, "box");
    cra_open_args args = {sizeof args, context, "bell:", 0, NULL, 0};
    assert_int_equal(cra_blobstore_open(&args, &store, &err), CRA_UNSUPPORTED);
    assert_non_null(strstr(err.message, "bell"));
    assert_string_equal(err.hint, "schemes that do: box");
    assert_int_equal(cra_events_open(&args, &events, &err), CRA_UNAVAILABLE);
    assert_string_equal(err.message, "nobody listens");
    args.uri = "box:";
    assert_int_equal(cra_events_open(&args, &events, &err), CRA_UNSUPPORTED);
    assert_int_equal(cra_blobstore_open(&args, &store, &err), CRA_UNAVAILABLE);
    assert_string_equal(err.message, "nobody home");
    assert_null(store);
    assert_null(events);
    cra_context_free(context);
}

static void refuses_arguments_that_are_not_whole(void **state)
{
    cra_context *context = make();
    cra_blobstore *store = NULL;
    cra_error err = {0};

    (void)state;
    add(context, "box");
    cra_open_args args = {sizeof args, context, "box:", 0, NULL, 0};
    args.struct_size = 0;
    assert_int_equal(cra_blobstore_open(&args, &store, &err), CRA_INVALID);
    args.struct_size = sizeof args;
    args.context = NULL;
    assert_int_equal(cra_blobstore_open(&args, &store, &err), CRA_INVALID);
    args.context = context;
    args.uri = NULL;
    assert_int_equal(cra_blobstore_open(&args, &store, &err), CRA_INVALID);
    args.uri = "box:";
    args.settings_count = 1;
    assert_int_equal(cra_blobstore_open(&args, &store, &err), CRA_INVALID);
    args.settings_count = 0;
    args.flags = 64;
    assert_int_equal(cra_blobstore_open(&args, &store, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "flags"));
    assert_int_equal(cra_blobstore_open(NULL, &store, &err), CRA_INVALID);
    cra_context_free(context);
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    static const char *const schemes[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;

    (void)user;
    options.allocator = allocator;
    cra_status status = cra_context_new_bare(&options, &context, NULL);
    for (size_t i = 0; i < 9 && status == CRA_OK; i++) {
        const cra_backend backend = named(schemes[i]);
        status = cra_backend_register(context, &backend, NULL);
    }
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
        cmocka_unit_test(keeps_the_order_and_stays_put),
        cmocka_unit_test(refuses_what_is_no_backend),
        cmocka_unit_test(an_unknown_scheme_is_told),
        cmocka_unit_test(a_port_that_is_not_offered_is_told),
        cmocka_unit_test(refuses_arguments_that_are_not_whole),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("backend", tests, NULL, NULL);
}
