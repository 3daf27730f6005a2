/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

int64_t cra_cli_monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void gauge(FILE *file, const char *name, const char *help, const char *command, int64_t number)
{
    fprintf(file, "# HELP crawlarchive_%s %s\n# TYPE crawlarchive_%s gauge\ncrawlarchive_%s{command=\"%s\"} %lld\n",
            name, help, name, name, command, (long long)number);
}

static void write_all(const cra_cli *cli, FILE *file, int exit_code)
{
    const char *command = cra_cli_commands[cli->args.command].name;
    gauge(file, "exit_code", "Exit code of the last invocation.", command, exit_code);
    gauge(file, "finished_seconds", "End of the last invocation, seconds since 1970.", command, (int64_t)time(NULL));
    gauge(file, "elapsed_milliseconds", "Duration of the last invocation.", command,
          cra_cli_monotonic_ms() - cli->started_ms);
    for (size_t i = 0; i < cli->summary_count; i++)
        if (!cli->summary[i].is_text && cli->summary[i].number >= 0)
            gauge(file, cli->summary[i].key, "As in the summary of the last invocation.", command,
                  cli->summary[i].number);
}

cra_status cra_cli_metrics_write(const cra_cli *cli, const char *path, int exit_code, cra_error *err)
{
    char temporary[1100];
    int length = snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof temporary)
        return cra_error_set(err, CRA_INVALID, "metrics", "--metrics-file: the path is too long");
    FILE *file = fopen(temporary, "w");
    if (!file)
        return cra_error_set_native(err, cra_status_from_errno(errno), errno, "metrics", "%s: %s", temporary,
                                    strerror(errno));
    write_all(cli, file, exit_code);
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    if (!failed && rename(temporary, path) == 0)
        return CRA_OK;
    int number = errno;
    unlink(temporary);
    return cra_error_set_native(err, CRA_IO, number, "metrics", "%s: %s", path, strerror(number));
}
