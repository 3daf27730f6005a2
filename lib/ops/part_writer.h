/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_PART_WRITER_H
#define CRA_OPS_PART_WRITER_H

/* Writes the parts of one new generation: records in, parts that roll by records and bytes, each committed whole, then
 * read back from the store and compared with what went in. Belongs to one thread. */

#include "ops/archive_set.h"

typedef struct cra_part_writer cra_part_writer;

/* `target` is where the generation grows: a located set, whose manifest gets each finished part and whose files get its
 * object. Both are borrowed for the writer's life. */
cra_status cra_part_writer_new(cra_archive_set *target, cra_run_guard *guard, cra_avro_codec codec,
                               cra_part_writer **out, cra_error *err);
/* Take one record, as it lies in the hot store. */
cra_status cra_part_writer_add(cra_part_writer *writer, cra_bytes document, cra_error *err);
/* Finish the last part. */
cra_status cra_part_writer_finish(cra_part_writer *writer, cra_error *err);
/* Schema of the last finished part, JSON, borrowed; NULL before the first. */
const char *cra_part_writer_schema(const cra_part_writer *writer);
/* Gives up a part in progress. NULL is legal. */
void cra_part_writer_free(cra_part_writer *writer);

#endif
