/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NVML's binary interface is stable, and not much of it is needed: the few declarations below stand
 * for its header, which many CUDA installations lack.
 */
#include "shim/cli/nvml.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SUCCESS = 0, MOST_LINKS = 32, SPEED_OF_A_LINK = 90, UNSIGNED_INT = 1 };

struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32];
};

struct field {
    unsigned id, scope;
    long long at, took;
    int type, result;
    union {
        unsigned number;
        double widest;
    } value;
};

static struct {
    int (*Init)(void);
    int (*DeviceGetHandleByPciBusId)(const char *, void **);
    int (*DeviceGetNvLinkState)(void *, unsigned, int *);
    int (*DeviceGetNvLinkRemotePciInfo)(void *, unsigned, struct pci *);
    int (*DeviceGetFieldValues)(void *, int, struct field *);
} nvml;

/* Returns 1 if the library is there and has started. */
static int start(void)
{
    static const struct {
        const char *name;
        void *to;
    } rows[] = {{"nvmlInit_v2", &nvml.Init},
                {"nvmlDeviceGetHandleByPciBusId_v2", &nvml.DeviceGetHandleByPciBusId},
                {"nvmlDeviceGetNvLinkState", &nvml.DeviceGetNvLinkState},
                {"nvmlDeviceGetNvLinkRemotePciInfo_v2", &nvml.DeviceGetNvLinkRemotePciInfo},
                {"nvmlDeviceGetFieldValues", &nvml.DeviceGetFieldValues}};
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);

    for (size_t i = 0; library && i < sizeof rows / sizeof *rows; i++) {
        void *symbol = dlsym(library, rows[i].name);

        if (!symbol)
            return 0;
        memcpy(rows[i].to, &symbol, sizeof symbol);
    }
    return library && nvml.Init() == SUCCESS;
}

/* PCI addresses have domains of four digits or of eight, and letters of either case. */
static int same_address(const char *a, const char *b)
{
    const char *in_a = strchr(a, ':'), *in_b = strchr(b, ':');

    return in_a && in_b && strtoul(a, NULL, 16) == strtoul(b, NULL, 16) && !strcasecmp(in_a, in_b);
}

/* The device's links that work; *to_peer: those of them that end there. */
static int count_links(void *device, const char *peer, int *to_peer)
{
    int links = 0, active;

    *to_peer = 0;
    for (unsigned i = 0; i < MOST_LINKS; i++) {
        struct pci far = {0};

        if (nvml.DeviceGetNvLinkState(device, i, &active) != SUCCESS)
            break;
        if (!active)
            continue;
        links++;
        *to_peer += nvml.DeviceGetNvLinkRemotePciInfo(device, i, &far) == SUCCESS &&
                    same_address(far.address, peer);
    }
    return links;
}

static double speed_of(void *device)
{
    struct field f = {.id = SPEED_OF_A_LINK};

    return nvml.DeviceGetFieldValues(device, 1, &f) == SUCCESS && f.result == SUCCESS &&
                   f.type == UNSIGNED_INT
               ? f.value.number * 1e6
               : 0;
}

int nvml_links(const char *a, const char *b, double *bytes_per_s)
{
    static int started = -1;
    void *device[2];
    int direct, back;

    if (started < 0)
        started = start();
    if (!started || nvml.DeviceGetHandleByPciBusId(a, &device[0]) != SUCCESS ||
        nvml.DeviceGetHandleByPciBusId(b, &device[1]) != SUCCESS)
        return 0;
    int of_a = count_links(device[0], b, &direct), of_b = count_links(device[1], a, &back);
    *bytes_per_s = speed_of(device[0]);
    return direct ? direct : of_a < of_b ? of_a : of_b;
}
