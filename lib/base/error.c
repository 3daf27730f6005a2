/* SPDX-License-Identifier: Apache-2.0 */
#include <crawlarchive/error.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One row a status: its JSON name and the exit code of the command. */
static const struct {
    cra_status status;
    const char *name;
    int exit_code;
} status_table[] = {
    {CRA_OK, "ok", 0},
    {CRA_DONE, "done", 0},
    {CRA_INVALID, "invalid", 2},
    {CRA_NOMEM, "nomem", 1},
    {CRA_NOT_FOUND, "not_found", 10},
    {CRA_EXISTS, "exists", 1},
    {CRA_CONFLICT, "conflict", 1},
    {CRA_LOCKED, "locked", 11},
    {CRA_DENIED, "denied", 12},
    {CRA_UNSUPPORTED, "unsupported", 1},
    {CRA_CORRUPT, "corrupt", 13},
    {CRA_IO, "io", 1},
    {CRA_TIMEOUT, "timeout", 14},
    {CRA_UNAVAILABLE, "unavailable", 14},
    {CRA_CANCELLED, "cancelled", 130},
    {CRA_PARTIAL, "partial", 3},
    {CRA_INTERNAL, "internal", 1},
};

const char *cra_status_name(cra_status status)
{
    for (size_t i = 0; i < sizeof status_table / sizeof status_table[0]; i++) {
        if (status_table[i].status == status)
            return status_table[i].name;
    }
    return "unknown";
}

int cra_status_exit_code(cra_status status)
{
    for (size_t i = 0; i < sizeof status_table / sizeof status_table[0]; i++) {
        if (status_table[i].status == status)
            return status_table[i].exit_code;
    }
    return 1;
}

void cra_error_clear(cra_error *err)
{
    if (err != NULL)
        memset(err, 0, sizeof *err);
}

/* Names come from outside: a control character in one must not reach a terminal or split a log line. */
static void mask_control_characters(char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7F)
            *text = '?';
    }
}

static cra_status fill(cra_error *err, cra_status status, int32_t native_code, const char *origin,
                       const char *format, va_list args)
{
    if (err == NULL)
        return status;

    /* Built aside: an argument may be the message of the same error. */
    char message[sizeof err->message];
    vsnprintf(message, sizeof message, format, args);
    mask_control_characters(message);

    err->status = status;
    err->native_code = native_code;
    snprintf(err->origin, sizeof err->origin, "%s", origin);
    memcpy(err->message, message, sizeof message);
    err->hint[0] = '\0';
    return status;
}

cra_status(cra_error_set)(cra_error *err, cra_status status, const char *origin, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill(err, status, 0, origin, format, args);
    va_end(args);
    return status;
}

cra_status(cra_error_set_native)(cra_error *err, cra_status status, int32_t native_code, const char *origin,
                                const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill(err, status, native_code, origin, format, args);
    va_end(args);
    return status;
}

void cra_error_hint(cra_error *err, const char *format, ...)
{
    if (err == NULL)
        return;

    va_list args;
    va_start(args, format);
    vsnprintf(err->hint, sizeof err->hint, format, args);
    va_end(args);
    mask_control_characters(err->hint);
}

cra_status cra_status_from_errno(int errno_value)
{
    switch (errno_value) {
    case 0:
        return CRA_OK;
    case ENOENT:
    case ENOTDIR:
        return CRA_NOT_FOUND;
    case EEXIST:
        return CRA_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS:
        return CRA_DENIED;
    case ENOMEM:
        return CRA_NOMEM;
    case ETIMEDOUT:
        return CRA_TIMEOUT;
    case EAGAIN:
    case EBUSY:
    case EMFILE:
    case ENFILE:
        return CRA_UNAVAILABLE;
    case EINVAL:
    case ENAMETOOLONG:
        return CRA_INVALID;
    default:
        return CRA_IO;
    }
}

bool cra_error_is_retryable(const cra_error *err)
{
    return err != NULL && (err->status == CRA_TIMEOUT || err->status == CRA_UNAVAILABLE || err->status == CRA_LOCKED);
}
