/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOG_FILE_H
#define LOG_FILE_H

/* A file of records, each whole or not there:
 *
 *   "LOG1" | kind | name size | content size | time | checksum of the rest | name | content
 *
 * Numbers are little-endian, the header is written last. A record at the end of the file that is cut or does not check
 * is no record: a process died while it appended. */

#include <crawlarchive/error.h>

enum { LOG_PUT = 1, LOG_REMOVE = 2 };

typedef struct log_record {
    unsigned kind;
    const char *name;
    size_t name_size;
    int64_t content_offset; /* in the file */
    int64_t content_size;
    cra_time_ms time;
} log_record;

/* Gets each record in order; `name` is borrowed. */
typedef cra_status (*log_visit_fn)(void *user, const log_record *record);

/* Open and lock the file. @return the descriptor, or -1 with `*status` */
int log_file_open(const char *path, unsigned open_flags, cra_status *status, cra_error *err);

/* Visit all records and set `*end` behind the last whole one. @return CRA_CORRUPT where one in the middle is damaged */
cra_status log_file_scan(int fd, const char *path, const cra_allocator *allocator, log_visit_fn visit, void *user,
                         int64_t *end, cra_error *err);

/* Append one record at `*end`, durably; `*end` moves on success only. `record` has kind, name and time; its
 * content_offset and content_size are filled. */
cra_status log_file_append(int fd, const char *path, int64_t *end, log_record *record, cra_bytes content,
                           cra_error *err);

#endif
