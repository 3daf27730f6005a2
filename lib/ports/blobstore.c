/* SPDX-License-Identifier: Apache-2.0 */
#include "ports/blobstore.h"

#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/utf8.h"
#include "ports/backend.h"
#include "ports/context.h"

#define ORIGIN "blobstore"
#define KNOWN_FEATURES ((uint64_t)(CRA_BLOBSTORE_IF_ABSENT | CRA_BLOBSTORE_UPLOADS | CRA_BLOBSTORE_THAW))

struct cra_blobstore {
    cra_context *context;
    cra_blobstore_vtable vtable; /* a copy of the members this version knows */
    void *self;
    bool read_only;
    bool borrowed; /* a second handle: another one closes the store */
};

struct cra_blob_writer {
    cra_blobstore *store;
    void *writer;
    bool failed; /* only abort is legal then */
};

/* ---- what names may be ---- */

static bool is_dots(const char *segment, size_t size)
{
    return (size == 1 && segment[0] == '.') || (size == 2 && segment[0] == '.' && segment[1] == '.');
}

/* `open_end`: the last segment may be any beginning of one. */
static bool segments_valid(const char *text, bool open_end)
{
    for (;;) {
        const size_t size = strcspn(text, "/");
        const bool last = text[size] == '\0';
        if (last && open_end)
            return true;
        if (size == 0 || is_dots(text, size))
            return false;
        if (last)
            return true;
        text += size + 1;
    }
}

bool cra_blob_name_valid(const char *name)
{
    return name != NULL && segments_valid(name, false) && cra_utf8_valid(name, strlen(name));
}

bool cra_blob_prefix_valid(const char *prefix)
{
    return prefix != NULL && segments_valid(prefix, true) && cra_utf8_valid(prefix, strlen(prefix));
}

