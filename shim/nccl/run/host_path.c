/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/run/host_path.h"

#include "planners/algorithms/collaborative/collaborative.h"
#include "planners/algorithms/collaborative/split.h"
#include "shim/nccl/call/use_order.h"
#include "shim/nccl/run/host_memory.h"

/* Piece k is copied in beside the library's call k, combined beside call k + 2, and copied out
   beside call k + 4. A rank that runs something beside call k knows that all have ended what they
   ran beside call k - 2. So the place of piece k - 4 is free: its contributions when piece k is
   copied in, and its results when piece k is combined. */
enum { COMBINE = 2, COPY_OUT = 4, SLOTS = 4, QUANTUM = 64 /* elements */ };
_Static_assert((int)SPLIT_CALLS == COPY_OUT + 1, "the model counts the library's calls");

enum { IN_AND_OUT, COMBINING }; /* the streams beside the program's */

/* One call, cut: the same on all ranks. */
struct cutting {
    struct nccl_comm *c;
    struct host_memory *m;
    const struct nccl_call *call;
    size_t element;       /* bytes */
    uint64_t device;      /* elements of the library's part */
    uint64_t each;        /* elements of a piece but the last */
    uint64_t slice;       /* of a slice but the last ones */
    int pieces, calls, n; /* n: ranks */
};

static uint64_t up_to(uint64_t x, uint64_t multiple)
{
    return (x + multiple - 1) / multiple * multiple;
}

/* Returns 0 if there is nothing for the host. */
static int cut(struct cutting *k)
{
    const uint64_t most = SPLIT_PIECE / k->element;
    uint64_t count = k->call->count, host = count - k->device, pieces, least;

    pieces = split_pieces(host * k->element);
    least = (pieces + SPLIT_CALLS + 2) * QUANTUM;
    if (count < least + QUANTUM)
        return 0;
    host = (host < count - least ? host : count - least) / QUANTUM * QUANTUM;
    if (!host)
        return 0;
    k->slice = up_to((host / pieces + (uint64_t)k->n) / (uint64_t)k->n, QUANTUM);
    if (k->slice * (uint64_t)k->n > most)
        k->slice = most / (uint64_t)k->n / QUANTUM * QUANTUM;
    k->each = k->slice * (uint64_t)k->n;
    k->pieces = (int)((host + k->each - 1) / k->each);
    k->calls = k->pieces + SPLIT_CALLS;
    k->device = count - host;
    return 1;
}

static int cutting_of(struct cutting *k, const struct nccl_call *call, const struct nccl_comm *c,
                      const struct plan_candidate *way)
{
    struct plan_request q = schedule_request(call, c, way);

    if (call->collective != COLL_ALLREDUCE || c->topo->nnodes > 1 || c->nranks < 2 ||
        c->nranks > CUDA_REDUCE_SOURCES)
        return 0;
    *k = (struct cutting){
        .call = call, .element = reduce_type_bytes(nccl_call_reduce_type(call)), .n = c->nranks};
    k->device = call->count - collaborative_host_bytes(&q) / k->element;
    return cut(k);
}

int host_path_serves(const struct nccl_call *call, const struct nccl_comm *c,
                     const struct plan_candidate *way)
{
    struct cutting k;

    return cutting_of(&k, call, c, way);
}

int host_path_is_known(const struct topo *t)
{
    return t->link[TOPO_LINK_NVLINK].bw_bytes_per_s > 0 &&
           t->link[TOPO_LINK_PCIE].bw_bytes_per_s > 0;
}

/* A piece of the host's part: elements of the vector, and where the ranks keep it. */
struct piece {
    uint64_t from, count;
    size_t slot;
};

static struct piece piece_of(const struct cutting *k, int i)
{
    struct piece p = {
        .from = k->device + (uint64_t)i * k->each, .count = k->each, .slot = (size_t)i % SLOTS};

    if (k->call->count - p.from < p.count)
        p.count = k->call->count - p.from;
    return p;
}

/* The slice that rank r combines. */
static struct piece slice_of(const struct cutting *k, struct piece p, int r)
{
    uint64_t at = k->slice * (uint64_t)r;

    at = at < p.count ? at : p.count;
    p.from += at;
    p.count = p.count - at < k->slice ? p.count - at : k->slice;
    return p;
}

/* Bytes from the start of the shared memory to rank r's copy of that part of a piece. */
static size_t place_of(const struct cutting *k, const struct piece *whole, const struct piece *part,
                       int r)
{
    return k->m->bytes - (size_t)SPLIT_PIECE * SLOTS * (size_t)k->n +
           (whole->slot * (size_t)k->n + (size_t)r) * SPLIT_PIECE +
           (size_t)(part->from - whole->from) * k->element;
}

static char *output(const struct cutting *k, const struct piece *p)
{
    return (char *)k->call->recv + p->from * k->element;
}

/* This rank's contribution, scaled if the operation does so: then it lies in the output. */
static char *input(const struct cutting *k, const struct piece *p)
{
    return nccl_call_scales(k->call, CALL_BEFORE)
               ? output(k, p)
               : (char *)(uintptr_t)k->call->send + p->from * k->element;
}

static int scale(const struct cutting *k, const struct piece *p, enum call_time when,
                 const char *from, CUstream stream)
{
    struct nccl_call call = *k->call;

    call.stream = (cudaStream_t)stream;
    return !nccl_call_scales(&call, when) || schedule_move(k->c, &call, when, output(k, p), from,
                                                           p->count * k->element) == CUDA_SUCCESS;
}

