/* SPDX-License-Identifier: Apache-2.0 */

/* Deleting, replacing, deadlines, and many hands at once. */

#include <pthread.h>

#include "suite_docstore_kit.h"

#define THREADS 8

/* ---- deleting ---- */

static void a_delete_keeps_to_its_run(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    cra_docs ids;
    cra_docs run;
    const cra_bytes none = {NULL, 0};
    int64_t removed = -1;
    cra_error err = {0};

    if (!cra_docs_open(t, fixture, &store))
        return;
    cra_docs_parse(t, &ids, "{\"_id\":1.0}{\"_id\":\"a\"}{\"_id\":{\"$oid\":\"5f0000000000000000000001\"}}{\"_id\":9}");
    cra_scope scope = cra_docs_scope(t, &run, "{\"run_id\":{\"$numberLong\":\"1\"}}");
    CHECK_OK(t, cra_docstore_delete_batch(store, &scope, ids.ids, ids.count, none, 0, &removed, &err), err);
    CHECK_INT(t, removed, 0); /* no collection */
    WRITE(t, store,
          "{\"_id\":1,\"run_id\":1}{\"_id\":\"a\",\"run_id\":2}"
          "{\"_id\":{\"$oid\":\"5f0000000000000000000001\"},\"run_id\":1.0}{\"_id\":2,\"run_id\":1}",
          "NNNN");
    CHECK_OK(t, cra_docstore_delete_batch(store, &scope, ids.ids, ids.count, none, 0, &removed, &err), err);
    CHECK_INT(t, removed, 2);
    EXPECT(t, store, "{\"run_id\":1}", 10, "{\"_id\":2,\"run_id\":1}");
    EXPECT(t, store, "{\"run_id\":2}", 10, "{\"_id\":\"a\",\"run_id\":2}");
    CHECK_OK(t, cra_docstore_delete_batch(store, &scope, ids.ids, ids.count, none, 0, &removed, &err), err);
    CHECK_INT(t, removed, 0); /* already gone is success */
    /* A deleted id is free. */
    WRITE(t, store, "{\"_id\":1,\"run_id\":1,\"again\":true}", "N");
    cra_docs_free(&ids);
    cra_docs_free(&run);
    cra_docstore_free(store);
}

static void a_delete_compares_what_it_is_given(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    cra_docs ids;
    cra_docs run;
    cra_docs match;
    int64_t removed = -1;
    cra_error err = {0};

    if (!cra_docs_open(t, fixture, &store))
        return;
    WRITE(t, store,
          "{\"_id\":1,\"run_id\":1,\"rev\":5}{\"_id\":2,\"run_id\":1,\"rev\":6}{\"_id\":3,\"run_id\":1}"
          "{\"_id\":4,\"run_id\":1,\"rev\":5.0}{\"_id\":5,\"run_id\":2,\"rev\":5}",
          "NNNNN");
    cra_docs_parse(t, &ids, "{\"_id\":1}{\"_id\":2}{\"_id\":3}{\"_id\":4}{\"_id\":5}");
    cra_docs_parse(t, &match, "{\"rev\":5}");
    const cra_scope scope = cra_docs_scope(t, &run, "{\"run_id\":1}");
    CHECK_OK(t, cra_docstore_delete_batch(store, &scope, ids.ids, ids.count, match.items[0], 0, &removed, &err), err);
    /* A store whose queries compare 5 and 5.0 as equal may take the fourth, too. */
    CHECK(t, removed == 1 || removed == 2);
    int64_t left = 0;
    CHECK_OK(t, cra_docstore_count(store, &scope, &left, &err), err);
    CHECK_INT(t, left, 4 - removed);
    EXPECT(t, store, "{\"run_id\":2}", 10, "{\"_id\":5,\"run_id\":2,\"rev\":5}");
    cra_docs_free(&ids);
    cra_docs_free(&run);
    cra_docs_free(&match);
    cra_docstore_free(store);
}

static void nothing_is_done_after_the_deadline(cra_conformance *t, const void *fixture)
{
    const cra_docstore_fixture *f = fixture;
    const int64_t past = cra_context_monotonic_ms(f->context);
    const int64_t future = past + 3600000;
    cra_docstore *store = NULL;
    cra_write_result results[2];
    cra_docs docs;
    cra_docs run;
    int64_t removed = -1;
    cra_error err = {0};

    if (!cra_docs_open(t, fixture, &store))
        return;
    cra_docs_parse(t, &docs, "{\"_id\":1,\"run_id\":1}{\"_id\":2,\"run_id\":1}");
    const cra_scope scope = cra_docs_scope(t, &run, "{\"run_id\":1}");
    memset(results, 0xA5, sizeof results);
    CHECK_STATUS(t, cra_docstore_write_batch(store, "c", docs.items, 2, past, results, &err), CRA_TIMEOUT, err);
    CHECK_INT(t, results[0].outcome, CRA_WRITE_UNSENT);
    CHECK_INT(t, results[1].outcome, CRA_WRITE_UNSENT);
    EXPECT(t, store, "{\"run_id\":1}", 10, "");
    CHECK_OK(t, cra_docstore_write_batch(store, "c", docs.items, 2, future, results, &err), err);
    CHECK_INT(t, results[1].outcome, CRA_WRITE_NEW);
    CHECK_STATUS(t, cra_docstore_delete_batch(store, &scope, docs.ids, 2, (cra_bytes){NULL, 0}, past, &removed, &err),
                 CRA_TIMEOUT, err);
    CHECK_INT(t, removed, 0);
    EXPECT(t, store, "{\"run_id\":1}", 10, "{\"_id\":1,\"run_id\":1}{\"_id\":2,\"run_id\":1}");
    CHECK_OK(t, cra_docstore_delete_batch(store, &scope, docs.ids, 2, (cra_bytes){NULL, 0}, future, &removed, &err),
             err);
    CHECK_INT(t, removed, 2);
    cra_docs_free(&docs);
    cra_docs_free(&run);
    cra_docstore_free(store);
}

