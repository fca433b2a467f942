/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The few declarations of NVML that are needed, for many CUDA installations lack its header. Its
 * binary interface is stable: what a function changes, it gets a new name for.
 */
#ifndef COLLSHIM_SHIM_CLI_NVML_ABI_H
#define COLLSHIM_SHIM_CLI_NVML_ABI_H

enum { NVML_DONE = 0, NVML_SPEED_OF_A_LINK = 90 /* MB/s */, NVML_UNSIGNED_INT = 1 };

struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32];
};

struct nvml_field {
    unsigned id, scope;
    long long at, took;
    int type, result;
    union {
        unsigned number;
        double widest;
    } value;
};

#endif
