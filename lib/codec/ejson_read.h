/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_EJSON_READ_H
#define CRA_CODEC_EJSON_READ_H

/* The reader of extended JSON: a tokenizer that writes values straight into the BSON that is being built
 * (ejson_read.c), and the objects that stand for a type (ejson_wrapper.c).
 *
 * Functions return CRA_OK, CRA_NOMEM, or CRA_CORRUPT with `at` where the error is; what they appended is then
 * meaningless and cut off by the public function. */

#include <crawlarchive/bson.h>

typedef struct cra_ejson_reader {
    const uint8_t *text;
    size_t size;
    size_t at;
    cra_buf *out;
    cra_error *err;
    unsigned depth;    /* open documents and arrays */
    unsigned wrappers; /* objects being read that stand for a type: they nest, too */
} cra_ejson_reader;

/* Step over white space; the next byte, or -1 at the end. */
int cra_ejson_peek(cra_ejson_reader *r);

/* Report `message` at the reader's position. */
cra_status cra_ejson_fail(cra_ejson_reader *r, const char *message);

/* Append the value at the reader's position (without type and name) and tell its type. */
cra_status cra_ejson_value(cra_ejson_reader *r, uint8_t *type);

/* Append an object as a document, its keys taken as they are. */
cra_status cra_ejson_document(cra_ejson_reader *r);

/* Append the characters of a JSON string, without length or terminator. */
cra_status cra_ejson_characters(cra_ejson_reader *r);

/* Append a BSON string: length, characters, NUL. */
cra_status cra_ejson_string(cra_ejson_reader *r);

/* Step over one value without looking at it closely: strings and brackets only. False where the text ends first. */
bool cra_ejson_skip(cra_ejson_reader *r);

/* If the object at the reader's position stands for a type: append its value, tell its type and set `*found`; else
 * leave the reader where it is. An object that begins with a key of a type but has not its shape is an error where
 * the key can mean nothing else ($oid), an ordinary document where it can ($regex, $type). */
cra_status cra_ejson_wrapper(cra_ejson_reader *r, uint8_t *type, bool *found);

#endif
