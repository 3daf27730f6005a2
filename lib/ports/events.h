/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_PORTS_EVENTS_H
#define CRA_PORTS_EVENTS_H

/* The guard of the events port. */

#include <crawlarchive/sys/backend.h>

/* Check the event's own struct_size, type, key and data. @return CRA_INVALID */
CRA_MUST_CHECK cra_status cra_event_check(const cra_event *event, cra_error *err);

#endif
