/* SPDX-License-Identifier: Apache-2.0 */

/* Files as sources of bytes, and as sinks that appear whole. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "records.h"

static cra_status failed(const char *path, cra_error *err)
{
    int number = errno;
    return cra_error_set_native(err, cra_status_from_errno(number), number, "file", "%s: %s", path, strerror(number));
}

cra_status cra_cli_file_init(cra_cli_file *file, const char *path, cra_error *err)
{
    struct stat info;
    *file = (cra_cli_file){path, -1, false, 0};
    if (strcmp(path, "-") == 0)
        return CRA_OK;
    if (stat(path, &info) != 0 || access(path, R_OK) != 0)
        return failed(path, err);
    if (S_ISDIR(info.st_mode))
        return cra_error_set(err, CRA_INVALID, "file", "%s is a folder", path);
    return CRA_OK;
}

cra_status cra_cli_file_read(void *user, void *buffer, size_t capacity, size_t *got, cra_error *err)
{
    cra_cli_file *file = user;
    *got = 0;
    if (file->ended)
        return CRA_OK;
    if (file->descriptor < 0) {
        file->descriptor = strcmp(file->path, "-") == 0 ? STDIN_FILENO : open(file->path, O_RDONLY | O_CLOEXEC);
        if (file->descriptor < 0)
            return failed(file->path, err);
    }
    for (;;) {
        cra_status status = cra_cli_check_signal(err);
        if (status != CRA_OK)
            return status;
        ssize_t count = read(file->descriptor, buffer, capacity);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return failed(file->path, err);
        *got = (size_t)count;
        file->bytes += count;
        if (count > 0)
            return CRA_OK;
        cra_cli_file_close(file);
        return cra_cli_check_signal(err); /* the same signal may have ended who writes to us */
    }
}

void cra_cli_file_close(cra_cli_file *file)
{
    if (file->descriptor > STDIN_FILENO)
        close(file->descriptor);
    file->descriptor = -1;
    file->ended = true;
}

/* ---- sink ------------------------------------------------------------------------------------ */

cra_status cra_cli_sink_open(cra_cli_sink *sink, cra_cli *cli, const char *path, cra_error *err)
{
    memset(sink, 0, sizeof *sink);
    sink->cli = cli;
    sink->path = path;
    if (!path || strcmp(path, "-") == 0)
        return CRA_OK;
    int length = snprintf(sink->temporary, sizeof sink->temporary, "%s.%ld.tmp", path, (long)getpid());
    if ((size_t)length >= sizeof sink->temporary)
        return cra_error_set(err, CRA_INVALID, "file", "the path of the output is too long");
    int descriptor = open(sink->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return failed(sink->temporary, err);
    sink->file = fdopen(descriptor, "w");
    if (sink->file)
        return CRA_OK;
    close(descriptor);
    unlink(sink->temporary);
    return cra_error_set(err, CRA_NOMEM, "file", "out of memory");
}

cra_status cra_cli_sink_write(void *user, const void *data, size_t size, cra_error *err)
{
    cra_cli_sink *sink = user;
    sink->bytes += (int64_t)size;
    if (!sink->file)
        return cra_cli_write(sink->cli, data, size, err);
    if (size > 0 && fwrite(data, 1, size, sink->file) != size)
        return failed(sink->temporary, err);
    return CRA_OK;
}

cra_status cra_cli_sink_commit(cra_cli_sink *sink, cra_error *err)
{
    if (!sink->file)
        return CRA_OK;
    bool bad = fflush(sink->file) != 0 || fsync(fileno(sink->file)) != 0;
    int number = errno;
    bad = fclose(sink->file) != 0 || bad;
    sink->file = NULL;
    if (!bad && rename(sink->temporary, sink->path) == 0)
        return CRA_OK;
    if (bad)
        errno = number;
    cra_status status = failed(sink->path, err);
    unlink(sink->temporary);
    return status;
}

void cra_cli_sink_close(cra_cli_sink *sink)
{
    if (!sink->file)
        return;
    fclose(sink->file);
    sink->file = NULL;
    unlink(sink->temporary);
}
