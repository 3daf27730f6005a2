/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/throttle.h"

static void a_rate_of_nothing_is_no_limit(void **state)
{
    cra_rate rate;

    (void)state;
    cra_rate_init(&rate, 0, 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(cra_rate_take(&rate, 1000000, 0), 0);
    cra_rate_init(&rate, -5, 0);
    assert_int_equal(cra_rate_take(&rate, 1000000, 0), 0);
}

static void a_rate_holds_over_time(void **state)
{
    cra_rate rate;
    int64_t now = 12345;
    int64_t sent = 0;

    (void)state;
    cra_rate_init(&rate, 1000, now);
    const int64_t begin = now;
    for (int i = 0; i < 500; i++) {
        now += cra_rate_take(&rate, 70, now);
        sent += 70;
        now += 3; /* the batch itself */
    }
    /* 35,000 records at 1,000 a second. */
    assert_in_range(now - begin, 34900, 35100);
    assert_int_equal(sent, 35000);
}

static void a_rate_saves_at_most_a_second(void **state)
{
    cra_rate rate;

    (void)state;
    cra_rate_init(&rate, 100, 0);
    assert_int_equal(cra_rate_take(&rate, 1, 0), 10);
    /* After an hour of silence a second's worth is there, not more. */
    assert_int_equal(cra_rate_take(&rate, 100, 3600 * 1000), 0);
    assert_int_equal(cra_rate_take(&rate, 100, 3600 * 1000), 1000);
}

static void a_rate_ignores_a_clock_that_steps_back(void **state)
{
    cra_rate rate;

    (void)state;
    cra_rate_init(&rate, 100, 1000);
    assert_int_equal(cra_rate_take(&rate, 10, 1000), 100);
    assert_int_equal(cra_rate_take(&rate, 10, 500), 200);
    assert_int_equal(cra_rate_take(&rate, 0, 500), 0);
    cra_rate_init(&rate, INT64_MAX, 0);
    assert_int_equal(cra_rate_take(&rate, INT64_MAX, INT64_MAX), 0);
}

static const cra_batch_options defaults = {
    .initial = 100, .min = 10, .max = 1000, .max_lag_ms = 5000, .latency_ms = 200};

static cra_batch_sample fine(void)
{
    const cra_batch_sample sample = {.latency_ms = 20, .lag_ms = 0};

    return sample;
}

static void grows_while_all_is_well(void **state)
{
    cra_batch_control control;
    const cra_batch_sample sample = fine();

    (void)state;
    cra_batch_control_init(&control, &defaults);
    assert_int_equal(cra_batch_size(&control), 100);
    assert_int_equal(cra_batch_learn(&control, &sample), 0);
    assert_int_equal(cra_batch_size(&control), 200);
    for (int i = 0; i < 20; i++)
        assert_int_equal(cra_batch_learn(&control, &sample), 0);
    assert_int_equal(cra_batch_size(&control), 1000);
}

static void a_failed_concern_halves_and_waits(void **state)
{
    cra_batch_control control;
    cra_batch_sample sample = fine();

    (void)state;
    cra_batch_control_init(&control, &defaults);
    sample.concern_failed = true;
    int64_t last = 0;
    for (int64_t expected = 50; expected >= 10; expected /= 2) {
        const int64_t wait = cra_batch_learn(&control, &sample);
        assert_true(wait > last);
        last = wait;
        assert_int_equal(cra_batch_size(&control), expected);
    }
    for (int i = 0; i < 20; i++)
        last = cra_batch_learn(&control, &sample);
    assert_int_equal(cra_batch_size(&control), 10); /* never below the least */
    assert_int_equal(last, 5000);
    sample = fine();
    assert_int_equal(cra_batch_learn(&control, &sample), 0);
    sample.store_busy = true;
    assert_int_equal(cra_batch_learn(&control, &sample), 100); /* a good batch forgets the pause */
}

static void lag_pauses_without_halving(void **state)
{
    cra_batch_control control;
    cra_batch_sample sample = fine();

    (void)state;
    cra_batch_control_init(&control, &defaults);
    sample.lag_ms = 5000;
    assert_int_equal(cra_batch_learn(&control, &sample), 0); /* at the limit is not over it */
    sample.lag_ms = 20000;
    assert_int_equal(cra_batch_learn(&control, &sample), 100);
    assert_int_equal(cra_batch_size(&control), 200);
    assert_int_equal(cra_batch_lag(&control, 20000), 200);
    assert_int_equal(cra_batch_lag(&control, 6000), 400);
    assert_int_equal(cra_batch_lag(&control, 100), 0);
    assert_int_equal(cra_batch_lag(&control, 20000), 100);
    /* A lag that cannot be told, or that nobody looks at, never pauses. */
    assert_int_equal(cra_batch_lag(&control, -1), 0);
    cra_batch_options unlimited = defaults;
    unlimited.max_lag_ms = 0;
    cra_batch_control_init(&control, &unlimited);
    assert_int_equal(cra_batch_learn(&control, &sample), 0);
}

static void slow_batches_halve(void **state)
{
    cra_batch_control control;
    cra_batch_sample sample = fine();

    (void)state;
    cra_batch_control_init(&control, &defaults);
    for (int i = 0; i < 30; i++)
        (void)cra_batch_learn(&control, &sample);
    assert_int_equal(cra_batch_size(&control), 1000);
    /* One in twenty is within the p95; the second is not. */
    sample.latency_ms = 500;
    (void)cra_batch_learn(&control, &sample);
    assert_int_equal(cra_batch_size(&control), 1000);
    (void)cra_batch_learn(&control, &sample);
    assert_int_equal(cra_batch_size(&control), 500);
    sample.latency_ms = 20;
    (void)cra_batch_learn(&control, &sample);
    assert_int_equal(cra_batch_size(&control), 600);
}

static void options_are_made_sound(void **state)
{
    cra_batch_control control;
    const cra_batch_options odd = {.initial = 0, .min = -5, .max = -7};
    const cra_batch_sample sample = fine();

    (void)state;
    cra_batch_control_init(&control, &odd);
    assert_int_equal(cra_batch_size(&control), 1);
    (void)cra_batch_learn(&control, &sample);
    assert_int_equal(cra_batch_size(&control), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_of_nothing_is_no_limit), cmocka_unit_test(a_rate_holds_over_time),
        cmocka_unit_test(a_rate_saves_at_most_a_second), cmocka_unit_test(a_rate_ignores_a_clock_that_steps_back),
        cmocka_unit_test(grows_while_all_is_well),       cmocka_unit_test(a_failed_concern_halves_and_waits),
        cmocka_unit_test(lag_pauses_without_halving),    cmocka_unit_test(slow_batches_halve),
        cmocka_unit_test(options_are_made_sound),
    };

    return cmocka_run_group_tests_name("throttle", tests, NULL, NULL);
}
