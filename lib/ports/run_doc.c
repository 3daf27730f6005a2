/* SPDX-License-Identifier: Apache-2.0 */

/* A run's document as a value: made, copied and freed by the one table of its fields. */

#include <crawlarchive/sys/catalog.h>

#include <string.h>

#include "base/alloc.h"

void cra_run_doc_init(cra_run_doc *doc)
{
    memset(doc, 0, sizeof *doc);
#define INIT_TEXT(name) doc->name = NULL;
#define INIT_TIME(name) doc->name = CRA_TIME_NONE;
#define INIT_INT(name) doc->name = -1;
#define INIT_BOOL(name) doc->name = false;
#define INIT(kind, name, help) INIT_##kind(name)
    CRA_RUN_FIELDS(INIT)
#undef INIT
#undef INIT_BOOL
#undef INIT_INT
#undef INIT_TIME
#undef INIT_TEXT
    doc->state = CRA_RUN_HOT;
    doc->restores = 0;
}

void cra_run_doc_cleanup(cra_run_doc *doc, const cra_allocator *allocator)
{
#define FREE_TEXT(name) cra_free(allocator, doc->name);
#define FREE_TIME(name)
#define FREE_INT(name)
#define FREE_BOOL(name)
#define FREE(kind, name, help) FREE_##kind(name)
    CRA_RUN_FIELDS(FREE)
#undef FREE
#undef FREE_BOOL
#undef FREE_INT
#undef FREE_TIME
#undef FREE_TEXT
    cra_run_doc_init(doc);
}

cra_status cra_run_doc_copy(cra_run_doc *to, const cra_run_doc *from, const cra_allocator *allocator)
{
    bool complete = true;

    *to = *from;
#define COPY_TEXT(name)                                                                                                \
    to->name = cra_strdup(allocator, from->name);                                                                      \
    complete = complete && (to->name != NULL || from->name == NULL);
#define COPY_TIME(name)
#define COPY_INT(name)
#define COPY_BOOL(name)
#define COPY(kind, name, help) COPY_##kind(name)
    CRA_RUN_FIELDS(COPY)
#undef COPY
#undef COPY_BOOL
#undef COPY_INT
#undef COPY_TIME
#undef COPY_TEXT
    if (complete)
        return CRA_OK;
    cra_run_doc_cleanup(to, allocator);
    return CRA_NOMEM;
}

cra_status cra_run_doc_set_text(char **field, const char *text, const cra_allocator *allocator)
{
    char *copy = cra_strdup(allocator, text);

    if (copy == NULL && text != NULL)
        return CRA_NOMEM;
    cra_free(allocator, *field);
    *field = copy;
    return CRA_OK;
}
