/* SPDX-License-Identifier: Apache-2.0 */

/* Reading, listing, names and handles. */

#include "suite_blobstore_kit.h"

#include <stdlib.h>

static void put_and_read(cra_conformance *t, const void *fixture)
{
    cra_blobstore *store = open_empty(t, fixture);
    cra_blob_info put_info = CRA_BLOB_INFO_INIT;
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    cra_error err = {0};

    if (store == NULL)
        return;
    CHECK_OK(t, cra_blobstore_put(store, "r/1/part", text_bytes("content"), 0, &put_info, &err), err);
    expect(t, store, "r/1/part", "content");
    CHECK_OK(t, cra_blobstore_stat(store, "r/1/part", &info, &err), err);
    CHECK_INT(t, info.size_bytes, 7);
    CHECK_INT(t, put_info.size_bytes, 7);
    CHECK(t, info.etag[0] != '\0');
    CHECK(t, strcmp(info.etag, put_info.etag) == 0);
    CHECK(t, !info.frozen);
    cra_blobstore_free(store);
}

static void empty_object(cra_conformance *t, const void *fixture)
{
    cra_blobstore *store = open_empty(t, fixture);
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    cra_error err = {0};

    if (store == NULL)
        return;
    put(t, store, "empty", "");
    expect(t, store, "empty", "");
    CHECK_OK(t, cra_blobstore_stat(store, "empty", &info, &err), err);
    CHECK_INT(t, info.size_bytes, 0);
    expect_list(t, store, "", "empty");
    cra_blobstore_free(store);
}

static void ranges(cra_conformance *t, const void *fixture)
{
    static const struct {
        int64_t offset;
        int64_t length;
        const char *expected;
    } table[] = {
        {0, 10, "0123456789"}, {0, 4, "0123"}, {3, 4, "3456"},   {7, 100, "789"}, {9, 1, "9"},
        {10, 5, ""},           {11, 5, ""},    {1000000, 5, ""}, {0, 0, ""},      {5, INT32_MAX, "56789"},
    };
    cra_blobstore *store = open_empty(t, fixture);
    cra_error err = {0};
    cra_buf out;

    if (store == NULL)
        return;
    cra_buf_init(&out, NULL);
    put(t, store, "n", "0123456789");
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        out.size = 0;
        /* What is in the buffer stays in front. */
        CHECK_OK(t, cra_buf_append(&out, "<", 1), err);
        CHECK_OK(t, cra_blobstore_read(store, "n", table[i].offset, table[i].length, NULL, &out, &err), err);
        cra_conformance_check(t,
                              out.size == 1 + strlen(table[i].expected) && out.data[0] == '<' &&
                                  memcmp(out.data + 1, table[i].expected, out.size - 1) == 0,
                              __FILE__, __LINE__, "range %lld+%lld is '%.*s'", (long long)table[i].offset,
                              (long long)table[i].length, (int)out.size, (const char *)out.data);
    }
    CHECK_STATUS(t, cra_blobstore_read(store, "n", -1, 5, NULL, &out, &err), CRA_INVALID, err);
    CHECK_STATUS(t, cra_blobstore_read(store, "n", 0, -5, NULL, &out, &err), CRA_INVALID, err);
    cra_buf_cleanup(&out);
    cra_blobstore_free(store);
}

/* Content that tells its offset, so that a shifted or repeated piece shows. */
static uint8_t byte_at(size_t offset)
{
    const uint32_t mixed = (uint32_t)offset * 2654435761u;

    return (uint8_t)(mixed >> 24);
}

static void large_object_in_pieces(cra_conformance *t, const void *fixture)
{
    enum { SIZE = 3 * 1024 * 1024 + 17 };
    cra_blobstore *store = open_empty(t, fixture);
    uint8_t *content = malloc(SIZE);
    cra_blob_writer *writer = NULL;
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    cra_error err = {0};
    cra_buf out;

    cra_buf_init(&out, NULL);
    if (store == NULL || !CHECK(t, content != NULL))
        goto end;
    for (size_t i = 0; i < SIZE; i++)
        content[i] = byte_at(i);
    if (!CHECK_OK(t, cra_blobstore_put_open(store, "big", 0, "writer-1", &writer, &err), err))
        goto end;
    for (size_t at = 0, piece = 1; at < SIZE; at += piece, piece = piece * 3 + 1) {
        if (piece > SIZE - at)
            piece = SIZE - at;
        const cra_bytes bytes = {content + at, piece};
        CHECK_OK(t, cra_blob_writer_write(writer, bytes, &err), err);
    }
    CHECK_OK(t, cra_blob_writer_commit(writer, &info, &err), err);
    CHECK_INT(t, info.size_bytes, SIZE);
    CHECK_OK(t, cra_blobstore_read(store, "big", 0, SIZE + 1000, info.etag, &out, &err), err);
    CHECK(t, holds(&out, content, SIZE));
    out.size = 0;
    CHECK_OK(t, cra_blobstore_read(store, "big", 1000001, 70001, info.etag, &out, &err), err);
    CHECK(t, holds(&out, content + 1000001, 70001));
end:
    cra_buf_cleanup(&out);
    free(content);
    cra_blobstore_free(store);
}

