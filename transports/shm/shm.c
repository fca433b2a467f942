/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A poll goes on until something is complete or nothing moves, because the engine yields the CPU
 * after a poll without result. It ends after a budget of bytes, so that other transports get their
 * turns.
 */
#define _GNU_SOURCE
#include "transports/shm/shm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "transports/base/workers.h"
#include "transports/shm/shm_file.h"
#include "transports/shm/shm_peer.h"

enum { TURN_BUDGET = 512 << 10, POLL_BUDGET = 16 << 20 };

/* Fruitless polls, where each rank has a CPU of its own, until the CPU is given away all the same:
   some microseconds. Giving it away costs about one, and the peer has answered meanwhile. */
enum { PATIENCE = 200 };

/* Nothing of this rank's own can be moved now: help one whom it sends to. */
static size_t help(struct shm *t)
{
    size_t moved = 0;

    for (int m = 0; m < t->members && !moved; m++)
        if (t->peer[m].sends)
            moved = shm_peer_help(t, &t->peer[m]);
    return moved;
}

/* Serve all peers once. Returns the bytes moved, or an error. */
static ssize_t turn(struct shm *t)
{
    size_t budget = TURN_BUDGET;

    /* The peer after the one that used up the budget is served first next time. */
    for (int i = 0; i < t->members && budget; i++) {
        struct peer *p = &t->peer[t->next];
        t->next = t->next + 1 < t->members ? t->next + 1 : 0;
        int rc = p->sends || p->receives ? shm_peer_serve(t, p, &budget) : 0;
        if (rc)
            return rc;
    }
    if (budget == TURN_BUDGET && t->helping)
        return (ssize_t)help(t);
    return (ssize_t)(TURN_BUDGET - budget);
}

/* Sends are now in flight, so the source of a notice stays unchanged until all are handed over. */
static void post_all(struct shm *t)
{
    memset(t->recent, 0, sizeof t->recent);
    for (int m = 0; m < t->members; m++)
        if (t->peer[m].unposted.first)
            shm_peer_post(t, &t->peer[m]);
    board_close(&t->board);
}

static int shm_poll(void *state, unsigned *done, unsigned *ndone)
{
    struct shm *t = state;
    ssize_t moved = t->error;

    t->report = done;
    t->reported = 0;
    if (!t->error)
        post_all(t);
    for (size_t total = 0; moved >= 0 && total < POLL_BUDGET; total += (size_t)moved) {
        moved = turn(t);
        if (!moved || t->reported)
            break;
    }
    *ndone = t->reported;
    return moved < 0 ? (int)moved : 0;
}

static struct shm_slot *take_slot(struct shm *t, unsigned slot, size_t length, int tag)
{
    struct shm_slot *s = &t->slot[slot];

    *s = (struct shm_slot){.length = length, .tag = (uint32_t)tag};
    return s;
}

/* Have the same bytes been sent to another peer just now? */
static void find_twin(struct shm *t, struct shm_slot *s)
{
    uint64_t mixed = (uint64_t)(uintptr_t)s->buf * 0x9e3779b97f4a7c15u;
    struct shm_slot **recent = &t->recent[(mixed >> 32) % TWINS];

    if (*recent && (*recent)->buf == s->buf && (*recent)->length == s->length &&
        (*recent)->peer != s->peer)
        (*recent)->twins = s->twins = 1;
    *recent = s;
}

static int shm_send(void *state, unsigned slot, const void *buf, size_t length, int peer, int tag)
{
    struct shm *t = state;
    struct peer *p = &t->peer[t->member_of[peer]];
    struct shm_slot *s = take_slot(t, slot, length, tag);

    s->buf = (char *)(uintptr_t)buf;
    s->peer = p;
    p->sends++;
    fifo_put(&p->unposted, s);
    if (length <= SHM_NOTICE_BYTES)
        find_twin(t, s);
    else if (p->unposted.first ==
             s) /* sends that may use the board wait for their twins, until a poll */
        shm_peer_post(t, p);
    return t->error;
}

static int shm_recv(void *state, unsigned slot, void *buf, size_t length, int peer, int tag)
{
    struct shm *t = state;
    struct peer *p = &t->peer[t->member_of[peer]];
    struct shm_slot *s = take_slot(t, slot, length, tag);

    s->buf = buf;
    p->receives++;
    shm_peer_receive(t, p, s);
    return 0;
}

