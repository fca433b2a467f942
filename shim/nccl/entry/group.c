/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/entry/group.h"

#include <pthread.h>
#include <stdlib.h>

#include "shim/nccl/choose/gate.h"
#include "shim/nccl/choose/reroute.h"
#include "shim/nccl/choose/sets.h"
#include "shim/nccl/comm/redop.h"
#include "shim/nccl/comm/sited.h"

/* The group's calls on one communicator, in their order. */
struct group_part {
    struct nccl_comm *c;
    struct nccl_call *call; /* [n] */
    int n, wanted;
    pthread_t thread;
    int has_thread;
    ncclResult_t result;
};

static ncclResult_t issue(struct nccl_group *g, const struct nccl_call *call)
{
    ncclResult_t result = call->native(call);

    g->failed |= result != ncclSuccess && result != ncclInProgress;
    return result;
}

/* NCCL would answer with an error at once, or do nothing. */
static int is_void(const struct nccl_call *call, const struct nccl_comm *c)
{
    if (call->kind == CALL_COLLECTIVE && !call->count)
        return 1;
    return call->root < 0 || call->root >= c->nranks ||
           (call->count && !nccl_call_has_buffers(call, c->rank));
}

static int keep(struct nccl_group *g, const struct nccl_call *call, struct nccl_comm *c)
{
    if (g->n == g->room) {
        int room = g->room ? 2 * g->room : 16;
        struct group_call *more = realloc(g->call, (size_t)room * sizeof *more);

        if (!more)
            return -1;
        g->call = more;
        g->room = room;
    }
    redop_keep(call->redop);
    g->call[g->n] = (struct group_call){.call = *call, .c = c, .index = g->n};
    g->n++;
    return 0;
}

/* Native here alone would meet reroutes on other ranks. So this is the error of a library that has
   no memory either: the group fails on this rank, and the program aborts. */
static ncclResult_t lacks_memory(struct nccl_group *g)
{
    g->failed = g->lacks_memory = 1;
    return ncclSystemError;
}

/* Has the communicator been given to the library for the rest of this group? */
static int is_native(const struct nccl_group *g, const struct nccl_comm *c)
{
    for (int i = 0; g->some_issued && i < g->n; i++)
        if (g->call[i].issued && g->call[i].c == c)
            return 1;
    return 0;
}

/* c: its communicator; NULL: not known. */
static ncclResult_t pass_on(struct nccl_group *g, const struct nccl_comm *c,
                            const struct nccl_call *call, enum reason why)
{
    if (call->kind == CALL_COLLECTIVE)
        nccl_count_native(c, call, why);
    return issue(g, call);
}

/* c: of the handle, or NULL. Ranks of one communicator that this thread has are not several. */
static void note_communicator(struct nccl_group *g, ncclComm_t handle, const struct nccl_comm *c)
{
    uint64_t of = c && c->notes.key ? c->notes.key : (uintptr_t)handle;

    g->several |= g->of && g->of != of;
    g->of = of;
}

ncclResult_t nccl_group_add(struct nccl_group *g, const struct nccl_call *call)
{
    struct nccl_comm *c = nccl_comm_find(call->comm);
    enum reason why = !c ? REASON_UNKNOWN : c->notes.fd < 0 ? c->verdict : REASON_NONE;
    ncclResult_t result;

    note_communicator(g, call->comm, c);
    if (!why && is_void(call, c))
        why = REASON_ARGUMENTS;
    if (!why && !nccl_call_is_understood(call))
        nccl_group_leave_native(g, call->comm);
    if (!why && is_native(g, c))
        why = REASON_GROUP;
    if (c && call->kind != CALL_COLLECTIVE)
        nccl_set_note_message(c, call);
    if (!why && keep(g, call, c) == 0)
        return ncclSuccess;
    result = why ? pass_on(g, c, call, why) : lacks_memory(g);
    if (c)
        nccl_comm_release(c);
    return result;
}

/* A call that has been issued stands for the rest: also where there was none before. */
void nccl_group_leave_native(struct nccl_group *g, ncclComm_t comm)
{
    struct nccl_comm *c = g->depth ? nccl_comm_find(comm) : NULL;

    if (g->depth)
        note_communicator(g, comm, c);
    if (!c)
        return;
    for (int i = 0; i < g->n; i++) {
        struct group_call *k = &g->call[i];

        if (k->issued || k->c != c)
            continue;
        k->issued = 1;
        pass_on(g, c, &k->call, REASON_GROUP);
    }
    g->some_issued = 1;
    if (keep(g, &(struct nccl_call){.comm = comm}, c) == 0)
        g->call[g->n - 1].issued = 1;
    else {
        lacks_memory(g);
        nccl_comm_release(c);
    }
}

