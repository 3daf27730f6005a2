/* SPDX-License-Identifier: Apache-2.0 */

/* The interpreter: Avro in, BSON out, lengths patched in when a document ends. Recursion is bounded by the depth that a
 * document may have. */

#include "codec/decode.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "codec/compress.h"

#define ORIGIN "avro"
#define EMPTY_RECORDS_DEFAULT 1000000

/* ---- strings --------------------------------------------------------------------------------- */

static bool put_binary(cra_decode *d, const uint8_t *key, size_t key_size, uint8_t subtype, const uint8_t *data,
                       size_t size)
{
    if (!cra_decode_head(d, CRA_BSON_BINARY, key, key_size, 5 + size))
        return false;
    cra_decode_le32(d, (uint32_t)size);
    cra_decode_bytes(d, &subtype, 1);
    cra_decode_bytes(d, data, size);
    return true;
}

static bool put_string(cra_decode *d, uint8_t type, const uint8_t *key, size_t key_size, const uint8_t *text,
                       size_t size)
{
    if (!cra_decode_head(d, type, key, key_size, 5 + size))
        return false;
    cra_decode_le32(d, (uint32_t)size + 1);
    cra_decode_bytes(d, text, size);
    cra_decode_bytes(d, "", 1);
    return true;
}

static bool put_repaired(cra_decode *d, const uint8_t *key, size_t key_size, const uint8_t *text, size_t size)
{
    if (!cra_decode_head(d, CRA_BSON_STRING, key, key_size, 5 + 3 * size))
        return false;
    const size_t length_at = d->out.size;
    cra_decode_le32(d, 0);
    if (cra_utf8_append_repaired(&d->out, text, size) != CRA_OK)
        return cra_decode_no_memory(d);
    cra_put_le32(d->out.data + length_at, (uint32_t)(d->out.size - length_at - 4 + 1));
    cra_decode_bytes(d, "", 1);
    return true;
}

bool cra_decode_text(cra_decode *d, uint8_t type, const uint8_t *key, size_t key_size)
{
    const uint8_t *text;
    size_t size;

    if (!cra_decode_blob(d, &text, &size))
        return false;
    if (cra_utf8_valid(text, size))
        return put_string(d, type, key, key_size, text, size);
    switch (d->program->options.invalid_utf8) {
    case CRA_UTF8_REPLACE:
        return put_repaired(d, key, key_size, text, size);
    case CRA_UTF8_BINARY:
        return put_binary(d, key, key_size, 0, text, size);
    default:
        d->dead = "a string is not valid UTF-8";
        return true;
    }
}

/* ---- containers ------------------------------------------------------------------------------ */

static bool open_document(cra_decode *d, size_t *mark)
{
    if (d->depth >= CRA_BSON_MAX_DEPTH)
        return cra_decode_fail(d, "a document is nested deeper than 100 levels");
    if (!cra_decode_room(d, 5))
        return false;
    d->depth++;
    *mark = d->out.size;
    cra_decode_le32(d, 0);
    return true;
}

static bool close_document(cra_decode *d, size_t mark)
{
    if (!cra_decode_room(d, 1))
        return false;
    cra_decode_bytes(d, "", 1);
    cra_put_le32(d->out.data + mark, (uint32_t)(d->out.size - mark));
    d->depth--;
    return true;
}

static bool run_body(cra_decode *d, uint32_t body)
{
    const cra_avro_program *p = d->program;
    const uint32_t *refs = p->refs + p->bodies[body].first;
    const uint32_t count = p->bodies[body].count;

    for (uint32_t i = 0; i < count; i++) {
        const cra_instruction *code = &p->code[refs[i]];
        if (!cra_decode_value(d, refs[i], p->constants.data + code->key, code->key_size))
            return false;
    }
    return true;
}

bool cra_decode_items(cra_decode *d, int64_t *count, const uint8_t **limit)
{
    int64_t size;

    *limit = NULL;
    if (!cra_decode_long(d, count))
        return false;
    if (*count >= 0)
        return true;
    if (*count == INT64_MIN)
        return cra_decode_fail(d, "an impossible number of items");
    *count = -*count;
    if (!cra_decode_long(d, &size))
        return false;
    if (size < 0 || size > d->end - d->at)
        return cra_decode_fail(d, "a block of items goes beyond its block");
    *limit = d->at + size;
    return true;
}

static bool check_limit(cra_decode *d, const uint8_t *limit)
{
    return limit == NULL || d->at == limit ? true : cra_decode_fail(d, "a block of items has not the size it claims");
}

