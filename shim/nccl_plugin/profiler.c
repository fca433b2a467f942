/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The profiler: each version's events, as tally.h has them. Nothing here fails: without memory a
 * communicator has no context, and its calls are not counted.
 */
#include <pthread.h>
#include <string.h>

#include "shim/decide/base/say.h"
#include "shim/nccl_plugin/abi.h"
#include "shim/nccl_plugin/entry.h"
#include "shim/nccl_plugin/plugin.h"
#include "shim/nccl_plugin/report.h"
#include "shim/nccl_plugin/tally.h"
#include "shim/record/counts/live.h"
#include "shim/record/report/job.h"
#include "shim/record/report/reporter.h"

#define LIBRARY "NCCL, seen by its profiler"

/* Before anything is counted: NCCL makes communicators in several threads at once. */
static void open_live(void)
{
    live_open("NCCL");
}

/* log: a function of the calling NCCL. The preload reports the calls that it sees itself. */
static int open_comm(int version, void **context, int *mask, uint64_t comm, int nnodes, int nranks,
                     int rank, abi_logger log)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    *context = NULL;
    *mask = 0;
    if (plugin_preload_sees((const void *)(uintptr_t)log)) {
        say(CFG_LEVEL_INFO,
            "NCCL's profiler plugin: the preload sees these calls, and reports them");
        return ABI_SUCCESS;
    }
    pthread_once(&once, open_live);
    plugin_report_profiler(version);
    reporter_rank(rank, nranks, comm, LIBRARY);
    job_has_nodes(nnodes);
    *context = tally_open(nranks, nnodes);
    *mask = ABI_COLLECTIVE | ABI_MESSAGE | ABI_KERNEL_CHANNEL;
    if (version >= 6)
        *mask |= ABI_COPY_COLLECTIVE;
    return ABI_SUCCESS;
}

static int open_v4(void **context, int *mask, const char *comm_name, uint64_t comm, int nnodes,
                   int nranks, int rank, abi_logger log)
{
    (void)comm_name;
    return open_comm(4, context, mask, comm, nnodes, nranks, rank, log);
}

static int open_v5(void **context, uint64_t comm, int *mask, const char *comm_name, int nnodes,
                   int nranks, int rank, abi_logger log)
{
    (void)comm_name;
    return open_comm(5, context, mask, comm, nnodes, nranks, rank, log);
}

static int open_v6(void **context, uint64_t comm, int *mask, const char *comm_name, int nnodes,
                   int nranks, int rank, abi_logger log)
{
    (void)comm_name;
    return open_comm(6, context, mask, comm, nnodes, nranks, rank, log);
}

static void *start_collective(void *context, const struct abi_event *e, int by_copies)
{
    const struct tally_call call = {.function = e->collective.function,
                                    .datatype = e->collective.datatype,
                                    .count = e->collective.count,
                                    .algorithm = by_copies ? "copies" : e->collective.algorithm,
                                    .protocol = by_copies ? NULL : e->collective.protocol,
                                    .channels = by_copies ? 0 : e->collective.channels};

    return tally_start(context, &call, plugin_report_is_tuned());
}

/* NCCL also tells of the events that contain those that are wanted; they get no handle. */
static int start(void *context, void **handle, const struct abi_event *e, uint64_t type)
{
    *handle = NULL;
    if (type == ABI_COLLECTIVE)
        *handle = start_collective(context, e, 0);
    else if (type == ABI_COPY_COLLECTIVE)
        start_collective(context, e, 1);
    else if (type == ABI_KERNEL_CHANNEL)
        *handle = tally_channel_start(e->parent, e->kernel.channel, e->kernel.nanoseconds);
    else if (type == ABI_MESSAGE && e->message.function)
        plugin_report_message(!strcmp(e->message.function, "Send"));
    return ABI_SUCCESS;
}

static int start_v4(void *context, void **handle, const struct abi_event *e)
{
    return start(context, handle, e, e->type.v4);
}

static int start_v5(void *context, void **handle, const struct abi_event *e)
{
    return start(context, handle, e, e->type.v5);
}

static int stop(void *handle)
{
    tally_stop(handle);
    return ABI_SUCCESS;
}

static int record(void *handle, int state, const union abi_state *value)
{
    if (state == ABI_KERNEL_CHANNEL_STOP && value)
        tally_channel_time(handle, value->nanoseconds);
    return ABI_SUCCESS;
}

static int close_comm(void *context)
{
    tally_close(context);
    return ABI_SUCCESS;
}

static const struct abi_profiler_v4 profiler_v4 = {.name = ENTRY_NAME,
                                                   .init = open_v4,
                                                   .start = start_v4,
                                                   .stop = stop,
                                                   .record = record,
                                                   .finalize = close_comm};
static const struct abi_profiler_v5 profiler_v5 = {.name = ENTRY_NAME,
                                                   .init = open_v5,
                                                   .start = start_v5,
                                                   .stop = stop,
                                                   .record = record,
                                                   .finalize = close_comm};
static const struct abi_profiler_v5 profiler_v6 = {.name = ENTRY_NAME,
                                                   .init = open_v6,
                                                   .start = start_v5,
                                                   .stop = stop,
                                                   .record = record,
                                                   .finalize = close_comm};

ENTRY(ncclProfiler_v4, profiler_v4, plugin_wants_profiler)
ENTRY(ncclProfiler_v5, profiler_v5, plugin_wants_profiler)
ENTRY(ncclProfiler_v6, profiler_v6, plugin_wants_profiler)
