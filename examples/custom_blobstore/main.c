/* SPDX-License-Identifier: Apache-2.0 */

/* logstore-demo PATH: register the store, put an object, list what is there. */

#include <stdio.h>
#include <string.h>

#include "log_store.h"

static cra_status print_name(void *user, const char *name, const cra_blob_info *info)
{
    (void)user;
    printf("%10lld  %s\n", (long long)info->size_bytes, name);
    return CRA_OK;
}

static cra_status demonstrate(cra_context *context, const char *uri, cra_error *err)
{
    static const char text[] = "kept in a log\n";
    const cra_bytes content = {(const uint8_t *)text, sizeof text - 1};
    const cra_open_args args = {sizeof args, context, uri, CRA_OPEN_CREATE, NULL, 0};
    cra_blobstore *store = NULL;

    cra_status status = cra_backend_register(context, &log_store_backend, err);
    if (status == CRA_OK)
        status = cra_blobstore_open(&args, &store, err);
    if (status == CRA_OK)
        status = cra_blobstore_put(store, "demo/object", content, 0, NULL, err);
    if (status == CRA_OK)
        status = cra_blobstore_list(store, "", print_name, NULL, err);
    cra_blobstore_free(store);
    return status;
}

int main(int argc, char **argv)
{
    char uri[4096];
    cra_context *context = NULL;
    cra_error err = {0};

    if (argc != 2 || strlen(argv[1]) > sizeof uri - 5) {
        fprintf(stderr, "usage: logstore-demo PATH\n");
        return 2;
    }
    snprintf(uri, sizeof uri, "log:%s", argv[1]);
    cra_status status = cra_context_new(NULL, &context, &err);
    if (status == CRA_OK)
        status = demonstrate(context, uri, &err);
    if (status != CRA_OK)
        fprintf(stderr, "logstore-demo: %s\n", err.message);
    cra_context_free(context);
    return cra_status_exit_code(status);
}
