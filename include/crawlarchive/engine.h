/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_ENGINE_H
#define CRAWLARCHIVE_ENGINE_H

/** @file engine.h
 * The engine: the stores that a configuration names, opened; every operation takes one.
 */

#include <crawlarchive/config.h>
#include <crawlarchive/sys/backend.h>

CRA_BEGIN_DECLS

/** Opened stores and their configuration. Shareable between threads; operations on different runs may run at
 *  once, and two on one run are kept apart by its lease. */
typedef struct cra_engine cra_engine;

enum {
    CRA_ENGINE_CREATE = 1,   /**< create stores that are missing (`init`) */
    CRA_ENGINE_READ_ONLY = 2 /**< nothing can be written through it: the planner's */
};

/** Open catalog and hot store; blobstores are opened when a route leads to them.
 *  @param config  validated; borrowed for the engine's life  @param flags  CRA_ENGINE_* */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_engine_open(cra_context *context, const cra_config *config, unsigned flags,
                                                     cra_engine **out, cra_error *err);
CRA_EXPORT void cra_engine_free(cra_engine *engine);

/** Borrowed from the engine. */
CRA_EXPORT cra_context *cra_engine_context(const cra_engine *engine);
CRA_EXPORT const cra_config *cra_engine_config(const cra_engine *engine);
CRA_EXPORT cra_catalog *cra_engine_catalog(const cra_engine *engine);
CRA_EXPORT cra_docstore *cra_engine_docstore(const cra_engine *engine);
/** The blobstore of a URI, opened once and kept. Thread-safe. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_engine_blobstore(cra_engine *engine, const char *uri, cra_blobstore **out,
                                                          cra_error *err);

/** One line of `config check`. */
typedef struct cra_check {
    size_t struct_size;
    const char *store;  /**< "catalog", "hot", "archive", "events" */
    const char *uri;    /**< without secrets */
    bool ok;
    const char *detail;
} cra_check;
typedef void (*cra_check_fn)(void *user, const cra_check *check);
/** Open each store that the configuration names and try what operations need: rights, versions, clock skew.
 *  @return CRA_OK where all are well, CRA_PARTIAL where some are not (each was told to `each`) */
CRA_EXPORT cra_status cra_engine_check(cra_context *context, const cra_config *config, cra_check_fn each, void *user,
                                       cra_error *err);

CRA_END_DECLS

#endif
