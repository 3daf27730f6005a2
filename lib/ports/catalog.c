/* SPDX-License-Identifier: Apache-2.0 */

/* The guard of the catalog port: arguments checked, writes refused on read-only handles, then the backend's slot. */

#include <crawlarchive/sys/backend.h>

#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "ports/backend.h"

#define ORIGIN "catalog"
#define KNOWN_FEATURES ((uint64_t)CRA_CATALOG_SHARED)

struct cra_catalog {
    cra_context *context;
    cra_catalog_vtable vtable; /* a copy of the members this version knows */
    void *self;
    bool read_only;
    bool borrowed; /* a second handle: another one closes the store */
};

/* ---- opening ---- */

static const char *missing_slot(const cra_catalog_vtable *v)
{
    return v->close == NULL               ? "close"
           : v->now == NULL               ? "now"
           : v->run_list == NULL          ? "run_list"
           : v->run_insert == NULL        ? "run_insert"
           : v->run_replace == NULL       ? "run_replace"
           : v->run_remove == NULL        ? "run_remove"
           : v->lease_acquire == NULL     ? "lease_acquire"
           : v->lease_renew == NULL       ? "lease_renew"
           : v->lease_release == NULL     ? "lease_release"
           : v->checkpoint_get == NULL    ? "checkpoint_get"
           : v->checkpoint_put == NULL    ? "checkpoint_put"
           : v->checkpoint_remove == NULL ? "checkpoint_remove"
           : v->summary_put == NULL       ? "summary_put"
           : v->summary_get == NULL       ? "summary_get"
                                          : NULL;
}

