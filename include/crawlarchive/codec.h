/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRAWLARCHIVE_CODEC_H
#define CRAWLARCHIVE_CODEC_H

/** @file codec.h
 * Avro container files to BSON documents and back; usable alone, without any store.
 *
 * Reading has three parts, so that an embedding program may spread it over threads: a **scanner** walks a
 * file and yields blocks still compressed; a **program** is compiled once for a pair of schemas (writer,
 * reader) and is shared, immutable; a **decoder** belongs to one thread and turns blocks into BSON.
 * cra_avro_reader joins the three for those who need no threads. Writing has one: a **writer**.
 * The codec knows no files and no threads: bytes come from a cra_source and go to a cra_sink_fn.
 */

#include <crawlarchive/bson.h>

CRA_BEGIN_DECLS

/** Where bytes come from. */
typedef struct cra_source {
    size_t struct_size;
    /** Read up to `capacity` bytes; `*got` 0 means the end. */
    cra_status (*read)(void *user, void *buffer, size_t capacity, size_t *got, cra_error *err);
    /** Skip `count` bytes without delivering them; NULL where the source can only read. Skipping past the
     *  end is CRA_CORRUPT. */
    cra_status (*skip)(void *user, uint64_t count, cra_error *err);
    void *user;
} cra_source;

/** Where bytes go, in order; must take all of them. */
typedef cra_status (*cra_write_fn)(void *user, const void *data, size_t size, cra_error *err);

/** Codecs of a container's blocks. */
typedef enum cra_avro_codec {
    CRA_AVRO_CODEC_NULL,
    CRA_AVRO_CODEC_DEFLATE,
    CRA_AVRO_CODEC_SNAPPY,
    CRA_AVRO_CODEC_ZSTANDARD,
    CRA_AVRO_CODEC_BZIP2,
    CRA_AVRO_CODEC_XZ,
    CRA_AVRO_CODEC_UNKNOWN
} cra_avro_codec;

/** Name as in `avro.codec`; "unknown" for CRA_AVRO_CODEC_UNKNOWN. */
CRA_EXPORT const char *cra_avro_codec_name(cra_avro_codec codec);
/** Codec of a name ("zstd" is accepted for "zstandard", "" for "null"). CRA_AVRO_CODEC_UNKNOWN otherwise. */
CRA_EXPORT cra_avro_codec cra_avro_codec_from_name(cra_bytes name);
/** Whether this build can read and write blocks of the codec. */
CRA_EXPORT bool cra_avro_codec_supported(cra_avro_codec codec);

typedef enum cra_utf8_policy { CRA_UTF8_ERROR, CRA_UTF8_REPLACE, CRA_UTF8_BINARY } cra_utf8_policy;
typedef enum cra_duplicate_policy { CRA_DUPLICATE_ERROR, CRA_DUPLICATE_KEEP } cra_duplicate_policy;

/** How values map and what is refused. Zero-initialised members mean the default. */
typedef struct cra_avro_options {
    size_t struct_size;
    cra_utf8_policy invalid_utf8;         /**< invalid UTF-8 in a string */
    cra_duplicate_policy duplicate_keys;  /**< one map key twice in one map */
    bool omit_null;                       /**< leave out record fields that are null */
    bool micros_as_date;                  /**< timestamp-micros/-nanos become Date by floor; losses are counted */
    bool strict_names;                    /**< refuse names that the specification does not allow */
    bool salvage;                         /**< go on behind a damaged block at the next sync mark */
    int64_t max_block_bytes;              /**< most bytes of a block, stored or decompressed; 0: 1 GiB */
    int64_t max_document_bytes;           /**< most bytes of one BSON document; 0: 16 MiB */
    int64_t max_empty_records;            /**< most records of zero bytes in one block; 0: 1,000,000 */
    int64_t max_header_bytes;             /**< most bytes of a file header; 0: 16 MiB */
} cra_avro_options;

#define CRA_AVRO_OPTIONS_INIT \
    { sizeof(cra_avro_options), CRA_UTF8_ERROR, CRA_DUPLICATE_ERROR, false, false, false, false, 0, 0, 0, 0 }

/** One block as it lies in the file. */
typedef struct cra_avro_block {
    int64_t offset;       /**< of the block's count, from the file's start */
    int64_t records;      /**< as the block says */
    int64_t stored_bytes; /**< of the payload */
    cra_bytes payload;    /**< borrowed until the next call; empty where it was skipped */
    uint32_t file_index;  /**< 0, then 1 behind a second header of concatenated files, … */
} cra_avro_block;

/** Walks the blocks of one container file. Belongs to one thread. */
typedef struct cra_avro_scanner cra_avro_scanner;

