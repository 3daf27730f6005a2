/* SPDX-License-Identifier: Apache-2.0 */
#include <crawlarchive/version.h>

const char *cra_version(void)
{
    return CRA_VERSION_STRING;
}
