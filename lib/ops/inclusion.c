/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/inclusion.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

#define DEFAULT_MEMORY (16 * 1024 * 1024)
#define IGNORE_MAX 32

typedef struct prover {
    cra_engine *engine;
    const cra_run_doc *run;
    cra_archive_set *set;
    const cra_inclusion_request *request;
    cra_inclusion *out;
    cra_digest_rule rule;
    char ignore_text[1024];
    const char *ignore[IGNORE_MAX + 1];
    cra_digest_sorter *hot;
    cra_digest_sorter *archived;
    cra_buf scratch;
    bool archive_lacks_ids; /* found while reading */
    bool archive_lacks_run;
} prover;

/* ---- verdicts -------------------------------------------------------------------------------- */

static cra_status verdict(cra_inclusion *out, cra_item_status status, cra_reason reason, const char *detail)
{
    out->status = status;
    out->reason = reason;
    snprintf(out->detail, sizeof out->detail, "%.*s", (int)sizeof out->detail - 1, detail);
    return CRA_OK;
}

/* A failure while proving: those of the caller's world end the operation, a damaged archive is a verdict, and what a
 * store could not answer leaves the question open. */
static cra_status verdict_of_failure(cra_inclusion *out, cra_status status, const cra_error *cause, cra_error *err)
{
    if (status == CRA_NOMEM || status == CRA_CANCELLED || status == CRA_LOCKED) {
        if (err != NULL)
            *err = *cause;
        return status;
    }
    out->error = *cause;
    if (status == CRA_CORRUPT || status == CRA_NOT_FOUND || status == CRA_CONFLICT)
        return verdict(out, CRA_ITEM_BAD, CRA_REASON_INCOMPLETE, cause->message);
    if (status == CRA_UNSUPPORTED)
        return verdict(out, CRA_ITEM_UNKNOWN, CRA_REASON_UNREADABLE, cause->message);
    return verdict(out, CRA_ITEM_UNKNOWN, CRA_REASON_STORE_ERROR, cause->message);
}

/* ---- which level ----------------------------------------------------------------------------- */

static cra_verify_level resolve_level(const prover *p)
{
    if (p->request->level != CRA_VERIFY_AUTO)
        return p->request->level;
    if (p->run->restores > 0)
        return CRA_VERIFY_CONTENT; /* someone may have edited it since */
    if (p->set->origin == CRA_ARCHIVE_MANIFEST && p->set->manifest.written_after_close && !p->request->remainder)
        return CRA_VERIFY_COUNT;
    if (p->set->origin == CRA_ARCHIVE_MANIFEST && !p->set->manifest.ids_in_records)
        return CRA_VERIFY_CONTENT;
    return CRA_VERIFY_IDS;
}

/* Split verify.ignore_fields ("a, b") into a list. */
static void read_ignored_fields(prover *p)
{
    const char *text = cra_config_text(cra_engine_config(p->engine), "verify.ignore_fields");
    size_t count = 0;

    if (text == NULL)
        return;
    snprintf(p->ignore_text, sizeof p->ignore_text, "%s", text);
    for (char *at = p->ignore_text; *at != '\0' && count < IGNORE_MAX;) {
        at += strspn(at, ", []");
        if (*at == '\0')
            break;
        p->ignore[count++] = at;
        at += strcspn(at, ", []");
        if (*at != '\0')
            *at++ = '\0';
    }
    if (count > 0)
        p->rule.ignore = p->ignore;
}

/* ---- reading the archive --------------------------------------------------------------------- */

/* What the first record of the archive tells: whether records carry `_id` and the run field. */
static cra_status probe_archive(prover *p, cra_error *err)
{
    for (size_t i = 0; i < p->set->manifest.parts_count; i++) {
        cra_archive_part *part = NULL;
        cra_doc_batch batch;
        cra_value value;
        cra_bytes document;
        cra_status status = cra_archive_part_open(p->set, i, false, &part, err);

        while (status == CRA_OK) {
            status = cra_archive_part_next(part, &batch, NULL, err);
            if (status != CRA_OK || batch.count == 0)
                continue;
            cra_bytes rest = batch.documents;
            if (cra_bson_next_document(&rest, &document) == CRA_OK) {
                const char *run_field = cra_engine_run_field(p->engine);
                p->archive_lacks_ids = cra_bson_find(document, "_id", 3, &value) != CRA_OK;
                p->archive_lacks_run = cra_bson_path(document, run_field, &value) != CRA_OK;
            }
            cra_archive_part_free(part);
            return CRA_OK;
        }
        cra_archive_part_free(part);
        if (status != CRA_DONE)
            return status;
    }
    return CRA_OK;
}

