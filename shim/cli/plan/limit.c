/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time of the processor, not of the clock: the same input ends the same way on a busy machine. A
 * signal, not a look at the clock in every loop: planners know no time.
 */
#include "shim/cli/plan/limit.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "shim/cli/cli.h"

enum { USUAL = 15, MOST = 1000000 };

static int limit;
static char line[256]; /* ready before the signal, which may not format */
static size_t length;

static void give_up(int signal)
{
    (void)signal;
    (void)!write(STDERR_FILENO, line, length);
    _exit(CLI_FAILURE);
}

void cli_limit_advice(const char *format, ...)
{
    char advice[160];
    sigset_t one, before;
    va_list args;

    if (!limit)
        return;
    va_start(args, format);
    vsnprintf(advice, sizeof advice, format, args);
    va_end(args);
    sigemptyset(&one);
    sigaddset(&one, SIGPROF);
    sigprocmask(SIG_BLOCK, &one, &before);
    length =
        (size_t)snprintf(line, sizeof line,
                         "collshim: no result after %d s of computing; %s or --limit %d would do\n",
                         limit, advice, 10 * limit);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

int cli_limit(const char *command, const char *seconds)
{
    struct sigaction end = {.sa_handler = give_up};
    struct itimerval timer = {0};
    char *rest = NULL;
    long value = seconds ? strtol(seconds, &rest, 10) : USUAL;

    if (seconds && (*rest || value < 0 || value > MOST))
        return cli_usage(command, "--limit: '%s' is no number of seconds from 0 to %d", seconds,
                         MOST);
    limit = (int)value;
    cli_limit_advice("fewer ranks");
    timer.it_value.tv_sec = limit;
    sigaction(SIGPROF, &end, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
    return CLI_OK;
}
