/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/avro_resolve.h"

#include <string.h>

static const char *simple_name(const char *full)
{
    const char *dot = full != NULL ? strrchr(full, '.') : NULL;
    return dot != NULL ? dot + 1 : full;
}

static bool names_match(const cra_avro_node *w, const cra_avro_node *r)
{
    if (w->full_name == NULL || r->full_name == NULL)
        return true;
    if (strcmp(simple_name(w->full_name), simple_name(r->full_name)) == 0)
        return true;
    for (const char *const *alias = r->aliases; alias != NULL && *alias != NULL; alias++) {
        if (strcmp(*alias, w->full_name) == 0 || strcmp(simple_name(*alias), simple_name(w->full_name)) == 0)
            return true;
    }
    return false;
}

int cra_avro_resolves(const cra_avro_node *w, const cra_avro_node *r)
{
    if (w->type == r->type) {
        if (w->type == CRA_AVRO_FIXED)
            return names_match(w, r) && w->as.fixed_size == r->as.fixed_size ? 2 : 0;
        if (w->type == CRA_AVRO_ENUM || w->type == CRA_AVRO_RECORD)
            return names_match(w, r) ? 2 : 0;
        return 2;
    }
    switch (w->type) {
    case CRA_AVRO_INT:
        return r->type == CRA_AVRO_LONG || r->type == CRA_AVRO_FLOAT || r->type == CRA_AVRO_DOUBLE;
    case CRA_AVRO_LONG:
        return r->type == CRA_AVRO_FLOAT || r->type == CRA_AVRO_DOUBLE;
    case CRA_AVRO_FLOAT:
        return r->type == CRA_AVRO_DOUBLE;
    case CRA_AVRO_STRING:
        return r->type == CRA_AVRO_BYTES;
    case CRA_AVRO_BYTES:
        return r->type == CRA_AVRO_STRING;
    default:
        return 0;
    }
}

const cra_avro_node *cra_avro_reader_branch(const cra_avro_node *w, const cra_avro_node *r)
{
    for (int want = 2; want >= 1; want--) {
        for (size_t i = 0; i < r->count; i++) {
            if (cra_avro_resolves(w, r->as.branches[i]) >= want)
                return r->as.branches[i];
        }
    }
    return NULL;
}

const cra_avro_field *cra_avro_reader_field(const cra_avro_node *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->as.fields[i].name, name) == 0)
            return &r->as.fields[i];
    }
    for (size_t i = 0; i < r->count; i++) {
        for (const char *const *alias = r->as.fields[i].aliases; alias != NULL && *alias != NULL; alias++) {
            if (strcmp(*alias, name) == 0)
                return &r->as.fields[i];
        }
    }
    return NULL;
}

bool cra_avro_writer_has(const cra_avro_node *w, const cra_avro_node *r, const cra_avro_field *field)
{
    for (size_t i = 0; i < w->count; i++) {
        if (cra_avro_reader_field(r, w->as.fields[i].name) == field)
            return true;
    }
    return false;
}
