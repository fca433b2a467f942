/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store that users share: COLLSHIM_STORE names a folder, in which each user has a file, UID.store
 * (store.h). No user replaces another user's file, so the folder may be sticky. A job begins with
 * the rows of all. Rejected: one file for all, because the umask of its last writer shuts others
 * out. Thread rule: the caller's.
 */
#ifndef COLLSHIM_SHIM_DECIDE_STORE_FOLDER_H
#define COLLSHIM_SHIM_DECIDE_STORE_FOLDER_H

#include "shim/decide/store/store_rows.h"

enum { STORE_USERS = 256, STORE_PATH = 4096 + 32 };

/* The file to write: path itself, or this user's in that folder. Returns own or path. */
const char *store_folder_own(const char *path, char own[STORE_PATH]);

/* As store_rows_read; of a folder the rows of at most STORE_USERS users, the same in any order of
   its files. A file that is not of the user it names is left out, and so is one that is no store,
   without a line unless it is this user's. */
int store_folder_read(const char *path, struct store_rows *rows);

#endif
