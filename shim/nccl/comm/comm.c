/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of communicators: how they come into it, and go. */
#include "shim/nccl/comm/comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/nccl/comm/rolled.h"
#include "shim/record/counts/count.h"
#include "shim/record/report/reporter.h"

enum { BUCKETS = 64 };

struct entry {
    struct entry *next;
    ncclComm_t handle;
    struct nccl_comm *comm; /* owned by reference */
    uint64_t children;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *bucket[BUCKETS];

uint64_t nccl_comm_mix(uint64_t a, uint64_t b)
{
    a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
    a = (a ^ a >> 30) * 0xbf58476d1ce4e5b9u;
    return a ^ a >> 27;
}

static struct entry **place_of(ncclComm_t handle)
{
    struct entry **at = &bucket[(uintptr_t)handle / 64 % BUCKETS];

    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

struct nccl_comm *nccl_comm_find(ncclComm_t handle)
{
    struct nccl_comm *c = NULL;
    struct entry *e;

    pthread_mutex_lock(&lock);
    e = *place_of(handle);
    if (e) {
        c = e->comm;
        __atomic_fetch_add(&c->users, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
    return c;
}

static void comm_free(struct nccl_comm *c)
{
    if (c->notes.fd >= 0)
        close(c->notes.fd);
    for (int i = 0; i < nccl_comm_parts_n; i++)
        if (nccl_comm_parts[i].drop)
            nccl_comm_parts[i].drop(c);
    nccl_comm_forget_measured(c);
    topo_free(c->topo);
    store_rows_free(&c->measured.found);
    free(c->traffic.connected);
    free(c->traffic.sent);
    free(c);
}

/* Without the lock: the table has a use of its own, so no thread can find an entry that has none
   left. */
void nccl_comm_release(struct nccl_comm *c)
{
    if (!__atomic_sub_fetch(&c->users, 1, __ATOMIC_ACQ_REL))
        comm_free(c);
}

void nccl_comm_remove(ncclComm_t handle, int at_once)
{
    struct entry **at, *e;

    pthread_mutex_lock(&lock);
    at = place_of(handle);
    e = *at;
    if (e)
        *at = e->next;
    pthread_mutex_unlock(&lock);
    if (!e)
        return;
    roll_drop((uintptr_t)handle);
    __atomic_store_n(&e->comm->stopped, 1,
                     __ATOMIC_SEQ_CST); /* or its helpers end it: open_helpers */
    for (int i = 0; i < nccl_comm_parts_n; i++)
        if (nccl_comm_parts[i].end)
            nccl_comm_parts[i].end(e->comm, at_once);
    nccl_comm_release(e->comm);
    free(e);
}

uint64_t nccl_comm_next_child(ncclComm_t parent)
{
    uint64_t n = 0;
    struct entry *e;

    pthread_mutex_lock(&lock);
    e = *place_of(parent);
    if (e)
        n = ++e->children;
    pthread_mutex_unlock(&lock);
    return n;
}

struct nccl_comm *nccl_comm_make(struct nccl_copy *copy, ncclComm_t handle, uint64_t key)
{
    struct nccl_comm *c = calloc(1, sizeof *c);
    struct entry *e = calloc(1, sizeof *e);

    if (!c || !e || copy->real.CommCount(handle, &c->nranks) != ncclSuccess ||
        copy->real.CommUserRank(handle, &c->rank) != ncclSuccess ||
        !(c->traffic.sent = calloc(2 * (size_t)c->nranks, sizeof *c->traffic.sent)) ||
        !(c->traffic.connected = calloc((size_t)c->nranks, 1))) {
        if (c)
            free(c->traffic.sent);
        free(c);
        free(e);
        return NULL;
    }
    c->copy = copy;
    c->handle = handle;
    c->notes.key = key;
    c->users = 1;
    c->notes.fd = -1;
    guard_open(&c->measured.guard, 1, count_now);
    c->traffic.received = c->traffic.sent + c->nranks;
    *e = (struct entry){.handle = handle, .comm = c};
    nccl_comm_remove(handle, 1); /* one that ended unseen, at the same address */
    pthread_mutex_lock(&lock);
    struct entry **at = place_of(handle);
    e->next = *at;
    *at = e;
    pthread_mutex_unlock(&lock);
    reporter_rank(c->rank, c->nranks, key, copy->version);
    nccl_roll_add(handle, key, c->nranks, c->rank);
    if (c->rank == 0)
        say_problems();
    return c;
}

void nccl_comm_forget_measured(struct nccl_comm *c)
{
    for (int i = 0; i < GUARD_ENTRIES * GUARD_SLOTS; i++) {
        struct nccl_events *t = &c->measured.events[i / GUARD_SLOTS];
        CUevent begin = t->begin[i % GUARD_SLOTS], end = t->end[i % GUARD_SLOTS];

        if (begin)
            c->cu->EventDestroy(begin);
        if (end)
            c->cu->EventDestroy(end);
    }
    if (c->sets.asking)
        c->cu->EventDestroy(c->sets.asking);
    c->sets.asking = NULL;
    memset(c->measured.events, 0, sizeof c->measured.events);
    guard_open(&c->measured.guard, 1, count_now);
}
