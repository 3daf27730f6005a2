/* SPDX-License-Identifier: Apache-2.0 */

/* Verification on request: the proof of a sweep without its deletes. */

#include <crawlarchive/verify.h>

#include <string.h>

#include "base/options.h"
#include "core/result.h"
#include "ops/inclusion.h"

static const char *const level_names[] = {
    [CRA_VERIFY_AUTO] = "auto",   [CRA_VERIFY_TRUST] = "trust",     [CRA_VERIFY_COUNT] = "count",
    [CRA_VERIFY_IDS] = "ids",     [CRA_VERIFY_CONTENT] = "content",
};

const char *cra_verify_level_name(cra_verify_level level)
{
    return (size_t)level < sizeof level_names / sizeof level_names[0] ? level_names[level] : "unknown";
}

bool cra_verify_level_from_name(const char *word, cra_verify_level *out)
{
    for (size_t i = 0; i < sizeof level_names / sizeof level_names[0]; i++) {
        if (strcmp(level_names[i], word) == 0) {
            *out = (cra_verify_level)i;
            return true;
        }
    }
    return false;
}

/* A run whose records are (still, or again) in the hot store is compared with them. */
static bool has_hot_records(const cra_run_doc *run)
{
    return run->state != CRA_RUN_ARCHIVED && run->state != CRA_RUN_RESTORING;
}

/* An empty run has nothing to prove where neither store holds anything. */
static cra_status is_empty_run(cra_engine *engine, const cra_run_doc *run, const cra_archive_set *set, bool *empty,
                               cra_error *err)
{
    cra_hot_scope hot;
    int64_t count = 0;

    *empty = false;
    if (set->reason != CRA_REASON_NO_ARCHIVE || run->outcome == NULL || strcmp(run->outcome, "empty") != 0)
        return CRA_OK;
    cra_status status = cra_hot_scope_init(engine, run, &hot, err);
    if (status == CRA_OK)
        status = cra_docstore_count(cra_engine_docstore(engine), &hot.scope, &count, err);
    *empty = status == CRA_OK && count == 0;
    return status;
}

static cra_status prove(cra_engine *engine, const cra_run_doc *run, cra_archive_set *set, cra_verify_level level,
                        cra_inclusion *out, cra_error *err)
{
    const cra_inclusion_request request = {.level = level, .remainder = run->state == CRA_RUN_SWEEPING};
    bool empty;

    memset(out, 0, sizeof *out);
    cra_status status = cra_archive_set_load(engine, run, set, err);
    if (status == CRA_OK)
        status = is_empty_run(engine, run, set, &empty, err);
    if (status != CRA_OK || empty)
        return status;
    if (has_hot_records(run))
        return cra_inclusion_prove(engine, run, set, &request, out, err);
    return cra_archive_set_self_check(set, level, out, err);
}

static cra_status verify_one(cra_engine *engine, const cra_run_doc *run, const cra_verify_options *options,
                             cra_result *result, cra_error *err)
{
    cra_archive_set set;
    cra_inclusion inclusion;
    cra_error cause;
    cra_item item;

    cra_error_clear(&cause);
    memset(&set, 0, sizeof set);
    cra_item_init(&item, run->report, run->run);
    const int64_t started = cra_context_monotonic_ms(cra_engine_context(engine));
    cra_status status = prove(engine, run, &set, options->level, &inclusion, &cause);
    if (status == CRA_NOMEM || status == CRA_CANCELLED) {
        cra_archive_set_cleanup(&set);
        if (err != NULL)
            *err = cause;
        return status;
    }
    if (status != CRA_OK) {
        item.status = CRA_ITEM_UNKNOWN;
        item.reason = CRA_REASON_STORE_ERROR;
        item.error = cause;
        item.detail = cause.message;
    } else {
        item.status = inclusion.status;
        item.reason = inclusion.reason;
        item.error = inclusion.error;
        item.detail = inclusion.detail[0] != '\0' ? inclusion.detail : NULL;
        item.level = cra_verify_level_name(inclusion.level);
        item.counts[CRA_COUNT_RECORDS_HOT] = inclusion.records_hot;
        item.counts[CRA_COUNT_RECORDS_ARCHIVED] = inclusion.records_archived;
        item.counts[CRA_COUNT_DUPLICATES] = inclusion.duplicates;
    }
    item.location = set.location;
    item.counts[CRA_COUNT_ELAPSED_MS] = cra_context_monotonic_ms(cra_engine_context(engine)) - started;
    if (options->on_item != NULL)
        options->on_item(options->user, &item);
    status = cra_result_add(result, &item, err);
    cra_archive_set_cleanup(&set);
    return status;
}

cra_status cra_verify_runs(cra_engine *engine, const cra_run *const *runs, size_t count,
                           const cra_verify_options *options, cra_result **out, cra_error *err)
{
    cra_verify_options own = CRA_VERIFY_OPTIONS_INIT;
    cra_engine *reader = NULL;

    *out = NULL;
    if (cra_options_read(&own, sizeof own, options) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, "verify", "options of another version of this library");
    cra_status status = cra_engine_read_only(engine, &reader, err);
    if (status == CRA_OK)
        status = cra_result_new(cra_engine_allocator(engine), out, err);
    for (size_t i = 0; status == CRA_OK && i < count; i++)
        status = verify_one(reader, cra_run_doc_of(runs[i]), &own, *out, err);
    cra_engine_free(reader);
    if (status != CRA_OK)
        return status;
    if (cra_result_tally(*out, CRA_ITEM_BAD) > 0)
        return cra_error_set(err, CRA_CORRUPT, "verify", "%zu of %zu runs are not in the archive as they should be",
                             cra_result_tally(*out, CRA_ITEM_BAD), cra_result_count(*out));
    return cra_result_tally(*out, CRA_ITEM_UNKNOWN) > 0
               ? cra_error_set(err, CRA_PARTIAL, "verify", "%zu of %zu runs could not be verified",
                               cra_result_tally(*out, CRA_ITEM_UNKNOWN), cra_result_count(*out))
               : CRA_OK;
}

cra_status cra_verify_run(cra_engine *engine, const cra_run *run, const cra_verify_options *options, cra_result **out,
                          cra_error *err)
{
    return cra_verify_runs(engine, &run, 1, options, out, err);
}
