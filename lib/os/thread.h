/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OS_THREAD_H
#define CRA_OS_THREAD_H

/* Mutex, condition and thread over pthreads. Locking cannot fail in a correct program, so it returns nothing. */

#include <pthread.h>

#include <crawlarchive/error.h>

typedef struct cra_mutex {
    pthread_mutex_t native;
} cra_mutex;

typedef struct cra_cond {
    pthread_cond_t native;
} cra_cond;

typedef struct cra_thread {
    pthread_t native;
} cra_thread;

CRA_MUST_CHECK cra_status cra_mutex_init(cra_mutex *mutex, cra_error *err);
void cra_mutex_destroy(cra_mutex *mutex);
void cra_mutex_lock(cra_mutex *mutex);
void cra_mutex_unlock(cra_mutex *mutex);

CRA_MUST_CHECK cra_status cra_cond_init(cra_cond *cond, cra_error *err);
void cra_cond_destroy(cra_cond *cond);
void cra_cond_wait(cra_cond *cond, cra_mutex *mutex);
/* Wait at most `duration_ms` of the machine's monotonic clock, or a million seconds. @return false where the time
 * ran out */
bool cra_cond_wait_ms(cra_cond *cond, cra_mutex *mutex, int64_t duration_ms);
void cra_cond_signal(cra_cond *cond);
void cra_cond_broadcast(cra_cond *cond);

/* Start `body(user)` on a new thread that takes no signals (those are the program's main thread's to handle).
 * @return CRA_UNAVAILABLE where the system has no thread left */
CRA_MUST_CHECK cra_status cra_thread_start(cra_thread *thread, void (*body)(void *user), void *user,
                                           const cra_allocator *allocator, cra_error *err);
/* Wait for its end. */
void cra_thread_join(cra_thread *thread);

#endif