static void forget(struct nccl_group *g)
{
    for (int i = 0; i < g->n; i++) {
        redop_drop(g->call[i].c, g->call[i].call.redop);
        nccl_comm_release(g->call[i].c);
    }
    free(g->call);
    g->call = NULL;
    g->n = g->room = g->some_issued = g->failed = g->lacks_memory = g->several = 0;
    g->of = 0;
}

void nccl_group_flush_all(struct nccl_group *g)
{
    for (int i = 0; i < g->n; i++)
        if (!g->call[i].issued)
            pass_on(g, g->call[i].c, &g->call[i].call, REASON_GROUP);
    forget(g);
}

/* By communicator, alike on all ranks; then as they were called. */
static int in_order(const void *a, const void *b)
{
    const struct group_call *x = a, *y = b;

    if (x->c->notes.key != y->c->notes.key)
        return x->c->notes.key < y->c->notes.key ? -1 : 1;
    if (x->c != y->c)
        return x->c->rank - y->c->rank;
    return x->index - y->index;
}

/* Returns how many parts there are; call: [g->n], theirs one after the other. */
static int cut(struct nccl_group *g, struct group_part *part, struct nccl_call *call)
{
    int n = 0;

    qsort(g->call, (size_t)g->n, sizeof *g->call, in_order);
    for (int i = 0; i < g->n; i++) {
        if (g->call[i].issued)
            continue;
        if (!n || part[n - 1].c != g->call[i].c)
            part[n++] = (struct group_part){.c = g->call[i].c, .call = call};
        part[n - 1].n++;
        *call++ = g->call[i].call;
    }
    return n;
}

static void *run_part(void *data)
{
    struct group_part *p = data;

    p->result = nccl_reroute_bundle(p->c, p->call, p->n);
    return NULL;
}

/* Ranks of one communicator, at the same time. Returns how many they were. */
static int run_together(struct group_part *part, int n)
{
    int same = 1;

    while (same < n && part[same].c->notes.key == part[0].c->notes.key)
        same++;
    for (int i = 1; i < same; i++)
        part[i].has_thread =
            part[i].wanted && !pthread_create(&part[i].thread, NULL, run_part, &part[i]);
    for (int i = 0; i < same; i++)
        if (part[i].wanted && !part[i].has_thread)
            run_part(&part[i]);
    for (int i = 1; i < same; i++)
        if (part[i].has_thread)
            pthread_join(part[i].thread, NULL);
    return same;
}

/*
 * Is some part of it worth a reroute? Messages are not rerouted in a group of several
 * communicators. Each rank judges them by its own messages, and a rank's messages would come behind
 * its other communicators. So on one rank messages would go before a collective of another
 * communicator, on another rank behind it, and on one stream neither would end.
 */
static int is_wanted(const struct nccl_group *g, const struct group_part *p)
{
    if (g->several && nccl_set_is_candidate(p->c, p->call, p->n)) {
        count_native(COLL_ALLTOALLV, REASON_SEVERAL);
        return 0;
    }
    return nccl_gate_any(p->c, p->call, p->n);
}

static ncclResult_t run_parts(struct nccl_group *g, struct group_part *part, int n,
                              struct nccl_copy *copy)
{
    ncclResult_t result;

    for (int i = 0; i < n; i++) {
        part[i].wanted = is_wanted(g, &part[i]);
        for (int k = 0; !part[i].wanted && k < part[i].n; k++)
            pass_on(g, part[i].c, &part[i].call[k], nccl_gate(part[i].c, &part[i].call[k]));
    }
    result = REAL(copy, GroupEnd);
    if (g->failed || (result != ncclSuccess && result != ncclInProgress))
        return result;
    for (int i = 0; i < n;)
        i += run_together(&part[i], n - i);
    for (int i = 0; i < n && result == ncclSuccess; i++)
        result = part[i].result;
    return result;
}

ncclResult_t nccl_group_end(struct nccl_group *g, struct nccl_copy *copy)
{
    struct group_part *part = g->n ? malloc((size_t)g->n * sizeof *part) : NULL;
    struct nccl_call *call = g->n ? malloc((size_t)g->n * sizeof *call) : NULL;
    ncclResult_t result;

    if (g->n && (!part || !call))
        lacks_memory(g);
    if (!g->failed)
        result = run_parts(g, part, cut(g, part, call), copy);
    else
        result = REAL(copy, GroupEnd);
    if (g->lacks_memory && (result == ncclSuccess || result == ncclInProgress))
        result = ncclSystemError;
    free(part);
    free(call);
    forget(g);
    return result;
}
