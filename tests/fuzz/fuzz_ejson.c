/* SPDX-License-Identifier: Apache-2.0 */

/* Any text as extended JSON: what is accepted is valid BSON, and its canonical text reads back as the same bytes. */

#include <crawlarchive/bson.h>

#include <stdlib.h>

#include "base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* The texts of two documents at a stage where both are canonical. */
static void check_stable(cra_bytes document)
{
    cra_buf first;
    cra_buf bson;
    cra_buf second;

    cra_buf_init(&first, NULL);
    cra_buf_init(&bson, NULL);
    cra_buf_init(&second, NULL);
    require(cra_bson_to_json(document, CRA_JSON_CANONICAL, &first, NULL) == CRA_OK);
    /* A top-level or escaped "$oid" key is an ordinary one, which its plain text in a nested place is not. */
    if (cra_bson_from_json(cra_buf_bytes(&first), &bson, NULL, NULL) == CRA_OK) {
        require(cra_bson_validate(cra_buf_bytes(&bson), CRA_BSON_CHECK_UTF8, NULL) == CRA_OK);
        require(cra_bson_to_json(cra_buf_bytes(&bson), CRA_JSON_CANONICAL, &second, NULL) == CRA_OK);
    }
    cra_buf_cleanup(&first);
    cra_buf_cleanup(&bson);
    cra_buf_cleanup(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const cra_bytes text = {data, size};
    cra_error err;
    cra_buf bson;
    size_t consumed = 0;

    cra_buf_init(&bson, NULL);
    const cra_status status = cra_bson_from_json(text, &bson, &consumed, &err);
    require(consumed <= size);
    if (status == CRA_OK) {
        require(consumed >= 2);
        require(cra_bson_validate(cra_buf_bytes(&bson), CRA_BSON_CHECK_UTF8, NULL) == CRA_OK);
        check_stable(cra_buf_bytes(&bson));
    } else {
        require(bson.size == 0);
    }
    cra_buf_cleanup(&bson);
    return 0;
}
