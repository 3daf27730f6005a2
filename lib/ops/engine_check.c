/* SPDX-License-Identifier: Apache-2.0 */

/* `config check`: every store that the configuration names, opened and tried. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "ops/engine.h"
#include "os/entropy.h"

#define ORIGIN "check"
/* More than this, and logs of several machines cannot be read side by side. */
#define SKEW_NOTED_MS 2000
/* More than this, and signed requests are refused. */
#define SKEW_REFUSED_MS (5 * 60 * 1000)
/* Collections whose indexes are looked at. */
#define COLLECTIONS_MAX 32

struct checker {
    cra_context *context;
    const cra_config *config;
    cra_check_fn each;
    void *user;
    size_t bad;
};

static void CRA_PRINTF(5, 6)
    tell(struct checker *checker, const char *store, const char *uri, bool ok, const char *format, ...)
{
    char redacted[512], detail[700];
    const cra_check check = {sizeof(check), store, redacted, ok, detail};
    va_list args;

    cra_engine_redact(uri != NULL ? uri : "", redacted, sizeof(redacted));
    va_start(args, format);
    vsnprintf(detail, sizeof(detail), format, args);
    va_end(args);
    checker->bad += !ok;
    checker->each(checker->user, &check);
}

static void tell_error(struct checker *checker, const char *store, const char *uri, const cra_error *error)
{
    tell(checker, store, uri, false, "%s%s%s", error->message, error->hint[0] != '\0' ? ": " : "", error->hint);
}

/* Arguments of an opener over a section's settings, which must be cleaned up. NULL where there is no URI. */
static const char *open_args(struct checker *checker, const char *store, const char *key, const char *section,
                             cra_settings *settings, cra_open_args *out)
{
    const char *uri = cra_config_text(checker->config, key);
    cra_error error = {0};

    memset(settings, 0, sizeof(*settings));
    if (uri == NULL || uri[0] == '\0') {
        tell(checker, store, NULL, false, "the configuration has no '%s'", key);
        return NULL;
    }
    if (cra_settings_collect(checker->config, section, cra_context_allocator(checker->context), settings, &error) !=
        CRA_OK) {
        tell_error(checker, store, uri, &error);
        return NULL;
    }
    *out = (cra_open_args){sizeof(*out), checker->context, uri, 0, settings->items, settings->count};
    return uri;
}

/* ---- catalog ---------------------------------------------------------------------------------- */

static cra_status try_catalog(struct checker *checker, cra_catalog *catalog, int64_t *skew_ms, cra_error *err)
{
    static const uint8_t empty[] = {5, 0, 0, 0, 0};
    cra_time_ms now;

    CRA_TRY(cra_catalog_now(catalog, &now, err));
    *skew_ms = cra_context_wall_ms(checker->context) - now;
    return cra_catalog_summary_put(catalog, "check", cra_bytes_of(empty, sizeof(empty)), err);
}

static void tell_catalog(struct checker *checker, const char *uri, int64_t skew_ms)
{
    const int64_t apart = skew_ms < 0 ? -skew_ms : skew_ms;

    if (apart <= SKEW_NOTED_MS)
        tell(checker, "catalog", uri, true, "reads and writes");
    else
        tell(checker, "catalog", uri, apart <= SKEW_REFUSED_MS,
             "reads and writes; this machine's clock is %" PRId64 " ms %s the catalog's", apart,
             skew_ms > 0 ? "ahead of" : "behind");
}

static void check_catalog(struct checker *checker)
{
    cra_settings settings;
    cra_open_args args;
    cra_catalog *catalog = NULL;
    cra_error error = {0};
    int64_t skew_ms = 0;
    const char *uri = open_args(checker, "catalog", "catalog.uri", "catalog.", &settings, &args);

    if (uri == NULL)
        return;
    if (cra_catalog_open(&args, &catalog, &error) != CRA_OK ||
        try_catalog(checker, catalog, &skew_ms, &error) != CRA_OK)
        tell_error(checker, "catalog", uri, &error);
    else
        tell_catalog(checker, uri, skew_ms);
    cra_catalog_free(catalog);
    cra_settings_cleanup(&settings);
}

/* ---- hot store -------------------------------------------------------------------------------- */

/* Distinct collections of registered runs, as concatenated texts with their terminators. */
struct collections {
    cra_buf names;
    size_t count;
};

