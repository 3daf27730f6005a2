/* SPDX-License-Identifier: Apache-2.0 */

/* The target of a restore, made ready before the first record: it exists as it was, nothing in it expires, and it is
 * indexed. */

#include <stdio.h>

#include "base/buf.h"
#include "core/index_spec.h"
#include "ops/index_ensure.h"
#include "ops/restore_job.h"

#define ORIGIN "restore"

/* ---- collection ------------------------------------------------------------------------------- */

static cra_status ensure_collection(cra_restore_job *job, cra_error *err)
{
    cra_docstore *docstore = cra_engine_docstore(job->engine);
    const cra_bytes options = cra_buf_bytes(&job->set.manifest.collection_options);
    cra_error why = {0};
    cra_buf present;
    cra_status status;

    if (options.size == 0)
        return CRA_OK;
    cra_buf_init(&present, job->allocator);
    status = cra_docstore_collection_get(docstore, job->scope.scope.collection, &present, &why);
    cra_buf_cleanup(&present);
    if (status == CRA_NOT_FOUND) {
        cra_error_clear(&why);
        status = cra_docstore_collection_create(docstore, job->scope.scope.collection, options, &why);
        if (status == CRA_EXISTS)
            return CRA_OK;
    }
    /* Options of another kind of store mean nothing here: the collection is made by the first write. */
    if (status == CRA_UNSUPPORTED)
        return CRA_OK;
    if (status != CRA_OK) {
        job->reason = CRA_REASON_INDEXES;
        if (err != NULL)
            *err = why;
    }
    return status;
}

/* ---- indexes ---------------------------------------------------------------------------------- */

static cra_status refuse_ttl(cra_restore_job *job, cra_bytes spec, bool present, cra_error *err)
{
    char name[128];

    cra_index_label(spec, name, sizeof(name));
    job->reason = CRA_REASON_TTL_INDEX;
    cra_error_set(err, CRA_CONFLICT, ORIGIN, "collection %s: TTL index %s %s remove the restored records",
                  job->scope.scope.collection, name, present ? "would" : "is asked for and would");
    cra_error_hint(err, present ? "drop the index, or restore --into another collection" : "--skip-ttl leaves it out");
    return CRA_CONFLICT;
}

static cra_status check_present(cra_restore_job *job, cra_error *err)
{
    cra_bytes stream, spec;
    cra_buf present;
    cra_status status;

    cra_buf_init(&present, job->allocator);
    status = cra_index_read(job->engine, job->scope.scope.collection, &present, NULL, err);
    stream = cra_buf_bytes(&present);
    while (status == CRA_OK && cra_bson_next_document(&stream, &spec) == CRA_OK) {
        if (cra_index_spec_is_ttl(spec))
            status = refuse_ttl(job, spec, true, err);
    }
    cra_buf_cleanup(&present);
    return status;
}

static cra_status keep_waiting(void *user, cra_error *err)
{
    cra_restore_job *job = user;

    return cra_run_guard_check(job->guard, err);
}

static cra_status ensure_one(cra_restore_job *job, cra_bytes spec, cra_error *err)
{
    bool created;
    cra_buf normal;
    cra_status status;

    cra_buf_init(&normal, job->allocator);
    status = cra_index_normalize(spec, &normal, err);
    if (status == CRA_OK)
        status = cra_index_ensure_one(job->engine, job->scope.scope.collection, cra_buf_bytes(&normal), keep_waiting,
                                      job, &created, err);
    cra_buf_cleanup(&normal);
    return status;
}

static cra_status ensure_specs(cra_restore_job *job, cra_bytes specs, cra_error *err)
{
    cra_bytes spec;
    cra_status status = CRA_OK;

    while (status == CRA_OK && cra_bson_next_document(&specs, &spec) == CRA_OK) {
        cra_error why = {0};
        char name[128];
        if (cra_index_spec_is_id(spec))
            continue;
        if (cra_index_spec_is_ttl(spec)) {
            if (!job->options.skip_ttl)
                return refuse_ttl(job, spec, false, err);
            continue;
        }
        status = ensure_one(job, spec, &why);
        if (status == CRA_OK)
            continue;
        cra_index_label(spec, name, sizeof(name));
        if (status != CRA_CANCELLED && status != CRA_LOCKED && status != CRA_NOMEM)
            job->reason = CRA_REASON_INDEXES;
        cra_error_set_native(err, status, why.native_code, ORIGIN, "collection %s: index %s: %.300s",
                             job->scope.scope.collection, name, why.message);
    }
    return status;
}

