/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void write_locked(cra_cli *cli, const void *data, size_t size)
{
    if (cli->output_errno == 0 && size > 0 && fwrite(data, 1, size, stdout) != size)
        cli->output_errno = errno != 0 ? errno : EIO;
}

cra_status cra_cli_write(cra_cli *cli, const void *data, size_t size, cra_error *err)
{
    pthread_mutex_lock(&cli->lock);
    cra_cli_progress_clear(cli);
    write_locked(cli, data, size);
    int failed = cli->output_errno;
    pthread_mutex_unlock(&cli->lock);
    if (failed == 0)
        return CRA_OK;
    return cra_error_set_native(err, CRA_IO, failed, "stdout", "standard output: %s", strerror(failed));
}

/* Names come from stores: what could drive a terminal does not reach it. */
static void disarm(char *text)
{
    for (; *text != '\0'; text++)
        if (((unsigned char)*text < 0x20 && *text != '\n' && *text != '\t') || *text == 0x7F)
            *text = '?';
}

static char *format_text(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = size < 0 ? NULL : malloc((size_t)size + 1);
    if (text) {
        vsnprintf(text, (size_t)size + 1, format, arguments);
        disarm(text);
    }
    return text;
}

void cra_cli_print(cra_cli *cli, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(format, arguments);
    va_end(arguments);
    if (text)
        (void)cra_cli_write(cli, text, strlen(text), NULL);
    free(text);
}

void cra_cli_note(cra_cli *cli, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&cli->lock);
    cra_cli_progress_clear(cli);
    if (text)
        fprintf(stderr, "crawlarchive: %s\n", text);
    pthread_mutex_unlock(&cli->lock);
    free(text);
}

void cra_cli_json_begin(cra_cli_json *json, const char *message_type)
{
    cra_cli_json_init(json);
    cra_cli_json_open(json, '{');
    if (message_type)
        cra_cli_json_put_text(json, "message_type", message_type);
}

static void finish_line(cra_cli_json *json)
{
    cra_cli_json_close(json, '}');
    if (json->status == CRA_OK)
        json->status = cra_buf_append(&json->text, "\n", 1);
}

void cra_cli_print_json(cra_cli *cli, cra_cli_json *json)
{
    finish_line(json);
    pthread_mutex_lock(&cli->lock);
    cra_cli_progress_clear(cli);
    if (json->status != CRA_OK && cli->output_errno == 0)
        cli->output_errno = ENOMEM;
    write_locked(cli, json->text.data, json->text.size);
    if (cli->output_errno == 0 && fflush(stdout) != 0)
        cli->output_errno = errno;
    pthread_mutex_unlock(&cli->lock);
    cra_cli_json_cleanup(json);
}

static void print_error_json(cra_cli *cli, cra_cli_json *json)
{
    finish_line(json);
    pthread_mutex_lock(&cli->lock);
    cra_cli_progress_clear(cli);
    fwrite(json->text.data, 1, json->text.size, stderr);
    pthread_mutex_unlock(&cli->lock);
    cra_cli_json_cleanup(json);
}

void cra_cli_log(cra_cli *cli, cra_log_level level, const char *origin, const char *message)
{
    static const char *const words[] = {"error", "warning", "info", "debug"};
    if (!cli->json) {
        cra_cli_note(cli, "%s: %s%s%s", words[level], origin ? origin : "", origin ? ": " : "", message);
        return;
    }
    cra_cli_json json;
    cra_cli_json_begin(&json, "log");
    cra_cli_json_put_text(&json, "level", words[level]);
    cra_cli_json_put_text(&json, "origin", origin);
    cra_cli_json_put_text(&json, "message", message);
    print_error_json(cli, &json);
}

void cra_cli_warn(cra_cli *cli, const char *format, ...)
{
    va_list arguments;
    if (cli->quiet)
        return;
    va_start(arguments, format);
    char *text = format_text(format, arguments);
    va_end(arguments);
    if (text)
        cra_cli_log(cli, CRA_LOG_WARN, NULL, text);
    free(text);
}

void cra_cli_print_error(cra_cli *cli, const cra_error *error, int exit_code)
{
    if (error->message[0] == '\0')
        return;
    if (!cli->json) {
        cra_cli_note(cli, "%s", error->message);
        if (error->hint[0] != '\0')
            cra_cli_note(cli, "%s", error->hint);
        return;
    }
    cra_cli_json json;
    cra_cli_json_begin(&json, "error");
    cra_cli_json_put_text(&json, "status", cra_status_name(error->status));
    cra_cli_json_put_int(&json, "code", exit_code);
    cra_cli_json_put_text(&json, "message", error->message);
    cra_cli_json_put_text(&json, "hint", error->hint[0] != '\0' ? error->hint : NULL);
    print_error_json(cli, &json);
}

