/* SPDX-License-Identifier: Apache-2.0 */

/* Durations and sizes as the configuration and the command line write them. */

#include <stdio.h>
#include <string.h>

#include <crawlarchive/config.h>

typedef struct unit {
    const char *name;
    int64_t factor;
} unit;

/* Largest first: the parts of a duration must fall, so that "1h1h" or "30m1d" is a typing error, not a sum. */
static const unit duration_units[] = {
    {"w", 7 * INT64_C(86400000)}, {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
#define DURATION_UNITS (sizeof duration_units / sizeof duration_units[0])

static const unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"kB", 1000},
    {"KB", 1000},
    {"MB", 1000000},
    {"GB", 1000000000},
    {"TB", INT64_C(1000000000000)},
    {"KiB", INT64_C(1) << 10},
    {"MiB", INT64_C(1) << 20},
    {"GiB", INT64_C(1) << 30},
    {"TiB", INT64_C(1) << 40},
};
#define SIZE_UNITS (sizeof size_units / sizeof size_units[0])

/* Read digits at `*text` and move behind them; false where there are none or the number is over int64. */
static bool read_number(const char **text, int64_t *out)
{
    int64_t number = 0;
    const char *c = *text;

    for (; *c >= '0' && *c <= '9'; c++) {
        const int digit = *c - '0';
        if (number > (INT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    if (c == *text)
        return false;
    *text = c;
    *out = number;
    return true;
}

static size_t find_unit(const unit *units, size_t count, const char *text, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(units[i].name) == size && memcmp(units[i].name, text, size) == 0)
            return i;
    }
    return count;
}

static bool parse_duration(const char *text, int64_t *out_ms)
{
    size_t allowed = 0; /* first unit that may still come */
    int64_t total = 0;

    if (strcmp(text, "0") == 0) {
        *out_ms = 0;
        return true;
    }
    if (*text == '\0')
        return false;
    while (*text != '\0') {
        int64_t number;
        if (!read_number(&text, &number))
            return false;
        const size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz");
        const size_t index = find_unit(duration_units, DURATION_UNITS, text, size);
        if (index == DURATION_UNITS || index < allowed)
            return false;
        const int64_t factor = duration_units[index].factor;
        if (number > (INT64_MAX - total) / factor)
            return false;
        total += number * factor;
        allowed = index + 1;
        text += size;
    }
    *out_ms = total;
    return true;
}

cra_status cra_duration_parse(const char *text, int64_t *out_ms, cra_error *err)
{
    if (text != NULL && parse_duration(text, out_ms))
        return CRA_OK;
    return cra_error_set(err, CRA_INVALID, "duration",
                         "'%.64s' is no duration; allowed are whole numbers with ms, s, m, h, d or w, the largest unit "
                         "first, such as 500ms, 30m or 1d12h",
                         text == NULL ? "" : text);
}

/* Appends at `*position` and never beyond `size`; what does not fit is cut. */
static void put_unit(char *out, size_t size, size_t *position, uint64_t number, const char *name)
{
    if (*position >= size)
        return;
    const int written = snprintf(out + *position, size - *position, "%llu%s", (unsigned long long)number, name);
    *position += written > 0 ? (size_t)written : 0;
}

void cra_duration_format(int64_t duration_ms, char *out, size_t size)
{
    const bool negative = duration_ms < 0;
    uint64_t rest = negative ? 0 - (uint64_t)duration_ms : (uint64_t)duration_ms;
    size_t position = 0;

    if (size == 0)
        return;
    if (rest == 0) {
        snprintf(out, size, "0s");
        return;
    }
    out[0] = '\0';
    if (negative) {
        snprintf(out, size, "-");
        position = 1;
    }
    /* Weeks are left out: people say 7d and 10d, not 1w and 1w3d. */
    for (size_t i = 1; i < DURATION_UNITS; i++) {
        const uint64_t factor = (uint64_t)duration_units[i].factor;
        if (rest >= factor)
            put_unit(out, size, &position, rest / factor, duration_units[i].name);
        rest %= factor;
    }
}

cra_status cra_size_parse(const char *text, int64_t *out_bytes, cra_error *err)
{
    const char *rest = text;
    int64_t number;

    if (text != NULL && read_number(&rest, &number)) {
        const size_t index = find_unit(size_units, SIZE_UNITS, rest, strlen(rest));
        if (index < SIZE_UNITS && number <= INT64_MAX / size_units[index].factor) {
            *out_bytes = number * size_units[index].factor;
            return CRA_OK;
        }
    }
    return cra_error_set(err, CRA_INVALID, "size",
                         "'%.64s' is no size; allowed are whole numbers with B, kB, MB, GB, TB (powers of ten), KiB, "
                         "MiB, GiB, TiB or nothing, such as 8MiB",
                         text == NULL ? "" : text);
}
