/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read a small file that a user named in a setting. limit: most bytes it may hold. Returns 0,
 * *text_p (ended by a 0 that *size_p does not count; the caller frees) and *size_p. Or returns a
 * negative errno code with the reason in *why, a constant text such as "no such file" that fits
 * behind "PATH: ". On error the out-parameters but why are untouched. Only a regular file is read,
 * so that a pipe or a terminal can never stop the job.
 */
#ifndef COLLSHIM_CONFIG_READ_FILE_H
#define COLLSHIM_CONFIG_READ_FILE_H

#include <stddef.h>

int config_read_file(const char *path, size_t limit, char **text_p, size_t *size_p,
                     const char **why);

#endif
