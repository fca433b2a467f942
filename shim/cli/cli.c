/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options, messages and line breaking. Messages about a wrong option are worded here instead of by
 * getopt_long: they name the option that was probably meant.
 */
#include "shim/cli/cli.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "config/base/nearest.h"
#include "config/base/text.h"

enum { NARROW = 80 }; /* columns, without --wide */

/* A name in it may hold anything. */
static void print_message(const char *format, va_list args)
{
    char text[16384];

    vsnprintf(text, sizeof text, format, args);
    fputs(text_clean(text), stderr);
}

int cli_fail(const char *format, ...)
{
    va_list args;

    fputs("collshim: ", stderr);
    va_start(args, format);
    print_message(format, args);
    va_end(args);
    fputc('\n', stderr);
    return CLI_FAILURE;
}

int cli_usage(const char *command, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "collshim%s%s: ", *command ? " " : "", command);
    va_start(args, format);
    print_message(format, args);
    va_end(args);
    fprintf(stderr, "; see `collshim%s%s --help`\n", *command ? " " : "", command);
    return CLI_USAGE;
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

/* Options may stand behind arguments, also with POSIXLY_CORRECT: '-' makes getopt return arguments
   as those of an option 1. */
int cli_options(int argc, char **argv, const struct cli_option *options, const char *help)
{
    enum { MOST = 32, FIRST = 256 };
    struct option table[MOST + 2] = {{.name = "help", .val = 'h'}};
    int left = 0, id;

    for (int i = 0; i < MOST && options[i].name; i++)
        table[i + 1] = (struct option){
            .name = options[i].name + 2, .has_arg = !options[i].flag, .val = FIRST + i};
    optind = 0;
    for (int at = 1; (id = getopt_long(argc, argv, "-:h", table, NULL)) != -1; at = optind) {
        int row = (id >= FIRST ? id : optopt) - FIRST;
        const struct cli_option *o = row < 0 ? NULL : &options[row];

        if (id == 1) {
            argv[++left] = optarg;
        } else if (id == 'h') {
            fputs(help, stdout);
            return -1 - CLI_OK;
        } else if (id == '?' && !o) {
            return -1 - unknown_option(argv[0], options, argv[at]);
        } else if (id == '?') {
            return -1 - cli_usage(argv[0], "%s takes no value", o->name);
        } else if (id == ':') {
            return -1 - cli_usage(argv[0], "%s needs a value", o->name);
        } else if (o->flag) {
            *o->flag = 1;
        } else if (*optarg) {
            *o->text = optarg;
        } else {
            return -1 - cli_usage(argv[0], "%s needs a value, got an empty one", o->name);
        }
    }
    while (optind < argc)
        argv[++left] = argv[optind++];
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

/* The stream of a capture. In glibc stdout is a variable, which every printing function reads. */
static struct {
    FILE *f, *before;
    char *text;
    size_t size;
} capture;

void cli_capture(void)
{
    capture.f = open_memstream(&capture.text, &capture.size);
    capture.before = stdout;
    stdout = capture.f ? capture.f : stdout;
}

char *cli_captured(void)
{
    char *text = NULL;

    stdout = capture.before;
    if (capture.f && !fclose(capture.f))
        text = capture.text;
    return text;
}

int cli_is_wide;

void cli_print_captured(void)
{
    char *whole = cli_captured();

    for (const char *text = whole; text && *text;) {
        int n = (int)strcspn(text, "\n"), indent = (int)strspn(text, " ");
        char *line =
            n > NARROW && !cli_is_wide ? strndup(text + indent, (size_t)(n - indent)) : NULL;

        if (line) {
            printf("%*s", indent, "");
            cli_wrap(stdout, line, indent, NARROW);
        } else {
            printf("%.*s\n", n, text);
        }
        free(line);
        text += n + (text[n] == '\n');
    }
    free(whole);
}

void cli_cell(struct cli_cells *c, const char *format, ...)
{
    char *text = c->text[c->n++];
    va_list args;

    va_start(args, format);
    if (vsnprintf(text, CLI_CELL, format, args) >= CLI_CELL)
        text_clean(text); /* it may be cut inside a character */
    va_end(args);
}

void cli_print_row(const struct cli_column *columns, const struct cli_cells *c)
{
    int blanks = 0; /* due before the next text */

    for (int i = 0; columns[i].title; i++) {
        int width = cli_is_wide ? columns[i].wide : columns[i].narrow;
        const char *text = c ? c->text[i] : columns[i].title;
        int rest = abs(width) - (int)strlen(text);

        if (!width)
            continue;
        rest = rest > 0 ? rest : 0;
        blanks += width > 0 ? rest : 0;
        if (*text)
            printf("%*s%s", blanks, "", text);
        blanks = (*text ? 0 : blanks) + (width < 0 ? rest : 0) + 1;
    }
    putchar('\n');
}

void cli_print_titles(const struct cli_column *columns)
{
    cli_print_row(columns, NULL);
}
