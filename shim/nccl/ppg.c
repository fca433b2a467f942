/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slices go through memory of ours, exported once, not through the application's own buffers opened
 * in the helpers: memory that another process has open may not be freed (cuIpcCloseMemHandle), and
 * an application frees its own when it likes; pools and virtual memory cannot be exported at all.
 * The two copies run at the speed of the device's memory, far above that of a network.
 */
#define _GNU_SOURCE
#include "shim/nccl/ppg.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/nccl/ppg_desk.h"
#include "shim/nccl/ppg_watch.h"
#include "shim/nccl/scratch.h"

enum { JOIN = 1, LEAST_PIECE = 2 << 20 /* what CUDA maps: no other memory is exported with it */ };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* For communicators without helpers. */
static struct ppg none = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The first ticket of a channel's next communicator. */
static uint32_t tickets[DESK_CHANNELS];

/* Opening -------------------------------------------------------------------------------------- */

/* What the ranks agree on, by the largest of any: how many helpers the rank has that has the
   fewest, and the lowest such rank, both negative; and whether there is a service. */
enum { FEWEST, SERVICE, AGREED, RANKS = 1 << 16 };

static int has_service(const struct comm *c)
{
    CUdevice device;

    return c->cu->CtxGetDevice(&device) == CUDA_SUCCESS && cuda_has_mps(c->cu, device);
}

/*
 * With a service, kernels of all processes run side by side, and the communicators' have to fit on
 * the device together with whatever the program runs; without, processes take turns, and each has
 * all of it. Returns the most blocks of a helper's, or 0: as the library likes.
 */
static int most_blocks(const struct comm *c, const struct ppg *p)
{
    CUdevice device;
    int sms;

    if (!p->mps || c->cu->CtxGetDevice(&device) != CUDA_SUCCESS ||
        c->cu->DeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) !=
            CUDA_SUCCESS)
        return 0;
    sms /= 2 * (p->helpers + 1);
    return sms < 1 ? 1 : sms;
}

static int ask(int helper, const struct desk_order *o, const struct comm *c)
{
    return ppg_desk_post(helper, o, &c->stopped) ? -1
                                                 : ppg_desk_await(helper, o->channel, &c->stopped);
}

/* Rank 0's helpers make an id each, which then all ranks have. Returns 0 or -1, on all alike. */
static int exchange_ids(struct comm *c, const struct ppg *p, unsigned char (*id)[DESK_ID_BYTES])
{
    const struct desk_order make = {.kind = DESK_ID, .channel = p->channel};
    int well = 1;

    for (int i = 0; i < p->helpers && c->rank == 0 && well; i++) {
        well = ask(i, &make, c) == 0;
        memcpy(id[i], ppg_desk_at(i, p->channel)->id, DESK_ID_BYTES);
    }
    if (!comm_all(c, well))
        return -1;
    return comm_tell(c, id, (size_t)p->helpers * DESK_ID_BYTES);
}

/* All begin before any is waited for: they wait for each other. */
static int join(const struct comm *c, const struct ppg *p, unsigned char (*id)[DESK_ID_BYTES],
                const char **why)
{
    struct desk_order o = {.kind = DESK_JOIN,
                           .channel = p->channel,
                           .rank = p->rank,
                           .nranks = p->nranks,
                           .most_blocks = most_blocks(c, p)};

    for (int i = 0; i < p->helpers; i++) {
        memcpy(o.id, id[i], sizeof o.id);
        if (ppg_desk_post(i, &o, &c->stopped))
            return -1;
    }
    for (int i = 0; i < p->helpers; i++)
        if (ppg_desk_await(i, p->channel, &c->stopped)) {
            *why = ppg_desk_at(i, p->channel)->why;
            return -1;
        }
    return 0;
}

/* With the number of helpers agreed on. Returns 1, on all ranks alike, if they work together. */
static int meet(struct comm *c, struct ppg *p, const char **why)
{
    unsigned char(*id)[DESK_ID_BYTES] = calloc((size_t)p->helpers, sizeof *id);
    int well = 0;

    if (!comm_all(c, id != NULL) || exchange_ids(c, p, id) < 0) {
        *why = "unique ids could not be exchanged";
    } else {
        well = join(c, p, id, why) == 0 && ppg_watch(p) == 0;
        if (!comm_all(c, well)) {
            *why = well ? "those of another rank do not work" : *why;
            well = 0;
        }
    }
    free(id);
    return well;
}

