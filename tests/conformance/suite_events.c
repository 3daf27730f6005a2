/* SPDX-License-Identifier: Apache-2.0 */
#include "suite_events.h"

#include <stdio.h>
#include <string.h>

/* {"n": int32} by hand: the suite leans on nothing but the port. */
enum { DOCUMENT_SIZE = 12 };

static void make_document(uint8_t out[DOCUMENT_SIZE], uint8_t number)
{
    const uint8_t document[DOCUMENT_SIZE] = {DOCUMENT_SIZE, 0, 0, 0, 0x10, 'n', 0, number, 0, 0, 0, 0};

    memcpy(out, document, DOCUMENT_SIZE);
}

static cra_event make_event(const char *type, const char *key, uint8_t document[DOCUMENT_SIZE], uint8_t number)
{
    make_document(document, number);
    const cra_event event = {.struct_size = sizeof event,
                             .type = type,
                             .key = key,
                             .time = 1700000000123 + number,
                             .data = {document, DOCUMENT_SIZE}};

    return event;
}

static cra_status emit(cra_events *events, const char *type, const char *key, uint8_t number, cra_error *err)
{
    uint8_t document[DOCUMENT_SIZE];
    const cra_event event = make_event(type, key, document, number);

    return cra_events_emit(events, &event, err);
}

/* What arrived, as text: "TYPE@KEY=TIME " each, of one key. */
typedef struct arrivals {
    const char *key; /* NULL for all */
    char text[4096];
    int count;
    bool bad_data;
} arrivals;

static void collect(void *user, const cra_event *event)
{
    arrivals *a = user;
    const size_t used = strlen(a->text);

    if (a->key != NULL && strcmp(event->key, a->key) != 0)
        return;
    snprintf(a->text + used, sizeof a->text - used, "%s=%d ", event->type, (int)(event->time - 1700000000123));
    a->count++;
    if (event->data.size > 0) {
        uint8_t document[DOCUMENT_SIZE];
        make_document(document, (uint8_t)(event->time - 1700000000123));
        if (event->data.size != DOCUMENT_SIZE || memcmp(event->data.data, document, DOCUMENT_SIZE) != 0)
            a->bad_data = true;
    }
}

static void expect(cra_conformance *t, const cra_events_fixture *f, const char *key, const char *expected)
{
    arrivals a = {.key = key};

    CHECK_INT(t, f->arrived(f->user, collect, &a), CRA_OK);
    cra_conformance_check(t, strcmp(a.text, expected) == 0, __FILE__, __LINE__, "of '%s' arrived '%s', not '%s'",
                          key != NULL ? key : "all", a.text, expected);
    CHECK(t, !a.bad_data);
}

static void flushed_events_have_arrived(cra_conformance *t, const void *fixture)
{
    const cra_events_fixture *f = fixture;
    cra_events *events = NULL;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &events, &err), err))
        return;
    CHECK_OK(t, cra_events_flush(events, 10000, &err), err); /* of nothing */
    expect(t, f, NULL, "");
    CHECK_OK(t, emit(events, "run.archived", "prices/18", 1, &err), err);
    CHECK_OK(t, cra_events_flush(events, 10000, &err), err);
    expect(t, f, NULL, "run.archived=1 ");
    cra_events_free(events);
    expect(t, f, NULL, "run.archived=1 ");
}

static void a_key_keeps_its_order(cra_conformance *t, const void *fixture)
{
    const cra_events_fixture *f = fixture;
    cra_events *events = NULL;
    cra_error err = {0};
    arrivals all = {.count = 0};

    if (!CHECK_OK(t, f->open_empty(f->user, &events, &err), err))
        return;
    for (uint8_t i = 0; i < 20; i++) {
        CHECK_OK(t, emit(events, "a", "r/1", i, &err), err);
        CHECK_OK(t, emit(events, "b", "r/2", i, &err), err);
    }
    CHECK_OK(t, cra_events_flush(events, 10000, &err), err);
    expect(t, f, "r/1", "a=0 a=1 a=2 a=3 a=4 a=5 a=6 a=7 a=8 a=9 a=10 a=11 a=12 a=13 a=14 a=15 a=16 a=17 a=18 a=19 ");
    CHECK_INT(t, f->arrived(f->user, collect, &all), CRA_OK);
    CHECK_INT(t, all.count, 40);
    cra_events_free(events);
}

