/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of a report or a site's sums as CSV (RFC 4180), one at a time. Columns are the keys of
 * the JSON: a.b for a member of a member, and JSON for a list. A text that a spreadsheet would take
 * for a formula gets an apostrophe in front.
 */
#ifndef COLLSHIM_SHIM_CLI_CSV_H
#define COLLSHIM_SHIM_CLI_CSV_H

#include <jansson.h>

/* list: where it is, as "nccl/choices". inner: a list in each of its rows, or NULL; its rows begin
   with the texts of the row. An object stands for rows of a key and a value. */
struct csv_table {
    const char *name, *list, *inner;
};

/* Print the table of that name, of tables that end with a row without one. A report without it
   prints nothing. Returns an enum cli_exit: CLI_USAGE, with a message, if there is no such table.
 */
int csv_print(const char *command, const struct csv_table *tables, const char *name, json_t *root);

#endif
