/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_ENCODE_KEY_H
#define CRA_CODEC_ENCODE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A key that is looked for again and again: short ones, which most are, are compared as two words. */
typedef struct cra_encode_key {
    uint64_t word[2]; /* as they lie in memory */
    uint64_t mask[2];
    const char *text; /* borrowed */
    size_t size;      /* with its terminator */
} cra_encode_key;

static inline void cra_encode_key_init(cra_encode_key *key, const char *text)
{
    uint8_t mask[sizeof key->mask] = {0};

    memset(key, 0, sizeof *key);
    key->text = text;
    key->size = strlen(text) + 1;
    if (key->size <= sizeof key->word) {
        memcpy(key->word, text, key->size);
        memset(mask, 0xFF, key->size);
        memcpy(key->mask, mask, sizeof mask);
    }
}

/* Whether the key, with its terminator, stands at `at`, where `room` bytes may be read. */
static inline bool cra_encode_key_at(const cra_encode_key *key, const uint8_t *at, size_t room)
{
    uint64_t word[2];

    if (key->size <= sizeof word && room >= sizeof word) {
        memcpy(word, at, sizeof word);
        return (((word[0] ^ key->word[0]) & key->mask[0]) | ((word[1] ^ key->word[1]) & key->mask[1])) == 0;
    }
    return key->size <= room && memcmp(at, key->text, key->size) == 0;
}

#endif
