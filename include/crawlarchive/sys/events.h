/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_SYS_EVENTS_H
#define CRAWLARCHIVE_SYS_EVENTS_H

/** @file sys/events.h
 * The events port: facts told to other systems, at least once.
 */

#include <crawlarchive/error.h>

CRA_BEGIN_DECLS

/** A guarded handle on an event sink. Shareable between threads. */
typedef struct cra_events cra_events;

/** One event. Borrowed for the call. */
typedef struct cra_event {
    size_t struct_size;
    const char *type;   /**< "run.archived", "run.restored", "document.expired", … */
    const char *key;    /**< "REPORT/RUN": events of one key keep their order */
    cra_time_ms time;   /**< when it happened, catalog time */
    cra_bytes data;     /**< one BSON document */
} cra_event;

/** The slots of an event sink. All are required. Each may be called from any thread. */
typedef struct cra_events_vtable {
    size_t struct_size;
    uint64_t features;
    /** Flush what can be flushed, close and free. */
    void (*close)(void *self);
    /** Accept one event, whole or not at all. It may still be lost until flush returns. */
    cra_status (*emit)(void *self, const cra_event *event, cra_error *err);
    /** Return when everything accepted so far is durable at its destination. */
    cra_status (*flush)(void *self, int64_t timeout_ms, cra_error *err);
} cra_events_vtable;

CRA_EXPORT cra_status cra_events_emit(cra_events *events, const cra_event *event, cra_error *err);
CRA_EXPORT cra_status cra_events_flush(cra_events *events, int64_t timeout_ms, cra_error *err);

CRA_END_DECLS

#endif
