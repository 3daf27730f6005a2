/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/throttle.h"

#include <string.h>

/* Pauses while the store is behind: doubled from the first to the last. */
#define FIRST_PAUSE_MS 100
#define LAST_PAUSE_MS 5000

/* More than any store takes; keeps the arithmetic within 64 bits. */
#define MAX_RECORDS 1000000000000

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* ---- records a second ---- */

void cra_rate_init(cra_rate *rate, int64_t per_second, int64_t now_ms)
{
    rate->per_second = clamp(per_second, 0, MAX_RECORDS);
    /* Empty at first: a process that is started again and again must not be faster than one that runs. */
    rate->milli_tokens = 0;
    rate->filled_at_ms = now_ms;
}

static void fill(cra_rate *rate, int64_t now_ms)
{
    const int64_t full = rate->per_second * 1000;
    const int64_t elapsed_ms = now_ms - rate->filled_at_ms;

    if (elapsed_ms <= 0)
        return;
    rate->filled_at_ms = now_ms;
    /* per_second records in 1000 ms are per_second thousandths in 1 ms. */
    if (elapsed_ms > (full - rate->milli_tokens) / rate->per_second)
        rate->milli_tokens = full;
    else
        rate->milli_tokens += elapsed_ms * rate->per_second;
}

int64_t cra_rate_take(cra_rate *rate, int64_t records, int64_t now_ms)
{
    if (rate->per_second == 0 || records <= 0)
        return 0;

    fill(rate, now_ms);
    rate->milli_tokens -= clamp(records, 0, MAX_RECORDS) * 1000;
    if (rate->milli_tokens >= 0)
        return 0;
    return (-rate->milli_tokens + rate->per_second - 1) / rate->per_second;
}

/* ---- batch size ---- */

void cra_batch_control_init(cra_batch_control *control, const cra_batch_options *options)
{
    memset(control, 0, sizeof *control);
    control->options = *options;
    if (control->options.min < 1)
        control->options.min = 1;
    if (control->options.max < control->options.min)
        control->options.max = control->options.min;
    control->size = clamp(options->initial, control->options.min, control->options.max);
}

int64_t cra_batch_size(const cra_batch_control *control)
{
    return control->size;
}

static void halve(cra_batch_control *control)
{
    control->size = clamp(control->size / 2, control->options.min, control->options.max);
    /* What was slow was slow at the old size. */
    control->window_count = 0;
    control->window_next = 0;
}

static void grow(cra_batch_control *control)
{
    const int64_t step = control->options.max / 10;

    control->size = clamp(control->size + (step > 0 ? step : 1), control->options.min, control->options.max);
}

static void remember(cra_batch_control *control, int64_t latency_ms)
{
    control->window[control->window_next] = latency_ms;
    control->window_next = (control->window_next + 1) % CRA_BATCH_WINDOW;
    if (control->window_count < CRA_BATCH_WINDOW)
        control->window_count++;
}

/* Whether the p95 of the window lies over the limit: more than a twentieth of the batches do. */
static bool is_slow(const cra_batch_control *control)
{
    size_t over = 0;

    if (control->options.latency_ms <= 0)
        return false;
    for (size_t i = 0; i < control->window_count; i++)
        over += control->window[i] > control->options.latency_ms;
    return over * 20 > control->window_count;
}

static int64_t next_pause(cra_batch_control *control)
{
    control->pause_ms = clamp(control->pause_ms * 2, FIRST_PAUSE_MS, LAST_PAUSE_MS);
    return control->pause_ms;
}

int64_t cra_batch_lag(cra_batch_control *control, int64_t lag_ms)
{
    if (control->options.max_lag_ms > 0 && lag_ms > control->options.max_lag_ms)
        return next_pause(control);
    control->pause_ms = 0;
    return 0;
}

int64_t cra_batch_learn(cra_batch_control *control, const cra_batch_sample *sample)
{
    if (sample->concern_failed || sample->store_busy) {
        halve(control);
        return next_pause(control);
    }
    remember(control, sample->latency_ms);
    const int64_t pause = cra_batch_lag(control, sample->lag_ms);
    if (is_slow(control))
        halve(control);
    else if (pause == 0)
        grow(control);
    return pause;
}
