/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_SYS_BLOBSTORE_H
#define CRAWLARCHIVE_SYS_BLOBSTORE_H

/** @file sys/blobstore.h
 * The blobstore port: whole objects under names with `/`, committed atomically.
 */

#include <crawlarchive/error.h>

CRA_BEGIN_DECLS

/** A guarded handle on a blobstore. Shareable between threads. */
typedef struct cra_blobstore cra_blobstore;

/** An object. Strings are borrowed for the call that hands it over, or copied into fixed members. */
typedef struct cra_blob_info {
    size_t struct_size;
    int64_t size_bytes;
    cra_time_ms modified_at; /**< CRA_TIME_NONE where the store does not say */
    char etag[72];           /**< changes whenever the content does; compared as a whole string */
    bool frozen;             /**< in cold storage: must be thawed before it is read */
} cra_blob_info;

/** Every cra_blob_info that is passed to be filled begins as this. */
#define CRA_BLOB_INFO_INIT { sizeof(cra_blob_info), 0, CRA_TIME_NONE, "", false }

/** Gets one object below a prefix; `name` is relative to the store's root, borrowed. A status other than
 *  CRA_OK ends the listing and is returned. */
typedef cra_status (*cra_blob_visit_fn)(void *user, const char *name, const cra_blob_info *info);

enum {
    CRA_PUT_IF_ABSENT = 1 /**< commit fails with CRA_EXISTS where the name is taken */
};

/** Feature bits. */
enum {
    CRA_BLOBSTORE_IF_ABSENT = 1, /**< CRA_PUT_IF_ABSENT is atomic between processes */
    CRA_BLOBSTORE_UPLOADS = 2,   /**< slots `upload_list` and `upload_abort` are offered */
    CRA_BLOBSTORE_THAW = 4       /**< slot `thaw` is offered */
};

/** The slots of a blobstore. Those without "optional" are required. Each may be called from any thread;
 *  one writer belongs to one thread at a time. Names are UTF-8, non-empty, without empty, `.` and `..`
 *  segments; the guard refuses others before a backend sees them. */
typedef struct cra_blobstore_vtable {
    size_t struct_size;
    uint64_t features;

    /** Close and free the store. */
    void (*close)(void *self);

    /** Visit every committed object whose name begins with `prefix` ("" for all), recursively, in byte
     *  order of names. Uploads that were not committed are never shown. A prefix that is not there is an
     *  empty listing. */
    cra_status (*list)(void *self, const char *prefix, cra_blob_visit_fn visit, void *user, cra_error *err);

    /** @return CRA_NOT_FOUND */
    cra_status (*stat)(void *self, const char *name, cra_blob_info *out, cra_error *err);

    /** Append up to `length` bytes from `offset` to `out`; fewer only at the object's end (none behind it).
     *  Where `etag` is not NULL the object must still be that one: the bytes of two versions are never mixed.
     *  @return CRA_NOT_FOUND, CRA_CONFLICT (another version) */
    cra_status (*read)(void *self, const char *name, int64_t offset, int64_t length, const char *etag, cra_buf *out,
                       cra_error *err);

    /** Begin an object; nothing is visible under `name` before commit. `flags`: CRA_PUT_*.
     *  `tag` (1 to 64 bytes of [A-Za-z0-9._-], or NULL) names the writer in whatever the store leaves behind
     *  when the process dies. */
    cra_status (*put_open)(void *self, const char *name, unsigned flags, const char *tag, void **writer,
                           cra_error *err);
    /** Append bytes, borrowed for the call. After a failure only put_abort is legal. */
    cra_status (*put_write)(void *self, void *writer, cra_bytes bytes, cra_error *err);
    /** Make the object visible, whole and durable, in one step, replacing an older one (unless
     *  CRA_PUT_IF_ABSENT). Frees the writer, also on failure; after a failure nothing is visible. */
    cra_status (*put_commit)(void *self, void *writer, cra_blob_info *out, cra_error *err);
    /** Give the object up and free the writer; NULL is legal. */
    void (*put_abort)(void *self, void *writer);

    /** Remove an object, durably; already gone is success. */
    cra_status (*remove)(void *self, const char *name, cra_error *err);

    /** Optional (CRA_BLOBSTORE_UPLOADS): visit what killed writers left below `prefix`; `name` is a token
     *  for upload_abort that begins with the object's name. */
    cra_status (*upload_list)(void *self, const char *prefix, cra_blob_visit_fn visit, void *user, cra_error *err);
    /** Optional (CRA_BLOBSTORE_UPLOADS): remove a leftover; already gone is success. */
    cra_status (*upload_abort)(void *self, const char *token, cra_error *err);

    /** Optional (CRA_BLOBSTORE_THAW): ask for a frozen object. @return CRA_OK asked or asked before,
     *  CRA_DONE readable now */
    cra_status (*thaw)(void *self, const char *name, cra_error *err);
} cra_blobstore_vtable;

/* ---- the same, through a guarded handle ------------------------------------------------------- */

/** A put in progress. */
typedef struct cra_blob_writer cra_blob_writer;

CRA_EXPORT uint64_t cra_blobstore_features(const cra_blobstore *blobstore);
CRA_EXPORT cra_status cra_blobstore_list(cra_blobstore *blobstore, const char *prefix, cra_blob_visit_fn visit,
                                         void *user, cra_error *err);
CRA_EXPORT cra_status cra_blobstore_stat(cra_blobstore *blobstore, const char *name, cra_blob_info *out,
                                         cra_error *err);
CRA_EXPORT cra_status cra_blobstore_read(cra_blobstore *blobstore, const char *name, int64_t offset, int64_t length,
                                         const char *etag, cra_buf *out, cra_error *err);
CRA_EXPORT cra_status cra_blobstore_put_open(cra_blobstore *blobstore, const char *name, unsigned flags,
                                             const char *tag, cra_blob_writer **out, cra_error *err);
CRA_EXPORT cra_status cra_blob_writer_write(cra_blob_writer *writer, cra_bytes bytes, cra_error *err);
/** Commit and free `writer`, also on failure. */
CRA_EXPORT cra_status cra_blob_writer_commit(cra_blob_writer *writer, cra_blob_info *out, cra_error *err);
/** Abort and free `writer`; NULL is legal. */
CRA_EXPORT void cra_blob_writer_abort(cra_blob_writer *writer);
/** Put a whole object from memory in one call. */
CRA_EXPORT cra_status cra_blobstore_put(cra_blobstore *blobstore, const char *name, cra_bytes content, unsigned flags,
                                        cra_blob_info *out, cra_error *err);
CRA_EXPORT cra_status cra_blobstore_remove(cra_blobstore *blobstore, const char *name, cra_error *err);
CRA_EXPORT cra_status cra_blobstore_upload_list(cra_blobstore *blobstore, const char *prefix, cra_blob_visit_fn visit,
                                                void *user, cra_error *err);
CRA_EXPORT cra_status cra_blobstore_upload_abort(cra_blobstore *blobstore, const char *token, cra_error *err);
CRA_EXPORT cra_status cra_blobstore_thaw(cra_blobstore *blobstore, const char *name, cra_error *err);

CRA_END_DECLS

#endif
