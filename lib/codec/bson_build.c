/* SPDX-License-Identifier: Apache-2.0 */
#include <crawlarchive/bson.h>

#include <string.h>

#include "base/buf.h"
#include "codec/bson_raw.h"

/* Make room for a whole element and write its head, so that what follows cannot fail. */
static cra_status put_head(cra_buf *out, uint8_t type, const char *name, size_t value_size)
{
    const size_t name_size = strlen(name) + 1;

    if (value_size > SIZE_MAX - name_size - 1)
        return CRA_NOMEM;
    CRA_TRY(cra_buf_reserve(out, 1 + name_size + value_size));
    out->data[out->size] = type;
    memcpy(out->data + out->size + 1, name, name_size);
    out->size += 1 + name_size;
    return CRA_OK;
}

cra_status cra_bson_begin(cra_buf *out, size_t *mark)
{
    static const uint8_t length[4] = {0};

    *mark = out->size;
    return cra_buf_append(out, length, sizeof length);
}

cra_status cra_bson_end(cra_buf *out, size_t mark)
{
    if (mark > out->size || out->size - mark < 4 || out->size - mark >= INT32_MAX)
        return CRA_INVALID;
    CRA_TRY(cra_buf_append_byte(out, 0));
    cra_put_le32(out->data + mark, (uint32_t)(out->size - mark));
    return CRA_OK;
}

cra_status cra_bson_put_value(cra_buf *out, const char *name, cra_value value)
{
    if (!cra_value_sound(value))
        return CRA_INVALID;
    CRA_TRY(put_head(out, value.type, name, value.size));
    if (value.size > 0)
        memcpy(out->data + out->size, value.data, value.size);
    out->size += value.size;
    return CRA_OK;
}

cra_status cra_bson_put_string(cra_buf *out, const char *name, const char *text)
{
    const size_t size = strlen(text) + 1;

    if (size > INT32_MAX)
        return CRA_INVALID;
    CRA_TRY(put_head(out, CRA_BSON_STRING, name, 4 + size));
    cra_put_le32(out->data + out->size, (uint32_t)size);
    memcpy(out->data + out->size + 4, text, size);
    out->size += 4 + size;
    return CRA_OK;
}

static cra_status put_eight(cra_buf *out, uint8_t type, const char *name, int64_t number)
{
    CRA_TRY(put_head(out, type, name, 8));
    cra_put_le64(out->data + out->size, (uint64_t)number);
    out->size += 8;
    return CRA_OK;
}

cra_status cra_bson_put_int64(cra_buf *out, const char *name, int64_t number)
{
    return put_eight(out, CRA_BSON_INT64, name, number);
}

cra_status cra_bson_put_date(cra_buf *out, const char *name, cra_time_ms time)
{
    return put_eight(out, CRA_BSON_DATE, name, time);
}

cra_status cra_bson_put_bool(cra_buf *out, const char *name, bool flag)
{
    CRA_TRY(put_head(out, CRA_BSON_BOOL, name, 1));
    out->data[out->size++] = flag ? 1 : 0;
    return CRA_OK;
}

cra_status cra_bson_put_binary(cra_buf *out, const char *name, uint8_t subtype, cra_bytes data)
{
    const size_t inner = subtype == 2 ? 4 : 0; /* the old subtype repeats the length */

    if (data.size > INT32_MAX - 16)
        return CRA_INVALID;
    CRA_TRY(put_head(out, CRA_BSON_BINARY, name, 5 + inner + data.size));
    uint8_t *to = out->data + out->size;
    cra_put_le32(to, (uint32_t)(data.size + inner));
    to[4] = subtype;
    if (inner > 0)
        cra_put_le32(to + 5, (uint32_t)data.size);
    if (data.size > 0)
        memcpy(to + 5 + inner, data.data, data.size);
    out->size += 5 + inner + data.size;
    return CRA_OK;
}

cra_status cra_bson_put_null(cra_buf *out, const char *name)
{
    return put_head(out, CRA_BSON_NULL, name, 0);
}

cra_status cra_bson_put_begin(cra_buf *out, const char *name, uint8_t type, size_t *mark)
{
    if (type != CRA_BSON_DOCUMENT && type != CRA_BSON_ARRAY)
        return CRA_INVALID;
    CRA_TRY(put_head(out, type, name, 4));
    *mark = out->size;
    memset(out->data + out->size, 0, 4);
    out->size += 4;
    return CRA_OK;
}
