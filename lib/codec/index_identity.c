/* SPDX-License-Identifier: Apache-2.0 */

/* What makes two indexes one, as MongoDB has it: shared by every docstore, so that "same", "different" and "name taken"
 * mean the same everywhere. */

#include <crawlarchive/sys/docstore.h>

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#define CODE_CANNOT_CREATE 67

/* Options of index documents, and what a difference in one means. */
typedef enum option_weight { IGNORED, IDENTITY, OPTION } option_weight;
static const struct {
    const char *name;
    option_weight weight;
} known_options[] = {
    {"v", IGNORED},
    {"key", IDENTITY},
    {"name", IGNORED}, /* compared on its own */
    {"ns", IGNORED},
    {"background", IGNORED},
    {"dropDups", IGNORED},
    {"textIndexVersion", IGNORED},
    {"2dsphereIndexVersion", IGNORED},
    {"unique", IDENTITY},
    {"sparse", IDENTITY},
    {"collation", IDENTITY},
    {"partialFilterExpression", IDENTITY},
    {"wildcardProjection", IDENTITY},
    {"expireAfterSeconds", OPTION},
    {"hidden", OPTION},
    {"weights", OPTION},
    {"default_language", OPTION},
    {"language_override", OPTION},
    {"bits", OPTION},
    {"min", OPTION},
    {"max", OPTION},
    {"storageEngine", OPTION},
    {"prepareUnique", OPTION},
    {"clustered", OPTION},
};
#define KNOWN_COUNT (sizeof known_options / sizeof known_options[0])

static const char *const key_types[] = {"text", "2d", "2dsphere", "hashed", "geoHaystack"};

static cra_status refuse(cra_error *err, const char *what, const char *name)
{
    return cra_error_set_native(err, CRA_INVALID, CODE_CANNOT_CREATE, "index", "%s%s%s", what, name != NULL ? ": " : "",
                                name != NULL ? name : "");
}

static cra_value option(cra_bytes spec, const char *name)
{
    cra_value value = {0, NULL, 0};

    (void)cra_bson_find(spec, name, strlen(name), &value);
    return value;
}

/* MongoDB's idea of truth: anything but false, 0, null and absent. */
static bool truthy(cra_value value)
{
    int64_t number;

    switch (value.type) {
    case 0:
    case CRA_BSON_NULL:
    case CRA_BSON_UNDEFINED:
        return false;
    case CRA_BSON_BOOL:
        return value.size > 0 && value.data[0] != 0;
    default:
        return !cra_value_as_int64(value, &number) || number != 0;
    }
}

static bool is_number(cra_value value)
{
    return value.type == CRA_BSON_INT32 || value.type == CRA_BSON_INT64 || value.type == CRA_BSON_DOUBLE ||
           value.type == CRA_BSON_DECIMAL128;
}

/* ---- checking -------------------------------------------------------------------------------- */

static cra_status check_direction(const cra_bson_element *element, cra_error *err)
{
    static const uint8_t zero_bytes[4] = {0};
    const cra_value zero = {CRA_BSON_INT32, zero_bytes, sizeof zero_bytes};

    if (element->name_size == 0 || (element->name[0] == '$' && strcmp(element->name, "$**") != 0))
        return refuse(err, "an index key needs field names that are not empty and do not begin with $", element->name);
    if (is_number(element->value))
        return cra_value_compare(element->value, zero) != 0
                   ? CRA_OK
                   : refuse(err, "an index direction must not be 0", element->name);
    const cra_bytes text = cra_value_text(element->value);
    if (element->value.type == CRA_BSON_STRING) {
        for (size_t i = 0; i < sizeof key_types / sizeof key_types[0]; i++) {
            if (text.size == strlen(key_types[i]) && memcmp(text.data, key_types[i], text.size) == 0)
                return CRA_OK;
        }
    }
    return refuse(err, "an index direction must be a number, text, 2d, 2dsphere or hashed", element->name);
}

/* "$**" alone, or behind a path. */
static bool is_wildcard(const cra_bson_element *element)
{
    return element->name_size >= 3 && strcmp(element->name + element->name_size - 3, "$**") == 0;
}

