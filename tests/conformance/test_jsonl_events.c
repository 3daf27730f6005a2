/* SPDX-License-Identifier: Apache-2.0 */

/* The events suite on jsonl:, and what only a file shows. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <json-c/json.h>
#include <signal.h>
#include <time.h>

#include "conformance/suite_events.h"
#include "kit/data.h"
#include "kit/test_allocator.h"
#include "os/thread.h"
#include "ports/context.h"

extern const cra_backend cra_backend_jsonl;

typedef struct sinks {
    cra_test_allocator kit;
    cra_context *context;
    char root[256];
    char path[300];
    char uri[320];
    int opened;
} sinks;

static int setup(void **state)
{
    sinks *s = calloc(1, sizeof *s);
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;

    cra_test_allocator_init(&s->kit);
    options.allocator = &s->kit.allocator;
    assert_int_equal(cra_context_new_bare(&options, &s->context, NULL), CRA_OK);
    assert_int_equal(cra_backend_register(s->context, &cra_backend_jsonl, NULL), CRA_OK);
    cra_test_make_folder(s->root, sizeof s->root);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    sinks *s = *state;

    cra_context_free(s->context);
    cra_test_allocator_check(&s->kit);
    cra_test_remove_tree(s->root);
    free(s);
    return 0;
}

static cra_status reopen(void *user, cra_events **out, cra_error *err)
{
    sinks *s = user;
    const cra_open_args args = {sizeof args, s->context, s->uri, CRA_OPEN_CREATE, NULL, 0};

    return cra_events_open(&args, out, err);
}

static cra_status open_empty(void *user, cra_events **out, cra_error *err)
{
    sinks *s = user;

    snprintf(s->path, sizeof s->path, "%s/events-%d.jsonl", s->root, s->opened++);
    snprintf(s->uri, sizeof s->uri, "jsonl:%s", s->path);
    return reopen(user, out, err);
}

/* Milliseconds of the one form of time that is written. */
static cra_time_ms parse_time(const char *text)
{
    struct tm parts = {0};
    int milliseconds = 0;

    assert_int_equal(sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                            &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &milliseconds),
                     7);
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    return (cra_time_ms)timegm(&parts) * 1000 + milliseconds;
}

/* Reads with another JSON parser than the one that wrote. */
static cra_status arrived(void *user, cra_events_visit_fn visit, void *visit_user)
{
    const sinks *s = user;
    cra_buf content;

    cra_buf_init(&content, NULL);
    cra_test_read_file(s->path, &content);
    assert_non_null(cra_buf_cstr(&content));
    char *rest = (char *)content.data;
    for (char *end = strchr(rest, '\n'); end != NULL; end = strchr(rest, '\n')) {
        *end = '\0';
        struct json_object *line = json_tokener_parse(rest);
        assert_non_null(line);
        assert_int_equal(json_object_object_length(line), 4);
        const cra_time_ms time = parse_time(json_object_get_string(json_object_object_get(line, "time")));
        struct json_object *data = json_object_object_get(line, "data");
        assert_int_equal(json_object_get_int(json_object_object_get(data, "n")), time - 1700000000123);
        const cra_event event = {.struct_size = sizeof event,
                                 .type = json_object_get_string(json_object_object_get(line, "type")),
                                 .key = json_object_get_string(json_object_object_get(line, "key")),
                                 .time = time};
        visit(visit_user, &event);
        json_object_put(line);
        rest = end + 1;
    }
    assert_int_equal(*rest, '\0');
    cra_buf_cleanup(&content);
    return CRA_OK;
}

static void passes_the_suite(void **state)
{
    const cra_events_fixture fixture = {*state, open_empty, reopen, arrived};
    cra_conformance t = {.report = cra_conformance_print};

    assert_int_equal(cra_conformance_events(&t, &fixture), 0);
    assert_true(t.checks > 50);
    assert_int_equal(t.skipped, 0);
}

static const uint8_t document[] = {12, 0, 0, 0, 0x10, 'n', 0, 1, 0, 0, 0, 0};

