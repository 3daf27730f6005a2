/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/compress.h"

#include <limits.h>
#include <string.h>

#include <libdeflate.h>
#include <snappy-c.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/alloc.h"
#include "base/buf.h"

#define DEFLATE_DEFAULT_LEVEL 6
#define DEFLATE_MAX_LEVEL 12
#define SNAPPY_CRC_SIZE 4
/* The densest element of Snappy: a copy of 64 bytes, written in 3. */
#define SNAPPY_MAX_RATIO 22
/* First guess of what a block grows to, where nothing better is known. */
#define FIRST_RATIO 4
#define FIRST_MINIMUM 65536

struct cra_codec_ctx {
    const cra_allocator *allocator;
    /* Each is made when it is first needed; libdeflate and zstd use their own memory. */
    struct libdeflate_decompressor *inflate;
    struct libdeflate_compressor *deflate;
    int deflate_level;
    ZSTD_DCtx *unzstd;
    ZSTD_CCtx *zstd;
};

static const char *const codec_names[] = {"null", "deflate", "snappy", "zstandard", "bzip2", "xz", "unknown"};

const char *cra_avro_codec_name(cra_avro_codec codec)
{
    return (unsigned)codec <= CRA_AVRO_CODEC_UNKNOWN ? codec_names[codec] : "unknown";
}

cra_avro_codec cra_avro_codec_from_name(cra_bytes name)
{
    if (name.size == 0)
        return CRA_AVRO_CODEC_NULL;
    for (int codec = 0; codec < CRA_AVRO_CODEC_UNKNOWN; codec++) {
        if (cra_bytes_equal(name, cra_bytes_of_str(codec_names[codec])))
            return (cra_avro_codec)codec;
    }
    return cra_bytes_equal(name, cra_bytes_of_str("zstd")) ? CRA_AVRO_CODEC_ZSTANDARD : CRA_AVRO_CODEC_UNKNOWN;
}

bool cra_avro_codec_supported(cra_avro_codec codec)
{
    return (unsigned)codec <= CRA_AVRO_CODEC_ZSTANDARD;
}

cra_status cra_codec_ctx_new(const cra_allocator *allocator, cra_codec_ctx **out)
{
    *out = cra_calloc(allocator, 1, sizeof **out);
    if (*out == NULL)
        return CRA_NOMEM;
    (*out)->allocator = allocator;
    return CRA_OK;
}

void cra_codec_ctx_free(cra_codec_ctx *ctx)
{
    if (ctx == NULL)
        return;
    libdeflate_free_decompressor(ctx->inflate);
    libdeflate_free_compressor(ctx->deflate);
    ZSTD_freeDCtx(ctx->unzstd);
    ZSTD_freeCCtx(ctx->zstd);
    cra_free(ctx->allocator, ctx);
}

/* ---- compressing ------------------------------------------------------------------------------ */

static cra_status compress_deflate(cra_codec_ctx *ctx, int level, cra_bytes in, cra_buf *out)
{
    const int wanted = level <= 0 ? DEFLATE_DEFAULT_LEVEL : level > DEFLATE_MAX_LEVEL ? DEFLATE_MAX_LEVEL : level;

    if (ctx->deflate != NULL && ctx->deflate_level != wanted) {
        libdeflate_free_compressor(ctx->deflate);
        ctx->deflate = NULL;
    }
    if (ctx->deflate == NULL)
        ctx->deflate = libdeflate_alloc_compressor(wanted);
    if (ctx->deflate == NULL)
        return CRA_NOMEM;
    ctx->deflate_level = wanted;

    const size_t bound = libdeflate_deflate_compress_bound(ctx->deflate, in.size);
    CRA_TRY(cra_buf_reserve(out, bound));
    const size_t size = libdeflate_deflate_compress(ctx->deflate, in.data, in.size, out->data + out->size, bound);
    if (size == 0)
        return CRA_INVALID;
    out->size += size;
    return CRA_OK;
}

static cra_status compress_snappy(cra_bytes in, cra_buf *out)
{
    if (in.size > UINT32_MAX) /* the preamble has 32 bits */
        return CRA_INVALID;

    size_t size = snappy_max_compressed_length(in.size);
    CRA_TRY(cra_buf_reserve(out, size + SNAPPY_CRC_SIZE));
    uint8_t *to = out->data + out->size;
    if (snappy_compress((const char *)in.data, in.size, (char *)to, &size) != SNAPPY_OK)
        return CRA_INVALID;

    const uint32_t crc = libdeflate_crc32(0, in.data, in.size);
    to[size] = (uint8_t)(crc >> 24);
    to[size + 1] = (uint8_t)(crc >> 16);
    to[size + 2] = (uint8_t)(crc >> 8);
    to[size + 3] = (uint8_t)crc;
    out->size += size + SNAPPY_CRC_SIZE;
    return CRA_OK;
}

