/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_INFER_HASH_H
#define CRA_CODEC_INFER_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Hash of a key, `size` without terminator: FNV-1a. Tables of at most CRA_INFER_MAX_FIELDS keys need nothing
 * stronger against keys made to collide. */
static inline uint32_t cra_key_hash(const char *key, size_t size)
{
    uint32_t hash = UINT32_C(2166136261);

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)key[i]) * UINT32_C(16777619);
    return hash;
}

#endif
