/* SPDX-License-Identifier: Apache-2.0 */

/* restore */

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const cra_cli_field fields[] = {
    {"run", CRA_CLI_FIELD_RUN, 0},
    {"status", CRA_CLI_FIELD_WORD, 0},
    {"reason", CRA_CLI_FIELD_REASON, 0},
    {"records_read", CRA_CLI_FIELD_COUNT, CRA_COUNT_RECORDS_READ},
    {"records_new", CRA_CLI_FIELD_COUNT, CRA_COUNT_RECORDS_NEW},
    {"records_identical", CRA_CLI_FIELD_COUNT, CRA_COUNT_RECORDS_IDENTICAL},
    {"records_conflict", CRA_CLI_FIELD_COUNT, CRA_COUNT_RECORDS_CONFLICT},
    {"records_failed", CRA_CLI_FIELD_COUNT, CRA_COUNT_RECORDS_FAILED},
    {"records_unsent", CRA_CLI_FIELD_COUNT, CRA_COUNT_RECORDS_UNSENT},
    {"elapsed_ms", CRA_CLI_FIELD_COUNT, CRA_COUNT_ELAPSED_MS},
};
static const cra_cli_form form = {
    {"restored", "failed", "failed", "failed", "locked", "failed"}, fields, COUNT_OF(fields)};

/* Run ids of the command line and of a file, each once, in their order. */
typedef struct run_ids {
    const char **items;
    size_t count;
    size_t capacity;
    void *seen; /* the same texts as a tree of search.h */
} run_ids;

static int compare_ids(const void *a, const void *b)
{
    return strcmp(a, b);
}

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "restore", "out of memory");
}

static cra_status add_id(run_ids *ids, const char *id, cra_error *err)
{
    if (ids->count == ids->capacity) {
        size_t capacity = ids->capacity * 2 + 16;
        const char **grown = realloc(ids->items, capacity * sizeof *grown);
        if (!grown)
            return no_memory(err);
        ids->items = grown;
        ids->capacity = capacity;
    }
    char *copy = strdup(id);
    void *node = copy ? tsearch(copy, &ids->seen, compare_ids) : NULL;
    if (node && *(char **)node == copy) {
        ids->items[ids->count++] = copy;
        return CRA_OK;
    }
    free(copy);
    return node ? CRA_OK : no_memory(err);
}

static void free_ids(run_ids *ids)
{
    for (size_t i = 0; i < ids->count; i++) {
        tdelete(ids->items[i], &ids->seen, compare_ids);
        free((char *)(uintptr_t)ids->items[i]);
    }
    free(ids->items);
}

/* One id a line; blank lines and lines that begin with # are left out. */
static cra_status read_ids(run_ids *ids, const char *path, cra_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "r");
    if (!file)
        return cra_error_set_native(err, CRA_INVALID, errno, "usage", "--runs-file %s: %s", path, strerror(errno));
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    cra_status status = CRA_OK;
    while (status == CRA_OK && (length = getline(&line, &room, file)) >= 0) {
        while (length > 0 && strchr(" \t\r\n", line[length - 1]))
            line[--length] = '\0';
        const char *id = line + strspn(line, " \t");
        if (*id != '\0' && *id != '#')
            status = add_id(ids, id, err);
    }
    if (status == CRA_OK && ferror(file))
        status = cra_error_set_native(err, CRA_IO, errno, "file", "%s: %s", path, strerror(errno));
    free(line);
    if (!standard)
        fclose(file);
    return status;
}

static cra_status collect_ids(cra_cli *cli, run_ids *ids, cra_error *err)
{
    cra_status status = CRA_OK;
    const char *path = cra_cli_text(&cli->args, CRA_CLI_OPTION_RUNS_FILE);
    for (size_t i = 1; i < cli->args.count && status == CRA_OK; i++)
        status = add_id(ids, cli->args.arguments[i], err);
    if (status == CRA_OK && path)
        status = read_ids(ids, path, err);
    if (status == CRA_OK && ids->count == 0 && !path)
        status = cra_error_set(err, CRA_INVALID, "usage", "restore needs RUN... or --runs-file");
    return status;
}

static void summary(cra_cli *cli, const cra_cli_tally *tally)
{
    size_t restored = tally->by_status[CRA_ITEM_OK];
    cra_cli_sum_int(cli, "runs", (int64_t)tally->runs);
    cra_cli_sum_int(cli, "restored", (int64_t)restored);
    cra_cli_sum_int(cli, "failed", (int64_t)(tally->runs - restored));
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].kind == CRA_CLI_FIELD_COUNT)
            cra_cli_sum_int(cli, fields[i].key, tally->sums[fields[i].count]);
    cra_cli_print_summary(cli, stdout);
}

cra_status cra_cmd_restore(cra_cli *cli, cra_error *err)
{
    const cra_cli_args *args = &cli->args;
    cra_cli_items items = {cli, &form, {0}};
    run_ids ids = {0};
    cra_result *result = NULL;
    cra_restore_options options = CRA_RESTORE_OPTIONS_INIT;
    options.batch_docs = cra_cli_number(args, CRA_CLI_OPTION_BATCH_DOCS, 0);
    options.batch_bytes = cra_cli_number(args, CRA_CLI_OPTION_BATCH_BYTES, 0);
    options.parallel_runs = cra_cli_number(args, CRA_CLI_OPTION_PARALLEL, 0);
    options.workers = cra_cli_number(args, CRA_CLI_OPTION_WORKERS, 0);
    options.heartbeat_ms = cra_cli_number(args, CRA_CLI_OPTION_HEARTBEAT, 0);
    options.into = cra_cli_text(args, CRA_CLI_OPTION_INTO);
    options.salvage = cra_cli_given(args, CRA_CLI_OPTION_SALVAGE);
    options.skip_ttl = cra_cli_given(args, CRA_CLI_OPTION_SKIP_TTL);
    options.thaw = cra_cli_given(args, CRA_CLI_OPTION_THAW);
    options.on_item = cra_cli_on_item;
    options.user = &items;

    cra_status status = collect_ids(cli, &ids, err);
    if (status == CRA_OK)
        status = cra_cli_open_engine(cli, 0, err);
    if (status == CRA_OK && ids.count > 0)
        status = cra_restore_runs(cli->engine, args->arguments[0], ids.items, ids.count, &options, &result, err);
    if (items.tally.runs > 0 || status == CRA_OK) {
        summary(cli, &items.tally);
        status = cra_cli_items_status(&items, status, err);
    }
    cra_result_free(result);
    free_ids(&ids);
    return status;
}
