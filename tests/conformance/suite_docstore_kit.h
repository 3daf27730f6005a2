/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_SUITE_DOCSTORE_KIT_H
#define CRA_SUITE_DOCSTORE_KIT_H

/* What the files of the docstore suite share: records written as extended JSON, so that a case reads as what it
 * says. */

#include <string.h>

#include "suite_docstore.h"

/* Cases of suite_docstore_changes.c and suite_docstore_indexes.c. */
extern const cra_conformance_case cra_docstore_change_cases[];
extern const size_t cra_docstore_change_count;
extern const cra_conformance_case cra_docstore_index_cases[];
extern const size_t cra_docstore_index_count;

/* Open an empty store. @return whether that went well */
bool cra_docs_open(cra_conformance *t, const void *fixture, cra_docstore **out);

/* Some documents, parsed. */
typedef struct cra_docs {
    cra_buf bytes;
    cra_bytes items[64];
    cra_value ids[64]; /* of each, where it has an `_id` */
    size_t count;
} cra_docs;

/* Parse documents that follow each other in `json`. */
void cra_docs_parse(cra_conformance *t, cra_docs *docs, const char *json);
/* Split what a store appended. */
void cra_docs_split(cra_conformance *t, cra_docs *docs, cra_buf *bytes);
void cra_docs_free(cra_docs *docs);

/* The run whose `run_id` is `json`'s element "run_id"; borrows from `docs`. */
cra_scope cra_docs_scope(cra_conformance *t, cra_docs *docs, const char *json);

/* Write documents and check their outcomes, one letter each: N new, E id exists, F failed, U unsent. */
void cra_docs_write(cra_conformance *t, cra_docstore *store, const char *collection, const char *json,
                    const char *outcomes, const char *file, int line);
#define WRITE(t, store, json, outcomes) cra_docs_write((t), (store), "c", (json), (outcomes), __FILE__, __LINE__)

/* Check the run's documents, paged with `max_docs`, against JSON, in order. */
void cra_docs_expect(cra_conformance *t, cra_docstore *store, const char *scope, int64_t max_docs, const char *json,
                     const char *file, int line);
#define EXPECT(t, store, scope, max_docs, json)                                                                        \
    cra_docs_expect((t), (store), (scope), (max_docs), (json), __FILE__, __LINE__)

#endif
