/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/comm/redop.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shim/nccl/call/thread.h"
#include "shim/nccl/comm/comm.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct redop *redop_find(struct nccl_comm *c, ncclRedOp_t op)
{
    struct redop *r;

    pthread_mutex_lock(&lock);
    for (r = c->redops; r && (r->op != op || r->ended); r = r->next)
        ;
    pthread_mutex_unlock(&lock);
    return r;
}

void redop_keep(struct redop *r)
{
    pthread_mutex_lock(&lock);
    if (r)
        r->users++;
    pthread_mutex_unlock(&lock);
}

/* Returns whether it has no user any more: then it is gone. */
static int leave(struct nccl_comm *c, struct redop *r, int ends)
{
    struct redop **at = &c->redops;
    int last;

    pthread_mutex_lock(&lock);
    r->ended |= ends;
    last = --r->users == 0;
    while (last && *at != r)
        at = &(*at)->next;
    if (last)
        *at = r->next;
    pthread_mutex_unlock(&lock);
    if (last)
        free(r);
    return last;
}

void redop_drop(struct nccl_comm *c, struct redop *r)
{
    ncclRedOp_t op = r ? r->op : ncclSum;

    if (r && leave(c, r, 0) && !__atomic_load_n(&c->stopped, __ATOMIC_ACQUIRE))
        REAL(c->copy, RedOpDestroy, op, c->handle);
}

int redop_end(struct nccl_comm *c, struct redop *r)
{
    return leave(c, r, 1);
}

void redop_forget_all(struct nccl_comm *c)
{
    for (struct redop *r = c->redops, *next; r; r = next) {
        next = r->next;
        free(r);
    }
}

int redop_note(struct nccl_comm *c, ncclRedOp_t op, const void *scalar, ncclDataType_t type,
               ncclScalarResidence_t residence)
{
    struct redop *r = malloc(sizeof *r);

    if (!r)
        return -1;
    *r = (struct redop){.op = op, .type = type, .users = 1};
    if (residence == ncclScalarDevice)
        r->factor_at = scalar;
    else
        memcpy(&r->factor, scalar, nccl_call_type_bytes(type));
    pthread_mutex_lock(&lock);
    r->next = c->redops;
    c->redops = r;
    pthread_mutex_unlock(&lock);
    return 0;
}
