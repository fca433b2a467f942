/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plugin as NCCL uses it: its file opened, the newest symbol that "this NCCL" knows looked up,
 * and each version's functions behind one form. Claims are counted; a broken one is printed.
 */
#ifndef COLLSHIM_TEST_NCCL_PLUGIN_PLAYER_H
#define COLLSHIM_TEST_NCCL_PLUGIN_PLAYER_H

#include <stddef.h>
#include <stdint.h>

#include "shim/nccl_plugin/abi.h"

enum { ALGORITHMS = 7, PROTOCOLS = 3, VERSIONS = 3 };
enum { TREE, RING, COLLNET_DIRECT, COLLNET_CHAIN, NVLS, NVLS_TREE, PAT };
enum { LL, LL128, SIMPLE };
enum { BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE };

struct costs {
    float us[ALGORITHMS][PROTOCOLS];
    int channels;
};

/* A claim of printf's form. Returns whether it holds. */
int claim(int holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One that is not counted if it holds, because there are many of it. */
int must(int holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* NCCL's logger; what the player has if nothing else is set says nothing. */
extern abi_logger player_log;

/* Open the file as NCCL does. Ends the process if that fails. */
void *plugin_open_file(const char *path);

/* The tuner or profiler of version 4 + i; NULL: not there. */
const void *plugin_tuner(void *file, int i);
const void *plugin_profiler(void *file, int i);

/* A communicator that NCCL has a tuner for. Returns NCCL's result. */
int tuner_open(int version, const void *table, size_t nranks, size_t nnodes, void **context);
int tuner_choose(int version, const void *table, void *context, int collective, size_t bytes,
                 int registered, int algorithms, struct costs *costs);
int tuner_close(int version, const void *table, void *context);

/* One that it has a profiler for. */
int profiler_open(int version, const void *table, uint64_t id, int nnodes, int nranks, int rank,
                  int *mask, void **context);
void profiler_close(int version, const void *table, void *context);

/* An event, of which what NCCL leaves undefined is filled with rubbish. */
void *event_start(int version, const void *table, void *context, const struct abi_event *e,
                  uint64_t type);
void event_stop(int version, const void *table, void *handle);
void event_record(int version, const void *table, void *handle, uint64_t nanoseconds);

/* A whole collective, as NCCL tells of it where kernels are asked for: launched, enqueued, and then
   each channel from begin to end. ends: of so many channels; fewer than there are is a communicator
   that was aborted. */
struct play {
    const char *function, *datatype, *algorithm, *protocol;
    size_t count;
    int channels, ends;
    uint64_t begin, end;
};
void play(int version, const void *table, void *context, const struct play *p);

#endif
