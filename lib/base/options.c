/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"

#include <string.h>

/* Larger than any options struct will ever be: a struct_size above it is an uninitialised struct, whose "extra
 * bytes" must not be read. */
#define MAX_OPTIONS_SIZE 4096

static size_t size_of_options(const void *options)
{
    size_t size;

    memcpy(&size, options, sizeof size);
    return size;
}

cra_status cra_options_check(const void *options, size_t known)
{
    if (options == NULL)
        return CRA_OK;

    const size_t size = size_of_options(options);
    if (size < sizeof(size_t) || size > MAX_OPTIONS_SIZE)
        return CRA_INVALID;

    const unsigned char *bytes = options;
    for (size_t i = known; i < size; i++) {
        if (bytes[i] != 0)
            return CRA_INVALID;
    }
    return CRA_OK;
}

cra_status cra_options_read(void *own, size_t known, const void *options)
{
    const cra_status status = cra_options_check(options, known);
    if (status != CRA_OK || options == NULL)
        return status;

    const size_t size = size_of_options(options);
    const size_t shared = size < known ? size : known;
    memcpy((unsigned char *)own + sizeof(size_t), (const unsigned char *)options + sizeof(size_t),
           shared - sizeof(size_t));
    return CRA_OK;
}
