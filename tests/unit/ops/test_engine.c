/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "kit/data.h"
#include "kit/life.h"
#include "ops/engine.h"

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

static void an_engine_holds_what_the_configuration_names(void **state)
{
    cra_life *life = *state;
    const cra_route_list *routes = cra_engine_routes(life->engine);
    cra_blobstore *first = NULL, *again = NULL;
    cra_error error = {0};

    assert_non_null(cra_engine_catalog(life->engine));
    assert_non_null(cra_engine_docstore(life->engine));
    assert_ptr_equal(cra_engine_context(life->engine), life->context);
    assert_ptr_equal(cra_engine_config(life->engine), life->config);
    assert_string_equal(cra_engine_run_field(life->engine), "run_id");
    assert_int_equal(routes->count, 1);
    cra_life_expect(cra_engine_blobstore(life->engine, routes->entries[0].uri, &first, &error), CRA_OK, &error);
    cra_life_expect(cra_engine_blobstore(life->engine, routes->entries[0].uri, &again, &error), CRA_OK, &error);
    assert_ptr_equal(first, again);
    assert_int_equal(cra_engine_blobstore(life->engine, "nowhere:x", &first, &error), CRA_INVALID);
    assert_null(first);
}

static void a_planner_cannot_write(void **state)
{
    cra_life *life = *state;
    const cra_route_list *routes = cra_engine_routes(life->engine);
    cra_engine *planner = NULL;
    cra_blobstore *store = NULL;
    cra_blob_info info = {.struct_size = sizeof(info)};
    cra_error error = {0};
    cra_run *run = NULL;

    cra_life_make_run(life, "prices", "1", 3);
    cra_life_expect(cra_engine_read_only(life->engine, &planner, &error), CRA_OK, &error);
    assert_true(cra_engine_is_read_only(planner));
    cra_life_expect(cra_run_get(planner, "prices", "1", &run, &error), CRA_OK, &error);
    assert_int_equal(cra_run_hold(planner, run, NULL, NULL, &error), CRA_DENIED);
    assert_int_equal(cra_run_add(planner, "prices", "2", NULL, NULL, &error), CRA_DENIED);
    cra_life_expect(cra_engine_blobstore(planner, routes->entries[0].uri, &store, &error), CRA_OK, &error);
    assert_int_equal(cra_blobstore_put(store, "x", cra_bytes_of_str("x"), 0, &info, &error), CRA_DENIED);
    cra_run_free(run);
    cra_engine_free(planner);
    assert_int_equal(cra_life_count(life, "prices", "1"), 3);
}

static void stores_are_not_made_unless_asked(void **state)
{
    cra_life *life = *state;
    cra_config *config = NULL;
    cra_engine *engine = NULL;
    cra_error error = {0};
    char uri[600];

    cra_life_expect(cra_config_new(life->context, &config, &error), CRA_OK, &error);
    snprintf(uri, sizeof(uri), "sqlite:%s/absent.db", life->folder);
    cra_life_expect(cra_config_set(config, "catalog.uri", uri, &error), CRA_OK, &error);
    cra_life_expect(cra_config_set(config, "hot.uri", uri, &error), CRA_OK, &error);
    cra_life_expect(cra_config_set(config, "archive.uri", "memory:", &error), CRA_OK, &error);
    cra_life_expect(cra_config_validate(config, &error), CRA_OK, &error);
    assert_int_equal(cra_engine_open(life->context, config, 0, &engine, &error), CRA_NOT_FOUND);
    assert_null(engine);
    assert_true(error.message[0] != '\0');
    cra_life_expect(cra_engine_open(life->context, config, CRA_ENGINE_CREATE, &engine, &error), CRA_OK, &error);
    cra_engine_free(engine);
    cra_life_expect(cra_engine_open(life->context, config, 0, &engine, &error), CRA_OK, &error);
    cra_engine_free(engine);
    cra_config_free(config);
}

struct checks {
    size_t good, bad;
    char stores[200];
};

static void see(void *user, const cra_check *check)
{
    struct checks *checks = user;
    const size_t used = strlen(checks->stores);

    assert_non_null(check->detail);
    if (check->ok)
        checks->good++;
    else
        checks->bad++;
    snprintf(checks->stores + used, sizeof(checks->stores) - used, "%s ", check->store);
}

