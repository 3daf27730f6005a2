/* SPDX-License-Identifier: Apache-2.0 */
#include "suite_docstore.h"

#include <stdlib.h>

#include "suite_docstore_kit.h"

/* Ids of every type that can be one, in MongoDB's order. */
#define MIXED                                                                                                          \
    "{\"_id\":{\"$minKey\":1},\"run_id\":18}{\"_id\":null,\"run_id\":18}{\"_id\":-5,\"run_id\":18}"                    \
    "{\"_id\":1,\"run_id\":18}{\"_id\":1.5,\"run_id\":18}{\"_id\":{\"$numberLong\":\"2\"},\"run_id\":18}"              \
    "{\"_id\":{\"$numberDecimal\":\"2.5\"},\"run_id\":18}{\"_id\":\"\",\"run_id\":18}{\"_id\":\"a\",\"run_id\":18}"    \
    "{\"_id\":\"a\\u0000b\",\"run_id\":18}{\"_id\":\"ab\",\"run_id\":18}{\"_id\":{\"a\":1},\"run_id\":18}"             \
    "{\"_id\":{\"$binary\":{\"base64\":\"AAE=\",\"subType\":\"00\"}},\"run_id\":18}"                                   \
    "{\"_id\":{\"$oid\":\"5f0000000000000000000001\"},\"run_id\":18}"                                                  \
    "{\"_id\":{\"$oid\":\"5f0000000000000000000002\"},\"run_id\":18}{\"_id\":false,\"run_id\":18}"                     \
    "{\"_id\":true,\"run_id\":18}{\"_id\":{\"$date\":{\"$numberLong\":\"-1\"}},\"run_id\":18}"                         \
    "{\"_id\":{\"$timestamp\":{\"t\":1,\"i\":2}},\"run_id\":18}{\"_id\":{\"$maxKey\":1},\"run_id\":18}"

/* ---- writing and paging ---- */

static void pages_go_over_mixed_ids(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;

    if (!cra_docs_open(t, fixture, &store))
        return;
    EXPECT(t, store, "{\"run_id\":18}", 5, ""); /* no collection yet */
    WRITE(t, store, "{\"_id\":7,\"run_id\":19}{\"_id\":\"b\",\"run_id\":17}", "NN");
    WRITE(t, store, MIXED, "NNNNNNNNNNNNNNNNNNNN");
    EXPECT(t, store, "{\"run_id\":18}", 1, MIXED);
    EXPECT(t, store, "{\"run_id\":18}", 3, MIXED);
    EXPECT(t, store, "{\"run_id\":18}", 100, MIXED);
    EXPECT(t, store, "{\"run_id\":19}", 1, "{\"_id\":7,\"run_id\":19}");
    EXPECT(t, store, "{\"run_id\":20}", 1, "");
    cra_docstore_free(store);
}

static void runs_compare_as_numbers_do(cra_conformance *t, const void *fixture)
{
    static const char all[] = "{\"_id\":1,\"run_id\":18}{\"_id\":2,\"run_id\":{\"$numberLong\":\"18\"}}"
                              "{\"_id\":3,\"run_id\":{\"$numberDouble\":\"18.0\"}}"
                              "{\"_id\":4,\"run_id\":{\"$numberDecimal\":\"18\"}}";
    cra_docstore *store = NULL;

    if (!cra_docs_open(t, fixture, &store))
        return;
    WRITE(t, store, all, "NNNN");
    WRITE(t, store, "{\"_id\":5,\"run_id\":\"18\"}{\"_id\":6,\"run_id\":18.5}{\"_id\":7}{\"_id\":8,\"run_id\":null}",
          "NNNN");
    EXPECT(t, store, "{\"run_id\":18}", 2, all);
    EXPECT(t, store, "{\"run_id\":{\"$numberLong\":\"18\"}}", 2, all);
    EXPECT(t, store, "{\"run_id\":{\"$numberDouble\":\"18.0\"}}", 2, all);
    EXPECT(t, store, "{\"run_id\":\"18\"}", 2, "{\"_id\":5,\"run_id\":\"18\"}");
    cra_docstore_free(store);
}

