/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BASE_UTF8_H
#define CRA_BASE_UTF8_H

/* UTF-8 as RFC 3629 has it: shortest forms only, no surrogates, nothing above U+10FFFF. NUL is a character. */

#include <crawlarchive/types.h>

/* Length of the well-formed character at the start of `data`, 0 where there is none (or `size` is 0). */
size_t cra_utf8_length(const uint8_t *data, size_t size);

/* Offset of the first byte that is not part of a well-formed character; `size` where all are. */
size_t cra_utf8_check(const uint8_t *data, size_t size);

static inline bool cra_utf8_valid(const void *data, size_t size)
{
    return cra_utf8_check((const uint8_t *)data, size) == size;
}

#endif
