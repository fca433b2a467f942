/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory without a name that processes of one host share. One process makes a file (memfd); the
 * others open it through that process's /proc entry, which only the same user can. A crash at any
 * time leaves nothing behind.
 */
#ifndef COLLSHIM_TRANSPORTS_SHM_FILE_H
#define COLLSHIM_TRANSPORTS_SHM_FILE_H

#include <stddef.h>

/* A file, empty so far. Returns a descriptor (the caller closes it once all have opened it) or
   -errno. */
int shm_file_make(void);

/* Give it that many bytes for good. Returns 0 or -errno. */
int shm_file_size(int fd, size_t bytes);

/* Open the file of process pid's descriptor fd. Returns a descriptor of this process's own, or
   -errno: -ESTALE if it is no such file of that many bytes. */
int shm_file_open(int pid, int fd, size_t bytes);

/* Map it, not for forked children. Returns 0 or -errno. */
int shm_file_map(int fd, size_t bytes, char **at_p);

#endif
