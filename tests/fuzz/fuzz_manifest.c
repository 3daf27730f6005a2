/* SPDX-License-Identifier: Apache-2.0 */

/* A manifest from hostile text: what is accepted is written again, and what was written comes back the same. */

#include <stdlib.h>

#include "base/buf.h"
#include "core/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cra_manifest manifest;
    cra_manifest back;
    cra_buf first;
    cra_buf second;
    cra_error err = {0};

    if (cra_manifest_from_json(cra_bytes_of(data, size), NULL, &manifest, &err) != CRA_OK)
        return 0;
    cra_buf_init(&first, NULL);
    cra_buf_init(&second, NULL);
    if (cra_manifest_to_json(&manifest, &first, &err) != CRA_OK)
        abort();
    if (cra_manifest_from_json(cra_buf_bytes(&first), NULL, &back, &err) != CRA_OK)
        abort();
    if (cra_manifest_to_json(&back, &second, &err) != CRA_OK ||
        !cra_bytes_equal(cra_buf_bytes(&first), cra_buf_bytes(&second)))
        abort();
    cra_manifest_cleanup(&manifest);
    cra_manifest_cleanup(&back);
    cra_buf_cleanup(&first);
    cra_buf_cleanup(&second);
    return 0;
}