/* The decimal name of a position, one more than the last. `key` holds its digits from `*from` on, with a NUL. */
static void next_position(char key[24], size_t *from)
{
    size_t at = 22;

    while (at >= *from && key[at] == '9')
        key[at--] = '0';
    if (at < *from)
        key[*from = at] = '1';
    else
        key[at]++;
}

static bool run_array(cra_decode *d, uint32_t item, const uint8_t *key, size_t key_size)
{
    char position[24] = {[22] = '0'};
    size_t from = 22;
    size_t mark;
    int64_t count;
    const uint8_t *limit;

    if (!cra_decode_head(d, CRA_BSON_ARRAY, key, key_size, 0) || !open_document(d, &mark))
        return false;
    for (;;) {
        if (!cra_decode_items(d, &count, &limit))
            return false;
        if (count == 0)
            break;
        while (count-- > 0) {
            if (!cra_decode_value(d, item, (const uint8_t *)position + from, 24 - from))
                return false;
            next_position(position, &from);
        }
        if (!check_limit(d, limit))
            return false;
    }
    return close_document(d, mark);
}

typedef struct name_place {
    const char *text;
} name_place;

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const name_place *)a)->text, ((const name_place *)b)->text);
}

/* Note it where one name stands twice in the document from `mark` on. */
static bool check_duplicates(cra_decode *d, size_t mark, size_t count)
{
    size_t at = mark + 4;
    size_t found = 0;

    if (count < 2 || d->dead != NULL || d->program->options.duplicate_keys != CRA_DUPLICATE_ERROR)
        return true;
    cra_buf_clear(&d->names);
    if (cra_buf_reserve(&d->names, count * sizeof(name_place)) != CRA_OK)
        return cra_decode_no_memory(d);
    name_place *names = (name_place *)(void *)d->names.data;
    while (at < d->out.size && found < count) {
        const char *name = (const char *)d->out.data + at + 1;
        const uint8_t *value = (const uint8_t *)name + strlen(name) + 1;
        size_t value_size;

        if (cra_bson_measure(d->out.data[at], value, (size_t)(d->out.data + d->out.size - value), &value_size) != NULL)
            return true; /* a dead record's document is not whole */
        names[found++].text = name;
        at = (size_t)(value - d->out.data) + value_size;
    }
    qsort(names, found, sizeof *names, compare_names);
    for (size_t i = 1; i < found; i++) {
        if (strcmp(names[i - 1].text, names[i].text) == 0)
            d->dead = "a map has one key twice";
    }
    return true;
}

/* A map's key, with its NUL, in the scratch buffer. */
static bool take_key(cra_decode *d, size_t *size)
{
    const uint8_t *name;

    if (!cra_decode_blob(d, &name, size))
        return false;
    if (memchr(name, '\0', *size) != NULL)
        d->dead = "a key holds a NUL";
    else if (!cra_utf8_valid(name, *size))
        d->dead = "a key is not valid UTF-8";
    cra_buf_clear(&d->key);
    if (*size > d->max_document)
        return cra_decode_fail(d, "the document is too large");
    if (cra_buf_append(&d->key, name, *size) != CRA_OK || cra_buf_append(&d->key, "", 1) != CRA_OK)
        return cra_decode_no_memory(d);
    return true;
}

static bool run_map(cra_decode *d, uint32_t item, const uint8_t *key, size_t key_size)
{
    size_t mark, size;
    size_t entries = 0;
    int64_t count;
    const uint8_t *limit;

    if (!cra_decode_head(d, CRA_BSON_DOCUMENT, key, key_size, 0) || !open_document(d, &mark))
        return false;
    for (;;) {
        if (!cra_decode_items(d, &count, &limit))
            return false;
        if (count == 0)
            break;
        for (; count > 0; count--, entries++) {
            if (!take_key(d, &size) || !cra_decode_value(d, item, d->key.data, size + 1))
                return false;
        }
        if (!check_limit(d, limit))
            return false;
    }
    return check_duplicates(d, mark, entries) && close_document(d, mark);
}

static bool run_record(cra_decode *d, uint32_t body, const uint8_t *key, size_t key_size)
{
    size_t mark;

    return cra_decode_head(d, CRA_BSON_DOCUMENT, key, key_size, 0) && open_document(d, &mark) && run_body(d, body) &&
           close_document(d, mark);
}

static bool run_union(cra_decode *d, const cra_instruction *code, const uint8_t *key, size_t key_size)
{
    int64_t branch;

    if (!cra_decode_long(d, &branch))
        return false;
    if (branch < 0 || branch >= (int64_t)code->b)
        return cra_decode_fail(d, "a union has no such branch");
    return cra_decode_value(d, d->program->refs[code->a + (uint32_t)branch], key, key_size);
}

