/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "core/naming.h"
#include "kit/test_allocator.h"

static void segments_are_encoded(void **state)
{
    static const struct {
        const char *text;
        const char *name;
    } cases[] = {{"18", "18"},           {"nightly-17", "nightly-17"},
                 {"A.b_c-9", "A.b_c-9"}, {"a/b", "a%2Fb"},
                 {"100%", "100%25"},     {"a b", "a%20b"},
                 {"\x01\x7f", "%01%7F"}, {"t\xC3\xBCr", "t%C3%BCr"},
                 {"...", "..."},         {".hidden", ".hidden"},
                 {"k=v", "k%3Dv"}};
    cra_test_allocator kit;
    cra_buf buf;

    (void)state;
    cra_test_allocator_init(&kit);
    cra_buf_init(&buf, &kit.allocator);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_buf_clear(&buf);
        assert_int_equal(cra_naming_encode(cases[i].text, &buf, NULL), CRA_OK);
        assert_string_equal(cra_buf_cstr(&buf), cases[i].name);
        cra_buf_clear(&buf);
        assert_int_equal(cra_naming_decode(cases[i].name, strlen(cases[i].name), &buf, NULL), CRA_OK);
        assert_string_equal(cra_buf_cstr(&buf), cases[i].text);
    }
    cra_buf_cleanup(&buf);
    cra_test_allocator_check(&kit);
}