static void another_run_field_works_too(cra_conformance *t, const void *fixture)
{
    static const char first[] = "{\"_id\":1,\"run_id\":1,\"meta\":{\"run\":\"x'y\"}}";
    cra_docstore *store = NULL;
    cra_docs docs;
    cra_docs value;
    cra_page_request request = {sizeof request, {0, NULL, 0}, false, 10, INT64_MAX};
    cra_buf out;
    size_t count = 0;
    int64_t total = 0;
    int64_t removed = 0;
    cra_error err = {0};

    cra_buf_init(&out, NULL);
    if (!cra_docs_open(t, fixture, &store))
        return;
    WRITE(t, store, first, "N");
    WRITE(t, store, "{\"_id\":2,\"run_id\":1,\"meta\":{\"run\":\"z\"}}{\"_id\":3,\"run_id\":1}", "NN");
    cra_docs_parse(t, &docs, first);
    cra_docs_parse(t, &value, "{\"v\":\"x'y\"}");
    cra_scope scope = {"c", "meta.run", {0, NULL, 0}};
    CHECK_INT(t, cra_bson_path(value.items[0], "v", &scope.run_value), CRA_OK);
    CHECK_OK(t, cra_docstore_page(store, &scope, &request, &out, &count, &err), err);
    CHECK_INT(t, count, 1);
    CHECK_OK(t, cra_docstore_count(store, &scope, &total, &err), err);
    CHECK_INT(t, total, 1);
    CHECK_OK(t, cra_docstore_delete_batch(store, &scope, docs.ids, 1, (cra_bytes){NULL, 0}, 0, &removed, &err), err);
    CHECK_OK(t, cra_docstore_count(store, &scope, &total, &err), err);
    CHECK_INT(t, total, 0);
    EXPECT(t, store, "{\"run_id\":1}", 10, "{\"_id\":2,\"run_id\":1,\"meta\":{\"run\":\"z\"}}{\"_id\":3,\"run_id\":1}");
    cra_docs_free(&docs);
    cra_docs_free(&value);
    cra_buf_cleanup(&out);
    cra_docstore_free(store);
}

static void writing_is_idempotent(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;

    if (!cra_docs_open(t, fixture, &store))
        return;
    WRITE(t, store, "{\"_id\":1,\"run_id\":1,\"v\":\"old\"}", "N");
    WRITE(t, store, "{\"_id\":1,\"run_id\":1,\"v\":\"old\"}{\"_id\":2,\"run_id\":1}", "EN");
    /* Never overwritten, whatever the run and the type of number; and within one batch, the first one counts. */
    WRITE(t, store,
          "{\"_id\":1,\"run_id\":2,\"v\":\"new\"}{\"_id\":1.0,\"run_id\":1}{\"_id\":3,\"run_id\":1,\"v\":\"a\"}"
          "{\"_id\":3,\"run_id\":1,\"v\":\"b\"}{\"_id\":\"1\",\"run_id\":1}",
          "EENEN");
    EXPECT(t, store, "{\"run_id\":1}", 10,
           "{\"_id\":1,\"run_id\":1,\"v\":\"old\"}{\"_id\":2,\"run_id\":1}{\"_id\":3,\"run_id\":1,\"v\":\"a\"}"
           "{\"_id\":\"1\",\"run_id\":1}");
    EXPECT(t, store, "{\"run_id\":2}", 10, "");
    cra_docstore_free(store);
}

/* A document of `size` bytes with `_id` 2. */
static uint8_t *giant(size_t size)
{
    static const uint8_t head[] = {0, 0, 0, 0, CRA_BSON_INT32, '_', 'i', 'd', 0, 2, 0, 0, 0, CRA_BSON_BINARY, 'b', 0};
    uint8_t *document = calloc(1, size);
    const uint32_t payload = (uint32_t)(size - sizeof head - 6);

    if (document == NULL)
        return NULL;
    memcpy(document, head, sizeof head);
    for (unsigned i = 0; i < 4; i++) {
        document[i] = (uint8_t)(size >> (8 * i));
        document[sizeof head + i] = (uint8_t)(payload >> (8 * i));
    }
    return document;
}

