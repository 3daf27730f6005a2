/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <crawlarchive/config.h>
#include <crawlarchive/retention.h>

#include "kit/test_allocator.h"

#define MINUTE INT64_C(60000)
#define HOUR INT64_C(3600000)
#define DAY INT64_C(86400000)
#define NOW INT64_C(1796101402000) /* 2026-12-01T05:03:22Z */

static char report_name[] = "prices";
static char run_name[] = "184000";

static cra_run_doc new_run(void)
{
    cra_run_doc run;

    memset(&run, 0, sizeof run);
    run.report = report_name;
    run.run = run_name;
    run.records = run.generation = -1;
    run.created_at = run.delivered_at = run.ended_at = run.restored_at = CRA_TIME_NONE;
    run.archive_at = run.explicit_at = run.archived_at = run.closed_at = CRA_TIME_NONE;
    run.state_since = run.last_reason_at = CRA_TIME_NONE;
    return run;
}

/* Texts of a run document are not const; a test's are never changed. */
static char *text(const char *literal)
{
    return (char *)(uintptr_t)literal;
}

static cra_policy *new_policy(void)
{
    cra_policy *policy = NULL;

    assert_int_equal(cra_policy_new(NULL, &policy, NULL), CRA_OK);
    return policy;
}

static cra_decision decide(const cra_policy *policy, const cra_run_doc *run, cra_time_ms now, bool recompute)
{
    cra_decision decision;

    assert_int_equal(cra_policy_decide(policy, run, now, recompute, &decision), CRA_OK);
    assert_int_equal(decision.struct_size, sizeof decision);
    assert_true(decision.steps_count > 0 && decision.steps_count <= CRA_DECISION_STEPS_MAX);
    assert_int_equal(decision.due, decision.reason == CRA_REASON_NONE);
    return decision;
}

static bool has_step(const cra_decision *decision, const char *part)
{
    for (size_t i = 0; i < decision->steps_count; i++) {
        if (strstr(decision->steps[i], part) != NULL)
            return true;
    }
    return false;
}

static void defaults_are_those_of_the_manual(void **state)
{
    static const struct {
        const char *outcome;
        int64_t window_ms;
        const char *field;
    } cases[] = {
        {"success", 3 * DAY, "delivered_at"}, {"failed", 7 * DAY, "ended_at"}, {"empty", 30 * MINUTE, "ended_at"}};
    cra_policy *policy = new_policy();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_run_doc run = new_run();
        run.outcome = text(cases[i].outcome);
        run.delivered_at = NOW - 100 * DAY;
        run.ended_at = NOW - 100 * DAY;
        const cra_time_ms due_at = NOW - 100 * DAY + cases[i].window_ms;
        cra_decision d = decide(policy, &run, due_at - 1, false);
        assert_int_equal(d.archive_at, due_at);
        assert_false(d.due);
        assert_int_equal(d.reason, CRA_REASON_NOT_DUE);
        d = decide(policy, &run, due_at, false);
        assert_true(d.due);
        assert_string_equal(d.rule, cases[i].outcome);
        assert_string_equal(d.anchor_field, cases[i].field);
        assert_int_equal(d.window_ms, cases[i].window_ms);
        assert_int_equal(d.anchor, NOW - 100 * DAY);
        assert_int_equal(d.stored_at, CRA_TIME_NONE);
    }
    cra_policy_free(policy);
}

static void a_restore_starts_its_own_window(void **state)
{
    cra_policy *policy = new_policy();
    cra_run_doc run = new_run();

    (void)state;
    run.outcome = text("success");
    run.delivered_at = NOW - 400 * DAY;
    run.restored_at = NOW - HOUR;
    run.state = CRA_RUN_RESTORED;
    cra_decision d = decide(policy, &run, NOW, false);
    assert_false(d.due);
    assert_int_equal(d.archive_at, NOW - HOUR + 3 * DAY);
    assert_string_equal(d.rule, "restored");
    assert_string_equal(d.anchor_field, "restored_at");
    assert_true(decide(policy, &run, NOW + 3 * DAY, false).due);

    /* A restore in progress is like any other run once its date has passed. */
    run.state = CRA_RUN_RESTORING;
    run.archive_at = NOW - HOUR + 3 * DAY;
    assert_false(decide(policy, &run, NOW, false).due);
    assert_true(decide(policy, &run, NOW + 3 * DAY, false).due);
    run.restored_at = CRA_TIME_NONE;
    assert_int_equal(decide(policy, &run, NOW + 3 * DAY, false).reason, CRA_REASON_NO_ANCHOR);
    cra_policy_free(policy);
}