/* TTL indexes are refused before anything is created. */
static cra_status check_wanted(cra_restore_job *job, cra_bytes specs, cra_error *err)
{
    cra_bytes spec;

    while (!job->options.skip_ttl && cra_bson_next_document(&specs, &spec) == CRA_OK) {
        if (cra_index_spec_is_ttl(spec))
            return refuse_ttl(job, spec, false, err);
    }
    return CRA_OK;
}

static cra_status prepare(cra_restore_job *job, cra_bytes specs, cra_error *err)
{
    CRA_TRY(check_present(job, err));
    CRA_TRY(check_wanted(job, specs, err));
    CRA_TRY(ensure_collection(job, err));
    return ensure_specs(job, specs, err);
}

cra_status cra_restore_prepare_target(cra_restore_job *job, cra_error *err)
{
    cra_bytes specs;
    cra_buf configured;
    size_t count = 0;
    cra_status status;

    cra_run_guard_progress(job->guard, "indexes", 0, job->set.manifest.records, 0, NULL);
    cra_buf_init(&configured, job->allocator);
    status = cra_config_indexes(cra_engine_config(job->engine), job->set.run.report, &configured, &count, err);
    if (status == CRA_OK) {
        specs = count > 0 ? cra_buf_bytes(&configured) : cra_buf_bytes(&job->set.manifest.indexes);
        status = prepare(job, specs, err);
    }
    cra_buf_cleanup(&configured);
    return status;
}

/* ---- frozen objects --------------------------------------------------------------------------- */

static cra_status stat_part(cra_restore_job *job, size_t index, cra_buf *name, cra_blob_info *info, cra_error *err)
{
    cra_buf_clear(name);
    if (cra_buf_append_str(name, job->set.folder) != CRA_OK ||
        cra_buf_append_str(name, job->set.manifest.parts[index].name) != CRA_OK || cra_buf_cstr(name) == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a name");
    return cra_blobstore_stat(job->set.store, cra_buf_cstr(name), info, err);
}

/* One look at all parts: how many are frozen, asking for them where that is wanted. */
static cra_status look(cra_restore_job *job, cra_buf *name, size_t *frozen, cra_error *err)
{
    *frozen = 0;
    for (size_t i = 0; i < job->set.manifest.parts_count; i++) {
        cra_blob_info info = {.struct_size = sizeof(info)};
        cra_error why = {0};
        cra_status status = stat_part(job, i, name, &info, &why);
        if (status == CRA_NOT_FOUND)
            continue; /* told by whoever reads it */
        if (status == CRA_OK && info.frozen) {
            (*frozen)++;
            if (!job->options.thaw) {
                job->reason = CRA_REASON_FROZEN_OBJECT;
                cra_error_set(err, CRA_UNAVAILABLE, ORIGIN, "%s is in cold storage", cra_buf_cstr(name));
                cra_error_hint(err, "--thaw asks for it and waits");
                return CRA_UNAVAILABLE;
            }
            status = cra_blobstore_thaw(job->set.store, cra_buf_cstr(name), &why);
        }
        if (status != CRA_OK && status != CRA_DONE) {
            if (err != NULL)
                *err = why;
            return status;
        }
    }
    return CRA_OK;
}

#define THAW_POLL_MS 60000

cra_status cra_restore_thaw(cra_restore_job *job, cra_error *err)
{
    size_t frozen = 1;
    cra_buf name;
    cra_status status = CRA_OK;

    if (job->set.store == NULL || (cra_blobstore_features(job->set.store) & CRA_BLOBSTORE_THAW) == 0)
        return CRA_OK;
    cra_buf_init(&name, job->allocator);
    for (;;) {
        status = look(job, &name, &frozen, err);
        if (status != CRA_OK || frozen == 0)
            break;
        cra_run_guard_progress(job->guard, "thaw", 0, job->set.manifest.records, 0, NULL);
        cra_context_sleep_ms(cra_engine_context(job->engine), THAW_POLL_MS);
        status = cra_run_guard_check(job->guard, err);
        if (status != CRA_OK)
            break;
    }
    cra_buf_cleanup(&name);
    return status;
}