static void a_bad_document_loses_no_other(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    cra_docstore_limits limits = {.struct_size = sizeof limits};
    cra_write_result results[5];
    cra_docs docs;
    cra_error err = {0};

    if (!cra_docs_open(t, fixture, &store))
        return;
    CHECK_OK(t, cra_docstore_get_limits(store, &limits, &err), err);
    CHECK(t, limits.max_document_bytes > 0 && limits.max_batch_docs > 0);
    CHECK(t, limits.max_batch_bytes >= limits.max_document_bytes);
    const size_t size = (size_t)limits.max_document_bytes + 1;
    uint8_t *big = giant(size);
    uint8_t *damaged = giant(64);
    cra_docs_parse(t, &docs, "{\"_id\":1,\"run_id\":1}{\"_id\":3,\"run_id\":1}{\"_id\":4,\"run_id\":1}");
    if (CHECK(t, big != NULL && damaged != NULL && docs.count == 3)) {
        damaged[16] = 200; /* a binary that is longer than its document */
        const cra_bytes batch[] = {docs.items[0], {big, size}, docs.items[1], {damaged, 64}, docs.items[2]};
        CHECK_OK(t, cra_docstore_write_batch(store, "c", batch, 5, 0, results, &err), err);
        for (int i = 0; i < 5; i++) {
            CHECK_INT(t, results[i].outcome, i % 2 == 0 ? CRA_WRITE_NEW : CRA_WRITE_FAILED);
            CHECK(t, (results[i].message[0] != '\0') == (i % 2 == 1));
        }
    }
    /* Ids that are none. */
    WRITE(t, store, "{\"_id\":[1],\"run_id\":1}{\"_id\":{\"$regularExpression\":{\"pattern\":\"a\",\"options\":\"\"}}}",
          "FF");
    EXPECT(t, store, "{\"run_id\":1}", 10, "{\"_id\":1,\"run_id\":1}{\"_id\":3,\"run_id\":1}{\"_id\":4,\"run_id\":1}");
    free(big);
    free(damaged);
    cra_docs_free(&docs);
    cra_docstore_free(store);
}

static void the_largest_document_passes(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    cra_docstore_limits limits = {.struct_size = sizeof limits};
    cra_write_result result;
    cra_buf out;
    cra_error err = {0};

    cra_buf_init(&out, NULL);
    if (!cra_docs_open(t, fixture, &store))
        return;
    CHECK_OK(t, cra_docstore_get_limits(store, &limits, &err), err);
    const size_t size = (size_t)limits.max_document_bytes;
    uint8_t *big = giant(size);
    const cra_value id = {CRA_BSON_INT32, big != NULL ? big + 9 : NULL, 4};
    if (CHECK(t, big != NULL)) {
        const cra_bytes document = {big, size};
        CHECK_OK(t, cra_docstore_write_batch(store, "c", &document, 1, 0, &result, &err), err);
        CHECK_INT(t, result.outcome, CRA_WRITE_NEW);
        CHECK_OK(t, cra_docstore_fetch(store, "c", &id, 1, &out, &err), err);
        CHECK(t, out.size == size && memcmp(out.data, big, size) == 0);
    }
    free(big);
    cra_buf_cleanup(&out);
    cra_docstore_free(store);
}

static void bytes_come_back_as_they_were(cra_conformance *t, const void *fixture)
{
    /* Odd names, duplicate keys, NaN, -0, deep types: bytes, not values, are kept. */
    static const char odd[] =
        "{\"_id\":1,\"run_id\":1,\"\":1,\"a.b\":2,\"$c\":3,\"d\":1,\"d\":2,\"n\":{\"$numberDouble\":\"NaN\"},"
        "\"z\":{\"$numberDouble\":\"-0.0\"},\"dec\":{\"$numberDecimal\":\"1.10\"},\"u\":{\"$undefined\":true},"
        "\"ts\":{\"$timestamp\":{\"t\":0,\"i\":0}},\"s\":\"x\\u0000y\",\"l\":[1,[2,{\"m\":null}]],"
        "\"re\":{\"$regularExpression\":{\"pattern\":\"p\",\"options\":\"i\"}},\"code\":{\"$code\":\"f\"}}";
    cra_docstore *store = NULL;

    if (!cra_docs_open(t, fixture, &store))
        return;
    WRITE(t, store, odd, "N");
    EXPECT(t, store, "{\"run_id\":1}", 10, odd);
    cra_docstore_free(store);
}

