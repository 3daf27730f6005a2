/* SPDX-License-Identifier: Apache-2.0 */
#include "core/backoff.h"

void cra_backoff_init(cra_backoff *backoff, int64_t base_ms, int64_t cap_ms, int attempts, int64_t deadline_ms)
{
    const int64_t base = base_ms < 0 ? 0 : base_ms;
    const int64_t cap = cap_ms < base ? base : cap_ms;

    *backoff = (cra_backoff){base, cap, deadline_ms, attempts, base};
}

bool cra_backoff_next(cra_backoff *backoff, int64_t now_ms, uint64_t random, int64_t *out_delay_ms)
{
    if (backoff->attempts_left == 0 || now_ms >= backoff->deadline_ms)
        return false;

    const int64_t ceiling = backoff->ceiling_ms;
    const int64_t delay = (int64_t)(random % ((uint64_t)ceiling + 1));
    /* now < deadline: the difference cannot overflow where both are of one clock, which begins at 0 or above. */
    if (delay >= backoff->deadline_ms - (now_ms < 0 ? 0 : now_ms))
        return false;
    if (backoff->attempts_left > 0)
        backoff->attempts_left--;
    backoff->ceiling_ms = ceiling > backoff->cap_ms / 2 ? backoff->cap_ms : ceiling * 2;
    *out_delay_ms = delay;
    return true;
}
