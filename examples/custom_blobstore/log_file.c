/* SPDX-License-Identifier: Apache-2.0 */
#include "log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <crawlarchive/sys/backend.h>

enum { HEADER_SIZE = 4 + 1 + 4 + 8 + 8 + 8, MAX_NAME = 65536 };

static const uint8_t magic[4] = {'L', 'O', 'G', '1'};

/* FNV-1a: tells a torn record from a whole one, and nothing more. */
static uint64_t checksum(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *bytes = data;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

static const uint64_t checksum_start = 14695981039346656037u;

static void put_number(uint8_t *out, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(number >> (8 * i));
}

static uint64_t get_number(const uint8_t *in, size_t size)
{
    uint64_t number = 0;

    for (size_t i = 0; i < size; i++)
        number |= (uint64_t)in[i] << (8 * i);
    return number;
}

static cra_status failed(cra_error *err, const char *verb, const char *path)
{
    const int code = errno;

    return cra_error_set_native(err, cra_status_from_errno(code), code, "log", "cannot %s '%s': %s", verb, path,
                                strerror(code));
}

/* @return false at the end of the file or on an error (errno, 0 at the end) */
static bool read_exactly(int fd, int64_t offset, void *out, size_t size)
{
    uint8_t *next = out;

    while (size > 0) {
        errno = 0;
        const ssize_t got = pread(fd, next, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        next += got;
        offset += got;
        size -= (size_t)got;
    }
    return true;
}

static bool write_exactly(int fd, int64_t offset, const void *data, size_t size)
{
    const uint8_t *next = data;

    while (size > 0) {
        const ssize_t done = pwrite(fd, next, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        next += done;
        offset += done;
        size -= (size_t)done;
    }
    return true;
}

int log_file_open(const char *path, unsigned open_flags, cra_status *status, cra_error *err)
{
    const bool read_only = (open_flags & CRA_OPEN_READ_ONLY) != 0;
    const int create = !read_only && (open_flags & CRA_OPEN_CREATE) != 0 ? O_CREAT : 0;
    const int fd = open(path, (read_only ? O_RDONLY : O_RDWR) | create | O_CLOEXEC, 0666);

    *status = CRA_OK;
    if (fd < 0) {
        *status = failed(err, "open", path);
        return -1;
    }
    /* The index lives in one process: nobody else may append. */
    if (flock(fd, (read_only ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
        *status = cra_error_set_native(err, CRA_UNAVAILABLE, errno, "log", "'%s' is open in another process", path);
        close(fd);
        return -1;
    }
    return fd;
}

/* Whether the content of a record checks, given the checksum of what comes before it. */
static bool content_checks(int fd, int64_t offset, int64_t size, uint64_t hash, uint64_t expected)
{
    uint8_t chunk[8192];

    while (size > 0) {
        const size_t now = size < (int64_t)sizeof chunk ? (size_t)size : sizeof chunk;
        if (!read_exactly(fd, offset, chunk, now))
            return false;
        hash = checksum(hash, chunk, now);
        offset += (int64_t)now;
        size -= (int64_t)now;
    }
    return hash == expected;
}

/* The record at `offset` does not check. At the end of the file a process died while it appended: the log ends here.
 * Anywhere else the disk has lost something, and what comes behind must not be given up for it. */
static cra_status bad_record(int64_t offset, int64_t record_end, int64_t file_size, const char *path, cra_error *err)
{
    if (record_end >= file_size)
        return CRA_DONE;
    return cra_error_set(err, CRA_CORRUPT, "log", "the record at byte %lld of '%s' does not check", (long long)offset,
                         path);
}

/* Read the record at `offset`. @return CRA_DONE at the end of the log */
static cra_status read_record(int fd, const char *path, int64_t offset, int64_t file_size, cra_buf *name,
                              log_record *out, cra_error *err)
{
    static const uint8_t zeros[sizeof magic];
    uint8_t header[HEADER_SIZE];

    /* No header yet: it is written last. */
    if (!read_exactly(fd, offset, header, sizeof header) || memcmp(header, zeros, sizeof zeros) == 0)
        return CRA_DONE;
    if (memcmp(header, magic, sizeof magic) != 0)
        return bad_record(offset, 0, file_size, path, err);
    out->kind = header[4];
    out->name_size = (size_t)get_number(header + 5, 4);
    out->content_size = (int64_t)get_number(header + 9, 8);
    out->time = (cra_time_ms)get_number(header + 17, 8);
    /* Sizes are checked before anything is allocated or added: they come from a file. */
    if (out->name_size == 0 || out->name_size > MAX_NAME || out->content_size < 0 || out->content_size > file_size)
        return bad_record(offset, 0, file_size, path, err);
    out->content_offset = offset + HEADER_SIZE + (int64_t)out->name_size;
    name->size = 0;
    if (cra_buf_reserve(name, out->name_size + 1) != CRA_OK)
        return cra_error_set(err, CRA_NOMEM, "log", "out of memory while reading '%s'", path);
    if (!read_exactly(fd, offset + HEADER_SIZE, name->data, out->name_size))
        return CRA_DONE;
    name->size = out->name_size;
    out->name = cra_buf_cstr(name);

    const uint64_t hash = checksum(checksum(checksum_start, header, HEADER_SIZE - 8), name->data, name->size);
    if (content_checks(fd, out->content_offset, out->content_size, hash, get_number(header + 25, 8)))
        return CRA_OK;
    return bad_record(offset, out->content_offset + out->content_size, file_size, path, err);
}

cra_status log_file_scan(int fd, const char *path, const cra_allocator *allocator, log_visit_fn visit, void *user,
                         int64_t *end, cra_error *err)
{
    struct stat found;
    log_record record = {0};
    cra_status status = CRA_OK;
    cra_buf name;

    *end = 0;
    if (fstat(fd, &found) != 0)
        return failed(err, "read", path);
    cra_buf_init(&name, allocator);
    while (status == CRA_OK) {
        status = read_record(fd, path, *end, (int64_t)found.st_size, &name, &record, err);
        if (status == CRA_OK) {
            status = visit(user, &record);
            if (status != CRA_OK)
                cra_error_set(err, status, "log", "out of memory while reading '%s'", path);
        }
        if (status == CRA_OK)
            *end = record.content_offset + record.content_size;
    }
    cra_buf_cleanup(&name);
    return status == CRA_DONE ? CRA_OK : status;
}

cra_status log_file_append(int fd, const char *path, int64_t *end, log_record *record, cra_bytes content,
                           cra_error *err)
{
    uint8_t header[HEADER_SIZE];

    if (record->name_size > MAX_NAME)
        return cra_error_set(err, CRA_INVALID, "log", "a name of %zu bytes is too long", record->name_size);
    memcpy(header, magic, sizeof magic);
    header[4] = (uint8_t)record->kind;
    put_number(header + 5, record->name_size, 4);
    put_number(header + 9, content.size, 8);
    put_number(header + 17, (uint64_t)record->time, 8);
    uint64_t hash = checksum(checksum_start, header, HEADER_SIZE - 8);
    hash = checksum(hash, record->name, record->name_size);
    put_number(header + 25, checksum(hash, content.data, content.size), 8);

    const int64_t name_at = *end + HEADER_SIZE;
    record->content_offset = name_at + (int64_t)record->name_size;
    record->content_size = (int64_t)content.size;
    /* The header last: until it is there the record is not. */
    if (!write_exactly(fd, name_at, record->name, record->name_size) ||
        !write_exactly(fd, record->content_offset, content.data, content.size) || fsync(fd) != 0 ||
        !write_exactly(fd, *end, header, sizeof header) || fsync(fd) != 0) {
        const cra_status status = failed(err, "append to", path);
        /* What may have been written must not become visible after all. */
        if (ftruncate(fd, (off_t)*end) != 0)
            cra_error_hint(err, "the end of '%.100s' may hold an object that was not acknowledged", path);
        return status;
    }
    *end = record->content_offset + record->content_size;
    return CRA_OK;
}
