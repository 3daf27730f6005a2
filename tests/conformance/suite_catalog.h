/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_SUITE_CATALOG_H
#define CRA_SUITE_CATALOG_H

/* What every catalog must do, by the contract of <crawlarchive/sys/catalog.h>. */

#include <crawlarchive/sys/backend.h>

#include "conformance.h"

typedef struct cra_catalog_fixture {
    void *user;
    const cra_allocator *allocator; /* of the context that the catalogs are opened in; NULL for the C library's */
    /* Open an empty catalog; the suite frees it before it asks for the next. */
    cra_status (*open_empty)(void *user, cra_catalog **out, cra_error *err);
    /* Open another handle on what the last open_empty() opened; NULL where a catalog is gone with its handle. */
    cra_status (*reopen)(void *user, bool read_only, cra_catalog **out, cra_error *err);
    /* Move the catalog's clock on; NULL where the test cannot: leases are then waited for. */
    void (*advance)(void *user, int64_t duration_ms);
} cra_catalog_fixture;

/* @return the number of failed checks */
int cra_conformance_catalog(cra_conformance *t, const cra_catalog_fixture *fixture);

#endif
