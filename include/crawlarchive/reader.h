/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_READER_H
#define CRAWLARCHIVE_READER_H

/** @file reader.h
 * A run's records out, wherever they are.
 */

#include <crawlarchive/codec.h>
#include <crawlarchive/run.h>

CRA_BEGIN_DECLS

typedef enum cra_read_from { CRA_READ_AUTO, CRA_READ_HOT, CRA_READ_ARCHIVE } cra_read_from;

typedef struct cra_reader_options {
    size_t struct_size;
    cra_read_from from;       /**< AUTO: hot where the run is hot or restored, else the archive */
    const char *where_path;   /**< only records whose value at this path equals `where`; NULL: all */
    cra_value where;
    int64_t limit;            /**< 0: no limit */
} cra_reader_options;
#define CRA_READER_OPTIONS_INIT {sizeof(cra_reader_options), CRA_READ_AUTO, NULL, {0, NULL, 0}, 0}

/** Reads one run from one place. Belongs to one thread. */
typedef struct cra_reader cra_reader;

CRA_EXPORT CRA_MUST_CHECK cra_status cra_reader_open(cra_engine *engine, const cra_run *run,
                                                     const cra_reader_options *options, cra_reader **out,
                                                     cra_error *err);
/** Next document, borrowed until the next call. @return CRA_OK, CRA_DONE, … */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_reader_next(cra_reader *reader, cra_bytes *document, cra_error *err);
CRA_EXPORT void cra_reader_free(cra_reader *reader);

CRA_END_DECLS

#endif
