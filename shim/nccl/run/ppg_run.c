/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slices go through memory of ours, exported once per communicator; a helper opens it once and
 * finds its piece by an offset. It comes from the pool (scratch.h) and is never freed.
 *
 * Rejected: the application's own buffers, opened in helpers by base and offset. Memory that
 * another process has open must not be freed (cuIpcCloseMemHandle), so each free would have to be
 * seen and would have to wait until all helpers have closed. Not all are seen: a static libcudart
 * gets cuMemFree by cuGetProcAddress from a driver that it opened itself. Those that are seen would
 * wait for processes that may be behind by many calls. Memory of pools and PyTorch's expandable
 * segments cannot be exported at all, and the base of a buffer is an allocation with much other
 * data of the program. The saving would be small (docs/figures.md, NCCL: several processes per
 * GPU).
 */
#include "shim/nccl/run/ppg_run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/nccl/call/scratch.h"
#include "shim/nccl/comm/agree.h"
#include "shim/nccl/comm/comm_plans.h"
#include "shim/nccl/helpers/ppg_orders.h"
#include "shim/nccl/helpers/ppg_watch.h"
#include "shim/nccl/run/schedule.h"

enum {
    LEAST_PIECE = 2 << 20 /* the unit of CUDA's mappings: no other memory is exported with it */
};

/* Getting ready -------------------------------------------------------------------------------- */

static int works(const struct ppg *p)
{
    return atomic_load(&p->condition) == PPG_WORKS;
}

