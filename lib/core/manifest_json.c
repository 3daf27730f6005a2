/* SPDX-License-Identifier: Apache-2.0 */

/* The manifest's text. Its own values are plain JSON, for readers in any language; BSON documents inside (indexes,
 * options, the run) are canonical extended JSON, so that no type is lost. */

#include <stdio.h>
#include <string.h>

#include <crawlarchive/bson.h>
#include <crawlarchive/config.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "core/fields.h"
#include "core/manifest.h"

/* ---- writing --------------------------------------------------------------------------------- */

static cra_status put_quoted(cra_buf *out, const char *text)
{
    CRA_TRY(cra_buf_append_byte(out, '"'));
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            CRA_TRY(cra_buf_appendf(out, "\\%c", c));
        else if (c < 0x20)
            CRA_TRY(cra_buf_appendf(out, "\\u%04x", c));
        else
            CRA_TRY(cra_buf_append_byte(out, c));
    }
    return cra_buf_append_byte(out, '"');
}

/* A key and its colon, after a comma unless it is the first of its object. */
static cra_status put_key(cra_buf *out, const char *key)
{
    const char last = out->size == 0 ? '{' : (char)out->data[out->size - 1];

    return cra_buf_appendf(out, "%s\"%s\":", last == '{' ? "" : ",", key);
}

static cra_status put_text(cra_buf *out, const char *key, const char *text)
{
    CRA_TRY(put_key(out, key));
    return text == NULL ? cra_buf_append_str(out, "null") : put_quoted(out, text);
}

static cra_status put_number(cra_buf *out, const char *key, int64_t number)
{
    CRA_TRY(put_key(out, key));
    return cra_buf_appendf(out, "%lld", (long long)number);
}

/* -1 is our "unknown"; other readers see null. */
static cra_status put_known(cra_buf *out, const char *key, int64_t number)
{
    if (number >= 0)
        return put_number(out, key, number);
    return put_text(out, key, NULL);
}

static cra_status put_flag(cra_buf *out, const char *key, bool flag)
{
    CRA_TRY(put_key(out, key));
    return cra_buf_append_str(out, flag ? "true" : "false");
}

static cra_status put_document(cra_buf *out, const char *key, const cra_buf *document, cra_error *err)
{
    if (document->size == 0)
        return put_text(out, key, NULL);
    CRA_TRY(put_key(out, key));
    return cra_bson_to_json(cra_buf_bytes(document), CRA_JSON_CANONICAL, out, err);
}

static cra_status put_documents(cra_buf *out, const char *key, const cra_buf *documents, cra_error *err)
{
    cra_bytes stream = cra_buf_bytes(documents);
    cra_bytes document;

    CRA_TRY(put_key(out, key));
    CRA_TRY(cra_buf_append_byte(out, '['));
    for (bool first = true;; first = false) {
        const cra_status status = cra_bson_next_document(&stream, &document);
        if (status == CRA_DONE)
            return cra_buf_append_byte(out, ']');
        if (status != CRA_OK)
            return cra_error_set(err, status, "manifest", "manifest: %s is no list of BSON documents", key);
        if (!first)
            CRA_TRY(cra_buf_append_byte(out, ','));
        CRA_TRY(cra_bson_to_json(document, CRA_JSON_CANONICAL, out, err));
    }
}

static cra_status put_part(cra_buf *out, const cra_manifest_part *part)
{
    CRA_TRY(cra_buf_append_byte(out, '{'));
    CRA_TRY(put_text(out, "name", part->name));
    CRA_TRY(put_number(out, "size", part->size_bytes));
    CRA_TRY(put_text(out, "etag", part->etag));
    CRA_TRY(put_text(out, "sha256", part->sha256[0] == '\0' ? NULL : part->sha256));
    CRA_TRY(put_known(out, "records", part->records));
    CRA_TRY(put_known(out, "bytes", part->bytes));
    CRA_TRY(put_flag(out, "foreign", part->foreign));
    CRA_TRY(put_flag(out, "kept", part->kept));
    return cra_buf_append_byte(out, '}');
}

static cra_status put_parts(cra_buf *out, const cra_manifest *manifest)
{
    CRA_TRY(put_key(out, "parts"));
    CRA_TRY(cra_buf_append_byte(out, '['));
    for (size_t i = 0; i < manifest->parts_count; i++) {
        if (i > 0)
            CRA_TRY(cra_buf_append_byte(out, ','));
        CRA_TRY(put_part(out, &manifest->parts[i]));
    }
    CRA_TRY(cra_buf_append_byte(out, ']'));
    CRA_TRY(put_key(out, "superseded"));
    CRA_TRY(cra_buf_append_byte(out, '['));
    for (size_t i = 0; i < manifest->superseded_count; i++) {
        if (i > 0)
            CRA_TRY(cra_buf_append_byte(out, ','));
        CRA_TRY(put_quoted(out, manifest->superseded[i]));
    }
    return cra_buf_append_byte(out, ']');
}

