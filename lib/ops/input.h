/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OPS_INPUT_H
#define CRA_OPS_INPUT_H

/* Records of one file, whatever its format, as BSON documents, one at a time and in bounded memory. */

#include <crawlarchive/import.h>

/* The longest single record that is read; what a store takes is decided by whoever writes it there. */
#define CRA_INPUT_MAX_RECORD (64u * 1024u * 1024u)

/* Bytes of a source with a window that grows as far as one record needs. Belongs to one thread. */
typedef struct cra_input_bytes {
    const char *name; /* for messages, borrowed */
    cra_source source;
    cra_buf window;
    size_t start;   /* of what is not consumed yet, in the window */
    int64_t offset; /* of `start` in the file */
    bool ended;
} cra_input_bytes;

void cra_input_bytes_init(cra_input_bytes *bytes, const cra_input *input, const cra_allocator *allocator);
void cra_input_bytes_cleanup(cra_input_bytes *bytes);
/* Have at least `need` bytes in the window unless the file ends before: see cra_input_bytes_view(). */
cra_status cra_input_bytes_fill(cra_input_bytes *bytes, size_t need, cra_error *err);
/* One more read, whatever is there already; nothing at the end. */
cra_status cra_input_bytes_more(cra_input_bytes *bytes, cra_error *err);
cra_bytes cra_input_bytes_view(const cra_input_bytes *bytes);
void cra_input_bytes_consume(cra_input_bytes *bytes, size_t count);

/* One record, or why there is none in its place. */
typedef struct cra_input_record {
    cra_bytes document;  /* borrowed until the next call; empty where it was refused */
    const char *refused; /* NULL, or why: names the file and the place; borrowed */
    size_t bytes;        /* read for it, as far as known */
} cra_input_record;

/* The part of a format. `next`: CRA_OK, CRA_DONE, CRA_CORRUPT naming file and place: what came before is whole. */
typedef struct cra_input_format {
    cra_status (*open)(const cra_allocator *allocator, cra_input_bytes *bytes, const cra_avro_options *avro, void **out,
                       cra_error *err);
    cra_status (*next)(void *self, cra_input_record *out, cra_error *err);
    void (*close)(void *self);
} cra_input_format;

extern const cra_input_format cra_input_json;
extern const cra_input_format cra_input_bson;
extern const cra_input_format cra_input_avro;

typedef struct cra_input_reader cra_input_reader;

/* Open a file; AUTO looks at its first bytes. `input` is borrowed. CRA_INVALID (an unknown format), CRA_UNSUPPORTED
 * (compressed). */
cra_status cra_input_reader_open(const cra_allocator *allocator, const cra_input *input, const cra_avro_options *avro,
                                 cra_input_reader **out, cra_error *err);
cra_status cra_input_reader_next(cra_input_reader *reader, cra_input_record *out, cra_error *err);
void cra_input_reader_free(cra_input_reader *reader);

#endif
