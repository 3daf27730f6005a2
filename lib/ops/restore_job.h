/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_RESTORE_JOB_H
#define CRA_OPS_RESTORE_JOB_H

/* The restore of one run, shared by its steps:
 *
 *   restore.c             runs in parallel, the result
 *   restore_run.c         one run: state, dates, what it came to
 *   restore_indexes.c     the target: collection, TTL, indexes
 *   restore_versions.c    which records of the archive count, and the `_id`s of those that have none
 *   restore_records.c     parts to hot store, on workers, with checkpoints
 *   restore_checkpoint.c  how far each part has come
 */

#include <crawlarchive/restore.h>

#include "exec/budget.h"
#include "ops/archive_set.h"
#include "ops/hot_writer.h"
#include "ops/marks.h"

typedef enum cra_restore_mode {
    CRA_RESTORE_INSERT,  /* archived, restoring, sweeping: records come back, the state changes */
    CRA_RESTORE_COMPARE, /* hot, restored: nothing is written */
    CRA_RESTORE_INTO     /* another collection: records are written, no state or date changes */
} cra_restore_mode;

/* How far one part has come: everything before `records` is durable in the hot store. */
typedef struct cra_restore_part {
    int64_t records; /* documents and dead letters of the part, in their order */
    int64_t offset;  /* of the last block begun; for people */
    bool done;
    cra_hot_counts counts;
} cra_restore_part;

typedef struct cra_restore_job {
    cra_engine *engine;
    const cra_allocator *allocator;
    cra_restore_options options; /* no member is 0 */
    cra_budget *budget;          /* shared by all runs */
    cra_run_guard *guard;
    cra_restore_mode mode;
    cra_archive_set set;
    cra_hot_scope scope;     /* of the target */
    cra_marks *occurrences;  /* of records without `_id`; NULL: each is the first */
    cra_marks *losers;       /* records that another version of theirs wins over; NULL: none */
    bool derived_ids;        /* the archive holds records without `_id` */
    int64_t distinct;        /* records that the hot store must hold afterwards; -1: not known */
    int64_t superseded;      /* number of losers */
    cra_restore_part *parts; /* one a part of the manifest */
    cra_hot_counts total;    /* of all parts */
    int64_t recount_fresh;   /* inserted by a later pass */
    int64_t dead_letters;
    cra_reason reason; /* why it failed so far */
    char detail[600];  /* the first thing that went wrong, for people */
    cra_error error;   /* with it */
} cra_restore_job;

/* Keep the first failure. */
void cra_restore_note(cra_restore_job *job, cra_reason reason, cra_status status, const char *detail);

/* ---- restore_indexes.c ------------------------------------------------------------------------- */

/* Make the target ready: no TTL index, created with its saved options, indexed. Sets the reason (TTL_INDEX, INDEXES)
 * where it fails. */
cra_status cra_restore_prepare_target(cra_restore_job *job, cra_error *err);
/* Refuse frozen objects, or with `thaw` ask for them and wait (FROZEN_OBJECT). */
cra_status cra_restore_thaw(cra_restore_job *job, cra_error *err);

/* ---- restore_versions.c ------------------------------------------------------------------------ */

/* Where the manifest does not say that every record has an `_id` of its own: read the archive once, find `occurrences`,
 * `losers` and `distinct`. Sets the reason AMBIGUOUS_VERSIONS where nothing decides between two versions. */
cra_status cra_restore_resolve_versions(cra_restore_job *job, cra_error *err);

/* ---- restore_records.c ------------------------------------------------------------------------- */

typedef enum cra_restore_pass {
    CRA_RESTORE_PASS_MAIN,    /* resumes from and keeps checkpoints */
    CRA_RESTORE_PASS_COMPARE, /* writes nothing */
    CRA_RESTORE_PASS_AGAIN    /* inserts what is missing after all; only its fresh and failed records count */
} cra_restore_pass;

/* Bring the records of all parts to the target. CRA_OK also where parts are damaged or records failed: see the job's
 * reason and counts. Another status is a store's, a stop or a lost lease; job->total says what was done. For COMPARE
 * and AGAIN `*counts` receives the pass's own counts. */
cra_status cra_restore_records(cra_restore_job *job, cra_restore_pass pass, cra_hot_counts *counts, cra_error *err);

/* ---- restore_checkpoint.c ---------------------------------------------------------------------- */

/* Load job->parts from the checkpoint, or from zero where it is of another archive, target or attempt. */
cra_status cra_restore_checkpoint_load(cra_restore_job *job, cra_error *err);
cra_status cra_restore_checkpoint_save(cra_restore_job *job, cra_error *err);
cra_status cra_restore_checkpoint_remove(cra_restore_job *job, cra_error *err);

/* ---- restore_run.c ----------------------------------------------------------------------------- */

/* Restore one run and fill `item` (initialised; its texts live in `job`, which the caller cleans up). CRA_NOMEM and
 * CRA_CANCELLED are returned, every other failure is the item's. */
cra_status cra_restore_run(cra_restore_job *job, const char *report, const char *run, cra_item *item, cra_error *err);
void cra_restore_job_cleanup(cra_restore_job *job);

void cra_hot_counts_add(cra_hot_counts *sum, const cra_hot_counts *more);

#endif
