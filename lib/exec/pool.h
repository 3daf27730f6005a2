/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_EXEC_POOL_H
#define CRA_EXEC_POOL_H

/* A fixed number of threads that run jobs from a bounded queue. The submitter waits while the queue is full, so that
 * what is read ahead stays bounded. */

#include <crawlarchive/error.h>

typedef struct cra_pool cra_pool;

typedef struct cra_pool_options {
    size_t workers;        /* at least 1 */
    size_t queue_capacity; /* jobs that wait; at least 1 */
    bool keep_going;       /* true: a failed job leaves the others alone; false: the first failure drops the rest */
    /* Runs one job on worker number `worker` (0 …): the index lets a worker keep state of its own, such as a decoder.
     * A negative status is a failure; it fills `err`. */
    cra_status (*run)(void *user, size_t worker, void *job, cra_error *err);
    /* Gets each job that was submitted and will not be run, on any thread; may be NULL. */
    void (*discard)(void *user, void *job);
    void *user;
} cra_pool_options;

/* Start the threads. @return CRA_INVALID, CRA_NOMEM, CRA_UNAVAILABLE */
CRA_MUST_CHECK cra_status cra_pool_new(const cra_pool_options *options, const cra_allocator *allocator, cra_pool **out,
                                       cra_error *err);

/* Hand over one job; waits for room. Thread-safe.
 * @return the first failure (keep_going false) or CRA_CANCELLED: the job was not taken and stays the caller's */
CRA_MUST_CHECK cra_status cra_pool_submit(cra_pool *pool, void *job, cra_error *err);

/* Drop what waits and take nothing more; running jobs end by themselves. Thread-safe. */
void cra_pool_cancel(cra_pool *pool);

/* Wait until every submitted job has ended; the pool can be used again afterwards (unless it failed).
 * @return the first failure in time, with its error; else CRA_CANCELLED where jobs were dropped; else CRA_OK */
CRA_MUST_CHECK cra_status cra_pool_wait(cra_pool *pool, cra_error *err);

/* How many jobs failed so far. */
size_t cra_pool_failures(cra_pool *pool);

/* Run what waits (or drop it, after a failure or a cancel), join the threads, free; NULL is legal. */
void cra_pool_free(cra_pool *pool);

#endif
