/* SPDX-License-Identifier: Apache-2.0 */

/* Index documents: checked, normalised, compared; the values that a path leads to; which documents a partial index
 * holds. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/sys/docstore.h>

#include "base/buf.h"
#include "kit/test_allocator.h"

static void append_json(const char *json, cra_buf *out)
{
    size_t used;
    cra_error err = {0};
    cra_status status;

    while ((status = cra_bson_from_json(cra_bytes_of_str(json), out, &used, &err)) == CRA_OK)
        json += used;
    if (status != CRA_DONE)
        fail_msg("%s: %s", json, err.message);
}

static void check_json(cra_bytes document, const char *wanted)
{
    cra_buf text;

    cra_buf_init(&text, NULL);
    assert_int_equal(cra_bson_to_json(document, CRA_JSON_RELAXED, &text, NULL), CRA_OK);
    assert_string_equal(cra_buf_cstr(&text), wanted);
    cra_buf_cleanup(&text);
}

static void specs_are_normalised(void **state)
{
    static const struct {
        const char *spec;
        const char *wanted;
    } cases[] = {
        {"{\"key\":{\"a\":1}}", "{\"v\":2,\"key\":{\"a\":1},\"name\":\"a_1\"}"},
        {"{\"unique\":true,\"ns\":\"x.y\",\"v\":1,\"background\":true,\"name\":\"n\",\"key\":{\"a\":-1},\"dropDups\":"
         "1}",
         "{\"v\":2,\"key\":{\"a\":-1},\"name\":\"n\",\"unique\":true}"},
        {"{\"key\":{\"a.b\":1.0,\"c\":{\"$numberLong\":\"-1\"},\"d\":\"text\"}}",
         "{\"v\":2,\"key\":{\"a.b\":1.0,\"c\":-1,\"d\":\"text\"},\"name\":\"a.b_1_c_-1_d_text\"}"},
        {"{\"key\":{\"$**\":1}}", "{\"v\":2,\"key\":{\"$**\":1},\"name\":\"$**_1\"}"},
        {"{\"key\":{\"_id\":1}}", "{\"v\":2,\"key\":{\"_id\":1},\"name\":\"_id_1\"}"},
    };
    cra_buf spec;
    cra_buf normal;

    (void)state;
    cra_buf_init(&spec, NULL);
    cra_buf_init(&normal, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_error err = {0};
        cra_buf_clear(&spec);
        cra_buf_clear(&normal);
        append_json(cases[i].spec, &spec);
        assert_int_equal(cra_index_normalize(cra_buf_bytes(&spec), &normal, &err), CRA_OK);
        check_json(cra_buf_bytes(&normal), cases[i].wanted);
    }
    cra_buf_cleanup(&spec);
    cra_buf_cleanup(&normal);
}

static void impossible_specs_are_named(void **state)
{
    static const struct {
        const char *spec;
        const char *message;
    } cases[] = {
        {"{}", "needs a key"},
        {"{\"key\":5}", "needs a key"},
        {"{\"key\":{}}", "at least one field"},
        {"{\"key\":{\"a\":0}}", "must not be 0: a"},
        {"{\"key\":{\"a\":\"sideways\"}}", "must be a number"},
        {"{\"key\":{\"\":1}}", "not empty"},
        {"{\"key\":{\"$x\":1}}", "do not begin with $"},
        {"{\"key\":{\"a\":1},\"uniqe\":true}", "uniqe"},
        {"{\"key\":{\"a\":1},\"name\":\"\"}", "name"},
        {"{\"key\":{\"a\":1},\"name\":5}", "name"},
        {"{\"key\":{\"a\":1},\"partialFilterExpression\":5}", "must be a document"},
        {"{\"key\":{\"a\":1},\"partialFilterExpression\":{},\"sparse\":true}", "partial and sparse"},
        {"{\"key\":{\"a\":1,\"b\":1},\"expireAfterSeconds\":1}", "expireAfterSeconds"},
        {"{\"key\":{\"_id\":1},\"expireAfterSeconds\":1}", "expireAfterSeconds"},
        {"{\"key\":{\"a\":1},\"expireAfterSeconds\":\"1\"}", "expireAfterSeconds"},
        {"{\"key\":{\"_id\":1},\"sparse\":true}", "_id"},
        {"{\"key\":{\"$**\":1},\"sparse\":true}", "wildcard"},
    };
    cra_buf spec;

    (void)state;
    cra_buf_init(&spec, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_error err = {0};
        cra_buf_clear(&spec);
        append_json(cases[i].spec, &spec);
        if (cra_index_check(cra_buf_bytes(&spec), &err) != CRA_INVALID)
            fail_msg("%s passed", cases[i].spec);
        assert_int_equal(err.native_code, 67);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("%s: %s", cases[i].spec, err.message);
    }
    cra_error err = {0};
    assert_int_equal(cra_index_check((cra_bytes){(const uint8_t *)"x", 1}, &err), CRA_INVALID);
    cra_buf_cleanup(&spec);
}

static void indexes_are_classified(void **state)
{
    static const char existing_json[] =
        "{\"v\":2,\"key\":{\"_id\":1},\"name\":\"_id_\"}"
        "{\"v\":1,\"key\":{\"a\":1},\"name\":\"a_1\",\"ns\":\"d.c\"}"
        "{\"v\":2,\"key\":{\"b\":1},\"name\":\"ttl\",\"expireAfterSeconds\":60}"
        "{\"v\":2,\"key\":{\"c\":1},\"name\":\"p\",\"partialFilterExpression\":{\"c\":{\"$gt\":5}}}"
        "{\"v\":2,\"key\":{\"d\":\"2dsphere\"},\"name\":\"g\",\"2dsphereIndexVersion\":3}"
        "{\"v\":2,\"key\":{\"_id\":\"hashed\"},\"name\":\"_id_hashed\"}";
    static const struct {
        const char *spec;
        cra_index_match match;
        const char *found;
    } cases[] = {
        {"{\"key\":{\"a\":1},\"name\":\"a_1\"}", CRA_INDEX_MATCH_IDENTICAL, "a_1"},
        {"{\"key\":{\"a\":1.0},\"name\":\"a_1\",\"unique\":false,\"sparse\":0}", CRA_INDEX_MATCH_IDENTICAL, "a_1"},
        {"{\"key\":{\"a\":1},\"name\":\"z\"}", CRA_INDEX_MATCH_OPTIONS, "a_1"},
        {"{\"key\":{\"a\":1},\"name\":\"a_1\",\"hidden\":true}", CRA_INDEX_MATCH_OPTIONS, "a_1"},
        {"{\"key\":{\"a\":1},\"name\":\"a_1\",\"unique\":true}", CRA_INDEX_MATCH_NAME, "a_1"},
        {"{\"key\":{\"a\":1},\"name\":\"z\",\"unique\":true}", CRA_INDEX_MATCH_NONE, NULL},
        {"{\"key\":{\"a\":1},\"name\":\"z\",\"collation\":{\"locale\":\"fr\"}}", CRA_INDEX_MATCH_NONE, NULL},
        {"{\"key\":{\"a\":1},\"name\":\"a_1\",\"collation\":{\"locale\":\"simple\"}}", CRA_INDEX_MATCH_IDENTICAL,
         "a_1"},
        {"{\"key\":{\"b\":1},\"name\":\"ttl\",\"expireAfterSeconds\":60.0}", CRA_INDEX_MATCH_IDENTICAL, "ttl"},
        {"{\"key\":{\"b\":1},\"name\":\"ttl\",\"expireAfterSeconds\":61}", CRA_INDEX_MATCH_OPTIONS, "ttl"},
        {"{\"key\":{\"b\":1},\"name\":\"ttl\",\"expireAfterSeconds\":0}", CRA_INDEX_MATCH_OPTIONS, "ttl"},
        {"{\"key\":{\"b\":1},\"name\":\"ttl\"}", CRA_INDEX_MATCH_OPTIONS, "ttl"},
        {"{\"key\":{\"c\":1},\"name\":\"p\",\"partialFilterExpression\":{\"c\":{\"$gt\":5.0}}}",
         CRA_INDEX_MATCH_IDENTICAL, "p"},
        {"{\"key\":{\"c\":1},\"name\":\"p\",\"partialFilterExpression\":{\"c\":{\"$gt\":6}}}", CRA_INDEX_MATCH_NAME,
         "p"},
        {"{\"key\":{\"d\":\"2dsphere\"},\"name\":\"g\",\"2dsphereIndexVersion\":2}", CRA_INDEX_MATCH_IDENTICAL, "g"},
        {"{\"key\":{\"_id\":1},\"name\":\"whatever\"}", CRA_INDEX_MATCH_IDENTICAL, "_id_"},
        {"{\"key\":{\"_id\":\"hashed\"},\"name\":\"_id_hashed\"}", CRA_INDEX_MATCH_IDENTICAL, "_id_hashed"},
        {"{\"key\":{\"q\":1},\"name\":\"g\"}", CRA_INDEX_MATCH_NAME, "g"},
        {"{\"key\":{\"q\":1},\"name\":\"q_1\"}", CRA_INDEX_MATCH_NONE, NULL},
    };
    cra_buf existing;
    cra_buf spec;

    (void)state;
    cra_buf_init(&existing, NULL);
    cra_buf_init(&spec, NULL);
    append_json(existing_json, &existing);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_bytes found = {NULL, 0};
        cra_value name;
        cra_buf_clear(&spec);
        append_json(cases[i].spec, &spec);
        if (cra_index_classify(cra_buf_bytes(&existing), cra_buf_bytes(&spec), &found) != cases[i].match)
            fail_msg("%s", cases[i].spec);
        if (cases[i].found == NULL)
            continue;
        assert_int_equal(cra_bson_find(found, "name", 4, &name), CRA_OK);
        assert_true(cra_bytes_equal(cra_value_text(name), cra_bytes_of_str(cases[i].found)));
    }
    cra_buf_cleanup(&existing);
    cra_buf_cleanup(&spec);
}

/* ---- paths ---- */

