/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/run_progress.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "exec/heartbeat.h"
#include "os/thread.h"
#include "ports/context.h"

/* A person who watches wants to see it move. */
#define FINE_STEP_MS 250
#define CHECKPOINT_SIZE 160

struct cra_run_progress {
    cra_context *context;
    const cra_allocator *allocator;
    const char *operation;
    char *report;
    char *run;
    int64_t heartbeat_ms;
    int64_t interval_ms; /* of reports; a heartbeat is the report nearest to its time */
    cra_heartbeat *beat;
    atomic_bool cancelled;
    cra_mutex mutex; /* guards what the workers say */
    bool mutex_ready;
    const char *phase;
    int64_t records, total, bytes;
    char checkpoint[CHECKPOINT_SIZE];
    /* of the reporting thread alone */
    int64_t started_ms, reported_ms, heartbeat_due_ms;
    int64_t reported_records;
    int64_t beat_records, beat_bytes;
    const char *beat_phase;
};

/* Rate since the last report; time left at the average so far. */
static void fill_rate(cra_run_progress *self, int64_t now_ms, cra_progress *progress)
{
    const int64_t step_ms = now_ms - self->reported_ms;
    const int64_t total_ms = now_ms - self->started_ms;

    if (step_ms > 0)
        progress->rate = (double)(progress->records - self->reported_records) * 1000.0 / (double)step_ms;
    progress->eta_ms = -1;
    if (progress->records_total >= progress->records && progress->records > 0 && total_ms > 0)
        progress->eta_ms = (int64_t)((double)(progress->records_total - progress->records) * (double)total_ms /
                                     (double)progress->records);
}

static cra_status report(void *user, cra_error *err)
{
    cra_run_progress *self = user;
    const int64_t now_ms = cra_context_monotonic_ms(self->context);
    char checkpoint[CHECKPOINT_SIZE];
    cra_progress progress = {.struct_size = sizeof(progress),
                             .operation = self->operation,
                             .report = self->report,
                             .run = self->run,
                             .checkpoint = checkpoint,
                             .heartbeat = now_ms + self->interval_ms / 2 >= self->heartbeat_due_ms};

    (void)err;
    cra_mutex_lock(&self->mutex);
    progress.phase = self->phase;
    progress.records = self->records;
    progress.records_total = self->total;
    progress.bytes = self->bytes;
    snprintf(checkpoint, sizeof(checkpoint), "%s", self->checkpoint);
    cra_mutex_unlock(&self->mutex);
    fill_rate(self, now_ms, &progress);
    progress.moved = progress.records != self->beat_records || progress.bytes != self->beat_bytes ||
                     progress.phase != self->beat_phase;
    self->reported_ms = now_ms;
    self->reported_records = progress.records;
    if (progress.heartbeat) {
        self->heartbeat_due_ms = now_ms + self->heartbeat_ms;
        self->beat_records = progress.records;
        self->beat_bytes = progress.bytes;
        self->beat_phase = progress.phase;
    }
    if (cra_context_report(self->context, &progress) != CRA_OK)
        atomic_store(&self->cancelled, true);
    return CRA_OK;
}

static cra_status start_beat(cra_run_progress *self, cra_error *err)
{
    cra_heartbeat_options options = {0, report, self, NULL, NULL};

    self->interval_ms = self->heartbeat_ms < FINE_STEP_MS ? self->heartbeat_ms : FINE_STEP_MS;
    options.interval_ms = self->interval_ms;
    self->started_ms = self->reported_ms = cra_context_monotonic_ms(self->context);
    self->heartbeat_due_ms = self->started_ms + self->heartbeat_ms;
    if (self->context->progress == NULL)
        return CRA_OK;
    return cra_heartbeat_start(&options, self->allocator, &self->beat, err);
}

cra_status cra_run_progress_start(cra_context *context, const char *operation, const char *report_name, const char *run,
                                  int64_t heartbeat_ms, cra_run_progress **out, cra_error *err)
{
    const cra_allocator *allocator = cra_context_allocator(context);
    cra_run_progress *self = cra_calloc(allocator, 1, sizeof(*self));
    cra_status status;

    *out = NULL;
    if (self == NULL)
        return cra_error_set(err, CRA_NOMEM, operation, "no memory for a heartbeat");
    self->context = context;
    self->allocator = allocator;
    self->operation = operation;
    self->phase = "start";
    self->total = -1;
    self->heartbeat_ms = heartbeat_ms;
    self->report = cra_strdup(allocator, report_name);
    self->run = cra_strdup(allocator, run);
    if (self->report == NULL || self->run == NULL)
        status = cra_error_set(err, CRA_NOMEM, operation, "no memory for a heartbeat");
    else
        status = cra_mutex_init(&self->mutex, err);
    if (status == CRA_OK) {
        self->mutex_ready = true;
        status = start_beat(self, err);
    }
    if (status != CRA_OK) {
        cra_run_progress_stop(self);
        return status;
    }
    *out = self;
    return CRA_OK;
}

void cra_run_progress_stop(cra_run_progress *progress)
{
    if (progress == NULL)
        return;
    (void)cra_heartbeat_stop(progress->beat, NULL);
    if (progress->mutex_ready)
        cra_mutex_destroy(&progress->mutex);
    cra_free(progress->allocator, progress->report);
    cra_free(progress->allocator, progress->run);
    cra_free(progress->allocator, progress);
}

void cra_run_progress_set(cra_run_progress *progress, const char *phase, int64_t records, int64_t total, int64_t bytes,
                          const char *checkpoint)
{
    cra_mutex_lock(&progress->mutex);
    progress->phase = phase;
    progress->records = records;
    progress->total = total;
    progress->bytes = bytes;
    if (checkpoint != NULL)
        snprintf(progress->checkpoint, sizeof(progress->checkpoint), "%s", checkpoint);
    cra_mutex_unlock(&progress->mutex);
}

bool cra_run_progress_cancelled(const cra_run_progress *progress)
{
    return progress != NULL && atomic_load(&progress->cancelled);
}
