/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_SUITE_EVENTS_H
#define CRA_SUITE_EVENTS_H

/* What every event sink must do, by the contract of <crawlarchive/sys/events.h>. */

#include <crawlarchive/sys/backend.h>

#include "conformance.h"

/* Gets one event that arrived, in the order of its key; borrowed. `data` is the event's document again, or empty
 * where the destination keeps another form of it. */
typedef void (*cra_events_visit_fn)(void *user, const cra_event *event);

typedef struct cra_events_fixture {
    void *user;
    /* Open a sink with an empty destination; the suite frees it before it asks for the next. */
    cra_status (*open_empty)(void *user, cra_events **out, cra_error *err);
    /* Open another handle on what the last open_empty() opened. */
    cra_status (*reopen)(void *user, cra_events **out, cra_error *err);
    /* Visit what is durable at the destination. */
    cra_status (*arrived)(void *user, cra_events_visit_fn visit, void *visit_user);
} cra_events_fixture;

/* @return the number of failed checks */
int cra_conformance_events(cra_conformance *t, const cra_events_fixture *fixture);

#endif
