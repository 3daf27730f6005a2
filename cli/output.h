/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CLI_OUTPUT_H
#define CRA_CLI_OUTPUT_H

/* What is told: answers and items on standard output, errors and notes on standard error. Every function may be
 * called from any thread; a failure of standard output sticks in `cli` and is asked for with cra_cli_output_status().
 */

#include "cli.h"

/* Bytes as they are. @return CRA_IO once standard output has failed, so that a loop can end */
cra_status cra_cli_write(cra_cli *cli, const void *data, size_t size, cra_error *err);
/* A line or more of text for people, control characters replaced. */
void cra_cli_print(cra_cli *cli, const char *format, ...) CRA_PRINTF(2, 3);
/* "crawlarchive: …" on standard error, for people. */
void cra_cli_note(cra_cli *cli, const char *format, ...) CRA_PRINTF(2, 3);
/* What is no error: the same with its level, or an object with message_type "log", so that scripts can parse every
 * line of standard error. */
void cra_cli_log(cra_cli *cli, cra_log_level level, const char *origin, const char *message);
/* A warning of the command itself; nothing when it is to be quiet. */
void cra_cli_warn(cra_cli *cli, const char *format, ...) CRA_PRINTF(2, 3);
/* Finish `json` as one line of standard output, and free it. */
void cra_cli_print_json(cra_cli *cli, cra_cli_json *json);
/* Begin an object; `message_type` NULL: an answer or a row of a list. */
void cra_cli_json_begin(cra_cli_json *json, const char *message_type);
/* An error in the form that was asked for. Nothing where it has no message. */
void cra_cli_print_error(cra_cli *cli, const cra_error *error, int exit_code);
/* Flush; what became of standard output. A closed pipe has no message: nobody is listening. */
cra_status cra_cli_output_status(cra_cli *cli, cra_error *err);

/* ---- items and summaries --------------------------------------------------------------------- */

typedef enum cra_cli_field_kind {
    CRA_CLI_FIELD_RUN,
    CRA_CLI_FIELD_WORD, /* of the form, by the item's status */
    CRA_CLI_FIELD_REASON,
    CRA_CLI_FIELD_LEVEL,
    CRA_CLI_FIELD_LOCATION,
    CRA_CLI_FIELD_COUNT
} cra_cli_field_kind;

typedef struct cra_cli_field {
    const char *key;
    cra_cli_field_kind kind;
    cra_count count; /* FIELD_COUNT only */
} cra_cli_field;

/* How the items of one command are told. */
typedef struct cra_cli_form {
    const char *words[CRA_ITEM_FAILED + 1]; /* by cra_item_status */
    const cra_cli_field *fields;
    size_t fields_count;
} cra_cli_form;

/* Several runs: what they came to. */
typedef struct cra_cli_tally {
    size_t runs;
    size_t by_status[CRA_ITEM_FAILED + 1];
    int64_t sums[CRA_COUNT_END];
    cra_status failure; /* the common one of all that failed, CRA_IO where they differ */
} cra_cli_tally;

/* Where the items of an operation go: told and tallied. */
typedef struct cra_cli_items {
    cra_cli *cli;
    const cra_cli_form *form;
    cra_cli_tally tally;
} cra_cli_items;

/* A cra_item_fn; `user` is a cra_cli_items. */
void cra_cli_on_item(void *user, const cra_item *item);
/* An item of a run that never came to the library. */
void cra_cli_item_failed(cra_cli_items *items, const char *run, const cra_error *error);
/* PARTIAL, the common failure of all, or CRA_IO where items failed, which have told why: `err` is cleared. Else
 * `status`, what the call returned. */
cra_status cra_cli_items_status(const cra_cli_items *items, cra_status status, cra_error *err);

void cra_cli_sum_int(cra_cli *cli, const char *key, int64_t number);
void cra_cli_sum_text(cra_cli *cli, const char *key, const char *text);
/* Tell the sums: one JSON line, or a line for people unless quiet. */
void cra_cli_print_summary(cra_cli *cli, FILE *stream);

#endif
