/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/frozen_list.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "core/naming.h"
#include "os/file.h"

/* Records a page; small enough that a page of 1 MiB records is bounded by its bytes. */
#define PAGE_DOCS 1000
#define PAGE_BYTES (4 * 1024 * 1024)
#define READ_CHUNK (256 * 1024)

/* An entry of the file: sizes of id and revision (type byte included; revision 0: none), then both. */
#define ENTRY_HEADER 8

cra_status cra_frozen_list_path(cra_engine *engine, const char *report, const char *run, int64_t fence, cra_buf *out)
{
    const char *folder = cra_config_text(cra_engine_config(engine), "spool.folder");

    CRA_TRY(cra_buf_append_str(out, folder != NULL ? folder : "/tmp"));
    CRA_TRY(cra_buf_append_str(out, "/crawlarchive-"));
    CRA_TRY(cra_naming_encode(report, out, NULL));
    CRA_TRY(cra_buf_append_str(out, "-"));
    CRA_TRY(cra_naming_encode(run, out, NULL));
    CRA_TRY(cra_buf_appendf(out, "-%lld.frozen", (long long)fence));
    return cra_buf_cstr(out) != NULL ? CRA_OK : CRA_NOMEM;
}

/* ---- making ---------------------------------------------------------------------------------- */

typedef struct maker {
    cra_engine *engine;
    const cra_digest_rule *rule;
    const char *revision_field;
    cra_digest_sorter *sorter;
    const char *path;
    int fd;
    cra_buf pending; /* bytes of the file not yet written */
    cra_buf scratch;
    cra_sha256 hash;
    cra_frozen_info info;
} maker;

static cra_status write_pending(maker *make, cra_error *err)
{
    cra_sha256_update(&make->hash, make->pending.data, make->pending.size);
    if (make->fd >= 0) {
        const int errno_value = cra_fd_write(make->fd, make->pending.data, make->pending.size);
        if (errno_value != 0)
            return cra_file_error(err, errno_value, "write", make->path);
    }
    cra_buf_clear(&make->pending);
    return CRA_OK;
}

static cra_status append_value(cra_buf *out, cra_value value)
{
    if (value.type == 0)
        return CRA_OK;
    CRA_TRY(cra_buf_append_byte(out, value.type));
    return cra_buf_append(out, value.data, value.size);
}

static cra_status add_entry(maker *make, cra_value id, cra_value revision)
{
    const uint32_t id_size = (uint32_t)id.size + 1;
    const uint32_t revision_size = revision.type == 0 ? 0 : (uint32_t)revision.size + 1;

    CRA_TRY(cra_buf_append(&make->pending, &id_size, sizeof id_size));
    CRA_TRY(cra_buf_append(&make->pending, &revision_size, sizeof revision_size));
    CRA_TRY(append_value(&make->pending, id));
    return append_value(&make->pending, revision);
}

static cra_status add_digests(maker *make, cra_bytes document, cra_value id, cra_error *err)
{
    cra_digest_entry entry;

    memset(&entry, 0, sizeof entry);
    entry.tag = (uint64_t)make->info.count;
    if (make->rule != NULL)
        CRA_TRY(cra_record_content_digest(document, make->rule, &entry.content, &make->scratch, err));
    if (make->rule != NULL && make->rule->without_id)
        entry.key = entry.content;
    else
        CRA_TRY(cra_record_id_digest(id, &entry.key, &make->scratch));
    return cra_digest_sorter_add(make->sorter, &entry, err);
}

/* Take one page; `last` receives the id of its last document, borrowed from the page. */
static cra_status take_page(maker *make, cra_bytes page, cra_value *last, cra_error *err)
{
    cra_bytes document;
    cra_status status;

    while ((status = cra_bson_next_document(&page, &document)) == CRA_OK) {
        cra_value id;
        cra_value revision = {0, NULL, 0};

        if (cra_bson_find(document, "_id", 3, &id) != CRA_OK)
            return cra_error_set(err, CRA_CORRUPT, "hot", "a record without _id");
        if (make->revision_field != NULL)
            (void)cra_bson_path(document, make->revision_field, &revision);
        if (add_entry(make, id, revision) != CRA_OK)
            return cra_error_set(err, CRA_NOMEM, "hot", "out of memory");
        if (make->sorter != NULL)
            CRA_TRY(add_digests(make, document, id, err));
        if (make->info.bytes >= 0)
            make->info.bytes += (int64_t)document.size;
        make->info.count++;
        *last = id;
    }
    return status == CRA_DONE ? CRA_OK : cra_error_set(err, CRA_CORRUPT, "hot", "the store gave a cut document");
}

