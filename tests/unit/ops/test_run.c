/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kit/life.h"

#define DAY INT64_C(86400000)

static int set_up_memory(void **state)
{
    cra_life *life = test_calloc(1, sizeof(*life));

    cra_life_open(life, CRA_LIFE_MEMORY, NULL);
    *state = life;
    return 0;
}

static int set_up_sqlite(void **state)
{
    cra_life *life = test_calloc(1, sizeof(*life));

    cra_life_open(life, CRA_LIFE_SQLITE, NULL);
    *state = life;
    return 0;
}

static int tear_down(void **state)
{
    cra_life_close(*state);
    test_free(*state);
    return 0;
}

static cra_run *add(cra_life *life, const char *report, const char *id)
{
    cra_error error = {0};
    cra_run *run = NULL;

    cra_life_expect(cra_run_add(life->engine, report, id, NULL, &run, &error), CRA_OK, &error);
    return run;
}

static cra_time_ms now_of(cra_life *life)
{
    cra_error error = {0};
    cra_time_ms now = 0;

    cra_life_expect(cra_catalog_now(cra_engine_catalog(life->engine), &now, &error), CRA_OK, &error);
    return now;
}

/* Put a run into a state that only sweeps and restores enter. */
static void force(cra_life *life, const char *report, const char *id, cra_run_state state, cra_time_ms restored_at)
{
    cra_error error = {0};
    cra_run_doc doc;

    cra_life_expect(cra_catalog_run_get(cra_engine_catalog(life->engine), report, id, &doc, &error), CRA_OK, &error);
    doc.state = state;
    doc.restored_at = restored_at;
    if (restored_at != CRA_TIME_NONE)
        doc.archive_at = restored_at + 3 * DAY;
    cra_life_expect(cra_catalog_run_replace(cra_engine_catalog(life->engine), &doc, doc.version, NULL, &error), CRA_OK,
                    &error);
    cra_run_doc_cleanup(&doc, cra_context_allocator(life->context));
}

static cra_status deliver(cra_life *life, const char *report, const char *id, const char *outcome, cra_time_ms at,
                          cra_error *error)
{
    cra_run *run = cra_life_run(life, report, id);
    const cra_status status = cra_run_deliver(life->engine, run, outcome, at, NULL, error);

    cra_run_free(run);
    return status;
}

static void add_registers_a_hot_run(void **state)
{
    cra_life *life = *state;
    cra_run *run = add(life, "prices", "184000");
    const cra_run_doc *doc = cra_run_doc_of(run);
    cra_error error = {0};

    assert_string_equal(doc->collection, "records_prices");
    assert_int_equal(doc->state, CRA_RUN_HOT);
    assert_null(doc->outcome);
    assert_true(doc->archive_at == CRA_TIME_NONE);
    assert_true(doc->created_at != CRA_TIME_NONE);
    cra_run_free(run);
    assert_int_equal(cra_run_add(life->engine, "prices", "184000", NULL, NULL, &error), CRA_EXISTS);
}

static void add_refuses_names_that_cannot_be_stored(void **state)
{
    cra_life *life = *state;
    char longer[1200];
    cra_error error = {0};

    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(cra_run_add(life->engine, "prices", "", NULL, NULL, &error), CRA_INVALID);
    assert_int_equal(cra_run_add(life->engine, "prices", "a\nb", NULL, NULL, &error), CRA_INVALID);
    assert_int_equal(cra_run_add(life->engine, "", "1", NULL, NULL, &error), CRA_INVALID);
    assert_int_equal(cra_run_add(life->engine, "..", "1", NULL, NULL, &error), CRA_INVALID);
    assert_int_equal(cra_run_add(life->engine, "prices", "\xff", NULL, NULL, &error), CRA_INVALID);
    assert_int_equal(cra_run_add(life->engine, "prices", longer, NULL, NULL, &error), CRA_INVALID);
}

static void find_prefers_the_whole_id(void **state)
{
    cra_life *life = *state;
    cra_error error = {0};
    cra_run *run = NULL;

    cra_run_free(add(life, "prices", "7"));
    cra_run_free(add(life, "stock", "7"));
    cra_run_free(add(life, "stock", "a/b"));
    cra_run_free(add(life, "a", "b"));
    assert_int_equal(cra_run_find(life->engine, "7", &run, &error), CRA_INVALID);
    assert_null(run);
    assert_non_null(strstr(error.message, "prices/7"));
    assert_non_null(strstr(error.message, "stock/7"));
    cra_life_expect(cra_run_find(life->engine, "stock/7", &run, &error), CRA_OK, &error);
    assert_string_equal(cra_run_doc_of(run)->report, "stock");
    cra_run_free(run);
    cra_life_expect(cra_run_find(life->engine, "a/b", &run, &error), CRA_OK, &error);
    assert_string_equal(cra_run_doc_of(run)->report, "stock");
    cra_run_free(run);
    assert_int_equal(cra_run_find(life->engine, "prices/8", &run, &error), CRA_NOT_FOUND);
    assert_int_equal(cra_run_find(life->engine, "8", &run, &error), CRA_NOT_FOUND);
}

