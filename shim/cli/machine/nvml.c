/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/machine/nvml.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shim/cli/machine/nvml_abi.h"

enum { MOST_LINKS = 32 };

static struct {
    int (*Init)(void);
    int (*DeviceGetHandleByPciBusId)(const char *, void **);
    int (*DeviceGetNvLinkState)(void *, unsigned, int *);
    int (*DeviceGetNvLinkRemotePciInfo)(void *, unsigned, struct nvml_pci *);
    int (*DeviceGetFieldValues)(void *, int, struct nvml_field *);
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
    return library && nvml.Init() == NVML_DONE;
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
        struct nvml_pci far = {0};

        if (nvml.DeviceGetNvLinkState(device, i, &active) != NVML_DONE)
            break;
        if (!active)
            continue;
        links++;
        *to_peer += nvml.DeviceGetNvLinkRemotePciInfo(device, i, &far) == NVML_DONE &&
                    same_address(far.address, peer);
    }
    return links;
}

static double speed_of(void *device)
{
    struct nvml_field f = {.id = NVML_SPEED_OF_A_LINK};

    return nvml.DeviceGetFieldValues(device, 1, &f) == NVML_DONE && f.result == NVML_DONE &&
                   f.type == NVML_UNSIGNED_INT
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
    if (!started || nvml.DeviceGetHandleByPciBusId(a, &device[0]) != NVML_DONE ||
        nvml.DeviceGetHandleByPciBusId(b, &device[1]) != NVML_DONE)
        return 0;
    int of_a = count_links(device[0], b, &direct), of_b = count_links(device[1], a, &back);
    *bytes_per_s = speed_of(device[0]);
    return direct ? direct : of_a < of_b ? of_a : of_b;
}
