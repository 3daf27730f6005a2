/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/backoff.h"
#include "core/plan.h"

#define NOW INT64_C(1000000)

static void runs_are_counted_and_kept_with_a_reason(void **state)
{
    static const struct {
        cra_run_state state;
        cra_reason reason;
        const char *owner;
        int64_t expires_at;
        cra_reason expected;
    } cases[] = {{CRA_RUN_HOT, CRA_REASON_NONE, "", 0, CRA_REASON_NONE},
                 {CRA_RUN_RESTORED, CRA_REASON_NONE, "w", NOW, CRA_REASON_NONE},
                 {CRA_RUN_SWEEPING, CRA_REASON_NONE, "w", NOW + 1, CRA_REASON_LOCKED},
                 {CRA_RUN_HOT, CRA_REASON_NONE, "", NOW + 1, CRA_REASON_NONE},
                 {CRA_RUN_HOT, CRA_REASON_HELD, "w", NOW + 1, CRA_REASON_HELD},
                 {CRA_RUN_RESTORING, CRA_REASON_NOT_DUE, "", 0, CRA_REASON_NOT_DUE},
                 {CRA_RUN_ARCHIVED, CRA_REASON_NOT_DUE, "", 0, CRA_REASON_NOT_DUE}};
    cra_plan_scope scope = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_run_doc run;
        cra_decision decision;
        memset(&run, 0, sizeof run);
        memset(&decision, 0, sizeof decision);
        run.state = cases[i].state;
        snprintf(run.lease_owner, sizeof run.lease_owner, "%s", cases[i].owner);
        run.lease_expires_at = cases[i].expires_at;
        decision.reason = cases[i].reason;
        decision.due = cases[i].reason == CRA_REASON_NONE;
        assert_int_equal(cra_plan_add(&scope, &run, &decision, NOW), cases[i].expected);
    }
    assert_int_equal(scope.hot, 6);
    assert_int_equal(scope.selected, 3);
    assert_int_equal(scope.kept, 4);
    assert_int_equal(cra_plan_limit(&scope, 0), 3);
    assert_int_equal(cra_plan_limit(&scope, 2), 2);
    assert_int_equal(cra_plan_limit(&scope, 9), 3);
}

static void too_large_a_share_is_noticed(void **state)
{
    static const struct {
        int64_t hot;
        int64_t selected;
        double max_share;
        bool exceeds;
    } cases[] = {{20, 20, -1, false}, {21, 10, -1, false}, {21, 11, -1, true},    {22, 11, -1, false},
                 {22, 12, -1, true},  {10, 10, 1, false},  {10, 1, 0, true},      {10, 0, 0, false},
                 {10, 2, 0.2, false}, {10, 3, 0.2, true},  {1000000, 1, 0, true}, {0, 0, -1, false},
                 {10, 1, NAN, true}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const cra_plan_scope scope = {cases[i].hot, cases[i].selected, 0};
        assert_int_equal(cra_plan_exceeds_share(&scope, cases[i].max_share), cases[i].exceeds);
    }
}

static void waits_grow_and_end(void **state)
{
    cra_backoff backoff;
    int64_t delay = -1;

    (void)state;
    cra_backoff_init(&backoff, 100, 1000, -1, INT64_MAX);
    static const int64_t ceilings[] = {100, 200, 400, 800, 1000, 1000};
    for (size_t i = 0; i < sizeof ceilings / sizeof ceilings[0]; i++) {
        cra_backoff once = backoff;
        assert_true(cra_backoff_next(&once, 0, 0, &delay));
        assert_int_equal(delay, 0);
        assert_true(cra_backoff_next(&backoff, 0, (uint64_t)ceilings[i], &delay));
        assert_int_equal(delay, ceilings[i]);
    }
    /* However random the number is, the wait stays below its ceiling. */
    uint64_t seed = 1;
    for (int i = 0; i < 1000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        assert_true(cra_backoff_next(&backoff, i, seed, &delay));
        assert_true(delay >= 0 && delay <= 1000);
    }

    cra_backoff_init(&backoff, 100, 1000, 2, INT64_MAX);
    assert_true(cra_backoff_next(&backoff, 0, 5, &delay));
    assert_true(cra_backoff_next(&backoff, 0, 5, &delay));
    assert_false(cra_backoff_next(&backoff, 0, 5, &delay));

    cra_backoff_init(&backoff, 100, 1000, -1, 5000);
    assert_false(cra_backoff_next(&backoff, 5000, 0, &delay));
    assert_false(cra_backoff_next(&backoff, 4950, 50, &delay));
    assert_true(cra_backoff_next(&backoff, 4950, 49, &delay));
    assert_int_equal(delay, 49);

    cra_backoff_init(&backoff, -5, -7, -1, INT64_MAX);
    assert_true(cra_backoff_next(&backoff, 0, 99, &delay));
    assert_int_equal(delay, 0);
    cra_backoff_init(&backoff, INT64_MAX, INT64_MAX, -1, INT64_MAX);
    assert_true(cra_backoff_next(&backoff, 0, 12345, &delay));
    assert_int_equal(backoff.ceiling_ms, INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_counted_and_kept_with_a_reason),
        cmocka_unit_test(too_large_a_share_is_noticed),
        cmocka_unit_test(waits_grow_and_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
