/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/engine.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "os/thread.h"

#define ORIGIN "engine"

/* A blobstore that a route or a stored location led to. Entries live as long as the engine. */
struct opened_store {
    char *uri;
    cra_blobstore *store;
};

struct cra_engine {
    cra_context *context;
    const cra_config *config;
    unsigned flags;
    cra_engine *writable; /* where this one is a read-only second: the first; else NULL */
    cra_catalog *catalog;
    cra_docstore *docstore;
    cra_events *events; /* NULL where none are configured */
    cra_route_list routes;
    cra_mutex mutex; /* guards the list of stores */
    bool mutex_ready;
    struct opened_store *stores;
    size_t stores_count;
    size_t stores_capacity;
};

const cra_allocator *cra_engine_allocator(const cra_engine *engine)
{
    return cra_context_allocator(engine->context);
}

bool cra_engine_is_read_only(const cra_engine *engine)
{
    return (engine->flags & CRA_ENGINE_READ_ONLY) != 0;
}

const cra_route_list *cra_engine_routes(const cra_engine *engine)
{
    return engine->writable != NULL ? &engine->writable->routes : &engine->routes;
}

const char *cra_engine_run_field(const cra_engine *engine)
{
    return cra_config_text(engine->config, "hot.run_field");
}

cra_context *cra_engine_context(const cra_engine *engine)
{
    return engine->context;
}

const cra_config *cra_engine_config(const cra_engine *engine)
{
    return engine->config;
}

cra_catalog *cra_engine_catalog(const cra_engine *engine)
{
    return engine->catalog;
}

cra_docstore *cra_engine_docstore(const cra_engine *engine)
{
    return engine->docstore;
}

/* ---- opening ---------------------------------------------------------------------------------- */

