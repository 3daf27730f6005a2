/* SPDX-License-Identifier: Apache-2.0 */

/* Putting, replacing, removing, and what writers leave behind. */

#include "suite_blobstore_kit.h"

static void nothing_before_commit(cra_conformance *t, const void *fixture)
{
    cra_blobstore *store = open_empty(t, fixture);
    cra_blob_writer *writer = NULL;
    cra_error err = {0};

    if (store == NULL)
        return;
    if (CHECK_OK(t, cra_blobstore_put_open(store, "d/new", 0, NULL, &writer, &err), err)) {
        CHECK_OK(t, cra_blob_writer_write(writer, text_bytes("half"), &err), err);
        expect_missing(t, store, "d/new");
        expect_list(t, store, "", "");
        cra_blob_writer_abort(writer);
    }
    expect_missing(t, store, "d/new");
    expect_list(t, store, "", "");

    put(t, store, "d/old", "first");
    if (CHECK_OK(t, cra_blobstore_put_open(store, "d/old", 0, NULL, &writer, &err), err)) {
        CHECK_OK(t, cra_blob_writer_write(writer, text_bytes("second"), &err), err);
        expect(t, store, "d/old", "first");
        cra_blob_writer_abort(writer);
    }
    expect(t, store, "d/old", "first");
    expect_list(t, store, "", "d/old");
    cra_blob_writer_abort(NULL);
    cra_blobstore_free(store);
}

static void replace_changes_the_etag(cra_conformance *t, const void *fixture)
{
    cra_blobstore *store = open_empty(t, fixture);
    cra_blob_info before = CRA_BLOB_INFO_INIT;
    cra_blob_info earlier = CRA_BLOB_INFO_INIT;
    cra_error err = {0};
    cra_buf out;

    if (store == NULL)
        return;
    cra_buf_init(&out, NULL);
    for (int i = 0; i < 20; i++) {
        cra_blob_info now = CRA_BLOB_INFO_INIT;
        char content[16];
        snprintf(content, sizeof content, "same size %02d", i);
        CHECK_OK(t, cra_blobstore_put(store, "o", text_bytes(content), 0, &now, &err), err);
        CHECK(t, strcmp(now.etag, before.etag) != 0);
        /* Not the one of two versions ago either: a store may use its space again. */
        CHECK(t, strcmp(now.etag, earlier.etag) != 0);
        if (i > 0) {
            CHECK_STATUS(t, cra_blobstore_read(store, "o", 0, 100, before.etag, &out, &err), CRA_CONFLICT, err);
            CHECK_INT(t, out.size, 0);
        }
        out.size = 0;
        CHECK_OK(t, cra_blobstore_read(store, "o", 0, 100, now.etag, &out, &err), err);
        CHECK(t, holds(&out, content, strlen(content)));
        out.size = 0;
        earlier = before;
        before = now;
    }
    CHECK_STATUS(t, cra_blobstore_read(store, "absent", 0, 1, before.etag, &out, &err), CRA_NOT_FOUND, err);
    cra_buf_cleanup(&out);
    cra_blobstore_free(store);
}

static void put_if_absent(cra_conformance *t, const void *fixture)
{
    cra_blobstore *store = open_empty(t, fixture);
    cra_blob_writer *first = NULL;
    cra_blob_writer *second = NULL;
    cra_error err = {0};

    if (store == NULL)
        return;
    if ((cra_blobstore_features(store) & CRA_BLOBSTORE_IF_ABSENT) == 0) {
        CHECK_STATUS(t, cra_blobstore_put(store, "o", text_bytes("x"), CRA_PUT_IF_ABSENT, NULL, &err), CRA_UNSUPPORTED,
                     err);
        expect_missing(t, store, "o");
        cra_conformance_skip(t, "no CRA_BLOBSTORE_IF_ABSENT");
        goto end;
    }
    CHECK_OK(t, cra_blobstore_put(store, "o", text_bytes("one"), CRA_PUT_IF_ABSENT, NULL, &err), err);
    CHECK_STATUS(t, cra_blobstore_put(store, "o", text_bytes("two"), CRA_PUT_IF_ABSENT, NULL, &err), CRA_EXISTS, err);
    expect(t, store, "o", "one");
    put(t, store, "o", "three");
    expect(t, store, "o", "three");

    /* Two at once: the first to commit has it. */
    if (CHECK_OK(t, cra_blobstore_put_open(store, "p/q", CRA_PUT_IF_ABSENT, NULL, &first, &err), err) &&
        CHECK_OK(t, cra_blobstore_put_open(store, "p/q", CRA_PUT_IF_ABSENT, NULL, &second, &err), err)) {
        CHECK_OK(t, cra_blob_writer_write(first, text_bytes("first"), &err), err);
        CHECK_OK(t, cra_blob_writer_write(second, text_bytes("second"), &err), err);
        CHECK_OK(t, cra_blob_writer_commit(second, NULL, &err), err);
        CHECK_STATUS(t, cra_blob_writer_commit(first, NULL, &err), CRA_EXISTS, err);
        expect(t, store, "p/q", "second");
    }
    expect_list(t, store, "", "o p/q");
end:
    cra_blobstore_free(store);
}

