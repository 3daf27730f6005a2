/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CONFORMANCE_H
#define CRA_CONFORMANCE_H

/* What the conformance suites share: checks that count and report, a runner for a table of cases.
 *
 * The suites are plain C over the public headers, so that a third party runs them on a backend of its own: compile
 * the files of this folder with the program, fill the fixture of a port (suite_PORT.h), call the suite, look at the
 * number of failures it returns. Nothing is printed unless `report` does. */

#include <crawlarchive/error.h>

typedef enum cra_conformance_kind {
    CRA_CONFORMANCE_FAILED = 0,  /* a check did not hold */
    CRA_CONFORMANCE_SKIPPED = 1, /* a case asks for a feature that the store does not offer */
    CRA_CONFORMANCE_PASSED = 2   /* a case ended without a failure */
} cra_conformance_kind;

/* State of one run of a suite; zero it, then set `report`. */
typedef struct cra_conformance {
    void (*report)(void *user, cra_conformance_kind kind, const char *suite, const char *test, const char *file,
                   int line, const char *message); /* NULL: only counted */
    void *user;
    const char *only;  /* run this case alone; NULL for all */
    const char *suite; /* the rest is the runner's */
    const char *test;
    int checks;
    int failures;
    int skipped;
} cra_conformance;

/* One case: `fixture` is the suite's. */
typedef struct cra_conformance_case {
    const char *name;
    void (*run)(cra_conformance *t, const void *fixture);
} cra_conformance_case;

/* Run a table of cases. @return the number of failed checks */
int cra_conformance_run(cra_conformance *t, const char *suite, const cra_conformance_case *cases, size_t count,
                        const void *fixture);

/* The checks behind the macros. @return whether it holds */
bool cra_conformance_check(cra_conformance *t, bool holds, const char *file, int line, const char *format, ...)
    CRA_PRINTF(5, 6);
bool cra_conformance_check_status(cra_conformance *t, cra_status got, cra_status expected, const cra_error *err,
                                  const char *file, int line, const char *what);
bool cra_conformance_check_int(cra_conformance *t, long long got, long long expected, const char *file, int line,
                               const char *what);
void cra_conformance_skip(cra_conformance *t, const char *why);

/* A reporter that writes failures and skips to standard error (`user` is not used). */
void cra_conformance_print(void *user, cra_conformance_kind kind, const char *suite, const char *test, const char *file,
                           int line, const char *message);

/* Each macro is an expression that tells whether the check held, so that a case can stop: if (!CHECK(…)) goto end; */
#define CHECK(t, condition) cra_conformance_check((t), (condition), __FILE__, __LINE__, "%s", #condition)
#define CHECK_INT(t, got, expected)                                                                                    \
    cra_conformance_check_int((t), (long long)(got), (long long)(expected), __FILE__, __LINE__, #got)
/* `call` fills `err`, an lvalue of type cra_error, which is cleared first. */
#define CHECK_STATUS(t, call, expected, err)                                                                           \
    (cra_error_clear(&(err)), cra_conformance_check_status((t), (call), (expected), &(err), __FILE__, __LINE__, #call))
#define CHECK_OK(t, call, err) CHECK_STATUS(t, call, CRA_OK, err)

#endif
