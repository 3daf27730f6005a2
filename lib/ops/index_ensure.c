/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/index_ensure.h"

#include <stdio.h>

#include "base/buf.h"
#include "ops/engine_internal.h"

#define POLL_MS 500
/* How often the list is looked at after an answer was lost. */
#define LOST_POLLS 10

void cra_index_label(cra_bytes spec, char *out, size_t size)
{
    cra_value value;
    cra_bytes text = {NULL, 0};
    cra_buf json;

    if (cra_bson_find(spec, "name", 4, &value) == CRA_OK)
        text = cra_value_text(value);
    if (text.data != NULL) {
        snprintf(out, size, "%.*s", text.size > 100 ? 100 : (int)text.size, (const char *)text.data);
        return;
    }
    cra_buf_init(&json, NULL);
    if (cra_bson_find(spec, "key", 3, &value) == CRA_OK &&
        cra_value_to_json(value, CRA_JSON_RELAXED, &json, NULL) == CRA_OK && cra_buf_cstr(&json) != NULL)
        snprintf(out, size, "%.100s", cra_buf_cstr(&json));
    else
        snprintf(out, size, "?");
    cra_buf_cleanup(&json);
}

/* ---- listing ---------------------------------------------------------------------------------- */

/* What cannot be normalised is kept as it is: nothing that is wanted equals it. */
static cra_status append_normal(cra_bytes spec, cra_buf *out)
{
    const size_t before = out->size;
    const cra_status status = cra_index_normalize(spec, out, NULL);

    if (status == CRA_OK || status == CRA_NOMEM)
        return status;
    out->size = before;
    return cra_buf_append(out, spec.data, spec.size);
}

static cra_status normalize_all(cra_bytes stream, cra_buf *out)
{
    cra_bytes spec;

    while (cra_bson_next_document(&stream, &spec) == CRA_OK)
        CRA_TRY(append_normal(spec, out));
    return CRA_OK;
}

cra_status cra_index_read(cra_engine *engine, const char *collection, cra_buf *out, bool *exists, cra_error *err)
{
    cra_error why = {0};
    cra_buf raw;
    size_t count;
    cra_status status;

    cra_buf_init(&raw, cra_engine_allocator(engine));
    status = cra_docstore_index_list(cra_engine_docstore(engine), collection, &raw, &count, &why);
    if (exists != NULL)
        *exists = status == CRA_OK;
    if (status == CRA_OK && normalize_all(cra_buf_bytes(&raw), out) != CRA_OK)
        status = cra_error_set(&why, CRA_NOMEM, "index", "no memory for indexes");
    cra_buf_cleanup(&raw);
    if (status == CRA_OK || status == CRA_NOT_FOUND)
        return CRA_OK;
    if (err != NULL)
        *err = why;
    return status;
}

/* ---- asking ----------------------------------------------------------------------------------- */

static cra_status is_listed(cra_engine *engine, const char *collection, cra_bytes spec, bool *out, cra_error *err)
{
    cra_buf present;
    cra_status status;

    cra_buf_init(&present, cra_engine_allocator(engine));
    status = cra_index_read(engine, collection, &present, NULL, err);
    *out = status == CRA_OK && cra_index_classify(cra_buf_bytes(&present), spec, NULL) == CRA_INDEX_MATCH_IDENTICAL;
    cra_buf_cleanup(&present);
    return status;
}

static bool answer_was_lost(cra_status status)
{
    return status == CRA_TIMEOUT || status == CRA_UNAVAILABLE;
}

/* The server may still be building: the list tells, asking again would not. */
static bool turned_up(cra_engine *engine, const char *collection, cra_bytes spec, int polls, cra_index_wait_fn wait,
                      void *user)
{
    for (int i = 0; i < polls; i++) {
        bool listed;
        if (wait != NULL && wait(user, NULL) != CRA_OK)
            return false;
        if (is_listed(engine, collection, spec, &listed, NULL) == CRA_OK && listed)
            return true;
        if (i + 1 < polls)
            cra_context_sleep_ms(cra_engine_context(engine), POLL_MS);
    }
    return false;
}

cra_status cra_index_ensure_one(cra_engine *engine, const char *collection, cra_bytes spec, cra_index_wait_fn wait,
                                void *user, bool *created, cra_error *err)
{
    cra_index_outcome outcome = CRA_INDEX_BUILDING;
    cra_error why = {0};
    cra_status status = CRA_OK;

    *created = false;
    while (status == CRA_OK && outcome == CRA_INDEX_BUILDING) {
        if (wait != NULL)
            CRA_TRY(wait(user, err));
        status = cra_docstore_index_ensure(cra_engine_docstore(engine), collection, spec, &outcome, &why);
        *created = *created || (status == CRA_OK && outcome != CRA_INDEX_PRESENT);
        if (status == CRA_OK && outcome == CRA_INDEX_BUILDING)
            cra_context_sleep_ms(cra_engine_context(engine), POLL_MS);
    }
    if (status == CRA_OK)
        return CRA_OK;
    if (answer_was_lost(status) && turned_up(engine, collection, spec, LOST_POLLS, wait, user)) {
        *created = true;
        return CRA_OK;
    }
    if (status == CRA_CONFLICT && turned_up(engine, collection, spec, 1, wait, user))
        return CRA_OK;
    if (err != NULL)
        *err = why;
    return status;
}
