/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

#include "exec/pool.h"
#include "kit/test_allocator.h"
#include "os/thread.h"

/* Jobs are numbers carried in pointers to elements of `numbers`. */
typedef struct shop {
    atomic_int ran;
    atomic_int discarded;
    atomic_int sum;
    atomic_int per_worker[8];
    atomic_int inside;
    atomic_int inside_peak;
    int fail_on; /* number of the job that fails; -1: none */
    cra_mutex gate;
} shop;

static int numbers[1000];

static cra_status run(void *user, size_t worker, void *job, cra_error *err)
{
    shop *s = user;
    const int number = *(const int *)job;

    const int inside = atomic_fetch_add(&s->inside, 1) + 1;
    int peak = atomic_load(&s->inside_peak);
    while (inside > peak && !atomic_compare_exchange_weak(&s->inside_peak, &peak, inside)) {
    }
    cra_mutex_lock(&s->gate);
    cra_mutex_unlock(&s->gate);
    atomic_fetch_add(&s->per_worker[worker], 1);
    atomic_fetch_add(&s->ran, 1);
    atomic_fetch_add(&s->sum, number);
    atomic_fetch_sub(&s->inside, 1);
    if (number == s->fail_on)
        return cra_error_set(err, CRA_IO, "test", "job %d failed", number);
    return CRA_OK;
}

static void discard(void *user, void *job)
{
    shop *s = user;

    (void)job;
    atomic_fetch_add(&s->discarded, 1);
}

static void open_shop(shop *s)
{
    memset(s, 0, sizeof *s);
    s->fail_on = -1;
    assert_int_equal(cra_mutex_init(&s->gate, NULL), CRA_OK);
    for (int i = 0; i < 1000; i++)
        numbers[i] = i;
}

static cra_pool_options options_of(shop *s, size_t workers, size_t room)
{
    const cra_pool_options options = {workers, room, false, run, discard, s};

    return options;
}

static void runs_every_job_once(void **state)
{
    cra_test_allocator kit;
    cra_pool *pool = NULL;
    shop s;

    (void)state;
    cra_test_allocator_init(&kit);
    open_shop(&s);
    const cra_pool_options options = options_of(&s, 4, 3);
    assert_int_equal(cra_pool_new(&options, &kit.allocator, &pool, NULL), CRA_OK);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 1000; i++)
            assert_int_equal(cra_pool_submit(pool, &numbers[i], NULL), CRA_OK);
        assert_int_equal(cra_pool_wait(pool, NULL), CRA_OK);
        assert_int_equal(atomic_load(&s.ran), 1000 * (round + 1));
    }
    cra_pool_free(pool);
    assert_int_equal(atomic_load(&s.sum), 2 * 499500);
    assert_int_equal(atomic_load(&s.discarded), 0);
    assert_true(atomic_load(&s.inside_peak) <= 4);
    int workers = 0;
    for (int i = 0; i < 8; i++)
        workers += atomic_load(&s.per_worker[i]);
    assert_int_equal(workers, 2000);
    for (int i = 4; i < 8; i++)
        assert_int_equal(atomic_load(&s.per_worker[i]), 0);
    cra_mutex_destroy(&s.gate);
    cra_test_allocator_check(&kit);
}

static void free_runs_what_waits(void **state)
{
    cra_pool *pool = NULL;
    shop s;

    (void)state;
    open_shop(&s);
    const cra_pool_options options = options_of(&s, 2, 100);
    assert_int_equal(cra_pool_new(&options, NULL, &pool, NULL), CRA_OK);
    for (int i = 0; i < 100; i++)
        assert_int_equal(cra_pool_submit(pool, &numbers[i], NULL), CRA_OK);
    cra_pool_free(pool);
    assert_int_equal(atomic_load(&s.ran), 100);
    cra_mutex_destroy(&s.gate);
}

static void the_first_failure_drops_the_rest(void **state)
{
    cra_pool *pool = NULL;
    cra_error err = {0};
    shop s;

    (void)state;
    open_shop(&s);
    s.fail_on = 0;
    const cra_pool_options options = options_of(&s, 1, 10);
    assert_int_equal(cra_pool_new(&options, NULL, &pool, NULL), CRA_OK);
    /* Held at the gate: the queue fills behind the job that is about to fail. */
    cra_mutex_lock(&s.gate);
    for (int i = 0; i < 10; i++)
        assert_int_equal(cra_pool_submit(pool, &numbers[i], NULL), CRA_OK);
    cra_mutex_unlock(&s.gate);
    assert_int_equal(cra_pool_wait(pool, &err), CRA_IO);
    assert_string_equal(err.message, "job 0 failed");
    assert_int_equal(atomic_load(&s.ran), 1);
    assert_int_equal(atomic_load(&s.discarded), 9);
    assert_int_equal(cra_pool_failures(pool), 1);
    /* What is not taken stays the caller's. */
    cra_error_clear(&err);
    assert_int_equal(cra_pool_submit(pool, &numbers[0], &err), CRA_IO);
    assert_string_equal(err.message, "job 0 failed");
    assert_int_equal(atomic_load(&s.discarded), 9);
    cra_pool_free(pool);
    cra_mutex_destroy(&s.gate);
}