static cra_status note(void *user, cra_value value)
{
    cra_buf *text = user;

    assert_int_equal(cra_value_to_json(value, CRA_JSON_RELAXED, text, NULL), CRA_OK);
    return cra_buf_append_byte(text, ' ');
}

static void paths_lead_to_every_value(void **state)
{
    static const char document_json[] =
        "{\"a\":1,\"n\":null,\"l\":[1,[2,3],\"x\"],\"e\":[],\"o\":{\"p\":{\"q\":5}},"
        "\"d\":[{\"p\":1},{\"p\":[2,3]},7,{\"q\":9},[{\"p\":8}]],\"m\":{\"0\":\"zero\"},"
        "\"x\":[{\"0\":\"k\"},5]}";
    static const struct {
        const char *path;
        const char *values;
    } cases[] = {
        {"a", "1 "},
        {"n", "null "},
        {"none", ""},
        {"a.b", ""},
        {"l", "[1,[2,3],\"x\"] 1 [2,3] \"x\" "},
        {"e", "[] "},
        {"o.p.q", "5 "},
        {"o.p", "{\"q\":5} "},
        {"o.none.q", ""},
        {"d.p", "1 [2,3] 2 3 "},
        {"d.1.p", "[2,3] 2 3 "},
        {"l.0", "1 "},
        {"l.1", "[2,3] 2 3 "},
        {"l.1.0", "2 "},
        {"l.9", ""},
        {"m.0", "\"zero\" "},
        {"x.0", "{\"0\":\"k\"} \"k\" "}, /* by index, and by name in the array's documents */
        {"", ""},
        {"o.", ""},
        {".", ""},
    };
    cra_buf document;
    cra_buf got;

    (void)state;
    cra_buf_init(&document, NULL);
    cra_buf_init(&got, NULL);
    append_json(document_json, &document);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_buf_clear(&got);
        assert_int_equal(cra_bson_path_each(cra_buf_bytes(&document), cases[i].path, note, &got), CRA_OK);
        assert_non_null(cra_buf_cstr(&got));
        if (strcmp((const char *)got.data, cases[i].values) != 0)
            fail_msg("%s leads to %s", cases[i].path, (const char *)got.data);
    }
    cra_buf_cleanup(&document);
    cra_buf_cleanup(&got);
}

