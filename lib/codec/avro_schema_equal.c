/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/avro_schema_internal.h"

#include <string.h>

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Types inside a definition: named ones by their name, which stands for one definition in a schema. */
static bool same_type(const cra_avro_node *a, const cra_avro_node *b)
{
    if (a == b)
        return true;
    if (a->type != b->type || a->logical != b->logical || a->precision != b->precision || a->scale != b->scale)
        return false;
    switch (a->type) {
    case CRA_AVRO_RECORD:
    case CRA_AVRO_ENUM:
    case CRA_AVRO_FIXED:
        return same_text(a->full_name, b->full_name);
    case CRA_AVRO_ARRAY:
    case CRA_AVRO_MAP:
        return same_type(a->as.items, b->as.items);
    case CRA_AVRO_UNION:
        if (a->count != b->count)
            return false;
        for (size_t i = 0; i < a->count; i++) {
            if (!same_type(a->as.branches[i], b->as.branches[i]))
                return false;
        }
        return true;
    default:
        return true;
    }
}

bool cra_avro_definition_equal(const cra_avro_node *a, const cra_avro_node *b)
{
    if (a->type != b->type || a->logical != b->logical || !same_text(a->full_name, b->full_name) ||
        !same_text(a->cra_type, b->cra_type))
        return false;
    if (a->type == CRA_AVRO_FIXED)
        return a->as.fixed_size == b->as.fixed_size && a->precision == b->precision && a->scale == b->scale;
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (a->type == CRA_AVRO_ENUM ? strcmp(a->as.symbols[i], b->as.symbols[i]) != 0
                                     : strcmp(a->as.fields[i].name, b->as.fields[i].name) != 0 ||
                                           !same_type(a->as.fields[i].type, b->as.fields[i].type))
            return false;
    }
    return true;
}
