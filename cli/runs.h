/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CLI_RUNS_H
#define CRA_CLI_RUNS_H

/* The runs that a command line names. */

#include "output.h"

typedef struct cra_cli_runs {
    const cra_run **items;
    size_t count;
    size_t capacity;
} cra_cli_runs;

/* Find each name; one that does not exist becomes a failed item of `items` (NULL: it is an error). An ambiguous one
 * is an error before anything is done. */
cra_status cra_cli_runs_find(cra_cli *cli, const char *const *names, size_t count, cra_cli_items *items,
                             cra_cli_runs *out, cra_error *err);
/* Take over a run; it is freed on failure. */
cra_status cra_cli_runs_add(cra_cli_runs *runs, cra_run *run, cra_error *err);
/* Free the runs and the list, which can be filled again. */
void cra_cli_runs_cleanup(cra_cli_runs *runs);

#endif
