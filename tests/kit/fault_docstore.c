/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/fault_docstore.h"

#include <stdlib.h>

#include "kit/fault_call.h"

typedef struct faulty {
    cra_docstore_vtable vtable;
    const cra_docstore_vtable *inner;
    void *self;
    cra_fault *fault;
} faulty;

static void faulty_close(void *self)
{
    faulty *f = self;

    f->inner->close(f->self);
    free(f);
}

static cra_status faulty_limits(void *self, cra_docstore_limits *out, cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS(f->fault, "docstore.limits", err, f->inner->limits(f->self, out, err));
}

/* The answer was lost: of what was sent nothing is known. */
static void forget(cra_write_result *results, size_t count)
{
    memset(results, 0, count * sizeof *results);
    for (size_t i = 0; i < count; i++)
        results[i].outcome = CRA_WRITE_UNKNOWN;
}

/* A short batch writes its first half; the connection breaks, and the other half was never sent. */
static cra_status faulty_write_batch(void *self, const char *collection, const cra_bytes *documents, size_t count,
                                     int64_t deadline_ms, cra_write_result *results, cra_error *err)
{
    static const char slot[] = "docstore.write_batch";
    faulty *f = self;
    const cra_fault_mode mode = cra_fault_next(f->fault, slot);

    memset(results, 0, count * sizeof *results);
    if (mode == CRA_FAULT_BEFORE)
        return cra_fault_refuse(f->fault, slot, err);
    if (mode == CRA_FAULT_SHORT) {
        const cra_status status =
            count > 1 ? f->inner->write_batch(f->self, collection, documents, count / 2, deadline_ms, results, err)
                      : CRA_OK;
        return status != CRA_OK ? status : cra_fault_refuse(f->fault, slot, err);
    }
    cra_status status = f->inner->write_batch(f->self, collection, documents, count, deadline_ms, results, err);
    if (mode == CRA_FAULT_TWICE)
        status = f->inner->write_batch(f->self, collection, documents, count, deadline_ms, results, err);
    status = cra_fault_end(f->fault, mode, status, slot, err);
    if (mode == CRA_FAULT_AFTER)
        forget(results, count);
    return status;
}

static cra_status faulty_fetch(void *self, const char *collection, const cra_value *ids, size_t count, cra_buf *out,
                               cra_error *err)
{
    faulty *f = self;
    const size_t before = out->size;

    CRA_FAULT_PASS_UNDO(f->fault, "docstore.fetch", err, f->inner->fetch(f->self, collection, ids, count, out, err),
                        out->size = before);
}

/* A short page holds half of what it could: legal, and whoever takes it for the end is wrong. */
static cra_status faulty_page(void *self, const cra_scope *scope, const cra_page_request *request, cra_buf *out,
                              size_t *count, cra_error *err)
{
    static const char slot[] = "docstore.page";
    faulty *f = self;
    const size_t before = out->size;
    const cra_fault_mode mode = cra_fault_next(f->fault, slot);
    cra_page_request half = *request;

    if (mode == CRA_FAULT_BEFORE)
        return cra_fault_refuse(f->fault, slot, err);
    if (mode == CRA_FAULT_SHORT && half.max_docs > 1)
        half.max_docs /= 2;
    cra_status status = f->inner->page(f->self, scope, &half, out, count, err);
    if (mode == CRA_FAULT_TWICE || mode == CRA_FAULT_AFTER) {
        out->size = before;
        *count = 0;
    }
    if (mode == CRA_FAULT_TWICE)
        status = f->inner->page(f->self, scope, &half, out, count, err);
    return cra_fault_end(f->fault, mode, status, slot, err);
}

static cra_status faulty_count(void *self, const cra_scope *scope, int64_t *out, cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS_UNDO(f->fault, "docstore.count", err, f->inner->count(f->self, scope, out, err), *out = 0);
}

