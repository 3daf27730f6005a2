/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/record.h"

#include "base/buf.h"

#define ORIGIN "record"

static void shorten(cra_sha256 *hash, cra_digest *out)
{
    uint8_t whole[CRA_SHA256_SIZE];

    cra_sha256_final(hash, whole);
    memcpy(out->bytes, whole, sizeof(out->bytes));
}

cra_status cra_record_id_digest(cra_value id, cra_digest *out, cra_buf *scratch)
{
    cra_sha256 hash;

    cra_buf_clear(scratch);
    CRA_TRY(cra_value_order_key(id, scratch));
    cra_sha256_init(&hash);
    cra_sha256_update(&hash, scratch->data, scratch->size);
    shorten(&hash, out);
    return CRA_OK;
}

void cra_record_bytes_digest(cra_bytes document, cra_digest *out)
{
    cra_sha256 hash;

    cra_sha256_init(&hash);
    cra_sha256_update(&hash, document.data, document.size);
    shorten(&hash, out);
}

static bool is_named(const cra_bson_element *element, const char *name)
{
    return strlen(name) == element->name_size && memcmp(element->name, name, element->name_size) == 0;
}

static bool is_left_out(const cra_digest_rule *rule, const cra_bson_element *element)
{
    if (rule == NULL)
        return false;
    if (rule->without_id && is_named(element, "_id"))
        return true;
    if (rule->without_run != NULL && is_named(element, rule->without_run))
        return true;
    for (size_t i = 0; rule->ignore != NULL && rule->ignore[i] != NULL; i++) {
        if (is_named(element, rule->ignore[i]))
            return true;
    }
    return false;
}

/* An element as it lies in its document: type, name, value. */
static cra_bytes element_bytes(cra_bytes document, const cra_bson_element *element)
{
    return cra_bytes_of(document.data + element->offset, 1 + element->name_size + 1 + element->value.size);
}

/* The first `_id` at the top, whose offset no other element has; offset 0 where there is none. */
static cra_status find_id(cra_bytes document, cra_bson_element *out, cra_error *err)
{
    cra_bson_iter iter;
    cra_status status;

    CRA_TRY(cra_bson_iter_init(&iter, document, err));
    while ((status = cra_bson_iter_next(&iter, out, err)) == CRA_OK) {
        if (is_named(out, "_id"))
            return CRA_OK;
    }
    memset(out, 0, sizeof(*out));
    return status == CRA_DONE ? CRA_OK : status;
}

/* BSON elements delimit themselves, so their concatenation is unambiguous without the document's frame. */
cra_status cra_record_content_digest(cra_bytes document, const cra_digest_rule *rule, cra_digest *out, cra_buf *scratch,
                                     cra_error *err)
{
    cra_sha256 hash;
    cra_bson_iter iter;
    cra_bson_element id, element;
    cra_status status;

    (void)scratch;
    CRA_TRY(find_id(document, &id, err));
    cra_sha256_init(&hash);
    if (id.offset != 0 && !is_left_out(rule, &id)) {
        const cra_bytes bytes = element_bytes(document, &id);
        cra_sha256_update(&hash, bytes.data, bytes.size);
    }
    CRA_TRY(cra_bson_iter_init(&iter, document, err));
    while ((status = cra_bson_iter_next(&iter, &element, err)) == CRA_OK) {
        const cra_bytes bytes = element_bytes(document, &element);
        if (element.offset == id.offset || is_left_out(rule, &element))
            continue;
        cra_sha256_update(&hash, bytes.data, bytes.size);
    }
    if (status != CRA_DONE)
        return status;
    shorten(&hash, out);
    return CRA_OK;
}

/* Short text of a value for messages. */
static void value_text(cra_value value, char *out, size_t size, const cra_allocator *allocator)
{
    cra_buf text;
    const char *json;

    cra_buf_init(&text, allocator);
    json = cra_value_to_json(value, CRA_JSON_RELAXED, &text, NULL) == CRA_OK ? cra_buf_cstr(&text) : NULL;
    if (json == NULL)
        json = "?";
    const size_t length = strlen(json) < size ? strlen(json) : size - 1;
    memcpy(out, json, length);
    out[length] = '\0';
    cra_buf_cleanup(&text);
}

