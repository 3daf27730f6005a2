/* SPDX-License-Identifier: Apache-2.0 */

/* crawlarchive: a thin client of the library. */

#include <stdlib.h>
#include <string.h>

#include "output.h"

static const cra_cli_function functions[CRA_CLI_COMMAND_END] = {
#define COMMAND(id, function, ...) cra_cmd_##function,
#include "options.def"
#undef COMMAND
};

static cra_status print_version(cra_cli *cli, cra_error *err)
{
    cra_status status = cra_cli_open_context(cli, err);
    if (status != CRA_OK)
        return status;
    cra_cli_print(cli, "crawlarchive %s\nbackends:", cra_version());
    const cra_backend *backend;
    for (size_t i = 0; (backend = cra_backend_at(cli->context, i)) != NULL; i++)
        cra_cli_print(cli, " %s", backend->scheme);
    cra_cli_print(cli, "\n");
    return CRA_OK;
}

static cra_status run_command(cra_cli *cli, cra_error *err)
{
    if (cli->args.version)
        return print_version(cli, err);
    if (cli->args.overview)
        cra_cli_help_overview(stdout);
    else if (cli->args.help)
        cra_cli_help_command(stdout, cli->args.command);
    else
        return functions[cli->args.command](cli, err);
    return CRA_OK;
}

static int exit_code_of(const cra_cli *cli, cra_status status)
{
    int number = cra_cli_signal();
    if (number != 0 && status < CRA_OK)
        return 128 + number;
    if (cli->exit_code >= 0)
        return cli->exit_code;
    return status > CRA_OK ? 0 : cra_status_exit_code(status);
}

/* Write the metrics file; it cannot turn a failure into a success, but a success into a failure. */
static int finish_metrics(cra_cli *cli, int exit_code)
{
    cra_error err = {0};
    const char *path = cra_cli_text(&cli->args, CRA_CLI_OPTION_METRICS_FILE);
    if (!path || cli->args.command == CRA_CLI_COMMAND_END ||
        cra_cli_metrics_write(cli, path, exit_code, &err) == CRA_OK)
        return exit_code;
    cra_cli_print_error(cli, &err, 1);
    return exit_code == 0 ? 1 : exit_code;
}

static void take_globals(cra_cli *cli)
{
    cli->json = cra_cli_number(&cli->args, CRA_CLI_OPTION_OUTPUT, 0) == 1;
    cli->quiet = cra_cli_given(&cli->args, CRA_CLI_OPTION_QUIET);
    cli->verbose = cli->quiet ? 0 : cli->args.values[CRA_CLI_OPTION_VERBOSE].times;
}

int main(int argc, char **argv)
{
    cra_cli cli;
    cra_error err = {0};
    memset(&cli, 0, sizeof cli);
    cli.exit_code = -1;
    cli.started_ms = cra_cli_monotonic_ms();
    pthread_mutex_init(&cli.lock, NULL);
    cra_cli_signals_install();

    cra_status status = cra_cli_args_parse(argc, argv, &cli.args, &err);
    cli.json = cli.args.json;
    if (status == CRA_OK) {
        take_globals(&cli);
        status = run_command(&cli, &err);
    }
    int exit_code = exit_code_of(&cli, status);
    cra_error output = {0};
    if (cra_cli_output_status(&cli, &output) != CRA_OK) {
        if (exit_code < 128)
            exit_code = 1;
        cra_cli_print_error(&cli, &output, exit_code);
    } else if (status < CRA_OK) {
        cra_cli_print_error(&cli, &err, exit_code);
    }
    exit_code = finish_metrics(&cli, exit_code);
    cra_cli_close(&cli);
    cra_cli_args_cleanup(&cli.args);
    pthread_mutex_destroy(&cli.lock);
    return exit_code;
}
