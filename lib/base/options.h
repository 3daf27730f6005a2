/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_BASE_OPTIONS_H
#define CRA_BASE_OPTIONS_H

/* The rule for every public struct that begins with `size_t struct_size`: a caller built against older headers
 * hands over fewer members, one built against newer headers more; the latter is accepted only while what we do
 * not know stays zero, so that an option is never silently ignored. */

#include <crawlarchive/types.h>

/* Check `options` (NULL is legal: the defaults) against the size this build knows.
 * @return CRA_OK; CRA_INVALID where struct_size is too small to be true, or unknown bytes are set */
CRA_MUST_CHECK cra_status cra_options_check(const void *options, size_t known);

/* Check, then copy the members that the caller has over `own`, which holds the defaults (its INIT macro) and keeps
 * its own struct_size. @return as cra_options_check(); `own` is untouched on failure */
CRA_MUST_CHECK cra_status cra_options_read(void *own, size_t known, const void *options);

#endif
