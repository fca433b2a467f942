/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every algorithm on device memory: a process per rank, with the engine, the shared-memory
 * transport and the device as the shim puts them together, but no MPI. On a machine with one device
 * all ranks use it. Each call is made again, which has to find everything that it needs.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "planners/algorithms/collaborative/collaborative.h"
#include "planners/choose/registry.h"
#include "test/gpu/gpu.h"
#include "transports/cuda/cuda_memory.h"
#include "transports/engine/engine.h"
#include "transports/shm/shm.h"

enum { MOST = 4, ELEMENTS = 30011, AROUND = 64 };

static const enum plan_collective collectives[] = {COLL_ALLREDUCE, COLL_ALLGATHER, COLL_BCAST,
                                                   COLL_REDUCE, COLL_ALLTOALL};

/* Memory that the ranks share beside the transport. */
struct world {
    _Atomic int arrived, plans;
    struct shm_offer offer[MOST];
};

struct rank {
    struct world *world;
    int rank, ranks, meetings;
    struct topo *topo;
    struct xport xport;
    struct cuda_gpu *gpu;
};

static void claim(int holds, const char *what, const char *algorithm)
{
    if (holds)
        return;
    printf("not ok %s%s%s\n", what, algorithm ? ": " : "", algorithm ? algorithm : "");
    fflush(stdout);
    _exit(1);
}

static void meet(struct rank *r)
{
    r->meetings++;
    r->world->arrived++;
    while (r->world->arrived < r->meetings * r->ranks)
        sched_yield();
}

static int32_t number(int rank, size_t i)
{
    return (int32_t)((i * 2654435761u) >> 12) % 1000 + 1000 * rank;
}

static int32_t total(int ranks, size_t i)
{
    int32_t sum = 0;

    for (int r = 0; r < ranks; r++)
        sum += number(r, i);
    return sum;
}

/* The right value of element i of the output. */
static int32_t expected(const struct plan_request *q, int ranks, size_t i)
{
    size_t block = q->nbytes / sizeof(int32_t);

    switch (q->collective) {
    case COLL_ALLREDUCE:
    case COLL_REDUCE:
        return total(ranks, i);
    case COLL_ALLGATHER:
        return number((int)(i / block), i % block);
    case COLL_ALLTOALL:
        return number((int)(i / block), (size_t)q->rank * block + i % block);
    default:
        return number(q->root, i);
    }
}

/* Pinned memory with the rank's numbers; Bcast's root has them in the output. */
static int32_t *numbers(const struct plan_request *q, size_t bytes, int real)
{
    int32_t *p = gpu_pinned(bytes + AROUND);

    for (size_t i = 0; i < bytes / sizeof *p; i++)
        p[i] = real ? number(q->rank, i) : -1;
    memset((char *)p + bytes, 0x5a, AROUND);
    return p;
}

/* Inputs are memory mapped in parts, outputs plain; at odd ranks the other way round. */
static CUdeviceptr upload(const struct plan_request *q, int is_input, const int32_t *from,
                          size_t bytes, struct gpu_mapping *m)
{
    CUdeviceptr p =
        is_input == q->rank % 2 ? gpu_alloc(bytes + AROUND) : gpu_map(m, bytes + AROUND);

    /* In the default stream, and not waited for: the call comes after it all the same. */
    MUST(MemcpyHtoDAsync(p, from, bytes + AROUND, NULL));
    return p;
}

/* The host's part is combined there. */
static void add(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    const int32_t *x = a, *y = b;
    int32_t *to = dst;

    (void)context;
    for (size_t i = 0; i < bytes / sizeof *to; i++)
        to[i] = x[i] + y[i];
}

/* Calls that stop the device or take long: making and ending things, and waiting for anything but a
   job's event. All of them belong before the first call or after the last one. */
static long costly_calls(void)
{
    static const char *const names[] = {
        "MemAlloc",        "MemFree",           "MemHostAlloc",
        "MemFreeHost",     "MemHostRegister",   "StreamCreateWithPriority",
        "StreamDestroy",   "EventDestroy",      "ModuleLoadData",
        "IpcGetMemHandle", "IpcOpenMemHandle",  "IpcCloseMemHandle",
        "CtxSynchronize",  "StreamSynchronize", "EventSynchronize",
        "MemcpyHtoD",      "MemcpyDtoH"};
    long (*calls)(const char *) = (long (*)(const char *))gpu_simulated("gpusim_calls"), sum = 0;

    for (size_t i = 0; calls && i < sizeof names / sizeof *names; i++)
        sum += calls(names[i]);
    return sum;
}

/* Once, with what it needs of the device kept from call to call. */
static int run_engine(struct rank *r, const struct plan *plan, struct engine *e, CUdeviceptr in,
                      CUdeviceptr out)
{
    struct device *d = cuda_gpu_begin(r->gpu, KERNEL_I32, KERNEL_SUM);

    claim(d != NULL, "a call begins", plan->algorithm);
    int rc = engine_run(
        e, &(struct engine_buffers){.input = (void *)in,
                                    .output = (void *)out,
                                    .scratch = cuda_gpu_scratch(r->gpu, plan->scratch_bytes),
                                    .host = cuda_gpu_pinned(r->gpu, plan->host_bytes),
                                    .combine = add,
                                    .grain = sizeof(int32_t),
                                    .device = d});
    cuda_gpu_end(r->gpu);
    return rc;
}

