/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/avro_schema.h"

#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "codec/avro_schema_internal.h"
#include "codec/profile.h"

/* A named type while its schema is parsed. */
typedef struct definition {
    cra_avro_node *node;
    bool complete;
} definition;

typedef struct parser {
    cra_avro_schema *schema;
    const cra_allocator *allocator;
    bool strict_names;
    cra_name_table definitions; /* full name -> definition */
    cra_name_table scratch;     /* to find duplicates within one list */
    const char *record;         /* where the parser is, for messages */
    const char *field;
    cra_error *err;
} parser;

static const char *const type_names[] = {"null",   "boolean", "int",  "long",  "float", "double", "bytes",
                                         "string", "record",  "enum", "array", "map",   "union",  "fixed"};

const char *cra_avro_type_name(cra_avro_type type)
{
    return type_names[type];
}

static cra_status no_memory(parser *p)
{
    return cra_error_set(p->err, CRA_NOMEM, "avro", "out of memory for a schema");
}

/* "record R, field F: " in front of what is wrong. */
#define WRONG(p, format, ...)                                                                                     \
    cra_error_set((p)->err, CRA_CORRUPT, "avro", "schema%s%s%s%s: " format, (p)->record != NULL ? ", record " : "", \
                  (p)->record != NULL ? (p)->record : "", (p)->field != NULL ? ", field " : "",                     \
                  (p)->field != NULL ? (p)->field : "", __VA_ARGS__)

/* ---- small parts of JSON ---------------------------------------------------------------------- */

cra_status cra_avro_json_parse(cra_bytes text, const char *what, json_object **out, cra_error *err)
{
    *out = NULL;
    if (text.size >= 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0)
        text = cra_bytes_of(text.data + 3, text.size - 3);
    if (text.size == 0)
        return cra_error_set(err, CRA_CORRUPT, "avro", "%s is empty", what);
    if (text.size > INT_MAX - 1)
        return cra_error_set(err, CRA_CORRUPT, "avro", "%s has %zu bytes", what, text.size);
    const size_t valid = cra_utf8_check(text.data, text.size);
    if (valid != text.size)
        return cra_error_set(err, CRA_CORRUPT, "avro", "%s is not UTF-8 at byte %zu", what, valid);

    struct json_tokener *tokener = json_tokener_new_ex(CRA_AVRO_JSON_DEPTH);
    if (tokener == NULL)
        return cra_error_set(err, CRA_NOMEM, "avro", "out of memory for JSON");
    *out = json_tokener_parse_ex(tokener, (const char *)text.data, (int)text.size);
    enum json_tokener_error error = json_tokener_get_error(tokener);
    size_t end = json_tokener_get_parse_end(tokener);
    if (error == json_tokener_continue) { /* a number ends only at what follows it */
        *out = json_tokener_parse_ex(tokener, "\n", 1);
        error = json_tokener_get_error(tokener);
        end = text.size;
    }
    json_tokener_free(tokener);

    if (error == json_tokener_success) {
        while (end < text.size && memchr(" \t\r\n", text.data[end], 4) != NULL)
            end++;
        if (end == text.size)
            return CRA_OK;
    }
    json_object_put(*out);
    *out = NULL;
    if (error == json_tokener_error_depth)
        return cra_error_set(err, CRA_CORRUPT, "avro", "%s has more than %d levels of JSON", what, CRA_AVRO_JSON_DEPTH);
    if (error == json_tokener_continue)
        return cra_error_set(err, CRA_CORRUPT, "avro", "%s: JSON ends too early", what);
    return cra_error_set(err, CRA_CORRUPT, "avro", "%s: JSON is wrong at byte %zu: %s", what, end,
                         error == json_tokener_success ? "text behind the value" : json_tokener_error_desc(error));
}