static cra_status page_all(maker *make, const cra_run_doc *run, cra_run_guard *guard, cra_error *err)
{
    const cra_allocator *allocator = cra_engine_allocator(make->engine);
    cra_hot_scope hot;
    cra_buf page, after;
    cra_status status = cra_hot_scope_init(make->engine, run, &hot, err);
    cra_page_request request = {.struct_size = sizeof request,
                                .ids_only = make->rule == NULL && make->revision_field == NULL,
                                .max_docs = PAGE_DOCS,
                                .max_bytes = PAGE_BYTES};

    cra_buf_init(&page, allocator);
    cra_buf_init(&after, allocator);
    while (status == CRA_OK) {
        size_t count = 0;
        cra_value last = {0, NULL, 0};

        if (guard != NULL && (status = cra_run_guard_check(guard, err)) != CRA_OK)
            break;
        cra_buf_clear(&page);
        status = cra_docstore_page(cra_engine_docstore(make->engine), &hot.scope, &request, &page, &count, err);
        if (status != CRA_OK || count == 0)
            break;
        status = take_page(make, cra_buf_bytes(&page), &last, err);
        if (status == CRA_OK)
            status = write_pending(make, err);
        if (status == CRA_OK) {
            cra_buf_clear(&after);
            status = cra_buf_append(&after, last.data, last.size);
            request.after_id = (cra_value){last.type, after.data, after.size};
        }
        if (guard != NULL)
            cra_run_guard_progress(guard, "freeze", make->info.count, run->records, make->info.bytes, NULL);
    }
    cra_buf_cleanup(&page);
    cra_buf_cleanup(&after);
    return status;
}

cra_status cra_frozen_list_make(cra_engine *engine, const cra_run_doc *run, const char *path,
                                const cra_digest_rule *rule, const char *revision_field, cra_digest_sorter *sorter,
                                cra_run_guard *guard, cra_frozen_info *out, cra_error *err)
{
    maker make = {.engine = engine,
                  .rule = rule,
                  .revision_field = revision_field,
                  .sorter = sorter,
                  .path = path,
                  .fd = -1};
    cra_status status = CRA_OK;
    uint8_t digest[CRA_SHA256_SIZE];

    make.info.bytes = rule != NULL ? 0 : -1;
    cra_buf_init(&make.pending, cra_engine_allocator(engine));
    cra_buf_init(&make.scratch, cra_engine_allocator(engine));
    cra_sha256_init(&make.hash);
    if (path != NULL) {
        make.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (make.fd < 0) {
            status = cra_file_error(err, errno, "create", path);
            cra_error_hint(err, "set spool.folder to a folder that this user may write to");
        }
    }
    if (status == CRA_OK)
        status = page_all(&make, run, guard, err);
    if (make.fd >= 0) {
        if (status == CRA_OK && fdatasync(make.fd) != 0)
            status = cra_file_error(err, errno, "write", path);
        close(make.fd);
    }
    cra_sha256_final(&make.hash, digest);
    cra_hex_encode(digest, sizeof digest, make.info.sha256);
    cra_buf_cleanup(&make.pending);
    cra_buf_cleanup(&make.scratch);
    *out = make.info;
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct cra_frozen_reader {
    const cra_allocator *allocator;
    char *path;
    int fd;
    int64_t offset; /* of the file behind `data` */
    cra_buf data;   /* from the start of the current batch on */
    size_t position;
    cra_value *values; /* of the current batch: ids, then as many revisions */
    size_t values_capacity;
};

/* Check count and digest of the whole file in one pass. */
static cra_status check_file(cra_frozen_reader *reader, const cra_frozen_info *expect, cra_error *err)
{
    cra_sha256 hash;
    uint8_t digest[CRA_SHA256_SIZE];
    char hex[CRA_SHA256_HEX_SIZE];
    int64_t offset = 0;

    cra_sha256_init(&hash);
    for (;;) {
        cra_buf_clear(&reader->data);
        const int errno_value = cra_fd_pread(reader->fd, offset, READ_CHUNK, &reader->data);
        if (errno_value != 0)
            return cra_file_error(err, errno_value, "read", reader->path);
        if (reader->data.size == 0)
            break;
        cra_sha256_update(&hash, reader->data.data, reader->data.size);
        offset += (int64_t)reader->data.size;
    }
    cra_sha256_final(&hash, digest);
    cra_hex_encode(digest, sizeof digest, hex);
    if (strcmp(hex, expect->sha256) != 0)
        return cra_error_set(err, CRA_CORRUPT, "sweep", "the list of frozen ids %s is not the one that was verified",
                             reader->path);
    return CRA_OK;
}

cra_status cra_frozen_reader_open(const cra_allocator *allocator, const char *path, const cra_frozen_info *expect,
                                  cra_frozen_reader **out, cra_error *err)
{
    *out = NULL;
    cra_frozen_reader *reader = cra_calloc(allocator, 1, sizeof *reader);
    char *copy = cra_strdup(allocator, path);

    if (reader == NULL || copy == NULL) {
        cra_free(allocator, reader);
        cra_free(allocator, copy);
        return cra_error_set(err, CRA_NOMEM, "sweep", "out of memory");
    }
    reader->allocator = allocator;
    reader->path = copy;
    cra_buf_init(&reader->data, allocator);

    cra_status status = CRA_OK;
    reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (reader->fd < 0)
        status = cra_file_error(err, errno, "open", path);
    if (status == CRA_OK)
        status = check_file(reader, expect, err);
    if (status != CRA_OK) {
        cra_frozen_reader_free(reader);
        return status;
    }
    cra_buf_clear(&reader->data);
    *out = reader;
    return CRA_OK;
}

void cra_frozen_reader_free(cra_frozen_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->fd >= 0)
        close(reader->fd);
    cra_buf_cleanup(&reader->data);
    cra_free(reader->allocator, reader->values);
    cra_free(reader->allocator, reader->path);
    cra_free(reader->allocator, reader);
}

