/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job of NCCL that hangs, for test/stuck/trials: nccl_hang KIND RANK SEED RANKS. As
 * test/mpi/hang.c, on one communicator; ranks are processes that it forks.
 */
#define _GNU_SOURCE
#include <nccl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "transports/cuda/cuda_driver.h"

enum { SMALL = 64, MOST = 65536, DEVICES = 8 /* of a host */ };
enum { ALLREDUCE, BROADCAST, ALLGATHER, CALLS };

static const struct cuda_calls *cu;
static ncclComm_t comm;
static CUstream stream;
static float *in, *out;
static int line[CALLS];

static struct shared {
    ncclUniqueId id;
    int ready;
} * shared;

/* A rank whose call fails waits for good. */
static void check(int rc)
{
    while (rc)
        pause();
}

static void make_call(int call, size_t count, int root)
{
    if (call == ALLREDUCE) {
        line[call] = __LINE__ + 1;
        check(ncclAllReduce(in, out, count, ncclFloat, ncclSum, comm, (cudaStream_t)stream));
    } else if (call == BROADCAST) {
        line[call] = __LINE__ + 1;
        check(ncclBroadcast(in, out, count, ncclFloat, root, comm, (cudaStream_t)stream));
    } else {
        line[call] = __LINE__ + 1;
        check(ncclAllGather(in, out, count, ncclFloat, comm, (cudaStream_t)stream));
    }
}

static void tell(int rank, int at, int others)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    printf("hang: rank %d at %d others %d time %.3f\n", rank, at, others,
           (double)t.tv_sec + (double)t.tv_nsec * 1e-9);
    fflush(stdout);
}

static void go_wrong(const char *kind, int rank, int ranks, int last)
{
    if (!strcmp(kind, "skip") || !strcmp(kind, "order")) {
        tell(rank, line[BROADCAST], line[ALLREDUCE]);
        make_call(BROADCAST, SMALL, 0);
        if (!strcmp(kind, "order"))
            make_call(ALLREDUCE, SMALL, 0);
    } else if (!strcmp(kind, "root") || !strcmp(kind, "size")) {
        make_call(ALLREDUCE, SMALL, 0);
        tell(rank, line[BROADCAST], line[BROADCAST]);
        make_call(BROADCAST, kind[0] == 'r' ? SMALL : MOST, kind[0] == 'r' ? 1 % ranks : 0);
    } else {
        tell(rank, last, line[ALLREDUCE]);
        if (!strcmp(kind, "dead"))
            _exit(0);
        if (!strcmp(kind, "stop"))
            raise(SIGSTOP);
        for (;;)
            pause();
    }
}

static void run(const char *kind, int rank, int ranks, int culprit, unsigned seed)
{
    CUcontext context;
    CUdevice device;
    CUdeviceptr memory[2];

    char host[32];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(host, sizeof host, "host%d", rank / DEVICES);
    setenv("NCCL_HOSTID", host, 1);
    cu = cuda_open(CUDA_LOAD);
    if (!cu || cu->Init(0) || cu->DeviceGet(&device, rank % DEVICES) ||
        cu->DevicePrimaryCtxRetain(&context, device) || cu->CtxSetCurrent(context) ||
        cu->StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) ||
        cu->MemAlloc(&memory[0], MOST * sizeof *in) ||
        cu->MemAlloc(&memory[1], (size_t)ranks * MOST * sizeof *in))
        _exit(77);
    in = (float *)memory[0];
    out = (float *)memory[1];
    if (!rank) {
        check(ncclGetUniqueId(&shared->id));
        __atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
    }
    while (!__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE))
        usleep(1000);
    check(ncclCommInitRank(&comm, ranks, shared->id, rank));
    for (int i = 0; i < CALLS; i++)
        make_call(i, SMALL, 0);
    for (unsigned i = seed % 50; i > 0; i--)
        make_call((int)(i * seed % CALLS), 1 + i, 0);
    make_call(ALLGATHER, SMALL, 0);
    cu->StreamSynchronize(stream);
    if (rank == culprit)
        go_wrong(kind, rank, ranks, line[ALLGATHER]);
    if (rank != culprit) {
        make_call(ALLREDUCE, SMALL, 0);
        make_call(BROADCAST, SMALL, 0);
    }
    make_call(ALLGATHER, SMALL, 0);
    cu->StreamSynchronize(stream);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    int ranks = argc == 5 ? atoi(argv[4]) : 0;

    if (ranks < 1)
        return 2;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    for (int i = 0; i < ranks; i++)
        if (fork() == 0)
            run(argv[1], i, ranks, atoi(argv[2]), (unsigned)atoi(argv[3]));
    while (wait(NULL) > 0)
        ;
    return 0;
}
