/* SPDX-License-Identifier: Apache-2.0 */

/* The configuration from hostile text: whatever loads must also check, show itself and answer its getters. */

#include "base/buf.h"
#include "core/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static cra_status visit(void *user, const cra_config_entry *entry)
{
    int64_t *sum = user;

    *sum += entry->value != NULL ? (int64_t)strlen(entry->value) : 0;
    return CRA_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const schemes[] = {"sqlite", "file", "memory", "s3"};
    cra_config *config = NULL;
    cra_error err = {0};

    if (cra_config_create(NULL, &config, &err) != CRA_OK)
        return 0;
    if (cra_config_load_text(config, cra_bytes_of(data, size), "fuzz.yaml", "/folder", &err) == CRA_OK) {
        cra_route_list routes;
        cra_buf out;
        size_t count = 0;
        int64_t sum = cra_config_report_int(config, "restore.batch_docs", "r", -1);
        cra_route_list_init(&routes, NULL);
        cra_buf_init(&out, NULL);
        if (cra_config_check(config, schemes, 4, &err) == CRA_OK)
            sum += cra_config_routes(config, &routes, &err);
        sum += cra_config_indexes(config, "r", &out, &count, &err);
        sum += cra_config_each(config, visit, &sum);
        (void)sum;
        cra_route_list_cleanup(&routes);
        cra_buf_cleanup(&out);
    }
    cra_config_free(config);
    return 0;
}
