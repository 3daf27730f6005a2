/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/uri.h"
#include "kit/test_allocator.h"

static cra_test_allocator kit;

static int setup(void **state)
{
    (void)state;
    cra_test_allocator_init(&kit);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cra_test_allocator_check(&kit);
    return 0;
}

static void parses_every_form(void **state)
{
    static const struct {
        const char *text;
        const char *scheme;
        const char *authority;
        const char *path;
        size_t params;
    } table[] = {
        {"file:/var/archive", "file", NULL, "/var/archive", 0},
        {"file:archive", "file", NULL, "archive", 0},
        {"file:///var/archive", "file", "", "/var/archive", 0},
        {"file://localhost/x", "file", "localhost", "/x", 0},
        {"memory:", "memory", NULL, "", 0},
        {"sqlite:/tmp/a%20b%3F.db", "sqlite", NULL, "/tmp/a b?.db", 0},
        {"sqlite:/tmp/a#b.db", "sqlite", NULL, "/tmp/a#b.db", 0},
        {"s3://bucket/prefix/x?region=eu-west-1&endpoint=http%3A%2F%2Flocalhost%3A9000", "s3", "bucket", "/prefix/x",
         2},
        {"s3://bucket?region=x", "s3", "bucket", "", 1},
        {"mongodb://user:p%40ss@h1:27017,h2/db?replicaSet=rs", "mongodb", "user:p%40ss@h1:27017,h2", "/db", 1},
        {"dir+xor:/x", "dir+xor", NULL, "/x", 0},
        {"file:/x?", "file", NULL, "/x", 0},
        {"file:/x?&&a=1&", "file", NULL, "/x", 1},
        {"file:a:b", "file", NULL, "a:b", 0},
        {"file:/\xc3\xa9", "file", NULL, "/\xc3\xa9", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        cra_uri uri;
        cra_error err = {0};
        assert_int_equal(cra_uri_parse(table[i].text, &kit.allocator, &uri, &err), CRA_OK);
        assert_string_equal(uri.scheme, table[i].scheme);
        if (table[i].authority == NULL)
            assert_null(uri.authority);
        else
            assert_string_equal(uri.authority, table[i].authority);
        assert_string_equal(uri.path, table[i].path);
        assert_int_equal(uri.params_count, table[i].params);
        cra_uri_cleanup(&uri);
    }
}

static void refuses_what_is_no_uri(void **state)
{
    static const char *const bad[] = {"",           "file",       ":x",          "/tmp/x",          "File:/x",
                                      "1a:/x",      "fi le:/x",   "file:/%",     "file:/%4",        "file:/%zz",
                                      "file:/%00",  "file:/x?=1", "file:/x?a=%", "file:/x?a=1&a=2", "a-b:/x",
                                      "file:/x?a&a"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cra_uri uri;
        cra_error err = {0};
        assert_int_equal(cra_uri_parse(bad[i], &kit.allocator, &uri, &err), CRA_INVALID);
        assert_true(err.message[0] != '\0');
        assert_null(uri.scheme);
        cra_uri_cleanup(&uri);
    }
}

static void an_error_keeps_the_password(void **state)
{
    cra_uri uri;
    cra_error err = {0};

    (void)state;
    assert_int_equal(cra_uri_parse("mongodb://u:hunter2@h/%", &kit.allocator, &uri, &err), CRA_INVALID);
    assert_null(strstr(err.message, "hunter2"));
    assert_non_null(strstr(err.message, "mongodb"));
}

static void gives_parameters(void **state)
{
    static const char *const known[] = {"region", "endpoint", "path_style"};
    cra_uri uri;
    cra_error err = {0};

    (void)state;
    assert_int_equal(cra_uri_parse("s3://b/p?region=eu%2Dwest&path_style&endpoint=a=b", &kit.allocator, &uri, NULL),
                     CRA_OK);
    assert_string_equal(cra_uri_param_get(&uri, "region"), "eu-west");
    assert_string_equal(cra_uri_param_get(&uri, "path_style"), "");
    assert_string_equal(cra_uri_param_get(&uri, "endpoint"), "a=b");
    assert_null(cra_uri_param_get(&uri, "regio"));
    assert_int_equal(cra_uri_check_params(&uri, known, 3, &err), CRA_OK);
    assert_int_equal(cra_uri_check_params(&uri, known, 2, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "path_style"));
    cra_uri_cleanup(&uri);

    assert_int_equal(cra_uri_parse("s3://b/p?regoin=x", &kit.allocator, &uri, NULL), CRA_OK);
    assert_int_equal(cra_uri_check_params(&uri, known, 3, &err), CRA_INVALID);
    assert_string_equal(err.hint, "did you mean 'region'?");
    cra_uri_cleanup(&uri);
}

static void knows_schemes(void **state)
{
    (void)state;
    assert_true(cra_uri_is_scheme("dir+xor"));
    assert_true(cra_uri_is_scheme("s3"));
    assert_false(cra_uri_is_scheme(""));
    assert_false(cra_uri_is_scheme("s3:"));
    assert_false(cra_uri_is_scheme("+s"));
    assert_false(cra_uri_is_scheme("S3"));
    assert_int_equal(cra_uri_scheme_size("s3://b"), 2);
    assert_int_equal(cra_uri_scheme_size("s3"), 0);
    assert_int_equal(cra_uri_scheme_size("./a:b"), 0);
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    cra_uri uri;
    const cra_status status = cra_uri_parse("s3://bucket/a%20b?region=x&endpoint=y", allocator, &uri, NULL);

    (void)user;
    cra_uri_cleanup(&uri);
    return status;
}

static void survives_lack_of_memory(void **state)
{
    (void)state;
    cra_torture(attempt, NULL, CRA_OK, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parses_every_form, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_is_no_uri, setup, teardown),
        cmocka_unit_test_setup_teardown(an_error_keeps_the_password, setup, teardown),
        cmocka_unit_test_setup_teardown(gives_parameters, setup, teardown),
        cmocka_unit_test(knows_schemes),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("uri", tests, NULL, NULL);
}
