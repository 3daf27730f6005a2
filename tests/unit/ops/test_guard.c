/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "kit/life.h"
#include "ops/run_guard.h"
#include "os/clock.h"

static const char *const short_lease[] = {"lease.ttl", "300ms", NULL};

static int open_life(void **state, cra_life_kind kind)
{
    cra_life *life = test_calloc(1, sizeof(*life));
    cra_error error = {0};

    cra_life_open(life, kind, short_lease);
    cra_life_expect(cra_run_add(life->engine, "prices", "1", NULL, NULL, &error), CRA_OK, &error);
    *state = life;
    return 0;
}

static int set_up_memory(void **state)
{
    return open_life(state, CRA_LIFE_MEMORY);
}

static int set_up_sqlite(void **state)
{
    return open_life(state, CRA_LIFE_SQLITE);
}

static int tear_down(void **state)
{
    cra_life_close(*state);
    test_free(*state);
    return 0;
}

static cra_run_guard *acquire(cra_life *life)
{
    cra_error error = {0};
    cra_run_guard *guard = NULL;

    cra_life_expect(cra_run_guard_acquire(life->engine, "prices", "1", "restore", 50, &guard, &error), CRA_OK, &error);
    return guard;
}

/* Wait for something that other threads bring about. */
#define EVENTUALLY(condition)                                                                                          \
    do {                                                                                                               \
        for (int tries = 0; !(condition) && tries < 500; tries++)                                                      \
            cra_os_sleep_ms(10);                                                                                       \
        assert_true(condition);                                                                                        \
    } while (0)

static void one_holds_a_run(void **state)
{
    cra_life *life = *state;
    cra_run_guard *first = acquire(life), *second = NULL;
    cra_error error = {0};

    assert_int_equal(cra_run_guard_acquire(life->engine, "prices", "1", "sweep", 0, &second, &error), CRA_LOCKED);
    assert_null(second);
    assert_int_equal(cra_run_guard_acquire(life->engine, "prices", "2", "sweep", 0, &second, &error), CRA_NOT_FOUND);
    cra_run_guard_release(first);
    second = acquire(life);
    assert_int_equal(cra_run_guard_fence(second), 2);
    cra_run_guard_release(second);
}

static void a_lease_lives_longer_than_its_ttl(void **state)
{
    cra_life *life = *state;
    cra_run_guard *guard = acquire(life);
    cra_error error = {0};

    for (int i = 0; i < 9; i++) {
        cra_os_sleep_ms(100);
        cra_life_expect(cra_run_guard_check(guard, &error), CRA_OK, &error);
        assert_true(cra_run_guard_deadline(guard) > cra_context_monotonic_ms(life->context));
    }
    cra_run_guard_release(guard);
}

static cra_status set_records(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    (void)now;
    (void)err;
    run->records = *(int64_t *)user;
    return CRA_OK;
}

/* The store's clock jumps: the lease is over there, and another takes it before it is renewed. */
static void a_stalled_holder_writes_nothing(void **state)
{
    cra_life *life = *state;
    cra_run_guard *stalled = acquire(life);
    cra_lease lease = {.fence = 0};
    int64_t records = 7;
    cra_error error = {0};
    cra_status status;

    cra_life_advance(life, 60000);
    status = cra_catalog_lease_acquire(cra_engine_catalog(life->engine), "prices", "1", "another", 60000, 150, &lease,
                                       &error);
    if (status == CRA_LOCKED) { /* the beat was faster, or the store has a clock of its own */
        cra_run_guard_release(stalled);
        return;
    }
    cra_life_expect(status, CRA_OK, &error);
    assert_int_equal(cra_run_guard_update(stalled, set_records, &records, &error), CRA_LOCKED);
    assert_int_equal(cra_run_guard_check(stalled, &error), CRA_LOCKED);
    assert_int_equal(cra_run_guard_checkpoint_put(stalled, "c", cra_bytes_of_str("x"), &error), CRA_LOCKED);
    cra_run_guard_release(stalled);
    cra_life_expect(cra_catalog_lease_renew(cra_engine_catalog(life->engine), "prices", "1", &lease, 60000, &error),
                    CRA_OK, &error);
}

/* A hold that arrives between reading and writing is not lost. */
struct interloper {
    cra_life *life;
    int rounds;
};

static cra_status change_with_interloper(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    struct interloper *interloper = user;

    (void)now;
    if (interloper->rounds++ == 0) {
        cra_run *snapshot = cra_life_run(interloper->life, "prices", "1");
        cra_life_expect(cra_run_hold(interloper->life->engine, snapshot, "audit", NULL, err), CRA_OK, err);
        cra_run_free(snapshot);
    }
    run->records = 5;
    return CRA_OK;
}

static void an_update_begins_again_after_another_writer(void **state)
{
    cra_life *life = *state;
    cra_run_guard *guard = acquire(life);
    struct interloper interloper = {life, 0};
    cra_error error = {0};
    cra_run *run;

    cra_life_expect(cra_run_guard_update(guard, change_with_interloper, &interloper, &error), CRA_OK, &error);
    assert_int_equal(interloper.rounds, 2);
    assert_true(cra_run_guard_doc(guard)->held);
    assert_int_equal(cra_run_guard_doc(guard)->records, 5);
    run = cra_life_run(life, "prices", "1");
    assert_true(cra_run_doc_of(run)->held);
    assert_int_equal(cra_run_doc_of(run)->records, 5);
    assert_true(cra_run_doc_of(run)->version == cra_run_guard_doc(guard)->version);
    cra_run_free(run);
    cra_run_guard_release(guard);
}

