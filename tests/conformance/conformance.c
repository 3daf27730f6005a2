/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void tell(cra_conformance *t, cra_conformance_kind kind, const char *file, int line, const char *message)
{
    if (t->report != NULL)
        t->report(t->user, kind, t->suite, t->test, file, line, message);
}

int cra_conformance_run(cra_conformance *t, const char *suite, const cra_conformance_case *cases, size_t count,
                        const void *fixture)
{
    const int before = t->failures;

    t->suite = suite;
    for (size_t i = 0; i < count; i++) {
        if (t->only != NULL && strcmp(t->only, cases[i].name) != 0)
            continue;
        const int failures = t->failures;
        const int skipped = t->skipped;
        t->test = cases[i].name;
        cases[i].run(t, fixture);
        if (t->failures == failures && t->skipped == skipped)
            tell(t, CRA_CONFORMANCE_PASSED, __FILE__, __LINE__, "");
    }
    return t->failures - before;
}

bool cra_conformance_check(cra_conformance *t, bool holds, const char *file, int line, const char *format, ...)
{
    t->checks++;
    if (holds)
        return true;

    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    t->failures++;
    tell(t, CRA_CONFORMANCE_FAILED, file, line, message);
    return false;
}

bool cra_conformance_check_status(cra_conformance *t, cra_status got, cra_status expected, const cra_error *err,
                                  const char *file, int line, const char *what)
{
    if (!cra_conformance_check(t, got == expected, file, line, "%.200s gave %s (%.200s), not %s", what,
                               cra_status_name(got), err->message, cra_status_name(expected)))
        return false;
    /* A failure must say why, and a success must not. */
    const cra_status told = got == CRA_DONE ? CRA_OK : got;
    return cra_conformance_check(t, err->status == told && (told == CRA_OK || err->message[0] != '\0'), file, line,
                                 "%.200s gave %s, but its error says %s (%.200s)", what, cra_status_name(got),
                                 cra_status_name(err->status), err->message);
}

bool cra_conformance_check_int(cra_conformance *t, long long got, long long expected, const char *file, int line,
                               const char *what)
{
    return cra_conformance_check(t, got == expected, file, line, "%.200s is %lld, not %lld", what, got, expected);
}

void cra_conformance_skip(cra_conformance *t, const char *why)
{
    t->skipped++;
    tell(t, CRA_CONFORMANCE_SKIPPED, "", 0, why);
}

void cra_conformance_print(void *user, cra_conformance_kind kind, const char *suite, const char *test, const char *file,
                           int line, const char *message)
{
    (void)user;
    if (kind == CRA_CONFORMANCE_FAILED)
        fprintf(stderr, "%s/%s: %s:%d: %s\n", suite, test, file, line, message);
    else if (kind == CRA_CONFORMANCE_SKIPPED)
        fprintf(stderr, "%s/%s: skipped: %s\n", suite, test, message);
}
