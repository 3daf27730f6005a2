/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/status.h>

#include "base/buf.h"
#include "kit/life.h"

#define HOUR INT64_C(3600000)
#define DAY (24 * HOUR)

static int open_life(void **state, cra_life_kind kind)
{
    cra_life *life = test_calloc(1, sizeof(*life));

    cra_life_open(life, kind, NULL);
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

/* A run as it might be stored; `ago_ms` before now it was delivered (negative: not closed). */
static void insert(cra_life *life, const char *id, cra_run_state state, int64_t records, int64_t ago_ms, bool held,
                   const char *last_reason)
{
    const cra_allocator *allocator = cra_context_allocator(life->context);
    cra_error error = {0};
    cra_time_ms now;
    cra_run_doc doc;

    cra_life_expect(cra_catalog_now(cra_engine_catalog(life->engine), &now, &error), CRA_OK, &error);
    cra_run_doc_init(&doc);
    assert_int_equal(cra_run_doc_set_text(&doc.report, "prices", allocator), CRA_OK);
    assert_int_equal(cra_run_doc_set_text(&doc.run, id, allocator), CRA_OK);
    assert_int_equal(cra_run_doc_set_text(&doc.collection, "records_prices", allocator), CRA_OK);
    assert_int_equal(cra_run_doc_set_text(&doc.last_reason, last_reason, allocator), CRA_OK);
    doc.state = state;
    doc.records = records;
    doc.held = held;
    if (ago_ms >= 0) {
        assert_int_equal(cra_run_doc_set_text(&doc.outcome, "success", allocator), CRA_OK);
        doc.delivered_at = now - ago_ms;
        doc.archive_at = now - ago_ms + 3 * DAY;
    }
    cra_life_expect(cra_catalog_run_insert(cra_engine_catalog(life->engine), &doc, &error), CRA_OK, &error);
    cra_run_doc_cleanup(&doc, allocator);
}

static void runs_are_counted_by_state_and_date(void **state)
{
    cra_life *life = *state;
    cra_status_report report;
    cra_error error = {0};

    insert(life, "1", CRA_RUN_HOT, 10, -1, false, NULL);               /* not closed */
    insert(life, "2", CRA_RUN_HOT, 20, 4 * DAY, false, NULL);          /* due */
    insert(life, "3", CRA_RUN_HOT, -1, 4 * DAY, false, "ids_missing"); /* due, kept by the last sweep */
    insert(life, "4", CRA_RUN_HOT, 5, 4 * DAY, true, NULL);            /* held */
    insert(life, "5", CRA_RUN_HOT, 5, 2 * DAY + HOUR, false, NULL);    /* due within a day */
    insert(life, "6", CRA_RUN_HOT, 5, 0, false, NULL);                 /* due within a week */
    insert(life, "7", CRA_RUN_ARCHIVED, 100, 9 * DAY, false, NULL);
    insert(life, "8", CRA_RUN_RESTORING, 7, 9 * DAY, false, "corrupt");
    cra_life_expect(cra_status_collect(life->engine, &report, &error), CRA_OK, &error);
    assert_int_equal(report.runs_by_state[CRA_RUN_HOT], 6);
    assert_int_equal(report.runs_by_state[CRA_RUN_ARCHIVED], 1);
    assert_int_equal(report.runs_by_state[CRA_RUN_RESTORING], 1);
    assert_int_equal(report.records_by_state[CRA_RUN_HOT], 45);
    assert_int_equal(report.records_by_state[CRA_RUN_ARCHIVED], 100);
    assert_int_equal(report.held, 1);
    assert_int_equal(report.restoring, 1);
    assert_int_equal(report.failures, 2);
    assert_int_equal(report.due_now, 2);
    assert_int_equal(report.overdue_kept, 1);
    assert_int_equal(report.due_1d, 3);
    assert_int_equal(report.due_7d, 4);
}

static void the_last_sweep_is_shown_once_there_was_one(void **state)
{
    static const uint8_t empty[] = {5, 0, 0, 0, 0};
    cra_life *life = *state;
    cra_error error = {0};
    cra_buf out;

    cra_buf_init(&out, NULL);
    assert_int_equal(cra_status_last_sweep(life->engine, &out, &error), CRA_NOT_FOUND);
    cra_life_expect(cra_catalog_summary_put(cra_engine_catalog(life->engine), "sweep", cra_bytes_of(empty, 5), &error),
                    CRA_OK, &error);
    cra_life_expect(cra_status_last_sweep(life->engine, &out, &error), CRA_OK, &error);
    assert_int_equal(out.size, 5);
    cra_buf_cleanup(&out);
}

int main(void)
{
#define BOTH(name)                                                                                                     \
    cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down),                                                   \
        cmocka_unit_test_setup_teardown(name, set_up_sqlite, tear_down)
    const struct CMUnitTest tests[] = {
        BOTH(runs_are_counted_by_state_and_date),
        BOTH(the_last_sweep_is_shown_once_there_was_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