/* Those that end give theirs back as soon as their helpers are through. */
static int take_channel(void)
{
    enum { PATIENCE_MS = 1000 };
    int channel = ppg_desk_take();

    for (int i = 0; channel < 0 && i < PATIENCE_MS && ppg_watch_expects(); i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        channel = ppg_desk_take();
    }
    return channel;
}

/* For a communicator whose rank has so many helpers to offer; NULL, and *why, if it can use none.
 */
static struct ppg *make(const struct comm *c, int offered, const char **why)
{
    struct ppg *p = offered ? calloc(1, sizeof *p) : NULL;

    if (!p) {
        *why = offered ? "out of memory" : *why;
        return NULL;
    }
    p->channel = take_channel();
    if (p->channel < 0) {
        *why = "more communicators at once than helpers have channels";
        free(p);
        return NULL;
    }
    p->rank = c->rank;
    p->nranks = c->nranks;
    p->board = c->board;
    p->key = comm_key(c, JOIN);
    p->context = c->context;
    p->alarm = p->verdict = -1;
    pthread_mutex_init(&p->lock, NULL);
    atomic_store(&p->ticket, tickets[p->channel]);
    return p;
}

/* How many helpers all ranks have, of which this one offers so many. */
static int agree_on_number(struct comm *c, int offered, int *mps, const char *why)
{
    static int warned; /* once, not for each communicator */
    const double mine = -(double)offered * RANKS - c->rank;
    double agreed[AGREED] = {mine, has_service(c)};

    if (comm_largest(c, agreed, AGREED) < 0)
        agreed[FEWEST] = 0;
    int helpers = (int)(-agreed[FEWEST] / RANKS);
    if (agreed[FEWEST] == mine && offered < process.cfg.ppg - 1) {
        say(warned ? CFG_LEVEL_INFO : CFG_LEVEL_WARN,
            "COLLSHIM_PPG=%d: a communicator of NCCL's has %d on all ranks, as rank %d has no "
            "more: %s",
            process.cfg.ppg, helpers + 1, c->rank, why);
        warned = 1;
    }
    *mps = agreed[SERVICE] > 0;
    return helpers;
}

/* Together with all other ranks' helpers. */
static void begin(struct comm *c, struct ppg *p, const char *why)
{
    const double began = now();

    p->usable = meet(c, p, &why);
    if (!p->usable) {
        say(CFG_LEVEL_WARN, "COLLSHIM_PPG=%d: NCCL helpers are not used by rank %d: %s",
            process.cfg.ppg, c->rank, why);
        crew_dismiss(); /* some may wait for others that never come */
        return;
    }
    count_helpers(p->helpers + 1, p->mps);
    if (c->rank == 0)
        say(CFG_LEVEL_INFO, "NCCL: %d processes per rank on %d ranks, %s; joined in %.3f s",
            p->helpers + 1, c->nranks,
            p->mps ? "side by side (MPS)" : "taking turns on the device (no MPS)", now() - began);
}

static void open_helpers(struct comm *c)
{
    const char *why = "";
    int offered = ppg_desk_open(c, process.cfg.ppg - 1, &why), mps;
    struct ppg *p = make(c, offered, &why);
    int helpers = agree_on_number(c, p ? offered : 0, &mps, why);

    if (p && helpers) {
        p->helpers = helpers;
        p->mps = mps;
        begin(c, p, why);
    }
    if (p && !p->watched) {
        if (!helpers)
            ppg_desk_return(p->channel);
        free(p);
        p = NULL;
    }
    __atomic_store_n(&c->ppg, p ? p : &none, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&c->stopped, __ATOMIC_SEQ_CST)) /* it ended meanwhile, unseen */
        ppg_end(p, 1);
}

int ppg_slices(struct comm *c, const struct call *call)
{
    if (process.cfg.ppg < 2 || call->collective != COLL_ALLREDUCE || c->topo->nnodes < 2)
        return 1;
    if (!c->ppg)
        open_helpers(c);
    return c->ppg->usable ? c->ppg->helpers + 1 : 1;
}

