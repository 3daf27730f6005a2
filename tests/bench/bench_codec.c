/* SPDX-License-Identifier: Apache-2.0 */

/* The codec against avro-c with libbson, and against memcpy: CPU time of one thread over generated crawl records,
 * in one process, so that the ratios mean something where the seconds do not.
 *
 *   bench_codec [--json] [RECORDS]      200,000 records by default
 */

#include <avro.h>
#include <bson/bson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <crawlarchive/codec.h>

#include "base/buf.h"

#define ROUNDS 3

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "bench_codec: %s\n", what);
        exit(1);
    }
}

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- records ---------------------------------------------------------------------------------- */

static uint64_t random_state = UINT64_C(88172645463325252);

static unsigned random_below(unsigned bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state >> 20) % bound);
}

static void append_words(char *out, size_t size, unsigned count)
{
    static const char *const words[] = {"garden", "steel",   "used", "model", "für",   "série",  "blue", "compact",
                                        "2-pack", "premium", "with", "and",   "cable", "holder", "set",  "outdoor"};
    size_t used = 0;

    out[0] = '\0';
    for (unsigned i = 0; i < count && used + 12 < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? " " : "", words[random_below(16)]);
}

/* A crawl record of 12 fields, as a shop's page gives it. */
static void append_record(cra_buf *out, unsigned number)
{
    char url[160], title[160], description[400];
    bson_t *record = bson_new();
    bson_t tags;

    snprintf(url, sizeof url, "https://shop.example/category-%u/item-%u?ref=%u", random_below(300), number,
             random_below(1000000));
    append_words(title, sizeof title, 4 + random_below(6));
    append_words(description, sizeof description, 10 + random_below(30));
    BSON_APPEND_UTF8(record, "run_id", "2026-11-30T04:00:00Z-shop.example");
    BSON_APPEND_UTF8(record, "url", url);
    BSON_APPEND_UTF8(record, "title", title);
    BSON_APPEND_UTF8(record, "description", description);
    BSON_APPEND_INT32(record, "status", random_below(50) == 0 ? 404 : 200);
    BSON_APPEND_DATE_TIME(record, "fetched_at", INT64_C(1780000000000) + number * INT64_C(137));
    if (random_below(10) > 0)
        BSON_APPEND_DOUBLE(record, "price", (double)random_below(1000000) / 100);
    BSON_APPEND_UTF8(record, "currency", random_below(3) == 0 ? "USD" : "EUR");
    BSON_APPEND_BOOL(record, "in_stock", random_below(4) > 0);
    BSON_APPEND_INT64(record, "bytes", 2000 + (int64_t)random_below(900000));
    BSON_APPEND_INT32(record, "depth", (int32_t)random_below(12));
    BSON_APPEND_ARRAY_BEGIN(record, "tags", &tags);
    const unsigned count = random_below(5);
    for (unsigned i = 0; i < count; i++) {
        char key[12], word[40];
        snprintf(key, sizeof key, "%u", i);
        append_words(word, sizeof word, 1);
        BSON_APPEND_UTF8(&tags, key, word);
    }
    bson_append_array_end(record, &tags);
    require(cra_buf_append(out, bson_get_data(record), record->len) == CRA_OK, "no memory");
    bson_destroy(record);
}

/* ---- avro-c and libbson ----------------------------------------------------------------------- */

#define NULLABLE(name, type) "{\"name\":\"" name "\",\"type\":[\"null\"," type "]}"

static const char
    plain_schema[] =
        "{\"type\":\"record\",\"name\":\"page\",\"fields\":[" NULLABLE("run_id", "\"string\"") "," NULLABLE(
            "url",
            "\"s"
            "tri"
            "ng"
            "\"") "," NULLABLE("title",
                               "\"string\"") "," NULLABLE("description",
                                                          "\"string\"") "," NULLABLE("status",
                                                                                     "\"int\"") "," NULLABLE("fetched_"
                                                                                                             "at",
                                                                                                             "{\"type\""
                                                                                                             ":\"long\""
                                                                                                             ",\"logica"
                                                                                                             "lType\":"
                                                                                                             "\"timesta"
                                                                                                             "mp-"
                                                                                                             "millis\""
                                                                                                             "}") "," NULLABLE("price",
                                                                                                                               "\"double\"") "," NULLABLE("cu"
                                                                                                                                                          "rr"
                                                                                                                                                          "en"
                                                                                                                                                          "c"
                                                                                                                                                          "y",
                                                                                                                                                          "\""
                                                                                                                                                          "st"
                                                                                                                                                          "ri"
                                                                                                                                                          "ng"
                                                                                                                                                          "\"") "," NULLABLE("in_stock",
                                                                                                                                                                             "\"boolean\"") "," NULLABLE("bytes",
                                                                                                                                                                                                         "\"long\"") "," NULLABLE("depth",
                                                                                                                                                                                                                                  "\"int\"") "," NULLABLE("tags",
                                                                                                                                                                                                                                                          "{\"type\":\"array\",\"items\":\"string\"}") "]}";

