/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/index.h>

#include "backends/memory/memory.h"
#include "base/buf.h"
#include "kit/life.h"

/* ---- a memory docstore whose index builds lose their answers ------------------------------------- */

static struct {
    const cra_docstore_vtable *inner;
    cra_docstore_vtable outer;
    int lose; /* answers still to be lost: the index is built all the same */
    int calls;
} lossy;

static cra_status lossy_ensure(void *self, const char *collection, cra_bytes spec, cra_index_outcome *outcome,
                               cra_error *err)
{
    const cra_status status = lossy.inner->index_ensure(self, collection, spec, outcome, err);

    lossy.calls++;
    if (status == CRA_OK && lossy.lose > 0) {
        lossy.lose--;
        return cra_error_set(err, CRA_TIMEOUT, "lossy", "no answer in time");
    }
    return status;
}

static cra_status open_lossy(const cra_open_args *args, const cra_docstore_vtable **vtable, void **self, cra_error *err)
{
    const cra_status status = cra_memory_docstore_open(args, &lossy.inner, self, err);

    if (status != CRA_OK)
        return status;
    lossy.outer = *lossy.inner;
    lossy.outer.index_ensure = lossy_ensure;
    *vtable = &lossy.outer;
    return CRA_OK;
}

static const cra_backend backend = {
    .struct_size = sizeof(backend),
    .abi_version = CRA_ABI_VERSION,
    .scheme = "lossy",
    .description = "a memory docstore that loses answers",
    .open_docstore = open_lossy,
};

/* ---- fixture ----------------------------------------------------------------------------------- */

static int open_life(void **state, cra_life_kind kind, const char *const *settings)
{
    cra_life *life = test_calloc(1, sizeof(*life));

    memset(&lossy, 0, sizeof(lossy));
    cra_life_open_with(life, kind, settings, &backend);
    *state = life;
    return 0;
}

static int set_up_memory(void **state)
{
    return open_life(state, CRA_LIFE_MEMORY, NULL);
}

static int set_up_sqlite(void **state)
{
    return open_life(state, CRA_LIFE_SQLITE, NULL);
}

static int set_up_lossy(void **state)
{
    static const char *const settings[] = {"hot.uri", "lossy:", NULL};

    return open_life(state, CRA_LIFE_MEMORY, settings);
}

static int tear_down(void **state)
{
    cra_life_close(*state);
    test_free(*state);
    return 0;
}

static void append_spec(cra_buf *out, const char *json)
{
    assert_int_equal(cra_bson_from_json(cra_bytes_of_str(json), out, NULL, NULL), CRA_OK);
}

struct seen {
    char text[1000]; /* "name=state " … */
    char detail[300];
};

static void see(void *user, const cra_index_item *item)
{
    struct seen *seen = user;
    const size_t used = strlen(seen->text);

    snprintf(seen->text + used, sizeof(seen->text) - used, "%s=%s ", item->name, cra_index_state_name(item->state));
    if (item->detail != NULL)
        snprintf(seen->detail, sizeof(seen->detail), "%s", item->detail);
    assert_string_equal(item->collection, "records_prices");
}

typedef cra_status (*call_fn)(cra_engine *engine, const cra_index_options *options, cra_index_fn each, void *user,
                              cra_error *err);

static cra_status call(cra_life *life, call_fn function, const cra_buf *specs, bool skip_ttl, struct seen *seen)
{
    cra_index_options options = CRA_INDEX_OPTIONS_INIT;
    cra_error error = {0};

    memset(seen, 0, sizeof(*seen));
    options.report = "prices";
    options.skip_ttl = skip_ttl;
    if (specs != NULL)
        options.specs = cra_buf_bytes(specs);
    return function(life->engine, &options, see, seen, &error);
}

/* ---- tests ------------------------------------------------------------------------------------- */

static void what_is_missing_is_created_once(void **state)
{
    cra_life *life = *state;
    struct seen seen;
    cra_buf specs;

    cra_buf_init(&specs, NULL);
    append_spec(&specs, "{\"key\":{\"run_id\":1}}");
    append_spec(&specs, "{\"key\":{\"url\":1},\"name\":\"by_url\"}");
    assert_int_equal(call(life, cra_index_diff, &specs, false, &seen), CRA_OK);
    assert_string_equal(seen.text, "run_id_1=missing by_url=missing ");
    assert_int_equal(call(life, cra_index_list, NULL, false, &seen), CRA_NOT_FOUND); /* a diff writes nothing */
    assert_int_equal(call(life, cra_index_ensure, &specs, false, &seen), CRA_OK);
    assert_string_equal(seen.text, "run_id_1=created by_url=created ");
    assert_int_equal(call(life, cra_index_ensure, &specs, false, &seen), CRA_OK);
    assert_string_equal(seen.text, "run_id_1=same by_url=same ");
    assert_int_equal(call(life, cra_index_list, NULL, false, &seen), CRA_OK);
    assert_non_null(strstr(seen.text, "_id_=same"));
    assert_non_null(strstr(seen.text, "by_url=same"));
    cra_buf_cleanup(&specs);
}

