/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/budget.h"

#include "base/alloc.h"
#include "os/thread.h"

struct cra_budget {
    const cra_allocator *allocator;
    cra_mutex lock;
    cra_cond changed;
    int64_t total;
    int64_t used;
    int64_t peak;
    uint64_t next_ticket; /* who comes next takes this number */
    uint64_t serving;     /* whose turn it is */
    bool cancelled;
};

cra_status cra_budget_new(int64_t total_bytes, const cra_allocator *allocator, cra_budget **out, cra_error *err)
{
    *out = NULL;
    if (total_bytes <= 0)
        return cra_error_set(err, CRA_INVALID, "budget", "a budget of %lld bytes is none", (long long)total_bytes);

    cra_budget *budget = cra_calloc(allocator, 1, sizeof *budget);
    if (budget == NULL)
        return cra_error_set(err, CRA_NOMEM, "budget", "out of memory while making a budget");
    budget->allocator = allocator;
    budget->total = total_bytes;
    cra_status status = cra_mutex_init(&budget->lock, err);
    if (status == CRA_OK) {
        status = cra_cond_init(&budget->changed, err);
        if (status != CRA_OK)
            cra_mutex_destroy(&budget->lock);
    }
    if (status != CRA_OK) {
        cra_free(allocator, budget);
        return status;
    }
    *out = budget;
    return CRA_OK;
}

/* Whether a ticket can be given now; the lock is held. An oversized one is out alone: `used` is then above the total,
 * and nothing fits beside it. */
static bool fits(const cra_budget *budget, int64_t bytes)
{
    return budget->used == 0 || (budget->used <= budget->total && bytes <= budget->total - budget->used);
}

static void give(cra_budget *budget, int64_t bytes)
{
    budget->used += bytes;
    if (budget->used > budget->peak)
        budget->peak = budget->used;
}

cra_status cra_budget_acquire(cra_budget *budget, int64_t bytes, cra_error *err)
{
    if (bytes < 0)
        return cra_error_set(err, CRA_INVALID, "budget", "a ticket of %lld bytes is none", (long long)bytes);

    cra_mutex_lock(&budget->lock);
    const uint64_t ticket = budget->next_ticket++;
    while (!budget->cancelled && (ticket != budget->serving || !fits(budget, bytes)))
        cra_cond_wait(&budget->changed, &budget->lock);
    const bool cancelled = budget->cancelled;
    if (!cancelled) {
        give(budget, bytes);
        budget->serving++;
        cra_cond_broadcast(&budget->changed); /* the next may fit, too */
    }
    cra_mutex_unlock(&budget->lock);
    return cancelled ? cra_error_set(err, CRA_CANCELLED, "budget", "stopped on request") : CRA_OK;
}

bool cra_budget_try_acquire(cra_budget *budget, int64_t bytes)
{
    cra_mutex_lock(&budget->lock);
    /* Not past those who wait. */
    const bool given =
        bytes >= 0 && !budget->cancelled && budget->serving == budget->next_ticket && fits(budget, bytes);
    if (given)
        give(budget, bytes);
    cra_mutex_unlock(&budget->lock);
    return given;
}

void cra_budget_release(cra_budget *budget, int64_t bytes)
{
    cra_mutex_lock(&budget->lock);
    budget->used -= bytes;
    cra_cond_broadcast(&budget->changed);
    cra_mutex_unlock(&budget->lock);
}

void cra_budget_cancel(cra_budget *budget)
{
    cra_mutex_lock(&budget->lock);
    budget->cancelled = true;
    cra_cond_broadcast(&budget->changed);
    cra_mutex_unlock(&budget->lock);
}

int64_t cra_budget_used(cra_budget *budget)
{
    cra_mutex_lock(&budget->lock);
    const int64_t used = budget->used;
    cra_mutex_unlock(&budget->lock);
    return used;
}

int64_t cra_budget_peak(cra_budget *budget)
{
    cra_mutex_lock(&budget->lock);
    const int64_t peak = budget->peak;
    cra_mutex_unlock(&budget->lock);
    return peak;
}

void cra_budget_free(cra_budget *budget)
{
    if (budget == NULL)
        return;
    cra_cond_destroy(&budget->changed);
    cra_mutex_destroy(&budget->lock);
    cra_free(budget->allocator, budget);
}