static void peer_set(avro_value_t *field, bson_iter_t *iter)
{
    avro_value_t value, item;
    bson_iter_t items;
    uint32_t size;

    avro_value_set_branch(field, 1, &value);
    switch (bson_iter_type(iter)) {
    case BSON_TYPE_UTF8: {
        const char *text = bson_iter_utf8(iter, &size);
        avro_value_set_string_len(&value, text, size + 1);
        break;
    }
    case BSON_TYPE_INT32:
        avro_value_set_int(&value, bson_iter_int32(iter));
        break;
    case BSON_TYPE_INT64:
        avro_value_set_long(&value, bson_iter_int64(iter));
        break;
    case BSON_TYPE_DATE_TIME:
        avro_value_set_long(&value, bson_iter_date_time(iter));
        break;
    case BSON_TYPE_DOUBLE:
        avro_value_set_double(&value, bson_iter_double(iter));
        break;
    case BSON_TYPE_BOOL:
        avro_value_set_boolean(&value, bson_iter_bool(iter));
        break;
    case BSON_TYPE_ARRAY:
        require(bson_iter_recurse(iter, &items), "a damaged array");
        while (bson_iter_next(&items)) {
            const char *text = bson_iter_utf8(&items, &size);
            avro_value_append(&value, &item, NULL);
            avro_value_set_string_len(&item, text, size + 1);
        }
        break;
    default:
        require(false, "a type that the records do not have");
    }
}

/* Encode all documents. @return false where this avro-c has no such codec */
static bool peer_encode(cra_bytes documents, const char *codec, char **file, size_t *file_size)
{
    avro_schema_t schema;
    avro_file_writer_t writer;
    avro_value_t record, field, none;
    cra_bytes document;
    FILE *out = open_memstream(file, file_size);

    require(out != NULL, "no memory");
    require(avro_schema_from_json_length(plain_schema, sizeof plain_schema - 1, &schema) == 0, avro_strerror());
    if (avro_file_writer_create_with_codec_fp(out, "memory", 0, schema, &writer, codec, 256 * 1024) != 0) {
        avro_schema_decref(schema);
        fclose(out);
        return false;
    }
    avro_value_iface_t *class = avro_generic_class_from_schema(schema);
    avro_generic_value_new(class, &record);
    while (cra_bson_next_document(&documents, &document) == CRA_OK) {
        bson_t view;
        bson_iter_t iter;
        size_t fields;
        avro_value_reset(&record);
        avro_value_get_size(&record, &fields);
        for (size_t i = 0; i < fields; i++) {
            avro_value_get_by_index(&record, i, &field, NULL);
            avro_value_set_branch(&field, 0, &none);
        }
        require(bson_init_static(&view, document.data, document.size) && bson_iter_init(&iter, &view),
                "a damaged document");
        while (bson_iter_next(&iter)) {
            require(avro_value_get_by_name(&record, bson_iter_key(&iter), &field, NULL) == 0, avro_strerror());
            peer_set(&field, &iter);
        }
        require(avro_file_writer_append_value(writer, &record) == 0, avro_strerror());
    }
    avro_value_decref(&record);
    avro_value_iface_decref(class);
    avro_file_writer_close(writer);
    avro_schema_decref(schema);
    fclose(out);
    return true;
}

