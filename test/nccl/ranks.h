/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NCCL test program: ranks that are processes (or threads), a communicator of all of them, and
 * cases that say what NCCL promises. It runs as it is against the stand-in library, with the
 * preload and without, and against the real NCCL.
 */
#ifndef COLLSHIM_TEST_NCCL_RANKS_H
#define COLLSHIM_TEST_NCCL_RANKS_H

#include <nccl.h>
#include <stddef.h>
#include <stdint.h>

#include "transports/cuda/cuda_driver.h"

struct shared; /* of all ranks */

struct rank {
    int rank, nranks, device;
    int passed, failed, sums;
    ncclComm_t comm;
    CUstream stream;
    CUcontext context;
    size_t count; /* --count: elements of the large cases */
    struct shared *shared;
};

extern const struct cuda_calls *cu;

/* One claim: counted, and printed if it does not hold. Returns ok. */
__attribute__((format(printf, 3, 4))) int check(struct rank *r, int ok, const char *format, ...);
/* A precondition of the test: ends the process. */
void must_cuda(CUresult result, const char *what);
void must_nccl(ncclResult_t result, const char *what);
#define CUDA(call) must_cuda(cu->call, #call)
#define NCCL(call) must_nccl(call, #call)

void ranks_meet(struct rank *r);
/* One rank's bytes (rank 0's), to all. */
void ranks_tell_from(struct rank *r, int from, void *data, size_t bytes);
void ranks_tell(struct rank *r, void *data, size_t bytes);
/* A unique id, and another communicator, of all ranks. */
ncclUniqueId ranks_id(struct rank *r);
ncclComm_t ranks_comm(struct rank *r);
/* The result of a non-blocking communicator's last call. */
ncclResult_t comm_wait(ncclComm_t comm);

void *device_new(size_t bytes);
void device_free(void *p);
void device_write(void *p, const void *from, size_t bytes);
void device_read(void *to, const void *p, size_t bytes);
CUstream stream_new(void);
void stream_wait(CUstream s);

/* Types: numbers that every one of them holds exactly, 0 ... 8 and quarters; integers of
 * either sign, which wrap. */
size_t type_bytes(int type);
const char *type_name(int type);
int type_is_integer(int type);
int type_is_signed(int type);
double type_large(int type); /* a power of 2: twice as much is too large for a float type */
void number_write(int type, void *at, size_t index, double value);
double number_read(int type, const void *at, size_t index);

/* The cases. Each is collective: all ranks run it. */
struct test_case {
    const char *name;
    void (*run)(struct rank *r);
};
extern const struct test_case cases_results[];    /* results; ended by a NULL name */
extern const struct test_case cases_rules[];      /* rules that a program may rely on */
extern const struct test_case cases_streams[];    /* streams and contexts */
extern const struct test_case cases_groups[];     /* collectives in groups */
extern const struct test_case cases_sets[];       /* messages in groups */
extern const struct test_case cases_captures[];   /* calls in graphs */
extern const struct test_case cases_rates[];      /* how long it takes */
extern const struct test_case cases_helpers[];    /* processes that help a rank, and their end */
extern const struct test_case cases_kinds[];      /* communicators made in every way */
extern const struct test_case cases_registered[]; /* buffers that NCCL knows of */
extern const struct test_case cases_memory[];     /* of the device */
extern const struct test_case cases_ahead[];      /* hosts ahead of their streams */
extern const struct test_case cases_faults[];     /* NCCL's results for wrong programs */
extern const struct test_case cases_ways[];       /* functions that a call enters */

#endif
