/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * paths SEED CALLS KIND [fails]: large Allreduces of ranks that have a GPU each, the first of them
 * before CUDA is there. KIND tells the place of buffers. `device`: all lie on the ranks' GPUs;
 * `host`: none; `mixed`: each at random; `pools`: send buffers lie in device memory, receive
 * buffers in a pool's. The program computes the results itself. Sums of floating point have the
 * same bits on all ranks. fails: an error on any rank is fine, a hang is not. If no rank has an
 * error, all have the right bytes.
 */
#define _GNU_SOURCE
#include "test/mpi/driver.h"
#include "test/mpi/harness.h"

enum { SMALLEST = 1 << 18, RANGE = 1 << 17 }; /* elements */

/* Bytes that MPI gets as `at`, on the device or not. */
struct buffer {
    char *host, *at;
    address allocation, device; /* 0: none */
    size_t bytes;
};

/* So many elements into an allocation. */
enum place { IN_HOST, IN_DEVICE, IN_POOL };
static struct buffer make(size_t bytes, enum place place, int offset)
{
    size_t before = sizeof(int) * (size_t)offset;
    struct buffer b = {.host = malloc(bytes), .bytes = bytes};

    need(!b.host, "malloc");
    if (place == IN_DEVICE)
        NEED(MemAlloc(&b.allocation, before + bytes));
    if (place == IN_POOL)
        NEED(MemAllocAsync(&b.allocation, before + bytes, NULL));
    if (b.allocation)
        b.device = b.allocation + before;
    b.at = b.device ? (char *)(uintptr_t)b.device : b.host;
    return b;
}

static void send_there(const struct buffer *b)
{
    if (b->device)
        NEED(MemcpyHtoD(b->device, b->host, b->bytes));
}

static void bring_back(const struct buffer *b)
{
    if (b->device)
        NEED(MemcpyDtoH(b->host, b->device, b->bytes));
}

static void drop(struct buffer *b)
{
    if (b->device)
        NEED(MemFree(b->allocation));
    free(b->host);
}

static int contribution(int call, int rank, int i)
{
    return (int)(mix((uint64_t)call << 40 ^ (uint64_t)rank << 32 ^ (uint64_t)i) & 0xffffff);
}

static void check_ints(int call, const struct buffer *b, int n)
{
    for (int i = 0; i < n; i++) {
        int want = 0, got;

        for (int r = 0; r < world_size; r++)
            want += contribution(call, r, i);
        memcpy(&got, b->host + sizeof(int) * (size_t)i, sizeof got);
        if (got != want) {
            fail("call %d: element %d of %d is %d, not %d", call, i, n, got, want);
            return;
        }
    }
}