static void peer_append(bson_t *out, const char *key, avro_value_t *value, bool is_date)
{
    avro_value_t inner;
    size_t size;

    switch (avro_value_get_type(value)) {
    case AVRO_UNION:
        avro_value_get_current_branch(value, &inner);
        if (avro_value_get_type(&inner) != AVRO_NULL)
            peer_append(out, key, &inner, is_date);
        break;
    case AVRO_STRING: {
        const char *text;
        avro_value_get_string(value, &text, &size);
        bson_append_utf8(out, key, -1, text, (int)size - 1);
        break;
    }
    case AVRO_INT32: {
        int32_t number;
        avro_value_get_int(value, &number);
        BSON_APPEND_INT32(out, key, number);
        break;
    }
    case AVRO_INT64: {
        int64_t number;
        avro_value_get_long(value, &number);
        if (is_date)
            BSON_APPEND_DATE_TIME(out, key, number);
        else
            BSON_APPEND_INT64(out, key, number);
        break;
    }
    case AVRO_DOUBLE: {
        double number;
        avro_value_get_double(value, &number);
        BSON_APPEND_DOUBLE(out, key, number);
        break;
    }
    case AVRO_BOOLEAN: {
        int flag;
        avro_value_get_boolean(value, &flag);
        BSON_APPEND_BOOL(out, key, flag != 0);
        break;
    }
    case AVRO_ARRAY: {
        bson_t items;
        BSON_APPEND_ARRAY_BEGIN(out, key, &items);
        avro_value_get_size(value, &size);
        for (size_t i = 0; i < size; i++) {
            char buffer[16];
            const char *item_key;
            bson_uint32_to_string((uint32_t)i, &item_key, buffer, sizeof buffer);
            avro_value_get_by_index(value, i, &inner, NULL);
            peer_append(&items, item_key, &inner, false);
        }
        bson_append_array_end(out, &items);
        break;
    }
    default:
        require(false, "a type that the records do not have");
    }
}

/* Decode all records. @return bytes of BSON */
static size_t peer_decode(const char *file, size_t size)
{
    avro_file_reader_t reader;
    avro_value_t record, field;
    size_t total = 0, fields;
    FILE *in = fmemopen((void *)(uintptr_t)file, size, "rb");

    require(in != NULL && avro_file_reader_fp(in, "memory", 0, &reader) == 0, avro_strerror());
    avro_schema_t schema = avro_file_reader_get_writer_schema(reader);
    avro_value_iface_t *class = avro_generic_class_from_schema(schema);
    avro_generic_value_new(class, &record);
    bson_t document = BSON_INITIALIZER;
    while (avro_file_reader_read_value(reader, &record) == 0) {
        bson_reinit(&document);
        avro_value_get_size(&record, &fields);
        for (size_t i = 0; i < fields; i++) {
            const char *name;
            avro_value_get_by_index(&record, i, &field, &name);
            peer_append(&document, name, &field, i == 5);
        }
        total += document.len;
        avro_value_reset(&record);
    }
    bson_destroy(&document);
    avro_value_decref(&record);
    avro_value_iface_decref(class);
    avro_schema_decref(schema);
    avro_file_reader_close(reader);
    fclose(in);
    return total;
}

/* Records of one of our files, as avro-c counts them: what we write, it must read. */
static size_t peer_count(cra_bytes file)
{
    avro_file_reader_t reader;
    avro_value_t record;
    size_t count = 0;
    FILE *in = fmemopen((void *)(uintptr_t)file.data, file.size, "rb");

    require(in != NULL && avro_file_reader_fp(in, "memory", 0, &reader) == 0, avro_strerror());
    avro_schema_t schema = avro_file_reader_get_writer_schema(reader);
    avro_value_iface_t *class = avro_generic_class_from_schema(schema);
    avro_generic_value_new(class, &record);
    for (; avro_file_reader_read_value(reader, &record) == 0; count++)
        avro_value_reset(&record);
    avro_value_decref(&record);
    avro_value_iface_decref(class);
    avro_schema_decref(schema);
    avro_file_reader_close(reader);
    fclose(in);
    return count;
}

/* ---- ours ------------------------------------------------------------------------------------- */

static cra_status append_to(void *user, const void *data, size_t size, cra_error *err)
{
    (void)err;
    return cra_buf_append(user, data, size);
}

