/* SPDX-License-Identifier: Apache-2.0 */
#include "ports/events.h"

#include "base/alloc.h"
#include "base/options.h"
#include "ports/backend.h"

#define ORIGIN "events"

struct cra_events {
    cra_context *context;
    cra_events_vtable vtable; /* a copy of the members this version knows */
    void *self;
};

cra_status cra_events_wrap(cra_context *context, const cra_events_vtable *vtable, void *self, cra_events **out,
                           cra_error *err)
{
    cra_events_vtable own = {.struct_size = sizeof own};

    *out = NULL;
    if (vtable == NULL || cra_options_read(&own, sizeof own, vtable) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend's vtable is not one that this version knows");
    if (own.close == NULL || own.emit == NULL || own.flush == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend lacks the required slot '%s'",
                             own.close == NULL  ? "close"
                             : own.emit == NULL ? "emit"
                                                : "flush");
    if (own.features != 0)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the backend has unknown feature bits 0x%llx",
                             (unsigned long long)own.features);

    cra_events *events = cra_malloc(cra_context_allocator(context), sizeof *events);
    if (events == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory while opening an event sink");
    *events = (cra_events){context, own, self};
    *out = events;
    return CRA_OK;
}

static bool offers(const cra_backend *backend)
{
    return backend->open_events != NULL;
}

cra_status cra_events_open(const cra_open_args *args, cra_events **out, cra_error *err)
{
    *out = NULL;
    const cra_backend *backend = cra_backend_for_args(args, err);
    if (backend == NULL)
        return CRA_INVALID;
    if (!offers(backend))
        return cra_backend_not_offered(args->context, backend, "place for events", offers, err);
    if ((args->flags & CRA_OPEN_READ_ONLY) != 0)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "an event sink cannot be opened for reading only");

    const cra_events_vtable *vtable = NULL;
    void *self = NULL;
    cra_status status = backend->open_events(args, &vtable, &self, err);
    if (status != CRA_OK)
        return status;
    status = cra_events_wrap(args->context, vtable, self, out, err);
    if (status != CRA_OK && vtable != NULL && vtable->close != NULL)
        vtable->close(self);
    return status;
}

void cra_events_free(cra_events *events)
{
    if (events == NULL)
        return;
    events->vtable.close(events->self);
    cra_free(cra_context_allocator(events->context), events);
}

cra_status cra_event_check(const cra_event *event, cra_error *err)
{
    if (event == NULL || cra_options_check(event, sizeof *event) != CRA_OK || event->struct_size < sizeof *event)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "cra_event.struct_size is not the one of this version");
    if (event->type == NULL || event->type[0] == '\0' || event->key == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "an event needs a type and a key");
    /* The smallest document: its length and its end. */
    if (event->data.data == NULL || event->data.size < 5)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the data of event '%.60s' is no document", event->type);
    return CRA_OK;
}

cra_status cra_events_emit(cra_events *events, const cra_event *event, cra_error *err)
{
    const cra_status status = cra_event_check(event, err);

    return status != CRA_OK ? status : events->vtable.emit(events->self, event, err);
}

cra_status cra_events_flush(cra_events *events, int64_t timeout_ms, cra_error *err)
{
    return events->vtable.flush(events->self, timeout_ms, err);
}
