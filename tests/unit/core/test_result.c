/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/result.h"
#include "kit/test_allocator.h"

static const cra_reason all_reasons[] = {
#define REASON(constant, word, help) CRA_REASON_##constant,
    CRA_REASONS(REASON)
#undef REASON
};
#define ALL_REASONS (sizeof all_reasons / sizeof all_reasons[0])

static void every_reason_has_words(void **state)
{
    (void)state;
    assert_null(cra_reason_name(CRA_REASON_NONE));
    assert_null(cra_reason_text(CRA_REASON_NONE));
    assert_null(cra_reason_name((cra_reason)999));
    assert_null(cra_reason_text((cra_reason)999));
    assert_string_equal(cra_reason_name(CRA_REASON_NOT_DUE), "not_due");
    assert_string_equal(cra_reason_name(CRA_REASON_INVALID), "invalid");
    for (size_t i = 0; i < ALL_REASONS; i++) {
        assert_int_equal(all_reasons[i], i + 1);
        assert_true(strlen(cra_reason_name(all_reasons[i])) > 2);
        assert_true(strlen(cra_reason_text(all_reasons[i])) > 5);
        assert_true(cra_reason_status(all_reasons[i]) < CRA_OK);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(cra_reason_name(all_reasons[i]), cra_reason_name(all_reasons[j]));
    }
    assert_int_equal(cra_reason_status(CRA_REASON_NONE), CRA_OK);
}