static void missing_objects(cra_conformance *t, const void *fixture)
{
    cra_blobstore *store = open_empty(t, fixture);

    if (store == NULL)
        return;
    expect_missing(t, store, "no");
    expect_missing(t, store, "no/such/folder");
    expect_list(t, store, "", "");
    expect_list(t, store, "no/such/", "");
    put(t, store, "a/b", "x");
    expect_missing(t, store, "a"); /* a folder is no object */
    expect_missing(t, store, "a/b/c");
    expect_missing(t, store, "a/B");
    cra_blobstore_free(store);
}

static void list_in_byte_order(cra_conformance *t, const void *fixture)
{
    static const char *const in[] = {"z",      "a/b",   "a0", "a.b",        "a/c/d", "a-b",     "18/x",    "18x/y",
                                     "a/c/.d", "a/c-e", "A",  "\xc3\xa9/u", "%2F",   ".hidden", "a/.part", "~"};
    cra_blobstore *store = open_empty(t, fixture);
    names n = {.store = store};
    cra_error err = {0};

    if (store == NULL)
        return;
    for (size_t i = 0; i < sizeof in / sizeof in[0]; i++)
        put(t, store, in[i], in[i]);
    expect_list(t, store, "", "%2F .hidden 18/x 18x/y A a-b a.b a/.part a/b a/c-e a/c/.d a/c/d a0 z ~ \xc3\xa9/u");
    expect_list(t, store, "18/", "18/x");
    expect_list(t, store, "18", "18/x 18x/y");
    expect_list(t, store, "a", "a-b a.b a/.part a/b a/c-e a/c/.d a/c/d a0");
    expect_list(t, store, "a/", "a/.part a/b a/c-e a/c/.d a/c/d");
    expect_list(t, store, "a/c", "a/c-e a/c/.d a/c/d");
    expect_list(t, store, "a/c/", "a/c/.d a/c/d");
    expect_list(t, store, "a/c/d", "a/c/d");
    expect_list(t, store, "a/c/d/", "");
    expect_list(t, store, "a/.", "a/.part");
    expect_list(t, store, "\xc3\xa9/", "\xc3\xa9/u");
    expect_list(t, store, "b", "");

    /* What a listing tells of an object is what stat tells, and a visitor may use the store. */
    CHECK_OK(t, cra_blobstore_list(store, "", collect, &n, &err), err);
    CHECK_INT(t, n.count, sizeof in / sizeof in[0]);
    CHECK(t, !n.bad_info);
    cra_blobstore_free(store);
}

static void visitor_ends_the_listing(cra_conformance *t, const void *fixture)
{
    cra_blobstore *store = open_empty(t, fixture);
    names n = {.stop_after = 2};

    if (store == NULL)
        return;
    put(t, store, "a", "1");
    put(t, store, "b/c", "2");
    put(t, store, "d", "3");
    CHECK_INT(t, cra_blobstore_list(store, "", collect, &n, NULL), CRA_CANCELLED);
    CHECK(t, strcmp(n.text, "a b/c") == 0);
    cra_blobstore_free(store);
}

static void names_are_guarded(cra_conformance *t, const void *fixture)
{
    static const char *const bad[] = {"",     "/",    "/a",     "a/",    "a//b", ".",     "..",
                                      "a/..", "../a", "a/../b", "a/./b", "./a",  "a\xff", "\xc0\xae/a"};
    static const char *const odd[] = {"a b", "a%2Fb", "a?b#c&d",          "a\\b",     "...", "a/..b/c.", "*", "'\"`$",
                                      "a:b", "-",     "\xf0\x9f\x98\x80", "new\nline"};
    cra_blobstore *store = open_empty(t, fixture);
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    cra_error err = {0};

    if (store == NULL)
        return;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_STATUS(t, cra_blobstore_put(store, bad[i], text_bytes("x"), 0, NULL, &err), CRA_INVALID, err);
        CHECK_STATUS(t, cra_blobstore_stat(store, bad[i], &info, &err), CRA_INVALID, err);
        CHECK_STATUS(t, cra_blobstore_remove(store, bad[i], &err), CRA_INVALID, err);
    }
    expect_list(t, store, "", "");
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        put(t, store, odd[i], odd[i]);
        expect(t, store, odd[i], odd[i]);
        expect_list(t, store, odd[i], odd[i]);
        CHECK_OK(t, cra_blobstore_remove(store, odd[i], &err), err);
    }
    expect_list(t, store, "", "");
    cra_blobstore_free(store);
}

