/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/digest_sorter.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "os/file.h"

#define ENTRY_SIZE (2 * CRA_DIGEST_SIZE + 8)
#define MIN_ENTRIES 1024
#define MAX_SPILLS 4096

/* One sorted stretch of the spill file, and how far the merge has read it. */
typedef struct spill {
    int64_t offset; /* of the next entry not yet in `buffer` */
    int64_t left;   /* entries not yet in `buffer` */
    int64_t start, entries;
    cra_buf buffer;
    size_t position;
    cra_digest_entry head;
} spill;

struct cra_digest_sorter {
    const cra_allocator *allocator;
    char *folder;
    cra_digest_entry *entries;
    size_t entries_count, entries_capacity, entries_limit;
    cra_spool spool;
    int64_t spool_size;
    spill *spills;
    size_t spills_count, spills_capacity;
    size_t *heap; /* indexes of spills that have a head, the least first */
    size_t heap_count;
    size_t merge_bytes; /* of buffer for each spill */
    int64_t count;
    size_t next; /* position in `entries` where nothing was spilled */
    bool sorted;
};

static int compare_entries(const void *left, const void *right)
{
    const cra_digest_entry *a = left;
    const cra_digest_entry *b = right;
    int order = memcmp(a->key.bytes, b->key.bytes, CRA_DIGEST_SIZE);

    if (order == 0)
        order = memcmp(a->content.bytes, b->content.bytes, CRA_DIGEST_SIZE);
    if (order == 0)
        order = a->tag < b->tag ? -1 : a->tag > b->tag;
    return order;
}

cra_status cra_digest_sorter_new(const cra_allocator *allocator, const char *folder, int64_t memory_bytes,
                                 cra_digest_sorter **out, cra_error *err)
{
    *out = NULL;
    cra_digest_sorter *sorter = cra_calloc(allocator, 1, sizeof *sorter);
    if (sorter == NULL)
        return cra_error_set(err, CRA_NOMEM, "sorter", "out of memory");
    sorter->allocator = allocator;
    sorter->spool.fd = -1;

    const int64_t fit = memory_bytes / (int64_t)sizeof(cra_digest_entry);
    sorter->entries_limit = fit < MIN_ENTRIES ? MIN_ENTRIES : (size_t)fit;
    sorter->merge_bytes = 64 * ENTRY_SIZE;
    if (folder != NULL) {
        sorter->folder = cra_strdup(allocator, folder);
        if (sorter->folder == NULL) {
            cra_free(allocator, sorter);
            return cra_error_set(err, CRA_NOMEM, "sorter", "out of memory");
        }
    }
    *out = sorter;
    return CRA_OK;
}

void cra_digest_sorter_free(cra_digest_sorter *sorter)
{
    if (sorter == NULL)
        return;
    for (size_t i = 0; i < sorter->spills_count; i++)
        cra_buf_cleanup(&sorter->spills[i].buffer);
    cra_free(sorter->allocator, sorter->spills);
    cra_free(sorter->allocator, sorter->heap);
    cra_free(sorter->allocator, sorter->entries);
    cra_free(sorter->allocator, sorter->folder);
    if (sorter->spool.fd >= 0)
        cra_spool_close(&sorter->spool);
    cra_free(sorter->allocator, sorter);
}

static void pack(const cra_digest_entry *entry, uint8_t *out)
{
    memcpy(out, entry->key.bytes, CRA_DIGEST_SIZE);
    memcpy(out + CRA_DIGEST_SIZE, entry->content.bytes, CRA_DIGEST_SIZE);
    memcpy(out + 2 * CRA_DIGEST_SIZE, &entry->tag, sizeof entry->tag);
}

static void unpack(const uint8_t *data, cra_digest_entry *out)
{
    memcpy(out->key.bytes, data, CRA_DIGEST_SIZE);
    memcpy(out->content.bytes, data + CRA_DIGEST_SIZE, CRA_DIGEST_SIZE);
    memcpy(&out->tag, data + 2 * CRA_DIGEST_SIZE, sizeof out->tag);
}

/* Write what is in memory, sorted, behind what was spilled before. */
static cra_status spill_entries(cra_digest_sorter *sorter, cra_error *err)
{
    const size_t chunk = 256;
    uint8_t packed[256 * ENTRY_SIZE];

    if (sorter->spills_count == MAX_SPILLS)
        return cra_error_set(err, CRA_INVALID, "sorter", "too many records for verify.memory: raise it");
    if (sorter->spool.fd < 0)
        CRA_TRY(cra_spool_open(sorter->folder, 0, sorter->allocator, &sorter->spool, err));
    if (cra_array_grow(sorter->allocator, (void **)&sorter->spills, &sorter->spills_capacity, sorter->spills_count + 1,
                       sizeof *sorter->spills) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, "sorter", "out of memory");

    qsort(sorter->entries, sorter->entries_count, sizeof *sorter->entries, compare_entries);
    for (size_t done = 0; done < sorter->entries_count;) {
        size_t n = sorter->entries_count - done < chunk ? sorter->entries_count - done : chunk;
        for (size_t i = 0; i < n; i++)
            pack(&sorter->entries[done + i], packed + i * ENTRY_SIZE);
        const int errno_value = cra_fd_write(sorter->spool.fd, packed, n * ENTRY_SIZE);
        if (errno_value != 0)
            return cra_file_error(err, errno_value, "write to a temporary file in",
                                  sorter->folder != NULL ? sorter->folder : "the spool folder");
        done += n;
    }

    spill *added = &sorter->spills[sorter->spills_count++];
    memset(added, 0, sizeof *added);
    added->start = sorter->spool_size;
    added->entries = (int64_t)sorter->entries_count;
    cra_buf_init(&added->buffer, sorter->allocator);
    sorter->spool_size += added->entries * ENTRY_SIZE;
    sorter->entries_count = 0;
    return CRA_OK;
}