static void deliver_dates_a_run_by_its_outcome(void **state)
{
    cra_life *life = *state;
    const cra_time_ms now = now_of(life);
    cra_error error = {0};
    cra_run *run = add(life, "prices", "1");
    cra_run *after = NULL;

    cra_life_expect(cra_run_deliver(life->engine, run, "success", now - DAY, &after, &error), CRA_OK, &error);
    assert_string_equal(cra_run_doc_of(after)->outcome, "success");
    assert_true(cra_run_doc_of(after)->delivered_at == now - DAY);
    assert_true(cra_run_doc_of(after)->ended_at == CRA_TIME_NONE);
    assert_true(cra_run_doc_of(after)->archive_at == now + 2 * DAY);
    assert_string_equal(cra_run_doc_of(after)->rule, "success");
    assert_true(cra_run_doc_of(after)->closed_at >= now);
    cra_run_free(after);
    cra_life_expect(cra_run_deliver(life->engine, run, "failed", now - DAY, &after, &error), CRA_OK, &error);
    assert_true(cra_run_doc_of(after)->ended_at == now - DAY);
    assert_true(cra_run_doc_of(after)->archive_at == now + 6 * DAY);
    cra_run_free(after);
    cra_run_free(run);
}

static void deliver_again_changes_nothing(void **state)
{
    cra_life *life = *state;
    const cra_time_ms now = now_of(life);
    cra_error error = {0};
    cra_run *first, *second;

    cra_run_free(add(life, "prices", "1"));
    cra_life_expect(deliver(life, "prices", "1", "success", now - DAY, &error), CRA_OK, &error);
    first = cra_life_run(life, "prices", "1");
    cra_life_advance(life, DAY);
    cra_life_expect(deliver(life, "prices", "1", "success", CRA_TIME_NONE, &error), CRA_OK, &error);
    cra_life_expect(deliver(life, "prices", "1", "success", now, &error), CRA_OK, &error);
    second = cra_life_run(life, "prices", "1");
    assert_true(cra_run_doc_of(first)->version == cra_run_doc_of(second)->version);
    cra_run_free(first);
    cra_run_free(second);
}

static void deliver_refuses_the_future_and_unknown_words(void **state)
{
    cra_life *life = *state;
    cra_error error = {0};

    cra_run_free(add(life, "prices", "1"));
    assert_int_equal(deliver(life, "prices", "1", "success", now_of(life) + DAY, &error), CRA_INVALID);
    assert_int_equal(deliver(life, "prices", "1", "sucess", CRA_TIME_NONE, &error), CRA_INVALID);
    assert_non_null(strstr(error.message, "success"));
    assert_int_equal(deliver(life, "prices", "1", "restored", CRA_TIME_NONE, &error), CRA_INVALID);
}

static void deliver_conflicts_where_the_run_is_not_hot(void **state)
{
    static const cra_run_state states[] = {CRA_RUN_SWEEPING, CRA_RUN_ARCHIVED, CRA_RUN_RESTORING};
    cra_life *life = *state;
    cra_error error = {0};

    cra_run_free(add(life, "prices", "1"));
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        force(life, "prices", "1", states[i], CRA_TIME_NONE);
        assert_int_equal(deliver(life, "prices", "1", "success", CRA_TIME_NONE, &error), CRA_CONFLICT);
        assert_non_null(strstr(error.message, cra_run_state_name(states[i])));
    }
}

static void the_restore_stays_the_anchor_of_a_restored_run(void **state)
{
    cra_life *life = *state;
    const cra_time_ms now = now_of(life);
    cra_error error = {0};
    cra_run *run;

    cra_run_free(add(life, "prices", "1"));
    cra_life_expect(deliver(life, "prices", "1", "failed", now - DAY, &error), CRA_OK, &error);
    force(life, "prices", "1", CRA_RUN_RESTORED, now - 1000);
    cra_life_expect(deliver(life, "prices", "1", "success", CRA_TIME_NONE, &error), CRA_OK, &error);
    run = cra_life_run(life, "prices", "1");
    assert_string_equal(cra_run_doc_of(run)->outcome, "success");
    assert_true(cra_run_doc_of(run)->archive_at == now - 1000 + 3 * DAY);
    cra_run_free(run);
}

