/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_ARCHIVE_COMMIT_H
#define CRA_OPS_ARCHIVE_COMMIT_H

/* The two ends of writing a generation: the intent before the first object, the manifest and the catalog after the
 * last; and the garbage that killed attempts left. */

#include "ops/archive_set.h"

/* Number the generation, append its intent, and fill the head of `target`'s manifest. With `remainder`, the parts of
 * `previous` are taken over first. */
cra_status cra_archive_begin_generation(const cra_archive_set *previous, cra_archive_set *target, cra_run_guard *guard,
                                        cra_avro_codec codec, bool remainder, cra_error *err);

/* Remove objects that our intents name and no manifest knows, then the intents whose objects are confirmed gone. With
 * `uploads`, uncommitted uploads of ours, too. The intent of the guard's own fence stays. */
cra_status cra_archive_collect_garbage(const cra_archive_set *previous, cra_run_guard *guard, bool uploads,
                                       cra_error *err);

/* Schema, manifest (last, never overwritten, read back), catalog by compare-and-set on the fence, copy for other
 * readers; then the intent is done. `schema` nullable: no part was written. */
cra_status cra_archive_commit(const cra_archive_set *previous, cra_archive_set *target, cra_run_guard *guard,
                              const char *schema, cra_error *err);

/* Keep the reason of a failed step with the run; quiet where even that fails. */
void cra_run_note_failure(cra_engine *engine, cra_run_guard *guard, cra_reason reason);
/* The same on a run's copy that is about to be stored; NONE clears. */
void cra_archive_stamp_reason(cra_run_doc *run, cra_reason reason, cra_time_ms now, const cra_allocator *allocator);

#endif