static cra_event an_event(void)
{
    const cra_event event = {.struct_size = sizeof event,
                             .type = "run.archived",
                             .key = "prices/18",
                             .time = 1700000000124,
                             .data = {document, sizeof document}};

    return event;
}

#define LINE                                                                                                           \
    "{\"type\":\"run.archived\",\"key\":\"prices/18\",\"time\":\"2023-11-14T22:13:20.124Z\",\"data\":{\"n\":1}}\n"

static void a_line_has_its_form(void **state)
{
    sinks *s = *state;
    cra_events *events = NULL;
    cra_event event = an_event();

    assert_int_equal(open_empty(s, &events, NULL), CRA_OK);
    assert_int_equal(cra_events_emit(events, &event, NULL), CRA_OK);
    cra_buf content;
    cra_buf_init(&content, NULL);
    cra_test_read_file(s->path, &content);
    /* White space between the tokens is the JSON writer's choice. */
    char squeezed[256];
    size_t size = 0;
    for (size_t i = 0; i < content.size && size + 1 < sizeof squeezed; i++) {
        if (content.data[i] != ' ')
            squeezed[size++] = (char)content.data[i];
    }
    squeezed[size] = '\0';
    assert_string_equal(squeezed, LINE);
    cra_buf_cleanup(&content);

    assert_int_equal(truncate(s->path, 0), 0);
    event.time = CRA_TIME_NONE;
    assert_int_equal(cra_events_emit(events, &event, NULL), CRA_OK);
    event.time = INT64_MAX;
    assert_int_equal(cra_events_emit(events, &event, NULL), CRA_OK);
    event.time = -1;
    assert_int_equal(cra_events_emit(events, &event, NULL), CRA_OK);
    cra_buf_init(&content, NULL);
    cra_test_read_file(s->path, &content);
    const char *text = cra_buf_cstr(&content);
    assert_non_null(strstr(text, "null"));
    assert_non_null(strstr(strchr(text, '\n'), "null"));
    assert_non_null(strstr(text, "\"1969-12-31T23:59:59.999Z\""));
    cra_buf_cleanup(&content);
    cra_events_free(events);
}

static void a_torn_line_takes_no_other_with_it(void **state)
{
    sinks *s = *state;
    cra_events *events = NULL;
    const cra_event event = an_event();

    assert_int_equal(open_empty(s, &events, NULL), CRA_OK);
    cra_events_free(events);
    FILE *file = fopen(s->path, "wb");
    assert_non_null(file);
    fputs("{\"type\":\"run.arch", file);
    fclose(file);
    assert_int_equal(reopen(s, &events, NULL), CRA_OK);
    assert_int_equal(cra_events_emit(events, &event, NULL), CRA_OK);
    cra_events_free(events);

    cra_buf content;
    cra_buf_init(&content, NULL);
    cra_test_read_file(s->path, &content);
    const char *text = cra_buf_cstr(&content);
    const char *second = strchr(text, '\n');
    assert_int_equal(second - text, 17);
    struct json_object *line = json_tokener_parse(second + 1);
    assert_non_null(line);
    json_object_put(line);
    cra_buf_cleanup(&content);
}

