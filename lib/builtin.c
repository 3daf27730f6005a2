/* SPDX-License-Identifier: Apache-2.0 */

/* The only file that names backends. */

#include <crawlarchive/sys/backend.h>

#include "ports/context.h"

#ifdef CRA_WITH_SQLITE
extern const cra_backend cra_backend_sqlite;
#endif
#ifdef CRA_WITH_MEMORY
extern const cra_backend cra_backend_memory;
#endif
#ifdef CRA_WITH_FILE
extern const cra_backend cra_backend_file;
#endif
#ifdef CRA_WITH_JSONL
extern const cra_backend cra_backend_jsonl;
#endif

static const cra_backend *const builtin[] = {
#ifdef CRA_WITH_SQLITE
    &cra_backend_sqlite,
#endif
#ifdef CRA_WITH_MEMORY
    &cra_backend_memory,
#endif
#ifdef CRA_WITH_FILE
    &cra_backend_file,
#endif
#ifdef CRA_WITH_JSONL
    &cra_backend_jsonl,
#endif
    NULL,
};

cra_status cra_context_new(const cra_context_options *options, cra_context **out, cra_error *err)
{
    cra_status status = cra_context_new_bare(options, out, err);

    for (size_t i = 0; status == CRA_OK && builtin[i] != NULL; i++)
        status = cra_backend_register(*out, builtin[i], err);
    if (status != CRA_OK) {
        cra_context_free(*out);
        *out = NULL;
    }
    return status;
}
