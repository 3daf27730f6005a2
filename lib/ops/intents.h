/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_INTENTS_H
#define CRA_OPS_INTENTS_H

/* Which objects of ours may lie in a run's folder without a manifest: pairs of generation and fence, written down
 * before the first object. Stored as the run's checkpoint "intents". */

#include "ops/run_guard.h"

typedef struct cra_intent {
    int64_t generation;
    int64_t fence;
} cra_intent;

typedef struct cra_intents {
    const cra_allocator *allocator;
    cra_intent *items;
    size_t count, capacity;
} cra_intents;

/* Read them under the lease; none is an empty list. Fit for cleanup also after a failure. */
cra_status cra_intents_load(cra_intents *intents, cra_run_guard *guard, const cra_allocator *allocator, cra_error *err);
/* The same from stored bytes. CRA_CORRUPT. */
cra_status cra_intents_parse(cra_intents *intents, cra_bytes stored, const cra_allocator *allocator, cra_error *err);
void cra_intents_cleanup(cra_intents *intents);
bool cra_intents_hold(const cra_intents *intents, int64_t generation, int64_t fence);
cra_status cra_intents_add(cra_intents *intents, int64_t generation, int64_t fence, cra_error *err);
/* Drop all but those of `fence`; whether any was dropped. */
bool cra_intents_keep_only(cra_intents *intents, int64_t fence);
cra_status cra_intents_store(const cra_intents *intents, cra_run_guard *guard, cra_error *err);

#endif