static void shm_use_device(void *state, struct device *d)
{
    struct shm *t = state;

    t->device = d;
    if (d && d->window && !t->lends)
        t->lends = d->window(d->state, &t->window);
}

/* Only the device that was used first lends: a window is offered once. */
static int shm_lends(void *state, int peer, int tag)
{
    struct shm *t = state;
    struct peer *p = &t->peer[t->member_of[peer]];
    struct device_window w;

    (void)tag;
    if (!t->device || !t->lends || t->device->window(t->device->state, &w) != t->lends)
        return 0;
    shm_peer_offer(t, p);
    return atomic_load(&p->out->window_state) == SHM_WINDOW_ACCEPTED;
}

static int shm_recv_lent(void *state, unsigned slot, void *buf, size_t length, int peer, int tag)
{
    struct shm *t = state;
    struct peer *p = &t->peer[t->member_of[peer]];
    struct shm_slot *s = take_slot(t, slot, length, tag);

    s->buf = buf;
    s->peer = p;
    p->receives++;
    /* Lent bytes are in the reach of one device. */
    s->anywhere = !p->acceptor || p->acceptor == t->device;
    shm_peer_receive(t, p, s);
    return 0;
}

static const char *shm_lent(void *state, unsigned slot)
{
    struct shm *t = state;

    return t->slot[slot].lent;
}

static void shm_give_back(void *state, unsigned slot)
{
    struct shm *t = state;
    struct shm_slot *s = &t->slot[slot];

    fifo_put(&s->peer->returned, s);
}

static int shm_reduces(void *state, int peer, int tag)
{
    (void)state, (void)peer, (void)tag;
    return 1;
}

static int shm_recv_reduce(void *state, unsigned slot, const struct xport_reduce *r, int peer,
                           int tag)
{
    struct shm *t = state;
    struct peer *p = &t->peer[t->member_of[peer]];
    struct shm_slot *s = take_slot(t, slot, r->length, tag);

    if (!r->grain || r->grain > SHM_GRAIN_MAX)
        return -EINVAL;
    s->reduce = *r;
    p->receives++;
    shm_peer_receive(t, p, s);
    return 0;
}

/* From here on the peers' knowledge of this rank's slots is out of date. */
static void shm_abandon(void *state)
{
    struct shm *t = state;

    t->error = -EPIPE;
}

/* A peer may be a call ahead. It has fewer sends to this rank in flight than this rank has slots
   for them in that call, besides notices. */
static int reserve_early(struct shm *t, unsigned nslots)
{
    unsigned most = nslots + SHM_NOTICES * (unsigned)t->members;

    return most <= t->early.n ? 0 : shm_peer_add_early(&t->early, most - t->early.n);
}

static int shm_reserve(void *state, unsigned nslots)
{
    struct shm *t = state;

    if (t->error || nslots <= t->nslots)
        return t->error;
    if (reserve_early(t, nslots))
        return -ENOMEM;
    struct shm_slot *slot = malloc(nslots * sizeof *slot);
    if (!slot)
        return -ENOMEM;
    free(t->slot);
    memset(t->recent, 0, sizeof t->recent);
    t->slot = slot;
    t->nslots = nslots;
    return 0;
}

/* A number that no other segment and no stale memory holds. */
static uint64_t draw_nonce(void)
{
    uint64_t nonce;
    struct timespec now;

    if (getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) == sizeof nonce)
        return nonce;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 40;
}

int xport_shm_open(int copy_only, struct xport *x, struct shm_offer *offer)
{
    struct shm *t = calloc(1, sizeof *t);

    *x = (struct xport){.name = "shm",
                        .state = t,
                        .send = shm_send,
                        .recv = shm_recv,
                        .reduces = shm_reduces,
                        .recv_reduce = shm_recv_reduce,
                        .use_device = shm_use_device,
                        .lends = shm_lends,
                        .recv_lent = shm_recv_lent,
                        .lent = shm_lent,
                        .give_back = shm_give_back,
                        .poll = shm_poll,
                        .abandon = shm_abandon,
                        .reserve = shm_reserve};
    *offer = (struct shm_offer){.fd = -ENOMEM};
    if (!t)
        return -ENOMEM;
    t->copy_only = copy_only;
    t->nonce = draw_nonce();
    t->fd = shm_file_make();
    *offer = (struct shm_offer){.nonce = t->nonce,
                                .address = (uint64_t)(uintptr_t)&t->nonce,
                                .pid = getpid(),
                                .fd = t->fd,
                                .cpus = shm_cpus_here()};
    return 0;
}

