/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message's way: the sender posts its address. The receiver takes posts out of the ring at once
 * and matches them to its receives by lane, so that no lane can block another. Of what is matched
 * it tells the sender that it is wanted. From then on whoever has time copies: the sender into
 * cells, which the receiver empties, and the receiver straight out of the sender's memory when
 * there is nothing in the cells. When all pieces are in, it tells the sender so.
 *
 * Why both: through the cells two CPUs share the work, which is faster than one system call that
 * has to pin pages; but a sender that computes, or waits for a CPU, fills no cells, and one that
 * has something to receive itself had better do that, since two copies cost more than one. Where
 * reading is not permitted, cells are all there is.
 *
 * Cells hold only what a posted receive wants, so nothing in them can be in the way.
 */
#define _GNU_SOURCE
#include "transports/shm_peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

void fifo_put(struct fifo *f, struct slot *s)
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

static int extents_put(struct extents *x, struct extent e)
{
    if (x->n == x->room) {
        unsigned room = x->room ? 2 * x->room : 16;
        struct extent *at = realloc(x->at, room * sizeof *at);
        if (!at)
            return -ENOMEM;
        x->at = at;
        x->room = room;
    }
    e.base = x->pieces;
    e.left = e.pieces = (uint32_t)((e.length + e.step - 1) / e.step);
    x->pieces += e.pieces;
    x->at[x->n++] = e;
    return 0;
}

