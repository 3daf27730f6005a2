/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <crawlarchive/config.h>

#define DAY INT64_C(86400000)

static void durations_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {{"500ms", 500},  {"30s", 30000},   {"30m", 1800000},         {"12h", 43200000},
                 {"3d", 3 * DAY}, {"2w", 14 * DAY}, {"1d12h", DAY + DAY / 2}, {"1w1d1h1m1s1ms", 8 * DAY + 3661001},
                 {"0", 0},        {"0s", 0},        {"007m", 420000},         {"9223372036854775807ms", INT64_MAX}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ms = -1;
        assert_int_equal(cra_duration_parse(cases[i].text, &ms, NULL), CRA_OK);
        assert_int_equal(ms, cases[i].ms);
    }
}

static void wrong_durations_are_refused(void **state)
{
    static const char *const cases[] = {"",
                                        "5",
                                        "s",
                                        "-3d",
                                        "+3d",
                                        "3 d",
                                        " 3d",
                                        "3d ",
                                        "1.5h",
                                        "3D",
                                        "3days",
                                        "1h1h",
                                        "30m1d",
                                        "1d12",
                                        "3d,1h",
                                        "9223372036854775808ms",
                                        "1x",
                                        "106751991168d",
                                        "1d9223372036854775807ms",
                                        "00"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ms = 77;
        cra_error err = {0};
        assert_int_equal(cra_duration_parse(cases[i], &ms, &err), CRA_INVALID);
        assert_int_equal(ms, 77);
        assert_non_null(strstr(err.message, "1d12h"));
    }
    int64_t ms;
    assert_int_equal(cra_duration_parse(NULL, &ms, NULL), CRA_INVALID);
}

static void durations_are_written(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {{0, "0s"},
                 {500, "500ms"},
                 {DAY + DAY / 2, "1d12h"},
                 {7 * DAY, "7d"},
                 {14 * DAY, "14d"},
                 {1800000, "30m"},
                 {3661001, "1h1m1s1ms"},
                 {-1500, "-1s500ms"},
                 {INT64_MAX, "106751991167d7h12m55s807ms"},
                 {INT64_MIN, "-106751991167d7h12m55s808ms"}};
    char text[48];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_duration_format(cases[i].ms, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
    /* What is too small is cut, never overrun. */
    char small[4];
    cra_duration_format(INT64_MAX, small, sizeof small);
    assert_string_equal(small, "106");
    cra_duration_format(INT64_MAX, small, 0);
    assert_string_equal(small, "106");
}

static void durations_round_trip(void **state)
{
    char text[48];
    int64_t back;
    uint64_t seed = 42;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const int64_t ms = (int64_t)(seed >> (1 + i % 60));
        cra_duration_format(ms, text, sizeof text);
        assert_int_equal(cra_duration_parse(text, &back, NULL), CRA_OK);
        assert_int_equal(back, ms);
    }
}

static void sizes_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {{"512", 512},
                 {"0", 0},
                 {"512B", 512},
                 {"64KiB", 65536},
                 {"8MiB", 8388608},
                 {"1GiB", 1073741824},
                 {"1TiB", INT64_C(1) << 40},
                 {"1kB", 1000},
                 {"1KB", 1000},
                 {"2MB", 2000000},
                 {"3GB", INT64_C(3000000000)},
                 {"1TB", INT64_C(1000000000000)},
                 {"9223372036854775807", INT64_MAX}};
    static const char *const wrong[] = {"",
                                        "MiB",
                                        "-1",
                                        "1.5MiB",
                                        "8 MiB",
                                        "8mib",
                                        "8M",
                                        "8MiBs",
                                        "9223372036854775808",
                                        "9007199254740992KiB",
                                        "8388608TiB"};
    int64_t bytes;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(cra_size_parse(cases[i].text, &bytes, NULL), CRA_OK);
        assert_int_equal(bytes, cases[i].bytes);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cra_error err = {0};
        bytes = 77;
        assert_int_equal(cra_size_parse(wrong[i], &bytes, &err), CRA_INVALID);
        assert_int_equal(bytes, 77);
        assert_non_null(strstr(err.message, "8MiB"));
    }
    assert_int_equal(cra_size_parse(NULL, &bytes, NULL), CRA_INVALID);
}

static const struct {
    const char *text;
    int64_t ms;
} times[] = {
    {"1970-01-01", 0},
    {"1970-01-01T00:00:00Z", 0},
    {"1970-01-01t00:00:00z", 0},
    {"1970-01-01 00:00:01+00:00", 1000},
    {"1969-12-31T23:59:59.999Z", -1},
    {"2026-12-01T05:03:22Z", INT64_C(1796101402000)},
    {"2026-12-01T08:03:22+03:00", INT64_C(1796101402000)},
    {"2026-12-01T10:48:22+05:45", INT64_C(1796101402000)},
    {"2026-11-30T23:03:22-06:00", INT64_C(1796101402000)},
    {"2026-12-01T05:03:22-00:00", INT64_C(1796101402000)},
    {"2026-12-01T05:03:22.1Z", INT64_C(1796101402100)},
    {"2026-12-01T05:03:22.123456789Z", INT64_C(1796101402123)},
    {"2000-02-29", INT64_C(951782400000)},
    {"1900-02-28", INT64_C(-2203977600000)},
    {"2100-03-01", INT64_C(4107542400000)},
    {"0000-01-01", INT64_C(-62167219200000)},
    {"0000-03-01", INT64_C(-62162035200000)},
    {"9999-12-31T23:59:59.999Z", INT64_C(253402300799999)},
    {"2016-12-31T23:59:60Z", INT64_C(1483228800000)},
    {"2017-01-01T05:44:60+05:45", INT64_C(1483228800000)},
};