static bool run_enum(cra_decode *d, const cra_instruction *code, const uint8_t *key, size_t key_size)
{
    int64_t symbol;

    if (!cra_decode_long(d, &symbol))
        return false;
    if (symbol < 0 || symbol >= (int64_t)code->b)
        return cra_decode_fail(d, "an enum has no such symbol");
    const uint32_t constant = d->program->refs[code->a + (uint32_t)symbol];
    if (constant == UINT32_MAX)
        return cra_decode_fail(d, "the reader's enum lacks the symbol and has no default");
    const uint8_t *text = d->program->constants.data + constant;
    const size_t size = 4 + (size_t)cra_le32(text);
    if (!cra_decode_head(d, CRA_BSON_STRING, key, key_size, size))
        return false;
    cra_decode_bytes(d, text, size);
    return true;
}

static bool run_const(cra_decode *d, const cra_instruction *code, const uint8_t *key, size_t key_size)
{
    const uint8_t *constant = d->program->constants.data + code->b;
    uint32_t size;

    memcpy(&size, constant, sizeof size);
    if (!cra_decode_head(d, (uint8_t)code->a, key, key_size, size))
        return false;
    cra_decode_bytes(d, constant + sizeof size, size);
    return true;
}

/* ---- scalars --------------------------------------------------------------------------------- */

static bool put_double(cra_decode *d, const uint8_t *key, size_t key_size, double number)
{
    if (!cra_decode_head(d, CRA_BSON_DOUBLE, key, key_size, 8))
        return false;
    cra_put_le_double(d->out.data + d->out.size, number);
    d->out.size += 8;
    return true;
}

static bool put_long(cra_decode *d, uint8_t type, const uint8_t *key, size_t key_size, int64_t number)
{
    if (!cra_decode_head(d, type, key, key_size, 8))
        return false;
    cra_decode_le64(d, (uint64_t)number);
    return true;
}

static bool run_bool(cra_decode *d, const uint8_t *key, size_t key_size)
{
    const uint8_t *byte;

    if (!cra_decode_take(d, 1, &byte))
        return false;
    if (*byte > 1)
        return cra_decode_fail(d, "a boolean is neither 0 nor 1");
    if (!cra_decode_head(d, CRA_BSON_BOOL, key, key_size, 1))
        return false;
    cra_decode_bytes(d, byte, 1);
    return true;
}

/* A NaN keeps its payload: the sign and the fraction's bits move to where a double has them. */
static bool run_float(cra_decode *d, const uint8_t *key, size_t key_size)
{
    const uint8_t *data;
    float number;

    if (!cra_decode_take(d, 4, &data))
        return false;
    const uint32_t bits = cra_le32(data);
    if ((bits & 0x7F800000) == 0x7F800000 && (bits & 0x007FFFFF) != 0) {
        const uint64_t wide = (uint64_t)(bits >> 31) << 63 | UINT64_C(0x7FF) << 52 | (uint64_t)(bits & 0x7FFFFF) << 29;
        return put_long(d, CRA_BSON_DOUBLE, key, key_size, (int64_t)wide);
    }
    memcpy(&number, &bits, sizeof number);
    return put_double(d, key, key_size, (double)number);
}

static bool run_promoted(cra_decode *d, const cra_instruction *code, const uint8_t *key, size_t key_size)
{
    int64_t number;

    if (code->op == CRA_OP_LONG_AS_DOUBLE ? !cra_decode_long(d, &number) : !cra_decode_int(d, &number))
        return false;
    if (code->op == CRA_OP_INT_AS_LONG)
        return put_long(d, CRA_BSON_INT64, key, key_size, number);
    return put_double(d, key, key_size, code->a != 0 ? (double)(float)number : (double)number);
}

