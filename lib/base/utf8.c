/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

#include "base/buf.h"

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

/* Length of the maximal part at the start of `data` that a longer input might have made a character; at least 1. */
static size_t maximal_subpart(const uint8_t *data, size_t size)
{
    static const uint8_t tail[3] = {0x80, 0x80, 0x80};
    uint8_t trial[4];
    size_t length = 1;

    /* Past the second byte 0x80 always continues, so a prefix can be completed exactly where such bytes complete it. */
    while (length < size && length < 3) {
        const size_t next = length + 1;
        memcpy(trial, data, next);
        memcpy(trial + next, tail, sizeof trial - next);
        if (cra_utf8_length(trial, sizeof trial) <= next)
            break;
        length = next;
    }
    return length;
}

cra_status cra_utf8_append_repaired(cra_buf *out, const void *data, size_t size)
{
    static const uint8_t replacement[3] = {0xEF, 0xBF, 0xBD};
    const uint8_t *bytes = data;
    const size_t start = out->size;

    for (size_t at = 0; at < size;) {
        const size_t good = cra_utf8_check(bytes + at, size - at);
        cra_status status = cra_buf_append(out, bytes + at, good);
        at += good;
        if (status == CRA_OK && at < size) {
            status = cra_buf_append(out, replacement, sizeof replacement);
            at += maximal_subpart(bytes + at, size - at);
        }
        if (status != CRA_OK) {
            out->size = start;
            return status;
        }
    }
    return CRA_OK;
}

size_t cra_utf8_encode(uint32_t code_point, uint8_t out[4])
{
    if (code_point < 0x80) {
        out[0] = (uint8_t)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (uint8_t)(0xC0 | code_point >> 6);
        out[1] = (uint8_t)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (uint8_t)(0xE0 | code_point >> 12);
        out[1] = (uint8_t)(0x80 | (code_point >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (code_point & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | code_point >> 18);
    out[1] = (uint8_t)(0x80 | (code_point >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (code_point >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (code_point & 0x3F));
    return 4;
}