/* Thirds, whose sums depend on the order: near the exact ones, and equal on all ranks. */
static void check_floats(int call, const struct buffer *b, int n)
{
    const float *got = (const float *)(const void *)b->host;
    char *first = malloc(b->bytes);

    need(!first, "malloc");
    memcpy(first, b->host, b->bytes);
    MPI_Bcast(first, (int)b->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (memcmp(first, b->host, b->bytes) != 0)
        fail("call %d: the result is not that of rank 0", call);
    free(first);
    for (int i = 0; i < n; i++) {
        double want = 0;

        for (int r = 0; r < world_size; r++)
            want += contribution(call, r, i) / 3.0;
        if (got[i] < want * (1 - 1e-5) || got[i] > want * (1 + 1e-5)) {
            fail("call %d: element %d of %d is %g, not %g", call, i, n, (double)got[i], want);
            return;
        }
    }
}

/* Where a buffer is in that call: in `mixed` calls any of them may be anywhere, on any rank. */
static enum place place_of(struct draw *own, const char *kind, int received)
{
    if (!strcmp(kind, "pools"))
        return received ? IN_POOL : IN_DEVICE;
    return !strcmp(kind, "device") || (!strcmp(kind, "mixed") && draw_below(own, 4)) ? IN_DEVICE
                                                                                     : IN_HOST;
}

/* A stream of the application's that has work until long after the call: neither may wait for it
   nor disturb it. */
static struct {
    void *stream;
    unsigned *gate; /* pinned */
} busy;

static void open_busy(void)
{
    void *gate = NULL;

    NEED(StreamCreateWithPriority(&busy.stream, NON_BLOCKING, 0));
    NEED(MemHostAlloc(&gate, sizeof *busy.gate, 1));
    busy.gate = gate;
    *busy.gate = 0;
}

static void hold_busy(unsigned call)
{
    if (busy.stream)
        NEED(StreamWaitValue32(busy.stream, (address)(uintptr_t)busy.gate, call, 0));
}

static void release_busy(unsigned call)
{
    if (!busy.stream)
        return;
    if (!cu.StreamQuery(busy.stream))
        fail("call %u: the application's stream did not wait", call);
    __atomic_store_n(busy.gate, call, __ATOMIC_RELEASE);
    NEED(StreamSynchronize(busy.stream));
}

static void close_busy(void)
{
    if (!busy.stream)
        return;
    NEED(StreamDestroy(busy.stream));
    NEED(MemFreeHost(busy.gate));
}

static long errors;

static void one_call(int call, const char *kind, int may_fail)
{
    struct draw all = draw_from((uint64_t)call, 1000);
    struct draw own = draw_from((uint64_t)call, (uint64_t)world_rank);
    int n = SMALLEST + draw_below(&all, RANGE), in_place = !draw_below(&all, 3);
    int floats = !draw_below(&all, 3) && !may_fail;
    size_t bytes = (size_t)n * sizeof(int);
    struct buffer in = make(bytes, place_of(&own, kind, 0), draw_below(&own, 8));
    struct buffer out = make(bytes, place_of(&own, kind, 1), draw_below(&own, 8));
    struct buffer *from = in_place ? &out : &in;

    memset(out.host, 0xdd, bytes);
    for (int i = 0; i < n; i++) {
        int c = contribution(call, world_rank, i);
        float third = (float)c / 3;

        memcpy(from->host + sizeof c * (size_t)i, floats ? (void *)&third : (void *)&c, sizeof c);
    }
    send_there(&in);
    send_there(&out);
    hold_busy((unsigned)call);
    if (call % 2) /* a thread that calls MPI need not have a context of its own */
        NEED(CtxSetCurrent(NULL));
    int rc = MPI_Allreduce(in_place ? MPI_IN_PLACE : in.at, out.at, n, floats ? MPI_FLOAT : MPI_INT,
                           MPI_SUM, MPI_COMM_WORLD);
    int failed = rc != MPI_SUCCESS;
    if (call % 2)
        NEED(CtxSetCurrent(own_context));
    release_busy((unsigned)call);
    bring_back(&out);
    errors += failed;
    if (may_fail)
        MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    else if (failed)
        fail("call %d: error %d", call, rc);
    failed |= out.device && lost(); /* its contents are unknown */
    if (!failed && floats)
        check_floats(call, &out, n);
    else if (!failed)
        check_ints(call, &out, n);
    drop(&in);
    drop(&out);
}

/* Blocks of unequal sizes in host memory, in the first call after CUDA is there: finding out about
   GPUs must not disturb the sizes. */
static void gather_unequal(void)
{
    int *count = calloc((size_t)world_size, sizeof *count);
    int *at = calloc((size_t)world_size, sizeof *at), total = 0;

    need(!count || !at, "calloc");
    for (int r = 0; r < world_size; r++) {
        count[r] = SMALLEST / (r + 1);
        at[r] = total;
        total += count[r];
    }
    int *own = malloc(SMALLEST * sizeof *own), *all = malloc((size_t)total * sizeof *all);
    need(!own || !all, "malloc");
    for (int i = 0; i < count[world_rank]; i++)
        own[i] = contribution(0, world_rank, i);
    need(MPI_Allgatherv(own, count[world_rank], MPI_INT, all, count, at, MPI_INT, MPI_COMM_WORLD),
         "MPI_Allgatherv");
    for (int r = 0; r < world_size; r++)
        for (int i = 0; i < count[r]; i++)
            if (all[at[r] + i] != contribution(0, r, i)) {
                fail("Allgatherv: element %d of rank %d's is wrong", i, r);
                i = count[r];
            }
    free(count);
    free(at);
    free(own);
    free(all);
}

int main(int argc, char **argv)
{
    int calls = argc > 2 ? atoi(argv[2]) : 10, may_fail = argc > 4;
    const char *kind = argc > 3 ? argv[3] : "device";
    long all_errors = 0;

    MPI_Init(&argc, &argv);
    test_began("paths", argc, argv);
    one_call(0, "host", 0);
    load_cuda();
    gather_unequal();
    if (may_fail)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    else
        open_busy();
    for (int call = 1; call < calls; call++)
        one_call(call, kind, may_fail);
    MPI_Reduce(&errors, &all_errors, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    close_busy();
    check_violations();
    int rc = test_ended();
    if (!world_rank)
        printf("errors returned: %ld\n", all_errors);
    MPI_Finalize();
    return is_left_over() || rc;
}
