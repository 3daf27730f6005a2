/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_EXEC_THROTTLE_H
#define CRA_EXEC_THROTTLE_H

/* How fast a store is written to: a rate in records a second, and a batch size that gives way to the store. Pure:
 * time comes in as a parameter (milliseconds of a monotonic clock), nothing sleeps and nothing locks. */

#include <crawlarchive/types.h>

/* ---- records a second ---- */

/* A token bucket that holds one second's worth. Copyable, no cleanup. */
typedef struct cra_rate {
    int64_t per_second;   /* 0: no limit */
    int64_t milli_tokens; /* thousandths of a record; negative: owed */
    int64_t filled_at_ms;
} cra_rate;

void cra_rate_init(cra_rate *rate, int64_t per_second, int64_t now_ms);

/* Take `records` at once, also beyond what is there. @return how long to wait before they are sent, in
 * milliseconds; 0: now */
int64_t cra_rate_take(cra_rate *rate, int64_t records, int64_t now_ms);

/* ---- batch size ---- */

typedef struct cra_batch_options {
    int64_t initial;    /* documents in the first batch */
    int64_t min;        /* never fewer */
    int64_t max;        /* never more */
    int64_t max_lag_ms; /* replication lag above it pauses; 0: not looked at */
    int64_t latency_ms; /* the p95 of recent batches should stay below it; 0: not looked at */
} cra_batch_options;

/* What one batch showed. */
typedef struct cra_batch_sample {
    int64_t latency_ms;  /* of the batch */
    int64_t lag_ms;      /* -1 where it cannot be told */
    bool concern_failed; /* written, but its durability could not be confirmed in time (server code 64) */
    bool store_busy;     /* TIMEOUT or UNAVAILABLE */
} cra_batch_sample;

#define CRA_BATCH_WINDOW 20

/* Additive increase, multiplicative decrease. Copyable, no cleanup. */
typedef struct cra_batch_control {
    cra_batch_options options;
    int64_t size;
    int64_t window[CRA_BATCH_WINDOW]; /* latencies of the latest batches, oldest overwritten */
    size_t window_count;
    size_t window_next;
    int64_t pause_ms; /* the last pause, doubled while the store stays behind */
} cra_batch_control;

void cra_batch_control_init(cra_batch_control *control, const cra_batch_options *options);

/* Documents for the next batch. */
int64_t cra_batch_size(const cra_batch_control *control);

/* Learn from a batch: lag over the limit pauses, a failed concern or a busy store backs off and halves, a p95 over
 * the limit halves, else the size grows by a tenth of its maximum.
 * @return how long to wait before the next batch, in milliseconds */
int64_t cra_batch_learn(cra_batch_control *control, const cra_batch_sample *sample);

/* The same for a health check in a pause: whether the store has caught up. @return the next wait, 0: go on */
int64_t cra_batch_lag(cra_batch_control *control, int64_t lag_ms);

#endif
