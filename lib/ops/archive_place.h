/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_ARCHIVE_PLACE_H
#define CRA_OPS_ARCHIVE_PLACE_H

/* Where the archive of a run is: store, folder, and the URI that names both. */

#include "ops/archive_set.h"

/* Make an empty set, fit for cleanup. */
void cra_archive_set_init(cra_archive_set *set, cra_engine *engine);
/* archive.template. */
const char *cra_archive_folder_template(const cra_archive_set *set);
/* Folder of the run by the template, appended with a terminator. */
cra_status cra_archive_run_folder(const cra_archive_set *set, cra_buf *out, cra_error *err);
/* Point the set at a store and a folder in it; both are copied. */
cra_status cra_archive_set_place(cra_archive_set *set, const char *store_uri, const char *folder, cra_error *err);

#endif