static cra_status add_collection(void *user, const cra_run_doc *run)
{
    struct collections *found = user;

    if (run->collection == NULL)
        return CRA_OK;
    for (size_t at = 0; at < found->names.size; at += strlen((const char *)found->names.data + at) + 1) {
        if (strcmp((const char *)found->names.data + at, run->collection) == 0)
            return CRA_OK;
    }
    CRA_TRY(cra_buf_append(&found->names, run->collection, strlen(run->collection) + 1));
    return ++found->count < COLLECTIONS_MAX ? CRA_OK : CRA_DONE;
}

static bool begins_with_field(cra_bytes spec, const char *field)
{
    cra_value key;
    cra_bson_iter iter;
    cra_bson_element element;

    return cra_bson_find(spec, "key", 3, &key) == CRA_OK &&
           cra_bson_iter_init(&iter, cra_value_document(key), NULL) == CRA_OK &&
           cra_bson_iter_next(&iter, &element, NULL) == CRA_OK && strcmp(element.name, field) == 0;
}

/* Whether records of one run are found without reading the others. A collection that is not there needs nothing. */
static cra_status has_run_index(struct checker *checker, cra_docstore *docstore, const char *collection, bool *out,
                                cra_error *err)
{
    const char *field = cra_config_text(checker->config, "hot.run_field");
    cra_error why = {0};
    cra_bytes stream, spec;
    cra_buf list;
    size_t count;
    cra_status status;

    cra_buf_init(&list, cra_context_allocator(checker->context));
    status = cra_docstore_index_list(docstore, collection, &list, &count, &why);
    *out = status == CRA_NOT_FOUND;
    stream = cra_buf_bytes(&list);
    while (status == CRA_OK && !*out && cra_bson_next_document(&stream, &spec) == CRA_OK)
        *out = begins_with_field(spec, field);
    cra_buf_cleanup(&list);
    if (status == CRA_NOT_FOUND)
        return CRA_OK;
    if (status != CRA_OK && err != NULL)
        *err = why;
    return status;
}

/* The first collection without an index on the run field goes into `missing`. */
static cra_status check_indexes(struct checker *checker, cra_docstore *docstore, const struct collections *found,
                                const char **missing, cra_error *err)
{
    *missing = NULL;
    for (size_t at = 0; at < found->names.size; at += strlen((const char *)found->names.data + at) + 1) {
        const char *collection = (const char *)found->names.data + at;
        bool present;
        CRA_TRY(has_run_index(checker, docstore, collection, &present, err));
        if (!present && *missing == NULL)
            *missing = collection;
    }
    return CRA_OK;
}

/* Collections are known from the catalog; where that cannot be read, its own line says so. */
static void find_collections(struct checker *checker, struct collections *found)
{
    cra_run_query query = CRA_RUN_QUERY_INIT;
    cra_settings settings = {0};
    cra_open_args args = {0};
    cra_catalog *catalog = NULL;
    const char *uri = cra_config_text(checker->config, "catalog.uri");

    if (uri == NULL || cra_settings_collect(checker->config, "catalog.", cra_context_allocator(checker->context),
                                            &settings, NULL) != CRA_OK)
        return;
    args = (cra_open_args){sizeof(args), checker->context, uri, CRA_OPEN_READ_ONLY, settings.items, settings.count};
    query.limit = 10000;
    if (cra_catalog_open(&args, &catalog, NULL) == CRA_OK)
        (void)cra_catalog_run_list(catalog, &query, add_collection, found, NULL);
    cra_catalog_free(catalog);
    cra_settings_cleanup(&settings);
}

static cra_status try_docstore(struct checker *checker, cra_docstore *docstore, const struct collections *found,
                               const char **missing, cra_docstore_health *health, cra_error *err)
{
    cra_docstore_limits limits = {.struct_size = sizeof(limits)};

    CRA_TRY(cra_docstore_get_limits(docstore, &limits, err));
    CRA_TRY(cra_docstore_get_health(docstore, health, err));
    return check_indexes(checker, docstore, found, missing, err);
}

static void tell_docstore(struct checker *checker, const char *uri, const char *missing,
                          const cra_docstore_health *health)
{
    const char *field = cra_config_text(checker->config, "hot.run_field");

    if (!health->durable_writes)
        tell(checker, "hot", uri, false, "its acknowledged writes may be lost: it is no place to sweep");
    else if (missing != NULL)
        tell(checker, "hot", uri, true, "well, but collection %s has no index on %s: index ensure makes one", missing,
             field);
    else
        tell(checker, "hot", uri, true, "well");
}

