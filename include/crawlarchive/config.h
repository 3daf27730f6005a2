/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_CONFIG_H
#define CRAWLARCHIVE_CONFIG_H

/** @file config.h
 * The configuration: one YAML file, environment, settings by program, against one table of keys.
 */

#include <crawlarchive/retention.h>
#include <crawlarchive/context.h>

CRA_BEGIN_DECLS

/** A checked configuration. Immutable while operations use it; shareable. */
typedef struct cra_config cra_config;

/** An empty configuration: every value its default. Store URIs must then be set. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_config_new(cra_context *context, cra_config **out, cra_error *err);
CRA_EXPORT void cra_config_free(cra_config *config);

/** Read and check a YAML file. Errors name file, line, key, the allowed values and the nearest right word.
 *  Relative paths in URIs resolve against the file's folder. @return CRA_NOT_FOUND, CRA_INVALID, … */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_config_load_file(cra_config *config, const char *path, cra_error *err);
/** The same from memory; `name` stands for the file in messages, `folder` for its folder. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_config_load_text(cra_config *config, cra_bytes text, const char *name,
                                                          const char *folder, cra_error *err);
/** Apply CRAWLARCHIVE_* variables of `environment` ("NAME=value", NULL-terminated): path in capitals, levels
 *  joined by "__". CRAWLARCHIVE_CONFIG and CRAWLARCHIVE_TEST_* are not keys. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_config_load_environment(cra_config *config, const char *const *environment,
                                                                 cra_error *err);
/** Set one value by its dotted path ("lease.ttl"), as text in the units of the file. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_config_set(cra_config *config, const char *path, const char *value,
                                                    cra_error *err);
/** Check what only the whole shows: store URIs present, route order, known outcomes. Call it after loading. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_config_validate(cra_config *config, cra_error *err);

/** A text value, with defaults applied; NULL where unset without default or unknown. Borrowed. */
CRA_EXPORT const char *cra_config_text(const cra_config *config, const char *path);
/** A number, size (bytes) or duration (ms); `fallback` where unset or unknown. */
CRA_EXPORT int64_t cra_config_int(const cra_config *config, const char *path, int64_t fallback);
CRA_EXPORT bool cra_config_bool(const cra_config *config, const char *path, bool fallback);
/** A value with an override per report: "restore.batch_docs" looks at restore.reports.REPORT.batch_docs first. */
CRA_EXPORT int64_t cra_config_report_int(const cra_config *config, const char *path, const char *report,
                                         int64_t fallback);
/** The retention policy that the configuration describes. Borrowed. */
CRA_EXPORT const cra_policy *cra_config_policy(const cra_config *config);
/** Index documents of a report (its own, else the default ones): appends concatenated BSON, `*count` of them. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_config_indexes(const cra_config *config, const char *report, cra_buf *out,
                                                        size_t *count, cra_error *err);

/** Where an effective value comes from. Strings are borrowed for the call; secrets are "(redacted)". */
typedef struct cra_config_entry {
    size_t struct_size;
    const char *path;
    const char *value;  /**< text; NULL where unset */
    const char *source; /**< "default", "FILE:LINE", "environment", "program" */
} cra_config_entry;
typedef cra_status (*cra_config_visit_fn)(void *user, const cra_config_entry *entry);
/** Visit every effective value, in the order of the key table. */
CRA_EXPORT cra_status cra_config_each(const cra_config *config, cra_config_visit_fn visit, void *user);
/** Append a commented configuration file for the embedded default (SQLite and file:). */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_config_template(cra_buf *out);

/** Parse "500ms 30s 30m 12h 3d 2w 1d12h" into milliseconds. @return CRA_INVALID with what is allowed */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_duration_parse(const char *text, int64_t *out_ms, cra_error *err);
/** Parse "64KiB 8MiB 1GiB 512" into bytes (kB, MB, GB are powers of ten). */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_size_parse(const char *text, int64_t *out_bytes, cra_error *err);
/** Parse RFC 3339, or a date as midnight UTC. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_time_parse(const char *text, cra_time_ms *out, cra_error *err);
/** Write "2026-12-01T05:03:22Z" (with ".123" only where there are milliseconds); at least 32 bytes; "" for NONE. */
CRA_EXPORT void cra_time_format(cra_time_ms time, char *out, size_t size);
/** Write the shortest exact form of a duration ("1d12h", "500ms"); at least 48 bytes. */
CRA_EXPORT void cra_duration_format(int64_t duration_ms, char *out, size_t size);

CRA_END_DECLS

#endif