/* A string without NUL that is the value of `key`; `*out` is NULL where it is absent or something else. */
static const char *get_text(json_object *json, const char *key)
{
    json_object *value;

    if (!json_object_object_get_ex(json, key, &value) || json_object_get_type(value) != json_type_string)
        return NULL;
    const char *text = json_object_get_string(value);
    return strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

static cra_status copy_text(parser *p, const char *text, const char **out)
{
    *out = NULL;
    if (text == NULL)
        return CRA_OK;
    *out = cra_arena_text(&p->schema->arena, text, strlen(text));
    return *out == NULL ? no_memory(p) : CRA_OK;
}

/* ---- names ------------------------------------------------------------------------------------ */

static bool simple_name_valid(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char c = name[i];
        const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return size > 0;
}

static bool full_name_valid(const char *name)
{
    for (;;) {
        const char *dot = strchr(name, '.');
        if (dot == NULL)
            return simple_name_valid(name, strlen(name));
        if (!simple_name_valid(name, (size_t)(dot - name)))
            return false;
        name = dot + 1;
    }
}

static cra_status check_name(parser *p, const char *name, bool full)
{
    if (!p->strict_names || (full ? full_name_valid(name) : simple_name_valid(name, strlen(name))))
        return CRA_OK;
    return WRONG(p, "'%s' is no valid name", name);
}

/* `name` in `space` (NULL or "": none), unless it brings its own. */
static cra_status full_name(parser *p, const char *name, const char *space, const char **out)
{
    const char *dot = strrchr(name, '.');

    if (dot == name) /* ".Name": in no namespace */
        return copy_text(p, name + 1, out);
    if (dot != NULL || space == NULL || *space == '\0')
        return copy_text(p, name, out);

    const size_t space_size = strlen(space);
    const size_t name_size = strlen(name);
    char *text = cra_arena_take(&p->schema->arena, space_size + name_size + 2, 1);
    if (text == NULL)
        return no_memory(p);
    memcpy(text, space, space_size);
    text[space_size] = '.';
    memcpy(text + space_size + 1, name, name_size);
    *out = text;
    return CRA_OK;
}

static cra_status namespace_of(parser *p, const char *name, const char **out)
{
    const char *dot = strrchr(name, '.');

    *out = NULL;
    if (dot == NULL)
        return CRA_OK;
    *out = cra_arena_text(&p->schema->arena, name, (size_t)(dot - name));
    return *out == NULL ? no_memory(p) : CRA_OK;
}

/* A list of names, NULL-terminated; `space` as in full_name(), or NULL with `full` false to keep them as they are. */
static cra_status parse_aliases(parser *p, json_object *json, const char *space, bool full,
                                const char *const **out)
{
    json_object *list;

    *out = NULL;
    if (!json_object_object_get_ex(json, "aliases", &list) || json_object_get_type(list) != json_type_array)
        return CRA_OK;
    const size_t count = json_object_array_length(list);
    const char **names = cra_arena_take(&p->schema->arena, count + 1, sizeof *names);
    if (names == NULL)
        return no_memory(p);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        json_object *alias = json_object_array_get_idx(list, i);
        if (json_object_get_type(alias) != json_type_string)
            continue;
        if (full)
            CRA_TRY(full_name(p, json_object_get_string(alias), space, &names[kept]));
        else
            CRA_TRY(copy_text(p, json_object_get_string(alias), &names[kept]));
        kept++;
    }
    *out = names;
    return CRA_OK;
}

/* ---- nodes ------------------------------------------------------------------------------------ */

static cra_status parse_node(parser *p, json_object *json, const char *space, const cra_avro_node **out);

static cra_status new_node(parser *p, cra_avro_type type, cra_avro_node **out)
{
    *out = cra_arena_take(&p->schema->arena, 1, sizeof **out);
    if (*out == NULL)
        return no_memory(p);
    (*out)->type = type;
    (*out)->index = p->schema->node_count++;
    return CRA_OK;
}

/* A duplicate in one list of names. */
static cra_status check_unique(parser *p, const char *name, const char *what)
{
    const cra_status status = cra_name_table_put(&p->scratch, name, p);

    if (status == CRA_EXISTS)
        return WRONG(p, "%s %s stands there twice", what, name);
    return status == CRA_OK ? CRA_OK : no_memory(p);
}

static cra_status parse_field_type(parser *p, json_object *json, const char *space, cra_avro_field *field)
{
    json_object *type;
    json_object *value;
    const char *const outer = p->field;

    p->field = field->name;
    if (!json_object_object_get_ex(json, "type", &type))
        return WRONG(p, "%s", "no type");
    CRA_TRY(copy_text(p, get_text(json, CRA_NAME_PROPERTY), &field->original));
    CRA_TRY(parse_aliases(p, json, NULL, false, &field->aliases));
    if (json_object_object_get_ex(json, "default", &value)) {
        const char *text =
            value == NULL ? "null"
                          : json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
        if (text == NULL)
            return no_memory(p);
        CRA_TRY(copy_text(p, text, &field->default_json));
    }
    CRA_TRY(parse_node(p, type, space, &field->type));
    p->field = outer;
    return CRA_OK;
}