/* A short batch deletes its first half, then fails. */
static cra_status faulty_delete_batch(void *self, const cra_scope *scope, const cra_value *ids, size_t count,
                                      cra_bytes match, int64_t deadline_ms, int64_t *removed, cra_error *err)
{
    static const char slot[] = "docstore.delete_batch";
    faulty *f = self;
    const cra_fault_mode mode = cra_fault_next(f->fault, slot);

    *removed = 0;
    if (mode == CRA_FAULT_BEFORE)
        return cra_fault_refuse(f->fault, slot, err);
    if (mode == CRA_FAULT_SHORT) {
        const cra_status status =
            count > 1 ? f->inner->delete_batch(f->self, scope, ids, count / 2, match, deadline_ms, removed, err)
                      : CRA_OK;
        *removed = 0;
        return status != CRA_OK ? status : cra_fault_refuse(f->fault, slot, err);
    }
    cra_status status = f->inner->delete_batch(f->self, scope, ids, count, match, deadline_ms, removed, err);
    if (mode == CRA_FAULT_TWICE)
        status = f->inner->delete_batch(f->self, scope, ids, count, match, deadline_ms, removed, err);
    if (mode == CRA_FAULT_AFTER)
        *removed = 0;
    return cra_fault_end(f->fault, mode, status, slot, err);
}

static cra_status faulty_index_list(void *self, const char *collection, cra_buf *out, size_t *count, cra_error *err)
{
    faulty *f = self;
    const size_t before = out->size;

    CRA_FAULT_PASS_UNDO(f->fault, "docstore.index_list", err,
                        f->inner->index_list(f->self, collection, out, count, err), out->size = before;
                        *count = 0);
}

static cra_status faulty_index_ensure(void *self, const char *collection, cra_bytes spec, cra_index_outcome *outcome,
                                      cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS(f->fault, "docstore.index_ensure", err,
                   f->inner->index_ensure(f->self, collection, spec, outcome, err));
}

static cra_status faulty_collection_get(void *self, const char *collection, cra_buf *out, cra_error *err)
{
    faulty *f = self;
    const size_t before = out->size;

    CRA_FAULT_PASS_UNDO(f->fault, "docstore.collection_get", err,
                        f->inner->collection_get(f->self, collection, out, err), out->size = before);
}

static cra_status faulty_collection_create(void *self, const char *collection, cra_bytes options, cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS(f->fault, "docstore.collection_create", err,
                   f->inner->collection_create(f->self, collection, options, err));
}

static cra_status faulty_health(void *self, cra_docstore_health *out, cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS(f->fault, "docstore.health", err, f->inner->health(f->self, out, err));
}

static cra_status faulty_find(void *self, const char *collection, const char *path, cra_value value, cra_value after_id,
                              int64_t max_docs, cra_buf *out, size_t *count, cra_error *err)
{
    faulty *f = self;
    const size_t before = out->size;

    CRA_FAULT_PASS_UNDO(f->fault, "docstore.find", err,
                        f->inner->find(f->self, collection, path, value, after_id, max_docs, out, count, err),
                        out->size = before;
                        *count = 0);
}

static cra_status faulty_replace_if(void *self, const char *collection, cra_value id, cra_bytes match,
                                    cra_bytes document, cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS(f->fault, "docstore.replace_if", err,
                   f->inner->replace_if(f->self, collection, id, match, document, err));
}

cra_status cra_fault_docstore(const cra_docstore_vtable *inner, void *inner_self, cra_fault *fault,
                              const cra_docstore_vtable **vtable, void **self)
{
    faulty *f = calloc(1, sizeof *f);

    if (f == NULL)
        return CRA_NOMEM;
    f->vtable = (cra_docstore_vtable){
        .struct_size = sizeof f->vtable,
        .features = inner->features,
        .close = faulty_close,
        .limits = faulty_limits,
        .write_batch = faulty_write_batch,
        .fetch = faulty_fetch,
        .page = faulty_page,
        .count = faulty_count,
        .delete_batch = faulty_delete_batch,
        .index_list = faulty_index_list,
        .index_ensure = faulty_index_ensure,
        .collection_get = faulty_collection_get,
        .collection_create = faulty_collection_create,
        .health = faulty_health,
        .find = inner->find != NULL ? faulty_find : NULL,
        .replace_if = inner->replace_if != NULL ? faulty_replace_if : NULL,
    };
    f->inner = inner;
    f->self = inner_self;
    f->fault = fault;
    *vtable = &f->vtable;
    *self = f;
    return CRA_OK;
}