static void close_file(struct shm *t)
{
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

int xport_shm_place(struct xport *x, const int *member, int members, int rank, int nranks)
{
    struct shm *t = x->state;

    t->members = members;
    t->member_of = malloc((size_t)nranks * sizeof *t->member_of);
    t->peer = calloc((size_t)members, sizeof *t->peer);
    t->combining.bounce = aligned_alloc(64, REDUCE_PIECE);
    t->combining.room = 1;
    if (!t->member_of || !t->peer || !t->combining.bounce)
        return -ENOMEM;
    for (int r = 0; r < nranks; r++)
        t->member_of[r] = -1;
    for (int m = 0; m < members; m++) {
        t->member_of[member[m]] = m;
        t->peer[m].member = m;
    }
    t->me = t->member_of[rank];
    t->next = t->me;
    if (t->me == 0)
        return t->fd < 0 ? t->fd : shm_segment_create(&t->segment, members, t->nonce, t->fd);
    close_file(t);
    return 0;
}

static int all_have_cpus(const struct shm_offer *offer, int members)
{
    struct shm_cpus *cpus = malloc((size_t)members * sizeof *cpus);
    int well = cpus != NULL;

    for (int m = 0; well && m < members; m++)
        cpus[m] = offer[m].cpus;
    well = well && shm_cpus_suffice(cpus, members);
    free(cpus);
    return well;
}

/* Can a peer be read from? Returns 0 or the errno. */
static int try_reading(const struct peer *p, const struct shm_offer *offer)
{
    uint64_t nonce = 0;
    ssize_t got = shm_peer_read(p, offer->address, &nonce, sizeof nonce);

    return got < 0 ? (int)-got : nonce == offer->nonce ? 0 : ESRCH;
}

int xport_shm_join(struct xport *x, const struct shm_offer *offer)
{
    struct shm *t = x->state;

    if (offer[0].fd < 0)
        return offer[0].fd; /* -errno */
    if (t->me != 0) {
        int rc =
            shm_segment_join(&t->segment, t->members, offer[0].nonce, offer[0].pid, offer[0].fd);
        if (rc)
            return rc;
    }
    t->helping = all_have_cpus(offer, t->members);
    x->patience = t->helping ? PATIENCE : 0;
    board_open(&t->board, &t->segment, t->me);
    for (int m = 0; m < t->members; m++) {
        struct peer *p = &t->peer[m];
        p->out = shm_segment_pair(&t->segment, t->me, m);
        p->in = shm_segment_pair(&t->segment, m, t->me);
        p->pid = offer[m].pid;
        p->unread = t->copy_only ? ECANCELED : try_reading(p, &offer[m]);
    }
    return 0;
}

void xport_shm_joined(struct xport *x)
{
    close_file(x->state);
}

int xport_shm_part(struct xport *x)
{
    struct shm *t = x->state;
    int parted = 1;

    for (int m = 0; t && t->peer && m < t->members; m++)
        shm_peer_leave(&t->peer[m]);
    for (int m = 0; t && t->peer && m < t->members; m++)
        parted &= shm_peer_withdraw(&t->peer[m]);
    return parted;
}

void xport_shm_close(struct xport *x)
{
    struct shm *t = x->state;

    if (!t)
        return;
    xport_shm_joined(x);
    shm_segment_close(&t->segment);
    while (t->early.blocks) {
        struct early_block *b = t->early.blocks;

        t->early.blocks = b->next;
        free(b);
    }
    free(t->peer);
    free(t->member_of);
    free(t->slot);
    free(t->combining.bounce);
    free(t);
    x->state = NULL;
}

int xport_shm_use_workers(struct xport *x, struct workers *h)
{
    struct shm_combining *c = &((struct shm *)x->state)->combining;
    int count = h ? workers_count(h) : 1;

    if (count > c->room) {
        char *more = aligned_alloc(64, (size_t)count * REDUCE_PIECE);

        if (!more)
            return -ENOMEM;
        free(c->bounce);
        c->bounce = more;
        c->room = count;
    }
    c->workers = h;
    return 0;
}

int xport_shm_single_copy(const struct xport *x, int *why)
{
    const struct shm *t = x->state;

    for (int m = 0; m < t->members; m++)
        if (m != t->me && t->peer[m].unread) {
            *why = t->peer[m].unread;
            return 0;
        }
    return 1;
}
