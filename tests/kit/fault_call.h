/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_KIT_FAULT_CALL_H
#define CRA_KIT_FAULT_CALL_H

/* How a wrapping store passes a call on: what the wrappers of all ports do alike. */

#include <stdio.h>

#include <crawlarchive/error.h>

#include "kit/fault.h"

/* Fills the error by hand: the kit links without the library. */
static inline cra_status cra_fault_tell(const cra_fault *fault, cra_status status, const char *slot, cra_error *err)
{
    if (status == CRA_OK || err == NULL)
        return status;
    memset(err, 0, sizeof *err);
    err->status = status;
    snprintf(err->origin, sizeof err->origin, "fault");
    snprintf(err->message, sizeof err->message, "fault at call %lld: %s", (long long)atomic_load(&fault->calls), slot);
    return status;
}

static inline cra_status cra_fault_refuse(const cra_fault *fault, const char *slot, cra_error *err)
{
    return cra_fault_tell(fault, cra_fault_status(fault), slot, err);
}

/* The end of a call that was done: its own status, or the ordered one with its own message. */
static inline cra_status cra_fault_end(const cra_fault *fault, cra_fault_mode mode, cra_status status, const char *slot,
                                       cra_error *err)
{
    const cra_status final = cra_fault_after(fault, mode, status);

    return final == status ? status : cra_fault_tell(fault, final, slot, err);
}

/* Return what `call` comes to as the fault orders for `slot`. A short call is a failed one where nothing can be
 * halved. `undo` takes back what a call that is done again, or whose answer is lost, has put into its results. */
#define CRA_FAULT_PASS_UNDO(fault, slot, err, call, undo)                                                              \
    do {                                                                                                               \
        const cra_fault_mode mode_ = cra_fault_next((fault), (slot));                                                  \
        if (mode_ == CRA_FAULT_BEFORE || mode_ == CRA_FAULT_SHORT)                                                     \
            return cra_fault_refuse((fault), (slot), (err));                                                           \
        cra_status status_ = (call);                                                                                   \
        if (mode_ == CRA_FAULT_TWICE) {                                                                                \
            undo;                                                                                                      \
            status_ = (call);                                                                                          \
        } else if (mode_ == CRA_FAULT_AFTER) {                                                                         \
            undo;                                                                                                      \
        }                                                                                                              \
        return cra_fault_end((fault), mode_, status_, (slot), (err));                                                  \
    } while (0)

#define CRA_FAULT_PASS(fault, slot, err, call) CRA_FAULT_PASS_UNDO(fault, slot, err, call, (void)0)

#endif
