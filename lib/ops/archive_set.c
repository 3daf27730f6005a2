/* SPDX-License-Identifier: Apache-2.0 */

/* Finding the archive of a run: the place, the files below it, the manifest that counts. */

#include "ops/archive_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "ops/archive_place.h"

#define MANIFEST_MAX_BYTES (256 * 1024 * 1024)
#define SCHEMA_MAX_BYTES (16 * 1024 * 1024)
#define SETTLE_DEFAULT_MS (60 * 60 * 1000)

static const cra_allocator *allocator_of(const cra_archive_set *set)
{
    return cra_engine_allocator(set->engine);
}

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "archive", "out of memory");
}

/* Say why the archive may not be relied on; the first finding stands. */
static void unfit(cra_archive_set *set, cra_reason reason, const char *what, const char *name)
{
    if (set->reason != CRA_REASON_NONE)
        return;
    set->reason = reason;
    snprintf(set->detail, sizeof set->detail, "%.160s%s%.90s", what, name != NULL ? ": " : "", name != NULL ? name : "");
}

static void forget_files(cra_archive_set *set)
{
    for (size_t i = 0; i < set->files_count; i++)
        cra_free(allocator_of(set), set->files[i].name);
    set->files_count = 0;
}

void cra_archive_set_cleanup(cra_archive_set *set)
{
    if (set->engine == NULL)
        return;
    forget_files(set);
    cra_free(allocator_of(set), set->files);
    cra_free(allocator_of(set), set->store_uri);
    cra_free(allocator_of(set), set->folder);
    cra_free(allocator_of(set), set->location);
    cra_free(allocator_of(set), set->reader_schema);
    cra_manifest_cleanup(&set->manifest);
    cra_field_map_cleanup(&set->fields);
    cra_intents_cleanup(&set->intents);
    cra_run_doc_cleanup(&set->run, allocator_of(set));
    memset(set, 0, sizeof *set);
}

/* ---- listing --------------------------------------------------------------------------------- */

static cra_status take_file(void *user, const char *name, const cra_blob_info *info)
{
    cra_archive_set *set = user;
    const char *relative = name + strlen(set->folder);

    if (*relative == '\0')
        return CRA_OK; /* a folder marker of an object store */
    if (cra_array_grow(allocator_of(set), (void **)&set->files, &set->files_capacity, set->files_count + 1,
                       sizeof *set->files) != CRA_OK)
        return CRA_NOMEM;
    cra_archive_file *file = &set->files[set->files_count];
    memset(file, 0, sizeof *file);
    file->name = cra_strdup(allocator_of(set), relative);
    if (file->name == NULL)
        return CRA_NOMEM;
    file->size_bytes = info->size_bytes;
    file->modified_at = info->modified_at;
    memcpy(file->etag, info->etag, sizeof file->etag);
    file->kind = cra_naming_classify(relative);
    set->files_count++;
    return CRA_OK;
}

static cra_status list_files(cra_archive_set *set, cra_error *err)
{
    forget_files(set);
    const cra_status status = cra_blobstore_list(set->store, set->folder, take_file, set, err);
    return status == CRA_NOMEM ? no_memory(err) : status;
}

