/* SPDX-License-Identifier: Apache-2.0 */

/* Indexes: what makes two of them one, what unique ones refuse, what queries find through them. */

#include "suite_docstore_kit.h"

/* Ensure one index and check what came of it. @return what the store said */
static cra_status ensure(cra_conformance *t, cra_docstore *store, const char *json, cra_status wanted,
                         int32_t native_code, cra_index_outcome outcome, int line)
{
    cra_index_outcome got = CRA_INDEX_BUILDING;
    cra_error err = {0};
    cra_docs spec;

    cra_docs_parse(t, &spec, json);
    const cra_status status = cra_docstore_index_ensure(store, "c", spec.items[0], &got, &err);
    if (status != CRA_UNSUPPORTED || wanted == CRA_UNSUPPORTED)
        cra_conformance_check_status(t, status, wanted, &err, __FILE__, line, json);
    if (status == CRA_OK && wanted == CRA_OK)
        cra_conformance_check(t, got == outcome, __FILE__, line, "%s: outcome %d, not %d", json, got, outcome);
    if (status == wanted && native_code != 0)
        cra_conformance_check(t, err.native_code == native_code, __FILE__, line, "%s: code %d, not %d", json,
                              err.native_code, native_code);
    cra_docs_free(&spec);
    return status;
}

#define CREATED(t, store, json) ensure((t), (store), (json), CRA_OK, 0, CRA_INDEX_CREATED, __LINE__)
#define PRESENT(t, store, json) ensure((t), (store), (json), CRA_OK, 0, CRA_INDEX_PRESENT, __LINE__)
#define REFUSED(t, store, json, status, code)                                                                          \
    ensure((t), (store), (json), (status), (code), CRA_INDEX_CREATED, __LINE__)

/* Whether the collection has an index of a name, and how many there are. */
static bool is_listed(cra_conformance *t, cra_docstore *store, const char *name, size_t *count)
{
    cra_error err = {0};
    cra_docs docs;
    cra_buf out;
    bool found = false;

    cra_buf_init(&out, NULL);
    CHECK_OK(t, cra_docstore_index_list(store, "c", &out, count, &err), err);
    cra_docs_split(t, &docs, &out);
    CHECK_INT(t, docs.count, *count);
    for (size_t i = 0; i < docs.count; i++) {
        cra_value value;
        cra_value key;
        if (!CHECK_INT(t, cra_bson_find(docs.items[i], "name", 4, &value), CRA_OK) ||
            !CHECK_INT(t, cra_bson_find(docs.items[i], "key", 3, &key), CRA_OK))
            continue;
        const cra_bytes text = cra_value_text(value);
        found = found || (text.size == strlen(name) && memcmp(text.data, name, text.size) == 0);
    }
    cra_docs_free(&docs);
    return found;
}

static void indexes_are_listed(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    cra_buf out;
    size_t count = 9;
    cra_error err = {0};

    cra_buf_init(&out, NULL);
    if (!cra_docs_open(t, fixture, &store))
        return;
    CHECK_STATUS(t, cra_docstore_index_list(store, "c", &out, &count, &err), CRA_NOT_FOUND, err);
    CHECK_INT(t, count, 0);
    /* Asked for, the collection comes to be. */
    CREATED(t, store, "{\"key\":{\"url\":1},\"name\":\"by url\"}");
    CHECK(t, is_listed(t, store, "by url", &count));
    CHECK(t, is_listed(t, store, "_id_", &count));
    CHECK_INT(t, count, 2);
    CREATED(t, store, "{\"key\":{\"a\":1,\"b.c\":-1}}");
    CHECK(t, is_listed(t, store, "a_1_b.c_-1", &count));
    CHECK_INT(t, count, 3);
    cra_buf_cleanup(&out);
    cra_docstore_free(store);
}

