/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message's way: the sender posts its address. The receiver takes posts out of the ring at once
 * and matches them to its receives by lane, so that no lane can block another. What is matched is
 * worked off in order: read from the sender's memory and answered, or asked for through the cells.
 * Cells are filled only on demand, for a receive that is there; a message in the cells can
 * therefore not be in the way of one that somebody waits for.
 *
 * What is combined is read in pieces that stay in the cache until they are added; else the more at
 * once the better: calls of 32 KiB reach half the rate of large ones.
 *
 * Rejected: a sender that helps its reader by filling cells meanwhile. With a CPU to spare, a
 * broadcast to one rank was up to twice as fast; but a sender that loses its CPU in the middle of a
 * piece then holds up a receiver who could have read it.
 *
 * A poll goes on until something is complete or nothing moves, since whoever polls takes a poll
 * without result for a reason to give the CPU away; but not beyond a budget of bytes, so that other
 * transports get their turns.
 */
#define _GNU_SOURCE
#include "transports/shm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "transports/shm_segment.h"

enum { READ_PIECE = 4 << 20, REDUCE_PIECE = 128 << 10 };
enum { TURN_BUDGET = 512 << 10, POLL_BUDGET = 16 << 20 };

/* A send or a receive that the engine has posted. */
struct slot {
    struct slot *next;
    char *buf; /* NULL for a receive that combines */
    size_t length, done;
    uint32_t lane;
    uint32_t step;    /* bytes per cell */
    int granted;      /* a receive that comes through the cells */
    uint64_t address; /* a receive's bytes at the sender */
    uint32_t sender;  /* and the sender's slot */
    struct xport_reduce reduce;
};

struct fifo {
    struct slot *first, **end;
};

struct peer {
    struct shm_pair *out, *in;
    pid_t pid;
    int member;
    int unread;             /* errno if its memory cannot be read */
    unsigned busy;          /* slots that wait for it */
    struct fifo unposted;   /* sends for which the ring had no room */
    struct fifo streaming;  /* sends that go through the cells */
    struct fifo unmatched;  /* receives */
    struct fifo matched;    /* receives whose sender is known */
    struct shm_post *early; /* [early_room] owned: posts without a receive, oldest first */
    unsigned nearly, early_room;
};

struct shm {
    uint64_t nonce;
    struct shm_segment segment;
    int fd; /* of the segment, until all have joined; or -1 */
    int members, me, copy_only;
    int error;         /* nothing works any more */
    int *member_of;    /* [nranks] owned: -1 for ranks elsewhere */
    struct peer *peer; /* [members] owned */
    struct slot *slot; /* [nslots] owned */
    unsigned nslots;
    int next;         /* the peer that is served first */
    char *bounce;     /* [REDUCE_PIECE] owned */
    unsigned *report; /* during a poll: completed slots */
    unsigned reported;
};

static void fifo_put(struct fifo *f, struct slot *s)
{
    if (!f->first)
        f->end = &f->first;
    s->next = NULL;
    *f->end = s;
    f->end = &s->next;
}

static struct slot *fifo_take(struct fifo *f)
{
    struct slot *s = f->first;

    f->first = s->next;
    return s;
}

/* Take the first slot on that lane out, or return NULL. */
static struct slot *fifo_take_lane(struct fifo *f, uint32_t lane)
{
    for (struct slot **at = &f->first; *at; at = &(*at)->next) {
        struct slot *s = *at;
        if (s->lane != lane)
            continue;
        *at = s->next;
        if (!*at)
            f->end = at;
        return s;
    }
    return NULL;
}

static uint32_t load(const _Atomic uint32_t *counter)
{
    return atomic_load_explicit(counter, memory_order_acquire);
}

/* Count one more; only the counter's owner does. */
static void advance(_Atomic uint32_t *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_release);
}

static void complete(struct shm *t, struct peer *p, struct slot *s)
{
    p->busy--;
    t->report[t->reported++] = (unsigned)(s - t->slot);
}

/* Sending ------------------------------------------------------------------------------------- */

static void post_sends(struct shm *t, struct peer *p)
{
    while (p->unposted.first && load(&p->out->posted) - load(&p->out->taken) < SHM_POSTS) {
        struct slot *s = fifo_take(&p->unposted);
        p->out->post[load(&p->out->posted) % SHM_POSTS] =
            (struct shm_post){.address = (uint64_t)(uintptr_t)s->buf,
                              .length = s->length,
                              .slot = (uint32_t)(s - t->slot),
                              .lane = s->lane};
        advance(&p->out->posted);
    }
}

