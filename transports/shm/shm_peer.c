/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message's way: the sender posts its address, or that it is on the board. The receiver takes
 * posts out of the ring at once and matches them to its receives by tag, so that no tag can block
 * another. Matched messages are handled in order: read from the sender's memory and answered, or
 * asked for through the cells. Cells are filled only on demand, for a receive that is posted. So a
 * message in the cells never delays one that a rank waits for.
 */
#define _GNU_SOURCE
#include "transports/shm/shm_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fifo_put(struct fifo *f, struct shm_slot *s)
{
    if (!f->first)
        f->end = &f->first;
    s->next = NULL;
    *f->end = s;
    f->end = &s->next;
}

struct shm_slot *fifo_take(struct fifo *f)
{
    struct shm_slot *s = f->first;

    f->first = s->next;
    return s;
}

/* Take the first slot on that tag out, or return NULL. */
static struct shm_slot *fifo_take_tag(struct fifo *f, uint32_t tag)
{
    for (struct shm_slot **at = &f->first; *at; at = &(*at)->next) {
        struct shm_slot *s = *at;
        if (s->tag != tag)
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

void shm_peer_complete(struct shm *t, unsigned *waiting, struct shm_slot *s)
{
    --*waiting;
    t->report[t->reported++] = (unsigned)(s - t->slot) | s->failed;
}

/* Sending ------------------------------------------------------------------------------------- */

static int is_lent(const struct shm *t, const struct shm_slot *s)
{
    return t->lends && (uintptr_t)s->buf - (uintptr_t)t->lends < t->window.bytes;
}

/* A single reader could copy the bytes itself, but then the sender waits, and each system call
   costs time. */
static int suits_board(const struct shm *t, const struct shm_slot *s)
{
    enum { ALWAYS_BELOW = 32 << 10 };

    return s->length && s->length <= SHM_NOTICE_BYTES && !is_lent(t, s) &&
           (s->twins || s->length <= ALWAYS_BELOW);
}

/* Is a place on the board worth waiting for? Not for long: the reader of the notice there may be
   waiting for this very message. */
static int is_held(struct shm_slot *s)
{
    enum { LONG_ENOUGH = 2000 };

    return s->twins && ++s->held < LONG_ENOUGH;
}

void shm_peer_post(struct shm *t, struct peer *p)
{
    while (p->unposted.first && load(&p->out->posted) - load(&p->out->taken) < SHM_POSTS) {
        struct shm_slot *s = p->unposted.first;
        int lent = is_lent(t, s);
        int notice = -1;

        if (suits_board(t, s) && (notice = board_put(&t->board, s->buf, s->length)) < 0 &&
            is_held(s))
            break;
        fifo_take(&p->unposted);
        p->out->post[load(&p->out->posted) % SHM_POSTS] = (struct shm_post){
            .address = (uint64_t)(uintptr_t)s->buf - (lent ? (uint64_t)(uintptr_t)t->lends : 0),
            .lent = (uint32_t)lent,
            .length = s->length,
            .slot = (uint32_t)(s - t->slot),
            .tag = s->tag,
            .notice = (uint32_t)(notice + 1)};
        advance(&p->out->posted);
        if (notice >= 0)
            shm_peer_complete(t, &p->sends, s);
    }
}

/* The state of the sends. */
static int hear_answers(struct shm *t, struct peer *p)
{
    while (load(&p->out->heard) != load(&p->out->answered)) {
        struct shm_answer a = p->out->answer[load(&p->out->heard) % SHM_ANSWERS];
        if (a.slot >= t->nslots)
            return -EPROTO;
        struct shm_slot *s = &t->slot[a.slot];
        if (a.from == SHM_TAKEN) {
            shm_peer_complete(t, &p->sends, s);
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
        struct shm_slot *s = p->streaming.first;
        size_t n = s->length - s->done < s->step ? s->length - s->done : s->step;
        memcpy(shm_segment_cell(&t->segment, t->me, p->member, load(&p->out->filled)),
               s->buf + s->done, n);
        advance(&p->out->filled);
        copied += n;
        s->done += n;
        if (s->done == s->length)
            shm_peer_complete(t, &p->sends, fifo_take(&p->streaming));
    }
    return copied;
}

/* Receiving ----------------------------------------------------------------------------------- */

/* A message of another length than is expected is taken from its sender, and its bytes are not. */
static void match(struct peer *p, struct shm_slot *s, const struct shm_post *post)
{
    s->failed = !post->length ? XPORT_FAILED : s->length != post->length ? XPORT_UNEQUAL : 0;
    if (s->failed)
        s->length = 0;
    s->address = post->address;
    s->sender = post->slot;
    s->notice = post->notice;
    s->lent = post->lent ? p->window + post->address : NULL;
    fifo_put(s->lent && s->anywhere && !s->failed ? &p->arrived : &p->matched, s);
}

int shm_peer_add_early(struct early_stock *stock, unsigned n)
{
    struct early_block *b = malloc(sizeof *b + n * sizeof *b->early);

    if (!b)
        return -ENOMEM;
    b->next = stock->blocks;
    stock->blocks = b;
    stock->n += n;
    for (unsigned i = 0; i < n; i++) {
        b->early[i].next = stock->spare;
        stock->spare = &b->early[i];
    }
    return 0;
}

/* Ranks whose sizes differ may send more than there is room for. */
static int keep_early(struct early_stock *stock, struct peer *p, const struct shm_post *post)
{
    enum { MORE = 16 };
    struct early **end = &p->early;

    if (!stock->spare && shm_peer_add_early(stock, MORE))
        return -ENOMEM;
    struct early *e = stock->spare;
    stock->spare = e->next;
    *e = (struct early){.post = *post};
    while (*end)
        end = &(*end)->next;
    *end = e;
    return 0;
}

static int take_posts(struct shm *t, struct peer *p)
{
    while (load(&p->in->taken) != load(&p->in->posted)) {
        struct shm_post post = p->in->post[load(&p->in->taken) % SHM_POSTS];
        struct shm_slot *s = fifo_take_tag(&p->unmatched, post.tag);
        int rc = s ? 0 : keep_early(&t->early, p, &post);
        if (rc)
            return rc;
        if (s)
            match(p, s, &post);
        advance(&p->in->taken);
    }
    return 0;
}

int shm_peer_answer(struct peer *p, const struct shm_answer *a)
{
    if (load(&p->in->answered) - load(&p->in->heard) == SHM_ANSWERS)
        return 0;
    p->in->answer[load(&p->in->answered) % SHM_ANSWERS] = *a;
    advance(&p->in->answered);
    return 1;
}

/* Ask for all matched messages that cannot be read, in the order in which they will come. The
   sender may still be writing pieces of the first one. */
static void ask_for_cells(const struct shm *t, struct peer *p)
{
    struct shm_piece piece;

    if (p->matched.first && p->matched.first->sharing == SHARING &&
        shm_joint_look(&p->in->joint, &piece) == SHM_JOINT_WAITING)
        return;
    for (struct shm_slot *s = p->matched.first; s; s = s->next) {
        size_t grain = s->buf ? 1 : s->reduce.grain;
        if (s->granted || s->failed || s->lent || s->notice)
            continue;
        s->step = (uint32_t)(t->segment.cell_bytes / grain * grain);
        if (!shm_peer_answer(
                p, &(struct shm_answer){.from = s->done, .slot = s->sender, .step = s->step}))
            return;
        s->granted = 1;
    }
}

void shm_peer_deliver(struct shm_slot *s, const char *from, size_t n)
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
        struct shm_slot *s = p->matched.first;
        size_t n = s->length - s->done < s->step ? s->length - s->done : s->step;
        shm_peer_deliver(s, shm_segment_cell(&t->segment, p->member, t->me, load(&p->in->emptied)),
                         n);
        advance(&p->in->emptied);
        copied += n;
        if (s->done == s->length)
            shm_peer_complete(t, &p->receives, fifo_take(&p->matched));
    }
    return copied;
}

void shm_peer_receive(struct shm *t, struct peer *p, struct shm_slot *s)
{
    for (struct early **at = &p->early; *at; at = &(*at)->next) {
        struct early *e = *at;

        if (e->post.tag != s->tag)
            continue;
        *at = e->next;
        e->next = t->early.spare;
        t->early.spare = e;
        match(p, s, &e->post);
        return;
    }
    fifo_put(&p->unmatched, s);
}

/* Lending ------------------------------------------------------------------------------------- */

static int change(struct shm_pair *pair, enum shm_window from, enum shm_window to)
{
    uint32_t was = from;

    return atomic_compare_exchange_strong(&pair->window_state, &was, to);
}

void shm_peer_offer(const struct shm *t, struct peer *p)
{
    if (load(&p->out->window_state) != SHM_WINDOW_NONE)
        return;
    p->out->window = t->window;
    atomic_store_explicit(&p->out->window_state, SHM_WINDOW_OFFERED, memory_order_release);
}

/* A rank lends only after the other has said that it can read there. */
static void accept_offer(const struct shm *t, struct peer *p)
{
    if (!t->device || !t->device->reach || load(&p->in->window_state) != SHM_WINDOW_OFFERED)
        return;
    if (!change(p->in, SHM_WINDOW_OFFERED, SHM_WINDOW_OPENING))
        return;
    p->acceptor = t->device;
    p->window = t->device->reach(t->device->state, &p->in->window);
    if (p->window)
        change(p->in, SHM_WINDOW_OPENING, SHM_WINDOW_ACCEPTED);
    else
        shm_peer_leave(p);
}

void shm_peer_leave(struct peer *p)
{
    if (!p->acceptor)
        return;
    if (p->window)
        p->acceptor->leave(p->acceptor->state, p->window);
    p->acceptor = NULL;
    atomic_store_explicit(&p->in->window_state, SHM_WINDOW_CLOSED, memory_order_release);
}

/* Has that process ended? One that its parent has not waited for (a zombie) still takes signals. */
static int has_ended(pid_t pid)
{
    char path[32], text[512] = "", *state;

    if (kill(pid, 0))
        return errno == ESRCH;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    state = n > 0 ? strrchr(text, ')') : NULL; /* the name before it may hold anything */
    return state && (state[2] == 'Z' || state[2] == 'X');
}

int shm_peer_withdraw(struct peer *p)
{
    return !p->out || load(&p->out->window_state) == SHM_WINDOW_NONE ||
           change(p->out, SHM_WINDOW_OFFERED, SHM_WINDOW_CLOSED) ||
           load(&p->out->window_state) == SHM_WINDOW_CLOSED || has_ended(p->pid);
}

static void report_arrived(struct shm *t, struct peer *p)
{
    while (p->arrived.first)
        t->report[t->reported++] = (unsigned)(fifo_take(&p->arrived) - t->slot) | XPORT_LENT;
}

static void answer_returned(struct shm *t, struct peer *p)
{
    while (p->returned.first &&
           shm_peer_answer(
               p, &(struct shm_answer){.from = SHM_TAKEN, .slot = p->returned.first->sender}))
        shm_peer_complete(t, &p->receives, fifo_take(&p->returned));
}

int shm_peer_serve(struct shm *t, struct peer *p, size_t *budget)
{
    int rc = hear_answers(t, p);

    accept_offer(t, p);
    if (!rc)
        rc = take_posts(t, p);
    if (rc)
        return rc;
    report_arrived(t, p);
    answer_returned(t, p);
    size_t copied = fill_cells(t, p, *budget);
    ssize_t got = shm_peer_read_messages(t, p, *budget);
    if (got < 0)
        return (int)got;
    if (p->unread)
        ask_for_cells(t, p);
    copied += (size_t)got + empty_cells(t, p, *budget);
    *budget -= copied < *budget ? copied : *budget;
    return 0;
}
