/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_KIT_FAULT_CATALOG_H
#define CRA_KIT_FAULT_CATALOG_H

/* A catalog in front of another that fails, shortens, repeats or kills at call N (kit/fault.h). Slots count as
 * "catalog.run_list", "catalog.lease_acquire", …; close always passes. */

#include <crawlarchive/sys/catalog.h>

#include "kit/fault.h"

/* Put a wrapper in front of `inner`, which it closes with itself. `fault` is borrowed and may be changed at any time
 * between calls. @return CRA_NOMEM: `inner` stays the caller's */
cra_status cra_fault_catalog(const cra_catalog_vtable *inner, void *inner_self, cra_fault *fault,
                             const cra_catalog_vtable **vtable, void **self);

#endif
