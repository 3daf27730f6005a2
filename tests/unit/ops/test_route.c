/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/route.h>

#include "base/buf.h"
#include "kit/life.h"

/* Routes are a list, so they come from a file. */
static void load_routes(cra_life *life)
{
    char text[3000];
    cra_error error = {0};

    cra_engine_free(life->engine);
    cra_config_free(life->config);
    snprintf(text, sizeof(text),
             "version: 1\n"
             "catalog: {uri: \"sqlite:%s/crawl.db\"}\n"
             "hot: {uri: \"sqlite:%s/crawl.db\"}\n"
             "archive:\n"
             "  routes:\n"
             "    - {until: 184000, uri: \"file:%s/old\"}\n"
             "    - {uri: \"file:%s/new\"}\n",
             life->folder, life->folder, life->folder, life->folder);
    cra_life_expect(cra_config_new(life->context, &life->config, &error), CRA_OK, &error);
    cra_life_expect(cra_config_load_text(life->config, cra_bytes_of_str(text), "test.yaml", life->folder, &error),
                    CRA_OK, &error);
    cra_life_expect(cra_config_validate(life->config, &error), CRA_OK, &error);
    cra_life_expect(cra_engine_open(life->context, life->config, CRA_ENGINE_CREATE, &life->engine, &error), CRA_OK,
                    &error);
}

static int set_up(void **state)
{
    cra_life *life = test_calloc(1, sizeof(*life));

    cra_life_open(life, CRA_LIFE_SQLITE, NULL);
    load_routes(life);
    *state = life;
    return 0;
}

static int tear_down(void **state)
{
    cra_life_close(*state);
    test_free(*state);
    return 0;
}

struct seen {
    char uri[700], store[700], name[100];
};

static cra_status see(void *user, const cra_route *route)
{
    struct seen *seen = user;

    snprintf(seen->uri, sizeof(seen->uri), "%s", route->uri);
    snprintf(seen->store, sizeof(seen->store), "%s", route->store);
    snprintf(seen->name, sizeof(seen->name), "%s", route->name);
    return CRA_OK;
}

static struct seen route_of(cra_life *life, const char *run)
{
    struct seen seen = {"", "", ""};
    cra_error error = {0};

    cra_life_expect(cra_route_of(life->engine, "prices", run, see, &seen, &error), CRA_OK, &error);
    return seen;
}

static void the_boundary_belongs_to_the_old_place(void **state)
{
    cra_life *life = *state;
    struct seen seen = route_of(life, "184000");

    assert_string_equal(seen.name, "until 184000");
    assert_non_null(strstr(seen.store, "/old"));
    assert_non_null(strstr(seen.uri, "/old/prices/184000"));
    seen = route_of(life, "184001");
    assert_string_equal(seen.name, "default");
    assert_non_null(strstr(seen.uri, "/new/prices/184001"));
    seen = route_of(life, "9");
    assert_string_equal(seen.name, "until 184000");
}

static void a_stored_location_wins(void **state)
{
    cra_life *life = *state;
    char location[700];
    cra_error error = {0};
    struct seen seen;
    cra_run_doc doc;

    cra_life_make_run(life, "prices", "184001", 0);
    snprintf(location, sizeof(location), "file:%s/old/prices/184001/", life->folder);
    cra_life_expect(cra_catalog_run_get(cra_engine_catalog(life->engine), "prices", "184001", &doc, &error), CRA_OK,
                    &error);
    assert_int_equal(cra_run_doc_set_text(&doc.location, location, cra_context_allocator(life->context)), CRA_OK);
    cra_life_expect(cra_catalog_run_replace(cra_engine_catalog(life->engine), &doc, doc.version, NULL, &error), CRA_OK,
                    &error);
    cra_run_doc_cleanup(&doc, cra_context_allocator(life->context));
    seen = route_of(life, "184001");
    assert_string_equal(seen.name, "stored");
    assert_non_null(strstr(seen.uri, "/old/prices/184001"));
}

static void other_writers_get_the_list(void **state)
{
    cra_life *life = *state;
    cra_error error = {0};
    const char *text;
    cra_buf out;

    cra_buf_init(&out, NULL);
    cra_life_expect(cra_route_export(life->engine, &out, &error), CRA_OK, &error);
    text = cra_buf_cstr(&out);
    assert_non_null(strstr(text, "\"version\""));
    assert_non_null(strstr(text, "{report}/{run}"));
    assert_non_null(strstr(text, "184000"));
    assert_non_null(strstr(text, "/old"));
    assert_non_null(strstr(text, "/new"));
    cra_buf_cleanup(&out);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_boundary_belongs_to_the_old_place),
        TEST(a_stored_location_wins),
        TEST(other_writers_get_the_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
