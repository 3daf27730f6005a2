/* SPDX-License-Identifier: Apache-2.0 */

/* import: files into the hot store, as a run */

#include <stdlib.h>
#include <string.h>

#include "records.h"

static cra_status open_files(cra_cli *cli, cra_cli_file *files, cra_input *inputs, size_t count, cra_error *err)
{
    cra_format format = (cra_format)cra_cli_number(&cli->args, CRA_CLI_OPTION_IMPORT_FORMAT, CRA_FORMAT_AUTO);
    for (size_t i = 0; i < count; i++) {
        cra_status status = cra_cli_file_init(&files[i], cli->args.arguments[2 + i], err);
        if (status != CRA_OK)
            return status;
        inputs[i].struct_size = sizeof inputs[i];
        inputs[i].name = strcmp(files[i].path, "-") == 0 ? "standard input" : files[i].path;
        inputs[i].source = (cra_source){sizeof(cra_source), cra_cli_file_read, NULL, &files[i]};
        inputs[i].format = format;
    }
    return CRA_OK;
}

static void summary(cra_cli *cli, const cra_result *result)
{
    cra_cli_sum_int(cli, "records", cra_result_sum(result, CRA_COUNT_RECORDS));
    cra_cli_sum_int(cli, "bytes", cra_result_sum(result, CRA_COUNT_BYTES));
    cra_cli_print_summary(cli, stdout);
}

cra_status cra_cmd_import(cra_cli *cli, cra_error *err)
{
    const cra_cli_args *args = &cli->args;
    size_t count = args->count - 2;
    cra_import_options options = CRA_IMPORT_OPTIONS_INIT;
    cra_cli_file *files = calloc(count, sizeof *files);
    cra_input *inputs = calloc(count, sizeof *inputs);
    cra_result *result = NULL;
    cra_status status = files && inputs ? open_files(cli, files, inputs, count, err)
                                        : cra_error_set(err, CRA_NOMEM, "import", "out of memory");
    if (status == CRA_OK)
        status = cra_cli_open_engine(cli, 0, err);
    if (status == CRA_OK)
        status =
            cra_import_run(cli->engine, args->arguments[0], args->arguments[1], inputs, count, &options, &result, err);
    if (result)
        summary(cli, result);
    cra_result_free(result);
    for (size_t i = 0; files && i < count; i++)
        cra_cli_file_close(&files[i]);
    free(inputs);
    free(files);
    return status;
}