/* What has become of the sends. */
static int hear_answers(struct shm *t, struct peer *p)
{
    while (load(&p->out->heard) != load(&p->out->answered)) {
        struct shm_answer a = p->out->answer[load(&p->out->heard) % SHM_ANSWERS];
        if (a.slot >= t->nslots)
            return -EPROTO;
        struct slot *s = &t->slot[a.slot];
        if (a.from == SHM_TAKEN) {
            complete(t, p, s);
        } else {
            s->done = a.from;
            s->step = a.step;
            fifo_put(&p->streaming, s);
        }
        advance(&p->out->heard);
    }
    return 0;
}

/* Fill free cells. Returns the bytes copied. */
static size_t fill_cells(struct shm *t, struct peer *p, size_t budget)
{
    size_t copied = 0;

    while (p->streaming.first && copied < budget &&
           load(&p->out->filled) - load(&p->out->emptied) < SHM_CELLS) {
        struct slot *s = p->streaming.first;
        size_t n = s->length - s->done < s->step ? s->length - s->done : s->step;
        memcpy(shm_segment_cell(&t->segment, t->me, p->member, load(&p->out->filled)),
               s->buf + s->done, n);
        advance(&p->out->filled);
        copied += n;
        s->done += n;
        if (s->done == s->length)
            complete(t, p, fifo_take(&p->streaming));
    }
    return copied;
}

/* Receiving ----------------------------------------------------------------------------------- */

static int match(struct peer *p, struct slot *s, const struct shm_post *post)
{
    if (s->length != post->length)
        return -EPROTO;
    s->address = post->address;
    s->sender = post->slot;
    fifo_put(&p->matched, s);
    return 0;
}

static int keep_early(struct peer *p, const struct shm_post *post)
{
    if (p->nearly == p->early_room) {
        unsigned room = p->early_room ? 2 * p->early_room : 16;
        struct shm_post *early = realloc(p->early, room * sizeof *early);
        if (!early)
            return -ENOMEM;
        p->early = early;
        p->early_room = room;
    }
    p->early[p->nearly++] = *post;
    return 0;
}

static int take_posts(struct peer *p)
{
    while (load(&p->in->taken) != load(&p->in->posted)) {
        struct shm_post post = p->in->post[load(&p->in->taken) % SHM_POSTS];
        struct slot *s = fifo_take_lane(&p->unmatched, post.lane);
        int rc = s ? match(p, s, &post) : keep_early(p, &post);
        if (rc)
            return rc;
        advance(&p->in->taken);
    }
    return 0;
}

static int answer(struct peer *p, const struct shm_answer *a)
{
    if (load(&p->in->answered) - load(&p->in->heard) == SHM_ANSWERS)
        return 0;
    p->in->answer[load(&p->in->answered) % SHM_ANSWERS] = *a;
    advance(&p->in->answered);
    return 1;
}

/* Ask for all matched messages that cannot be read; in order, as they will come. */
static void ask_for_cells(const struct shm *t, struct peer *p)
{
    for (struct slot *s = p->matched.first; s; s = s->next) {
        size_t grain = s->buf ? 1 : s->reduce.grain;
        if (s->granted)
            continue;
        s->step = (uint32_t)(t->segment.cell_bytes / grain * grain);
        if (!answer(p, &(struct shm_answer){.from = s->done, .slot = s->sender, .step = s->step}))
            return;
        s->granted = 1;
    }
}

/* n bytes of the message are at `from`: put them where they belong. */
static void deliver(struct slot *s, const char *from, size_t n)
{
    const struct xport_reduce *r = &s->reduce;

    if (s->buf)
        memcpy(s->buf + s->done, from, n);
    else
        r->combine(r->context, (const char *)r->own + s->done, from, (char *)r->dst + s->done, n);
    s->done += n;
}

static size_t empty_cells(struct shm *t, struct peer *p, size_t budget)
{
    size_t copied = 0;

    while (p->matched.first && p->matched.first->granted && copied < budget &&
           load(&p->in->filled) != load(&p->in->emptied)) {
        struct slot *s = p->matched.first;
        size_t n = s->length - s->done < s->step ? s->length - s->done : s->step;
        deliver(s, shm_segment_cell(&t->segment, p->member, t->me, load(&p->in->emptied)), n);
        advance(&p->in->emptied);
        copied += n;
        if (s->done == s->length)
            complete(t, p, fifo_take(&p->matched));
    }
    return copied;
}

