/* SPDX-License-Identifier: Apache-2.0 */

/* What only the whole configuration shows. */

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/similar.h"
#include "base/uri.h"
#include "core/config.h"
#include "core/naming.h"

/* An error about a value that is set, in the words of its own source. */
static cra_status wrong_value(const cra_config_value *value, cra_error *err, const char *what)
{
    const cra_config_origin origin = {value->source, 0, NULL};

    return cra_config_wrong(&origin, value->path, err, "%s", what);
}

/* ---- stores ---------------------------------------------------------------------------------- */

static cra_status check_scheme(const char *uri, const cra_config_origin *origin, const char *path,
                               const char *const *schemes, size_t count, cra_error *err)
{
    char scheme[24] = "";
    char known[160] = "";
    const size_t size = cra_uri_scheme_size(uri);

    strncat(scheme, uri, size < sizeof scheme ? size : sizeof scheme - 1);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(schemes[i], scheme) == 0)
            return CRA_OK;
        strncat(known, i == 0 ? "" : ", ", sizeof known - strlen(known) - 1);
        strncat(known, schemes[i], sizeof known - strlen(known) - 1);
    }
    const char *nearest = cra_nearest_name(scheme, schemes, count);
    return cra_config_wrong(origin, path, err, "no store of this build has the scheme '%s:'; allowed: %s%s%s%s", scheme,
                            known, nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest,
                            nearest == NULL ? "" : "\"?");
}

static cra_status check_uri(const cra_config *config, const char *uri, const char *source, const char *path,
                            const char *const *schemes, size_t count, cra_error *err)
{
    const cra_config_origin origin = {source, 0, NULL};
    cra_error inner = {0};
    cra_uri parsed;

    CRA_TRY(check_scheme(uri, &origin, path, schemes, count, err));
    const cra_status status = cra_uri_parse(uri, config->allocator, &parsed, &inner);
    cra_uri_cleanup(&parsed);
    if (status == CRA_NOMEM)
        return cra_error_set(err, CRA_NOMEM, "config", "out of memory");
    return status == CRA_OK ? CRA_OK : cra_config_wrong(&origin, path, err, "%s", inner.message);
}

static cra_status check_uris(const cra_config *config, const char *const *schemes, size_t count, cra_error *err)
{
    for (size_t i = 0; i < config->values_count; i++) {
        const cra_config_value *value = &config->values[i];
        if (value->key->type == CRA_CONFIG_URI)
            CRA_TRY(check_uri(config, value->text, value->source, value->path, schemes, count, err));
    }
    for (size_t i = 0; i < config->routes.count; i++)
        CRA_TRY(check_uri(config, config->routes.entries[i].uri, config->routes_source, "archive.routes", schemes,
                          count, err));
    return CRA_OK;
}

static cra_status check_stores(const cra_config *config, cra_error *err)
{
    static const char *const needed[] = {"catalog.uri", "hot.uri"};
    const cra_config_value *archive = cra_config_find(config, "archive.uri");

    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (cra_config_find(config, needed[i]) == NULL)
            return cra_error_set(err, CRA_INVALID, "config", "%s is not set: it says which store to use", needed[i]);
    }
    if (archive == NULL && config->routes.count == 0)
        return cra_error_set(err, CRA_INVALID, "config",
                             "archive.uri is not set (nor archive.routes): it says where the archive is kept");
    if (archive != NULL && config->routes.count > 0)
        return wrong_value(archive, err, "stands beside archive.routes; only one of them may be set");
    return CRA_OK;
}

/* ---- templates ------------------------------------------------------------------------------- */

