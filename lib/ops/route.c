/* SPDX-License-Identifier: Apache-2.0 */
#include <crawlarchive/route.h>

#include <stdio.h>

#include "base/buf.h"
#include "ops/archive_set.h"

#define ORIGIN "route"

static cra_status tell(cra_engine *engine, const cra_run_doc *run, cra_route_visit_fn visit, void *user, cra_error *err)
{
    const cra_route_list *routes = cra_engine_routes(engine);
    cra_archive_set set;
    cra_route route = {.struct_size = sizeof(route)};
    char name[160];
    cra_status status = cra_archive_set_locate(engine, run, &set, err);

    if (status == CRA_OK) {
        const char *until = routes->entries[cra_route_list_choose(routes, run->run)].until;
        if (run->location != NULL)
            snprintf(name, sizeof(name), "stored");
        else if (until == NULL)
            snprintf(name, sizeof(name), "default");
        else
            snprintf(name, sizeof(name), "until %s", until);
        route.uri = set.location;
        route.store = set.store_uri;
        route.name = name;
        status = visit(user, &route);
    }
    cra_archive_set_cleanup(&set);
    return status;
}

/* A run that is not registered has a route all the same: other writers ask before the run begins. */
static cra_status find_run(cra_engine *engine, const char *report, const char *run, cra_run_doc *out, cra_error *err)
{
    const cra_allocator *allocator = cra_engine_allocator(engine);
    cra_error why = {0};
    const cra_status status = cra_catalog_run_get(cra_engine_catalog(engine), report, run, out, &why);

    if (status == CRA_OK)
        return CRA_OK;
    cra_run_doc_init(out);
    if (status != CRA_NOT_FOUND) {
        if (err != NULL)
            *err = why;
        return status;
    }
    if (cra_run_doc_set_text(&out->report, report, allocator) != CRA_OK ||
        cra_run_doc_set_text(&out->run, run, allocator) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a route");
    return CRA_OK;
}

cra_status cra_route_of(cra_engine *engine, const char *report, const char *run, cra_route_visit_fn visit, void *user,
                        cra_error *err)
{
    cra_run_doc doc;
    cra_status status;

    if (engine == NULL || report == NULL || run == NULL || visit == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "a route needs an engine, a report, a run and a visitor");
    status = find_run(engine, report, run, &doc, err);
    if (status == CRA_OK)
        status = tell(engine, &doc, visit, user, err);
    cra_run_doc_cleanup(&doc, cra_engine_allocator(engine));
    return status;
}

static cra_status put_route(cra_buf *out, size_t index, const cra_route_entry *entry)
{
    char name[24];
    size_t mark;

    snprintf(name, sizeof(name), "%zu", index);
    CRA_TRY(cra_bson_put_begin(out, name, CRA_BSON_DOCUMENT, &mark));
    if (entry->until != NULL)
        CRA_TRY(cra_bson_put_string(out, "until", entry->until));
    else
        CRA_TRY(cra_bson_put_null(out, "until"));
    CRA_TRY(cra_bson_put_string(out, "uri", entry->uri));
    return cra_bson_end(out, mark);
}

static cra_status build(cra_engine *engine, cra_buf *out)
{
    const cra_route_list *routes = cra_engine_routes(engine);
    const char *pattern = cra_config_text(cra_engine_config(engine), "archive.template");
    size_t mark, list;

    CRA_TRY(cra_bson_begin(out, &mark));
    CRA_TRY(cra_bson_put_int64(out, "version", 1));
    CRA_TRY(cra_bson_put_string(out, "template", pattern != NULL ? pattern : "{report}/{run}"));
    CRA_TRY(cra_bson_put_begin(out, "routes", CRA_BSON_ARRAY, &list));
    for (size_t i = 0; i < routes->count; i++)
        CRA_TRY(put_route(out, i, &routes->entries[i]));
    CRA_TRY(cra_bson_end(out, list));
    return cra_bson_end(out, mark);
}

cra_status cra_route_export(cra_engine *engine, cra_buf *out, cra_error *err)
{
    cra_buf document;
    cra_status status;

    if (engine == NULL || out == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "an engine and a buffer are needed");
    cra_buf_init(&document, cra_engine_allocator(engine));
    status = build(engine, &document);
    if (status == CRA_OK)
        status = cra_bson_to_json(cra_buf_bytes(&document), CRA_JSON_RELAXED, out, err);
    cra_buf_cleanup(&document);
    if (status == CRA_NOMEM)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for the routes");
    return status;
}
