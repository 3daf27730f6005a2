/* SPDX-License-Identifier: Apache-2.0 */
#include "os/clock.h"

#include <errno.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec now;

    /* Cannot fail for these two clocks. */
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

cra_time_ms cra_os_wall_ms(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t cra_os_monotonic_ms(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

void cra_os_sleep_ms(int64_t duration_ms)
{
    if (duration_ms <= 0)
        return;

    struct timespec left = {(time_t)(duration_ms / 1000), (long)(duration_ms % 1000) * 1000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
    }
}