cra_status cra_catalog_wrap(cra_context *context, const cra_catalog_vtable *vtable, void *self, bool read_only,
                            cra_catalog **out, cra_error *err)
{
    cra_catalog_vtable own = {.struct_size = sizeof own};

    *out = NULL;
    if (vtable == NULL || cra_options_read(&own, sizeof own, vtable) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend's vtable is not one that this version knows");
    const char *missing = missing_slot(&own);
    if (missing != NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend lacks the required slot '%s'", missing);
    if ((own.features & ~KNOWN_FEATURES) != 0)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend has unknown feature bits 0x%llx",
                             (unsigned long long)(own.features & ~KNOWN_FEATURES));

    cra_catalog *catalog = cra_malloc(cra_context_allocator(context), sizeof *catalog);
    if (catalog == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory while opening a catalog");
    *catalog = (cra_catalog){context, own, self, read_only, false};
    *out = catalog;
    return CRA_OK;
}

static bool offers(const cra_backend *backend)
{
    return backend->open_catalog != NULL;
}

cra_status cra_catalog_open(const cra_open_args *args, cra_catalog **out, cra_error *err)
{
    *out = NULL;
    const cra_backend *backend = cra_backend_for_args(args, err);
    if (backend == NULL)
        return CRA_INVALID;
    if (!offers(backend))
        return cra_backend_not_offered(args->context, backend, "catalog", offers, err);

    const cra_catalog_vtable *vtable = NULL;
    void *self = NULL;
    cra_status status = backend->open_catalog(args, &vtable, &self, err);
    if (status != CRA_OK)
        return status;
    status = cra_catalog_wrap(args->context, vtable, self, (args->flags & CRA_OPEN_READ_ONLY) != 0, out, err);
    if (status != CRA_OK && vtable != NULL && vtable->close != NULL)
        vtable->close(self);
    return status;
}

cra_status cra_catalog_read_only(cra_catalog *catalog, cra_catalog **out, cra_error *err)
{
    const cra_status status = cra_catalog_wrap(catalog->context, &catalog->vtable, catalog->self, true, out, err);

    if (status == CRA_OK)
        (*out)->borrowed = true;
    return status;
}

void cra_catalog_free(cra_catalog *catalog)
{
    if (catalog == NULL)
        return;
    if (!catalog->borrowed)
        catalog->vtable.close(catalog->self);
    cra_free(cra_context_allocator(catalog->context), catalog);
}

/* ---- what may pass ---- */

static cra_status check_writable(const cra_catalog *catalog, const char *what, cra_error *err)
{
    if (!catalog->read_only)
        return CRA_OK;
    return cra_error_set(err, CRA_DENIED, ORIGIN, "the catalog is open for reading only: cannot %s", what);
}

static cra_status check_key(const char *report, const char *run, cra_error *err)
{
    if (report != NULL && run != NULL && report[0] != '\0' && run[0] != '\0')
        return CRA_OK;
    return cra_error_set(err, CRA_INVALID, ORIGIN, "a run needs a report and an id that are not empty");
}

static cra_status check_run(const cra_run_doc *run, cra_error *err)
{
    if (run == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "no run");
    const cra_status status = check_key(run->report, run->run, err);
    if (status != CRA_OK)
        return status;
    if (run->collection == NULL || run->collection[0] == '\0')
        return cra_error_set(err, CRA_INVALID, ORIGIN, "run %s has no collection", run->run);
    if (run->state < CRA_RUN_HOT || run->state > CRA_RUN_RESTORED)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "run %s: %lld is no state", run->run, (long long)run->state);
    return CRA_OK;
}

static cra_status check_write(const cra_catalog *catalog, const char *what, const char *report, const char *run,
                              cra_error *err)
{
    const cra_status status = check_writable(catalog, what, err);
    return status == CRA_OK ? check_key(report, run, err) : status;
}

static cra_status check_name(const char *name, cra_error *err)
{
    if (name != NULL && name[0] != '\0')
        return CRA_OK;
    return cra_error_set(err, CRA_INVALID, ORIGIN, "a checkpoint or summary needs a name");
}

/* ---- the slots ---- */

cra_status cra_catalog_now(cra_catalog *catalog, cra_time_ms *out, cra_error *err)
{
    return catalog->vtable.now(catalog->self, out, err);
}

cra_status cra_catalog_run_list(cra_catalog *catalog, const cra_run_query *query, cra_run_visit_fn visit, void *user,
                                cra_error *err)
{
    cra_run_query own = CRA_RUN_QUERY_INIT;

    if (visit == NULL || cra_options_read(&own, sizeof own, query) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the query is not one that this version knows");
    if ((own.after_report == NULL) != (own.after_run == NULL))
        return cra_error_set(err, CRA_INVALID, ORIGIN, "a query goes on behind a report and a run, not one of them");
    return catalog->vtable.run_list(catalog->self, &own, visit, user, err);
}

typedef struct get_one {
    const cra_allocator *allocator;
    cra_run_doc *out;
    bool found;
} get_one;

static cra_status take_one(void *user, const cra_run_doc *run)
{
    get_one *get = user;
    const cra_status status = cra_run_doc_copy(get->out, run, get->allocator);

    get->found = status == CRA_OK;
    return status;
}

cra_status cra_catalog_run_get(cra_catalog *catalog, const char *report, const char *run, cra_run_doc *out,
                               cra_error *err)
{
    get_one get = {cra_context_allocator(catalog->context), out, false};
    cra_run_query query = CRA_RUN_QUERY_INIT;

    cra_run_doc_init(out);
    cra_status status = check_key(report, run, err);
    if (status != CRA_OK)
        return status;
    query.report = report;
    query.run = run;
    query.limit = 1;
    status = catalog->vtable.run_list(catalog->self, &query, take_one, &get, err);
    if (status != CRA_OK) /* it may have shown the run before it failed */
        cra_run_doc_cleanup(out, get.allocator);
    if (status == CRA_NOMEM)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory");
    if (status == CRA_OK && !get.found)
        return cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "report %s has no run %s", report, run);
    return status;
}

cra_status cra_catalog_run_insert(cra_catalog *catalog, const cra_run_doc *run, cra_error *err)
{
    cra_status status = check_writable(catalog, "add a run", err);
    if (status == CRA_OK)
        status = check_run(run, err);
    return status == CRA_OK ? catalog->vtable.run_insert(catalog->self, run, err) : status;
}

cra_status cra_catalog_run_replace(cra_catalog *catalog, const cra_run_doc *next, int64_t expect_version,
                                   const cra_lease *lease, cra_error *err)
{
    cra_status status = check_writable(catalog, "change a run", err);
    if (status == CRA_OK)
        status = check_run(next, err);
    return status == CRA_OK ? catalog->vtable.run_replace(catalog->self, next, expect_version, lease, err) : status;
}

cra_status cra_catalog_run_remove(cra_catalog *catalog, const char *report, const char *run, int64_t expect_version,
                                  cra_error *err)
{
    const cra_status status = check_write(catalog, "remove a run", report, run, err);
    return status == CRA_OK ? catalog->vtable.run_remove(catalog->self, report, run, expect_version, err) : status;
}

cra_status cra_catalog_lease_acquire(cra_catalog *catalog, const char *report, const char *run, const char *owner,
                                     int64_t ttl_ms, int64_t grace_ms, cra_lease *out, cra_error *err)
{
    const cra_status status = check_write(catalog, "take a lease", report, run, err);

    if (status != CRA_OK)
        return status;
    if (owner == NULL || owner[0] == '\0' || strlen(owner) >= sizeof out->owner || ttl_ms <= 0 || grace_ms < 0)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "a lease needs an owner of 1 to 39 bytes and a positive ttl");
    memset(out, 0, sizeof *out);
    return catalog->vtable.lease_acquire(catalog->self, report, run, owner, ttl_ms, grace_ms, out, err);
}

