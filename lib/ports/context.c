/* SPDX-License-Identifier: Apache-2.0 */
#include "ports/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "os/clock.h"

/* How late a sleeper may notice a stop. */
#define SLEEP_STEP_MS 50

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler may only touch lock-free atomics");

static void *system_malloc(void *user, size_t size)
{
    (void)user;
    return malloc(size);
}

static void *system_realloc(void *user, void *ptr, size_t size)
{
    (void)user;
    return realloc(ptr, size);
}

static void system_free(void *user, void *ptr)
{
    (void)user;
    free(ptr);
}

static cra_time_ms machine_wall_ms(void *user)
{
    (void)user;
    return cra_os_wall_ms();
}

static int64_t machine_monotonic_ms(void *user)
{
    (void)user;
    return cra_os_monotonic_ms();
}

static void machine_sleep_ms(void *user, int64_t duration_ms)
{
    (void)user;
    cra_os_sleep_ms(duration_ms);
}

static cra_status choose_allocator(const cra_allocator *given, cra_allocator *out, cra_error *err)
{
    if (given == NULL) {
        *out = (cra_allocator){system_malloc, system_realloc, system_free, NULL};
        return CRA_OK;
    }
    if (given->malloc_fn == NULL || given->realloc_fn == NULL || given->free_fn == NULL)
        return cra_error_set(err, CRA_INVALID, "context", "the allocator lacks one of malloc, realloc and free");
    *out = *given;
    return CRA_OK;
}

static cra_clock choose_clock(const cra_clock *given)
{
    cra_clock clock = {NULL, NULL, NULL, NULL};

    if (given != NULL)
        clock = *given;
    if (clock.wall_ms == NULL)
        clock.wall_ms = machine_wall_ms;
    if (clock.monotonic_ms == NULL)
        clock.monotonic_ms = machine_monotonic_ms;
    if (clock.sleep_ms == NULL)
        clock.sleep_ms = machine_sleep_ms;
    return clock;
}

cra_status cra_context_new_bare(const cra_context_options *options, cra_context **out, cra_error *err)
{
    cra_context_options own = CRA_CONTEXT_OPTIONS_INIT;
    cra_allocator allocator;

    *out = NULL;
    if (cra_options_read(&own, sizeof own, options) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, "context",
                             "the options hold members that this version of the library does not know");
    const cra_status status = choose_allocator(own.allocator, &allocator, err);
    if (status != CRA_OK)
        return status;

    cra_context *context = cra_calloc(&allocator, 1, sizeof *context);
    if (context == NULL)
        return cra_error_set(err, CRA_NOMEM, "context", "out of memory while making a context");
    context->allocator = allocator;
    context->clock = choose_clock(own.clock);
    context->log = own.log;
    context->log_user = own.log_user;
    context->log_level = own.log_level;
    context->progress = own.progress;
    context->progress_user = own.progress_user;
    atomic_init(&context->cancelled, 0);
    *out = context;
    return CRA_OK;
}

void cra_context_free(cra_context *context)
{
    if (context == NULL)
        return;

    const cra_allocator allocator = context->allocator;
    for (size_t i = 0; i < context->backends_count; i++)
        cra_free(&allocator, context->backends[i]);
    cra_free(&allocator, context->backends);
    cra_free(&allocator, context);
}

void cra_cancel_request(cra_context *context)
{
    atomic_store(&context->cancelled, 1);
}

bool cra_cancel_requested(const cra_context *context)
{
    return atomic_load(&context->cancelled) != 0;
}

void cra_cancel_reset(cra_context *context)
{
    atomic_store(&context->cancelled, 0);
}

cra_status cra_context_check_cancel(const cra_context *context, cra_error *err)
{
    if (!cra_cancel_requested(context))
        return CRA_OK;
    return cra_error_set(err, CRA_CANCELLED, "context", "stopped on request");
}

const cra_allocator *cra_context_allocator(const cra_context *context)
{
    return &context->allocator;
}

cra_time_ms cra_context_wall_ms(const cra_context *context)
{
    return context->clock.wall_ms(context->clock.user);
}

int64_t cra_context_monotonic_ms(const cra_context *context)
{
    return context->clock.monotonic_ms(context->clock.user);
}

/* In steps, because a signal handler can set the flag but must not wake a condition. A step counts as slept even
 * where the clock's owner returns early: a lent clock that does not move must not hold us for ever. */
void cra_context_sleep_ms(const cra_context *context, int64_t duration_ms)
{
    int64_t left = duration_ms;

    while (left > 0 && !cra_cancel_requested(context)) {
        const int64_t step = left < SLEEP_STEP_MS ? left : SLEEP_STEP_MS;
        context->clock.sleep_ms(context->clock.user, step);
        left -= step;
    }
}

/* What comes from outside must not reach a terminal or split a line. */
static void mask_control_characters(char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7F)
            *text = '?';
    }
}

void cra_log(const cra_context *context, cra_log_level level, const char *origin, const char *format, ...)
{
    if (context == NULL || context->log == NULL || level > context->log_level)
        return;

    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    mask_control_characters(line);
    context->log(context->log_user, level, origin, line);
}

cra_status cra_context_report(cra_context *context, const cra_progress *progress)
{
    if (context->progress != NULL && context->progress(context->progress_user, progress) != 0)
        return CRA_CANCELLED;
    return cra_cancel_requested(context) ? CRA_CANCELLED : CRA_OK;
}