static void check_docstore(struct checker *checker)
{
    cra_docstore_health health = {.struct_size = sizeof(health)};
    struct collections found = {.count = 0};
    cra_settings settings;
    cra_open_args args;
    cra_docstore *docstore = NULL;
    cra_error error = {0};
    const char *missing = NULL;
    const char *uri = open_args(checker, "hot", "hot.uri", "hot.", &settings, &args);

    if (uri == NULL)
        return;
    cra_buf_init(&found.names, cra_context_allocator(checker->context));
    find_collections(checker, &found);
    if (cra_docstore_open(&args, &docstore, &error) != CRA_OK ||
        try_docstore(checker, docstore, &found, &missing, &health, &error) != CRA_OK)
        tell_error(checker, "hot", uri, &error);
    else
        tell_docstore(checker, uri, missing, &health);
    cra_docstore_free(docstore);
    cra_buf_cleanup(&found.names);
    cra_settings_cleanup(&settings);
}

/* ---- archive ---------------------------------------------------------------------------------- */

static cra_status try_write(cra_blobstore *store, const char *name, cra_error *err)
{
    cra_blob_info info = {.struct_size = sizeof(info)};

    CRA_TRY(cra_blobstore_put(store, name, cra_bytes_of_str("check\n"), 0, &info, err));
    CRA_TRY(cra_blobstore_stat(store, name, &info, err));
    return cra_blobstore_remove(store, name, err);
}

static void try_blobstore(struct checker *checker, const char *uri, cra_blobstore *store)
{
    char digits[17], name[64];
    cra_blob_info info = {.struct_size = sizeof(info)};
    cra_error error = {0};
    cra_status status = cra_os_random_hex(digits, 8, &error);

    snprintf(name, sizeof(name), "crawlarchive-check/%s", digits);
    if (status == CRA_OK)
        status = cra_blobstore_stat(store, name, &info, &error);
    if (status != CRA_NOT_FOUND && status != CRA_OK) {
        tell_error(checker, "archive", uri, &error);
        return;
    }
    cra_error_clear(&error);
    status = try_write(store, name, &error);
    if (status == CRA_OK)
        tell(checker, "archive", uri, true, "reads and writes");
    else if (status == CRA_DENIED)
        tell(checker, "archive", uri, true, "reads; it cannot be written to: archive and expire will not work");
    else
        tell_error(checker, "archive", uri, &error);
}

static void check_archive(struct checker *checker, const char *uri)
{
    const cra_open_args args = {sizeof(args), checker->context, uri, 0, NULL, 0};
    cra_blobstore *store = NULL;
    cra_error error = {0};

    if (cra_blobstore_open(&args, &store, &error) != CRA_OK)
        tell_error(checker, "archive", uri, &error);
    else
        try_blobstore(checker, uri, store);
    cra_blobstore_free(store);
}

static void check_archives(struct checker *checker)
{
    cra_error error = {0};
    cra_route_list routes;

    cra_route_list_init(&routes, cra_context_allocator(checker->context));
    if (cra_config_routes(checker->config, &routes, &error) != CRA_OK)
        tell_error(checker, "archive", NULL, &error);
    else
        for (size_t i = 0; i < routes.count; i++)
            check_archive(checker, routes.entries[i].uri);
    cra_route_list_cleanup(&routes);
}

/* ---- events ----------------------------------------------------------------------------------- */

static void check_events(struct checker *checker)
{
    cra_settings settings;
    cra_open_args args;
    cra_events *events = NULL;
    cra_error error = {0};
    const char *uri = cra_config_text(checker->config, "events.uri");

    if (uri == NULL || uri[0] == '\0')
        return;
    if (open_args(checker, "events", "events.uri", "events.", &settings, &args) == NULL)
        return;
    if (cra_events_open(&args, &events, &error) != CRA_OK)
        tell_error(checker, "events", uri, &error);
    else
        tell(checker, "events", uri, true, "opens");
    cra_events_free(events);
    cra_settings_cleanup(&settings);
}

cra_status cra_engine_check(cra_context *context, const cra_config *config, cra_check_fn each, void *user,
                            cra_error *err)
{
    struct checker checker = {context, config, each, user, 0};

    if (context == NULL || config == NULL || each == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "a check needs a context, a configuration and a visitor");
    check_catalog(&checker);
    check_docstore(&checker);
    check_archives(&checker);
    check_events(&checker);
    if (checker.bad > 0)
        return cra_error_set(err, CRA_PARTIAL, ORIGIN, "%zu of the stores cannot be used", checker.bad);
    return CRA_OK;
}
