/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators being made and ended. A communicator made inside a group is ready, and has a known
 * rank, only when the outermost group ends: until then the thread keeps a note of it.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "shim/nccl/board/notice_board.h"
#include "shim/nccl/call/scratch.h"
#include "shim/nccl/comm/comm.h"
#include "shim/nccl/comm/comm_add.h"
#include "shim/nccl/comm/notes.h"
#include "shim/nccl/comm/registered.h"
#include "shim/nccl/entry/group.h"
#include "shim/nccl/entry/wrappers.h"
#include "shim/nccl/helpers/ppg_watch.h"
#include "shim/nccl/run/host_memory.h"
#include "shim/nccl/run/verify.h"
#include "shim/record/report/reporter.h"

struct pending {
    struct pending *next;
    struct nccl_copy *copy;
    ncclComm_t handle;
    const ncclComm_t *at; /* the program's, where NCCL stores a child's handle at the group's end */
    enum { BY_ID, CHILD, NATIVE } how;
    ncclUniqueId id;
    ncclComm_t parent;
    uint64_t nth;
    int by, channels;
    enum reason why;
};

static void pending_add(const struct pending *p)
{
    switch (p->how) {
    case BY_ID:
        nccl_comm_add_by_id(p->copy, p->handle, &p->id, p->channels);
        break;
    case CHILD:
        nccl_comm_add_child(p->copy, p->handle, p->parent, p->nth, p->by, p->channels);
        break;
    default:
        nccl_comm_add_native(p->copy, p->handle, p->why);
    }
}

/* Now, or when the group ends. Without memory the communicator stays unknown. */
static void pending_note(ncclResult_t result, const struct pending *p)
{
    struct pending *later;

    if (result != ncclSuccess || (!p->handle && !p->at))
        return;
    if (!this_thread.group[p->copy->number].depth) {
        pending_add(p);
        return;
    }
    later = malloc(sizeof *later);
    if (!later)
        return;
    *later = *p;
    later->next = this_thread.pending;
    this_thread.pending = later;
}

static void settle_pending(struct nccl_copy *copy, ncclResult_t result)
{
    struct pending **at = &this_thread.pending, *p;

    while ((p = *at)) {
        if (p->copy != copy) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        if (p->at)
            p->handle = *p->at;
        if (result == ncclSuccess && p->handle)
            pending_add(p);
        free(p);
    }
}

/* Such a communicator has no rank to ask for when the call returns, and its calls end later:
 * unknown. */
static int is_nonblocking(const ncclConfig_t *config)
{
    const char *set = secure_getenv("NCCL_COMM_BLOCKING");

    if (set && *set)
        return *set == '0';
    return config && config->blocking == 0;
}

/* Does the program want NCCL to use few of the GPU's multiprocessors, or none, rather than be fast?
   The guard times the stream alone, so it does not see a schedule's multiprocessors. */
static int has_policy(const ncclConfig_t *config)
{
    const char *set = secure_getenv("NCCL_CTA_POLICY");

    if (set && *set)
        return strcmp(set, "0") != 0 && strcasecmp(set, "DEFAULT") != 0;
#ifdef NCCL_CTA_POLICY_DEFAULT
    return config && config->size >= offsetof(ncclConfig_t, CTAPolicy) + sizeof config->CTAPolicy &&
           config->CTAPolicy > NCCL_CTA_POLICY_DEFAULT;
#else
    (void)config;
    return 0;
#endif
}

/* A field of the configuration; 0: it is not there, or says nothing. */
#define CONFIG_FIELD(config, field)                                                                \
    ((config) && (config)->size >= offsetof(ncclConfig_t, field) + sizeof(config)->field &&        \
             (config)->field != NCCL_CONFIG_UNDEF_INT                                              \
         ? (config)->field                                                                         \
         : 0)

/* Does the program leave multiprocessors to its own kernels? NCCL's limit is 64. */
static int has_limit(const ncclConfig_t *config)
{
    static const char *const names[] = {"NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS"};
    enum { NO_LIMIT = 64 };
    int set = CONFIG_FIELD(config, maxCTAs);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = secure_getenv(names[i]);
        long n = text ? strtol(text, NULL, 0) : 0;

        if (n > 0 && n < NO_LIMIT)
            return 1;
    }
    return set > 0 && set < NO_LIMIT;
}

static int channels_by(const ncclConfig_t *config)
{
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
    return CONFIG_FIELD(config, nChannelsPerNetPeer);
#else
    (void)config;
    return 0;
#endif
}

static int leaves_blocks(const ncclConfig_t *config)
{
    return has_policy(config) || has_limit(config);
}

