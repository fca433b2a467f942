/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/nccl/helpers/ppg.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/nccl/comm/agree.h"
#include "shim/nccl/helpers/ppg_orders.h"
#include "shim/nccl/helpers/ppg_watch.h"

enum { JOIN = 1 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* For communicators without helpers. */
static struct ppg none = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Opening -------------------------------------------------------------------------------------- */

/* Values that the ranks agree on, by the largest of any: the fewest helpers of a rank, and the
   lowest such rank, both negative; and whether there is a service. */
enum { FEWEST, SERVICE, AGREED, RANKS = 1 << 16 };

static int has_service(const struct nccl_comm *c)
{
    CUdevice device;

    return c->cu->CtxGetDevice(&device) == CUDA_SUCCESS && cuda_has_mps(c->cu, device);
}

/*
 * With a service, kernels of all processes run side by side. The communicators' kernels have to fit
 * on the device together with the program's. Without one, processes take turns, and each has all of
 * it. Returns the most blocks of a helper, or 0: the library chooses.
 */
static int most_blocks(const struct nccl_comm *c, const struct ppg *p)
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

/* Rank 0's helpers make an id each, which then all ranks have. Returns 0 or -1, on all alike. */
static int exchange_ids(struct nccl_comm *c, const struct ppg *p,
                        unsigned char (*id)[NCCL_ORDERS_ID_BYTES])
{
    const struct nccl_order make = {.kind = NCCL_ORDER_ID, .channel = p->channel};
    int well = 1;

    for (int i = 0; i < p->helpers && c->rank == 0 && well; i++) {
        well = ppg_orders_ask(i, &make, &c->stopped) == 0;
        memcpy(id[i], ppg_orders_at(i, p->channel)->id, NCCL_ORDERS_ID_BYTES);
    }
    if (!nccl_comm_all(c, well))
        return -1;
    return nccl_comm_tell(c, id, (size_t)p->helpers * NCCL_ORDERS_ID_BYTES);
}

/* All begin before any is waited for: they wait for each other. */
static int join(const struct nccl_comm *c, const struct ppg *p,
                unsigned char (*id)[NCCL_ORDERS_ID_BYTES], const char **why)
{
    struct nccl_order o = {.kind = NCCL_ORDER_JOIN,
                           .channel = p->channel,
                           .rank = p->rank,
                           .nranks = p->nranks,
                           .most_blocks = most_blocks(c, p)};

    for (int i = 0; i < p->helpers; i++) {
        memcpy(o.id, id[i], sizeof o.id);
        if (ppg_orders_post(i, &o, &c->stopped))
            return -1;
    }
    for (int i = 0; i < p->helpers; i++)
        if (ppg_orders_await(i, p->channel, &c->stopped)) {
            *why = ppg_orders_at(i, p->channel)->why;
            return -1;
        }
    return 0;
}

/* With the number of helpers agreed on. Returns 1, on all ranks alike, if they work together. */
static int ppg_meet(struct nccl_comm *c, struct ppg *p, const char **why)
{
    unsigned char(*id)[NCCL_ORDERS_ID_BYTES] = calloc((size_t)p->helpers, sizeof *id);
    int well = 0;

    if (!nccl_comm_all(c, id != NULL) || exchange_ids(c, p, id) < 0) {
        *why = "unique ids could not be exchanged";
    } else {
        well = join(c, p, id, why) == 0 && ppg_watch(p) == 0;
        if (!nccl_comm_all(c, well)) {
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
    int channel = ppg_orders_take();

    for (int i = 0; channel < 0 && i < PATIENCE_MS && ppg_watch_expects(); i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        channel = ppg_orders_take();
    }
    return channel;
}

/* For a communicator whose rank has so many helpers to offer; NULL, and *why, if it can use none.
 */
static struct ppg *make(const struct nccl_comm *c, int offered, const char **why)
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
    p->board = c->notes.board;
    p->key = nccl_comm_key(c, JOIN);
    p->staging.context = c->device.context;
    p->alarm = p->verdict = -1;
    pthread_mutex_init(&p->lock, NULL);
    atomic_store(&p->ticket, *ppg_orders_ticket(p->channel));
    return p;
}

/* How many helpers all ranks have, of which this one offers so many. */
static int agree_on_number(struct nccl_comm *c, int offered, int *mps, const char *why)
{
    static int warned; /* once, not for each communicator */
    const double mine = -(double)offered * RANKS - c->rank;
    double agreed[AGREED] = {mine, has_service(c)};

    if (nccl_comm_largest(c, agreed, AGREED) < 0)
        agreed[FEWEST] = 0;
    int helpers = (int)(-agreed[FEWEST] / RANKS);
    if (agreed[FEWEST] == mine && offered < settings.cfg.ppg - 1) {
        say(warned ? CFG_LEVEL_INFO : CFG_LEVEL_WARN,
            "COLLSHIM_PPG=%d: a communicator of NCCL's has %d on all ranks, as rank %d has no "
            "more: %s",
            settings.cfg.ppg, helpers + 1, c->rank, why);
        warned = 1;
    }
    *mps = agreed[SERVICE] > 0;
    return helpers;
}

/* Together with all other ranks' helpers. */
static void ppg_begin(struct nccl_comm *c, struct ppg *p, const char *why)
{
    const double began = now();

    p->usable = ppg_meet(c, p, &why);
    if (!p->usable) {
        say(CFG_LEVEL_WARN, "COLLSHIM_PPG=%d: NCCL helpers are not used by rank %d: %s",
            settings.cfg.ppg, c->rank, why);
        helpers_dismiss(); /* some may wait for others that never come */
        return;
    }
    nccl_process_note_helpers(p->helpers + 1, p->mps);
    if (c->rank == 0)
        say(CFG_LEVEL_INFO,
            "NCCL: %d processes per rank on %d ranks, %s; joined in %.3f s; cores of rank 0: %d",
            p->helpers + 1, c->nranks,
            p->mps ? "side by side (MPS)" : "taking turns on the device (no MPS)", now() - began,
            helpers_cores());
}

static void open_helpers(struct nccl_comm *c)
{
    const char *why = "";
    int offered = ppg_orders_open(c, settings.cfg.ppg - 1, &why), mps;
    struct ppg *p = make(c, offered, &why);
    int helpers = agree_on_number(c, p ? offered : 0, &mps, why);

    if (p && helpers) {
        p->helpers = helpers;
        p->mps = mps;
        ppg_begin(c, p, why);
    }
    if (p && !p->watched) {
        if (!helpers)
            ppg_orders_return(p->channel);
        free(p);
        p = NULL;
    }
    __atomic_store_n(&c->ppg, p ? p : &none, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&c->stopped, __ATOMIC_SEQ_CST)) /* it ended meanwhile, unseen */
        ppg_end(p, 1);
}

/* Is it a call that helpers could carry, as far as it says itself? */
static int may_serve(const struct nccl_call *call)
{
    return settings.cfg.ppg > 1 && call->collective == COLL_ALLREDUCE;
}

int ppg_slices(struct nccl_comm *c, const struct nccl_call *call)
{
    if (!may_serve(call) || c->topo->nnodes < 2)
        return 1;
    if (!c->ppg)
        open_helpers(c);
    return c->ppg->usable ? c->ppg->helpers + 1 : 1;
}
