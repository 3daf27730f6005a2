/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BASE_URI_H
#define CRA_BASE_URI_H

/* URIs of stores: SCHEME:PATH?key=value&…, SCHEME://AUTHORITY/PATH?key=value&…
 *
 * After RFC 3986, with two allowances for file paths: `#` is an ordinary character (no store has fragments), and so
 * is any byte above 0x7F. In paths and parameters `%XX` is decoded; a `?` or `%` in a path must be encoded. */

#include <crawlarchive/error.h>

typedef struct cra_uri_param {
    char *key;
    char *value; /* "" where the text has no `=` */
} cra_uri_param;

typedef struct cra_uri {
    char *scheme;    /* lower case as written */
    char *authority; /* between `//` and the path, not decoded; NULL where there is no `//` */
    char *path;      /* decoded; "" where empty */
    cra_uri_param *params;
    size_t params_count;
    const cra_allocator *allocator;
} cra_uri;

/* Whether `text` is a scheme: [a-z][a-z0-9+]* */
bool cra_uri_is_scheme(const char *text);

/* Length of the scheme `uri` begins with; 0 where there is none before a `:`. */
size_t cra_uri_scheme_size(const char *uri);

/* Take a URI apart; cra_uri_cleanup() frees it (also legal after a failure).
 * @return CRA_INVALID (no scheme, bad %XX, a NUL, a parameter twice or without name), CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_uri_parse(const char *text, const cra_allocator *allocator, cra_uri *out, cra_error *err);
void cra_uri_cleanup(cra_uri *uri);

/* Value of a parameter, borrowed; NULL where it is not given. */
const char *cra_uri_param_get(const cra_uri *uri, const char *key);

/* Refuse parameters that are not among `known[count]`: a misspelt one must not be ignored.
 * @return CRA_INVALID naming it, the known ones and the nearest */
CRA_MUST_CHECK cra_status cra_uri_check_params(const cra_uri *uri, const char *const *known, size_t count,
                                               cra_error *err);

/* Append `size` bytes of `text` with %XX decoded. @return CRA_INVALID (bad or zero %XX), CRA_NOMEM */
CRA_MUST_CHECK cra_status cra_percent_decode(const char *text, size_t size, cra_buf *out);

#endif
