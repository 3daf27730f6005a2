/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BASE_HASH_H
#define CRA_BASE_HASH_H

/* SHA-256 (digests of records, parts, manifests) and hexadecimal text. */

#include <openssl/sha.h>

#include <crawlarchive/types.h>

#define CRA_SHA256_SIZE 32
#define CRA_SHA256_HEX_SIZE 65 /* with the terminator */

/* State kept in place: no allocation, so hashing cannot fail. */
typedef struct cra_sha256 {
    SHA256_CTX state;
} cra_sha256;

void cra_sha256_init(cra_sha256 *hash);
void cra_sha256_update(cra_sha256 *hash, const void *data, size_t size);
void cra_sha256_final(cra_sha256 *hash, uint8_t digest[CRA_SHA256_SIZE]);
/* All at once. */
void cra_sha256_of(cra_bytes data, uint8_t digest[CRA_SHA256_SIZE]);

/* `2 * size + 1` bytes are written to `out`. */
void cra_hex_encode(const uint8_t *data, size_t size, char *out);
/* Exactly `size` bytes from `2 * size` digits; false where `text` is anything else. */
bool cra_hex_decode(const char *text, uint8_t *out, size_t size);

#endif
