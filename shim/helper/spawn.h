/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starting a process that the application does not notice. It is no child of the application:
 * wait() does not see it and no SIGCHLD comes. It inherits only the descriptors meant for it, and
 * has its own environment.
 */
#ifndef COLLSHIM_SHIM_HELPER_SPAWN_H
#define COLLSHIM_SHIM_HELPER_SPAWN_H

/*
 * Run path with the descriptors fd[0 .. nfds) as 3, 4, ...; every other one that it inherits it
 * closes itself. arguments, environment: as for execve. All signals are blocked in it. Thread-safe;
 * no memory is copied, however large the process. Returns 0 or -errno.
 */
int spawn_apart(const char *path, char *const arguments[], char *const environment[], const int *fd,
                int nfds);

#endif