/* Getting ready -------------------------------------------------------------------------------- */

static int works(const struct ppg *p)
{
    return atomic_load(&p->condition) == PPG_WORKS;
}

/* A piece for each helper, in one allocation of ours. */
static int stage(struct comm *c, struct ppg *p, uint64_t piece)
{
    struct desk_order o = {.kind = DESK_STAGE, .channel = p->channel};
    CUipcMemHandle handle;
    uint64_t got;
    CUevent last;
    char *more;

    if (c->cu->EventCreate(&last, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return -1;
    more = scratch_take(c->cu, piece * (uint64_t)p->helpers, &got);
    if (!more || c->cu->IpcGetMemHandle(&handle, (CUdeviceptr)more) != CUDA_SUCCESS) {
        scratch_give(p->context, more, got, NULL);
        c->cu->EventDestroy(last);
        return -1;
    }
    memcpy(o.handle, &handle, sizeof o.handle);
    scratch_give(p->context, p->staging, p->staging_bytes, p->last);
    p->staging = more;
    p->staging_bytes = got;
    p->last = last;
    p->has_run = 0;
    for (int i = 0; i < p->helpers; i++) {
        o.offset = (uint64_t)i * piece;
        if (ask(i, &o, c)) {
            say(CFG_LEVEL_INFO, "NCCL: rank %d: %s", c->rank, ppg_desk_at(i, p->channel)->why);
            return -1;
        }
    }
    return 0;
}

static int hand_over(struct comm *c, struct ppg *p, const struct comm_plan *plan)
{
    struct desk_order o = {.channel = p->channel, .plan = (int32_t)(plan - c->plan)};

    for (int i = 0; i < p->helpers; i++)
        if (ppg_desk_plan(i, &o, plan->rounds, &c->stopped))
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
static int make_ready(struct comm *c, struct ppg *p, uint64_t bytes, struct comm_plan *plan)
{
    int stages = bytes > p->piece_bytes, plans = plan && !plan->with_helpers, well = works(p);

    if (!stages && !plans)
        return 1;
    if (well && stages)
        well = stage(c, p, piece_for(bytes)) == 0;
    if (well && plans)
        well = hand_over(c, p, plan) == 0;
    p->usable = comm_all(c, well);
    if (!p->usable)
        count_helpers(1, p->mps);
    if (!p->usable && !well)
        say(CFG_LEVEL_WARN, "COLLSHIM_PPG=%d: NCCL rank %d has no memory that helpers can share",
            process.cfg.ppg, c->rank);
    if (stages)
        p->piece_bytes = piece_for(bytes);
    if (plans)
        plan->with_helpers = p->usable;
    return p->usable;
}

/* Running -------------------------------------------------------------------------------------- */

/* One call, cut. */
struct cutting {
    struct comm *c;
    struct ppg *p;
    const struct call *call;
    struct call first; /* this process's own slice, as a call */
    const struct plan_request *request;
    const struct comm_plan *plan; /* NULL: the library's own */
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
    return k->p->staging + (uint64_t)(i - 1) * k->p->piece_bytes;
}

static int copy(const struct cutting *k, void *to, const void *from, size_t n)
{
    return !n || k->c->cu->MemcpyDtoDAsync((CUdeviceptr)to, (CUdeviceptr)from, n * k->element,
                                           (CUstream)k->call->stream) == CUDA_SUCCESS;
}

static int hand_out(const struct cutting *k, int i, uint32_t ticket)
{
    const struct desk_channel *at = ppg_desk_at(i - 1, k->p->channel);
    struct desk_order o = {.kind = DESK_RUN,
                           .channel = k->p->channel,
                           .plan = k->plan ? (int32_t)(k->plan - k->c->plan) : DESK_LIBRARY,
                           .ticket = ticket,
                           .count = elements(k, i),
                           .type = (int32_t)k->call->type,
                           .op = (int32_t)k->call->op,
                           .kernel_type = (int32_t)call_reduce_type(k->call)};
    enum reduce_op op;

    if (call_reduce_op(k->call, &op))
        o.kernel_op = (int32_t)op;
    return copy(k, piece(k, i), (const char *)k->call->send + (size_t)i * k->each * k->element,
                elements(k, i)) &&
           k->c->cu->StreamWriteValue32((CUstream)k->call->stream, ppg_desk_address(i - 1, &at->go),
                                        ticket, CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS &&
           ppg_desk_post(i - 1, &o, &k->c->stopped) == 0;
}

static int take_back(const struct cutting *k, int i, uint32_t ticket)
{
    const struct desk_channel *at = ppg_desk_at(i - 1, k->p->channel);

    return k->c->cu->StreamWaitValue32((CUstream)k->call->stream,
                                       ppg_desk_address(i - 1, &at->done), ticket,
                                       CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS &&
           copy(k, (char *)k->call->recv + (size_t)i * k->each * k->element, piece(k, i),
                elements(k, i));
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

    tickets[p->channel] = ticket;
    if (p->has_run && p->last_stream != stream)
        k->c->cu->StreamWaitEvent(stream, p->last, 0);
    for (int i = 1; i <= p->helpers && well; i++) /* also an empty one: then all count alike */
        well = hand_out(k, i, ticket);
    result = run_first(k);
    for (int i = 1; i <= p->helpers && elements(k, i) && well && !result; i++)
        well = take_back(k, i, ticket);
    k->c->cu->EventRecord(p->last, stream);
    p->last_stream = stream;
    p->has_run = 1;
    if (!well)
        atomic_store(&p->fault, 1); /* the watch tells all ranks */
    return result || well ? result : ncclSystemError;
}

/* Helpers failed: this process's part of calls that other ranks have begun with theirs; if calls
   were lost, one that says so on all ranks; and then the library's own. */
static ncclResult_t run_without(const struct cutting *k, uint64_t number, enum reason *why)
{
    struct ppg *p = k->p;
    int condition;

    *why = REASON_HELPER_LOST;
    while ((condition = atomic_load(&p->condition)) == PPG_FAILED &&
           !__atomic_load_n(&k->c->stopped, __ATOMIC_ACQUIRE))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (condition == PPG_UNHARMED || (condition == PPG_HARMED && number > p->until))
        return k->call->native(k->call);
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
static size_t slice_elements(const struct call *call, int slices)
{
    const size_t whole = 256 / reduce_type_bytes(call_reduce_type(call));
    size_t each = (call->count + (size_t)slices - 1) / (size_t)slices;

    return (each + whole - 1) / whole * whole;
}

static struct comm_plan *plan_of(struct comm *c, const struct rounds *r)
{
    struct comm_plan *plan = c->plan;

    while (plan->rounds != r)
        plan++;
    return plan;
}

ncclResult_t ppg_run(struct comm *c, const struct call *call, const struct plan_candidate *choice,
                     enum reason *why)
{
    struct cutting k = {.c = c,
                        .p = c->ppg,
                        .call = call,
                        .first = *call,
                        .element = reduce_type_bytes(call_reduce_type(call)),
                        .each = slice_elements(call, c->ppg->helpers + 1)};
    struct comm_plan *plan = NULL;
    struct plan_request q;
    uint64_t number;
    char text[256];

    *why = REASON_NONE;
    if (choice->algorithm) {
        if (call->count < k.each)
            k.each = call->count; /* one slice: a schedule is for whole ones */
        k.first.count = k.each;
        q = schedule_request(&k.first, c);
        q.recipe = choice->recipe;
        if (q.recipe && choice->algorithm->accepts &&
            choice->algorithm->accepts(&q, text, sizeof text)) {
            *why = REASON_RECIPE;
            return call->native(call);
        }
        const struct rounds *r = comm_rounds(c, &q, choice->algorithm);
        plan = r ? plan_of(c, r) : NULL;
        k.request = &q;
    } else {
        k.first.count = elements(&k, 0);
    }
    if ((choice->algorithm && !plan) || !make_ready(c, k.p, k.each * k.element, plan)) {
        *why = REASON_NOT_READY;
        return call->native(call);
    }
    k.plan = plan;
    return count_call(k.p, &number) ? run_all(&k) : run_without(&k, number, why);
}
