/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/intents.h"

#include <stdio.h>
#include <string.h>

#include <crawlarchive/bson.h>

#include "base/alloc.h"
#include "base/buf.h"

#define CHECKPOINT "intents"

cra_status cra_intents_add(cra_intents *intents, int64_t generation, int64_t fence, cra_error *err)
{
    if (cra_array_grow(intents->allocator, (void **)&intents->items, &intents->capacity, intents->count + 1,
                       sizeof *intents->items) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, "archive", "out of memory");
    intents->items[intents->count++] = (cra_intent){generation, fence};
    return CRA_OK;
}

static bool read_number(cra_bytes document, const char *name, int64_t *out)
{
    cra_value value;

    return cra_bson_find(document, name, strlen(name), &value) == CRA_OK && cra_value_as_int64(value, out);
}

cra_status cra_intents_parse(cra_intents *intents, cra_bytes stored, const cra_allocator *allocator, cra_error *err)
{
    cra_value list;
    cra_bson_iter iter;
    cra_bson_element element;

    memset(intents, 0, sizeof *intents);
    intents->allocator = allocator;
    cra_status status = cra_bson_find(stored, CHECKPOINT, strlen(CHECKPOINT), &list);
    if (status == CRA_OK)
        status = cra_bson_iter_init(&iter, cra_value_document(list), NULL);
    while (status == CRA_OK && (status = cra_bson_iter_next(&iter, &element, NULL)) == CRA_OK) {
        const cra_bytes intent = cra_value_document(element.value);
        int64_t generation, fence;

        if (!read_number(intent, "generation", &generation) || !read_number(intent, "fence", &fence))
            break;
        CRA_TRY(cra_intents_add(intents, generation, fence, err));
    }
    if (status != CRA_DONE)
        return cra_error_set(err, CRA_CORRUPT, "archive", "the checkpoint \"intents\" is damaged");
    return CRA_OK;
}

cra_status cra_intents_load(cra_intents *intents, cra_run_guard *guard, const cra_allocator *allocator, cra_error *err)
{
    cra_buf stored;

    memset(intents, 0, sizeof *intents);
    intents->allocator = allocator;
    cra_buf_init(&stored, allocator);
    cra_status status = cra_run_guard_checkpoint_get(guard, CHECKPOINT, &stored, err);
    if (status == CRA_OK) {
        status = cra_intents_parse(intents, cra_buf_bytes(&stored), allocator, err);
    } else if (status == CRA_NOT_FOUND) {
        cra_error_clear(err);
        status = CRA_OK;
    }
    cra_buf_cleanup(&stored);
    return status;
}

void cra_intents_cleanup(cra_intents *intents)
{
    cra_free(intents->allocator, intents->items);
    intents->items = NULL;
    intents->count = 0;
    intents->capacity = 0;
}

bool cra_intents_hold(const cra_intents *intents, int64_t generation, int64_t fence)
{
    for (size_t i = 0; i < intents->count; i++) {
        if (intents->items[i].generation == generation && intents->items[i].fence == fence)
            return true;
    }
    return false;
}

bool cra_intents_keep_only(cra_intents *intents, int64_t fence)
{
    const size_t before = intents->count;
    size_t kept = 0;

    for (size_t i = 0; i < before; i++) {
        if (intents->items[i].fence == fence)
            intents->items[kept++] = intents->items[i];
    }
    intents->count = kept;
    return kept != before;
}

static cra_status encode(const cra_intents *intents, cra_buf *out)
{
    size_t document, list, intent;
    char position[24];

    CRA_TRY(cra_bson_begin(out, &document));
    CRA_TRY(cra_bson_put_begin(out, CHECKPOINT, CRA_BSON_ARRAY, &list));
    for (size_t i = 0; i < intents->count; i++) {
        snprintf(position, sizeof position, "%zu", i);
        CRA_TRY(cra_bson_put_begin(out, position, CRA_BSON_DOCUMENT, &intent));
        CRA_TRY(cra_bson_put_int64(out, "generation", intents->items[i].generation));
        CRA_TRY(cra_bson_put_int64(out, "fence", intents->items[i].fence));
        CRA_TRY(cra_bson_end(out, intent));
    }
    CRA_TRY(cra_bson_end(out, list));
    return cra_bson_end(out, document);
}

cra_status cra_intents_store(const cra_intents *intents, cra_run_guard *guard, cra_error *err)
{
    cra_buf stored;

    cra_buf_init(&stored, intents->allocator);
    cra_status status = encode(intents, &stored);
    status = status == CRA_OK ? cra_run_guard_checkpoint_put(guard, CHECKPOINT, cra_buf_bytes(&stored), err)
                              : cra_error_set(err, CRA_NOMEM, "archive", "out of memory");
    cra_buf_cleanup(&stored);
    return status;
}
