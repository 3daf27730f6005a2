/* SPDX-License-Identifier: Apache-2.0 */
#include "suite_blobstore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- helpers ---- */

static cra_bytes text_bytes(const char *text)
{
    cra_bytes bytes = {(const uint8_t *)text, strlen(text)};

    return bytes;
}

static bool holds(const cra_buf *out, const void *expected, size_t size)
{
    return out->size == size && (size == 0 || memcmp(out->data, expected, size) == 0);
}

static cra_blobstore *open_empty(cra_conformance *t, const cra_blobstore_fixture *f)
{
    cra_blobstore *store = NULL;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &store, &err), err))
        return NULL;
    return store;
}

static void put(cra_conformance *t, cra_blobstore *store, const char *name, const char *content)
{
    cra_error err = {0};

    CHECK_OK(t, cra_blobstore_put(store, name, text_bytes(content), 0, NULL, &err), err);
}

/* Check that the object holds exactly `content`. */
static void expect(cra_conformance *t, cra_blobstore *store, const char *name, const char *content)
{
    cra_error err = {0};
    cra_buf out;

    cra_buf_init(&out, NULL);
    if (CHECK_OK(t, cra_blobstore_read(store, name, 0, 1 << 20, NULL, &out, &err), err))
        cra_conformance_check(t, holds(&out, content, strlen(content)), __FILE__, __LINE__,
                              "'%s' holds '%.*s', not '%s'", name, (int)out.size,
                              out.size > 0 ? (const char *)out.data : "", content);
    cra_buf_cleanup(&out);
}

static void expect_missing(cra_conformance *t, cra_blobstore *store, const char *name)
{
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    cra_error err = {0};
    cra_buf out;

    cra_buf_init(&out, NULL);
    CHECK_STATUS(t, cra_blobstore_stat(store, name, &info, &err), CRA_NOT_FOUND, err);
    CHECK_STATUS(t, cra_blobstore_read(store, name, 0, 10, NULL, &out, &err), CRA_NOT_FOUND, err);
    CHECK_INT(t, out.size, 0);
    cra_buf_cleanup(&out);
}

/* Names of a listing, joined by spaces; or a status to answer with. */
typedef struct names {
    char text[2048];
    int count;
    int stop_after; /* 0: never */
    bool bad_info;
    cra_blobstore *store; /* asked for each name, where set */
} names;

static cra_status collect(void *user, const char *name, const cra_blob_info *info)
{
    names *n = user;
    const size_t used = strlen(n->text);

    snprintf(n->text + used, sizeof n->text - used, "%s%s", used > 0 ? " " : "", name);
    n->count++;
    if (info->size_bytes < 0)
        n->bad_info = true;
    if (n->store != NULL) {
        cra_blob_info same = CRA_BLOB_INFO_INIT;
        if (cra_blobstore_stat(n->store, name, &same, NULL) != CRA_OK || strcmp(same.etag, info->etag) != 0 ||
            same.size_bytes != info->size_bytes || same.modified_at != info->modified_at)
            n->bad_info = true;
    }
    return n->count == n->stop_after ? CRA_CANCELLED : CRA_OK;
}

static void expect_list(cra_conformance *t, cra_blobstore *store, const char *prefix, const char *expected)
{
    names n = {.count = 0};
    cra_error err = {0};

    CHECK_OK(t, cra_blobstore_list(store, prefix, collect, &n, &err), err);
    cra_conformance_check(t, strcmp(n.text, expected) == 0, __FILE__, __LINE__, "names below '%s' are '%s', not '%s'",
                          prefix, n.text, expected);
}

/* ---- cases ---- */

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
        {"nothing_before_commit", nothing_before_commit},
        {"replace_changes_the_etag", replace_changes_the_etag},
        {"list_in_byte_order", list_in_byte_order},
        {"visitor_ends_the_listing", visitor_ends_the_listing},
        {"put_if_absent", put_if_absent},
        {"last_commit_wins", last_commit_wins},
        {"removal", removal},
        {"names_are_guarded", names_are_guarded},
        {"long_names", long_names},
        {"read_only_handle", read_only_handle},
        {"uploads_left_behind", uploads_left_behind},
        {"aborted_upload_cannot_commit", aborted_upload_cannot_commit},
        {"content_outlives_the_handle", content_outlives_the_handle},
        {"thaw_of_a_warm_object", thaw_of_a_warm_object},
    };

    return cra_conformance_run(t, "blobstore", cases, sizeof cases / sizeof cases[0], fixture);
}
