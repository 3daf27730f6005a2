/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config_yaml.h"

#include <string.h>

#include <yaml.h>

#include "base/alloc.h"

typedef struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* current one */
    const char *name;
    const cra_allocator *allocator;
    cra_error *err;
    size_t nodes;
} reader;

static cra_status wrong(reader *in, size_t line, const char *what)
{
    return cra_error_set(in->err, CRA_INVALID, "config", "%s:%zu: %s", in->name, line, what);
}

static cra_status out_of_memory(reader *in)
{
    return cra_error_set(in->err, CRA_NOMEM, "config", "out of memory");
}

static size_t event_line(const reader *in)
{
    return in->event.start_mark.line + 1;
}

static cra_status next_event(reader *in)
{
    yaml_event_delete(&in->event);
    if (yaml_parser_parse(&in->parser, &in->event))
        return CRA_OK;
    if (in->parser.error == YAML_MEMORY_ERROR)
        return out_of_memory(in);
    return wrong(in, in->parser.problem_mark.line + 1, in->parser.problem != NULL ? in->parser.problem : "no YAML");
}

static cra_status check_plainness(reader *in, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor != NULL)
        return wrong(in, event_line(in), "anchors and aliases are not allowed here");
    if (tag != NULL)
        return wrong(in, event_line(in), "tags are not allowed here");
    if (++in->nodes > CRA_YAML_MAX_NODES)
        return wrong(in, event_line(in), "the text has too many values");
    return CRA_OK;
}

static cra_status copy_text(reader *in, char **out)
{
    const char *text = (const char *)in->event.data.scalar.value;
    const size_t size = in->event.data.scalar.length;

    if (memchr(text, '\0', size) != NULL)
        return wrong(in, event_line(in), "a text holds a NUL");
    *out = cra_strndup(in->allocator, text, size);
    return *out == NULL ? out_of_memory(in) : CRA_OK;
}

static cra_status read_node(reader *in, int depth, cra_yaml_node *out);

/* Room for one more child; `*child` is part of the parent at once, so that cleanup finds what it gets. */
static cra_status add_child(reader *in, cra_yaml_node *parent, cra_yaml_node **child)
{
    if (cra_array_grow(in->allocator, (void **)&parent->children, &parent->capacity, parent->count + 1,
                       sizeof *parent->children) != CRA_OK)
        return out_of_memory(in);
    *child = &parent->children[parent->count++];
    memset(*child, 0, sizeof **child);
    return CRA_OK;
}

static cra_status read_list(reader *in, int depth, cra_yaml_node *out)
{
    out->kind = CRA_YAML_LIST;
    for (;;) {
        cra_yaml_node *child;
        cra_status status = next_event(in);
        if (status != CRA_OK || in->event.type == YAML_SEQUENCE_END_EVENT)
            return status;
        status = add_child(in, out, &child);
        if (status == CRA_OK)
            status = read_node(in, depth + 1, child);
        if (status != CRA_OK)
            return status;
    }
}

static cra_status read_key(reader *in, const cra_yaml_node *map, cra_yaml_node *child)
{
    if (in->event.type != YAML_SCALAR_EVENT)
        return wrong(in, event_line(in),
                     in->event.type == YAML_ALIAS_EVENT ? "anchors and aliases are not allowed here"
                                                        : "a key must be text");
    cra_status status = check_plainness(in, in->event.data.scalar.anchor, in->event.data.scalar.tag);
    if (status == CRA_OK)
        status = copy_text(in, &child->key);
    if (status != CRA_OK)
        return status;
    for (size_t i = 0; i + 1 < map->count; i++) {
        if (strcmp(map->children[i].key, child->key) == 0)
            return cra_error_set(in->err, CRA_INVALID, "config",
                                 "%s:%zu: key '%.80s' is given twice, first in line %zu", in->name, event_line(in),
                                 child->key, map->children[i].line);
    }
    return CRA_OK;
}

