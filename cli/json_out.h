/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CLI_JSON_OUT_H
#define CRA_CLI_JSON_OUT_H

/* JSON text, one line at a time, into a buffer. Errors stick: they are asked for once, at the end. */

#include <crawlarchive/types.h>

typedef struct cra_cli_json {
    cra_buf text;
    bool need_comma;
    cra_status status; /* CRA_OK or CRA_NOMEM */
} cra_cli_json;

void cra_cli_json_init(cra_cli_json *json);
void cra_cli_json_cleanup(cra_cli_json *json);

/* Brackets: '{', '}', '[' or ']'. */
void cra_cli_json_open(cra_cli_json *json, char bracket);
void cra_cli_json_close(cra_cli_json *json, char bracket);
void cra_cli_json_key(cra_cli_json *json, const char *key);
/* Values; a NULL text is null. Bytes that are not UTF-8 become U+FFFD. */
void cra_cli_json_text(cra_cli_json *json, const char *text);
void cra_cli_json_int(cra_cli_json *json, int64_t number);
void cra_cli_json_number(cra_cli_json *json, double number);
void cra_cli_json_bool(cra_cli_json *json, bool flag);
void cra_cli_json_null(cra_cli_json *json);
/* Text that is JSON already. */
void cra_cli_json_raw(cra_cli_json *json, const void *text, size_t size);

/* Key and value at once. -1 of a count and CRA_TIME_NONE are null. */
void cra_cli_json_put_text(cra_cli_json *json, const char *key, const char *text);
void cra_cli_json_put_int(cra_cli_json *json, const char *key, int64_t number);
void cra_cli_json_put_count(cra_cli_json *json, const char *key, int64_t number);
void cra_cli_json_put_bool(cra_cli_json *json, const char *key, bool flag);
void cra_cli_json_put_time(cra_cli_json *json, const char *key, cra_time_ms time);

#endif