static cra_status compress_zstd(cra_codec_ctx *ctx, int level, cra_bytes in, cra_buf *out)
{
    if (ctx->zstd == NULL)
        ctx->zstd = ZSTD_createCCtx();
    if (ctx->zstd == NULL)
        return CRA_NOMEM;

    const int wanted = level > ZSTD_maxCLevel() ? ZSTD_maxCLevel() : level < ZSTD_minCLevel() ? ZSTD_minCLevel() : level;
    const size_t bound = ZSTD_compressBound(in.size);
    CRA_TRY(cra_buf_reserve(out, bound));
    const size_t size = ZSTD_compressCCtx(ctx->zstd, out->data + out->size, bound, in.data, in.size, wanted);
    if (ZSTD_isError(size))
        return ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation ? CRA_NOMEM : CRA_INVALID;
    out->size += size;
    return CRA_OK;
}

cra_status cra_compress(cra_codec_ctx *ctx, cra_avro_codec codec, int level, cra_bytes in, cra_buf *out)
{
    /* The libraries are not asked what they make of NULL. */
    const cra_bytes data = in.size == 0 ? cra_bytes_of("", 0) : in;

    switch (codec) {
    case CRA_AVRO_CODEC_NULL:
        return cra_buf_append(out, data.data, data.size);
    case CRA_AVRO_CODEC_DEFLATE:
        return compress_deflate(ctx, level, data, out);
    case CRA_AVRO_CODEC_SNAPPY:
        return compress_snappy(data, out);
    case CRA_AVRO_CODEC_ZSTANDARD:
        return compress_zstd(ctx, level, data, out);
    case CRA_AVRO_CODEC_BZIP2:
    case CRA_AVRO_CODEC_XZ:
    case CRA_AVRO_CODEC_UNKNOWN:
        break;
    }
    return CRA_UNSUPPORTED;
}

/* ---- decompressing ---------------------------------------------------------------------------- */

typedef enum attempt { ATTEMPT_DONE, ATTEMPT_BAD, ATTEMPT_TOO_SMALL, ATTEMPT_NOMEM } attempt;

static attempt try_deflate(cra_codec_ctx *ctx, cra_bytes in, uint8_t *to, size_t room, size_t *size)
{
    if (ctx->inflate == NULL)
        ctx->inflate = libdeflate_alloc_decompressor();
    if (ctx->inflate == NULL)
        return ATTEMPT_NOMEM;

    size_t used;
    switch (libdeflate_deflate_decompress_ex(ctx->inflate, in.data, in.size, to, room, &used, size)) {
    case LIBDEFLATE_SUCCESS:
        return ATTEMPT_DONE;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
        return ATTEMPT_TOO_SMALL;
    case LIBDEFLATE_BAD_DATA:
    case LIBDEFLATE_SHORT_OUTPUT:
    default:
        return ATTEMPT_BAD;
    }
}

static attempt try_zstd(cra_codec_ctx *ctx, cra_bytes in, uint8_t *to, size_t room, size_t *size)
{
    if (ctx->unzstd == NULL)
        ctx->unzstd = ZSTD_createDCtx();
    if (ctx->unzstd == NULL)
        return ATTEMPT_NOMEM;

    /* All frames at once into one piece of memory: unlike its streams, this allocates no window. */
    *size = ZSTD_decompressDCtx(ctx->unzstd, to, room, in.data, in.size);
    if (!ZSTD_isError(*size))
        return ATTEMPT_DONE;
    switch (ZSTD_getErrorCode(*size)) {
    case ZSTD_error_dstSize_tooSmall:
        return ATTEMPT_TOO_SMALL;
    case ZSTD_error_memory_allocation:
        return ATTEMPT_NOMEM;
    default:
        return ATTEMPT_BAD;
    }
}

/* Room for `size` bytes and the padding; the old content is dropped, not copied. */
static cra_status make_room(cra_buf *out, size_t size)
{
    cra_buf_clear(out);
    if (out->capacity >= size + CRA_CODEC_PADDING)
        return CRA_OK;
    cra_buf_cleanup(out);
    return cra_buf_reserve(out, size + CRA_CODEC_PADDING);
}

static cra_status too_large(cra_avro_codec codec, size_t max_bytes, cra_error *err)
{
    return cra_error_set(err, CRA_CORRUPT, "avro", "%s data decompress to more than %zu bytes",
                         cra_avro_codec_name(codec), max_bytes);
}

/* Deflate and zstandard do not say reliably how much comes out: try with what there is room for, then with four
 * times as much. Once the buffer has grown to the size of the file's blocks the first attempt is the only one. */