static int to_host(const struct cutting *k, const struct piece *whole, const struct piece *part,
                   const char *from, CUstream stream)
{
    return !part->count || k->c->cu->MemcpyDtoHAsync(
                               k->m->map + place_of(k, whole, part, k->c->rank), (CUdeviceptr)from,
                               part->count * k->element, stream) == CUDA_SUCCESS;
}

static int copy_in(const struct cutting *k, int i, CUstream stream)
{
    struct piece p = piece_of(k, i), own = slice_of(k, p, k->c->rank), before = p, behind = p;

    before.count = own.from - p.from;
    behind.from = own.from + own.count;
    behind.count = p.from + p.count - behind.from;
    return scale(k, &p, CALL_BEFORE, (const char *)k->call->send + p.from * k->element, stream) &&
           to_host(k, &p, &before, input(k, &before), stream) &&
           to_host(k, &p, &behind, input(k, &behind), stream);
}

static int combine(const struct cutting *k, int i, CUstream stream)
{
    struct piece p = piece_of(k, i), own = slice_of(k, p, k->c->rank);
    struct cuda_reduce_args args = {
        .dst = output(k, &own), .count = own.count, .sources = (uint32_t)k->n};

    for (int r = 0; r < k->n; r++)
        args.src[r] =
            r == k->c->rank ? input(k, &own) : (const char *)k->m->at + place_of(k, &p, &own, r);
    return !own.count || (cuda_reduce(k->c->device.reducer, nccl_call_reduce_op(k->call),
                                      nccl_call_reduce_type(k->call), &args, stream) == 0 &&
                          scale(k, &own, CALL_BEHIND, output(k, &own), stream) &&
                          to_host(k, &p, &own, output(k, &own), stream));
}

static int copy_out(const struct cutting *k, int i, CUstream stream)
{
    struct piece p = piece_of(k, i);
    int well = 1;

    for (int turn = 1; turn < k->n && well; turn++) {
        int r = (k->c->rank + turn) % k->n;
        struct piece s = slice_of(k, p, r);

        well = !s.count || k->c->cu->MemcpyHtoDAsync((CUdeviceptr)output(k, &s),
                                                     k->m->map + place_of(k, &p, &s, r),
                                                     s.count * k->element, stream) == CUDA_SUCCESS;
    }
    return well;
}

/* The stages beside the library's call number `call`. They run behind the call before it. */
static int run_beside(const struct cutting *k, int call)
{
    const struct cuda_calls *cu = k->c->cu;
    int both = call - COMBINE, out = call - COPY_OUT, well = 1;

    for (int i = 0; i < 2; i++)
        well &= cu->StreamWaitEvent(k->m->side[i], k->m->ahead, 0) == CUDA_SUCCESS;
    if (call < k->pieces)
        well &= copy_in(k, call, k->m->side[IN_AND_OUT]);
    if (both >= 0 && both < k->pieces)
        well &= combine(k, both, k->m->side[COMBINING]);
    if (out >= 0)
        well &= copy_out(k, out, k->m->side[IN_AND_OUT]);
    for (int i = 0; i < 2; i++)
        well &= cu->EventRecord(k->m->done[i], k->m->side[i]) == CUDA_SUCCESS;
    return well;
}

/* Part i of as many as there are calls. The last one only keeps the ranks in step. */
static ncclResult_t run_library(const struct cutting *k, int i)
{
    uint64_t most = k->device - QUANTUM;
    uint64_t each = most / (uint64_t)(k->calls - 1); /* NOLINT: calls is over SPLIT_CALLS */
    uint64_t from = each / QUANTUM * QUANTUM * (uint64_t)i, to = from + each / QUANTUM * QUANTUM;
    struct nccl_call part = *k->call;

    if (i == k->calls - 1)
        from = most;
    if (i >= k->calls - 2)
        to = i == k->calls - 1 ? k->device : most;
    part.count = to - from;
    part.send = (const char *)part.send + from * k->element;
    part.recv = (char *)part.recv + from * k->element;
    return __atomic_load_n(&k->c->stopped, __ATOMIC_ACQUIRE) ? ncclInvalidArgument
                                                             : part.native(&part);
}

/* After a fault of the driver the library's calls go on, since the other ranks make theirs. */
static ncclResult_t run_all(const struct cutting *k)
{
    const struct cuda_calls *cu = k->c->cu;
    CUstream stream = (CUstream)k->call->stream;
    ncclResult_t result = ncclSuccess;
    int well = use_order_begin(cu, &k->m->order, stream, k->call->captured) == CUDA_SUCCESS;

    for (int i = 0; i < k->calls && !result; i++) {
        int beside = i < k->calls - 1;

        well &= cu->EventRecord(k->m->ahead, stream) == CUDA_SUCCESS;
        for (int s = 0; s < 2 && i > 0; s++)
            well &= cu->StreamWaitEvent(stream, k->m->done[s], 0) == CUDA_SUCCESS;
        if (beside)
            well &= run_beside(k, i);
        result = run_library(k, i);
    }
    for (int s = 0; s < 2 && result; s++) /* stages that have begun are part of the use */
        cu->StreamWaitEvent(stream, k->m->done[s], 0);
    well &= use_order_end(cu, &k->m->order, stream, k->call->captured) == CUDA_SUCCESS;
    return result || well ? result : ncclUnhandledCudaError;
}

enum reason host_path_run(struct nccl_comm *c, const struct nccl_call *call,
                          const struct plan_candidate *way, ncclResult_t *result)
{
    struct cutting k;

    if (!cutting_of(&k, call, c, way))
        return REASON_RECIPE;
    k.c = c;
    k.m = host_memory_of(c, SLOTS, SPLIT_PIECE);
    if (!k.m)
        return REASON_NO_HOST_MEMORY;
    *result = run_all(&k);
    return REASON_NONE;
}
