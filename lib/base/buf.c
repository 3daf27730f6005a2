/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"

void cra_buf_init(cra_buf *buf, const cra_allocator *allocator)
{
    buf->data = NULL;
    buf->size = 0;
    buf->capacity = 0;
    buf->allocator = allocator;
}

void cra_buf_cleanup(cra_buf *buf)
{
    cra_free(buf->allocator, buf->data);
    buf->data = NULL;
    buf->size = 0;
    buf->capacity = 0;
}

cra_status cra_buf_reserve(cra_buf *buf, size_t extra)
{
    if (extra > SIZE_MAX - buf->size)
        return CRA_NOMEM;

    const size_t need = buf->size + extra;
    if (need <= buf->capacity)
        return CRA_OK;

    size_t next = buf->capacity < 64 ? 64 : buf->capacity;
    while (next < need)
        next = next > SIZE_MAX / 2 ? need : next * 2;

    uint8_t *grown = cra_realloc(buf->allocator, buf->data, next);
    if (grown == NULL)
        return CRA_NOMEM;
    buf->data = grown;
    buf->capacity = next;
    return CRA_OK;
}

cra_status cra_buf_append(cra_buf *buf, const void *data, size_t size)
{
    CRA_TRY(cra_buf_reserve(buf, size));
    if (size > 0)
        memcpy(buf->data + buf->size, data, size);
    buf->size += size;
    return CRA_OK;
}

const char *cra_buf_cstr(cra_buf *buf)
{
    if (cra_buf_reserve(buf, 1) != CRA_OK)
        return NULL;
    buf->data[buf->size] = '\0';
    return (const char *)buf->data;
}

cra_status cra_buf_append_byte(cra_buf *buf, uint8_t byte)
{
    return cra_buf_append(buf, &byte, 1);
}

cra_status cra_buf_append_str(cra_buf *buf, const char *text)
{
    return cra_buf_append(buf, text, strlen(text));
}

cra_status cra_buf_appendf(cra_buf *buf, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        return CRA_INVALID;

    CRA_TRY(cra_buf_reserve(buf, (size_t)length + 1));
    va_start(args, format);
    vsnprintf((char *)buf->data + buf->size, (size_t)length + 1, format, args);
    va_end(args);
    buf->size += (size_t)length;
    return CRA_OK;
}

char *cra_buf_detach_cstr(cra_buf *buf)
{
    if (cra_buf_cstr(buf) == NULL)
        return NULL;

    char *text = (char *)buf->data;
    buf->data = NULL;
    buf->size = 0;
    buf->capacity = 0;
    return text;
}
