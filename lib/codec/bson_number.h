/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_BSON_NUMBER_H
#define CRA_CODEC_BSON_NUMBER_H

/* Numbers of any BSON type as exact decimals. Every int64, double and decimal128 has a finite decimal expansion, so
 * that the types compare by value without rounding. */

#include <crawlarchive/bson.h>

/* 2^-1074 × (2^53 - 1) has 767 significant digits; the conversion works in groups of nine. */
#define CRA_EXACT_DIGITS 792

/* Classes in their order. */
typedef enum cra_exact_class {
    CRA_EXACT_NAN,
    CRA_EXACT_NEGATIVE_INFINITY,
    CRA_EXACT_NEGATIVE,
    CRA_EXACT_ZERO,
    CRA_EXACT_POSITIVE,
    CRA_EXACT_INFINITY
} cra_exact_class;

/* ±0.d1d2d3… × 10^exponent with d1 and the last digit not zero: equal numbers are equal structs. */
typedef struct cra_exact {
    cra_exact_class kind;
    int32_t exponent; /* of NEGATIVE and POSITIVE only, as the digits */
    unsigned count;
    uint8_t digits[CRA_EXACT_DIGITS];
} cra_exact;

/* `value` must be a sound int32, int64, double or decimal128. */
void cra_exact_of(cra_value value, cra_exact *out);
int cra_exact_compare(const cra_exact *a, const cra_exact *b);

#endif
