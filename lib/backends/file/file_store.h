/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BACKENDS_FILE_STORE_H
#define CRA_BACKENDS_FILE_STORE_H

/* The blobstore of scheme `file:`: a name is a file below a root folder.
 *
 * Folders are opened one segment at a time, relative to the root's descriptor and never through a symbolic link, so
 * that no name and no race leads out of the root. Links, pipes and devices are no objects: they are neither listed
 * nor read. */

#include <sys/stat.h>

#include <crawlarchive/sys/backend.h>

#define CRA_FILE_ORIGIN "file"

/* Deepest folder below the root that is walked. */
#define CRA_FILE_MAX_DEPTH 64

typedef struct cra_file_store {
    const cra_allocator *allocator;
    char *root; /* for messages */
    int root_fd;
    bool read_only;
} cra_file_store;

/* Where a name stands: its folder, open, and the last segment, borrowed from the name. */
typedef struct cra_file_place {
    int folder_fd;
    const char *base;
} cra_file_place;

/* Open the folder of `name`; `create` makes those that are missing, durably. The caller closes folder_fd.
 * @return CRA_NOT_FOUND (a folder is missing), CRA_DENIED (a symbolic link in the way), CRA_UNSUPPORTED (with
 * `create`, a file stands where a folder is needed), … */
cra_status cra_file_place_open(const cra_file_store *store, const char *name, bool create, cra_file_place *out,
                               cra_error *err);

/* The failure of `verb` on the object `name`: message with root, name and what the system said. */
cra_status cra_file_store_error(const cra_file_store *store, int errno_value, const char *verb, const char *name,
                                cra_error *err);

/* Size, time and etag of an object from its status. */
void cra_file_info(const struct stat *status, cra_blob_info *out);

/* ---- temporaries (file_temporary.c) ---- */

/* Append the name, inside its folder, of a new temporary for `base`: `.BASE.cra-TAG-RANDOM.tmp`; the tag is left
 * empty where NULL. */
cra_status cra_file_temporary_name(const char *base, const char *tag, cra_buf *out, cra_error *err);

/* Whether a file's name has that form. */
bool cra_file_is_temporary(const char *base);

/* ---- slots ---- */

cra_status cra_file_list(void *self, const char *prefix, cra_blob_visit_fn visit, void *user, cra_error *err);
cra_status cra_file_upload_list(void *self, const char *prefix, cra_blob_visit_fn visit, void *user, cra_error *err);
cra_status cra_file_upload_abort(void *self, const char *token, cra_error *err);
cra_status cra_file_put_open(void *self, const char *name, unsigned flags, const char *tag, void **writer,
                             cra_error *err);
cra_status cra_file_put_write(void *self, void *writer, cra_bytes bytes, cra_error *err);
cra_status cra_file_put_commit(void *self, void *writer, cra_blob_info *out, cra_error *err);
void cra_file_put_abort(void *self, void *writer);

#endif