static cra_status parse_fields(parser *p, json_object *json, const char *space, cra_avro_node *node)
{
    json_object *list;

    if (!json_object_object_get_ex(json, "fields", &list) || json_object_get_type(list) != json_type_array)
        return WRONG(p, "%s", "no list of fields");
    node->count = json_object_array_length(list);
    cra_avro_field *fields = cra_arena_take(&p->schema->arena, node->count, sizeof *fields);
    if (fields == NULL)
        return no_memory(p);

    cra_name_table_clear(&p->scratch);
    for (size_t i = 0; i < node->count; i++) {
        json_object *field = json_object_array_get_idx(list, i);
        const char *name = json_object_get_type(field) == json_type_object ? get_text(field, "name") : NULL;
        if (name == NULL)
            return WRONG(p, "field %zu has no valid name", i);
        CRA_TRY(check_name(p, name, false));
        CRA_TRY(copy_text(p, name, &fields[i].name));
        CRA_TRY(check_unique(p, fields[i].name, "field"));
    }
    node->as.fields = fields;
    for (size_t i = 0; i < node->count; i++)
        CRA_TRY(parse_field_type(p, json_object_array_get_idx(list, i), space, &fields[i]));
    return CRA_OK;
}

static cra_status parse_record(parser *p, json_object *json, const char *space, cra_avro_node *node)
{
    const char *const outer_record = p->record;
    const char *const outer_field = p->field;

    p->record = node->full_name;
    p->field = NULL;
    CRA_TRY(parse_fields(p, json, space, node));
    p->record = outer_record;
    p->field = outer_field;
    return CRA_OK;
}

static cra_status parse_enum(parser *p, json_object *json, cra_avro_node *node)
{
    json_object *list;

    if (!json_object_object_get_ex(json, "symbols", &list) || json_object_get_type(list) != json_type_array)
        return WRONG(p, "enum %s has no list of symbols", node->full_name);
    node->count = json_object_array_length(list);
    const char **symbols = cra_arena_take(&p->schema->arena, node->count, sizeof *symbols);
    if (symbols == NULL)
        return no_memory(p);

    cra_name_table_clear(&p->scratch);
    for (size_t i = 0; i < node->count; i++) {
        json_object *symbol = json_object_array_get_idx(list, i);
        const char *text = json_object_get_type(symbol) == json_type_string ? json_object_get_string(symbol) : NULL;
        if (text == NULL || strlen(text) != (size_t)json_object_get_string_len(symbol))
            return WRONG(p, "symbol %zu of enum %s is no valid name", i, node->full_name);
        CRA_TRY(check_name(p, text, false));
        CRA_TRY(copy_text(p, text, &symbols[i]));
        CRA_TRY(check_unique(p, symbols[i], "symbol"));
    }
    node->as.symbols = symbols;
    return copy_text(p, get_text(json, "default"), &node->enum_default);
}

static cra_status parse_fixed(parser *p, json_object *json, cra_avro_node *node)
{
    json_object *size;

    if (!json_object_object_get_ex(json, "size", &size) || json_object_get_type(size) != json_type_int)
        return WRONG(p, "fixed %s has no size", node->full_name);
    node->as.fixed_size = json_object_get_int64(size);
    if (node->as.fixed_size < 0 || node->as.fixed_size > INT32_MAX)
        return WRONG(p, "fixed %s has a size of %lld", node->full_name, (long long)node->as.fixed_size);
    return CRA_OK;
}

/* A second definition of a name is a mistake that some writers make: harmless where both say the same. */
static cra_status accept_redefinition(parser *p, const definition *first, const cra_avro_node *second,
                                      const cra_avro_node **out)
{
    if (!first->complete)
        return WRONG(p, "type %s is defined again inside its own definition", second->full_name);
    if (!cra_avro_definition_equal(first->node, second))
        return WRONG(p, "type %s has two different definitions", second->full_name);
    *out = first->node;
    return CRA_OK;
}

