/* SPDX-License-Identifier: Apache-2.0 */

/* The installed blobstore suite on log:. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "log_store.h"
#include "suite_blobstore.h"

typedef struct place {
    cra_context *context;
    char folder[64];
    char uri[128];
    int opened;
} place;

static cra_status reopen(void *user, unsigned flags, cra_blobstore **out, cra_error *err)
{
    place *p = user;
    const cra_open_args args = {sizeof args, p->context, p->uri, flags, NULL, 0};

    return cra_blobstore_open(&args, out, err);
}

static cra_status open_empty(void *user, cra_blobstore **out, cra_error *err)
{
    place *p = user;

    snprintf(p->uri, sizeof p->uri, "log:%s/%d.log", p->folder, p->opened++);
    return reopen(user, CRA_OPEN_CREATE, out, err);
}

static void remove_files(const place *p)
{
    char path[128];

    for (int i = 0; i < p->opened; i++) {
        snprintf(path, sizeof path, "%s/%d.log", p->folder, i);
        unlink(path);
    }
    rmdir(p->folder);
}

int main(void)
{
    place p = {NULL, "/tmp/logstore-XXXXXX", "", 0};
    const cra_blobstore_fixture fixture = {&p, open_empty, reopen};
    cra_conformance t = {.report = cra_conformance_print};
    cra_error err = {0};

    if (mkdtemp(p.folder) == NULL || cra_context_new(NULL, &p.context, &err) != CRA_OK ||
        cra_backend_register(p.context, &log_store_backend, &err) != CRA_OK) {
        fprintf(stderr, "test_conformance: %s\n", err.message);
        return 1;
    }
    const int failures = cra_conformance_blobstore(&t, &fixture);
    printf("%d checks, %d failures, %d skipped\n", t.checks, failures, t.skipped);
    cra_context_free(p.context);
    remove_files(&p);
    return failures == 0 ? 0 : 1;
}
