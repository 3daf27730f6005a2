/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

#include "exec/heartbeat.h"
#include "kit/test_allocator.h"
#include "os/clock.h"

typedef struct heart {
    atomic_llong now; /* the lent clock */
    atomic_int beats;
    int fail_at; /* number of the beat that fails; 0: none */
} heart;

static int64_t lent_ms(void *user)
{
    return atomic_load(&((heart *)user)->now);
}

static cra_status beat(void *user, cra_error *err)
{
    heart *h = user;
    const int number = atomic_fetch_add(&h->beats, 1) + 1;

    if (number == h->fail_at)
        return cra_error_set(err, CRA_LOCKED, "test", "beat %d lost the lease", number);
    return CRA_OK;
}

static cra_heartbeat *start(heart *h, int64_t interval_ms, bool lent)
{
    const cra_heartbeat_options options = {interval_ms, beat, h, lent ? lent_ms : NULL, lent ? h : NULL};
    cra_heartbeat *heartbeat = NULL;

    assert_int_equal(cra_heartbeat_start(&options, NULL, &heartbeat, NULL), CRA_OK);
    return heartbeat;
}

/* Real time passes until `count` beats have ended; fails the test after ten seconds. */
static void await(cra_heartbeat *heartbeat, int64_t count)
{
    for (int i = 0; i < 10000 && cra_heartbeat_count(heartbeat) < count; i++)
        cra_os_sleep_ms(1);
    assert_true(cra_heartbeat_count(heartbeat) >= count);
}

static void beats_by_the_lent_clock(void **state)
{
    heart h = {0};
    cra_heartbeat *heartbeat = start(&h, 1000, true);

    (void)state;
    for (int i = 1; i <= 5; i++) {
        atomic_fetch_add(&h.now, 999);
        cra_os_sleep_ms(20);
        assert_int_equal(cra_heartbeat_count(heartbeat), i - 1); /* not yet */
        atomic_fetch_add(&h.now, 1);
        await(heartbeat, i);
    }
    assert_int_equal(cra_heartbeat_status(heartbeat, NULL), CRA_OK);
    assert_int_equal(cra_heartbeat_stop(heartbeat, NULL), CRA_OK);
    assert_int_equal(atomic_load(&h.beats), 5);
}

static void late_beats_are_not_made_up_for(void **state)
{
    heart h = {0};
    cra_heartbeat *heartbeat = start(&h, 1000, true);

    (void)state;
    atomic_fetch_add(&h.now, 100000);
    await(heartbeat, 1);
    cra_os_sleep_ms(30);
    assert_int_equal(cra_heartbeat_count(heartbeat), 1);
    assert_int_equal(cra_heartbeat_stop(heartbeat, NULL), CRA_OK);
}

static void beats_by_the_machine_clock(void **state)
{
    heart h = {0};
    cra_heartbeat *heartbeat = start(&h, 2, false);

    (void)state;
    await(heartbeat, 5);
    assert_int_equal(cra_heartbeat_stop(heartbeat, NULL), CRA_OK);
}

static void stops_promptly(void **state)
{
    heart h = {0};
    const int64_t before = cra_os_monotonic_ms();
    cra_heartbeat *heartbeat = start(&h, 3600 * 1000, false);

    (void)state;
    assert_int_equal(cra_heartbeat_stop(heartbeat, NULL), CRA_OK);
    assert_true(cra_os_monotonic_ms() - before < 60 * 1000);
    assert_int_equal(atomic_load(&h.beats), 0);
    assert_int_equal(cra_heartbeat_stop(NULL, NULL), CRA_OK);
}

static void remembers_the_beat_that_failed(void **state)
{
    heart h = {.fail_at = 2};
    cra_heartbeat *heartbeat = start(&h, 1, false);
    cra_error err = {0};

    (void)state;
    await(heartbeat, 2);
    assert_int_equal(cra_heartbeat_status(heartbeat, &err), CRA_LOCKED);
    assert_string_equal(err.message, "beat 2 lost the lease");
    cra_os_sleep_ms(20);
    assert_int_equal(atomic_load(&h.beats), 2); /* and no more */
    cra_error_clear(&err);
    assert_int_equal(cra_heartbeat_stop(heartbeat, &err), CRA_LOCKED);
    assert_string_equal(err.message, "beat 2 lost the lease");
}

static void refuses_what_makes_no_heartbeat(void **state)
{
    heart h = {0};
    cra_heartbeat_options options = {0, beat, &h, NULL, NULL};
    cra_heartbeat *heartbeat = NULL;

    (void)state;
    assert_int_equal(cra_heartbeat_start(&options, NULL, &heartbeat, NULL), CRA_INVALID);
    options.interval_ms = 1;
    options.beat = NULL;
    assert_int_equal(cra_heartbeat_start(&options, NULL, &heartbeat, NULL), CRA_INVALID);
    assert_null(heartbeat);
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    const cra_heartbeat_options options = {1000, beat, user, NULL, NULL};
    cra_heartbeat *heartbeat = NULL;
    const cra_status status = cra_heartbeat_start(&options, allocator, &heartbeat, NULL);

    if (status == CRA_OK)
        assert_int_equal(cra_heartbeat_stop(heartbeat, NULL), CRA_OK);
    return status;
}

static void survives_lack_of_memory(void **state)
{
    heart h = {0};

    (void)state;
    cra_torture(attempt, &h, CRA_OK, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beats_by_the_lent_clock),        cmocka_unit_test(late_beats_are_not_made_up_for),
        cmocka_unit_test(beats_by_the_machine_clock),     cmocka_unit_test(stops_promptly),
        cmocka_unit_test(remembers_the_beat_that_failed), cmocka_unit_test(refuses_what_makes_no_heartbeat),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("heartbeat", tests, NULL, NULL);
}
