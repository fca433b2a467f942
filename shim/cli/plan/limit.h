/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a command may compute: a line of text does not tell the time of planning, proof and
 * prediction. At the limit the command ends with one line on stderr and CLI_FAILURE.
 */
#ifndef COLLSHIM_SHIM_CLI_LIMIT_H
#define COLLSHIM_SHIM_CLI_LIMIT_H

#define CLI_LIMIT_HELP                                                                             \
    "  --limit SECONDS   of computing at most (default: 15; 0: as long as it takes)\n"

/* Read --limit's text (NULL: not given) and begin to count. Returns an enum cli_exit, and has said
   what is wrong. Once per process: a signal does it (SIGPROF). */
int cli_limit(const char *command, const char *seconds);

/* An alternative for that line: "fewer ranks than 4096". Until then it names --limit alone. */
void cli_limit_advice(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
