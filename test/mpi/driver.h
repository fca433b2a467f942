/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA driver for programs of several ranks, loaded as the runtime does it, after MPI_Init and
 * without a header of CUDA's: types are what the driver's ABI has. Rank r uses device r, or one of
 * those that there are. Where the driver is the simulated one, what it has seen is asked for at the
 * end. A rank may lose its device on the way.
 */
#ifndef COLLSHIM_TEST_MPI_DRIVER_H
#define COLLSHIM_TEST_MPI_DRIVER_H

#include <dlfcn.h>

#include "test/mpi/harness.h"

typedef unsigned long long address; /* CUdeviceptr */

/* CUmemAllocationProp and CUmemAccessDesc. */
struct location {
    int type, id;
};
struct properties {
    int type, handles;
    struct location where;
    void *security;
    unsigned char flags[8];
};
struct access {
    struct location where;
    int flags;
};
enum { PINNED = 1, ON_DEVICE = 1, READ_WRITE = 3, NON_BLOCKING = 1 };

#define DRIVER_CALLS(CALL)                                                                         \
    CALL(Init, 2000, unsigned)                                                                     \
    CALL(DeviceGetCount, 2000, int *)                                                              \
    CALL(DevicePrimaryCtxRetain, 7000, void **, int)                                               \
    CALL(CtxSetCurrent, 4000, void *)                                                              \
    CALL(CtxSynchronize, 2000, void)                                                               \
    CALL(MemAlloc, 3020, address *, size_t)                                                        \
    CALL(MemAllocAsync, 11020, address *, size_t, void *)                                          \
    CALL(MemAllocManaged, 6000, address *, size_t, unsigned)                                       \
    CALL(MemFree, 3020, address)                                                                   \
    CALL(MemGetAllocationGranularity, 10020, size_t *, const struct properties *, int)             \
    CALL(MemAddressReserve, 10020, address *, size_t, size_t, address, unsigned long long)         \
    CALL(MemAddressFree, 10020, address, size_t)                                                   \
    CALL(MemCreate, 10020, address *, size_t, const struct properties *, unsigned long long)       \
    CALL(MemRelease, 10020, address)                                                               \
    CALL(MemMap, 10020, address, size_t, size_t, address, unsigned long long)                      \
    CALL(MemUnmap, 10020, address, size_t)                                                         \
    CALL(MemSetAccess, 10020, address, size_t, const struct access *, size_t)                      \
    CALL(MemHostAlloc, 2020, void **, size_t, unsigned)                                            \
    CALL(MemFreeHost, 2000, void *)                                                                \
    CALL(MemcpyHtoD, 3020, address, const void *, size_t)                                          \
    CALL(MemcpyDtoH, 3020, void *, address, size_t)                                                \
    CALL(MemcpyHtoDAsync, 3020, address, const void *, size_t, void *)                             \
    CALL(MemcpyDtoHAsync, 3020, void *, address, size_t, void *)                                   \
    CALL(StreamCreateWithPriority, 5050, void **, unsigned, int)                                   \
    CALL(StreamDestroy, 4000, void *)                                                              \
    CALL(StreamSynchronize, 2000, void *)                                                          \
    CALL(StreamQuery, 2000, void *)                                                                \
    CALL(StreamWaitValue32, 11070, void *, address, unsigned, unsigned)

static struct {
#define CALL(name, version, ...) int (*name)(__VA_ARGS__);
    DRIVER_CALLS(CALL)
#undef CALL
} cu;

static void *own_context;
static int own_device;

/* The simulated driver's own; NULL on a device. */
static int (*violations)(void), (*left_over)(void), (*simulated_lost)(void);

static UNUSED int lost(void)
{
    return simulated_lost && simulated_lost();
}

static void need(int rc, const char *what)
{
    if (!rc)
        return;
    fprintf(stderr, "%s: rank %d: %s: %d\n", test_name, world_rank, what, rc);
    MPI_Abort(MPI_COMM_WORLD, 3);
}
/* Twice, since the call that is made to fail may be this one. */
#define NEED(call) need(cu.call &&cu.call && !lost(), "cu" #call)

static void find_in(void *library, const char *name, int (**to)(void))
{
    void *symbol = dlsym(library, name);

    memcpy(to, &symbol, sizeof *to);
}

static UNUSED void load_cuda(void)
{
    static const struct {
        const char *name;
        void *to;
        int version;
    } rows[] = {
#define CALL(name, version, ...) {"cu" #name, &cu.name, version},
        DRIVER_CALLS(CALL)
#undef CALL
    };
    int (*find)(const char *, void **, int, uint64_t, void *), status, devices = 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *symbol;

    if (!library) {
        if (!world_rank)
            printf("%s: SKIP: no libcuda.so.1\n", test_name);
        MPI_Finalize();
        exit(EXIT_SKIP);
    }
    symbol = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&find, &symbol, sizeof find);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        need(find(rows[i].name, rows[i].to, rows[i].version, 0, &status), rows[i].name);
    find_in(library, "gpusim_violations", &violations);
    find_in(library, "gpusim_left_over", &left_over);
    find_in(library, "gpusim_lost", &simulated_lost);
    NEED(Init(0));
    NEED(DeviceGetCount(&devices));
    own_device = world_rank % devices;
    NEED(DevicePrimaryCtxRetain(&own_context, own_device));
    NEED(CtxSetCurrent(own_context));
}

/* Before test_ended. */
static UNUSED void check_violations(void)
{
    if (violations && violations())
        fail("the simulated driver saw %d violations", violations());
}

/* After MPI_Finalize. Returns 1 if there is something. */
static UNUSED int is_left_over(void)
{
    int n = left_over ? left_over() : 0;

    if (n)
        fprintf(stderr, "%s: rank %d: %d things of the driver's are left over\n", test_name,
                world_rank, n);
    return n > 0;
}

#endif
