/* SPDX-License-Identifier: Apache-2.0 */

/* Any bytes as a document: every walk stays inside it, and what validates can be keyed, printed and read again. */

#include <crawlarchive/bson.h>

#include <stdlib.h>

#include "base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void walk(cra_bytes document, int depth)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_value found;

    if (depth > 200 || cra_bson_iter_init(&iter, document, NULL) != CRA_OK)
        return;
    while (cra_bson_iter_next(&iter, &element, NULL) == CRA_OK) {
        require(cra_bson_find(document, element.name, element.name_size, &found) == CRA_OK);
        require(cra_value_compare(element.value, element.value) == 0);
        walk(cra_value_document(element.value), depth + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const cra_bytes document = {data, size};
    const cra_value value = {CRA_BSON_DOCUMENT, data, size};
    const bool valid = cra_bson_validate(document, CRA_BSON_CHECK_UTF8, NULL) == CRA_OK;
    cra_buf out;
    cra_buf again;

    cra_buf_init(&out, NULL);
    cra_buf_init(&again, NULL);
    walk(document, 0);
    require(cra_value_compare(value, value) == 0);

    const cra_status keyed = cra_value_order_key(value, &out);
    require(!valid || keyed == CRA_OK);
    out.size = 0;
    const cra_status moved = cra_bson_id_first(document, &out);
    require(!valid || (moved == CRA_OK && out.size == size));
    out.size = 0;
    const cra_status printed = cra_bson_to_json(document, CRA_JSON_CANONICAL, &out, NULL);
    require(!valid || printed == CRA_OK);
    /* A document with keys such as "$oid" may read back as another, or not at all; it must not crash. */
    if (printed == CRA_OK)
        (void)cra_bson_from_json(cra_buf_bytes(&out), &again, NULL, NULL);
    cra_buf_cleanup(&out);
    cra_buf_cleanup(&again);
    return 0;
}
