/* SPDX-License-Identifier: Apache-2.0 */

/* index list, index diff, index ensure */

#include <string.h>

#include "records.h"

typedef cra_status (*index_operation)(cra_engine *engine, const cra_index_options *options, cra_index_fn each,
                                      void *user, cra_error *err);

static void on_index(void *user, const cra_index_item *item)
{
    cra_cli *cli = user;
    cra_buf key;
    cra_buf_init(&key, NULL);
    if (item->key.size == 0 || cra_bson_to_json(item->key, CRA_JSON_RELAXED, &key, NULL) != CRA_OK)
        key.size = 0;
    if (cli->json) {
        cra_cli_json json;
        cra_cli_json_begin(&json, "item");
        cra_cli_json_put_text(&json, "collection", item->collection);
        cra_cli_json_put_text(&json, "name", item->name);
        cra_cli_json_key(&json, "key");
        if (key.size > 0)
            cra_cli_json_raw(&json, key.data, key.size);
        else
            cra_cli_json_null(&json);
        cra_cli_json_put_text(&json, "state", cra_index_state_name(item->state));
        cra_cli_json_put_text(&json, "detail", item->detail);
        cra_cli_print_json(cli, &json);
    } else {
        cra_cli_print(cli, "%-9s  %s  %s  %.*s%s%s\n", cra_index_state_name(item->state), item->collection,
                      item->name ? item->name : "-", (int)key.size, key.size > 0 ? (const char *)key.data : "",
                      item->detail ? "  " : "", item->detail ? item->detail : "");
    }
    cra_buf_cleanup(&key);
}

/* Index documents of a file, one behind the other. */
static cra_status read_specs(const char *path, cra_buf *out, cra_error *err)
{
    cra_cli_file file;
    cra_cli_reader *reader = NULL;
    cra_cli_record record;
    cra_status status = cra_cli_file_init(&file, path, err);
    if (status == CRA_OK)
        status = cra_cli_reader_open(&file, CRA_FORMAT_JSON, NULL, &reader, err);
    while (status == CRA_OK) {
        status = cra_cli_reader_next(reader, &record, err);
        if (status == CRA_OK && record.bad)
            status = cra_error_set(err, CRA_INVALID, "usage", "%s: %s", path, record.reason);
        if (status == CRA_OK)
            status = cra_buf_append(out, record.document.data, record.document.size);
        if (status == CRA_OK && out->size > CRA_BSON_MAX_DOCUMENT_BYTES)
            status = cra_error_set(err, CRA_INVALID, "usage", "%s: more than 16 MiB of index documents", path);
    }
    cra_cli_reader_free(reader);
    cra_cli_file_close(&file);
    if (status == CRA_CORRUPT) /* a mistake in what the user gave, not in what is stored */
        status = err->status = CRA_INVALID;
    if (status == CRA_DONE && out->size == 0)
        return cra_error_set(err, CRA_INVALID, "usage", "%s holds no index documents", path);
    return status == CRA_DONE ? CRA_OK : status;
}

static cra_status check_target(const cra_cli *cli, cra_error *err)
{
    bool run = cra_cli_given(&cli->args, CRA_CLI_OPTION_INDEX_RUN);
    bool collection = cra_cli_given(&cli->args, CRA_CLI_OPTION_COLLECTION);
    if (cli->args.count == 0 && !run && !collection)
        return cra_error_set(err, CRA_INVALID, "usage", "%s needs REPORT, --run or --collection",
                             cra_cli_commands[cli->args.command].name);
    if (run && (cli->args.count > 0 || collection))
        return cra_error_set(err, CRA_INVALID, "usage", "--run goes without REPORT and --collection");
    return CRA_OK;
}

static cra_status index_command(cra_cli *cli, index_operation operation, unsigned flags, cra_error *err)
{
    cra_index_options options = CRA_INDEX_OPTIONS_INIT;
    cra_run *run = NULL;
    cra_buf specs;
    cra_buf_init(&specs, NULL);
    const char *path = cra_cli_text(&cli->args, CRA_CLI_OPTION_SPEC);
    const char *name = cra_cli_text(&cli->args, CRA_CLI_OPTION_INDEX_RUN);
    options.report = cli->args.count > 0 ? cli->args.arguments[0] : NULL;
    options.collection = cra_cli_text(&cli->args, CRA_CLI_OPTION_COLLECTION);
    options.skip_ttl = cra_cli_given(&cli->args, CRA_CLI_OPTION_SKIP_TTL);

    cra_status status = check_target(cli, err);
    if (status == CRA_OK && path)
        status = read_specs(path, &specs, err);
    options.specs = (cra_bytes){specs.data, specs.size};
    if (status == CRA_OK)
        status = cra_cli_open_engine(cli, flags, err);
    if (status == CRA_OK && name)
        status = cra_run_find(cli->engine, name, &run, err);
    if (run) {
        options.report = cra_run_doc_of(run)->report;
        options.collection = cra_run_doc_of(run)->collection;
    }
    if (status == CRA_OK)
        status = operation(cli->engine, &options, on_index, cli, err);
    if ((status == CRA_OK || status == CRA_PARTIAL) && cli->json)
        cra_cli_print_summary(cli, stdout);
    cra_run_free(run);
    cra_buf_cleanup(&specs);
    return status;
}

cra_status cra_cmd_index_list(cra_cli *cli, cra_error *err)
{
    return index_command(cli, cra_index_list, CRA_ENGINE_READ_ONLY, err);
}

cra_status cra_cmd_index_diff(cra_cli *cli, cra_error *err)
{
    return index_command(cli, cra_index_diff, CRA_ENGINE_READ_ONLY, err);
}

cra_status cra_cmd_index_ensure(cra_cli *cli, cra_error *err)
{
    return index_command(cli, cra_index_ensure, 0, err);
}
