/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_EJSON_TEXT_H
#define CRA_CODEC_EJSON_TEXT_H

/* Numbers, dates and binaries as the text that JSON carries; the same in every locale. */

#include <crawlarchive/types.h>

#define CRA_EJSON_DOUBLE_SIZE 32
#define CRA_EJSON_DATE_SIZE 25 /* "9999-12-31T23:59:59.999Z" and the terminator */

/* The shortest text that reads back as `number`, with a point or an exponent: "1.0", "-1.5E-7", "NaN", "Infinity". */
size_t cra_ejson_format_double(double number, char out[CRA_EJSON_DOUBLE_SIZE]);
/* Decimal number, rounded to the nearest double; "NaN", "Infinity", "-Infinity". False for anything else, and for what
 * is too large for a double. */
bool cra_ejson_parse_double(const char *text, size_t size, double *out);
/* `-?[0-9]+` within int64. */
bool cra_ejson_parse_int64(const char *text, size_t size, int64_t *out);

/* ISO 8601 in UTC, milliseconds only where there are some. False outside the years 1970 to 9999, which extended JSON
 * does not write so. */
bool cra_ejson_format_date(cra_time_ms time, char out[CRA_EJSON_DATE_SIZE]);
/* `YYYY-MM-DDTHH:MM[:SS[.f…]](Z|±HH[:]MM)`, digits beyond milliseconds dropped. */
bool cra_ejson_parse_date(const char *text, size_t size, cra_time_ms *out);

/* RFC 4648 base64, padded. @return CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_base64_encode(cra_bytes data, cra_buf *out);
/* Decode in place: `*size` becomes that of the data. False where the text is not base64, padded. */
bool cra_base64_decode(uint8_t *text, size_t *size);

#endif
