/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BACKENDS_MEMORY_DOCSTORE_H
#define CRA_BACKENDS_MEMORY_DOCSTORE_H

/* The two halves of the docstore in memory: documents (memory_docstore.c), and what unique indexes ask of them
 * (memory_index.c). */

#include <crawlarchive/sys/docstore.h>

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
    cra_buf indexes; /* concatenated normalised index documents, `_id_` first */
    cra_memory_document **documents; /* in the order of their keys */
    size_t count;
    size_t capacity;
} cra_memory_collection;

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

#endif
