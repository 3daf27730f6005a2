/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_VERIFY_H
#define CRAWLARCHIVE_VERIFY_H

/** @file verify.h
 * Proof that the archive holds what the hot store holds.
 */

#include <crawlarchive/run.h>

CRA_BEGIN_DECLS

typedef enum cra_verify_level {
    CRA_VERIFY_AUTO,
    CRA_VERIFY_TRUST,   /**< none; never a default, not offered by the verify command */
    CRA_VERIFY_COUNT,   /**< parts whole and as the manifest says; its distinct ids equal the hot count */
    CRA_VERIFY_IDS,     /**< every hot _id is in the archive */
    CRA_VERIFY_CONTENT  /**< every hot record's digest is in the archive */
} cra_verify_level;
CRA_EXPORT const char *cra_verify_level_name(cra_verify_level level);
/** @return false where the word is none */
CRA_EXPORT bool cra_verify_level_from_name(const char *word, cra_verify_level *out);

typedef struct cra_verify_options {
    size_t struct_size;
    cra_verify_level level;
    cra_item_fn on_item; /**< nullable */
    void *user;
} cra_verify_options;
#define CRA_VERIFY_OPTIONS_INIT {sizeof(cra_verify_options), CRA_VERIFY_AUTO, NULL, NULL}

/** Verify each run: against its hot records while it has them, else the archive against its manifest.
 *  Writes nothing. Items: OK, BAD, UNKNOWN. @return CRA_CORRUPT where any run is bad */
CRA_EXPORT cra_status cra_verify_runs(cra_engine *engine, const cra_run *const *runs, size_t count,
                                      const cra_verify_options *options, cra_result **out, cra_error *err);
CRA_EXPORT cra_status cra_verify_run(cra_engine *engine, const cra_run *run, const cra_verify_options *options,
                                     cra_result **out, cra_error *err);

CRA_END_DECLS

#endif
