/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/memory/memory.h"

extern const cra_backend cra_backend_memory;

const cra_backend cra_backend_memory = {
    .struct_size = sizeof(cra_backend),
    .abi_version = CRA_ABI_VERSION,
    .scheme = "memory",
    .description = "stores in memory, gone when they are closed",
    .open_catalog = cra_memory_catalog_open,
    .open_docstore = cra_memory_docstore_open,
    .open_blobstore = cra_memory_blobstore_open,
};
