/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plugin_real LIBRARY PLUGIN NAME=OFFSET...: the real libnccl loads the plugin. "told vN" is a line
 * for each version of the profiler that was told of three calls. Without a GPU ncclCommInitRank
 * fails before it looks for plugins, so that the functions of the library which do that are called
 * directly: they are in its symbol table, whose offsets run.sh hands over. The search for the file,
 * the choice of a version, and the adapters that hand the newest form of an event or a question
 * over in an older one are real. The communicator is not: zeros.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/nccl_plugin/player.h"

extern int passed, failed;

enum { COMM_BYTES = 8 << 20 }; /* more than a communicator has */

static char *base;
static char **arguments;

/* NULL: this libnccl has none. */
static void *find(const char *name)
{
    size_t n = strlen(name);

    for (char **a = arguments; *a; a++)
        if (!strncmp(*a, name, n) && (*a)[n] == '=')
            return base + strtoull(*a + n + 1, NULL, 16);
    return NULL;
}

static void *symbol(const char *name)
{
    void *at = find(name);

    if (at)
        return at;
    printf("skip: this libnccl has no symbol %s\n", name);
    exit(77);
}

/* The adapter to that version of the plugin. */
static void *adapter(const char *form, int version)
{
    char name[64];

    snprintf(name, sizeof name, form, version);
    return find(name);
}

/* The newest version that the library knows: in its form events and questions begin. */
static int newest(const char *form)
{
    int version = 9;

    while (version > 4 && !adapter(form, version))
        version--;
    return version;
}

/* Does some word of the communicator point into the plugin? */
static int points_to(const char *comm, const char *plugin)
{
    Dl_info info;

    for (size_t i = 0; i < COMM_BYTES; i += sizeof(void *)) {
        void *p;

        memcpy(&p, comm + i, sizeof p);
        if (p && dladdr(p, &info) && info.dli_fname && !strcmp(info.dli_fname, plugin))
            return 1;
    }
    return 0;
}

typedef int on_comm(char *comm);
typedef const void *find_table(void *file);

#define TUNER "_Z15getNcclTuner_v%dPv"
#define PROFILER "_Z18getNcclProfiler_v%dPv"

/* NCCL finds the file by NCCL_TUNER_PLUGIN and NCCL_PROFILER_PLUGIN, and opens a communicator. One
   that knows older versions alone goes on without. */
static void load(const char *plugin)
{
    char *comm = calloc(1, COMM_BYTES);
    int *mask = symbol("ncclProfilerEventMask");

    ((on_comm *)symbol("_Z19ncclTunerPluginLoadP8ncclComm"))(comm);
    claim(points_to(comm, plugin) == !!adapter(TUNER, newest(TUNER)),
          "libnccl has found the tuner, if it knows v4");
    ((on_comm *)symbol("_Z22ncclProfilerPluginInitP8ncclComm"))(comm);
    if (adapter(PROFILER, newest(PROFILER)))
        claim((*mask & 0xff) == (ABI_COLLECTIVE | ABI_MESSAGE | ABI_KERNEL_CHANNEL),
              "libnccl has called the profiler's init: mask %x", (unsigned)*mask);
    else
        claim(*mask == 0, "libnccl knows no profiler of ours: mask %x", (unsigned)*mask);
    ((on_comm *)symbol("_Z26ncclProfilerPluginFinalizeP8ncclComm"))(comm);
    ((on_comm *)symbol("_Z21ncclTunerPluginUnloadP8ncclComm"))(comm);
    free(comm);
}

/* A question in the library's newest form, through the adapter to that version. */
static void ask(void *file, int form, int version)
{
    find_table *get = (find_table *)adapter(TUNER, version);
    const void *t = get ? get(file) : NULL;
    struct costs c = {.us[RING] = {1, 2, 3}};
    void *context = NULL;

    if (!get || !claim(t != NULL, "the tuner v%d is found", version))
        return;
    claim(tuner_open(form, t, 32, 4, &context) == 0 && context, "tuner v%d: it opens", version);
    tuner_choose(form, t, context, ALL_REDUCE, 2 << 20, 0, ALGORITHMS, &c);
    claim(c.us[RING][LL128] == 0 && c.us[RING][LL] == 1 && c.us[RING][SIMPLE] == 3 &&
              c.channels == 16,
          "tuner v%d: it is asked", version);
    claim(tuner_close(form, t, context) == 0, "tuner v%d: it closes", version);
}

/* Events likewise: three calls. */
static void tell(void *file, int form, int version)
{
    find_table *get = (find_table *)adapter(PROFILER, version);
    const void *t = get ? get(file) : NULL;
    int mask = 0;
    void *context = NULL;

    if (!get || !claim(t != NULL, "the profiler v%d is found", version))
        return;
    claim(profiler_open(form, t, 42, 4, 32, 0, &mask, &context) == 0 && context && mask,
          "profiler v%d: it opens", version);
    for (int i = 0; i < 3; i++)
        play(form, t, context,
             &(struct play){.function = "AllReduce",
                            .datatype = "ncclFloat32",
                            .algorithm = "RING",
                            .protocol = "LL128",
                            .count = 1 << 19,
                            .channels = 16,
                            .ends = 16,
                            .begin = 1000000,
                            .end = 1200000});
    profiler_close(form, t, context);
    printf("told v%d\n", version);
}

int main(int argc, char **argv)
{
    void *nccl = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *file = argc > 2 ? plugin_open_file(argv[2]) : NULL;
    Dl_info info;

    if (!nccl || !dladdr(dlsym(nccl, "ncclGetVersion"), &info))
        return 2;
    base = info.dli_fbase;
    arguments = argv + 3;
    player_log = (abi_logger)symbol("_Z12ncclDebugLog17ncclDebugLogLevelmPKciS1_z");
    load(argv[2]);
    for (int version = 4; version < 4 + VERSIONS; version++) {
        ask(file, newest(TUNER), version);
        tell(file, newest(PROFILER), version);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
