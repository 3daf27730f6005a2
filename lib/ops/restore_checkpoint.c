/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "core/fields.h"
#include "ops/restore_job.h"

#define NAME "restore"
#define FORMAT 1

/* What must be the same for a checkpoint to be gone on with: the manifest, or, where files of others were listed just
 * now, their names, sizes and ETags. */
static void archive_identity(const cra_restore_job *job, char out[CRA_SHA256_HEX_SIZE])
{
    const cra_manifest *manifest = &job->set.manifest;
    uint8_t digest[CRA_SHA256_SIZE];
    cra_sha256 hash;

    if (job->set.manifest_digest[0] != '\0') {
        memcpy(out, job->set.manifest_digest, CRA_SHA256_HEX_SIZE);
        return;
    }
    cra_sha256_init(&hash);
    for (size_t i = 0; i < manifest->parts_count; i++) {
        const cra_manifest_part *part = &manifest->parts[i];
        char size[32];
        snprintf(size, sizeof(size), " %lld;", (long long)part->size_bytes);
        cra_sha256_update(&hash, part->name, strlen(part->name) + 1);
        if (part->etag != NULL)
            cra_sha256_update(&hash, part->etag, strlen(part->etag));
        cra_sha256_update(&hash, size, strlen(size));
    }
    cra_sha256_final(&hash, digest);
    cra_hex_encode(digest, sizeof(digest), out);
}

static int64_t attempt_of(const cra_restore_job *job)
{
    return cra_run_guard_doc(job->guard)->restores;
}

/* ---- writing ---------------------------------------------------------------------------------- */

static cra_status put_part(cra_buf *out, size_t index, const cra_restore_part *part)
{
    char name[24];
    size_t mark;

    snprintf(name, sizeof(name), "%zu", index);
    CRA_TRY(cra_bson_put_begin(out, name, CRA_BSON_DOCUMENT, &mark));
    CRA_TRY(cra_bson_put_bool(out, "done", part->done));
    CRA_TRY(cra_bson_put_int64(out, "records", part->records));
    CRA_TRY(cra_bson_put_int64(out, "offset", part->offset));
    CRA_TRY(cra_bson_put_int64(out, "read", part->counts.read));
    CRA_TRY(cra_bson_put_int64(out, "new", part->counts.fresh));
    CRA_TRY(cra_bson_put_int64(out, "identical", part->counts.identical));
    CRA_TRY(cra_bson_put_int64(out, "conflict", part->counts.conflict));
    CRA_TRY(cra_bson_put_int64(out, "failed", part->counts.failed));
    CRA_TRY(cra_bson_put_int64(out, "bytes", part->counts.bytes));
    return cra_bson_end(out, mark);
}

static cra_status build(const cra_restore_job *job, cra_buf *out)
{
    char identity[CRA_SHA256_HEX_SIZE];
    size_t mark, parts;

    archive_identity(job, identity);
    CRA_TRY(cra_bson_begin(out, &mark));
    CRA_TRY(cra_bson_put_int64(out, "format", FORMAT));
    CRA_TRY(cra_bson_put_int64(out, "fence", cra_run_guard_fence(job->guard)));
    CRA_TRY(cra_bson_put_int64(out, "attempt", attempt_of(job)));
    CRA_TRY(cra_bson_put_string(out, "archive", identity));
    CRA_TRY(cra_bson_put_string(out, "collection", job->scope.scope.collection));
    CRA_TRY(cra_bson_put_int64(out, "count", (int64_t)job->set.manifest.parts_count));
    CRA_TRY(cra_bson_put_begin(out, "parts", CRA_BSON_DOCUMENT, &parts));
    for (size_t i = 0; i < job->set.manifest.parts_count; i++) {
        if (job->parts[i].done || job->parts[i].records > 0)
            CRA_TRY(put_part(out, i, &job->parts[i]));
    }
    CRA_TRY(cra_bson_end(out, parts));
    return cra_bson_end(out, mark);
}

cra_status cra_restore_checkpoint_save(cra_restore_job *job, cra_error *err)
{
    cra_buf content;
    cra_status status;

    cra_buf_init(&content, job->allocator);
    status = build(job, &content);
    if (status == CRA_OK)
        status = cra_run_guard_checkpoint_put(job->guard, NAME, cra_buf_bytes(&content), err);
    else
        cra_error_set(err, status, NAME, "no memory for a checkpoint");
    cra_buf_cleanup(&content);
    return status;
}