static cra_status parse_named(parser *p, json_object *json, cra_avro_type type, const char *space,
                              const cra_avro_node **out)
{
    const char *name = get_text(json, "name");
    const char *own_space = get_text(json, "namespace");
    cra_avro_node *node;

    if (name == NULL || *name == '\0')
        return WRONG(p, "%s without a valid name", cra_avro_type_name(type));
    CRA_TRY(check_name(p, name, true));
    CRA_TRY(new_node(p, type, &node));
    CRA_TRY(full_name(p, name, own_space != NULL ? own_space : space, &node->full_name));
    CRA_TRY(namespace_of(p, node->full_name, &space));
    CRA_TRY(parse_aliases(p, json, space, true, &node->aliases));
    CRA_TRY(copy_text(p, get_text(json, CRA_TYPE_PROPERTY), &node->cra_type));

    definition *first = cra_name_table_get(&p->definitions, node->full_name);
    definition *mine = NULL;
    if (first == NULL) {
        mine = cra_arena_take(&p->schema->arena, 1, sizeof *mine);
        if (mine == NULL || cra_name_table_put(&p->definitions, node->full_name, mine) != CRA_OK)
            return no_memory(p);
        mine->node = node;
    }
    if (type == CRA_AVRO_RECORD)
        CRA_TRY(parse_record(p, json, space, node));
    else if (type == CRA_AVRO_ENUM)
        CRA_TRY(parse_enum(p, json, node));
    else
        CRA_TRY(parse_fixed(p, json, node));
    cra_avro_logical_set(node, json);

    if (first != NULL)
        return accept_redefinition(p, first, node, out);
    mine->complete = true;
    *out = node;
    return CRA_OK;
}

static cra_status parse_union(parser *p, json_object *json, const char *space, const cra_avro_node **out)
{
    cra_avro_node *node;
    unsigned seen = 0;

    CRA_TRY(new_node(p, CRA_AVRO_UNION, &node));
    node->count = json_object_array_length(json);
    const cra_avro_node **branches = cra_arena_take(&p->schema->arena, node->count, sizeof *branches);
    if (branches == NULL)
        return no_memory(p);
    for (size_t i = 0; i < node->count; i++)
        CRA_TRY(parse_node(p, json_object_array_get_idx(json, i), space, &branches[i]));

    cra_name_table_clear(&p->scratch);
    for (size_t i = 0; i < node->count; i++) {
        const cra_avro_node *branch = branches[i];
        if (branch->type == CRA_AVRO_UNION)
            return WRONG(p, "branch %zu of a union is a union", i);
        if (branch->full_name != NULL) {
            CRA_TRY(check_unique(p, branch->full_name, "branch"));
        } else if ((seen & 1u << branch->type) != 0) {
            return WRONG(p, "a union has two branches of type %s", cra_avro_type_name(branch->type));
        }
        seen |= 1u << branch->type;
    }
    node->as.branches = branches;
    *out = node;
    return CRA_OK;
}

/* A type named by a string: primitive, or a reference. */
static cra_status parse_name(parser *p, const char *name, const char *space, const cra_avro_node **out)
{
    for (int type = CRA_AVRO_NULL; type <= CRA_AVRO_STRING; type++) {
        if (strcmp(name, type_names[type]) == 0) {
            cra_avro_node *node;
            CRA_TRY(new_node(p, (cra_avro_type)type, &node));
            *out = node;
            return CRA_OK;
        }
    }

    const char *full;
    CRA_TRY(full_name(p, name, space, &full));
    const definition *found = cra_name_table_get(&p->definitions, full);
    if (found == NULL) /* many writers leave the namespace out for types that have none */
        found = cra_name_table_get(&p->definitions, name);
    if (found == NULL)
        return WRONG(p, "unknown type '%s'", name);
    *out = found->node;
    return CRA_OK;
}

static cra_status parse_items(parser *p, json_object *json, cra_avro_type type, const char *space,
                              const cra_avro_node **out)
{
    const char *const key = type == CRA_AVRO_ARRAY ? "items" : "values";
    json_object *items;
    cra_avro_node *node;

    if (!json_object_object_get_ex(json, key, &items))
        return WRONG(p, "%s without %s", cra_avro_type_name(type), key);
    CRA_TRY(new_node(p, type, &node));
    CRA_TRY(parse_node(p, items, space, &node->as.items));
    *out = node;
    return CRA_OK;
}

