/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated NVML, for tests: NVMLSIM="1=2,2,c0 2=1,1" gives the GPU on PCI bus 1 two links to the
 * one on bus 2, and one to a switch on bus c0; `-` is a link that is down. Each carries 25 GB/s.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID = 2, NOT_FOUND = 6, NO_DRIVER = 9 };

struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32];
};

struct field {
    unsigned id, scope;
    long long at, took;
    int type, result;
    unsigned value, rest;
};

/* Of that handle, a place in NVMLSIM: the bus behind link number n. Returns 0, or -1: no such link.
 *bus < 0: it is down. */
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
    return getenv("NVMLSIM") ? SUCCESS : NO_DRIVER;
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
    return at ? SUCCESS : NOT_FOUND;
}

EXPORT int nvmlDeviceGetNvLinkState(void *device, unsigned n, int *active);
EXPORT int nvmlDeviceGetNvLinkState(void *device, unsigned n, int *active)
{
    long bus;

    if (link_of(device, n, &bus) < 0)
        return INVALID;
    *active = bus >= 0;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned n, struct pci *pci);
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned n, struct pci *pci)
{
    long bus;

    if (link_of(device, n, &bus) < 0 || bus < 0)
        return INVALID;
    snprintf(pci->address, sizeof pci->address, "%08X:%02lX:00.0", 0, bus);
    return SUCCESS;
}

EXPORT int nvmlDeviceGetFieldValues(void *device, int n, struct field *f);
EXPORT int nvmlDeviceGetFieldValues(void *device, int n, struct field *f)
{
    enum { SPEED_OF_A_LINK = 90, UNSIGNED_INT = 1 };

    if (!device || n != 1 || f->id != SPEED_OF_A_LINK)
        return INVALID;
    f->type = UNSIGNED_INT;
    f->result = SUCCESS;
    f->value = 25000;
    return SUCCESS;
}
