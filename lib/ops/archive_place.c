/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/archive_place.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

static const cra_allocator *allocator_of(const cra_archive_set *set)
{
    return cra_engine_allocator(set->engine);
}

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "archive", "out of memory");
}

/* Append the URI of a run's folder: the store's, with the folder behind its path and before its parameters. */
static cra_status append_location(cra_buf *out, const char *store_uri, const char *folder)
{
    const size_t path_size = strcspn(store_uri, "?");

    CRA_TRY(cra_buf_append(out, store_uri, path_size));
    if (path_size > 0 && store_uri[path_size - 1] != '/' && folder[0] != '\0')
        CRA_TRY(cra_buf_append_str(out, "/"));
    for (const char *at = folder; *at != '\0'; at++) {
        /* Names hold %XX of their own; in a URI these are texts. */
        CRA_TRY(*at == '%' ? cra_buf_append_str(out, "%25") : cra_buf_append_byte(out, (uint8_t)*at));
    }
    if (out->size > 0 && out->data[out->size - 1] == '/' && folder[0] != '\0')
        out->size--;
    return cra_buf_append_str(out, store_uri + path_size);
}

cra_status cra_archive_set_place(cra_archive_set *set, const char *store_uri, const char *folder, cra_error *err)
{
    cra_buf location;

    cra_free(allocator_of(set), set->store_uri);
    cra_free(allocator_of(set), set->folder);
    cra_free(allocator_of(set), set->location);
    set->location = NULL;
    set->store_uri = cra_strdup(allocator_of(set), store_uri);
    set->folder = cra_strdup(allocator_of(set), folder);
    cra_buf_init(&location, allocator_of(set));
    if (set->store_uri != NULL && set->folder != NULL && append_location(&location, store_uri, folder) == CRA_OK)
        set->location = cra_buf_detach_cstr(&location);
    cra_buf_cleanup(&location);
    if (set->location == NULL)
        return no_memory(err);
    return cra_engine_blobstore(set->engine, store_uri, &set->store, err);
}

const char *cra_archive_folder_template(const cra_archive_set *set)
{
    const char *pattern = cra_config_text(cra_engine_config(set->engine), "archive.template");
    return pattern != NULL ? pattern : "{report}/{run}";
}

cra_status cra_archive_run_folder(const cra_archive_set *set, cra_buf *out, cra_error *err)
{
    CRA_TRY(cra_naming_folder(cra_archive_folder_template(set), set->run.report, set->run.run, out, err));
    return cra_buf_cstr(out) != NULL ? CRA_OK : no_memory(err);
}

/* The stored location: below a route's store where one fits, else a store of its own. */
static cra_status place_stored(cra_archive_set *set, const char *folder, cra_error *err)
{
    const cra_route_list *routes = cra_engine_routes(set->engine);

    for (size_t i = 0; i < routes->count; i++) {
        cra_buf uri;

        cra_buf_init(&uri, allocator_of(set));
        const cra_status status = append_location(&uri, routes->entries[i].uri, folder);
        const char *text = status == CRA_OK ? cra_buf_cstr(&uri) : NULL;
        const bool same = text != NULL && strcmp(text, set->run.location) == 0;
        cra_buf_cleanup(&uri);
        if (text == NULL)
            return no_memory(err);
        if (same)
            return cra_archive_set_place(set, routes->entries[i].uri, folder, err);
    }
    return cra_archive_set_place(set, set->run.location, "", err);
}

void cra_archive_set_init(cra_archive_set *set, cra_engine *engine)
{
    memset(set, 0, sizeof *set);
    set->engine = engine;
    cra_run_doc_init(&set->run);
    cra_manifest_init(&set->manifest, cra_engine_allocator(engine));
    cra_field_map_init(&set->fields, cra_engine_allocator(engine));
    set->manifest.distinct_ids = -1;
}

cra_status cra_archive_set_locate(cra_engine *engine, const cra_run_doc *run, cra_archive_set *out, cra_error *err)
{
    cra_buf folder;

    cra_archive_set_init(out, engine);
    if (cra_run_doc_copy(&out->run, run, allocator_of(out)) != CRA_OK)
        return no_memory(err);
    out->filter_by_run = !cra_naming_has_run(cra_archive_folder_template(out));
    cra_buf_init(&folder, allocator_of(out));
    cra_status status = cra_archive_run_folder(out, &folder, err);
    if (status == CRA_OK && run->location != NULL) {
        status = place_stored(out, (const char *)folder.data, err);
    } else if (status == CRA_OK) {
        const cra_route_list *routes = cra_engine_routes(engine);
        status = cra_archive_set_place(out, routes->entries[cra_route_list_choose(routes, run->run)].uri,
                           (const char *)folder.data, err);
    }
    cra_buf_cleanup(&folder);
    return status;
}
