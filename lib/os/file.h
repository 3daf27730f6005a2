/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OS_FILE_H
#define CRA_OS_FILE_H

/* Files of the local machine: whole reads, durable writes, folders, spools. Every failure names the path and what
 * the system said. Nothing here follows the rule of any store: those are in backends/. */

#include <crawlarchive/error.h>

/* The failure of `verb` ("open", "write", "make the folder") on `path` with an errno: fills `err`, hints at the
 * remedy where there is one. @return the status of the errno */
cra_status cra_file_error(cra_error *err, int errno_value, const char *verb, const char *path);

/* Write all of `size` bytes, through short writes and signals. @return 0 or the errno */
int cra_fd_write(int fd, const void *data, size_t size);

/* Append up to `size` bytes from `offset` to `out`; fewer only at the end of the file. @return 0 or the errno;
 * ENOMEM also where `out` cannot grow */
int cra_fd_pread(int fd, int64_t offset, size_t size, cra_buf *out);

/* Append a whole file to `out`. @return CRA_NOT_FOUND, CRA_DENIED, CRA_INVALID (larger than `max_bytes`), … */
CRA_MUST_CHECK cra_status cra_file_read(const char *path, int64_t max_bytes, cra_buf *out, cra_error *err);

/* Replace `path` with `content`, whole and durable: after a crash there is the old file or the new one. */
CRA_MUST_CHECK cra_status cra_file_write_atomic(const char *path, cra_bytes content, unsigned mode,
                                                const cra_allocator *allocator, cra_error *err);

/* Make the entries of a folder durable. */
CRA_MUST_CHECK cra_status cra_folder_sync(const char *path, cra_error *err);

/* Make a folder and those above it that are missing, durably; already there is success. */
CRA_MUST_CHECK cra_status cra_folder_make(const char *path, const cra_allocator *allocator, cra_error *err);

/* A file for what does not fit in memory. */
typedef struct cra_spool {
    int fd;
    char *path; /* NULL where the file has no name any more */
    const cra_allocator *allocator;
} cra_spool;

enum {
    CRA_SPOOL_NAMED = 1 /* keep the name: the file outlives the process until cra_spool_remove() */
};

/* Make an empty file, readable by its owner alone, in `folder` (NULL: $TMPDIR, else /tmp). Without CRA_SPOOL_NAMED
 * it vanishes with its last descriptor, however the process ends. */
CRA_MUST_CHECK cra_status cra_spool_open(const char *folder, unsigned flags, const cra_allocator *allocator,
                                         cra_spool *out, cra_error *err);
/* Close it; a named one stays. Legal on a zeroed struct with fd -1. */
void cra_spool_close(cra_spool *spool);
/* Close and remove it. */
void cra_spool_remove(cra_spool *spool);

#endif
