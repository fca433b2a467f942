/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions shared by the subcommands of `collshim`. A subcommand is one file with one function and
 * one row in main.c. It prints its result on stdout and every complaint, one line, on stderr;
 * main.c checks that stdout could be written.
 */
#ifndef COLLSHIM_SHIM_CLI_CLI_H
#define COLLSHIM_SHIM_CLI_CLI_H

#include <stdio.h>

#ifndef COLLSHIM_VERSION
#define COLLSHIM_VERSION "of no version" /* the Makefile knows the version */
#endif

enum cli_exit { CLI_OK = 0, CLI_FAILURE = 1, CLI_USAGE = 2, CLI_LOSS = 3 };

/* The subcommands. argv[0] is the subcommand's name. Return an enum cli_exit. */
int cli_info(int argc, char **argv);
int cli_topo(int argc, char **argv);
int cli_rates(int argc, char **argv);
int cli_plan(int argc, char **argv);
int cli_sim(int argc, char **argv);
int cli_search(int argc, char **argv); /* or 130, interrupted */
int cli_report(int argc, char **argv);
int cli_exec(int argc, char **argv); /* does not return once the command runs */
int cli_gate(int argc, char **argv);
int cli_site(int argc, char **argv);
int cli_top(int argc, char **argv);
int cli_stuck(int argc, char **argv);

/* Strings that come from files and other processes, also names of files, are printed by functions
   of config/base/text.h. Those that print messages see to that themselves. */

/* Print "collshim: <message>" on stderr. Returns CLI_FAILURE. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print "collshim COMMAND: <message>; see `collshim COMMAND --help`". Returns CLI_USAGE. */
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One option: sets *flag to 1, or *text to its value (borrowed from argv), as `--name VALUE` or
   `--name=VALUE`. Exactly one of the two is not NULL. A table ends with a row without a name. */
struct cli_option {
    const char *name; /* "--json" */
    int *flag;
    const char **text;
};

/*
 * Take the options out of argv, wherever they stand; "--" ends them. --help (-h) prints help. A
 * name may be abbreviated if it fits one option, as in getopt_long; a table has at most 32 rows.
 * Returns how many arguments are left, as argv[1] and on. If nothing is left to do, returns -1 -
 * code, where code is the subcommand's result (CLI_OK after --help).
 */
int cli_options(int argc, char **argv, const struct cli_option *options, const char *help);

/* Columns of the terminal (COLUMNS wins), 100 where there is none. */
int cli_width(void);

/* Print text, breaking lines at blanks before `width`; it begins in column `column` and goes on
   there, and ends with a newline. */
void cli_wrap(FILE *f, const char *text, int column, int width);

/* Between the two, what is printed on stdout goes into a text instead, which the caller frees.
   NULL: no memory; then it has been printed. */
void cli_capture(void);
char *cli_captured(void);

/* Print the text: without --wide, lines of more than 80 bytes are broken at blanks, as deep as they
   begin. */
void cli_print_captured(void);

/*
 * A table: columns, and a row's cells as texts. Widths are for 80 columns and for --wide; 0: left
 * out; below 0: aligned left. Columns end with one without a title.
 */
extern int cli_is_wide; /* --wide was given */
enum { CLI_CELLS = 13, CLI_CELL = 160 };
struct cli_column {
    const char *title;
    int narrow, wide;
};
struct cli_cells {
    int n;
    char text[CLI_CELLS][CLI_CELL];
};
void cli_cell(struct cli_cells *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_print_row(const struct cli_column *columns, const struct cli_cells *c);
void cli_print_titles(const struct cli_column *columns);

/* "1 rank", "2 ranks": the ending of a counted noun. */
static inline const char *cli_s(long long n)
{
    return n == 1 ? "" : "s";
}

#endif
