/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "output.h"

#define LEAST_INTERVAL_MS 100 /* at most 10 lines a second */

void cra_cli_progress_clear(cra_cli *cli)
{
    if (cli->progress_width == 0)
        return;
    fprintf(stderr, "\r%*s\r", (int)cli->progress_width, "");
    cli->progress_width = 0;
}

static void show(cra_cli *cli, const cra_progress *progress)
{
    char line[400], total[32] = "", rate[40] = "", left[64] = "", duration[48];
    if (progress->records_total >= 0)
        snprintf(total, sizeof total, " of %lld", (long long)progress->records_total);
    if (progress->rate > 0)
        snprintf(rate, sizeof rate, ", %.0f/s", progress->rate);
    if (progress->eta_ms >= 0) {
        cra_duration_format(progress->eta_ms / 1000 * 1000, duration, sizeof duration);
        snprintf(left, sizeof left, ", %s left", duration);
    }
    snprintf(line, sizeof line, "%.20s %.40s/%.40s: %.20s %lld%s records%s%s", progress->operation,
             progress->report ? progress->report : "", progress->run ? progress->run : "",
             progress->phase ? progress->phase : "", (long long)progress->records, total, rate, left);
    for (char *at = line; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            *at = '?';
    size_t width = strlen(line);
    int padding = cli->progress_width > width ? (int)(cli->progress_width - width) : 0;
    fprintf(stderr, "\r%s%*s", line, padding, "");
    fflush(stderr);
    cli->progress_width = width;
}

static void tell_json(cra_cli *cli, const cra_progress *progress)
{
    cra_cli_json json;
    cra_cli_json_begin(&json, "progress");
    cra_cli_json_put_text(&json, "run", progress->run);
    cra_cli_json_put_count(&json, "records", progress->records);
    cra_cli_json_put_count(&json, "records_total", progress->records_total);
    cra_cli_json_put_count(&json, "bytes", progress->bytes);
    cra_cli_json_key(&json, "rate");
    cra_cli_json_number(&json, progress->rate);
    cra_cli_json_put_count(&json, "eta_ms", progress->eta_ms);
    cra_cli_json_put_text(&json, "checkpoint", progress->checkpoint);
    cra_cli_json_put_bool(&json, "moved", progress->moved);
    cra_cli_print_json(cli, &json);
}

int cra_cli_on_progress(void *user, const cra_progress *progress)
{
    cra_cli *cli = user;
    if (cli->json) {
        if (progress->heartbeat)
            tell_json(cli, progress);
        return 0;
    }
    int64_t now = cra_context_monotonic_ms(cli->context);
    pthread_mutex_lock(&cli->lock);
    if (now - cli->progress_at_ms >= LEAST_INTERVAL_MS) {
        cli->progress_at_ms = now;
        show(cli, progress);
    }
    pthread_mutex_unlock(&cli->lock);
    return 0;
}
