/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/id_spool.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "ops/marks.h"
#include "os/file.h"

#define ORIGIN "spool"
#define CHUNK (256 * 1024)
#define DEFAULT_MEMORY (64 * 1024 * 1024)

struct cra_id_spool {
    const cra_allocator *allocator;
    const char *folder;
    int64_t memory;
    const char *report;
    const char *run;
    cra_spool file;
    cra_digest_sorter *digests; /* of all records; NULL once rewound */
    cra_marks *occurrences;
    cra_mark_cursor cursor;
    cra_buf pending; /* writing: not yet in the file; reading: read ahead from `consumed` on */
    size_t consumed;
    int64_t read_offset;
    int64_t added, given;
    uint8_t id[CRA_DERIVED_ID_SIZE];
};

cra_status cra_id_spool_new(cra_engine *engine, const char *report, const char *run, cra_id_spool **out, cra_error *err)
{
    const cra_allocator *allocator = cra_engine_allocator(engine);
    cra_id_spool *spool = cra_calloc(allocator, 1, sizeof(*spool));
    cra_status status;

    *out = NULL;
    if (spool == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a spool");
    spool->allocator = allocator;
    spool->report = report;
    spool->run = run;
    spool->folder = cra_config_text(cra_engine_config(engine), "spool.folder");
    spool->memory = cra_config_int(cra_engine_config(engine), "verify.memory", DEFAULT_MEMORY) / 4;
    spool->file.fd = -1;
    cra_buf_init(&spool->pending, allocator);
    cra_mark_cursor_init(&spool->cursor, NULL, allocator);
    status = cra_spool_open(spool->folder, 0, allocator, &spool->file, err);
    if (status == CRA_OK)
        status = cra_digest_sorter_new(allocator, spool->folder, spool->memory, &spool->digests, err);
    if (status != CRA_OK) {
        cra_id_spool_free(spool);
        return status;
    }
    *out = spool;
    return CRA_OK;
}

void cra_id_spool_free(cra_id_spool *spool)
{
    if (spool == NULL)
        return;
    cra_mark_cursor_cleanup(&spool->cursor);
    cra_marks_free(spool->occurrences);
    cra_digest_sorter_free(spool->digests);
    cra_spool_close(&spool->file);
    cra_buf_cleanup(&spool->pending);
    cra_free(spool->allocator, spool);
}

int64_t cra_id_spool_left(const cra_id_spool *spool)
{
    return spool->added - spool->given;
}

static cra_status write_pending(cra_id_spool *spool, cra_error *err)
{
    const int failed = cra_fd_write(spool->file.fd, spool->pending.data, spool->pending.size);

    cra_buf_clear(&spool->pending);
    return failed == 0 ? CRA_OK : cra_file_error(err, failed, "write", "a spool file");
}

cra_status cra_id_spool_add(cra_id_spool *spool, cra_bytes document, cra_error *err)
{
    cra_digest_entry entry;

    memset(&entry, 0, sizeof(entry));
    cra_record_bytes_digest(document, &entry.key);
    entry.tag = cra_mark_tag(0, spool->added);
    spool->added++;
    CRA_TRY(cra_digest_sorter_add(spool->digests, &entry, err));
    if (cra_buf_append(&spool->pending, document.data, document.size) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a spool");
    return spool->pending.size >= CHUNK ? write_pending(spool, err) : CRA_OK;
}

cra_status cra_id_spool_rewind(cra_id_spool *spool, cra_error *err)
{
    CRA_TRY(write_pending(spool, err));
    CRA_TRY(cra_marks_new(spool->allocator, spool->folder, spool->memory, &spool->occurrences, err));
    CRA_TRY(cra_marks_add_occurrences(spool->occurrences, spool->digests, err));
    cra_digest_sorter_free(spool->digests);
    spool->digests = NULL;
    CRA_TRY(cra_marks_seal(spool->occurrences, err));
    spool->cursor.marks = spool->occurrences;
    return CRA_OK;
}

static size_t available(const cra_id_spool *spool)
{
    return spool->pending.size - spool->consumed;
}

/* Have `need` bytes of the file read ahead. */
static cra_status read_ahead(cra_id_spool *spool, size_t need, cra_error *err)
{
    const size_t before = available(spool);
    const size_t want = need > CHUNK ? need : CHUNK;
    size_t size;
    int failed;

    if (before >= need)
        return CRA_OK;
    if (before > 0)
        memmove(spool->pending.data, spool->pending.data + spool->consumed, before);
    spool->pending.size = before;
    spool->consumed = 0;
    failed = cra_fd_pread(spool->file.fd, spool->read_offset, want - before, &spool->pending);
    if (failed != 0)
        return cra_file_error(err, failed, "read", "a spool file");
    size = spool->pending.size - before;
    spool->read_offset += (int64_t)size;
    if (available(spool) < need)
        return cra_error_set(err, CRA_IO, ORIGIN, "a spool file is shorter than it was written");
    return CRA_OK;
}

static cra_status next_document(cra_id_spool *spool, cra_bytes *document, cra_error *err)
{
    const uint8_t *at;
    size_t length;

    CRA_TRY(read_ahead(spool, 4, err));
    at = spool->pending.data + spool->consumed;
    length = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
    CRA_TRY(read_ahead(spool, length, err));
    *document = cra_bytes_of(spool->pending.data + spool->consumed, length);
    spool->consumed += length;
    return CRA_OK;
}

cra_status cra_id_spool_next(cra_id_spool *spool, cra_bytes *document, cra_value *id, cra_error *err)
{
    int64_t occurrence = 0;
    bool again;

    if (spool->given == spool->added)
        return CRA_DONE;
    CRA_TRY(next_document(spool, document, err));
    CRA_TRY(cra_mark_cursor_find(&spool->cursor, cra_mark_tag(0, spool->given), &again, &occurrence, err));
    cra_record_derive_id(spool->report, spool->run, *document, again ? occurrence : 0, spool->id, id);
    spool->given++;
    return CRA_OK;
}
