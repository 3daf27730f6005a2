/* SPDX-License-Identifier: Apache-2.0 */

/* Templates of run folders and of hot collections. */

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "core/naming.h"

typedef enum token_kind { TOKEN_END, TOKEN_TEXT, TOKEN_PREFIX, TOKEN_REPORT, TOKEN_RUN, TOKEN_WRONG } token_kind;

/* The next literal text or placeholder at `*pattern`, which moves behind it. */
static token_kind next_token(const char **pattern, cra_bytes *text)
{
    static const struct {
        const char *text;
        token_kind kind;
    } placeholders[] = {{"{prefix}", TOKEN_PREFIX}, {"{report}", TOKEN_REPORT}, {"{run}", TOKEN_RUN}};
    const char *at = *pattern;

    if (*at == '\0')
        return TOKEN_END;
    for (size_t i = 0; i < sizeof placeholders / sizeof placeholders[0]; i++) {
        const size_t size = strlen(placeholders[i].text);
        if (strncmp(at, placeholders[i].text, size) == 0) {
            *pattern = at + size;
            return placeholders[i].kind;
        }
    }
    const size_t size = strcspn(at, "{}");
    if (size == 0)
        return TOKEN_WRONG;
    *text = cra_bytes_of(at, size);
    *pattern = at + size;
    return TOKEN_TEXT;
}

/* A template may begin with "{prefix}/", which the store's URI has already said. */
static const char *behind_prefix(const char *pattern)
{
    static const char prefix[] = "{prefix}";

    if (strncmp(pattern, prefix, sizeof prefix - 1) != 0)
        return pattern;
    pattern += sizeof prefix - 1;
    return *pattern == '/' ? pattern + 1 : pattern;
}

bool cra_naming_has_run(const char *pattern)
{
    return strstr(pattern, "{run}") != NULL;
}

static cra_status wrong_template(cra_error *err, const char *pattern, const char *what)
{
    return cra_error_set(err, CRA_INVALID, "template",
                         "template '%.80s': %s; allowed are literal folders, {report} and {run}", pattern, what);
}

static cra_status check_tokens(const char *pattern, cra_error *err)
{
    const char *rest = behind_prefix(pattern);
    bool report = false; /* stands in the segment being read */
    bool run = false;

    for (;;) {
        cra_bytes text = {NULL, 0};
        switch (next_token(&rest, &text)) {
        case TOKEN_END:
            return CRA_OK;
        case TOKEN_TEXT:
            if (memchr(text.data, '/', text.size) != NULL)
                report = run = false;
            break;
        case TOKEN_REPORT:
            if (run || report)
                return wrong_template(err, pattern, "{report} and {run} must stand in folders of their own");
            report = true;
            break;
        case TOKEN_RUN:
            if (run || report)
                return wrong_template(err, pattern, "{report} and {run} must stand in folders of their own");
            run = true;
            break;
        case TOKEN_PREFIX:
            return wrong_template(err, pattern, "{prefix} stands only at the beginning");
        case TOKEN_WRONG:
            return wrong_template(err, pattern, "there is an unknown placeholder or a stray brace");
        }
    }
}

cra_status cra_naming_check_template(const char *pattern, cra_error *err)
{
    const char *rest = behind_prefix(pattern);

    CRA_TRY(check_tokens(pattern, err));
    /* Braces are ordinary characters to this check, so that it sees the segments as they are written. */
    if (*rest != '\0' && !cra_naming_is_relative(rest))
        return wrong_template(err, pattern, "it has an empty, '.' or '..' folder, or a control character");
    return CRA_OK;
}

static cra_status expand(const char *pattern, const char *report, const char *run, bool encoded, cra_buf *out,
                         cra_error *err)
{
    for (;;) {
        cra_bytes text = {NULL, 0};
        const token_kind kind = next_token(&pattern, &text);
        if (kind == TOKEN_END)
            return CRA_OK;
        if (kind == TOKEN_WRONG || kind == TOKEN_PREFIX)
            return cra_error_set(err, CRA_INVALID, "template",
                                 "unknown placeholder at '%.40s'; allowed are {report} and {run}", pattern);
        if (kind == TOKEN_TEXT) {
            CRA_TRY(cra_buf_append(out, text.data, text.size));
            continue;
        }
        const char *value = kind == TOKEN_REPORT ? report : run;
        if (encoded)
            CRA_TRY(cra_naming_encode(value, out, err));
        else
            CRA_TRY(cra_buf_append_str(out, value));
    }
}

cra_status cra_naming_folder(const char *pattern, const char *report, const char *run, cra_buf *out, cra_error *err)
{
    const char *rest = behind_prefix(pattern);

    CRA_TRY(cra_naming_check_template(pattern, err));
    CRA_TRY(expand(rest, report, run, true, out, err));
    return *rest == '\0' ? CRA_OK : cra_buf_append_byte(out, '/');
}

cra_status cra_naming_collection(const char *pattern, const char *report, const char *run, cra_buf *out, cra_error *err)
{
    const size_t start = out->size;

    CRA_TRY(expand(pattern, report, run, false, out, err));
    const size_t size = out->size - start;
    if (size == 0 || size > CRA_NAMING_SEGMENT_MAX)
        return cra_error_set(err, CRA_INVALID, "template",
                             "the collection of report '%.60s' would have a name of %zu bytes; allowed are 1 to %d",
                             report, size, CRA_NAMING_SEGMENT_MAX);
    for (size_t i = start; i < out->size; i++) {
        if (out->data[i] < 0x20 || out->data[i] == 0x7F)
            return cra_error_set(err, CRA_INVALID, "template",
                                 "the collection of report '%.60s' would have a control character in its name", report);
    }
    return CRA_OK;
}
