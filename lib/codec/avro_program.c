/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/avro_program.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/options.h"
#include "codec/avro_default.h"
#include "codec/avro_resolve.h"
#include "codec/avro_schema.h"
#include "codec/profile.h"

#define ORIGIN "avro"

/* A record that was compiled for a reader's node: recursive and repeated types share it. */
typedef struct memo {
    const cra_avro_node *writer, *reader;
    uint32_t body;
} memo;

typedef struct compiler {
    cra_avro_program *p;
    cra_error *err;
    memo *memos;
    size_t memos_count, memos_capacity;
    size_t depth;
    char path[256]; /* of the field at hand, for messages */
} compiler;

static cra_status no_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory");
}

static cra_status compile_value(compiler *c, const cra_avro_node *w, const cra_avro_node *r, uint32_t at);

/* ---- building blocks ------------------------------------------------------------------------- */

static cra_status new_instruction(compiler *c, uint32_t *at)
{
    cra_avro_program *p = c->p;

    if (cra_array_grow(p->allocator, (void **)&p->code, &p->code_capacity, p->code_count + 1, sizeof *p->code) !=
        CRA_OK)
        return no_memory(c->err);
    memset(&p->code[p->code_count], 0, sizeof *p->code);
    *at = (uint32_t)p->code_count++;
    return CRA_OK;
}

/* Room for `count` consecutive refs. */
static cra_status new_refs(compiler *c, size_t count, uint32_t *first)
{
    cra_avro_program *p = c->p;

    if (cra_array_grow(p->allocator, (void **)&p->refs, &p->refs_capacity, p->refs_count + count, sizeof *p->refs) !=
        CRA_OK)
        return no_memory(c->err);
    *first = (uint32_t)p->refs_count;
    p->refs_count += count;
    return CRA_OK;
}

static cra_status new_constant(compiler *c, const void *data, size_t size, uint32_t *at)
{
    *at = (uint32_t)c->p->constants.size;
    return cra_buf_append(&c->p->constants, data, size) == CRA_OK ? CRA_OK : no_memory(c->err);
}

static void set(compiler *c, uint32_t at, cra_op op, uint32_t a, uint32_t b)
{
    cra_instruction *code = &c->p->code[at];

    code->op = (uint8_t)op;
    code->a = a;
    code->b = b;
}

static cra_status set_key(compiler *c, uint32_t at, const char *name)
{
    uint32_t key;
    const size_t size = strlen(name) + 1;

    CRA_TRY(new_constant(c, name, size, &key));
    c->p->code[at].key = key;
    c->p->code[at].key_size = (uint32_t)size;
    if (size > c->p->max_key)
        c->p->max_key = size;
    return CRA_OK;
}

/* The two do not resolve: an error for the whole program. */
static cra_status mismatch(compiler *c, const char *what)
{
    return cra_error_set(c->err, CRA_CONFLICT, ORIGIN, "the schemas do not resolve at %s: %s",
                         c->path[0] != '\0' ? c->path : "the root", what);
}

/* ---- scalars --------------------------------------------------------------------------------- */

/* int or long, by the reader's type and annotation. */
static void compile_integer(compiler *c, const cra_avro_node *w, const cra_avro_node *r, uint32_t at)
{
    const bool narrow = w->type == CRA_AVRO_INT;

    if (r->type == CRA_AVRO_FLOAT || r->type == CRA_AVRO_DOUBLE) {
        set(c, at, narrow ? CRA_OP_INT_AS_DOUBLE : CRA_OP_LONG_AS_DOUBLE, r->type == CRA_AVRO_FLOAT, 0);
        return;
    }
    switch (r->logical) {
    case CRA_LOGICAL_DATE:
        set(c, at, CRA_OP_DATE, 0, 0);
        return;
    case CRA_LOGICAL_TIMESTAMP_MILLIS:
    case CRA_LOGICAL_LOCAL_TIMESTAMP_MILLIS:
        set(c, at, CRA_OP_MILLIS, 0, 0);
        return;
    case CRA_LOGICAL_TIMESTAMP_MICROS:
    case CRA_LOGICAL_LOCAL_TIMESTAMP_MICROS:
    case CRA_LOGICAL_TIMESTAMP_NANOS:
    case CRA_LOGICAL_LOCAL_TIMESTAMP_NANOS:
        if (c->p->options.micros_as_date && !c->p->native) {
            const bool nanos = r->logical == CRA_LOGICAL_TIMESTAMP_NANOS ||
                               r->logical == CRA_LOGICAL_LOCAL_TIMESTAMP_NANOS;
            set(c, at, CRA_OP_FLOOR, nanos ? 1000000 : 1000, 0);
            return;
        }
        break;
    default:
        break;
    }
    set(c, at, !narrow ? CRA_OP_LONG : r->type == CRA_AVRO_LONG ? CRA_OP_INT_AS_LONG : CRA_OP_INT, 0, 0);
}

