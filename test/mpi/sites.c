/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sites SEED [lost]: a communicator's life with two Allreduces of device memory, again and again.
 * Each function of the driver fails in turn, at its first call, its second ... until it is called
 * no more; after the eighth ever fewer of them, as some are called until something has happened. It
 * fails on the last rank alone. lost: that rank's device is lost at the call, the first, second,
 * fourth ...: nothing can be given back to it, so each one costs more than the one before.
 *
 * Wanted: an error or the right bytes, everything given back, and no hang. Only the simulated
 * driver fails like that; on any other the program says SKIP.
 */
#define _GNU_SOURCE
#include "test/mpi/driver.h"
#include "test/mpi/harness.h"

enum { ELEMENTS = 20011, CALLS = 2, ONE_BY_ONE = 8, OUT_OF_MEMORY = 2 };

static const char *const names[] = {
#define CUDA_CALL(name, version) #name,
#include "transports/cuda/cuda_calls.def"
#undef CUDA_CALL
};

static int (*fail_at)(const char *, long, int), (*lose_at)(const char *, long), (*failed)(void);

static address in[CALLS], out[CALLS];
static int host[ELEMENTS];
static long faults, errors;

static int contribution(int call, int rank, int i)
{
    return (int)(mix((uint64_t)call << 40 ^ (uint64_t)rank << 32 ^ (uint64_t)i) & 0xffffff);
}

/* Neither before the fault nor after it does the program's own use of the driver fail. */
static void fill(void)
{
    for (int call = 0; call < CALLS; call++) {
        memset(host, 0xdd, sizeof host);
        NEED(MemcpyHtoD(out[call], host, sizeof host));
        for (int i = 0; i < ELEMENTS; i++)
            host[i] = contribution(call, world_rank, i);
        NEED(MemcpyHtoD(in[call], host, sizeof host));
    }
}

static int is_right(int call)
{
    NEED(MemcpyDtoH(host, out[call], sizeof host));
    for (int i = 0; i < ELEMENTS; i++) {
        int want = 0;

        for (int r = 0; r < world_size; r++)
            want += contribution(call, r, i);
        if (host[i] != want)
            return 0;
    }
    return 1;
}

/* Memory whose release fails stays; without the context nothing can be released. */
static int gives_back(const char *name)
{
    return !strcmp(name, "CtxPushCurrent") || strstr(name, "Free") || strstr(name, "Destroy") ||
           strstr(name, "Unload") || strstr(name, "Close") || strstr(name, "Release");
}

/* Returns whether it was called so often. */
static int fail_once(const char *name, long nth, int is_lost)
{
    int left = left_over(), seen = violations(), rc[CALLS], here = world_rank == world_size - 1,
        happened;
    MPI_Comm comm;

    fill();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (here && is_lost)
        lose_at(name, nth);
    else if (here)
        fail_at(name, nth, OUT_OF_MEMORY);
    for (int call = 0; call < CALLS; call++)
        rc[call] = MPI_Allreduce((void *)(uintptr_t)in[call], (void *)(uintptr_t)out[call],
                                 ELEMENTS, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    happened = here && failed();
    fail_at(NULL, 0, 0);
    MPI_Bcast(&happened, 1, MPI_INT, world_size - 1, MPI_COMM_WORLD);
    faults += happened;
    for (int call = 0; call < CALLS; call++) {
        errors += rc[call] != MPI_SUCCESS;
        if (rc[call] == MPI_SUCCESS ? !is_right(call) : !happened)
            fail("cu%s %s at its %ld. call: call %d: code %d, and no right bytes", name,
                 is_lost ? "loses the device" : "fails", nth, call, rc[call]);
    }
    if (!is_lost && !gives_back(name) && (left_over() != left || violations() != seen))
        fail("cu%s fails at its %ld. call: %d things left over, %d violations", name, nth,
             left_over() - left, violations() - seen);
    return happened;
}

int main(int argc, char **argv)
{
    int is_lost = argc > 2;
    long all[2] = {0};
    void *library;

    MPI_Init(&argc, &argv);
    test_began("sites", argc, argv);
    load_cuda();
    library = dlopen("libcuda.so.1", RTLD_NOW);
    find_in(library, "gpusim_fail", (int (**)(void)) & fail_at);
    find_in(library, "gpusim_lose", (int (**)(void)) & lose_at);
    find_in(library, "gpusim_failed", &failed);
    if (!fail_at || !lose_at || !failed) {
        if (!world_rank)
            printf("sites: SKIP: not the simulated driver\n");
        MPI_Finalize();
        return EXIT_SKIP;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int call = 0; call < CALLS; call++) {
        NEED(MemAlloc(&in[call], sizeof host));
        NEED(MemAlloc(&out[call], sizeof host));
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (long nth = 1; fail_once(names[i], nth, is_lost);)
            nth += is_lost ? nth : 1 + nth / ONE_BY_ONE;
    for (int call = 0; call < CALLS; call++) {
        NEED(MemFree(in[call]));
        NEED(MemFree(out[call]));
    }
    MPI_Reduce((long[]){faults, errors}, all, 2, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    int rc = test_ended();
    if (!world_rank)
        printf("faults: %ld\nerrors returned: %ld\n", all[0], all[1]);
    MPI_Finalize();
    return rc;
}