cra_status cra_restore_checkpoint_remove(cra_restore_job *job, cra_error *err)
{
    return cra_run_guard_checkpoint_remove(job->guard, NAME, err);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static cra_status take_part(cra_restore_job *job, const cra_bson_element *element)
{
    cra_fields fields = {cra_value_document(element->value), NAME, "parts.", NULL};
    cra_restore_part part;
    size_t index = 0;

    memset(&part, 0, sizeof(part));
    for (size_t i = 0; i < element->name_size; i++) {
        if (element->name[i] < '0' || element->name[i] > '9' || index > job->set.manifest.parts_count)
            return CRA_CORRUPT;
        index = index * 10 + (size_t)(element->name[i] - '0');
    }
    if (element->name_size == 0 || index >= job->set.manifest.parts_count)
        return CRA_CORRUPT;
    CRA_TRY(cra_fields_bool(&fields, "done", CRA_REQUIRED, &part.done));
    CRA_TRY(cra_fields_int(&fields, "records", CRA_REQUIRED, 0, &part.records));
    CRA_TRY(cra_fields_int(&fields, "offset", CRA_REQUIRED, 0, &part.offset));
    CRA_TRY(cra_fields_int(&fields, "read", CRA_REQUIRED, 0, &part.counts.read));
    CRA_TRY(cra_fields_int(&fields, "new", CRA_REQUIRED, 0, &part.counts.fresh));
    CRA_TRY(cra_fields_int(&fields, "identical", CRA_REQUIRED, 0, &part.counts.identical));
    CRA_TRY(cra_fields_int(&fields, "conflict", CRA_REQUIRED, 0, &part.counts.conflict));
    CRA_TRY(cra_fields_int(&fields, "failed", CRA_REQUIRED, 0, &part.counts.failed));
    CRA_TRY(cra_fields_int(&fields, "bytes", CRA_REQUIRED, 0, &part.counts.bytes));
    job->parts[index] = part;
    return CRA_OK;
}

static cra_status take_parts(cra_restore_job *job, cra_bytes document)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_status status;

    CRA_TRY(cra_bson_iter_init(&iter, document, NULL));
    while ((status = cra_bson_iter_next(&iter, &element, NULL)) == CRA_OK)
        CRA_TRY(take_part(job, &element));
    return status == CRA_DONE ? CRA_OK : status;
}

static bool is_text(cra_bytes document, const char *name, const char *expected)
{
    cra_value value;
    cra_bytes text;

    if (cra_bson_find(document, name, strlen(name), &value) != CRA_OK)
        return false;
    text = cra_value_text(value);
    return text.data != NULL && cra_bytes_equal(text, cra_bytes_of_str(expected));
}

static bool is_number(cra_bytes document, const char *name, int64_t expected)
{
    cra_value value;
    int64_t number;

    return cra_bson_find(document, name, strlen(name), &value) == CRA_OK && cra_value_as_int64(value, &number) &&
           number == expected;
}

static bool fits(const cra_restore_job *job, cra_bytes document)
{
    char identity[CRA_SHA256_HEX_SIZE];

    archive_identity(job, identity);
    return is_number(document, "format", FORMAT) && is_number(document, "attempt", attempt_of(job)) &&
           is_text(document, "archive", identity) && is_text(document, "collection", job->scope.scope.collection) &&
           is_number(document, "count", (int64_t)job->set.manifest.parts_count);
}

/* A checkpoint that cannot be read costs time, no data: the restore begins from the start. */
static void take(cra_restore_job *job, cra_bytes document)
{
    cra_value parts;

    if (!fits(job, document))
        return;
    if (cra_bson_find(document, "parts", 5, &parts) == CRA_OK && take_parts(job, cra_value_document(parts)) == CRA_OK)
        return;
    memset(job->parts, 0, job->set.manifest.parts_count * sizeof(*job->parts));
}

cra_status cra_restore_checkpoint_load(cra_restore_job *job, cra_error *err)
{
    cra_error why = {0};
    cra_buf content;
    cra_status status;

    cra_buf_init(&content, job->allocator);
    status = cra_run_guard_checkpoint_get(job->guard, NAME, &content, &why);
    if (status == CRA_OK)
        take(job, cra_buf_bytes(&content));
    else if (status != CRA_NOT_FOUND && err != NULL)
        *err = why;
    cra_buf_cleanup(&content);
    return status == CRA_NOT_FOUND ? CRA_OK : status;
}
