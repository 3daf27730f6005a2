/* SPDX-License-Identifier: Apache-2.0 */

/* Every value that a query on a path looks at, arrays entered as servers enter them. */

#include <crawlarchive/bson.h>

#include <string.h>

#include "base/buf.h"

/* Recursion is as deep as the path has components and arrays nest: both are bounded. */
#define MAX_STEPS (2 * CRA_BSON_MAX_DEPTH)

typedef struct walk {
    cra_value_visit_fn visit;
    void *user;
} walk;

static cra_status step(const walk *w, cra_bytes container, bool in_array, const char *path, unsigned depth);

static bool is_index(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
    }
    return size > 0;
}

/* The value where the path ends: itself, and the elements of an array. */
static cra_status visit_end(const walk *w, cra_value value)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_status status;

    CRA_TRY(w->visit(w->user, value));
    if (value.type != CRA_BSON_ARRAY)
        return CRA_OK;
    CRA_TRY(cra_bson_iter_init(&iter, cra_value_document(value), NULL));
    while ((status = cra_bson_iter_next(&iter, &element, NULL)) == CRA_OK)
        CRA_TRY(w->visit(w->user, element.value));
    return status == CRA_DONE ? CRA_OK : status;
}

/* Go on inside an array that the path passes: into each of its documents. */
static cra_status enter_array(const walk *w, cra_bytes array, const char *rest, unsigned depth)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_status status;

    CRA_TRY(cra_bson_iter_init(&iter, array, NULL));
    while ((status = cra_bson_iter_next(&iter, &element, NULL)) == CRA_OK) {
        if (element.value.type == CRA_BSON_DOCUMENT)
            CRA_TRY(step(w, cra_value_document(element.value), false, rest, depth + 1));
    }
    return status == CRA_DONE ? CRA_OK : status;
}

static cra_status step(const walk *w, cra_bytes container, bool in_array, const char *path, unsigned depth)
{
    const size_t size = strcspn(path, ".");
    cra_value value;

    if (depth > MAX_STEPS || (in_array && !is_index(path, size)))
        return CRA_OK;
    const cra_status status = cra_bson_find(container, path, size, &value);
    if (status != CRA_OK)
        return status == CRA_NOT_FOUND ? CRA_OK : status;
    if (path[size] == '\0')
        return visit_end(w, value);
    const char *rest = path + size + 1;
    if (value.type == CRA_BSON_DOCUMENT)
        return step(w, cra_value_document(value), false, rest, depth + 1);
    if (value.type != CRA_BSON_ARRAY)
        return CRA_OK;
    CRA_TRY(step(w, cra_value_document(value), true, rest, depth + 1));
    return enter_array(w, cra_value_document(value), rest, depth + 1);
}

cra_status cra_bson_path_each(cra_bytes document, const char *path, cra_value_visit_fn visit, void *user)
{
    const walk w = {visit, user};

    return step(&w, document, false, path, 0);
}
