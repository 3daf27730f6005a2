/* SPDX-License-Identifier: Apache-2.0 */

/* Leases, what is written under them, and summaries. */

#include <pthread.h>
#include <time.h>

#include "suite_catalog_kit.h"

#define THREADS 8

static void pass_time(const cra_catalog_fixture *f, int64_t duration_ms)
{
    if (f->advance != NULL) {
        f->advance(f->user, duration_ms);
        return;
    }
    const struct timespec pause = {(time_t)(duration_ms / 1000), (long)(duration_ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

static void a_lease_has_one_holder(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_catalog *catalog = NULL;
    cra_lease mine;
    cra_lease theirs;
    cra_time_ms before;
    cra_time_ms after;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    CHECK_STATUS(t, cra_catalog_lease_acquire(catalog, "r", "1", "me", 60000, 0, &mine, &err), CRA_NOT_FOUND, err);
    cra_catalog_kit_insert(t, catalog, "r", "1");
    cra_catalog_kit_insert(t, catalog, "r", "2");
    CHECK_OK(t, cra_catalog_now(catalog, &before, &err), err);
    CHECK_OK(t, cra_catalog_lease_acquire(catalog, "r", "1", "me", 60000, 0, &mine, &err), err);
    CHECK_OK(t, cra_catalog_now(catalog, &after, &err), err);
    CHECK(t, strcmp(mine.owner, "me") == 0);
    CHECK_INT(t, mine.fence, 1);
    CHECK(t, mine.expires_at >= before + 60000 && mine.expires_at <= after + 60000);

    CHECK_STATUS(t, cra_catalog_lease_acquire(catalog, "r", "1", "them", 60000, 0, &theirs, &err), CRA_LOCKED, err);
    CHECK(t, strstr(err.message, "me") != NULL);
    /* Nor by the same name a second time: two processes may be given one. */
    CHECK_STATUS(t, cra_catalog_lease_acquire(catalog, "r", "1", "me", 60000, 0, &theirs, &err), CRA_LOCKED, err);
    CHECK_OK(t, cra_catalog_lease_acquire(catalog, "r", "2", "them", 60000, 0, &theirs, &err), err);

    const cra_run_doc doc = cra_catalog_kit_peek(t, f, catalog, "r", "1");
    CHECK_INT(t, doc.version, 1);
    CHECK_INT(t, doc.lease_fence, 1);
    CHECK(t, strcmp(doc.lease_owner, "me") == 0);
    CHECK_INT(t, doc.lease_expires_at, mine.expires_at);
    cra_catalog_free(catalog);
}

static void a_released_lease_is_free(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_catalog *catalog = NULL;
    cra_lease first;
    cra_lease second;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    cra_catalog_kit_insert(t, catalog, "r", "1");
    CHECK_OK(t, cra_catalog_lease_acquire(catalog, "r", "1", "one", 60000, 0, &first, &err), err);
    CHECK_OK(t, cra_catalog_lease_release(catalog, "r", "1", &first, &err), err);
    const cra_run_doc doc = cra_catalog_kit_peek(t, f, catalog, "r", "1");
    CHECK(t, doc.lease_owner[0] == '\0');
    CHECK_INT(t, doc.lease_expires_at, 0);
    CHECK_INT(t, doc.lease_fence, 1);
    /* Released, it is taken without any grace. */
    CHECK_OK(t, cra_catalog_lease_acquire(catalog, "r", "1", "two", 60000, 3600000, &second, &err), err);
    CHECK_INT(t, second.fence, 2);
    /* Giving back what was lost already changes nothing. */
    CHECK_OK(t, cra_catalog_lease_release(catalog, "r", "1", &first, &err), err);
    CHECK(t, strcmp(cra_catalog_kit_peek(t, f, catalog, "r", "1").lease_owner, "two") == 0);
    CHECK_STATUS(t, cra_catalog_lease_renew(catalog, "r", "1", &first, 60000, &err), CRA_LOCKED, err);
    cra_catalog_free(catalog);
}

static void an_expired_lease_waits_for_the_grace(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_catalog *catalog = NULL;
    cra_lease first;
    cra_lease second;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    cra_catalog_kit_insert(t, catalog, "r", "1");
    CHECK_OK(t, cra_catalog_lease_acquire(catalog, "r", "1", "one", 200, 0, &first, &err), err);
    pass_time(f, 250);
    CHECK_STATUS(t, cra_catalog_lease_acquire(catalog, "r", "1", "two", 60000, 3600000, &second, &err), CRA_LOCKED,
                 err);
    CHECK_OK(t, cra_catalog_lease_acquire(catalog, "r", "1", "two", 60000, 10, &second, &err), err);
    CHECK_INT(t, second.fence, 2);
    CHECK_STATUS(t, cra_catalog_lease_renew(catalog, "r", "1", &first, 60000, &err), CRA_LOCKED, err);
    cra_catalog_free(catalog);
}

static void a_renewed_lease_lasts(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_catalog *catalog = NULL;
    cra_lease lease;
    cra_lease other;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    cra_catalog_kit_insert(t, catalog, "r", "1");
    CHECK_OK(t, cra_catalog_lease_acquire(catalog, "r", "1", "one", 200, 0, &lease, &err), err);
    const cra_time_ms expires_at = lease.expires_at;
    CHECK_OK(t, cra_catalog_lease_renew(catalog, "r", "1", &lease, 60000, &err), err);
    CHECK(t, lease.expires_at > expires_at);
    CHECK_INT(t, lease.fence, 1);
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "1").lease_expires_at, lease.expires_at);
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "1").version, 1);
    pass_time(f, 250);
    CHECK_STATUS(t, cra_catalog_lease_acquire(catalog, "r", "1", "two", 60000, 0, &other, &err), CRA_LOCKED, err);
    /* An expired lease that nobody took is still its holder's. */
    CHECK_OK(t, cra_catalog_lease_renew(catalog, "r", "1", &lease, 200, &err), err);
    pass_time(f, 250);
    CHECK_OK(t, cra_catalog_lease_renew(catalog, "r", "1", &lease, 60000, &err), err);
    cra_catalog_free(catalog);
}

