/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl_ranks [--ranks N] [--devices D] [--hosts H] [--threads] [--count ELEMENTS] [--list] CASE...
 * Rank r uses device r % D and, unless ranks are threads, is of host r / (N / H). Exit status: 0
 * all held, 1 some did not, 2 wrong usage, 77 no driver or no device.
 */
#define _GNU_SOURCE
#include "test/nccl/ranks.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RANKS 72
#define CASES 128

struct shared {
    pthread_barrier_t barrier;
    char told[4096];
    int passed, failed;
};

static struct {
    int nranks, devices, hosts, threads;
    size_t count;
    const struct test_case *chosen[CASES];
    int nchosen;
} options = {.nranks = 4, .hosts = 1, .count = 100003};

const struct cuda_calls *cu;
static struct shared *shared;
static const char *running = "start"; /* the case */

int check(struct rank *r, int ok, const char *format, ...)
{
    char text[512];
    va_list list;

    r->passed += !!ok;
    r->failed += !ok;
    if (ok)
        return 1;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (r->failed < 10)
        printf("not ok rank %d: %s\n", r->rank, text);
    fflush(stdout);
    return 0;
}

void must_cuda(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    printf("not ok case %s: %s: %s\n", running, what, cuda_result_name(result));
    fflush(stdout);
    _exit(1);
}

void must_nccl(ncclResult_t result, const char *what)
{
    if (result == ncclSuccess)
        return;
    printf("not ok case %s: %s: %s, %s\n", running, what, ncclGetErrorString(result),
           ncclGetLastError(NULL));
    fflush(stdout);
    _exit(1);
}

void ranks_meet(struct rank *r)
{
    pthread_barrier_wait(&r->shared->barrier);
}

void ranks_tell_from(struct rank *r, int from, void *data, size_t bytes)
{
    ranks_meet(r);
    if (r->rank == from)
        memcpy(r->shared->told, data, bytes);
    ranks_meet(r);
    memcpy(data, r->shared->told, bytes);
    ranks_meet(r);
}

void ranks_tell(struct rank *r, void *data, size_t bytes)
{
    ranks_tell_from(r, 0, data, bytes);
}

ncclResult_t comm_wait(ncclComm_t comm)
{
    ncclResult_t state = ncclInProgress;

    while (state == ncclInProgress)
        NCCL(ncclCommGetAsyncError(comm, &state));
    return state;
}

ncclUniqueId ranks_id(struct rank *r)
{
    ncclUniqueId id;

    if (r->rank == 0)
        NCCL(ncclGetUniqueId(&id));
    ranks_tell(r, &id, sizeof id);
    return id;
}

ncclComm_t ranks_comm(struct rank *r)
{
    ncclUniqueId id = ranks_id(r);
    ncclResult_t result;
    ncclComm_t comm;

    result = ncclCommInitRank(&comm, r->nranks, id, r->rank);
    NCCL(result == ncclInProgress ? comm_wait(comm) : result); /* NCCL_COMM_BLOCKING=0 */
    return comm;
}

void *device_new(size_t bytes)
{
    CUdeviceptr p;

    CUDA(MemAlloc(&p, bytes ? bytes : 1));
    return (void *)p;
}

void device_free(void *p)
{
    CUDA(MemFree((CUdeviceptr)p));
}

void device_write(void *p, const void *from, size_t bytes)
{
    if (bytes) {
        CUDA(MemcpyHtoD((CUdeviceptr)p, from, bytes));
        CUDA(StreamSynchronize(NULL)); /* a copy from pageable memory may still be under way */
    }
}

void device_read(void *to, const void *p, size_t bytes)
{
    if (bytes)
        CUDA(MemcpyDtoH(to, (CUdeviceptr)p, bytes));
}

CUstream stream_new(void)
{
    CUstream s;

    CUDA(StreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, 0));
    return s;
}

