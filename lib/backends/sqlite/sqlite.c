/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/sqlite/sqlite_db.h"

extern const cra_backend cra_backend_sqlite;

const cra_backend cra_backend_sqlite = {
    .struct_size = sizeof(cra_backend),
    .abi_version = CRA_ABI_VERSION,
    .scheme = "sqlite",
    .description = "catalog and records in one SQLite file",
    .open_catalog = cra_sqlite_catalog_open,
    .open_docstore = cra_sqlite_docstore_open,
};
