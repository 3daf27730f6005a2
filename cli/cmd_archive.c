/* SPDX-License-Identifier: Apache-2.0 */

/* archive, verify */

#include <stdlib.h>
#include <string.h>

#include "runs.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const cra_cli_field archive_fields[] = {
    {"run", CRA_CLI_FIELD_RUN, 0},
    {"status", CRA_CLI_FIELD_WORD, 0},
    {"reason", CRA_CLI_FIELD_REASON, 0},
    {"records", CRA_CLI_FIELD_COUNT, CRA_COUNT_RECORDS},
    {"parts", CRA_CLI_FIELD_COUNT, CRA_COUNT_PARTS},
    {"bytes", CRA_CLI_FIELD_COUNT, CRA_COUNT_BYTES},
    {"location", CRA_CLI_FIELD_LOCATION, 0},
    {"generation", CRA_CLI_FIELD_COUNT, CRA_COUNT_GENERATION},
};
static const cra_cli_form archive_form = {
    {"archived", "failed", "failed", "failed", "locked", "failed"}, archive_fields, COUNT_OF(archive_fields)};

cra_status cra_cmd_archive(cra_cli *cli, cra_error *err)
{
    cra_cli_items items = {cli, &archive_form, {0}};
    cra_cli_runs runs = {0};
    cra_result *result = NULL;
    cra_archive_options options = CRA_ARCHIVE_OPTIONS_INIT;
    options.codec = (int)cra_cli_number(&cli->args, CRA_CLI_OPTION_CODEC, -1);
    options.allow_fewer = cra_cli_given(&cli->args, CRA_CLI_OPTION_ALLOW_FEWER);
    options.cleanup = cra_cli_given(&cli->args, CRA_CLI_OPTION_CLEANUP);
    options.on_item = cra_cli_on_item;
    options.user = &items;

    cra_status status = cra_cli_open_engine(cli, 0, err);
    if (status == CRA_OK)
        status = cra_cli_runs_find(cli, cli->args.arguments, cli->args.count, &items, &runs, err);
    if (status == CRA_OK && runs.count > 0)
        status = cra_archive_runs(cli->engine, runs.items, runs.count, &options, &result, err);
    if (items.tally.runs > 0 || status == CRA_OK) {
        size_t archived = items.tally.by_status[CRA_ITEM_OK];
        cra_cli_sum_int(cli, "runs", (int64_t)items.tally.runs);
        cra_cli_sum_int(cli, "archived", (int64_t)archived);
        cra_cli_sum_int(cli, "failed", (int64_t)(items.tally.runs - archived));
        cra_cli_print_summary(cli, stdout);
        status = cra_cli_items_status(&items, status, err);
    }
    cra_result_free(result);
    cra_cli_runs_cleanup(&runs);
    return status;
}

/* ---- verify ---------------------------------------------------------------------------------- */

static const cra_cli_field verify_fields[] = {
    {"run", CRA_CLI_FIELD_RUN, 0},
    {"status", CRA_CLI_FIELD_WORD, 0},
    {"reason", CRA_CLI_FIELD_REASON, 0},
    {"level", CRA_CLI_FIELD_LEVEL, 0},
    {"records_archived", CRA_CLI_FIELD_COUNT, CRA_COUNT_RECORDS_ARCHIVED},
    {"records_hot", CRA_CLI_FIELD_COUNT, CRA_COUNT_RECORDS_HOT},
    {"duplicates", CRA_CLI_FIELD_COUNT, CRA_COUNT_DUPLICATES},
};
static const cra_cli_form verify_form = {
    {"ok", "unknown", "bad", "unknown", "unknown", "unknown"}, verify_fields, COUNT_OF(verify_fields)};

#define PAGE 100 /* runs that --all holds at a time */

/* One page of the catalog's runs, by key: the listing must not be held open while runs are verified. */
typedef struct page {
    char *reports[PAGE];
    char *runs[PAGE];
    bool wanted[PAGE];
    size_t count;
} page;

static cra_status on_run(void *user, const cra_run_doc *run)
{
    page *to = user;
    to->reports[to->count] = strdup(run->report);
    to->runs[to->count] = strdup(run->run);
    to->wanted[to->count] = run->outcome || run->location || run->state != CRA_RUN_HOT;
    to->count++;
    return to->reports[to->count - 1] && to->runs[to->count - 1] ? CRA_OK : CRA_NOMEM;
}

static void page_clear(page *of)
{
    for (size_t i = 0; i < of->count; i++) {
        free(of->reports[i]);
        free(of->runs[i]);
    }
    of->count = 0;
}

