/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing is written to a pipe or a file: carriage returns make a log unreadable. */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int watched, shown;

void bench_progress_begin(void)
{
    watched = isatty(STDERR_FILENO);
}

void bench_progress(const char *format, ...)
{
    va_list arguments;

    if (!watched)
        return;
    va_start(arguments, format);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fflush(stderr);
    shown = 1;
}

void bench_progress_end(void)
{
    if (shown)
        fputs("\r\033[K", stderr);
    shown = 0;
}
