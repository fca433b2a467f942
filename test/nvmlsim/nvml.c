/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated NVML, for tests: NVMLSIM="1=2,2,c0 2=1,1" gives the GPU on PCI bus 1 two links to the
 * one on bus 2, and one to a switch on bus c0; `-` is a link that is down. Each carries 25 GB/s.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/cli/machine/nvml_abi.h"

#define EXPORT __attribute__((visibility("default")))

enum { INVALID = 2, NOT_FOUND = 6, NO_DRIVER = 9 };

/* For that handle, a place in NVMLSIM: the bus behind link number n. Returns 0, or -1: no such
   link. *bus < 0: it is down. */
static int link_of(const char *at, unsigned n, long *bus)
{
    at = strchr(at, '=');
    while (at && n--)
        at = strpbrk(at + 1, ", ") && *strpbrk(at + 1, ", ") == ',' ? strpbrk(at + 1, ", ") : NULL;
    if (!at)
        return -1;
    *bus = at[1] == '-' ? -1 : strtol(at + 1, NULL, 16);
    return 0;
}

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInit_v2(void)
{
    return getenv("NVMLSIM") ? NVML_DONE : NO_DRIVER;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device)
{
    unsigned domain, bus;
    char key[16], *at = getenv("NVMLSIM");

    if (sscanf(address, "%x:%x:", &domain, &bus) != 2)
        return INVALID;
    snprintf(key, sizeof key, "%x=", bus);
    while (at && strncmp(at, key, strlen(key)) != 0)
        at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL;
    *device = at;
    return at ? NVML_DONE : NOT_FOUND;
}

EXPORT int nvmlDeviceGetNvLinkState(void *device, unsigned n, int *active);
EXPORT int nvmlDeviceGetNvLinkState(void *device, unsigned n, int *active)
{
    long bus;

    if (link_of(device, n, &bus) < 0)
        return INVALID;
    *active = bus >= 0;
    return NVML_DONE;
}

EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned n, struct nvml_pci *pci);
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned n, struct nvml_pci *pci)
{
    long bus;

    if (link_of(device, n, &bus) < 0 || bus < 0)
        return INVALID;
    snprintf(pci->address, sizeof pci->address, "%08X:%02lX:00.0", 0, bus);
    return NVML_DONE;
}

EXPORT int nvmlDeviceGetFieldValues(void *device, int n, struct nvml_field *f);
EXPORT int nvmlDeviceGetFieldValues(void *device, int n, struct nvml_field *f)
{
    if (!device || n != 1 || f->id != NVML_SPEED_OF_A_LINK)
        return INVALID;
    f->type = NVML_UNSIGNED_INT;
    f->result = NVML_DONE;
    f->value.number = 25000;
    return NVML_DONE;
}
