/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kit/test_allocator.h"
#include "os/clock.h"
#include "ports/context.h"

/* A clock that moves when somebody sleeps. */
typedef struct lent {
    int64_t now;
    int sleeps;
    cra_context *cancel_at_second; /* asked to stop at the second sleep, where set */
} lent;

static cra_time_ms lent_wall(void *user)
{
    return 1000000 + ((lent *)user)->now;
}

static int64_t lent_monotonic(void *user)
{
    return ((lent *)user)->now;
}

static void lent_sleep(void *user, int64_t duration_ms)
{
    lent *l = user;

    l->now += duration_ms;
    l->sleeps++;
    if (l->cancel_at_second != NULL && l->sleeps == 2)
        cra_cancel_request(l->cancel_at_second);
}

static cra_context *make(const cra_context_options *options)
{
    cra_context *context = NULL;
    cra_error err = {0};

    assert_int_equal(cra_context_new_bare(options, &context, &err), CRA_OK);
    assert_non_null(context);
    return context;
}

static void has_defaults(void **state)
{
    cra_context *context = make(NULL);

    (void)state;
    const cra_allocator *allocator = cra_context_allocator(context);
    void *memory = allocator->malloc_fn(allocator->user, 10);
    assert_non_null(memory);
    memory = allocator->realloc_fn(allocator->user, memory, 20);
    assert_non_null(memory);
    allocator->free_fn(allocator->user, memory);
    assert_true(cra_context_wall_ms(context) > 1700000000000);
    const int64_t before = cra_context_monotonic_ms(context);
    cra_context_sleep_ms(context, 5);
    assert_true(cra_context_monotonic_ms(context) - before >= 4);
    cra_log(context, CRA_LOG_ERROR, "test", "goes nowhere");
    assert_null(cra_backend_at(context, 0));
    cra_context_free(context);
    cra_context_free(NULL);
}

static void takes_the_lent_clock_and_allocator(void **state)
{
    cra_test_allocator kit;
    lent l = {.now = 5};
    const cra_clock clock = {lent_wall, lent_monotonic, lent_sleep, &l};
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;

    (void)state;
    cra_test_allocator_init(&kit);
    options.allocator = &kit.allocator;
    options.clock = &clock;
    cra_context *context = make(&options);
    assert_int_equal(cra_context_wall_ms(context), 1000005);
    assert_int_equal(cra_context_monotonic_ms(context), 5);
    cra_context_sleep_ms(context, 1234);
    assert_int_equal(cra_context_monotonic_ms(context), 1239);
    assert_true(atomic_load(&kit.alive) > 0);
    cra_context_free(context);
    cra_test_allocator_check(&kit);
}

static void a_part_of_a_clock_is_enough(void **state)
{
    lent l = {.now = 7};
    const cra_clock clock = {NULL, lent_monotonic, NULL, &l};
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;

    (void)state;
    options.clock = &clock;
    cra_context *context = make(&options);
    assert_int_equal(cra_context_monotonic_ms(context), 7);
    assert_true(cra_context_wall_ms(context) > 1700000000000);
    cra_context_sleep_ms(context, 1);
    cra_context_free(context);
}

static void a_stop_ends_a_sleep(void **state)
{
    lent l = {0};
    const cra_clock clock = {lent_wall, lent_monotonic, lent_sleep, &l};
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_error err = {0};

    (void)state;
    options.clock = &clock;
    cra_context *context = make(&options);
    l.cancel_at_second = context;
    assert_int_equal(cra_context_check_cancel(context, &err), CRA_OK);
    cra_context_sleep_ms(context, 3600 * 1000);
    assert_int_equal(l.sleeps, 2);
    assert_true(l.now < 1000);
    assert_true(cra_cancel_requested(context));
    assert_int_equal(cra_context_check_cancel(context, &err), CRA_CANCELLED);
    assert_int_equal(err.status, CRA_CANCELLED);
    cra_context_sleep_ms(context, 1000); /* not a moment more */
    assert_int_equal(l.sleeps, 2);
    cra_cancel_reset(context);
    assert_false(cra_cancel_requested(context));
    cra_context_free(context);
}

static cra_context *signalled;