static cra_status nothing_to_do(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    (void)user;
    (void)now;
    (void)err;
    run->records = 99;
    return CRA_DONE;
}

static void nothing_to_do_writes_nothing(void **state)
{
    cra_life *life = *state;
    cra_run_guard *guard = acquire(life);
    const int64_t version = cra_run_guard_doc(guard)->version;
    cra_error error = {0};
    cra_run *run;

    cra_life_expect(cra_run_guard_update(guard, nothing_to_do, NULL, &error), CRA_OK, &error);
    run = cra_life_run(life, "prices", "1");
    assert_int_equal(cra_run_doc_of(run)->version, version);
    assert_int_equal(cra_run_doc_of(run)->records, -1);
    cra_run_free(run);
    cra_run_guard_release(guard);
}

static void checkpoints_are_kept_under_the_lease(void **state)
{
    cra_life *life = *state;
    cra_run_guard *guard = acquire(life);
    cra_error error = {0};
    cra_buf content;

    cra_buf_init(&content, NULL);
    assert_int_equal(cra_run_guard_checkpoint_get(guard, "c", &content, &error), CRA_NOT_FOUND);
    cra_life_expect(cra_run_guard_checkpoint_put(guard, "c", cra_bytes_of_str("one"), &error), CRA_OK, &error);
    cra_life_expect(cra_run_guard_checkpoint_put(guard, "c", cra_bytes_of_str("two"), &error), CRA_OK, &error);
    cra_run_guard_release(guard);
    guard = acquire(life);
    cra_life_expect(cra_run_guard_checkpoint_put(guard, "c", cra_bytes_of_str("three"), &error), CRA_OK, &error);
    cra_life_expect(cra_run_guard_checkpoint_get(guard, "c", &content, &error), CRA_OK, &error);
    assert_string_equal(cra_buf_cstr(&content), "three");
    cra_life_expect(cra_run_guard_checkpoint_remove(guard, "c", &error), CRA_OK, &error);
    assert_int_equal(cra_run_guard_checkpoint_get(guard, "c", &content, &error), CRA_NOT_FOUND);
    cra_life_expect(cra_run_guard_checkpoint_put(guard, "c", cra_bytes_of_str("four"), &error), CRA_OK, &error);
    cra_run_guard_release(guard);
    cra_buf_cleanup(&content);
}

struct watcher {
    atomic_int heartbeats, moved, still, stop;
};

static int watch(void *user, const cra_progress *progress)
{
    struct watcher *watcher = user;

    assert_string_equal(progress->operation, "restore");
    assert_string_equal(progress->run, "1");
    if (progress->heartbeat) {
        atomic_fetch_add(&watcher->heartbeats, 1);
        atomic_fetch_add(progress->moved ? &watcher->moved : &watcher->still, 1);
    }
    return atomic_load(&watcher->stop);
}

static void the_heartbeat_tells_whether_anything_moved(void **state)
{
    cra_life *life = *state;
    struct watcher watcher = {0};
    cra_run_guard *guard;

    life->on_progress = watch;
    life->progress_user = &watcher;
    guard = acquire(life);
    cra_run_guard_progress(guard, "insert", 10, 100, 1000, "part 1");
    EVENTUALLY(atomic_load(&watcher.moved) >= 1);
    EVENTUALLY(atomic_load(&watcher.still) >= 2);
    cra_run_guard_release(guard);
    const int after = atomic_load(&watcher.heartbeats);
    cra_os_sleep_ms(150);
    assert_int_equal(atomic_load(&watcher.heartbeats), after);
    life->on_progress = NULL;
}

static void the_callback_may_stop_the_operation(void **state)
{
    cra_life *life = *state;
    struct watcher watcher = {0};
    cra_error error = {0};
    cra_run_guard *guard;

    life->on_progress = watch;
    life->progress_user = &watcher;
    guard = acquire(life);
    cra_life_expect(cra_run_guard_check(guard, &error), CRA_OK, &error);
    atomic_store(&watcher.stop, 1);
    EVENTUALLY(cra_run_guard_check(guard, &error) == CRA_CANCELLED);
    atomic_store(&watcher.stop, 0);
    cra_os_sleep_ms(120);
    assert_int_equal(cra_run_guard_check(guard, &error), CRA_CANCELLED); /* it is remembered */
    cra_run_guard_release(guard);
    life->on_progress = NULL;
}

static void a_request_stops_the_operation(void **state)
{
    cra_life *life = *state;
    cra_run_guard *guard = acquire(life);
    cra_error error = {0};

    cra_cancel_request(life->context);
    assert_int_equal(cra_run_guard_check(guard, &error), CRA_CANCELLED);
    cra_cancel_reset(life->context);
    cra_run_guard_release(guard);
}

int main(void)
{
#define BOTH(name)                                                                                                     \
    cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down),                                                   \
        cmocka_unit_test_setup_teardown(name, set_up_sqlite, tear_down)
    const struct CMUnitTest tests[] = {
        BOTH(one_holds_a_run),
        BOTH(a_lease_lives_longer_than_its_ttl),
        BOTH(a_stalled_holder_writes_nothing),
        BOTH(an_update_begins_again_after_another_writer),
        BOTH(nothing_to_do_writes_nothing),
        BOTH(checkpoints_are_kept_under_the_lease),
        BOTH(the_heartbeat_tells_whether_anything_moved),
        BOTH(the_callback_may_stop_the_operation),
        BOTH(a_request_stops_the_operation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