static cra_status verify(cra_cli *cli, cra_cli_items *items, const cra_cli_runs *runs, cra_error *err)
{
    cra_result *result = NULL;
    cra_verify_options options = CRA_VERIFY_OPTIONS_INIT;
    static const cra_verify_level levels[] = {CRA_VERIFY_AUTO, CRA_VERIFY_COUNT, CRA_VERIFY_IDS, CRA_VERIFY_CONTENT};
    options.level = levels[cra_cli_number(&cli->args, CRA_CLI_OPTION_LEVEL, 0)];
    options.on_item = cra_cli_on_item;
    options.user = items;
    if (runs->count == 0)
        return CRA_OK;
    size_t before = items->tally.runs;
    cra_status status = cra_verify_runs(cli->engine, runs->items, runs->count, &options, &result, err);
    cra_result_free(result);
    /* What failed run by run is in the tally; only what stopped the whole ends the listing. */
    return items->tally.runs - before == runs->count && status != CRA_CANCELLED ? CRA_OK : status;
}

static cra_status verify_page(cra_cli *cli, cra_cli_items *items, const page *of, cra_error *err)
{
    cra_cli_runs runs = {0};
    cra_status status = CRA_OK;
    for (size_t i = 0; i < of->count && status == CRA_OK; i++) {
        cra_run *run = NULL;
        if (!of->wanted[i])
            continue;
        status = cra_run_get(cli->engine, of->reports[i], of->runs[i], &run, err);
        if (status == CRA_OK)
            status = cra_cli_runs_add(&runs, run, err);
        else if (status == CRA_NOT_FOUND) /* removed since it was listed */
            status = CRA_OK;
    }
    if (status == CRA_OK)
        status = verify(cli, items, &runs, err);
    cra_cli_runs_cleanup(&runs);
    return status;
}

static cra_status verify_all(cra_cli *cli, cra_cli_items *items, cra_error *err)
{
    cra_status status = CRA_OK;
    char *report = NULL, *run = NULL; /* key of the last run seen */
    bool more = true;
    while (more && status == CRA_OK) {
        page now = {.count = 0};
        cra_run_query query = CRA_RUN_QUERY_INIT;
        query.after_report = report;
        query.after_run = run;
        query.limit = PAGE;
        status = cra_run_each(cli->engine, &query, on_run, &now, err);
        more = now.count == PAGE;
        if (status == CRA_OK)
            status = verify_page(cli, items, &now, err);
        free(report);
        free(run);
        report = run = NULL;
        if (now.count > 0) {
            now.count--;
            report = now.reports[now.count];
            run = now.runs[now.count];
        }
        page_clear(&now);
    }
    free(report);
    free(run);
    return status;
}

cra_status cra_cmd_verify(cra_cli *cli, cra_error *err)
{
    cra_cli_items items = {cli, &verify_form, {0}};
    cra_cli_runs runs = {0};
    bool all = cra_cli_given(&cli->args, CRA_CLI_OPTION_ALL);
    if (all != (cli->args.count == 0))
        return cra_error_set(err, CRA_INVALID, "usage", "verify needs either RUN... or --all");
    cra_status status = cra_cli_open_engine(cli, CRA_ENGINE_READ_ONLY, err);
    if (status == CRA_OK && all) {
        status = verify_all(cli, &items, err);
    } else if (status == CRA_OK) {
        status = cra_cli_runs_find(cli, cli->args.arguments, cli->args.count, &items, &runs, err);
        if (status == CRA_OK)
            status = verify(cli, &items, &runs, err);
    }
    if (items.tally.runs > 0 || status == CRA_OK) {
        size_t well = items.tally.by_status[CRA_ITEM_OK], bad = items.tally.by_status[CRA_ITEM_BAD];
        cra_cli_sum_int(cli, "runs", (int64_t)items.tally.runs);
        cra_cli_sum_int(cli, "ok", (int64_t)well);
        cra_cli_sum_int(cli, "bad", (int64_t)bad);
        cra_cli_sum_int(cli, "unknown", (int64_t)(items.tally.runs - well - bad));
        cra_cli_print_summary(cli, stdout);
        if (status == CRA_OK)
            status = bad > 0 ? CRA_CORRUPT : cra_cli_items_status(&items, status, err);
        if (bad > 0 && status == CRA_CORRUPT)
            cra_error_clear(err);
    }
    cra_cli_runs_cleanup(&runs);
    return status;
}