static void long_names(cra_conformance *t, const void *fixture)
{
    cra_blobstore *store = open_empty(t, fixture);
    char name[700];

    if (store == NULL)
        return;
    /* Four segments of 150 bytes: what percent-encoded reports and runs may come to. */
    for (size_t i = 0; i < 603; i++)
        name[i] = i % 151 == 150 ? '/' : 'n';
    name[603] = '\0';
    put(t, store, name, "deep");
    expect(t, store, name, "deep");
    expect_list(t, store, "", name);
    cra_blobstore_free(store);
}

static void read_only_handle(cra_conformance *t, const void *fixture)
{
    cra_blobstore *store = open_empty(t, fixture);
    cra_blobstore *reader = NULL;
    cra_error err = {0};

    if (store == NULL)
        return;
    put(t, store, "o", "x");
    if (CHECK_OK(t, cra_blobstore_read_only(store, &reader, &err), err)) {
        expect(t, reader, "o", "x");
        expect_list(t, reader, "", "o");
        CHECK_STATUS(t, cra_blobstore_put(reader, "o", text_bytes("y"), 0, NULL, &err), CRA_DENIED, err);
        CHECK_STATUS(t, cra_blobstore_remove(reader, "o", &err), CRA_DENIED, err);
        CHECK_STATUS(t, cra_blobstore_upload_abort(reader, "o", &err), CRA_DENIED, err);
        CHECK_STATUS(t, cra_blobstore_thaw(reader, "o", &err), CRA_DENIED, err);
        cra_blobstore_free(reader);
    }
    expect(t, store, "o", "x");
    cra_blobstore_free(store);
}

static void content_outlives_the_handle(cra_conformance *t, const void *fixture)
{
    const cra_blobstore_fixture *f = fixture;
    cra_blobstore *store = open_empty(t, f);
    cra_blob_info before = CRA_BLOB_INFO_INIT;
    cra_blob_info after = CRA_BLOB_INFO_INIT;
    cra_error err = {0};

    if (store == NULL)
        return;
    CHECK_OK(t, cra_blobstore_put(store, "r/1/a", text_bytes("kept"), 0, &before, &err), err);
    cra_blobstore_free(store);
    if (f->reopen == NULL) {
        cra_conformance_skip(t, "the store does not outlive its handle");
        return;
    }
    if (!CHECK_OK(t, f->reopen(f->user, CRA_OPEN_READ_ONLY, &store, &err), err))
        return;
    expect(t, store, "r/1/a", "kept");
    CHECK_OK(t, cra_blobstore_stat(store, "r/1/a", &after, &err), err);
    CHECK(t, strcmp(before.etag, after.etag) == 0);
    CHECK_STATUS(t, cra_blobstore_put(store, "r/1/b", text_bytes("no"), 0, NULL, &err), CRA_DENIED, err);
    expect_list(t, store, "", "r/1/a");
    cra_blobstore_free(store);
}

static void thaw_of_a_warm_object(cra_conformance *t, const void *fixture)
{
    cra_blobstore *store = open_empty(t, fixture);
    cra_error err = {0};

    if (store == NULL)
        return;
    put(t, store, "o", "x");
    if ((cra_blobstore_features(store) & CRA_BLOBSTORE_THAW) == 0) {
        CHECK_STATUS(t, cra_blobstore_thaw(store, "o", &err), CRA_UNSUPPORTED, err);
        cra_conformance_skip(t, "no CRA_BLOBSTORE_THAW");
    } else {
        CHECK_STATUS(t, cra_blobstore_thaw(store, "o", &err), CRA_DONE, err);
        CHECK_STATUS(t, cra_blobstore_thaw(store, "absent", &err), CRA_NOT_FOUND, err);
    }
    cra_blobstore_free(store);
}

int cra_conformance_blobstore(cra_conformance *t, const cra_blobstore_fixture *fixture)
{
    static const cra_conformance_case cases[] = {
        {"put_and_read", put_and_read},
        {"empty_object", empty_object},
        {"ranges", ranges},
        {"large_object_in_pieces", large_object_in_pieces},
        {"missing_objects", missing_objects},
        {"list_in_byte_order", list_in_byte_order},
        {"visitor_ends_the_listing", visitor_ends_the_listing},
        {"names_are_guarded", names_are_guarded},
        {"long_names", long_names},
        {"read_only_handle", read_only_handle},
        {"content_outlives_the_handle", content_outlives_the_handle},
        {"thaw_of_a_warm_object", thaw_of_a_warm_object},
    };

    return cra_conformance_run(t, "blobstore", cases, sizeof cases / sizeof cases[0], fixture) +
           cra_conformance_blobstore_writing(t, fixture);
}