static cra_status read_map(reader *in, int depth, cra_yaml_node *out)
{
    out->kind = CRA_YAML_MAP;
    for (;;) {
        cra_yaml_node *child;
        cra_status status = next_event(in);
        if (status != CRA_OK || in->event.type == YAML_MAPPING_END_EVENT)
            return status;
        if (out->count == CRA_YAML_MAX_KEYS)
            return wrong(in, event_line(in), "a mapping has too many keys");
        status = add_child(in, out, &child);
        if (status == CRA_OK)
            status = read_key(in, out, child);
        const size_t line = event_line(in);
        if (status == CRA_OK)
            status = next_event(in);
        if (status == CRA_OK)
            status = read_node(in, depth + 1, child);
        if (status != CRA_OK)
            return status;
        child->line = line;
    }
}

/* The value that begins at the current event; afterwards that is its last one. */
static cra_status read_node(reader *in, int depth, cra_yaml_node *out)
{
    cra_status status;

    out->line = event_line(in);
    if (depth > CRA_YAML_MAX_DEPTH)
        return wrong(in, out->line, "the text is nested too deeply");
    switch (in->event.type) {
    case YAML_SCALAR_EVENT:
        out->kind = CRA_YAML_SCALAR;
        out->plain = in->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        status = check_plainness(in, in->event.data.scalar.anchor, in->event.data.scalar.tag);
        return status == CRA_OK ? copy_text(in, &out->text) : status;
    case YAML_SEQUENCE_START_EVENT:
        status = check_plainness(in, in->event.data.sequence_start.anchor, in->event.data.sequence_start.tag);
        return status == CRA_OK ? read_list(in, depth, out) : status;
    case YAML_MAPPING_START_EVENT:
        status = check_plainness(in, in->event.data.mapping_start.anchor, in->event.data.mapping_start.tag);
        return status == CRA_OK ? read_map(in, depth, out) : status;
    default:
        return wrong(in, out->line, "anchors and aliases are not allowed here");
    }
}

static cra_status read_document(reader *in, cra_yaml_node *out)
{
    cra_status status = next_event(in); /* stream start */

    if (status == CRA_OK)
        status = next_event(in);
    if (status != CRA_OK)
        return status;
    if (in->event.type == YAML_STREAM_END_EVENT) {
        out->kind = CRA_YAML_MAP;
        out->line = 1;
        return CRA_OK;
    }
    status = next_event(in);
    if (status == CRA_OK)
        status = read_node(in, 0, out);
    if (status == CRA_OK)
        status = next_event(in); /* document end */
    if (status == CRA_OK)
        status = next_event(in);
    if (status == CRA_OK && in->event.type != YAML_STREAM_END_EVENT)
        status = wrong(in, event_line(in), "a second document is not allowed");
    return status;
}

cra_status cra_yaml_parse(cra_bytes text, const char *name, const cra_allocator *allocator, cra_yaml_node *out,
                          cra_error *err)
{
    reader in = {.name = name, .allocator = allocator, .err = err};

    memset(out, 0, sizeof *out);
    if (text.size > CRA_YAML_MAX_BYTES)
        return cra_error_set(err, CRA_INVALID, "config", "%s: the text has %zu bytes, at most %u are read", name,
                             text.size, CRA_YAML_MAX_BYTES);
    if (!yaml_parser_initialize(&in.parser))
        return out_of_memory(&in);
    yaml_parser_set_encoding(&in.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&in.parser, text.size == 0 ? (const unsigned char *)"" : text.data, text.size);
    const cra_status status = read_document(&in, out);
    yaml_event_delete(&in.event);
    yaml_parser_delete(&in.parser);
    if (status != CRA_OK)
        cra_yaml_cleanup(out, allocator);
    return status;
}

void cra_yaml_cleanup(cra_yaml_node *node, const cra_allocator *allocator)
{
    for (size_t i = 0; i < node->count; i++)
        cra_yaml_cleanup(&node->children[i], allocator);
    cra_free(allocator, node->children);
    cra_free(allocator, node->key);
    cra_free(allocator, node->text);
    memset(node, 0, sizeof *node);
}

const cra_yaml_node *cra_yaml_get(const cra_yaml_node *map, const char *key)
{
    for (size_t i = 0; i < map->count; i++) {
        if (map->children[i].key != NULL && strcmp(map->children[i].key, key) == 0)
            return &map->children[i];
    }
    return NULL;
}

bool cra_yaml_is_null(const cra_yaml_node *node)
{
    return node->kind == CRA_YAML_SCALAR && node->plain &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}
