/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine of eight cores, as far as a process is told, which may have fewer. Where it then binds
 * itself is written to the file CORES_LOG, a line "PID FIRST-LAST" each time. Preloaded by tests.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

static unsigned cores = 0xff; /* a bit each */

SEEN int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    (void)pid;
    CPU_ZERO_S(size, set);
    for (unsigned i = 0; i < 8 * sizeof cores; i++)
        if (cores >> i & 1)
            CPU_SET_S(i, size, set);
    return 0;
}

SEEN int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    const char *log = getenv("CORES_LOG");
    int fd = log ? open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    char line[64];

    (void)pid;
    cores = 0;
    for (unsigned i = 0; i < 8 * sizeof cores; i++)
        if (CPU_ISSET_S(i, size, set))
            cores |= 1u << i;
    if (fd < 0 || !cores)
        return 0;
    int n = snprintf(line, sizeof line, "%d %d-%d\n", (int)getpid(), __builtin_ctz(cores),
                     31 - __builtin_clz(cores));
    n = write(fd, line, (size_t)n) == n;
    close(fd);
    return n ? 0 : -1;
}