static void statuses_become_reasons(void **state)
{
    static const struct {
        cra_status status;
        cra_reason reason;
    } cases[] = {{CRA_OK, CRA_REASON_NONE},
                 {CRA_DONE, CRA_REASON_NONE},
                 {CRA_DENIED, CRA_REASON_DENIED},
                 {CRA_TIMEOUT, CRA_REASON_UNAVAILABLE},
                 {CRA_UNAVAILABLE, CRA_REASON_UNAVAILABLE},
                 {CRA_LOCKED, CRA_REASON_LOCKED},
                 {CRA_NOT_FOUND, CRA_REASON_NOT_FOUND},
                 {CRA_EXISTS, CRA_REASON_CONFLICT},
                 {CRA_CONFLICT, CRA_REASON_CONFLICT},
                 {CRA_CORRUPT, CRA_REASON_CORRUPT},
                 {CRA_CANCELLED, CRA_REASON_CANCELLED},
                 {CRA_INVALID, CRA_REASON_INVALID},
                 {CRA_IO, CRA_REASON_STORE_ERROR},
                 {CRA_NOMEM, CRA_REASON_STORE_ERROR}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(cra_reason_from_status(cases[i].status), cases[i].reason);
    /* Those that a command's exit code tells apart come back as themselves. */
    static const cra_status back[] = {CRA_DENIED,  CRA_UNAVAILABLE, CRA_LOCKED,    CRA_NOT_FOUND,
                                      CRA_CORRUPT, CRA_CONFLICT,    CRA_CANCELLED, CRA_INVALID};
    for (size_t i = 0; i < sizeof back / sizeof back[0]; i++)
        assert_int_equal(cra_reason_status(cra_reason_from_status(back[i])), back[i]);
}

static void items_are_kept_as_copies(void **state)
{
    cra_test_allocator kit;
    cra_result *result = NULL;
    char report[] = "prices";
    char detail[] = "part-1";
    cra_item item;

    (void)state;
    cra_test_allocator_init(&kit);
    assert_int_equal(cra_result_new(&kit.allocator, &result, NULL), CRA_OK);
    assert_int_equal(cra_result_count(result), 0);
    assert_int_equal(cra_result_status(result), CRA_OK);
    assert_null(cra_result_at(result, 0));
    assert_int_equal(cra_result_still_due(result), -1);
    assert_null(cra_result_stopped_by(result));
    for (int i = 0; i < 20; i++) {
        cra_item_init(&item, report, "1");
        assert_int_equal(item.struct_size, sizeof item);
        assert_int_equal(item.counts[CRA_COUNT_RECORDS], -1);
        item.detail = detail;
        item.status = i % 2 == 0 ? CRA_ITEM_OK : CRA_ITEM_KEPT;
        item.reason = i % 2 == 0 ? CRA_REASON_NONE : CRA_REASON_HELD;
        if (i % 4 == 0)
            item.counts[CRA_COUNT_RECORDS] = i;
        assert_int_equal(cra_result_add(result, &item, NULL), CRA_OK);
    }
    report[0] = detail[0] = 'X';
    assert_string_equal(cra_result_at(result, 19)->report, "prices");
    assert_string_equal(cra_result_at(result, 0)->detail, "part-1");
    assert_null(cra_result_at(result, 0)->location);
    assert_int_equal(cra_result_count(result), 20);
    assert_int_equal(cra_result_sum(result, CRA_COUNT_RECORDS), 0 + 4 + 8 + 12 + 16);
    assert_int_equal(cra_result_sum(result, CRA_COUNT_BYTES), 0);
    assert_int_equal(cra_result_sum(result, CRA_COUNT_END), 0);
    assert_int_equal(cra_result_tally(result, CRA_ITEM_OK), 10);
    assert_int_equal(cra_result_tally(result, CRA_ITEM_FAILED), 0);
    cra_result_set_stopped_by(result, "max_runs");
    cra_result_set_still_due(result, 7);
    assert_string_equal(cra_result_stopped_by(result), "max_runs");
    assert_int_equal(cra_result_still_due(result), 7);
    for (int i = 0; i < 2; i++) {
        cra_item_init(&item, "r", "2");
        item.counts[CRA_COUNT_RECORDS] = INT64_MAX - 1;
        assert_int_equal(cra_result_add(result, &item, NULL), CRA_OK);
    }
    assert_int_equal(cra_result_sum(result, CRA_COUNT_RECORDS), INT64_MAX);
    cra_result_free(result);
    cra_result_free(NULL);
    cra_test_allocator_check(&kit);
}

/* ---- exit codes for several runs ------------------------------------------------------------- */

#define OK_                                                                                                            \
    {                                                                                                                  \
        CRA_ITEM_OK, CRA_REASON_NONE, CRA_OK                                                                           \
    }
#define FAIL_(reason)                                                                                                  \
    {                                                                                                                  \
        CRA_ITEM_FAILED, CRA_REASON_##reason, CRA_OK                                                                   \
    }
#define KEPT_(reason)                                                                                                  \
    {                                                                                                                  \
        CRA_ITEM_KEPT, CRA_REASON_##reason, CRA_OK                                                                     \
    }

static void the_whole_has_one_status(void **state)
{
    static const struct {
        struct {
            cra_item_status status;
            cra_reason reason;
            cra_status error;
        } items[3];
        size_t count;
        cra_status expected;
    } cases[] = {
        {{OK_, OK_}, 2, CRA_OK},
        {{OK_, FAIL_(CORRUPT)}, 2, CRA_PARTIAL},
        {{FAIL_(CORRUPT), FAIL_(CORRUPT)}, 2, CRA_CORRUPT},
        {{FAIL_(CORRUPT), FAIL_(DENIED)}, 2, CRA_IO},
        {{FAIL_(CORRUPT), FAIL_(DENIED), FAIL_(DENIED)}, 3, CRA_IO},
        {{FAIL_(NOT_FOUND)}, 1, CRA_NOT_FOUND},
        {{FAIL_(NO_ARCHIVE)}, 1, CRA_NOT_FOUND},
        {{FAIL_(UNAVAILABLE), FAIL_(UNAVAILABLE)}, 2, CRA_UNAVAILABLE},
        {{FAIL_(NONE)}, 1, CRA_IO},
        {{FAIL_(CONFLICT)}, 1, CRA_CONFLICT},
        {{FAIL_(TTL_INDEX)}, 1, CRA_IO},
        {{{CRA_ITEM_FAILED, CRA_REASON_STORE_ERROR, CRA_TIMEOUT}}, 1, CRA_TIMEOUT},
        {{{CRA_ITEM_LOCKED, CRA_REASON_LOCKED, CRA_OK}}, 1, CRA_LOCKED},
        {{{CRA_ITEM_LOCKED, CRA_REASON_NONE, CRA_OK}, OK_}, 2, CRA_PARTIAL},
        {{{CRA_ITEM_UNKNOWN, CRA_REASON_UNAVAILABLE, CRA_OK}, OK_}, 2, CRA_PARTIAL},
        {{{CRA_ITEM_UNKNOWN, CRA_REASON_UNREADABLE, CRA_OK}}, 1, CRA_CORRUPT},
        {{OK_, {CRA_ITEM_BAD, CRA_REASON_IDS_MISSING, CRA_OK}}, 2, CRA_CORRUPT},
        {{FAIL_(DENIED), {CRA_ITEM_BAD, CRA_REASON_IDS_MISSING, CRA_OK}}, 2, CRA_CORRUPT},
        {{KEPT_(NOT_DUE), KEPT_(HELD), KEPT_(LOCKED)}, 3, CRA_OK},
        {{KEPT_(NO_ANCHOR), KEPT_(FUTURE_ANCHOR), OK_}, 3, CRA_OK},
        {{KEPT_(IDS_MISSING), OK_}, 2, CRA_PARTIAL},
        {{KEPT_(STORE_ERROR)}, 1, CRA_PARTIAL},
        {{KEPT_(LATE), FAIL_(DENIED)}, 2, CRA_PARTIAL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_result *result = NULL;
        assert_int_equal(cra_result_new(NULL, &result, NULL), CRA_OK);
        for (size_t j = 0; j < cases[i].count; j++) {
            cra_item item;
            cra_item_init(&item, "r", "1");
            item.status = cases[i].items[j].status;
            item.reason = cases[i].items[j].reason;
            item.error.status = cases[i].items[j].error;
            assert_int_equal(cra_result_add(result, &item, NULL), CRA_OK);
        }
        if (cra_result_status(result) != cases[i].expected)
            fail_msg("case %zu gives %s", i, cra_status_name(cra_result_status(result)));
        cra_result_free(result);
    }
}

static cra_status build(const cra_allocator *allocator, void *user)
{
    cra_result *result = NULL;
    cra_item item;

    (void)user;
    cra_status status = cra_result_new(allocator, &result, NULL);
    cra_item_init(&item, "report", "run");
    item.level = "count";
    item.location = "file:x";
    item.detail = "a part";
    for (size_t i = 0; i < 12 && status == CRA_OK; i++) {
        status = cra_result_add(result, &item, NULL);
        assert_int_equal(cra_result_count(result), i + (status == CRA_OK ? 1 : 0));
    }
    cra_result_free(result);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    cra_torture(build, NULL, CRA_OK, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reason_has_words),   cmocka_unit_test(statuses_become_reasons),
        cmocka_unit_test(items_are_kept_as_copies), cmocka_unit_test(the_whole_has_one_status),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
