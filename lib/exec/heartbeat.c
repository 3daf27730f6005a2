/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/heartbeat.h"

#include "base/alloc.h"
#include "os/clock.h"
#include "os/thread.h"

/* How often a lent clock is looked at, in real milliseconds: a small part of the interval, within bounds. */
#define LENT_CLOCK_PARTS 64
#define LENT_CLOCK_MIN_MS 2
#define LENT_CLOCK_MAX_MS 50

struct cra_heartbeat {
    const cra_allocator *allocator;
    cra_heartbeat_options options;
    cra_thread thread;
    cra_mutex lock;
    cra_cond stopped;
    bool stopping;
    int64_t count;
    int64_t next_ms;
    cra_status status;
    cra_error error;
};

static int64_t now_ms(const cra_heartbeat *heartbeat)
{
    if (heartbeat->options.monotonic_ms == NULL)
        return cra_os_monotonic_ms();
    return heartbeat->options.monotonic_ms(heartbeat->options.clock_user);
}

static int64_t lent_clock_step(const cra_heartbeat *heartbeat)
{
    const int64_t step = heartbeat->options.interval_ms / LENT_CLOCK_PARTS;

    return step < LENT_CLOCK_MIN_MS ? LENT_CLOCK_MIN_MS : step > LENT_CLOCK_MAX_MS ? LENT_CLOCK_MAX_MS : step;
}

/* Wait until the next beat is due; the lock is held on entry and exit. @return false where the beating shall end */
static bool wait_until_due(cra_heartbeat *heartbeat)
{
    while (!heartbeat->stopping) {
        int64_t left = heartbeat->next_ms - now_ms(heartbeat);
        if (left <= 0)
            return true;
        if (heartbeat->options.monotonic_ms != NULL && left > lent_clock_step(heartbeat))
            left = lent_clock_step(heartbeat);
        cra_cond_wait_ms(&heartbeat->stopped, &heartbeat->lock, left);
    }
    return false;
}

static void beat(void *user)
{
    cra_heartbeat *heartbeat = user;

    cra_mutex_lock(&heartbeat->lock);
    while (heartbeat->status == CRA_OK && wait_until_due(heartbeat)) {
        cra_error error = {0};
        cra_mutex_unlock(&heartbeat->lock);
        const cra_status status = heartbeat->options.beat(heartbeat->options.user, &error);
        cra_mutex_lock(&heartbeat->lock);
        heartbeat->count++;
        /* From now, not from when it was due: a stalled process must not fire a volley. */
        heartbeat->next_ms = now_ms(heartbeat) + heartbeat->options.interval_ms;
        heartbeat->status = status;
        heartbeat->error = error;
    }
    cra_mutex_unlock(&heartbeat->lock);
}

static void destroy(cra_heartbeat *heartbeat)
{
    cra_cond_destroy(&heartbeat->stopped);
    cra_mutex_destroy(&heartbeat->lock);
    cra_free(heartbeat->allocator, heartbeat);
}

cra_status cra_heartbeat_start(const cra_heartbeat_options *options, const cra_allocator *allocator,
                               cra_heartbeat **out, cra_error *err)
{
    *out = NULL;
    if (options->interval_ms <= 0 || options->interval_ms > INT64_MAX / 2 || options->beat == NULL)
        return cra_error_set(err, CRA_INVALID, "heartbeat", "a heartbeat needs an interval above 0 and a beat");

    cra_heartbeat *heartbeat = cra_calloc(allocator, 1, sizeof *heartbeat);
    if (heartbeat == NULL)
        return cra_error_set(err, CRA_NOMEM, "heartbeat", "out of memory while starting a heartbeat");
    heartbeat->allocator = allocator;
    heartbeat->options = *options;
    heartbeat->next_ms = now_ms(heartbeat) + options->interval_ms;
    cra_status status = cra_mutex_init(&heartbeat->lock, err);
    if (status != CRA_OK) {
        cra_free(allocator, heartbeat);
        return status;
    }
    status = cra_cond_init(&heartbeat->stopped, err);
    if (status != CRA_OK) {
        cra_mutex_destroy(&heartbeat->lock);
        cra_free(allocator, heartbeat);
        return status;
    }
    status = cra_thread_start(&heartbeat->thread, beat, heartbeat, allocator, err);
    if (status != CRA_OK) {
        destroy(heartbeat);
        return status;
    }
    *out = heartbeat;
    return CRA_OK;
}

cra_status cra_heartbeat_status(cra_heartbeat *heartbeat, cra_error *err)
{
    cra_mutex_lock(&heartbeat->lock);
    const cra_status status = heartbeat->status;
    if (status != CRA_OK && err != NULL)
        *err = heartbeat->error;
    cra_mutex_unlock(&heartbeat->lock);
    return status;
}

int64_t cra_heartbeat_count(cra_heartbeat *heartbeat)
{
    cra_mutex_lock(&heartbeat->lock);
    const int64_t count = heartbeat->count;
    cra_mutex_unlock(&heartbeat->lock);
    return count;
}

cra_status cra_heartbeat_stop(cra_heartbeat *heartbeat, cra_error *err)
{
    if (heartbeat == NULL)
        return CRA_OK;

    cra_mutex_lock(&heartbeat->lock);
    heartbeat->stopping = true;
    cra_cond_broadcast(&heartbeat->stopped);
    cra_mutex_unlock(&heartbeat->lock);
    cra_thread_join(&heartbeat->thread);
    const cra_status status = cra_heartbeat_status(heartbeat, err);
    destroy(heartbeat);
    return status;
}
