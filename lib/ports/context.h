/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_PORTS_CONTEXT_H
#define CRA_PORTS_CONTEXT_H

/* Inside of the context; everyone but ports/ and the progress callers in ops/ uses the public functions. */

#include <stdatomic.h>

#include <crawlarchive/context.h>
#include <crawlarchive/sys/backend.h>

struct cra_context {
    cra_allocator allocator;
    cra_clock clock; /* no member is NULL */
    cra_log_fn log;
    void *log_user;
    cra_log_level log_level;
    cra_progress_fn progress;
    void *progress_user;
    atomic_int cancelled;
    cra_backend **backends; /* each of its own allocation, so that a pointer handed out stays valid */
    size_t backends_count;
    size_t backends_capacity;
};

/* cra_context_new() without the built-in backends: what a test of one layer needs. */
CRA_MUST_CHECK cra_status cra_context_new_bare(const cra_context_options *options, cra_context **out, cra_error *err);

/* Hand `progress` to the embedding program. @return CRA_CANCELLED where it asks to stop, or a stop was asked for */
CRA_MUST_CHECK cra_status cra_context_report(cra_context *context, const cra_progress *progress);

/* CRA_CANCELLED with the message for it where a stop was asked for, else CRA_OK. */
CRA_MUST_CHECK cra_status cra_context_check_cancel(const cra_context *context, cra_error *err);

#endif
