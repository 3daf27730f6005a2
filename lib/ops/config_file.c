/* SPDX-License-Identifier: Apache-2.0 */

/* What the configuration needs of the world: a context, its backends, a file. Everything else is pure (core). */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <crawlarchive/sys/backend.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "core/config.h"
#include "os/file.h"

#define MAX_SCHEMES 64

cra_status cra_config_new(cra_context *context, cra_config **out, cra_error *err)
{
    if (out == NULL)
        return cra_error_set(err, CRA_INVALID, "config", "no place for the configuration was given");
    *out = NULL;
    if (context == NULL)
        return cra_error_set(err, CRA_INVALID, "config", "a configuration needs a context");
    CRA_TRY(cra_config_create(cra_context_allocator(context), out, err));
    (*out)->context = context;
    return CRA_OK;
}

cra_status cra_config_load_file(cra_config *config, const char *path, cra_error *err)
{
    char whole[PATH_MAX];
    cra_buf text;

    if (config == NULL || path == NULL)
        return cra_error_set(err, CRA_INVALID, "config", "a configuration and a path are needed");
    /* Absolute, so that a later change of the working folder moves no store. */
    if (realpath(path, whole) == NULL)
        return cra_file_error(err, errno, "open", path);
    cra_buf_init(&text, config->allocator);
    cra_status status = cra_file_read(whole, CRA_YAML_MAX_BYTES, &text, err);
    if (status == CRA_OK) {
        char *slash = strrchr(whole, '/');
        slash[slash == whole ? 1 : 0] = '\0';
        status = cra_config_load_text(config, cra_buf_bytes(&text), path, whole, err);
    }
    cra_buf_cleanup(&text);
    return status;
}

cra_status cra_config_validate(cra_config *config, cra_error *err)
{
    const char *schemes[MAX_SCHEMES];
    size_t count = 0;

    if (config == NULL)
        return cra_error_set(err, CRA_INVALID, "config", "a configuration is needed");
    for (; count < MAX_SCHEMES; count++) {
        const cra_backend *backend = cra_backend_at(config->context, count);
        if (backend == NULL)
            break;
        schemes[count] = backend->scheme;
    }
    return cra_config_check(config, schemes, count, err);
}
