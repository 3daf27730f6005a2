/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "kit/test_allocator.h"
#include "ports/context.h"
#include "ports/events.h"

typedef struct spy {
    int emitted;
    int flushed;
    int closed;
    int64_t timeout_ms;
} spy;

static void spy_close(void *self)
{
    ((spy *)self)->closed++;
}

static cra_status spy_emit(void *self, const cra_event *event, cra_error *err)
{
    (void)event;
    (void)err;
    ((spy *)self)->emitted++;
    return CRA_OK;
}

static cra_status spy_flush(void *self, int64_t timeout_ms, cra_error *err)
{
    ((spy *)self)->flushed++;
    ((spy *)self)->timeout_ms = timeout_ms;
    return cra_error_set(err, CRA_TIMEOUT, "spy", "not yet");
}

static const cra_events_vtable full = {
    .struct_size = sizeof(cra_events_vtable), .close = spy_close, .emit = spy_emit, .flush = spy_flush};

static spy opened;
static cra_events_vtable opened_vtable;

static cra_status open_spy(const cra_open_args *args, const cra_events_vtable **vtable, void **self, cra_error *err)
{
    (void)args;
    (void)err;
    *vtable = &opened_vtable;
    *self = &opened;
    return CRA_OK;
}

static void passes_events_on(void **state)
{
    static const uint8_t document[] = {5, 0, 0, 0, 0};
    cra_test_allocator kit;
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;
    cra_events *events = NULL;
    cra_error err = {0};
    spy s = {0};
    cra_event event = {.struct_size = sizeof event, .type = "t", .key = "k", .data = {document, sizeof document}};

    (void)state;
    cra_test_allocator_init(&kit);
    options.allocator = &kit.allocator;
    assert_int_equal(cra_context_new_bare(&options, &context, NULL), CRA_OK);
    assert_int_equal(cra_events_wrap(context, &full, &s, &events, NULL), CRA_OK);
    assert_int_equal(cra_events_emit(events, &event, &err), CRA_OK);
    event.type = "";
    assert_int_equal(cra_events_emit(events, &event, &err), CRA_INVALID);
    assert_int_equal(cra_events_emit(events, NULL, &err), CRA_INVALID);
    assert_int_equal(s.emitted, 1);
    assert_int_equal(cra_events_flush(events, 77, &err), CRA_TIMEOUT);
    assert_string_equal(err.message, "not yet");
    assert_int_equal(s.timeout_ms, 77);
    cra_events_free(events);
    assert_int_equal(s.closed, 1);
    cra_context_free(context);
    cra_test_allocator_check(&kit);
}

static void refuses_a_vtable_that_is_not_whole(void **state)
{
    cra_context *context = NULL;
    cra_events *events = NULL;
    cra_error err = {0};
    spy s = {0};

    (void)state;
    assert_int_equal(cra_context_new_bare(NULL, &context, NULL), CRA_OK);
    for (int i = 0; i < 4; i++) {
        cra_events_vtable v = full;
        if (i == 0)
            v.close = NULL;
        else if (i == 1)
            v.emit = NULL;
        else if (i == 2)
            v.flush = NULL;
        else
            v.features = 1;
        assert_int_equal(cra_events_wrap(context, &v, &s, &events, &err), CRA_INVALID);
        assert_null(events);
        assert_true(err.message[0] != '\0');
    }
    assert_int_equal(cra_events_wrap(context, NULL, &s, &events, &err), CRA_INVALID);
    assert_int_equal(s.closed, 0);
    cra_context_free(context);
}

static void closes_what_it_cannot_use(void **state)
{
    const cra_backend backend = {.struct_size = sizeof backend,
                                 .abi_version = CRA_ABI_VERSION,
                                 .scheme = "spy",
                                 .description = "for tests",
                                 .open_events = open_spy};
    cra_context *context = NULL;
    cra_events *events = NULL;

    (void)state;
    assert_int_equal(cra_context_new_bare(NULL, &context, NULL), CRA_OK);
    assert_int_equal(cra_backend_register(context, &backend, NULL), CRA_OK);
    const cra_open_args args = {sizeof args, context, "spy:", 0, NULL, 0};
    memset(&opened, 0, sizeof opened);
    opened_vtable = full;
    opened_vtable.emit = NULL;
    assert_int_equal(cra_events_open(&args, &events, NULL), CRA_INVALID);
    assert_null(events);
    assert_int_equal(opened.closed, 1);
    opened_vtable = full;
    assert_int_equal(cra_events_open(&args, &events, NULL), CRA_OK);
    cra_events_free(events);
    assert_int_equal(opened.closed, 2);
    cra_context_free(context);
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;
    cra_events *events = NULL;

    options.allocator = allocator;
    cra_status status = cra_context_new_bare(&options, &context, NULL);
    if (status == CRA_OK)
        status = cra_events_wrap(context, &full, user, &events, NULL);
    cra_events_free(events);
    cra_context_free(context);
    return status;
}

static void survives_lack_of_memory(void **state)
{
    spy s = {0};

    (void)state;
    cra_torture(attempt, &s, CRA_OK, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_events_on),
        cmocka_unit_test(refuses_a_vtable_that_is_not_whole),
        cmocka_unit_test(closes_what_it_cannot_use),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("events_port", tests, NULL, NULL);
}
