/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_PORTS_BLOBSTORE_H
#define CRA_PORTS_BLOBSTORE_H

/* The guard of the blobstore port: what it lets through, for its tests and for backends that want the same rule. */

#include <crawlarchive/sys/backend.h>

/* Longest tag of a writer; backends put it into names of their own. */
#define CRA_BLOB_TAG_MAX 64

/* Whether `name` is UTF-8, non-empty and without empty, `.` and `..` segments (so no `/` at either end). */
bool cra_blob_name_valid(const char *name);

/* The same for the beginning of a name: "" and "a/" pass, "a/." too (it begins "a/.b"). */
bool cra_blob_prefix_valid(const char *prefix);

/* Whether `tag` is one to 64 bytes of [A-Za-z0-9._-]. */
bool cra_blob_tag_valid(const char *tag);

#endif
