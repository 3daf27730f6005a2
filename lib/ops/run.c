/* SPDX-License-Identifier: Apache-2.0 */
#include <crawlarchive/run.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "core/naming.h"
#include "ops/engine_internal.h"

#define ORIGIN "run"
#define NAME_MAX_BYTES 1024
/* Candidates that an error names; two are enough to know that a name is ambiguous. */
#define CANDIDATES_MAX 6

struct cra_run {
    cra_run_doc doc;
    const cra_allocator *allocator;
};

const char *cra_run_state_name(cra_run_state state)
{
    static const char *const names[] = {"hot", "sweeping", "archived", "restoring", "restored"};

    return (unsigned)state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

const cra_run_doc *cra_run_doc_of(const cra_run *run)
{
    return &run->doc;
}

void cra_run_free(cra_run *run)
{
    if (run == NULL)
        return;
    cra_run_doc_cleanup(&run->doc, run->allocator);
    cra_free(run->allocator, run);
}

cra_status cra_run_from_doc(cra_engine *engine, const cra_run_doc *doc, cra_run **out, cra_error *err)
{
    const cra_allocator *allocator = cra_engine_allocator(engine);
    cra_run *run = cra_calloc(allocator, 1, sizeof(*run));

    *out = NULL;
    if (run == NULL || cra_run_doc_copy(&run->doc, doc, allocator) != CRA_OK) {
        cra_free(allocator, run);
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a run");
    }
    run->allocator = allocator;
    *out = run;
    return CRA_OK;
}

/* ---- finding ---------------------------------------------------------------------------------- */

cra_status cra_run_get(cra_engine *engine, const char *report, const char *id, cra_run **out, cra_error *err)
{
    cra_run_doc doc;
    cra_status status;

    if (out == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "no place for the run was given");
    *out = NULL;
    if (engine == NULL || report == NULL || id == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "a run is found by engine, report and id");
    CRA_TRY(cra_catalog_run_get(cra_engine_catalog(engine), report, id, &doc, err));
    status = cra_run_from_doc(engine, &doc, out, err);
    cra_run_doc_cleanup(&doc, cra_engine_allocator(engine));
    return status;
}

struct candidates {
    cra_engine *engine;
    cra_run *first;
    size_t count;
    cra_buf names;
    cra_error *err;
};

static cra_status add_candidate(void *user, const cra_run_doc *doc)
{
    struct candidates *found = user;

    found->count++;
    if (found->count > CANDIDATES_MAX)
        return CRA_DONE;
    CRA_TRY(cra_buf_appendf(&found->names, "%s%s/%s", found->count > 1 ? ", " : "", doc->report, doc->run));
    if (found->count > 1)
        return CRA_OK;
    return cra_run_from_doc(found->engine, doc, &found->first, found->err);
}

/* CRA_NOT_FOUND where no report holds the whole id. */
static cra_status find_whole(struct candidates *found, const char *name)
{
    cra_run_query query = CRA_RUN_QUERY_INIT;
    const char *names;
    cra_status status;

    query.run = name;
    status = cra_catalog_run_list(cra_engine_catalog(found->engine), &query, add_candidate, found, found->err);
    if (status != CRA_OK && status != CRA_DONE)
        return status;
    if (found->count == 0)
        return CRA_NOT_FOUND;
    if (found->count == 1)
        return CRA_OK;
    names = cra_buf_cstr(&found->names);
    cra_error_set(found->err, CRA_INVALID, ORIGIN, "run '%s' is in several reports: %s%s", name,
                  names != NULL ? names : "?", found->count > CANDIDATES_MAX ? ", …" : "");
    cra_error_hint(found->err, "name it as REPORT/RUN");
    return CRA_INVALID;
}

static cra_status find_split(cra_engine *engine, const char *name, cra_run **out, cra_error *err)
{
    const char *slash = strchr(name, '/');
    char *report;
    cra_status status;

    if (slash == NULL || slash == name || slash[1] == '\0')
        return cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "no run '%s'", name);
    report = cra_strndup(cra_engine_allocator(engine), name, (size_t)(slash - name));
    if (report == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a run");
    status = cra_run_get(engine, report, slash + 1, out, err);
    cra_free(cra_engine_allocator(engine), report);
    if (status == CRA_NOT_FOUND)
        return cra_error_set(err, CRA_NOT_FOUND, ORIGIN, "no run '%s'", name);
    return status;
}

cra_status cra_run_find(cra_engine *engine, const char *name, cra_run **out, cra_error *err)
{
    struct candidates found = {engine, NULL, 0, {0}, err};
    cra_status status;

    if (out == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "no place for the run was given");
    *out = NULL;
    if (engine == NULL || name == NULL || name[0] == '\0')
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the name of a run is empty");
    cra_buf_init(&found.names, cra_engine_allocator(engine));
    status = find_whole(&found, name);
    cra_buf_cleanup(&found.names);
    if (status == CRA_OK) {
        *out = found.first;
        return CRA_OK;
    }
    cra_run_free(found.first);
    return status == CRA_NOT_FOUND ? find_split(engine, name, out, err) : status;
}

/* ---- listing ---------------------------------------------------------------------------------- */

struct lister {
    const cra_policy *policy;
    cra_time_ms now;
    cra_run_visit_fn visit;
    void *user;
    cra_time_ms due_before; /* of computed dates; CRA_TIME_NONE: any */
    size_t shown;
    size_t limit;
};

static bool lacks_date(const cra_run_doc *doc)
{
    return doc->archive_at == CRA_TIME_NONE && doc->outcome != NULL &&
           (doc->state == CRA_RUN_HOT || doc->state == CRA_RUN_RESTORED);
}

/* A closed run that nobody dated yet is shown as the next plan will date it. */
static cra_status list_one(void *user, const cra_run_doc *doc)
{
    struct lister *lister = user;
    cra_run_doc shown = *doc; /* shallow: borrowed for the call */
    cra_decision decision = {.struct_size = sizeof(decision)};

    if (lacks_date(doc) && cra_policy_decide(lister->policy, doc, lister->now, false, &decision) == CRA_OK &&
        decision.archive_at != CRA_TIME_NONE) {
        shown.archive_at = decision.archive_at;
        shown.rule = decision.rule;
    }
    if (lister->due_before != CRA_TIME_NONE &&
        (shown.archive_at == CRA_TIME_NONE || shown.archive_at > lister->due_before))
        return CRA_OK;
    if (lister->limit != 0 && lister->shown >= lister->limit)
        return CRA_DONE;
    lister->shown++;
    return lister->visit(lister->user, &shown);
}

/* Runs that become due by a date which is not stored yet. */
static cra_status list_undated(cra_engine *engine, const cra_run_query *query, struct lister *lister, cra_error *err)
{
    cra_run_query undated = *query;

    undated.undated_only = true;
    undated.closed_only = true;
    undated.due_before = CRA_TIME_NONE;
    undated.limit = 0;
    lister->due_before = query->due_before;
    return cra_catalog_run_list(cra_engine_catalog(engine), &undated, list_one, lister, err);
}

cra_status cra_run_each(cra_engine *engine, const cra_run_query *query, cra_run_visit_fn visit, void *user,
                        cra_error *err)
{
    const cra_run_query all = CRA_RUN_QUERY_INIT;
    struct lister lister = {NULL, 0, visit, user, CRA_TIME_NONE, 0, 0};
    cra_status status;

    if (engine == NULL || visit == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "listing needs an engine and a visitor");
    if (query == NULL)
        query = &all;
    lister.policy = cra_config_policy(cra_engine_config(engine));
    lister.limit = query->limit;
    CRA_TRY(cra_catalog_now(cra_engine_catalog(engine), &lister.now, err));
    status = cra_catalog_run_list(cra_engine_catalog(engine), query, list_one, &lister, err);
    if (status == CRA_OK && query->due_before != CRA_TIME_NONE && query->after_run == NULL)
        status = list_undated(engine, query, &lister, err);
    return status == CRA_DONE && lister.limit != 0 && lister.shown >= lister.limit ? CRA_OK : status;
}

/* ---- registering ------------------------------------------------------------------------------ */

/* Names end up in URIs, lines of text and fields of three stores: plain text, and not too long for any. */
static cra_status check_name(const char *what, const char *name, cra_error *err)
{
    const size_t size = name == NULL ? 0 : strlen(name);

    if (size == 0)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the %s is empty", what);
    if (size > NAME_MAX_BYTES)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the %s is longer than %d bytes", what, NAME_MAX_BYTES);
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7F)
            return cra_error_set(err, CRA_INVALID, ORIGIN, "the %s '%s' holds a control character", what, name);
    }
    if (!cra_utf8_valid(name, size))
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the %s '%s' is not UTF-8", what, name);
    return CRA_OK;
}

