/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_EXEC_BUDGET_H
#define CRA_EXEC_BUDGET_H

/* A budget of bytes: whoever is about to read takes a ticket first and gives it back when the bytes are gone. Tickets
 * are served in the order of their asking, so that a large one is not starved by small ones. */

#include <crawlarchive/error.h>

typedef struct cra_budget cra_budget;

CRA_MUST_CHECK cra_status cra_budget_new(int64_t total_bytes, const cra_allocator *allocator, cra_budget **out,
                                         cra_error *err);

/* Wait for `bytes`. A ticket above the total passes alone: when nothing else is out, and nothing else until it is
 * given back. @return CRA_CANCELLED */
CRA_MUST_CHECK cra_status cra_budget_acquire(cra_budget *budget, int64_t bytes, cra_error *err);

/* The same without waiting. @return whether the ticket was given */
bool cra_budget_try_acquire(cra_budget *budget, int64_t bytes);

/* Give a ticket back: the number that was asked for. */
void cra_budget_release(cra_budget *budget, int64_t bytes);

/* Wake everyone who waits, with CRA_CANCELLED, now and later. */
void cra_budget_cancel(cra_budget *budget);

/* Bytes that are out now, and the most that ever were. */
int64_t cra_budget_used(cra_budget *budget);
int64_t cra_budget_peak(cra_budget *budget);

/* NULL is legal; nobody may hold or wait for a ticket. */
void cra_budget_free(cra_budget *budget);

#endif
