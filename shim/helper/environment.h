/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a helper is given of its owner's environment. For MPI: where libraries are, and what sets
 * UCX and CUDA up; nothing of the launcher's, by which an MPI would take it for a rank, nor what
 * the user preloads into ranks, or has the driver load (profilers). For NCCL: all but that, because
 * its network plugins have variables that nobody can list, and without an MPI a launcher's are
 * harmless; but helpers make unique ids of their own, and wait for them.
 *
 * Where UCX_NET_DEVICES lists several network devices, each helper gets one of them, in turn, and
 * the second helper of every rank the same: so a rank's helpers spread over the rails, and a
 * message leaves and enters by rails of one name.
 */
#ifndef COLLSHIM_SHIM_HELPER_ENVIRONMENT_H
#define COLLSHIM_SHIM_HELPER_ENVIRONMENT_H

#include "shim/helper/mailbox.h"

/* Of that helper (0 ...), as for execve; strings are borrowed from `all`. Ends with free(). NULL if
   out of memory. */
char **environment_of(char *const *all, int helper, enum mailbox_work work);

#endif