static void pages_are_bounded_by_bytes(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    cra_docs run;
    cra_docs got;
    cra_docs wanted;
    cra_page_request request = {sizeof request, {0, NULL, 0}, false, 100, 1};
    cra_buf out;
    size_t count = 0;
    cra_error err = {0};

    cra_buf_init(&out, NULL);
    if (!cra_docs_open(t, fixture, &store))
        return;
    WRITE(t, store, "{\"_id\":1,\"run_id\":1}{\"_id\":2,\"run_id\":1}{\"_id\":\"c\",\"run_id\":1,\"x\":1}", "NNN");
    const cra_scope scope = cra_docs_scope(t, &run, "{\"run_id\":1}");
    CHECK_OK(t, cra_docstore_page(store, &scope, &request, &out, &count, &err), err);
    CHECK_INT(t, count, 1); /* at least one, however long */
    const size_t one = out.size;
    out.size = 0;
    request.max_bytes = (int64_t)one + 1;
    CHECK_OK(t, cra_docstore_page(store, &scope, &request, &out, &count, &err), err);
    CHECK_INT(t, count, 2);
    out.size = 0;
    request.max_bytes = (int64_t)one;
    CHECK_OK(t, cra_docstore_page(store, &scope, &request, &out, &count, &err), err);
    CHECK_INT(t, count, 1); /* the document that reaches it is the last */
    out.size = 0;
    request.max_bytes = INT64_MAX;
    request.ids_only = true;
    CHECK_OK(t, cra_docstore_page(store, &scope, &request, &out, &count, &err), err);
    CHECK_INT(t, count, 3);
    cra_docs_split(t, &got, &out);
    cra_docs_parse(t, &wanted, "{\"_id\":1}{\"_id\":2}{\"_id\":\"c\"}");
    for (size_t i = 0; CHECK_INT(t, got.count, 3) && i < 3; i++)
        CHECK(t, got.items[i].size == wanted.items[i].size &&
                     memcmp(got.items[i].data, wanted.items[i].data, got.items[i].size) == 0);
    cra_docs_free(&got);
    cra_docs_free(&wanted);
    cra_docs_free(&run);
    cra_docstore_free(store);
}

static void fetch_leaves_out_what_is_not_there(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    cra_docs ids;
    cra_docs got;
    cra_buf out;
    cra_error err = {0};

    cra_buf_init(&out, NULL);
    if (!cra_docs_open(t, fixture, &store))
        return;
    cra_docs_parse(t, &ids,
                   "{\"_id\":1}{\"_id\":{\"$numberLong\":\"2\"}}{\"_id\":\"1\"}{\"_id\":{\"a\":1}}{\"_id\":9}");
    CHECK_OK(t, cra_docstore_fetch(store, "c", ids.ids, ids.count, &out, &err), err);
    CHECK_INT(t, out.size, 0); /* no collection */
    WRITE(t, store, "{\"_id\":2,\"run_id\":5}{\"_id\":{\"a\":1},\"run_id\":6}{\"_id\":3,\"run_id\":5}", "NNN");
    CHECK_OK(t, cra_docstore_fetch(store, "c", ids.ids, ids.count, &out, &err), err);
    cra_docs_split(t, &got, &out);
    CHECK_INT(t, got.count, 2); /* of whatever run */
    for (size_t i = 0; i < got.count; i++)
        CHECK(t, cra_value_compare(got.ids[i], ids.ids[1]) == 0 || cra_value_compare(got.ids[i], ids.ids[3]) == 0);
    cra_docs_free(&ids);
    cra_docs_free(&got);
    cra_docstore_free(store);
}

/* ---- collections and handles ---- */

