/* SPDX-License-Identifier: Apache-2.0 */
#include "suite_docstore_kit.h"

#define MAX_DOCS (sizeof((cra_docs *)0)->items / sizeof(cra_bytes))

bool cra_docs_open(cra_conformance *t, const void *fixture, cra_docstore **out)
{
    const cra_docstore_fixture *f = fixture;
    cra_error err = {0};

    return CHECK_OK(t, f->open_empty(f->user, out, &err), err);
}

static void add(cra_docs *docs, cra_bytes document)
{
    cra_value id = {0, NULL, 0};

    (void)cra_bson_find(document, "_id", 3, &id);
    docs->items[docs->count] = document;
    docs->ids[docs->count] = id;
    docs->count++;
}

void cra_docs_split(cra_conformance *t, cra_docs *docs, cra_buf *bytes)
{
    cra_bytes rest = {bytes->data, bytes->size};
    cra_bytes document;
    cra_status status;

    memset(docs, 0, sizeof *docs);
    docs->bytes = *bytes;
    cra_buf_init(bytes, bytes->allocator);
    while ((status = cra_bson_next_document(&rest, &document)) == CRA_OK && docs->count < MAX_DOCS)
        add(docs, document);
    CHECK_INT(t, status, CRA_DONE);
}

void cra_docs_parse(cra_conformance *t, cra_docs *docs, const char *json)
{
    cra_error err = {0};
    cra_buf bytes;
    cra_status status = CRA_OK;
    size_t used;

    cra_buf_init(&bytes, NULL);
    while (status == CRA_OK && *json != '\0') {
        status = cra_bson_from_json((cra_bytes){(const uint8_t *)json, strlen(json)}, &bytes, &used, &err);
        json += status == CRA_OK ? used : 0;
    }
    CHECK(t, status == CRA_OK || status == CRA_DONE);
    cra_docs_split(t, docs, &bytes);
}

void cra_docs_free(cra_docs *docs)
{
    cra_buf_cleanup(&docs->bytes);
    docs->count = 0;
}

cra_scope cra_docs_scope(cra_conformance *t, cra_docs *docs, const char *json)
{
    cra_scope scope = {"c", "run_id", {0, NULL, 0}};

    cra_docs_parse(t, docs, json);
    if (CHECK_INT(t, docs->count, 1))
        CHECK_INT(t, cra_bson_path(docs->items[0], "run_id", &scope.run_value), CRA_OK);
    return scope;
}

void cra_docs_write(cra_conformance *t, cra_docstore *store, const char *collection, const char *json,
                    const char *outcomes, const char *file, int line)
{
    static const char letters[] = "UNEF?";
    cra_write_result results[MAX_DOCS];
    char got[MAX_DOCS + 1];
    cra_error err = {0};
    cra_docs docs;

    cra_docs_parse(t, &docs, json);
    memset(results, 0xA5, sizeof results);
    const cra_status status = cra_docstore_write_batch(store, collection, docs.items, docs.count, 0, results, &err);
    cra_conformance_check_status(t, status, CRA_OK, &err, file, line, "write_batch");
    for (size_t i = 0; status == CRA_OK && i < docs.count; i++) {
        got[i] = results[i].outcome <= CRA_WRITE_UNKNOWN ? letters[results[i].outcome] : '!';
        const bool told = memchr(results[i].message, '\0', sizeof results[i].message) != NULL &&
                          (results[i].message[0] != '\0') == (results[i].outcome == CRA_WRITE_FAILED);
        cra_conformance_check(t, told, file, line, "document %zu: a message where it failed, and only there", i);
    }
    got[status == CRA_OK ? docs.count : 0] = '\0';
    cra_conformance_check(t, strcmp(got, outcomes) == 0, file, line, "outcomes are %s, not %s", got, outcomes);
    cra_docs_free(&docs);
}

static void check_documents(cra_conformance *t, const cra_docs *got, const cra_docs *wanted, const char *file, int line)
{
    cra_conformance_check(t, got->count == wanted->count, file, line, "%zu documents, not %zu", got->count,
                          wanted->count);
    for (size_t i = 0; i < got->count && i < wanted->count; i++) {
        const bool same = got->items[i].size == wanted->items[i].size &&
                          memcmp(got->items[i].data, wanted->items[i].data, got->items[i].size) == 0;
        if (!cra_conformance_check(t, same, file, line, "document %zu is another", i))
            return;
    }
}

void cra_docs_expect(cra_conformance *t, cra_docstore *store, const char *scope_json, int64_t max_docs,
                     const char *json, const char *file, int line)
{
    cra_page_request request = {sizeof request, {0, NULL, 0}, false, max_docs, INT64_MAX};
    cra_error err = {0};
    cra_docs scope_docs;
    cra_docs wanted;
    cra_docs got;
    cra_buf all;
    cra_buf after;
    size_t count;
    int64_t total = 0;

    cra_buf_init(&all, NULL);
    cra_buf_init(&after, NULL);
    cra_docs_parse(t, &wanted, json);
    const cra_scope scope = cra_docs_scope(t, &scope_docs, scope_json);
    for (size_t pages = 0; pages <= MAX_DOCS; pages++) {
        const size_t before = all.size;
        const cra_status status = cra_docstore_page(store, &scope, &request, &all, &count, &err);
        cra_conformance_check_status(t, status, CRA_OK, &err, file, line, "page");
        if (status != CRA_OK || count == 0)
            break;
        cra_conformance_check(t, (int64_t)count <= max_docs, file, line, "a page of %zu documents", count);
        /* The last id is where the next page goes on; kept apart, as the buffer moves. */
        cra_bytes rest = {all.data + before, all.size - before};
        cra_bytes document = {NULL, 0};
        cra_value id = {0, NULL, 0};
        while (cra_bson_next_document(&rest, &document) == CRA_OK)
            (void)cra_bson_find(document, "_id", 3, &id);
        after.size = 0;
        if (cra_buf_append(&after, id.data, id.size) != CRA_OK)
            break;
        request.after_id = (cra_value){id.type, after.data, id.size};
    }
    cra_docs_split(t, &got, &all);
    check_documents(t, &got, &wanted, file, line);
    const cra_status status = cra_docstore_count(store, &scope, &total, &err);
    cra_conformance_check_status(t, status, CRA_OK, &err, file, line, "count");
    cra_conformance_check(t, total == (int64_t)wanted.count, file, line, "counted %lld, not %zu", (long long)total,
                          wanted.count);
    cra_docs_free(&got);
    cra_docs_free(&wanted);
    cra_docs_free(&scope_docs);
    cra_buf_cleanup(&after);
}
