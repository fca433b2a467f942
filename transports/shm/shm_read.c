/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single copy: the receiver reads the sender's memory. Data to be combined is read in pieces that
 * stay in the cache until they are added. Other data is read in large calls: calls of 32 KiB reach
 * half the rate of large ones (real, one machine).
 *
 * A copy by the kernel takes one CPU several times as long as memcpy. So a sender that would only
 * wait writes pieces of the message itself (shm_joint.h), which halves the time. This needs a CPU
 * for each rank: a sender that loses its CPU in the middle of a piece delays a receiver that could
 * have read it. Data to be combined is not copied jointly: its receiver does not wait for bytes
 * alone, and its sender is usually a receiver too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/uio.h>

#include "transports/base/workers.h"
#include "transports/shm/shm_peer.h"

enum { READ_PIECE = 4 << 20, PATIENCE = 64 };

ssize_t shm_peer_read(const struct peer *p, uint64_t address, void *to, size_t n)
{
    struct iovec local = {.iov_base = to, .iov_len = n};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = n};
    ssize_t got = process_vm_readv(p->pid, &local, 1, &remote, 1, 0);

    return got < 0 ? -errno : got;
}

/* The same from its device: for a receive of a call that has none of its own. */
static ssize_t pull(const struct peer *p, const char *from, char *to, size_t n)
{
    return p->acceptor->pull(p->acceptor->state, to, from, n) ? -EIO : (ssize_t)n;
}

/* Pieces of one message that is combined, one for each hand. */
struct together {
    const struct peer *p;
    const struct shm_slot *s;
    char *bounce;
    size_t piece, bytes; /* of each, and of all */
    int read[WORKERS_MOST];
};

static size_t together_bytes(const struct together *w, int part)
{
    size_t from = (size_t)part * w->piece;

    return w->bytes - from < w->piece ? w->bytes - from : w->piece;
}

static void read_one(void *context, int part)
{
    struct together *w = context;
    size_t n = together_bytes(w, part), from = (size_t)part * w->piece;

    w->read[part] =
        shm_peer_read(w->p, w->s->address + w->s->done + from, w->bounce + from, n) == (ssize_t)n;
}

static void combine_one(void *context, int part)
{
    struct together *w = context;
    const struct xport_reduce *r = &w->s->reduce;
    size_t from = (size_t)part * w->piece, at = w->s->done + from;

    r->combine(r->context, (const char *)r->own + at, w->bounce + from, (char *)r->dst + at,
               together_bytes(w, part));
}

/* All are read before any is combined: what is combined twice is wrong. Returns the bytes; 0: the
   caller is to try alone. */
static ssize_t read_together(struct shm *t, const struct peer *p, struct shm_slot *s)
{
    struct together w = {.p = p, .s = s, .bounce = t->combining.bounce};
    size_t left = s->until - s->done;
    int parts, whole = 0;

    w.piece = REDUCE_PIECE / s->reduce.grain * s->reduce.grain;
    w.bytes = w.piece * (size_t)workers_count(t->combining.workers);
    w.bytes = left < w.bytes ? left : w.bytes;
    parts = (int)((w.bytes + w.piece - 1) / w.piece);
    workers_run(t->combining.workers, parts, read_one, &w);
    while (whole < parts && w.read[whole])
        whole++;
    if (!whole)
        return 0;
    if (whole < parts)
        w.bytes = (size_t)whole * w.piece;
    workers_run(t->combining.workers, whole, combine_one, &w);
    s->done += w.bytes;
    return (ssize_t)w.bytes;
}

/* Read one piece of a message. Returns its bytes, or -errno if not even one element can be had. */
static ssize_t read_piece(struct shm *t, const struct peer *p, struct shm_slot *s)
{
    size_t grain = s->buf ? 1 : s->reduce.grain;
    size_t piece = s->buf ? READ_PIECE : REDUCE_PIECE / grain * grain;
    size_t n = s->until - s->done < piece ? s->until - s->done : piece;
    char *to = s->buf ? s->buf + s->done : t->combining.bounce;
    ssize_t got = t->combining.workers && !s->buf && !s->lent && s->until - s->done > piece
                      ? read_together(t, p, s)
                      : 0;

    if (got > 0)
        return got;
    got =
        s->lent ? pull(p, s->lent + s->done, to, n) : shm_peer_read(p, s->address + s->done, to, n);

    if (got < 0)
        return got;
    got -= got % (ssize_t)grain;
    if (!got)
        return -EFAULT;
    if (s->buf)
        s->done += (size_t)got;
    else
        shm_peer_deliver(s, t->combining.bounce, (size_t)got);
    return got;
}

