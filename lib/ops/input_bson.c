/* SPDX-License-Identifier: Apache-2.0 */

/* Concatenated BSON documents, as mongodump writes them. */

#include <stdio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "ops/input.h"

#define ORIGIN "import"
#define MIN_DOCUMENT 5

struct bson_input {
    const cra_allocator *allocator;
    cra_input_bytes *bytes;
    size_t pending; /* bytes of the document handed out last */
    char refused[400];
};

static cra_status open_bson(const cra_allocator *allocator, cra_input_bytes *bytes, const cra_avro_options *avro,
                            void **out, cra_error *err)
{
    struct bson_input *self = cra_calloc(allocator, 1, sizeof(*self));

    (void)avro;
    if (self == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory to read");
    self->allocator = allocator;
    self->bytes = bytes;
    *out = self;
    return CRA_OK;
}

static void close_bson(void *user)
{
    struct bson_input *self = user;

    cra_free(self->allocator, self);
}

static cra_status corrupt(const struct bson_input *self, const char *what, cra_error *err)
{
    return cra_error_set(err, CRA_CORRUPT, ORIGIN, "%s: %s at offset %lld", self->bytes->name, what,
                         (long long)self->bytes->offset);
}

/* The length that the next document claims; CRA_DONE at the end of the file. */
static cra_status next_length(struct bson_input *self, size_t *out, cra_error *err)
{
    cra_bytes view;

    CRA_TRY(cra_input_bytes_fill(self->bytes, 4, err));
    view = cra_input_bytes_view(self->bytes);
    if (view.size == 0)
        return CRA_DONE;
    if (view.size < 4)
        return corrupt(self, "the file is cut inside a document", err);
    *out = (size_t)view.data[0] | (size_t)view.data[1] << 8 | (size_t)view.data[2] << 16 | (size_t)view.data[3] << 24;
    if (*out < MIN_DOCUMENT || *out > CRA_INPUT_MAX_RECORD)
        return corrupt(self, "no BSON document", err);
    return CRA_OK;
}

/* What cannot be walked makes everything behind it doubtful; bad text harms its own document alone. */
static cra_status check_document(struct bson_input *self, cra_input_record *out, cra_error *err)
{
    cra_error why;

    cra_error_clear(&why);
    if (cra_bson_validate(out->document, 0, &why) != CRA_OK)
        return cra_error_set(err, CRA_CORRUPT, ORIGIN, "%s: no BSON document at offset %lld: %s", self->bytes->name,
                             (long long)self->bytes->offset, why.message);
    if (cra_bson_validate(out->document, CRA_BSON_CHECK_UTF8, &why) == CRA_OK)
        return CRA_OK;
    snprintf(self->refused, sizeof(self->refused), "%.100s, offset %lld: %.200s", self->bytes->name,
             (long long)self->bytes->offset, why.message);
    out->refused = self->refused;
    out->document = cra_bytes_of(NULL, 0);
    return CRA_OK;
}

static cra_status next_bson(void *user, cra_input_record *out, cra_error *err)
{
    struct bson_input *self = user;
    size_t length = 0;

    cra_input_bytes_consume(self->bytes, self->pending);
    self->pending = 0;
    CRA_TRY(next_length(self, &length, err));
    CRA_TRY(cra_input_bytes_fill(self->bytes, length, err));
    out->document = cra_input_bytes_view(self->bytes);
    if (out->document.size < length)
        return corrupt(self, "the file is cut inside the document", err);
    out->document.size = length;
    out->bytes = length;
    self->pending = length;
    return check_document(self, out, err);
}

const cra_input_format cra_input_bson = {open_bson, next_bson, close_bson};
