/* SPDX-License-Identifier: Apache-2.0 */

/* Trees of values, from files and from the environment, into a configuration. */

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/similar.h"
#include "core/config.h"

#define CONFIG_VERSION 1

static cra_status out_of_memory(cra_error *err)
{
    return cra_error_set(err, CRA_NOMEM, "config", "out of memory");
}

static cra_config_origin at_line(const cra_config_origin *origin, size_t line)
{
    cra_config_origin moved = *origin;

    /* Values of the environment have no lines that anyone could look up. */
    if (origin->line > 0)
        moved.line = line;
    return moved;
}

/* A list of words as it is kept: "a,b,c". */
static cra_status join_words(const cra_yaml_node *node, const char *path, const cra_config_origin *origin, cra_buf *out,
                             cra_error *err)
{
    for (size_t i = 0; i < node->count; i++) {
        const cra_yaml_node *word = &node->children[i];
        const cra_config_origin here = at_line(origin, word->line);
        if (word->kind != CRA_YAML_SCALAR || word->text[0] == '\0' || strchr(word->text, ',') != NULL)
            return cra_config_wrong(&here, path, err, "must be a list of words without commas");
        if ((i > 0 && cra_buf_append_byte(out, ',') != CRA_OK) || cra_buf_append_str(out, word->text) != CRA_OK)
            return out_of_memory(err);
    }
    return CRA_OK;
}

static cra_status put_words(cra_config *config, const cra_config_key *key, const char *path, const cra_yaml_node *node,
                            const cra_config_origin *origin, cra_error *err)
{
    cra_buf words;

    cra_buf_init(&words, config->allocator);
    cra_status status = join_words(node, path, origin, &words, err);
    if (status == CRA_OK && cra_buf_cstr(&words) == NULL)
        status = out_of_memory(err);
    if (status == CRA_OK)
        status = cra_config_put(config, key, path, cra_buf_cstr(&words), origin, err);
    cra_buf_cleanup(&words);
    return status;
}

static cra_status put_leaf(cra_config *config, const cra_config_key *key, const char *path, const cra_yaml_node *node,
                           const cra_config_origin *origin, cra_error *err)
{
    if (cra_yaml_is_null(node))
        return CRA_OK;
    if (key->type == CRA_CONFIG_ROUTES)
        return cra_config_put_routes(config, path, node, origin, err);
    if (key->type == CRA_CONFIG_INDEXES)
        return cra_config_put_indexes(config, key, path, node, origin, err);
    if (key->type == CRA_CONFIG_LIST && node->kind == CRA_YAML_LIST)
        return put_words(config, key, path, node, origin, err);
    if (node->kind != CRA_YAML_SCALAR)
        return cra_config_wrong(origin, path, err, "must be %s", cra_config_type_name(key->type));
    return cra_config_put(config, key, path, node->text, origin, err);
}

static cra_status wrong_section(const char *path, const cra_config_origin *origin, cra_error *err)
{
    /* "retention.sucess: 3d" could only be meant as one of the windows there are. */
    if (strncmp(path, "retention.", 10) == 0 && strchr(path + 10, '.') == NULL) {
        static const char *const names[] = {"success", "failed", "empty", "restored"};
        const char *nearest = cra_nearest_name(path + 10, names, 4);
        return cra_config_wrong(origin, path, err,
                                "unknown outcome; allowed: success, failed, empty, restored, or one of your own as "
                                "{window: DURATION, anchor: delivered_at|ended_at}%s%s%s",
                                nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest,
                                nearest == NULL ? "" : "\"?");
    }
    return cra_config_wrong(origin, path, err, "must be a section with keys of its own");
}

static cra_status put_child(cra_config *config, const char *path, const cra_yaml_node *child,
                            const cra_config_origin *origin, cra_error *err)
{
    const cra_config_origin here = at_line(origin, child->line);
    cra_buf full;

    cra_buf_init(&full, config->allocator);
    cra_status status = cra_buf_appendf(&full, "%s%s%s", path, path[0] == '\0' ? "" : ".", child->key);
    if (status != CRA_OK || cra_buf_cstr(&full) == NULL)
        status = out_of_memory(err);
    else if (child->key[0] == '\0')
        status = cra_config_wrong(&here, path, err, "has an empty key");
    else
        status = cra_config_put_node(config, cra_buf_cstr(&full), child, &here, err);
    cra_buf_cleanup(&full);
    return status;
}

