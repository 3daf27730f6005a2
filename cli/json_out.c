/* SPDX-License-Identifier: Apache-2.0 */
#include "json_out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <crawlarchive/config.h>

void cra_cli_json_init(cra_cli_json *json)
{
    memset(json, 0, sizeof *json);
    cra_buf_init(&json->text, NULL);
}

void cra_cli_json_cleanup(cra_cli_json *json)
{
    cra_buf_cleanup(&json->text);
}

static void put(cra_cli_json *json, const void *text, size_t size)
{
    if (json->status == CRA_OK)
        json->status = cra_buf_append(&json->text, text, size);
}

static void separate(cra_cli_json *json)
{
    if (json->need_comma)
        put(json, ",", 1);
    json->need_comma = true;
}

void cra_cli_json_open(cra_cli_json *json, char bracket)
{
    separate(json);
    put(json, &bracket, 1);
    json->need_comma = false;
}

void cra_cli_json_close(cra_cli_json *json, char bracket)
{
    put(json, &bracket, 1);
    json->need_comma = true;
}

/* Length of the well-formed UTF-8 sequence at `text`, 0 where there is none. */
static size_t utf8_length(const unsigned char *text)
{
    size_t length = text[0] < 0x80   ? 1
                    : text[0] < 0xC2 ? 0
                    : text[0] < 0xE0 ? 2
                    : text[0] < 0xF0 ? 3
                    : text[0] < 0xF5 ? 4
                                     : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    if ((text[0] == 0xE0 && text[1] < 0xA0) || (text[0] == 0xED && text[1] > 0x9F) ||
        (text[0] == 0xF0 && text[1] < 0x90) || (text[0] == 0xF4 && text[1] > 0x8F))
        return 0;
    return length;
}

static void put_quoted(cra_cli_json *json, const char *text)
{
    put(json, "\"", 1);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t length = utf8_length(at);
        char escape[8];
        if (length == 0) {
            put(json, "\xEF\xBF\xBD", 3);
            at++;
        } else if (*at == '"' || *at == '\\') {
            escape[0] = '\\';
            escape[1] = (char)*at++;
            put(json, escape, 2);
        } else if (*at < 0x20 || *at == 0x7F) {
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*at++);
            put(json, escape, 6);
        } else {
            put(json, at, length);
            at += length;
        }
    }
    put(json, "\"", 1);
}

void cra_cli_json_key(cra_cli_json *json, const char *key)
{
    separate(json);
    put_quoted(json, key);
    put(json, ":", 1);
    json->need_comma = false;
}

void cra_cli_json_text(cra_cli_json *json, const char *text)
{
    if (!text) {
        cra_cli_json_null(json);
        return;
    }
    separate(json);
    put_quoted(json, text);
}

void cra_cli_json_int(cra_cli_json *json, int64_t number)
{
    char text[24];
    separate(json);
    put(json, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)number));
}

void cra_cli_json_number(cra_cli_json *json, double number)
{
    if (!isfinite(number)) {
        cra_cli_json_null(json);
        return;
    }
    char text[40];
    separate(json);
    put(json, text, (size_t)snprintf(text, sizeof text, "%.15g", number));
}

void cra_cli_json_bool(cra_cli_json *json, bool flag)
{
    separate(json);
    put(json, flag ? "true" : "false", flag ? 4 : 5);
}

void cra_cli_json_null(cra_cli_json *json)
{
    separate(json);
    put(json, "null", 4);
}

void cra_cli_json_raw(cra_cli_json *json, const void *text, size_t size)
{
    separate(json);
    put(json, text, size);
}

void cra_cli_json_put_text(cra_cli_json *json, const char *key, const char *text)
{
    cra_cli_json_key(json, key);
    cra_cli_json_text(json, text);
}

void cra_cli_json_put_int(cra_cli_json *json, const char *key, int64_t number)
{
    cra_cli_json_key(json, key);
    cra_cli_json_int(json, number);
}

void cra_cli_json_put_count(cra_cli_json *json, const char *key, int64_t number)
{
    cra_cli_json_key(json, key);
    if (number < 0)
        cra_cli_json_null(json);
    else
        cra_cli_json_int(json, number);
}

void cra_cli_json_put_bool(cra_cli_json *json, const char *key, bool flag)
{
    cra_cli_json_key(json, key);
    cra_cli_json_bool(json, flag);
}

void cra_cli_json_put_time(cra_cli_json *json, const char *key, cra_time_ms time)
{
    char text[40];
    cra_time_format(time, text, sizeof text);
    cra_cli_json_put_text(json, key, time == CRA_TIME_NONE ? NULL : text);
}