/* A limit of the file's size makes the last write a short one. */
static void a_short_write_is_taken_back(void **state)
{
    sinks *s = *state;
    cra_events *events = NULL;
    const cra_event event = an_event();
    cra_error err = {0};
    struct rlimit before;
    struct stat found;

    assert_int_equal(open_empty(s, &events, NULL), CRA_OK);
    assert_int_equal(cra_events_emit(events, &event, NULL), CRA_OK);
    assert_int_equal(stat(s->path, &found), 0);
    const off_t size = found.st_size;
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit limit = {(rlim_t)size + 10, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const cra_status status = cra_events_emit(events, &event, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, old);
    assert_int_equal(status, CRA_IO);
    assert_non_null(strstr(err.message, s->path));
    assert_int_equal(stat(s->path, &found), 0);
    assert_int_equal(found.st_size, size);
    assert_int_equal(cra_events_emit(events, &event, NULL), CRA_OK);
    assert_int_equal(stat(s->path, &found), 0);
    assert_int_equal(found.st_size, 2 * size);
    cra_events_free(events);
}

static void emit_many(void *user)
{
    const cra_event event = an_event();

    for (int i = 0; i < 200; i++)
        assert_int_equal(cra_events_emit(user, &event, NULL), CRA_OK);
}

static void lines_of_threads_and_handles_do_not_mix(void **state)
{
    sinks *s = *state;
    cra_events *events[2] = {NULL, NULL};
    cra_thread threads[4];

    assert_int_equal(open_empty(s, &events[0], NULL), CRA_OK);
    assert_int_equal(reopen(s, &events[1], NULL), CRA_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(cra_thread_start(&threads[i], emit_many, events[i % 2], NULL, NULL), CRA_OK);
    for (int i = 0; i < 4; i++)
        cra_thread_join(&threads[i]);
    cra_events_free(events[0]);
    cra_events_free(events[1]);

    cra_buf content;
    cra_buf_init(&content, NULL);
    cra_test_read_file(s->path, &content);
    const char *text = cra_buf_cstr(&content);
    const size_t line = strcspn(text, "\n") + 1;
    assert_int_equal(content.size, 800 * line);
    for (int i = 1; i < 800; i++)
        assert_memory_equal(text, text + (size_t)i * line, line);
    cra_buf_cleanup(&content);
}

static void refuses_what_cannot_be_opened(void **state)
{
    sinks *s = *state;
    cra_events *events = NULL;
    cra_error err = {0};

    snprintf(s->uri, sizeof s->uri, "jsonl:");
    assert_int_equal(reopen(s, &events, &err), CRA_INVALID);
    snprintf(s->uri, sizeof s->uri, "jsonl:%s/none/x", s->root);
    assert_int_equal(reopen(s, &events, &err), CRA_NOT_FOUND);
    assert_true(err.hint[0] != '\0');
    snprintf(s->uri, sizeof s->uri, "jsonl:/tmp/x?y=1");
    assert_int_equal(reopen(s, &events, &err), CRA_INVALID);
    const cra_open_args args = {sizeof args, s->context, "jsonl:/tmp/x", CRA_OPEN_READ_ONLY, NULL, 0};
    assert_int_equal(cra_events_open(&args, &events, &err), CRA_INVALID);
    assert_null(events);
    cra_events_free(NULL);
}

static cra_status attempt(const cra_allocator *allocator, void *user)
{
    const sinks *s = user;
    const cra_event event = an_event();
    cra_context_options options = CRA_CONTEXT_OPTIONS_INIT;
    cra_context *context = NULL;
    cra_events *events = NULL;
    char uri[320];

    options.allocator = allocator;
    snprintf(uri, sizeof uri, "jsonl:%s/torture", s->root);
    cra_status status = cra_context_new_bare(&options, &context, NULL);
    if (status == CRA_OK)
        status = cra_backend_register(context, &cra_backend_jsonl, NULL);
    const cra_open_args args = {sizeof args, context, uri, 0, NULL, 0};
    if (status == CRA_OK)
        status = cra_events_open(&args, &events, NULL);
    if (status == CRA_OK)
        status = cra_events_emit(events, &event, NULL);
    cra_events_free(events);
    cra_context_free(context);
    return status;
}

static void survives_lack_of_memory(void **state)
{
    sinks *s = *state;

    cra_torture(attempt, s, CRA_OK, 100);
    /* Whole lines or none. */
    snprintf(s->path, sizeof s->path, "%s/torture", s->root);
    cra_buf content;
    cra_buf_init(&content, NULL);
    cra_test_read_file(s->path, &content);
    assert_int_equal(content.data[content.size - 1], '\n');
    cra_buf_cleanup(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(passes_the_suite, setup, teardown),
        cmocka_unit_test_setup_teardown(a_line_has_its_form, setup, teardown),
        cmocka_unit_test_setup_teardown(a_torn_line_takes_no_other_with_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_short_write_is_taken_back, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_of_threads_and_handles_do_not_mix, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_cannot_be_opened, setup, teardown),
        cmocka_unit_test_setup_teardown(survives_lack_of_memory, setup, teardown),
    };

    return cmocka_run_group_tests_name("jsonl_events", tests, NULL, NULL);
}
