/* SPDX-License-Identifier: Apache-2.0 */
#include "runs.h"

#include <stdlib.h>
#include <string.h>

cra_status cra_cli_runs_add(cra_cli_runs *runs, cra_run *run, cra_error *err)
{
    if (runs->count == runs->capacity) {
        size_t capacity = runs->capacity * 2 + 16;
        const cra_run **grown = realloc(runs->items, capacity * sizeof *grown);
        if (!grown) {
            cra_run_free(run);
            return cra_error_set(err, CRA_NOMEM, "runs", "out of memory");
        }
        runs->items = grown;
        runs->capacity = capacity;
    }
    runs->items[runs->count++] = run;
    return CRA_OK;
}

static bool named_before(const cra_cli_runs *runs, const cra_run *run)
{
    const cra_run_doc *doc = cra_run_doc_of(run);
    for (size_t i = 0; i < runs->count; i++) {
        const cra_run_doc *other = cra_run_doc_of(runs->items[i]);
        if (strcmp(other->run, doc->run) == 0 && strcmp(other->report, doc->report) == 0)
            return true;
    }
    return false;
}

cra_status cra_cli_runs_find(cra_cli *cli, const char *const *names, size_t count, cra_cli_items *items,
                             cra_cli_runs *out, cra_error *err)
{
    for (size_t i = 0; i < count; i++) {
        cra_run *run = NULL;
        cra_error missing = {0};
        cra_status status = cra_run_find(cli->engine, names[i], &run, &missing);
        if (status == CRA_NOT_FOUND && items) {
            cra_cli_item_failed(items, names[i], &missing);
            continue;
        }
        if (status == CRA_OK && named_before(out, run)) {
            cra_run_free(run);
            continue;
        }
        if (status == CRA_OK)
            status = cra_cli_runs_add(out, run, &missing);
        if (status != CRA_OK) {
            if (err)
                *err = missing;
            return status;
        }
    }
    return CRA_OK;
}

void cra_cli_runs_cleanup(cra_cli_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        cra_run_free((cra_run *)(uintptr_t)runs->items[i]);
    free(runs->items);
    memset(runs, 0, sizeof *runs);
}
