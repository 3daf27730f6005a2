/* SPDX-License-Identifier: Apache-2.0 */
#include "suite_catalog.h"

#include <pthread.h>
#include <stdio.h>

#include "suite_catalog_kit.h"

#define THREADS 8

/* ---- one run ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Every field of two runs; the version and the lease are left to the caller. */
static void check_same(cra_conformance *t, const cra_run_doc *got, const cra_run_doc *wanted)
{
#define SAME_TEXT(name)                                                                                                \
    cra_conformance_check(t, same_text(got->name, wanted->name), __FILE__, __LINE__, #name " is %.100s, not %.100s",   \
                          got->name != NULL ? got->name : "unset", wanted->name != NULL ? wanted->name : "unset");
#define SAME_TIME(name)                                                                                                \
    cra_conformance_check_int(t, (long long)got->name, (long long)wanted->name, __FILE__, __LINE__, #name);
#define SAME_INT(name) SAME_TIME(name)
#define SAME_BOOL(name) SAME_TIME(name)
#define SAME(kind, name, help) SAME_##kind(name)
    CRA_RUN_FIELDS(SAME)
#undef SAME
#undef SAME_BOOL
#undef SAME_INT
#undef SAME_TIME
#undef SAME_TEXT
}

/* A run with every field set to something of its own. */
static cra_run_doc full_run(const char *report, const char *run)
{
    cra_run_doc doc = cra_catalog_kit_run(report, run);
    int64_t next = 1000;

#define FILL_TEXT(name)                                                                                                \
    if (doc.name == NULL)                                                                                              \
        doc.name = cra_catalog_kit_text(#name " \xc3\xa9'\"\\\n%");
#define FILL_TIME(name) doc.name = next++;
#define FILL_INT(name) doc.name = INT64_MAX - next++;
#define FILL_BOOL(name) doc.name = true;
#define FILL(kind, name, help) FILL_##kind(name)
    CRA_RUN_FIELDS(FILL)
#undef FILL
#undef FILL_BOOL
#undef FILL_INT
#undef FILL_TIME
#undef FILL_TEXT
    doc.state = CRA_RUN_ARCHIVED;
    doc.archive_at = INT64_MAX;
    doc.created_at = INT64_MIN + 1;
    return doc;
}

static void every_field_is_kept(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    const cra_run_doc full = full_run("r'1", "run\"1");
    const cra_run_doc empty = cra_catalog_kit_run("r'1", "run 2");
    cra_catalog *catalog = NULL;
    cra_run_doc got;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    CHECK_OK(t, cra_catalog_run_insert(catalog, &full, &err), err);
    CHECK_OK(t, cra_catalog_run_insert(catalog, &empty, &err), err);
    if (CHECK_OK(t, cra_catalog_run_get(catalog, "r'1", "run\"1", &got, &err), err)) {
        check_same(t, &got, &full);
        CHECK_INT(t, got.version, 1);
        CHECK_INT(t, got.lease_fence, 0);
        CHECK(t, got.lease_owner[0] == '\0');
        CHECK_INT(t, got.lease_expires_at, 0);
        cra_run_doc_cleanup(&got, f->allocator);
    }
    if (CHECK_OK(t, cra_catalog_run_get(catalog, "r'1", "run 2", &got, &err), err)) {
        check_same(t, &got, &empty);
        cra_run_doc_cleanup(&got, f->allocator);
    }
    /* And the other way round: what was set is unset. */
    cra_run_doc cleared = empty;
    cleared.run = cra_catalog_kit_text("run\"1");
    CHECK_OK(t, cra_catalog_run_replace(catalog, &cleared, 1, NULL, &err), err);
    if (CHECK_OK(t, cra_catalog_run_get(catalog, "r'1", "run\"1", &got, &err), err)) {
        check_same(t, &got, &cleared);
        CHECK_INT(t, got.version, 2);
        cra_run_doc_cleanup(&got, f->allocator);
    }
    cra_catalog_free(catalog);
}

static void a_key_is_taken_once(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_run_doc again = cra_catalog_kit_run("r", "1");
    cra_catalog *catalog = NULL;
    cra_run_doc got;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    cra_catalog_kit_insert(t, catalog, "r", "1");
    again.records = 7;
    CHECK_STATUS(t, cra_catalog_run_insert(catalog, &again, &err), CRA_EXISTS, err);
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "1").records, -1);
    /* The key is report and run, by bytes. */
    cra_catalog_kit_insert(t, catalog, "s", "1");
    cra_catalog_kit_insert(t, catalog, "R", "1");
    cra_catalog_kit_insert(t, catalog, "r", "1 ");
    cra_catalog_kit_insert(t, catalog, "r", "01");
    CHECK_STATUS(t, cra_catalog_run_get(catalog, "r", "2", &got, &err), CRA_NOT_FOUND, err);
    CHECK_STATUS(t, cra_catalog_run_get(catalog, "q", "1", &got, &err), CRA_NOT_FOUND, err);
    cra_catalog_free(catalog);
}