/* A sender who has this rank's bytes to read itself would not help, and pieces would cost. */
static int is_shared(const struct shm *t, const struct peer *p, const struct shm_slot *s)
{
    return t->helping && !p->unhelpful && s->buf && !s->lent && !s->failed && !p->sends &&
           shm_joint_pays(s->length);
}

/* This rank has to read [done, until) of a message next; nothing if it is complete. Returns 0 as
   long as only the sender's pieces are missing. */
static int find_work(const struct shm *t, struct peer *p, struct shm_slot *s)
{
    struct shm_joint *joint = &p->in->joint;
    struct shm_piece piece = {s->length, 0};

    if (!s->until) {
        s->sharing = is_shared(t, p, s) ? SHARING : SHARING_NOT;
        if (!s->sharing)
            s->until = s->length;
        else
            shm_joint_open(joint, s->sender, (uint64_t)(uintptr_t)s->buf, s->length);
    }
    if (s->done < s->until || s->done == s->length)
        return 1;
    if (s->sharing == SHARING && !shm_joint_claim_first(joint, &piece)) {
        enum shm_joint_state state = shm_joint_look(joint, &piece);
        if (state == SHM_JOINT_WAITING)
            return 0;
        s->sharing = state == SHM_JOINT_RETURNED ? SHARING_RETURNED : SHARING_NOT;
        p->unhelpful = state == SHM_JOINT_RETURNED;
    } else if (s->sharing == SHARING_RETURNED) {
        s->sharing = SHARING_NOT;
    }
    s->done = piece.from;
    s->until = piece.from + piece.length;
    return 1;
}

/* Is the sender that is waited for no more? A question for the system, thus not asked always. */
static int is_gone(struct peer *p, const struct shm_slot *s)
{
    char byte;

    return ++p->waits % PATIENCE == 0 && shm_peer_read(p, s->address, &byte, 1) == -ESRCH;
}

static void read_notice(struct shm *t, struct peer *p, struct shm_slot *s)
{
    uint32_t notice = s->notice - 1;

    shm_peer_deliver(s, shm_segment_notice_bytes(&t->segment, p->member, notice), s->length);
    board_read(shm_segment_notice(&t->segment, p->member, notice));
    shm_peer_complete(t, &p->receives, s);
}

/* The message whose turn it is, if this rank need not wait for the sender's CPU. */
static struct shm_slot *next_readable(const struct peer *p)
{
    struct shm_slot *s = p->matched.first;

    return s && !s->granted && (!p->unread || s->failed || s->lent || s->notice) ? s : NULL;
}

ssize_t shm_peer_read_messages(struct shm *t, struct peer *p, size_t budget)
{
    size_t copied = 0;

    for (struct shm_slot *s; (s = next_readable(p)) != NULL;) {
        if (copied >= budget && s->done < s->length)
            break;
        if (s->notice) {
            copied += s->length;
            read_notice(t, p, fifo_take(&p->matched));
            continue;
        }
        if (!find_work(t, p, s)) {
            if (is_gone(p, s))
                return -ESRCH;
            break;
        }
        if (s->done == s->length) {
            if (!shm_peer_answer(p, &(struct shm_answer){.from = SHM_TAKEN, .slot = s->sender}))
                break;
            shm_peer_complete(t, &p->receives, fifo_take(&p->matched));
            continue;
        }
        ssize_t got = read_piece(t, p, s);
        if (got == -ESRCH)
            return got; /* the peer is no more */
        if (got >= 0) {
            copied += (size_t)got;
            continue;
        }
        if (s->lent) { /* this rank's device is no more: the call fails */
            s->failed = XPORT_FAILED;
            s->done = s->until = s->length;
            continue;
        }
        p->unread = (int)-got;
        if (s->sharing == SHARING)
            shm_joint_close(&p->in->joint);
    }
    return (ssize_t)copied;
}

/* Returns 1 if all of it is where it belongs. */
static int write_piece(const struct peer *p, const char *from, uint64_t address, size_t n)
{
    while (n) {
        struct iovec local = {.iov_base = (char *)(uintptr_t)from, .iov_len = n};
        struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = n};
        ssize_t put = process_vm_writev(p->pid, &local, 1, &remote, 1, 0);
        if (put <= 0)
            return 0;
        from += put;
        address += (uint64_t)put;
        n -= (size_t)put;
    }
    return 1;
}

size_t shm_peer_help(const struct shm *t, struct peer *p)
{
    struct shm_claim c;

    if (p->unwritten || !shm_joint_claim_last(&p->out->joint, &c))
        return 0;
    p->unwritten = !write_piece(p, t->slot[c.slot].buf + c.piece.from, c.address + c.piece.from,
                                c.piece.length);
    shm_joint_put(&p->out->joint, !p->unwritten);
    return p->unwritten ? 0 : c.piece.length;
}
