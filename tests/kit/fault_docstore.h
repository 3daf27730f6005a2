/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_KIT_FAULT_DOCSTORE_H
#define CRA_KIT_FAULT_DOCSTORE_H

/* A docstore in front of another that fails, shortens, repeats or kills at call N (kit/fault.h). Slots count as
 * "docstore.write_batch", "docstore.page", …; close always passes. A write whose answer is lost tells UNKNOWN of its
 * documents, as the port says. */

#include <crawlarchive/sys/docstore.h>

#include "kit/fault.h"

/* Put a wrapper in front of `inner`, which it closes with itself. `fault` is borrowed and may be changed at any time
 * between calls. @return CRA_NOMEM: `inner` stays the caller's */
cra_status cra_fault_docstore(const cra_docstore_vtable *inner, void *inner_self, cra_fault *fault,
                              const cra_docstore_vtable **vtable, void **self);

#endif
