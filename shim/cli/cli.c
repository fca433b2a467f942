/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options, messages and line breaking. Not getopt_long: it cannot say which
 * option was meant, and a wrong one is where a newcomer needs the most help.
 */
#include "shim/cli/cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "config/nearest.h"

int cli_fail(const char *format, ...)
{
    va_list args;

    fputs("collshim: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return CLI_FAILURE;
}

int cli_usage(const char *command, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "collshim%s%s: ", *command ? " " : "", command);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "; see `collshim%s%s --help`\n", *command ? " " : "", command);
    return CLI_USAGE;
}

/* The row of the option in arg, whose name ends at the first `=`; NULL if there is none. */
static const struct cli_option *find_option(const struct cli_option *options, const char *arg)
{
    size_t n = strcspn(arg, "=");

    for (; options->name; options++)
        if (strlen(options->name) == n && !strncmp(options->name, arg, n))
            return options;
    return NULL;
}

static int unknown_option(const char *command, const struct cli_option *options, const char *arg)
{
    struct nearest n = nearest_to(arg);

    nearest_offer(&n, "--help");
    for (; options->name; options++)
        nearest_offer(&n, options->name);
    if (n.best)
        return cli_usage(command, "no option %s, the nearest is %s", arg, n.best);
    return cli_usage(command, "no option %s", arg);
}

/* Take the option at argv[*i], and its value. Returns CLI_OK or CLI_USAGE. */
static int take_option(int argc, char **argv, int *i, const struct cli_option *options)
{
    const char *arg = argv[*i], *equal = strchr(arg, '=');
    const struct cli_option *o = find_option(options, arg);

    if (!o)
        return unknown_option(argv[0], options, arg);
    if (o->flag) {
        if (equal)
            return cli_usage(argv[0], "%s takes no value", o->name);
        *o->flag = 1;
        return CLI_OK;
    }
    if (!equal && *i + 1 >= argc)
        return cli_usage(argv[0], "%s needs a value", o->name);
    *o->text = equal ? equal + 1 : argv[++*i];
    if (!**o->text)
        return cli_usage(argv[0], "%s needs a value, got an empty one", o->name);
    return CLI_OK;
}

int cli_options(int argc, char **argv, const struct cli_option *options, const char *help)
{
    int left = 0, only_arguments = 0;

    for (int i = 1; i < argc; i++) {
        if (only_arguments || argv[i][0] != '-' || !argv[i][1]) {
            argv[++left] = argv[i];
        } else if (!strcmp(argv[i], "--")) {
            only_arguments = 1;
        } else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help, stdout);
            return -1 - CLI_OK;
        } else {
            int code = take_option(argc, argv, &i, options);

            if (code)
                return -1 - code;
        }
    }
    return left;
}

int cli_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    int width = columns ? atoi(columns) : 0;

    if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    return width <= 0 ? 100 : width < 60 ? 60 : width;
}

void cli_wrap(FILE *f, const char *text, int column, int width)
{
    int at = column;

    while (*text) {
        int n = (int)strcspn(text, " ");

        if (at > column && at + 1 + n > width) {
            fprintf(f, "\n%*s", column, "");
            at = column;
        } else if (at > column) {
            fputc(' ', f);
            at++;
        }
        fprintf(f, "%.*s", n, text);
        at += n;
        text += n;
        text += *text == ' ';
    }
    fputc('\n', f);
}