/* Forget what was handed out. */
static void drop_batch(cra_frozen_reader *reader)
{
    if (reader->position > 0) {
        reader->data.size -= reader->position;
        memmove(reader->data.data, reader->data.data + reader->position, reader->data.size);
        reader->position = 0;
    }
}

/* Have at least `need` bytes behind the position. */
static cra_status fill(cra_frozen_reader *reader, size_t need, cra_error *err)
{
    while (reader->data.size - reader->position < need) {
        const size_t before = reader->data.size;
        const int errno_value = cra_fd_pread(reader->fd, reader->offset, READ_CHUNK, &reader->data);

        if (errno_value != 0)
            return cra_file_error(err, errno_value, "read", reader->path);
        if (reader->data.size == before)
            return before - reader->position == 0
                       ? CRA_DONE
                       : cra_error_set(err, CRA_CORRUPT, "sweep", "the list of frozen ids %s is cut", reader->path);
        reader->offset += (int64_t)(reader->data.size - before);
    }
    return CRA_OK;
}

/* Step over the next entry, once it is wholly in memory. */
static cra_status load_entry(cra_frozen_reader *reader, cra_error *err)
{
    uint32_t sizes[2];

    CRA_TRY(fill(reader, ENTRY_HEADER, err));
    memcpy(sizes, reader->data.data + reader->position, sizeof sizes);
    if (sizes[0] == 0 || sizes[0] > CRA_BSON_MAX_DOCUMENT_BYTES || sizes[1] > CRA_BSON_MAX_DOCUMENT_BYTES)
        return cra_error_set(err, CRA_CORRUPT, "sweep", "the list of frozen ids %s is damaged", reader->path);

    const size_t size = ENTRY_HEADER + (size_t)sizes[0] + sizes[1];
    const cra_status status = fill(reader, size, err);
    if (status == CRA_DONE)
        return cra_error_set(err, CRA_CORRUPT, "sweep", "the list of frozen ids %s is cut", reader->path);
    if (status == CRA_OK)
        reader->position += size;
    return status;
}

cra_status cra_frozen_reader_seek(cra_frozen_reader *reader, int64_t count, cra_error *err)
{
    for (int64_t i = 0; i < count; i++) {
        drop_batch(reader);
        CRA_TRY(load_entry(reader, err));
    }
    return CRA_OK;
}

/* Point `count` ids and revisions at the entries in memory. Only now: loading may have moved them. */
static void point_values(cra_frozen_reader *reader, size_t count)
{
    const uint8_t *entry = reader->data.data;

    for (size_t i = 0; i < count; i++) {
        uint32_t sizes[2];

        memcpy(sizes, entry, sizeof sizes);
        entry += ENTRY_HEADER;
        reader->values[i] = (cra_value){entry[0], entry + 1, sizes[0] - 1};
        entry += sizes[0];
        reader->values[count + i] =
            sizes[1] == 0 ? (cra_value){0, NULL, 0} : (cra_value){entry[0], entry + 1, sizes[1] - 1};
        entry += sizes[1];
    }
}

cra_status cra_frozen_reader_batch(cra_frozen_reader *reader, size_t max, const cra_value **ids,
                                   const cra_value **revisions, size_t *count, cra_error *err)
{
    size_t loaded = 0;
    cra_status status = CRA_OK;

    *count = 0;
    drop_batch(reader);
    while (loaded < max && (status = load_entry(reader, err)) == CRA_OK)
        loaded++;
    if (status != CRA_OK && status != CRA_DONE)
        return status;
    if (loaded == 0)
        return CRA_DONE;
    if (cra_array_grow(reader->allocator, (void **)&reader->values, &reader->values_capacity, 2 * loaded,
                       sizeof *reader->values) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, "sweep", "out of memory");
    point_values(reader, loaded);
    *ids = reader->values;
    *revisions = reader->values + loaded;
    *count = loaded;
    return CRA_OK;
}