static void collections_keep_their_options(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    cra_docs options;
    cra_buf out;
    cra_error err = {0};

    cra_buf_init(&out, NULL);
    if (!cra_docs_open(t, fixture, &store))
        return;
    cra_docs_parse(t, &options, "{\"validationLevel\":\"off\"}{}");
    CHECK_STATUS(t, cra_docstore_collection_get(store, "c", &out, &err), CRA_NOT_FOUND, err);
    CHECK_OK(t, cra_docstore_collection_create(store, "c", options.items[0], &err), err);
    CHECK_STATUS(t, cra_docstore_collection_create(store, "c", options.items[0], &err), CRA_EXISTS, err);
    CHECK_OK(t, cra_docstore_collection_get(store, "c", &out, &err), err);
    CHECK_INT(t, cra_bson_validate((cra_bytes){out.data, out.size}, 0, NULL), CRA_OK);
    WRITE(t, store, "{\"_id\":1,\"run_id\":1}", "N");
    /* Written into, a collection comes to be; names that differ are different collections. */
    static const char *const names[] = {"C", "c'd", "a b.c", "a_b_c", "\xc3\xa9", "a$b"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cra_docs_write(t, store, names[i], "{\"_id\":1,\"run_id\":1}", "N", __FILE__, __LINE__);
        CHECK_OK(t, cra_docstore_collection_get(store, names[i], &out, &err), err);
    }
    EXPECT(t, store, "{\"run_id\":1}", 10, "{\"_id\":1,\"run_id\":1}");
    cra_docs_free(&options);
    cra_buf_cleanup(&out);
    cra_docstore_free(store);
}

static void read_only_handles_do_not_write(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    cra_docstore *reader = NULL;
    cra_write_result result;
    cra_docs docs;
    cra_docs run;
    cra_index_outcome outcome;
    cra_docstore_health health = {.struct_size = sizeof health};
    int64_t removed = 0;
    cra_error err = {0};

    if (!cra_docs_open(t, fixture, &store))
        return;
    WRITE(t, store, "{\"_id\":1,\"run_id\":1}", "N");
    cra_docs_parse(t, &docs, "{\"_id\":1,\"run_id\":1}{\"key\":{\"a\":1}}{}");
    const cra_scope scope = cra_docs_scope(t, &run, "{\"run_id\":1}");
    if (CHECK_OK(t, cra_docstore_read_only(store, &reader, &err), err)) {
        CHECK_OK(t, cra_docstore_get_health(reader, &health, &err), err);
        EXPECT(t, reader, "{\"run_id\":1}", 10, "{\"_id\":1,\"run_id\":1}");
        CHECK_STATUS(t, cra_docstore_write_batch(reader, "c", docs.items, 1, 0, &result, &err), CRA_DENIED, err);
        CHECK_INT(t, result.outcome, CRA_WRITE_UNSENT);
        CHECK_STATUS(t, cra_docstore_delete_batch(reader, &scope, docs.ids, 1, (cra_bytes){NULL, 0}, 0, &removed, &err),
                     CRA_DENIED, err);
        CHECK_STATUS(t, cra_docstore_index_ensure(reader, "c", docs.items[1], &outcome, &err), CRA_DENIED, err);
        CHECK_STATUS(t, cra_docstore_collection_create(reader, "d", docs.items[2], &err), CRA_DENIED, err);
        CHECK_STATUS(t, cra_docstore_replace_if(reader, "c", docs.ids[0], docs.items[0], docs.items[0], &err),
                     CRA_DENIED, err);
        cra_docstore_free(reader);
    }
    EXPECT(t, store, "{\"run_id\":1}", 10, "{\"_id\":1,\"run_id\":1}");
    cra_docs_free(&docs);
    cra_docs_free(&run);
    cra_docstore_free(store);
}

static void what_is_written_stays(cra_conformance *t, const void *fixture)
{
    const cra_docstore_fixture *f = fixture;
    cra_docstore *store = NULL;
    cra_docstore *second = NULL;
    cra_write_result result;
    cra_docs docs;
    cra_error err = {0};

    if (f->reopen == NULL) {
        cra_conformance_skip(t, "the store is gone with its handle");
        return;
    }
    if (!cra_docs_open(t, fixture, &store))
        return;
    cra_docs_parse(t, &docs, "{\"_id\":3,\"run_id\":1}");
    WRITE(t, store, "{\"_id\":1,\"run_id\":1}", "N");
    if (CHECK_OK(t, f->reopen(f->user, false, &second, &err), err)) {
        WRITE(t, second, "{\"_id\":1,\"run_id\":1}{\"_id\":2,\"run_id\":1}", "EN");
        EXPECT(t, store, "{\"run_id\":1}", 10, "{\"_id\":1,\"run_id\":1}{\"_id\":2,\"run_id\":1}");
        cra_docstore_free(second);
    }
    cra_docstore_free(store);
    if (CHECK_OK(t, f->reopen(f->user, true, &second, &err), err)) {
        EXPECT(t, second, "{\"run_id\":1}", 10, "{\"_id\":1,\"run_id\":1}{\"_id\":2,\"run_id\":1}");
        CHECK_STATUS(t, cra_docstore_write_batch(second, "c", docs.items, 1, 0, &result, &err), CRA_DENIED, err);
        cra_docstore_free(second);
    }
    cra_docs_free(&docs);
}

