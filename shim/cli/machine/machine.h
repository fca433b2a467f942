/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This machine, as hwloc and sysfs describe it: packages, network devices, GPUs. Virtual devices
 * have invented speeds, which are "not known" here.
 */
#ifndef COLLSHIM_SHIM_CLI_MACHINE_H
#define COLLSHIM_SHIM_CLI_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "config/topo/topo.h"
#include "transports/cuda/cuda_describe.h"

#define MACHINE_MOST 256 /* devices of one kind; more are not listed */

struct machine_package {
    int cores, pus;
    uint64_t memory_bytes; /* of its NUMA nodes; 0: not known */
};

enum machine_nic_kind { NIC_RDMA, NIC_PHYSICAL, NIC_VIRTUAL, NIC_LOCAL };

struct machine_nic {
    char name[64];
    enum machine_nic_kind kind;
    int package; /* the nearest one, -1: none is nearer */
    int is_up;
    double bw_bytes_per_s; /* 0: not known */
    const char *no_rail;   /* constant text: why it does not count as a rail, or NULL */
};

struct machine_gpu {
    char address[32]; /* PCI */
    char name[128];
    int package;                       /* as above */
    int numa;                          /* its NUMA node's number, -1: none is nearer */
    int cuda;                          /* the driver's number for it, -1: the driver has it not */
    unsigned char near[MACHINE_MOST];  /* is that network device one of the nearest rails? */
    enum cuda_link peer[MACHINE_MOST]; /* the way to that GPU, as far as the driver says */
    unsigned char links[MACHINE_MOST]; /* NVLinks to it; 0: unknown */
    double link_bytes_per_s;           /* of each of them and each way; 0: unknown */
};

struct machine {
    int npackages, nnics, ngpus;
    struct machine_package package[MACHINE_MOST];
    struct machine_nic nic[MACHINE_MOST];
    struct machine_gpu gpu[MACHINE_MOST];
};

const char *machine_nic_kind_name(enum machine_nic_kind kind);

/*
 * One node of the machine as a topology. It has a rank per GPU, or per core if there are no GPUs,
 * and a rail per network device that counts as one. Returns as topo_from_reports does.
 */
int machine_topo(const struct machine *m, struct topo **topo_p);

#endif
