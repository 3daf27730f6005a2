/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CORE_RESULT_H
#define CRA_CORE_RESULT_H

/* Building results. Nothing here locks: whoever adds from several threads holds a mutex. */

#include <crawlarchive/result.h>

/* Make `item` one of a run with every count unknown, status OK and no reason. The strings are borrowed. */
void cra_item_init(cra_item *item, const char *report, const char *run);

/* @param out  to be freed with cra_result_free(); NULL on failure. @return CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_result_new(const cra_allocator *allocator, cra_result **out, cra_error *err);
/* Append a copy of an item, strings included. @return CRA_NOMEM, the result is then unchanged */
CRA_MUST_CHECK cra_status cra_result_add(cra_result *result, const cra_item *item, cra_error *err);
/* What ended a sweep early: static text, or NULL. */
void cra_result_set_stopped_by(cra_result *result, const char *why);
/* Runs still due; -1 where they could not be counted. */
void cra_result_set_still_due(cra_result *result, int64_t count);

/* The status that a failure for this reason stands for. */
cra_status cra_reason_status(cra_reason reason);

#endif
