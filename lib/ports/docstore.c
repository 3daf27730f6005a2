/* SPDX-License-Identifier: Apache-2.0 */

/* The guard of the docstore port: arguments checked, writes refused on read-only handles, then the backend's slot. */

#include <crawlarchive/sys/backend.h>

#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "ports/backend.h"

#define ORIGIN "docstore"
#define KNOWN_FEATURES                                                                                                 \
    ((uint64_t)(CRA_DOCSTORE_SHARED | CRA_DOCSTORE_FIND | CRA_DOCSTORE_REPLACE_IF | CRA_DOCSTORE_INDEX_LATE))

struct cra_docstore {
    cra_context *context;
    cra_docstore_vtable vtable; /* a copy of the members this version knows */
    void *self;
    bool read_only;
    bool borrowed; /* a second handle: another one closes the store */
};

/* ---- opening ---- */

static const char *missing_slot(const cra_docstore_vtable *v)
{
    return v->close == NULL               ? "close"
           : v->limits == NULL            ? "limits"
           : v->write_batch == NULL       ? "write_batch"
           : v->fetch == NULL             ? "fetch"
           : v->page == NULL              ? "page"
           : v->count == NULL             ? "count"
           : v->delete_batch == NULL      ? "delete_batch"
           : v->index_list == NULL        ? "index_list"
           : v->index_ensure == NULL      ? "index_ensure"
           : v->collection_get == NULL    ? "collection_get"
           : v->collection_create == NULL ? "collection_create"
           : v->health == NULL            ? "health"
                                          : NULL;
}

static cra_status check_vtable(const cra_docstore_vtable *v, cra_error *err)
{
    const char *missing = missing_slot(v);

    if (missing != NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend lacks the required slot '%s'", missing);
    if ((v->features & ~KNOWN_FEATURES) != 0)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend has unknown feature bits 0x%llx",
                             (unsigned long long)(v->features & ~KNOWN_FEATURES));
    if ((v->features & CRA_DOCSTORE_FIND) != 0 && v->find == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend claims find without its slot");
    if ((v->features & CRA_DOCSTORE_REPLACE_IF) != 0 && v->replace_if == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend claims replace_if without its slot");
    return CRA_OK;
}

cra_status cra_docstore_wrap(cra_context *context, const cra_docstore_vtable *vtable, void *self, bool read_only,
                             cra_docstore **out, cra_error *err)
{
    cra_docstore_vtable own = {.struct_size = sizeof own};

    *out = NULL;
    if (vtable == NULL || cra_options_read(&own, sizeof own, vtable) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend's vtable is not one that this version knows");
    const cra_status status = check_vtable(&own, err);
    if (status != CRA_OK)
        return status;

    cra_docstore *docstore = cra_malloc(cra_context_allocator(context), sizeof *docstore);
    if (docstore == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory while opening a store");
    *docstore = (cra_docstore){context, own, self, read_only, false};
    *out = docstore;
    return CRA_OK;
}

static bool offers(const cra_backend *backend)
{
    return backend->open_docstore != NULL;
}

cra_status cra_docstore_open(const cra_open_args *args, cra_docstore **out, cra_error *err)
{
    *out = NULL;
    const cra_backend *backend = cra_backend_for_args(args, err);
    if (backend == NULL)
        return CRA_INVALID;
    if (!offers(backend))
        return cra_backend_not_offered(args->context, backend, "docstore", offers, err);

    const cra_docstore_vtable *vtable = NULL;
    void *self = NULL;
    cra_status status = backend->open_docstore(args, &vtable, &self, err);
    if (status != CRA_OK)
        return status;
    status = cra_docstore_wrap(args->context, vtable, self, (args->flags & CRA_OPEN_READ_ONLY) != 0, out, err);
    if (status != CRA_OK && vtable != NULL && vtable->close != NULL)
        vtable->close(self);
    return status;
}

cra_status cra_docstore_read_only(cra_docstore *docstore, cra_docstore **out, cra_error *err)
{
    const cra_status status = cra_docstore_wrap(docstore->context, &docstore->vtable, docstore->self, true, out, err);

    if (status == CRA_OK)
        (*out)->borrowed = true;
    return status;
}

void cra_docstore_free(cra_docstore *docstore)
{
    if (docstore == NULL)
        return;
    if (!docstore->borrowed)
        docstore->vtable.close(docstore->self);
    cra_free(cra_context_allocator(docstore->context), docstore);
}

uint64_t cra_docstore_features(const cra_docstore *docstore)
{
    return docstore->vtable.features;
}

/* ---- what may pass ---- */

static cra_status check_writable(const cra_docstore *docstore, const char *what, cra_error *err)
{
    if (!docstore->read_only)
        return CRA_OK;
    return cra_error_set(err, CRA_DENIED, ORIGIN, "the store is open for reading only: cannot %s", what);
}

static cra_status check_collection(const char *collection, cra_error *err)
{
    if (collection != NULL && collection[0] != '\0')
        return CRA_OK;
    return cra_error_set(err, CRA_INVALID, ORIGIN, "a collection needs a name");
}

static cra_status check_scope(const cra_scope *scope, cra_error *err)
{
    if (scope == NULL || scope->run_field == NULL || scope->run_field[0] == '\0' || scope->run_value.type == 0)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "a scope needs a run field and a value");
    return check_collection(scope->collection, err);
}

static cra_status check_ids(const cra_value *ids, size_t count, cra_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i].type == 0)
            return cra_error_set(err, CRA_INVALID, ORIGIN, "id %zu has no type", i);
    }
    return CRA_OK;
}

