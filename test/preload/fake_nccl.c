/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake libnccl, and with -DBACKEND the backend for it: both print what they get, so that one sees
 * who was called and that every argument arrived, a struct by value among them. Without NCCL's
 * header, so that it compiles for any processor. -DNO_TWIN: a library that only has NCCL's names.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

struct id {
    uint32_t word[32];
};

#ifndef BACKEND
#ifdef NO_TWIN
#define NAME(name) nccl##name
#else
#define NAME(name) pnccl##name
#pragma weak ncclGetVersion = pncclGetVersion
#pragma weak ncclCommInitRank = pncclCommInitRank
#pragma weak ncclAllReduce = pncclAllReduce
#pragma weak ncclGroupStart = pncclGroupStart
#endif

int NAME(GetVersion)(int *version);
int NAME(CommInitRank)(void **comm, int nranks, struct id id, int rank);
int NAME(AllReduce)(const void *send, void *recv, size_t count, int type, int op, void *comm,
                    void *stream);
int NAME(GroupStart)(void);

static uint32_t sum(const struct id *id)
{
    uint32_t s = 0;

    for (int i = 0; i < 32; i++)
        s += id->word[i];
    return s;
}

int NAME(GetVersion)(int *version)
{
    *version = 29901;
    return 0;
}

int NAME(CommInitRank)(void **comm, int nranks, struct id id, int rank)
{
    *comm = comm;
    printf(" init(%d %u %d)", nranks, sum(&id), rank);
    return 0;
}

int NAME(AllReduce)(const void *send, void *recv, size_t count, int type, int op, void *comm,
                    void *stream)
{
    printf(" allreduce(%td %td %zu %d %d %td %td)", (intptr_t)send, (intptr_t)recv, count, type, op,
           (intptr_t)comm, (intptr_t)stream);
    return 0;
}

int NAME(GroupStart)(void)
{
    printf(" group");
    return 0;
}

#else
#include "shim/preload/backend.h"

static int (*real_init)(void **, int, struct id, int);
static int (*real_allreduce)(const void *, void *, size_t, int, int, void *, void *);

static int init(void **comm, int nranks, struct id id, int rank)
{
    printf(" backend:");
    return real_init(comm, nranks, id, rank);
}

static int allreduce(const void *send, void *recv, size_t count, int type, int op, void *comm,
                     void *stream)
{
    printf(" backend:");
    return real_allreduce(send, recv, count, type, op, comm, stream);
}

const struct backend_entry *collshim_backend_open(const struct backend_host *host, char *why,
                                                  unsigned size);
const struct backend_entry *collshim_backend_open(const struct backend_host *host, char *why,
                                                  unsigned size)
{
    static const struct backend_entry entries[] = {
        {"CommInitRank", (void *)init}, {"AllReduce", (void *)allreduce}, {NULL, NULL}};

    (void)why, (void)size;
    *(void **)&real_init = dlsym(host->library, "pncclCommInitRank");
    *(void **)&real_allreduce = dlsym(host->library, "pncclAllReduce");
    return entries;
}
#endif
