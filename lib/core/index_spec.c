/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index_spec.h"

#include <stdio.h>
#include <string.h>

#include <crawlarchive/bson.h>
#include <crawlarchive/sys/docstore.h>

#include "base/buf.h"

const char *cra_index_state_name(cra_index_state state)
{
    switch (state) {
    case CRA_INDEX_STATE_SAME:
        return "same";
    case CRA_INDEX_STATE_MISSING:
        return "missing";
    case CRA_INDEX_STATE_DIFFERENT:
        return "different";
    case CRA_INDEX_STATE_INVALID:
        return "invalid";
    case CRA_INDEX_STATE_EXTRA:
        return "extra";
    case CRA_INDEX_STATE_BUILDING:
        return "building";
    case CRA_INDEX_STATE_CREATED:
        return "created";
    }
    return "unknown";
}

static bool find(cra_bytes spec, const char *name, cra_value *out)
{
    return cra_bson_find(spec, name, strlen(name), out) == CRA_OK;
}

bool cra_index_spec_is_ttl(cra_bytes spec)
{
    cra_value value;

    return find(spec, "expireAfterSeconds", &value) && value.type != CRA_BSON_NULL;
}

static cra_bytes key_of(cra_bytes spec)
{
    cra_value value = {0, NULL, 0};

    return find(spec, "key", &value) ? cra_value_document(value) : (cra_bytes){NULL, 0};
}

bool cra_index_spec_is_id(cra_bytes spec)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_bson_element second;
    int64_t direction;

    return cra_bson_iter_init(&iter, key_of(spec), NULL) == CRA_OK &&
           cra_bson_iter_next(&iter, &element, NULL) == CRA_OK && strcmp(element.name, "_id") == 0 &&
           cra_value_as_int64(element.value, &direction) && cra_bson_iter_next(&iter, &second, NULL) == CRA_DONE;
}

/* BSON strings end with a NUL of their own. */
static const char *name_of(cra_bytes spec)
{
    cra_value value;

    if (!find(spec, "name", &value) || value.type != CRA_BSON_STRING)
        return "";
    const char *text = (const char *)cra_value_text(value).data;
    return text == NULL ? "" : text;
}

typedef struct comparison {
    cra_buf present; /* normalised */
    cra_buf planned; /* wanted and missing, normalised: what would be created */
    cra_buf matched; /* of `present`: one byte an index, set where a wanted one has to do with it */
    cra_index_difference_fn each;
    void *user;
    cra_error *err;
} comparison;

static cra_status tell(const comparison *c, cra_bytes spec, cra_index_state state, const char *detail)
{
    const cra_index_difference difference = {name_of(spec), spec,   key_of(spec),
                                             state,         detail, cra_index_spec_is_ttl(spec)};

    return c->each(c->user, &difference);
}

static cra_status corrupt(cra_error *err)
{
    return cra_error_set(err, CRA_CORRUPT, "index", "a list of index documents is damaged");
}

/* What the store has is normalised where it can be; an index that our rules would refuse is kept as it is. */
static cra_status take_present(comparison *c, cra_bytes present)
{
    cra_bytes document;

    for (;;) {
        const cra_status status = cra_bson_next_document(&present, &document);
        if (status == CRA_DONE)
            return CRA_OK;
        if (status != CRA_OK)
            return corrupt(c->err);
        const size_t before = c->present.size;
        const cra_status normal = cra_index_normalize(document, &c->present, NULL);
        if (normal == CRA_NOMEM)
            return CRA_NOMEM;
        if (normal != CRA_OK) {
            c->present.size = before;
            CRA_TRY(cra_buf_append(&c->present, document.data, document.size));
        }
        CRA_TRY(cra_buf_append_byte(&c->matched, 0));
    }
}

static void mark_matched(comparison *c, cra_bytes found)
{
    cra_bytes stream = cra_buf_bytes(&c->present);
    cra_bytes document;

    for (size_t i = 0; cra_bson_next_document(&stream, &document) == CRA_OK; i++) {
        if (document.data == found.data)
            c->matched.data[i] = 1;
    }
}