static void states_decide_first(void **state)
{
    cra_policy *policy = new_policy();
    cra_run_doc run = new_run();

    (void)state;
    run.outcome = text("success");
    run.delivered_at = NOW - 30 * DAY;
    run.state = CRA_RUN_ARCHIVED;
    run.held = true;
    cra_decision d = decide(policy, &run, NOW, false);
    assert_int_equal(d.reason, CRA_REASON_NOT_DUE);
    assert_true(has_step(&d, "archived already"));

    run.state = CRA_RUN_SWEEPING;
    run.hold_reason = text("audit");
    d = decide(policy, &run, NOW, false);
    assert_int_equal(d.reason, CRA_REASON_HELD);
    assert_true(has_step(&d, "audit"));
    run.held = false;
    run.archive_at = NOW + DAY; /* moved meanwhile: what has begun goes on */
    d = decide(policy, &run, NOW, false);
    assert_true(d.due);
    assert_true(has_step(&d, "goes on"));
    run.restored_at = NOW - 10 * DAY;
    assert_string_equal(decide(policy, &run, NOW, true).rule, "restored");

    run = new_run();
    run.ended_at = NOW - 30 * DAY;
    run.explicit_at = NOW - DAY;
    d = decide(policy, &run, NOW, false);
    assert_int_equal(d.reason, CRA_REASON_NOT_DUE);
    assert_int_equal(d.archive_at, NOW - DAY);
    assert_true(has_step(&d, "not closed"));
    run.explicit_at = CRA_TIME_NONE;
    run.archive_at = NOW - DAY;
    d = decide(policy, &run, NOW, false);
    assert_int_equal(d.reason, CRA_REASON_NOT_DUE);
    assert_int_equal(d.archive_at, NOW - DAY);
    run.held = true;
    d = decide(policy, &run, NOW, false);
    assert_int_equal(d.reason, CRA_REASON_HELD);
    assert_true(has_step(&d, "hold exempts"));
    cra_policy_free(policy);
}

static void an_explicit_date_wins(void **state)
{
    cra_policy *policy = new_policy();
    cra_run_doc run = new_run();

    (void)state;
    run.outcome = text("success");
    run.delivered_at = NOW - 30 * DAY;
    run.archive_at = NOW - 27 * DAY;
    run.explicit_at = NOW + DAY;
    for (int recompute = 0; recompute < 2; recompute++) {
        const cra_decision d = decide(policy, &run, NOW, recompute != 0);
        assert_false(d.due);
        assert_int_equal(d.archive_at, NOW + DAY);
        assert_string_equal(d.rule, "explicit");
        assert_string_equal(d.anchor_field, "");
        assert_int_equal(d.window_ms, -1);
        assert_int_equal(d.stored_at, NOW - 27 * DAY);
    }
    /* A past one is due at once, whatever the anchor is. */
    run.explicit_at = NOW - 1;
    run.delivered_at = CRA_TIME_NONE;
    assert_true(decide(policy, &run, NOW, false).due);
    cra_policy_free(policy);
}

static void a_stored_date_stands(void **state)
{
    cra_policy *policy = new_policy();
    cra_run_doc run = new_run();

    (void)state;
    run.outcome = text("success");
    run.delivered_at = NOW - 4 * DAY;
    run.archive_at = NOW - DAY;
    run.rule = text("success");
    assert_int_equal(cra_policy_set_window(policy, "prices", "success", 14 * DAY, CRA_ANCHOR_DELIVERED_AT, NULL),
                     CRA_OK);
    cra_decision d = decide(policy, &run, NOW, false);
    assert_true(d.due);
    assert_int_equal(d.archive_at, NOW - DAY);
    assert_string_equal(d.rule, "success");
    assert_true(has_step(&d, "stored date stands"));
    assert_true(has_step(&d, "policy as it is now"));
    d = decide(policy, &run, NOW, true);
    assert_false(d.due);
    assert_int_equal(d.archive_at, NOW + 10 * DAY);
    assert_string_equal(d.rule, "report prices: success");
    assert_int_equal(d.stored_at, NOW - DAY);
    cra_policy_free(policy);
}