static void an_explicit_date_wins_until_it_is_cleared(void **state)
{
    cra_life *life = *state;
    const cra_time_ms now = now_of(life);
    cra_error error = {0};
    cra_run *run = add(life, "prices", "1"), *after = NULL;

    cra_life_expect(cra_run_schedule(life->engine, run, now + 30 * DAY, &after, &error), CRA_OK, &error);
    assert_true(cra_run_doc_of(after)->archive_at == now + 30 * DAY);
    assert_string_equal(cra_run_doc_of(after)->rule, "explicit");
    cra_run_free(after);
    cra_life_expect(cra_run_deliver(life->engine, run, "success", now, &after, &error), CRA_OK, &error);
    assert_true(cra_run_doc_of(after)->archive_at == now + 30 * DAY);
    cra_run_free(after);
    cra_life_expect(cra_run_recompute(life->engine, run, &after, &error), CRA_OK, &error);
    assert_true(cra_run_doc_of(after)->archive_at == now + 30 * DAY);
    cra_run_free(after);
    cra_life_expect(cra_run_schedule(life->engine, run, CRA_TIME_NONE, &after, &error), CRA_OK, &error);
    assert_true(cra_run_doc_of(after)->explicit_at == CRA_TIME_NONE);
    assert_true(cra_run_doc_of(after)->archive_at == now + 3 * DAY);
    cra_run_free(after);
    force(life, "prices", "1", CRA_RUN_ARCHIVED, CRA_TIME_NONE);
    assert_int_equal(cra_run_schedule(life->engine, run, now, NULL, &error), CRA_CONFLICT);
    cra_run_free(run);
}

static void a_hold_is_kept_with_its_reason(void **state)
{
    cra_life *life = *state;
    cra_error error = {0};
    cra_run *run = add(life, "prices", "1"), *after = NULL;
    cra_decision decision = {.struct_size = sizeof(decision)};

    cra_life_expect(cra_run_hold(life->engine, run, "audit", &after, &error), CRA_OK, &error);
    assert_true(cra_run_doc_of(after)->held);
    assert_string_equal(cra_run_doc_of(after)->hold_reason, "audit");
    cra_life_expect(cra_run_explain(life->engine, after, &decision, &error), CRA_OK, &error);
    assert_int_equal(decision.reason, CRA_REASON_HELD);
    assert_false(decision.due);
    cra_run_free(after);
    cra_life_expect(cra_run_hold(life->engine, run, NULL, &after, &error), CRA_OK, &error);
    assert_string_equal(cra_run_doc_of(after)->hold_reason, "audit");
    cra_run_free(after);
    cra_life_expect(cra_run_release(life->engine, run, &after, &error), CRA_OK, &error);
    assert_false(cra_run_doc_of(after)->held);
    assert_null(cra_run_doc_of(after)->hold_reason);
    cra_run_free(after);
    cra_run_free(run);
}

static bool sync_needed(cra_life *life, const char *id)
{
    cra_run *run = cra_life_run(life, "prices", id);
    const char *reason = NULL;
    cra_error error = {0};
    bool needed = false;

    cra_life_expect(cra_run_sync_needed(life->engine, run, &needed, &reason, &error), CRA_OK, &error);
    assert_non_null(reason);
    cra_run_free(run);
    return needed;
}

static void sync_is_needed_unless_the_restore_is_fresh(void **state)
{
    cra_life *life = *state;

    cra_run_free(add(life, "prices", "1"));
    assert_true(sync_needed(life, "1"));
    force(life, "prices", "1", CRA_RUN_SWEEPING, CRA_TIME_NONE);
    assert_false(sync_needed(life, "1"));
    force(life, "prices", "1", CRA_RUN_ARCHIVED, CRA_TIME_NONE);
    assert_false(sync_needed(life, "1"));
    force(life, "prices", "1", CRA_RUN_RESTORING, now_of(life));
    assert_false(sync_needed(life, "1"));
    force(life, "prices", "1", CRA_RUN_RESTORED, now_of(life) - DAY);
    assert_false(sync_needed(life, "1"));
    force(life, "prices", "1", CRA_RUN_RESTORED, now_of(life) - 4 * DAY);
    assert_true(sync_needed(life, "1"));
}

