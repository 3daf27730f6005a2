/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_INDEX_ENSURE_H
#define CRA_OPS_INDEX_ENSURE_H

/* One index into a collection, with what a server may do to the answer. */

#include <crawlarchive/index.h>

/* Asked while waiting; not CRA_OK ends it and is returned. */
typedef cra_status (*cra_index_wait_fn)(void *user, cra_error *err);

/* Append the collection's indexes, normalised, as concatenated BSON; a missing collection has none (`*exists`,
 * nullable, says so). */
cra_status cra_index_read(cra_engine *engine, const char *collection, cra_buf *out, bool *exists, cra_error *err);

/* Ask for one normalised index and wait until it is usable. An answer that was lost is looked for in the list, never
 * asked for again blindly; a clash is compared again, because another worker may have made the same one.
 * `*created` says whether it was not there before. @return as the docstore's index_ensure, and what `wait` returns */
cra_status cra_index_ensure_one(cra_engine *engine, const char *collection, cra_bytes spec, cra_index_wait_fn wait,
                                void *user, bool *created, cra_error *err);

/* Its name, or its key as JSON; always terminated. */
void cra_index_label(cra_bytes spec, char *out, size_t size);

#endif