static cra_status new_engine(cra_context *context, const cra_config *config, unsigned flags, cra_engine **out,
                             cra_error *err)
{
    const cra_allocator *allocator = cra_context_allocator(context);
    cra_engine *engine = cra_calloc(allocator, 1, sizeof(*engine));
    cra_status status;

    if (engine == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for the engine");
    engine->context = context;
    engine->config = config;
    engine->flags = flags;
    cra_route_list_init(&engine->routes, allocator);
    status = cra_mutex_init(&engine->mutex, err);
    if (status != CRA_OK) {
        cra_engine_free(engine);
        return status;
    }
    engine->mutex_ready = true;
    *out = engine;
    return CRA_OK;
}

static unsigned open_flags(unsigned engine_flags)
{
    return ((engine_flags & CRA_ENGINE_CREATE) != 0 ? CRA_OPEN_CREATE : 0u) |
           ((engine_flags & CRA_ENGINE_READ_ONLY) != 0 ? CRA_OPEN_READ_ONLY : 0u);
}

/* Arguments of an opener; the settings must be cleaned up. `section` NULL: no settings. */
static cra_status open_args(const cra_engine *engine, const char *uri, const char *section, cra_settings *settings,
                            cra_open_args *out, cra_error *err)
{
    memset(settings, 0, sizeof(*settings));
    memset(out, 0, sizeof(*out));
    out->struct_size = sizeof(*out);
    out->context = engine->context;
    out->uri = uri;
    out->flags = open_flags(engine->flags);
    if (section != NULL)
        CRA_TRY(cra_settings_collect(engine->config, section, cra_engine_allocator(engine), settings, err));
    out->settings = settings->items;
    out->settings_count = settings->count;
    return CRA_OK;
}

static cra_status require_uri(const cra_config *config, const char *key, const char **out, cra_error *err)
{
    *out = cra_config_text(config, key);
    if (*out != NULL && (*out)[0] != '\0')
        return CRA_OK;
    cra_error_set(err, CRA_INVALID, ORIGIN, "the configuration has no '%s'", key);
    cra_error_hint(err, "crawlarchive init writes a configuration to start from");
    return CRA_INVALID;
}

static cra_status open_catalog(cra_engine *engine, cra_error *err)
{
    cra_settings settings;
    cra_open_args args;
    const char *uri;
    cra_status status;

    CRA_TRY(require_uri(engine->config, "catalog.uri", &uri, err));
    CRA_TRY(open_args(engine, uri, "catalog.", &settings, &args, err));
    status = cra_catalog_open(&args, &engine->catalog, err);
    cra_settings_cleanup(&settings);
    return status;
}

static cra_status open_docstore(cra_engine *engine, cra_error *err)
{
    cra_settings settings;
    cra_open_args args;
    const char *uri;
    cra_status status;

    CRA_TRY(require_uri(engine->config, "hot.uri", &uri, err));
    CRA_TRY(open_args(engine, uri, "hot.", &settings, &args, err));
    status = cra_docstore_open(&args, &engine->docstore, err);
    cra_settings_cleanup(&settings);
    return status;
}

static cra_status open_events(cra_engine *engine, cra_error *err)
{
    const char *uri = cra_config_text(engine->config, "events.uri");
    cra_settings settings;
    cra_open_args args;
    cra_status status;

    if (uri == NULL || uri[0] == '\0' || cra_engine_is_read_only(engine))
        return CRA_OK;
    CRA_TRY(open_args(engine, uri, "events.", &settings, &args, err));
    status = cra_events_open(&args, &engine->events, err);
    cra_settings_cleanup(&settings);
    return status;
}

static cra_status open_stores(cra_engine *engine, cra_error *err)
{
    CRA_TRY(cra_config_routes(engine->config, &engine->routes, err));
    CRA_TRY(open_catalog(engine, err));
    CRA_TRY(open_docstore(engine, err));
    return open_events(engine, err);
}

/* `init` leaves behind stores that can be used: so those of the routes are made, too. */
static cra_status create_archives(cra_engine *engine, cra_error *err)
{
    for (size_t i = 0; i < engine->routes.count; i++) {
        cra_blobstore *store;
        CRA_TRY(cra_engine_blobstore(engine, engine->routes.entries[i].uri, &store, err));
    }
    return CRA_OK;
}

cra_status cra_engine_open(cra_context *context, const cra_config *config, unsigned flags, cra_engine **out,
                           cra_error *err)
{
    cra_engine *engine;
    cra_status status;

    if (out == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "no place for the engine was given");
    *out = NULL;
    if (context == NULL || config == NULL || (flags & ~(unsigned)(CRA_ENGINE_CREATE | CRA_ENGINE_READ_ONLY)) != 0)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "an engine needs a context, a configuration and known flags");
    CRA_TRY(new_engine(context, config, flags, &engine, err));
    status = open_stores(engine, err);
    if (status == CRA_OK && (flags & CRA_ENGINE_CREATE) != 0)
        status = create_archives(engine, err);
    if (status != CRA_OK) {
        cra_engine_free(engine);
        return status;
    }
    *out = engine;
    return CRA_OK;
}

cra_status cra_engine_read_only(cra_engine *engine, cra_engine **out, cra_error *err)
{
    cra_engine *second;
    cra_status status;

    *out = NULL;
    CRA_TRY(new_engine(engine->context, engine->config, CRA_ENGINE_READ_ONLY, &second, err));
    second->writable = engine;
    status = cra_catalog_read_only(engine->catalog, &second->catalog, err);
    if (status == CRA_OK)
        status = cra_docstore_read_only(engine->docstore, &second->docstore, err);
    if (status != CRA_OK) {
        cra_engine_free(second);
        return status;
    }
    *out = second;
    return CRA_OK;
}

void cra_engine_free(cra_engine *engine)
{
    const cra_allocator *allocator;

    if (engine == NULL)
        return;
    allocator = cra_engine_allocator(engine);
    for (size_t i = 0; i < engine->stores_count; i++) {
        cra_blobstore_free(engine->stores[i].store);
        cra_free(allocator, engine->stores[i].uri);
    }
    cra_free(allocator, engine->stores);
    cra_events_free(engine->events);
    cra_docstore_free(engine->docstore);
    cra_catalog_free(engine->catalog);
    cra_route_list_cleanup(&engine->routes);
    if (engine->mutex_ready)
        cra_mutex_destroy(&engine->mutex);
    cra_free(allocator, engine);
}

