/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device of ordinary memory, for tests. Each job is carried out at some moment between its start
 * and the report that it is done, in the order that device.h promises and no other.
 */
#ifndef COLLSHIM_TEST_UNIT_LATE_DEVICE_H
#define COLLSHIM_TEST_UNIT_LATE_DEVICE_H

#include <stdint.h>

#include "transports/base/device.h"
#include "transports/base/xport.h"

struct late_device;

/* holds: [n][2] the ranges of device memory, from and to; borrowed. fail_at: the start of so
   many-th a job fails, from 1; 0: none. */
struct late_device *late_device_open(const unsigned char *(*holds)[2], int n, xport_combine combine,
                                     void *context, uint64_t seed, int fail_at, struct device *d);
int late_device_failed(const struct late_device *l);
/* Asserts that nothing is under way. */
void late_device_close(struct late_device *l);

#endif
