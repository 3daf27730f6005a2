/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_BSON_H
#define CRAWLARCHIVE_BSON_H

/** @file bson.h
 * Reading BSON in place: values, iteration, paths, order, digests, extended JSON.
 *
 * Nothing here allocates except through a cra_buf, and nothing here trusts its input: every function
 * checks lengths before it uses them, so that a cut or hostile document is CRA_CORRUPT, never a crash.
 * All functions are pure and thread-safe.
 */

#include <crawlarchive/error.h>

CRA_BEGIN_DECLS

/** BSON element types (bsonspec.org). */
enum {
    CRA_BSON_DOUBLE = 0x01,
    CRA_BSON_STRING = 0x02,
    CRA_BSON_DOCUMENT = 0x03,
    CRA_BSON_ARRAY = 0x04,
    CRA_BSON_BINARY = 0x05,
    CRA_BSON_UNDEFINED = 0x06,
    CRA_BSON_OBJECTID = 0x07,
    CRA_BSON_BOOL = 0x08,
    CRA_BSON_DATE = 0x09,
    CRA_BSON_NULL = 0x0A,
    CRA_BSON_REGEX = 0x0B,
    CRA_BSON_DBPOINTER = 0x0C,
    CRA_BSON_CODE = 0x0D,
    CRA_BSON_SYMBOL = 0x0E,
    CRA_BSON_CODE_W_SCOPE = 0x0F,
    CRA_BSON_INT32 = 0x10,
    CRA_BSON_TIMESTAMP = 0x11,
    CRA_BSON_INT64 = 0x12,
    CRA_BSON_DECIMAL128 = 0x13,
    CRA_BSON_MAXKEY = 0x7F,
    CRA_BSON_MINKEY = 0xFF
};

/** Deepest nesting that is accepted anywhere (MongoDB's limit for stored documents). */
#define CRA_BSON_MAX_DEPTH 100

/** Largest document that MongoDB stores, in bytes. */
#define CRA_BSON_MAX_DOCUMENT_BYTES (16u * 1024u * 1024u)

/** A borrowed value: its type and the bytes that follow the element's name. */
typedef struct cra_value {
    uint8_t type;         /**< CRA_BSON_*; 0 means "no value" */
    const uint8_t *data;
    size_t size;
} cra_value;

/** One element of a document, borrowed from the document. */
typedef struct cra_bson_element {
    const char *name;     /**< NUL-terminated in the document itself */
    size_t name_size;     /**< without the terminator */
    cra_value value;
    size_t offset;        /**< of the element's type byte, from the document's start */
} cra_bson_element;

/** A position inside one document; copyable, no cleanup. */
typedef struct cra_bson_iter {
    const uint8_t *data;
    size_t size;
    size_t position;
} cra_bson_iter;

/** Begin to walk `document`; checks its length field, its end and nothing else.
 *  @return CRA_OK, CRA_CORRUPT */
CRA_EXPORT cra_status cra_bson_iter_init(cra_bson_iter *iter, cra_bytes document, cra_error *err);

/** Next element. @return CRA_OK, CRA_DONE at the end, CRA_CORRUPT with the offset in the message */
CRA_EXPORT cra_status cra_bson_iter_next(cra_bson_iter *iter, cra_bson_element *out, cra_error *err);

/** The document inside a value of type document or array, else an empty view. */
CRA_EXPORT cra_bytes cra_value_document(cra_value value);

/** Text of a string, symbol or code value (without its terminator), else an empty view with NULL data. */
CRA_EXPORT cra_bytes cra_value_text(cra_value value);

/** Integer of an int32, int64, or integral double within int64. @return false for any other value */
CRA_EXPORT bool cra_value_as_int64(cra_value value, int64_t *out);

/** First element named `name` (`size` bytes) at the top of `document`. @return CRA_OK, CRA_NOT_FOUND, CRA_CORRUPT */
CRA_EXPORT cra_status cra_bson_find(cra_bytes document, const char *name, size_t size, cra_value *out);

/** Value at a dotted path ("a.b.0.c"): documents by name, arrays by index; the first of equal names counts.
 *  @return CRA_OK, CRA_NOT_FOUND, CRA_CORRUPT */
CRA_EXPORT cra_status cra_bson_path(cra_bytes document, const char *path, cra_value *out);

/** Gets one value, borrowed from the document; a status other than CRA_OK ends the walk and is returned. */
typedef cra_status (*cra_value_visit_fn)(void *user, cra_value value);

/** Visit every value that a query on a dotted path looks at, as MongoDB does: arrays on the way are entered
 *  element by element (and by index, where the path says a number); an array at the end is visited whole, then
 *  its elements. Nothing is visited where no value is there.
 *  @return CRA_OK, CRA_CORRUPT, or the visitor's status */
CRA_EXPORT cra_status cra_bson_path_each(cra_bytes document, const char *path, cra_value_visit_fn visit, void *user);

