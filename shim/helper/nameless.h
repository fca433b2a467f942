/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory of a helper's that no SIGKILL can leave behind.
 *
 * UCX makes segments by name, fills them, and takes the name away, some milliseconds later; a
 * process that is killed in between leaves megabytes in /dev/shm for good. A program's own
 * functions come before the C library's in the eyes of all libraries that it loads, so the helper
 * has an shm_open of its own: a file that never had a name. UCX's processes open each other's by
 * /proc anyway. A segment of System V is marked to go with its last user as it is made, which Linux
 * allows before others attach it; two system calls remain between which nobody owns it, and none of
 * its pages is there yet.
 */
#ifndef COLLSHIM_SHIM_HELPER_NAMELESS_H
#define COLLSHIM_SHIM_HELPER_NAMELESS_H

/* From here on, in this process, for UCX alone: what else makes shared memory may need its name.
   Before UCX is opened. */
void nameless_begin(void);

#endif
