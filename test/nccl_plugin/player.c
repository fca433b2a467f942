/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "test/nccl_plugin/player.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int passed, failed;
int passed, failed;

__attribute__((format(printf, 1, 0))) static void complain(const char *format, va_list args)
{
    __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
    printf("not ok - ");
    vprintf(format, args);
    putchar('\n');
}

int must(int holds, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (!holds)
        complain(format, args);
    va_end(args);
    return holds;
}

int claim(int holds, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (holds)
        __atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
    else
        complain(format, args);
    va_end(args);
    return holds;
}

void *plugin_open_file(const char *path)
{
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (file)
        return file;
    printf("not ok - %s\n", dlerror());
    exit(1);
}

static const void *look_up(void *file, const char *what, int i)
{
    char name[64];

    snprintf(name, sizeof name, "%s%d", what, 4 + i);
    return dlsym(file, name);
}

const void *plugin_tuner(void *file, int i)
{
    return look_up(file, "ncclTunerPlugin_v", i);
}

const void *plugin_profiler(void *file, int i)
{
    return look_up(file, "ncclProfiler_v", i);
}

static void log_nothing(int level, unsigned long flags, const char *file, int line,
                        const char *format, ...)
{
    (void)level;
    (void)flags;
    (void)file;
    (void)line;
    (void)format;
}

abi_logger player_log = log_nothing;

int tuner_open(int version, const void *table, size_t nranks, size_t nnodes, void **context)
{
    const struct abi_tuner_v4 *v4 = table;
    const struct abi_tuner_v5 *v5 = table;
    const struct abi_tuner_v6 *v6 = table;
    int domains[3] = {1, 8, 8};
    double constants[256] = {1}, before[256];
    int rc;

    memcpy(before, constants, sizeof before);
    if (version == 4)
        rc = v4->init(nranks, nnodes, player_log, context);
    else if (version == 5)
        rc = v5->init(context, 77, nranks, nnodes, player_log, domains, constants);
    else
        rc = v6->init(context, 77, nranks, nnodes, player_log, domains, constants);
    claim(!memcmp(before, constants, sizeof before), "v%d: constants stay", version);
    claim(version < 6 || !v6->chunk, "v6: chunks are NCCL's");
    return rc;
}

int tuner_choose(int version, const void *table, void *context, int collective, size_t bytes,
                 int registered, int algorithms, struct costs *costs)
{
    const struct abi_tuner_v4 *v4 = table; /* alike so far in all versions */

    (void)version;
    return v4->choose(context, collective, bytes, 1, (float **)(void *)costs->us, algorithms,
                      PROTOCOLS, registered, &costs->channels);
}

int tuner_close(int version, const void *table, void *context)
{
    return version == 4 ? ((const struct abi_tuner_v4 *)table)->destroy(context)
                        : ((const struct abi_tuner_v5 *)table)->finalize(context);
}

int profiler_open(int version, const void *table, uint64_t id, int nnodes, int nranks, int rank,
                  int *mask, void **context)
{
    const struct abi_profiler_v4 *v4 = table;
    const struct abi_profiler_v5 *v5 = table;

    return version == 4 ? v4->init(context, mask, "a name", id, nnodes, nranks, rank, player_log)
                        : v5->init(context, id, mask, "a name", nnodes, nranks, rank, player_log);
}

void profiler_close(int version, const void *table, void *context)
{
    (void)version; /* the tables differ in init alone */
    ((const struct abi_profiler_v5 *)table)->finalize(context);
}

void *event_start(int version, const void *table, void *context, const struct abi_event *e,
                  uint64_t type)
{
    const struct abi_profiler_v5 *p = table;
    struct abi_event copy = *e;
    void *handle = (void *)0x1; /* its earlier contents */

    if (version == 4) { /* a byte, and what lies behind it */
        memset(&copy.type, 0xee, sizeof copy.type);
        copy.type.v4 = (uint8_t)type;
    } else {
        copy.type.v5 = type;
    }
    must(p->start(context, &handle, &copy) == ABI_SUCCESS, "start succeeds");
    must(handle != (void *)0x1, "start sets the handle");
    return handle;
}

void event_stop(int version, const void *table, void *handle)
{
    (void)version;
    if (handle) /* as NCCL does */
        ((const struct abi_profiler_v5 *)table)->stop(handle);
}

void event_record(int version, const void *table, void *handle, uint64_t nanoseconds)
{
    (void)version;
    if (handle)
        ((const struct abi_profiler_v5 *)table)
            ->record(handle, ABI_KERNEL_CHANNEL_STOP,
                     &(union abi_state){.nanoseconds = nanoseconds});
}

void play(int version, const void *table, void *context, const struct play *p)
{
    struct abi_event e = {.rank = 0};
    void *call, *channel[64];

    memset(&e.collective, 0xee, sizeof e.collective);
    e.collective.function = p->function;
    e.collective.count = p->count;
    e.collective.datatype = p->datatype;
    e.collective.channels = (uint8_t)p->channels;
    e.collective.algorithm = p->algorithm;
    e.collective.protocol = p->protocol;
    call = event_start(version, table, context, &e, ABI_COLLECTIVE);
    event_stop(version, table, call);
    for (int i = 0; i < p->channels; i++) {
        struct abi_event k = {.parent = call};

        k.kernel.channel = (uint8_t)i;
        k.kernel.nanoseconds = p->begin + (uint64_t)i; /* the first is the earliest */
        channel[i] = event_start(version, table, context, &k, ABI_KERNEL_CHANNEL);
    }
    for (int i = 0; i < p->ends; i++) {
        event_record(version, table, channel[i], p->end - (uint64_t)i);
        event_stop(version, table, channel[i]);
    }
}