static void keeps_going_where_asked(void **state)
{
    cra_pool *pool = NULL;
    cra_error err = {0};
    shop s;

    (void)state;
    open_shop(&s);
    s.fail_on = 3;
    cra_pool_options options = options_of(&s, 3, 2);
    options.keep_going = true;
    assert_int_equal(cra_pool_new(&options, NULL, &pool, NULL), CRA_OK);
    for (int i = 0; i < 100; i++)
        assert_int_equal(cra_pool_submit(pool, &numbers[i], NULL), CRA_OK);
    assert_int_equal(cra_pool_wait(pool, &err), CRA_IO);
    assert_string_equal(err.message, "job 3 failed");
    assert_int_equal(atomic_load(&s.ran), 100);
    assert_int_equal(atomic_load(&s.discarded), 0);
    cra_pool_free(pool);
    cra_mutex_destroy(&s.gate);
}

static void cancel_drops_what_waits(void **state)
{
    cra_pool *pool = NULL;
    cra_error err = {0};
    shop s;

    (void)state;
    open_shop(&s);
    const cra_pool_options options = options_of(&s, 1, 10);
    assert_int_equal(cra_pool_new(&options, NULL, &pool, NULL), CRA_OK);
    cra_mutex_lock(&s.gate);
    for (int i = 0; i < 10; i++)
        assert_int_equal(cra_pool_submit(pool, &numbers[i], NULL), CRA_OK);
    cra_pool_cancel(pool);
    cra_mutex_unlock(&s.gate);
    assert_int_equal(cra_pool_wait(pool, &err), CRA_CANCELLED);
    assert_int_equal(cra_pool_submit(pool, &numbers[0], &err), CRA_CANCELLED);
    assert_int_equal(atomic_load(&s.ran) + atomic_load(&s.discarded), 10);
    assert_true(atomic_load(&s.ran) <= 1);
    cra_pool_free(pool);
    cra_mutex_destroy(&s.gate);
}

static void cancel_after_the_end_is_no_failure(void **state)
{
    cra_pool *pool = NULL;
    shop s;

    (void)state;
    open_shop(&s);
    const cra_pool_options options = options_of(&s, 2, 2);
    assert_int_equal(cra_pool_new(&options, NULL, &pool, NULL), CRA_OK);
    assert_int_equal(cra_pool_submit(pool, &numbers[1], NULL), CRA_OK);
    assert_int_equal(cra_pool_wait(pool, NULL), CRA_OK);
    cra_pool_cancel(pool);
    assert_int_equal(cra_pool_wait(pool, NULL), CRA_OK);
    cra_pool_free(pool);
    cra_pool_free(NULL);
    cra_mutex_destroy(&s.gate);
}

static void refuses_what_makes_no_pool(void **state)
{
    cra_pool *pool = NULL;
    shop s;

    (void)state;
    open_shop(&s);
    cra_pool_options options = options_of(&s, 0, 1);
    assert_int_equal(cra_pool_new(&options, NULL, &pool, NULL), CRA_INVALID);
    options = options_of(&s, 1, 0);
    assert_int_equal(cra_pool_new(&options, NULL, &pool, NULL), CRA_INVALID);
    options = options_of(&s, 1, 1);
    options.run = NULL;
    assert_int_equal(cra_pool_new(&options, NULL, &pool, NULL), CRA_INVALID);
    assert_null(pool);
    cra_mutex_destroy(&s.gate);
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    const cra_pool_options options = options_of(user, 3, 4);
    cra_pool *pool = NULL;
    cra_status status = cra_pool_new(&options, allocator, &pool, NULL);

    if (status == CRA_OK)
        status = cra_pool_submit(pool, &numbers[0], NULL);
    cra_pool_free(pool);
    return status;
}

static void survives_lack_of_memory(void **state)
{
    shop s;

    (void)state;
    open_shop(&s);
    cra_torture(attempt, &s, CRA_OK, 100);
    assert_true(atomic_load(&s.ran) >= 1);
    cra_mutex_destroy(&s.gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_every_job_once),
        cmocka_unit_test(free_runs_what_waits),
        cmocka_unit_test(the_first_failure_drops_the_rest),
        cmocka_unit_test(keeps_going_where_asked),
        cmocka_unit_test(cancel_drops_what_waits),
        cmocka_unit_test(cancel_after_the_end_is_no_failure),
        cmocka_unit_test(refuses_what_makes_no_pool),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
