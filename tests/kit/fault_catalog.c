/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/fault_catalog.h"

#include <stdlib.h>

#include "kit/fault_call.h"

typedef struct faulty {
    cra_catalog_vtable vtable;
    const cra_catalog_vtable *inner;
    void *self;
    cra_fault *fault;
} faulty;

static void faulty_close(void *self)
{
    faulty *f = self;

    f->inner->close(f->self);
    free(f);
}

static cra_status faulty_now(void *self, cra_time_ms *out, cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS(f->fault, "catalog.now", err, f->inner->now(f->self, out, err));
}

typedef struct first_only {
    cra_run_visit_fn visit;
    void *user;
    int visited;
    bool stopped;
} first_only;

static cra_status visit_first(void *user, const cra_run_doc *run)
{
    first_only *first = user;

    if (first->visited++ > 0)
        return CRA_CANCELLED;
    const cra_status status = first->visit(first->user, run);
    first->stopped = status != CRA_OK;
    return status;
}

/* A short listing shows one run, then fails: a connection that broke off. A visitor sees no run twice. */
static cra_status faulty_run_list(void *self, const cra_run_query *query, cra_run_visit_fn visit, void *user,
                                  cra_error *err)
{
    static const char slot[] = "catalog.run_list";
    faulty *f = self;
    const cra_fault_mode mode = cra_fault_next(f->fault, slot);
    first_only first = {visit, user, 0, false};

    if (mode == CRA_FAULT_BEFORE)
        return cra_fault_refuse(f->fault, slot, err);
    if (mode == CRA_FAULT_SHORT) {
        const cra_status status = f->inner->run_list(f->self, query, visit_first, &first, err);
        return first.stopped ? status : cra_fault_refuse(f->fault, slot, err);
    }
    return cra_fault_end(f->fault, mode, f->inner->run_list(f->self, query, visit, user, err), slot, err);
}

static cra_status faulty_run_insert(void *self, const cra_run_doc *run, cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS(f->fault, "catalog.run_insert", err, f->inner->run_insert(f->self, run, err));
}

static cra_status faulty_run_replace(void *self, const cra_run_doc *next, int64_t expect_version,
                                     const cra_lease *lease, cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS(f->fault, "catalog.run_replace", err,
                   f->inner->run_replace(f->self, next, expect_version, lease, err));
}

static cra_status faulty_run_remove(void *self, const char *report, const char *run, int64_t expect_version,
                                    cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS(f->fault, "catalog.run_remove", err,
                   f->inner->run_remove(f->self, report, run, expect_version, err));
}

static cra_status faulty_lease_acquire(void *self, const char *report, const char *run, const char *owner,
                                       int64_t ttl_ms, int64_t grace_ms, cra_lease *out, cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS_UNDO(f->fault, "catalog.lease_acquire", err,
                        f->inner->lease_acquire(f->self, report, run, owner, ttl_ms, grace_ms, out, err),
                        memset(out, 0, sizeof *out));
}

static cra_status faulty_lease_renew(void *self, const char *report, const char *run, cra_lease *lease, int64_t ttl_ms,
                                     cra_error *err)
{
    faulty *f = self;
    const cra_lease before = *lease;

    CRA_FAULT_PASS_UNDO(f->fault, "catalog.lease_renew", err,
                        f->inner->lease_renew(f->self, report, run, lease, ttl_ms, err), *lease = before);
}

static cra_status faulty_lease_release(void *self, const char *report, const char *run, const cra_lease *lease,
                                       cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS(f->fault, "catalog.lease_release", err, f->inner->lease_release(f->self, report, run, lease, err));
}

static cra_status faulty_checkpoint_get(void *self, const char *report, const char *run, const char *name, cra_buf *out,
                                        int64_t *version, cra_error *err)
{
    faulty *f = self;
    const size_t before = out->size;

    CRA_FAULT_PASS_UNDO(f->fault, "catalog.checkpoint_get", err,
                        f->inner->checkpoint_get(f->self, report, run, name, out, version, err), out->size = before);
}

static cra_status faulty_checkpoint_put(void *self, const char *report, const char *run, const char *name,
                                        const cra_lease *lease, int64_t expect_version, cra_bytes content,
                                        cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS(f->fault, "catalog.checkpoint_put", err,
                   f->inner->checkpoint_put(f->self, report, run, name, lease, expect_version, content, err));
}

static cra_status faulty_checkpoint_remove(void *self, const char *report, const char *run, const char *name,
                                           const cra_lease *lease, cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS(f->fault, "catalog.checkpoint_remove", err,
                   f->inner->checkpoint_remove(f->self, report, run, name, lease, err));
}

static cra_status faulty_summary_put(void *self, const char *name, cra_bytes content, cra_error *err)
{
    faulty *f = self;

    CRA_FAULT_PASS(f->fault, "catalog.summary_put", err, f->inner->summary_put(f->self, name, content, err));
}

static cra_status faulty_summary_get(void *self, const char *name, cra_buf *out, cra_error *err)
{
    faulty *f = self;
    const size_t before = out->size;

    CRA_FAULT_PASS_UNDO(f->fault, "catalog.summary_get", err, f->inner->summary_get(f->self, name, out, err),
                        out->size = before);
}

cra_status cra_fault_catalog(const cra_catalog_vtable *inner, void *inner_self, cra_fault *fault,
                             const cra_catalog_vtable **vtable, void **self)
{
    faulty *f = calloc(1, sizeof *f);

    if (f == NULL)
        return CRA_NOMEM;
    f->vtable = (cra_catalog_vtable){
        .struct_size = sizeof f->vtable,
        .features = inner->features,
        .close = faulty_close,
        .now = faulty_now,
        .run_list = faulty_run_list,
        .run_insert = faulty_run_insert,
        .run_replace = faulty_run_replace,
        .run_remove = faulty_run_remove,
        .lease_acquire = faulty_lease_acquire,
        .lease_renew = faulty_lease_renew,
        .lease_release = faulty_lease_release,
        .checkpoint_get = faulty_checkpoint_get,
        .checkpoint_put = faulty_checkpoint_put,
        .checkpoint_remove = faulty_checkpoint_remove,
        .summary_put = faulty_summary_put,
        .summary_get = faulty_summary_get,
    };
    f->inner = inner;
    f->self = inner_self;
    f->fault = fault;
    *vtable = &f->vtable;
    *self = f;
    return CRA_OK;
}