static void identical_indexes_are_present(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    size_t count = 0;

    if (!cra_docs_open(t, fixture, &store))
        return;
    CREATED(t, store, "{\"key\":{\"a\":1,\"b\":1}}");
    PRESENT(t, store, "{\"key\":{\"a\":1,\"b\":1}}");
    PRESENT(t, store,
            "{\"v\":2,\"key\":{\"a\":1.0,\"b\":{\"$numberLong\":\"1\"}},\"name\":\"a_1_b_1\",\"background\":true}");
    PRESENT(t, store, "{\"key\":{\"_id\":1}}");
    PRESENT(t, store, "{\"key\":{\"_id\":1},\"name\":\"_id_\"}");
    CREATED(t, store, "{\"key\":{\"b\":1,\"a\":1}}"); /* the order of keys is part of it */
    CREATED(t, store, "{\"key\":{\"a\":-1,\"b\":1}}");
    CREATED(t, store, "{\"key\":{\"a\":1,\"b\":1},\"sparse\":true,\"name\":\"s\"}");
    PRESENT(t, store, "{\"key\":{\"a\":1,\"b\":1},\"sparse\":true,\"name\":\"s\"}");
    CREATED(t, store, "{\"key\":{\"a\":1,\"b\":1},\"name\":\"p\",\"partialFilterExpression\":{\"a\":{\"$gt\":1}}}");
    CHECK(t, is_listed(t, store, "p", &count));
    CHECK_INT(t, count, 6);
    cra_docstore_free(store);
}

static void other_indexes_clash(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    size_t count = 0;

    if (!cra_docs_open(t, fixture, &store))
        return;
    CREATED(t, store, "{\"key\":{\"a\":1},\"name\":\"n\"}");
    REFUSED(t, store, "{\"key\":{\"b\":1},\"name\":\"n\"}", CRA_CONFLICT, 86);
    REFUSED(t, store, "{\"key\":{\"a\":1},\"name\":\"n\",\"unique\":true}", CRA_CONFLICT, 86);
    REFUSED(t, store, "{\"key\":{\"a\":1},\"name\":\"m\"}", CRA_CONFLICT, 85);
    REFUSED(t, store, "{\"key\":{\"a\":1},\"name\":\"n\",\"expireAfterSeconds\":5}", CRA_CONFLICT, 85);
    /* Another identity under another name is another index. */
    CREATED(t, store, "{\"key\":{\"a\":1},\"name\":\"u\",\"unique\":true}");
    (void)is_listed(t, store, "n", &count);
    CHECK_INT(t, count, 3);
    cra_docstore_free(store);
}

static void impossible_indexes_are_invalid(cra_conformance *t, const void *fixture)
{
    static const char *const specs[] = {
        "{\"key\":{}}",
        "{\"key\":{\"a\":0}}",
        "{\"key\":{\"a\":\"up\"}}",
        "{\"key\":{\"a\":true}}",
        "{\"name\":\"n\"}",
        "{\"key\":{\"a\":1},\"sparse\":true,\"partialFilterExpression\":{\"b\":1}}",
        "{\"key\":{\"a\":1,\"b\":1},\"expireAfterSeconds\":5}",
        "{\"key\":{\"_id\":1},\"sparse\":true}",
        "{\"key\":{\"_id\":1},\"partialFilterExpression\":{\"b\":1}}",
        "{\"key\":{\"a\":1},\"expireAfterSecnds\":5}",
        "{\"key\":{\"$a\":1}}",
        "{\"key\":{\"\":1}}",
        "{\"key\":{\"$**\":1},\"unique\":true}",
        "{\"key\":{\"$**\":1},\"expireAfterSeconds\":5}",
        "{\"key\":{\"a\":1},\"partialFilterExpression\":{\"a\":{\"$exists\":false}}}",
    };
    cra_docstore *store = NULL;
    size_t count = 0;

    if (!cra_docs_open(t, fixture, &store))
        return;
    WRITE(t, store, "{\"_id\":1}", "N");
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        REFUSED(t, store, specs[i], CRA_INVALID, 67);
    CHECK(t, is_listed(t, store, "_id_", &count));
    CHECK_INT(t, count, 1);
    cra_docstore_free(store);
}

static void unique_indexes_refuse_duplicates(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;

    if (!cra_docs_open(t, fixture, &store))
        return;
    CREATED(t, store, "{\"key\":{\"a\":1,\"b.c\":-1},\"unique\":true}");
    WRITE(t, store, "{\"_id\":1,\"a\":1,\"b\":{\"c\":2}}{\"_id\":2,\"a\":1.0,\"b\":{\"c\":2}}{\"_id\":3,\"a\":1}",
          "NFN");
    /* A missing field is null: one document may lack it. */
    WRITE(t, store,
          "{\"_id\":4,\"a\":1,\"b\":{\"c\":null}}{\"_id\":5,\"a\":1,\"b\":5}{\"_id\":6,\"a\":2}{\"_id\":1,\"a\":9}",
          "FFNE");
    WRITE(t, store, "{\"_id\":7}{\"_id\":8,\"x\":1}{\"_id\":9,\"a\":\"1\"}", "NFN");
    cra_docstore_free(store);
}

