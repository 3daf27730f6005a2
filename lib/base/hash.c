/* SPDX-License-Identifier: Apache-2.0 */

/* The one-shot state of libcrypto's older interface lives on our stack and cannot fail; its successor
 * allocates a context and looks the algorithm up on every use. */
#define OPENSSL_API_COMPAT 0x10100000L

#include "base/hash.h"

#include <string.h>

void cra_sha256_init(cra_sha256 *hash)
{
    SHA256_Init(&hash->state);
}

void cra_sha256_update(cra_sha256 *hash, const void *data, size_t size)
{
    SHA256_Update(&hash->state, data, size);
}

void cra_sha256_final(cra_sha256 *hash, uint8_t digest[CRA_SHA256_SIZE])
{
    SHA256_Final(digest, &hash->state);
}

void cra_sha256_of(cra_bytes data, uint8_t digest[CRA_SHA256_SIZE])
{
    cra_sha256 hash;

    cra_sha256_init(&hash);
    cra_sha256_update(&hash, data.data, data.size);
    cra_sha256_final(&hash, digest);
}

void cra_hex_encode(const uint8_t *data, size_t size, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        *out++ = digits[data[i] >> 4];
        *out++ = digits[data[i] & 0x0F];
    }
    *out = '\0';
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool cra_hex_decode(const char *text, uint8_t *out, size_t size)
{
    if (strlen(text) != 2 * size)
        return false;
    for (size_t i = 0; i < size; i++) {
        const int high = digit_value(text[2 * i]);
        const int low = digit_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
