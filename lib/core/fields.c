/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fields.h"

#include <stdio.h>
#include <string.h>

#include <crawlarchive/config.h>

#include "base/alloc.h"
#include "base/buf.h"

cra_status cra_fields_wrong(const cra_fields *fields, const char *key, const char *what)
{
    return cra_error_set(fields->err, CRA_CORRUPT, fields->origin, "%s: %s%s %s", fields->origin, fields->path, key,
                         what);
}

/* CRA_OK with the value; CRA_DONE where an optional key is absent. */
static cra_status find(const cra_fields *fields, const char *key, cra_presence presence, cra_value *out)
{
    const cra_status status = cra_bson_find(fields->document, key, strlen(key), out);

    if (status != CRA_OK && status != CRA_NOT_FOUND)
        return cra_fields_wrong(fields, key, "cannot be read: the document is damaged");
    if (status == CRA_OK && out->type != CRA_BSON_NULL)
        return CRA_OK;
    return presence == CRA_OPTIONAL ? CRA_DONE : cra_fields_wrong(fields, key, "is missing");
}

/* The same for text without NUL, borrowed. */
static cra_status find_text(const cra_fields *fields, const char *key, cra_presence presence, cra_bytes *out)
{
    cra_value value;

    CRA_TRY(find(fields, key, presence, &value));
    if (value.type != CRA_BSON_STRING)
        return cra_fields_wrong(fields, key, "must be text");
    *out = cra_value_text(value);
    if (out->data == NULL || memchr(out->data, '\0', out->size) != NULL)
        return cra_fields_wrong(fields, key, "must be text without NUL");
    return CRA_OK;
}

static cra_status absent_is_ok(cra_status status)
{
    return status == CRA_DONE ? CRA_OK : status;
}

cra_status cra_fields_text(const cra_fields *fields, const char *key, cra_presence presence,
                           const cra_allocator *allocator, char **out)
{
    cra_bytes text;
    const cra_status status = find_text(fields, key, presence, &text);
    if (status != CRA_OK)
        return absent_is_ok(status);

    char *copy = cra_strndup(allocator, (const char *)text.data, text.size);
    if (copy == NULL)
        return cra_error_set(fields->err, CRA_NOMEM, fields->origin, "out of memory");
    *out = copy;
    return CRA_OK;
}

cra_status cra_fields_chars(const cra_fields *fields, const char *key, cra_presence presence, char *out, size_t size)
{
    cra_bytes text;
    const cra_status status = find_text(fields, key, presence, &text);
    if (status != CRA_OK)
        return absent_is_ok(status);

    if (text.size >= size)
        return cra_fields_wrong(fields, key, "is too long");
    memcpy(out, text.data, text.size);
    out[text.size] = '\0';
    return CRA_OK;
}

cra_status cra_fields_int(const cra_fields *fields, const char *key, cra_presence presence, int64_t min, int64_t *out)
{
    cra_value value;
    int64_t number;
    const cra_status status = find(fields, key, presence, &value);
    if (status != CRA_OK)
        return absent_is_ok(status);

    if (!cra_value_as_int64(value, &number))
        return cra_fields_wrong(fields, key, "must be an integer");
    if (number < min) {
        char what[64];
        snprintf(what, sizeof what, "must be %lld or more", (long long)min);
        return cra_fields_wrong(fields, key, what);
    }
    *out = number;
    return CRA_OK;
}

cra_status cra_fields_bool(const cra_fields *fields, const char *key, cra_presence presence, bool *out)
{
    cra_value value;
    const cra_status status = find(fields, key, presence, &value);
    if (status != CRA_OK)
        return absent_is_ok(status);

    if (value.type != CRA_BSON_BOOL || value.size != 1)
        return cra_fields_wrong(fields, key, "must be true or false");
    *out = value.data[0] != 0;
    return CRA_OK;
}

cra_status cra_fields_time(const cra_fields *fields, const char *key, cra_presence presence, cra_time_ms *out)
{
    cra_value value;
    const cra_status status = find(fields, key, presence, &value);
    if (status != CRA_OK)
        return absent_is_ok(status);

    if (value.type == CRA_BSON_DATE && value.size == sizeof(int64_t)) {
        uint64_t bits = 0;
        for (size_t i = 0; i < sizeof bits; i++)
            bits |= (uint64_t)value.data[i] << (8 * i);
        *out = (int64_t)bits;
        return CRA_OK;
    }
    char text[64] = "";
    CRA_TRY(cra_fields_chars(fields, key, presence, text, sizeof text));
    if (cra_time_parse(text, out, NULL) != CRA_OK)
        return cra_fields_wrong(fields, key, "must be a time (RFC 3339)");
    return CRA_OK;
}

cra_status cra_fields_document(const cra_fields *fields, const char *key, cra_presence presence, uint8_t type,
                               cra_bytes *out)
{
    cra_value value;
    const cra_status status = find(fields, key, presence, &value);
    if (status != CRA_OK)
        return absent_is_ok(status);

    if (value.type != type)
        return cra_fields_wrong(fields, key, type == CRA_BSON_ARRAY ? "must be a list" : "must be an object");
    *out = cra_value_document(value);
    return CRA_OK;
}

cra_status cra_fields_each(const cra_fields *fields, const char *key, cra_presence presence, uint8_t type,
                           cra_fields_visit_fn visit, void *user)
{
    cra_bytes array = {NULL, 0};
    cra_bson_iter iter;
    cra_bson_element element;

    CRA_TRY(cra_fields_document(fields, key, presence, CRA_BSON_ARRAY, &array));
    if (array.data == NULL)
        return CRA_OK;
    if (cra_bson_iter_init(&iter, array, NULL) != CRA_OK)
        return cra_fields_wrong(fields, key, "is damaged");
    for (size_t i = 0;; i++) {
        const cra_status status = cra_bson_iter_next(&iter, &element, NULL);
        if (status == CRA_DONE)
            return CRA_OK;
        if (status != CRA_OK)
            return cra_fields_wrong(fields, key, "is damaged");
        char path[96];
        snprintf(path, sizeof path, "%s%s[%zu]", fields->path, key, i);
        cra_fields inner = {cra_value_document(element.value), fields->origin, path, fields->err};
        if (element.value.type != type)
            return cra_fields_wrong(&inner, "", type == CRA_BSON_DOCUMENT ? "must be an object" : "must be text");
        if (type == CRA_BSON_DOCUMENT)
            strncat(path, ".", sizeof path - strlen(path) - 1);
        CRA_TRY(visit(user, &inner, element.value));
    }
}