static cra_status decompress_growing(cra_codec_ctx *ctx, cra_avro_codec codec, cra_bytes in, size_t max_bytes,
                                     cra_buf *out, cra_error *err)
{
    size_t room = in.size > max_bytes / FIRST_RATIO ? max_bytes : in.size * FIRST_RATIO;

    if (room < FIRST_MINIMUM)
        room = FIRST_MINIMUM;
    if (out->capacity > room + CRA_CODEC_PADDING)
        room = out->capacity - CRA_CODEC_PADDING;
    for (;;) {
        if (room > max_bytes)
            room = max_bytes;
        if (make_room(out, room) != CRA_OK)
            return cra_error_set(err, CRA_NOMEM, "avro", "out of memory for %zu bytes of a block", room);

        size_t size = 0;
        const attempt result = codec == CRA_AVRO_CODEC_DEFLATE ? try_deflate(ctx, in, out->data, room, &size)
                                                               : try_zstd(ctx, in, out->data, room, &size);
        switch (result) {
        case ATTEMPT_DONE:
            out->size = size;
            return CRA_OK;
        case ATTEMPT_NOMEM:
            return cra_error_set(err, CRA_NOMEM, "avro", "out of memory for the %s codec", cra_avro_codec_name(codec));
        case ATTEMPT_BAD:
            return cra_error_set(err, CRA_CORRUPT, "avro", "%s data are damaged or cut", cra_avro_codec_name(codec));
        case ATTEMPT_TOO_SMALL:
            break;
        }
        if (room == max_bytes)
            return too_large(codec, max_bytes, err);
        room = room > max_bytes / 4 ? max_bytes : room * 4;
    }
}

static cra_status decompress_snappy(cra_bytes in, size_t max_bytes, cra_buf *out, cra_error *err)
{
    if (in.size < SNAPPY_CRC_SIZE)
        return cra_error_set(err, CRA_CORRUPT, "avro", "snappy data of %zu bytes have no checksum", in.size);

    const size_t packed = in.size - SNAPPY_CRC_SIZE;
    size_t size = 0;
    if (snappy_uncompressed_length((const char *)in.data, packed, &size) != SNAPPY_OK)
        return cra_error_set(err, CRA_CORRUPT, "avro", "snappy data have no valid length");
    if (size > max_bytes)
        return too_large(CRA_AVRO_CODEC_SNAPPY, max_bytes, err);
    if (size / SNAPPY_MAX_RATIO > packed)
        return cra_error_set(err, CRA_CORRUPT, "avro", "snappy data of %zu bytes claim to hold %zu", packed, size);
    if (make_room(out, size) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, "avro", "out of memory for %zu bytes of a block", size);
    if (snappy_uncompress((const char *)in.data, packed, (char *)out->data, &size) != SNAPPY_OK)
        return cra_error_set(err, CRA_CORRUPT, "avro", "snappy data are damaged or cut");

    const uint8_t *crc = in.data + packed;
    const uint32_t stored = (uint32_t)crc[0] << 24 | (uint32_t)crc[1] << 16 | (uint32_t)crc[2] << 8 | crc[3];
    if (libdeflate_crc32(0, out->data, size) != stored)
        return cra_error_set(err, CRA_CORRUPT, "avro", "snappy checksum does not match");
    out->size = size;
    return CRA_OK;
}

static cra_status decompress_null(cra_bytes in, size_t max_bytes, cra_buf *out, cra_error *err)
{
    if (in.size > max_bytes)
        return cra_error_set(err, CRA_CORRUPT, "avro", "block has more than %zu bytes", max_bytes);
    if (make_room(out, in.size) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, "avro", "out of memory for %zu bytes of a block", in.size);
    memcpy(out->data, in.data, in.size);
    out->size = in.size;
    return CRA_OK;
}

cra_status cra_decompress(cra_codec_ctx *ctx, cra_avro_codec codec, cra_bytes in, size_t max_bytes, cra_buf *out,
                          cra_error *err)
{
    const cra_bytes data = in.size == 0 ? cra_bytes_of("", 0) : in;
    cra_status status = CRA_UNSUPPORTED;

    switch (codec) {
    case CRA_AVRO_CODEC_NULL:
        status = decompress_null(data, max_bytes, out, err);
        break;
    case CRA_AVRO_CODEC_DEFLATE:
    case CRA_AVRO_CODEC_ZSTANDARD:
        status = decompress_growing(ctx, codec, data, max_bytes, out, err);
        break;
    case CRA_AVRO_CODEC_SNAPPY:
        status = decompress_snappy(data, max_bytes, out, err);
        break;
    case CRA_AVRO_CODEC_BZIP2:
    case CRA_AVRO_CODEC_XZ:
    case CRA_AVRO_CODEC_UNKNOWN:
        return cra_error_set(err, CRA_UNSUPPORTED, "avro", "this build cannot read blocks of the codec %s",
                             cra_avro_codec_name(codec));
    }
    if (status == CRA_OK)
        memset(out->data + out->size, 0, CRA_CODEC_PADDING);
    else
        cra_buf_clear(out);
    return status;
}
