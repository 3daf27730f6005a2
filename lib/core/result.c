/* SPDX-License-Identifier: Apache-2.0 */
#include "core/result.h"

#include <string.h>

#include "base/alloc.h"

struct cra_result {
    const cra_allocator *allocator;
    cra_item *items; /* their strings are owned */
    size_t count;
    size_t capacity;
    const char *stopped_by;
    int64_t still_due;
};

/* ---- reasons --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *text;
} reasons[] = {{NULL, NULL},
#define REASON(constant, word, help) {word, help},
               CRA_REASONS(REASON)
#undef REASON
};
#define REASONS (sizeof reasons / sizeof reasons[0])

const char *cra_reason_name(cra_reason reason)
{
    return (size_t)reason < REASONS ? reasons[reason].name : NULL;
}

const char *cra_reason_text(cra_reason reason)
{
    return (size_t)reason < REASONS ? reasons[reason].text : NULL;
}

cra_reason cra_reason_from_status(cra_status status)
{
    switch (status) {
    case CRA_OK:
    case CRA_DONE:
        return CRA_REASON_NONE;
    case CRA_DENIED:
        return CRA_REASON_DENIED;
    case CRA_TIMEOUT:
    case CRA_UNAVAILABLE:
        return CRA_REASON_UNAVAILABLE;
    case CRA_LOCKED:
        return CRA_REASON_LOCKED;
    case CRA_NOT_FOUND:
        return CRA_REASON_NOT_FOUND;
    case CRA_EXISTS:
    case CRA_CONFLICT:
        return CRA_REASON_CONFLICT;
    case CRA_CORRUPT:
        return CRA_REASON_CORRUPT;
    case CRA_CANCELLED:
        return CRA_REASON_CANCELLED;
    case CRA_INVALID:
        return CRA_REASON_INVALID;
    default:
        return CRA_REASON_STORE_ERROR;
    }
}

cra_status cra_reason_status(cra_reason reason)
{
    switch (reason) {
    case CRA_REASON_NONE:
        return CRA_OK;
    case CRA_REASON_LOCKED:
        return CRA_LOCKED;
    case CRA_REASON_NOT_FOUND:
    case CRA_REASON_NO_ARCHIVE:
        return CRA_NOT_FOUND;
    case CRA_REASON_DENIED:
        return CRA_DENIED;
    case CRA_REASON_UNAVAILABLE:
        return CRA_UNAVAILABLE;
    case CRA_REASON_CORRUPT:
    case CRA_REASON_INCOMPLETE:
    case CRA_REASON_UNREADABLE:
        return CRA_CORRUPT;
    case CRA_REASON_CONFLICT:
        return CRA_CONFLICT;
    case CRA_REASON_CANCELLED:
        return CRA_CANCELLED;
    case CRA_REASON_INVALID:
        return CRA_INVALID;
    default:
        return CRA_IO;
    }
}

/* ---- building -------------------------------------------------------------------------------- */

void cra_item_init(cra_item *item, const char *report, const char *run)
{
    memset(item, 0, sizeof *item);
    item->struct_size = sizeof *item;
    item->report = report;
    item->run = run;
    for (size_t i = 0; i < CRA_COUNT_END; i++)
        item->counts[i] = -1;
}

cra_status cra_result_new(const cra_allocator *allocator, cra_result **out, cra_error *err)
{
    cra_result *result = cra_calloc(allocator, 1, sizeof *result);

    *out = result;
    if (result == NULL)
        return cra_error_set(err, CRA_NOMEM, "result", "out of memory");
    result->allocator = allocator;
    result->still_due = -1;
    return CRA_OK;
}

static void free_item(const cra_allocator *allocator, cra_item *item)
{
    cra_free(allocator, (void *)(uintptr_t)item->report);
    cra_free(allocator, (void *)(uintptr_t)item->run);
    cra_free(allocator, (void *)(uintptr_t)item->level);
    cra_free(allocator, (void *)(uintptr_t)item->location);
    cra_free(allocator, (void *)(uintptr_t)item->detail);
}

/* Replace a borrowed string by a copy; `*failed` stays or becomes true. */
static void own(const cra_allocator *allocator, const char **text, bool *failed)
{
    const char *borrowed = *text;

    *text = cra_strdup(allocator, borrowed);
    *failed = *failed || (borrowed != NULL && *text == NULL);
}

