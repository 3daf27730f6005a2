/* SPDX-License-Identifier: Apache-2.0 */

/* A C service that links libcrawlarchive: it lends its clock, takes the log, watches progress, and may cancel.
 *
 *   cc embed.c $(pkg-config --cflags --libs crawlarchive) -o embed && ./embed FOLDER
 */

#include <crawlarchive/crawlarchive.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)

/* A clock that the program moves: a week passes when it says so. */
typedef struct service {
    cra_time_ms now;
    int64_t monotonic;
    int beats;
    bool stop;
} service;

static cra_time_ms wall(void *user)
{
    return ((service *)user)->now;
}

static int64_t monotonic(void *user)
{
    return ++((service *)user)->monotonic;
}

static void log_line(void *user, cra_log_level level, const char *origin, const char *message)
{
    (void)user;
    fprintf(stderr, "[%d] %s: %s\n", (int)level, origin, message);
}

static int progress(void *user, const cra_progress *at)
{
    service *self = user;

    (void)at;
    self->beats++;
    return self->stop ? 1 : 0; /* not zero: please stop at the end of the batch */
}

static void must(cra_status status, const cra_error *err, const char *what)
{
    if (status == CRA_OK)
        return;
    fprintf(stderr, "%s: %s (%s)%s%s\n", what, err->message, cra_status_name(status), err->hint[0] != '\0' ? "; " : "",
            err->hint);
    exit(1);
}

/* Records from memory: a source is two pointers and a function. */
typedef struct text_source {
    const char *at;
    size_t left;
} text_source;

static cra_status read_text(void *user, void *buffer, size_t capacity, size_t *got, cra_error *err)
{
    text_source *source = user;

    (void)err;
    *got = source->left < capacity ? source->left : capacity;
    memcpy(buffer, source->at, *got);
    source->at += *got;
    source->left -= *got;
    return CRA_OK;
}

static void import_records(cra_engine *engine, cra_error *err)
{
    char text[16384];
    size_t size = 0;
    cra_result *result = NULL;

    for (int i = 0; i < 100; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "{\"_id\": %d, \"url\": \"/page/%d\", \"price\": 9.5}\n",
                                 i, i);
    text_source source = {text, size};
    const cra_input input = {sizeof input, "memory", {sizeof(cra_source), read_text, NULL, &source}, CRA_FORMAT_NDJSON};
    must(cra_import_run(engine, "prices", "184000", &input, 1, NULL, &result, err), err, "import");
    printf("imported %lld records\n", (long long)cra_result_sum(result, CRA_COUNT_RECORDS_NEW));
    cra_result_free(result);
}

static void archive_and_sweep(cra_engine *engine, service *self, cra_error *err)
{
    cra_run *run = NULL;
    cra_run *delivered = NULL;
    cra_result *result = NULL;
    cra_sweep_plan *plan = NULL;

    must(cra_run_get(engine, "prices", "184000", &run, err), err, "get");
    must(cra_run_deliver(engine, run, "success", CRA_TIME_NONE, &delivered, err), err, "deliver");
    must(cra_archive_run(engine, delivered, NULL, &result, err), err, "archive");
    printf("archived %lld records in %lld parts\n", (long long)cra_result_sum(result, CRA_COUNT_RECORDS),
           (long long)cra_result_sum(result, CRA_COUNT_PARTS));
    cra_result_free(result);

    self->now += 7 * DAY_MS; /* the grace after delivery is over */
    must(cra_sweep_plan_new(engine, NULL, &plan, err), err, "plan");
    must(cra_sweep_execute(engine, plan, &result, err), err, "sweep");
    printf("swept %zu run, removed %lld records\n", cra_result_tally(result, CRA_ITEM_OK),
           (long long)cra_result_sum(result, CRA_COUNT_RECORDS_REMOVED));
    cra_result_free(result);
    cra_sweep_plan_free(plan);
    cra_run_free(delivered);
    cra_run_free(run);
}

static void restore(cra_engine *engine, cra_error *err)
{
    const char *const runs[] = {"184000"};
    cra_restore_options options = CRA_RESTORE_OPTIONS_INIT;
    cra_result *result = NULL;

    options.heartbeat_ms = 1000;
    must(cra_restore_runs(engine, "prices", runs, 1, &options, &result, err), err, "restore");
    printf("restored %lld records\n", (long long)cra_result_sum(result, CRA_COUNT_RECORDS_NEW));
    cra_result_free(result);
}

int main(int argc, char **argv)
{
    service self = {.now = INT64_C(1767225600000)}; /* 2026-01-01 */
    const cra_clock clock = {wall, monotonic, NULL, &self};
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;
    cra_config *config = NULL;
    cra_engine *engine = NULL;
    cra_error err = {CRA_OK, 0, "", "", ""};
    char uri[1024];

    if (argc != 2) {
        fprintf(stderr, "usage: embed FOLDER\n");
        return 2;
    }
    options.clock = &clock;
    options.log = log_line;
    options.progress = progress;
    options.progress_user = &self;
    must(cra_context_new(&options, &context, &err), &err, "context");
    must(cra_config_new(context, &config, &err), &err, "configuration");
    snprintf(uri, sizeof uri, "sqlite:%s/embed.db", argv[1]);
    must(cra_config_set(config, "catalog.uri", uri, &err), &err, "catalog.uri");
    must(cra_config_set(config, "hot.uri", uri, &err), &err, "hot.uri");
    snprintf(uri, sizeof uri, "file:%s/archive", argv[1]);
    must(cra_config_set(config, "archive.uri", uri, &err), &err, "archive.uri");
    must(cra_config_validate(config, &err), &err, "configuration");
    must(cra_engine_open(context, config, CRA_ENGINE_CREATE, &engine, &err), &err, "open");

    import_records(engine, &err);
    archive_and_sweep(engine, &self, &err);
    restore(engine, &err);

    cra_engine_free(engine);
    cra_config_free(config);
    cra_context_free(context);
    return 0;
}
