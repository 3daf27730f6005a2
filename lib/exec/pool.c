/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/pool.h"

#include "base/alloc.h"
#include "os/thread.h"

typedef struct worker {
    cra_pool *pool;
    size_t index;
    cra_thread thread;
} worker;

struct cra_pool {
    const cra_allocator *allocator;
    cra_pool_options options;
    worker *workers;
    size_t started;
    cra_mutex lock;
    cra_cond has_job;
    cra_cond has_room;
    cra_cond is_idle;
    void **queue; /* ring */
    size_t first;
    size_t count;
    size_t running;
    size_t failures;
    bool cancelled;
    bool dropped; /* a job was discarded */
    bool closing;
    cra_status status; /* of the first failure */
    cra_error error;
};

/* Whether nothing more may begin; the lock is held. */
static bool is_stopped(const cra_pool *pool)
{
    return pool->cancelled || (pool->status != CRA_OK && !pool->options.keep_going);
}

static void *take(cra_pool *pool)
{
    void *job = pool->queue[pool->first];

    pool->first = (pool->first + 1) % pool->options.queue_capacity;
    pool->count--;
    return job;
}

/* Discard what waits; the lock is held on entry and exit, but not while a job is discarded. */
static void drop_queue(cra_pool *pool)
{
    while (pool->count > 0) {
        void *job = take(pool);
        pool->dropped = true;
        pool->running++; /* so that nobody takes the pool for idle before it is gone */
        cra_mutex_unlock(&pool->lock);
        if (pool->options.discard != NULL)
            pool->options.discard(pool->options.user, job);
        cra_mutex_lock(&pool->lock);
        pool->running--;
    }
    cra_cond_broadcast(&pool->has_room);
    if (pool->running == 0)
        cra_cond_broadcast(&pool->is_idle);
}

/* Run one job; the lock is held on entry and exit. */
static void run_one(cra_pool *pool, size_t index)
{
    void *job = take(pool);
    cra_error error = {0};

    pool->running++;
    cra_cond_signal(&pool->has_room);
    cra_mutex_unlock(&pool->lock);
    const cra_status status = pool->options.run(pool->options.user, index, job, &error);
    cra_mutex_lock(&pool->lock);
    pool->running--;
    if (status < 0) {
        pool->failures++;
        if (pool->status == CRA_OK) {
            pool->status = status;
            pool->error = error;
        }
    }
}

static void work(void *user)
{
    const worker *w = user;
    cra_pool *pool = w->pool;

    cra_mutex_lock(&pool->lock);
    for (;;) {
        if (is_stopped(pool))
            drop_queue(pool);
        if (pool->count > 0)
            run_one(pool, w->index);
        if (pool->count == 0 && pool->running == 0)
            cra_cond_broadcast(&pool->is_idle);
        if (pool->count == 0 && pool->closing)
            break;
        if (pool->count == 0)
            cra_cond_wait(&pool->has_job, &pool->lock);
    }
    cra_mutex_unlock(&pool->lock);
}

static void destroy(cra_pool *pool)
{
    cra_free(pool->allocator, pool->workers);
    cra_free(pool->allocator, pool->queue);
    cra_free(pool->allocator, pool);
}

static cra_status init_locks(cra_pool *pool, cra_error *err)
{
    cra_status status = cra_mutex_init(&pool->lock, err);

    if (status != CRA_OK)
        return status;
    cra_cond *const conds[] = {&pool->has_job, &pool->has_room, &pool->is_idle};
    for (size_t i = 0; i < 3; i++) {
        status = cra_cond_init(conds[i], err);
        if (status != CRA_OK) {
            while (i > 0)
                cra_cond_destroy(conds[--i]);
            cra_mutex_destroy(&pool->lock);
            return status;
        }
    }
    return CRA_OK;
}

