/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_SUITE_CATALOG_KIT_H
#define CRA_SUITE_CATALOG_KIT_H

/* What the files of the catalog suite share. */

#include <string.h>

#include "suite_catalog.h"

/* Cases of suite_catalog_lease.c. */
extern const cra_conformance_case cra_catalog_lease_cases[];
extern const size_t cra_catalog_lease_count;

static inline char *cra_catalog_kit_text(const char *text)
{
    return (char *)(uintptr_t)text;
}

/* A run of which only the key and the collection are set; its texts are borrowed, so that it is never cleaned up. */
static inline cra_run_doc cra_catalog_kit_run(const char *report, const char *run)
{
    cra_run_doc doc;

    cra_run_doc_init(&doc);
    doc.report = cra_catalog_kit_text(report);
    doc.run = cra_catalog_kit_text(run);
    doc.collection = cra_catalog_kit_text("records");
    return doc;
}

static inline bool cra_catalog_kit_insert(cra_conformance *t, cra_catalog *catalog, const char *report, const char *run)
{
    const cra_run_doc doc = cra_catalog_kit_run(report, run);
    cra_error err = {0};

    return CHECK_OK(t, cra_catalog_run_insert(catalog, &doc, &err), err);
}

/* Read a run, check its version, and forget it: what comes back is plain members only. */
static inline cra_run_doc cra_catalog_kit_peek(cra_conformance *t, const cra_catalog_fixture *f, cra_catalog *catalog,
                                               const char *report, const char *run)
{
    cra_run_doc doc;
    cra_error err = {0};

    CHECK_OK(t, cra_catalog_run_get(catalog, report, run, &doc, &err), err);
    cra_run_doc plain = doc;
    cra_run_doc_cleanup(&doc, f->allocator);
#define FORGET_TEXT(name) plain.name = NULL;
#define FORGET_TIME(name)
#define FORGET_INT(name)
#define FORGET_BOOL(name)
#define FORGET(kind, name, help) FORGET_##kind(name)
    CRA_RUN_FIELDS(FORGET)
#undef FORGET
#undef FORGET_BOOL
#undef FORGET_INT
#undef FORGET_TIME
#undef FORGET_TEXT
    return plain;
}

#endif
