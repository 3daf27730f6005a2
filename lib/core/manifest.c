/* SPDX-License-Identifier: Apache-2.0 */
#include "core/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "core/naming.h"

void cra_manifest_init(cra_manifest *manifest, const cra_allocator *allocator)
{
    *manifest = (cra_manifest){.allocator = allocator,
                               .format = CRA_MANIFEST_FORMAT,
                               .min_reader = CRA_MANIFEST_FORMAT,
                               .previous_generation = -1,
                               .created_at = CRA_TIME_NONE,
                               .level = -1,
                               .distinct_ids = -1,
                               .bytes = -1};
    cra_buf_init(&manifest->collection_options, allocator);
    cra_buf_init(&manifest->indexes, allocator);
    cra_buf_init(&manifest->run_document, allocator);
}

static void free_part(const cra_allocator *allocator, cra_manifest_part *part)
{
    cra_free(allocator, part->name);
    cra_free(allocator, part->etag);
}

void cra_manifest_cleanup(cra_manifest *manifest)
{
    const cra_allocator *allocator = manifest->allocator;

    cra_free(allocator, manifest->report);
    cra_free(allocator, manifest->run);
    cra_free(allocator, manifest->run_field);
    cra_free(allocator, manifest->collection);
    cra_free(allocator, manifest->codec);
    cra_free(allocator, manifest->profile);
    cra_buf_cleanup(&manifest->collection_options);
    cra_buf_cleanup(&manifest->indexes);
    cra_buf_cleanup(&manifest->run_document);
    for (size_t i = 0; i < manifest->parts_count; i++)
        free_part(allocator, &manifest->parts[i]);
    cra_free(allocator, manifest->parts);
    for (size_t i = 0; i < manifest->superseded_count; i++)
        cra_free(allocator, manifest->superseded[i]);
    cra_free(allocator, manifest->superseded);
    cra_manifest_init(manifest, allocator);
}

cra_status cra_manifest_set_text(cra_manifest *manifest, char **member, const char *text)
{
    char *copy = cra_strdup(manifest->allocator, text);

    if (text != NULL && copy == NULL)
        return CRA_NOMEM;
    cra_free(manifest->allocator, *member);
    *member = copy;
    return CRA_OK;
}

cra_status cra_manifest_add_part(cra_manifest *manifest, const cra_manifest_part *part)
{
    const cra_allocator *allocator = manifest->allocator;
    cra_manifest_part copy = *part;

    CRA_TRY(cra_array_grow(allocator, (void **)&manifest->parts, &manifest->parts_capacity, manifest->parts_count + 1,
                           sizeof *manifest->parts));
    copy.name = cra_strdup(allocator, part->name);
    copy.etag = cra_strdup(allocator, part->etag);
    if (copy.name == NULL || (part->etag != NULL && copy.etag == NULL)) {
        free_part(allocator, &copy);
        return CRA_NOMEM;
    }
    manifest->parts[manifest->parts_count++] = copy;
    return CRA_OK;
}

cra_status cra_manifest_add_superseded(cra_manifest *manifest, const char *name)
{
    CRA_TRY(cra_array_grow(manifest->allocator, (void **)&manifest->superseded, &manifest->superseded_capacity,
                           manifest->superseded_count + 1, sizeof *manifest->superseded));
    char *copy = cra_strdup(manifest->allocator, name);
    if (copy == NULL)
        return CRA_NOMEM;
    manifest->superseded[manifest->superseded_count++] = copy;
    return CRA_OK;
}

const cra_manifest_part *cra_manifest_find_part(const cra_manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->parts_count; i++) {
        if (strcmp(manifest->parts[i].name, name) == 0)
            return &manifest->parts[i];
    }
    return NULL;
}

