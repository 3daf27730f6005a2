/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_KIT_TEST_ALLOCATOR_H
#define CRA_KIT_TEST_ALLOCATOR_H

/* An allocator that counts what is alive and can fail the Nth allocation: the leak-failing allocator of every
 * test. Thread-safe. */

#include <stdatomic.h>

#include <crawlarchive/types.h>

typedef struct cra_test_allocator {
    cra_allocator allocator;   /* pass &kit.allocator to the library */
    atomic_llong alive;        /* blocks not yet freed */
    atomic_llong bytes_alive;
    atomic_llong bytes_peak;
    atomic_llong allocations;  /* malloc and realloc calls so far */
    atomic_llong fail_at;      /* 1-based number of the call that returns NULL; 0: none */
    atomic_bool failed;        /* whether it did */
} cra_test_allocator;

void cra_test_allocator_init(cra_test_allocator *kit);
/* Fail the test (cmocka) if anything is still alive. */
void cra_test_allocator_check(cra_test_allocator *kit);

/* One attempt of a torture: returns the status of the entry point under test and frees all it made. */
typedef cra_status (*cra_torture_fn)(const cra_allocator *allocator, void *user);

/* Run `attempt` with allocation 1, 2, 3, … failing, until one attempt passes without reaching the number:
 * every failed attempt must return CRA_NOMEM and leak nothing, the last must return `expected`. At most
 * `max_points` points are tried, evenly spread beyond the first 1,000 where there are more. */
void cra_torture(cra_torture_fn attempt, void *user, cra_status expected, long max_points);

#endif