static void every_store_is_tried(void **state)
{
    cra_life *life = *state;
    struct checks checks = {0};
    cra_error error = {0};

    cra_life_make_run(life, "prices", "1", 3);
    cra_life_expect(cra_engine_check(life->context, life->config, see, &checks, &error), CRA_OK, &error);
    assert_int_equal(checks.good, 3);
    assert_string_equal(checks.stores, "catalog hot archive ");
    cra_life_expect(cra_config_set(life->config, "archive.uri", "file:/proc/nowhere/archive", &error), CRA_OK, &error);
    memset(&checks, 0, sizeof(checks));
    assert_int_equal(cra_engine_check(life->context, life->config, see, &checks, &error), CRA_PARTIAL);
    assert_int_equal(checks.bad, 1);
}

static void events_are_told_where_they_are_configured(void **state)
{
    cra_life *life = *state;
    char uri[620], path[600];
    const char *settings[] = {"events.uri", uri, NULL};
    cra_run *run;
    cra_buf text;

    snprintf(path, sizeof(path), "%s/events.jsonl", life->folder);
    snprintf(uri, sizeof(uri), "jsonl:%s", path);
    cra_life_make_run(life, "prices", "1", 0);
    cra_life_reopen(life, settings);
    run = cra_life_run(life, "prices", "1");
    cra_engine_emit(life->engine, "run.restored", cra_run_doc_of(run), cra_bytes_of(NULL, 0));
    cra_run_free(run);
    cra_life_reopen(life, NULL);
    cra_buf_init(&text, NULL);
    cra_test_read_file(path, &text);
    assert_non_null(strstr(cra_buf_cstr(&text), "run.restored"));
    assert_non_null(strstr(cra_buf_cstr(&text), "prices/1"));
    cra_buf_cleanup(&text);
}

static void uris_are_shown_without_secrets(void **state)
{
    static const struct {
        const char *uri, *shown;
    } cases[] = {
        {"mongodb://user:secret@host/db?x=y", "mongodb://host/db"},
        {"mongodb://us@er:se@cret@host:1/db", "mongodb://host:1/db"},
        {"sqlite:/a/b@c.db", "sqlite:/a/b@c.db"},
        {"s3://bucket/prefix?key=secret", "s3://bucket/prefix"},
        {"memory:", "memory:"},
    };
    char shown[64];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cra_engine_redact(cases[i].uri, shown, sizeof(shown));
        assert_string_equal(shown, cases[i].shown);
    }
    cra_engine_redact("sqlite:/long/path", shown, 8);
    assert_string_equal(shown, "sqlite:");
}

static cra_status open_once(const cra_allocator *allocator, void *user)
{
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;
    cra_config *config = NULL;
    cra_engine *engine = NULL;
    cra_error error = {0};
    cra_status status;

    (void)user;
    options.allocator = allocator;
    status = cra_context_new(&options, &context, &error);
    if (status == CRA_OK)
        status = cra_config_new(context, &config, &error);
    if (status == CRA_OK)
        status = cra_config_set(config, "catalog.uri", "memory:", &error);
    if (status == CRA_OK)
        status = cra_config_set(config, "hot.uri", "memory:", &error);
    if (status == CRA_OK)
        status = cra_config_set(config, "archive.uri", "memory:", &error);
    if (status == CRA_OK)
        status = cra_config_validate(config, &error);
    if (status == CRA_OK)
        status = cra_engine_open(context, config, CRA_ENGINE_CREATE, &engine, &error);
    cra_engine_free(engine);
    cra_config_free(config);
    cra_context_free(context);
    return status;
}

static void opening_without_memory(void **state)
{
    (void)state;
    cra_torture(open_once, NULL, CRA_OK, 400);
}

int main(void)
{
#define BOTH(name)                                                                                                     \
    cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down),                                                   \
        cmocka_unit_test_setup_teardown(name, set_up_sqlite, tear_down)
    const struct CMUnitTest tests[] = {
        BOTH(an_engine_holds_what_the_configuration_names),
        BOTH(a_planner_cannot_write),
        cmocka_unit_test_setup_teardown(stores_are_not_made_unless_asked, set_up_sqlite, tear_down),
        cmocka_unit_test_setup_teardown(every_store_is_tried, set_up_sqlite, tear_down),
        cmocka_unit_test_setup_teardown(events_are_told_where_they_are_configured, set_up_sqlite, tear_down),
        cmocka_unit_test(uris_are_shown_without_secrets),
        cmocka_unit_test(opening_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