bool cra_blob_tag_valid(const char *tag)
{
    const size_t size = strlen(tag);

    return size > 0 && size <= CRA_BLOB_TAG_MAX &&
           strspn(tag, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == size;
}

static cra_status check_name(const char *name, cra_error *err)
{
    if (cra_blob_name_valid(name))
        return CRA_OK;
    return cra_error_set(err, CRA_INVALID, ORIGIN, "'%.300s' is no object name (UTF-8, no empty, '.' or '..' segments)",
                         name != NULL ? name : "");
}

static cra_status check_prefix(const char *prefix, cra_error *err)
{
    if (cra_blob_prefix_valid(prefix))
        return CRA_OK;
    return cra_error_set(err, CRA_INVALID, ORIGIN, "'%.300s' begins no object name", prefix != NULL ? prefix : "");
}

static cra_status check_writable(const cra_blobstore *store, const char *what, const char *name, cra_error *err)
{
    if (!store->read_only)
        return CRA_OK;
    return cra_error_set(err, CRA_DENIED, ORIGIN, "the store is open for reading only: cannot %s '%.300s'", what, name);
}

static cra_status check_feature(const cra_blobstore *store, uint64_t feature, const char *what, cra_error *err)
{
    if ((store->vtable.features & feature) != 0)
        return CRA_OK;
    return cra_error_set(err, CRA_UNSUPPORTED, ORIGIN, "this store does not offer %s", what);
}

/* ---- opening ---- */

static const char *missing_slot(const cra_blobstore_vtable *v)
{
    return v->close == NULL        ? "close"
           : v->list == NULL       ? "list"
           : v->stat == NULL       ? "stat"
           : v->read == NULL       ? "read"
           : v->put_open == NULL   ? "put_open"
           : v->put_write == NULL  ? "put_write"
           : v->put_commit == NULL ? "put_commit"
           : v->put_abort == NULL  ? "put_abort"
           : v->remove == NULL     ? "remove"
                                   : NULL;
}

static cra_status check_vtable(const cra_blobstore_vtable *v, cra_error *err)
{
    const char *missing = missing_slot(v);

    if (missing != NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend lacks the required slot '%s'", missing);
    if ((v->features & ~KNOWN_FEATURES) != 0)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend has unknown feature bits 0x%llx",
                             (unsigned long long)(v->features & ~KNOWN_FEATURES));
    if ((v->features & CRA_BLOBSTORE_UPLOADS) != 0 && (v->upload_list == NULL || v->upload_abort == NULL))
        return cra_error_set(err, CRA_INVALID, ORIGIN,
                             "the backend claims uploads without upload_list or upload_abort");
    if ((v->features & CRA_BLOBSTORE_THAW) != 0 && v->thaw == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend claims thaw without its slot");
    return CRA_OK;
}

cra_status cra_blobstore_wrap(cra_context *context, const cra_blobstore_vtable *vtable, void *self, bool read_only,
                              cra_blobstore **out, cra_error *err)
{
    cra_blobstore_vtable own = {.struct_size = sizeof own};

    *out = NULL;
    if (vtable == NULL || cra_options_read(&own, sizeof own, vtable) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend's vtable is not one that this version knows");
    const cra_status status = check_vtable(&own, err);
    if (status != CRA_OK)
        return status;

    cra_blobstore *store = cra_malloc(cra_context_allocator(context), sizeof *store);
    if (store == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory while opening a store");
    *store = (cra_blobstore){context, own, self, read_only, false};
    *out = store;
    return CRA_OK;
}

static bool offers(const cra_backend *backend)
{
    return backend->open_blobstore != NULL;
}

cra_status cra_blobstore_open(const cra_open_args *args, cra_blobstore **out, cra_error *err)
{
    *out = NULL;
    const cra_backend *backend = cra_backend_for_args(args, err);
    if (backend == NULL)
        return CRA_INVALID;
    if (!offers(backend))
        return cra_backend_not_offered(args->context, backend, "blobstore", offers, err);

    const cra_blobstore_vtable *vtable = NULL;
    void *self = NULL;
    cra_status status = backend->open_blobstore(args, &vtable, &self, err);
    if (status != CRA_OK)
        return status;
    status = cra_blobstore_wrap(args->context, vtable, self, (args->flags & CRA_OPEN_READ_ONLY) != 0, out, err);
    if (status != CRA_OK && vtable != NULL && vtable->close != NULL)
        vtable->close(self);
    return status;
}

cra_status cra_blobstore_read_only(cra_blobstore *blobstore, cra_blobstore **out, cra_error *err)
{
    const cra_status status =
        cra_blobstore_wrap(blobstore->context, &blobstore->vtable, blobstore->self, true, out, err);

    if (status == CRA_OK)
        (*out)->borrowed = true;
    return status;
}

void cra_blobstore_free(cra_blobstore *blobstore)
{
    if (blobstore == NULL)
        return;
    if (!blobstore->borrowed)
        blobstore->vtable.close(blobstore->self);
    cra_free(cra_context_allocator(blobstore->context), blobstore);
}

uint64_t cra_blobstore_features(const cra_blobstore *blobstore)
{
    return blobstore->vtable.features;
}

/* ---- reading ---- */

/* Whether `out` (nullable) may be filled; asked before anything is done. */
static cra_status check_out(const cra_blob_info *out, cra_error *err)
{
    if (out == NULL || (out->struct_size >= sizeof(size_t) && out->struct_size <= sizeof *out))
        return CRA_OK;
    return cra_error_set(err, CRA_INVALID, ORIGIN, "cra_blob_info.struct_size is not set (CRA_BLOB_INFO_INIT)");
}

/* Hand `info` to a caller whose struct may be older, and so shorter, than ours. */
static void give_info(const cra_blob_info *info, cra_blob_info *out)
{
    if (out == NULL)
        return;
    const size_t size = out->struct_size;
    memcpy(out, info, size);
    out->struct_size = size;
}

cra_status cra_blobstore_list(cra_blobstore *blobstore, const char *prefix, cra_blob_visit_fn visit, void *user,
                              cra_error *err)
{
    const cra_status status = check_prefix(prefix, err);

    return status != CRA_OK ? status : blobstore->vtable.list(blobstore->self, prefix, visit, user, err);
}

cra_status cra_blobstore_stat(cra_blobstore *blobstore, const char *name, cra_blob_info *out, cra_error *err)
{
    cra_blob_info info = CRA_BLOB_INFO_INIT;
    cra_status status = check_name(name, err);

    if (status == CRA_OK)
        status = check_out(out, err);
    if (status == CRA_OK)
        status = blobstore->vtable.stat(blobstore->self, name, &info, err);
    if (status == CRA_OK)
        give_info(&info, out);
    return status;
}

cra_status cra_blobstore_read(cra_blobstore *blobstore, const char *name, int64_t offset, int64_t length,
                              const char *etag, cra_buf *out, cra_error *err)
{
    const size_t before = out->size;
    cra_status status = check_name(name, err);

    if (status != CRA_OK)
        return status;
    if (offset < 0 || length < 0 || offset > INT64_MAX - length)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "offset %lld and length %lld are no range of '%.300s'",
                             (long long)offset, (long long)length, name);
    status = blobstore->vtable.read(blobstore->self, name, offset, length, etag, out, err);
    if (status == CRA_OK && (out->size < before || out->size - before > (uint64_t)length))
        status = cra_error_set(err, CRA_INTERNAL, ORIGIN, "the backend gave more of '%.300s' than was asked for", name);
    if (status != CRA_OK && out->size > before)
        out->size = before; /* half an answer must not be taken for one */
    return status;
}

/* ---- writing ---- */

static cra_status check_put(const cra_blobstore *store, const char *name, unsigned flags, const char *tag,
                            cra_error *err)
{
    cra_status status = check_name(name, err);

    if (status == CRA_OK)
        status = check_writable(store, "write", name, err);
    if (status == CRA_OK && (flags & ~(unsigned)CRA_PUT_IF_ABSENT) != 0)
        status = cra_error_set(err, CRA_INVALID, ORIGIN, "unknown put flags 0x%x", flags);
    if (status == CRA_OK && (flags & CRA_PUT_IF_ABSENT) != 0)
        status = check_feature(store, CRA_BLOBSTORE_IF_ABSENT, "a put that fails where the name is taken", err);
    if (status == CRA_OK && tag != NULL && !cra_blob_tag_valid(tag))
        status = cra_error_set(err, CRA_INVALID, ORIGIN, "'%.80s' is no tag (1 to 64 bytes of [A-Za-z0-9._-])", tag);
    return status;
}

cra_status cra_blobstore_put_open(cra_blobstore *blobstore, const char *name, unsigned flags, const char *tag,
                                  cra_blob_writer **out, cra_error *err)
{
    *out = NULL;
    cra_status status = check_put(blobstore, name, flags, tag, err);
    if (status != CRA_OK)
        return status;

    const cra_allocator *allocator = cra_context_allocator(blobstore->context);
    cra_blob_writer *writer = cra_malloc(allocator, sizeof *writer);
    if (writer == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory while writing '%.300s'", name);
    *writer = (cra_blob_writer){blobstore, NULL, false};
    status = blobstore->vtable.put_open(blobstore->self, name, flags, tag, &writer->writer, err);
    if (status != CRA_OK) {
        cra_free(allocator, writer);
        return status;
    }
    *out = writer;
    return CRA_OK;
}

static cra_status spoilt(cra_error *err)
{
    return cra_error_set(err, CRA_INVALID, ORIGIN, "a put that failed can only be aborted");
}

cra_status cra_blob_writer_write(cra_blob_writer *writer, cra_bytes bytes, cra_error *err)
{
    cra_blobstore *store = writer->store;

    if (writer->failed)
        return spoilt(err);
    if (bytes.size == 0)
        return CRA_OK;
    const cra_status status = store->vtable.put_write(store->self, writer->writer, bytes, err);
    writer->failed = status != CRA_OK;
    return status;
}

cra_status cra_blob_writer_commit(cra_blob_writer *writer, cra_blob_info *out, cra_error *err)
{
    cra_blobstore *store = writer->store;
    cra_blob_info info = CRA_BLOB_INFO_INIT;

    cra_status status = writer->failed ? spoilt(err) : check_out(out, err);
    if (status != CRA_OK) {
        cra_blob_writer_abort(writer);
        return status;
    }
    status = store->vtable.put_commit(store->self, writer->writer, &info, err);
    cra_free(cra_context_allocator(store->context), writer);
    if (status == CRA_OK)
        give_info(&info, out);
    return status;
}

void cra_blob_writer_abort(cra_blob_writer *writer)
{
    if (writer == NULL)
        return;

    cra_blobstore *store = writer->store;
    store->vtable.put_abort(store->self, writer->writer);
    cra_free(cra_context_allocator(store->context), writer);
}

cra_status cra_blobstore_put(cra_blobstore *blobstore, const char *name, cra_bytes content, unsigned flags,
                             cra_blob_info *out, cra_error *err)
{
    cra_blob_writer *writer = NULL;
    cra_status status = cra_blobstore_put_open(blobstore, name, flags, NULL, &writer, err);

    if (status != CRA_OK)
        return status;
    status = cra_blob_writer_write(writer, content, err);
    if (status == CRA_OK)
        return cra_blob_writer_commit(writer, out, err);
    cra_blob_writer_abort(writer);
    return status;
}

cra_status cra_blobstore_remove(cra_blobstore *blobstore, const char *name, cra_error *err)
{
    cra_status status = check_name(name, err);

    if (status == CRA_OK)
        status = check_writable(blobstore, "remove", name, err);
    return status != CRA_OK ? status : blobstore->vtable.remove(blobstore->self, name, err);
}

/* ---- uploads and thaw ---- */

cra_status cra_blobstore_upload_list(cra_blobstore *blobstore, const char *prefix, cra_blob_visit_fn visit, void *user,
                                     cra_error *err)
{
    cra_status status = check_prefix(prefix, err);

    if (status == CRA_OK)
        status = check_feature(blobstore, CRA_BLOBSTORE_UPLOADS, "a list of unfinished uploads", err);
    return status != CRA_OK ? status : blobstore->vtable.upload_list(blobstore->self, prefix, visit, user, err);
}

cra_status cra_blobstore_upload_abort(cra_blobstore *blobstore, const char *token, cra_error *err)
{
    if (token == NULL || *token == '\0')
        return cra_error_set(err, CRA_INVALID, ORIGIN, "an upload's token is empty");
    cra_status status = check_writable(blobstore, "abort the upload", token, err);
    if (status == CRA_OK)
        status = check_feature(blobstore, CRA_BLOBSTORE_UPLOADS, "to abort uploads", err);
    return status != CRA_OK ? status : blobstore->vtable.upload_abort(blobstore->self, token, err);
}

cra_status cra_blobstore_thaw(cra_blobstore *blobstore, const char *name, cra_error *err)
{
    cra_status status = check_name(name, err);

    if (status == CRA_OK)
        status = check_writable(blobstore, "thaw", name, err);
    if (status == CRA_OK)
        status = check_feature(blobstore, CRA_BLOBSTORE_THAW, "to thaw objects", err);
    return status != CRA_OK ? status : blobstore->vtable.thaw(blobstore->self, name, err);
}