static void unsafe_segments_are_refused(void **state)
{
    char longest[CRA_NAMING_SEGMENT_MAX + 2];
    char encoded[CRA_NAMING_SEGMENT_MAX + 2];
    cra_buf buf;
    cra_error err = {0};

    (void)state;
    cra_buf_init(&buf, NULL);
    assert_int_equal(cra_naming_encode("", &buf, &err), CRA_INVALID);
    assert_int_equal(cra_naming_encode(".", &buf, &err), CRA_INVALID);
    assert_int_equal(cra_naming_encode("..", &buf, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "'..'"));

    memset(longest, 'a', sizeof longest);
    longest[CRA_NAMING_SEGMENT_MAX] = '\0';
    assert_int_equal(cra_naming_encode(longest, &buf, &err), CRA_OK);
    longest[CRA_NAMING_SEGMENT_MAX] = 'a';
    longest[CRA_NAMING_SEGMENT_MAX + 1] = '\0';
    assert_int_equal(cra_naming_encode(longest, &buf, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "256 bytes"));
    /* It is the encoded size that counts. */
    memset(encoded, '/', sizeof encoded);
    encoded[86] = '\0';
    assert_int_equal(cra_naming_encode(encoded, &buf, &err), CRA_INVALID);

    static const char *const wrong[] = {"", ".", "..", "a%2", "a%", "a%2f", "a%41", "a%00", "a b", "a/b", "%GG", "%2G"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(cra_naming_decode(wrong[i], strlen(wrong[i]), &buf, &err), CRA_INVALID);
    assert_int_equal(cra_naming_decode(longest, strlen(longest), &buf, NULL), CRA_INVALID);
    cra_buf_cleanup(&buf);
}

static void random_names_come_back(void **state)
{
    cra_buf name;
    cra_buf text;
    unsigned seed = 7;

    (void)state;
    cra_buf_init(&name, NULL);
    cra_buf_init(&text, NULL);
    for (int round = 0; round < 5000; round++) {
        char original[80];
        seed = seed * 1103515245u + 12345u;
        const size_t size = 3 + (seed >> 16) % 70;
        for (size_t i = 0; i < size; i++) {
            seed = seed * 1103515245u + 12345u;
            original[i] = (char)(1 + (seed >> 16) % 255);
        }
        original[size] = '\0';
        cra_buf_clear(&name);
        cra_buf_clear(&text);
        assert_int_equal(cra_naming_encode(original, &name, NULL), CRA_OK);
        assert_true(cra_naming_is_relative(cra_buf_cstr(&name)));
        assert_null(strchr(cra_buf_cstr(&name), '/'));
        assert_int_equal(cra_naming_decode(cra_buf_cstr(&name), name.size, &text, NULL), CRA_OK);
        assert_string_equal(cra_buf_cstr(&text), original);
    }
    cra_buf_cleanup(&name);
    cra_buf_cleanup(&text);
}

static void relative_names_are_told(void **state)
{
    (void)state;
    assert_true(cra_naming_is_relative("a"));
    assert_true(cra_naming_is_relative("dt=1/a.avro"));
    assert_true(cra_naming_is_relative("..a/b.."));
    assert_false(cra_naming_is_relative(""));
    assert_false(cra_naming_is_relative("/a"));
    assert_false(cra_naming_is_relative("a/"));
    assert_false(cra_naming_is_relative("a//b"));
    assert_false(cra_naming_is_relative("a/../b"));
    assert_false(cra_naming_is_relative("./a"));
    assert_false(cra_naming_is_relative("a\n"));
    assert_false(cra_naming_is_relative("a\x7f/b"));
}

static void folders_follow_the_template(void **state)
{
    static const struct {
        const char *pattern;
        const char *folder;
    } cases[] = {{"{report}/{run}", "prices/18/"},
                 {"{prefix}/{report}/{run}", "prices/18/"},
                 {"crawl/{report}/run_id={run}", "crawl/prices/run_id=18/"},
                 {"{report}/{run}/data", "prices/18/data/"},
                 {"{report}", "prices/"},
                 {"all", "all/"},
                 {"{prefix}", ""},
                 {"{prefix}/", ""},
                 {"", ""}};
    cra_buf buf;

    (void)state;
    cra_buf_init(&buf, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_buf_clear(&buf);
        assert_int_equal(cra_naming_check_template(cases[i].pattern, NULL), CRA_OK);
        assert_int_equal(cra_naming_folder(cases[i].pattern, "prices", "18", &buf, NULL), CRA_OK);
        assert_string_equal(cra_buf_cstr(&buf), cases[i].folder);
    }
    cra_buf_clear(&buf);
    assert_int_equal(cra_naming_folder("{report}/{run}", "a/b", "../x", &buf, NULL), CRA_OK);
    assert_string_equal(cra_buf_cstr(&buf), "a%2Fb/..%2Fx/");
    assert_int_equal(cra_naming_folder("{report}/{run}", "a", "..", &buf, NULL), CRA_INVALID);
    assert_int_equal(cra_naming_folder("{report}/{run}", "", "1", &buf, NULL), CRA_INVALID);
    assert_true(cra_naming_has_run("{report}/r={run}"));
    assert_false(cra_naming_has_run("{report}"));
    cra_buf_cleanup(&buf);
}

static void wrong_templates_are_refused(void **state)
{
    static const char *const wrong[] = {"/{report}/{run}",   "{report}//{run}",
                                        "{report}/{run}/",   "{report}/../{run}",
                                        "./{run}",           "{report}{run}",
                                        "{report}-{run}",    "{run}-{report}",
                                        "{run}{run}",        "{date}/{run}",
                                        "{report}/{run",     "}/{run}",
                                        "{report}/{prefix}", "a\nb",
                                        "{prefix}//{report}"};
    cra_buf buf;

    (void)state;
    cra_buf_init(&buf, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cra_error err = {0};
        assert_int_equal(cra_naming_check_template(wrong[i], &err), CRA_INVALID);
        assert_non_null(strstr(err.message, "{report}"));
        assert_int_equal(cra_naming_folder(wrong[i], "a", "b", &buf, NULL), CRA_INVALID);
    }
    assert_int_equal(buf.size, 0);
    cra_buf_cleanup(&buf);
}

static void collections_follow_the_template(void **state)
{
    cra_buf buf;
    cra_error err = {0};
    char longest[260];

    (void)state;
    cra_buf_init(&buf, NULL);
    assert_int_equal(cra_naming_collection("records_{report}", "prices", "18", &buf, NULL), CRA_OK);
    assert_string_equal(cra_buf_cstr(&buf), "records_prices");
    cra_buf_clear(&buf);
    assert_int_equal(cra_naming_collection("r_{report}_{run}", "a b", "18", &buf, NULL), CRA_OK);
    assert_string_equal(cra_buf_cstr(&buf), "r_a b_18");
    cra_buf_clear(&buf);
    assert_int_equal(cra_naming_collection("{report}", "", "18", &buf, &err), CRA_INVALID);
    assert_int_equal(cra_naming_collection("{report}", "a\x01", "18", &buf, &err), CRA_INVALID);
    assert_non_null(strstr(err.message, "control"));
    assert_int_equal(cra_naming_collection("{x}", "a", "18", &buf, &err), CRA_INVALID);
    assert_int_equal(cra_naming_collection("{prefix}", "a", "18", &buf, &err), CRA_INVALID);
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    cra_buf_clear(&buf);
    assert_int_equal(cra_naming_collection("{report}", longest, "18", &buf, &err), CRA_INVALID);
    cra_buf_cleanup(&buf);
}

static void own_names_are_parsed(void **state)
{
    char name[CRA_NAMING_FILE_SIZE];
    int64_t generation = -1;
    int64_t fence = -1;
    int64_t number = -1;

    (void)state;
    cra_naming_part(3, 17, 42, name);
    assert_string_equal(name, "part-3-17-00042.avro");
    assert_true(cra_naming_parse_part(name, &generation, &fence, &number));
    assert_int_equal(generation, 3);
    assert_int_equal(fence, 17);
    assert_int_equal(number, 42);
    cra_naming_part(INT64_MAX / 16, INT64_MAX / 16, INT64_MAX / 16, name);
    assert_true(cra_naming_parse_part(name, &generation, &fence, &number));
    cra_naming_manifest(3, 17, name);
    assert_string_equal(name, "manifest-3-17.json");
    assert_true(cra_naming_parse_manifest(name, &generation, &fence));
    assert_int_equal(generation, 3);
    assert_int_equal(fence, 17);

    static const char *const foreign[] = {"part-3-17-42.avro",
                                          "part-03-17-00042.avro",
                                          "part-3-17-00042",
                                          "part-3-17-00042.avro.crc",
                                          "part-3--00042.avro",
                                          "part-00000-5b0c6e0c-6d0e-4c5e-8a47-0d7e3f3b7f6a-c000.avro",
                                          "part-489e8161-6c5c-49a1-9987-0c0c228d9de0-1",
                                          "part-3-17-000042.avro",
                                          "xpart-3-17-00042.avro",
                                          "part-99999999999999999999-1-00000.avro",
                                          "part-3-17-",
                                          "part-3x"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        assert_false(cra_naming_parse_part(foreign[i], &generation, &fence, &number));
    static const char *const not_manifests[] = {"manifest.json",       "manifest-3.json",     "manifest-3-17.json.tmp",
                                                "manifest-03-17.json", "manifest--1-17.json", "part-3-17-00042.avro"};
    for (size_t i = 0; i < sizeof not_manifests / sizeof not_manifests[0]; i++)
        assert_false(cra_naming_parse_manifest(not_manifests[i], &generation, &fence));
}

static void files_of_others_are_told_apart(void **state)
{
    static const struct {
        const char *name;
        cra_blob_class class;
    } cases[] = {
        {"part-3-17-00042.avro", CRA_BLOB_DATA},
        {"2019-08-25--12/part-489e8161-6c5c-49a1-9987-0c0c228d9de0-1", CRA_BLOB_DATA},
        {"run_id=r-1/dt=2023-11-14/crawl-0.avro", CRA_BLOB_DATA},
        {"_col=value/part-0.avro", CRA_BLOB_DATA},
        {"_col=value", CRA_BLOB_DATA},
        {"topics/t/partition=0/t+0+0000000000.avro", CRA_BLOB_DATA},
        {"ns/hub/0/2026/12/01/05/03/22.avro", CRA_BLOB_DATA},
        {"a//b", CRA_BLOB_DATA},
        {"notes.txt", CRA_BLOB_DATA},
        {"schema.avsc", CRA_BLOB_SCHEMA},
        {"v2/crawl.avsc", CRA_BLOB_SCHEMA},
        {"manifest.json", CRA_BLOB_MANIFEST},
        {"manifest-1-2.json", CRA_BLOB_MANIFEST},
        {"manifest-x.json", CRA_BLOB_DATA},
        {"_SUCCESS", CRA_BLOB_SUCCESS},
        {"dt=1/_SUCCESS", CRA_BLOB_SUCCESS},
        {"_started_123", CRA_BLOB_IGNORED},
        {"_metadata/x.avro", CRA_BLOB_IGNORED},
        {".part-00000.avro.crc", CRA_BLOB_IGNORED},
        {"part-00000.avro.crc", CRA_BLOB_IGNORED},
        {"_temporary/0/task_1/part-0.avro", CRA_BLOB_IN_PROGRESS},
        {"_temporaryx/part-0.avro", CRA_BLOB_IGNORED},
        {".spark-staging-1/dt=1/part-0.avro", CRA_BLOB_IN_PROGRESS},
        {"dt=1/.crawl-a299-2.avro.inprogress.625ba502", CRA_BLOB_IN_PROGRESS},
        {"part-0-0.inprogress", CRA_BLOB_IN_PROGRESS},
        {"_part-0_tmp_9a8b", CRA_BLOB_IN_PROGRESS},
        {"part-0.avro._COPYING_", CRA_BLOB_IN_PROGRESS},
        {".compacted-part-1", CRA_BLOB_IN_PROGRESS},
        {"", CRA_BLOB_DATA},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cra_naming_classify(cases[i].name) != cases[i].class)
            fail_msg("%s is taken for %d", cases[i].name, (int)cra_naming_classify(cases[i].name));
    }
}

static cra_status name_everything(const cra_allocator *allocator, void *user)
{
    cra_buf buf;

    (void)user;
    cra_buf_init(&buf, allocator);
    cra_status status = cra_naming_folder("{report}/{run}", "a report with / and spaces", "18", &buf, NULL);
    if (status == CRA_OK)
        status = cra_naming_collection("records_{report}", "a report whose name is longer than any buffer at first",
                                       "18", &buf, NULL);
    if (status == CRA_OK)
        status = cra_naming_decode("a%2Fb%2Fc%2Fd%2Fe%2Ff%2Fg%2Fh%2Fi", 33, &buf, NULL);
    cra_buf_cleanup(&buf);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    cra_torture(name_everything, NULL, CRA_OK, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_are_encoded),
        cmocka_unit_test(unsafe_segments_are_refused),
        cmocka_unit_test(random_names_come_back),
        cmocka_unit_test(relative_names_are_told),
        cmocka_unit_test(folders_follow_the_template),
        cmocka_unit_test(wrong_templates_are_refused),
        cmocka_unit_test(collections_follow_the_template),
        cmocka_unit_test(own_names_are_parsed),
        cmocka_unit_test(files_of_others_are_told_apart),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
