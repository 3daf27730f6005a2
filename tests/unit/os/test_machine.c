/* SPDX-License-Identifier: Apache-2.0 */

/* Clocks, threads, random names. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit/test_allocator.h"
#include "os/clock.h"
#include "os/entropy.h"
#include "os/thread.h"

static void clocks_move_forward(void **state)
{
    const int64_t before = cra_os_monotonic_ms();

    (void)state;
    cra_os_sleep_ms(15);
    const int64_t after = cra_os_monotonic_ms();
    assert_true(after - before >= 14);
    cra_os_sleep_ms(0);
    cra_os_sleep_ms(-1000000);
    assert_true(cra_os_monotonic_ms() - after < 60 * 1000);
    /* Between this library's first year and the end of 32-bit time, and in milliseconds. */
    assert_true(cra_os_wall_ms() > 1700000000000);
}

static void uuids_have_their_form(void **state)
{
    char a[CRA_UUID_TEXT_SIZE];
    char b[CRA_UUID_TEXT_SIZE];

    (void)state;
    assert_int_equal(cra_os_uuid(a, NULL), CRA_OK);
    assert_int_equal(cra_os_uuid(b, NULL), CRA_OK);
    assert_int_equal(strlen(a), 36);
    assert_string_not_equal(a, b);
    assert_int_equal(a[14], '4');
    assert_non_null(strchr("89ab", a[19]));
    for (size_t i = 0; i < 36; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23)
            assert_int_equal(a[i], '-');
        else
            assert_non_null(strchr("0123456789abcdef", a[i]));
    }
}

static void random_text_fills_its_length(void **state)
{
    char text[301];
    char none[1];

    (void)state;
    memset(text, 'x', sizeof text);
    assert_int_equal(cra_os_random_hex(text, 150, NULL), CRA_OK);
    assert_int_equal(strlen(text), 300);
    assert_int_equal(strspn(text, "0123456789abcdef"), 300);
    assert_int_equal(cra_os_random_hex(none, 0, NULL), CRA_OK);
    assert_string_equal(none, "");
}

static void tells_the_process(void **state)
{
    char text[300];
    char pid[32];
    char small[4];

    (void)state;
    cra_os_process_text(text, sizeof text);
    snprintf(pid, sizeof pid, "-%ld", (long)getpid());
    assert_true(strlen(text) > strlen(pid));
    assert_string_equal(text + strlen(text) - strlen(pid), pid);
    cra_os_process_text(small, sizeof small);
    assert_true(strlen(small) <= 3);
}

typedef struct shared {
    cra_mutex lock;
    cra_cond changed;
    int count;
    bool blocks_signals;
} shared;

static void count_up(void *user)
{
    shared *s = user;
    sigset_t mask;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int i = 0; i < 10000; i++) {
        cra_mutex_lock(&s->lock);
        s->count++;
        s->blocks_signals = sigismember(&mask, SIGINT) == 1;
        if (i == 9999)
            cra_cond_signal(&s->changed);
        cra_mutex_unlock(&s->lock);
    }
}

static void threads_exclude_and_wake_each_other(void **state)
{
    cra_test_allocator kit;
    cra_thread threads[3];
    shared s = {.count = 0};

    (void)state;
    cra_test_allocator_init(&kit);
    assert_int_equal(cra_mutex_init(&s.lock, NULL), CRA_OK);
    assert_int_equal(cra_cond_init(&s.changed, NULL), CRA_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cra_thread_start(&threads[i], count_up, &s, &kit.allocator, NULL), CRA_OK);
    cra_mutex_lock(&s.lock);
    while (s.count < 30000)
        cra_cond_wait(&s.changed, &s.lock);
    assert_true(s.blocks_signals);
    assert_false(cra_cond_wait_ms(&s.changed, &s.lock, 1));
    assert_false(cra_cond_wait_ms(&s.changed, &s.lock, -5));
    cra_mutex_unlock(&s.lock);
    for (int i = 0; i < 3; i++)
        cra_thread_join(&threads[i]);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_int_equal(sigismember(&mask, SIGINT), 0); /* ours are as they were */
    cra_cond_destroy(&s.changed);
    cra_mutex_destroy(&s.lock);
    cra_test_allocator_check(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_move_forward),
        cmocka_unit_test(uuids_have_their_form),
        cmocka_unit_test(random_text_fills_its_length),
        cmocka_unit_test(tells_the_process),
        cmocka_unit_test(threads_exclude_and_wake_each_other),
    };

    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