/* Another run's value in an archived record: the folder holds a stranger. */
static cra_status check_run_of(const prover *p, const cra_hot_scope *hot, cra_bytes document, const char *part,
                               cra_error *err)
{
    cra_value value;

    if (cra_bson_path(document, hot->scope.run_field, &value) != CRA_OK ||
        cra_value_compare(value, hot->scope.run_value) == 0)
        return CRA_OK;
    (void)p;
    return cra_error_set(err, CRA_EXISTS, "archive", "%s holds a record of another run", part);
}

static cra_status add_archived(prover *p, cra_bytes document, uint64_t tag, cra_error *err)
{
    cra_digest_entry entry;

    memset(&entry, 0, sizeof entry);
    entry.tag = tag;
    const cra_status status = cra_record_content_digest(document, &p->rule, &entry.content, &p->scratch, err);
    if (status != CRA_OK)
        return status;
    if (p->rule.without_id) {
        entry.key = entry.content;
    } else {
        cra_value id;
        if (cra_bson_find(document, "_id", 3, &id) != CRA_OK)
            return cra_error_set(err, CRA_UNSUPPORTED, "archive", "some archived records have an _id and some have none");
        const cra_status id_status = cra_record_id_digest(id, &entry.key, &p->scratch);
        if (id_status != CRA_OK)
            return cra_error_set(err, id_status, "archive", "cannot read an _id");
    }
    return cra_digest_sorter_add(p->archived, &entry, err);
}

/* Keep what reading a foreign part told, for its adoption. */
static void note_part(cra_manifest_part *expect, const cra_archive_part *part, int64_t records, int64_t bytes)
{
    expect->records = records;
    expect->bytes = bytes;
    if (part != NULL)
        memcpy(expect->sha256, cra_archive_part_sha256(part), sizeof expect->sha256);
}

/* One part: its records into the sorter, its count and, by content, its digest against the manifest. */
static cra_status read_part(prover *p, const cra_hot_scope *hot, size_t index, uint64_t *tag, cra_error *err)
{
    cra_manifest_part *expect = &p->set->manifest.parts[index];
    cra_archive_part *part = NULL;
    int64_t records = 0;
    int64_t bytes = 0;
    cra_status status = cra_archive_part_open(p->set, index, false, &part, err);

    while (status == CRA_OK) {
        cra_doc_batch batch;
        cra_bytes document;

        if (p->request->guard != NULL && (status = cra_run_guard_check(p->request->guard, err)) != CRA_OK)
            break;
        status = cra_archive_part_next(part, &batch, NULL, err);
        if (status != CRA_OK)
            break;
        cra_bytes rest = batch.documents;
        while (status == CRA_OK && cra_bson_next_document(&rest, &document) == CRA_OK) {
            status = check_run_of(p, hot, document, expect->name, err);
            if (status == CRA_OK)
                status = add_archived(p, document, (*tag)++, err);
            records++;
            bytes += (int64_t)document.size;
        }
        if (p->request->guard != NULL)
            cra_run_guard_progress(p->request->guard, "verify", cra_digest_sorter_count(p->archived),
                                   p->set->manifest.records, -1, expect->name);
    }
    if (status == CRA_DONE) {
        status = CRA_OK;
        if (expect->records >= 0 && !p->set->filter_by_run && records != expect->records)
            status = cra_error_set(err, CRA_CORRUPT, "archive", "%s holds %lld records, its manifest says %lld",
                                   expect->name, (long long)records, (long long)expect->records);
        else if (p->out->level == CRA_VERIFY_CONTENT && part != NULL &&
                 expect->sha256[0] != '\0' && strcmp(expect->sha256, cra_archive_part_sha256(part)) != 0)
            status = cra_error_set(err, CRA_CORRUPT, "archive", "%s is not the file that its manifest names: "
                                   "its SHA-256 differs", expect->name);
    }
    if (status == CRA_OK && p->set->origin == CRA_ARCHIVE_FOREIGN)
        note_part(expect, part, records, bytes);
    cra_archive_part_free(part);
    return status;
}

