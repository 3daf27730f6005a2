/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

size_t cra_utf8_length(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;

    const uint8_t lead = data[0];
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;

    const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (size < length)
        return 0;
    /* The second byte alone tells overlong forms, surrogates and what is beyond U+10FFFF. */
    const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (data[1] < low || data[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if ((data[i] & 0xC0) != 0x80)
            return 0;
    }
    return length;
}

size_t cra_utf8_check(const uint8_t *data, size_t size)
{
    size_t at = 0;

    while (at < size) {
        /* Most text is ASCII: eight bytes at a time. */
        uint64_t word;
        while (size - at >= sizeof word) {
            memcpy(&word, data + at, sizeof word);
            if ((word & 0x8080808080808080u) != 0)
                break;
            at += sizeof word;
        }
        if (at == size)
            break;
        const size_t length = cra_utf8_length(data + at, size - at);
        if (length == 0)
            return at;
        at += length;
    }
    return size;
}
