/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_EXPORT_H
#define CRAWLARCHIVE_EXPORT_H

/** @file export.h
 * Marks what the shared library exports, and lets the compiler check format strings.
 */

#if defined(__GNUC__) || defined(__clang__)
#define CRA_EXPORT __attribute__((visibility("default")))
#define CRA_PRINTF(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))
#define CRA_MUST_CHECK __attribute__((warn_unused_result))
#else
#define CRA_EXPORT
#define CRA_PRINTF(format_index, first_arg)
#define CRA_MUST_CHECK
#endif

#ifdef __cplusplus
#define CRA_BEGIN_DECLS extern "C" {
#define CRA_END_DECLS }
#else
#define CRA_BEGIN_DECLS
#define CRA_END_DECLS
#endif

#endif