cra_status cra_config_put_node(cra_config *config, const char *path, const cra_yaml_node *node,
                               const cra_config_origin *origin, cra_error *err)
{
    const bool top = path[0] == '\0';
    const bool section = top || cra_config_is_section(path, node->kind == CRA_YAML_MAP);
    const cra_config_key *key = top ? NULL : cra_config_key_find(path);

    /* A path may be both: "retention.reports.*" could be an outcome's name. What it holds decides. */
    if (key != NULL && !(section && node->kind == CRA_YAML_MAP))
        return put_leaf(config, key, path, node, origin, err);
    if (!section)
        return cra_config_unknown(origin, path, err);
    if (cra_yaml_is_null(node))
        return CRA_OK;
    if (node->kind != CRA_YAML_MAP)
        return wrong_section(path, origin, err);
    for (size_t i = 0; i < node->count; i++)
        CRA_TRY(put_child(config, path, &node->children[i], origin, err));
    return CRA_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static cra_status check_version(const cra_yaml_node *root, const cra_config_origin *origin, cra_error *err)
{
    const cra_yaml_node *version = root->kind == CRA_YAML_MAP ? cra_yaml_get(root, "version") : NULL;
    const cra_config_origin here = at_line(origin, version == NULL ? root->line : version->line);
    int64_t number;

    if (root->kind != CRA_YAML_MAP)
        return cra_config_wrong(&here, "file", err, "must be a mapping of sections");
    if (version == NULL)
        return cra_config_wrong(&here, "version", err, "is missing; this release reads version %d", CONFIG_VERSION);
    if (version->kind != CRA_YAML_SCALAR || !cra_config_number(CRA_CONFIG_INT, version->text, &number) || number < 1)
        return cra_config_wrong(&here, "version", err, "must be %d", CONFIG_VERSION);
    if (number > CONFIG_VERSION)
        return cra_config_wrong(&here, "version", err,
                                "the file is of version %lld and needs a newer release; this one reads up to %d",
                                (long long)number, CONFIG_VERSION);
    return CRA_OK;
}

cra_status cra_config_load_text(cra_config *config, cra_bytes text, const char *name, const char *folder,
                                cra_error *err)
{
    cra_yaml_node root;
    const cra_config_origin origin = {name, 1, folder};

    CRA_TRY(cra_yaml_parse(text, name, config->allocator, &root, err));
    cra_status status = check_version(&root, &origin, err);
    if (status == CRA_OK)
        status = cra_config_put_node(config, "", &root, &origin, err);
    cra_yaml_cleanup(&root, config->allocator);
    return status;
}

/* ---- one value ------------------------------------------------------------------------------- */

/* Values that are more than a word are written as in the file: "{prices: {success: 14d}}". */
static cra_status put_flow(cra_config *config, const char *path, const char *value, const cra_config_origin *origin,
                           cra_error *err)
{
    cra_yaml_node root;

    CRA_TRY(cra_yaml_parse(cra_bytes_of_str(value), origin->source, config->allocator, &root, err));
    const cra_status status = cra_config_put_node(config, path, &root, origin, err);
    cra_yaml_cleanup(&root, config->allocator);
    return status;
}

cra_status cra_config_put_text(cra_config *config, const char *path, const char *value, const cra_config_origin *origin,
                               cra_error *err)
{
    const cra_config_key *key = cra_config_key_find(path);

    if (key == NULL && !cra_config_is_section(path, true))
        return cra_config_unknown(origin, path, err);
    if (key == NULL || key->type == CRA_CONFIG_ROUTES || key->type == CRA_CONFIG_INDEXES ||
        (key->type == CRA_CONFIG_LIST && value[0] == '['))
        return put_flow(config, path, value, origin, err);
    return cra_config_put(config, key, path, value, origin, err);
}

cra_status cra_config_set(cra_config *config, const char *path, const char *value, cra_error *err)
{
    const cra_config_origin origin = {"program", 0, NULL};

    if (path == NULL || value == NULL || path[0] == '\0')
        return cra_error_set(err, CRA_INVALID, "config", "a path and a value are needed");
    return cra_config_put_text(config, path, value, &origin, err);
}
