/* SPDX-License-Identifier: Apache-2.0 */
#include "os/thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/alloc.h"

static cra_status native_failure(cra_error *err, int code, const char *what)
{
    const cra_status status = code == ENOMEM ? CRA_NOMEM : CRA_UNAVAILABLE;

    return cra_error_set_native(err, status, code, "thread", "the system cannot give another %s", what);
}

cra_status cra_mutex_init(cra_mutex *mutex, cra_error *err)
{
    const int code = pthread_mutex_init(&mutex->native, NULL);

    return code == 0 ? CRA_OK : native_failure(err, code, "mutex");
}

void cra_mutex_destroy(cra_mutex *mutex)
{
    pthread_mutex_destroy(&mutex->native);
}

void cra_mutex_lock(cra_mutex *mutex)
{
    pthread_mutex_lock(&mutex->native);
}

void cra_mutex_unlock(cra_mutex *mutex)
{
    pthread_mutex_unlock(&mutex->native);
}

cra_status cra_cond_init(cra_cond *cond, cra_error *err)
{
    pthread_condattr_t attributes;
    int code = pthread_condattr_init(&attributes);

    if (code == 0) {
        /* Timed waits must not move with the wall clock. */
        code = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        if (code == 0)
            code = pthread_cond_init(&cond->native, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    return code == 0 ? CRA_OK : native_failure(err, code, "condition");
}

void cra_cond_destroy(cra_cond *cond)
{
    pthread_cond_destroy(&cond->native);
}

void cra_cond_wait(cra_cond *cond, cra_mutex *mutex)
{
    pthread_cond_wait(&cond->native, &mutex->native);
}

bool cra_cond_wait_ms(cra_cond *cond, cra_mutex *mutex, int64_t duration_ms)
{
    struct timespec until;
    /* A wait of years is cut to some days: the caller looks at its condition again anyway. */
    const int64_t longest = 1000000000;
    const int64_t duration = duration_ms <= 0 ? 0 : duration_ms < longest ? duration_ms : longest;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(duration / 1000);
    until.tv_nsec += (long)(duration % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return pthread_cond_timedwait(&cond->native, &mutex->native, &until) != ETIMEDOUT;
}

void cra_cond_signal(cra_cond *cond)
{
    pthread_cond_signal(&cond->native);
}

void cra_cond_broadcast(cra_cond *cond)
{
    pthread_cond_broadcast(&cond->native);
}

/* What the new thread needs; freed by it. */
typedef struct start {
    void (*body)(void *user);
    void *user;
    const cra_allocator *allocator;
} start;

static void *run(void *argument)
{
    const start todo = *(start *)argument;

    cra_free(todo.allocator, argument);
    todo.body(todo.user);
    return NULL;
}

cra_status cra_thread_start(cra_thread *thread, void (*body)(void *user), void *user, const cra_allocator *allocator,
                            cra_error *err)
{
    start *todo = cra_malloc(allocator, sizeof *todo);
    if (todo == NULL)
        return cra_error_set(err, CRA_NOMEM, "thread", "out of memory while starting a thread");
    *todo = (start){body, user, allocator};

    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&thread->native, NULL, run, todo);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        cra_free(allocator, todo);
        return native_failure(err, code, "thread");
    }
    return CRA_OK;
}

void cra_thread_join(cra_thread *thread)
{
    pthread_join(thread->native, NULL);
}
