/* SPDX-License-Identifier: Apache-2.0 */

/* Avro container files of anyone; those in our own profiles give back the BSON they were made from. */

#include <stdio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "ops/input.h"

#define ORIGIN "import"

struct avro_input {
    const cra_allocator *allocator;
    cra_input_bytes *bytes;
    cra_avro_reader *reader;
    cra_doc_batch batch;
    size_t dead; /* dead letters told so far */
    char refused[400];
};

/* The container's bytes: what was looked at already, then the rest. */
static cra_status read_window(void *user, void *buffer, size_t capacity, size_t *got, cra_error *err)
{
    cra_input_bytes *bytes = user;
    cra_bytes view;

    CRA_TRY(cra_input_bytes_fill(bytes, 1, err));
    view = cra_input_bytes_view(bytes);
    *got = view.size < capacity ? view.size : capacity;
    if (*got > 0)
        memcpy(buffer, view.data, *got);
    cra_input_bytes_consume(bytes, *got);
    return CRA_OK;
}

/* Put the file's name in front of what the codec says. */
static cra_status name_file(const struct avro_input *self, cra_status status, const cra_error *why, cra_error *err)
{
    if (err == NULL)
        return status;
    *err = *why;
    snprintf(err->message, sizeof(err->message), "%.200s: %.300s", self->bytes->name, why->message);
    return status;
}

static void close_avro(void *user)
{
    struct avro_input *self = user;

    cra_avro_reader_free(self->reader);
    cra_free(self->allocator, self);
}

static cra_status open_avro(const cra_allocator *allocator, cra_input_bytes *bytes, const cra_avro_options *avro,
                            void **out, cra_error *err)
{
    struct avro_input *self = cra_calloc(allocator, 1, sizeof(*self));
    const cra_source source = {sizeof(source), read_window, NULL, bytes};
    const cra_bytes no_schema = {NULL, 0};
    cra_error why;
    cra_status status;

    if (self == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory to read");
    self->allocator = allocator;
    self->bytes = bytes;
    cra_error_clear(&why);
    status = cra_avro_reader_open(allocator, avro, &source, no_schema, &self->reader, &why);
    if (status == CRA_OK) {
        *out = self;
        return CRA_OK;
    }
    if (status != CRA_DONE)
        status = name_file(self, status, &why, err);
    close_avro(self);
    return status;
}

static cra_status next_batch(struct avro_input *self, cra_error *err)
{
    cra_error why;
    cra_status status;

    cra_error_clear(&why);
    memset(&self->batch, 0, sizeof(self->batch));
    self->dead = 0;
    status = cra_avro_reader_next(self->reader, &self->batch, &why);
    return status == CRA_OK || status == CRA_DONE ? status : name_file(self, status, &why, err);
}

static void tell_dead(struct avro_input *self, cra_input_record *out)
{
    const cra_dead_letter *dead = &self->batch.dead[self->dead++];

    snprintf(self->refused, sizeof(self->refused), "%.100s, block at offset %lld, record %lld: %.160s",
             self->bytes->name, (long long)dead->block_offset, (long long)dead->record, dead->reason);
    out->refused = self->refused;
    out->bytes = (size_t)dead->byte_size;
}

static cra_status next_avro(void *user, cra_input_record *out, cra_error *err)
{
    struct avro_input *self = user;

    for (;;) {
        cra_status status = cra_bson_next_document(&self->batch.documents, &out->document);
        if (status == CRA_OK) {
            out->bytes = out->document.size;
            return CRA_OK;
        }
        if (status != CRA_DONE)
            return cra_error_set(err, CRA_INTERNAL, ORIGIN, "%s: a decoded block is not whole", self->bytes->name);
        if (self->dead < self->batch.dead_count) {
            tell_dead(self, out);
            return CRA_OK;
        }
        CRA_TRY(next_batch(self, err));
    }
}

const cra_input_format cra_input_avro = {open_avro, next_avro, close_avro};
