/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

extern char **environ;

#define BESIDE "crawlarchive.yaml"
#define SYSTEM "/etc/crawlarchive.yaml"

static void on_log(void *user, cra_log_level level, const char *origin, const char *message)
{
    cra_cli_log(user, level, origin, message);
}

/* Whether somebody sees progress: JSON lines of commands that declare them, else a line on a terminal. */
static bool wants_progress(cra_cli *cli)
{
    enum { AUTO, ALWAYS, NEVER };
    int64_t when = cra_cli_number(&cli->args, CRA_CLI_OPTION_PROGRESS, AUTO);
    if (cli->json)
        return when != NEVER && cli->args.command == CRA_CLI_COMMAND_RESTORE;
    return when == ALWAYS || (when == AUTO && !cli->quiet && isatty(STDERR_FILENO) != 0);
}

cra_status cra_cli_open_context(cra_cli *cli, cra_error *err)
{
    if (cli->context)
        return CRA_OK;
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    options.log = on_log;
    options.log_user = cli;
    options.log_level = cli->quiet          ? CRA_LOG_ERROR
                        : cli->verbose >= 2 ? CRA_LOG_DEBUG
                        : cli->verbose == 1 ? CRA_LOG_INFO
                                            : CRA_LOG_WARN;
    cli->progress = wants_progress(cli);
    options.progress = cli->progress ? cra_cli_on_progress : NULL;
    options.progress_user = cli;
    cra_status status = cra_context_new(&options, &cli->context, err);
    if (status != CRA_OK)
        return status;
    cra_cli_signals_context(cli->context);
    return cra_cli_check_signal(err);
}

static bool there(const char *path)
{
    return access(path, F_OK) == 0;
}

static cra_status find_config(cra_cli *cli, cra_error *err)
{
    const char *path = cra_cli_text(&cli->args, CRA_CLI_OPTION_CONFIG);
    if (!path) {
        path = getenv("CRAWLARCHIVE_CONFIG");
        if (path && *path == '\0')
            path = NULL;
    }
    if (!path)
        path = there(BESIDE) ? BESIDE : there(SYSTEM) ? SYSTEM : NULL;
    if (!path) {
        cra_error_set(err, CRA_INVALID, "config",
                      "no configuration file: neither --config nor $CRAWLARCHIVE_CONFIG "
                      "names one, and there is no ./" BESIDE " and no " SYSTEM);
        cra_error_hint(err, "'crawlarchive init' writes one");
        return CRA_INVALID;
    }
    int length = snprintf(cli->config_path, sizeof cli->config_path, "%s", path);
    if ((size_t)length >= sizeof cli->config_path)
        return cra_error_set(err, CRA_INVALID, "config", "the path of the configuration file is too long");
    if (there(path))
        return CRA_OK;
    cra_error_set(err, CRA_INVALID, "config", "no configuration file %s: %s", path, strerror(errno));
    cra_error_hint(err, "'crawlarchive init' writes one");
    return CRA_INVALID;
}

cra_status cra_cli_open_config(cra_cli *cli, cra_error *err)
{
    if (cli->config)
        return CRA_OK;
    cra_status status = cra_cli_open_context(cli, err);
    if (status == CRA_OK && cli->config_path[0] == '\0')
        status = find_config(cli, err);
    if (status == CRA_OK)
        status = cra_config_new(cli->context, &cli->config, err);
    if (status == CRA_OK)
        status = cra_config_load_file(cli->config, cli->config_path, err);
    if (status == CRA_OK)
        status = cra_config_load_environment(cli->config, (const char *const *)environ, err);
    if (status == CRA_OK)
        status = cra_config_validate(cli->config, err);
    return status;
}

cra_status cra_cli_open_engine(cra_cli *cli, unsigned flags, cra_error *err)
{
    cra_status status = cra_cli_open_config(cli, err);
    if (status == CRA_OK && !cli->engine)
        status = cra_engine_open(cli->context, cli->config, flags, &cli->engine, err);
    return status;
}

cra_status cra_cli_open_run(cra_cli *cli, unsigned flags, cra_run **out, cra_error *err)
{
    *out = NULL;
    cra_status status = cra_cli_open_engine(cli, flags, err);
    if (status == CRA_OK)
        status = cra_run_find(cli->engine, cli->args.arguments[0], out, err);
    return status;
}

void cra_cli_close(cra_cli *cli)
{
    cra_engine_free(cli->engine);
    cra_config_free(cli->config);
    cra_cli_signals_context(NULL);
    cra_context_free(cli->context);
    cli->engine = NULL;
    cli->config = NULL;
    cli->context = NULL;
}
