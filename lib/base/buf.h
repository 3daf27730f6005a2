/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BASE_BUF_H
#define CRA_BASE_BUF_H

/* Helpers over the public cra_buf: bytes, text, formatted text, views. */

#include <string.h>

#include <crawlarchive/types.h>

/* Forget the content, keep the memory. */
static inline void cra_buf_clear(cra_buf *buf)
{
    buf->size = 0;
}

static inline cra_bytes cra_buf_bytes(const cra_buf *buf)
{
    cra_bytes view = {buf->data, buf->size};
    return view;
}

static inline cra_bytes cra_bytes_of(const void *data, size_t size)
{
    cra_bytes view = {(const uint8_t *)data, size};
    return view;
}

static inline cra_bytes cra_bytes_of_str(const char *text)
{
    return cra_bytes_of(text, strlen(text));
}

static inline bool cra_bytes_equal(cra_bytes a, cra_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Append one byte, or a NUL-terminated text without its NUL, or printf output; CRA_NOMEM. */
CRA_MUST_CHECK cra_status cra_buf_append_byte(cra_buf *buf, uint8_t byte);
CRA_MUST_CHECK cra_status cra_buf_append_str(cra_buf *buf, const char *text);
CRA_MUST_CHECK cra_status cra_buf_appendf(cra_buf *buf, const char *format, ...) CRA_PRINTF(2, 3);

/* Hand the content over as a NUL-terminated string owned by the caller (free with the buffer's
 * allocator); the buffer is empty afterwards. NULL on no memory. */
char *cra_buf_detach_cstr(cra_buf *buf);

/* Return the status of `call` from the enclosing function unless it is CRA_OK. */
#define CRA_TRY(call)                          \
    do {                                       \
        const cra_status cra_try_ = (call);    \
        if (cra_try_ != CRA_OK)                \
            return cra_try_;                   \
    } while (0)

#endif