static void another_handle_appends(cra_conformance *t, const void *fixture)
{
    const cra_events_fixture *f = fixture;
    cra_events *events = NULL;
    cra_events *second = NULL;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &events, &err), err))
        return;
    CHECK_OK(t, emit(events, "a", "r/1", 1, &err), err);
    CHECK_OK(t, cra_events_flush(events, 10000, &err), err);
    if (CHECK_OK(t, f->reopen(f->user, &second, &err), err)) {
        CHECK_OK(t, emit(second, "a", "r/1", 2, &err), err);
        CHECK_OK(t, cra_events_flush(second, 10000, &err), err);
        CHECK_OK(t, emit(events, "a", "r/1", 3, &err), err);
        cra_events_free(second);
    }
    CHECK_OK(t, cra_events_flush(events, 10000, &err), err);
    expect(t, f, "r/1", "a=1 a=2 a=3 ");
    cra_events_free(events);
}

static void odd_text_arrives(cra_conformance *t, const void *fixture)
{
    static const char *const keys[] = {"",
                                       "r/\"quoted\"",
                                       "two\nlines\r\t",
                                       "back\\slash",
                                       "\xc3\xa9/\xf0\x9f\x98\x80",
                                       "{\"json\": 1}",
                                       "\x01\x1f\x7f"};
    const cra_events_fixture *f = fixture;
    cra_events *events = NULL;
    cra_error err = {0};

    if (!CHECK_OK(t, f->open_empty(f->user, &events, &err), err))
        return;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        CHECK_OK(t, emit(events, "x", keys[i], 5, &err), err);
    CHECK_OK(t, cra_events_flush(events, 10000, &err), err);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        expect(t, f, keys[i], "x=5 ");
    cra_events_free(events);
}

static void what_is_no_event_is_refused(cra_conformance *t, const void *fixture)
{
    const cra_events_fixture *f = fixture;
    cra_events *events = NULL;
    cra_error err = {0};
    uint8_t document[DOCUMENT_SIZE];
    cra_event event = make_event("t", "k", document, 1);

    if (!CHECK_OK(t, f->open_empty(f->user, &events, &err), err))
        return;
    event.type = "";
    CHECK_STATUS(t, cra_events_emit(events, &event, &err), CRA_INVALID, err);
    event.type = NULL;
    CHECK_STATUS(t, cra_events_emit(events, &event, &err), CRA_INVALID, err);
    event.type = "t";
    event.key = NULL;
    CHECK_STATUS(t, cra_events_emit(events, &event, &err), CRA_INVALID, err);
    event.key = "k";
    event.data.size = 3;
    CHECK_STATUS(t, cra_events_emit(events, &event, &err), CRA_INVALID, err);
    event.data.size = DOCUMENT_SIZE;
    event.struct_size = 0;
    CHECK_STATUS(t, cra_events_emit(events, &event, &err), CRA_INVALID, err);
    CHECK_OK(t, cra_events_flush(events, 10000, &err), err);
    expect(t, f, NULL, "");
    cra_events_free(events);
}

int cra_conformance_events(cra_conformance *t, const cra_events_fixture *fixture)
{
    static const cra_conformance_case cases[] = {
        {"flushed_events_have_arrived", flushed_events_have_arrived}, {"a_key_keeps_its_order", a_key_keeps_its_order},
        {"another_handle_appends", another_handle_appends},           {"odd_text_arrives", odd_text_arrives},
        {"what_is_no_event_is_refused", what_is_no_event_is_refused},
    };

    return cra_conformance_run(t, "events", cases, sizeof cases / sizeof cases[0], fixture);
}