cra_status cra_result_add(cra_result *result, const cra_item *item, cra_error *err)
{
    const cra_allocator *allocator = result->allocator;
    cra_item copy = *item;
    bool failed = false;

    own(allocator, &copy.report, &failed);
    own(allocator, &copy.run, &failed);
    own(allocator, &copy.level, &failed);
    own(allocator, &copy.location, &failed);
    own(allocator, &copy.detail, &failed);
    if (failed || cra_array_grow(allocator, (void **)&result->items, &result->capacity, result->count + 1,
                                 sizeof *result->items) != CRA_OK) {
        free_item(allocator, &copy);
        return cra_error_set(err, CRA_NOMEM, "result", "out of memory");
    }
    result->items[result->count++] = copy;
    return CRA_OK;
}

void cra_result_set_stopped_by(cra_result *result, const char *why)
{
    result->stopped_by = why;
}

void cra_result_set_still_due(cra_result *result, int64_t count)
{
    result->still_due = count;
}

void cra_result_free(cra_result *result)
{
    if (result == NULL)
        return;
    for (size_t i = 0; i < result->count; i++)
        free_item(result->allocator, &result->items[i]);
    cra_free(result->allocator, result->items);
    cra_free(result->allocator, result);
}

/* ---- reading --------------------------------------------------------------------------------- */

size_t cra_result_count(const cra_result *result)
{
    return result->count;
}

const cra_item *cra_result_at(const cra_result *result, size_t index)
{
    return index < result->count ? &result->items[index] : NULL;
}

int64_t cra_result_sum(const cra_result *result, cra_count count)
{
    int64_t sum = 0;

    if ((size_t)count >= CRA_COUNT_END)
        return 0;
    for (size_t i = 0; i < result->count; i++) {
        const int64_t number = result->items[i].counts[count];
        if (number > 0)
            sum = number > INT64_MAX - sum ? INT64_MAX : sum + number;
    }
    return sum;
}

size_t cra_result_tally(const cra_result *result, cra_item_status status)
{
    size_t tally = 0;

    for (size_t i = 0; i < result->count; i++)
        tally += result->items[i].status == status ? 1 : 0;
    return tally;
}

const char *cra_result_stopped_by(const cra_result *result)
{
    return result->stopped_by;
}

int64_t cra_result_still_due(const cra_result *result)
{
    return result->still_due;
}

/* ---- the status of the whole ----------------------------------------------------------------- */

/* A run that a sweep rightly leaves alone: not its turn, exempt, or another worker's. Missing and future anchors are
 * listed for people; they are no verification that failed. Neither is a sweep that was told to stop. */
static bool is_kept_rightly(cra_reason reason)
{
    return reason == CRA_REASON_NONE || reason == CRA_REASON_NOT_DUE || reason == CRA_REASON_HELD ||
           reason == CRA_REASON_LOCKED || reason == CRA_REASON_NO_ANCHOR || reason == CRA_REASON_FUTURE_ANCHOR ||
           reason == CRA_REASON_CANCELLED;
}

static bool is_well(const cra_item *item)
{
    return item->status == CRA_ITEM_OK || (item->status == CRA_ITEM_KEPT && is_kept_rightly(item->reason));
}

static cra_status failure_of(const cra_item *item)
{
    if (item->error.status < CRA_OK)
        return item->error.status;
    if (item->status == CRA_ITEM_LOCKED)
        return CRA_LOCKED;
    return item->reason == CRA_REASON_NONE ? CRA_IO : cra_reason_status(item->reason);
}

cra_status cra_result_status(const cra_result *result)
{
    cra_status common = CRA_OK;
    size_t failed = 0;
    bool partly = false;

    for (size_t i = 0; i < result->count; i++) {
        const cra_item *item = &result->items[i];
        if (item->status == CRA_ITEM_BAD)
            return CRA_CORRUPT;
        if (is_well(item))
            continue;
        /* A kept run is in its place still: the sweep as a whole did its work in part. */
        partly = partly || item->status == CRA_ITEM_KEPT;
        common = failed == 0 || common == failure_of(item) ? failure_of(item) : CRA_IO;
        failed++;
    }
    if (failed == 0)
        return CRA_OK;
    return partly || failed < result->count ? CRA_PARTIAL : common;
}
