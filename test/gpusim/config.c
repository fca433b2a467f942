/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPUSIM="devices=2 seed=7 peer=400 nopeer=0-1 fail=MemAlloc:3": words of key=value. A word that
 * is not understood stops everything: a test must not run on a machine other than it asked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/gpusim/sim.h"

/* One H200, and PCIe 5 to it, unless told otherwise. */
struct sim_config sim_config = {
    .devices = 2,
    .sm = 90,
    .hbm = 4000,
    .peer = 400,
    .h2d = 55,
    .d2h = 55,
    .fail = {.call = -1},
    .drop = {.call = -1},
    .memory = (uint64_t)80 << 30,
};

static int read_rate(const char *value, double *rate)
{
    char *end;

    *rate = strtod(value, &end);
    return *end == '\0' && *rate > 0 ? 0 : -1;
}

static int read_pair(const char *value, unsigned char of[SIM_DEVICES][SIM_DEVICES])
{
    int a, b;
    char rest;

    if (sscanf(value, "%d-%d%c", &a, &b, &rest) != 2 || a < 0 || b < 0 || a >= SIM_DEVICES ||
        b >= SIM_DEVICES)
        return -1;
    of[a][b] = of[b][a] = 1;
    return 0;
}

/* The PCI bus of each device, 1-2-21. */
static int read_buses(const char *value)
{
    int n = 0;

    for (char *end; n < SIM_DEVICES; value = end + 1) {
        sim_config.bus[n++] = (int)strtoul(value, &end, 16);
        if (end == value || (*end && *end != '-'))
            return -1;
        if (!*end)
            return 0;
    }
    return -1;
}

/* CALL:N or CALL:N:CODE */
static int read_fail(const char *value)
{
    size_t name = strcspn(value, ":");
    int code = CUDA_ERROR_OPERATING_SYSTEM;

    sim_config.fail.call = sim_call_find(value, name);
    if (sim_config.fail.call < 0 ||
        sscanf(value + name, ":%ld:%d", &sim_config.fail.nth, &code) < 1)
        return -1;
    sim_config.fail.code = (CUresult)code;
    return 0;
}

/* CALL:N */
static int read_lose(const char *value)
{
    if (strchr(value, ':') != strrchr(value, ':') || read_fail(value) < 0)
        return -1;
    sim_config.loses = 1;
    sim_config.fail.code = SIM_LOST;
    return 0;
}

/* CALL:N/M, each Nth of M calls; what ordering would be lost with it is lost */
static int read_drop(const char *value)
{
    static const int droppable[] = {SIM_StreamWaitEvent, SIM_EventRecord, SIM_EventQuery,
                                    SIM_StreamSynchronize};
    size_t name = strcspn(value, ":");

    sim_config.drop.call = sim_call_find(value, name);
    for (size_t i = 0; i < sizeof droppable / sizeof *droppable; i++)
        if (sim_config.drop.call == droppable[i])
            return sscanf(value + name, ":%ld/%ld", &sim_config.drop.nth, &sim_config.drop.of) ==
                               2 &&
                           sim_config.drop.of > 0
                       ? 0
                       : -1;
    return -1;
}

static int read_word(const char *key, const char *value)
{
    if (!strcmp(key, "devices")) {
        sim_config.devices = atoi(value);
        return sim_config.devices >= 0 && sim_config.devices <= SIM_DEVICES ? 0 : -1;
    }
    if (!strcmp(key, "mps")) {
        sim_config.mps = atoi(value);
        return 0;
    }
    if (!strcmp(key, "sm")) {
        sim_config.sm = atoi(value);
        return sim_config.sm >= 50 ? 0 : -1;
    }
    if (!strcmp(key, "seed")) {
        sim_config.seed = strtoull(value, NULL, 0);
        return 0;
    }
    if (!strcmp(key, "memory")) { /* MiB */
        sim_config.memory = strtoull(value, NULL, 0) << 20;
        return sim_config.memory ? 0 : -1;
    }
    if (!strcmp(key, "clock")) {
        sim_config.real_clock = !strcmp(value, "real");
        return sim_config.real_clock ? 0 : -1;
    }
    if (!strcmp(key, "share"))
        return snprintf(sim_config.share, sizeof sim_config.share, "%s", value) <
                       (int)sizeof sim_config.share
                   ? 0
                   : -1;
    if (!strcmp(key, "nopeer"))
        return read_pair(value, sim_config.no_peer);
    if (!strcmp(key, "pcie"))
        return read_pair(value, sim_config.over_pcie);
    if (!strcmp(key, "bus"))
        return read_buses(value);
    if (!strcmp(key, "fail"))
        return read_fail(value);
    if (!strcmp(key, "lose"))
        return read_lose(value);
    if (!strcmp(key, "drop"))
        return read_drop(value);
    if (!strcmp(key, "hbm"))
        return read_rate(value, &sim_config.hbm);
    if (!strcmp(key, "peer"))
        return read_rate(value, &sim_config.peer);
    if (!strcmp(key, "h2d"))
        return read_rate(value, &sim_config.h2d);
    if (!strcmp(key, "d2h"))
        return read_rate(value, &sim_config.d2h);
    return -1;
}

int sim_config_read(const char *text)
{
    char copy[1024], *rest = NULL;

    if (!text)
        return 0;
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return -1;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');

        if (value)
            *value++ = '\0';
        if (!value || read_word(word, value) < 0) {
            fprintf(stderr, "gpusim: GPUSIM: cannot use `%s`\n", word);
            return -1;
        }
    }
    return 0;
}