static cra_status stop(void *user, cra_value value)
{
    (void)value;
    return ++*(int *)user == 2 ? CRA_CANCELLED : CRA_OK;
}

static void a_walk_may_stop_and_damage_is_told(void **state)
{
    cra_buf document;
    int count = 0;

    (void)state;
    cra_buf_init(&document, NULL);
    append_json("{\"a\":[1,2,3]}", &document);
    assert_int_equal(cra_bson_path_each(cra_buf_bytes(&document), "a", stop, &count), CRA_CANCELLED);
    assert_int_equal(count, 2);
    for (size_t size = 0; size < document.size; size++) {
        count = -1000;
        assert_int_equal(cra_bson_path_each(cra_bytes_of(document.data, size), "a", stop, &count), CRA_CORRUPT);
    }
    cra_buf_cleanup(&document);
}

/* ---- partial indexes ---- */

static void filters_match_as_queries_do(void **state)
{
    static const struct {
        const char *filter;
        const char *document;
        bool matches;
    } cases[] = {
        {"{}", "{\"a\":1}", true},
        {"{\"a\":1}", "{\"a\":1.0}", true},
        {"{\"a\":1}", "{\"a\":[3,1]}", true},
        {"{\"a\":1}", "{\"a\":\"1\"}", false},
        {"{\"a\":1,\"b\":2}", "{\"a\":1}", false},
        {"{\"a\":null}", "{}", true},
        {"{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}", true},
        {"{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1,\"c\":2}}", false},
        {"{\"a\":{\"$eq\":\"x\"}}", "{\"a\":\"x\"}", true},
        {"{\"a\":{\"$exists\":true}}", "{\"a\":null}", true},
        {"{\"a\":{\"$exists\":true}}", "{\"b\":null}", false},
        {"{\"a\":{\"$gt\":5}}", "{\"a\":5}", false},
        {"{\"a\":{\"$gt\":5}}", "{\"a\":5.1}", true},
        {"{\"a\":{\"$gt\":5}}", "{\"a\":\"z\"}", false}, /* another type is not greater */
        {"{\"a\":{\"$gte\":5,\"$lt\":7}}", "{\"a\":5}", true},
        {"{\"a\":{\"$gte\":5,\"$lt\":7}}", "{\"a\":7}", false},
        {"{\"a\":{\"$lte\":\"m\"}}", "{\"a\":\"m\"}", true},
        {"{\"a\":{\"$lte\":\"m\"}}", "{}", false},
        {"{\"a\":{\"$gte\":null}}", "{}", true},
        {"{\"a\":{\"$gt\":null}}", "{}", false},
        {"{\"a.b\":{\"$gt\":1}}", "{\"a\":[{\"b\":0},{\"b\":2}]}", true},
        {"{\"a\":{\"$type\":\"string\"}}", "{\"a\":\"\"}", true},
        {"{\"a\":{\"$type\":2}}", "{\"a\":\"\"}", true},
        {"{\"a\":{\"$type\":\"number\"}}", "{\"a\":{\"$numberLong\":\"5\"}}", true},
        {"{\"a\":{\"$type\":\"array\"}}", "{\"a\":[]}", true},
        {"{\"a\":{\"$type\":\"nonsense\"}}", "{\"a\":1}", false},
        {"{\"$and\":[{\"a\":1},{\"b\":{\"$gt\":1}}]}", "{\"a\":1,\"b\":2}", true},
        {"{\"$and\":[{\"a\":1},{\"b\":{\"$gt\":1}}]}", "{\"a\":1,\"b\":1}", false},
    };
    cra_buf filter;
    cra_buf document;

    (void)state;
    cra_buf_init(&filter, NULL);
    cra_buf_init(&document, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_error err = {0};
        cra_buf_clear(&filter);
        cra_buf_clear(&document);
        append_json(cases[i].filter, &filter);
        append_json(cases[i].document, &document);
        assert_int_equal(cra_index_filter_check(cra_buf_bytes(&filter), &err), CRA_OK);
        if (cra_index_filter_matches(cra_buf_bytes(&filter), cra_buf_bytes(&document)) != cases[i].matches)
            fail_msg("%s on %s", cases[i].filter, cases[i].document);
    }
    cra_buf_cleanup(&filter);
    cra_buf_cleanup(&document);
}

