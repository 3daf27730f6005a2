/* SPDX-License-Identifier: Apache-2.0 */
#include "core/naming.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

/* ---- segments -------------------------------------------------------------------------------- */

static bool is_plain(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7F;
}

static bool is_dots(const char *text, size_t size)
{
    return (size == 1 && text[0] == '.') || (size == 2 && text[0] == '.' && text[1] == '.');
}

static size_t encoded_size(const char *text)
{
    size_t size = 0;

    for (; *text != '\0'; text++)
        size += is_plain(*text) ? 1 : 3;
    return size;
}

cra_status cra_naming_encode(const char *text, cra_buf *out, cra_error *err)
{
    if (text[0] == '\0')
        return cra_error_set(err, CRA_INVALID, "name", "the name of a report or run is empty");
    if (is_dots(text, strlen(text)))
        return cra_error_set(err, CRA_INVALID, "name", "'%s' cannot be the name of a report or run", text);
    if (encoded_size(text) > CRA_NAMING_SEGMENT_MAX)
        return cra_error_set(err, CRA_INVALID, "name",
                             "the name '%.60s…' is too long: its folder would have %zu bytes, at most %d are allowed",
                             text, encoded_size(text), CRA_NAMING_SEGMENT_MAX);

    CRA_TRY(cra_buf_reserve(out, encoded_size(text)));
    for (; *text != '\0'; text++) {
        if (is_plain(*text))
            CRA_TRY(cra_buf_append_byte(out, (uint8_t)*text));
        else
            CRA_TRY(cra_buf_appendf(out, "%%%02X", (unsigned)(unsigned char)*text));
    }
    return CRA_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* One byte of an encoded name at `name[0…size)`; 0 where there is none that encoding writes. */
static size_t decode_byte(const char *name, size_t size, uint8_t *out)
{
    if (is_plain(name[0])) {
        *out = (uint8_t)name[0];
        return 1;
    }
    if (name[0] != '%' || size < 3)
        return 0;
    const int high = hex_digit(name[1]);
    const int low = hex_digit(name[2]);
    if (high < 0 || low < 0)
        return 0;
    *out = (uint8_t)(high << 4 | low);
    /* Two names must never mean one run, and none may hold a NUL. */
    return *out == 0 || is_plain((char)*out) ? 0 : 3;
}

cra_status cra_naming_decode(const char *name, size_t size, cra_buf *out, cra_error *err)
{
    if (size == 0 || size > CRA_NAMING_SEGMENT_MAX || is_dots(name, size))
        return cra_error_set(err, CRA_INVALID, "name", "'%.*s' is no folder of a report or run",
                             (int)(size < 60 ? size : 60), name);
    CRA_TRY(cra_buf_reserve(out, size));
    for (size_t at = 0; at < size;) {
        uint8_t byte = 0;
        const size_t used = decode_byte(name + at, size - at, &byte);
        if (used == 0)
            return cra_error_set(err, CRA_INVALID, "name", "'%.*s' is no encoded name of a report or run",
                                 (int)(size < 60 ? size : 60), name);
        CRA_TRY(cra_buf_append_byte(out, byte));
        at += used;
    }
    return CRA_OK;
}

bool cra_naming_is_relative(const char *name)
{
    for (;;) {
        const size_t size = strcspn(name, "/");
        if (size == 0 || is_dots(name, size))
            return false;
        for (size_t i = 0; i < size; i++) {
            if (is_control(name[i]))
                return false;
        }
        if (name[size] == '\0')
            return true;
        name += size + 1;
    }
}

/* ---- files of ours --------------------------------------------------------------------------- */

void cra_naming_part(int64_t generation, int64_t fence, int64_t number, char out[CRA_NAMING_FILE_SIZE])
{
    snprintf(out, CRA_NAMING_FILE_SIZE, "part-%lld-%lld-%05lld.avro", (long long)generation, (long long)fence,
             (long long)number);
}

void cra_naming_manifest(int64_t generation, int64_t fence, char out[CRA_NAMING_FILE_SIZE])
{
    snprintf(out, CRA_NAMING_FILE_SIZE, "manifest-%lld-%lld.json", (long long)generation, (long long)fence);
}

static bool skip_text(const char **text, const char *expected)
{
    const size_t size = strlen(expected);

    if (strncmp(*text, expected, size) != 0)
        return false;
    *text += size;
    return true;
}

/* A number without sign; leading zeros are caught by writing the name again. */
static bool skip_number(const char **text, int64_t *out)
{
    const char *c = *text;
    int64_t number = 0;

    for (; *c >= '0' && *c <= '9'; c++) {
        if (number > (INT64_MAX - 9) / 10)
            return false;
        number = number * 10 + (*c - '0');
    }
    if (c == *text)
        return false;
    *text = c;
    *out = number;
    return true;
}

bool cra_naming_parse_part(const char *name, int64_t *generation, int64_t *fence, int64_t *number)
{
    const char *rest = name;
    char again[CRA_NAMING_FILE_SIZE];

    if (!skip_text(&rest, "part-") || !skip_number(&rest, generation) || !skip_text(&rest, "-") ||
        !skip_number(&rest, fence) || !skip_text(&rest, "-") || !skip_number(&rest, number) ||
        strcmp(rest, ".avro") != 0)
        return false;
    cra_naming_part(*generation, *fence, *number, again);
    return strcmp(name, again) == 0;
}

bool cra_naming_parse_manifest(const char *name, int64_t *generation, int64_t *fence)
{
    const char *rest = name;
    char again[CRA_NAMING_FILE_SIZE];

    if (!skip_text(&rest, "manifest-") || !skip_number(&rest, generation) || !skip_text(&rest, "-") ||
        !skip_number(&rest, fence) || strcmp(rest, ".json") != 0)
        return false;
    cra_naming_manifest(*generation, *fence, again);
    return strcmp(name, again) == 0;
}

/* ---- files of anyone ------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *suffix)
{
    const size_t size = strlen(text);
    const size_t suffix_size = strlen(suffix);

    return size >= suffix_size && strcmp(text + size - suffix_size, suffix) == 0;
}

/* Hidden folders hold the work of a writer that has not committed it: `_temporary/` of Hadoop committers,
 * `.spark-staging-…/`, `.hive-staging…/`. `_col=value/` is an ordinary partition. */
static cra_blob_class classify_folder(const char *segment, size_t size)
{
    if (segment[0] == '.')
        return CRA_BLOB_IN_PROGRESS;
    if (segment[0] != '_' || memchr(segment, '=', size) != NULL)
        return CRA_BLOB_DATA;
    return size == 10 && memcmp(segment, "_temporary", size) == 0 ? CRA_BLOB_IN_PROGRESS : CRA_BLOB_IGNORED;
}

static cra_blob_class classify_file(const char *name)
{
    int64_t generation;
    int64_t fence;

    if (ends_with(name, ".crc"))
        return CRA_BLOB_IGNORED;
    if (strstr(name, ".inprogress.") != NULL || ends_with(name, ".inprogress") || strstr(name, "_tmp_") != NULL ||
        ends_with(name, "._COPYING_"))
        return CRA_BLOB_IN_PROGRESS;
    /* Flink's compaction hides what it has not finished. */
    if (name[0] == '.')
        return CRA_BLOB_IN_PROGRESS;
    if (strcmp(name, "_SUCCESS") == 0)
        return CRA_BLOB_SUCCESS;
    if (name[0] == '_' && strchr(name, '=') == NULL)
        return CRA_BLOB_IGNORED;
    if (ends_with(name, ".avsc"))
        return CRA_BLOB_SCHEMA;
    if (strcmp(name, CRA_NAMING_MANIFEST_COPY) == 0 || cra_naming_parse_manifest(name, &generation, &fence))
        return CRA_BLOB_MANIFEST;
    return CRA_BLOB_DATA;
}

cra_blob_class cra_naming_classify(const char *relative_name)
{
    for (;;) {
        const size_t size = strcspn(relative_name, "/");
        if (relative_name[size] == '\0')
            return classify_file(relative_name);
        const cra_blob_class folder = size == 0 ? CRA_BLOB_DATA : classify_folder(relative_name, size);
        if (folder != CRA_BLOB_DATA)
            return folder;
        relative_name += size + 1;
    }
}
