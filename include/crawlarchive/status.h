/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_STATUS_H
#define CRAWLARCHIVE_STATUS_H

/** @file status.h
 * How many runs and records are where, and what is due.
 */

#include <crawlarchive/run.h>

CRA_BEGIN_DECLS

#define CRA_RUN_STATES 5

typedef struct cra_status_report {
    size_t struct_size;
    int64_t runs_by_state[CRA_RUN_STATES];
    int64_t records_by_state[CRA_RUN_STATES]; /**< of runs whose number of records is known */
    int64_t due_now;
    int64_t due_1d;          /**< due within the next day, due_now included */
    int64_t due_7d;
    int64_t overdue_kept;    /**< due, yet kept by the last sweep for a reason of its own */
    int64_t held;
    int64_t restoring;
    int64_t failures;        /**< runs whose last step failed */
} cra_status_report;

/** Count over the catalog; memory does not grow with the number of runs. */
CRA_EXPORT cra_status cra_status_collect(cra_engine *engine, cra_status_report *out, cra_error *err);
/** Append the summary of the last sweep as one BSON document. @return CRA_NOT_FOUND before the first */
CRA_EXPORT cra_status cra_status_last_sweep(cra_engine *engine, cra_buf *out, cra_error *err);

CRA_END_DECLS

#endif
