/* SPDX-License-Identifier: Apache-2.0 */
#include "base/similar.h"

#include <stdint.h>
#include <string.h>

#define MAX_NAME 63

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t cra_edit_distance(const char *a, const char *b)
{
    const size_t rows = strlen(a);
    const size_t columns = strlen(b);
    if (rows > MAX_NAME || columns > MAX_NAME)
        return SIZE_MAX;

    /* Rows i-2, i-1 and i of the distance table. */
    size_t table[3][MAX_NAME + 1];
    size_t *before = table[0];
    size_t *previous = table[1];
    size_t *current = table[2];

    for (size_t j = 0; j <= columns; j++)
        previous[j] = before[j] = j;
    for (size_t i = 1; i <= rows; i++) {
        current[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            const size_t substituted = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            current[j] = smaller(substituted, 1 + smaller(previous[j], current[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                current[j] = smaller(current[j], before[j - 2] + 1);
        }
        size_t *const oldest = before;
        before = previous;
        previous = current;
        current = oldest;
    }
    return previous[columns];
}

const char *cra_nearest_name(const char *text, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    /* A third of the letters wrong is a typo; more is another word. */
    size_t best = strlen(text) / 3 + 2;

    for (size_t i = 0; i < count; i++) {
        const size_t distance = cra_edit_distance(text, names[i]);
        if (distance < best && distance < strlen(names[i])) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
