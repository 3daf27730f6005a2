/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_BSON_RAW_H
#define CRA_CODEC_BSON_RAW_H

/* The bytes of BSON: little-endian numbers and the extent of a value. */

#include <string.h>

#include <crawlarchive/bson.h>

#define CRA_BSON_EMPTY_DOCUMENT_SIZE 5u
#define CRA_BSON_OBJECTID_SIZE 12u

static inline uint32_t cra_le32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t cra_le64(const uint8_t *at)
{
    return (uint64_t)cra_le32(at) | (uint64_t)cra_le32(at + 4) << 32;
}

static inline double cra_le_double(const uint8_t *at)
{
    const uint64_t bits = cra_le64(at);
    double number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

static inline void cra_put_le32(uint8_t *at, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(number >> (8 * i));
}

static inline void cra_put_le64(uint8_t *at, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(number >> (8 * i));
}

static inline void cra_put_le_double(uint8_t *at, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    cra_put_le64(at, bits);
}

/* Find the size of a value of `type` that begins at `data` with `available` bytes behind it, and check what can be
 * told without entering embedded documents: lengths, terminators, booleans.
 * @return NULL, or what is wrong (`*size` is then untouched) */
const char *cra_bson_measure(uint8_t type, const uint8_t *data, size_t available, size_t *size);

/* Whether `value` is exactly one value of its type: for values that come from a caller's hand. */
static inline bool cra_value_sound(cra_value value)
{
    size_t size;

    return cra_bson_measure(value.type, value.data, value.size, &size) == NULL && size == value.size;
}

/* The parts of a code_w_scope value, which must be sound. */
static inline cra_value cra_bson_scoped_code(cra_value value)
{
    cra_value code = {CRA_BSON_CODE, value.data + 4, 4 + (size_t)cra_le32(value.data + 4)};
    return code;
}

static inline cra_value cra_bson_scope(cra_value value)
{
    const size_t before = 8 + (size_t)cra_le32(value.data + 4);
    cra_value scope = {CRA_BSON_DOCUMENT, value.data + before, value.size - before};
    return scope;
}

/* Name of a type as MongoDB's $type has it ("objectId", "double", …); "unknown" for any other byte. */
const char *cra_bson_type_name(uint8_t type);

#endif
