/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/hot_writer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "ops/engine_internal.h"
#include "ops/record.h"

#define ORIGIN "hot store"
#define DEFAULT_BATCH_DOCS 1000
#define DEFAULT_BATCH_BYTES (8 * 1024 * 1024)
/* Hot records are about as large as ours: so many are fetched at once as fit in memory in any case. */
#define FETCH_DOCS 256
#define FETCH_BYTES (4 * 1024 * 1024)
#define ATTEMPTS 4
#define FIRST_PAUSE_MS 100
#define DETAIL_SIZE 480
#define DETAIL_NAMED 5

/* One record of the batch. */
struct row {
    size_t offset, size; /* in `documents` */
    bool settled;        /* counted already */
};

/* A row whose `_id` the store has; sorted by digest while fetched records are matched. */
struct lookup {
    cra_digest id;
    size_t row;
};

struct cra_hot_writer {
    cra_engine *engine;
    cra_context *context;
    cra_docstore *docstore;
    const cra_allocator *allocator;
    const char *collection;
    int64_t batch_docs, batch_bytes, max_document_bytes;
    bool compare_only;
    cra_hot_admit_fn admit;
    void *user;
    cra_buf documents;
    struct row *rows;
    size_t rows_count;
    cra_bytes *views; /* batch_docs of each of these */
    cra_write_result *results;
    size_t *sent; /* row of each view */
    struct lookup *lookups;
    size_t lookups_count;
    cra_value *ids;
    cra_buf fetched, normal, scratch;
    cra_hot_counts counts;
    char detail[DETAIL_SIZE];
    int64_t named, unnamed;
};

static int64_t smaller(int64_t wanted, int64_t fallback, int64_t limit)
{
    const int64_t size = wanted > 0 ? wanted : fallback;

    return limit > 0 && size > limit ? limit : size;
}

