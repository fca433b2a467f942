/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a helper runs once it has a device: on those of its owner's cores that the system counts as
 * the device's own, because host memory on the other side of a machine is further from both.
 */
#ifndef COLLSHIM_SHIM_HELPER_NEAR_H
#define COLLSHIM_SHIM_HELPER_NEAR_H

#include <sched.h>

/*
 * From now on this thread, and those that it starts, run on the cores of a PCI device
 * ("0000:3B:00.0") among those that it may use, if they are at least so many: to share fewer costs
 * more than their distance.
 */
void near_device(const char *bus_id, int least);

#endif
