/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CODEC_COMPRESS_H
#define CRA_CODEC_COMPRESS_H

/* Compression of container blocks, both ways, by the codec's rules in Avro: `deflate` is a raw stream without zlib
 * header, `snappy` is followed by the CRC-32 of the uncompressed data, big-endian. */

#include <crawlarchive/codec.h>

/* Zero bytes that lie behind decompressed data (in the capacity, not in the size): a reader may look that far
 * past the end before it checks. */
#define CRA_CODEC_PADDING 64

/* State of the compressors, kept from block to block. Belongs to one thread. */
typedef struct cra_codec_ctx cra_codec_ctx;

/* `allocator` is borrowed. @return CRA_OK, CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_codec_ctx_new(const cra_allocator *allocator, cra_codec_ctx **out);
/* NULL is legal. */
void cra_codec_ctx_free(cra_codec_ctx *ctx);

/* Append the compressed form of `in` to `out`. `level` 0 is the codec's default; levels out of range are clamped;
 * null and snappy have none.
 * @return CRA_OK, CRA_NOMEM, CRA_UNSUPPORTED (this build has no such codec), CRA_INVALID (too large for it) */
CRA_MUST_CHECK cra_status cra_compress(cra_codec_ctx *ctx, cra_avro_codec codec, int level, cra_bytes in, cra_buf *out);

/* Replace the content of `out` by the decompressed form of `in`, with CRA_CODEC_PADDING zero bytes behind it. No
 * more than `max_bytes` come out, and what `in` claims about its size is never trusted for an allocation. Bytes
 * behind the end of a deflate stream are ignored: some writers leave them there.
 * @return CRA_OK, CRA_NOMEM, CRA_CORRUPT (damaged, or more than `max_bytes`), CRA_UNSUPPORTED naming the codec */
CRA_MUST_CHECK cra_status cra_decompress(cra_codec_ctx *ctx, cra_avro_codec codec, cra_bytes in, size_t max_bytes,
                                         cra_buf *out, cra_error *err);

#endif