static void a_replace_compares_the_version(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_run_doc next = cra_catalog_kit_run("r", "1");
    cra_catalog *catalog = NULL;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    CHECK_STATUS(t, cra_catalog_run_replace(catalog, &next, 1, NULL, &err), CRA_NOT_FOUND, err);
    cra_catalog_kit_insert(t, catalog, "r", "1");
    next.records = 1;
    CHECK_OK(t, cra_catalog_run_replace(catalog, &next, 1, NULL, &err), err);
    next.records = 2;
    CHECK_STATUS(t, cra_catalog_run_replace(catalog, &next, 1, NULL, &err), CRA_CONFLICT, err);
    CHECK_STATUS(t, cra_catalog_run_replace(catalog, &next, 3, NULL, &err), CRA_CONFLICT, err);
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "1").records, 1);
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "1").version, 2);
    /* The version that the struct says means nothing. */
    next.version = 99;
    CHECK_OK(t, cra_catalog_run_replace(catalog, &next, 2, NULL, &err), err);
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "1").version, 3);
    cra_catalog_free(catalog);
}

static void a_removed_run_is_gone(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_catalog *catalog = NULL;
    cra_lease lease;
    cra_run_doc got;
    cra_buf out;
    int64_t version = 0;
    cra_error err = {0};

    cra_buf_init(&out, f->allocator);
    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    cra_catalog_kit_insert(t, catalog, "r", "1");
    cra_catalog_kit_insert(t, catalog, "r", "2");
    CHECK_OK(t, cra_catalog_lease_acquire(catalog, "r", "1", "me", 60000, 0, &lease, &err), err);
    CHECK_OK(t,
             cra_catalog_checkpoint_put(catalog, "r", "1", "c", &lease, 0, (cra_bytes){(const uint8_t *)"x", 1}, &err),
             err);
    CHECK_STATUS(t, cra_catalog_run_remove(catalog, "r", "1", 2, &err), CRA_CONFLICT, err);
    CHECK_OK(t, cra_catalog_run_remove(catalog, "r", "1", 1, &err), err);
    CHECK_STATUS(t, cra_catalog_run_get(catalog, "r", "1", &got, &err), CRA_NOT_FOUND, err);
    CHECK_OK(t, cra_catalog_run_remove(catalog, "r", "1", 1, &err), err); /* already gone */
    CHECK_STATUS(t, cra_catalog_lease_renew(catalog, "r", "1", &lease, 1000, &err), CRA_NOT_FOUND, err);
    CHECK_OK(t, cra_catalog_lease_release(catalog, "r", "1", &lease, &err), err);
    /* A run of the same name begins anew. */
    cra_catalog_kit_insert(t, catalog, "r", "1");
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "1").lease_fence, 0);
    CHECK_STATUS(t, cra_catalog_checkpoint_get(catalog, "r", "1", "c", &out, &version, &err), CRA_NOT_FOUND, err);
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "2").version, 1);
    cra_buf_cleanup(&out);
    cra_catalog_free(catalog);
}

/* ---- lists ---- */

typedef struct seen {
    char text[2048];
    size_t count;
    size_t stop_at; /* 0: never */
} seen;

static cra_status note(void *user, const cra_run_doc *run)
{
    seen *s = user;
    const size_t used = strlen(s->text);

    snprintf(s->text + used, sizeof s->text - used, "%s/%s ", run->report, run->run);
    s->count++;
    return s->count == s->stop_at ? CRA_CANCELLED : CRA_OK;
}

