/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write a small file that a user named in a setting, in the user's job: it never waits, never kills
 * the process and never leaves half a file.
 *
 * print: prints the content to a stream in memory; called once, before any file is touched. A new
 * file gets the permissions of any program's output, 0666 less the umask. A regular file is
 * replaced whole, with its permissions, if it could have been written to. All other files are
 * refused, and so is a symbolic link as the last part of the path. Three devices are allowed.
 * /dev/null takes everything. /dev/stdout and /dev/stderr are the process's own descriptors 1 and
 * 2, which get the bytes that they take within a second.
 *
 * Returns 0, or a negative errno code with the reason in *why, a text such as "a FIFO, not a
 * regular file", constant, that fits behind "PATH: ". Then the file is as before, or not there. Any
 * thread may call it; the content reaches the kernel, not the disk (no fsync).
 */
#ifndef COLLSHIM_CONFIG_WRITE_FILE_H
#define COLLSHIM_CONFIG_WRITE_FILE_H

#include <stdio.h>

int config_write_file(const char *path, void (*print)(FILE *f), const char **why);

/* The same for a text and a name in an open directory (O_PATH will do), which has no slash. */
int config_write_at(int dir, const char *name, const char *text, size_t size, const char **why);

/* An errno code in words. Constant. */
const char *config_write_reason(int code);

/* Is the path one of the three devices? Then nothing can be put behind its name. */
int config_write_is_device(const char *path);

#endif
