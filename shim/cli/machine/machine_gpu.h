/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of detection that is about GPUs. */
#ifndef COLLSHIM_SHIM_CLI_MACHINE_GPU_H
#define COLLSHIM_SHIM_CLI_MACHINE_GPU_H

#include <hwloc.h>

#include "shim/cli/machine/machine.h"

/* The package a device hangs on, -1 if it is as near to all of them. */
int machine_package_of(hwloc_topology_t topology, hwloc_obj_t device);

/* Fill m->gpu, once m->nic is complete. own: the topology is this machine's, and the driver's
   devices belong in the list even if hwloc does not show them. */
void machine_list_gpus(struct machine *m, hwloc_topology_t topology, int own);

#endif
