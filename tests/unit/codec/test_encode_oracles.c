/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <crawlarchive/codec.h>

#include "base/buf.h"
#include "base/hash.h"
#include "kit/data.h"
#include "kit/test_allocator.h"
#include "random_document.h"

/* What others make of our files: read_typed.py, which knows profile.h and nothing of the library, and fastavro,
 * which knows nothing of the profile. */

typedef struct fixture {
    cra_test_allocator kit;
    cra_buf documents;
    cra_avro_writer_stats stats;
    char folder[4096];
    char path[4200]; /* of the container */
} fixture;

static int setup(void **state)
{
    static fixture own;

    memset(&own, 0, sizeof own);
    cra_test_allocator_init(&own.kit);
    cra_buf_init(&own.documents, &own.kit.allocator);
    cra_test_make_folder(own.folder, sizeof own.folder);
    snprintf(own.path, sizeof own.path, "%s/typed.avro", own.folder);
    *state = &own;
    return 0;
}

static int teardown(void **state)
{
    fixture *own = *state;

    cra_test_remove_tree(own->folder);
    cra_buf_cleanup(&own->documents);
    cra_test_allocator_check(&own->kit);
    return 0;
}

static cra_status write_to_file(void *user, const void *data, size_t size, cra_error *err)
{
    return fwrite(data, 1, size, user) == size ? CRA_OK : cra_error_set(err, CRA_IO, "test", "cannot write");
}

/* Write the fixture's documents as a container; the schema is that of the first `sample_bytes`. */
static void write_container(fixture *own, cra_avro_codec codec, int64_t sample_bytes)
{
    cra_avro_writer_options options = CRA_AVRO_WRITER_OPTIONS_INIT;
    cra_avro_writer *writer;
    cra_bytes stream = cra_buf_bytes(&own->documents), document;
    FILE *file = fopen(own->path, "wb");

    assert_non_null(file);
    memcpy(options.sync, "0123456789abcdef", 16);
    options.codec = codec;
    options.sample_bytes = sample_bytes;
    options.block_bytes = 10000;
    assert_int_equal(cra_avro_writer_open(&own->kit.allocator, &options, write_to_file, file, &writer, NULL), CRA_OK);
    while (cra_bson_next_document(&stream, &document) == CRA_OK)
        assert_int_equal(cra_avro_writer_append(writer, document, NULL), CRA_OK);
    assert_int_equal(cra_avro_writer_finish(writer, &own->stats, NULL), CRA_OK);
    cra_avro_writer_free(writer);
    assert_int_equal(fclose(file), 0);
}

static void need_python(const char *module)
{
    char command[256];

    snprintf(command, sizeof command, "python3 -c 'import %s' 2>/dev/null", module);
    if (system(command) != 0)
        skip();
}

/* read_typed.py gives back exactly the documents. */
static void assert_read_back(fixture *own)
{
    char command[9000];
    cra_buf read;

    snprintf(command, sizeof command, "python3 tests/unit/codec/read_typed.py %s >%s/read.bson", own->path,
             own->folder);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s/read.bson", own->folder);
    cra_buf_init(&read, &own->kit.allocator);
    cra_test_read_file(command, &read);
    assert_true(cra_bytes_equal(cra_buf_bytes(&read), cra_buf_bytes(&own->documents)));
    cra_buf_cleanup(&read);
}

/* fastavro takes schema and data, and sees as many records and as many in `_raw`. */
static void assert_fastavro_reads(fixture *own)
{
    char command[9000];

    snprintf(command, sizeof command,
             "python3 -c 'import fastavro, sys\n"
             "records = list(fastavro.reader(open(\"%s\", \"rb\")))\n"
             "raw = [record for record in records if record[\"_raw\"] is not None]\n"
             "sys.exit(len(records) != %d or len(raw) != %d)'",
             own->path, (int)own->stats.records, (int)own->stats.raw_records);
    assert_int_equal(system(command), 0);
}

static void make_random(fixture *own, uint64_t seed, bool tame)
{
    random_source source = {.state = seed * UINT64_C(0x9E3779B97F4A7C15), .tame = tame};

    cra_buf_clear(&own->documents);
    for (int i = 0; i < 200; i++)
        random_document(&source, &own->documents);
}

static void the_profile_means_what_it_says(void **state)
{
    fixture *own = *state;

    need_python("json");
    for (uint64_t seed = 1; seed <= 6; seed++) {
        make_random(own, seed, seed % 2 == 0);
        write_container(own, seed % 3 == 0 ? CRA_AVRO_CODEC_DEFLATE : CRA_AVRO_CODEC_NULL, 0);
        assert_read_back(own);
        write_container(own, CRA_AVRO_CODEC_NULL, 5000);
        assert_read_back(own);
    }
}

static void tame_documents_need_no_raw(void **state)
{
    fixture *own = *state;

    for (uint64_t seed = 1; seed <= 10; seed++) {
        make_random(own, seed, true);
        write_container(own, CRA_AVRO_CODEC_NULL, 0);
        assert_int_equal(own->stats.records, 200);
        assert_int_equal(own->stats.raw_records, 0);
    }
}

static void fastavro_reads_it(void **state)
{
    fixture *own = *state;

    need_python("fastavro");
    for (uint64_t seed = 1; seed <= 4; seed++) {
        make_random(own, seed, seed % 2 == 0);
        write_container(own, seed % 2 == 0 ? CRA_AVRO_CODEC_DEFLATE : CRA_AVRO_CODEC_NULL, 0);
        assert_fastavro_reads(own);
    }
}

/* Append the documents whose hexadecimal text follows `label`. */
static void take_corpus_file(fixture *own, const char *path, const char *label)
{
    cra_buf text;

    cra_buf_init(&text, &own->kit.allocator);
    cra_test_read_file(path, &text);
    for (const char *at = cra_buf_cstr(&text); (at = strstr(at, label)) != NULL;) {
        at += strlen(label);
        for (; *at != '"'; at += 2) {
            const char digits[] = {at[0], at[1], '\0'};
            uint8_t byte;
            assert_true(cra_hex_decode(digits, &byte, 1));
            assert_int_equal(cra_buf_append_byte(&own->documents, byte), CRA_OK);
        }
    }
    cra_buf_cleanup(&text);
}

static void the_bson_corpus_comes_back(void **state)
{
    fixture *own = *state;
    char path[8192];
    const char *folder = cra_test_outside("bson-corpus");

    if (folder == NULL)
        skip();
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (strstr(entry->d_name, ".json") == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", cra_test_outside("bson-corpus"), entry->d_name);
        take_corpus_file(own, path, "\"canonical_bson\": \"");
        take_corpus_file(own, path, "\"degenerate_bson\": \"");
        take_corpus_file(own, path, "\"converted_bson\": \"");
    }
    closedir(entries);
    need_python("json");
    write_container(own, CRA_AVRO_CODEC_NULL, 0);
    assert_true(own->stats.records > 700);
    assert_true(own->stats.raw_records * 5 < own->stats.records);
    assert_read_back(own);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_profile_means_what_it_says),
        TEST(tame_documents_need_no_raw),
        TEST(fastavro_reads_it),
        TEST(the_bson_corpus_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