static void what_is_no_record_is_refused(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    cra_write_result result;
    cra_docs docs;
    cra_docs run;
    cra_page_request request = {sizeof request, {0, NULL, 0}, false, 0, 1};
    cra_buf out;
    size_t count;
    int64_t removed;
    const cra_value none = {0, NULL, 0};
    cra_error err = {0};

    cra_buf_init(&out, NULL);
    if (!cra_docs_open(t, fixture, &store))
        return;
    cra_docs_parse(t, &docs, "{\"a\":1,\"_id\":1}{}{\"_id\":1}");
    const cra_scope scope = cra_docs_scope(t, &run, "{\"run_id\":1}");
    CHECK_STATUS(t, cra_docstore_write_batch(store, "c", docs.items, 1, 0, &result, &err), CRA_INVALID, err);
    CHECK_STATUS(t, cra_docstore_write_batch(store, "c", docs.items + 1, 1, 0, &result, &err), CRA_INVALID, err);
    CHECK_STATUS(t, cra_docstore_write_batch(store, "", docs.items + 2, 1, 0, &result, &err), CRA_INVALID, err);
    CHECK_STATUS(t, cra_docstore_fetch(store, "c", &none, 1, &out, &err), CRA_INVALID, err);
    CHECK_STATUS(t, cra_docstore_page(store, &scope, &request, &out, &count, &err), CRA_INVALID, err);
    CHECK_STATUS(t, cra_docstore_delete_batch(store, &scope, &none, 1, (cra_bytes){NULL, 0}, 0, &removed, &err),
                 CRA_INVALID, err);
    const cra_scope empty = {"c", "", scope.run_value};
    CHECK_STATUS(t, cra_docstore_count(store, &empty, &removed, &err), CRA_INVALID, err);
    CHECK_OK(t, cra_docstore_write_batch(store, "c", docs.items, 0, 0, NULL, &err), err); /* nothing is nothing */
    cra_docs_free(&docs);
    cra_docs_free(&run);
    cra_buf_cleanup(&out);
    cra_docstore_free(store);
}

int cra_conformance_docstore(cra_conformance *t, const cra_docstore_fixture *fixture)
{
    static const cra_conformance_case cases[] = {
        {"pages_go_over_mixed_ids", pages_go_over_mixed_ids},
        {"runs_compare_as_numbers_do", runs_compare_as_numbers_do},
        {"another_run_field_works_too", another_run_field_works_too},
        {"writing_is_idempotent", writing_is_idempotent},
        {"a_bad_document_loses_no_other", a_bad_document_loses_no_other},
        {"the_largest_document_passes", the_largest_document_passes},
        {"bytes_come_back_as_they_were", bytes_come_back_as_they_were},
        {"pages_are_bounded_by_bytes", pages_are_bounded_by_bytes},
        {"fetch_leaves_out_what_is_not_there", fetch_leaves_out_what_is_not_there},
        {"collections_keep_their_options", collections_keep_their_options},
        {"read_only_handles_do_not_write", read_only_handles_do_not_write},
        {"what_is_written_stays", what_is_written_stays},
        {"what_is_no_record_is_refused", what_is_no_record_is_refused},
    };
    const int failures = cra_conformance_run(t, "docstore", cases, sizeof cases / sizeof cases[0], fixture);

    return failures +
           cra_conformance_run(t, "docstore", cra_docstore_change_cases, cra_docstore_change_count, fixture) +
           cra_conformance_run(t, "docstore", cra_docstore_index_cases, cra_docstore_index_count, fixture);
}