static void compile_bytes(compiler *c, const cra_avro_node *w, const cra_avro_node *r, uint32_t at)
{
    (void)w;
    if (r->type == CRA_AVRO_STRING)
        set(c, at, r->logical == CRA_LOGICAL_UUID ? CRA_OP_UUID : CRA_OP_STRING, 0, 0);
    else if (r->logical == CRA_LOGICAL_DECIMAL)
        set(c, at, CRA_OP_DECIMAL, 0, (uint32_t)r->scale);
    else if (r->logical == CRA_LOGICAL_BIG_DECIMAL)
        set(c, at, CRA_OP_BIG_DECIMAL, 0, 0);
    else
        set(c, at, CRA_OP_BYTES, 0, 0);
}

static cra_status compile_fixed(compiler *c, const cra_avro_node *r, uint32_t at)
{
    const int64_t size = r->as.fixed_size;

    if (size < 0 || size > CRA_BSON_MAX_DOCUMENT_BYTES)
        return cra_error_set(c->err, CRA_CORRUPT, ORIGIN, "a fixed type of %lld bytes is larger than any document",
                             (long long)size);
    if (r->logical == CRA_LOGICAL_DECIMAL && size > 0)
        set(c, at, CRA_OP_DECIMAL, (uint32_t)size, (uint32_t)r->scale);
    else if (r->logical == CRA_LOGICAL_UUID && size == 16)
        set(c, at, CRA_OP_UUID_FIXED, 0, 0);
    else if (r->logical == CRA_LOGICAL_DURATION && size == 12)
        set(c, at, CRA_OP_DURATION, 0, 0);
    else
        set(c, at, CRA_OP_FIXED, (uint32_t)size, 0);
    return CRA_OK;
}

/* Symbols as BSON strings: length, text, NUL; a ref each. A symbol that the reader lacks is its default, or a failure
 * when it is met: ref UINT32_MAX. */
static cra_status compile_enum(compiler *c, const cra_avro_node *w, const cra_avro_node *r, uint32_t at)
{
    uint32_t first;

    CRA_TRY(new_refs(c, w->count, &first));
    for (size_t i = 0; i < w->count; i++) {
        const char *symbol = w->as.symbols[i];
        bool known = w == r;
        for (size_t j = 0; !known && j < r->count; j++)
            known = strcmp(r->as.symbols[j], symbol) == 0;
        if (!known)
            symbol = r->enum_default;
        uint32_t constant = UINT32_MAX;
        if (symbol != NULL) {
            const uint32_t size = (uint32_t)strlen(symbol) + 1;
            const uint8_t length[4] = {(uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16),
                                       (uint8_t)(size >> 24)};
            uint32_t text;
            CRA_TRY(new_constant(c, length, sizeof length, &constant));
            CRA_TRY(new_constant(c, symbol, size, &text));
        }
        c->p->refs[first + i] = constant;
    }
    set(c, at, CRA_OP_ENUM, first, (uint32_t)w->count);
    return CRA_OK;
}

/* ---- our own profile ------------------------------------------------------------------------- */

