/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_KIT_FAULT_BLOBSTORE_H
#define CRA_KIT_FAULT_BLOBSTORE_H

/* A blobstore in front of another that fails, shortens, repeats or kills at call N (kit/fault.h). Slots count as
 * "blobstore.list", "blobstore.put_commit", …; put_abort and close always pass. */

#include <crawlarchive/sys/blobstore.h>

#include "kit/fault.h"

/* Put a wrapper in front of `inner`, which it closes with itself. `fault` is borrowed and may be changed at any time
 * between calls. @return CRA_NOMEM: `inner` stays the caller's */
cra_status cra_fault_blobstore(const cra_blobstore_vtable *inner, void *inner_self, cra_fault *fault,
                               const cra_blobstore_vtable **vtable, void **self);

#endif
