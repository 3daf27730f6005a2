/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <crawlarchive/sys/backend.h>

#include "base/buf.h"
#include "core/config.h"
#include "kit/data.h"
#include "kit/test_allocator.h"

static char folder[256];
static char path[300];

static int make_folder(void **state)
{
    (void)state;
    cra_test_make_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/crawl.yaml", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    cra_test_remove_tree(folder);
    return 0;
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static cra_context *new_context(cra_test_allocator *kit)
{
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;

    cra_test_allocator_init(kit);
    options.allocator = &kit->allocator;
    assert_int_equal(cra_context_new(&options, &context, NULL), CRA_OK);
    return context;
}

static void the_written_template_is_read_back(void **state)
{
    cra_test_allocator kit;
    cra_context *context = new_context(&kit);
    cra_config *config = NULL;
    cra_error err = {0};
    cra_buf text;
    char expected[400];

    (void)state;
    cra_buf_init(&text, NULL);
    assert_int_equal(cra_config_template(&text), CRA_OK);
    write_file(cra_buf_cstr(&text));
    cra_buf_cleanup(&text);
    assert_int_equal(cra_config_new(context, &config, &err), CRA_OK);
    if (cra_config_load_file(config, path, &err) != CRA_OK)
        fail_msg("%s", err.message);
    snprintf(expected, sizeof expected, "sqlite:%s/crawlarchive.db", folder);
    assert_string_equal(cra_config_text(config, "catalog.uri"), expected);
    /* Built without SQLite, the file is refused for its scheme alone. */
    if (cra_config_validate(config, &err) != CRA_OK)
        assert_non_null(strstr(err.message, "scheme"));
    cra_config_free(config);
    cra_context_free(context);
    cra_test_allocator_check(&kit);
}

static void relative_names_are_made_absolute(void **state)
{
    cra_test_allocator kit;
    cra_context *context = new_context(&kit);
    cra_config *config = NULL;
    cra_error err = {0};
    char before[512];

    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    write_file("version: 1\ncatalog: {uri: 'memory:'}\nhot: {uri: 'memory:'}\narchive: {uri: 'memory:'}\n"
               "spool: {folder: spool}\n");
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(cra_config_new(context, &config, &err), CRA_OK);
    const cra_status status = cra_config_load_file(config, "crawl.yaml", &err);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(status, CRA_OK);
    assert_int_equal(cra_config_text(config, "spool.folder")[0], '/');
    assert_int_equal(cra_config_validate(config, &err), CRA_OK);
    assert_string_equal(cra_config_find(config, "hot.uri")->source, "crawl.yaml:3");
    assert_int_equal(cra_config_set(config, "hot.uri", "memry:", &err), CRA_OK);
    assert_int_equal(cra_config_validate(config, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "did you mean \"memory\"?"));
    cra_config_free(config);
    cra_context_free(context);
    cra_test_allocator_check(&kit);
}

static void files_that_cannot_be_read(void **state)
{
    cra_test_allocator kit;
    cra_context *context = new_context(&kit);
    cra_config *config = NULL;
    cra_error err = {0};

    (void)state;
    assert_int_equal(cra_config_new(context, &config, &err), CRA_OK);
    assert_int_equal(cra_config_load_file(config, "/nonexistent/crawl.yaml", &err), CRA_NOT_FOUND);
    assert_non_null(strstr(err.message, "/nonexistent/crawl.yaml"));
    assert_int_not_equal(cra_config_load_file(config, folder, &err), CRA_OK);
    write_file("version: 1\nlease: {ttl: 1}\n");
    assert_int_equal(cra_config_load_file(config, path, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "crawl.yaml:2: lease.ttl"));
    assert_int_equal(cra_config_load_file(NULL, path, &err), CRA_INVALID);
    assert_int_equal(cra_config_load_file(config, NULL, &err), CRA_INVALID);
    assert_int_equal(cra_config_validate(NULL, &err), CRA_INVALID);
    assert_int_equal(cra_config_new(context, NULL, &err), CRA_INVALID);
    cra_config_free(config);
    assert_int_equal(cra_config_new(NULL, &config, &err), CRA_INVALID);
    assert_null(config);
    cra_context_free(context);
    cra_test_allocator_check(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_written_template_is_read_back),
        cmocka_unit_test(relative_names_are_made_absolute),
        cmocka_unit_test(files_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
