/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/call/use_order.h"

/*
 * Streams share memory such as a communicator's scratch, and NCCL's own order of a communicator
 * does not cover our kernels. The wait is needed even if the stream's name is that of the last one:
 * the names of the legacy stream and of a thread's own mean other streams in other threads.
 * Captured calls wait as well, each time that their graph is launched. Their wait and their record
 * use an event outside of the graph, which each launch binds anew. The stream of a graph is not
 * known, and a graph may be instantiated twice.
 */
CUresult use_order_begin(const struct cuda_calls *cu, const struct use_order *o, CUstream stream,
                         int captured)
{
    if (captured)
        return cu->StreamWaitEvent(stream, o->last, CU_EVENT_WAIT_EXTERNAL);
    if (o->in_a_graph || o->has_run)
        return cu->StreamWaitEvent(stream, o->last, CU_EVENT_WAIT_DEFAULT);
    return CUDA_SUCCESS;
}

CUresult use_order_end(const struct cuda_calls *cu, struct use_order *o, CUstream stream,
                       int captured)
{
    if (captured) {
        o->in_a_graph = 1;
        return cu->EventRecordWithFlags(o->last, stream, CU_EVENT_RECORD_EXTERNAL);
    }
    o->has_run = 1;
    return cu->EventRecord(o->last, stream);
}