/* A node with "cra.type" in a file of ours. CRA_DONE where it is none. */
static cra_status compile_native(compiler *c, const cra_avro_node *w, uint32_t at)
{
    static const struct {
        const char *word;
        cra_op op;
        uint32_t a, b;
    } natives[] = {
        {CRA_TYPE_RAW, CRA_OP_RAW, 0, 0},
        {CRA_TYPE_DOCUMENT, CRA_OP_NATIVE_OPAQUE, CRA_BSON_DOCUMENT, 0},
        {CRA_TYPE_ARRAY, CRA_OP_NATIVE_OPAQUE, CRA_BSON_ARRAY, 0},
        {CRA_TYPE_BINARY, CRA_OP_NATIVE_BINARY, 0, 0},
        {CRA_TYPE_UNDEFINED, CRA_OP_NATIVE_SYMBOL, CRA_BSON_UNDEFINED, 0},
        {CRA_TYPE_OBJECTID, CRA_OP_NATIVE_FIXED, CRA_BSON_OBJECTID, 12},
        {CRA_TYPE_DATE, CRA_OP_MILLIS, 0, 0},
        {CRA_TYPE_NULL, CRA_OP_NATIVE_SYMBOL, CRA_BSON_NULL, 0},
        {CRA_TYPE_REGEX, CRA_OP_NATIVE_REGEX, 0, 0},
        {CRA_TYPE_DBPOINTER, CRA_OP_NATIVE_DBPOINTER, 0, 0},
        {CRA_TYPE_CODE, CRA_OP_NATIVE_TEXT, CRA_BSON_CODE, 0},
        {CRA_TYPE_SYMBOL, CRA_OP_NATIVE_TEXT, CRA_BSON_SYMBOL, 0},
        {CRA_TYPE_CODE_W_SCOPE, CRA_OP_NATIVE_SCOPED, 0, 0},
        {CRA_TYPE_TIMESTAMP, CRA_OP_NATIVE_TIMESTAMP, 0, 0},
        {CRA_TYPE_DECIMAL128, CRA_OP_NATIVE_FIXED, CRA_BSON_DECIMAL128, 16},
        {CRA_TYPE_MINKEY, CRA_OP_NATIVE_SYMBOL, CRA_BSON_MINKEY, 0},
        {CRA_TYPE_MAXKEY, CRA_OP_NATIVE_SYMBOL, CRA_BSON_MAXKEY, 0},
    };

    if (!c->p->native || w->cra_type == NULL)
        return CRA_DONE;
    for (size_t i = 0; i < sizeof natives / sizeof natives[0]; i++) {
        if (strcmp(natives[i].word, w->cra_type) != 0)
            continue;
        /* What is read must be what the mark says: the schema comes from a file. */
        const bool fixed = natives[i].op == CRA_OP_NATIVE_FIXED;
        const bool symbol = natives[i].op == CRA_OP_NATIVE_SYMBOL;
        const bool raw = natives[i].op == CRA_OP_RAW;
        const size_t fields = natives[i].op == CRA_OP_NATIVE_BINARY || natives[i].op == CRA_OP_NATIVE_REGEX ||
                                      natives[i].op == CRA_OP_NATIVE_DBPOINTER ||
                                      natives[i].op == CRA_OP_NATIVE_SCOPED || natives[i].op == CRA_OP_NATIVE_TIMESTAMP
                                  ? 2
                                  : 1;
        if ((fixed && (w->type != CRA_AVRO_FIXED || w->as.fixed_size != (int64_t)natives[i].b)) ||
            (symbol && (w->type != CRA_AVRO_ENUM || w->count != 1)) || (raw && w->type != CRA_AVRO_BYTES) ||
            (!fixed && !symbol && !raw && (w->type != CRA_AVRO_RECORD || w->count != fields)))
            return cra_error_set(c->err, CRA_CORRUPT, ORIGIN, "the schema marks a type as %s that has not its shape",
                                 w->cra_type);
        set(c, at, natives[i].op, natives[i].a, natives[i].b);
        return CRA_OK;
    }
    return cra_error_set(c->err, CRA_UNSUPPORTED, ORIGIN, "the file holds a type of a newer version: %s", w->cra_type);
}

/* ---- composites ------------------------------------------------------------------------------ */

static cra_status new_skip(compiler *c, const cra_avro_node *w, uint32_t at)
{
    cra_avro_program *p = c->p;

    if (cra_array_grow(p->allocator, (void **)&p->skips, &p->skips_capacity, p->skips_count + 1, sizeof *p->skips) !=
        CRA_OK)
        return no_memory(c->err);
    p->skips[p->skips_count] = w;
    set(c, at, CRA_OP_SKIP, (uint32_t)p->skips_count++, 0);
    return CRA_OK;
}