static void note_by_id(struct nccl_copy *copy, ncclResult_t result, const ncclComm_t *comm,
                       int nranks, int rank, const ncclUniqueId *id, const ncclConfig_t *config)
{
    struct pending p = {.copy = copy,
                        .how = leaves_blocks(config) ? NATIVE : BY_ID,
                        .why = REASON_FEW_BLOCKS,
                        .channels = channels_by(config)};

    if (this_thread.inside)
        return;
    if (is_nonblocking(config)) {
        reporter_rank(rank, nranks, 0, copy->version);
        return;
    }
    if (result != ncclSuccess || !comm)
        return;
    p.handle = *comm;
    p.id = *id;
    pending_note(result, &p);
}

ncclResult_t nccl_wrap_GetUniqueId(struct nccl_copy *copy, ncclUniqueId *id)
{
    ncclResult_t result = REAL(copy, GetUniqueId, id);

    if (result == ncclSuccess && !this_thread.inside)
        notice_keep(id);
    return result;
}

ncclResult_t nccl_wrap_CommInitRank(struct nccl_copy *copy, ncclComm_t *comm, int nranks,
                                    ncclUniqueId id, int rank)
{
    ncclResult_t result = REAL(copy, CommInitRank, comm, nranks, id, rank);

    note_by_id(copy, result, comm, nranks, rank, &id, NULL);
    return result;
}

ncclResult_t nccl_wrap_CommInitRankConfig(struct nccl_copy *copy, ncclComm_t *comm, int nranks,
                                          ncclUniqueId id, int rank, ncclConfig_t *config)
{
    ncclResult_t result = REAL(copy, CommInitRankConfig, comm, nranks, id, rank, config);

    note_by_id(copy, result, comm, nranks, rank, &id, config);
    return result;
}

ncclResult_t nccl_wrap_CommInitRankScalable(struct nccl_copy *copy, ncclComm_t *comm, int nranks,
                                            int rank, int nids, ncclUniqueId *ids,
                                            ncclConfig_t *config)
{
    ncclResult_t result = REAL(copy, CommInitRankScalable, comm, nranks, rank, nids, ids, config);

    if (nids > 0)
        note_by_id(copy, result, comm, nranks, rank, &ids[0], config);
    return result;
}

ncclResult_t nccl_wrap_CommInitAll(struct nccl_copy *copy, ncclComm_t *comms, int n,
                                   const int *devices)
{
    ncclResult_t result = REAL(copy, CommInitAll, comms, n, devices);

    for (int i = 0; i < n && result == ncclSuccess && !this_thread.inside; i++) {
        struct pending p = {.copy = copy, .handle = comms[i], .how = NATIVE, .why = REASON_ALONE};

        pending_note(result, &p);
    }
    return result;
}

static void note_child(struct nccl_copy *copy, ncclResult_t result, ncclComm_t parent, uint64_t nth,
                       int by, const ncclComm_t *child, const ncclConfig_t *config)
{
    struct pending p = {.copy = copy,
                        .how = leaves_blocks(config) ? NATIVE : CHILD,
                        .channels = channels_by(config),
                        .parent = parent,
                        .nth = nth,
                        .by = by,
                        .why = REASON_FEW_BLOCKS};

    if (result != ncclSuccess || !child || is_nonblocking(config))
        return;
    p.handle = *child;
    if (!p.handle && this_thread.group[copy->number].depth)
        p.at = child;
    pending_note(result, &p);
}

ncclResult_t nccl_wrap_CommSplit(struct nccl_copy *copy, ncclComm_t comm, int color, int key,
                                 ncclComm_t *child, ncclConfig_t *config)
{
    uint64_t nth = nccl_comm_next_child(comm);
    ncclResult_t result = REAL(copy, CommSplit, comm, color, key, child, config);

    note_child(copy, result, comm, nth, color, child, config);
    return result;
}

/* The ranks left out never hear of it: their count of children stays behind, so that a later
 * split's notes do not meet and it runs natively. */
ncclResult_t nccl_wrap_CommShrink(struct nccl_copy *copy, ncclComm_t comm, int *excluded,
                                  int nexcluded, ncclComm_t *child, ncclConfig_t *config, int flags)
{
    uint64_t nth = nccl_comm_next_child(comm);
    ncclResult_t result = REAL(copy, CommShrink, comm, excluded, nexcluded, child, config, flags);

    note_child(copy, result, comm, nth, -2, child, config);
    return result;
}

/* In a group, earlier calls come first. */
static void end_of(struct nccl_copy *copy, ncclComm_t comm, int at_once)
{
    if (!this_thread.inside)
        nccl_group_leave_native(&this_thread.group[copy->number], comm);
    if (settings.cfg.mode == CFG_MODE_VERIFY)
        verify_sweep();
    nccl_comm_remove(comm, at_once);
}

