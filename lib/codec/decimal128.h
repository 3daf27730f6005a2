/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_DECIMAL128_H
#define CRA_CODEC_DECIMAL128_H

/* IEEE 754-2008 decimal128 in the binary integer encoding, as BSON stores it: 16 bytes, little-endian. */

#include <crawlarchive/types.h>

#define CRA_DECIMAL128_SIZE 16
#define CRA_DECIMAL128_DIGITS 34
#define CRA_DECIMAL128_EXPONENT_MIN (-6176)
#define CRA_DECIMAL128_EXPONENT_MAX 6111
/* Longest text: sign, 34 digits, point, "E-6176", terminator. */
#define CRA_DECIMAL128_TEXT_SIZE 43

typedef enum cra_decimal128_kind {
    CRA_DECIMAL128_FINITE,
    CRA_DECIMAL128_INFINITE,
    CRA_DECIMAL128_NAN
} cra_decimal128_kind;

/* A decimal128 taken apart: (-1)^negative × digits × 10^exponent. */
typedef struct cra_decimal128 {
    cra_decimal128_kind kind;
    bool negative;
    int32_t exponent;
    unsigned count;                        /* of digits, without leading zeros; zero has one digit */
    uint8_t digits[CRA_DECIMAL128_DIGITS]; /* 0 to 9, the most significant first */
} cra_decimal128;

/* Coefficients that are not canonical (beyond 34 digits) are zero, as the standard has it. */
void cra_decimal128_unpack(const uint8_t bytes[CRA_DECIMAL128_SIZE], cra_decimal128 *out);
/* `number` must hold at most 34 digits and an exponent within range. */
void cra_decimal128_pack(const cra_decimal128 *number, uint8_t out[CRA_DECIMAL128_SIZE]);

/* Text after the BSON specification of decimal128, NUL-terminated; NaN payloads and signs are not shown. */
size_t cra_decimal128_to_string(const uint8_t bytes[CRA_DECIMAL128_SIZE], char out[CRA_DECIMAL128_TEXT_SIZE]);
/* False where `text` is no number, or none that a decimal128 holds exactly. */
bool cra_decimal128_from_string(const char *text, size_t size, uint8_t out[CRA_DECIMAL128_SIZE]);

/* From an unscaled integer in two's complement, the most significant byte first, times 10^-scale (Avro's decimal);
 * no bytes are zero. False where it has more than 34 digits or its exponent is out of range. */
bool cra_decimal128_from_int_be(const uint8_t *data, size_t size, int32_t scale, uint8_t out[CRA_DECIMAL128_SIZE]);

#endif
