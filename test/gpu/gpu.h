/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between our code and the driver: run on the simulated driver and, unchanged, on a
 * device. A group of checks is a function; main() in contract.c lists them.
 */
#ifndef COLLSHIM_TEST_GPU_GPU_H
#define COLLSHIM_TEST_GPU_GPU_H

#include <stdint.h>

#include "transports/cuda/cuda_reduce.h"

extern const struct cuda_calls *cu;

/* One claim: counted, and printed if it does not hold. Returns ok. */
__attribute__((format(printf, 2, 3))) int gpu_check(int ok, const char *format, ...);
/* Something the checks cannot do without: ends the program if it fails. */
void gpu_must(CUresult result, const char *what);
#define MUST(call) gpu_must(cu->call, #call)
__attribute__((format(printf, 2, 3))) void gpu_skip(const char *group, const char *format, ...);

CUstream gpu_stream(void);
CUevent gpu_event(unsigned flags);
CUdeviceptr gpu_alloc(size_t bytes);
void *gpu_pinned(size_t bytes);
/* Memory mapped from two allocations, the boundary of which is in the middle of the bytes. */
struct gpu_mapping {
    CUdeviceptr base;
    size_t bytes;
    CUmemGenericAllocationHandle part[2];
};
CUdeviceptr gpu_map(struct gpu_mapping *m, size_t bytes);
void gpu_unmap(const struct gpu_mapping *m);
uint64_t gpu_random(void);
/* The simulated driver's own: NULL on a device. */
void *gpu_simulated(const char *symbol);

void gpu_start(int device); /* cuInit and the device's primary context, made current */

void gpu_test_ipc(void);         /* before the driver is started in this process, */
void gpu_test_collectives(void); /* and so is this; it needs kernels */
void gpu_test_memory(void);
void gpu_test_mapped(void);
void gpu_test_places(void);
void gpu_test_streams(void);
void gpu_test_graphs(void);
void gpu_test_events(void);
void gpu_test_values(void);
void gpu_test_peers(void);
void gpu_test_kernels(void);
void gpu_test_lengths(void);
void gpu_test_faults(void); /* simulated, and with kernels */
void gpu_test_simulation(void);
void gpu_print_rates(void);

#endif
