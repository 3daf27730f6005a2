/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_CONTEXT_H
#define CRAWLARCHIVE_CONTEXT_H

/** @file context.h
 * The context: what the embedding program lends to the library (memory, clock, log, progress, cancel).
 */

#include <crawlarchive/error.h>

CRA_BEGIN_DECLS

/** Everything shared by the objects made from it; must outlive them. Thread-safe. */
typedef struct cra_context cra_context;

/** The clocks. A NULL member means the machine's. Callable from any thread. */
typedef struct cra_clock {
    cra_time_ms (*wall_ms)(void *user);                   /**< time of day, UTC */
    int64_t (*monotonic_ms)(void *user);                  /**< never steps; its zero means nothing */
    void (*sleep_ms)(void *user, int64_t duration_ms);    /**< may return early */
    void *user;
} cra_clock;

typedef enum cra_log_level { CRA_LOG_ERROR = 0, CRA_LOG_WARN = 1, CRA_LOG_INFO = 2, CRA_LOG_DEBUG = 3 } cra_log_level;

/** Receives one finished line without newline; secrets are already redacted. Called from any thread. */
typedef void (*cra_log_fn)(void *user, cra_log_level level, const char *origin, const char *message);

/** What a long operation reports. Strings are borrowed for the call. */
typedef struct cra_progress {
    size_t struct_size;
    const char *operation;   /**< "archive", "verify", "sweep", "restore", "import" */
    const char *phase;       /**< "indexes", "read", "verify", "delete", … */
    const char *report;
    const char *run;
    int64_t records;         /**< done so far */
    int64_t records_total;   /**< -1 where unknown */
    int64_t bytes;           /**< BSON bytes done so far */
    double rate;             /**< records a second since the last report, 0 at first */
    int64_t eta_ms;          /**< -1 where unknown */
    const char *checkpoint;  /**< where a restart would resume, for people */
    bool moved;              /**< whether anything advanced since the last heartbeat */
    bool heartbeat;          /**< true from the heartbeat thread (every `heartbeat_ms`), false for a finer step */
} cra_progress;

/** Receives progress; a non-zero return asks the operation to stop at the end of its batch (CANCELLED).
 *  Called from the heartbeat thread of the operation, never from two threads at once for one run. */
typedef int (*cra_progress_fn)(void *user, const cra_progress *progress);

typedef struct cra_context_options {
    size_t struct_size;
    const cra_allocator *allocator; /**< copied; NULL for the C library's */
    const cra_clock *clock;         /**< copied; NULL for the machine's */
    cra_log_fn log;                 /**< NULL: nothing is logged, nothing is ever printed */
    void *log_user;
    cra_log_level log_level;        /**< the most detailed level that is passed on */
    cra_progress_fn progress;       /**< NULL: none */
    void *progress_user;
} cra_context_options;

#define CRA_CONTEXT_OPTIONS_INIT \
    { sizeof(cra_context_options), NULL, NULL, NULL, NULL, CRA_LOG_WARN, NULL, NULL }

/** Make a context with every built-in backend registered.
 *
 * @param options  NULL for the defaults; a larger struct than known is accepted only if its extra bytes are zero
 * @param out      receives the context, to be freed with cra_context_free(); NULL on failure
 * @return CRA_INVALID, CRA_NOMEM
 */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_context_new(const cra_context_options *options, cra_context **out,
                                                     cra_error *err);

/** Free a context after everything made from it; NULL is legal. */
CRA_EXPORT void cra_context_free(cra_context *context);

/** Ask every operation of the context to stop at the end of its batch. Async-signal-safe, thread-safe. */
CRA_EXPORT void cra_cancel_request(cra_context *context);

/** Whether a stop was asked for. Async-signal-safe, thread-safe. */
CRA_EXPORT bool cra_cancel_requested(const cra_context *context);

/** Forget an earlier request, so that the context can be used again. Thread-safe. */
CRA_EXPORT void cra_cancel_reset(cra_context *context);

/** The context's allocator, borrowed; for backends, which must allocate through it. */
CRA_EXPORT const cra_allocator *cra_context_allocator(const cra_context *context);

/** The context's wall clock, in milliseconds since the epoch. Thread-safe. */
CRA_EXPORT cra_time_ms cra_context_wall_ms(const cra_context *context);

/** The context's monotonic clock, in milliseconds. Deadlines of ports are in this clock. Thread-safe. */
CRA_EXPORT int64_t cra_context_monotonic_ms(const cra_context *context);

/** Sleep on the context's clock; returns early when a stop is asked for. Thread-safe. */
CRA_EXPORT void cra_context_sleep_ms(const cra_context *context, int64_t duration_ms);

/** Log one line through the context's callback. Thread-safe. */
CRA_EXPORT void cra_log(const cra_context *context, cra_log_level level, const char *origin, const char *format, ...)
    CRA_PRINTF(4, 5);

CRA_END_DECLS

#endif