static cra_status check_key(cra_bytes key, size_t *fields, bool *plain_id, bool *wildcard, cra_error *err)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_status status;

    *fields = 0;
    *plain_id = false;
    *wildcard = false;
    if (cra_bson_iter_init(&iter, key, NULL) != CRA_OK)
        return refuse(err, "an index needs a key", NULL);
    while ((status = cra_bson_iter_next(&iter, &element, NULL)) == CRA_OK) {
        CRA_TRY(check_direction(&element, err));
        *plain_id = *fields == 0 && strcmp(element.name, "_id") == 0 && is_number(element.value);
        *wildcard = *wildcard || is_wildcard(&element);
        (*fields)++;
    }
    *plain_id = *plain_id && *fields == 1;
    if (status != CRA_DONE)
        return refuse(err, "the index key is damaged", NULL);
    return *fields > 0 ? CRA_OK : refuse(err, "an index key needs at least one field", NULL);
}

static cra_status check_names(cra_bytes spec, cra_error *err)
{
    cra_bson_iter iter;
    cra_bson_element element;

    if (cra_bson_iter_init(&iter, spec, NULL) != CRA_OK)
        return refuse(err, "an index must be one BSON document", NULL);
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        size_t i = 0;
        while (i < KNOWN_COUNT && strcmp(known_options[i].name, element.name) != 0)
            i++;
        if (i == KNOWN_COUNT)
            return refuse(err, "unknown index option", element.name);
    }
    return CRA_OK;
}

cra_status cra_index_check(cra_bytes spec, cra_error *err)
{
    size_t fields;
    bool plain_id;
    bool wildcard;
    const cra_value expire = option(spec, "expireAfterSeconds");
    const cra_value partial = option(spec, "partialFilterExpression");
    const cra_value name = option(spec, "name");

    CRA_TRY(check_names(spec, err));
    CRA_TRY(check_key(cra_value_document(option(spec, "key")), &fields, &plain_id, &wildcard, err));
    const cra_bytes text = cra_value_text(name);
    if (name.type != 0 &&
        (name.type != CRA_BSON_STRING || text.size == 0 || memchr(text.data, '\0', text.size) != NULL))
        return refuse(err, "an index name must be text that is not empty", NULL);
    if (partial.type != 0 && partial.type != CRA_BSON_DOCUMENT)
        return refuse(err, "partialFilterExpression must be a document", NULL);
    if (partial.type != 0 && truthy(option(spec, "sparse")))
        return refuse(err, "an index cannot be partial and sparse at once", NULL);
    if (expire.type != 0 && (!is_number(expire) || fields != 1 || plain_id))
        return refuse(err, "expireAfterSeconds needs a number and an index on one field that is not _id", NULL);
    if (wildcard && (expire.type != 0 || truthy(option(spec, "unique")) || truthy(option(spec, "sparse"))))
        return refuse(err, "a wildcard index cannot be unique, sparse or expire", NULL);
    if (plain_id && (partial.type != 0 || truthy(option(spec, "sparse"))))
        return refuse(err, "the index on _id cannot be sparse or partial", NULL);
    return CRA_OK;
}

/* ---- normalising ----------------------------------------------------------------------------- */

/* "a_1_b_-1", as servers name an index. */
static cra_status append_default_name(cra_bytes key, cra_buf *out)
{
    cra_bson_iter iter;
    cra_bson_element element;
    bool first = true;

    CRA_TRY(cra_bson_iter_init(&iter, key, NULL));
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        int64_t direction;
        const cra_bytes text = cra_value_text(element.value);

        CRA_TRY(cra_buf_appendf(out, "%s%s_", first ? "" : "_", element.name));
        if (text.data != NULL)
            CRA_TRY(cra_buf_append(out, text.data, text.size));
        else if (cra_value_as_int64(element.value, &direction))
            CRA_TRY(cra_buf_appendf(out, "%lld", (long long)direction));
        else
            CRA_TRY(cra_value_to_json(element.value, CRA_JSON_RELAXED, out, NULL));
        first = false;
    }
    return CRA_OK;
}

static cra_status put_name(cra_bytes spec, cra_buf *out)
{
    const cra_value name = option(spec, "name");
    cra_buf text;

    if (name.type != 0)
        return cra_bson_put_value(out, "name", name);
    cra_buf_init(&text, out->allocator);
    cra_status status = append_default_name(cra_value_document(option(spec, "key")), &text);
    const char *made = status == CRA_OK ? cra_buf_cstr(&text) : NULL;
    status = made != NULL ? cra_bson_put_string(out, "name", made) : CRA_NOMEM;
    cra_buf_cleanup(&text);
    return status;
}