cra_status cra_cli_output_status(cra_cli *cli, cra_error *err)
{
    pthread_mutex_lock(&cli->lock);
    cra_cli_progress_clear(cli);
    if (cli->output_errno == 0 && fflush(stdout) != 0)
        cli->output_errno = errno;
    int failed = cli->output_errno;
    pthread_mutex_unlock(&cli->lock);
    if (failed == 0)
        return CRA_OK;
    if (failed == EPIPE) {
        cra_error_clear(err);
        return CRA_IO;
    }
    return cra_error_set_native(err, CRA_IO, failed, "stdout", "standard output: %s", strerror(failed));
}

/* ---- items ----------------------------------------------------------------------------------- */

static void item_json(cra_cli_items *items, const cra_item *item)
{
    const cra_cli_form *form = items->form;
    cra_cli_json json;
    cra_cli_json_begin(&json, "item");
    for (size_t i = 0; i < form->fields_count; i++) {
        const cra_cli_field *field = &form->fields[i];
        switch (field->kind) {
        case CRA_CLI_FIELD_RUN:
            cra_cli_json_put_text(&json, field->key, item->run);
            break;
        case CRA_CLI_FIELD_WORD:
            cra_cli_json_put_text(&json, field->key, form->words[item->status]);
            break;
        case CRA_CLI_FIELD_REASON:
            cra_cli_json_put_text(&json, field->key, cra_reason_name(item->reason));
            break;
        case CRA_CLI_FIELD_LEVEL:
            cra_cli_json_put_text(&json, field->key, item->level);
            break;
        case CRA_CLI_FIELD_LOCATION:
            cra_cli_json_put_text(&json, field->key, item->location);
            break;
        case CRA_CLI_FIELD_COUNT:
            cra_cli_json_put_count(&json, field->key, item->counts[field->count]);
            break;
        }
    }
    cra_cli_print_json(items->cli, &json);
}

/* Whether somebody should look at it, in contrast to what a sweep leaves for another day. */
static bool is_trouble(const cra_item *item)
{
    if (item->status == CRA_ITEM_OK)
        return false;
    return item->status != CRA_ITEM_KEPT ||
           (item->reason != CRA_REASON_NOT_DUE && item->reason != CRA_REASON_HELD && item->reason != CRA_REASON_LOCKED);
}

static const char *why(const cra_item *item)
{
    if (item->error.message[0] != '\0')
        return item->error.message;
    if (item->detail)
        return item->detail;
    return cra_reason_text(item->reason);
}

static void item_text(cra_cli_items *items, const cra_item *item)
{
    cra_cli *cli = items->cli;
    bool trouble = is_trouble(item);
    bool dry = cra_cli_given(&cli->args, CRA_CLI_OPTION_DRY_RUN);
    if (!trouble && (cli->quiet || (item->reason == CRA_REASON_NOT_DUE && cli->verbose == 0 && !dry)))
        return;
    char line[1024];
    size_t used = (size_t)snprintf(line, sizeof line, "%-8s %s%s%s", items->form->words[item->status],
                                   item->report ? item->report : "", item->report ? "/" : "", item->run);
    if (item->reason != CRA_REASON_NONE && used < sizeof line) {
        const char *text = why(item);
        used += (size_t)snprintf(line + used, sizeof line - used, "  %s: %s", cra_reason_name(item->reason),
                                 text ? text : "");
    }
    for (size_t i = 0; i < items->form->fields_count && used < sizeof line; i++) {
        const cra_cli_field *field = &items->form->fields[i];
        if (field->kind == CRA_CLI_FIELD_COUNT && item->counts[field->count] >= 0)
            used += (size_t)snprintf(line + used, sizeof line - used, "  %s %lld", field->key,
                                     (long long)item->counts[field->count]);
    }
    if (trouble)
        cra_cli_note(cli, "%s", line);
    else
        cra_cli_print(cli, "%s\n", line);
}

/* The status behind an item that did not end well: its error's, else what its reason says. */
static cra_status failure_of(const cra_item *item)
{
    if (item->status == CRA_ITEM_LOCKED)
        return CRA_LOCKED;
    if (item->status == CRA_ITEM_BAD)
        return CRA_CORRUPT;
    if (item->error.status < CRA_OK)
        return item->error.status;
    switch (item->reason) {
    case CRA_REASON_NOT_FOUND:
    case CRA_REASON_NO_ARCHIVE:
        return CRA_NOT_FOUND;
    case CRA_REASON_CORRUPT:
    case CRA_REASON_INCOMPLETE:
    case CRA_REASON_UNREADABLE:
        return CRA_CORRUPT;
    case CRA_REASON_CONFLICT:
        return CRA_CONFLICT;
    case CRA_REASON_DENIED:
        return CRA_DENIED;
    case CRA_REASON_UNAVAILABLE:
        return CRA_UNAVAILABLE;
    case CRA_REASON_CANCELLED:
        return CRA_CANCELLED;
    case CRA_REASON_INVALID:
        return CRA_INVALID;
    default:
        return CRA_IO;
    }
}

