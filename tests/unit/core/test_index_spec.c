/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/bson.h>

#include "base/buf.h"
#include "core/config.h"
#include "core/index_spec.h"
#include "kit/test_allocator.h"

/* Index documents from text, by the way that users write them. */
static cra_status documents(const cra_allocator *allocator, const char *yaml, cra_buf *out)
{
    cra_config *config = NULL;
    size_t count;

    cra_status status = cra_config_create(allocator, &config, NULL);
    if (status == CRA_OK)
        status = cra_config_set(config, "indexes.default", yaml, NULL);
    if (status == CRA_OK)
        status = cra_config_indexes(config, NULL, out, &count, NULL);
    cra_config_free(config);
    return status;
}

static cra_status note(void *user, const cra_index_difference *d)
{
    if (d->state == CRA_INDEX_STATE_INVALID)
        assert_non_null(d->detail);
    return cra_buf_appendf(user, "%s:%s%s%s%s ", d->name, cra_index_state_name(d->state), d->ttl ? ":ttl" : "",
                           d->detail == NULL ? "" : ":", d->detail == NULL ? "" : d->detail);
}

static cra_status compare(const cra_allocator *allocator, const char *wanted_yaml, const char *present_yaml,
                          cra_buf *told)
{
    cra_buf wanted;
    cra_buf present;

    cra_buf_init(&wanted, allocator);
    cra_buf_init(&present, allocator);
    cra_status status = documents(allocator, wanted_yaml, &wanted);
    if (status == CRA_OK)
        status = documents(allocator, present_yaml, &present);
    if (status == CRA_OK)
        status = cra_index_spec_diff(allocator, cra_buf_bytes(&wanted), cra_buf_bytes(&present), note, told, NULL);
    cra_buf_cleanup(&wanted);
    cra_buf_cleanup(&present);
    return status;
}

static void differences_are_told(void **state)
{
#define ID "{v: 2, key: {_id: 1}, name: _id_}"
    static const struct {
        const char *wanted;
        const char *present;
        const char *told[3]; /* parts in this order */
        size_t count;        /* of indexes told */
    } cases[] = {
        {"[]", "[" ID "]", {""}, 0},
        {"[{key: {url: 1}}]", "[" ID "]", {"url_1:missing "}, 1},
        {"[{key: {url: 1}}]", "[]", {"url_1:missing "}, 1},
        {"[{key: {url: 1}}]", "[" ID ", {v: 2, key: {url: 1}, name: url_1}]", {"url_1:same "}, 1},
        {"[{key: {url: 1}, unique: false}]", "[{v: 2, key: {url: 1.0}, name: url_1}]", {"url_1:same "}, 1},
        {"[{key: {url: 1}, name: mine}]",
         "[{v: 2, key: {url: 1}, name: url_1}]",
         {"mine:different:the index 'url_1' has the key"},
         1},
        {"[{key: {url: -1}, name: url_1}]",
         "[{v: 2, key: {url: 1}, name: url_1}]",
         {"url_1:different:the index 'url_1' has the name"},
         1},
        {"[{key: {at: 1}, expireAfterSeconds: 60}]", "[]", {"at_1:missing:ttl "}, 1},
        {"[{key: {at: 1}, expireAfterSeconds: 60}]",
         "[{v: 2, key: {at: 1}, name: at_1, expireAfterSeconds: 90}]",
         {"at_1:different:ttl:"},
         1},
        {"[{key: {at: 1, b: 1}, expireAfterSeconds: 60}]", "[]", {":invalid:ttl:", "one field"}, 1},
        {"[{key: {_id: 1}}]", "[]", {"_id_1:same "}, 1},
        {"[{key: {_id: hashed}}]", "[" ID "]", {"_id_hashed:missing "}, 1},
        {"[]", "[" ID ", {v: 2, key: {old: 1}, name: old_1}]", {"old_1:extra "}, 1},
        {"[]", "[{v: 2, key: {old: 1}, name: odd, strange: 1}]", {"odd:extra "}, 1},
        {"[{key: {a: 1}}, {key: {a: 1}}]", "[]", {"a_1:missing "}, 1},
        {"[{key: {a: 1}}, {key: {a: 1}, name: b}]",
         "[]",
         {"a_1:missing ", "b:different:another wanted index, 'a_1' has the key"},
         2},
        {"[{key: {a: 0}}, {key: {b: 1}}, {key: {c: 1}}]",
         "[{v: 2, key: {c: 1}, name: c_1}]",
         {":invalid:", "b_1:missing ", "c_1:same "},
         3},
    };
    cra_test_allocator kit;
    cra_buf told;

    (void)state;
    cra_test_allocator_init(&kit);
    cra_buf_init(&told, &kit.allocator);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_buf_clear(&told);
        assert_int_equal(compare(&kit.allocator, cases[i].wanted, cases[i].present, &told), CRA_OK);
        const char *text = cra_buf_cstr(&told);
        const char *at = text;
        size_t spaces = 0;
        for (size_t j = 0; j < 3 && cases[i].told[j] != NULL; j++) {
            at = strstr(at, cases[i].told[j]);
            if (at == NULL)
                fail_msg("case %zu: '%s' is not in '%s'", i, cases[i].told[j], text);
        }
        static const char *const words[] = {":same ", ":missing", ":different", ":invalid", ":extra"};
        for (size_t w = 0; w < 5; w++) {
            for (const char *hit = strstr(text, words[w]); hit != NULL; hit = strstr(hit + 1, words[w]))
                spaces++;
        }
        if (spaces != cases[i].count)
            fail_msg("case %zu: '%s'", i, text);
    }
    cra_buf_cleanup(&told);
    cra_test_allocator_check(&kit);
}