/* Whether the run field must be added; CRA_CONFLICT where it names another run. */
static cra_status check_run(cra_bytes document, const char *run_field, cra_value run_value, bool *absent,
                            const cra_allocator *allocator, cra_error *err)
{
    const bool dotted = strchr(run_field, '.') != NULL;
    cra_value found;
    char theirs[120], ours[120];
    const cra_status status = dotted ? cra_bson_path(document, run_field, &found)
                                     : cra_bson_find(document, run_field, strlen(run_field), &found);

    *absent = status == CRA_NOT_FOUND;
    if (*absent && dotted)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the record has no '%s', and a nested run field is never added",
                             run_field);
    if (*absent)
        return CRA_OK;
    if (status != CRA_OK)
        return cra_error_set(err, status, ORIGIN, "the record is not whole BSON");
    if (cra_value_compare(found, run_value) == 0)
        return CRA_OK;
    value_text(found, theirs, sizeof(theirs), allocator);
    value_text(run_value, ours, sizeof(ours), allocator);
    return cra_error_set(err, CRA_CONFLICT, ORIGIN, "the record's '%s' is %s, not this run's %s", run_field, theirs,
                         ours);
}

static cra_status append_elements(cra_bytes document, const cra_bson_element *id, cra_buf *out, cra_error *err)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_status status;

    CRA_TRY(cra_bson_iter_init(&iter, document, err));
    while ((status = cra_bson_iter_next(&iter, &element, err)) == CRA_OK) {
        const cra_bytes bytes = element_bytes(document, &element);
        if (element.offset != id->offset)
            CRA_TRY(cra_buf_append(out, bytes.data, bytes.size));
    }
    return status == CRA_DONE ? CRA_OK : status;
}

static cra_status append_prepared(cra_bytes document, const cra_bson_element *found, cra_value id,
                                  const char *run_field, cra_value run_value, cra_buf *out, cra_error *err)
{
    size_t mark;

    CRA_TRY(cra_bson_begin(out, &mark));
    CRA_TRY(cra_bson_put_value(out, "_id", found->offset != 0 ? found->value : id));
    CRA_TRY(append_elements(document, found, out, err));
    if (run_field != NULL)
        CRA_TRY(cra_bson_put_value(out, run_field, run_value));
    return cra_bson_end(out, mark);
}

cra_status cra_record_prepare(cra_bytes document, const char *run_field, cra_value run_value, cra_value id,
                              cra_buf *out, cra_error *err)
{
    const size_t before = out->size;
    cra_bson_element found;
    bool add_run = false;
    cra_status status;

    CRA_TRY(find_id(document, &found, err));
    if (run_field != NULL)
        CRA_TRY(check_run(document, run_field, run_value, &add_run, out->allocator, err));
    if (found.offset == 0 && id.type == 0)
        return cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "the record has no '_id'");
    status = append_prepared(document, &found, id, add_run ? run_field : NULL, run_value, out, err);
    if (status != CRA_OK) {
        out->size = before;
        return status == CRA_NOMEM ? cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a record") : status;
    }
    return CRA_OK;
}

/* Text with its size in front, so that ("a", "bc") and ("ab", "c") differ. */
static void hash_text(cra_sha256 *hash, const char *text)
{
    const uint64_t size = strlen(text);
    uint8_t bytes[8];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(size >> (8 * i));
    cra_sha256_update(hash, bytes, sizeof(bytes));
    cra_sha256_update(hash, text, (size_t)size);
}

void cra_record_derive_id(const char *report, const char *run, cra_bytes document, int64_t occurrence,
                          uint8_t out[CRA_DERIVED_ID_SIZE], cra_value *id)
{
    const uint64_t number = (uint64_t)occurrence;
    uint8_t counter[8];
    cra_sha256 hash;
    cra_digest digest;

    for (size_t i = 0; i < sizeof(counter); i++)
        counter[i] = (uint8_t)(number >> (8 * i));
    cra_sha256_init(&hash);
    hash_text(&hash, "crawlarchive derived _id 1");
    hash_text(&hash, report);
    hash_text(&hash, run);
    cra_sha256_update(&hash, counter, sizeof(counter));
    cra_sha256_update(&hash, document.data, document.size);
    shorten(&hash, &digest);
    out[0] = CRA_DIGEST_SIZE;
    out[1] = out[2] = out[3] = 0;
    out[4] = 0; /* subtype: generic */
    memcpy(out + 5, digest.bytes, sizeof(digest.bytes));
    id->type = CRA_BSON_BINARY;
    id->data = out;
    id->size = CRA_DERIVED_ID_SIZE;
}