static cra_status compile_field(compiler *c, const cra_avro_field *w, const cra_avro_field *r, uint32_t *at)
{
    const size_t path_size = strlen(c->path);
    const char *name = r->name;

    CRA_TRY(new_instruction(c, at));
    if (c->p->native && w->original != NULL)
        name = w->original;
    CRA_TRY(set_key(c, *at, name));
    snprintf(c->path + path_size, sizeof c->path - path_size, "%s%s", path_size > 0 ? "." : "", r->name);
    const cra_status status = compile_value(c, w->type, r->type, *at);
    c->path[path_size] = '\0';
    return status;
}

/* A field that only the reader has: its default, evaluated now. */
static cra_status compile_default(compiler *c, const cra_avro_field *r, uint32_t *at)
{
    cra_buf value;
    uint8_t type;
    uint32_t constant, size_at;

    if (r->default_json == NULL)
        return cra_error_set(c->err, CRA_CONFLICT, ORIGIN,
                             "the schemas do not resolve: the writer has no field %s%s%s, and it has no default",
                             c->path, c->path[0] != '\0' ? "." : "", r->name);
    CRA_TRY(new_instruction(c, at));
    CRA_TRY(set_key(c, *at, r->name));
    cra_buf_init(&value, c->p->allocator);
    cra_status status = cra_avro_default(r->type, r->default_json, &c->p->options, &type, &value, c->err);
    if (status == CRA_OK) {
        const uint32_t size = (uint32_t)value.size;
        status = new_constant(c, &size, sizeof size, &constant);
        if (status == CRA_OK)
            status = new_constant(c, value.data, value.size, &size_at);
        set(c, *at, CRA_OP_CONST_, type, constant);
    }
    cra_buf_cleanup(&value);
    return status;
}

/* Fields in the writer's order, then defaults in the reader's. */
static cra_status compile_body(compiler *c, const cra_avro_node *w, const cra_avro_node *r, uint32_t body)
{
    size_t count = w->count;
    size_t n = 0;
    uint32_t first;

    for (size_t i = 0; w != r && i < r->count; i++)
        count += !cra_avro_writer_has(w, r, &r->as.fields[i]);
    CRA_TRY(new_refs(c, count, &first));
    for (size_t i = 0; i < w->count; i++) {
        const cra_avro_field *field = &w->as.fields[i];
        const cra_avro_field *wanted = w == r ? field : cra_avro_reader_field(r, field->name);
        uint32_t at;

        if (wanted != NULL) {
            CRA_TRY(compile_field(c, field, wanted, &at));
        } else {
            CRA_TRY(new_instruction(c, &at));
            CRA_TRY(new_skip(c, field->type, at));
        }
        c->p->refs[first + n++] = at;
    }
    for (size_t i = 0; w != r && i < r->count; i++) {
        uint32_t at;
        if (cra_avro_writer_has(w, r, &r->as.fields[i]))
            continue;
        CRA_TRY(compile_default(c, &r->as.fields[i], &at));
        c->p->refs[first + n++] = at;
    }
    c->p->bodies[body] = (cra_body){first, (uint32_t)n};
    return CRA_OK;
}

static cra_status compile_record(compiler *c, const cra_avro_node *w, const cra_avro_node *r, uint32_t at)
{
    cra_avro_program *p = c->p;

    for (size_t i = 0; i < c->memos_count; i++) {
        if (c->memos[i].writer == w && c->memos[i].reader == r) {
            set(c, at, CRA_OP_RECORD, c->memos[i].body, 0);
            return CRA_OK;
        }
    }
    if (cra_array_grow(p->allocator, (void **)&c->memos, &c->memos_capacity, c->memos_count + 1, sizeof *c->memos) !=
            CRA_OK ||
        cra_array_grow(p->allocator, (void **)&p->bodies, &p->bodies_capacity, p->bodies_count + 1,
                       sizeof *p->bodies) != CRA_OK)
        return no_memory(c->err);
    const uint32_t body = (uint32_t)p->bodies_count++;
    p->bodies[body] = (cra_body){0, 0};
    c->memos[c->memos_count++] = (memo){w, r, body};
    set(c, at, CRA_OP_RECORD, body, 0);
    return compile_body(c, w, r, body);
}

