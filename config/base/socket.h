/* SPDX-License-Identifier: BSD-3-Clause */
/* On which socket this process runs, for the topology. */
#ifndef COLLSHIM_CONFIG_SOCKET_H
#define COLLSHIM_CONFIG_SOCKET_H

#include <sched.h>

/*
 * The socket that all of those processors belong to, as the kernel numbers them. -1: they are on
 * several, or it is unknown. sysfs: the kernel's description of its processors,
 * "/sys/devices/system/cpu". No MPI.
 */
int socket_of(const cpu_set_t *cpus, const char *sysfs);

/* The same for the processors that this process may use now: a rank that is not bound has none. */
int socket_here(void);

#endif