static cra_status put_head(cra_buf *out, const cra_manifest *manifest)
{
    char created_at[40];

    cra_time_format(manifest->created_at, created_at, sizeof created_at);
    CRA_TRY(put_number(out, "format", CRA_MANIFEST_FORMAT));
    CRA_TRY(put_number(out, "min_reader", CRA_MANIFEST_FORMAT));
    CRA_TRY(put_text(out, "report", manifest->report));
    CRA_TRY(put_text(out, "run", manifest->run));
    CRA_TRY(put_text(out, "run_field", manifest->run_field));
    CRA_TRY(put_number(out, "generation", manifest->generation));
    CRA_TRY(put_number(out, "fence", manifest->fence));
    CRA_TRY(put_known(out, "previous_generation", manifest->previous_generation));
    CRA_TRY(put_text(out, "origin", manifest->origin == CRA_MANIFEST_ADOPTED ? "adopted" : "archive"));
    CRA_TRY(put_text(out, "created_at", created_at));
    CRA_TRY(put_flag(out, "written_after_close", manifest->written_after_close));
    CRA_TRY(put_text(out, "codec", manifest->codec));
    CRA_TRY(put_text(out, "profile", manifest->profile));
    CRA_TRY(put_known(out, "level", manifest->level));
    CRA_TRY(put_number(out, "records", manifest->records));
    CRA_TRY(put_known(out, "distinct_ids", manifest->distinct_ids));
    CRA_TRY(put_known(out, "bytes", manifest->bytes));
    return put_flag(out, "ids_in_records", manifest->ids_in_records);
}

static cra_status put_manifest(cra_buf *out, const cra_manifest *manifest, cra_error *err)
{
    CRA_TRY(cra_buf_append_byte(out, '{'));
    CRA_TRY(put_head(out, manifest));
    CRA_TRY(put_parts(out, manifest));
    CRA_TRY(put_text(out, "collection", manifest->collection));
    CRA_TRY(put_document(out, "collection_options", &manifest->collection_options, err));
    CRA_TRY(put_documents(out, "indexes", &manifest->indexes, err));
    CRA_TRY(put_document(out, "run_document", &manifest->run_document, err));
    return cra_buf_append_byte(out, '}');
}

