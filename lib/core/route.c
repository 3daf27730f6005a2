/* SPDX-License-Identifier: Apache-2.0 */
#include "core/route.h"

#include <string.h>

#include "base/alloc.h"

typedef enum id_kind { ID_INTEGER, ID_OBJECTID, ID_TEXT } id_kind;

#define OBJECTID_DIGITS 24

static bool is_integer(const char *id)
{
    if (*id == '-')
        id++;
    return *id != '\0' && id[strspn(id, "0123456789")] == '\0';
}

static bool is_objectid(const char *id)
{
    return strlen(id) == OBJECTID_DIGITS && strspn(id, "0123456789abcdefABCDEF") == OBJECTID_DIGITS;
}

/* Digits without sign and leading zeros; "" is zero, and zero has no sign. */
static const char *magnitude(const char *id, bool *negative)
{
    *negative = *id == '-';
    id += *negative ? 1 : 0;
    id += strspn(id, "0");
    if (*id == '\0')
        *negative = false;
    return id;
}

static int compare_integers(const char *a, const char *b)
{
    bool a_negative;
    bool b_negative;
    const char *a_digits = magnitude(a, &a_negative);
    const char *b_digits = magnitude(b, &b_negative);

    if (a_negative != b_negative)
        return a_negative ? -1 : 1;
    const size_t a_size = strlen(a_digits);
    const size_t b_size = strlen(b_digits);
    const int order = a_size != b_size ? (a_size < b_size ? -1 : 1) : memcmp(a_digits, b_digits, a_size);
    return a_negative ? -order : order;
}

static int hex_lower(char c)
{
    return c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c;
}

static int compare_objectids(const char *a, const char *b)
{
    for (size_t i = 0; i < OBJECTID_DIGITS; i++) {
        const int order = hex_lower(a[i]) - hex_lower(b[i]);
        if (order != 0)
            return order;
    }
    return 0;
}

int cra_route_compare(const char *a, const char *b)
{
    if (is_integer(a) && is_integer(b))
        return compare_integers(a, b);
    if (is_objectid(a) && is_objectid(b))
        return compare_objectids(a, b);
    return strcmp(a, b);
}

void cra_route_list_init(cra_route_list *list, const cra_allocator *allocator)
{
    *list = (cra_route_list){.allocator = allocator};
}

void cra_route_list_cleanup(cra_route_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        cra_free(list->allocator, list->entries[i].until);
        cra_free(list->allocator, list->entries[i].uri);
    }
    cra_free(list->allocator, list->entries);
    cra_route_list_init(list, list->allocator);
}

cra_status cra_route_list_add(cra_route_list *list, const char *until, const char *uri)
{
    const cra_status status = cra_array_grow(list->allocator, (void **)&list->entries, &list->capacity, list->count + 1,
                                             sizeof *list->entries);
    if (status != CRA_OK)
        return status;

    char *until_copy = cra_strdup(list->allocator, until);
    char *uri_copy = cra_strdup(list->allocator, uri);
    if ((until != NULL && until_copy == NULL) || uri_copy == NULL) {
        cra_free(list->allocator, until_copy);
        cra_free(list->allocator, uri_copy);
        return CRA_NOMEM;
    }
    list->entries[list->count++] = (cra_route_entry){until_copy, uri_copy};
    return CRA_OK;
}

static id_kind kind_of(const char *id)
{
    return is_integer(id) ? ID_INTEGER : is_objectid(id) ? ID_OBJECTID : ID_TEXT;
}

/* Ids of different kinds have no order that would hold among three of them. An ObjectId may be all digits. */
static bool comparable(const char *a, const char *b)
{
    return kind_of(a) == kind_of(b) || (is_objectid(a) && is_objectid(b));
}

cra_status cra_route_list_check(const cra_route_list *list, cra_error *err)
{
    if (list->count == 0)
        return cra_error_set(err, CRA_INVALID, "route", "there is no route");
    for (size_t i = 0; i + 1 < list->count; i++) {
        const char *until = list->entries[i].until;
        const char *before = i > 0 ? list->entries[i - 1].until : NULL;
        if (until == NULL)
            return cra_error_set(err, CRA_INVALID, "route", "route %zu has no 'until': only the last route may be open",
                                 i + 1);
        if (before != NULL && !comparable(before, until))
            return cra_error_set(
                err, CRA_INVALID, "route",
                "boundaries '%.60s' and '%.60s' are of different kinds: all are integers, ObjectIds, or "
                "other text",
                before, until);
        if (before != NULL && cra_route_compare(before, until) >= 0)
            return cra_error_set(err, CRA_INVALID, "route", "boundary '%.60s' must be above the one before it, '%.60s'",
                                 until, before);
    }
    if (list->entries[list->count - 1].until != NULL)
        return cra_error_set(err, CRA_INVALID, "route",
                             "the last route must be open: without 'until', so that every run has a place");
    return CRA_OK;
}

size_t cra_route_list_choose(const cra_route_list *list, const char *run)
{
    size_t index = 0;

    while (index + 1 < list->count && cra_route_compare(run, list->entries[index].until) > 0)
        index++;
    return index;
}