static void times_are_read(void **state)
{
    static const char *const wrong[] = {"",
                                        "2026",
                                        "2026-1-01",
                                        "2026-13-01",
                                        "2026-00-01",
                                        "2026-01-00",
                                        "2026-02-29",
                                        "1900-02-29",
                                        "2026-04-31",
                                        "2026-12-01T",
                                        "2026-12-01T05:03Z",
                                        "2026-12-01T05:03:22",
                                        "2026-12-01T24:00:00Z",
                                        "2026-12-01T05:60:00Z",
                                        "2026-12-01T05:03:61Z",
                                        "2026-12-01T05:03:60Z",
                                        "2026-12-15T23:59:60Z",
                                        "2026-12-01T05:03:22.Z",
                                        "2026-12-01T05:03:22+3:00",
                                        "2026-12-01T05:03:22+0300",
                                        "2026-12-01T05:03:22+24:00",
                                        "2026-12-01T05:03:22+03:60",
                                        "2026-12-01T05:03:22Zx",
                                        "2026-12-01x",
                                        " 2026-12-01",
                                        "-2026-12-01",
                                        "12/01/2026",
                                        "2026-12-01T05:03:22+03",
                                        "2026/12/01",
                                        "2026-12/01",
                                        "2026-12-01T05.03.22Z",
                                        "2026-12-01T05:03.22Z",
                                        "2026-12-0",
                                        "2026-12-01T5:03:22Z",
                                        "2026-12-01T05:3:22Z",
                                        "2026-12-01T05:03:2Z"};

    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        cra_time_ms time = 77;
        assert_int_equal(cra_time_parse(times[i].text, &time, NULL), CRA_OK);
        assert_int_equal(time, times[i].ms);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cra_time_ms time = 77;
        cra_error err = {0};
        assert_int_equal(cra_time_parse(wrong[i], &time, &err), CRA_INVALID);
        assert_int_equal(time, 77);
        assert_non_null(strstr(err.message, "RFC 3339"));
    }
    cra_time_ms time;
    assert_int_equal(cra_time_parse(NULL, &time, NULL), CRA_INVALID);
}

static void times_are_written(void **state)
{
    static const struct {
        cra_time_ms time;
        const char *text;
    } cases[] = {{0, "1970-01-01T00:00:00Z"},
                 {INT64_C(1796101402000), "2026-12-01T05:03:22Z"},
                 {INT64_C(1796101402007), "2026-12-01T05:03:22.007Z"},
                 {-1, "1969-12-31T23:59:59.999Z"},
                 {INT64_C(253402300800000), "+010000-01-01T00:00:00Z"},
                 {INT64_C(-62167219200001), "-000001-12-31T23:59:59.999Z"},
                 {INT64_MAX, "+292278994-08-17T07:12:55.807Z"},
                 {INT64_MIN + 1, "-292275055-05-16T16:47:04.193Z"},
                 {CRA_TIME_NONE, ""}};
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cra_time_format(cases[i].time, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
    text[0] = 'x';
    cra_time_format(0, text, 0);
    assert_int_equal(text[0], 'x');
}

/* Every day of 4,000 years against a calendar that counts day by day. */
static void every_day_is_right(void **state)
{
    static const int lengths[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t day_number = -719528; /* of 0000-01-01 */

    (void)state;
    for (int year = 0; year < 4000; year++) {
        const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        for (int month = 0; month < 12; month++) {
            const int length = lengths[month] + (month == 1 && leap ? 1 : 0);
            for (int day = 1; day <= length; day++, day_number++) {
                char expected[48];
                char text[32];
                cra_time_ms time;
                snprintf(expected, sizeof expected, "%04d-%02d-%02d", year, month + 1, day);
                assert_int_equal(cra_time_parse(expected, &time, NULL), CRA_OK);
                assert_int_equal(time, day_number * DAY);
                cra_time_format(time + DAY - 1, text, sizeof text);
                assert_memory_equal(text, expected, 10);
                assert_string_equal(text + 10, "T23:59:59.999Z");
            }
        }
    }
}

static void time_zones_change_nothing(void **state)
{
    static const char *const zones[] = {"UTC", "America/New_York", "Europe/Istanbul", "Asia/Kathmandu"};

    for (size_t z = 0; z < sizeof zones / sizeof zones[0]; z++) {
        assert_int_equal(setenv("TZ", zones[z], 1), 0);
        tzset();
        times_are_read(state);
        times_are_written(state);
        for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
            char text[32];
            cra_time_ms back;
            cra_time_format(times[i].ms, text, sizeof text);
            assert_int_equal(cra_time_parse(text, &back, NULL), CRA_OK);
            assert_int_equal(back, times[i].ms);
        }
    }
    unsetenv("TZ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read),
        cmocka_unit_test(wrong_durations_are_refused),
        cmocka_unit_test(durations_are_written),
        cmocka_unit_test(durations_round_trip),
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(times_are_read),
        cmocka_unit_test(times_are_written),
        cmocka_unit_test(every_day_is_right),
        cmocka_unit_test(time_zones_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
