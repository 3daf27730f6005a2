/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_TYPES_H
#define CRAWLARCHIVE_TYPES_H

/** @file types.h
 * Statuses, times, byte views, the allocator and the growable buffer that every other header uses.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <crawlarchive/export.h>

CRA_BEGIN_DECLS

/** What a call came to: 0 is success, 1 the end of an iteration, negative a failure. */
typedef enum cra_status {
    CRA_OK = 0,
    CRA_DONE = 1,          /**< an iteration has no further element */
    CRA_INVALID = -1,      /**< an argument, option or configuration value is wrong */
    CRA_NOMEM = -2,        /**< the allocator returned NULL */
    CRA_NOT_FOUND = -3,    /**< the thing named does not exist */
    CRA_EXISTS = -4,       /**< the thing to be created is already there */
    CRA_CONFLICT = -5,     /**< a compare-and-set lost, or the state does not allow it */
    CRA_LOCKED = -6,       /**< another worker holds the lease, or ours was lost */
    CRA_DENIED = -7,       /**< permission or credentials refused */
    CRA_UNSUPPORTED = -8,  /**< the backend or build cannot do this */
    CRA_CORRUPT = -9,      /**< stored bytes are not what they claim; truncated data too */
    CRA_IO = -10,          /**< the operating system or a store failed */
    CRA_TIMEOUT = -11,     /**< no answer before the deadline */
    CRA_UNAVAILABLE = -12, /**< the store cannot be reached or is busy; try again */
    CRA_CANCELLED = -13,   /**< cra_cancel_request() or a callback asked to stop */
    CRA_PARTIAL = -14,     /**< some items failed; the result says which */
    CRA_INTERNAL = -15     /**< a defect of this library */
} cra_status;

/** Name of a status in lower case, as JSON output uses it ("not_found"); never NULL. */
CRA_EXPORT const char *cra_status_name(cra_status status);

/** Exit code that the command gives for a status (see crawlarchive(1)). */
CRA_EXPORT int cra_status_exit_code(cra_status status);

/** Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted. */
typedef int64_t cra_time_ms;

/** "No such time": a date that was never set. */
#define CRA_TIME_NONE INT64_MIN

/** A borrowed view of bytes; `data` may be NULL only where `size` is 0. */
typedef struct cra_bytes {
    const uint8_t *data;
    size_t size;
} cra_bytes;

/** Memory functions of the embedding program; each gets `user` first.
 *
 * Semantics are those of malloc, realloc and free; `malloc` and `realloc` return NULL when memory
 * runs out, which the library reports as CRA_NOMEM. They must be callable from any thread.
 */
typedef struct cra_allocator {
    void *(*malloc_fn)(void *user, size_t size);
    void *(*realloc_fn)(void *user, void *ptr, size_t size);
    void (*free_fn)(void *user, void *ptr);
    void *user;
} cra_allocator;

/** A growable byte buffer owned by the core; backends append to it and never free it.
 *
 * Initialise with cra_buf_init(), release with cra_buf_cleanup(). Not thread-safe.
 */
typedef struct cra_buf {
    uint8_t *data;
    size_t size;
    size_t capacity;
    const cra_allocator *allocator; /**< borrowed; NULL means the C library's */
} cra_buf;

/** Make `buf` an empty buffer whose memory comes from `allocator` (borrowed, NULL for the C library's). */
CRA_EXPORT void cra_buf_init(cra_buf *buf, const cra_allocator *allocator);

/** Free the memory of `buf` and leave it empty and reusable. */
CRA_EXPORT void cra_buf_cleanup(cra_buf *buf);

/** Make room for `extra` more bytes; CRA_NOMEM when there is none, the content is then unchanged. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_buf_reserve(cra_buf *buf, size_t extra);

/** Append `size` bytes; CRA_NOMEM when there is no room, the content is then unchanged. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_buf_append(cra_buf *buf, const void *data, size_t size);

/** A NUL-terminated string of `buf`'s content: the terminator is not counted in `size`; NULL on no memory. */
CRA_EXPORT const char *cra_buf_cstr(cra_buf *buf);

CRA_END_DECLS

#endif
