/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank's own helpers among the processes of the machine. It knows them by a variable that it sets
 * for them: they are given those of UCX.
 */
#ifndef COLLSHIM_TEST_MPI_OWN_HELPER_H
#define COLLSHIM_TEST_MPI_OWN_HELPER_H

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "test/mpi/harness.h"

#define HELPER_MARK "UCX_COLLSHIM_TEST"
static int owner; /* this rank, also in its children */

/* Before MPI_Init. */
static void mark_helpers(void)
{
    char text[32];

    owner = getpid();
    snprintf(text, sizeof text, "%d.", owner);
    setenv(HELPER_MARK, text, 1);
}

static int is_own_helper(int pid)
{
    char path[64], text[16384], wanted[64];
    FILE *f;
    size_t n = 0;

    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    f = fopen(path, "r");
    if (!f || !fgets(text, sizeof text, f) || strcmp(text, "collshim-helper\n") != 0) {
        if (f)
            fclose(f);
        return 0;
    }
    fclose(f);
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    snprintf(wanted, sizeof wanted, HELPER_MARK "=%d.", owner);
    f = fopen(path, "r");
    if (f) {
        n = fread(text, 1, sizeof text, f);
        fclose(f);
    }
    return memmem(text, n, wanted, strlen(wanted)) != NULL;
}

/* One of this rank's helpers, or -1. */
static int find_helper(void)
{
    DIR *d = opendir("/proc");
    struct dirent *e;
    int found = -1;

    while (d && found < 0 && (e = readdir(d)))
        if (atoi(e->d_name) > 0 && is_own_helper(atoi(e->d_name)))
            found = atoi(e->d_name);
    if (d)
        closedir(d);
    return found;
}

static void signal_a_helper(int number)
{
    int pid = find_helper();

    if (pid < 0)
        fail("rank %d has no helper", world_rank);
    else
        kill(pid, number);
}

static inline void kill_a_helper(void)
{
    signal_a_helper(SIGKILL);
}

#endif