static void tally_add(cra_cli_tally *tally, const cra_item *item)
{
    tally->runs++;
    tally->by_status[item->status]++;
    for (size_t i = 0; i < CRA_COUNT_END; i++)
        if (item->counts[i] > 0)
            tally->sums[i] += item->counts[i];
    if (item->status == CRA_ITEM_OK || item->status == CRA_ITEM_KEPT)
        return;
    cra_status failure = failure_of(item);
    tally->failure = tally->failure == CRA_OK || tally->failure == failure ? failure : CRA_IO;
}

void cra_cli_on_item(void *user, const cra_item *item)
{
    cra_cli_items *items = user;
    tally_add(&items->tally, item);
    if (!items->cli->json) {
        item_text(items, item);
        return;
    }
    item_json(items, item);
    if (!is_trouble(item))
        return;
    cra_error error = item->error;
    if (error.message[0] == '\0' || error.status >= CRA_OK) {
        const char *text = why(item);
        cra_error_set(&error, failure_of(item), "run", "%s: %s", item->run,
                      text ? text : items->form->words[item->status]);
    }
    cra_cli_print_error(items->cli, &error, cra_status_exit_code(error.status));
}

void cra_cli_item_failed(cra_cli_items *items, const char *run, const cra_error *error)
{
    cra_item item = {0};
    item.struct_size = sizeof item;
    item.run = run;
    item.status = CRA_ITEM_FAILED;
    item.reason = cra_reason_from_status(error->status);
    item.error = *error;
    for (size_t i = 0; i < CRA_COUNT_END; i++)
        item.counts[i] = -1;
    cra_cli_on_item(items, &item);
}

cra_status cra_cli_items_status(const cra_cli_items *items, cra_status status, cra_error *err)
{
    const cra_cli_tally *tally = &items->tally;
    size_t well = tally->by_status[CRA_ITEM_OK] + tally->by_status[CRA_ITEM_KEPT];
    if (well == tally->runs)
        return status;
    cra_error_clear(err);
    return well > 0 ? CRA_PARTIAL : tally->failure;
}

/* ---- summary --------------------------------------------------------------------------------- */

static cra_cli_sum *next_sum(cra_cli *cli, const char *key)
{
    cra_cli_sum *sum =
        &cli->summary[cli->summary_count < CRA_CLI_SUMMARY_MAX - 1 ? cli->summary_count++ : CRA_CLI_SUMMARY_MAX - 1];
    memset(sum, 0, sizeof *sum);
    sum->key = key;
    return sum;
}

void cra_cli_sum_int(cra_cli *cli, const char *key, int64_t number)
{
    next_sum(cli, key)->number = number;
}

void cra_cli_sum_text(cra_cli *cli, const char *key, const char *text)
{
    cra_cli_sum *sum = next_sum(cli, key);
    sum->is_text = true;
    sum->text = text;
}

static void summary_json(cra_cli *cli, cra_cli_json *json)
{
    cra_cli_json_begin(json, "summary");
    for (size_t i = 0; i < cli->summary_count; i++) {
        const cra_cli_sum *sum = &cli->summary[i];
        if (sum->is_text)
            cra_cli_json_put_text(json, sum->key, sum->text);
        else
            cra_cli_json_put_count(json, sum->key, sum->number);
    }
}

static void summary_text(const cra_cli *cli, char *line, size_t size)
{
    size_t used = 0;
    line[0] = '\0';
    for (size_t i = 0; i < cli->summary_count && used < size; i++) {
        const cra_cli_sum *sum = &cli->summary[i];
        const char *comma = used > 0 ? ", " : "";
        if (sum->is_text && sum->text)
            used += (size_t)snprintf(line + used, size - used, "%s%s %s", comma, sum->key, sum->text);
        else if (!sum->is_text && sum->number >= 0)
            used += (size_t)snprintf(line + used, size - used, "%s%s %lld", comma, sum->key, (long long)sum->number);
        else if (!sum->is_text)
            used += (size_t)snprintf(line + used, size - used, "%s%s unknown", comma, sum->key);
    }
}

void cra_cli_print_summary(cra_cli *cli, FILE *stream)
{
    if (!cli->json) {
        char line[1024];
        summary_text(cli, line, sizeof line);
        if (cli->quiet || line[0] == '\0')
            return;
        if (stream == stdout)
            cra_cli_print(cli, "%s\n", line);
        else
            cra_cli_note(cli, "%s", line);
        return;
    }
    cra_cli_json json;
    summary_json(cli, &json);
    if (stream == stdout)
        cra_cli_print_json(cli, &json);
    else
        print_error_json(cli, &json);
}
