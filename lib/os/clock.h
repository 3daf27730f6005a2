/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OS_CLOCK_H
#define CRA_OS_CLOCK_H

/* The machine's clocks. Only the context reads them; everything else asks the context, so that a test can lend
 * its own. */

#include <crawlarchive/types.h>

/* Time of day, UTC. */
cra_time_ms cra_os_wall_ms(void);

/* Never steps; its zero means nothing. */
int64_t cra_os_monotonic_ms(void);

/* Sleeps the whole duration, also across signals; negative is nothing. */
void cra_os_sleep_ms(int64_t duration_ms);

#endif
