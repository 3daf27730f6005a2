/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/route.h"
#include "kit/test_allocator.h"

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

static void ids_are_ordered(void **state)
{
    /* Ascending; neighbours with the same rank are equal. */
    static const struct {
        const char *id;
        int rank;
    } integers[] = {{"-100000000000000000000", 0},
                    {"-99", 1},
                    {"-9", 2},
                    {"-09", 2},
                    {"-0", 3},
                    {"0", 3},
                    {"000", 3},
                    {"7", 4},
                    {"007", 4},
                    {"18", 5},
                    {"184", 6},
                    {"184000", 7},
                    {"99999999999999999999", 8},
                    {"100000000000000000000", 9},
                    {"0100000000000000000000", 9}},
      objectids[] = {{"000000000000000000000009", 0},
                     {"507f1f77bcf86cd799439011", 1},
                     {"507F1F77BCF86CD799439011", 1},
                     {"665f000000000000000000a0", 2},
                     {"ffffffffffffffffffffffff", 3}},
      texts[] = {{"", 0}, {"-", 1}, {"A", 2}, {"a", 3}, {"nightly-10", 4}, {"nightly-9", 5}};

    (void)state;
#define CHECK_ORDER(list)                                                                                              \
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {                                                        \
        for (size_t j = 0; j < sizeof list / sizeof list[0]; j++)                                                      \
            assert_int_equal(sign(cra_route_compare(list[i].id, list[j].id)), sign(list[i].rank - list[j].rank));      \
    }
    CHECK_ORDER(integers)
    CHECK_ORDER(objectids)
    CHECK_ORDER(texts)
}

static void build(cra_route_list *list, const cra_allocator *allocator, const char *const *boundaries)
{
    cra_route_list_init(list, allocator);
    for (; *boundaries != NULL; boundaries++)
        assert_int_equal(cra_route_list_add(list, *boundaries, *boundaries), CRA_OK);
}

static void boundaries_part_the_runs(void **state)
{
    cra_test_allocator kit;
    cra_route_list list;
    char id[40];
    unsigned seed = 3;

    (void)state;
    cra_test_allocator_init(&kit);
    for (int round = 0; round < 300; round++) {
        int64_t boundaries[6];
        int64_t last = -1000;
        cra_route_list_init(&list, &kit.allocator);
        for (size_t i = 0; i < 6; i++) {
            seed = seed * 1103515245u + 12345u;
            last += 1 + (int64_t)(seed >> 16) % 700;
            boundaries[i] = last;
            snprintf(id, sizeof id, "%lld", (long long)last);
            assert_int_equal(cra_route_list_add(&list, id, "memory:a"), CRA_OK);
        }
        assert_int_equal(cra_route_list_add(&list, NULL, "memory:b"), CRA_OK);
        assert_int_equal(cra_route_list_check(&list, NULL), CRA_OK);
        for (size_t i = 0; i < 6; i++) {
            snprintf(id, sizeof id, "%lld", (long long)boundaries[i] - 1);
            if (i == 0 || boundaries[i] - boundaries[i - 1] > 1)
                assert_int_equal(cra_route_list_choose(&list, id), i);
            snprintf(id, sizeof id, "%lld", (long long)boundaries[i]);
            assert_int_equal(cra_route_list_choose(&list, id), i);
            snprintf(id, sizeof id, "%s%lld", boundaries[i] + 1 < 0 ? "" : "00", (long long)boundaries[i] + 1);
            assert_int_equal(cra_route_list_choose(&list, id), i + 1);
        }
        cra_route_list_cleanup(&list);
    }
    cra_test_allocator_check(&kit);
}

static void wrong_lists_are_refused(void **state)
{
    static const struct {
        const char *boundaries[4];
        bool open;
        const char *message;
    } cases[] = {{{NULL}, false, "no route"},
                 {{"1", NULL}, false, "must be open"},
                 {{"2", "1", NULL}, true, "above"},
                 {{"2", "02", NULL}, true, "above"},
                 {{"2", "b", NULL}, true, "different kinds"},
                 {{"9", "10", "abc"}, true, "different kinds"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_route_list list;
        cra_error err = {0};
        const char *boundaries[5] = {NULL};
        memcpy(boundaries, cases[i].boundaries, sizeof cases[i].boundaries);
        build(&list, NULL, boundaries);
        if (cases[i].open)
            assert_int_equal(cra_route_list_add(&list, NULL, "x:"), CRA_OK);
        assert_int_equal(cra_route_list_check(&list, &err), CRA_INVALID);
        assert_non_null(strstr(err.message, cases[i].message));
        cra_route_list_cleanup(&list);
    }

    cra_route_list list;
    cra_error err = {0};
    cra_route_list_init(&list, NULL);
    assert_int_equal(cra_route_list_add(&list, NULL, "x:"), CRA_OK);
    assert_int_equal(cra_route_list_check(&list, &err), CRA_OK);
    assert_int_equal(cra_route_list_choose(&list, "anything"), 0);
    assert_int_equal(cra_route_list_add(&list, NULL, "y:"), CRA_OK);
    assert_int_equal(cra_route_list_check(&list, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "only the last"));
    cra_route_list_cleanup(&list);
    cra_route_list_cleanup(&list);
}

static void objectids_of_digits_fit_among_the_others(void **state)
{
    static const char *const boundaries[] = {"507f1f77bcf86cd799439011", "600000000000000000000000",
                                             "665f000000000000000000a0", NULL};
    cra_route_list list;

    (void)state;
    build(&list, NULL, boundaries);
    assert_int_equal(cra_route_list_add(&list, NULL, "x:"), CRA_OK);
    assert_int_equal(cra_route_list_check(&list, NULL), CRA_OK);
    assert_int_equal(cra_route_list_choose(&list, "5fffffffffffffffffffffff"), 1);
    assert_int_equal(cra_route_list_choose(&list, "600000000000000000000000"), 1);
    assert_int_equal(cra_route_list_choose(&list, "600000000000000000000001"), 2);
    cra_route_list_cleanup(&list);
}

static cra_status fill(const cra_allocator *allocator, void *user)
{
    cra_route_list list;
    cra_status status = CRA_OK;

    (void)user;
    cra_route_list_init(&list, allocator);
    for (int i = 0; i < 20 && status == CRA_OK; i++) {
        const size_t before = list.count;
        status = cra_route_list_add(&list, i % 2 ? "5" : NULL, "memory:");
        assert_int_equal(list.count, before + (status == CRA_OK ? 1 : 0));
    }
    cra_route_list_cleanup(&list);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    cra_torture(fill, NULL, CRA_OK, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_ordered),         cmocka_unit_test(boundaries_part_the_runs),
        cmocka_unit_test(wrong_lists_are_refused), cmocka_unit_test(objectids_of_digits_fit_among_the_others),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