static cra_status read_archive(prover *p, cra_error *err)
{
    cra_hot_scope hot;
    uint64_t tag = 0;
    cra_status status = cra_hot_scope_init(p->engine, p->run, &hot, err);

    for (size_t i = 0; status == CRA_OK && i < p->set->manifest.parts_count; i++)
        status = read_part(p, &hot, i, &tag, err);
    return status;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The archived versions of one id. */
typedef struct versions {
    cra_digest key;
    cra_digest chosen; /* the one that restore would choose: the last of our own, or the only one */
    uint64_t chosen_tag;
    bool several;
    int64_t records;
} versions;

/* Collect the next id of the archive. `head` is the entry that is read ahead. */
static cra_status next_versions(prover *p, cra_digest_entry *head, bool *has_head, versions *out, cra_error *err)
{
    cra_status status = CRA_OK;

    if (!*has_head)
        return CRA_DONE;
    out->key = head->key;
    out->chosen = head->content;
    out->chosen_tag = head->tag;
    out->several = false;
    out->records = 0;
    do {
        if (memcmp(&out->chosen, &head->content, sizeof out->chosen) != 0)
            out->several = true;
        if (head->tag >= out->chosen_tag) {
            out->chosen = head->content;
            out->chosen_tag = head->tag;
        }
        out->records++;
        status = cra_digest_sorter_next(p->archived, head, err);
    } while (status == CRA_OK && memcmp(&head->key, &out->key, sizeof out->key) == 0);
    *has_head = status == CRA_OK;
    return status == CRA_DONE ? CRA_OK : status;
}

/* Judge one hot record against the archive's versions of its key (NULL: none). NONE where it is included. */
static cra_reason judge(const prover *p, const cra_digest_entry *hot, const versions *archived)
{
    if (archived == NULL)
        return p->rule.without_id ? CRA_REASON_CONTENT_DIFFERS : CRA_REASON_IDS_MISSING;
    if (archived->several && p->set->origin != CRA_ARCHIVE_MANIFEST)
        return CRA_REASON_AMBIGUOUS_VERSIONS;
    if (p->out->level != CRA_VERIFY_CONTENT && !archived->several)
        return CRA_REASON_NONE;
    if (memcmp(&hot->content, &archived->chosen, sizeof hot->content) != 0)
        return CRA_REASON_CONTENT_DIFFERS;
    return CRA_REASON_NONE;
}

/* Positions in the frozen list of the first offenders, to name their ids. */
#define NAMED_MAX 5
typedef struct offenders {
    int64_t count[3]; /* missing, differing, ambiguous */
    uint64_t tags[NAMED_MAX];
    size_t named;
} offenders;

static void note_offender(offenders *found, cra_reason reason, uint64_t tag)
{
    found->count[reason == CRA_REASON_IDS_MISSING ? 0 : reason == CRA_REASON_CONTENT_DIFFERS ? 1 : 2]++;
    if (found->named < NAMED_MAX)
        found->tags[found->named++] = tag;
}

/* Walk both sorted streams side by side. */
static cra_status compare_streams(prover *p, offenders *found, cra_error *err)
{
    cra_digest_entry hot, head;
    versions archived;
    bool has_head, has_archived;
    cra_digest previous;
    bool has_previous = false;

    cra_status status = cra_digest_sorter_rewind(p->hot, err);
    if (status == CRA_OK)
        status = cra_digest_sorter_rewind(p->archived, err);
    if (status == CRA_OK)
        status = cra_digest_sorter_next(p->archived, &head, err);
    if (status != CRA_OK && status != CRA_DONE)
        return status;
    has_head = status == CRA_OK;
    status = next_versions(p, &head, &has_head, &archived, err);
    if (status != CRA_OK && status != CRA_DONE)
        return status;
    has_archived = status == CRA_OK;
    p->out->records_archived = 0;
    p->out->duplicates = 0;

    for (;;) {
        status = cra_digest_sorter_next(p->hot, &hot, err);
        if (status != CRA_OK && status != CRA_DONE)
            return status;
        const bool has_hot = status == CRA_OK;

        while (has_archived && (!has_hot || memcmp(&archived.key, &hot.key, sizeof hot.key) < 0)) {
            p->out->records_archived++;
            p->out->duplicates += archived.records - 1;
            status = next_versions(p, &head, &has_head, &archived, err);
            if (status != CRA_OK && status != CRA_DONE)
                return status;
            has_archived = status == CRA_OK;
        }
        if (!has_hot)
            return CRA_OK;

        const bool match = has_archived && memcmp(&archived.key, &hot.key, sizeof hot.key) == 0;
        cra_reason reason = judge(p, &hot, match ? &archived : NULL);
        /* Without ids, one archived copy cannot stand for two hot records. */
        if (p->rule.without_id && has_previous && memcmp(&previous, &hot.key, sizeof previous) == 0)
            reason = CRA_REASON_CONTENT_DIFFERS;
        previous = hot.key;
        has_previous = true;
        if (reason != CRA_REASON_NONE)
            note_offender(found, reason, hot.tag);
    }
}

/* ---- naming the offenders -------------------------------------------------------------------- */

/* Append the ids at the positions noted, by paging the hot records once more: offenders are rare. */
static void name_offenders(prover *p, offenders *found, cra_buf *text)
{
    cra_hot_scope hot;
    cra_buf page, after;
    cra_page_request request = {.struct_size = sizeof request, .ids_only = true, .max_docs = 1000, .max_bytes = 1 << 22};
    uint64_t position = 0;
    size_t named = 0;
    size_t count = 0;

    cra_buf_init(&page, cra_engine_allocator(p->engine));
    cra_buf_init(&after, cra_engine_allocator(p->engine));
    cra_status status = cra_hot_scope_init(p->engine, p->run, &hot, NULL);
    while (status == CRA_OK && named < found->named) {
        cra_bytes document;
        cra_value id = {0, NULL, 0};

        cra_buf_clear(&page);
        status = cra_docstore_page(cra_engine_docstore(p->engine), &hot.scope, &request, &page, &count, NULL);
        if (status != CRA_OK || count == 0)
            break;
        cra_bytes rest = cra_buf_bytes(&page);
        while (cra_bson_next_document(&rest, &document) == CRA_OK && cra_bson_find(document, "_id", 3, &id) == CRA_OK) {
            for (size_t i = 0; i < found->named; i++) {
                if (found->tags[i] != position)
                    continue;
                if (cra_buf_append_str(text, named == 0 ? ": " : ", ") != CRA_OK ||
                    cra_value_to_json(id, CRA_JSON_RELAXED, text, NULL) != CRA_OK)
                    status = CRA_NOMEM;
                named++;
            }
            position++;
        }
        cra_buf_clear(&after);
        if (status == CRA_OK)
            status = cra_buf_append(&after, id.data, id.size);
        request.after_id = (cra_value){id.type, after.data, after.size};
    }
    cra_buf_cleanup(&page);
    cra_buf_cleanup(&after);
}

static cra_status report_offenders(prover *p, offenders *found, cra_error *err)
{
    const cra_reason reason = found->count[0] > 0   ? CRA_REASON_IDS_MISSING
                              : found->count[1] > 0 ? CRA_REASON_CONTENT_DIFFERS
                                                    : CRA_REASON_AMBIGUOUS_VERSIONS;
    const int64_t total = found->count[0] + found->count[1] + found->count[2];
    cra_buf text;

    cra_buf_init(&text, cra_engine_allocator(p->engine));
    cra_status status = cra_buf_appendf(&text, "%lld of %lld records %s, such as _id", (long long)total,
                                        (long long)p->out->records_hot,
                                        reason == CRA_REASON_IDS_MISSING       ? "are not in the archive"
                                        : reason == CRA_REASON_CONTENT_DIFFERS ? "differ from the archive"
                                                                               : "have several archived versions");
    if (status == CRA_OK) {
        name_offenders(p, found, &text);
        const char *line = cra_buf_cstr(&text);
        status = line != NULL ? verdict(p->out, CRA_ITEM_BAD, reason, line) : CRA_NOMEM;
    }
    cra_buf_cleanup(&text);
    return status == CRA_OK ? CRA_OK : cra_error_set(err, CRA_NOMEM, "verify", "out of memory");
}

/* ---- the levels ------------------------------------------------------------------------------ */

static cra_status freeze(prover *p, bool with_digests, cra_error *err)
{
    const char *revision_field = cra_config_text(cra_engine_config(p->engine), "hot.revision_field");
    const cra_status status =
        cra_frozen_list_make(p->engine, p->run, p->request->list_path, with_digests ? &p->rule : NULL, revision_field,
                             p->hot, p->request->guard, &p->out->list, err);

    p->out->records_hot = p->out->list.count;
    return status;
}

static cra_status prove_count(prover *p, cra_error *err)
{
    char text[160];

    cra_status status = freeze(p, false, err);
    for (size_t i = 0; status == CRA_OK && i < p->set->manifest.parts_count; i++) {
        cra_manifest_part *part = &p->set->manifest.parts[i];
        int64_t records;

        status = cra_archive_part_count(p->set, i, &records, err);
        if (status == CRA_OK && p->set->origin == CRA_ARCHIVE_FOREIGN) {
            /* No manifest: the count of all records stands for that of distinct ids. */
            part->records = records;
            p->set->manifest.distinct_ids = (i == 0 ? 0 : p->set->manifest.distinct_ids) + records;
        } else if (status == CRA_OK && records != part->records)
            status = cra_error_set(err, CRA_CORRUPT, "archive", "%s holds %lld records, its manifest says %lld",
                                   part->name, (long long)records, (long long)part->records);
    }
    if (status != CRA_OK)
        return status;
    p->out->records_archived = p->set->manifest.distinct_ids;
    if (p->out->records_hot == p->set->manifest.distinct_ids)
        return CRA_OK;
    snprintf(text, sizeof text, "the hot store has %lld records, the archive %lld", (long long)p->out->records_hot,
             (long long)p->set->manifest.distinct_ids);
    return verdict(p->out, CRA_ITEM_BAD, CRA_REASON_COUNT_DIFFERS, text);
}

static cra_status prove_by_digests(prover *p, cra_error *err)
{
    offenders found;
    const cra_allocator *allocator = cra_engine_allocator(p->engine);
    const cra_config *config = cra_engine_config(p->engine);
    const char *folder = cra_config_text(config, "spool.folder");
    /* Two sorters share the memory. */
    const int64_t memory = cra_config_int(config, "verify.memory", DEFAULT_MEMORY) / 2;

    memset(&found, 0, sizeof found);
    cra_status status = cra_digest_sorter_new(allocator, folder, memory, &p->hot, err);
    if (status == CRA_OK)
        status = cra_digest_sorter_new(allocator, folder, memory, &p->archived, err);
    if (status == CRA_OK)
        status = probe_archive(p, err);
    if (status == CRA_OK && p->archive_lacks_ids) {
        if (p->out->level == CRA_VERIFY_IDS && p->request->level == CRA_VERIFY_IDS)
            return verdict(p->out, CRA_ITEM_BAD, CRA_REASON_IDS_MISSING,
                           "archived records carry no _id: verify with level content");
        p->out->level = CRA_VERIFY_CONTENT;
        p->rule.without_id = true;
    }
    if (status == CRA_OK && p->archive_lacks_run)
        p->rule.without_run = cra_engine_run_field(p->engine);
    if (status == CRA_OK)
        status = freeze(p, true, err);
    if (status == CRA_OK)
        status = read_archive(p, err);
    if (status == CRA_EXISTS)
        return verdict(p->out, CRA_ITEM_BAD, CRA_REASON_FOREIGN_RUN, err->message);
    if (status == CRA_OK)
        status = compare_streams(p, &found, err);
    if (status == CRA_OK && found.count[0] + found.count[1] + found.count[2] > 0)
        status = report_offenders(p, &found, err);
    return status;
}

cra_status cra_inclusion_prove(cra_engine *engine, const cra_run_doc *run, cra_archive_set *set,
                               const cra_inclusion_request *request, cra_inclusion *out, cra_error *err)
{
    prover p = {.engine = engine, .run = run, .set = set, .request = request, .out = out};
    cra_error cause;

    memset(out, 0, sizeof *out);
    cra_error_clear(&cause);
    out->records_archived = -1;
    out->duplicates = -1;
    out->records_hot = -1;
    out->level = resolve_level(&p);
    if (out->level == CRA_VERIFY_COUNT && request->remainder)
        out->level = CRA_VERIFY_IDS;
    read_ignored_fields(&p);
    cra_buf_init(&p.scratch, cra_engine_allocator(engine));

    cra_status status = CRA_OK;
    if (out->level == CRA_VERIFY_TRUST) {
        status = freeze(&p, false, &cause);
    } else {
        if (set->reason == CRA_REASON_NONE)
            status = cra_archive_set_check_parts(set, &cause);
        if (status == CRA_OK && set->reason != CRA_REASON_NONE)
            verdict(out, set->reason == CRA_REASON_UNREADABLE ? CRA_ITEM_UNKNOWN : CRA_ITEM_BAD, set->reason,
                    set->detail);
        else if (status == CRA_OK && out->level == CRA_VERIFY_COUNT)
            status = prove_count(&p, &cause);
        else if (status == CRA_OK)
            status = prove_by_digests(&p, &cause);
    }
    cra_digest_sorter_free(p.hot);
    cra_digest_sorter_free(p.archived);
    cra_buf_cleanup(&p.scratch);
    return status == CRA_OK ? CRA_OK : verdict_of_failure(out, status, &cause, err);
}

/* ---- a run that has left the hot store ------------------------------------------------------- */

static cra_status self_check_part(cra_archive_set *set, size_t index, bool by_content, cra_inclusion *out,
                                  cra_error *err)
{
    const cra_manifest_part *expect = &set->manifest.parts[index];
    int64_t records = 0;
    cra_status status;

    if (!by_content) {
        status = cra_archive_part_count(set, index, &records, err);
    } else {
        cra_archive_part *part = NULL;
        cra_doc_batch batch;

        status = cra_archive_part_open(set, index, false, &part, err);
        while (status == CRA_OK && (status = cra_archive_part_next(part, &batch, NULL, err)) == CRA_OK)
            records += (int64_t)batch.count;
        if (status == CRA_DONE)
            status = CRA_OK;
        if (status == CRA_OK && part != NULL && expect->sha256[0] != '\0' &&
            strcmp(expect->sha256, cra_archive_part_sha256(part)) != 0)
            status = cra_error_set(err, CRA_CORRUPT, "archive",
                                   "%s is not the file that its manifest names: its SHA-256 differs", expect->name);
        cra_archive_part_free(part);
    }
    if (status == CRA_OK && expect->records >= 0 && records != expect->records)
        status = cra_error_set(err, CRA_CORRUPT, "archive", "%s holds %lld records, its manifest says %lld",
                               expect->name, (long long)records, (long long)expect->records);
    out->records_archived += records;
    return status;
}

cra_status cra_archive_set_self_check(cra_archive_set *set, cra_verify_level level, cra_inclusion *out, cra_error *err)
{
    const bool by_content = level == CRA_VERIFY_CONTENT || set->filter_by_run;
    cra_error cause;

    memset(out, 0, sizeof *out);
    cra_error_clear(&cause);
    out->records_hot = -1;
    out->duplicates = -1;
    out->level = level == CRA_VERIFY_AUTO ? CRA_VERIFY_COUNT : level;

    cra_status status = set->reason == CRA_REASON_NONE ? cra_archive_set_check_parts(set, &cause) : CRA_OK;
    if (status == CRA_OK && set->reason != CRA_REASON_NONE)
        return verdict(out, set->reason == CRA_REASON_UNREADABLE ? CRA_ITEM_UNKNOWN : CRA_ITEM_BAD, set->reason,
                       set->detail);
    for (size_t i = 0; status == CRA_OK && i < set->manifest.parts_count; i++)
        status = self_check_part(set, i, by_content, out, &cause);
    if (status != CRA_OK)
        return verdict_of_failure(out, status, &cause, err);
    if (set->manifest.distinct_ids >= 0 && out->records_archived >= 0 &&
        set->manifest.records >= 0 && out->records_archived != set->manifest.records && !set->filter_by_run)
        return verdict(out, CRA_ITEM_BAD, CRA_REASON_COUNT_DIFFERS, "the parts do not add up to the manifest's count");
    return CRA_OK;
}