static void a_unique_index_needs_unique_documents(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    size_t count = 0;

    if (!cra_docs_open(t, fixture, &store))
        return;
    WRITE(t, store, "{\"_id\":1,\"a\":1}{\"_id\":2,\"a\":1}{\"_id\":3}", "NNN");
    REFUSED(t, store, "{\"key\":{\"a\":1},\"unique\":true}", CRA_EXISTS, 11000);
    CHECK(t, !is_listed(t, store, "a_1", &count));
    CREATED(t, store, "{\"key\":{\"a\":1},\"unique\":true,\"partialFilterExpression\":{\"a\":{\"$gt\":1}}}");
    cra_docstore_free(store);
}

static void sparse_and_partial_indexes_leave_out(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;

    if (!cra_docs_open(t, fixture, &store))
        return;
    CREATED(t, store, "{\"key\":{\"s\":1},\"unique\":true,\"sparse\":true}");
    WRITE(t, store, "{\"_id\":1}{\"_id\":2}{\"_id\":3,\"s\":null}{\"_id\":4,\"s\":null}", "NNNF");
    CREATED(t, store,
            "{\"key\":{\"p\":1},\"unique\":true,\"partialFilterExpression\":{\"p\":{\"$exists\":true},"
            "\"n\":{\"$gte\":5,\"$lt\":10},\"k\":\"x\",\"y\":{\"$type\":\"string\"}}}");
    WRITE(t, store,
          "{\"_id\":11,\"p\":1,\"n\":5,\"k\":\"x\",\"y\":\"\"}{\"_id\":12,\"p\":1,\"n\":10,\"k\":\"x\",\"y\":\"\"}"
          "{\"_id\":13,\"p\":1,\"n\":9,\"k\":\"z\",\"y\":\"\"}{\"_id\":14,\"p\":1,\"n\":\"7\",\"k\":\"x\",\"y\":\"\"}"
          "{\"_id\":15,\"p\":1,\"n\":9.5,\"k\":\"x\",\"y\":1}{\"_id\":16,\"p\":1,\"n\":9.5,\"k\":\"x\",\"y\":\"a\"}"
          "{\"_id\":17,\"p\":2,\"n\":6,\"k\":\"x\",\"y\":\"a\"}{\"_id\":18,\"n\":6,\"k\":\"x\",\"y\":\"a\"}",
          "NNNNNFNN");
    cra_docstore_free(store);
}

/* ---- queries ---- */

/* Check which ids a query finds, in order, a page of two at a time. */
static void check_found(cra_conformance *t, cra_docstore *store, const char *path, const char *value_json,
                        const char *ids_json, int line)
{
    cra_value after = {0, NULL, 0};
    cra_error err = {0};
    cra_docs value;
    cra_docs ids;
    cra_docs page = {.count = 0};
    size_t found = 0;
    cra_value wanted = {0, NULL, 0};

    cra_docs_parse(t, &value, value_json);
    cra_docs_parse(t, &ids, ids_json);
    CHECK_INT(t, cra_bson_find(value.items[0], "v", 1, &wanted), CRA_OK);
    for (size_t round = 0; round < 40; round++) {
        cra_buf out;
        size_t count = 0;
        cra_buf_init(&out, NULL);
        const cra_status status = cra_docstore_find(store, "c", path, wanted, after, 2, &out, &count, &err);
        cra_conformance_check_status(t, status, CRA_OK, &err, __FILE__, line, "find");
        cra_docs_free(&page); /* what `after` pointed into is not needed any more */
        cra_docs_split(t, &page, &out);
        cra_conformance_check(t, page.count == count && count <= 2, __FILE__, line, "a page of %zu", count);
        if (status != CRA_OK || page.count == 0)
            break;
        for (size_t i = 0; i < page.count; i++, found++)
            cra_conformance_check(t, found < ids.count && cra_value_compare(page.ids[i], ids.ids[found]) == 0, __FILE__,
                                  line, "%s = %s: document %zu is another", path, value_json, found);
        after = page.ids[page.count - 1];
    }
    cra_conformance_check(t, found == ids.count, __FILE__, line, "%s = %s: %zu found, not %zu", path, value_json, found,
                          ids.count);
    cra_docs_free(&page);
    cra_docs_free(&value);
    cra_docs_free(&ids);
}
#define FOUND(t, store, path, value, ids) check_found((t), (store), (path), (value), (ids), __LINE__)

