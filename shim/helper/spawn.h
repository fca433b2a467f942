/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starting a process that the application does not notice: it is no child of it (wait() does not
 * see it and no SIGCHLD comes), inherits none of its descriptors but those it is meant to, and has
 * an environment of its own.
 */
#ifndef COLLSHIM_SHIM_HELPER_SPAWN_H
#define COLLSHIM_SHIM_HELPER_SPAWN_H

/*
 * Run path with the descriptors fd[0 .. nfds) as 3, 4, ...; every other one that it inherits it
 * closes itself. environment: as for execve. All signals are blocked in it. Thread-safe; no memory
 * is copied, however large the process. Returns 0 or -errno.
 */
int spawn_apart(const char *path, char *const environment[], const int *fd, int nfds);

#endif