/* A run that could not have a folder in the archive must not be registered in the first place. */
static cra_status check_folder_name(const cra_allocator *allocator, const char *name, cra_error *err)
{
    cra_buf encoded;
    cra_status status;

    cra_buf_init(&encoded, allocator);
    status = cra_naming_encode(name, &encoded, err);
    cra_buf_cleanup(&encoded);
    return status;
}

static cra_status choose_collection(cra_engine *engine, const char *report, const char *id, const char *collection,
                                    cra_buf *out, cra_error *err)
{
    const char *pattern = cra_config_text(cra_engine_config(engine), "hot.collection");

    if (collection != NULL)
        return cra_buf_append_str(out, collection);
    if (pattern == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "the configuration has no 'hot.collection'");
    return cra_naming_collection(pattern, report, id, out, err);
}

cra_status cra_run_collection(cra_engine *engine, const char *report, const char *id, const char *collection,
                              cra_buf *out, cra_error *err)
{
    CRA_TRY(choose_collection(engine, report, id, collection, out, err));
    return cra_buf_cstr(out) == NULL ? cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a name") : CRA_OK;
}

static cra_status fill_new(cra_engine *engine, const char *report, const char *id, const char *collection,
                           cra_run_doc *doc, cra_error *err)
{
    const cra_allocator *allocator = cra_engine_allocator(engine);
    cra_time_ms now;

    CRA_TRY(cra_catalog_now(cra_engine_catalog(engine), &now, err));
    doc->state = CRA_RUN_HOT;
    doc->restores = 0;
    doc->created_at = now;
    doc->state_since = now;
    if (cra_run_doc_set_text(&doc->report, report, allocator) != CRA_OK ||
        cra_run_doc_set_text(&doc->run, id, allocator) != CRA_OK ||
        cra_run_doc_set_text(&doc->collection, collection, allocator) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a run");
    return CRA_OK;
}

static cra_status insert_new(cra_engine *engine, const char *report, const char *id, const char *collection,
                             cra_run **out, cra_error *err)
{
    cra_run_doc doc;
    cra_status status;

    cra_run_doc_init(&doc);
    status = fill_new(engine, report, id, collection, &doc, err);
    if (status == CRA_OK)
        status = cra_catalog_run_insert(cra_engine_catalog(engine), &doc, err);
    cra_run_doc_cleanup(&doc, cra_engine_allocator(engine));
    if (status == CRA_OK && out != NULL)
        status = cra_run_get(engine, report, id, out, err);
    return status;
}

cra_status cra_run_add(cra_engine *engine, const char *report, const char *id, const char *collection, cra_run **out,
                       cra_error *err)
{
    const cra_allocator *allocator;
    cra_buf name;
    cra_status status;

    if (out != NULL)
        *out = NULL;
    if (engine == NULL)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "a run is added to an engine");
    allocator = cra_engine_allocator(engine);
    CRA_TRY(check_name("report", report, err));
    CRA_TRY(check_name("run id", id, err));
    CRA_TRY(check_folder_name(allocator, report, err));
    CRA_TRY(check_folder_name(allocator, id, err));
    if (collection != NULL)
        CRA_TRY(check_name("collection", collection, err));
    cra_buf_init(&name, allocator);
    status = cra_run_collection(engine, report, id, collection, &name, err);
    if (status == CRA_OK)
        status = insert_new(engine, report, id, cra_buf_cstr(&name), out, err);
    cra_buf_cleanup(&name);
    return status;
}