static void anchors_must_be_there_and_past(void **state)
{
    cra_policy *policy = new_policy();
    cra_run_doc run = new_run();

    (void)state;
    run.outcome = text("success");
    run.ended_at = NOW - 30 * DAY; /* not its anchor */
    cra_decision d = decide(policy, &run, NOW, false);
    assert_int_equal(d.reason, CRA_REASON_NO_ANCHOR);
    assert_int_equal(d.archive_at, CRA_TIME_NONE);
    run.archive_at = NOW - DAY;
    d = decide(policy, &run, NOW, false);
    assert_int_equal(d.reason, CRA_REASON_NO_ANCHOR);
    assert_int_equal(d.archive_at, NOW - DAY);

    run.delivered_at = NOW + 1;
    assert_int_equal(decide(policy, &run, NOW, false).reason, CRA_REASON_FUTURE_ANCHOR);
    assert_int_equal(decide(policy, &run, NOW, true).reason, CRA_REASON_FUTURE_ANCHOR);
    run.delivered_at = NOW;
    assert_true(decide(policy, &run, NOW, false).due);

    run.outcome = text("weird");
    d = decide(policy, &run, NOW, false);
    assert_int_equal(d.reason, CRA_REASON_NO_ANCHOR);
    assert_int_equal(d.archive_at, NOW - DAY);
    assert_true(has_step(&d, "weird"));
    d = decide(policy, &run, NOW, true);
    assert_int_equal(d.archive_at, CRA_TIME_NONE);
    cra_policy_free(policy);
}

static void words_and_outcomes_of_the_user(void **state)
{
    cra_policy *policy = new_policy();
    cra_error err = {0};
    cra_anchor anchor;

    (void)state;
    assert_int_equal(cra_policy_map_word(policy, "no_data", "empty", &err), CRA_OK);
    assert_int_equal(cra_policy_map_word(policy, "no_data", "empty", &err), CRA_OK);
    assert_int_equal(cra_policy_map_word(policy, "empty", "empty", &err), CRA_OK);
    assert_int_equal(cra_policy_map_word(policy, "no_data", "failed", &err), CRA_INVALID);
    assert_int_equal(cra_policy_map_word(policy, "failed", "success", &err), CRA_INVALID);
    assert_int_equal(cra_policy_map_word(policy, "x", "sucess", &err), CRA_INVALID);
    assert_non_null(strstr(err.hint, "'success'"));
    assert_int_equal(cra_policy_map_word(policy, "x", "qqqqqqqqqqqq", &err), CRA_INVALID);
    assert_string_equal(err.hint, "");
    assert_int_equal(cra_policy_map_word(policy, "x", "restored", &err), CRA_INVALID);
    assert_int_equal(cra_policy_map_word(policy, "", "empty", &err), CRA_INVALID);
    assert_string_equal(cra_policy_outcome(policy, "no_data"), "empty");
    assert_string_equal(cra_policy_outcome(policy, "success"), "success");
    assert_null(cra_policy_outcome(policy, "restored"));
    assert_null(cra_policy_outcome(policy, "what"));
    assert_null(cra_policy_outcome(policy, NULL));

    assert_int_equal(cra_policy_set_window(policy, NULL, "partial", DAY, CRA_ANCHOR_ENDED_AT, &err), CRA_OK);
    assert_true(cra_policy_anchor(policy, "partial", &anchor));
    assert_int_equal(anchor, CRA_ANCHOR_ENDED_AT);
    assert_true(cra_policy_anchor(policy, "restored", &anchor));
    assert_int_equal(anchor, CRA_ANCHOR_RESTORED_AT);
    assert_false(cra_policy_anchor(policy, "what", &anchor));
    assert_false(cra_policy_anchor(policy, NULL, &anchor));

    assert_int_equal(cra_policy_set_window(policy, NULL, "partial", DAY, CRA_ANCHOR_DELIVERED_AT, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "ended_at"));
    assert_int_equal(cra_policy_set_window(policy, NULL, "success", DAY, CRA_ANCHOR_ENDED_AT, &err), CRA_INVALID);
    assert_int_equal(cra_policy_set_window(policy, NULL, "own", DAY, CRA_ANCHOR_RESTORED_AT, &err), CRA_INVALID);
    assert_int_equal(cra_policy_set_window(policy, NULL, "failed", -1, CRA_ANCHOR_ENDED_AT, &err), CRA_INVALID);
    assert_int_equal(cra_policy_set_window(policy, NULL, "", DAY, CRA_ANCHOR_ENDED_AT, &err), CRA_INVALID);
    assert_int_equal(cra_policy_set_window(policy, "prices", "partail", DAY, CRA_ANCHOR_ENDED_AT, &err), CRA_INVALID);
    assert_non_null(strstr(err.hint, "'partial'"));
    assert_int_equal(cra_policy_set_window(policy, NULL, "no_data", DAY, CRA_ANCHOR_ENDED_AT, &err), CRA_INVALID);
    assert_int_equal(cra_policy_set_window(policy, NULL, "restored", DAY, CRA_ANCHOR_RESTORED_AT, &err), CRA_OK);

    cra_run_doc run = new_run();
    run.outcome = text("no_data");
    run.ended_at = NOW;
    cra_decision d = decide(policy, &run, NOW, false);
    assert_int_equal(d.archive_at, NOW + 30 * MINUTE);
    assert_string_equal(d.rule, "empty");
    assert_true(has_step(&d, "stands for 'empty'"));
    cra_policy_free(policy);
}

