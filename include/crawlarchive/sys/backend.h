/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_SYS_BACKEND_H
#define CRAWLARCHIVE_SYS_BACKEND_H

/** @file sys/backend.h
 * How a backend, built in or of a third party, makes itself known under a URI scheme.
 */

#include <crawlarchive/context.h>
#include <crawlarchive/sys/blobstore.h>
#include <crawlarchive/sys/catalog.h>
#include <crawlarchive/sys/docstore.h>
#include <crawlarchive/sys/events.h>

CRA_BEGIN_DECLS

/** Version of everything in `sys/`; raised when a vtable changes incompatibly. */
#define CRA_ABI_VERSION 1u

enum {
    CRA_OPEN_CREATE = 1,   /**< create the store where it is missing (schema, folder) */
    CRA_OPEN_READ_ONLY = 2 /**< the handle must not write; the backend should also open it so */
};

/** One `key=value` setting for a store, from its configuration section (field maps, timeouts). */
typedef struct cra_setting {
    const char *key;
    const char *value;
} cra_setting;

/** What an opener gets. Borrowed for the call, but `context` lives as long as the store. */
typedef struct cra_open_args {
    size_t struct_size;
    cra_context *context;
    const char *uri;             /**< whole URI; relative paths are already absolute */
    unsigned flags;              /**< CRA_OPEN_* */
    const cra_setting *settings; /**< settings_count of them */
    size_t settings_count;
} cra_open_args;

/** A backend: a scheme and what it can open. A NULL opener means "not offered under this scheme".
 *
 * Each opener returns the store's `self` and its vtable, which must stay valid until its `close`.
 * A missing required slot, or a feature bit without its slot, is refused when the store is opened;
 * openers of built-in backends are called from any thread.
 */
typedef struct cra_backend {
    size_t struct_size;
    uint32_t abi_version;    /**< CRA_ABI_VERSION of the header it was built with */
    const char *scheme;      /**< "sqlite", "file", "s3", … without the colon; [a-z][a-z0-9+]* */
    const char *description; /**< one line for `--version` and `config check` */
    cra_status (*open_catalog)(const cra_open_args *args, const cra_catalog_vtable **vtable, void **self, cra_error *err);
    cra_status (*open_docstore)(const cra_open_args *args, const cra_docstore_vtable **vtable, void **self,
                                cra_error *err);
    cra_status (*open_blobstore)(const cra_open_args *args, const cra_blobstore_vtable **vtable, void **self,
                                 cra_error *err);
    cra_status (*open_events)(const cra_open_args *args, const cra_events_vtable **vtable, void **self, cra_error *err);
} cra_backend;

/** Register a backend with a context; the struct is copied, its strings are borrowed for the context's life.
 *
 * Register before stores are opened; not thread-safe against opening.
 * @return CRA_INVALID (ABI version, scheme, no opener), CRA_EXISTS (scheme taken), CRA_NOMEM
 */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_backend_register(cra_context *context, const cra_backend *backend,
                                                          cra_error *err);

/** The registered backends, in order of registration. @return NULL past the end */
CRA_EXPORT const cra_backend *cra_backend_at(const cra_context *context, size_t index);

/** Open a store through the backend of its URI's scheme, checked and guarded.
 *  The handle is shareable between threads unless its header says otherwise.
 *  @return CRA_INVALID (unknown scheme: the message lists the known ones), or the backend's status */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_catalog_open(const cra_open_args *args, cra_catalog **out, cra_error *err);
CRA_EXPORT CRA_MUST_CHECK cra_status cra_docstore_open(const cra_open_args *args, cra_docstore **out, cra_error *err);
CRA_EXPORT CRA_MUST_CHECK cra_status cra_blobstore_open(const cra_open_args *args, cra_blobstore **out, cra_error *err);
CRA_EXPORT CRA_MUST_CHECK cra_status cra_events_open(const cra_open_args *args, cra_events **out, cra_error *err);

/** Wrap a vtable that the caller made (a fault injector, a store in memory); checks it as opening does.
 *  `read_only` refuses every writing slot with CRA_DENIED before the backend sees it. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_catalog_wrap(cra_context *context, const cra_catalog_vtable *vtable, void *self,
                                                      bool read_only, cra_catalog **out, cra_error *err);
CRA_EXPORT CRA_MUST_CHECK cra_status cra_docstore_wrap(cra_context *context, const cra_docstore_vtable *vtable,
                                                       void *self, bool read_only, cra_docstore **out, cra_error *err);
CRA_EXPORT CRA_MUST_CHECK cra_status cra_blobstore_wrap(cra_context *context, const cra_blobstore_vtable *vtable,
                                                        void *self, bool read_only, cra_blobstore **out,
                                                        cra_error *err);
CRA_EXPORT CRA_MUST_CHECK cra_status cra_events_wrap(cra_context *context, const cra_events_vtable *vtable, void *self,
                                                     cra_events **out, cra_error *err);

/** A second handle on the same store that cannot write: the planner's. Free it before the first. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_catalog_read_only(cra_catalog *catalog, cra_catalog **out, cra_error *err);
CRA_EXPORT CRA_MUST_CHECK cra_status cra_docstore_read_only(cra_docstore *docstore, cra_docstore **out, cra_error *err);
CRA_EXPORT CRA_MUST_CHECK cra_status cra_blobstore_read_only(cra_blobstore *blobstore, cra_blobstore **out,
                                                             cra_error *err);

/** Close the store (a read-only second handle closes nothing) and free the handle; NULL is legal. */
CRA_EXPORT void cra_catalog_free(cra_catalog *catalog);
CRA_EXPORT void cra_docstore_free(cra_docstore *docstore);
CRA_EXPORT void cra_blobstore_free(cra_blobstore *blobstore);
CRA_EXPORT void cra_events_free(cra_events *events);

CRA_END_DECLS

#endif
