/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BACKENDS_MEMORY_DOCSTORE_H
#define CRA_BACKENDS_MEMORY_DOCSTORE_H

/* The parts of the docstore in memory: collections (memory_docstore.c), their documents (memory_records.c), and what
 * unique indexes ask of them (memory_index.c). */

#include <crawlarchive/context.h>
#include <crawlarchive/sys/docstore.h>

#include "os/thread.h"

#define CRA_MEMORY_DUPLICATE_KEY 11000

/* One document: its bytes, and the order key of its `_id` behind them in the same block. */
typedef struct cra_memory_document {
    size_t document_size;
    size_t key_size;
    uint8_t bytes[];
} cra_memory_document;

typedef struct cra_memory_collection {
    char *name;
    cra_buf options;
    cra_buf indexes;                 /* concatenated normalised index documents, `_id_` first */
    cra_memory_document **documents; /* in the order of their keys */
    size_t count;
    size_t capacity;
} cra_memory_collection;

typedef struct cra_memory_docstore {
    cra_context *context;
    const cra_allocator *allocator;
    cra_mutex lock; /* over everything below */
    cra_memory_collection **collections;
    size_t count;
    size_t capacity;
} cra_memory_docstore;

static inline cra_bytes cra_memory_bytes(const cra_memory_document *document)
{
    return (cra_bytes){document->bytes, document->document_size};
}

static inline cra_bytes cra_memory_key(const cra_memory_document *document)
{
    return (cra_bytes){document->bytes + document->document_size, document->key_size};
}

/* Whether `document` may stand beside the others of the collection (`except` is left out: the one it replaces).
 * @return CRA_EXISTS naming the index, CRA_NOMEM */
cra_status cra_memory_check_unique(const cra_memory_collection *collection, cra_bytes document,
                                   const cra_memory_document *except, const cra_allocator *allocator, cra_error *err);

/* Whether the documents that are there satisfy one index. @return CRA_EXISTS, CRA_NOMEM */
cra_status cra_memory_check_index(const cra_memory_collection *collection, cra_bytes index,
                                  const cra_allocator *allocator, cra_error *err);

/* CRA_NOMEM with its message. */
cra_status cra_memory_no_memory(cra_error *err);
/* A collection by name, NULL where it is missing; cra_memory_need() creates it. Under the lock. */
cra_memory_collection *cra_memory_find(const cra_memory_docstore *store, const char *name);
cra_status cra_memory_need(cra_memory_docstore *store, const char *name, cra_memory_collection **out, cra_error *err);

/* Slots of memory_records.c. */
cra_status cra_memory_write_batch(void *self, const char *collection, const cra_bytes *documents, size_t count,
                                  int64_t deadline_ms, cra_write_result *results, cra_error *err);
cra_status cra_memory_delete_batch(void *self, const cra_scope *scope, const cra_value *ids, size_t count,
                                   cra_bytes match, int64_t deadline_ms, int64_t *removed, cra_error *err);
cra_status cra_memory_replace_if(void *self, const char *collection, cra_value id, cra_bytes match, cra_bytes document,
                                 cra_error *err);
cra_status cra_memory_fetch(void *self, const char *collection, const cra_value *ids, size_t count, cra_buf *out,
                            cra_error *err);
cra_status cra_memory_page(void *self, const cra_scope *scope, const cra_page_request *request, cra_buf *out,
                           size_t *count, cra_error *err);
cra_status cra_memory_count(void *self, const cra_scope *scope, int64_t *out, cra_error *err);
cra_status cra_memory_search(void *self, const char *collection, const char *path, cra_value value, cra_value after_id,
                             int64_t max_docs, cra_buf *out, size_t *count, cra_error *err);

#endif
