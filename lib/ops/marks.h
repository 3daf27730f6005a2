/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_MARKS_H
#define CRA_OPS_MARKS_H

/* Numbers attached to some of the records of a long sequence: the occurrence of a record without `_id`, or that a
 * record loses to another version of itself. They lie in an unlinked temporary file, so memory does not grow with
 * their count. */

#include "ops/digest_sorter.h"

/* Where a record stands: its source (a part, a file) and its number within it. Ordered as records are read. */
static inline uint64_t cra_mark_tag(size_t source, int64_t record)
{
    return ((uint64_t)source << 40) | ((uint64_t)record & 0xFFFFFFFFFFu);
}

typedef struct cra_marks cra_marks;

/* Collecting belongs to one thread. `folder` and `memory_bytes` as for the sorter. */
cra_status cra_marks_new(const cra_allocator *allocator, const char *folder, int64_t memory_bytes, cra_marks **out,
                         cra_error *err);
/* Tags in any order, each once. */
cra_status cra_marks_add(cra_marks *marks, uint64_t tag, int64_t value, cra_error *err);
/* End of collecting; from here on the marks are immutable and shareable between threads. */
cra_status cra_marks_seal(cra_marks *marks, cra_error *err);
int64_t cra_marks_count(const cra_marks *marks);
void cra_marks_free(cra_marks *marks);

/* Attach to each record but the first of equal `entries` (by key) its occurrence 1, 2, … in order of tags. The sorter
 * is read to its end. */
cra_status cra_marks_add_occurrences(cra_marks *marks, cra_digest_sorter *entries, cra_error *err);

#define CRA_MARK_WINDOW 256

/* Looks marks up; belongs to one thread. Ascending tags cost next to nothing, others a search in the file. */
typedef struct cra_mark_cursor {
    const cra_marks *marks;
    cra_buf window; /* the marks from number `first` on */
    int64_t first;
    int64_t position;
    uint64_t last_tag;
} cra_mark_cursor;

/* `marks` NULL: nothing is marked. */
void cra_mark_cursor_init(cra_mark_cursor *cursor, const cra_marks *marks, const cra_allocator *allocator);
void cra_mark_cursor_cleanup(cra_mark_cursor *cursor);
/* The value at `tag`, or `*found` false. */
cra_status cra_mark_cursor_find(cra_mark_cursor *cursor, uint64_t tag, bool *found, int64_t *value, cra_error *err);

#endif
