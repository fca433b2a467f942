/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cores of a thread that works for a device: those of its cores that the system counts as the
 * device's own. Host memory on the other side of a machine is further from both.
 */
#ifndef COLLSHIM_CONFIG_NEAR_H
#define COLLSHIM_CONFIG_NEAR_H

#include <sched.h>

/*
 * From now on this thread, and those that it starts, run on the cores of a PCI device
 * ("0000:3B:00.0"), among those that it may use. Not if these are fewer than the given number:
 * sharing fewer cores costs more than their distance.
 */
void near_device(const char *bus_id, int least);

#endif