static void on_signal(int number)
{
    (void)number;
    cra_cancel_request(signalled);
}

static void a_signal_handler_may_ask(void **state)
{
    cra_context *context = make(NULL);
    const int64_t before = cra_os_monotonic_ms();

    (void)state;
    signalled = context;
    void (*old)(int) = signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    signal(SIGUSR1, old);
    cra_context_sleep_ms(context, 3600 * 1000);
    assert_true(cra_os_monotonic_ms() - before < 60 * 1000);
    assert_true(cra_cancel_requested(context));
    cra_context_free(context);
}

static void remember_line(void *user, cra_log_level level, const char *origin, const char *message)
{
    char *text = user;

    snprintf(text + strlen(text), 2048 - strlen(text), "%d %s %s|", (int)level, origin, message);
}

static void logs_what_the_level_lets_through(void **state)
{
    char text[2048] = "";
    char long_text[3000];
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;

    (void)state;
    options.log = remember_line;
    options.log_user = text;
    options.log_level = CRA_LOG_INFO;
    cra_context *context = make(&options);
    cra_log(context, CRA_LOG_DEBUG, "a", "too detailed");
    cra_log(context, CRA_LOG_INFO, "b", "run %d", 18);
    cra_log(context, CRA_LOG_ERROR, "c", "two\nlines\x1b[31m");
    cra_log(NULL, CRA_LOG_ERROR, "d", "no context");
    assert_string_equal(text, "2 b run 18|0 c two?lines?[31m|");
    text[0] = '\0';
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    cra_log(context, CRA_LOG_WARN, "e", "%s", long_text);
    assert_in_range(strlen(text), 1000, 1100);
    cra_context_free(context);
}

static int count_reports(void *user, const cra_progress *progress)
{
    int *left = user;

    assert_string_equal(progress->operation, "sweep");
    return --*left == 0;
}

static void progress_may_ask_to_stop(void **state)
{
    int left = 2;
    const cra_progress progress = {.struct_size = sizeof progress, .operation = "sweep"};
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;

    (void)state;
    options.progress = count_reports;
    options.progress_user = &left;
    cra_context *context = make(&options);
    assert_int_equal(cra_context_report(context, &progress), CRA_OK);
    assert_int_equal(cra_context_report(context, &progress), CRA_CANCELLED);
    cra_cancel_request(context);
    assert_int_equal(cra_context_report(context, &progress), CRA_CANCELLED);
    cra_context_free(context);

    context = make(NULL);
    assert_int_equal(cra_context_report(context, &progress), CRA_OK);
    cra_context_free(context);
}

typedef struct newer_options {
    cra_context_options known;
    int unknown;
} newer_options;

static void refuses_options_it_does_not_know(void **state)
{
    newer_options options = {CRA_CONTEXT_OPTIONS_INIT, 0};
    cra_context *context = NULL;
    cra_allocator half = {NULL, NULL, NULL, NULL};
    cra_error err = {0};

    (void)state;
    options.known.struct_size = sizeof options;
    context = make(&options.known);
    cra_context_free(context);
    options.unknown = 1;
    assert_int_equal(cra_context_new_bare(&options.known, &context, &err), CRA_INVALID);
    assert_null(context);
    options.unknown = 0;
    options.known.allocator = &half;
    assert_int_equal(cra_context_new_bare(&options.known, &context, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "allocator"));
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;

    (void)user;
    options.allocator = allocator;
    const cra_status status = cra_context_new_bare(&options, &context, NULL);
    cra_context_free(context);
    return status;
}

static void survives_lack_of_memory(void **state)
{
    (void)state;
    cra_torture(attempt, NULL, CRA_OK, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_defaults),
        cmocka_unit_test(takes_the_lent_clock_and_allocator),
        cmocka_unit_test(a_part_of_a_clock_is_enough),
        cmocka_unit_test(a_stop_ends_a_sleep),
        cmocka_unit_test(a_signal_handler_may_ask),
        cmocka_unit_test(logs_what_the_level_lets_through),
        cmocka_unit_test(progress_may_ask_to_stop),
        cmocka_unit_test(refuses_options_it_does_not_know),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
