/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this build and this machine have of CUDA, for `collshim info` and `collshim topo`. In every
 * build: without the CUDA headers cuda_absent.c answers. May load the driver and start it: not for
 * an application's process.
 */
#ifndef COLLSHIM_TRANSPORTS_CUDA_DESCRIBE_H
#define COLLSHIM_TRANSPORTS_CUDA_DESCRIBE_H

#include <stddef.h>

/* One or more lines without a last newline, cut at size. Returns the number of usable devices. */
int cuda_describe(char *text, size_t size);

struct cuda_device {
    char address[32]; /* PCI, with letters of either case */
    char name[128];
};

/* The devices in the driver's order, at most so many. Returns how many; 0 also without a driver. */
int cuda_list(struct cuda_device *device, int most);

/*
 * How two of them reach each other: not, over PCIe, or over NVLink. The driver does not say the
 * link's name; that the link carries atomic operations, as PCIe between GPUs does not, is what
 * tells them apart.
 */
enum cuda_link { CUDA_LINK_NONE, CUDA_LINK_PCIE, CUDA_LINK_NVLINK };
enum cuda_link cuda_link_between(int a, int b);

#endif