static int run_twice(struct rank *r, const struct plan *plan, CUdeviceptr in, CUdeviceptr out)
{
    struct engine *e = NULL;
    struct cuda_place place;

    claim(cuda_place_of((void *)out, &place), "the output is device memory", plan->algorithm);
    if (!r->gpu)
        claim(cuda_gpu_open(&place, &r->gpu) == 0, "a device opens", NULL);
    claim(cuda_gpu_combines(r->gpu, KERNEL_I32, KERNEL_SUM), "a sum has a kernel", NULL);
    claim(engine_create(plan, &r->xport, &e) == 0, "an engine", plan->algorithm);
    int rc = run_engine(r, plan, e, in, out);
    meet(r); /* a rank that has not begun yet may have windows to open */
    long before = costly_calls();
    rc = rc ? rc : run_engine(r, plan, e, in, out);
    claim(costly_calls() == before,
          "a second call makes nothing, and waits for nothing but its jobs", plan->algorithm);
    engine_free(e);
    return rc;
}

static void run(struct rank *r, const struct plan_algorithm *a, enum plan_collective c)
{
    struct plan_request q = {.collective = c,
                             .topo = r->topo,
                             .rank = r->rank,
                             .root = r->ranks - 1,
                             .nbytes = ELEMENTS * sizeof(int32_t),
                             .grain = sizeof(int32_t),
                             .memory = PLAN_ON_DEVICE,
                             .recipe = a == &plan_collaborative ? "split=37.5" : NULL,
                             .chunk_bytes = 32768};
    size_t in_bytes = plan_input_bytes(&q, q.rank), out_bytes = plan_output_bytes(&q, q.rank);
    int32_t *given = numbers(&q, in_bytes, 1);
    int32_t *got = numbers(&q, out_bytes, c == COLL_BCAST && q.rank == q.root);
    struct gpu_mapping mapped;
    CUdeviceptr in, out;
    struct plan *plan;

    if (a->build(&q, &plan) == 0) {
        in = upload(&q, 1, given, in_bytes, &mapped);
        out = upload(&q, 0, got, out_bytes, &mapped);
        claim(run_twice(r, plan, in, out) == 0, "a call succeeds", a->name);
        MUST(MemcpyDtoH(got, out, out_bytes + AROUND));
        for (size_t i = 0; i < out_bytes / sizeof *got; i++)
            claim(got[i] == expected(&q, r->ranks, i), plan_collective_name(c), a->name);
        for (int i = 0; i < AROUND; i++)
            claim(((char *)got)[out_bytes + (size_t)i] == 0x5a, "nothing past the end", a->name);
        r->world->plans++;
        plan_free(plan);
        MUST(MemFree(q.rank % 2 ? in : out));
        gpu_unmap(&mapped);
    }
    MUST(MemFreeHost(given));
    MUST(MemFreeHost(got));
}

static void be_rank(struct world *w, int rank, int ranks)
{
    struct rank r = {.world = w, .rank = rank, .ranks = ranks};
    int member[MOST] = {0, 1, 2, 3}, devices = 1;
    int (*violations)(void), (*left_over)(void);
    char text[32], why[128] = "";

    gpu_start(0);
    MUST(DeviceGetCount(&devices));
    gpu_start(rank % devices);
    snprintf(text, sizeof text, "node:1 rank:%d", ranks);
    claim(topo_parse(text, ranks, &r.topo, why, sizeof why) == 0, "a topology", why);
    claim(!xport_shm_open(0, &r.xport, &w->offer[rank]), "shm", NULL);
    claim(!xport_shm_place(&r.xport, member, ranks, rank, ranks), "shm", NULL);
    meet(&r);
    claim(!xport_shm_join(&r.xport, w->offer), "shm", NULL);
    meet(&r);
    xport_shm_joined(&r.xport);
    for (int a = 0; a < plan_algorithm_count; a++)
        for (size_t c = 0; c < sizeof collectives / sizeof *collectives; c++)
            if (plan_algorithms[a]->collectives & 1u << collectives[c])
                run(&r, plan_algorithms[a], collectives[c]);
    while (!xport_shm_part(&r.xport))
        sched_yield();
    cuda_gpu_close(r.gpu);
    xport_shm_close(&r.xport);
    topo_free(r.topo);
    violations = (int (*)(void))gpu_simulated("gpusim_violations");
    left_over = (int (*)(void))gpu_simulated("gpusim_left_over");
    claim(!violations || !violations(), "the simulated driver sees no violation", NULL);
    claim(!left_over || !left_over(), "everything is given back to the driver", NULL);
    fflush(stdout);
    _exit(0);
}

static void with_ranks(int ranks)
{
    struct world *w =
        mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status, bad = 0, skipped = 0;
    pid_t child[MOST];

    for (int i = 0; i < ranks; i++) {
        child[i] = fork();
        if (!child[i]) {
            alarm(100);
            be_rank(w, i, ranks);
        }
    }
    for (int i = 0; i < ranks; i++) {
        waitpid(child[i], &status, 0);
        skipped |= WIFEXITED(status) && WEXITSTATUS(status) == 77;
        if (status && !skipped && !bad++)
            for (int k = i + 1; k < ranks; k++)
                kill(child[k], SIGKILL);
    }
    if (!skipped)
        gpu_check(!bad && w->plans > 10 * ranks,
                  "collectives of %d ranks on device memory (%d calls)", ranks, w->plans);
    munmap(w, sizeof *w);
}

void gpu_test_collectives(void)
{
    with_ranks(2);
    with_ranks(3);
}