bool cra_decode_value(cra_decode *d, uint32_t instruction, const uint8_t *key, size_t key_size)
{
    const cra_instruction *code = &d->program->code[instruction];
    const uint8_t *data;
    size_t size;
    int64_t number;

    switch ((cra_op)code->op) {
    case CRA_OP_NULL_:
        if (d->program->options.omit_null && code->key_size > 0)
            return true;
        return cra_decode_head(d, CRA_BSON_NULL, key, key_size, 0);
    case CRA_OP_ABSENT:
        return true;
    case CRA_OP_BOOL:
        return run_bool(d, key, key_size);
    case CRA_OP_INT:
        if (!cra_decode_int(d, &number) || !cra_decode_head(d, CRA_BSON_INT32, key, key_size, 4))
            return false;
        cra_decode_le32(d, (uint32_t)(int32_t)number);
        return true;
    case CRA_OP_LONG:
        return cra_decode_long(d, &number) && put_long(d, CRA_BSON_INT64, key, key_size, number);
    case CRA_OP_INT_AS_LONG:
    case CRA_OP_INT_AS_DOUBLE:
    case CRA_OP_LONG_AS_DOUBLE:
        return run_promoted(d, code, key, key_size);
    case CRA_OP_FLOAT:
        return run_float(d, key, key_size);
    case CRA_OP_DOUBLE:
        if (!cra_decode_take(d, 8, &data) || !cra_decode_head(d, CRA_BSON_DOUBLE, key, key_size, 8))
            return false;
        cra_decode_bytes(d, data, 8);
        return true;
    case CRA_OP_BYTES:
        return cra_decode_blob(d, &data, &size) && put_binary(d, key, key_size, 0, data, size);
    case CRA_OP_FIXED:
        return cra_decode_take(d, code->a, &data) && put_binary(d, key, key_size, 0, data, code->a);
    case CRA_OP_STRING:
        return cra_decode_text(d, CRA_BSON_STRING, key, key_size);
    case CRA_OP_ENUM:
        return run_enum(d, code, key, key_size);
    case CRA_OP_RECORD:
        return run_record(d, code->a, key, key_size);
    case CRA_OP_ARRAY:
        return run_array(d, code->a, key, key_size);
    case CRA_OP_MAP:
        return run_map(d, code->a, key, key_size);
    case CRA_OP_UNION:
        return run_union(d, code, key, key_size);
    case CRA_OP_MILLIS:
        return cra_decode_long(d, &number) && put_long(d, CRA_BSON_DATE, key, key_size, number);
    case CRA_OP_CONST_:
        return run_const(d, code, key, key_size);
    case CRA_OP_FAIL:
        return cra_decode_fail(d, (const char *)d->program->constants.data + code->b);
    case CRA_OP_SKIP:
        return cra_decode_skip(d, d->program->skips[code->a], 0);
    case CRA_OP_DATE:
    case CRA_OP_FLOOR:
    case CRA_OP_DECIMAL:
    case CRA_OP_BIG_DECIMAL:
    case CRA_OP_UUID:
    case CRA_OP_UUID_FIXED:
    case CRA_OP_DURATION:
        return cra_decode_logical(d, code, key, key_size);
    default:
        return cra_decode_native(d, code, key, key_size);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

struct cra_avro_decoder {
    const cra_allocator *allocator;
    cra_avro_codec codec;
    cra_codec_ctx *context;
    cra_buf payload;
    cra_decode d;
    cra_dead_letter *dead;
    size_t dead_count, dead_capacity;
};

cra_status cra_avro_decoder_new(const cra_allocator *allocator, const cra_avro_program *program, cra_avro_codec codec,
                                cra_avro_decoder **out, cra_error *err)
{
    *out = NULL;
    cra_avro_decoder *decoder = cra_calloc(allocator, 1, sizeof *decoder);
    if (decoder == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory");
    decoder->allocator = allocator;
    decoder->codec = codec;
    decoder->d.program = program;
    decoder->d.max_document = program->options.max_document_bytes > 0 ? (size_t)program->options.max_document_bytes
                                                                      : CRA_BSON_MAX_DOCUMENT_BYTES;
    cra_buf_init(&decoder->payload, allocator);
    cra_buf_init(&decoder->d.out, allocator);
    cra_buf_init(&decoder->d.key, allocator);
    cra_buf_init(&decoder->d.names, allocator);
    if (cra_codec_ctx_new(allocator, &decoder->context) != CRA_OK) {
        cra_avro_decoder_free(decoder);
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory");
    }
    *out = decoder;
    return CRA_OK;
}

void cra_avro_decoder_free(cra_avro_decoder *decoder)
{
    if (decoder == NULL)
        return;
    cra_codec_ctx_free(decoder->context);
    cra_buf_cleanup(&decoder->payload);
    cra_buf_cleanup(&decoder->d.out);
    cra_buf_cleanup(&decoder->d.key);
    cra_buf_cleanup(&decoder->d.names);
    cra_free(decoder->allocator, decoder->dead);
    cra_free(decoder->allocator, decoder);
}

/* One record: a document at the end of `out`, or a dead letter. */
static bool run_root(cra_decode *d)
{
    const cra_avro_program *p = d->program;
    const cra_instruction *root = &p->code[p->root];
    size_t mark;

    d->document = d->out.size;
    d->depth = 0;
    d->raw = false;
    d->dead = NULL;
    if (!open_document(d, &mark))
        return false;
    if (p->root_is_record ? !run_body(d, root->a)
                          : !cra_decode_value(d, p->root, p->constants.data + root->key, root->key_size))
        return false;
    if (!d->raw)
        return close_document(d, mark);
    /* A hostile file may bring a whole document and fields beside it. */
    return cra_le32(d->out.data + d->document) == d->out.size - d->document
               ? true
               : cra_decode_fail(d, "a record holds a whole document and fields beside it");
}

static bool add_dead(cra_avro_decoder *decoder, const cra_avro_block *block, int64_t record, const uint8_t *from)
{
    cra_decode *d = &decoder->d;

    if (cra_array_grow(decoder->allocator, (void **)&decoder->dead, &decoder->dead_capacity, decoder->dead_count + 1,
                       sizeof *decoder->dead) != CRA_OK)
        return cra_decode_no_memory(d);
    cra_dead_letter *letter = &decoder->dead[decoder->dead_count++];
    memset(letter, 0, sizeof *letter);
    letter->block_offset = block->offset;
    letter->record = record;
    letter->byte_offset = from - d->start;
    letter->byte_size = d->at - from;
    snprintf(letter->reason, sizeof letter->reason, "%s", d->dead);
    d->out.size = d->document;
    return true;
}

/* The most that a block may become: generous to long field names, strict with bombs. */
static size_t output_limit(const cra_avro_program *p, size_t payload)
{
    const size_t ratio = 24 + p->max_key;

    return payload > (SIZE_MAX - (64u << 20)) / ratio ? SIZE_MAX : payload * ratio + (64u << 20);
}

static cra_status run_block(cra_avro_decoder *decoder, const cra_avro_block *block, cra_doc_batch *out,
                            cra_error *err)
{
    cra_decode *d = &decoder->d;
    const int64_t max_empty =
        d->program->options.max_empty_records > 0 ? d->program->options.max_empty_records : EMPTY_RECORDS_DEFAULT;

    for (int64_t record = 0; record < block->records; record++) {
        const uint8_t *from = d->at;

        if (!run_root(d))
            break;
        if (d->at == from && block->records > max_empty) {
            cra_decode_fail(d, "it claims too many records without bytes");
            break;
        }
        if (d->dead != NULL && !add_dead(decoder, block, record, from))
            break;
        out->count += d->dead == NULL;
    }
    if (d->failed == CRA_OK && d->at != d->end)
        cra_decode_fail(d, "bytes are left behind its last record");
    if (d->failed != CRA_OK)
        return cra_error_set(err, d->failed, ORIGIN, "block at byte %lld: %s", (long long)block->offset, d->what);
    return CRA_OK;
}

cra_status cra_avro_decoder_block(cra_avro_decoder *decoder, const cra_avro_block *block, cra_doc_batch *out,
                                  cra_error *err)
{
    cra_decode *d = &decoder->d;
    const int64_t limit = d->program->options.max_block_bytes;
    cra_error cause;

    memset(out, 0, sizeof *out);
    cra_error_clear(&cause);
    if (decoder->codec == CRA_AVRO_CODEC_UNKNOWN)
        return cra_error_set(err, CRA_UNSUPPORTED, ORIGIN, "block at byte %lld: unknown codec",
                             (long long)block->offset);
    cra_status status = cra_decompress(decoder->context, decoder->codec, block->payload,
                                       limit > 0 ? (size_t)limit : (size_t)1 << 30, &decoder->payload, &cause);
    if (status != CRA_OK)
        return cra_error_set(err, status, ORIGIN, "block at byte %lld: %s", (long long)block->offset,
                             cause.message[0] != '\0' ? cause.message : "out of memory");
    d->start = d->at = decoder->payload.data;
    d->end = d->start + decoder->payload.size;
    d->max_out = output_limit(d->program, decoder->payload.size);
    d->failed = CRA_OK;
    d->lossy_dates = 0;
    cra_buf_clear(&d->out);
    decoder->dead_count = 0;
    status = run_block(decoder, block, out, err);
    if (status != CRA_OK) {
        memset(out, 0, sizeof *out);
        return status;
    }
    out->documents = cra_buf_bytes(&d->out);
    out->dead = decoder->dead;
    out->dead_count = decoder->dead_count;
    out->payload = cra_buf_bytes(&decoder->payload);
    out->lossy_dates = d->lossy_dates;
    out->block_offset = block->offset;
    return CRA_OK;
}
