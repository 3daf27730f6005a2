/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/marks.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "os/file.h"

#define ORIGIN "spool"
#define MARK_SIZE 16
#define WRITE_SIZE (64 * 1024)

struct cra_marks {
    const cra_allocator *allocator;
    cra_digest_sorter *sorter; /* NULL once sealed */
    cra_spool spool;
    int64_t count;
};

static void put_big(uint8_t *out, uint64_t number)
{
    for (size_t i = 0; i < 8; i++)
        out[i] = (uint8_t)(number >> (56 - 8 * i));
}

static uint64_t get_big(const uint8_t *data)
{
    uint64_t number = 0;

    for (size_t i = 0; i < 8; i++)
        number = (number << 8) | data[i];
    return number;
}

cra_status cra_marks_new(const cra_allocator *allocator, const char *folder, int64_t memory_bytes, cra_marks **out,
                         cra_error *err)
{
    cra_marks *marks = cra_calloc(allocator, 1, sizeof(*marks));
    cra_status status;

    *out = NULL;
    if (marks == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for marks");
    marks->allocator = allocator;
    marks->spool.fd = -1;
    status = cra_spool_open(folder, 0, allocator, &marks->spool, err);
    if (status == CRA_OK)
        status = cra_digest_sorter_new(allocator, folder, memory_bytes, &marks->sorter, err);
    if (status != CRA_OK) {
        cra_marks_free(marks);
        return status;
    }
    *out = marks;
    return CRA_OK;
}

void cra_marks_free(cra_marks *marks)
{
    if (marks == NULL)
        return;
    cra_digest_sorter_free(marks->sorter);
    cra_spool_close(&marks->spool);
    cra_free(marks->allocator, marks);
}

int64_t cra_marks_count(const cra_marks *marks)
{
    return marks->count;
}

/* The sorter orders by key: the tag, most significant byte first. */
cra_status cra_marks_add(cra_marks *marks, uint64_t tag, int64_t value, cra_error *err)
{
    cra_digest_entry entry;

    memset(&entry, 0, sizeof(entry));
    put_big(entry.key.bytes, tag);
    put_big(entry.content.bytes, (uint64_t)value);
    marks->count++;
    return cra_digest_sorter_add(marks->sorter, &entry, err);
}

static cra_status write_out(cra_marks *marks, cra_buf *pending, cra_error *err)
{
    const int failed = cra_fd_write(marks->spool.fd, pending->data, pending->size);

    cra_buf_clear(pending);
    return failed == 0 ? CRA_OK : cra_file_error(err, failed, "write", "a spool file");
}

static cra_status write_sorted(cra_marks *marks, cra_buf *pending, cra_error *err)
{
    cra_digest_entry entry;
    cra_status status;

    CRA_TRY(cra_digest_sorter_rewind(marks->sorter, err));
    while ((status = cra_digest_sorter_next(marks->sorter, &entry, err)) == CRA_OK) {
        if (cra_buf_append(pending, entry.key.bytes, 8) != CRA_OK ||
            cra_buf_append(pending, entry.content.bytes, 8) != CRA_OK)
            return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for marks");
        if (pending->size >= WRITE_SIZE)
            CRA_TRY(write_out(marks, pending, err));
    }
    return status == CRA_DONE ? write_out(marks, pending, err) : status;
}

cra_status cra_marks_seal(cra_marks *marks, cra_error *err)
{
    cra_buf pending;
    cra_status status;

    cra_buf_init(&pending, marks->allocator);
    status = write_sorted(marks, &pending, err);
    cra_buf_cleanup(&pending);
    cra_digest_sorter_free(marks->sorter);
    marks->sorter = NULL;
    return status;
}

/* Equal keys stand together, ordered by content and then by tag; with one content a key, that is by tag. */
cra_status cra_marks_add_occurrences(cra_marks *marks, cra_digest_sorter *entries, cra_error *err)
{
    cra_digest_entry entry, last;
    int64_t occurrence = 0;
    bool first = true;
    cra_status status;

    memset(&last, 0, sizeof(last));
    CRA_TRY(cra_digest_sorter_rewind(entries, err));
    while ((status = cra_digest_sorter_next(entries, &entry, err)) == CRA_OK) {
        const bool again = !first && memcmp(&entry.key, &last.key, sizeof(entry.key)) == 0;
        occurrence = again ? occurrence + 1 : 0;
        if (again)
            CRA_TRY(cra_marks_add(marks, entry.tag, occurrence, err));
        last = entry;
        first = false;
    }
    return status == CRA_DONE ? CRA_OK : status;
}

/* ---- looking up ------------------------------------------------------------------------------- */

void cra_mark_cursor_init(cra_mark_cursor *cursor, const cra_marks *marks, const cra_allocator *allocator)
{
    memset(cursor, 0, sizeof(*cursor));
    cursor->marks = marks;
    cra_buf_init(&cursor->window, allocator);
}

void cra_mark_cursor_cleanup(cra_mark_cursor *cursor)
{
    cra_buf_cleanup(&cursor->window);
}

static int64_t window_end(const cra_mark_cursor *cursor)
{
    return cursor->first + (int64_t)(cursor->window.size / MARK_SIZE);
}

static cra_status load(cra_mark_cursor *cursor, int64_t first, int64_t count, cra_error *err)
{
    const int64_t left = cursor->marks->count - first;
    const size_t size = (size_t)(count < left ? count : left) * MARK_SIZE;
    int failed;

    cra_buf_clear(&cursor->window);
    cursor->first = first;
    failed = cra_fd_pread(cursor->marks->spool.fd, first * MARK_SIZE, size, &cursor->window);
    if (failed != 0)
        return cra_file_error(err, failed, "read", "a spool file");
    if (cursor->window.size != size)
        return cra_error_set(err, CRA_IO, ORIGIN, "a spool file is shorter than it was written");
    return CRA_OK;
}

static uint64_t tag_at(const cra_mark_cursor *cursor, int64_t index)
{
    return get_big(cursor->window.data + (size_t)(index - cursor->first) * MARK_SIZE);
}

/* Put the position on the first mark at or behind `tag`. */
static cra_status search(cra_mark_cursor *cursor, uint64_t tag, cra_error *err)
{
    int64_t low = 0, high = cursor->marks->count;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        CRA_TRY(load(cursor, middle, 1, err));
        if (tag_at(cursor, middle) < tag)
            low = middle + 1;
        else
            high = middle;
    }
    cursor->position = low;
    return CRA_OK;
}

cra_status cra_mark_cursor_find(cra_mark_cursor *cursor, uint64_t tag, bool *found, int64_t *value, cra_error *err)
{
    *found = false;
    if (cursor->marks == NULL || cursor->marks->count == 0)
        return CRA_OK;
    if (tag < cursor->last_tag || tag - cursor->last_tag > CRA_MARK_WINDOW)
        CRA_TRY(search(cursor, tag, err));
    cursor->last_tag = tag;
    while (cursor->position < cursor->marks->count) {
        if (cursor->position < cursor->first || cursor->position >= window_end(cursor))
            CRA_TRY(load(cursor, cursor->position, CRA_MARK_WINDOW, err));
        const uint64_t at = tag_at(cursor, cursor->position);
        if (at > tag)
            return CRA_OK;
        if (at == tag) {
            *found = true;
            *value = (int64_t)get_big(cursor->window.data + (size_t)(cursor->position - cursor->first) * MARK_SIZE + 8);
            return CRA_OK;
        }
        cursor->position++;
    }
    return CRA_OK;
}