/* Each document whole, with `_id` as its first element. */
static cra_status check_documents(const cra_bytes *documents, size_t count, cra_error *err)
{
    for (size_t i = 0; i < count; i++) {
        cra_bson_iter iter;
        cra_bson_element element;

        cra_status status = cra_bson_iter_init(&iter, documents[i], err);
        if (status == CRA_OK)
            status = cra_bson_iter_next(&iter, &element, err);
        if (status == CRA_OK && strcmp(element.name, "_id") == 0)
            continue;
        return status < 0 ? status
                          : cra_error_set(err, CRA_INVALID, ORIGIN, "document %zu does not begin with its _id", i);
    }
    return CRA_OK;
}

static cra_status check_spec(cra_bytes spec, const char *what, cra_error *err)
{
    cra_bson_iter iter;

    if (cra_bson_iter_init(&iter, spec, NULL) == CRA_OK)
        return CRA_OK;
    return cra_error_set(err, CRA_INVALID, ORIGIN, "%s must be one BSON document", what);
}

static cra_status check_feature(const cra_docstore *docstore, uint64_t feature, const char *what, cra_error *err)
{
    if ((docstore->vtable.features & feature) != 0)
        return CRA_OK;
    return cra_error_set(err, CRA_UNSUPPORTED, ORIGIN, "this store does not offer %s", what);
}

/* ---- the slots ---- */

cra_status cra_docstore_get_limits(cra_docstore *docstore, cra_docstore_limits *out, cra_error *err)
{
    memset(out, 0, sizeof *out);
    out->struct_size = sizeof *out;
    return docstore->vtable.limits(docstore->self, out, err);
}

cra_status cra_docstore_write_batch(cra_docstore *docstore, const char *collection, const cra_bytes *documents,
                                    size_t count, int64_t deadline_ms, cra_write_result *results, cra_error *err)
{
    cra_status status = check_writable(docstore, "write records", err);

    if (count > 0)
        memset(results, 0, count * sizeof *results);
    if (status == CRA_OK)
        status = check_collection(collection, err);
    if (status == CRA_OK)
        status = check_documents(documents, count, err);
    if (status != CRA_OK || count == 0)
        return status;
    return docstore->vtable.write_batch(docstore->self, collection, documents, count, deadline_ms, results, err);
}

cra_status cra_docstore_fetch(cra_docstore *docstore, const char *collection, const cra_value *ids, size_t count,
                              cra_buf *out, cra_error *err)
{
    cra_status status = check_collection(collection, err);
    if (status == CRA_OK)
        status = check_ids(ids, count, err);
    if (status != CRA_OK || count == 0)
        return status;
    return docstore->vtable.fetch(docstore->self, collection, ids, count, out, err);
}

cra_status cra_docstore_page(cra_docstore *docstore, const cra_scope *scope, const cra_page_request *request,
                             cra_buf *out, size_t *count, cra_error *err)
{
    cra_page_request own = {.struct_size = sizeof own};

    *count = 0;
    if (request == NULL || cra_options_read(&own, sizeof own, request) != CRA_OK || own.max_docs <= 0 ||
        own.max_bytes <= 0)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "a page needs at least one document and one byte");
    const cra_status status = check_scope(scope, err);
    return status == CRA_OK ? docstore->vtable.page(docstore->self, scope, &own, out, count, err) : status;
}