static void a_stalled_holder_writes_nothing(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    const cra_bytes bytes = {(const uint8_t *)"late", 4};
    cra_run_doc next = cra_catalog_kit_run("r", "1");
    cra_catalog *catalog = NULL;
    cra_lease stalled;
    cra_lease current;
    cra_buf out;
    int64_t version;
    cra_error err = {0};

    cra_buf_init(&out, f->allocator);
    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    cra_catalog_kit_insert(t, catalog, "r", "1");
    CHECK_OK(t, cra_catalog_lease_acquire(catalog, "r", "1", "one", 60000, 0, &stalled, &err), err);
    next.records = 1;
    CHECK_OK(t, cra_catalog_run_replace(catalog, &next, 1, &stalled, &err), err);
    /* The lease is left as it was. */
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "1").lease_fence, 1);
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "1").lease_expires_at, stalled.expires_at);
    CHECK_OK(t, cra_catalog_lease_release(catalog, "r", "1", &stalled, &err), err);
    next.records = 2;
    CHECK_STATUS(t, cra_catalog_run_replace(catalog, &next, 2, &stalled, &err), CRA_LOCKED, err);
    CHECK_OK(t, cra_catalog_lease_acquire(catalog, "r", "1", "one", 60000, 0, &current, &err), err);
    /* The owner is the same, the fence is not. */
    CHECK_STATUS(t, cra_catalog_run_replace(catalog, &next, 2, &stalled, &err), CRA_LOCKED, err);
    CHECK_STATUS(t, cra_catalog_checkpoint_put(catalog, "r", "1", "c", &stalled, 0, bytes, &err), CRA_LOCKED, err);
    CHECK_STATUS(t, cra_catalog_checkpoint_get(catalog, "r", "1", "c", &out, &version, &err), CRA_NOT_FOUND, err);
    CHECK_OK(t, cra_catalog_checkpoint_put(catalog, "r", "1", "c", &current, 0, bytes, &err), err);
    CHECK_STATUS(t, cra_catalog_checkpoint_remove(catalog, "r", "1", "c", &stalled, &err), CRA_LOCKED, err);
    CHECK_OK(t, cra_catalog_checkpoint_get(catalog, "r", "1", "c", &out, &version, &err), err);
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "1").records, 1);
    cra_buf_cleanup(&out);
    cra_catalog_free(catalog);
}

