/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/fault_blobstore.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct faulty {
    cra_blobstore_vtable vtable;
    const cra_blobstore_vtable *inner;
    void *self;
    cra_fault *fault;
} faulty;

/* Fills the error by hand: the kit links without the library. */
static cra_status tell(const faulty *f, cra_status status, const char *slot, cra_error *err)
{
    if (status == CRA_OK || err == NULL)
        return status;
    memset(err, 0, sizeof *err);
    err->status = status;
    snprintf(err->origin, sizeof err->origin, "fault");
    snprintf(err->message, sizeof err->message, "fault at call %lld: %s", (long long)atomic_load(&f->fault->calls),
             slot);
    return status;
}

static cra_status before(const faulty *f, const char *slot, cra_error *err)
{
    return tell(f, cra_fault_status(f->fault), slot, err);
}

/* The end of a call that was done: its own status, or the ordered one with its own message. */
static cra_status after(const faulty *f, cra_fault_mode mode, cra_status status, const char *slot, cra_error *err)
{
    const cra_status final = cra_fault_after(f->fault, mode, status);

    return final == status ? status : tell(f, final, slot, err);
}

/* Do `call` as the mode of `slot` says. A short call is a failed one where nothing can be halved. */
#define PASS(f, slot, err, call)                                                                                       \
    do {                                                                                                               \
        const cra_fault_mode mode_ = cra_fault_next((f)->fault, (slot));                                               \
        if (mode_ == CRA_FAULT_BEFORE || mode_ == CRA_FAULT_SHORT)                                                     \
            return before((f), (slot), (err));                                                                         \
        cra_status status_ = (call);                                                                                   \
        if (mode_ == CRA_FAULT_TWICE)                                                                                  \
            status_ = (call);                                                                                          \
        return after((f), mode_, status_, (slot), (err));                                                              \
    } while (0)

static void faulty_close(void *self)
{
    faulty *f = self;

    f->inner->close(f->self);
    free(f);
}

typedef struct first_only {
    cra_blob_visit_fn visit;
    void *user;
    int visited;
    bool stopped;
} first_only;

static cra_status visit_first(void *user, const char *name, const cra_blob_info *info)
{
    first_only *first = user;

    if (first->visited++ > 0)
        return CRA_CANCELLED;
    const cra_status status = first->visit(first->user, name, info);
    first->stopped = status != CRA_OK;
    return status;
}

/* A listing that ends early and says so: a page of it was lost. */
static cra_status list_first(faulty *f,
                             cra_status (*list)(void *, const char *, cra_blob_visit_fn, void *, cra_error *),
                             const char *slot, const char *prefix, cra_blob_visit_fn visit, void *user, cra_error *err)
{
    first_only first = {visit, user, 0, false};
    const cra_status status = list(f->self, prefix, visit_first, &first, err);

    return first.stopped ? status : before(f, slot, err);
}

static cra_status faulty_list(void *self, const char *prefix, cra_blob_visit_fn visit, void *user, cra_error *err)
{
    static const char slot[] = "blobstore.list";
    faulty *f = self;
    const cra_fault_mode mode = cra_fault_next(f->fault, slot);

    if (mode == CRA_FAULT_BEFORE)
        return before(f, slot, err);
    if (mode == CRA_FAULT_SHORT)
        return list_first(f, f->inner->list, slot, prefix, visit, user, err);
    return after(f, mode, f->inner->list(f->self, prefix, visit, user, err), slot, err);
}

static cra_status faulty_stat(void *self, const char *name, cra_blob_info *out, cra_error *err)
{
    faulty *f = self;

    PASS(f, "blobstore.stat", err, f->inner->stat(f->self, name, out, err));
}

static cra_status faulty_read(void *self, const char *name, int64_t offset, int64_t length, const char *etag,
                              cra_buf *out, cra_error *err)
{
    static const char slot[] = "blobstore.read";
    faulty *f = self;
    const cra_fault_mode mode = cra_fault_next(f->fault, slot);

    if (mode == CRA_FAULT_BEFORE)
        return before(f, slot, err);
    /* A body that was cut: the bytes are right, but too few, and nobody says so. */
    if (mode == CRA_FAULT_SHORT)
        length /= 2;
    return after(f, mode, f->inner->read(f->self, name, offset, length, etag, out, err), slot, err);
}