static void other_filters_are_refused(void **state)
{
    static const struct {
        const char *filter;
        cra_status status;
    } cases[] = {
        {"{\"a\":{\"$exists\":false}}", CRA_INVALID},
        {"{\"a\":{\"$ne\":1}}", CRA_INVALID},
        {"{\"a\":{\"$gt\":1,\"b\":1}}", CRA_INVALID},
        {"{\"a\":{\"$in\":[1]}}", CRA_UNSUPPORTED},
        {"{\"a\":{\"$type\":[2]}}", CRA_INVALID},
        {"{\"$or\":[{\"a\":1}]}", CRA_UNSUPPORTED},
        {"{\"$nor\":[{\"a\":1}]}", CRA_INVALID},
        {"{\"$and\":{\"a\":1}}", CRA_INVALID},
        {"{\"$and\":[5]}", CRA_INVALID},
        {"{\"$and\":[{\"$and\":[{\"a\":1}]}]}", CRA_INVALID},
        {"{\"$and\":[{\"a\":{\"$ne\":1}}]}", CRA_INVALID},
    };
    cra_buf filter;

    (void)state;
    cra_buf_init(&filter, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_error err = {0};
        cra_buf_clear(&filter);
        append_json(cases[i].filter, &filter);
        if (cra_index_filter_check(cra_buf_bytes(&filter), &err) != cases[i].status)
            fail_msg("%s: %s", cases[i].filter, err.message);
        assert_int_equal(err.native_code, 67);
    }
    cra_error err = {0};
    assert_int_equal(cra_index_filter_check((cra_bytes){(const uint8_t *)"x", 1}, &err), CRA_INVALID);
    cra_buf_cleanup(&filter);
}