cra_status cra_catalog_lease_renew(cra_catalog *catalog, const char *report, const char *run, cra_lease *lease,
                                   int64_t ttl_ms, cra_error *err)
{
    const cra_status status = check_write(catalog, "renew a lease", report, run, err);

    if (status != CRA_OK)
        return status;
    if (lease == NULL || ttl_ms <= 0)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "no lease, or no positive ttl");
    return catalog->vtable.lease_renew(catalog->self, report, run, lease, ttl_ms, err);
}

cra_status cra_catalog_lease_release(cra_catalog *catalog, const char *report, const char *run, const cra_lease *lease,
                                     cra_error *err)
{
    const cra_status status = check_write(catalog, "release a lease", report, run, err);

    if (status != CRA_OK)
        return status;
    if (lease == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "no lease");
    return catalog->vtable.lease_release(catalog->self, report, run, lease, err);
}

cra_status cra_catalog_checkpoint_get(cra_catalog *catalog, const char *report, const char *run, const char *name,
                                      cra_buf *out, int64_t *version, cra_error *err)
{
    cra_status status = check_key(report, run, err);
    if (status == CRA_OK)
        status = check_name(name, err);
    return status == CRA_OK ? catalog->vtable.checkpoint_get(catalog->self, report, run, name, out, version, err)
                            : status;
}

cra_status cra_catalog_checkpoint_put(cra_catalog *catalog, const char *report, const char *run, const char *name,
                                      const cra_lease *lease, int64_t expect_version, cra_bytes content, cra_error *err)
{
    cra_status status = check_write(catalog, "store a checkpoint", report, run, err);
    if (status == CRA_OK)
        status = check_name(name, err);
    if (status == CRA_OK && (lease == NULL || expect_version < 0))
        status = cra_error_set(err, CRA_INVALID, ORIGIN, "a checkpoint is stored under a lease");
    return status == CRA_OK
               ? catalog->vtable.checkpoint_put(catalog->self, report, run, name, lease, expect_version, content, err)
               : status;
}

cra_status cra_catalog_checkpoint_remove(cra_catalog *catalog, const char *report, const char *run, const char *name,
                                         const cra_lease *lease, cra_error *err)
{
    cra_status status = check_write(catalog, "remove a checkpoint", report, run, err);
    if (status == CRA_OK)
        status = check_name(name, err);
    if (status == CRA_OK && lease == NULL)
        status = cra_error_set(err, CRA_INVALID, ORIGIN, "a checkpoint is removed under a lease");
    return status == CRA_OK ? catalog->vtable.checkpoint_remove(catalog->self, report, run, name, lease, err) : status;
}

cra_status cra_catalog_summary_put(cra_catalog *catalog, const char *name, cra_bytes content, cra_error *err)
{
    cra_status status = check_writable(catalog, "store a summary", err);
    if (status == CRA_OK)
        status = check_name(name, err);
    return status == CRA_OK ? catalog->vtable.summary_put(catalog->self, name, content, err) : status;
}

cra_status cra_catalog_summary_get(cra_catalog *catalog, const char *name, cra_buf *out, cra_error *err)
{
    const cra_status status = check_name(name, err);
    return status == CRA_OK ? catalog->vtable.summary_get(catalog->self, name, out, err) : status;
}
