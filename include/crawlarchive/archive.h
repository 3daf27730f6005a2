/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_ARCHIVE_H
#define CRAWLARCHIVE_ARCHIVE_H

/** @file archive.h
 * Hot store to a new generation of the archive.
 */

#include <crawlarchive/codec.h>
#include <crawlarchive/run.h>

CRA_BEGIN_DECLS

typedef struct cra_archive_options {
    size_t struct_size;
    int codec;             /**< cra_avro_codec, or -1: archive.codec */
    bool allow_fewer;      /**< commit although ids of the previous generation are missing */
    bool cleanup;          /**< also remove our own garbage of killed attempts, and stale uploads */
    cra_item_fn on_item;   /**< nullable */
    void *user;
} cra_archive_options;
#define CRA_ARCHIVE_OPTIONS_INIT {sizeof(cra_archive_options), -1, false, false, NULL, NULL}

/** Write a new generation of each run: parts, schema, and last its manifest; each part is read back from the
 *  store and compared before the manifest is committed.
 *
 * Each run on its own: one failure is one item's. A run that is archived or restoring is refused (CONFLICT).
 * @param out  receives the result, also with CRA_PARTIAL; free with cra_result_free()
 */
CRA_EXPORT cra_status cra_archive_runs(cra_engine *engine, const cra_run *const *runs, size_t count,
                                       const cra_archive_options *options, cra_result **out, cra_error *err);
/** The same for one run. */
CRA_EXPORT cra_status cra_archive_run(cra_engine *engine, const cra_run *run, const cra_archive_options *options,
                                      cra_result **out, cra_error *err);

CRA_END_DECLS

#endif