ncclResult_t nccl_wrap_CommFinalize(struct nccl_copy *copy, ncclComm_t comm)
{
    end_of(copy, comm, 0);
    return REAL(copy, CommFinalize, comm);
}

ncclResult_t nccl_wrap_CommDestroy(struct nccl_copy *copy, ncclComm_t comm)
{
    const struct cuda_calls *cu = cuda_open(CUDA_IF_LOADED);
    ncclResult_t result;

    end_of(copy, comm, 0);
    result = REAL(copy, CommDestroy, comm);
    if (cu && result == ncclSuccess && !this_thread.inside) {
        scratch_trim(cu); /* as NCCL has just done, which waits for the device */
        host_memory_trim(cu);
    }
    return result;
}

ncclResult_t nccl_wrap_CommAbort(struct nccl_copy *copy, ncclComm_t comm)
{
    nccl_comm_remove(comm, 1);
    return REAL(copy, CommAbort, comm);
}

ncclResult_t nccl_wrap_CommRevoke(struct nccl_copy *copy, ncclComm_t comm, int flags)
{
    end_of(copy, comm, 1);
    return REAL(copy, CommRevoke, comm, flags);
}

ncclResult_t nccl_wrap_CommRegister(struct nccl_copy *copy, const ncclComm_t comm, void *buffer,
                                    size_t bytes, void **handle)
{
    struct nccl_comm *c = this_thread.inside ? NULL : nccl_comm_find(comm);
    ncclResult_t result;

    if (!c)
        return REAL(copy, CommRegister, comm, buffer, bytes, handle);
    result = registered_add(c, buffer, bytes, handle);
    nccl_comm_release(c);
    return result;
}

ncclResult_t nccl_wrap_CommDeregister(struct nccl_copy *copy, const ncclComm_t comm, void *handle)
{
    struct nccl_comm *c = this_thread.inside ? NULL : nccl_comm_find(comm);
    ncclResult_t result;

    if (this_thread.inside)
        return REAL(copy, CommDeregister, comm, handle);
    result = registered_drop(copy, c, comm, handle);
    if (c)
        nccl_comm_release(c);
    return result;
}

/* A collective, in which NCCL registers the buffer: all ranks call it between the same calls. */
ncclResult_t nccl_wrap_CommWindowRegister(struct nccl_copy *copy, ncclComm_t comm, void *buffer,
                                          size_t bytes, ncclWindow_t *window, int flags)
{
    struct nccl_comm *c = this_thread.inside ? NULL : nccl_comm_find(comm);

    if (c) {
        nccl_comm_keep_native(c, REASON_REGISTERED);
        nccl_comm_release(c);
    }
    return REAL(copy, CommWindowRegister, comm, buffer, bytes, window, flags);
}

/* The library's own errors first: they say more. */
ncclResult_t nccl_wrap_CommGetAsyncError(struct nccl_copy *copy, ncclComm_t comm,
                                         ncclResult_t *state)
{
    ncclResult_t result = REAL(copy, CommGetAsyncError, comm, state);
    struct nccl_comm *c = NULL;

    if (result == ncclSuccess && *state == ncclSuccess && !this_thread.inside)
        c = nccl_comm_find(comm);
    if (c) {
        *state = ppg_state(__atomic_load_n(&c->ppg, __ATOMIC_ACQUIRE));
        nccl_comm_release(c);
    }
    return result;
}

ncclResult_t nccl_wrap_GroupStart(struct nccl_copy *copy)
{
    ncclResult_t result = copy->real.GroupStart();

    if (result == ncclSuccess && !this_thread.inside)
        this_thread.group[copy->number].depth++;
    return result;
}

ncclResult_t nccl_wrap_GroupEnd(struct nccl_copy *copy)
{
    struct nccl_group *g = &this_thread.group[copy->number];
    ncclResult_t result;

    if (this_thread.inside || g->depth == 0)
        return REAL(copy, GroupEnd);
    if (--g->depth)
        return REAL(copy, GroupEnd);
    result = nccl_group_end(g, copy);
    if (this_thread.pending)
        settle_pending(copy, result);
    return result;
}

/* An end as well, but nothing runs. */
ncclResult_t nccl_wrap_GroupSimulateEnd(struct nccl_copy *copy, ncclSimInfo_t *info)
{
    struct nccl_group *g = &this_thread.group[copy->number];
    int outermost = !this_thread.inside && g->depth && --g->depth == 0;
    ncclResult_t result;

    if (outermost)
        nccl_group_flush_all(g);
    result = REAL(copy, GroupSimulateEnd, info);
    if (outermost && this_thread.pending)
        settle_pending(copy, result);
    return result;
}
