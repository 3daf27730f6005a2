/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_EXEC_HEARTBEAT_H
#define CRA_EXEC_HEARTBEAT_H

/* A beat at an interval from a thread of its own, so that work never starves it: renewing a lease, reporting
 * progress. */

#include <crawlarchive/error.h>

typedef struct cra_heartbeat cra_heartbeat;

/* One beat. A status other than CRA_OK ends the beating and is remembered. */
typedef cra_status (*cra_beat_fn)(void *user, cra_error *err);

typedef struct cra_heartbeat_options {
    int64_t interval_ms; /* above 0 */
    cra_beat_fn beat;
    void *user;
    /* A monotonic clock to beat by; NULL for the machine's. A clock that is lent is looked at every few
     * milliseconds, because nobody tells when it moves. */
    int64_t (*monotonic_ms)(void *clock_user);
    void *clock_user;
} cra_heartbeat_options;

/* Start beating: the first beat comes one interval from now. Beats that are late are not made up for.
 * @return CRA_INVALID, CRA_NOMEM, CRA_UNAVAILABLE */
CRA_MUST_CHECK cra_status cra_heartbeat_start(const cra_heartbeat_options *options, const cra_allocator *allocator,
                                              cra_heartbeat **out, cra_error *err);

/* What the beats came to so far: CRA_OK, or the status and error of the one that ended them. Thread-safe. */
cra_status cra_heartbeat_status(cra_heartbeat *heartbeat, cra_error *err);

/* Beats that returned so far. Thread-safe. */
int64_t cra_heartbeat_count(cra_heartbeat *heartbeat);

/* End promptly (a beat that runs is waited for) and free; not from inside a beat; NULL is legal and CRA_OK.
 * @return as cra_heartbeat_status() */
cra_status cra_heartbeat_stop(cra_heartbeat *heartbeat, cra_error *err);

#endif