/** Read the header of a container.
 *
 * @param allocator  borrowed for the scanner's life; NULL for the C library's
 * @param options    copied; NULL for the defaults
 * @param source     copied
 * @return CRA_OK, CRA_CORRUPT (no container, cut header), CRA_NOMEM, the source's status. An empty source is
 *         CRA_DONE and `*out` NULL: an object that was never written to.
 */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_scanner_open(const cra_allocator *allocator,
                                                           const cra_avro_options *options, const cra_source *source,
                                                           cra_avro_scanner **out, cra_error *err);
/** Next block with its payload. @return CRA_OK, CRA_DONE at a clean end, CRA_CORRUPT naming the offset: what
 *  was delivered before is whole. With `salvage` damage is skipped, logged in cra_avro_scanner_skipped(). */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_scanner_next(cra_avro_scanner *scanner, cra_avro_block *out,
                                                           cra_error *err);
/** Next block without its payload, which is skipped; the sync mark is still checked. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_scanner_skip(cra_avro_scanner *scanner, cra_avro_block *out,
                                                           cra_error *err);
/** Writer's schema of the current header, JSON text, borrowed. */
CRA_EXPORT cra_bytes cra_avro_scanner_schema(const cra_avro_scanner *scanner);
/** Codec of the current header; its name as written by cra_avro_scanner_metadata(…, "avro.codec"). */
CRA_EXPORT cra_avro_codec cra_avro_scanner_codec(const cra_avro_scanner *scanner);
/** Metadata value of the current header. @return false where there is none of that key */
CRA_EXPORT bool cra_avro_scanner_metadata(const cra_avro_scanner *scanner, const char *key, cra_bytes *out);
/** Bytes that salvage left out, and in how many ranges. */
CRA_EXPORT int64_t cra_avro_scanner_skipped(const cra_avro_scanner *scanner, int64_t *ranges);
CRA_EXPORT void cra_avro_scanner_free(cra_avro_scanner *scanner);

/** A compiled pair of schemas: immutable, shareable between threads. */
typedef struct cra_avro_program cra_avro_program;

/** Compile the decoding of `writer_schema`, resolved to `reader_schema`.
 *
 * Files in our `typed` or `raw` profile are recognised by their marks; their program gives back the original
 * BSON, and `reader_schema` is then ignored.
 * @param reader_schema  an empty view means: as the writer's
 * @return CRA_OK, CRA_CORRUPT (schema is wrong: the message names where), CRA_CONFLICT (the two do not
 *         resolve: the message names the path), CRA_NOMEM
 */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_program_new(const cra_allocator *allocator,
                                                          const cra_avro_options *options, cra_bytes writer_schema,
                                                          cra_bytes reader_schema, cra_avro_program **out,
                                                          cra_error *err);
/** Whether the program gives back BSON that our writer stored (`typed` or `raw` profile). */
CRA_EXPORT bool cra_avro_program_is_native(const cra_avro_program *program);
/** Append a listing of the program, one instruction a line; for tests and the curious. */
CRA_EXPORT cra_status cra_avro_program_disassemble(const cra_avro_program *program, cra_buf *out);
CRA_EXPORT void cra_avro_program_free(cra_avro_program *program);

/** A record that could not become a document, while its block could be read on. */
typedef struct cra_dead_letter {
    int64_t block_offset;
    int64_t record;        /**< index within the block */
    int64_t byte_offset;   /**< of the record within the decompressed block */
    int64_t byte_size;
    char reason[160];
} cra_dead_letter;

/** Documents of one block, borrowed from the decoder until its next call. */
typedef struct cra_doc_batch {
    cra_bytes documents;               /**< concatenated BSON; see cra_bson_next_document() */
    size_t count;
    const cra_dead_letter *dead;
    size_t dead_count;
    cra_bytes payload;                 /**< the decompressed block, for whoever diverts dead letters */
    int64_t lossy_dates;               /**< values that `micros_as_date` cut */
    int64_t block_offset;              /**< of the block they came from: where a restart can take up again */
} cra_doc_batch;

/** Turns blocks into documents. Belongs to one thread; after warm-up it allocates nothing a record. */
typedef struct cra_avro_decoder cra_avro_decoder;

/** @param program  borrowed for the decoder's life */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_decoder_new(const cra_allocator *allocator,
                                                          const cra_avro_program *program, cra_avro_codec codec,
                                                          cra_avro_decoder **out, cra_error *err);
/** Decode a whole block, or fail naming its offset: a block is delivered whole or not at all, apart from dead
 *  letters. @return CRA_OK, CRA_CORRUPT, CRA_UNSUPPORTED (codec), CRA_NOMEM */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_decoder_block(cra_avro_decoder *decoder, const cra_avro_block *block,
                                                            cra_doc_batch *out, cra_error *err);
CRA_EXPORT void cra_avro_decoder_free(cra_avro_decoder *decoder);

/** Scanner, programs and decoder in one, for one thread. */
typedef struct cra_avro_reader cra_avro_reader;

