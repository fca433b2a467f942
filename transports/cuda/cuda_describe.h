/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA as this build and this machine have it, for `collshim info` and `collshim topo`. Without the
 * CUDA headers cuda_absent.c answers. These functions may load and start the driver, so an
 * application's process must not call them.
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
 * How two of them reach each other: not, over PCIe, or over NVLink. The driver does not name the
 * link. A link that carries atomic operations is taken for NVLink: PCIe between GPUs carries none.
 */
enum cuda_link { CUDA_LINK_NONE, CUDA_LINK_PCIE, CUDA_LINK_NVLINK };
enum cuda_link cuda_link_between(int a, int b);

#endif
