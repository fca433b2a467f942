/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The spool: a directory to which the jobs of many users add a report each. COLLSHIM_REPORT names
 * it. Each user has a directory in it, named by the user's number, which no other user can write
 * to. Its group may read it if the spool has the set-group-id bit. So no name that others can guess
 * is ever opened, and each user's oldest reports make room for new ones. Where another user has
 * made that directory first, a job makes one of an unguessable name, for itself.
 *
 * Thread rule: one thread.
 */
#ifndef COLLSHIM_SHIM_RECORD_SPOOL_H
#define COLLSHIM_SHIM_RECORD_SPOOL_H

#include <stdio.h>

/* Limits of one user: files, and bytes of all of them. */
struct spool_caps {
    int files;
    long long bytes;
};
static const struct spool_caps spool_caps = {1000, 64 << 20};

/* Write this job's report, instead of one that it has written before. Returns 0, or a negative
   errno code with the reason in *why, as config_write_file. */
int spool_write(const char *directory, const struct spool_caps *caps, void (*print)(FILE *f),
                const char **why);

/* Is the report being printed one for the spool? Then it is short. */
extern int spool_is_printing;

#endif