static cra_status build(cra_bytes spec, cra_buf *out)
{
    static const uint8_t two[4] = {2, 0, 0, 0};
    cra_bson_iter iter;
    cra_bson_element element;
    size_t mark;

    CRA_TRY(cra_bson_begin(out, &mark));
    CRA_TRY(cra_bson_put_value(out, "v", (cra_value){CRA_BSON_INT32, two, sizeof two}));
    CRA_TRY(cra_bson_put_value(out, "key", option(spec, "key")));
    CRA_TRY(put_name(spec, out));
    CRA_TRY(cra_bson_iter_init(&iter, spec, NULL));
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        if (strcmp(element.name, "v") != 0 && strcmp(element.name, "key") != 0 && strcmp(element.name, "name") != 0 &&
            strcmp(element.name, "ns") != 0 && strcmp(element.name, "background") != 0 &&
            strcmp(element.name, "dropDups") != 0)
            CRA_TRY(cra_bson_put_value(out, element.name, element.value));
    }
    return cra_bson_end(out, mark);
}

cra_status cra_index_normalize(cra_bytes spec, cra_buf *out, cra_error *err)
{
    const size_t before = out->size;

    CRA_TRY(cra_index_check(spec, err));
    if (build(spec, out) == CRA_OK)
        return CRA_OK;
    out->size = before;
    return cra_error_set(err, CRA_NOMEM, "index", "out of memory");
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Options that are true or not: `sparse: 0` says no more than its absence. */
static bool is_flag(const char *name)
{
    return strcmp(name, "unique") == 0 || strcmp(name, "sparse") == 0 || strcmp(name, "hidden") == 0 ||
           strcmp(name, "prepareUnique") == 0;
}

/* The simple collation is none. */
static bool is_simple(cra_value collation)
{
    cra_value locale;

    return collation.type == 0 || (cra_bson_find(cra_value_document(collation), "locale", 6, &locale) == CRA_OK &&
                                   cra_bytes_equal(cra_value_text(locale), cra_bytes_of_str("simple")));
}

static bool same_option(const char *name, cra_value a, cra_value b)
{
    if (is_flag(name))
        return truthy(a) == truthy(b);
    if (strcmp(name, "collation") == 0 && (is_simple(a) || is_simple(b)))
        return is_simple(a) && is_simple(b);
    if (a.type == 0 || b.type == 0)
        return a.type == b.type;
    return cra_value_compare(a, b) == 0;
}

/* Key documents: same fields in the same order with the same numeric value or type. */
static bool same_key(cra_value a, cra_value b)
{
    return a.type != 0 && b.type != 0 && cra_value_compare(a, b) == 0;
}

static bool same_by(cra_bytes a, cra_bytes b, option_weight weight)
{
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        if (known_options[i].weight != weight)
            continue;
        const cra_value left = option(a, known_options[i].name);
        const cra_value right = option(b, known_options[i].name);
        if (strcmp(known_options[i].name, "key") == 0 ? !same_key(left, right)
                                                      : !same_option(known_options[i].name, left, right))
            return false;
    }
    return true;
}

static bool same_name(cra_bytes a, cra_bytes b)
{
    return cra_value_compare(option(a, "name"), option(b, "name")) == 0;
}

cra_index_match cra_index_classify(cra_bytes existing, cra_bytes spec, cra_bytes *found)
{
    cra_index_match match = CRA_INDEX_MATCH_NONE;
    cra_bytes index;

    while (cra_bson_next_document(&existing, &index) == CRA_OK) {
        const bool identity = same_by(index, spec, IDENTITY);
        const bool name = same_name(index, spec);

        if (!identity && !name)
            continue;
        if (found != NULL)
            *found = index;
        /* The index on _id is there under its own name, whatever the spec calls it. */
        const bool is_id = identity && cra_value_compare(option(index, "name"), option(spec, "name")) != 0 &&
                           cra_bytes_equal(cra_value_text(option(index, "name")), cra_bytes_of_str("_id_"));
        if (identity && (name || is_id) && same_by(index, spec, OPTION))
            return CRA_INDEX_MATCH_IDENTICAL;
        match = identity ? CRA_INDEX_MATCH_OPTIONS : CRA_INDEX_MATCH_NAME;
        if (identity)
            return match;
    }
    return match;
}
