/* SPDX-License-Identifier: Apache-2.0 */

/* Which records of an archive count.
 *
 * An archive that a stream wrote at least once may hold a record twice, an older version of it beside a newer one, and
 * records without `_id`, of which equal ones are told apart by their occurrence alone. All of that is found by sorting
 * digests, so memory does not grow with the archive; what is kept in memory is one entry for each `_id` that has
 * versions with different bytes. */

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "ops/restore_job.h"

#define ORIGIN "restore"
#define DEFAULT_MEMORY (64 * 1024 * 1024)

/* An `_id` with several contents, and the one that counts so far. */
struct contested {
    cra_digest id;
    cra_digest content;
    uint64_t tag;
    uint8_t *version; /* order key of the version field; NULL: none seen */
    size_t version_size;
    bool tie; /* two contents share the highest version */
};

struct resolver {
    cra_restore_job *job;
    cra_digest_sorter *ids;      /* of records with `_id` */
    cra_digest_sorter *bare;     /* of records without; NULL until there is one */
    struct contested *contested; /* ordered by id */
    size_t count, capacity;
    const char *version_field;
    const char *folder;
    int64_t memory;
    int64_t records;
    cra_buf scratch, order_key;
};

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory to compare versions");
}

static int compare_digests(const cra_digest *a, const cra_digest *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

/* ---- reading the archive ----------------------------------------------------------------------- */

typedef cra_status (*visit_fn)(struct resolver *resolver, cra_bytes document, uint64_t tag, cra_error *err);

/* Documents first, then dead letters: the numbering of restore_records.c. */
static cra_status visit_block(struct resolver *resolver, size_t part, int64_t *number, cra_doc_batch *batch,
                              visit_fn visit, cra_error *err)
{
    cra_bytes document;

    while (cra_bson_next_document(&batch->documents, &document) == CRA_OK) {
        CRA_TRY(visit(resolver, document, cra_mark_tag(part, *number), err));
        (*number)++;
    }
    *number += (int64_t)batch->dead_count;
    return cra_run_guard_check(resolver->job->guard, err);
}

/* A part that cannot be read to its end is told by the pass that writes: here it counts as far as it goes. */
static cra_status visit_part(struct resolver *resolver, size_t index, visit_fn visit, cra_error *err)
{
    cra_archive_part *part = NULL;
    cra_doc_batch batch;
    int64_t number = 0;
    cra_error why = {0};
    cra_status read, status = CRA_OK;

    read = cra_archive_part_open(&resolver->job->set, index, resolver->job->options.salvage, &part, &why);
    while (read == CRA_OK && status == CRA_OK) {
        read = cra_archive_part_next(part, &batch, NULL, &why);
        if (read == CRA_OK)
            status = visit_block(resolver, index, &number, &batch, visit, err);
    }
    cra_archive_part_free(part);
    if (status != CRA_OK)
        return status;
    if (read == CRA_DONE || read == CRA_CORRUPT || read == CRA_CONFLICT || read == CRA_UNSUPPORTED)
        return CRA_OK;
    if (err != NULL)
        *err = why;
    return read;
}

static cra_status visit_archive(struct resolver *resolver, visit_fn visit, cra_error *err)
{
    for (size_t i = 0; i < resolver->job->set.manifest.parts_count; i++)
        CRA_TRY(visit_part(resolver, i, visit, err));
    return CRA_OK;
}

/* ---- digests ----------------------------------------------------------------------------------- */

static cra_status add_bare(struct resolver *resolver, cra_bytes document, uint64_t tag, cra_error *err)
{
    cra_digest_entry entry;

    if (resolver->bare == NULL)
        CRA_TRY(cra_digest_sorter_new(resolver->job->allocator, resolver->folder, resolver->memory / 4, &resolver->bare,
                                      err));
    memset(&entry, 0, sizeof(entry));
    cra_record_bytes_digest(document, &entry.key);
    entry.tag = tag;
    return cra_digest_sorter_add(resolver->bare, &entry, err);
}

static cra_status add_digest(struct resolver *resolver, cra_bytes document, uint64_t tag, cra_error *err)
{
    cra_digest_entry entry = {.tag = tag};
    cra_value id;

    resolver->records++;
    cra_run_guard_progress(resolver->job->guard, "versions", resolver->records, resolver->job->set.manifest.records, 0,
                           NULL);
    if (cra_bson_find(document, "_id", 3, &id) != CRA_OK)
        return add_bare(resolver, document, tag, err);
    if (cra_record_id_digest(id, &entry.key, &resolver->scratch) != CRA_OK)
        return no_memory(err);
    CRA_TRY(cra_record_content_digest(document, NULL, &entry.content, &resolver->scratch, err));
    return cra_digest_sorter_add(resolver->ids, &entry, err);
}

/* ---- contested ids ----------------------------------------------------------------------------- */

static cra_status add_contested(struct resolver *resolver, const cra_digest_entry *winner, cra_error *err)
{
    struct contested *slot;

    if (cra_array_grow(resolver->job->allocator, (void **)&resolver->contested, &resolver->capacity,
                       resolver->count + 1, sizeof(*resolver->contested)) != CRA_OK)
        return no_memory(err);
    slot = &resolver->contested[resolver->count++];
    memset(slot, 0, sizeof(*slot));
    slot->id = winner->key;
    slot->content = winner->content;
    slot->tag = winner->tag;
    return CRA_OK;
}

/* Entries of one id: the last in order of the archive, and whether all have one content. */
struct group {
    cra_digest_entry last, first;
    bool differs, open;
};

static cra_status close_group(struct resolver *resolver, struct group *group, cra_error *err)
{
    if (!group->open)
        return CRA_OK;
    resolver->job->distinct++;
    return group->differs ? add_contested(resolver, &group->last, err) : CRA_OK;
}

static cra_status find_contested(struct resolver *resolver, cra_error *err)
{
    struct group group = {.open = false};
    cra_digest_entry entry;
    cra_status status;

    resolver->job->distinct = 0;
    CRA_TRY(cra_digest_sorter_rewind(resolver->ids, err));
    while ((status = cra_digest_sorter_next(resolver->ids, &entry, err)) == CRA_OK) {
        if (group.open && compare_digests(&entry.key, &group.first.key) == 0) {
            group.differs = group.differs || compare_digests(&entry.content, &group.first.content) != 0;
            if (entry.tag > group.last.tag)
                group.last = entry;
            continue;
        }
        CRA_TRY(close_group(resolver, &group, err));
        group = (struct group){entry, entry, false, true};
    }
    return status == CRA_DONE ? close_group(resolver, &group, err) : status;
}

static struct contested *lookup(const struct resolver *resolver, const cra_digest *id)
{
    size_t from = 0, to = resolver->count;

    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        const int order = compare_digests(&resolver->contested[middle].id, id);
        if (order == 0)
            return &resolver->contested[middle];
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

/* memcmp order of two keys, a shorter one first. */
static int compare_keys(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
    const size_t common = a_size < b_size ? a_size : b_size;
    const int order = common > 0 ? memcmp(a, b, common) : 0;

    return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

/* Whether versions of equal rank may be decided by their place: within our own parts only. */
static bool order_decides(const struct resolver *resolver)
{
    return resolver->job->set.origin == CRA_ARCHIVE_MANIFEST;
}

static cra_status take_version(struct resolver *resolver, struct contested *slot, const cra_digest *content,
                               uint64_t tag, cra_error *err)
{
    const cra_buf *key = &resolver->order_key;
    const int order = slot->version == NULL ? 1 : compare_keys(key->data, key->size, slot->version, slot->version_size);
    uint8_t *copy;

    if (order < 0)
        return CRA_OK;
    if (order == 0 && compare_digests(content, &slot->content) != 0 && !order_decides(resolver))
        slot->tie = true;
    if (order == 0 && tag < slot->tag)
        return CRA_OK;
    if (order > 0) {
        slot->tie = false;
        copy = cra_memdup(resolver->job->allocator, key->data, key->size);
        if (copy == NULL)
            return no_memory(err);
        cra_free(resolver->job->allocator, slot->version);
        slot->version = copy;
        slot->version_size = key->size;
    }
    slot->content = *content;
    slot->tag = tag;
    return CRA_OK;
}

/* A record without the version field ranks below any that has it: its key is empty. */
static cra_status compare_version(struct resolver *resolver, cra_bytes document, uint64_t tag, cra_error *err)
{
    struct contested *slot;
    cra_digest id_digest, content;
    cra_value id, version;

    if (cra_bson_find(document, "_id", 3, &id) != CRA_OK)
        return CRA_OK;
    if (cra_record_id_digest(id, &id_digest, &resolver->scratch) != CRA_OK)
        return no_memory(err);
    slot = lookup(resolver, &id_digest);
    if (slot == NULL)
        return CRA_OK;
    CRA_TRY(cra_record_content_digest(document, NULL, &content, &resolver->scratch, err));
    cra_buf_clear(&resolver->order_key);
    if (cra_buf_reserve(&resolver->order_key, 1) != CRA_OK)
        return no_memory(err);
    if (cra_bson_path(document, resolver->version_field, &version) == CRA_OK &&
        cra_value_order_key(version, &resolver->order_key) != CRA_OK)
        return no_memory(err);
    return take_version(resolver, slot, &content, tag, err);
}

static cra_status ambiguous(struct resolver *resolver, size_t count, cra_error *err)
{
    resolver->job->reason = CRA_REASON_AMBIGUOUS_VERSIONS;
    cra_error_set(err, CRA_CONFLICT, ORIGIN, "the archive holds different versions of %zu records", count);
    cra_error_hint(err, "archive.record_version_field names the field that decides");
    return CRA_CONFLICT;
}

static cra_status decide(struct resolver *resolver, cra_error *err)
{
    size_t ties = 0;

    if (resolver->version_field == NULL)
        return order_decides(resolver) ? CRA_OK : ambiguous(resolver, resolver->count, err);
    CRA_TRY(visit_archive(resolver, compare_version, err));
    for (size_t i = 0; i < resolver->count; i++)
        ties += resolver->contested[i].tie;
    return ties == 0 ? CRA_OK : ambiguous(resolver, ties, err);
}

/* Every entry of a contested id with another content than the winner's loses. */
static cra_status mark_losers(struct resolver *resolver, cra_error *err)
{
    cra_restore_job *job = resolver->job;
    cra_digest_entry entry;
    cra_status status;

    CRA_TRY(cra_marks_new(job->allocator, resolver->folder, resolver->memory / 4, &job->losers, err));
    CRA_TRY(cra_digest_sorter_rewind(resolver->ids, err));
    while ((status = cra_digest_sorter_next(resolver->ids, &entry, err)) == CRA_OK) {
        const struct contested *slot = lookup(resolver, &entry.key);
        if (slot != NULL && compare_digests(&slot->content, &entry.content) != 0)
            CRA_TRY(cra_marks_add(job->losers, entry.tag, 1, err));
    }
    if (status != CRA_DONE)
        return status;
    job->superseded = cra_marks_count(job->losers);
    return cra_marks_seal(job->losers, err);
}

static cra_status count_occurrences(struct resolver *resolver, cra_error *err)
{
    cra_restore_job *job = resolver->job;

    if (resolver->bare == NULL)
        return CRA_OK;
    job->derived_ids = true;
    job->distinct += cra_digest_sorter_count(resolver->bare);
    CRA_TRY(cra_marks_new(job->allocator, resolver->folder, resolver->memory / 4, &job->occurrences, err));
    CRA_TRY(cra_marks_add_occurrences(job->occurrences, resolver->bare, err));
    return cra_marks_seal(job->occurrences, err);
}

static cra_status resolve(struct resolver *resolver, cra_error *err)
{
    CRA_TRY(
        cra_digest_sorter_new(resolver->job->allocator, resolver->folder, resolver->memory / 2, &resolver->ids, err));
    CRA_TRY(visit_archive(resolver, add_digest, err));
    CRA_TRY(find_contested(resolver, err));
    if (resolver->count > 0) {
        CRA_TRY(decide(resolver, err));
        CRA_TRY(mark_losers(resolver, err));
    }
    return count_occurrences(resolver, err);
}

/* Our own manifest may say that there is nothing to resolve. */
static bool is_plain(const cra_restore_job *job)
{
    const cra_manifest *manifest = &job->set.manifest;

    return job->set.origin == CRA_ARCHIVE_MANIFEST && manifest->ids_in_records && manifest->records >= 0 &&
           manifest->distinct_ids == manifest->records;
}

cra_status cra_restore_resolve_versions(cra_restore_job *job, cra_error *err)
{
    const cra_config *config = cra_engine_config(job->engine);
    struct resolver resolver = {.job = job};
    cra_status status;

    if (is_plain(job)) {
        job->distinct = job->set.manifest.distinct_ids;
        return CRA_OK;
    }
    resolver.version_field = cra_config_text(config, "archive.record_version_field");
    resolver.folder = cra_config_text(config, "spool.folder");
    resolver.memory = cra_config_int(config, "verify.memory", DEFAULT_MEMORY);
    cra_buf_init(&resolver.scratch, job->allocator);
    cra_buf_init(&resolver.order_key, job->allocator);
    status = resolve(&resolver, err);
    for (size_t i = 0; i < resolver.count; i++)
        cra_free(job->allocator, resolver.contested[i].version);
    cra_free(job->allocator, resolver.contested);
    cra_digest_sorter_free(resolver.ids);
    cra_digest_sorter_free(resolver.bare);
    cra_buf_cleanup(&resolver.scratch);
    cra_buf_cleanup(&resolver.order_key);
    return status;
}
