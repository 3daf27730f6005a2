/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_SUITE_BLOBSTORE_H
#define CRA_SUITE_BLOBSTORE_H

/* What every blobstore must do, by the contract of <crawlarchive/sys/blobstore.h>. */

#include <crawlarchive/sys/backend.h>

#include "conformance.h"

typedef struct cra_blobstore_fixture {
    void *user;
    /* Open a store that is empty; the suite frees it before it asks for the next. */
    cra_status (*open_empty)(void *user, cra_blobstore **out, cra_error *err);
    /* Open another handle on what the last open_empty() opened, with CRA_OPEN_* flags; NULL where a store does not
     * outlive its handle. */
    cra_status (*reopen)(void *user, unsigned flags, cra_blobstore **out, cra_error *err);
} cra_blobstore_fixture;

/* @return the number of failed checks */
int cra_conformance_blobstore(cra_conformance *t, const cra_blobstore_fixture *fixture);

#endif
