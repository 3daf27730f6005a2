/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRA_CLI_CLI_H
#define CRA_CLI_CLI_H

/* One invocation: what was asked, what is open, how it ends. */

#include <pthread.h>

#include <crawlarchive/crawlarchive.h>

#include "args.h"
#include "json_out.h"

#define CRA_CLI_SUMMARY_MAX 16

/* One number or word of a summary. */
typedef struct cra_cli_sum {
    const char *key;
    bool is_text;
    int64_t number;   /* -1: unknown */
    const char *text; /* nullable; static or borrowed until the end */
} cra_cli_sum;

typedef struct cra_cli {
    cra_cli_args args;
    bool json;
    bool quiet;
    size_t verbose;
    bool progress; /* shown on standard error */
    cra_context *context;
    cra_config *config;
    cra_engine *engine;
    char config_path[1024];
    int exit_code;         /* -1: follows from the status */
    int64_t started_ms;    /* monotonic */
    pthread_mutex_t lock;  /* of both streams and of the progress line */
    int output_errno;      /* first failure on standard output */
    size_t progress_width; /* of the line that stands on standard error */
    int64_t progress_at_ms;
    cra_cli_sum summary[CRA_CLI_SUMMARY_MAX];
    size_t summary_count;
} cra_cli;

/* A command: its status decides the exit code, `err` what is told. */
typedef cra_status (*cra_cli_function)(cra_cli *cli, cra_error *err);
#define COMMAND(id, function, ...) cra_status cra_cmd_##function(cra_cli *cli, cra_error *err);
#include "options.def"
#undef COMMAND

/* ---- session.c: each opens what is needed before it, once ------------------------------------ */
cra_status cra_cli_open_context(cra_cli *cli, cra_error *err);
/* The configuration of the lookup order, with the environment applied, validated. */
cra_status cra_cli_open_config(cra_cli *cli, cra_error *err);
cra_status cra_cli_open_engine(cra_cli *cli, unsigned flags, cra_error *err);
/* Open the engine and find the run that the first argument names. */
cra_status cra_cli_open_run(cra_cli *cli, unsigned flags, cra_run **out, cra_error *err);
void cra_cli_close(cra_cli *cli);

/* ---- signals.c ------------------------------------------------------------------------------- */
/* INT and TERM ask `context` (set later, nullable) to stop; the second one ends the process. PIPE is ignored. */
void cra_cli_signals_install(void);
void cra_cli_signals_context(cra_context *context);
/* The signal that asked to stop, or 0. */
int cra_cli_signal(void);
/* CRA_CANCELLED once a signal has come, else CRA_OK. */
cra_status cra_cli_check_signal(cra_error *err);

/* ---- progress.c ------------------------------------------------------------------------------ */
int cra_cli_on_progress(void *user, const cra_progress *progress);
/* Take the line away, with the lock held: something else is about to be written. */
void cra_cli_progress_clear(cra_cli *cli);

/* ---- metrics.c ------------------------------------------------------------------------------- */
int64_t cra_cli_monotonic_ms(void);
/* Write the summary's numbers for Prometheus, in place of the file's last content, at once. */
cra_status cra_cli_metrics_write(const cra_cli *cli, const char *path, int exit_code, cra_error *err);

#endif
