/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_SUITE_BLOBSTORE_KIT_H
#define CRA_SUITE_BLOBSTORE_KIT_H

/* Inside of the blobstore suite: what its cases share. */

#include <stdio.h>
#include <string.h>

#include "suite_blobstore.h"

/* The cases about writing; run by cra_conformance_blobstore(). */
int cra_conformance_blobstore_writing(cra_conformance *t, const cra_blobstore_fixture *fixture);

static inline cra_bytes text_bytes(const char *text)
{
    cra_bytes bytes = {(const uint8_t *)text, strlen(text)};

    return bytes;
}

static inline bool holds(const cra_buf *out, const void *expected, size_t size)
{
    return out->size == size && (size == 0 || memcmp(out->data, expected, size) == 0);
}

static inline cra_blobstore *open_empty(cra_conformance *t, const cra_blobstore_fixture *f)
{
    cra_blobstore *store = NULL;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &store, &err), err))
        return NULL;
    return store;
}

static inline void put(cra_conformance *t, cra_blobstore *store, const char *name, const char *content)
{
    cra_error err = {0};

    CHECK_OK(t, cra_blobstore_put(store, name, text_bytes(content), 0, NULL, &err), err);
}

/* Check that the object holds exactly `content`. */
static inline void expect(cra_conformance *t, cra_blobstore *store, const char *name, const char *content)
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

static inline void expect_missing(cra_conformance *t, cra_blobstore *store, const char *name)
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

static inline cra_status collect(void *user, const char *name, const cra_blob_info *info)
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

static inline void expect_list(cra_conformance *t, cra_blobstore *store, const char *prefix, const char *expected)
{
    names n = {.count = 0};
    cra_error err = {0};

    CHECK_OK(t, cra_blobstore_list(store, prefix, collect, &n, &err), err);
    cra_conformance_check(t, strcmp(n.text, expected) == 0, __FILE__, __LINE__, "names below '%s' are '%s', not '%s'",
                          prefix, n.text, expected);
}

#endif