/* A branch that the reader cannot take fails only when it is met. */
static cra_status compile_branch(compiler *c, const cra_avro_node *w, const cra_avro_node *r, uint32_t *at)
{
    cra_error cause;
    cra_error *outer = c->err;

    CRA_TRY(new_instruction(c, at));
    if (c->p->native && w->type == CRA_AVRO_NULL) {
        set(c, *at, CRA_OP_ABSENT, 0, 0);
        return CRA_OK;
    }
    cra_error_clear(&cause);
    c->err = &cause;
    cra_status status = compile_value(c, w, r, *at);
    c->err = outer;
    if (status == CRA_CONFLICT && w != r) {
        uint32_t message;
        CRA_TRY(new_constant(c, cause.message, strlen(cause.message) + 1, &message));
        set(c, *at, CRA_OP_FAIL, 0, message);
        return CRA_OK;
    }
    if (status != CRA_OK && outer != NULL)
        *outer = cause;
    return status;
}

static cra_status compile_union(compiler *c, const cra_avro_node *w, const cra_avro_node *r, uint32_t at)
{
    uint32_t first;

    CRA_TRY(new_refs(c, w->count, &first));
    set(c, at, CRA_OP_UNION, first, (uint32_t)w->count);
    for (size_t i = 0; i < w->count; i++) {
        uint32_t branch;
        CRA_TRY(compile_branch(c, w->as.branches[i], w == r ? w->as.branches[i] : r, &branch));
        c->p->refs[first + i] = branch;
    }
    return CRA_OK;
}

static cra_status compile_items(compiler *c, const cra_avro_node *w, const cra_avro_node *r, uint32_t at)
{
    uint32_t item;

    CRA_TRY(new_instruction(c, &item));
    set(c, at, w->type == CRA_AVRO_ARRAY ? CRA_OP_ARRAY : CRA_OP_MAP, item, 0);
    return compile_value(c, w->as.items, r->as.items, item);
}

static cra_status compile_resolved(compiler *c, const cra_avro_node *w, const cra_avro_node *r, uint32_t at)
{
    cra_status status = compile_native(c, w, at);
    if (status != CRA_DONE)
        return status;
    switch (w->type) {
    case CRA_AVRO_NULL:
        set(c, at, CRA_OP_NULL_, 0, 0);
        return CRA_OK;
    case CRA_AVRO_BOOLEAN:
        set(c, at, CRA_OP_BOOL, 0, 0);
        return CRA_OK;
    case CRA_AVRO_INT:
    case CRA_AVRO_LONG:
        compile_integer(c, w, r, at);
        return CRA_OK;
    case CRA_AVRO_FLOAT:
        set(c, at, CRA_OP_FLOAT, 0, 0);
        return CRA_OK;
    case CRA_AVRO_DOUBLE:
        set(c, at, CRA_OP_DOUBLE, 0, 0);
        return CRA_OK;
    case CRA_AVRO_BYTES:
    case CRA_AVRO_STRING:
        compile_bytes(c, w, r, at);
        return CRA_OK;
    case CRA_AVRO_FIXED:
        return compile_fixed(c, r, at);
    case CRA_AVRO_ENUM:
        return compile_enum(c, w, r, at);
    case CRA_AVRO_RECORD:
        return compile_record(c, w, r, at);
    case CRA_AVRO_ARRAY:
    case CRA_AVRO_MAP:
        return compile_items(c, w, r, at);
    case CRA_AVRO_UNION:
        break;
    }
    return cra_error_set(c->err, CRA_INTERNAL, ORIGIN, "a type that cannot be");
}

