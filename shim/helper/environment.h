/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of its owner's environment that a helper gets. For MPI it gets the paths of libraries,
 * and the variables of UCX and CUDA. It gets none of the launcher's variables: with them an MPI
 * would take it for a rank. It gets no libraries that the user preloads into ranks, or has the
 * driver load (profilers). For NCCL it gets all but these libraries, because NCCL's network plugins
 * have variables that no list covers. Without an MPI a launcher's variables are harmless. Helpers
 * make unique ids of their own, and wait for them.
 *
 * If UCX_NET_DEVICES lists several network devices, each helper gets one of them, in turn. The
 * second helpers of all ranks get the same. So a rank's helpers spread over the rails, and a
 * message leaves and enters by rails of one name.
 */
#ifndef COLLSHIM_SHIM_HELPER_ENVIRONMENT_H
#define COLLSHIM_SHIM_HELPER_ENVIRONMENT_H

#include "shim/helper/mailbox.h"

/* The environment of that helper (0 ...), as for execve; strings are borrowed from `all`. Ends with
   free(). NULL if out of memory. */
char **environment_of(char *const *all, int helper, enum mailbox_work work);

#endif