static void last_commit_wins(cra_conformance *t, const void *fixture)
{
    cra_blobstore *store = open_empty(t, fixture);
    cra_blob_writer *first = NULL;
    cra_blob_writer *second = NULL;
    cra_error err = {0};

    if (store == NULL)
        return;
    if (CHECK_OK(t, cra_blobstore_put_open(store, "o", 0, "w1", &first, &err), err) &&
        CHECK_OK(t, cra_blobstore_put_open(store, "o", 0, "w2", &second, &err), err)) {
        CHECK_OK(t, cra_blob_writer_write(second, text_bytes("second"), &err), err);
        CHECK_OK(t, cra_blob_writer_write(first, text_bytes("first"), &err), err);
        CHECK_OK(t, cra_blob_writer_commit(second, NULL, &err), err);
        expect(t, store, "o", "second");
        CHECK_OK(t, cra_blob_writer_commit(first, NULL, &err), err);
        expect(t, store, "o", "first");
    }
    expect_list(t, store, "", "o");
    cra_blobstore_free(store);
}

static void removal(cra_conformance *t, const void *fixture)
{
    cra_blobstore *store = open_empty(t, fixture);
    cra_error err = {0};

    if (store == NULL)
        return;
    put(t, store, "r/1/a", "a");
    put(t, store, "r/1/b", "b");
    put(t, store, "r/2/a", "c");
    CHECK_OK(t, cra_blobstore_remove(store, "r/1/a", &err), err);
    expect_missing(t, store, "r/1/a");
    expect_list(t, store, "", "r/1/b r/2/a");
    /* Already gone is success. */
    CHECK_OK(t, cra_blobstore_remove(store, "r/1/a", &err), err);
    CHECK_OK(t, cra_blobstore_remove(store, "never/was", &err), err);
    /* A folder is no object: its content stays. */
    CHECK_OK(t, cra_blobstore_remove(store, "r/2", &err), err);
    expect(t, store, "r/2/a", "c");
    CHECK_OK(t, cra_blobstore_remove(store, "r/1/b", &err), err);
    expect_list(t, store, "", "r/2/a");
    put(t, store, "r/1/a", "again");
    expect(t, store, "r/1/a", "again");
    cra_blobstore_free(store);
}

static void uploads_left_behind(cra_conformance *t, const void *fixture)
{
    cra_blobstore *store = open_empty(t, fixture);
    cra_blob_writer *writer = NULL;
    names n = {.count = 0};
    cra_error err = {0};

    if (store == NULL)
        return;
    if ((cra_blobstore_features(store) & CRA_BLOBSTORE_UPLOADS) == 0) {
        CHECK_STATUS(t, cra_blobstore_upload_list(store, "", collect, &n, &err), CRA_UNSUPPORTED, err);
        cra_conformance_skip(t, "no CRA_BLOBSTORE_UPLOADS");
        goto end;
    }
    put(t, store, "r/1/done", "x");
    CHECK_OK(t, cra_blobstore_upload_list(store, "", collect, &n, &err), err);
    CHECK_INT(t, n.count, 0);
    if (!CHECK_OK(t, cra_blobstore_put_open(store, "r/1/part", 0, "7-3", &writer, &err), err))
        goto end;
    CHECK_OK(t, cra_blob_writer_write(writer, text_bytes("half"), &err), err);

    n = (names){.count = 0};
    CHECK_OK(t, cra_blobstore_upload_list(store, "r/2/", collect, &n, &err), err);
    CHECK_INT(t, n.count, 0);
    CHECK_OK(t, cra_blobstore_upload_list(store, "r/1/p", collect, &n, &err), err);
    CHECK_INT(t, n.count, 1);
    CHECK(t, strncmp(n.text, "r/1/part", 8) == 0);
    expect_missing(t, store, "r/1/part");

    CHECK_OK(t, cra_blobstore_upload_abort(store, n.text, &err), err);
    CHECK_OK(t, cra_blobstore_upload_abort(store, n.text, &err), err);
    n = (names){.count = 0};
    CHECK_OK(t, cra_blobstore_upload_list(store, "", collect, &n, &err), err);
    CHECK_INT(t, n.count, 0);
    cra_blob_writer_abort(writer); /* the writer that turns out to live gives up without harm */
    expect_missing(t, store, "r/1/part");
    expect(t, store, "r/1/done", "x");
end:
    cra_blobstore_free(store);
}

static void aborted_upload_cannot_commit(cra_conformance *t, const void *fixture)
{
    cra_blobstore *store = open_empty(t, fixture);
    cra_blob_writer *writer = NULL;
    names n = {.count = 0};
    cra_error err = {0};

    if (store == NULL)
        return;
    if ((cra_blobstore_features(store) & CRA_BLOBSTORE_UPLOADS) == 0) {
        cra_conformance_skip(t, "no CRA_BLOBSTORE_UPLOADS");
    } else if (CHECK_OK(t, cra_blobstore_put_open(store, "late", 0, NULL, &writer, &err), err)) {
        CHECK_OK(t, cra_blob_writer_write(writer, text_bytes("half"), &err), err);
        CHECK_OK(t, cra_blobstore_upload_list(store, "", collect, &n, &err), err);
        CHECK_INT(t, n.count, 1);
        CHECK_OK(t, cra_blobstore_upload_abort(store, n.text, &err), err);
        CHECK(t, cra_blob_writer_commit(writer, NULL, &err) < 0);
        expect_missing(t, store, "late");
    }
    cra_blobstore_free(store);
}

int cra_conformance_blobstore_writing(cra_conformance *t, const cra_blobstore_fixture *fixture)
{
    static const cra_conformance_case cases[] = {
        {"nothing_before_commit", nothing_before_commit},
        {"replace_changes_the_etag", replace_changes_the_etag},
        {"put_if_absent", put_if_absent},
        {"last_commit_wins", last_commit_wins},
        {"removal", removal},
        {"uploads_left_behind", uploads_left_behind},
        {"aborted_upload_cannot_commit", aborted_upload_cannot_commit},
    };

    return cra_conformance_run(t, "blobstore", cases, sizeof cases / sizeof cases[0], fixture);
}
