/* SPDX-License-Identifier: Apache-2.0 */
#include <crawlarchive/index.h>

#include "base/buf.h"
#include "base/options.h"
#include "core/index_spec.h"
#include "ops/engine_internal.h"
#include "ops/index_ensure.h"
#include "ports/context.h"

#define ORIGIN "index"

/* One call: the collection, what is wanted of it and what it has. */
struct comparison {
    cra_engine *engine;
    cra_index_options options;
    cra_index_fn each;
    void *user;
    bool create;
    cra_buf collection;
    cra_buf wanted;  /* as configured */
    cra_buf present; /* normalised */
    size_t bad;
    cra_error *err; /* of the call, nullable */
};

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for indexes");
}

static const char *collection_of(const struct comparison *c)
{
    return (const char *)c->collection.data;
}

/* ---- what to compare -------------------------------------------------------------------------- */

static cra_status choose_collection(struct comparison *c, cra_error *err)
{
    const char *pattern = cra_config_text(cra_engine_config(c->engine), "hot.collection");

    if (c->options.collection == NULL && c->options.report == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "a report or a collection is needed");
    if (c->options.collection == NULL && pattern != NULL && strstr(pattern, "{run}") != NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN,
                             "every run has a collection of its own: name the run or the collection");
    return cra_run_collection(c->engine, c->options.report, "run", c->options.collection, &c->collection, err);
}

static cra_status choose_wanted(struct comparison *c, cra_error *err)
{
    const cra_bytes specs = c->options.specs;
    cra_bytes stream = specs, spec;
    size_t count = 0;
    cra_status status;

    if (specs.size == 0) {
        if (c->options.report == NULL)
            return CRA_OK;
        return cra_config_indexes(cra_engine_config(c->engine), c->options.report, &c->wanted, &count, err);
    }
    while ((status = cra_bson_next_document(&stream, &spec)) == CRA_OK)
        continue;
    if (status != CRA_DONE)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the index documents are not whole BSON");
    return cra_buf_append(&c->wanted, specs.data, specs.size) == CRA_OK ? CRA_OK : no_memory(err);
}

/* ---- telling ---------------------------------------------------------------------------------- */

static void tell(struct comparison *c, const cra_index_difference *index, cra_index_state state, const char *detail)
{
    char label[128];
    const cra_index_item item = {sizeof(item), collection_of(c), label, index->key, state, detail};

    cra_index_label(index->spec, label, sizeof(label));
    if (c->each != NULL)
        c->each(c->user, &item);
}

/* ---- comparing -------------------------------------------------------------------------------- */

static cra_status keep_waiting(void *user, cra_error *err)
{
    return cra_context_check_cancel(user, err);
}

/* A failure that the next index would meet as well. */
static bool is_fatal(cra_status status)
{
    return status == CRA_CANCELLED || status == CRA_NOMEM || status == CRA_DENIED || status == CRA_UNAVAILABLE ||
           status == CRA_TIMEOUT;
}

static cra_index_state state_of_failure(cra_status status)
{
    switch (status) {
    case CRA_CONFLICT:
        return CRA_INDEX_STATE_DIFFERENT;
    case CRA_INVALID:
        return CRA_INDEX_STATE_INVALID;
    default:
        return CRA_INDEX_STATE_MISSING;
    }
}

static cra_status create(struct comparison *c, const cra_index_difference *index)
{
    cra_error why = {0};
    bool created;
    const cra_status status = cra_index_ensure_one(c->engine, collection_of(c), index->spec, keep_waiting,
                                                   cra_engine_context(c->engine), &created, &why);

    if (status == CRA_OK) {
        tell(c, index, created ? CRA_INDEX_STATE_CREATED : CRA_INDEX_STATE_SAME, NULL);
        return CRA_OK;
    }
    c->bad++;
    tell(c, index, state_of_failure(status), why.message);
    if (!is_fatal(status))
        return CRA_OK;
    if (c->err != NULL)
        *c->err = why;
    return status;
}

static cra_status take_difference(void *user, const cra_index_difference *index)
{
    struct comparison *c = user;

    if (index->state == CRA_INDEX_STATE_MISSING && index->ttl && c->options.skip_ttl) {
        tell(c, index, CRA_INDEX_STATE_MISSING, "a TTL index, left out");
        return CRA_OK;
    }
    if (index->state == CRA_INDEX_STATE_MISSING && c->create)
        return create(c, index);
    c->bad += index->state == CRA_INDEX_STATE_DIFFERENT || index->state == CRA_INDEX_STATE_INVALID;
    tell(c, index, index->state, index->detail);
    return CRA_OK;
}

static cra_status compare(struct comparison *c, cra_error *err)
{
    CRA_TRY(choose_collection(c, err));
    CRA_TRY(choose_wanted(c, err));
    CRA_TRY(cra_index_read(c->engine, collection_of(c), &c->present, NULL, err));
    c->err = err;
    CRA_TRY(cra_index_spec_diff(cra_engine_allocator(c->engine), cra_buf_bytes(&c->wanted), cra_buf_bytes(&c->present),
                                take_difference, c, err));
    if (c->create && c->bad > 0)
        return cra_error_set(err, CRA_PARTIAL, ORIGIN, "collection %s: %zu indexes are not as wanted", collection_of(c),
                             c->bad);
    return CRA_OK;
}

static cra_status list(struct comparison *c, cra_error *err)
{
    cra_bytes stream, spec;
    bool exists;

    CRA_TRY(choose_collection(c, err));
    CRA_TRY(cra_index_read(c->engine, collection_of(c), &c->present, &exists, err));
    if (!exists)
        return cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "there is no collection %s", collection_of(c));
    stream = cra_buf_bytes(&c->present);
    while (cra_bson_next_document(&stream, &spec) == CRA_OK) {
        cra_index_difference index = {.spec = spec};
        cra_value key;
        if (cra_bson_find(spec, "key", 3, &key) == CRA_OK)
            index.key = cra_value_document(key);
        tell(c, &index, CRA_INDEX_STATE_SAME, NULL);
    }
    return CRA_OK;
}

/* ---- the calls -------------------------------------------------------------------------------- */

static cra_status run(cra_engine *engine, const cra_index_options *options, cra_index_fn each, void *user,
                      bool create_missing, cra_status (*body)(struct comparison *c, cra_error *err), cra_error *err)
{
    struct comparison c = {
        .engine = engine, .options = CRA_INDEX_OPTIONS_INIT, .each = each, .user = user, .create = create_missing};
    const cra_allocator *allocator;
    cra_status status;

    if (engine == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "an engine is needed");
    if (cra_options_read(&c.options, sizeof(c.options), options) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "options of another version of this library");
    allocator = cra_engine_allocator(engine);
    cra_buf_init(&c.collection, allocator);
    cra_buf_init(&c.wanted, allocator);
    cra_buf_init(&c.present, allocator);
    status = body(&c, err);
    cra_buf_cleanup(&c.collection);
    cra_buf_cleanup(&c.wanted);
    cra_buf_cleanup(&c.present);
    return status;
}

cra_status cra_index_list(cra_engine *engine, const cra_index_options *options, cra_index_fn each, void *user,
                          cra_error *err)
{
    return run(engine, options, each, user, false, list, err);
}

cra_status cra_index_diff(cra_engine *engine, const cra_index_options *options, cra_index_fn each, void *user,
                          cra_error *err)
{
    return run(engine, options, each, user, false, compare, err);
}

cra_status cra_index_ensure(cra_engine *engine, const cra_index_options *options, cra_index_fn each, void *user,
                            cra_error *err)
{
    return run(engine, options, each, user, true, compare, err);
}
