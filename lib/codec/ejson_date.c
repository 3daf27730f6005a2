/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/ejson_text.h"

#include <stdio.h>

#define DAY_MS INT64_C(86400000)
#define FIRST_UNWRITTEN_MS INT64_C(253402300800000) /* 10000-01-01T00:00:00Z */

/* Days from 1970-01-01 to a day of the Gregorian calendar; years are counted from March, so that the leap day is the
 * last of its year. */
static int64_t days_from_date(int64_t year, unsigned month, unsigned day)
{
    const int64_t shifted = month <= 2 ? year - 1 : year;
    const int64_t era = (shifted >= 0 ? shifted : shifted - 399) / 400;
    const int64_t of_era = shifted - era * 400;
    const int64_t of_year = (int64_t)(153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + (int64_t)day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool is_leap(unsigned year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static unsigned days_of_month(unsigned year, unsigned month)
{
    static const uint8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

bool cra_ejson_format_date(cra_time_ms time, char out[CRA_EJSON_DATE_SIZE])
{
    if (time < 0 || time >= FIRST_UNWRITTEN_MS)
        return false;

    int64_t days = time / DAY_MS;
    const unsigned ms = (unsigned)(time % DAY_MS);
    unsigned year = 1970 + (unsigned)(days / 366);
    while (days_from_date((int64_t)year + 1, 1, 1) <= days)
        year++;
    days -= days_from_date(year, 1, 1);
    unsigned month = 1;
    while (days >= days_of_month(year, month))
        days -= days_of_month(year, month++);

    /* The remainders tell the compiler that the fields are of fixed width. */
    const int length = snprintf(out, CRA_EJSON_DATE_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u", year % 10000, month % 100,
                                (unsigned)(days + 1) % 100, ms / 3600000 % 24, ms / 60000 % 60, ms / 1000 % 60);
    if (ms % 1000 != 0)
        snprintf(out + length, CRA_EJSON_DATE_SIZE - (size_t)length, ".%03uZ", ms % 1000);
    else
        snprintf(out + length, CRA_EJSON_DATE_SIZE - (size_t)length, "Z");
    return true;
}

/* A cursor over the text of a date; `ok` stays false once something did not fit. */
typedef struct cursor {
    const char *at;
    const char *end;
    bool ok;
} cursor;

static unsigned number(cursor *c, unsigned digits, unsigned min, unsigned max)
{
    unsigned value = 0;

    for (; digits > 0; digits--) {
        if (c->at == c->end || *c->at < '0' || *c->at > '9') {
            c->ok = false;
            return min;
        }
        value = value * 10 + (unsigned)(*c->at++ - '0');
    }
    if (value < min || value > max) {
        c->ok = false;
        return min;
    }
    return value;
}

static bool take(cursor *c, char wanted)
{
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static void expect(cursor *c, char wanted)
{
    if (!take(c, wanted))
        c->ok = false;
}

static unsigned milliseconds(cursor *c)
{
    unsigned ms = 0;
    unsigned digits = 0;

    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++, digits++) {
        if (digits < 3)
            ms = ms * 10 + (unsigned)(*c->at - '0');
    }
    if (digits == 0)
        c->ok = false;
    for (; digits < 3; digits++)
        ms *= 10;
    return ms;
}

/* Minutes east of UTC. */
static int zone(cursor *c)
{
    if (take(c, 'Z'))
        return 0;

    const bool west = take(c, '-');
    if (!west)
        expect(c, '+');
    const int hours = (int)number(c, 2, 0, 23);
    take(c, ':');
    const int minutes = hours * 60 + (int)number(c, 2, 0, 59);
    return west ? -minutes : minutes;
}

bool cra_ejson_parse_date(const char *text, size_t size, cra_time_ms *out)
{
    cursor c = {text, text + size, true};
    unsigned second = 0;
    unsigned ms = 0;

    const unsigned year = number(&c, 4, 0, 9999);
    expect(&c, '-');
    const unsigned month = number(&c, 2, 1, 12);
    expect(&c, '-');
    const unsigned day = number(&c, 2, 1, days_of_month(year, month));
    expect(&c, 'T');
    const unsigned hour = number(&c, 2, 0, 23);
    expect(&c, ':');
    const unsigned minute = number(&c, 2, 0, 59);
    if (take(&c, ':')) {
        second = number(&c, 2, 0, 59);
        if (take(&c, '.'))
            ms = milliseconds(&c);
    }
    const int east = zone(&c);
    if (!c.ok || c.at != c.end)
        return false;
    *out = days_from_date(year, month, day) * DAY_MS + (int64_t)hour * 3600000 + ((int64_t)minute - east) * 60000 +
           (int64_t)second * 1000 + (int64_t)ms;
    return true;
}