static ssize_t read_peer(const struct peer *p, uint64_t address, void *to, size_t n)
{
    struct iovec local = {.iov_base = to, .iov_len = n};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = n};
    ssize_t got = process_vm_readv(p->pid, &local, 1, &remote, 1, 0);

    return got < 0 ? -errno : got;
}

/* Read one piece of a message. Returns its bytes, or -errno if not even one element can be had. */
static ssize_t read_piece(struct shm *t, const struct peer *p, struct slot *s)
{
    size_t grain = s->buf ? 1 : s->reduce.grain;
    size_t piece = s->buf ? READ_PIECE : REDUCE_PIECE / grain * grain;
    size_t n = s->length - s->done < piece ? s->length - s->done : piece;
    ssize_t got = read_peer(p, s->address + s->done, s->buf ? s->buf + s->done : t->bounce, n);

    if (got < 0)
        return got;
    got -= got % (ssize_t)grain;
    if (!got)
        return -EFAULT;
    if (s->buf)
        s->done += (size_t)got;
    else
        deliver(s, t->bounce, (size_t)got);
    return got;
}

/* Read pieces and answer what is complete. Returns the bytes read, or -ESRCH. */
static ssize_t read_messages(struct shm *t, struct peer *p, size_t budget)
{
    size_t copied = 0;

    while (p->matched.first && !p->matched.first->granted && !p->unread) {
        struct slot *s = p->matched.first;
        if (s->done == s->length) {
            if (!answer(p, &(struct shm_answer){.from = SHM_TAKEN, .slot = s->sender}))
                break;
            complete(t, p, fifo_take(&p->matched));
            continue;
        }
        if (copied >= budget)
            break;
        ssize_t got = read_piece(t, p, s);
        if (got == -ESRCH)
            return got; /* the peer is no more */
        if (got < 0)
            p->unread = (int)-got;
        else
            copied += (size_t)got;
    }
    return (ssize_t)copied;
}

/* The transport ------------------------------------------------------------------------------- */

static int serve(struct shm *t, struct peer *p, size_t *budget)
{
    int rc = hear_answers(t, p);

    if (!rc)
        rc = take_posts(p);
    if (rc)
        return rc;
    post_sends(t, p);
    size_t copied = fill_cells(t, p, *budget);
    ssize_t got = read_messages(t, p, *budget);
    if (got < 0)
        return (int)got;
    if (p->unread)
        ask_for_cells(t, p);
    copied += (size_t)got + empty_cells(t, p, *budget);
    *budget -= copied < *budget ? copied : *budget;
    return 0;
}

/* Serve all peers once. Returns the bytes moved, or an error. */
static ssize_t turn(struct shm *t)
{
    size_t budget = TURN_BUDGET;

    /* Who comes after the one with whom the budget ended is first next time. */
    for (int i = 0; i < t->members && budget; i++) {
        struct peer *p = &t->peer[t->next];
        t->next = t->next + 1 < t->members ? t->next + 1 : 0;
        int rc = p->busy ? serve(t, p, &budget) : 0;
        if (rc)
            return rc;
    }
    return (ssize_t)(TURN_BUDGET - budget);
}

static int shm_poll(void *state, unsigned *done, unsigned *ndone)
{
    struct shm *t = state;
    ssize_t moved = t->error;

    t->report = done;
    t->reported = 0;
    for (size_t total = 0; moved >= 0 && total < POLL_BUDGET; total += (size_t)moved) {
        moved = turn(t);
        if (!moved || t->reported)
            break;
    }
    *ndone = t->reported;
    return moved < 0 ? (int)moved : 0;
}

static struct slot *take_slot(struct shm *t, unsigned slot, size_t length, struct peer *p, int lane)
{
    struct slot *s = &t->slot[slot];

    *s = (struct slot){.length = length, .lane = (uint32_t)lane};
    p->busy++;
    return s;
}

static int shm_send(void *state, unsigned slot, const void *buf, size_t length, int peer, int lane)
{
    struct shm *t = state;
    struct peer *p = &t->peer[t->member_of[peer]];
    struct slot *s = take_slot(t, slot, length, p, lane);

    s->buf = (char *)(uintptr_t)buf;
    fifo_put(&p->unposted, s);
    post_sends(t, p);
    return t->error;
}

