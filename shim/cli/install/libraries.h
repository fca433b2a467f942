/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which libraries of the project are installed with this command: the preload
 * and the backends beside it.
 */
#ifndef COLLSHIM_SHIM_CLI_LIBRARIES_H
#define COLLSHIM_SHIM_CLI_LIBRARIES_H

#include <limits.h>

#define LIBRARIES_MOST 16 /* there are three MPI families */

struct libraries {
    char directory[PATH_MAX]; /* where they are; "" if nothing was found */
    char searched[PATH_MAX];  /* the directory of this command */
    int has_preload;          /* libcollshim.so is there */
    int n;                    /* backends, ordered by family */
    struct library {
        char family[32];     /* "openmpi", from libcollshim-openmpi.so */
        char built_for[128]; /* "Open MPI 4.1.4"; "" if the file does not say */
    } backend[LIBRARIES_MOST];
};

/* Look beside this command and in ../lib. Never fails: what is not there is not listed. */
void libraries_find(struct libraries *l);

#endif
