/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: what a thread has called since the outermost ncclGroupStart, launched at its end. */
#include <pthread.h>
#include <stdlib.h>

#include "test/ncclsim/ncclsim.h"

struct job {
    struct job *next;
    ncclResult_t (*run)(void *data);
    void *data;
    pthread_t thread;
    ncclResult_t result;
};

static __thread struct {
    int depth;
    unsigned number;
    ncclResult_t error;
    struct call *calls, **last_call;
    struct job *jobs;
} group;

int group_open(void)
{
    return group.depth > 0;
}

unsigned group_number(void)
{
    return group_open() ? group.number : 0;
}

ncclResult_t group_refuse(ncclResult_t result)
{
    if (group_open() && !group.error)
        group.error = result;
    return result;
}

static void *run_job(void *data)
{
    struct job *j = data;

    j->result = j->run(j->data);
    return NULL;
}

ncclResult_t group_defer(ncclResult_t (*run)(void *data), void *data)
{
    struct job *j;

    if (!group_open())
        return run(data);
    j = calloc(1, sizeof *j);
    if (!j)
        return ncclSystemError;
    j->run = run;
    j->data = data;
    j->next = group.jobs;
    group.jobs = j;
    return ncclSuccess;
}

static void forget(struct call *calls)
{
    for (struct call *next; calls; calls = next) {
        next = calls->next;
        free(calls);
    }
}

/* A communicator's part of a group. A message to oneself is sent and received in the same one. */
static ncclResult_t launch(struct call *calls)
{
    struct ncclComm *comm = calls->comm;
    int alone = 0;

    for (const struct call *c = calls; c; c = c->next)
        if (c->peer == comm->rank)
            alone += (c->post.kind == KIND_SEND) - (c->post.kind == KIND_RECV);
    if (!alone)
        return run_launch(comm, calls);
    forget(calls);
    return comm_error(comm, ncclInvalidUsage,
                      "rank %d sends to itself in another group than it "
                      "receives in",
                      comm->rank);
}

ncclResult_t group_add(const struct call *call)
{
    struct call *copy = malloc(sizeof *copy);

    if (!copy)
        return ncclSystemError;
    *copy = *call;
    copy->next = NULL;
    if (!group_open()) {
        ncclResult_t bad = comm_connect(copy->comm, copy);

        if (!bad)
            return launch(copy);
        free(copy);
        return bad;
    }
    if (!group.calls)
        group.last_call = &group.calls;
    *group.last_call = copy;
    group.last_call = &copy->next;
    return ncclSuccess;
}

/* The communicator whose work is launched first: on all ranks in one order, however it was called.
 * Several ranks of one are launched as they were called. */
static const struct ncclComm *first_of(const struct call *list)
{
    const struct ncclComm *first = list->comm;

    for (; list; list = list->next)
        if (list->comm->board->number < first->board->number)
            first = list->comm;
    return first;
}

/* The calls of one communicator, in order, taken out of the list. */
static struct call *take(struct call **list, const struct ncclComm *comm)
{
    struct call *taken = NULL, **end = &taken;

    while (*list) {
        if ((*list)->comm != comm) {
            list = &(*list)->next;
            continue;
        }
        *end = *list;
        end = &(*list)->next;
        *list = *end;
        *end = NULL;
    }
    return taken;
}

static ncclResult_t run_jobs(struct job *jobs)
{
    ncclResult_t bad = ncclSuccess;

    for (struct job *j = jobs; j; j = j->next)
        if (pthread_create(&j->thread, NULL, run_job, j))
            abort();
    for (struct job *j = jobs, *next; j; j = next) {
        next = j->next;
        pthread_join(j->thread, NULL);
        if (j->result)
            bad = j->result;
        free(j);
    }
    return bad;
}

struct connecting {
    struct ncclComm *comm;
    const struct call *calls;
};

static ncclResult_t run_connect(void *data)
{
    struct connecting *c = data;

    return comm_connect(c->comm, c->calls);
}

/* All communicators of the group at the same time (ncclP2PPreconnectFunc, group.cc). */
static ncclResult_t connect_all(const struct call *calls)
{
    struct connecting each[64];
    struct job *jobs = NULL;
    int n = 0;

    for (const struct call *c = calls; c; c = c->next) {
        int known = 0;

        for (int i = 0; i < n; i++)
            known |= each[i].comm == c->comm;
        if (known || n == 64)
            continue;
        each[n] = (struct connecting){c->comm, calls};
        struct job *j = calloc(1, sizeof *j);

        if (!j)
            abort();
        *j = (struct job){.next = jobs, .run = run_connect, .data = &each[n++]};
        jobs = j;
    }
    if (n != 1)
        return run_jobs(jobs);
    free(jobs);
    return comm_connect(each[0].comm, calls);
}

static ncclResult_t end(int runs)
{
    ncclResult_t bad = group.error, result;
    struct call *calls = group.calls;
    struct job *jobs = group.jobs;

    group.calls = NULL;
    group.jobs = NULL;
    group.error = ncclSuccess;
    result = run_jobs(jobs);
    bad = bad ? bad : result;
    if (runs && !bad && calls)
        bad = connect_all(calls);
    while (calls) {
        struct call *mine = take(&calls, first_of(calls));

        if (runs && !bad)
            bad = launch(mine);
        else
            forget(mine);
    }
    return bad;
}

NCCL_API(ncclResult_t, GroupStart, (void))
{
    group.number += group.depth++ == 0;
    return ncclSuccess;
}

NCCL_API(ncclResult_t, GroupEnd, (void))
{
    if (group.depth == 0)
        return ncclInvalidUsage;
    return --group.depth ? ncclSuccess : end(1);
}

NCCL_API(ncclResult_t, GroupSimulateEnd, (ncclSimInfo_t * info))
{
    if (group.depth == 0)
        return ncclInvalidUsage;
    if (info)
        info->estimatedTime = 1;
    return --group.depth ? ncclSuccess : end(0);
}