void stream_wait(CUstream s)
{
    CUDA(StreamSynchronize(s));
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int run_rank(int number)
{
    struct rank r = {.rank = number,
                     .nranks = options.nranks,
                     .device = number % options.devices,
                     .count = options.count,
                     .shared = shared};
    CUdevice device;

    CUDA(DeviceGet(&device, r.device));
    CUDA(DevicePrimaryCtxRetain(&r.context, device));
    CUDA(CtxSetCurrent(r.context));
    r.stream = stream_new();
    for (int i = 0; i < options.nchosen; i++) {
        const double began = now();
        int failed = r.failed;

        __atomic_store_n(&running, options.chosen[i]->name, __ATOMIC_RELAXED);
        r.comm = ranks_comm(&r);
        options.chosen[i]->run(&r);
        ranks_meet(&r);
        if (r.comm)
            NCCL(ncclCommDestroy(r.comm));
        if (r.failed > failed)
            printf("not ok rank %d: case %s\n", number, options.chosen[i]->name);
        if (number == 0)
            printf("# %s: %.1f s\n", options.chosen[i]->name, now() - began);
        fflush(stdout);
    }
    CUDA(StreamDestroy(r.stream));
    __atomic_add_fetch(&shared->passed, r.passed, __ATOMIC_RELAXED);
    __atomic_add_fetch(&shared->failed, r.failed, __ATOMIC_RELAXED);
    return r.failed > 0;
}

static void *run_thread(void *data)
{
    run_rank((int)(intptr_t)data);
    return NULL;
}

/* Returns 0, or 77 where there is nothing to run on. */
static int open_driver(void)
{
    int n = 0;

    cu = cuda_open(CUDA_LOAD);
    if (!cu || cu->Init(0) != CUDA_SUCCESS || cu->DeviceGetCount(&n) != CUDA_SUCCESS || n == 0) {
        printf("skip: %s\n", cu ? "no device" : cuda_missing());
        return 77;
    }
    if (!options.devices)
        options.devices = n;
    return 0;
}

static int run_process(int number)
{
    char host[32];
    int rc;

    char *odd = number % 2 ? getenv("NCCL_RANKS_ODD") : NULL;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(host, sizeof host, "%d", (int)getpid());
    setenv("NCCL_RANKS_OWNER", host, 1); /* by which a rank knows its helpers */
    if (odd)
        putenv(odd);
    if (options.hosts > 1) {
        snprintf(host, sizeof host, "host%d", number / (options.nranks / options.hosts));
        setenv("NCCL_HOSTID", host, 1);
    }
    rc = open_driver();
    return rc ? rc : run_rank(number);
}

static int run_processes(void)
{
    pid_t child[RANKS];
    int worst = 0;

    for (int i = 0; i < options.nranks; i++) {
        fflush(stdout);
        child[i] = fork();
        if (child[i] == 0) {
            int rc = run_process(i);
            fflush(stdout);
            exit(rc);
        }
    }
    for (int i = 0; i < options.nranks; i++) {
        int status = 0;

        waitpid(-1, &status, 0);
        int rc = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        worst = rc > worst ? rc : worst;
        if (rc && rc != 77) /* the others would wait for it */
            for (int k = 0; k < options.nranks && rc != 1; k++)
                kill(child[k], SIGKILL);
    }
    return worst;
}

static int run_threads(void)
{
    pthread_t thread[RANKS];
    int rc = open_driver();

    if (rc)
        return rc;
    for (int i = 0; i < options.nranks; i++)
        pthread_create(&thread[i], NULL, run_thread, (void *)(intptr_t)i);
    for (int i = 0; i < options.nranks; i++)
        pthread_join(thread[i], NULL);
    return 0;
}

static const struct test_case *const tables[] = {
    cases_results, cases_rules, cases_streams, cases_kinds,      cases_faults,
    cases_groups,  cases_sets,  cases_helpers, cases_registered, cases_captures,
    cases_rates,   cases_ahead, cases_memory,  cases_ways};

static int choose(const char *name)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct test_case *c = tables[t]; c->name; c++)
            if (!strcmp(c->name, name) && options.nchosen < CASES) {
                options.chosen[options.nchosen++] = c;
                return 1;
            }
    return 0;
}

static int usage(const char *what)
{
    fprintf(stderr, "nccl_ranks: %s; --list shows the cases\n", what);
    return 2;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "0";

        if (!strcmp(argv[i], "--threads"))
            options.threads = 1;
        else if (!strcmp(argv[i], "--ranks"))
            options.nranks = atoi(next), i++;
        else if (!strcmp(argv[i], "--devices"))
            options.devices = atoi(next), i++;
        else if (!strcmp(argv[i], "--hosts"))
            options.hosts = atoi(next), i++;
        else if (!strcmp(argv[i], "--count"))
            options.count = strtoul(next, NULL, 10), i++;
        else if (!strcmp(argv[i], "--list"))
            for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
                for (const struct test_case *c = tables[t]; c->name; c++)
                    printf("%s\n", c->name);
        else if (!choose(argv[i]))
            return usage(argv[i]);
    }
    if (options.nranks < 1 || options.nranks > RANKS || options.hosts < 1 ||
        options.nranks % options.hosts)
        return usage("ranks must be 1 ... 72 and a multiple of hosts");
    if (!options.nchosen)
        return 0;

    pthread_barrierattr_t attributes;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attributes, (unsigned)options.nranks);
    int rc = options.threads ? run_threads() : run_processes();
    if (rc == 77)
        return 77;
    if (rc > 1)
        printf("not ok a rank ended with status %d\n", rc);
    shared->failed += rc > 1 || (rc && !shared->failed);
    printf("%d passed, %d failed\n", shared->passed, shared->failed);
    return shared->failed > 0;
}
