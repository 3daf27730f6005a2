/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CORE_BACKOFF_H
#define CRA_CORE_BACKOFF_H

/* How long to wait before the next attempt: exponential with full jitter, so that workers that failed together do not
 * try again together. The caller brings randomness and clock. */

#include <crawlarchive/types.h>

/* Plain data; no cleanup. */
typedef struct cra_backoff {
    int64_t base_ms;     /* the first wait is at most this */
    int64_t cap_ms;      /* and none is longer */
    int64_t deadline_ms; /* on the caller's clock; INT64_MAX: none */
    int attempts_left;   /* waits still granted; negative: no limit */
    int64_t ceiling_ms;  /* of the next wait */
} cra_backoff;

/* `attempts` waits at most (negative: no limit), none of which ends at or behind the deadline. */
void cra_backoff_init(cra_backoff *backoff, int64_t base_ms, int64_t cap_ms, int attempts, int64_t deadline_ms);

/* The next wait, 0 to its ceiling, which doubles every time. `random` is any number, uniformly chosen.
 * @return false where it is time to give up */
bool cra_backoff_next(cra_backoff *backoff, int64_t now_ms, uint64_t random, int64_t *out_delay_ms);

#endif