static cra_status normalise(const cra_allocator *allocator, void *user)
{
    const cra_buf *spec = user;
    cra_buf out;

    cra_buf_init(&out, allocator);
    cra_status status = cra_buf_append(&out, "kept", 4);
    if (status == CRA_OK) {
        status = cra_index_normalize(cra_buf_bytes(spec), &out, NULL);
        if (status != CRA_OK)
            assert_int_equal(out.size, 4);
    }
    cra_buf_cleanup(&out);
    return status;
}

static void survives_lack_of_memory(void **state)
{
    cra_buf spec;

    (void)state;
    cra_buf_init(&spec, NULL);
    append_json("{\"key\":{\"a\":1.5,\"b\":\"text\"},\"weights\":{\"b\":1}}", &spec);
    cra_torture(normalise, &spec, CRA_OK, 100);
    cra_buf_cleanup(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs_are_normalised),
        cmocka_unit_test(impossible_specs_are_named),
        cmocka_unit_test(indexes_are_classified),
        cmocka_unit_test(paths_lead_to_every_value),
        cmocka_unit_test(a_walk_may_stop_and_damage_is_told),
        cmocka_unit_test(filters_match_as_queries_do),
        cmocka_unit_test(other_filters_are_refused),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("index_documents", tests, NULL, NULL);
}
