/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures, by gnuplot as a process: no library for them is linked. */
#ifndef COLLSHIM_SHIM_CLI_GNUPLOT_H
#define COLLSHIM_SHIM_CLI_GNUPLOT_H

#include <stdio.h>

/* Its input; NULL: it is not there, which has been said. */
FILE *gnuplot_open(void);

/* Terminal and output: a picture named .svg, else PNG. */
void gnuplot_output(FILE *f, const char *picture, int width, int height);

/* Any text between double quotes. */
void gnuplot_text(FILE *f, char *text);

/* Returns CLI_OK, or CLI_FAILURE, which has been said. */
int gnuplot_close(FILE *f, const char *picture);

#endif
