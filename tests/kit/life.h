/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_KIT_LIFE_H
#define CRA_KIT_LIFE_H

/* A small world for tests of operations: context, configuration and engine over stores of either kind in a folder of
 * its own, runs of records that hold every BSON type, and what is in the hot store as bytes. Every helper fails the
 * test where it cannot do its work. */

#include <stdatomic.h>

#include <crawlarchive/import.h>

#include "kit/test_allocator.h"

typedef enum cra_life_kind {
    CRA_LIFE_MEMORY, /* memory: catalog, records and archive */
    CRA_LIFE_SQLITE  /* sqlite: catalog and records, file: archive */
} cra_life_kind;

typedef struct cra_life {
    cra_life_kind kind;
    char folder[512];
    cra_test_allocator memory;
    cra_context *context;
    cra_config *config;
    cra_engine *engine;
    atomic_llong ahead_ms; /* how far the context's wall clock is ahead of the machine's */
    int (*on_progress)(void *user, const cra_progress *progress); /* nullable; may be set at any time */
    void *progress_user;
} cra_life;

/* Make the world. `settings` is path, value, path, value, …, NULL, or NULL: set over its own defaults. */
void cra_life_open(cra_life *life, cra_life_kind kind, const char *const *settings);
/* The same with a backend of the test's own (nullable), so that settings may name its scheme. */
void cra_life_open_with(cra_life *life, cra_life_kind kind, const char *const *settings, const cra_backend *backend);
/* Free everything, remove the folder, fail the test where memory leaks. */
void cra_life_close(cra_life *life);
/* Close the engine and open it again on the same stores, with more settings. Not for memory stores. */
void cra_life_reopen(cra_life *life, const char *const *settings);
/* Move the wall clock on. */
void cra_life_advance(cra_life *life, int64_t duration_ms);

/* Append record number `index` of a run: every BSON type, `_id`s of three types, the run field of `run`. Every third
 * record, from 0 on, has the int32 cra_life_id_base(run) + index as its `_id`. */
int64_t cra_life_id_base(const char *run);
void cra_life_record(cra_buf *out, const char *run, int64_t index);
/* Register a run and put `count` records (numbers 0 …) into its collection. */
void cra_life_make_run(cra_life *life, const char *report, const char *run, int64_t count);
/* Put records [first, first + count) of a run that is registered. */
void cra_life_add_records(cra_life *life, const char *report, const char *run, int64_t first, int64_t count);
/* Store its outcome now. */
void cra_life_deliver(cra_life *life, const char *report, const char *run, const char *outcome);

/* The run as the catalog has it; free with cra_run_free(). */
cra_run *cra_life_run(cra_life *life, const char *report, const char *run);
/* State of a run. */
cra_run_state cra_life_state(cra_life *life, const char *report, const char *run);
/* Append the run's hot records, concatenated in order of `_id`; returns their number. */
int64_t cra_life_dump(cra_life *life, const char *report, const char *run, cra_buf *out);
/* Number of the run's hot records. */
int64_t cra_life_count(cra_life *life, const char *report, const char *run);
/* Remove all of the run's hot records, as a stalled sweeper might. */
void cra_life_remove_records(cra_life *life, const char *report, const char *run);

/* An input over bytes in memory; `state` must outlive it. */
typedef struct cra_life_bytes {
    cra_bytes left;
} cra_life_bytes;
cra_input cra_life_input(cra_life_bytes *state, const char *name, const void *data, size_t size, cra_format format);

/* Fail the test with the error's message unless `status` is `expected`. */
#define cra_life_expect(status, expected, error) cra_life_expect_at((status), (expected), (error), __FILE__, __LINE__)
void cra_life_expect_at(cra_status status, cra_status expected, const cra_error *error, const char *file, int line);

#endif