const cra_archive_file *cra_archive_set_file(const cra_archive_set *set, const char *relative_name)
{
    /* Listed in byte order of names below one prefix. */
    size_t low = 0;
    size_t high = set->files_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(set->files[middle].name, relative_name);
        if (order == 0)
            return &set->files[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool has_archive_files(const cra_archive_set *set)
{
    for (size_t i = 0; i < set->files_count; i++) {
        if (set->files[i].kind == CRA_BLOB_DATA || set->files[i].kind == CRA_BLOB_MANIFEST)
            return true;
    }
    return false;
}

/* Without a stored location every route is looked at: the boundary may have moved since the run was written. */
static cra_status find_place(cra_archive_set *set, cra_error *err)
{
    const cra_route_list *routes = cra_engine_routes(set->engine);
    size_t found = 0;
    size_t place = 0;
    size_t second = 0;
    cra_buf folder;

    cra_buf_init(&folder, allocator_of(set));
    cra_status status = cra_archive_run_folder(set, &folder, err);
    for (size_t i = 0; status == CRA_OK && i < routes->count; i++) {
        bool repeated = false;
        for (size_t j = 0; j < i; j++)
            repeated = repeated || strcmp(routes->entries[i].uri, routes->entries[j].uri) == 0;
        if (repeated)
            continue;
        status = cra_archive_set_place(set, routes->entries[i].uri, (const char *)folder.data, err);
        if (status == CRA_OK)
            status = list_files(set, err);
        if (status == CRA_NOT_FOUND) /* the store itself does not exist yet: nothing was written there */
            status = CRA_OK;
        else if (status == CRA_OK && has_archive_files(set)) {
            if (found++ == 0)
                place = i;
            else
                second = i;
        }
    }
    const size_t chosen = found > 0 ? place : cra_route_list_choose(routes, set->run.run);
    if (status == CRA_OK)
        status = cra_archive_set_place(set, routes->entries[chosen].uri, (const char *)folder.data, err);
    if (status == CRA_OK)
        status = list_files(set, err);
    if (status == CRA_NOT_FOUND && found == 0)
        status = CRA_OK;
    if (found > 1) {
        char text[200];
        snprintf(text, sizeof text, "data in %.80s and in %.80s", routes->entries[place].uri,
                 routes->entries[second].uri);
        unfit(set, CRA_REASON_SPLIT, text, NULL);
    }
    cra_buf_cleanup(&folder);
    return status;
}

/* ---- manifests ------------------------------------------------------------------------------- */

static cra_status read_object(cra_archive_set *set, const char *name, int64_t max_bytes, cra_buf *out, cra_error *err)
{
    cra_blob_info info;

    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    cra_status status = cra_blobstore_stat(set->store, name, &info, err);
    if (status != CRA_OK)
        return status;
    if (info.size_bytes > max_bytes)
        return cra_error_set(err, CRA_CORRUPT, "archive", "%s is too large: %lld bytes", name,
                             (long long)info.size_bytes);
    while (status == CRA_OK && (int64_t)out->size < info.size_bytes) {
        const size_t before = out->size;
        status = cra_blobstore_read(set->store, name, (int64_t)before, info.size_bytes - (int64_t)before, info.etag,
                                    out, err);
        if (status == CRA_OK && out->size == before)
            return cra_error_set(err, CRA_CORRUPT, "archive", "%s is truncated", name);
    }
    return status;
}

/* Read a manifest by its object name. A text that is none, or that is missing, makes the archive unfit. */
static cra_status load_manifest(cra_archive_set *set, const char *object_name, const char *expect_digest,
                                cra_error *err)
{
    cra_error cause;
    cra_buf text;
    char digest[CRA_SHA256_HEX_SIZE];

    cra_error_clear(&cause);
    cra_buf_init(&text, allocator_of(set));
    set->origin = CRA_ARCHIVE_MANIFEST;
    snprintf(set->manifest_name, sizeof set->manifest_name, "%s", object_name);
    cra_status status = read_object(set, object_name, MANIFEST_MAX_BYTES, &text, &cause);
    if (status == CRA_OK) {
        cra_manifest_digest(cra_buf_bytes(&text), digest);
        memcpy(set->manifest_digest, digest, sizeof digest);
        if (expect_digest != NULL && strcmp(digest, expect_digest) != 0) {
            unfit(set, CRA_REASON_INCOMPLETE, "the manifest is not the one that the catalog names", object_name);
        }
        cra_manifest_cleanup(&set->manifest);
        status = cra_manifest_from_json(cra_buf_bytes(&text), allocator_of(set), &set->manifest, &cause);
    }
    cra_buf_cleanup(&text);
    if (status == CRA_NOT_FOUND) {
        unfit(set, CRA_REASON_INCOMPLETE, "the manifest is missing", object_name);
        return CRA_OK;
    }
    if (status == CRA_CORRUPT || status == CRA_UNSUPPORTED) {
        unfit(set, status == CRA_CORRUPT ? CRA_REASON_INCOMPLETE : CRA_REASON_UNREADABLE, cause.message, NULL);
        return CRA_OK;
    }
    if (status != CRA_OK && err != NULL)
        *err = cause;
    return status;
}

/* The newest of our manifests in the listing, by generation, then fence; NULL where there is none. */
static const cra_archive_file *newest_manifest(const cra_archive_set *set)
{
    const cra_archive_file *newest = NULL;
    int64_t best_generation = -1;
    int64_t best_fence = -1;

    for (size_t i = 0; i < set->files_count; i++) {
        int64_t generation, fence;
        if (!cra_naming_parse_manifest(set->files[i].name, &generation, &fence))
            continue;
        if (generation > best_generation || (generation == best_generation && fence > best_fence)) {
            newest = &set->files[i];
            best_generation = generation;
            best_fence = fence;
        }
    }
    return newest != NULL ? newest : cra_archive_set_file(set, CRA_NAMING_MANIFEST_COPY);
}

/* What a sweep adopted. CRA_NOT_FOUND where nothing was. */
static cra_status load_adopted(cra_archive_set *set, cra_error *err)
{
    cra_buf text;
    int64_t version;

    cra_buf_init(&text, allocator_of(set));
    cra_status status = cra_catalog_checkpoint_get(cra_engine_catalog(set->engine), set->run.report, set->run.run,
                                                   "adopted", &text, &version, err);
    if (status == CRA_OK) {
        cra_manifest_digest(cra_buf_bytes(&text), set->manifest_digest);
        cra_manifest_cleanup(&set->manifest);
        status = cra_manifest_from_json(cra_buf_bytes(&text), allocator_of(set), &set->manifest, err);
        set->origin = CRA_ARCHIVE_ADOPTED;
    }
    cra_buf_cleanup(&text);
    return status;
}

/* A foreign archive: every data file that is not empty is a part. */
static cra_status list_foreign(cra_archive_set *set, cra_error *err)
{
    set->origin = CRA_ARCHIVE_FOREIGN;
    set->manifest.origin = CRA_MANIFEST_ADOPTED;
    set->manifest.records = -1;
    set->manifest.distinct_ids = -1;
    for (size_t i = 0; i < set->files_count; i++) {
        const cra_archive_file *file = &set->files[i];
        cra_manifest_part part;

        if (file->kind != CRA_BLOB_DATA)
            continue;
        if (file->size_bytes == 0) {
            cra_log(cra_engine_context(set->engine), CRA_LOG_WARN, "archive", "%s%s is empty: skipped", set->folder,
                    file->name);
            continue;
        }
        memset(&part, 0, sizeof part);
        part.name = file->name;
        part.size_bytes = file->size_bytes;
        part.etag = (char *)(uintptr_t)file->etag;
        part.records = -1;
        part.bytes = -1;
        part.foreign = true;
        if (cra_manifest_add_part(&set->manifest, &part) != CRA_OK)
            return no_memory(err);
    }
    return CRA_OK;
}

/* The run's schema file, where other writers left one: the reader's schema of all its data files. */
static cra_status load_schema(cra_archive_set *set, cra_error *err)
{
    const cra_archive_file *file = cra_archive_set_file(set, CRA_NAMING_SCHEMA);
    cra_buf name, text;

    for (size_t i = 0; file == NULL && i < set->files_count; i++) {
        if (set->files[i].kind == CRA_BLOB_SCHEMA)
            file = &set->files[i];
    }
    if (file == NULL)
        return CRA_OK;
    cra_buf_init(&name, allocator_of(set));
    cra_buf_init(&text, allocator_of(set));
    cra_status status = cra_buf_appendf(&name, "%s%s", set->folder, file->name);
    if (status != CRA_OK)
        no_memory(err);
    else
        status = read_object(set, (const char *)name.data, SCHEMA_MAX_BYTES, &text, err);
    if (status == CRA_OK && (set->reader_schema = cra_buf_detach_cstr(&text)) == NULL)
        status = no_memory(err);
    cra_buf_cleanup(&name);
    cra_buf_cleanup(&text);
    return status;
}

/* Choose what the archive consists of: the manifest that the catalog names, what a sweep adopted, the newest
 * manifest in the folder, or the files that are there. */
static cra_status choose_manifest(cra_archive_set *set, cra_error *err)
{
    const bool left_hot = set->run.state != CRA_RUN_HOT && set->run.state != CRA_RUN_RESTORED;
    const cra_archive_file *newest;
    cra_buf name;

    if (set->run.manifest != NULL)
        return load_manifest(set, set->run.manifest, set->run.manifest_digest, err);
    if (left_hot || set->run.restores > 0) {
        const cra_status status = load_adopted(set, err);
        if (status != CRA_NOT_FOUND)
            return status != CRA_OK ? status : load_schema(set, err);
        cra_error_clear(err);
    }
    newest = newest_manifest(set);
    if (newest == NULL) {
        const cra_status status = list_foreign(set, err);
        return status != CRA_OK ? status : load_schema(set, err);
    }
    cra_buf_init(&name, allocator_of(set));
    cra_status status = cra_buf_appendf(&name, "%s%s", set->folder, newest->name);
    status = status != CRA_OK ? no_memory(err) : load_manifest(set, (const char *)name.data, NULL, err);
    cra_buf_cleanup(&name);
    return status;
}

/* ---- fitness --------------------------------------------------------------------------------- */

bool cra_archive_name_is_ours(const cra_archive_set *set, const char *relative_name)
{
    int64_t generation, fence, number;

    if (!cra_naming_parse_part(relative_name, &generation, &fence, &number) &&
        !cra_naming_parse_manifest(relative_name, &generation, &fence))
        return false;
    return cra_intents_hold(&set->intents, generation, fence);
}

/* Whether any generation's manifest names the file: old generations stay until they expire. */
static cra_status known_to_older(cra_archive_set *set, const char *relative_name, bool *known, cra_error *err)
{
    *known = false;
    for (size_t i = 0; i < set->files_count && !*known; i++) {
        int64_t generation, fence;
        cra_manifest manifest;
        cra_buf name, text;

        if (!cra_naming_parse_manifest(set->files[i].name, &generation, &fence))
            continue;
        cra_buf_init(&name, allocator_of(set));
        cra_buf_init(&text, allocator_of(set));
        cra_status status = cra_buf_appendf(&name, "%s%s", set->folder, set->files[i].name);
        if (status == CRA_OK)
            status = read_object(set, (const char *)name.data, MANIFEST_MAX_BYTES, &text, err);
        if (status == CRA_OK) {
            status = cra_manifest_from_json(cra_buf_bytes(&text), allocator_of(set), &manifest, err);
            if (status == CRA_OK) {
                *known = cra_manifest_knows(&manifest, relative_name);
                cra_manifest_cleanup(&manifest);
            }
        }
        cra_buf_cleanup(&name);
        cra_buf_cleanup(&text);
        if (status != CRA_OK && status != CRA_CORRUPT && status != CRA_NOT_FOUND && status != CRA_UNSUPPORTED)
            return status;
    }
    return CRA_OK;
}

/* Data that no manifest knows: someone wrote after the manifest. */
static cra_status check_strangers(cra_archive_set *set, cra_error *err)
{
    if (set->origin == CRA_ARCHIVE_FOREIGN || set->origin == CRA_ARCHIVE_ADOPTED)
        return CRA_OK;
    for (size_t i = 0; i < set->files_count; i++) {
        const cra_archive_file *file = &set->files[i];
        bool known;

        if (file->kind != CRA_BLOB_DATA || cra_manifest_knows(&set->manifest, file->name) ||
            cra_archive_name_is_ours(set, file->name))
            continue;
        CRA_TRY(known_to_older(set, file->name, &known, err));
        if (!known)
            unfit(set, CRA_REASON_STALE_MANIFEST, "no manifest knows", file->name);
    }
    return CRA_OK;
}

/* Leftovers of others' writers: at work until they have been still for archive.settle. */
static cra_status check_in_progress(cra_archive_set *set, cra_error *err)
{
    const int64_t settle =
        cra_config_int(cra_engine_config(set->engine), "archive.settle", SETTLE_DEFAULT_MS);
    cra_time_ms now;

    CRA_TRY(cra_catalog_now(cra_engine_catalog(set->engine), &now, err));
    for (size_t i = 0; i < set->files_count; i++) {
        const cra_archive_file *file = &set->files[i];

        if (file->kind != CRA_BLOB_IN_PROGRESS)
            continue;
        if (file->modified_at == CRA_TIME_NONE || file->modified_at > now - settle)
            unfit(set, CRA_REASON_IN_PROGRESS, "still being written", file->name);
        else
            cra_log(cra_engine_context(set->engine), CRA_LOG_WARN, "archive",
                    "%s%s is a leftover of another writer: ignored", set->folder, file->name);
    }
    return CRA_OK;
}

static void check_presence(cra_archive_set *set)
{
    for (size_t i = 0; i < set->manifest.parts_count; i++) {
        const cra_manifest_part *part = &set->manifest.parts[i];
        const cra_archive_file *file = cra_archive_set_file(set, part->name);

        set->parts_bytes += part->size_bytes;
        if (file == NULL)
            unfit(set, CRA_REASON_INCOMPLETE, "a part is missing", part->name);
        else if (file->size_bytes != part->size_bytes)
            unfit(set, CRA_REASON_INCOMPLETE, "a part has not the size that its manifest says", part->name);
    }
}

/* Take archive.fields from the configuration. */
static cra_status take_field(void *user, const cra_config_entry *entry)
{
    static const char prefix[] = "archive.fields.";
    cra_archive_set *set = user;

    if (strncmp(entry->path, prefix, sizeof prefix - 1) != 0 || entry->value == NULL)
        return CRA_OK;
    return cra_field_map_add(&set->fields, entry->path + sizeof prefix - 1, entry->value, NULL);
}

static cra_status load_intents(cra_archive_set *set, cra_error *err)
{
    cra_buf stored;
    int64_t version;

    cra_buf_init(&stored, allocator_of(set));
    cra_status status = cra_catalog_checkpoint_get(cra_engine_catalog(set->engine), set->run.report, set->run.run,
                                                   "intents", &stored, &version, err);
    if (status == CRA_OK) {
        status = cra_intents_parse(&set->intents, cra_buf_bytes(&stored), allocator_of(set), err);
    } else if (status == CRA_NOT_FOUND) {
        cra_error_clear(err);
        status = CRA_OK;
    }
    cra_buf_cleanup(&stored);
    return status;
}

static cra_status judge(cra_archive_set *set, cra_error *err)
{
    const bool swept = set->run.state == CRA_RUN_ARCHIVED || set->run.state == CRA_RUN_RESTORING;

    if (set->origin == CRA_ARCHIVE_MANIFEST && set->reason == CRA_REASON_NONE &&
        (strcmp(set->manifest.report, set->run.report) != 0 || strcmp(set->manifest.run, set->run.run) != 0))
        unfit(set, CRA_REASON_FOREIGN_RUN, "the manifest is of run", set->manifest.run);
    check_presence(set);
    if (swept)
        return CRA_OK;
    CRA_TRY(check_strangers(set, err));
    return check_in_progress(set, err);
}

cra_status cra_archive_set_load(cra_engine *engine, const cra_run_doc *run, cra_archive_set *out, cra_error *err)
{
    cra_archive_set_init(out, engine);
    if (cra_run_doc_copy(&out->run, run, allocator_of(out)) != CRA_OK)
        return no_memory(err);
    out->filter_by_run = !cra_naming_has_run(cra_archive_folder_template(out));

    cra_status status = cra_config_each(cra_engine_config(engine), take_field, out);
    if (status != CRA_OK)
        return cra_error_set(err, status, "archive", "archive.fields cannot be read");
    if (run->location != NULL) {
        cra_archive_set located;
        status = cra_archive_set_locate(engine, run, &located, err);
        if (status == CRA_OK)
            status = cra_archive_set_place(out, located.store_uri, located.folder, err);
        cra_archive_set_cleanup(&located);
        if (status == CRA_OK)
            status = list_files(out, err);
    } else {
        status = find_place(out, err);
    }
    if (status == CRA_OK)
        status = load_intents(out, err);
    if (status != CRA_OK)
        return status;
    if (!has_archive_files(out) && run->manifest == NULL) {
        status = check_in_progress(out, err);
        if (status == CRA_OK)
            unfit(out, CRA_REASON_NO_ARCHIVE, "nothing found in", out->location);
        return status;
    }
    status = choose_manifest(out, err);
    return status == CRA_OK ? judge(out, err) : status;
}

cra_status cra_archive_set_check_parts(cra_archive_set *set, cra_error *err)
{
    CRA_TRY(list_files(set, err));
    check_presence(set);
    for (size_t i = 0; i < set->manifest.parts_count; i++) {
        const cra_manifest_part *part = &set->manifest.parts[i];
        const cra_archive_file *file = cra_archive_set_file(set, part->name);

        if (file != NULL && part->etag != NULL && strcmp(part->etag, file->etag) != 0)
            unfit(set, CRA_REASON_INCOMPLETE, "a part is not the object that its manifest names (its ETag differs)",
                  part->name);
    }
    return CRA_OK;
}

cra_status cra_archive_set_adopt(cra_archive_set *set, cra_run_guard *guard, cra_time_ms now, cra_error *err)
{
    cra_manifest *manifest = &set->manifest;
    cra_buf text;

    manifest->origin = CRA_MANIFEST_ADOPTED;
    manifest->created_at = now;
    manifest->generation = 0;
    manifest->fence = cra_run_guard_fence(guard);
    manifest->records = 0;
    for (size_t i = 0; i < manifest->parts_count; i++)
        manifest->records += manifest->parts[i].records;
    if (cra_manifest_set_text(manifest, &manifest->report, set->run.report) != CRA_OK ||
        cra_manifest_set_text(manifest, &manifest->run, set->run.run) != CRA_OK ||
        cra_manifest_set_text(manifest, &manifest->collection, set->run.collection) != CRA_OK)
        return no_memory(err);

    cra_buf_init(&text, allocator_of(set));
    cra_status status = cra_manifest_to_json(manifest, &text, err);
    if (status == CRA_OK)
        status = cra_run_guard_checkpoint_put(guard, "adopted", cra_buf_bytes(&text), err);
    if (status == CRA_OK)
        cra_manifest_digest(cra_buf_bytes(&text), set->manifest_digest);
    cra_buf_cleanup(&text);
    return status;
}
