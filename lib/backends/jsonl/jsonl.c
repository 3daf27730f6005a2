/* SPDX-License-Identifier: Apache-2.0 */

/* Events of scheme `jsonl:`: one JSON object a line at the end of a file. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <crawlarchive/bson.h>
#include <crawlarchive/sys/backend.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/uri.h"
#include "os/file.h"
#include "os/thread.h"

#define ORIGIN "jsonl"

extern const cra_backend cra_backend_jsonl;

typedef struct jsonl_sink {
    const cra_allocator *allocator;
    char *path;
    int fd;
    cra_mutex lock;
} jsonl_sink;

/* ---- one line ---- */

/* RFC 3339 in UTC with milliseconds; "" where there is no such time or year. */
static void time_text(cra_time_ms time, char *out, size_t size)
{
    /* The years 0 to 9999, which RFC 3339 can write, and no others. */
    const cra_time_ms first = -62167219200000;
    const cra_time_ms last = 253402300799999;
    struct tm parts;

    out[0] = '\0';
    if (time < first || time > last)
        return;
    const int milliseconds = (int)((time - first) % 1000);
    const time_t seconds = (time_t)((time - milliseconds) / 1000);
    if (gmtime_r(&seconds, &parts) == NULL)
        return;
    snprintf(out, size, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
             parts.tm_hour, parts.tm_min, parts.tm_sec, milliseconds);
}

/* The line as a document, so that one writer of JSON escapes everything. */
static cra_status build_document(const cra_event *event, cra_buf *out)
{
    const cra_value data = {CRA_BSON_DOCUMENT, event->data.data, event->data.size};
    char time[64];
    size_t mark;

    time_text(event->time, time, sizeof time);
    CRA_TRY(cra_bson_begin(out, &mark));
    CRA_TRY(cra_bson_put_string(out, "type", event->type));
    CRA_TRY(cra_bson_put_string(out, "key", event->key));
    if (time[0] != '\0')
        CRA_TRY(cra_bson_put_string(out, "time", time));
    else
        CRA_TRY(cra_bson_put_null(out, "time"));
    CRA_TRY(cra_bson_put_value(out, "data", data));
    return cra_bson_end(out, mark);
}

static cra_status build_line(const jsonl_sink *sink, const cra_event *event, cra_buf *out, cra_error *err)
{
    cra_buf document;

    cra_buf_init(&document, sink->allocator);
    cra_status status = build_document(event, &document);
    if (status == CRA_OK)
        status = cra_bson_to_json(cra_buf_bytes(&document), CRA_JSON_RELAXED, out, err);
    else
        cra_error_set(err, status, ORIGIN, "cannot write event '%.60s' as JSON", event->type);
    cra_buf_cleanup(&document);
    if (status == CRA_OK && cra_buf_append_byte(out, '\n') != CRA_OK)
        status = cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory at event '%.60s'", event->type);
    return status;
}

/* ---- the file ---- */

static cra_status io_error(const jsonl_sink *sink, int code, const char *verb, cra_error *err)
{
    return cra_file_error(err, code, verb, sink->path);
}

/* Whether the file ends within a line: a writer died there. */
static bool is_torn(int fd, int64_t size)
{
    char last = '\n';

    return size > 0 && pread(fd, &last, 1, (off_t)(size - 1)) == 1 && last != '\n';
}

/* Append the line whole or not at all. @return 0 or the errno */
static int append_locked(int fd, cra_bytes line)
{
    struct stat before;

    if (fstat(fd, &before) != 0)
        return errno;
    const bool regular = S_ISREG(before.st_mode);
    int code = 0;
    /* The torn line stays for whoever looks into it, but takes no other with it. */
    if (regular && is_torn(fd, (int64_t)before.st_size))
        code = cra_fd_write(fd, "\n", 1);
    if (code == 0)
        code = cra_fd_write(fd, line.data, line.size);
    /* The lock keeps others out, so what lies behind `before` is ours. Where even this fails the line stays torn. */
    if (code != 0 && regular && ftruncate(fd, before.st_size) != 0)
        errno = code;
    return code;
}