cra_status cra_digest_sorter_add(cra_digest_sorter *sorter, const cra_digest_entry *entry, cra_error *err)
{
    if (sorter->entries_count == sorter->entries_limit)
        CRA_TRY(spill_entries(sorter, err));
    if (cra_array_grow(sorter->allocator, (void **)&sorter->entries, &sorter->entries_capacity,
                       sorter->entries_count + 1, sizeof *sorter->entries) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, "sorter", "out of memory");
    sorter->entries[sorter->entries_count++] = *entry;
    sorter->count++;
    sorter->sorted = false;
    return CRA_OK;
}

int64_t cra_digest_sorter_count(const cra_digest_sorter *sorter)
{
    return sorter->count;
}

/* Bring the next entry of a spill into its head. CRA_DONE at its end. */
static cra_status advance(cra_digest_sorter *sorter, spill *from, cra_error *err)
{
    if (from->position == from->buffer.size) {
        if (from->left == 0)
            return CRA_DONE;
        int64_t n = (int64_t)(sorter->merge_bytes / ENTRY_SIZE);
        if (n > from->left)
            n = from->left;
        const size_t want = (size_t)n * ENTRY_SIZE;
        cra_buf_clear(&from->buffer);
        from->position = 0;
        const int errno_value = cra_fd_pread(sorter->spool.fd, from->offset, want, &from->buffer);
        if (errno_value != 0 || from->buffer.size != want)
            return cra_file_error(err, errno_value, "read a temporary file in",
                                  sorter->folder != NULL ? sorter->folder : "the spool folder");
        from->offset += (int64_t)want;
        from->left -= n;
    }
    unpack(from->buffer.data + from->position, &from->head);
    from->position += ENTRY_SIZE;
    return CRA_OK;
}

static bool comes_first(const cra_digest_sorter *sorter, size_t a, size_t b)
{
    return compare_entries(&sorter->spills[sorter->heap[a]].head, &sorter->spills[sorter->heap[b]].head) < 0;
}

static void sift_down(cra_digest_sorter *sorter, size_t at)
{
    for (;;) {
        size_t least = at;
        const size_t left = 2 * at + 1;
        const size_t right = left + 1;

        if (left < sorter->heap_count && comes_first(sorter, left, least))
            least = left;
        if (right < sorter->heap_count && comes_first(sorter, right, least))
            least = right;
        if (least == at)
            return;
        const size_t swapped = sorter->heap[at];
        sorter->heap[at] = sorter->heap[least];
        sorter->heap[least] = swapped;
        at = least;
    }
}

/* Start the merge of all spills. */
static cra_status start_merge(cra_digest_sorter *sorter, cra_error *err)
{
    if (sorter->heap == NULL) {
        sorter->heap = cra_calloc(sorter->allocator, sorter->spills_capacity, sizeof *sorter->heap);
        if (sorter->heap == NULL)
            return cra_error_set(err, CRA_NOMEM, "sorter", "out of memory");
    }
    /* The memory that sorting needed is shared out among the spills. */
    const size_t share = sorter->entries_limit * sizeof(cra_digest_entry) / sorter->spills_count;
    sorter->merge_bytes = share / ENTRY_SIZE * ENTRY_SIZE;
    if (sorter->merge_bytes < 16 * ENTRY_SIZE)
        sorter->merge_bytes = 16 * ENTRY_SIZE;
    if (sorter->merge_bytes > 8192 * ENTRY_SIZE)
        sorter->merge_bytes = 8192 * ENTRY_SIZE;

    sorter->heap_count = 0;
    for (size_t i = 0; i < sorter->spills_count; i++) {
        spill *from = &sorter->spills[i];
        from->offset = from->start;
        from->left = from->entries;
        from->position = 0;
        cra_buf_clear(&from->buffer);
        const cra_status status = advance(sorter, from, err);
        if (status == CRA_OK)
            sorter->heap[sorter->heap_count++] = i;
        else if (status != CRA_DONE)
            return status;
    }
    for (size_t at = sorter->heap_count / 2; at-- > 0;)
        sift_down(sorter, at);
    return CRA_OK;
}

cra_status cra_digest_sorter_rewind(cra_digest_sorter *sorter, cra_error *err)
{
    if (sorter->spills_count == 0) {
        if (!sorter->sorted && sorter->entries_count > 0)
            qsort(sorter->entries, sorter->entries_count, sizeof *sorter->entries, compare_entries);
        sorter->sorted = true;
        sorter->next = 0;
        return CRA_OK;
    }
    if (sorter->entries_count > 0) {
        CRA_TRY(spill_entries(sorter, err));
        cra_free(sorter->allocator, sorter->heap);
        sorter->heap = NULL;
    }
    cra_free(sorter->allocator, sorter->entries);
    sorter->entries = NULL;
    sorter->entries_capacity = 0;
    return start_merge(sorter, err);
}

cra_status cra_digest_sorter_next(cra_digest_sorter *sorter, cra_digest_entry *out, cra_error *err)
{
    if (sorter->spills_count == 0) {
        if (sorter->next == sorter->entries_count)
            return CRA_DONE;
        *out = sorter->entries[sorter->next++];
        return CRA_OK;
    }
    if (sorter->heap_count == 0)
        return CRA_DONE;

    spill *least = &sorter->spills[sorter->heap[0]];
    *out = least->head;
    const cra_status status = advance(sorter, least, err);
    if (status == CRA_DONE)
        sorter->heap[0] = sorter->heap[--sorter->heap_count];
    else if (status != CRA_OK)
        return status;
    sift_down(sorter, 0);
    return CRA_OK;
}