bool cra_manifest_knows(const cra_manifest *manifest, const char *name)
{
    if (cra_manifest_find_part(manifest, name) != NULL)
        return true;
    for (size_t i = 0; i < manifest->superseded_count; i++) {
        if (strcmp(manifest->superseded[i], name) == 0)
            return true;
    }
    return false;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static cra_status wrong(cra_error *err, const char *key, const char *what)
{
    return cra_error_set(err, CRA_CORRUPT, "manifest", "manifest: %s %s", key, what);
}

static cra_status check_part(const cra_manifest_part *part, size_t index, cra_error *err)
{
    char key[48];
    uint8_t digest[CRA_SHA256_SIZE];

    snprintf(key, sizeof key, "parts[%zu].name", index);
    if (!cra_naming_is_relative(part->name))
        return wrong(err, key, "must be a name below the run's folder, without '..'");
    snprintf(key, sizeof key, "parts[%zu].size", index);
    if (part->size_bytes < 0)
        return wrong(err, key, "must be 0 or more");
    snprintf(key, sizeof key, "parts[%zu].sha256", index);
    if (part->sha256[0] != '\0' && !cra_hex_decode(part->sha256, digest, sizeof digest))
        return wrong(err, key, "must be 64 hexadecimal digits");
    snprintf(key, sizeof key, "parts[%zu].records", index);
    if (part->records < -1)
        return wrong(err, key, "must be 0 or more");
    snprintf(key, sizeof key, "parts[%zu].bytes", index);
    if (part->bytes < -1)
        return wrong(err, key, "must be 0 or more");
    return CRA_OK;
}

/* Where every part says how many records it holds, together they are the manifest's. */
static cra_status check_sum(const cra_manifest *manifest, cra_error *err)
{
    int64_t sum = 0;

    for (size_t i = 0; i < manifest->parts_count; i++) {
        const int64_t records = manifest->parts[i].records;
        if (records < 0)
            return CRA_OK;
        if (records > INT64_MAX - sum)
            return wrong(err, "parts", "have more records than can be counted");
        sum += records;
    }
    return sum == manifest->records ? CRA_OK : wrong(err, "records", "is not the sum of its parts");
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A file counted twice would pass for twice its records. */
static cra_status check_names(const cra_manifest *manifest, cra_error *err)
{
    const size_t count = manifest->parts_count + manifest->superseded_count;
    cra_status status = CRA_OK;

    if (count == 0)
        return CRA_OK;
    const char **names = cra_calloc(manifest->allocator, count, sizeof *names);
    if (names == NULL)
        return cra_error_set(err, CRA_NOMEM, "manifest", "out of memory");
    for (size_t i = 0; i < manifest->parts_count; i++)
        names[i] = manifest->parts[i].name;
    for (size_t i = 0; i < manifest->superseded_count; i++)
        names[manifest->parts_count + i] = manifest->superseded[i];
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 1; i < count && status == CRA_OK; i++) {
        if (strcmp(names[i - 1], names[i]) == 0)
            status = cra_error_set(err, CRA_CORRUPT, "manifest", "manifest: parts name '%.200s' twice", names[i]);
    }
    cra_free(manifest->allocator, names);
    return status;
}

static cra_status check_numbers(const cra_manifest *manifest, cra_error *err)
{
    if (manifest->generation < 0)
        return wrong(err, "generation", "must be 0 or more");
    if (manifest->fence < 0)
        return wrong(err, "fence", "must be 0 or more");
    if (manifest->records < 0)
        return wrong(err, "records", "must be 0 or more");
    if (manifest->distinct_ids < -1 || manifest->distinct_ids > manifest->records)
        return wrong(err, "distinct_ids", "must be between 0 and records");
    if (manifest->bytes < -1)
        return wrong(err, "bytes", "must be 0 or more");
    if (manifest->previous_generation < -1 || manifest->previous_generation >= manifest->generation)
        return wrong(err, "previous_generation", "must be before generation");
    return CRA_OK;
}

cra_status cra_manifest_check(const cra_manifest *manifest, cra_error *err)
{
    if (manifest->report == NULL)
        return wrong(err, "report", "is missing");
    if (manifest->run == NULL)
        return wrong(err, "run", "is missing");
    if (manifest->created_at == CRA_TIME_NONE)
        return wrong(err, "created_at", "is missing");
    CRA_TRY(check_numbers(manifest, err));
    for (size_t i = 0; i < manifest->parts_count; i++)
        CRA_TRY(check_part(&manifest->parts[i], i, err));
    for (size_t i = 0; i < manifest->superseded_count; i++) {
        char key[48];
        snprintf(key, sizeof key, "superseded[%zu]", i);
        if (!cra_naming_is_relative(manifest->superseded[i]))
            return wrong(err, key, "must be a name below the run's folder, without '..'");
    }
    CRA_TRY(check_names(manifest, err));
    return check_sum(manifest, err);
}

void cra_manifest_digest(cra_bytes text, char out[CRA_SHA256_HEX_SIZE])
{
    uint8_t digest[CRA_SHA256_SIZE];

    cra_sha256_of(text, digest);
    cra_hex_encode(digest, sizeof digest, out);
}