enum {
    CRA_BSON_CHECK_UTF8 = 1, /**< text and names must be well-formed UTF-8 */
    CRA_BSON_CHECK_SIZE = 2  /**< at most CRA_BSON_MAX_DOCUMENT_BYTES */
};

/** Check structure (lengths, terminators, booleans, nesting) of a whole document, and what `flags` adds.
 *  @return CRA_OK, CRA_CORRUPT with the offset and what was expected there */
CRA_EXPORT cra_status cra_bson_validate(cra_bytes document, unsigned flags, cra_error *err);

/** Split the first document off a concatenation. `*document` is borrowed from `*stream`, which advances.
 *  @return CRA_OK, CRA_DONE when empty, CRA_CORRUPT when cut */
CRA_EXPORT cra_status cra_bson_next_document(cra_bytes *stream, cra_bytes *document);

/** Append `document` to `out` with its `_id` first, the other elements in their order.
 *  Servers do the same on insert; byte comparisons are made after it.
 *  @return CRA_OK, CRA_NOMEM, CRA_CORRUPT */
CRA_EXPORT cra_status cra_bson_id_first(cra_bytes document, cra_buf *out);

/** Compare two values in MongoDB's order of types and numbers (1 equals 1.0). @return <0, 0, >0 */
CRA_EXPORT int cra_value_compare(cra_value a, cra_value b);

/** Same type and same bytes. */
CRA_EXPORT bool cra_value_identical(cra_value a, cra_value b);

/** Append an encoding of `value` whose memcmp order is cra_value_compare()'s.
 *
 * Equal keys if and only if the values compare equal, so that a unique index over keys behaves as
 * MongoDB's over `_id` (1 and 1.0 clash). @return CRA_OK, CRA_NOMEM, CRA_CORRUPT
 */
CRA_EXPORT cra_status cra_value_order_key(cra_value value, cra_buf *out);

/* ---- building ------------------------------------------------------------------------------- */

/** Open a document at the end of `out`; `*mark` is needed to close it. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_bson_begin(cra_buf *out, size_t *mark);
/** Close the document opened at `mark`: terminator and length. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_bson_end(cra_buf *out, size_t mark);
/** Append one element: `name` must hold no NUL. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_bson_put_value(cra_buf *out, const char *name, cra_value value);
CRA_EXPORT CRA_MUST_CHECK cra_status cra_bson_put_string(cra_buf *out, const char *name, const char *text);
CRA_EXPORT CRA_MUST_CHECK cra_status cra_bson_put_int64(cra_buf *out, const char *name, int64_t number);
CRA_EXPORT CRA_MUST_CHECK cra_status cra_bson_put_bool(cra_buf *out, const char *name, bool flag);
CRA_EXPORT CRA_MUST_CHECK cra_status cra_bson_put_date(cra_buf *out, const char *name, cra_time_ms time);
CRA_EXPORT CRA_MUST_CHECK cra_status cra_bson_put_binary(cra_buf *out, const char *name, uint8_t subtype, cra_bytes data);
CRA_EXPORT CRA_MUST_CHECK cra_status cra_bson_put_null(cra_buf *out, const char *name);
/** Open an embedded document (`type` CRA_BSON_DOCUMENT) or array (CRA_BSON_ARRAY); close with cra_bson_end(). */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_bson_put_begin(cra_buf *out, const char *name, uint8_t type, size_t *mark);

/* ---- extended JSON --------------------------------------------------------------------------- */

typedef enum cra_json_mode {
    CRA_JSON_CANONICAL, /**< every type round-trips */
    CRA_JSON_RELAXED    /**< plain numbers and ISO dates where a person would write them */
} cra_json_mode;

/** Append `document` as extended JSON v2, one line without newline.
 *  @return CRA_OK, CRA_NOMEM, CRA_CORRUPT */
CRA_EXPORT cra_status cra_bson_to_json(cra_bytes document, cra_json_mode mode, cra_buf *out, cra_error *err);

/** Append one value as extended JSON. @return as cra_bson_to_json() */
CRA_EXPORT cra_status cra_value_to_json(cra_value value, cra_json_mode mode, cra_buf *out, cra_error *err);

/** Parse one JSON object (extended JSON v1 and v2; a `$` key that is no type wrapper is an ordinary key).
 *
 * Appends the BSON document to `out` in the key order of the text, duplicate keys kept.
 * @param text      UTF-8, a BOM at the start is skipped
 * @param consumed  receives the bytes used, so that a caller can go on behind the object (nullable:
 *                  then anything but white space behind it is an error)
 * @return CRA_OK, CRA_NOMEM, CRA_DONE (only white space), CRA_CORRUPT with line and column
 */
CRA_EXPORT cra_status cra_bson_from_json(cra_bytes text, cra_buf *out, size_t *consumed, cra_error *err);

CRA_END_DECLS

#endif