static cra_status stop(void *user, const cra_index_difference *difference)
{
    (void)user;
    (void)difference;
    return CRA_CANCELLED;
}

static void damage_and_stops_are_passed_on(void **state)
{
    cra_buf wanted;
    const uint8_t junk[] = {9, 0, 0, 0, 1};
    const cra_bytes damaged = cra_bytes_of(junk, sizeof junk);
    const cra_bytes none = {NULL, 0};

    (void)state;
    cra_buf_init(&wanted, NULL);
    assert_int_equal(documents(NULL, "[{key: {a: 1}}, {key: {a: 0}}]", &wanted), CRA_OK);
    assert_int_equal(cra_index_spec_diff(NULL, damaged, none, stop, NULL, NULL), CRA_CORRUPT);
    assert_int_equal(cra_index_spec_diff(NULL, none, damaged, stop, NULL, NULL), CRA_CORRUPT);
    assert_int_equal(cra_index_spec_diff(NULL, cra_buf_bytes(&wanted), none, stop, NULL, NULL), CRA_CANCELLED);
    assert_int_equal(cra_index_spec_diff(NULL, none, cra_buf_bytes(&wanted), stop, NULL, NULL), CRA_CANCELLED);
    assert_false(cra_index_spec_is_ttl(damaged));
    assert_false(cra_index_spec_is_id(damaged));
    cra_buf_cleanup(&wanted);
}

static void states_have_names(void **state)
{
    (void)state;
    assert_string_equal(cra_index_state_name(CRA_INDEX_STATE_BUILDING), "building");
    assert_string_equal(cra_index_state_name(CRA_INDEX_STATE_CREATED), "created");
    assert_string_equal(cra_index_state_name((cra_index_state)99), "unknown");
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    cra_buf told;

    (void)user;
    cra_buf_init(&told, allocator);
    const cra_status status =
        compare(allocator, "[{key: {a: 1}}, {key: {b: 1}, name: c}, {key: {d: 0}}]",
                "[" ID ", {v: 2, key: {b: 1}, name: b_1}, {v: 2, key: {e: 1}, name: e, odd: 1}]", &told);
    cra_buf_cleanup(&told);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    cra_torture(attempt, NULL, CRA_OK, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_told),
        cmocka_unit_test(damage_and_stops_are_passed_on),
        cmocka_unit_test(states_have_names),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