static cra_status check_templates(const cra_config *config, cra_error *err)
{
    const cra_config_value *template = cra_config_find(config, "archive.template");
    const cra_config_value *collection = cra_config_find(config, "hot.collection");
    cra_error inner = {0};

    if (template != NULL && cra_naming_check_template(template->text, &inner) != CRA_OK)
        return wrong_value(template, err, inner.message);
    if (collection == NULL)
        return CRA_OK;
    cra_buf name;
    cra_buf_init(&name, config->allocator);
    const cra_status status = cra_naming_collection(collection->text, "report", "1", &name, &inner);
    cra_buf_cleanup(&name);
    if (status == CRA_NOMEM)
        return cra_error_set(err, CRA_NOMEM, "config", "out of memory");
    return status == CRA_OK ? CRA_OK : wrong_value(collection, err, inner.message);
}

/* ---- retention ------------------------------------------------------------------------------- */

static int64_t window_of(const cra_config_value *value)
{
    int64_t window = 0;

    /* Checked when it was set. */
    (void)cra_config_number(value->key->type, value->text, &window);
    return window;
}

static cra_status told(const cra_config_value *value, cra_status status, const cra_error *inner, cra_error *err)
{
    if (status == CRA_OK)
        return CRA_OK;
    if (status == CRA_NOMEM)
        return cra_error_set(err, CRA_NOMEM, "config", "out of memory");
    wrong_value(value, err, inner->message);
    cra_error_hint(err, "%s", inner->hint);
    return CRA_INVALID;
}

/* "retention.NAME" or "retention.NAME.window". */
static cra_status set_window(const cra_config *config, cra_policy *policy, const cra_config_value *value,
                             const char *name, cra_error *err)
{
    cra_error inner = {0};
    cra_anchor anchor = CRA_ANCHOR_ENDED_AT;
    cra_buf path;

    (void)cra_policy_anchor(policy, name, &anchor);
    cra_buf_init(&path, config->allocator);
    cra_status status = cra_buf_appendf(&path, "retention.%s.anchor", name);
    if (status == CRA_OK && cra_buf_cstr(&path) != NULL) {
        const char *word = cra_config_text(config, cra_buf_cstr(&path));
        if (word != NULL)
            anchor = strcmp(word, "delivered_at") == 0 ? CRA_ANCHOR_DELIVERED_AT : CRA_ANCHOR_ENDED_AT;
        status = cra_policy_set_window(policy, NULL, name, window_of(value), anchor, &inner);
    } else {
        status = CRA_NOMEM;
    }
    cra_buf_cleanup(&path);
    return told(value, status, &inner, err);
}

/* "retention.reports.REPORT.OUTCOME": reports may have dots, outcomes may not. */
static cra_status set_override(cra_policy *policy, const cra_config_value *value, char *rest, cra_error *err)
{
    cra_error inner = {0};
    char *dot = strrchr(rest, '.');
    cra_anchor anchor = CRA_ANCHOR_ENDED_AT;

    *dot = '\0';
    (void)cra_policy_anchor(policy, dot + 1, &anchor);
    const cra_status status = cra_policy_set_window(policy, rest, dot + 1, window_of(value), anchor, &inner);
    *dot = '.';
    return told(value, status, &inner, err);
}

static cra_status map_words(cra_policy *policy, const cra_config_value *value, const char *outcome, char *words,
                            cra_error *err)
{
    for (char *word = words; word != NULL;) {
        cra_error inner = {0};
        char *comma = strchr(word, ',');
        if (comma != NULL)
            *comma = '\0';
        const cra_status status = word[0] == '\0' ? CRA_OK : cra_policy_map_word(policy, word, outcome, &inner);
        if (status != CRA_OK)
            return told(value, status, &inner, err);
        word = comma == NULL ? NULL : comma + 1;
    }
    return CRA_OK;
}

typedef enum policy_pass { PASS_WINDOWS, PASS_REST } policy_pass;