static void check_list(cra_conformance *t, cra_catalog *catalog, const cra_run_query *query, const char *wanted)
{
    seen s = {.count = 0};
    cra_error err = {0};

    CHECK_OK(t, cra_catalog_run_list(catalog, query, note, &s, &err), err);
    cra_conformance_check(t, strcmp(s.text, wanted) == 0, __FILE__, __LINE__, "listed '%.200s', not '%.200s'", s.text,
                          wanted);
}

static void fill(cra_conformance *t, cra_catalog *catalog)
{
    static const struct {
        const char *report;
        const char *run;
        int64_t state;
        const char *outcome;
        cra_time_ms archive_at;
        bool held;
    } runs[] = {
        {"b", "2", CRA_RUN_HOT, "success", 300, false},      {"a", "10", CRA_RUN_HOT, NULL, CRA_TIME_NONE, false},
        {"a", "9", CRA_RUN_SWEEPING, "failed", 100, false},  {"b", "1", CRA_RUN_ARCHIVED, "success", 300, true},
        {"a", "1", CRA_RUN_RESTORED, "success", 200, true},  {"B", "1", CRA_RUN_HOT, "empty", CRA_TIME_NONE, false},
        {"a", "b", CRA_RUN_RESTORING, "success", -5, false},
    };
    cra_error err = {0};

    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        cra_run_doc doc = cra_catalog_kit_run(runs[i].report, runs[i].run);
        doc.state = runs[i].state;
        doc.outcome = cra_catalog_kit_text(runs[i].outcome);
        doc.archive_at = runs[i].archive_at;
        doc.held = runs[i].held;
        CHECK_OK(t, cra_catalog_run_insert(catalog, &doc, &err), err);
    }
}

static void lists_are_filtered_and_ordered(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_run_query query = CRA_RUN_QUERY_INIT;
    cra_catalog *catalog = NULL;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    check_list(t, catalog, &query, "");
    fill(t, catalog);
    check_list(t, catalog, &query, "B/1 a/1 a/10 a/9 a/b b/1 b/2 ");
    query.report = "a";
    check_list(t, catalog, &query, "a/1 a/10 a/9 a/b ");
    query.run = "9";
    check_list(t, catalog, &query, "a/9 ");
    query.report = NULL;
    query.run = "1";
    check_list(t, catalog, &query, "B/1 a/1 b/1 ");
    query.run = NULL;
    query.state_mask = 1u << CRA_RUN_HOT | 1u << CRA_RUN_RESTORED;
    check_list(t, catalog, &query, "B/1 a/1 a/10 b/2 ");
    query.closed_only = true;
    check_list(t, catalog, &query, "B/1 a/1 b/2 ");
    query.undated_only = true;
    check_list(t, catalog, &query, "B/1 ");
    query.closed_only = query.undated_only = false;
    query.state_mask = 0;
    query.held_only = true;
    check_list(t, catalog, &query, "a/1 b/1 ");
    query.report = "none";
    check_list(t, catalog, &query, "");
    cra_catalog_free(catalog);
}

static void due_runs_come_by_date(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_run_query query = CRA_RUN_QUERY_INIT;
    cra_catalog *catalog = NULL;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    fill(t, catalog);
    query.due_before = INT64_MAX;
    check_list(t, catalog, &query, "a/b a/9 a/1 b/1 b/2 ");
    query.due_before = 200; /* that moment included */
    check_list(t, catalog, &query, "a/b a/9 a/1 ");
    query.due_before = 199;
    check_list(t, catalog, &query, "a/b a/9 ");
    query.due_before = 0;
    check_list(t, catalog, &query, "a/b ");
    query.due_before = 300;
    query.report = "b";
    check_list(t, catalog, &query, "b/1 b/2 ");
    cra_catalog_free(catalog);
}

static void lists_go_on_behind_a_key(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_run_query query = CRA_RUN_QUERY_INIT;
    cra_catalog *catalog = NULL;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    fill(t, catalog);
    query.limit = 2;
    check_list(t, catalog, &query, "B/1 a/1 ");
    query.after_report = "a";
    query.after_run = "1";
    check_list(t, catalog, &query, "a/10 a/9 ");
    query.after_run = "2"; /* a key that is not there */
    check_list(t, catalog, &query, "a/9 a/b ");
    query.after_report = "b";
    query.after_run = "2";
    check_list(t, catalog, &query, "");
    query.due_before = INT64_MAX;
    query.after_run = "1";
    query.after_archive_at = 300;
    check_list(t, catalog, &query, "b/2 ");
    query.after_report = "z";
    query.after_archive_at = -5;
    check_list(t, catalog, &query, "a/9 a/1 ");
    query.after_report = "a";
    query.after_run = NULL;
    seen s = {.count = 0};
    CHECK_STATUS(t, cra_catalog_run_list(catalog, &query, note, &s, &err), CRA_INVALID, err);
    cra_catalog_free(catalog);
}

