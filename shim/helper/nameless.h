/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory of a helper that leaves nothing behind after SIGKILL.
 *
 * UCX makes segments by name, fills them, and takes the name away, some milliseconds later; a
 * process that is killed in between leaves megabytes in /dev/shm for good. All libraries of a
 * program use the program's own functions before the C library's. So the helper has its own
 * shm_open, which makes a file without a name. UCX's processes open each other's by /proc anyway. A
 * segment of System V is marked for removal with its last user as it is made, which Linux allows
 * before others attach it. A SIGKILL between these two system calls leaves it behind: empty, as
 * none of its pages exists yet. By itself a helper asks UCX for no transport over System V
 * (mpi_work.c). Segments of a page remain, with which UCX tries its hooks.
 */
#ifndef COLLSHIM_SHIM_HELPER_NAMELESS_H
#define COLLSHIM_SHIM_HELPER_NAMELESS_H

/* From here on, in this process, for UCX alone: what else makes shared memory may need its name.
   Before UCX is opened. */
void nameless_begin(void);

#endif
