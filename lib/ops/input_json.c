/* SPDX-License-Identifier: Apache-2.0 */

/* JSON in any of its common shapes: one array of objects, an object a line, objects one behind the other, or several
 * of these. Only the extent of an object is found here; extended JSON is the codec's. */

#include "base/alloc.h"
#include "base/buf.h"
#include "ops/input.h"

#define ORIGIN "import"

/* What may come next. */
enum place {
    PLACE_TOP,         /* an object, '[' or the end */
    PLACE_FIRST,       /* behind '[': an object or ']' */
    PLACE_BEHIND_ITEM, /* behind an object in an array: ',' or ']' */
    PLACE_ITEM         /* behind ',': an object */
};

struct json_input {
    const cra_allocator *allocator;
    cra_input_bytes *bytes;
    enum place place;
    int64_t line; /* of the next byte, from 1 */
    cra_buf document;
    bool started;
};

static cra_status open_json(const cra_allocator *allocator, cra_input_bytes *bytes, const cra_avro_options *avro,
                            void **out, cra_error *err)
{
    struct json_input *self = cra_calloc(allocator, 1, sizeof(*self));

    (void)avro;
    if (self == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "no memory to read");
    self->allocator = allocator;
    self->bytes = bytes;
    self->line = 1;
    cra_buf_init(&self->document, allocator);
    *out = self;
    return CRA_OK;
}

static void close_json(void *user)
{
    struct json_input *self = user;

    cra_buf_cleanup(&self->document);
    cra_free(self->allocator, self);
}

static cra_status corrupt(const struct json_input *self, const char *what, cra_error *err)
{
    return cra_error_set(err, CRA_CORRUPT, ORIGIN, "%s, line %lld, offset %lld: %s", self->bytes->name,
                         (long long)self->line, (long long)self->bytes->offset, what);
}

static void consume(struct json_input *self, size_t count)
{
    const cra_bytes view = cra_input_bytes_view(self->bytes);

    for (size_t i = 0; i < count; i++)
        self->line += view.data[i] == '\n';
    cra_input_bytes_consume(self->bytes, count);
}

static cra_status skip_bom(struct json_input *self, cra_error *err)
{
    cra_bytes view;

    self->started = true;
    CRA_TRY(cra_input_bytes_fill(self->bytes, 3, err));
    view = cra_input_bytes_view(self->bytes);
    if (view.size >= 3 && memcmp(view.data, "\xEF\xBB\xBF", 3) == 0)
        consume(self, 3);
    return CRA_OK;
}

/* The next byte that is no white space, not consumed; '\0' at the end of the file. */
static cra_status peek(struct json_input *self, char *out, cra_error *err)
{
    for (;;) {
        cra_bytes view;
        size_t blank = 0;
        CRA_TRY(cra_input_bytes_fill(self->bytes, 1, err));
        view = cra_input_bytes_view(self->bytes);
        while (blank < view.size && (view.data[blank] == ' ' || view.data[blank] == '\t' || view.data[blank] == '\n' ||
                                     view.data[blank] == '\r'))
            blank++;
        consume(self, blank);
        if (blank < view.size || view.size == 0) {
            *out = view.size == 0 ? '\0' : (char)view.data[blank];
            if (view.size != 0 && *out == '\0')
                return corrupt(self, "a NUL byte where JSON was expected", err);
            return CRA_OK;
        }
    }
}

/* Walk the brackets until an object begins. CRA_DONE at a clean end. */
static cra_status find_object(struct json_input *self, cra_error *err)
{
    for (;;) {
        char next;
        CRA_TRY(peek(self, &next, err));
        switch (next) {
        case '\0':
            return self->place == PLACE_TOP ? CRA_DONE : corrupt(self, "the file is cut inside an array", err);
        case '{':
            return self->place == PLACE_BEHIND_ITEM ? corrupt(self, "',' or ']' was expected", err) : CRA_OK;
        case '[':
            if (self->place != PLACE_TOP)
                return corrupt(self, "a record must be an object, not an array", err);
            self->place = PLACE_FIRST;
            break;
        case ']':
            if (self->place != PLACE_FIRST && self->place != PLACE_BEHIND_ITEM)
                return corrupt(self, "']' without an array", err);
            self->place = PLACE_TOP;
            break;
        case ',':
            if (self->place != PLACE_BEHIND_ITEM)
                return corrupt(self, "',' where a record was expected", err);
            self->place = PLACE_ITEM;
            break;
        default:
            return corrupt(self, "a record must be a JSON object", err);
        }
        consume(self, 1);
    }
}

/* How far the object at the window's start goes. Strings are skipped whole, so that braces in them do not count. */
static cra_status measure(struct json_input *self, size_t *out, cra_error *err)
{
    bool in_string = false, escaped = false;
    size_t depth = 0;

    for (size_t at = 0;; at++) {
        cra_bytes view = cra_input_bytes_view(self->bytes);
        if (at == view.size) {
            CRA_TRY(cra_input_bytes_more(self->bytes, err));
            view = cra_input_bytes_view(self->bytes);
            if (at == view.size)
                return corrupt(self, "the file is cut inside the object that begins here", err);
        }
        if (at > CRA_INPUT_MAX_RECORD)
            return corrupt(self, "the object that begins here is larger than 64 MiB", err);
        const uint8_t byte = view.data[at];
        if (in_string) {
            in_string = escaped || byte != '"';
            escaped = !escaped && byte == '\\';
        } else if (byte == '"') {
            in_string = true;
        } else if (byte == '{' || byte == '[') {
            depth++;
        } else if ((byte == '}' || byte == ']') && --depth == 0) {
            *out = at + 1;
            return CRA_OK;
        }
    }
}

static cra_status parse(struct json_input *self, size_t size, cra_error *err)
{
    const cra_bytes text = {cra_input_bytes_view(self->bytes).data, size};
    cra_error why;
    cra_status status;

    cra_error_clear(&why);
    cra_buf_clear(&self->document);
    status = cra_bson_from_json(text, &self->document, NULL, &why);
    if (status == CRA_NOMEM)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "%s: no memory for a record", self->bytes->name);
    if (status == CRA_OK)
        return CRA_OK;
    return cra_error_set(err, CRA_CORRUPT, ORIGIN, "%s: in the object that begins on line %lld, offset %lld: %s",
                         self->bytes->name, (long long)self->line, (long long)self->bytes->offset, why.message);
}

static cra_status next_json(void *user, cra_input_record *out, cra_error *err)
{
    struct json_input *self = user;
    size_t size = 0;

    if (!self->started)
        CRA_TRY(skip_bom(self, err));
    CRA_TRY(find_object(self, err));
    CRA_TRY(measure(self, &size, err));
    CRA_TRY(parse(self, size, err));
    consume(self, size);
    if (self->place != PLACE_TOP)
        self->place = PLACE_BEHIND_ITEM;
    out->document = cra_buf_bytes(&self->document);
    out->bytes = self->document.size;
    return CRA_OK;
}

const cra_input_format cra_input_json = {open_json, next_json, close_json};
