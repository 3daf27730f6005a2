/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BASE_SIMILAR_H
#define CRA_BASE_SIMILAR_H

/* "Did you mean …?" for names of a known set: schemes, configuration keys, options. */

#include <stddef.h>

/* Number of insertions, deletions, substitutions and swaps of neighbours between two texts; texts of more than
 * 63 bytes are as far apart as anything: SIZE_MAX. */
size_t cra_edit_distance(const char *a, const char *b);

/* The name of `names[count]` that a person most likely meant by `text`, or NULL where none is near. */
const char *cra_nearest_name(const char *text, const char *const *names, size_t count);

#endif