static void one_bad_spec_holds_up_no_other(void **state)
{
    cra_life *life = *state;
    struct seen seen;
    cra_buf specs;

    cra_buf_init(&specs, NULL);
    append_spec(&specs, "{\"key\":{\"run_id\":1}}");
    append_spec(&specs, "{\"key\":{\"a\":1,\"b\":1},\"name\":\"bad\",\"expireAfterSeconds\":60}");
    append_spec(&specs, "{\"key\":{\"url\":1},\"name\":\"by_url\"}");
    assert_int_equal(call(life, cra_index_ensure, &specs, false, &seen), CRA_PARTIAL);
    assert_string_equal(seen.text, "run_id_1=created bad=invalid by_url=created ");
    assert_true(seen.detail[0] != '\0');
    cra_buf_cleanup(&specs);
}

static void a_clash_is_named_and_left_alone(void **state)
{
    cra_life *life = *state;
    struct seen seen;
    cra_buf specs;

    cra_buf_init(&specs, NULL);
    append_spec(&specs, "{\"key\":{\"url\":1},\"name\":\"by_url\"}");
    append_spec(&specs, "{\"key\":{\"old\":1},\"name\":\"old_1\"}");
    assert_int_equal(call(life, cra_index_ensure, &specs, false, &seen), CRA_OK);
    cra_buf_clear(&specs);
    append_spec(&specs, "{\"key\":{\"title\":1},\"name\":\"by_url\"}");
    assert_int_equal(call(life, cra_index_diff, &specs, false, &seen), CRA_OK);
    assert_string_equal(seen.text, "by_url=different old_1=extra ");
    assert_int_equal(call(life, cra_index_ensure, &specs, false, &seen), CRA_PARTIAL);
    assert_string_equal(seen.text, "by_url=different old_1=extra ");
    cra_buf_cleanup(&specs);
}

static void a_ttl_index_may_be_left_out(void **state)
{
    cra_life *life = *state;
    struct seen seen;
    cra_buf specs;

    cra_buf_init(&specs, NULL);
    append_spec(&specs, "{\"key\":{\"seen\":1},\"name\":\"ttl\",\"expireAfterSeconds\":60}");
    append_spec(&specs, "{\"key\":{\"url\":1},\"name\":\"by_url\"}");
    assert_int_equal(call(life, cra_index_ensure, &specs, true, &seen), CRA_OK);
    assert_string_equal(seen.text, "ttl=missing by_url=created ");
    cra_buf_cleanup(&specs);
}

static void a_lost_answer_is_looked_for(void **state)
{
    cra_life *life = *state;
    struct seen seen;
    cra_buf specs;

    cra_buf_init(&specs, NULL);
    append_spec(&specs, "{\"key\":{\"url\":1},\"name\":\"by_url\"}");
    lossy.lose = 1;
    assert_int_equal(call(life, cra_index_ensure, &specs, false, &seen), CRA_OK);
    assert_string_equal(seen.text, "by_url=created ");
    assert_int_equal(lossy.calls, 1);
    cra_buf_cleanup(&specs);
}

static void a_collection_must_be_named(void **state)
{
    cra_life *life = *state;
    cra_index_options options = CRA_INDEX_OPTIONS_INIT;
    cra_error error = {0};

    assert_int_equal(cra_index_list(life->engine, &options, NULL, NULL, &error), CRA_INVALID);
}

int main(void)
{
#define BOTH(name)                                                                                                     \
    cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down),                                                   \
        cmocka_unit_test_setup_teardown(name, set_up_sqlite, tear_down)
    const struct CMUnitTest tests[] = {
        BOTH(what_is_missing_is_created_once),
        BOTH(one_bad_spec_holds_up_no_other),
        BOTH(a_clash_is_named_and_left_alone),
        BOTH(a_ttl_index_may_be_left_out),
        BOTH(a_collection_must_be_named),
        cmocka_unit_test_setup_teardown(a_lost_answer_is_looked_for, set_up_lossy, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
