/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/base/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/base/text.h"
#include "shim/decide/base/settings.h"

int say_rank;

static void print_line(enum cfg_level level, const char *format, va_list args)
{
    char line[1024] = "collshim: ";
    size_t n = strlen(line);

    if ((int)level > settings.cfg.log)
        return;
    vsnprintf(line + n, sizeof line - n - 1, format, args);
    text_clean(line + n); /* names may be of files and of other processes */
    memcpy(line + strlen(line), "\n", 2);
    fputs(line, stderr);
}

void say(enum cfg_level level, const char *format, ...)
{
    va_list args;

    if (say_rank > 0 && settings.cfg.log < CFG_LEVEL_DEBUG)
        return;
    va_start(args, format);
    print_line(level, format, args);
    va_end(args);
}

void say_here(enum cfg_level level, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_line(level, format, args);
    va_end(args);
}

static void say_lines(const char *lines)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n");

        say(CFG_LEVEL_WARN, "%.*s", (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

void say_problems(void)
{
    static int done;

    if (__atomic_exchange_n(&done, 1, __ATOMIC_RELAXED))
        return;
    say_lines(settings.cfg.rules.note);
    say_lines(settings.cfg.problem);
}
