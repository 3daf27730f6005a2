/* SPDX-License-Identifier: Apache-2.0 */
#include <crawlarchive/bson.h>

#include <string.h>

#include "base/buf.h"
#include "codec/bson_raw.h"

static cra_status corrupt(cra_error *err, size_t offset, const char *found)
{
    return cra_error_set(err, CRA_CORRUPT, "bson", "found %s at offset %zu of the document", found, offset);
}

cra_status cra_bson_iter_init(cra_bson_iter *iter, cra_bytes document, cra_error *err)
{
    size_t size = 0;
    const char *problem = cra_bson_measure(CRA_BSON_DOCUMENT, document.data, document.size, &size);

    iter->data = document.data;
    iter->size = 0;
    iter->position = 0;
    if (problem == NULL && size != document.size)
        problem = "bytes behind a document's end";
    if (problem != NULL)
        return corrupt(err, 0, problem);
    iter->size = size;
    iter->position = 4;
    return CRA_OK;
}

cra_status cra_bson_iter_next(cra_bson_iter *iter, cra_bson_element *out, cra_error *err)
{
    const size_t position = iter->position;

    /* The last byte is the terminator; an iterator that failed to begin has size 0. */
    if (position + 1 >= iter->size)
        return CRA_DONE;

    const size_t end = iter->size - 1;
    const uint8_t type = iter->data[position];
    if (type == 0)
        return corrupt(err, position, "a terminator before the document's end");

    const uint8_t *name = iter->data + position + 1;
    const uint8_t *name_end = memchr(name, 0, end - position - 1);
    if (name_end == NULL)
        return corrupt(err, position, "an element name without its terminator");

    const size_t value_at = (size_t)(name_end - iter->data) + 1;
    size_t size = 0;
    const char *problem = cra_bson_measure(type, iter->data + value_at, end - value_at, &size);
    if (problem != NULL)
        return corrupt(err, value_at, problem);

    out->name = (const char *)name;
    out->name_size = (size_t)(name_end - name);
    out->value.type = type;
    out->value.data = iter->data + value_at;
    out->value.size = size;
    out->offset = position;
    iter->position = value_at + size;
    return CRA_OK;
}

cra_bytes cra_value_document(cra_value value)
{
    if (value.type == CRA_BSON_DOCUMENT || value.type == CRA_BSON_ARRAY)
        return cra_bytes_of(value.data, value.size);
    return cra_bytes_of(NULL, 0);
}

cra_bytes cra_value_text(cra_value value)
{
    const bool is_text = value.type == CRA_BSON_STRING || value.type == CRA_BSON_SYMBOL || value.type == CRA_BSON_CODE;

    if (!is_text || value.size < 5)
        return cra_bytes_of(NULL, 0);
    return cra_bytes_of(value.data + 4, value.size - 5);
}

bool cra_value_as_int64(cra_value value, int64_t *out)
{
    if (value.type == CRA_BSON_INT32 && value.size == 4) {
        *out = (int32_t)cra_le32(value.data);
        return true;
    }
    if (value.type == CRA_BSON_INT64 && value.size == 8) {
        *out = (int64_t)cra_le64(value.data);
        return true;
    }
    if (value.type == CRA_BSON_DOUBLE && value.size == 8) {
        const double number = cra_le_double(value.data);
        /* NaN fails both comparisons; -2^63 is an int64, 2^63 is not. */
        if (number >= -9223372036854775808.0 && number < 9223372036854775808.0 && !((double)(int64_t)number < number) &&
            !((double)(int64_t)number > number)) {
            *out = (int64_t)number;
            return true;
        }
    }
    return false;
}

cra_status cra_bson_find(cra_bytes document, const char *name, size_t size, cra_value *out)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_status status;

    memset(out, 0, sizeof *out);
    CRA_TRY(cra_bson_iter_init(&iter, document, NULL));
    while ((status = cra_bson_iter_next(&iter, &element, NULL)) == CRA_OK) {
        if (element.name_size == size && (size == 0 || memcmp(element.name, name, size) == 0)) {
            *out = element.value;
            return CRA_OK;
        }
    }
    return status == CRA_DONE ? CRA_NOT_FOUND : status;
}

/* Element of an array by position: the names inside arrays are not to be trusted. */
static cra_status find_index(cra_bytes array, const char *digits, size_t size, cra_value *out)
{
    size_t index = 0;
    cra_bson_iter iter;
    cra_bson_element element;

    if (size == 0 || size > 9 || (size > 1 && digits[0] == '0'))
        return CRA_NOT_FOUND;
    for (size_t i = 0; i < size; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return CRA_NOT_FOUND;
        index = index * 10 + (size_t)(digits[i] - '0');
    }

    CRA_TRY(cra_bson_iter_init(&iter, array, NULL));
    for (;; index--) {
        const cra_status status = cra_bson_iter_next(&iter, &element, NULL);
        if (status != CRA_OK)
            return status == CRA_DONE ? CRA_NOT_FOUND : status;
        if (index == 0)
            break;
    }
    *out = element.value;
    return CRA_OK;
}

cra_status cra_bson_path(cra_bytes document, const char *path, cra_value *out)
{
    cra_value current = {CRA_BSON_DOCUMENT, document.data, document.size};

    memset(out, 0, sizeof *out);
    for (;;) {
        const size_t size = strcspn(path, ".");
        cra_status status = CRA_NOT_FOUND;
        if (current.type == CRA_BSON_DOCUMENT)
            status = cra_bson_find(cra_value_document(current), path, size, &current);
        else if (current.type == CRA_BSON_ARRAY)
            status = find_index(cra_value_document(current), path, size, &current);
        if (status != CRA_OK)
            return status;
        if (path[size] == '\0')
            break;
        path += size + 1;
    }
    *out = current;
    return CRA_OK;
}

cra_status cra_bson_next_document(cra_bytes *stream, cra_bytes *document)
{
    size_t size = 0;

    *document = cra_bytes_of(NULL, 0);
    if (stream->size == 0)
        return CRA_DONE;
    if (cra_bson_measure(CRA_BSON_DOCUMENT, stream->data, stream->size, &size) != NULL)
        return CRA_CORRUPT;
    *document = cra_bytes_of(stream->data, size);
    stream->data += size;
    stream->size -= size;
    return CRA_OK;
}

cra_status cra_bson_id_first(cra_bytes document, cra_buf *out)
{
    cra_bson_iter iter;
    cra_bson_element element;
    cra_status status;

    CRA_TRY(cra_bson_iter_init(&iter, document, NULL));
    do {
        status = cra_bson_iter_next(&iter, &element, NULL);
    } while (status == CRA_OK && !(element.name_size == 3 && memcmp(element.name, "_id", 3) == 0));

    if (status == CRA_CORRUPT)
        return status;
    if (status == CRA_DONE || element.offset == 4)
        return cra_buf_append(out, document.data, document.size);

    /* The size stays, so one reservation makes the rest certain. */
    CRA_TRY(cra_buf_reserve(out, document.size));
    uint8_t *to = out->data + out->size;
    const size_t id_size = iter.position - element.offset;
    memcpy(to, document.data, 4);
    memcpy(to + 4, document.data + element.offset, id_size);
    memcpy(to + 4 + id_size, document.data + 4, element.offset - 4);
    memcpy(to + iter.position, document.data + iter.position, document.size - iter.position);
    out->size += document.size;
    return CRA_OK;
}

bool cra_value_identical(cra_value a, cra_value b)
{
    return a.type == b.type && cra_bytes_equal(cra_bytes_of(a.data, a.size), cra_bytes_of(b.data, b.size));
}
