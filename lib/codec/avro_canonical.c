/* SPDX-License-Identifier: Apache-2.0 */

/* The Parsing Canonical Form of a schema, by the specification's rules: full names, primitives as bare words, only the
 * attributes that matter for reading, in a fixed order, without white space. */

#include <crawlarchive/codec.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "codec/avro_schema.h"

typedef struct canonical {
    cra_buf *out;
    bool *seen; /* by node index: a named type is written out once */
} canonical;

static const char *const primitive_names[] = {
    [CRA_AVRO_NULL] = "null",   [CRA_AVRO_BOOLEAN] = "boolean", [CRA_AVRO_INT] = "int",     [CRA_AVRO_LONG] = "long",
    [CRA_AVRO_FLOAT] = "float", [CRA_AVRO_DOUBLE] = "double",   [CRA_AVRO_BYTES] = "bytes", [CRA_AVRO_STRING] = "string",
};

/* A JSON string; names may hold anything but NUL. */
static cra_status put_text(canonical *c, const char *text)
{
    CRA_TRY(cra_buf_append_str(c->out, "\""));
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            CRA_TRY(cra_buf_append_str(c->out, "\\"));
        if ((unsigned char)*text < 0x20)
            CRA_TRY(cra_buf_appendf(c->out, "\\u%04x", (unsigned)(unsigned char)*text));
        else
            CRA_TRY(cra_buf_append(c->out, text, 1));
    }
    return cra_buf_append_str(c->out, "\"");
}

static cra_status put_node(canonical *c, const cra_avro_node *node);

static cra_status put_fields(canonical *c, const cra_avro_node *node)
{
    CRA_TRY(cra_buf_append_str(c->out, ",\"type\":\"record\",\"fields\":["));
    for (size_t i = 0; i < node->count; i++) {
        CRA_TRY(cra_buf_append_str(c->out, i > 0 ? ",{\"name\":" : "{\"name\":"));
        CRA_TRY(put_text(c, node->as.fields[i].name));
        CRA_TRY(cra_buf_append_str(c->out, ",\"type\":"));
        CRA_TRY(put_node(c, node->as.fields[i].type));
        CRA_TRY(cra_buf_append_str(c->out, "}"));
    }
    return cra_buf_append_str(c->out, "]}");
}

static cra_status put_named(canonical *c, const cra_avro_node *node)
{
    if (c->seen[node->index])
        return put_text(c, node->full_name);
    c->seen[node->index] = true;
    CRA_TRY(cra_buf_append_str(c->out, "{\"name\":"));
    CRA_TRY(put_text(c, node->full_name));
    if (node->type == CRA_AVRO_RECORD)
        return put_fields(c, node);
    if (node->type == CRA_AVRO_FIXED)
        return cra_buf_appendf(c->out, ",\"type\":\"fixed\",\"size\":%lld}", (long long)node->as.fixed_size);
    CRA_TRY(cra_buf_append_str(c->out, ",\"type\":\"enum\",\"symbols\":["));
    for (size_t i = 0; i < node->count; i++) {
        CRA_TRY(cra_buf_append_str(c->out, i > 0 ? "," : ""));
        CRA_TRY(put_text(c, node->as.symbols[i]));
    }
    return cra_buf_append_str(c->out, "]}");
}

static cra_status put_node(canonical *c, const cra_avro_node *node)
{
    switch (node->type) {
    case CRA_AVRO_RECORD:
    case CRA_AVRO_ENUM:
    case CRA_AVRO_FIXED:
        return put_named(c, node);
    case CRA_AVRO_ARRAY:
        CRA_TRY(cra_buf_append_str(c->out, "{\"type\":\"array\",\"items\":"));
        CRA_TRY(put_node(c, node->as.items));
        return cra_buf_append_str(c->out, "}");
    case CRA_AVRO_MAP:
        CRA_TRY(cra_buf_append_str(c->out, "{\"type\":\"map\",\"values\":"));
        CRA_TRY(put_node(c, node->as.items));
        return cra_buf_append_str(c->out, "}");
    case CRA_AVRO_UNION:
        CRA_TRY(cra_buf_append_str(c->out, "["));
        for (size_t i = 0; i < node->count; i++) {
            CRA_TRY(cra_buf_append_str(c->out, i > 0 ? "," : ""));
            CRA_TRY(put_node(c, node->as.branches[i]));
        }
        return cra_buf_append_str(c->out, "]");
    default:
        return put_text(c, primitive_names[node->type]);
    }
}

cra_status cra_avro_schema_canonical(const cra_allocator *allocator, cra_bytes schema, cra_buf *out, cra_error *err)
{
    cra_avro_schema *parsed = NULL;
    canonical c = {out, NULL};
    const size_t before = out->size;

    cra_status status = cra_avro_schema_parse(allocator, schema, false, &parsed, err);
    if (status != CRA_OK)
        return status;
    c.seen = cra_calloc(allocator, cra_avro_schema_node_count(parsed) + 1, sizeof *c.seen);
    status = c.seen != NULL ? put_node(&c, cra_avro_schema_root(parsed)) : CRA_NOMEM;
    cra_free(allocator, c.seen);
    cra_avro_schema_free(parsed);
    if (status == CRA_OK)
        return CRA_OK;
    out->size = before;
    return cra_error_set(err, status, "avro", "out of memory");
}