static int append_line(const jsonl_sink *sink, cra_bytes line)
{
    int locked;

    do {
        locked = flock(sink->fd, LOCK_EX);
    } while (locked != 0 && errno == EINTR);
    if (locked != 0)
        return errno;
    const int code = append_locked(sink->fd, line);
    flock(sink->fd, LOCK_UN);
    return code;
}

static cra_status jsonl_emit(void *self, const cra_event *event, cra_error *err)
{
    jsonl_sink *sink = self;
    cra_buf line;

    cra_buf_init(&line, sink->allocator);
    cra_status status = build_line(sink, event, &line, err);
    if (status == CRA_OK) {
        cra_mutex_lock(&sink->lock);
        const int code = append_line(sink, cra_buf_bytes(&line));
        cra_mutex_unlock(&sink->lock);
        if (code != 0)
            status = io_error(sink, code, "append to", err);
    }
    cra_buf_cleanup(&line);
    return status;
}

static cra_status jsonl_flush(void *self, int64_t timeout_ms, cra_error *err)
{
    jsonl_sink *sink = self;

    (void)timeout_ms; /* the system gives no way to stop waiting for a disk */
    /* EINVAL: a pipe or a terminal, where nothing can be waited for. */
    if (fsync(sink->fd) != 0 && errno != EINVAL && errno != EROFS)
        return io_error(sink, errno, "sync", err);
    return CRA_OK;
}

static void jsonl_close(void *self)
{
    jsonl_sink *sink = self;

    if (sink->fd >= 0) {
        fsync(sink->fd);
        close(sink->fd);
    }
    cra_mutex_destroy(&sink->lock);
    cra_free(sink->allocator, sink->path);
    cra_free(sink->allocator, sink);
}

static const cra_events_vtable jsonl_vtable = {
    .struct_size = sizeof(cra_events_vtable),
    .close = jsonl_close,
    .emit = jsonl_emit,
    .flush = jsonl_flush,
};

static cra_status path_of(const cra_open_args *args, jsonl_sink *sink, cra_error *err)
{
    cra_uri uri;
    cra_status status = cra_uri_parse(args->uri, sink->allocator, &uri, err);

    if (status == CRA_OK)
        status = cra_uri_check_params(&uri, NULL, 0, err);
    if (status == CRA_OK && (uri.path[0] == '\0' || (uri.authority != NULL && uri.authority[0] != '\0')))
        status = cra_error_set(err, CRA_INVALID, ORIGIN, "jsonl: needs the path of a file, as in jsonl:PATH");
    if (status == CRA_OK) {
        sink->path = uri.path; /* moved */
        uri.path = NULL;
    }
    cra_uri_cleanup(&uri);
    return status;
}

static cra_status open_file(jsonl_sink *sink, cra_error *err)
{
    sink->fd = open(sink->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (sink->fd < 0 && (errno == EACCES || errno == EINVAL || errno == ESPIPE))
        sink->fd = open(sink->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666); /* a write-only file */
    if (sink->fd >= 0)
        return CRA_OK;

    const int code = errno;
    const cra_status status = io_error(sink, code, "open", err);
    if (code == ENOENT)
        cra_error_hint(err, "make the folder of that file");
    return status;
}

static cra_status jsonl_open(const cra_open_args *args, const cra_events_vtable **vtable, void **self, cra_error *err)
{
    const cra_allocator *allocator = cra_context_allocator(args->context);
    jsonl_sink *sink = cra_calloc(allocator, 1, sizeof *sink);

    if (sink == NULL)
        return cra_error_set(err, CRA_NOMEM, ORIGIN, "out of memory while opening an event file");
    sink->allocator = allocator;
    sink->fd = -1;
    cra_status status = cra_mutex_init(&sink->lock, err);
    if (status != CRA_OK) {
        cra_free(allocator, sink);
        return status;
    }
    status = path_of(args, sink, err);
    if (status == CRA_OK)
        status = open_file(sink, err);
    if (status != CRA_OK) {
        jsonl_close(sink);
        return status;
    }
    *vtable = &jsonl_vtable;
    *self = sink;
    return CRA_OK;
}

const cra_backend cra_backend_jsonl = {
    .struct_size = sizeof(cra_backend),
    .abi_version = CRA_ABI_VERSION,
    .scheme = "jsonl",
    .description = "events as JSON lines in a file",
    .open_events = jsonl_open,
};
