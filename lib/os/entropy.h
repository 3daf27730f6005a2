/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_OS_ENTROPY_H
#define CRA_OS_ENTROPY_H

/* Random bytes of the kernel, and the names made from them: of writers, temporaries and generations. */

#include <crawlarchive/error.h>

#define CRA_UUID_TEXT_SIZE 37 /* with the terminator */

/* Fill `out` with unpredictable bytes. @return CRA_IO where the kernel has none to give */
CRA_MUST_CHECK cra_status cra_os_random(void *out, size_t size, cra_error *err);

/* A random UUID (version 4, RFC 9562) in lower case. */
CRA_MUST_CHECK cra_status cra_os_uuid(char out[CRA_UUID_TEXT_SIZE], cra_error *err);

/* `2 * bytes` random hexadecimal digits and a terminator. */
CRA_MUST_CHECK cra_status cra_os_random_hex(char *out, size_t bytes, cra_error *err);

/* "HOST-PID": which process of which machine; for people, not unique over time. Always terminated. */
void cra_os_process_text(char *out, size_t size);

#endif
