/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/archive_commit.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "ops/intents.h"

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "archive", "out of memory");
}

static const cra_allocator *allocator_of(const cra_archive_set *set)
{
    return cra_engine_allocator(set->engine);
}

void cra_archive_stamp_reason(cra_run_doc *run, cra_reason reason, cra_time_ms now, const cra_allocator *allocator)
{
    /* A reason that cannot be kept for want of memory is no failure of its own. */
    (void)!cra_run_doc_set_text(&run->last_reason, cra_reason_name(reason), allocator);
    run->last_reason_at = reason == CRA_REASON_NONE ? CRA_TIME_NONE : now;
}

typedef struct failure_note {
    cra_reason reason;
    const cra_allocator *allocator;
} failure_note;

static cra_status note_reason(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    const failure_note *note = user;

    (void)err;
    cra_archive_stamp_reason(run, note->reason, now, note->allocator);
    return CRA_OK;
}

void cra_run_note_failure(cra_engine *engine, cra_run_guard *guard, cra_reason reason)
{
    failure_note note = {reason, cra_engine_allocator(engine)};

    (void)!cra_run_guard_update(guard, note_reason, &note, NULL);
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* One above every generation that was ever seen: in the catalog, in manifests, in intents. */
static int64_t next_generation(const cra_archive_set *previous, const cra_intents *intents)
{
    int64_t newest = previous->run.generation;

    for (size_t i = 0; i < previous->files_count; i++) {
        int64_t generation, fence;
        if (cra_naming_parse_manifest(previous->files[i].name, &generation, &fence) && generation > newest)
            newest = generation;
    }
    for (size_t i = 0; i < intents->count; i++) {
        if (intents->items[i].generation > newest)
            newest = intents->items[i].generation;
    }
    return newest < 0 ? 1 : newest + 1;
}

static cra_status keep_parts(const cra_archive_set *previous, cra_archive_set *target, cra_error *err)
{
    for (size_t i = 0; i < previous->manifest.parts_count; i++) {
        cra_manifest_part part = previous->manifest.parts[i];
        part.kept = true;
        if (cra_manifest_add_part(&target->manifest, &part) != CRA_OK)
            return no_memory(err);
    }
    return CRA_OK;
}

/* What a restore needs besides records: options and indexes of the hot collection. */
static cra_status describe_collection(cra_archive_set *target, cra_error *err)
{
    cra_docstore *docstore = cra_engine_docstore(target->engine);
    size_t count;

    cra_status status =
        cra_docstore_collection_get(docstore, target->run.collection, &target->manifest.collection_options, err);
    if (status == CRA_OK)
        status = cra_docstore_index_list(docstore, target->run.collection, &target->manifest.indexes, &count, err);
    if (status != CRA_NOT_FOUND)
        return status;
    cra_error_clear(err);
    return CRA_OK;
}

static cra_status fill_head(const cra_archive_set *previous, cra_archive_set *target, cra_avro_codec codec,
                            cra_error *err)
{
    cra_manifest *manifest = &target->manifest;
    const cra_run_doc *run = &target->run;

    manifest->origin = CRA_MANIFEST_ARCHIVE;
    manifest->previous_generation = previous->run.generation;
    manifest->written_after_close = run->outcome != NULL;
    manifest->ids_in_records = true;
    if (cra_manifest_set_text(manifest, &manifest->report, run->report) != CRA_OK ||
        cra_manifest_set_text(manifest, &manifest->run, run->run) != CRA_OK ||
        cra_manifest_set_text(manifest, &manifest->run_field, cra_engine_run_field(target->engine)) != CRA_OK ||
        cra_manifest_set_text(manifest, &manifest->collection, run->collection) != CRA_OK ||
        cra_manifest_set_text(manifest, &manifest->codec, cra_avro_codec_name(codec)) != CRA_OK ||
        cra_manifest_set_text(manifest, &manifest->profile, "typed") != CRA_OK)
        return no_memory(err);
    return describe_collection(target, err);
}

cra_status cra_archive_begin_generation(const cra_archive_set *previous, cra_archive_set *target, cra_run_guard *guard,
                                        cra_avro_codec codec, bool remainder, cra_error *err)
{
    cra_intents intents;

    cra_status status = cra_intents_load(&intents, guard, allocator_of(target), err);
    if (status == CRA_OK) {
        target->manifest.generation = next_generation(previous, &intents);
        target->manifest.fence = cra_run_guard_fence(guard);
        target->origin = CRA_ARCHIVE_MANIFEST;
        status = fill_head(previous, target, codec, err);
    }
    if (status == CRA_OK && remainder)
        status = keep_parts(previous, target, err);
    if (status == CRA_OK)
        status = cra_intents_add(&intents, target->manifest.generation, target->manifest.fence, err);
    if (status == CRA_OK)
        status = cra_intents_store(&intents, guard, err);
    cra_intents_cleanup(&intents);
    return status;
}

/* ---- garbage --------------------------------------------------------------------------------- */

/* Whether the previous archive needs the object: a part it reads, one it knows, or the manifest itself. */
static bool is_needed(const cra_archive_set *previous, const char *relative)
{
    const size_t folder = strlen(previous->folder);

    return cra_manifest_knows(&previous->manifest, relative) ||
           (strlen(previous->manifest_name) > folder && strcmp(previous->manifest_name + folder, relative) == 0);
}

static cra_status remove_object(const cra_archive_set *set, const char *relative, cra_error *err)
{
    cra_buf name;

    cra_buf_init(&name, allocator_of(set));
    cra_status status = cra_buf_appendf(&name, "%s%s", set->folder, relative);
    status = status == CRA_OK ? cra_blobstore_remove(set->store, (const char *)name.data, err) : no_memory(err);
    cra_buf_cleanup(&name);
    return status;
}

typedef struct upload_sweep {
    const cra_archive_set *set;
    const cra_intents *intents;
    char **tokens;
    size_t count, capacity;
} upload_sweep;

/* A token begins with the object's name: ours where that is a part or manifest that an intent names. */
static cra_status take_upload(void *user, const char *token, const cra_blob_info *info)
{
    upload_sweep *sweep = user;
    const cra_allocator *allocator = allocator_of(sweep->set);
    const char *relative = token + strlen(sweep->set->folder);
    char name[CRA_NAMING_FILE_SIZE];
    int64_t generation, fence, number;
    const char *end = strstr(relative, ".avro");

    (void)info;
    if (end == NULL || (size_t)(end - relative) + 6 > sizeof name)
        return CRA_OK;
    memcpy(name, relative, (size_t)(end - relative) + 5);
    name[end - relative + 5] = '\0';
    if (!cra_naming_parse_part(name, &generation, &fence, &number) ||
        !cra_intents_hold(sweep->intents, generation, fence))
        return CRA_OK;
    if (cra_array_grow(allocator, (void **)&sweep->tokens, &sweep->capacity, sweep->count + 1,
                       sizeof *sweep->tokens) != CRA_OK)
        return CRA_NOMEM;
    sweep->tokens[sweep->count] = cra_strdup(allocator, token);
    return sweep->tokens[sweep->count] != NULL ? (sweep->count++, CRA_OK) : CRA_NOMEM;
}

static cra_status abort_uploads(const cra_archive_set *set, const cra_intents *intents, cra_error *err)
{
    upload_sweep sweep = {.set = set, .intents = intents};

    if ((cra_blobstore_features(set->store) & CRA_BLOBSTORE_UPLOADS) == 0)
        return CRA_OK;
    cra_status status = cra_blobstore_upload_list(set->store, set->folder, take_upload, &sweep, err);
    if (status == CRA_NOMEM)
        no_memory(err);
    for (size_t i = 0; i < sweep.count; i++) {
        if (status == CRA_OK)
            status = cra_blobstore_upload_abort(set->store, sweep.tokens[i], err);
        cra_free(allocator_of(set), sweep.tokens[i]);
    }
    cra_free(allocator_of(set), sweep.tokens);
    return status;
}

cra_status cra_archive_collect_garbage(const cra_archive_set *previous, cra_run_guard *guard, bool uploads,
                                       cra_error *err)
{
    const int64_t own_fence = cra_run_guard_fence(guard);
    cra_intents intents;

    if (previous->store == NULL)
        return CRA_OK;
    cra_status status = cra_intents_load(&intents, guard, allocator_of(previous), err);
    for (size_t i = 0; status == CRA_OK && i < previous->files_count; i++) {
        const char *name = previous->files[i].name;
        int64_t generation, fence, number;

        if (!cra_naming_parse_part(name, &generation, &fence, &number) &&
            !cra_naming_parse_manifest(name, &generation, &fence))
            continue;
        if (fence == own_fence || !cra_intents_hold(&intents, generation, fence) || is_needed(previous, name))
            continue;
        status = remove_object(previous, name, err);
    }
    if (status == CRA_OK && uploads)
        status = abort_uploads(previous, &intents, err);
    /* Removal is durable when it returns: the objects of every older intent are gone, or a manifest names them. */
    if (status == CRA_OK && cra_intents_keep_only(&intents, own_fence))
        status = cra_intents_store(&intents, guard, err);
    cra_intents_cleanup(&intents);
    return status;
}

/* ---- committing ------------------------------------------------------------------------------ */

/* Data files that were there and are no part: known, never read. */
static cra_status list_superseded(const cra_archive_set *previous, cra_manifest *manifest, cra_error *err)
{
    for (size_t i = 0; i < previous->files_count; i++) {
        const cra_archive_file *file = &previous->files[i];

        if (file->kind != CRA_BLOB_DATA || cra_manifest_find_part(manifest, file->name) != NULL)
            continue;
        if (cra_archive_name_is_ours(previous, file->name) && !is_needed(previous, file->name))
            continue; /* garbage, removed at the start */
        if (cra_manifest_add_superseded(manifest, file->name) != CRA_OK)
            return no_memory(err);
    }
    return CRA_OK;
}

/* The run as the catalog has it, so that a lost catalog can be told what it held. */
static cra_status describe_run(const cra_run_doc *run, cra_buf *out)
{
    size_t mark;

    CRA_TRY(cra_bson_begin(out, &mark));
#define PUT_TEXT(name)                                                                                                \
    if (run->name != NULL)                                                                                            \
        CRA_TRY(cra_bson_put_string(out, #name, run->name));
#define PUT_TIME(name)                                                                                                \
    if (run->name != CRA_TIME_NONE)                                                                                   \
        CRA_TRY(cra_bson_put_date(out, #name, run->name));
#define PUT_INT(name) CRA_TRY(cra_bson_put_int64(out, #name, run->name));
#define PUT_BOOL(name) CRA_TRY(cra_bson_put_bool(out, #name, run->name));
#define PUT(kind, name, help) PUT_##kind(name)
    CRA_RUN_FIELDS(PUT)
#undef PUT
#undef PUT_BOOL
#undef PUT_INT
#undef PUT_TIME
#undef PUT_TEXT
    return cra_bson_end(out, mark);
}

static cra_status put_text(const cra_archive_set *target, const char *relative, cra_bytes text, unsigned flags,
                           cra_error *err)
{
    cra_blob_info info = {.struct_size = sizeof info};
    cra_buf name;

    cra_buf_init(&name, allocator_of(target));
    cra_status status = cra_buf_appendf(&name, "%s%s", target->folder, relative);
    status = status == CRA_OK
                 ? cra_blobstore_put(target->store, (const char *)name.data, text, flags, &info, err)
                 : no_memory(err);
    cra_buf_cleanup(&name);
    return status;
}

/* Read the stored manifest again: what the catalog will name must be what was written. */
static cra_status prove_manifest(cra_archive_set *target, cra_bytes text, cra_error *err)
{
    cra_buf stored;

    cra_buf_init(&stored, allocator_of(target));
    cra_status status = cra_blobstore_read(target->store, target->manifest_name, 0, (int64_t)text.size + 1, NULL,
                                           &stored, err);
    if (status == CRA_OK && !cra_bytes_equal(text, cra_buf_bytes(&stored)))
        status = cra_error_set(err, CRA_CORRUPT, "archive", "%s: what was stored is not what was written",
                               target->manifest_name);
    cra_buf_cleanup(&stored);
    return status;
}

static cra_status name_in_catalog(void *user, cra_run_doc *run, cra_time_ms now, cra_error *err)
{
    const cra_archive_set *target = user;
    const cra_allocator *allocator = allocator_of(target);

    if (run->state == CRA_RUN_ARCHIVED || run->state == CRA_RUN_RESTORING)
        return cra_error_set(err, CRA_CONFLICT, "archive", "run %s left the hot store meanwhile", run->run);
    run->generation = target->manifest.generation;
    run->archived_at = now;
    if (run->state != CRA_RUN_SWEEPING)
        run->records = target->manifest.distinct_ids;
    cra_archive_stamp_reason(run, CRA_REASON_NONE, now, allocator);
    if (cra_run_doc_set_text(&run->manifest, target->manifest_name, allocator) != CRA_OK ||
        cra_run_doc_set_text(&run->manifest_digest, target->manifest_digest, allocator) != CRA_OK ||
        cra_run_doc_set_text(&run->location, target->location, allocator) != CRA_OK)
        return no_memory(err);
    return CRA_OK;
}

/* The intent is fulfilled: every object of it is named by the manifest. */
static cra_status forget_intent(const cra_archive_set *target, cra_run_guard *guard, cra_error *err)
{
    cra_intents intents;

    cra_status status = cra_intents_load(&intents, guard, allocator_of(target), err);
    if (status == CRA_OK && cra_intents_keep_only(&intents, -1))
        status = cra_intents_store(&intents, guard, err);
    cra_intents_cleanup(&intents);
    return status;
}

static cra_status put_manifest(cra_archive_set *target, cra_run_guard *guard, cra_bytes text, cra_error *err)
{
    char relative[CRA_NAMING_FILE_SIZE];

    cra_naming_manifest(target->manifest.generation, target->manifest.fence, relative);
    if ((size_t)snprintf(target->manifest_name, sizeof target->manifest_name, "%s%s", target->folder, relative) >=
        sizeof target->manifest_name)
        return cra_error_set(err, CRA_INVALID, "archive", "the name of the manifest is too long: %s", target->folder);
    cra_manifest_digest(text, target->manifest_digest);

    const unsigned flags =
        (cra_blobstore_features(target->store) & CRA_BLOBSTORE_IF_ABSENT) != 0 ? CRA_PUT_IF_ABSENT : 0;
    cra_status status = cra_run_guard_check(guard, err);
    if (status == CRA_OK)
        status = put_text(target, relative, text, flags, err);
    return status == CRA_OK ? prove_manifest(target, text, err) : status;
}

/* Totals and the run as it is now. */
static cra_status complete_manifest(const cra_archive_set *previous, cra_archive_set *target, cra_run_guard *guard,
                                    cra_error *err)
{
    cra_manifest *manifest = &target->manifest;

    manifest->records = 0;
    manifest->bytes = 0;
    for (size_t i = 0; i < manifest->parts_count; i++) {
        manifest->records += manifest->parts[i].records;
        if (manifest->bytes >= 0 && manifest->parts[i].bytes >= 0)
            manifest->bytes += manifest->parts[i].bytes;
        else
            manifest->bytes = -1;
    }
    cra_status status = cra_catalog_now(cra_engine_catalog(target->engine), &manifest->created_at, err);
    if (status == CRA_OK)
        status = list_superseded(previous, manifest, err);
    if (status == CRA_OK && describe_run(cra_run_guard_doc(guard), &manifest->run_document) != CRA_OK)
        status = no_memory(err);
    return status;
}

cra_status cra_archive_commit(const cra_archive_set *previous, cra_archive_set *target, cra_run_guard *guard,
                              const char *schema, cra_error *err)
{
    const bool foreign = previous->origin == CRA_ARCHIVE_FOREIGN || previous->origin == CRA_ARCHIVE_ADOPTED;
    cra_buf text;

    cra_buf_init(&text, allocator_of(target));
    cra_status status = complete_manifest(previous, target, guard, err);
    if (status == CRA_OK)
        status = cra_manifest_to_json(&target->manifest, &text, err);
    /* Another writer's schema file is the reader's schema of its data files, and stays. */
    if (status == CRA_OK && schema != NULL && !foreign)
        status = put_text(target, CRA_NAMING_SCHEMA, cra_bytes_of_str(schema), 0, err);
    if (status == CRA_OK)
        status = put_manifest(target, guard, cra_buf_bytes(&text), err);
    if (status == CRA_OK)
        status = cra_run_guard_update(guard, name_in_catalog, target, err);
    if (status == CRA_OK)
        status = put_text(target, CRA_NAMING_MANIFEST_COPY, cra_buf_bytes(&text), 0, err);
    if (status == CRA_OK)
        status = forget_intent(target, guard, err);
    cra_buf_cleanup(&text);
    return status;
}