cra_status cra_manifest_to_json(const cra_manifest *manifest, cra_buf *out, cra_error *err)
{
    CRA_TRY(cra_manifest_check(manifest, err));
    const cra_status status = put_manifest(out, manifest, err);
    if (status == CRA_NOMEM)
        cra_error_set(err, CRA_NOMEM, "manifest", "out of memory");
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

static cra_status read_part(void *user, const cra_fields *fields, cra_value value)
{
    cra_manifest *manifest = user;
    cra_manifest_part part = {.size_bytes = -1, .records = -1, .bytes = -1};

    (void)value;
    cra_status status = cra_fields_text(fields, "name", CRA_REQUIRED, manifest->allocator, &part.name);
    if (status == CRA_OK)
        status = cra_fields_text(fields, "etag", CRA_OPTIONAL, manifest->allocator, &part.etag);
    if (status == CRA_OK)
        status = cra_fields_int(fields, "size", CRA_REQUIRED, 0, &part.size_bytes);
    if (status == CRA_OK)
        status = cra_fields_chars(fields, "sha256", CRA_OPTIONAL, part.sha256, sizeof part.sha256);
    if (status == CRA_OK)
        status = cra_fields_int(fields, "records", CRA_OPTIONAL, 0, &part.records);
    if (status == CRA_OK)
        status = cra_fields_int(fields, "bytes", CRA_OPTIONAL, 0, &part.bytes);
    if (status == CRA_OK)
        status = cra_fields_bool(fields, "foreign", CRA_OPTIONAL, &part.foreign);
    if (status == CRA_OK)
        status = cra_fields_bool(fields, "kept", CRA_OPTIONAL, &part.kept);
    if (status == CRA_OK)
        status = cra_manifest_add_part(manifest, &part);
    cra_free(manifest->allocator, part.name);
    cra_free(manifest->allocator, part.etag);
    return status;
}

static cra_status read_superseded(void *user, const cra_fields *fields, cra_value value)
{
    cra_manifest *manifest = user;
    const cra_bytes text = cra_value_text(value);

    if (text.data == NULL || memchr(text.data, '\0', text.size) != NULL)
        return cra_fields_wrong(fields, "", "must be text without NUL");
    char *name = cra_strndup(manifest->allocator, (const char *)text.data, text.size);
    if (name == NULL)
        return CRA_NOMEM;
    const cra_status status = cra_manifest_add_superseded(manifest, name);
    cra_free(manifest->allocator, name);
    return status;
}

static cra_status read_index(void *user, const cra_fields *fields, cra_value value)
{
    cra_manifest *manifest = user;

    (void)fields;
    const cra_bytes document = cra_value_document(value);
    return cra_buf_append(&manifest->indexes, document.data, document.size);
}

static cra_status read_document(const cra_fields *fields, const char *key, cra_buf *out)
{
    cra_bytes document = {NULL, 0};

    CRA_TRY(cra_fields_document(fields, key, CRA_OPTIONAL, CRA_BSON_DOCUMENT, &document));
    return cra_buf_append(out, document.data, document.size);
}

static cra_status read_format(const cra_fields *fields, cra_manifest *manifest)
{
    CRA_TRY(cra_fields_int(fields, "format", CRA_REQUIRED, 1, &manifest->format));
    CRA_TRY(cra_fields_int(fields, "min_reader", CRA_REQUIRED, 1, &manifest->min_reader));
    if (manifest->min_reader > CRA_MANIFEST_FORMAT)
        return cra_error_set(fields->err, CRA_UNSUPPORTED, "manifest",
                             "the manifest needs a reader of format %lld; this one reads up to %d",
                             (long long)manifest->min_reader, CRA_MANIFEST_FORMAT);
    return CRA_OK;
}

static cra_status read_origin(const cra_fields *fields, cra_manifest *manifest)
{
    char word[16] = "";

    CRA_TRY(cra_fields_chars(fields, "origin", CRA_REQUIRED, word, sizeof word));
    if (strcmp(word, "archive") != 0 && strcmp(word, "adopted") != 0)
        return cra_fields_wrong(fields, "origin", "must be archive or adopted");
    manifest->origin = strcmp(word, "adopted") == 0 ? CRA_MANIFEST_ADOPTED : CRA_MANIFEST_ARCHIVE;
    return CRA_OK;
}

static cra_status read_head(const cra_fields *fields, cra_manifest *manifest)
{
    const cra_allocator *allocator = manifest->allocator;

    CRA_TRY(read_format(fields, manifest));
    CRA_TRY(cra_fields_text(fields, "report", CRA_REQUIRED, allocator, &manifest->report));
    CRA_TRY(cra_fields_text(fields, "run", CRA_REQUIRED, allocator, &manifest->run));
    CRA_TRY(cra_fields_text(fields, "run_field", CRA_OPTIONAL, allocator, &manifest->run_field));
    CRA_TRY(cra_fields_int(fields, "generation", CRA_REQUIRED, 0, &manifest->generation));
    CRA_TRY(cra_fields_int(fields, "fence", CRA_REQUIRED, 0, &manifest->fence));
    CRA_TRY(cra_fields_int(fields, "previous_generation", CRA_OPTIONAL, 0, &manifest->previous_generation));
    CRA_TRY(read_origin(fields, manifest));
    CRA_TRY(cra_fields_time(fields, "created_at", CRA_REQUIRED, &manifest->created_at));
    CRA_TRY(cra_fields_bool(fields, "written_after_close", CRA_REQUIRED, &manifest->written_after_close));
    CRA_TRY(cra_fields_text(fields, "codec", CRA_OPTIONAL, allocator, &manifest->codec));
    CRA_TRY(cra_fields_text(fields, "profile", CRA_OPTIONAL, allocator, &manifest->profile));
    CRA_TRY(cra_fields_int(fields, "level", CRA_OPTIONAL, 0, &manifest->level));
    CRA_TRY(cra_fields_int(fields, "records", CRA_REQUIRED, 0, &manifest->records));
    CRA_TRY(cra_fields_int(fields, "distinct_ids", CRA_OPTIONAL, 0, &manifest->distinct_ids));
    CRA_TRY(cra_fields_int(fields, "bytes", CRA_OPTIONAL, 0, &manifest->bytes));
    return cra_fields_bool(fields, "ids_in_records", CRA_REQUIRED, &manifest->ids_in_records);
}

static cra_status read_manifest(const cra_fields *fields, cra_manifest *manifest)
{
    CRA_TRY(read_head(fields, manifest));
    CRA_TRY(cra_fields_each(fields, "parts", CRA_REQUIRED, CRA_BSON_DOCUMENT, read_part, manifest));
    CRA_TRY(cra_fields_each(fields, "superseded", CRA_OPTIONAL, CRA_BSON_STRING, read_superseded, manifest));
    CRA_TRY(cra_fields_text(fields, "collection", CRA_OPTIONAL, manifest->allocator, &manifest->collection));
    CRA_TRY(read_document(fields, "collection_options", &manifest->collection_options));
    CRA_TRY(cra_fields_each(fields, "indexes", CRA_OPTIONAL, CRA_BSON_DOCUMENT, read_index, manifest));
    CRA_TRY(read_document(fields, "run_document", &manifest->run_document));
    return cra_manifest_check(manifest, fields->err);
}

cra_status cra_manifest_from_json(cra_bytes text, const cra_allocator *allocator, cra_manifest *out, cra_error *err)
{
    cra_buf document;

    cra_manifest_init(out, allocator);
    cra_buf_init(&document, allocator);
    cra_status status = cra_bson_from_json(text, &document, NULL, err);
    if (status == CRA_DONE)
        status = cra_error_set(err, CRA_CORRUPT, "manifest", "the manifest is empty");
    if (status == CRA_OK) {
        const cra_fields fields = {cra_buf_bytes(&document), "manifest", "", err};
        status = read_manifest(&fields, out);
    }
    if (status == CRA_NOMEM)
        cra_error_set(err, CRA_NOMEM, "manifest", "out of memory");
    cra_buf_cleanup(&document);
    if (status != CRA_OK)
        cra_manifest_cleanup(out);
    return status;
}
