/* SPDX-License-Identifier: Apache-2.0 */

/* RFC 3339 in both directions, by arithmetic of our own: the C library's functions depend on the time zone of the
 * process, and a retention date must not. The calendar is the Gregorian one, extended to all years. */

#include <stdio.h>
#include <string.h>

#include <crawlarchive/config.h>

#define MS_PER_SECOND 1000
#define MS_PER_DAY INT64_C(86400000)
#define DAYS_PER_400_YEARS 146097

/* Days before each month in a year that begins in March, so that the leap day is the last of its year. */
static const int days_before_month[12] = {0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337};
/* Days from 0000-03-01 to 1970-01-01. */
#define EPOCH_FROM_MARCH_0 719468

static int64_t floor_divide(int64_t number, int64_t divisor)
{
    return number / divisor - (number % divisor < 0 ? 1 : 0);
}

static int64_t days_from_date(int64_t year, int month, int day)
{
    const int64_t march_year = month <= 2 ? year - 1 : year;
    const int march_month = (month + 9) % 12;
    const int64_t leap_days =
        floor_divide(march_year, 4) - floor_divide(march_year, 100) + floor_divide(march_year, 400);

    return march_year * 365 + leap_days + days_before_month[march_month] + day - 1 - EPOCH_FROM_MARCH_0;
}

static void date_from_days(int64_t days, int64_t *year, int *month, int *day)
{
    const int64_t since = days + EPOCH_FROM_MARCH_0;
    const int64_t cycle = floor_divide(since, DAYS_PER_400_YEARS);
    int64_t rest = since - cycle * DAYS_PER_400_YEARS; /* day of the 400-year cycle */
    /* The last day of a cycle, of a 4-year group and of a leap year would each open a group that does not exist. */
    const int64_t century = rest / 36524 < 3 ? rest / 36524 : 3;
    rest -= century * 36524;
    const int64_t group = rest / 1461;
    rest -= group * 1461;
    const int64_t in_group = rest / 365 < 3 ? rest / 365 : 3;
    rest -= in_group * 365;

    int march_month = 11;
    while (days_before_month[march_month] > rest)
        march_month--;
    *month = march_month < 10 ? march_month + 3 : march_month - 9;
    *day = (int)rest - days_before_month[march_month] + 1;
    *year = cycle * 400 + century * 100 + group * 4 + in_group + (*month <= 2 ? 1 : 0);
}

static bool is_leap_year(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_in_month(int year, int month)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return month == 2 && is_leap_year(year) ? 29 : days[month - 1];
}

/* Exactly `count` digits at `*text`, which moves behind them. */
static bool read_digits(const char **text, int count, int *out)
{
    int number = 0;

    for (int i = 0; i < count; i++) {
        const char c = (*text)[i];
        if (c < '0' || c > '9')
            return false;
        number = number * 10 + (c - '0');
    }
    *text += count;
    *out = number;
    return true;
}

static bool skip_char(const char **text, const char *any)
{
    if (**text == '\0' || strchr(any, **text) == NULL)
        return false;
    ++*text;
    return true;
}

static bool read_date(const char **text, int64_t *days)
{
    int year;
    int month;
    int day;

    if (!read_digits(text, 4, &year) || !skip_char(text, "-") || !read_digits(text, 2, &month) ||
        !skip_char(text, "-") || !read_digits(text, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
        return false;
    *days = days_from_date(year, month, day);
    return true;
}

/* Milliseconds of ".5", ".123", ".123456": what is finer is cut off. */
static bool read_fraction(const char **text, int *out_ms)
{
    int scale = 100;
    int ms = 0;

    *out_ms = 0;
    if (**text != '.')
        return true;
    ++*text;
    if (**text < '0' || **text > '9')
        return false;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        ms += (**text - '0') * scale;
        scale /= 10;
    }
    *out_ms = ms;
    return true;
}

static bool read_offset(const char **text, int *out_minutes)
{
    int hours;
    int minutes;

    *out_minutes = 0;
    if (skip_char(text, "Zz"))
        return true;
    const bool west = **text == '-';
    if (!skip_char(text, "+-") || !read_digits(text, 2, &hours) || !skip_char(text, ":") ||
        !read_digits(text, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *out_minutes = (hours * 60 + minutes) * (west ? -1 : 1);
    return true;
}

/* A leap second is only ever the last second of a month in UTC; `after` is the second that follows it. */
static bool may_follow_leap_second(int64_t after_ms)
{
    int64_t year;
    int month;
    int day;

    if (after_ms % MS_PER_DAY != 0)
        return false;
    date_from_days(floor_divide(after_ms, MS_PER_DAY), &year, &month, &day);
    return day == 1;
}

static bool parse_time(const char *text, cra_time_ms *out)
{
    int64_t days;
    int hour;
    int minute;
    int second;
    int ms;
    int offset;

    if (!read_date(&text, &days))
        return false;
    if (*text == '\0') {
        *out = days * MS_PER_DAY;
        return true;
    }
    if (!skip_char(&text, "Tt ") || !read_digits(&text, 2, &hour) || !skip_char(&text, ":") ||
        !read_digits(&text, 2, &minute) || !skip_char(&text, ":") || !read_digits(&text, 2, &second) ||
        !read_fraction(&text, &ms) || !read_offset(&text, &offset) || *text != '\0')
        return false;
    if (hour > 23 || minute > 59 || second > 60)
        return false;

    const int64_t whole = days * MS_PER_DAY + ((hour * 60 + minute - offset) * INT64_C(60) + second) * MS_PER_SECOND;
    if (second == 60 && !may_follow_leap_second(whole))
        return false;
    *out = whole + ms;
    return true;
}

cra_status cra_time_parse(const char *text, cra_time_ms *out, cra_error *err)
{
    if (text != NULL && parse_time(text, out))
        return CRA_OK;
    return cra_error_set(err, CRA_INVALID, "time",
                         "'%.64s' is no time; allowed are RFC 3339 such as 2026-12-01T05:03:22Z or "
                         "2026-12-01T08:03:22+03:00, and a date, which is midnight UTC",
                         text == NULL ? "" : text);
}

void cra_time_format(cra_time_ms time, char *out, size_t size)
{
    if (size == 0)
        return;
    out[0] = '\0';
    if (time == CRA_TIME_NONE)
        return;

    int64_t year;
    int month;
    int day;
    const int64_t days = floor_divide(time, MS_PER_DAY);
    const int in_day = (int)((time % MS_PER_DAY + MS_PER_DAY) % MS_PER_DAY);
    const int second = in_day / MS_PER_SECOND;
    const int ms = in_day % MS_PER_SECOND;
    date_from_days(days, &year, &month, &day);

    char date[24];
    /* Beyond four digits ISO 8601 asks for a sign. */
    snprintf(date, sizeof date, year >= 0 && year <= 9999 ? "%04lld" : "%+07lld", (long long)year);
    char fraction[8] = "";
    if (ms != 0)
        snprintf(fraction, sizeof fraction, ".%03d", ms);
    snprintf(out, size, "%s-%02d-%02dT%02d:%02d:%02d%sZ", date, month, day, second / 3600, second / 60 % 60,
             second % 60, fraction);
}
