/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_SWEEP_RUN_H
#define CRA_OPS_SWEEP_RUN_H

/* The sweep of one run: lease, re-check, proof, verdict, deletes, end. */

#include <crawlarchive/sweep.h>

#include "exec/throttle.h"
#include "ops/engine_internal.h"

/* What one call of sweep shares among its runs. */
typedef struct cra_sweep_pace {
    const cra_sweep_options *options;
    cra_rate rate;
    cra_batch_control control;
    int64_t deadline_ms;     /* monotonic; 0: none */
    const char *stopped_by;  /* static text; NULL while it goes on */
} cra_sweep_pace;

/* Whether to stop before the next batch or run: cancel, stop file, time budget. Fills stopped_by. */
bool cra_sweep_must_stop(cra_engine *engine, cra_sweep_pace *pace);

/* Sweep one run that a plan selected. `item` is initialised; its texts are static or lie in `texts`, which the caller
 * keeps until the item was told. The status of the run is in the item; another return only for what ends the whole
 * call (NOMEM). */
typedef struct cra_sweep_texts {
    char detail[512];
    char location[1200];
} cra_sweep_texts;
cra_status cra_sweep_run(cra_engine *engine, const char *report, const char *run, cra_sweep_pace *pace, cra_item *item,
                         cra_sweep_texts *texts, cra_error *err);

#endif