static cra_status tell_clash(const comparison *c, cra_bytes spec, cra_index_match match, cra_bytes found, bool planned)
{
    char detail[320];

    snprintf(detail, sizeof detail,
             match == CRA_INDEX_MATCH_NAME ? "%s '%.120s' has the name, with another key or rule"
                                           : "%s '%.120s' has the key, with other options or name",
             planned ? "another wanted index," : "the index", name_of(found));
    return tell(c, spec, CRA_INDEX_STATE_DIFFERENT, detail);
}

static cra_status compare_normal(comparison *c, cra_bytes spec)
{
    cra_bytes found = {NULL, 0};

    if (cra_index_spec_is_id(spec))
        return tell(c, spec, CRA_INDEX_STATE_SAME, NULL);
    cra_index_match match = cra_index_classify(cra_buf_bytes(&c->present), spec, &found);
    if (match != CRA_INDEX_MATCH_NONE) {
        mark_matched(c, found);
        return match == CRA_INDEX_MATCH_IDENTICAL ? tell(c, spec, CRA_INDEX_STATE_SAME, NULL)
                                                  : tell_clash(c, spec, match, found, false);
    }
    match = cra_index_classify(cra_buf_bytes(&c->planned), spec, &found);
    if (match == CRA_INDEX_MATCH_IDENTICAL)
        return CRA_OK;
    if (match != CRA_INDEX_MATCH_NONE)
        return tell_clash(c, spec, match, found, true);
    CRA_TRY(cra_buf_append(&c->planned, spec.data, spec.size));
    return tell(c, spec, CRA_INDEX_STATE_MISSING, NULL);
}

static cra_status compare_wanted(comparison *c, cra_bytes document)
{
    cra_error wrong = {0};
    cra_buf normal;

    cra_buf_init(&normal, c->present.allocator);
    cra_status status = cra_index_check(document, &wrong);
    if (status == CRA_INVALID) {
        status = tell(c, document, CRA_INDEX_STATE_INVALID, wrong.message);
    } else if (status == CRA_OK) {
        status = cra_index_normalize(document, &normal, NULL);
        if (status == CRA_OK)
            status = compare_normal(c, cra_buf_bytes(&normal));
    }
    cra_buf_cleanup(&normal);
    return status;
}

static cra_status tell_extras(const comparison *c)
{
    cra_bytes stream = cra_buf_bytes(&c->present);
    cra_bytes document;

    for (size_t i = 0; cra_bson_next_document(&stream, &document) == CRA_OK; i++) {
        if (c->matched.data[i] == 0 && !cra_index_spec_is_id(document))
            CRA_TRY(tell(c, document, CRA_INDEX_STATE_EXTRA, NULL));
    }
    return CRA_OK;
}

static cra_status compare(comparison *c, cra_bytes wanted, cra_bytes present)
{
    cra_bytes document;

    CRA_TRY(take_present(c, present));
    for (;;) {
        const cra_status status = cra_bson_next_document(&wanted, &document);
        if (status == CRA_DONE)
            return tell_extras(c);
        if (status != CRA_OK)
            return corrupt(c->err);
        CRA_TRY(compare_wanted(c, document));
    }
}

cra_status cra_index_spec_diff(const cra_allocator *allocator, cra_bytes wanted, cra_bytes present,
                               cra_index_difference_fn each, void *user, cra_error *err)
{
    comparison c = {.each = each, .user = user, .err = err};

    cra_buf_init(&c.present, allocator);
    cra_buf_init(&c.planned, allocator);
    cra_buf_init(&c.matched, allocator);
    const cra_status status = compare(&c, wanted, present);
    if (status == CRA_NOMEM)
        cra_error_set(err, CRA_NOMEM, "index", "out of memory");
    cra_buf_cleanup(&c.present);
    cra_buf_cleanup(&c.planned);
    cra_buf_cleanup(&c.matched);
    return status;
}
