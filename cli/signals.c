/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t asked;
static _Atomic(cra_context *) cancelled_context;

static void on_signal(int number)
{
    if (asked != 0)
        _exit(128 + number);
    asked = number;
    cra_context *context = atomic_load(&cancelled_context);
    if (context)
        cra_cancel_request(context);
}

void cra_cli_signals_install(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = on_signal; /* no SA_RESTART: a read from a silent pipe must end */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
}

void cra_cli_signals_context(cra_context *context)
{
    atomic_store(&cancelled_context, context);
    if (context && asked != 0) /* it came while there was no context to tell */
        cra_cancel_request(context);
}

int cra_cli_signal(void)
{
    return asked;
}

cra_status cra_cli_check_signal(cra_error *err)
{
    if (asked == 0)
        return CRA_OK;
    return cra_error_set(err, CRA_CANCELLED, "signal", "stopped by %s", asked == SIGTERM ? "TERM" : "INT");
}