cra_status cra_docstore_count(cra_docstore *docstore, const cra_scope *scope, int64_t *out, cra_error *err)
{
    const cra_status status = check_scope(scope, err);

    *out = 0;
    return status == CRA_OK ? docstore->vtable.count(docstore->self, scope, out, err) : status;
}

cra_status cra_docstore_delete_batch(cra_docstore *docstore, const cra_scope *scope, const cra_value *ids, size_t count,
                                     cra_bytes match, int64_t deadline_ms, int64_t *removed, cra_error *err)
{
    cra_status status = check_writable(docstore, "delete records", err);

    *removed = 0;
    if (status == CRA_OK)
        status = check_scope(scope, err);
    if (status == CRA_OK)
        status = check_ids(ids, count, err);
    if (status == CRA_OK && match.size > 0)
        status = check_spec(match, "what a delete must match", err);
    if (status != CRA_OK || count == 0)
        return status;
    return docstore->vtable.delete_batch(docstore->self, scope, ids, count, match, deadline_ms, removed, err);
}

cra_status cra_docstore_index_list(cra_docstore *docstore, const char *collection, cra_buf *out, size_t *count,
                                   cra_error *err)
{
    const cra_status status = check_collection(collection, err);

    *count = 0;
    return status == CRA_OK ? docstore->vtable.index_list(docstore->self, collection, out, count, err) : status;
}

cra_status cra_docstore_index_ensure(cra_docstore *docstore, const char *collection, cra_bytes spec,
                                     cra_index_outcome *outcome, cra_error *err)
{
    cra_status status = check_writable(docstore, "create an index", err);
    if (status == CRA_OK)
        status = check_collection(collection, err);
    if (status == CRA_OK)
        status = check_spec(spec, "an index", err);
    return status == CRA_OK ? docstore->vtable.index_ensure(docstore->self, collection, spec, outcome, err) : status;
}

cra_status cra_docstore_collection_get(cra_docstore *docstore, const char *collection, cra_buf *out, cra_error *err)
{
    const cra_status status = check_collection(collection, err);
    return status == CRA_OK ? docstore->vtable.collection_get(docstore->self, collection, out, err) : status;
}

cra_status cra_docstore_collection_create(cra_docstore *docstore, const char *collection, cra_bytes options,
                                          cra_error *err)
{
    cra_status status = check_writable(docstore, "create a collection", err);
    if (status == CRA_OK)
        status = check_collection(collection, err);
    if (status == CRA_OK && options.size > 0)
        status = check_spec(options, "a collection's options", err);
    return status == CRA_OK ? docstore->vtable.collection_create(docstore->self, collection, options, err) : status;
}

cra_status cra_docstore_get_health(cra_docstore *docstore, cra_docstore_health *out, cra_error *err)
{
    memset(out, 0, sizeof *out);
    out->struct_size = sizeof *out;
    return docstore->vtable.health(docstore->self, out, err);
}

cra_status cra_docstore_find(cra_docstore *docstore, const char *collection, const char *path, cra_value value,
                             cra_value after_id, int64_t max_docs, cra_buf *out, size_t *count, cra_error *err)
{
    cra_status status = check_feature(docstore, CRA_DOCSTORE_FIND, "queries", err);

    *count = 0;
    if (status == CRA_OK)
        status = check_collection(collection, err);
    if (status == CRA_OK && (path == NULL || path[0] == '\0' || value.type == 0 || max_docs <= 0))
        status = cra_error_set(err, CRA_INVALID, ORIGIN, "a query needs a path, a value and at least one document");
    if (status != CRA_OK)
        return status;
    return docstore->vtable.find(docstore->self, collection, path, value, after_id, max_docs, out, count, err);
}

cra_status cra_docstore_replace_if(cra_docstore *docstore, const char *collection, cra_value id, cra_bytes match,
                                   cra_bytes document, cra_error *err)
{
    cra_status status = check_writable(docstore, "replace a record", err);
    if (status == CRA_OK)
        status = check_feature(docstore, CRA_DOCSTORE_REPLACE_IF, "compare-and-set of documents", err);
    if (status == CRA_OK)
        status = check_collection(collection, err);
    if (status == CRA_OK)
        status = check_ids(&id, 1, err);
    if (status == CRA_OK)
        status = check_documents(&document, 1, err);
    if (status == CRA_OK && match.size > 0)
        status = check_spec(match, "what a replace must match", err);
    return status == CRA_OK ? docstore->vtable.replace_if(docstore->self, collection, id, match, document, err)
                            : status;
}