static void check_queries(cra_conformance *t, cra_docstore *store)
{
    FOUND(t, store, "a", "{\"v\":1}", "{\"_id\":1}{\"_id\":2}{\"_id\":5}{\"_id\":\"s\"}");
    FOUND(t, store, "a", "{\"v\":{\"$numberDecimal\":\"1.0\"}}", "{\"_id\":1}{\"_id\":2}{\"_id\":5}{\"_id\":\"s\"}");
    FOUND(t, store, "a", "{\"v\":\"x\"}", "{\"_id\":3}");
    FOUND(t, store, "a", "{\"v\":[1,2]}", "{\"_id\":5}"); /* the array as a whole */
    FOUND(t, store, "a", "{\"v\":2}", "{\"_id\":5}");
    FOUND(t, store, "a", "{\"v\":null}", "{\"_id\":4}{\"_id\":6}{\"_id\":7}");
    FOUND(t, store, "a.b", "{\"v\":7}", "{\"_id\":8}{\"_id\":9}");
    FOUND(t, store, "a.0", "{\"v\":1}", "{\"_id\":5}");
    FOUND(t, store, "none", "{\"v\":1}", "");
}

static void queries_find_through_arrays(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;

    if (!cra_docs_open(t, fixture, &store))
        return;
    if ((cra_docstore_features(store) & CRA_DOCSTORE_FIND) == 0) {
        cra_conformance_skip(t, "no find");
        cra_docstore_free(store);
        return;
    }
    FOUND(t, store, "a", "{\"v\":1}", ""); /* no collection */
    WRITE(t, store,
          "{\"_id\":1,\"a\":1,\"run_id\":2}{\"_id\":2,\"a\":1.0,\"run_id\":1}{\"_id\":3,\"a\":\"x\"}"
          "{\"_id\":4,\"a\":null}{\"_id\":5,\"a\":[1,2]}{\"_id\":6}{\"_id\":7,\"a\":[\"y\",null]}"
          "{\"_id\":8,\"a\":{\"b\":7}}{\"_id\":9,\"a\":[{\"b\":6},{\"b\":7}]}{\"_id\":\"s\",\"a\":1,\"run_id\":0}",
          "NNNNNNNNNN");
    check_queries(t, store);
    /* The same with indexes that could serve, of every kind. */
    CREATED(t, store, "{\"key\":{\"a\":1},\"sparse\":true}");
    check_queries(t, store);
    CREATED(t, store, "{\"key\":{\"a\":1},\"name\":\"plain\"}");
    CREATED(t, store, "{\"key\":{\"a.b\":1}}");
    check_queries(t, store);
    cra_docstore_free(store);
}

static void what_was_deleted_is_not_found(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    cra_docs docs;
    cra_docs run;
    int64_t removed = 0;
    cra_error err = {0};

    if (!cra_docs_open(t, fixture, &store))
        return;
    CREATED(t, store, "{\"key\":{\"a\":1},\"unique\":true}");
    WRITE(t, store, "{\"_id\":1,\"a\":1,\"run_id\":1}", "N");
    cra_docs_parse(t, &docs, "{\"_id\":1}");
    const cra_scope scope = cra_docs_scope(t, &run, "{\"run_id\":1}");
    CHECK_OK(t, cra_docstore_delete_batch(store, &scope, docs.ids, 1, (cra_bytes){NULL, 0}, 0, &removed, &err), err);
    if ((cra_docstore_features(store) & CRA_DOCSTORE_FIND) != 0)
        FOUND(t, store, "a", "{\"v\":1}", "");
    WRITE(t, store, "{\"_id\":2,\"a\":1,\"run_id\":1}", "N"); /* the key is free again */
    cra_docs_free(&docs);
    cra_docs_free(&run);
    cra_docstore_free(store);
}

const cra_conformance_case cra_docstore_index_cases[] = {
    {"indexes_are_listed", indexes_are_listed},
    {"identical_indexes_are_present", identical_indexes_are_present},
    {"other_indexes_clash", other_indexes_clash},
    {"impossible_indexes_are_invalid", impossible_indexes_are_invalid},
    {"unique_indexes_refuse_duplicates", unique_indexes_refuse_duplicates},
    {"a_unique_index_needs_unique_documents", a_unique_index_needs_unique_documents},
    {"sparse_and_partial_indexes_leave_out", sparse_and_partial_indexes_leave_out},
    {"queries_find_through_arrays", queries_find_through_arrays},
    {"what_was_deleted_is_not_found", what_was_deleted_is_not_found},
};
const size_t cra_docstore_index_count = sizeof cra_docstore_index_cases / sizeof cra_docstore_index_cases[0];
