/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Equal calls give equal results: steady [SEED [CALLS [device]]]
 *
 * Allreduce of integers that overflow or differ in sign, CALLS times (60) for each type and
 * operation. Each has a communicator of its own, on which the guard tries the library's way and
 * others. The results are not judged: MPI leaves open what an overflow gives. device: the buffers
 * of every second call lie on a device; without the preload, only a library that takes device
 * memory passes.
 */
#include "test/mpi/driver.h"
#include "test/mpi/harness.h"
#include "test/mpi/uneven.h"

enum { BYTES = 200000 };

static const struct {
    const char *name;
    MPI_Datatype type;
    int logical; /* operations are for it */
} types[] = {
#define ROW(type, logical) {#type, type, logical},
    ROW(MPI_SIGNED_CHAR, 1) ROW(MPI_UNSIGNED_CHAR, 1) ROW(MPI_INT8_T, 1) ROW(MPI_UINT8_T, 1)
        ROW(MPI_SHORT, 1) ROW(MPI_UNSIGNED_SHORT, 1) ROW(MPI_INT16_T, 1) ROW(MPI_UINT16_T, 1)
            ROW(MPI_INT, 1) ROW(MPI_UNSIGNED, 1) ROW(MPI_UINT32_T, 1) ROW(MPI_UNSIGNED_LONG, 1)
                ROW(MPI_UINT64_T, 1) ROW(MPI_AINT, 0) ROW(MPI_OFFSET, 0) ROW(MPI_INTEGER1, 0)
                    ROW(MPI_INTEGER2, 0)};

static const struct {
    const char *name;
    MPI_Op op;
    int logical;
} ops[] = {{"SUM", MPI_SUM, 0},   {"PROD", MPI_PROD, 0}, {"MAX", MPI_MAX, 0},  {"MIN", MPI_MIN, 0},
           {"LAND", MPI_LAND, 1}, {"LOR", MPI_LOR, 1},   {"LXOR", MPI_LXOR, 1}};

static address on_device[2]; /* where a call's buffers lie there; 0: none does */

static void reduce(const void *mine, void *result, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, int there)
{
    if (!there) {
        MPI_Allreduce(mine, result, count, type, op, comm);
        return;
    }
    NEED(MemcpyHtoD(on_device[0], mine, BYTES));
    NEED(MemcpyHtoD(on_device[1], result, BYTES));
    MPI_Allreduce((void *)(uintptr_t)on_device[0], (void *)(uintptr_t)on_device[1], count, type, op,
                  comm);
    NEED(MemcpyDtoH(result, on_device[1], BYTES));
}

/* Do the ranks have the same bytes? */
static int all_alike(const unsigned char *bytes)
{
    uint64_t own[2] = {0}, most[2];

    for (int i = 0; i < BYTES; i++)
        own[0] = mix(own[0] + bytes[i]);
    own[1] = ~own[0];
    MPI_Allreduce(own, most, 2, MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD);
    return most[0] == own[0] && most[1] == own[1];
}

static void repeat(int type, int op, int calls)
{
    static unsigned char mine[BYTES], first[BYTES], again[BYTES];
    MPI_Comm comm;
    int size;

    MPI_Type_size(types[type].type, &size);
    for (int i = 0; i < BYTES; i++)
        mine[i] = (unsigned char)mix((uint64_t)(world_rank * BYTES + i));
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int k = 0; k < calls; k++) {
        unsigned char *result = k ? again : first;

        memset(result, 0, BYTES);
        reduce(mine, result, BYTES / size, types[type].type, ops[op].op, comm,
               on_device[0] && k % 2);
        if (k && memcmp(first, again, BYTES) != 0) {
            int at = 0;

            while (first[at] == again[at])
                at++;
            fail("%s of %s: call %d differs from the first in byte %d: %02x, %02x", ops[op].name,
                 types[type].name, k + 1, at, again[at], first[at]);
        }
    }
    MPI_Comm_free(&comm);
    if (!all_alike(first))
        fail("%s of %s: not the same on all ranks", ops[op].name, types[type].name);
}

int main(int argc, char **argv)
{
    int calls = argc > 2 ? atoi(argv[2]) : 60;

    MPI_Init(&argc, &argv);
    test_began("steady", argc, argv);
    if (argc > 3 && !strcmp(argv[3], "device")) {
        load_cuda();
        NEED(MemAlloc(&on_device[0], BYTES));
        NEED(MemAlloc(&on_device[1], BYTES));
    }
    for (int t = 0; t < (int)(sizeof types / sizeof *types); t++)
        for (int op = 0; op < (int)(sizeof ops / sizeof *ops); op++)
            if (types[t].logical >= ops[op].logical)
                repeat(t, op, calls);
    if (on_device[0]) {
        NEED(MemFree(on_device[0]));
        NEED(MemFree(on_device[1]));
        check_violations();
    }
    if (!world_rank && uneven(MPI_UINT8_T, MPI_SUM, 1))
        puts("steady: the library saturates in vectors alone");
    int code = test_ended();
    MPI_Finalize();
    return code | (on_device[0] && is_left_over());
}