/** Open a container for reading to the end, concatenated files and changes of schema included.
 *  @return as cra_avro_scanner_open() and cra_avro_program_new(); CRA_DONE for an empty source */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_reader_open(const cra_allocator *allocator,
                                                          const cra_avro_options *options, const cra_source *source,
                                                          cra_bytes reader_schema, cra_avro_reader **out,
                                                          cra_error *err);
/** Documents of the next block that has any (or dead letters). @return CRA_OK, CRA_DONE, CRA_CORRUPT, … */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_reader_next(cra_avro_reader *reader, cra_doc_batch *out, cra_error *err);
/** The scanner inside, for its header, offsets and skipped ranges. */
CRA_EXPORT const cra_avro_scanner *cra_avro_reader_scanner(const cra_avro_reader *reader);
CRA_EXPORT void cra_avro_reader_free(cra_avro_reader *reader);

/* ---- writing ---------------------------------------------------------------------------------- */

/** How BSON lies in Avro. */
typedef enum cra_avro_profile {
    CRA_AVRO_PROFILE_TYPED, /**< a field per path, readable by any Avro reader; what differs is in `_raw` */
    CRA_AVRO_PROFILE_RAW    /**< `{bson: bytes}` */
} cra_avro_profile;

/** Collects the union of types per path of the documents it is shown. Belongs to one thread. */
typedef struct cra_avro_infer cra_avro_infer;

CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_infer_new(const cra_allocator *allocator, cra_avro_infer **out,
                                                        cra_error *err);
/** Take one document into account. Over-deep or odd parts are left to `_raw`. @return CRA_OK, CRA_NOMEM, CRA_CORRUPT */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_infer_add(cra_avro_infer *infer, cra_bytes document, cra_error *err);
/** Append the schema for what was seen, marked as our `typed` profile, as JSON. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_infer_schema(const cra_avro_infer *infer, const char *record_name,
                                                           cra_buf *out, cra_error *err);
CRA_EXPORT void cra_avro_infer_free(cra_avro_infer *infer);

typedef struct cra_avro_writer_options {
    size_t struct_size;
    cra_avro_profile profile;
    cra_avro_codec codec;
    int codec_level;              /**< 0: the codec's default */
    int64_t block_bytes;          /**< a block is closed when it reaches this many bytes uncompressed; 0: 256 KiB */
    int64_t sample_bytes;         /**< documents held back to infer the schema from; 0: 4 MiB */
    cra_bytes schema;             /**< typed profile: use this inferred schema instead of a sample; or empty */
    uint8_t sync[16];             /**< sync mark: random bytes from the caller, all zero is refused */
    const char *const *metadata;  /**< key, value, key, value, …, NULL: more header entries; or NULL */
} cra_avro_writer_options;

#define CRA_AVRO_WRITER_OPTIONS_INIT \
    { sizeof(cra_avro_writer_options), CRA_AVRO_PROFILE_TYPED, CRA_AVRO_CODEC_SNAPPY, 0, 0, 0, {NULL, 0}, {0}, NULL }

/** What a writer has done so far. */
typedef struct cra_avro_writer_stats {
    int64_t records;
    int64_t raw_records;   /**< kept whole in `_raw` because the typed form would not give the same bytes */
    int64_t bytes_in;      /**< BSON */
    int64_t bytes_out;     /**< handed to the sink */
    int64_t blocks;
} cra_avro_writer_stats;

/** Writes one container file. Belongs to one thread. */
typedef struct cra_avro_writer cra_avro_writer;

/** @param write  gets the file's bytes in order
 *  @return CRA_OK, CRA_INVALID, CRA_UNSUPPORTED (codec), CRA_NOMEM */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_writer_open(const cra_allocator *allocator,
                                                          const cra_avro_writer_options *options, cra_write_fn write,
                                                          void *user, cra_avro_writer **out, cra_error *err);
/** Append one BSON document; it comes back byte for byte. @return CRA_OK, CRA_CORRUPT (no document), CRA_NOMEM,
 *  the sink's status */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_writer_append(cra_avro_writer *writer, cra_bytes document,
                                                            cra_error *err);
/** Write what is held back and end the file; nothing may be appended afterwards. `*stats` is nullable. */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_writer_finish(cra_avro_writer *writer, cra_avro_writer_stats *stats,
                                                            cra_error *err);
/** Schema of the file, JSON, borrowed; empty while documents are still held back. */
CRA_EXPORT cra_bytes cra_avro_writer_schema(const cra_avro_writer *writer);
CRA_EXPORT void cra_avro_writer_free(cra_avro_writer *writer);

/** Append the Parsing Canonical Form of a schema. @return CRA_OK, CRA_CORRUPT, CRA_NOMEM */
CRA_EXPORT CRA_MUST_CHECK cra_status cra_avro_schema_canonical(const cra_allocator *allocator, cra_bytes schema,
                                                               cra_buf *out, cra_error *err);

CRA_END_DECLS

#endif
