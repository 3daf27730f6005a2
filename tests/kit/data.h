/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_KIT_DATA_H
#define CRA_KIT_DATA_H

/* Files of the test data: $CRAWLARCHIVE_TEST_DATA, by default ../shared/data beside the repository, for what may
 * only be used in place (such tests skip where it is absent); tests/data for what the repository holds. */

#include <crawlarchive/types.h>

/* Path of `relative` in the outside data, or NULL where that is absent. Static buffer, one at a time. */
const char *cra_test_outside(const char *relative);
/* Path of `relative` below tests/data. Static buffer, one at a time. */
const char *cra_test_inside(const char *relative);
/* Read a whole file into `out`; fails the test where it cannot. */
void cra_test_read_file(const char *path, cra_buf *out);
/* A new empty folder below $TMPDIR; removed by cra_test_remove_tree(). Fails the test where it cannot. */
void cra_test_make_folder(char *path, size_t size);
void cra_test_remove_tree(const char *path);

#endif