cra_status cra_pool_new(const cra_pool_options *options, const cra_allocator *allocator, cra_pool **out, cra_error *err)
{
    *out = NULL;
    if (options->workers == 0 || options->queue_capacity == 0 || options->run == NULL)
        return cra_error_set(err, CRA_INVALID, "pool", "a pool needs workers, room in its queue and a job to run");

    cra_pool *pool = cra_calloc(allocator, 1, sizeof *pool);
    if (pool == NULL)
        return cra_error_set(err, CRA_NOMEM, "pool", "out of memory while starting %zu workers", options->workers);
    pool->allocator = allocator;
    pool->options = *options;
    pool->workers = cra_calloc(allocator, options->workers, sizeof *pool->workers);
    pool->queue = cra_calloc(allocator, options->queue_capacity, sizeof *pool->queue);
    cra_status status = CRA_OK;
    if (pool->workers == NULL || pool->queue == NULL)
        status = cra_error_set(err, CRA_NOMEM, "pool", "out of memory while starting %zu workers", options->workers);
    else
        status = init_locks(pool, err);
    if (status != CRA_OK) {
        destroy(pool);
        return status;
    }

    for (size_t i = 0; i < options->workers && status == CRA_OK; i++) {
        worker *w = &pool->workers[i];
        w->pool = pool;
        w->index = i;
        status = cra_thread_start(&w->thread, work, w, allocator, err);
        pool->started += status == CRA_OK;
    }
    if (status != CRA_OK) {
        cra_pool_free(pool);
        return status;
    }
    *out = pool;
    return CRA_OK;
}

/* Why nothing more is taken; the lock is held. */
static cra_status tell_stop(const cra_pool *pool, cra_error *err)
{
    if (pool->status == CRA_OK)
        return cra_error_set(err, CRA_CANCELLED, "pool", "stopped on request");
    if (err != NULL)
        *err = pool->error;
    return pool->status;
}

cra_status cra_pool_submit(cra_pool *pool, void *job, cra_error *err)
{
    cra_status status = CRA_OK;

    cra_mutex_lock(&pool->lock);
    while (!is_stopped(pool) && pool->count == pool->options.queue_capacity)
        cra_cond_wait(&pool->has_room, &pool->lock);
    if (is_stopped(pool)) {
        status = tell_stop(pool, err);
    } else {
        pool->queue[(pool->first + pool->count) % pool->options.queue_capacity] = job;
        pool->count++;
        cra_cond_signal(&pool->has_job);
    }
    cra_mutex_unlock(&pool->lock);
    return status;
}

void cra_pool_cancel(cra_pool *pool)
{
    cra_mutex_lock(&pool->lock);
    pool->cancelled = true;
    drop_queue(pool);
    cra_mutex_unlock(&pool->lock);
}

cra_status cra_pool_wait(cra_pool *pool, cra_error *err)
{
    cra_status status = CRA_OK;

    cra_mutex_lock(&pool->lock);
    while (pool->count > 0 || pool->running > 0)
        cra_cond_wait(&pool->is_idle, &pool->lock);
    if (pool->status != CRA_OK || pool->dropped)
        status = tell_stop(pool, err);
    cra_mutex_unlock(&pool->lock);
    return status;
}

size_t cra_pool_failures(cra_pool *pool)
{
    cra_mutex_lock(&pool->lock);
    const size_t failures = pool->failures;
    cra_mutex_unlock(&pool->lock);
    return failures;
}

void cra_pool_free(cra_pool *pool)
{
    if (pool == NULL)
        return;

    cra_mutex_lock(&pool->lock);
    pool->closing = true;
    cra_cond_broadcast(&pool->has_job);
    cra_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->started; i++)
        cra_thread_join(&pool->workers[i].thread);
    cra_cond_destroy(&pool->has_job);
    cra_cond_destroy(&pool->has_room);
    cra_cond_destroy(&pool->is_idle);
    cra_mutex_destroy(&pool->lock);
    destroy(pool);
}