static void reports_have_windows_of_their_own(void **state)
{
    cra_policy *policy = new_policy();
    cra_run_doc run = new_run();
    char name[32];

    (void)state;
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "report-%03d", i * 7 % 300);
        assert_int_equal(
            cra_policy_set_window(policy, name, "success", i * 7 % 300 * HOUR, CRA_ANCHOR_DELIVERED_AT, NULL), CRA_OK);
        assert_int_equal(cra_policy_set_window(policy, name, "failed", i * 7 % 300 * MINUTE, CRA_ANCHOR_ENDED_AT, NULL),
                         CRA_OK);
    }
    assert_int_equal(cra_policy_set_window(policy, "report-007", "success", 5, CRA_ANCHOR_DELIVERED_AT, NULL), CRA_OK);
    run.report = name;
    run.delivered_at = run.ended_at = 0;
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "report-%03d", i);
        run.outcome = text("success");
        assert_int_equal(decide(policy, &run, NOW, false).archive_at, i == 7 ? 5 : i * HOUR);
        run.outcome = text("failed");
        assert_int_equal(decide(policy, &run, NOW, false).archive_at, i * MINUTE);
        run.outcome = text("empty");
        assert_int_equal(decide(policy, &run, NOW, false).archive_at, 30 * MINUTE);
    }
    run.report = NULL;
    run.outcome = text("success");
    assert_int_equal(decide(policy, &run, NOW, false).archive_at, 3 * DAY);
    cra_policy_free(policy);
}

static void endless_windows_never_end(void **state)
{
    cra_policy *policy = new_policy();
    cra_run_doc run = new_run();

    (void)state;
    assert_int_equal(cra_policy_set_window(policy, NULL, "success", INT64_MAX, CRA_ANCHOR_DELIVERED_AT, NULL), CRA_OK);
    run.outcome = text("success");
    run.delivered_at = NOW;
    assert_int_equal(decide(policy, &run, NOW, false).archive_at, INT64_MAX);
    run.delivered_at = -5;
    assert_int_equal(decide(policy, &run, NOW, false).archive_at, INT64_MAX - 5);
    assert_int_equal(cra_policy_decide(NULL, &run, NOW, false, NULL), CRA_INVALID);
    cra_policy_free(policy);
}

/* ---- properties ------------------------------------------------------------------------------ */

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *seed >> 33;
}

static cra_time_ms random_time(uint64_t *seed)
{
    if (next_random(seed) % 5 == 0)
        return CRA_TIME_NONE;
    return NOW + ((int64_t)(next_random(seed) % 40) - 20) * DAY + (int64_t)(next_random(seed) % 3) - 1;
}

static cra_run_doc random_run(uint64_t *seed)
{
    static const char *const outcomes[] = {"success", "failed", "empty", "no_data", "weird", "partial", NULL};
    cra_run_doc run = new_run();

    run.state = (int64_t)(next_random(seed) % 5);
    run.outcome = text(outcomes[next_random(seed) % 7]);
    run.delivered_at = random_time(seed);
    run.ended_at = random_time(seed);
    run.restored_at = random_time(seed);
    run.archive_at = random_time(seed);
    run.explicit_at = next_random(seed) % 3 == 0 ? random_time(seed) : CRA_TIME_NONE;
    run.held = next_random(seed) % 4 == 0;
    return run;
}

static cra_policy *mapped_policy(void)
{
    cra_policy *policy = new_policy();

    assert_int_equal(cra_policy_map_word(policy, "no_data", "empty", NULL), CRA_OK);
    assert_int_equal(cra_policy_set_window(policy, NULL, "partial", DAY, CRA_ANCHOR_ENDED_AT, NULL), CRA_OK);
    return policy;
}