static void a_visitor_may_stop(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_run_query query = CRA_RUN_QUERY_INIT;
    cra_catalog *catalog = NULL;
    seen s = {.stop_at = 3};
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    fill(t, catalog);
    CHECK_INT(t, cra_catalog_run_list(catalog, &query, note, &s, &err), CRA_CANCELLED);
    CHECK_INT(t, s.count, 3);
    /* Nothing is held afterwards: writing goes on. */
    cra_catalog_kit_insert(t, catalog, "z", "1");
    check_list(t, catalog, &query, "B/1 a/1 a/10 a/9 a/b b/1 b/2 z/1 ");
    cra_catalog_free(catalog);
}

/* ---- many hands ---- */

typedef struct replacer {
    cra_catalog *catalog;
    const cra_allocator *allocator;
    int done;
} replacer;

/* Count the records of one run up, each step by compare-and-set. */
static void *replace_many(void *user)
{
    replacer *r = user;

    for (int attempts = 0; r->done < 10 && attempts < 100000; attempts++) {
        cra_run_doc doc;
        if (cra_catalog_run_get(r->catalog, "r", "1", &doc, NULL) != CRA_OK)
            break;
        const int64_t version = doc.version;
        doc.records++;
        if (cra_catalog_run_replace(r->catalog, &doc, version, NULL, NULL) == CRA_OK)
            r->done++;
        cra_run_doc_cleanup(&doc, r->allocator);
    }
    return NULL;
}

static void replacing_is_atomic(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    pthread_t threads[THREADS];
    replacer replacers[THREADS];
    cra_catalog *catalog = NULL;
    cra_error err = {0};
    int done = 0;

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    cra_catalog_kit_insert(t, catalog, "r", "1");
    for (int i = 0; i < THREADS; i++) {
        replacers[i] = (replacer){catalog, f->allocator, 0};
        CHECK_INT(t, pthread_create(&threads[i], NULL, replace_many, &replacers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        done += replacers[i].done;
    }
    CHECK_INT(t, done, THREADS * 10);
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "1").records, done - 1);
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "1").version, done + 1);
    cra_catalog_free(catalog);
}

/* ---- handles ---- */

static void read_only_handles_do_not_write(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    const cra_run_doc doc = cra_catalog_kit_run("r", "2");
    const cra_bytes bytes = {(const uint8_t *)"x", 1};
    cra_run_query query = CRA_RUN_QUERY_INIT;
    cra_catalog *catalog = NULL;
    cra_catalog *reader = NULL;
    cra_lease lease = {"me", 1, 1};
    cra_time_ms now;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    cra_catalog_kit_insert(t, catalog, "r", "1");
    if (CHECK_OK(t, cra_catalog_read_only(catalog, &reader, &err), err)) {
        CHECK_OK(t, cra_catalog_now(reader, &now, &err), err);
        check_list(t, reader, &query, "r/1 ");
        CHECK_STATUS(t, cra_catalog_run_insert(reader, &doc, &err), CRA_DENIED, err);
        CHECK_STATUS(t, cra_catalog_run_replace(reader, &doc, 1, NULL, &err), CRA_DENIED, err);
        CHECK_STATUS(t, cra_catalog_run_remove(reader, "r", "1", 1, &err), CRA_DENIED, err);
        CHECK_STATUS(t, cra_catalog_lease_acquire(reader, "r", "1", "me", 1, 0, &lease, &err), CRA_DENIED, err);
        CHECK_STATUS(t, cra_catalog_lease_renew(reader, "r", "1", &lease, 1, &err), CRA_DENIED, err);
        CHECK_STATUS(t, cra_catalog_lease_release(reader, "r", "1", &lease, &err), CRA_DENIED, err);
        CHECK_STATUS(t, cra_catalog_checkpoint_put(reader, "r", "1", "c", &lease, 0, bytes, &err), CRA_DENIED, err);
        CHECK_STATUS(t, cra_catalog_checkpoint_remove(reader, "r", "1", "c", &lease, &err), CRA_DENIED, err);
        CHECK_STATUS(t, cra_catalog_summary_put(reader, "s", bytes, &err), CRA_DENIED, err);
        cra_catalog_free(reader);
    }
    check_list(t, catalog, &query, "r/1 ");
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "1").lease_fence, 0);
    cra_catalog_free(catalog);
}