static cra_status parse_object(parser *p, json_object *json, const char *space, const cra_avro_node **out)
{
    json_object *type;

    if (!json_object_object_get_ex(json, "type", &type))
        return WRONG(p, "%s", "a type's object has no member 'type'");
    if (json_object_get_type(type) == json_type_string) {
        const char *name = get_text(json, "type");
        if (name == NULL)
            return WRONG(p, "%s", "a type's name holds NUL");
        if (strcmp(name, "record") == 0 || strcmp(name, "error") == 0)
            return parse_named(p, json, CRA_AVRO_RECORD, space, out);
        if (strcmp(name, "enum") == 0)
            return parse_named(p, json, CRA_AVRO_ENUM, space, out);
        if (strcmp(name, "fixed") == 0)
            return parse_named(p, json, CRA_AVRO_FIXED, space, out);
        if (strcmp(name, "array") == 0)
            return parse_items(p, json, CRA_AVRO_ARRAY, space, out);
        if (strcmp(name, "map") == 0)
            return parse_items(p, json, CRA_AVRO_MAP, space, out);
    }

    /* A primitive with annotations, a reference, or a type wrapped once more. */
    CRA_TRY(parse_node(p, type, space, out));
    if ((*out)->type <= CRA_AVRO_STRING) {
        /* Primitive nodes are never shared, and this one is still ours. */
        cra_avro_node *own = (cra_avro_node *)(uintptr_t)*out;
        if (own->logical == CRA_LOGICAL_NONE)
            cra_avro_logical_set(own, json);
        if (own->cra_type == NULL)
            CRA_TRY(copy_text(p, get_text(json, CRA_TYPE_PROPERTY), &own->cra_type));
    }
    return CRA_OK;
}

/* Recursion is bounded: JSON is at most CRA_AVRO_JSON_DEPTH levels deep. */
static cra_status parse_node(parser *p, json_object *json, const char *space, const cra_avro_node **out)
{
    switch (json_object_get_type(json)) {
    case json_type_string:
        if (strlen(json_object_get_string(json)) != (size_t)json_object_get_string_len(json))
            return WRONG(p, "%s", "a type's name holds NUL");
        return parse_name(p, json_object_get_string(json), space, out);
    case json_type_array:
        return parse_union(p, json, space, out);
    case json_type_object:
        return parse_object(p, json, space, out);
    default:
        return WRONG(p, "a type is written as %s", json_type_to_name(json_object_get_type(json)));
    }
}

/* ---- the whole -------------------------------------------------------------------------------- */

static cra_status parse_root(cra_avro_schema *schema, const cra_allocator *allocator, json_object *json,
                             bool strict_names, cra_error *err)
{
    parser p = {.schema = schema, .allocator = allocator, .strict_names = strict_names, .err = err};

    cra_name_table_init(&p.definitions, allocator);
    cra_name_table_init(&p.scratch, allocator);
    cra_status status = parse_node(&p, json, NULL, &schema->root);
    if (status == CRA_OK && json_object_get_type(json) == json_type_object)
        status = copy_text(&p, get_text(json, CRA_PROFILE_PROPERTY), &schema->profile);
    cra_name_table_cleanup(&p.definitions);
    cra_name_table_cleanup(&p.scratch);
    return status;
}

cra_status cra_avro_schema_parse(const cra_allocator *allocator, cra_bytes json, bool strict_names,
                                 cra_avro_schema **out, cra_error *err)
{
    json_object *tree;

    *out = NULL;
    CRA_TRY(cra_avro_json_parse(json, "schema", &tree, err));
    cra_avro_schema *schema = cra_calloc(allocator, 1, sizeof *schema);
    if (schema == NULL) {
        json_object_put(tree);
        return cra_error_set(err, CRA_NOMEM, "avro", "out of memory for a schema");
    }
    cra_arena_init(&schema->arena, allocator);
    const cra_status status = parse_root(schema, allocator, tree, strict_names, err);
    json_object_put(tree);
    if (status != CRA_OK) {
        cra_avro_schema_free(schema);
        return status;
    }
    *out = schema;
    return CRA_OK;
}

const cra_avro_node *cra_avro_schema_root(const cra_avro_schema *schema)
{
    return schema->root;
}

size_t cra_avro_schema_node_count(const cra_avro_schema *schema)
{
    return schema->node_count;
}

const char *cra_avro_schema_profile(const cra_avro_schema *schema)
{
    return schema->profile;
}

void cra_avro_schema_free(cra_avro_schema *schema)
{
    if (schema == NULL)
        return;
    const cra_allocator *allocator = schema->arena.allocator;
    cra_arena_cleanup(&schema->arena);
    cra_free(allocator, schema);
}
