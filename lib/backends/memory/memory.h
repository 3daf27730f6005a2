/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BACKENDS_MEMORY_H
#define CRA_BACKENDS_MEMORY_H

/* The stores of scheme `memory:`. Each open makes an empty store of its own that is gone when it is closed: for
 * tests, trials and dry runs. */

#include <crawlarchive/sys/backend.h>

cra_status cra_memory_catalog_open(const cra_open_args *args, const cra_catalog_vtable **vtable, void **self,
                                   cra_error *err);
cra_status cra_memory_docstore_open(const cra_open_args *args, const cra_docstore_vtable **vtable, void **self,
                                    cra_error *err);
cra_status cra_memory_blobstore_open(const cra_open_args *args, const cra_blobstore_vtable **vtable, void **self,
                                     cra_error *err);

#endif