/* A piece for each helper, in one allocation of ours. */
static int stage(struct nccl_comm *c, struct ppg *p, uint64_t piece)
{
    struct ppg_staging *s = &p->staging;
    struct nccl_order o = {.kind = NCCL_ORDER_STAGE, .channel = p->channel};
    CUipcMemHandle handle;
    uint64_t got;
    CUevent last;
    char *more;

    if (c->cu->EventCreate(&last, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return -1;
    more = scratch_take(c->cu, piece * (uint64_t)p->helpers, &got);
    scratch_keep(more); /* helpers open it, and have it open as long as they live */
    if (!more || c->cu->IpcGetMemHandle(&handle, (CUdeviceptr)more) != CUDA_SUCCESS) {
        scratch_give(s->context, more, got, NULL);
        c->cu->EventDestroy(last);
        return -1;
    }
    memcpy(o.handle, &handle, sizeof o.handle);
    scratch_give(s->context, s->at, s->bytes, s->last);
    s->at = more;
    s->bytes = got;
    s->last = last;
    s->has_run = 0;
    for (int i = 0; i < p->helpers; i++) {
        o.offset = (uint64_t)i * piece;
        if (ppg_orders_ask(i, &o, &c->stopped)) {
            say(CFG_LEVEL_INFO, "NCCL: rank %d: %s", c->rank, ppg_orders_at(i, p->channel)->why);
            return -1;
        }
    }
    return 0;
}

static int hand_over(struct nccl_comm *c, struct ppg *p, const struct nccl_plan *plan)
{
    struct nccl_order o = {.channel = p->channel, .plan = (int32_t)(plan - c->plans.plan)};

    for (int i = 0; i < p->helpers; i++)
        if (ppg_orders_plan(i, &o, plan->rounds, &c->stopped))
            return -1;
    return 0;
}

static uint64_t piece_for(uint64_t bytes)
{
    uint64_t piece = LEAST_PIECE;

    while (piece < bytes)
        piece *= 2;
    return piece;
}

/* All that calls of that size need, on all ranks; plan: NULL for the library's own. Returns 0 on
   all ranks if it cannot be had on one: then helpers are not used any more. */
static int ppg_make_ready(struct nccl_comm *c, struct ppg *p, uint64_t bytes,
                          struct nccl_plan *plan)
{
    int stages = bytes > p->staging.piece_bytes, plans = plan && !plan->with_helpers,
        well = works(p);

    if (!stages && !plans)
        return 1;
    if (well && stages)
        well = stage(c, p, piece_for(bytes)) == 0;
    if (well && plans)
        well = hand_over(c, p, plan) == 0;
    p->usable = nccl_comm_all(c, well);
    if (!p->usable) {
        nccl_process_note_helpers(1, p->mps);
        nccl_comm_forget_measured(c); /* their samples are not there any more */
    }
    if (!p->usable && !well)
        say(CFG_LEVEL_WARN, "COLLSHIM_PPG=%d: NCCL rank %d has no memory that helpers can share",
            settings.cfg.ppg, c->rank);
    if (stages)
        p->staging.piece_bytes = piece_for(bytes);
    if (plans)
        plan->with_helpers = p->usable;
    return p->usable;
}

/* Running -------------------------------------------------------------------------------------- */

/* One call, cut. */
struct cutting {
    struct nccl_comm *c;
    struct ppg *p;
    const struct nccl_call *call;
    struct nccl_call first; /* this process's own slice, as a call */
    const struct plan_request *request;
    const struct nccl_plan *plan; /* NULL: the library's own */
    size_t element, each;         /* bytes; elements of a slice but the last */
};

/* Slice i is that of helper i - 1. */
static size_t elements(const struct cutting *k, int i)
{
    size_t from = (size_t)i * k->each, count = k->call->count;

    return from >= count ? 0 : count - from < k->each ? count - from : k->each;
}

static char *piece(const struct cutting *k, int i)
{
    return k->p->staging.at + (uint64_t)(i - 1) * k->p->staging.piece_bytes;
}

/* If the library carries slices, it does all the work of the operation. */
static int move(const struct cutting *k, enum call_time when, char *to, const char *from, size_t n)
{
    struct nccl_call plain = *k->call;

    plain.combines = k->plan != NULL;
    return schedule_move(k->c, &plain, when, to, from, n * k->element) == CUDA_SUCCESS;
}

static int hand_out(const struct cutting *k, int i, uint32_t ticket)
{
    const struct nccl_order_channel *at = ppg_orders_at(i - 1, k->p->channel);
    struct nccl_order o = {.kind = NCCL_ORDER_RUN,
                           .channel = k->p->channel,
                           .plan = k->plan ? (int32_t)(k->plan - k->c->plans.plan)
                                           : NCCL_ORDERS_LIBRARY,
                           .ticket = ticket,
                           .count = elements(k, i),
                           .type = (int32_t)k->call->type,
                           .op = (int32_t)k->call->op,
                           .kernel_op = (int32_t)nccl_call_reduce_op(k->call),
                           .kernel_type = (int32_t)nccl_call_reduce_type(k->call)};

    return move(k, CALL_BEFORE, piece(k, i),
                (const char *)k->call->send + (size_t)i * k->each * k->element, elements(k, i)) &&
           k->c->cu->StreamWriteValue32((CUstream)k->call->stream,
                                        ppg_orders_address(i - 1, &at->go), ticket,
                                        CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS &&
           ppg_orders_post(i - 1, &o, &k->c->stopped) == 0;
}

static int take_back(const struct cutting *k, int i, uint32_t ticket)
{
    const struct nccl_order_channel *at = ppg_orders_at(i - 1, k->p->channel);

    return k->c->cu->StreamWaitValue32((CUstream)k->call->stream,
                                       ppg_orders_address(i - 1, &at->done), ticket,
                                       CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS &&
           move(k, CALL_BEHIND, (char *)k->call->recv + (size_t)i * k->each * k->element,
                piece(k, i), elements(k, i));
}

static ncclResult_t run_first(const struct cutting *k)
{
    return k->plan ? schedule_run(k->c, &k->first, k->plan->rounds, k->request)
                   : k->first.native(&k->first);
}

static ncclResult_t run_all(const struct cutting *k)
{
    struct ppg *p = k->p;
    CUstream stream = (CUstream)k->call->stream;
    uint32_t ticket = atomic_fetch_add(&p->ticket, 1) + 1;
    ncclResult_t result;
    int well = 1;

    *ppg_orders_ticket(p->channel) = ticket;
    if (p->staging.has_run)
        k->c->cu->StreamWaitEvent(stream, p->staging.last, 0);
    for (int i = 1; i <= p->helpers && well; i++) /* also an empty one: then all count alike */
        well = hand_out(k, i, ticket);
    result = run_first(k);
    for (int i = 1; i <= p->helpers && elements(k, i) && well && !result; i++)
        well = take_back(k, i, ticket);
    k->c->cu->EventRecord(p->staging.last, stream);
    p->staging.has_run = 1;
    if (!well)
        atomic_store(&p->fault, 1); /* the watch tells all ranks */
    return result || well ? result : ncclSystemError;
}

/* Helpers failed. This process runs its part of calls that other ranks have begun with their
   helpers. If calls were lost, one call tells so on all ranks. Then the library's own calls follow,
   which are the caller's. */
static ncclResult_t run_without(const struct cutting *k, uint64_t number)
{
    struct ppg *p = k->p;
    int condition;

    while ((condition = atomic_load(&p->condition)) == PPG_FAILED &&
           !__atomic_load_n(&k->c->stopped, __ATOMIC_ACQUIRE))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (condition == PPG_UNHARMED || (condition == PPG_HARMED && number > p->until))
        return ncclSuccess;
    atomic_store(&p->told, 1);
    if (condition == PPG_HARMED && number < p->until)
        run_first(k);
    return ncclSystemError;
}

/* Is this call still the helpers'? Takes its number. */
static int count_call(struct ppg *p, uint64_t *number)
{
    pthread_mutex_lock(&p->lock);
    int is_theirs = works(p);
    *number = p->calls++;
    pthread_mutex_unlock(&p->lock);
    return is_theirs;
}

/* Elements of a slice: whole cache lines of a multiple that any chunk starts at. */
static size_t slice_elements(const struct nccl_call *call, int slices)
{
    const size_t whole = 256 / reduce_type_bytes(nccl_call_reduce_type(call));
    size_t each = (call->count + (size_t)slices - 1) / (size_t)slices;

    return (each + whole - 1) / whole * whole;
}

static struct nccl_plan *plan_of(struct nccl_comm *c, const struct rounds *r)
{
    struct nccl_plan *plan = c->plans.plan;

    while (plan->rounds != r)
        plan++;
    return plan;
}

enum reason ppg_run(struct nccl_comm *c, const struct nccl_call *call,
                    const struct plan_candidate *way, int slices, int patient, ncclResult_t *result)
{
    struct cutting k = {.c = c,
                        .p = c->ppg,
                        .call = call,
                        .first = *call,
                        .element = reduce_type_bytes(nccl_call_reduce_type(call)),
                        .each = slice_elements(call, slices)};
    struct nccl_plan *plan = NULL;
    struct plan_request q;
    uint64_t number;
    char text[256];

    if (way->algorithm) {
        if (call->count < k.each)
            k.each = call->count; /* one slice: a schedule is for whole ones */
        k.first.count = k.each;
        q = schedule_request(&k.first, c, way);
        if (q.recipe && way->algorithm->accepts && way->algorithm->accepts(&q, text, sizeof text))
            return REASON_RECIPE;
        if (patient && !nccl_comm_came_before(c, &q, way->algorithm, 0))
            return REASON_NEW;
        const struct rounds *r = nccl_comm_rounds(c, &q, way->algorithm, 0, (CUstream)call->stream);
        if (!r)
            return REASON_NOT_READY;
        plan = plan_of(c, r);
        k.request = &q;
    } else {
        k.first.count = elements(&k, 0);
    }
    if (!ppg_make_ready(c, k.p, k.each * k.element, plan))
        return REASON_NOT_READY;
    k.plan = plan;
    if (count_call(k.p, &number)) {
        *result = run_all(&k);
        return REASON_NONE;
    }
    *result = run_without(&k, number);
    return REASON_HELPER_LOST;
}
