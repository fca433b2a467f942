/* SPDX-License-Identifier: BSD-3-Clause */
/* The path of libcollshim.so, as seen from this command: beside it, or in the lib of its
   installation. */
#ifndef COLLSHIM_SHIM_CLI_PRELOAD_PATH_H
#define COLLSHIM_SHIM_CLI_PRELOAD_PATH_H

#include <limits.h>

/* The places, relative to the command's folder, in order; ends with NULL. */
extern const char *const preload_places[];

/* The folder of this command. Returns 0 if the system does not tell. */
int preload_command_folder(char folder[PATH_MAX]);

/* The preload's absolute path, without links. Returns 0 if it is in none of the places. */
int preload_path(char path[PATH_MAX]);

#endif
