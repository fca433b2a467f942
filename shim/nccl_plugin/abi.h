/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interfaces of NCCL's tuner and profiler plugins, as facts about memory: the places of
 * functions and of an event's fields. Written from NCCL's sources, which hold the contract:
 *
 *   tuner v4     src/include/plugin/tuner/tuner_v4.h         NCCL 2.24 on
 *   tuner v5     src/include/plugin/tuner/tuner_v5.h         NCCL 2.28 on
 *   tuner v6     src/include/plugin/tuner/tuner_v6.h         NCCL 2.30 on
 *   profiler v4  src/include/plugin/profiler/profiler_v4.h   NCCL 2.27 on
 *   profiler v5  src/include/plugin/profiler/profiler_v5.h   NCCL 2.28 on
 *   profiler v6  src/include/plugin/profiler/profiler_v6.h   NCCL 2.29 on
 *   numbers of algorithms and protocols   src/include/plugin/nccl_tuner.h
 *   numbers of collectives                src/include/nccl_common.h
 *   events and states                     src/include/plugin/nccl_profiler.h
 *
 * Enumerations are ints there. A result is 0 (ncclSuccess) or an error. Members that the plugin
 * does not use are left out, or are void.
 */
#ifndef COLLSHIM_SHIM_NCCL_PLUGIN_ABI_H
#define COLLSHIM_SHIM_NCCL_PLUGIN_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { ABI_SUCCESS = 0, ABI_INVALID_USAGE = 5 };

/* NCCL's logger: level, subsystems, file, line, format. */
typedef void (*abi_logger)(int level, unsigned long flags, const char *file, int line,
                           const char *format, ...);
enum { ABI_LOG_WARN = 2, ABI_LOG_INFO = 3 };
enum { ABI_LOG_INIT = 1, ABI_LOG_TUNING = 64 }; /* subsystems */

/* costs: a table float[algorithms][protocols] of microseconds, below 0 if NCCL cannot use the pair.
 *channels: 0, or the number that the call gets. bytes: of the larger of the two buffers. */
typedef int (*abi_choose)(void *context, int collective, size_t bytes, int operations,
                          float **costs, int algorithms, int protocols, int registered,
                          int *channels);

struct abi_tuner_v4 {
    const char *name;
    int (*init)(size_t nranks, size_t nnodes, abi_logger log, void **context);
    abi_choose choose;
    int (*destroy)(void *context);
};

/* domains and constants may be changed; they are not here. */
struct abi_tuner_v5 {
    const char *name;
    int (*init)(void **context, uint64_t comm, size_t nranks, size_t nnodes, abi_logger log,
                void *domains, void *constants);
    abi_choose choose;
    int (*finalize)(void *context);
};

struct abi_tuner_v6 {
    const char *name;
    int (*init)(void **context, uint64_t comm, size_t nranks, size_t nnodes, abi_logger log,
                void *domains, void *constants);
    abi_choose choose;
    int (*finalize)(void *context);
    int (*chunk)(void *context, int collective, size_t bytes, int algorithm, int protocol,
                 int channels, size_t *bytes_of_chunk); /* NULL: NCCL's */
};

/* Bits of the mask of events, and an event's type. */
enum {
    ABI_COLLECTIVE = 1 << 1,      /* a collective is launched; it stops when it is enqueued */
    ABI_MESSAGE = 1 << 2,         /* a send or a receive, likewise */
    ABI_KERNEL_CHANNEL = 1 << 6,  /* one channel of a kernel works on it, by the GPU's clock */
    ABI_COPY_COLLECTIVE = 1 << 12 /* v6: one that copy engines carry */
};
enum { ABI_KERNEL_CHANNEL_STOP = 22 }; /* a state, with the time of the stop */

/* An event. v4 to v6 differ in the width of its type, and behind what is named here. */
struct abi_event {
    union {
        uint8_t v4;
        uint64_t v5;
    } type;
    void *parent; /* the handle that a collective's start was given */
    int rank;
    union {
        struct {
            uint64_t number;
            const char *function; /* "AllReduce" */
            const void *from;
            void *to;
            size_t count;
            int root;
            const char *datatype; /* "ncclFloat32" */
            /* Not of copy engines: */
            uint8_t channels, warps;
            const char *algorithm, *protocol; /* "RING", "LL128" */
        } collective;
        struct {
            const char *function; /* "Send" or "Recv" */
        } message;
        struct {
            uint8_t channel;
            uint64_t nanoseconds;
        } kernel;
    };
};
_Static_assert(offsetof(struct abi_event, collective) == 24, "as NCCL's descriptor");
_Static_assert(offsetof(struct abi_event, collective.algorithm) == 88, "as NCCL's descriptor");
_Static_assert(offsetof(struct abi_event, kernel.nanoseconds) == 32, "as NCCL's descriptor");

union abi_state {
    uint64_t nanoseconds; /* of ABI_KERNEL_CHANNEL_STOP */
};

/* mask: which events the plugin wants; of the process, not of the communicator. */
struct abi_profiler_v4 {
    const char *name;
    int (*init)(void **context, int *mask, const char *comm_name, uint64_t comm, int nnodes,
                int nranks, int rank, abi_logger log);
    int (*start)(void *context, void **handle, const struct abi_event *event);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, const union abi_state *value);
    int (*finalize)(void *context);
};

/* And v6. */
struct abi_profiler_v5 {
    const char *name;
    int (*init)(void **context, uint64_t comm, int *mask, const char *comm_name, int nnodes,
                int nranks, int rank, abi_logger log);
    int (*start)(void *context, void **handle, const struct abi_event *event);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, const union abi_state *value);
    int (*finalize)(void *context);
};

#endif