typedef struct taker {
    cra_catalog *catalog;
    char owner[8];
    cra_status status;
    cra_lease lease;
} taker;

static void *take(void *user)
{
    taker *one = user;

    one->status = cra_catalog_lease_acquire(one->catalog, "r", "1", one->owner, 60000, 0, &one->lease, NULL);
    return NULL;
}

static void of_many_takers_one_wins(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_catalog *catalog = NULL;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    cra_catalog_kit_insert(t, catalog, "r", "1");
    for (int round = 1; round <= 5; round++) {
        pthread_t threads[THREADS];
        taker takers[THREADS];
        int winners = 0;
        int winner = 0;

        for (int i = 0; i < THREADS; i++) {
            takers[i] = (taker){.catalog = catalog, .owner = {'w', (char)('0' + i)}, .status = CRA_INTERNAL};
            CHECK_INT(t, pthread_create(&threads[i], NULL, take, &takers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            CHECK(t, takers[i].status == CRA_OK || takers[i].status == CRA_LOCKED);
            if (takers[i].status == CRA_OK) {
                winners++;
                winner = i;
            }
        }
        CHECK_INT(t, winners, 1);
        CHECK_INT(t, takers[winner].lease.fence, round);
        CHECK(t, strcmp(cra_catalog_kit_peek(t, f, catalog, "r", "1").lease_owner, takers[winner].owner) == 0);
        CHECK_OK(t, cra_catalog_lease_release(catalog, "r", "1", &takers[winner].lease, &err), err);
    }
    cra_catalog_free(catalog);
}

static bool holds(const cra_buf *buf, const void *data, size_t size)
{
    return buf->size == size && memcmp(buf->data, data, size) == 0;
}

static void checkpoints_have_versions(cra_conformance *t, const void *fixture)
{
    static const uint8_t content[] = {0, 1, 255, 0, '\'', 0};
    const cra_catalog_fixture *f = fixture;
    const cra_bytes whole = {content, sizeof content};
    cra_catalog *catalog = NULL;
    cra_lease lease;
    cra_buf out;
    int64_t version = -1;
    cra_error err = {0};

    cra_buf_init(&out, f->allocator);
    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    cra_catalog_kit_insert(t, catalog, "r", "1");
    CHECK_OK(t, cra_catalog_lease_acquire(catalog, "r", "1", "me", 60000, 0, &lease, &err), err);
    CHECK_STATUS(t, cra_catalog_checkpoint_get(catalog, "r", "1", "a", &out, &version, &err), CRA_NOT_FOUND, err);
    CHECK_STATUS(t, cra_catalog_checkpoint_put(catalog, "r", "1", "a", &lease, 1, whole, &err), CRA_CONFLICT, err);
    CHECK_OK(t, cra_catalog_checkpoint_put(catalog, "r", "1", "a", &lease, 0, whole, &err), err);
    CHECK_STATUS(t, cra_catalog_checkpoint_put(catalog, "r", "1", "a", &lease, 0, whole, &err), CRA_CONFLICT, err);
    CHECK_OK(t, cra_catalog_checkpoint_get(catalog, "r", "1", "a", &out, &version, &err), err);
    CHECK_INT(t, version, 1);
    CHECK(t, holds(&out, content, sizeof content));
    /* Appended, not written over. */
    CHECK_OK(t, cra_catalog_checkpoint_get(catalog, "r", "1", "a", &out, &version, &err), err);
    CHECK_INT(t, out.size, 2 * sizeof content);
    CHECK_OK(t, cra_catalog_checkpoint_put(catalog, "r", "1", "a", &lease, 1, (cra_bytes){NULL, 0}, &err), err);
    out.size = 0;
    CHECK_OK(t, cra_catalog_checkpoint_get(catalog, "r", "1", "a", &out, &version, &err), err);
    CHECK_INT(t, version, 2);
    CHECK_INT(t, out.size, 0);
    CHECK_STATUS(t, cra_catalog_checkpoint_get(catalog, "r", "1", "b", &out, &version, &err), CRA_NOT_FOUND, err);
    CHECK_OK(t, cra_catalog_checkpoint_remove(catalog, "r", "1", "a", &lease, &err), err);
    CHECK_OK(t, cra_catalog_checkpoint_remove(catalog, "r", "1", "a", &lease, &err), err); /* already gone */
    CHECK_STATUS(t, cra_catalog_checkpoint_get(catalog, "r", "1", "a", &out, &version, &err), CRA_NOT_FOUND, err);
    CHECK_OK(t, cra_catalog_checkpoint_put(catalog, "r", "1", "a", &lease, 0, whole, &err), err);
    CHECK_STATUS(t, cra_catalog_checkpoint_put(catalog, "r", "9", "a", &lease, 0, whole, &err), CRA_NOT_FOUND, err);
    CHECK_INT(t, cra_catalog_kit_peek(t, f, catalog, "r", "1").version, 1);
    cra_buf_cleanup(&out);
    cra_catalog_free(catalog);
}

static void the_last_summary_stays(cra_conformance *t, const void *fixture)
{
    const cra_catalog_fixture *f = fixture;
    cra_catalog *catalog = NULL;
    cra_buf out;
    cra_error err = {0};

    cra_buf_init(&out, f->allocator);
    if (!CHECK_OK(t, f->open_empty(f->user, &catalog, &err), err))
        return;
    CHECK_STATUS(t, cra_catalog_summary_get(catalog, "sweep", &out, &err), CRA_NOT_FOUND, err);
    CHECK_OK(t, cra_catalog_summary_put(catalog, "sweep", (cra_bytes){(const uint8_t *)"one", 3}, &err), err);
    CHECK_OK(t, cra_catalog_summary_put(catalog, "restore", (cra_bytes){(const uint8_t *)"other", 5}, &err), err);
    CHECK_OK(t, cra_catalog_summary_put(catalog, "sweep", (cra_bytes){(const uint8_t *)"\0two", 4}, &err), err);
    CHECK_OK(t, cra_catalog_summary_get(catalog, "sweep", &out, &err), err);
    CHECK(t, holds(&out, "\0two", 4));
    cra_buf_cleanup(&out);
    cra_catalog_free(catalog);
}

const cra_conformance_case cra_catalog_lease_cases[] = {
    {"a_lease_has_one_holder", a_lease_has_one_holder},
    {"a_released_lease_is_free", a_released_lease_is_free},
    {"an_expired_lease_waits_for_the_grace", an_expired_lease_waits_for_the_grace},
    {"a_renewed_lease_lasts", a_renewed_lease_lasts},
    {"a_stalled_holder_writes_nothing", a_stalled_holder_writes_nothing},
    {"of_many_takers_one_wins", of_many_takers_one_wins},
    {"checkpoints_have_versions", checkpoints_have_versions},
    {"the_last_summary_stays", the_last_summary_stays},
};
const size_t cra_catalog_lease_count = sizeof cra_catalog_lease_cases / sizeof cra_catalog_lease_cases[0];
