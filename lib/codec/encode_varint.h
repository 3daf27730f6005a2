/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_ENCODE_VARINT_H
#define CRA_CODEC_ENCODE_VARINT_H

#include <stddef.h>
#include <stdint.h>

/* Most bytes of an Avro int or long. */
#define CRA_VARINT_MAX 10

/* Write `number` as Avro's long (zigzag, seven bits a byte) to `out`, which has room for CRA_VARINT_MAX bytes.
 * @return bytes written */
static inline size_t cra_varint_put(uint8_t *out, int64_t number)
{
    uint64_t rest = ((uint64_t)number << 1) ^ (number < 0 ? UINT64_MAX : 0);
    size_t size = 0;

    while (rest > 0x7F) {
        out[size++] = (uint8_t)(rest | 0x80);
        rest >>= 7;
    }
    out[size++] = (uint8_t)rest;
    return size;
}

#endif
