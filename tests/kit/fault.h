/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_KIT_FAULT_H
#define CRA_KIT_FAULT_H

/* A fault at call N of the stores of a test: one counter that all wrapping stores share, so that "the Nth thing a
 * sweep does to any store" is one number. Nothing here calls the library. */

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include <crawlarchive/types.h>

typedef enum cra_fault_mode {
    CRA_FAULT_NONE = 0,
    CRA_FAULT_BEFORE,      /* nothing is done, `status` is returned */
    CRA_FAULT_AFTER,       /* done, but the answer is lost: `status` is returned */
    CRA_FAULT_SHORT,       /* part of it is done: half the bytes, half the batch, the first of a listing */
    CRA_FAULT_TWICE,       /* done twice, the second answer is returned */
    CRA_FAULT_KILL_BEFORE, /* the process is killed, nothing is done */
    CRA_FAULT_KILL_AFTER   /* the process is killed once it is done */
} cra_fault_mode;

typedef struct cra_fault {
    cra_fault_mode mode;
    long long at;      /* number of the first call that is hit, from 1; 0: none, calls are only counted */
    long long times;   /* how many from there on; 0 means 1 */
    cra_status status; /* of a failed call; 0 means CRA_IO */
    const char *only;  /* count only slots whose name begins so ("blobstore.put"); NULL for all */
    atomic_llong calls;
    atomic_llong hits;
} cra_fault;

/* Count a call of `slot` ("blobstore.read"). @return what shall happen to it; KILL_BEFORE does not return */
static inline cra_fault_mode cra_fault_next(cra_fault *fault, const char *slot)
{
    if (fault->only != NULL && strncmp(slot, fault->only, strlen(fault->only)) != 0)
        return CRA_FAULT_NONE;
    const long long number = atomic_fetch_add(&fault->calls, 1) + 1;
    const long long times = fault->times > 0 ? fault->times : 1;
    if (fault->at == 0 || number < fault->at || number >= fault->at + times)
        return CRA_FAULT_NONE;
    atomic_fetch_add(&fault->hits, 1);
    if (fault->mode == CRA_FAULT_KILL_BEFORE)
        raise(SIGKILL);
    return fault->mode;
}

/* The status of a call that failed by order. */
static inline cra_status cra_fault_status(const cra_fault *fault)
{
    return fault->status != CRA_OK ? fault->status : CRA_IO;
}

/* What becomes of a call that was done and came to `status`: lost, killed, or as it was. */
static inline cra_status cra_fault_after(const cra_fault *fault, cra_fault_mode mode, cra_status status)
{
    if (mode == CRA_FAULT_KILL_AFTER)
        raise(SIGKILL);
    return mode == CRA_FAULT_AFTER ? cra_fault_status(fault) : status;
}

#endif