/* ---- compare-and-set ---- */

static void a_replace_compares_first(cra_conformance *t, const void *fixture)
{
    cra_docstore *store = NULL;
    cra_docs docs;
    cra_error err = {0};

    if (!cra_docs_open(t, fixture, &store))
        return;
    if ((cra_docstore_features(store) & CRA_DOCSTORE_REPLACE_IF) == 0) {
        cra_conformance_skip(t, "no replace_if");
        cra_docstore_free(store);
        return;
    }
    cra_docs_parse(t, &docs,
                   "{\"_id\":1,\"run_id\":2,\"rev\":2}{\"rev\":1,\"st\":\"live\"}{\"rev\":2}{\"_id\":2,\"rev\":1}"
                   "{\"none\":1}");
    CHECK_STATUS(t, cra_docstore_replace_if(store, "c", docs.ids[0], docs.items[1], docs.items[0], &err), CRA_CONFLICT,
                 err);
    WRITE(t, store, "{\"_id\":1,\"run_id\":1,\"rev\":1,\"st\":\"live\"}", "N");
    CHECK_STATUS(t, cra_docstore_replace_if(store, "c", docs.ids[0], docs.items[2], docs.items[0], &err), CRA_CONFLICT,
                 err);
    CHECK_STATUS(t, cra_docstore_replace_if(store, "c", docs.ids[0], docs.items[4], docs.items[0], &err), CRA_CONFLICT,
                 err);
    CHECK_STATUS(t, cra_docstore_replace_if(store, "c", docs.ids[0], docs.items[1], docs.items[3], &err), CRA_INVALID,
                 err); /* another _id */
    CHECK_OK(t, cra_docstore_replace_if(store, "c", docs.ids[0], docs.items[1], docs.items[0], &err), err);
    EXPECT(t, store, "{\"run_id\":1}", 10, "");
    EXPECT(t, store, "{\"run_id\":2}", 10, "{\"_id\":1,\"run_id\":2,\"rev\":2}");
    CHECK_STATUS(t, cra_docstore_replace_if(store, "c", docs.ids[0], docs.items[1], docs.items[0], &err), CRA_CONFLICT,
                 err);
    cra_docs_free(&docs);
    cra_docstore_free(store);
}

typedef struct writer {
    cra_docstore *store;
    int new_count;
    int failures;
} writer;

/* Write the same twenty records as everyone else, in batches. */
static void *write_same(void *user)
{
    writer *w = user;

    for (int batch = 0; batch < 4; batch++) {
        uint8_t documents[5][14];
        cra_bytes views[5];
        cra_write_result results[5];
        for (int i = 0; i < 5; i++) {
            const uint8_t bytes[14] = {14, 0, 0, 0, CRA_BSON_INT32, '_', 'i', 'd', 0, (uint8_t)(batch * 5 + i),
                                       0,  0, 0, 0};
            memcpy(documents[i], bytes, sizeof bytes);
            views[i] = (cra_bytes){documents[i], sizeof bytes};
        }
        if (cra_docstore_write_batch(w->store, "c", views, 5, 0, results, NULL) != CRA_OK)
            w->failures++;
        for (int i = 0; i < 5; i++) {
            w->new_count += results[i].outcome == CRA_WRITE_NEW ? 1 : 0;
            w->failures += results[i].outcome != CRA_WRITE_NEW && results[i].outcome != CRA_WRITE_ID_EXISTS ? 1 : 0;
        }
    }
    return NULL;
}

static void of_many_writers_one_inserts(cra_conformance *t, const void *fixture)
{
    pthread_t threads[THREADS];
    writer writers[THREADS];
    cra_docstore *store = NULL;
    int new_count = 0;

    if (!cra_docs_open(t, fixture, &store))
        return;
    for (int i = 0; i < THREADS; i++) {
        writers[i] = (writer){store, 0, 0};
        CHECK_INT(t, pthread_create(&threads[i], NULL, write_same, &writers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_INT(t, writers[i].failures, 0);
        new_count += writers[i].new_count;
    }
    CHECK_INT(t, new_count, 20);
    cra_docstore_free(store);
}

const cra_conformance_case cra_docstore_change_cases[] = {
    {"a_delete_keeps_to_its_run", a_delete_keeps_to_its_run},
    {"a_delete_compares_what_it_is_given", a_delete_compares_what_it_is_given},
    {"nothing_is_done_after_the_deadline", nothing_is_done_after_the_deadline},
    {"a_replace_compares_first", a_replace_compares_first},
    {"of_many_writers_one_inserts", of_many_writers_one_inserts},
};
const size_t cra_docstore_change_count = sizeof cra_docstore_change_cases / sizeof cra_docstore_change_cases[0];
