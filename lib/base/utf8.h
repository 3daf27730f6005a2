/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BASE_UTF8_H
#define CRA_BASE_UTF8_H

/* UTF-8 as RFC 3629 has it: shortest forms only, no surrogates, nothing above U+10FFFF. NUL is a character. */

#include <crawlarchive/types.h>

/* Length of the well-formed character at the start of `data`, 0 where there is none (or `size` is 0). */
size_t cra_utf8_length(const uint8_t *data, size_t size);

/* Offset of the first byte that is not part of a well-formed character; `size` where all are. */
size_t cra_utf8_check(const uint8_t *data, size_t size);

/* Append `size` bytes with every maximal part that is not well-formed replaced by one U+FFFD, as the Unicode standard
 * recommends (chapter 3, "U+FFFD substitution of maximal subparts"). @return CRA_NOMEM, `out` is then unchanged */
CRA_MUST_CHECK cra_status cra_utf8_append_repaired(cra_buf *out, const void *data, size_t size);

/* Write `code_point` (a Unicode scalar value) to `out` and return its length in bytes. */
size_t cra_utf8_encode(uint32_t code_point, uint8_t out[4]);

static inline bool cra_utf8_valid(const void *data, size_t size)
{
    return cra_utf8_check((const uint8_t *)data, size) == size;
}

#endif
