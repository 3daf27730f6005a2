/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_NAME_TABLE_H
#define CRA_CODEC_NAME_TABLE_H

/* A hash table from names to pointers, so that a schema of many names costs no quadratic time. Names are borrowed. */

#include <crawlarchive/types.h>

typedef struct cra_name_table {
    const cra_allocator *allocator;
    struct cra_name_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
} cra_name_table;

void cra_name_table_init(cra_name_table *table, const cra_allocator *allocator);
void cra_name_table_cleanup(cra_name_table *table);
/* Forget the names, keep the memory. */
void cra_name_table_clear(cra_name_table *table);
/* Value of `name`, NULL where it is not there. */
void *cra_name_table_get(const cra_name_table *table, const char *name);
/* Add `name` (which must outlive the table) with a `value` that is not NULL.
 * @return CRA_OK, CRA_EXISTS (nothing changed), CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_name_table_put(cra_name_table *table, const char *name, void *value);

#endif