/* ---- blobstores ------------------------------------------------------------------------------- */

static cra_status open_blobstore(cra_engine *engine, const char *uri, cra_blobstore **out, cra_error *err)
{
    cra_settings settings;
    cra_open_args args;

    if (engine->writable != NULL) {
        cra_blobstore *first;
        CRA_TRY(cra_engine_blobstore(engine->writable, uri, &first, err));
        return cra_blobstore_read_only(first, out, err);
    }
    CRA_TRY(open_args(engine, uri, NULL, &settings, &args, err));
    return cra_blobstore_open(&args, out, err);
}

static cra_status add_store(cra_engine *engine, const char *uri, cra_blobstore **out, cra_error *err)
{
    const cra_allocator *allocator = cra_engine_allocator(engine);
    struct opened_store *slot;

    if (cra_array_grow(allocator, (void **)&engine->stores, &engine->stores_capacity, engine->stores_count + 1,
                       sizeof(*engine->stores)) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a store");
    slot = &engine->stores[engine->stores_count];
    slot->uri = cra_strdup(allocator, uri);
    if (slot->uri == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a store");
    const cra_status status = open_blobstore(engine, uri, &slot->store, err);
    if (status != CRA_OK) {
        cra_free(allocator, slot->uri);
        return status;
    }
    engine->stores_count++;
    *out = slot->store;
    return CRA_OK;
}

cra_status cra_engine_blobstore(cra_engine *engine, const char *uri, cra_blobstore **out, cra_error *err)
{
    cra_status status = CRA_OK;

    *out = NULL;
    cra_mutex_lock(&engine->mutex);
    for (size_t i = 0; i < engine->stores_count && *out == NULL; i++) {
        if (strcmp(engine->stores[i].uri, uri) == 0)
            *out = engine->stores[i].store;
    }
    if (*out == NULL)
        status = add_store(engine, uri, out, err);
    cra_mutex_unlock(&engine->mutex);
    return status;
}

/* ---- events ----------------------------------------------------------------------------------- */

static cra_status build_event(const cra_run_doc *run, cra_buf *out)
{
    size_t mark;

    CRA_TRY(cra_bson_begin(out, &mark));
    CRA_TRY(cra_bson_put_string(out, "report", run->report));
    CRA_TRY(cra_bson_put_string(out, "run", run->run));
    CRA_TRY(cra_bson_put_string(out, "state", cra_run_state_name((cra_run_state)run->state)));
    if (run->records >= 0)
        CRA_TRY(cra_bson_put_int64(out, "records", run->records));
    if (run->location != NULL)
        CRA_TRY(cra_bson_put_string(out, "location", run->location));
    return cra_bson_end(out, mark);
}

static cra_status emit(cra_engine *engine, const char *type, const cra_run_doc *run, cra_bytes data, cra_buf *key,
                       cra_buf *own, cra_error *err)
{
    cra_event event = {sizeof(event), type, NULL, CRA_TIME_NONE, data};

    CRA_TRY(cra_buf_appendf(key, "%s/%s", run->report, run->run));
    if (data.size == 0) {
        CRA_TRY(build_event(run, own));
        event.data = cra_buf_bytes(own);
    }
    event.key = cra_buf_cstr(key);
    if (event.key == NULL)
        return CRA_NOMEM;
    CRA_TRY(cra_catalog_now(engine->catalog, &event.time, err));
    return cra_events_emit(engine->events, &event, err);
}

void cra_engine_emit(cra_engine *engine, const char *type, const cra_run_doc *run, cra_bytes data)
{
    cra_buf key, own;
    cra_error error;

    if (engine->events == NULL)
        return;
    cra_error_clear(&error);
    cra_buf_init(&key, cra_engine_allocator(engine));
    cra_buf_init(&own, cra_engine_allocator(engine));
    if (emit(engine, type, run, data, &key, &own, &error) != CRA_OK)
        cra_log(engine->context, CRA_LOG_WARN, ORIGIN, "event %s of run %s/%s was not told: %s", type, run->report,
                run->run, error.message);
    cra_buf_cleanup(&own);
    cra_buf_cleanup(&key);
}
