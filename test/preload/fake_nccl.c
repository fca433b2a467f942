/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake libnccl, and with -DBACKEND the backend for it: both print their arguments, so that a test
 * sees which one was called and that every argument arrived, a struct by value among them. Without
 * NCCL's header, so that it compiles for any processor. -DNO_TWIN: a library that only has NCCL's
 * names. -DTAG="b:": what tells it from another copy. -DCALLER: a library that is linked with a
 * copy.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

struct id {
    uint32_t word[32];
};

#ifndef TAG
#define TAG ""
#endif

#ifdef CALLER
int ncclGetVersion(int *version);
int ncclCommInitRank(void **comm, int nranks, struct id id, int rank);
int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm,
                  void *stream);
int ncclGroupStart(void);

void run(void);
void run(void)
{
    struct id id = {{0}};
    void *comm;
    int version = 0;

    ncclGetVersion(&version);
    ncclCommInitRank(&comm, 1, id, 0);
    ncclAllReduce((void *)1, (void *)2, 3, 4, 5, (void *)6, (void *)7);
    ncclGroupStart();
    printf(" version %d\n", version);
}

#elif !defined(BACKEND)
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
    *version = 29901 + (int)sizeof TAG - 1;
    return 0;
}

int NAME(CommInitRank)(void **comm, int nranks, struct id id, int rank)
{
    *comm = comm;
    printf(" " TAG "init(%d %u %d)", nranks, sum(&id), rank);
    return 0;
}

int NAME(AllReduce)(const void *send, void *recv, size_t count, int type, int op, void *comm,
                    void *stream)
{
    printf(" " TAG "allreduce(%td %td %zu %d %d %td %td)", (intptr_t)send, (intptr_t)recv, count,
           type, op, (intptr_t)comm, (intptr_t)stream);
    return 0;
}

int NAME(GroupStart)(void)
{
    printf(" " TAG "group");
    return 0;
}

#else
#include "shim/preload/backend.h"

enum { COPIES = 2 };
static int (*real_init[COPIES])(void **, int, struct id, int);
static int (*real_allreduce[COPIES])(const void *, void *, size_t, int, int, void *, void *);

/* Functions of its own for each copy, as the real backend has them. */
#define COPY(n)                                                                                    \
    static int init_##n(void **comm, int nranks, struct id id, int rank)                           \
    {                                                                                              \
        printf(" backend:");                                                                       \
        return real_init[n](comm, nranks, id, rank);                                               \
    }                                                                                              \
    static int allreduce_##n(const void *send, void *recv, size_t count, int type, int op,         \
                             void *comm, void *stream)                                             \
    {                                                                                              \
        printf(" backend:");                                                                       \
        return real_allreduce[n](send, recv, count, type, op, comm, stream);                       \
    }
COPY(0)
COPY(1)

const struct backend_entry *collshim_backend_open(const struct backend_host *host, char *why,
                                                  unsigned size);
const struct backend_entry *collshim_backend_open(const struct backend_host *host, char *why,
                                                  unsigned size)
{
    static const struct backend_entry entries[COPIES][3] = {
        {{"CommInitRank", (void *)init_0}, {"AllReduce", (void *)allreduce_0}, {NULL, NULL}},
        {{"CommInitRank", (void *)init_1}, {"AllReduce", (void *)allreduce_1}, {NULL, NULL}}};
    static int n;

    (void)why, (void)size;
    if (n == COPIES)
        return NULL;
    *(void **)&real_init[n] = dlsym(host->library, "pncclCommInitRank");
    *(void **)&real_allreduce[n] = dlsym(host->library, "pncclAllReduce");
    return entries[n++];
}
#endif