static cra_status read_view(void *user, void *buffer, size_t capacity, size_t *got, cra_error *err)
{
    cra_bytes *rest = user;

    (void)err;
    *got = rest->size < capacity ? rest->size : capacity;
    if (*got > 0)
        memcpy(buffer, rest->data, *got);
    rest->data += *got;
    rest->size -= *got;
    return CRA_OK;
}

static void own_encode(cra_bytes documents, cra_avro_codec codec, cra_buf *file)
{
    cra_avro_writer_options options = CRA_AVRO_WRITER_OPTIONS_INIT;
    cra_avro_writer_stats stats;
    cra_avro_writer *writer;
    cra_bytes document;
    cra_error err = {0};

    memcpy(options.sync, "0123456789abcdef", 16);
    options.codec = codec;
    cra_buf_clear(file);
    cra_status status = cra_avro_writer_open(NULL, &options, append_to, file, &writer, &err);
    while (status == CRA_OK && cra_bson_next_document(&documents, &document) == CRA_OK)
        status = cra_avro_writer_append(writer, document, &err);
    if (status == CRA_OK)
        status = cra_avro_writer_finish(writer, &stats, &err);
    require(status == CRA_OK, err.message);
    require(stats.raw_records == 0, "records went to _raw");
    cra_avro_writer_free(writer);
}

static size_t own_decode(cra_bytes file)
{
    const cra_source source = {sizeof source, read_view, NULL, &file};
    const cra_bytes none = {NULL, 0};
    cra_avro_options options = CRA_AVRO_OPTIONS_INIT;
    cra_avro_reader *reader;
    cra_doc_batch batch;
    cra_error err = {0};
    size_t total = 0;
    cra_status status;

    options.omit_null = true;
    require(cra_avro_reader_open(NULL, &options, &source, none, &reader, &err) == CRA_OK, err.message);
    while ((status = cra_avro_reader_next(reader, &batch, &err)) == CRA_OK)
        total += batch.documents.size;
    require(status == CRA_DONE, err.message);
    cra_avro_reader_free(reader);
    return total;
}

/* ---- measuring -------------------------------------------------------------------------------- */

typedef struct result {
    const char *codec;
    double own_decode, own_decode_typed, own_encode; /* seconds */
    double peer_decode, peer_encode;                 /* negative: not there */
    size_t file_size;
} result;

static double least(double a, double b)
{
    return a < 0 || b < a ? b : a;
}

static double measure_copy(cra_bytes documents)
{
    uint8_t *copy = malloc(documents.size);
    volatile uint8_t sink;
    double best = -1;

    require(copy != NULL, "no memory");
    for (int round = 0; round <= ROUNDS; round++) {
        const double start = cpu_seconds();
        memcpy(copy, documents.data, documents.size);
        sink = copy[documents.size / 2];
        if (round > 0) /* the first one touches the pages */
            best = least(best, cpu_seconds() - start);
    }
    (void)sink;
    free(copy);
    return best;
}

static result measure(cra_bytes documents, size_t records, cra_avro_codec codec)
{
    result best = {cra_avro_codec_name(codec), -1, -1, -1, -1, -1, 0};
    cra_buf typed;

    cra_buf_init(&typed, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        char *plain = NULL;
        size_t plain_size = 0;
        double start = cpu_seconds();
        own_encode(documents, codec, &typed);
        best.own_encode = least(best.own_encode, cpu_seconds() - start);
        best.file_size = typed.size;

        start = cpu_seconds();
        require(own_decode(cra_buf_bytes(&typed)) == documents.size, "documents differ in size");
        best.own_decode_typed = least(best.own_decode_typed, cpu_seconds() - start);

        start = cpu_seconds();
        if (codec != CRA_AVRO_CODEC_ZSTANDARD && peer_encode(documents, best.codec, &plain, &plain_size)) {
            best.peer_encode = least(best.peer_encode, cpu_seconds() - start);
            require(round > 0 || peer_count(cra_buf_bytes(&typed)) == records, "avro-c does not read what we wrote");
            start = cpu_seconds();
            require(peer_decode(plain, plain_size) == documents.size, "avro-c's documents differ in size");
            best.peer_decode = least(best.peer_decode, cpu_seconds() - start);
            start = cpu_seconds();
            require(own_decode(cra_bytes_of(plain, plain_size)) == documents.size, "documents differ in size");
            best.own_decode = least(best.own_decode, cpu_seconds() - start);
        }
        free(plain);
    }
    cra_buf_cleanup(&typed);
    return best;
}