static void extents_drop_first(struct extents *x)
{
    memmove(x->at, x->at + 1, --x->n * sizeof *x->at);
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

/* Claim up to `most` pieces below `end`. Returns how many, from *first on. */
static uint32_t claim(struct shm_pair *pair, uint32_t end, uint32_t most, uint32_t *first)
{
    uint32_t at = atomic_load_explicit(&pair->claimed, memory_order_relaxed), n;

    do {
        n = end - at;
        if (!n || n > INT32_MAX) /* the claims are past it */
            return 0;
        if (n > most)
            n = most;
    } while (!atomic_compare_exchange_weak_explicit(&pair->claimed, &at, at + n,
                                                    memory_order_relaxed, memory_order_relaxed));
    *first = at;
    return n;
}

static void complete(struct peer *p, struct shm_report *r, const struct slot *s)
{
    p->busy--;
    r->done[r->ndone++] = (unsigned)(s - r->slots);
}

/* Sending ------------------------------------------------------------------------------------- */

void shm_peer_post(struct peer *p, const struct shm_report *r)
{
    while (p->unposted.first && load(&p->out->posted) - load(&p->out->taken) < SHM_POSTS) {
        struct slot *s = fifo_take(&p->unposted);
        p->out->post[load(&p->out->posted) % SHM_POSTS] =
            (struct shm_post){.address = (uint64_t)(uintptr_t)s->buf,
                              .length = s->length,
                              .slot = (uint32_t)(s - r->slots),
                              .lane = s->lane};
        advance(&p->out->posted);
    }
}

/* What has become of the sends. */
static int hear_answers(struct peer *p, struct shm_report *r)
{
    int rc = 0;

    while (!rc && load(&p->out->heard) != load(&p->out->answered)) {
        struct shm_answer a = p->out->answer[load(&p->out->heard) % SHM_ANSWERS];
        if (a.slot >= r->nslots)
            return -EPROTO;
        if (!a.length)
            complete(p, r, &r->slots[a.slot]);
        else
            rc = extents_put(&p->filling, (struct extent){.buf = r->slots[a.slot].buf,
                                                          .from = a.from,
                                                          .length = a.length,
                                                          .unread = a.unread,
                                                          .step = a.step});
        advance(&p->out->heard);
    }
    return rc;
}

/* Bytes n pieces of an extent, from number `piece` on, and where they begin in the message. */
static size_t range_of(const struct extent *e, uint32_t piece, uint32_t n, uint64_t *from)
{
    uint64_t at = (uint64_t)(piece - e->base) * e->step, bytes = (uint64_t)n * e->step;

    *from = e->from + at;
    return e->length - at < bytes ? e->length - at : bytes;
}

/* Fill free cells. Returns the bytes copied. */
static size_t fill_cells(struct peer *p, const struct shm_report *r, size_t budget)
{
    size_t copied = 0;

    while (p->filling.n && copied < budget && (!r->receiving || p->filling.at[0].unread) &&
           load(&p->out->filled) - load(&p->out->emptied) < SHM_CELLS) {
        const struct extent *e = &p->filling.at[0];
        uint32_t cell = load(&p->out->filled), piece;
        if (!claim(p->out, e->base + e->pieces, 1, &piece)) {
            extents_drop_first(&p->filling);
            continue;
        }
        uint64_t from;
        size_t n = range_of(e, piece, 1, &from);
        memcpy(shm_segment_cell(p->segment, p->me, p->member, cell), e->buf + from, n);
        p->out->piece[cell % SHM_CELLS] = piece;
        advance(&p->out->filled);
        copied += n;
    }
    return copied;
}

/* Receiving ----------------------------------------------------------------------------------- */

static int match(struct peer *p, struct slot *s, const struct shm_post *post)
{
    if (s->length != post->length)
        return -EPROTO;
    s->left = s->length;
    s->address = post->address;
    s->sender = post->slot;
    fifo_put(&p->matched, s);
    return 0;
}

int shm_peer_receive(struct peer *p, struct slot *s)
{
    for (unsigned i = 0; i < p->nearly; i++)
        if (p->early[i].lane == s->lane) {
            struct shm_post post = p->early[i];
            memmove(p->early + i, p->early + i + 1, (--p->nearly - i) * sizeof post);
            return match(p, s, &post);
        }
    fifo_put(&p->unmatched, s);
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

/* Returns 0 if there is no room. */
static int answer(struct peer *p, struct shm_answer a)
{
    if (load(&p->in->answered) - load(&p->in->heard) == SHM_ANSWERS)
        return 0;
    p->in->answer[load(&p->in->answered) % SHM_ANSWERS] = a;
    advance(&p->in->answered);
    return 1;
}

/* Tell the sender that it shall help with these bytes. Returns 0, 1 if there is no room, -ENOMEM.
 */
static int want(struct peer *p, struct slot *s, uint64_t from, uint64_t length)
{
    size_t grain = s->buf ? 1 : s->reduce.grain;
    struct extent e = {.slot = s,
                       .from = from,
                       .length = length,
                       .step = (uint32_t)(p->segment->cell_bytes / grain * grain)};

    if (!answer(p, (struct shm_answer){.from = from,
                                       .length = length,
                                       .slot = s->sender,
                                       .step = e.step,
                                       .unread = p->unread != 0}))
        return 1;
    return extents_put(&p->wanted, e);
}

static int want_matched(struct peer *p)
{
    if (p->lost.length) {
        int rc = want(p, p->lost.slot, p->lost.from, p->lost.length);
        if (rc)
            return rc;
        p->lost.length = 0;
    }
    while (p->matched.first) {
        int rc = want(p, p->matched.first, 0, p->matched.first->length);
        if (rc)
            return rc;
        fifo_take(&p->matched);
    }
    return 0;
}

static void tell_received(struct peer *p, struct shm_report *r)
{
    while (p->received.first && answer(p, (struct shm_answer){.slot = p->received.first->sender})) {
        r->receiving--;
        complete(p, r, fifo_take(&p->received));
    }
}

static struct extent *extent_of(struct peer *p, uint32_t piece)
{
    for (unsigned i = 0; i < p->wanted.n; i++)
        if (piece - p->wanted.at[i].base < p->wanted.at[i].pieces)
            return &p->wanted.at[i];
    return NULL;
}

/* Pieces of an extent have been dealt with. */
static void count_pieces(struct peer *p, struct extent *e, uint32_t n)
{
    e->left -= n;
    while (p->wanted.n && !p->wanted.at[0].left)
        extents_drop_first(&p->wanted);
}

/* n bytes of the message, those from `from` on, are at `bytes`: put them where they belong. */
static void deliver(struct peer *p, struct slot *s, const char *bytes, uint64_t from, size_t n)
{
    const struct xport_reduce *r = &s->reduce;

    if (!s->buf)
        r->combine(r->context, (const char *)r->own + from, bytes, (char *)r->dst + from, n);
    else if (s->buf + from != bytes)
        memcpy(s->buf + from, bytes, n);
    s->left -= n;
    if (!s->left)
        fifo_put(&p->received, s);
}

/* Returns the bytes copied, or -EPROTO. */
static ssize_t empty_cells(struct peer *p, size_t budget)
{
    size_t copied = 0;

    while (copied < budget && load(&p->in->filled) != load(&p->in->emptied)) {
        uint32_t cell = load(&p->in->emptied), piece = p->in->piece[cell % SHM_CELLS];
        struct extent *e = extent_of(p, piece);
        uint64_t from;
        if (!e)
            return -EPROTO;
        size_t n = range_of(e, piece, 1, &from);
        deliver(p, e->slot, shm_segment_cell(p->segment, p->member, p->me, cell), from, n);
        advance(&p->in->emptied);
        count_pieces(p, e, 1);
        copied += n;
    }
    return (ssize_t)copied;
}

ssize_t shm_read_memory(pid_t pid, uint64_t address, void *to, size_t n)
{
    struct iovec local = {.iov_base = to, .iov_len = n};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = n};
    ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

    return got < 0 ? -errno : got;
}

/* The extent with the first unclaimed piece, or NULL. */
static struct extent *unclaimed(struct peer *p)
{
    uint32_t claimed = load(&p->in->claimed);

    return claimed == p->wanted.pieces ? NULL : extent_of(p, claimed);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/*
 * Does the peer fill a cell in about the time that reading one takes? Then its help is worth
 * having. If it does not, it is busy or has no CPU, and is not waited for in the next reads.
 */
static int helps(struct peer *p)
{
    enum { MOMENT = 100, READS = 32 };

    if (p->impatient) {
        p->impatient--;
        return 0;
    }
    for (int i = 0; i < MOMENT; i++, relax())
        if (load(&p->in->filled) != load(&p->in->emptied))
            return 1;
    p->impatient = READS;
    return 0;
}

ssize_t shm_peer_read(struct peer *p, struct shm_report *r, char *bounce)
{
    struct extent *e = p->unread ? NULL : unclaimed(p);
    uint32_t piece;

    if (!e)
        return 0;
    if (helps(p)) {
        ssize_t moved = empty_cells(p, SHM_READ);
        tell_received(p, r);
        return moved;
    }
    uint32_t most = (e->slot->buf ? SHM_READ : SHM_BOUNCE) / e->step;
    uint32_t n = claim(p->in, e->base + e->pieces, most, &piece);
    if (!n || !(e = extent_of(p, piece))) /* the sender was quicker */
        return 0;
    uint64_t from;
    size_t bytes = range_of(e, piece, n, &from);
    char *to = e->slot->buf ? e->slot->buf + from : bounce;
    ssize_t got = shm_read_memory(p->pid, e->slot->address + from, to, bytes);
    if (got == -ESRCH)
        return got;
    if (got == (ssize_t)bytes) {
        deliver(p, e->slot, to, from, bytes);
    } else {
        p->unread = got < 0 ? (int)-got : EFAULT;
        p->lost = (struct extent){.slot = e->slot, .from = from, .length = bytes};
    }
    count_pieces(p, e, n);
    tell_received(p, r);
    return (ssize_t)bytes;
}

int shm_peer_serve(struct peer *p, struct shm_report *r, size_t *budget)
{
    int rc = hear_answers(p, r);

    if (!rc)
        rc = take_posts(p);
    if (!rc)
        rc = want_matched(p);
    if (rc < 0)
        return rc;
    shm_peer_post(p, r);
    size_t copied = fill_cells(p, r, *budget);
    ssize_t got = empty_cells(p, *budget);
    if (got < 0)
        return (int)got;
    tell_received(p, r);
    copied += (size_t)got;
    *budget -= copied < *budget ? copied : *budget;
    return 0;
}

void shm_peer_free(struct peer *p)
{
    free(p->early);
    free(p->filling.at);
    free(p->wanted.at);
}
