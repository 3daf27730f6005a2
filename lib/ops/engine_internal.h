/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_ENGINE_INTERNAL_H
#define CRA_OPS_ENGINE_INTERNAL_H

/* What operations share beyond the public engine. */

#include <crawlarchive/engine.h>
#include <crawlarchive/result.h>
#include <crawlarchive/run.h>

#include "core/route.h"

const cra_allocator *cra_engine_allocator(const cra_engine *engine);
bool cra_engine_is_read_only(const cra_engine *engine);
/* Routes of the configuration, in order; built at open. */
const cra_route_list *cra_engine_routes(const cra_engine *engine);
/* Whether records of a run's collection are found by `run_field` (hot.run_field). */
const char *cra_engine_run_field(const cra_engine *engine);
/* A second engine on the same stores that cannot write, for planning and verifying. Free it before the first. */
cra_status cra_engine_read_only(cra_engine *engine, cra_engine **out, cra_error *err);
/* Emit an event ("run.archived", …) where events are configured; a failure is logged, never fatal: events are told
 * at least once by whoever re-runs, and never hold up data. `data` is one BSON document or empty. */
void cra_engine_emit(cra_engine *engine, const char *type, const cra_run_doc *run, cra_bytes data);

/* Make a public snapshot from a document (deep copy). */
cra_status cra_run_from_doc(cra_engine *engine, const cra_run_doc *doc, cra_run **out, cra_error *err);

/* Append the hot collection of a run: `collection` where given (nullable), else from hot.collection; cra_buf_cstr()
 * of `out` then cannot fail. CRA_INVALID, CRA_NOMEM. */
cra_status cra_run_collection(cra_engine *engine, const char *report, const char *id, const char *collection,
                              cra_buf *out, cra_error *err);

/* Scope of a run's hot records: collection and run value. Their bytes live in the struct,
 * which must stay where it is: a run's document is read anew while its records are worked on. */
typedef struct cra_hot_scope {
    cra_scope scope;
    char collection[256]; /* names are at most 255 bytes */
    uint8_t value_bytes[1100];
} cra_hot_scope;
/* From a run's document (its collection, its id through cra_run_value()). */
cra_status cra_hot_scope_init(const cra_engine *engine, const cra_run_doc *run, cra_hot_scope *out, cra_error *err);

#endif