static void what_is_due_stays_due(void **state)
{
    cra_policy *policy = mapped_policy();
    uint64_t seed = 11;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        const cra_run_doc run = random_run(&seed);
        const bool recompute = next_random(&seed) % 2 == 0;
        const cra_time_ms now = NOW + ((int64_t)(next_random(&seed) % 40) - 20) * DAY;
        const cra_time_ms later = now + (int64_t)(next_random(&seed) % 3) * (int64_t)(next_random(&seed) % 10) * DAY;
        const cra_decision first = decide(policy, &run, now, recompute);
        const cra_decision second = decide(policy, &run, later, recompute);
        assert_true(!first.due || second.due);
        assert_int_equal(first.archive_at, second.archive_at);
        if (run.held || run.state == CRA_RUN_ARCHIVED)
            assert_false(first.due);
        if (first.due && run.state != CRA_RUN_SWEEPING) {
            assert_non_null(run.outcome);
            assert_true(first.archive_at != CRA_TIME_NONE && first.archive_at <= now);
            assert_true(run.explicit_at != CRA_TIME_NONE || (first.anchor != CRA_TIME_NONE && first.anchor <= now));
        }
    }
    cra_policy_free(policy);
}

static void time_zones_and_dst_change_nothing(void **state)
{
    static const char *const zones[] = {"UTC", "America/New_York", "Europe/Istanbul", "Asia/Kathmandu"};
    /* The hours around both changes of New York in 2026, and Istanbul's last one in 2016. */
    static const char *const changes[] = {"2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z", "2016-03-27T01:00:00Z"};
    static cra_decision expected[3 * 200];
    cra_policy *policy = mapped_policy();

    (void)state;
    for (size_t z = 0; z < sizeof zones / sizeof zones[0]; z++) {
        assert_int_equal(setenv("TZ", zones[z], 1), 0);
        tzset();
        uint64_t seed = 5;
        for (size_t c = 0; c < 3; c++) {
            cra_time_ms change;
            assert_int_equal(cra_time_parse(changes[c], &change, NULL), CRA_OK);
            for (size_t i = 0; i < 200; i++) {
                cra_run_doc run = new_run();
                run.outcome = text("success");
                run.delivered_at = change - 3 * DAY + ((int64_t)(next_random(&seed) % 400) - 200) * MINUTE;
                const cra_decision d = decide(policy, &run, change, false);
                assert_int_equal(d.archive_at, run.delivered_at + 3 * DAY);
                assert_int_equal(d.due, run.delivered_at + 3 * DAY <= change);
                if (z == 0)
                    expected[c * 200 + i] = d;
                else
                    assert_memory_equal(&d, &expected[c * 200 + i], sizeof d);
            }
        }
    }
    unsetenv("TZ");
    cra_policy_free(policy);
}

static cra_status build_policy(const cra_allocator *allocator, void *user)
{
    cra_policy *policy = NULL;
    char name[32];

    (void)user;
    cra_status status = cra_policy_new(allocator, &policy, NULL);
    if (status != CRA_OK)
        assert_null(policy);
    for (int i = 0; i < 20 && status == CRA_OK; i++) {
        snprintf(name, sizeof name, "word%d", i);
        status = cra_policy_map_word(policy, name, "empty", NULL);
        if (status == CRA_OK)
            status = cra_policy_set_window(policy, name, "failed", 5, CRA_ANCHOR_ENDED_AT, NULL);
        snprintf(name, sizeof name, "outcome%d", i);
        if (status == CRA_OK)
            status = cra_policy_set_window(policy, NULL, name, 5, CRA_ANCHOR_ENDED_AT, NULL);
    }
    cra_policy_free(policy);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    cra_policy_free(NULL);
    cra_torture(build_policy, NULL, CRA_OK, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_manual),
        cmocka_unit_test(a_restore_starts_its_own_window),
        cmocka_unit_test(states_decide_first),
        cmocka_unit_test(an_explicit_date_wins),
        cmocka_unit_test(a_stored_date_stands),
        cmocka_unit_test(anchors_must_be_there_and_past),
        cmocka_unit_test(words_and_outcomes_of_the_user),
        cmocka_unit_test(reports_have_windows_of_their_own),
        cmocka_unit_test(endless_windows_never_end),
        cmocka_unit_test(what_is_due_stays_due),
        cmocka_unit_test(time_zones_and_dst_change_nothing),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