static cra_status use_value(const cra_config *config, cra_policy *policy, const cra_config_value *value, char *scratch,
                            policy_pass pass, cra_error *err)
{
    static const char retention[] = "retention.";
    static const char reports[] = "retention.reports.*.*";
    static const char outcomes[] = "catalog.outcomes.";
    const char *pattern = value->key->path;

    if (strcmp(pattern, reports) == 0)
        return pass == PASS_REST ? set_override(policy, value, scratch + sizeof "retention.reports." - 1, err) : CRA_OK;
    if (strncmp(pattern, retention, sizeof retention - 1) == 0 && value->key->type == CRA_CONFIG_DURATION) {
        char *name = scratch + sizeof retention - 1;
        char *dot = strchr(pattern, '*') == NULL ? NULL : strrchr(name, '.');
        if (dot != NULL)
            *dot = '\0';
        if (strchr(name, '.') != NULL)
            return wrong_value(value, err, "an outcome's name has no dots");
        return pass == PASS_WINDOWS ? set_window(config, policy, value, name, err) : CRA_OK;
    }
    if (strncmp(pattern, outcomes, sizeof outcomes - 1) != 0 || pass == PASS_WINDOWS)
        return CRA_OK;
    char *words = cra_strdup(config->allocator, value->text);
    if (words == NULL)
        return cra_error_set(err, CRA_NOMEM, "config", "out of memory");
    const cra_status status = map_words(policy, value, scratch + sizeof outcomes - 1, words, err);
    cra_free(config->allocator, words);
    return status;
}

/* Outcomes first, so that overrides and words find those of the user's own. */
static cra_status fill_policy(const cra_config *config, cra_policy *policy, cra_error *err)
{
    for (policy_pass pass = PASS_WINDOWS; pass <= PASS_REST; pass++) {
        for (size_t i = 0; i < config->values_count; i++) {
            char *scratch = cra_strdup(config->allocator, config->values[i].path);
            if (scratch == NULL)
                return cra_error_set(err, CRA_NOMEM, "config", "out of memory");
            const cra_status status = use_value(config, policy, &config->values[i], scratch, pass, err);
            cra_free(config->allocator, scratch);
            if (status != CRA_OK)
                return status;
        }
    }
    return CRA_OK;
}

static cra_status build_policy(cra_config *config, cra_error *err)
{
    cra_policy *policy;

    CRA_TRY(cra_policy_new(config->allocator, &policy, err));
    const cra_status status = fill_policy(config, policy, err);
    if (status != CRA_OK) {
        cra_policy_free(policy);
        return status;
    }
    cra_policy_free(config->policy);
    config->policy = policy;
    return CRA_OK;
}

/* An outcome that has an anchor but no window would never be due. */
static cra_status check_anchors(const cra_config *config, cra_error *err)
{
    static const char suffix[] = ".anchor";

    for (size_t i = 0; i < config->values_count; i++) {
        const cra_config_value *value = &config->values[i];
        cra_anchor anchor;
        if (strcmp(value->key->path, "retention.*.anchor") != 0)
            continue;
        char *name = cra_strdup(config->allocator, value->path + sizeof "retention." - 1);
        if (name == NULL)
            return cra_error_set(err, CRA_NOMEM, "config", "out of memory");
        name[strlen(name) - (sizeof suffix - 1)] = '\0';
        const bool known = cra_policy_anchor(config->policy, name, &anchor);
        cra_free(config->allocator, name);
        if (!known)
            return wrong_value(value, err, "stands without a window; an outcome is {window: DURATION, anchor: …}");
        const char *word = anchor == CRA_ANCHOR_DELIVERED_AT ? "delivered_at"
                           : anchor == CRA_ANCHOR_ENDED_AT   ? "ended_at"
                                                             : "restored_at";
        if (strcmp(word, value->text) != 0)
            return wrong_value(value, err, "cannot be changed for an outcome that is built in");
    }
    return CRA_OK;
}

cra_status cra_config_check(cra_config *config, const char *const *schemes, size_t schemes_count, cra_error *err)
{
    CRA_TRY(check_stores(config, err));
    CRA_TRY(check_uris(config, schemes, schemes_count, err));
    CRA_TRY(check_templates(config, err));
    CRA_TRY(build_policy(config, err));
    return check_anchors(config, err);
}