static void what_is_written_stays(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_run_query query = CRA_RUN_QUERY_INIT;
    cra_catalog *catalog = NULL;
    cra_catalog *second = NULL;
    const cra_run_doc late = cra_catalog_kit_run("r", "3");
    cra_error err = {0};

    if (f->reopen == NULL) {
        cra_conformance_skip(t, "the catalog is gone with its handle");
        return;
    }
    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    cra_catalog_kit_insert(t, catalog, "r", "1");
    if (CHECK_OK(t, f->reopen(f->user, false, &second, &err), err)) {
        check_list(t, second, &query, "r/1 ");
        cra_catalog_kit_insert(t, second, "r", "2");
        check_list(t, catalog, &query, "r/1 r/2 ");
        cra_catalog_free(second);
    }
    cra_catalog_free(catalog);
    if (CHECK_OK(t, f->reopen(f->user, true, &second, &err), err)) {
        check_list(t, second, &query, "r/1 r/2 ");
        CHECK_STATUS(t, cra_catalog_run_insert(second, &late, &err), CRA_DENIED, err);
        cra_catalog_free(second);
    }
}

static void what_is_no_run_is_refused(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_run_doc doc = cra_catalog_kit_run("", "1");
    cra_catalog *catalog = NULL;
    cra_lease lease;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    CHECK_STATUS(t, cra_catalog_run_insert(catalog, &doc, &err), CRA_INVALID, err);
    doc = cra_catalog_kit_run("r", NULL);
    CHECK_STATUS(t, cra_catalog_run_insert(catalog, &doc, &err), CRA_INVALID, err);
    doc = cra_catalog_kit_run("r", "1");
    doc.state = 5;
    CHECK_STATUS(t, cra_catalog_run_insert(catalog, &doc, &err), CRA_INVALID, err);
    doc = cra_catalog_kit_run("r", "1");
    doc.collection = NULL;
    CHECK_STATUS(t, cra_catalog_run_insert(catalog, &doc, &err), CRA_INVALID, err);
    CHECK_STATUS(t, cra_catalog_lease_acquire(catalog, "r", "1", "", 1, 0, &lease, &err), CRA_INVALID, err);
    CHECK_STATUS(t, cra_catalog_lease_acquire(catalog, "r", "1", "me", 0, 0, &lease, &err), CRA_INVALID, err);
    CHECK_STATUS(t, cra_catalog_lease_acquire(catalog, "r", "1", "me", 1, -1, &lease, &err), CRA_INVALID, err);
    CHECK_STATUS(
        t,
        cra_catalog_lease_acquire(catalog, "r", "1", "an owner that is longer than a uuid is long", 1, 0, &lease, &err),
        CRA_INVALID, err);
    cra_catalog_free(catalog);
}

int cra_conformance_catalog(cra_conformance *t, const cra_catalog_fixture *fixture)
{
    static const cra_conformance_case cases[] = {
        {"every_field_is_kept", every_field_is_kept},
        {"a_key_is_taken_once", a_key_is_taken_once},
        {"a_replace_compares_the_version", a_replace_compares_the_version},
        {"a_removed_run_is_gone", a_removed_run_is_gone},
        {"lists_are_filtered_and_ordered", lists_are_filtered_and_ordered},
        {"due_runs_come_by_date", due_runs_come_by_date},
        {"lists_go_on_behind_a_key", lists_go_on_behind_a_key},
        {"a_visitor_may_stop", a_visitor_may_stop},
        {"replacing_is_atomic", replacing_is_atomic},
        {"read_only_handles_do_not_write", read_only_handles_do_not_write},
        {"what_is_written_stays", what_is_written_stays},
        {"what_is_no_run_is_refused", what_is_no_run_is_refused},
    };
    const int failures = cra_conformance_run(t, "catalog", cases, sizeof cases / sizeof cases[0], fixture);

    return failures + cra_conformance_run(t, "catalog", cra_catalog_lease_cases, cra_catalog_lease_count, fixture);
}
