/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_SUITE_DOCSTORE_H
#define CRA_SUITE_DOCSTORE_H

/* What every docstore must do, by the contract of <crawlarchive/sys/docstore.h>. */

#include <crawlarchive/sys/backend.h>

#include "conformance.h"

typedef struct cra_docstore_fixture {
    void *user;
    const cra_context *context; /* the one that the stores are opened in: deadlines are of its clock */
    /* Open an empty store whose run field is "run_id"; the suite frees it before it asks for the next. */
    cra_status (*open_empty)(void *user, cra_docstore **out, cra_error *err);
    /* Open another handle on what the last open_empty() opened; NULL where a store is gone with its handle. */
    cra_status (*reopen)(void *user, bool read_only, cra_docstore **out, cra_error *err);
} cra_docstore_fixture;

/* @return the number of failed checks */
int cra_conformance_docstore(cra_conformance *t, const cra_docstore_fixture *fixture);

#endif