static int receive(struct shm *t, struct peer *p, struct slot *s)
{
    for (unsigned i = 0; i < p->nearly; i++)
        if (p->early[i].lane == s->lane) {
            struct shm_post post = p->early[i];
            memmove(p->early + i, p->early + i + 1, (--p->nearly - i) * sizeof post);
            return match(p, s, &post);
        }
    fifo_put(&p->unmatched, s);
    return t->error;
}

static int shm_recv(void *state, unsigned slot, void *buf, size_t length, int peer, int lane)
{
    struct shm *t = state;
    struct peer *p = &t->peer[t->member_of[peer]];
    struct slot *s = take_slot(t, slot, length, p, lane);

    s->buf = buf;
    return receive(t, p, s);
}

static int shm_reduces(void *state, int peer)
{
    (void)state, (void)peer;
    return 1;
}

static int shm_recv_reduce(void *state, unsigned slot, const struct xport_reduce *r, int peer,
                           int lane)
{
    struct shm *t = state;
    struct peer *p = &t->peer[t->member_of[peer]];
    struct slot *s = take_slot(t, slot, r->length, p, lane);

    if (!r->grain || r->grain > SHM_GRAIN_MAX)
        return -EINVAL;
    s->reduce = *r;
    return receive(t, p, s);
}

/* What peers know of this rank's slots is out of step from here on. */
static void shm_abandon(void *state)
{
    struct shm *t = state;

    t->error = -EPIPE;
}

static int shm_reserve(void *state, unsigned nslots)
{
    struct shm *t = state;

    if (t->error || nslots <= t->nslots)
        return t->error;
    struct slot *slot = malloc(nslots * sizeof *slot);
    if (!slot)
        return -ENOMEM;
    free(t->slot);
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

int xport_shm_open(const int *member, int members, int rank, int nranks, int copy_only,
                   struct xport *x, struct shm_offer *offer)
{
    struct shm *t = calloc(1, sizeof *t);

    *x = (struct xport){.name = "shm",
                        .state = t,
                        .send = shm_send,
                        .recv = shm_recv,
                        .reduces = shm_reduces,
                        .recv_reduce = shm_recv_reduce,
                        .poll = shm_poll,
                        .abandon = shm_abandon,
                        .reserve = shm_reserve};
    *offer = (struct shm_offer){.fd = -1};
    if (!t)
        return -ENOMEM;
    t->fd = -1;
    t->members = members;
    t->copy_only = copy_only;
    t->nonce = draw_nonce();
    t->member_of = malloc((size_t)nranks * sizeof *t->member_of);
    t->peer = calloc((size_t)members, sizeof *t->peer);
    t->bounce = aligned_alloc(64, REDUCE_PIECE);
    if (!t->member_of || !t->peer || !t->bounce) {
        xport_shm_close(x);
        return -ENOMEM;
    }
    for (int r = 0; r < nranks; r++)
        t->member_of[r] = -1;
    for (int m = 0; m < members; m++) {
        t->member_of[member[m]] = m;
        t->peer[m].member = m;
    }
    t->me = t->member_of[rank];
    t->next = t->me;
    if (t->me == 0)
        t->fd = shm_segment_create(&t->segment, members, t->nonce);
    *offer = (struct shm_offer){
        .nonce = t->nonce, .address = (uint64_t)(uintptr_t)&t->nonce, .pid = getpid(), .fd = t->fd};
    return 0;
}

/* Can a peer be read from? Returns 0 or the errno. */
static int try_reading(const struct peer *p, const struct shm_offer *offer)
{
    uint64_t nonce = 0;
    ssize_t got = read_peer(p, offer->address, &nonce, sizeof nonce);

    return got < 0 ? (int)-got : nonce == offer->nonce ? 0 : ESRCH;
}

int xport_shm_join(struct xport *x, const struct shm_offer *offer)
{
    struct shm *t = x->state;

    if (offer[0].fd < 0)
        return offer[0].fd == -1 ? -EPERM : offer[0].fd;
    if (t->me != 0) {
        int rc =
            shm_segment_join(&t->segment, t->members, offer[0].nonce, offer[0].pid, offer[0].fd);
        if (rc)
            return rc;
    }
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
    struct shm *t = x->state;

    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

void xport_shm_close(struct xport *x)
{
    struct shm *t = x->state;

    if (!t)
        return;
    xport_shm_joined(x);
    shm_segment_close(&t->segment);
    for (int m = 0; t->peer && m < t->members; m++)
        free(t->peer[m].early);
    free(t->peer);
    free(t->member_of);
    free(t->slot);
    free(t->bounce);
    free(t);
    x->state = NULL;
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