struct seen {
    size_t count;
    cra_time_ms archive_at;
    char last[64];
};

static cra_status see(void *user, const cra_run_doc *doc)
{
    struct seen *seen = user;

    seen->count++;
    seen->archive_at = doc->archive_at;
    snprintf(seen->last, sizeof(seen->last), "%s/%s", doc->report, doc->run);
    return CRA_OK;
}

/* The outcome alone, as a service of the user's own writes it. */
static void close_elsewhere(cra_life *life, const char *id, cra_time_ms at)
{
    cra_error error = {0};
    cra_run_doc doc;

    cra_life_expect(cra_catalog_run_get(cra_engine_catalog(life->engine), "prices", id, &doc, &error), CRA_OK, &error);
    assert_int_equal(cra_run_doc_set_text(&doc.outcome, "success", cra_context_allocator(life->context)), CRA_OK);
    doc.delivered_at = at;
    cra_life_expect(cra_catalog_run_replace(cra_engine_catalog(life->engine), &doc, doc.version, NULL, &error), CRA_OK,
                    &error);
    cra_run_doc_cleanup(&doc, cra_context_allocator(life->context));
}

static void undated_runs_are_listed_with_their_computed_date(void **state)
{
    cra_life *life = *state;
    const cra_time_ms now = now_of(life);
    cra_run_query query = CRA_RUN_QUERY_INIT;
    struct seen seen = {0};
    cra_error error = {0};

    cra_run_free(add(life, "prices", "1"));
    cra_run_free(add(life, "prices", "2"));
    close_elsewhere(life, "1", now - 5 * DAY);
    close_elsewhere(life, "2", now);
    query.run = "1";
    cra_life_expect(cra_run_each(life->engine, &query, see, &seen, &error), CRA_OK, &error);
    assert_int_equal(seen.count, 1);
    assert_true(seen.archive_at == now - 2 * DAY);
    query = (cra_run_query)CRA_RUN_QUERY_INIT;
    query.due_before = now;
    seen.count = 0;
    cra_life_expect(cra_run_each(life->engine, &query, see, &seen, &error), CRA_OK, &error);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.last, "prices/1");
}

static void listing_keeps_to_its_limit(void **state)
{
    cra_life *life = *state;
    cra_run_query query = CRA_RUN_QUERY_INIT;
    struct seen seen = {0};
    cra_error error = {0};
    char id[16];

    for (int i = 0; i < 7; i++) {
        snprintf(id, sizeof(id), "%d", i);
        cra_run_free(add(life, "prices", id));
    }
    query.limit = 3;
    cra_life_expect(cra_run_each(life->engine, &query, see, &seen, &error), CRA_OK, &error);
    assert_int_equal(seen.count, 3);
    assert_string_equal(seen.last, "prices/2");
}

/* Deliver may complete what another service wrote. */
static void deliver_adds_what_another_service_left_out(void **state)
{
    cra_life *life = *state;
    cra_error error = {0};
    cra_run *run;

    cra_run_free(add(life, "prices", "1"));
    close_elsewhere(life, "1", CRA_TIME_NONE);
    cra_life_expect(deliver(life, "prices", "1", "success", CRA_TIME_NONE, &error), CRA_OK, &error);
    run = cra_life_run(life, "prices", "1");
    assert_true(cra_run_doc_of(run)->delivered_at != CRA_TIME_NONE);
    assert_true(cra_run_doc_of(run)->archive_at != CRA_TIME_NONE);
    cra_run_free(run);
}

int main(void)
{
#define BOTH(name)                                                                                                     \
    cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down),                                                   \
        cmocka_unit_test_setup_teardown(name, set_up_sqlite, tear_down)
    const struct CMUnitTest tests[] = {
        BOTH(add_registers_a_hot_run),
        BOTH(add_refuses_names_that_cannot_be_stored),
        BOTH(find_prefers_the_whole_id),
        BOTH(deliver_dates_a_run_by_its_outcome),
        BOTH(deliver_again_changes_nothing),
        BOTH(deliver_refuses_the_future_and_unknown_words),
        BOTH(deliver_conflicts_where_the_run_is_not_hot),
        BOTH(the_restore_stays_the_anchor_of_a_restored_run),
        BOTH(an_explicit_date_wins_until_it_is_cleared),
        BOTH(a_hold_is_kept_with_its_reason),
        BOTH(sync_is_needed_unless_the_restore_is_fresh),
        BOTH(undated_runs_are_listed_with_their_computed_date),
        BOTH(listing_keeps_to_its_limit),
        BOTH(deliver_adds_what_another_service_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