static cra_status allocate(cra_hot_writer *writer, cra_error *err)
{
    const size_t count = (size_t)writer->batch_docs;

    writer->rows = cra_calloc(writer->allocator, count, sizeof(*writer->rows));
    writer->views = cra_calloc(writer->allocator, count, sizeof(*writer->views));
    writer->results = cra_calloc(writer->allocator, count, sizeof(*writer->results));
    writer->sent = cra_calloc(writer->allocator, count, sizeof(*writer->sent));
    writer->lookups = cra_calloc(writer->allocator, count, sizeof(*writer->lookups));
    writer->ids = cra_calloc(writer->allocator, FETCH_DOCS, sizeof(*writer->ids));
    if (writer->rows == NULL || writer->views == NULL || writer->results == NULL || writer->sent == NULL ||
        writer->lookups == NULL || writer->ids == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a batch of %lld records", (long long)count);
    return CRA_OK;
}

cra_status cra_hot_writer_new(cra_engine *engine, const char *collection, int64_t batch_docs, int64_t batch_bytes,
                              bool compare_only, cra_hot_admit_fn admit, void *user, cra_hot_writer **out,
                              cra_error *err)
{
    const cra_allocator *allocator = cra_engine_allocator(engine);
    cra_docstore_limits limits = {.struct_size = sizeof(limits)};
    cra_hot_writer *writer;
    cra_status status;

    *out = NULL;
    CRA_TRY(cra_docstore_get_limits(cra_engine_docstore(engine), &limits, err));
    writer = cra_calloc(allocator, 1, sizeof(*writer));
    if (writer == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a batch");
    writer->engine = engine;
    writer->context = cra_engine_context(engine);
    writer->docstore = cra_engine_docstore(engine);
    writer->allocator = allocator;
    writer->collection = collection;
    writer->batch_docs = smaller(batch_docs, DEFAULT_BATCH_DOCS, limits.max_batch_docs);
    writer->batch_bytes = smaller(batch_bytes, DEFAULT_BATCH_BYTES, limits.max_batch_bytes);
    writer->max_document_bytes = smaller(limits.max_document_bytes, CRA_BSON_MAX_DOCUMENT_BYTES, 0);
    writer->compare_only = compare_only;
    writer->admit = admit;
    writer->user = user;
    cra_buf_init(&writer->documents, allocator);
    cra_buf_init(&writer->fetched, allocator);
    cra_buf_init(&writer->normal, allocator);
    cra_buf_init(&writer->scratch, allocator);
    status = allocate(writer, err);
    if (status != CRA_OK) {
        cra_hot_writer_free(writer);
        return status;
    }
    *out = writer;
    return CRA_OK;
}

void cra_hot_writer_free(cra_hot_writer *writer)
{
    const cra_allocator *allocator;

    if (writer == NULL)
        return;
    allocator = writer->allocator;
    cra_buf_cleanup(&writer->documents);
    cra_buf_cleanup(&writer->fetched);
    cra_buf_cleanup(&writer->normal);
    cra_buf_cleanup(&writer->scratch);
    cra_free(allocator, writer->rows);
    cra_free(allocator, writer->views);
    cra_free(allocator, writer->results);
    cra_free(allocator, writer->sent);
    cra_free(allocator, writer->lookups);
    cra_free(allocator, writer->ids);
    cra_free(allocator, writer);
}

const cra_hot_counts *cra_hot_writer_counts(const cra_hot_writer *writer)
{
    return &writer->counts;
}

/* ---- naming what failed ----------------------------------------------------------------------- */

static void add_detail(cra_hot_writer *writer, const char *text)
{
    const size_t used = strlen(writer->detail);

    snprintf(writer->detail + used, sizeof(writer->detail) - used, "%s%s", used > 0 ? "; " : "", text);
}

/* "_id 5: why". Ids that cannot be written down for lack of memory are still counted. */
static void name_record(cra_hot_writer *writer, cra_value id, const char *why)
{
    char line[DETAIL_SIZE / 2];
    const char *text = "none";

    if (writer->named >= DETAIL_NAMED) {
        writer->unnamed++;
        return;
    }
    cra_buf_clear(&writer->scratch);
    if (id.type != 0 && cra_value_to_json(id, CRA_JSON_RELAXED, &writer->scratch, NULL) == CRA_OK)
        text = cra_buf_cstr(&writer->scratch);
    snprintf(line, sizeof(line), "_id %.80s: %s", text != NULL ? text : "?", why);
    writer->named++;
    add_detail(writer, line);
}

const char *cra_hot_writer_detail(const cra_hot_writer *writer)
{
    return writer->detail[0] != '\0' ? writer->detail : NULL;
}

void cra_hot_writer_refuse(cra_hot_writer *writer, cra_value id, size_t bytes, const char *why)
{
    writer->counts.read++;
    writer->counts.bytes += (int64_t)bytes;
    writer->counts.failed++;
    name_record(writer, id, why);
}

void cra_hot_writer_skip(cra_hot_writer *writer, int64_t records, int64_t bytes)
{
    writer->counts.read += records;
    writer->counts.bytes += bytes;
    writer->counts.unsent += records;
}

/* ---- rows ------------------------------------------------------------------------------------- */

static cra_bytes row_bytes(const cra_hot_writer *writer, size_t row)
{
    return cra_bytes_of(writer->documents.data + writer->rows[row].offset, writer->rows[row].size);
}

static cra_value document_id(cra_bytes document)
{
    cra_value id = {0, NULL, 0};

    if (cra_bson_find(document, "_id", 3, &id) != CRA_OK)
        id.type = 0;
    return id;
}

static void settle(cra_hot_writer *writer, size_t row, int64_t *counter)
{
    writer->rows[row].settled = true;
    (*counter)++;
}

static void settle_failed(cra_hot_writer *writer, size_t row, const char *why)
{
    settle(writer, row, &writer->counts.failed);
    name_record(writer, document_id(row_bytes(writer, row)), why);
}

/* What is left of the batch was not written, as far as is known. */
void cra_hot_writer_abandon(cra_hot_writer *writer)
{
    for (size_t i = 0; i < writer->rows_count; i++) {
        if (!writer->rows[i].settled)
            settle(writer, i, &writer->counts.unsent);
    }
    writer->rows_count = 0;
    cra_buf_clear(&writer->documents);
}

/* ---- records that are there already ----------------------------------------------------------- */

static int compare_lookups(const void *a, const void *b)
{
    const struct lookup *left = a, *right = b;
    const int order = memcmp(left->id.bytes, right->id.bytes, sizeof(left->id.bytes));

    return order != 0 ? order : (left->row > right->row) - (left->row < right->row);
}

static cra_status add_lookup(cra_hot_writer *writer, size_t row)
{
    struct lookup *lookup = &writer->lookups[writer->lookups_count];

    lookup->row = row;
    CRA_TRY(cra_record_id_digest(document_id(row_bytes(writer, row)), &lookup->id, &writer->scratch));
    writer->lookups_count++;
    return CRA_OK;
}

/* First of the lookups [from, to) with this id; `to` where none. */
static size_t find_lookup(const cra_hot_writer *writer, size_t from, size_t to, const cra_digest *id)
{
    const size_t end = to;

    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (memcmp(writer->lookups[middle].id.bytes, id->bytes, sizeof(id->bytes)) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from < end && memcmp(writer->lookups[from].id.bytes, id->bytes, sizeof(id->bytes)) == 0 ? from : end;
}

static cra_status match_fetched(cra_hot_writer *writer, cra_bytes document, size_t from, size_t to)
{
    cra_digest id;

    cra_buf_clear(&writer->normal);
    CRA_TRY(cra_bson_id_first(document, &writer->normal));
    CRA_TRY(cra_record_id_digest(document_id(document), &id, &writer->scratch));
    for (size_t i = find_lookup(writer, from, to, &id);
         i < to && memcmp(writer->lookups[i].id.bytes, id.bytes, sizeof(id.bytes)) == 0; i++) {
        const size_t row = writer->lookups[i].row;
        if (writer->rows[row].settled)
            continue;
        if (cra_bytes_equal(row_bytes(writer, row), cra_buf_bytes(&writer->normal))) {
            settle(writer, row, &writer->counts.identical);
        } else {
            settle(writer, row, &writer->counts.conflict);
            name_record(writer, document_id(row_bytes(writer, row)), "the hot store holds other bytes");
        }
    }
    return CRA_OK;
}

/* Fetch the ids of lookups [from, to) and settle their rows; rows that are not there stay open. */
static cra_status fetch_group(cra_hot_writer *writer, size_t from, size_t to, cra_error *err)
{
    cra_bytes stream, document;
    size_t count = 0;
    cra_status status;

    for (size_t i = from; i < to; i++) {
        if (i > from && memcmp(&writer->lookups[i].id, &writer->lookups[i - 1].id, sizeof(cra_digest)) == 0)
            continue;
        writer->ids[count++] = document_id(row_bytes(writer, writer->lookups[i].row));
    }
    cra_buf_clear(&writer->fetched);
    CRA_TRY(cra_docstore_fetch(writer->docstore, writer->collection, writer->ids, count, &writer->fetched, err));
    stream = cra_buf_bytes(&writer->fetched);
    while ((status = cra_bson_next_document(&stream, &document)) == CRA_OK) {
        status = match_fetched(writer, document, from, to);
        if (status != CRA_OK)
            return cra_error_set(err, status, ORIGIN, "collection %s: a record cannot be compared", writer->collection);
    }
    if (status != CRA_DONE)
        return cra_error_set(err, status, ORIGIN, "collection %s: a record is not whole", writer->collection);
    return CRA_OK;
}

/* Groups end between ids, so that rows of one id see one fetch. */
static cra_status fetch_lookups(cra_hot_writer *writer, cra_error *err)
{
    qsort(writer->lookups, writer->lookups_count, sizeof(*writer->lookups), compare_lookups);
    for (size_t from = 0; from < writer->lookups_count;) {
        size_t to = from, distinct = 0, bytes = 0;
        while (to < writer->lookups_count) {
            const bool again =
                to > from && memcmp(&writer->lookups[to].id, &writer->lookups[to - 1].id, sizeof(cra_digest)) == 0;
            if (!again && (distinct == FETCH_DOCS || bytes > FETCH_BYTES))
                break;
            distinct += again ? 0 : 1;
            bytes += writer->rows[writer->lookups[to].row].size;
            to++;
        }
        CRA_TRY(fetch_group(writer, from, to, err));
        from = to;
    }
    return CRA_OK;
}

/* ---- writing ---------------------------------------------------------------------------------- */

/* Sort the answers: what is settled is counted, what the store may have is looked up. */
static cra_status read_results(cra_hot_writer *writer, size_t count, cra_error *err)
{
    writer->lookups_count = 0;
    for (size_t i = 0; i < count; i++) {
        const cra_write_result *result = &writer->results[i];
        switch (result->outcome) {
        case CRA_WRITE_NEW:
            settle(writer, writer->sent[i], &writer->counts.fresh);
            break;
        case CRA_WRITE_FAILED:
            settle_failed(writer, writer->sent[i], result->message[0] != '\0' ? result->message : "refused");
            break;
        case CRA_WRITE_ID_EXISTS:
        case CRA_WRITE_UNKNOWN:
            if (add_lookup(writer, writer->sent[i]) != CRA_OK)
                return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory to compare records");
            break;
        case CRA_WRITE_UNSENT:
        default:
            break;
        }
    }
    return fetch_lookups(writer, err);
}

/* Rows that are not settled yet, in order. */
static size_t gather(cra_hot_writer *writer)
{
    size_t count = 0;

    for (size_t i = 0; i < writer->rows_count; i++) {
        if (writer->rows[i].settled)
            continue;
        writer->views[count] = row_bytes(writer, i);
        writer->sent[count] = i;
        memset(&writer->results[count], 0, sizeof(writer->results[count]));
        count++;
    }
    return count;
}

static cra_status admit(cra_hot_writer *writer, int64_t *deadline_ms, cra_error *err)
{
    *deadline_ms = 0;
    return writer->admit == NULL ? CRA_OK : writer->admit(writer->user, deadline_ms, err);
}

static cra_status compare_batch(cra_hot_writer *writer, cra_error *err)
{
    const size_t count = gather(writer);

    for (size_t i = 0; i < count; i++)
        writer->results[i].outcome = CRA_WRITE_ID_EXISTS;
    return read_results(writer, count, err);
}

/* One attempt. `*open` says how many rows nobody can vouch for yet. */
static cra_status write_once(cra_hot_writer *writer, size_t *open, cra_error *err)
{
    const size_t count = gather(writer);
    int64_t deadline_ms;
    cra_status written, looked_up;

    *open = count;
    if (count == 0)
        return CRA_OK;
    CRA_TRY(admit(writer, &deadline_ms, err));
    if (writer->compare_only) {
        CRA_TRY(compare_batch(writer, err));
        *open = 0;
        return CRA_OK;
    }
    written = cra_docstore_write_batch(writer->docstore, writer->collection, writer->views, count, deadline_ms,
                                       writer->results, err);
    looked_up = read_results(writer, count, written == CRA_OK ? err : NULL);
    *open = gather(writer);
    return written != CRA_OK ? written : looked_up;
}

static bool may_pass(cra_status status)
{
    return status == CRA_TIMEOUT || status == CRA_UNAVAILABLE;
}

/* A store that is away for a moment is asked again; so is one that answered "exists" for a record that was deleted
 * before it could be compared. */
static cra_status write_batch(cra_hot_writer *writer, cra_error *err)
{
    int64_t pause_ms = FIRST_PAUSE_MS;
    cra_error error = {0};
    size_t open = 0;
    cra_status status = CRA_OK;

    for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
        cra_error_clear(&error);
        status = write_once(writer, &open, &error);
        if (status == CRA_OK && open == 0)
            return CRA_OK;
        if (status != CRA_OK && !may_pass(status))
            break;
        if (attempt < ATTEMPTS && status != CRA_OK) {
            cra_context_sleep_ms(writer->context, pause_ms);
            pause_ms *= 2;
        }
    }
    if (status == CRA_OK)
        return cra_error_set(err, CRA_UNAVAILABLE, ORIGIN, "collection %s: %zu records were neither written nor found",
                             writer->collection, open);
    if (err != NULL)
        *err = error;
    return status;
}

cra_status cra_hot_writer_flush(cra_hot_writer *writer, cra_error *err)
{
    cra_status status;

    if (writer->rows_count == 0)
        return CRA_OK;
    status = write_batch(writer, err);
    cra_hot_writer_abandon(writer);
    return status;
}

static cra_status append_row(cra_hot_writer *writer, cra_bytes document, cra_error *err)
{
    struct row *row = &writer->rows[writer->rows_count];

    row->offset = writer->documents.size;
    row->size = document.size;
    row->settled = false;
    if (cra_buf_append(&writer->documents, document.data, document.size) != CRA_OK) {
        writer->counts.unsent++;
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory for a batch");
    }
    writer->rows_count++;
    return CRA_OK;
}

cra_status cra_hot_writer_add(cra_hot_writer *writer, cra_bytes document, cra_error *err)
{
    cra_status status;

    if ((int64_t)document.size > writer->max_document_bytes) {
        cra_hot_writer_refuse(writer, document_id(document), document.size, "larger than the store takes");
        return CRA_OK;
    }
    writer->counts.read++;
    writer->counts.bytes += (int64_t)document.size;
    if (writer->rows_count > 0 && (int64_t)(writer->documents.size + document.size) > writer->batch_bytes) {
        status = cra_hot_writer_flush(writer, err);
        if (status != CRA_OK) {
            writer->counts.unsent++;
            return status;
        }
    }
    CRA_TRY(append_row(writer, document, err));
    if ((int64_t)writer->rows_count < writer->batch_docs && (int64_t)writer->documents.size < writer->batch_bytes)
        return CRA_OK;
    return cra_hot_writer_flush(writer, err);
}