static void print_rate(double seconds, double megabytes)
{
    if (seconds < 0)
        printf(" %9s", "-");
    else
        printf(" %9.0f", megabytes / seconds);
}

static void print_ratio(double peer, double own)
{
    if (peer < 0 || own < 0)
        printf(" %7s", "-");
    else
        printf(" %6.1fx", peer / own);
}

static void print_table(const result *results, size_t count, double copy, double megabytes)
{
    printf("%.0f MB of BSON; MB of BSON a CPU second; memcpy: %.0f\n\n", megabytes, megabytes / copy);
    printf("%-10s | %9s %9s %7s %9s | %9s %9s %7s | %8s\n", "codec", "decode", "avro-c", "ratio", "typed", "encode",
           "avro-c", "ratio", "file MB");
    for (size_t i = 0; i < count; i++) {
        const result *row = &results[i];
        printf("%-10s |", row->codec);
        print_rate(row->own_decode, megabytes);
        print_rate(row->peer_decode, megabytes);
        print_ratio(row->peer_decode, row->own_decode);
        print_rate(row->own_decode_typed, megabytes);
        printf(" |");
        print_rate(row->own_encode, megabytes);
        print_rate(row->peer_encode, megabytes);
        print_ratio(row->peer_encode, row->own_encode);
        printf(" | %8.1f\n", (double)row->file_size / 1e6);
    }
    printf("\ndecode: plain Avro to BSON, UTF-8 checked, against avro-c generic + libbson; typed: our own files back\n"
           "encode: BSON to Avro, every record compared byte for byte, against bson_iter + avro-c\n");
}

static void print_number(const char *name, double value, bool last)
{
    if (value < 0)
        printf("\"%s\":null%s", name, last ? "" : ",");
    else
        printf("\"%s\":%.4f%s", name, value, last ? "" : ",");
}

static void print_json(const result *results, size_t count, double copy, double megabytes)
{
    printf("{\"bson_mb\":%.1f,\"memcpy_s\":%.4f,\"codecs\":[", megabytes, copy);
    for (size_t i = 0; i < count; i++) {
        const result *row = &results[i];
        printf("%s{\"codec\":\"%s\",\"file_mb\":%.1f,", i > 0 ? "," : "", row->codec, (double)row->file_size / 1e6);
        print_number("decode_s", row->own_decode, false);
        print_number("decode_typed_s", row->own_decode_typed, false);
        print_number("decode_avroc_s", row->peer_decode, false);
        print_number("decode_ratio", row->peer_decode < 0 ? -1 : row->peer_decode / row->own_decode, false);
        print_number("encode_s", row->own_encode, false);
        print_number("encode_avroc_s", row->peer_encode, false);
        print_number("encode_ratio", row->peer_encode < 0 ? -1 : row->peer_encode / row->own_encode, true);
        printf("}");
    }
    printf("]}\n");
}

int main(int argc, char **argv)
{
    static const cra_avro_codec codecs[] = {CRA_AVRO_CODEC_NULL, CRA_AVRO_CODEC_SNAPPY, CRA_AVRO_CODEC_DEFLATE,
                                            CRA_AVRO_CODEC_ZSTANDARD};
    result results[sizeof codecs / sizeof *codecs];
    unsigned long records = 200000;
    bool json = false;
    cra_buf documents;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else
            records = strtoul(argv[i], NULL, 10);
    }
    require(records > 0, "usage: bench_codec [--json] [RECORDS]");
    cra_buf_init(&documents, NULL);
    for (unsigned long i = 0; i < records; i++)
        append_record(&documents, (unsigned)i);

    const double megabytes = (double)documents.size / 1e6;
    const double copy = measure_copy(cra_buf_bytes(&documents));
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        results[i] = measure(cra_buf_bytes(&documents), records, codecs[i]);
    if (json)
        print_json(results, sizeof codecs / sizeof *codecs, copy, megabytes);
    else
        print_table(results, sizeof codecs / sizeof *codecs, copy, megabytes);
    cra_buf_cleanup(&documents);
    return 0;
}