static cra_status compile_value(compiler *c, const cra_avro_node *w, const cra_avro_node *r, uint32_t at)
{
    cra_status status;

    if (++c->depth > 1000)
        return cra_error_set(c->err, CRA_CORRUPT, ORIGIN, "the schema is nested too deep");
    if (w->type == CRA_AVRO_UNION) {
        status = compile_union(c, w, r, at);
    } else {
        const cra_avro_node *target = r->type == CRA_AVRO_UNION ? cra_avro_reader_branch(w, r) : r;
        /* The name of a record at hand is its place's business: only unions choose by it. */
        const bool fits = target != NULL && (cra_avro_resolves(w, target) > 0 ||
                                             (w->type == target->type && w->type == CRA_AVRO_RECORD));
        status = fits ? compile_resolved(c, w, target, at) : mismatch(c, "the reader has another type there");
    }
    c->depth--;
    return status;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Root of the raw profile: {bson: bytes}. */
static cra_status compile_raw_root(compiler *c, const cra_avro_node *root)
{
    uint32_t at, first;

    if (root->type != CRA_AVRO_RECORD || root->count != 1 || root->as.fields[0].type->type != CRA_AVRO_BYTES)
        return cra_error_set(c->err, CRA_CORRUPT, ORIGIN, "the schema is marked as raw and has not its shape");
    CRA_TRY(new_instruction(c, &c->p->root));
    CRA_TRY(new_instruction(c, &at));
    set(c, at, CRA_OP_RAW, 0, 0);
    CRA_TRY(new_refs(c, 1, &first));
    c->p->refs[first] = at;
    if (cra_array_grow(c->p->allocator, (void **)&c->p->bodies, &c->p->bodies_capacity, 1, sizeof *c->p->bodies) !=
        CRA_OK)
        return no_memory(c->err);
    c->p->bodies[c->p->bodies_count++] = (cra_body){first, 1};
    set(c, c->p->root, CRA_OP_RECORD, 0, 0);
    c->p->root_is_record = true;
    return CRA_OK;
}

static cra_status compile_program(cra_avro_program *p, cra_error *err)
{
    compiler c = {.p = p, .err = err};
    const cra_avro_node *w = cra_avro_schema_root(p->writer);
    const cra_avro_node *r = p->reader != NULL ? cra_avro_schema_root(p->reader) : w;
    const char *profile = cra_avro_schema_profile(p->writer);
    cra_status status;

    if (profile != NULL && strcmp(profile, CRA_PROFILE_TYPED) != 0 && strcmp(profile, CRA_PROFILE_RAW) != 0)
        return cra_error_set(err, CRA_UNSUPPORTED, ORIGIN, "the file has profile '%s' of a newer version", profile);
    p->native = profile != NULL;
    if (p->native)
        r = w;
    if (profile != NULL && strcmp(profile, CRA_PROFILE_RAW) == 0) {
        status = compile_raw_root(&c, w);
    } else {
        status = new_instruction(&c, &p->root);
        if (status == CRA_OK)
            status = compile_value(&c, w, r, p->root);
        p->root_is_record = status == CRA_OK && p->code[p->root].op == CRA_OP_RECORD;
        if (status == CRA_OK && p->native && !p->root_is_record)
            status = cra_error_set(err, CRA_CORRUPT, ORIGIN, "the schema is marked as typed and is no record");
        if (status == CRA_OK && !p->root_is_record)
            status = set_key(&c, p->root, "value");
    }
    cra_free(p->allocator, c.memos);
    return status;
}

cra_status cra_avro_program_new(const cra_allocator *allocator, const cra_avro_options *options,
                                cra_bytes writer_schema, cra_bytes reader_schema, cra_avro_program **out,
                                cra_error *err)
{
    cra_avro_options own = CRA_AVRO_OPTIONS_INIT;

    *out = NULL;
    if (cra_options_read(&own, sizeof own, options) != CRA_OK)
        return cra_error_set(err, CRA_INVALID, ORIGIN, "options of another version of this library");
    cra_avro_program *p = cra_calloc(allocator, 1, sizeof *p);
    if (p == NULL)
        return no_memory(err);
    p->allocator = allocator;
    p->options = own;
    cra_buf_init(&p->constants, allocator);
    cra_status status = cra_avro_schema_parse(allocator, writer_schema, own.strict_names, &p->writer, err);
    if (status == CRA_OK && reader_schema.size > 0 && cra_avro_schema_profile(p->writer) == NULL)
        status = cra_avro_schema_parse(allocator, reader_schema, own.strict_names, &p->reader, err);
    if (status == CRA_OK)
        status = compile_program(p, err);
    if (status != CRA_OK) {
        cra_avro_program_free(p);
        return status;
    }
    *out = p;
    return CRA_OK;
}

bool cra_avro_program_is_native(const cra_avro_program *program)
{
    return program->native;
}

void cra_avro_program_free(cra_avro_program *program)
{
    if (program == NULL)
        return;
    const cra_allocator *allocator = program->allocator;
    cra_avro_schema_free(program->writer);
    cra_avro_schema_free(program->reader);
    cra_free(allocator, program->code);
    cra_free(allocator, program->bodies);
    cra_free(allocator, program->refs);
    cra_free(allocator, (void *)program->skips);
    cra_buf_cleanup(&program->constants);
    cra_free(allocator, program);
}
