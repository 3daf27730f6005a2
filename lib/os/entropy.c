/* SPDX-License-Identifier: Apache-2.0 */
#include "os/entropy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

cra_status cra_os_random(void *out, size_t size, cra_error *err)
{
    unsigned char *next = out;

    while (size > 0) {
        const ssize_t got = getrandom(next, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return cra_error_set_native(err, CRA_IO, errno, "os", "the kernel gives no random bytes");
        next += got;
        size -= (size_t)got;
    }
    return CRA_OK;
}

static void append_hex(char **out, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < count; i++) {
        *(*out)++ = digits[bytes[i] >> 4];
        *(*out)++ = digits[bytes[i] & 0x0F];
    }
}

cra_status cra_os_uuid(char out[CRA_UUID_TEXT_SIZE], cra_error *err)
{
    static const size_t groups[] = {4, 2, 2, 2, 6};
    unsigned char bytes[16];
    const cra_status status = cra_os_random(bytes, sizeof bytes, err);

    out[0] = '\0';
    if (status != CRA_OK)
        return status;
    bytes[6] = (unsigned char)((bytes[6] & 0x0F) | 0x40); /* version 4 */
    bytes[8] = (unsigned char)((bytes[8] & 0x3F) | 0x80); /* variant of RFC 9562 */

    const unsigned char *next = bytes;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (i > 0)
            *out++ = '-';
        append_hex(&out, next, groups[i]);
        next += groups[i];
    }
    *out = '\0';
    return CRA_OK;
}

cra_status cra_os_random_hex(char *out, size_t bytes, cra_error *err)
{
    unsigned char chunk[64];

    *out = '\0';
    while (bytes > 0) {
        const size_t now = bytes < sizeof chunk ? bytes : sizeof chunk;
        const cra_status status = cra_os_random(chunk, now, err);
        if (status != CRA_OK)
            return status;
        append_hex(&out, chunk, now);
        bytes -= now;
    }
    *out = '\0';
    return CRA_OK;
}

void cra_os_process_text(char *out, size_t size)
{
    char host[256];

    if (gethostname(host, sizeof host) != 0)
        snprintf(host, sizeof host, "localhost");
    host[sizeof host - 1] = '\0'; /* a cut name need not be terminated */
    snprintf(out, size, "%s-%ld", host, (long)getpid());
}
