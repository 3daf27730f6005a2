/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_ERROR_H
#define CRAWLARCHIVE_ERROR_H

/** @file error.h
 * The caller-owned error: of fixed size, nullable in every call, needing no allocation.
 */

#include <crawlarchive/types.h>

CRA_BEGIN_DECLS

/** What went wrong, for a program (`status`, `native_code`) and for a person (`message`, `hint`).
 *
 * A call that succeeds leaves it untouched. The lowest error travels unmasked: one line, naming the
 * thing, without the prefixes of every layer it passed.
 */
typedef struct cra_error {
    cra_status status;
    int32_t native_code; /**< errno, SQLite or server code; 0 where there is none */
    char origin[24];     /**< which part speaks: "sqlite", "file", "avro", "config", … */
    char message[512];   /**< one line, NUL-terminated, no trailing newline */
    char hint[192];      /**< the next step for the user, or "" */
} cra_error;

/** Make `err` (nullable) empty. */
CRA_EXPORT void cra_error_clear(cra_error *err);

/** Fill `err` (nullable) and return `status`, so that a failure is one statement.
 *
 * @param origin  the part that failed, at most 23 bytes are kept
 * @param format  printf format of the message; control characters in the result are escaped
 */
CRA_EXPORT cra_status cra_error_set(cra_error *err, cra_status status, const char *origin, const char *format, ...)
    CRA_PRINTF(4, 5);

/** The same with the native code of the failed call (errno, SQLite result code, server code). */
CRA_EXPORT cra_status cra_error_set_native(cra_error *err, cra_status status, int32_t native_code, const char *origin,
                                           const char *format, ...) CRA_PRINTF(5, 6);

/* What is returned is what was given: said in a way that the compiler sees, so that it follows failures through a
 * caller. `status` is evaluated twice. */
static inline cra_status cra_status_given(cra_status status)
{
    return status;
}
#define cra_error_set(err, status, ...) ((void)cra_error_set(err, status, __VA_ARGS__), cra_status_given(status))
#define cra_error_set_native(err, status, ...)                                                                        \
    ((void)cra_error_set_native(err, status, __VA_ARGS__), cra_status_given(status))

/** Add the next step for the user to a filled `err` (nullable). */
CRA_EXPORT void cra_error_hint(cra_error *err, const char *format, ...) CRA_PRINTF(2, 3);

/** Map an errno to a status (ENOENT to NOT_FOUND, EACCES and EROFS to DENIED, ENOSPC to IO, …). */
CRA_EXPORT cra_status cra_status_from_errno(int errno_value);

/** Whether the same call may succeed later: TIMEOUT, UNAVAILABLE, LOCKED. */
CRA_EXPORT bool cra_error_is_retryable(const cra_error *err);

CRA_END_DECLS

#endif