static cra_status faulty_put_open(void *self, const char *name, unsigned flags, const char *tag, void **writer,
                                  cra_error *err)
{
    static const char slot[] = "blobstore.put_open";
    faulty *f = self;
    const cra_fault_mode mode = cra_fault_next(f->fault, slot);

    if (mode == CRA_FAULT_BEFORE || mode == CRA_FAULT_SHORT)
        return before(f, slot, err);
    cra_status status = f->inner->put_open(f->self, name, flags, tag, writer, err);
    if (mode == CRA_FAULT_AFTER && status == CRA_OK)
        f->inner->put_abort(f->self, *writer); /* nobody else has it */
    status = after(f, mode, status, slot, err);
    return status;
}

static cra_status faulty_put_write(void *self, void *writer, cra_bytes bytes, cra_error *err)
{
    static const char slot[] = "blobstore.put_write";
    faulty *f = self;
    const cra_fault_mode mode = cra_fault_next(f->fault, slot);

    if (mode == CRA_FAULT_BEFORE)
        return before(f, slot, err);
    if (mode == CRA_FAULT_SHORT) {
        bytes.size /= 2;
        const cra_status status = f->inner->put_write(f->self, writer, bytes, err);
        return status != CRA_OK ? status : before(f, slot, err);
    }
    return after(f, mode, f->inner->put_write(f->self, writer, bytes, err), slot, err);
}

static cra_status faulty_put_commit(void *self, void *writer, cra_blob_info *out, cra_error *err)
{
    static const char slot[] = "blobstore.put_commit";
    faulty *f = self;
    const cra_fault_mode mode = cra_fault_next(f->fault, slot);

    if (mode == CRA_FAULT_BEFORE || mode == CRA_FAULT_SHORT) {
        f->inner->put_abort(f->self, writer); /* commit frees the writer, also on failure */
        return before(f, slot, err);
    }
    return after(f, mode, f->inner->put_commit(f->self, writer, out, err), slot, err);
}

static void faulty_put_abort(void *self, void *writer)
{
    faulty *f = self;

    f->inner->put_abort(f->self, writer);
}

static cra_status faulty_remove(void *self, const char *name, cra_error *err)
{
    faulty *f = self;

    PASS(f, "blobstore.remove", err, f->inner->remove(f->self, name, err));
}

static cra_status faulty_upload_list(void *self, const char *prefix, cra_blob_visit_fn visit, void *user,
                                     cra_error *err)
{
    static const char slot[] = "blobstore.upload_list";
    faulty *f = self;
    const cra_fault_mode mode = cra_fault_next(f->fault, slot);

    if (mode == CRA_FAULT_BEFORE)
        return before(f, slot, err);
    if (mode == CRA_FAULT_SHORT)
        return list_first(f, f->inner->upload_list, slot, prefix, visit, user, err);
    return after(f, mode, f->inner->upload_list(f->self, prefix, visit, user, err), slot, err);
}

static cra_status faulty_upload_abort(void *self, const char *token, cra_error *err)
{
    faulty *f = self;

    PASS(f, "blobstore.upload_abort", err, f->inner->upload_abort(f->self, token, err));
}

static cra_status faulty_thaw(void *self, const char *name, cra_error *err)
{
    faulty *f = self;

    PASS(f, "blobstore.thaw", err, f->inner->thaw(f->self, name, err));
}

cra_status cra_fault_blobstore(const cra_blobstore_vtable *inner, void *inner_self, cra_fault *fault,
                               const cra_blobstore_vtable **vtable, void **self)
{
    faulty *f = calloc(1, sizeof *f);

    if (f == NULL)
        return CRA_NOMEM;
    f->vtable = (cra_blobstore_vtable){
        .struct_size = sizeof f->vtable,
        .features = inner->features,
        .close = faulty_close,
        .list = faulty_list,
        .stat = faulty_stat,
        .read = faulty_read,
        .put_open = faulty_put_open,
        .put_write = faulty_put_write,
        .put_commit = faulty_put_commit,
        .put_abort = faulty_put_abort,
        .remove = faulty_remove,
        .upload_list = inner->upload_list != NULL ? faulty_upload_list : NULL,
        .upload_abort = inner->upload_abort != NULL ? faulty_upload_abort : NULL,
        .thaw = inner->thaw != NULL ? faulty_thaw : NULL,
    };
    f->inner = inner;
    f->self = inner_self;
    f->fault = fault;
    *vtable = &f->vtable;
    *self = f;
    return CRA_OK;
}
