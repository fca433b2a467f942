/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One 64-bit word holds the state, so a claim is one compare-and-swap. It fails if the other side
 * has claimed meanwhile, and if the word belongs to another message than the claimer saw. Pieces
 * are long, because a system call and its pages cost more in small ones (16 KiB reached 0.6 of the
 * rate of 256 KiB; real, one machine). They are short enough that a receiver does not wait long for
 * one.
 */
#include "transports/shm/shm_joint.h"

enum { LEAST = 64 << 10, PIECE_FEW = 128 << 10, PIECE_MANY = 256 << 10 };
enum { MANY = 8, MOST_PIECES = UINT16_MAX, PAGE = 4096 };

struct word {
    uint32_t number;
    uint16_t first, last;
};

static uint64_t pack(struct word w)
{
    return (uint64_t)w.number << 32 | (uint64_t)w.first << 16 | w.last;
}

static struct word unpack(uint64_t claim)
{
    return (struct word){(uint32_t)(claim >> 32), (uint16_t)(claim >> 16), (uint16_t)claim};
}

static uint64_t relaxed(const _Atomic uint64_t *x)
{
    return atomic_load_explicit(x, memory_order_relaxed);
}

/* At least two, which is best for a short message. */
static uint32_t piece_of(uint64_t length)
{
    uint64_t half = (length / 2 + PAGE - 1) / PAGE * PAGE;
    uint64_t piece = length / PIECE_MANY < MANY ? PIECE_FEW : PIECE_MANY;

    while (length / MOST_PIECES >= piece)
        piece *= 2;
    return (uint32_t)(piece < half ? piece : half);
}

static uint32_t count(const struct shm_joint *s)
{
    uint64_t piece = atomic_load_explicit(&s->piece, memory_order_relaxed);

    return (uint32_t)((relaxed(&s->length) + piece - 1) / piece);
}

static struct shm_piece nth(const struct shm_joint *s, uint32_t n)
{
    uint64_t piece = atomic_load_explicit(&s->piece, memory_order_relaxed);
    uint64_t rest = relaxed(&s->length) - n * piece;

    return (struct shm_piece){.from = n * piece, .length = rest < piece ? rest : piece};
}

int shm_joint_pays(uint64_t length)
{
    return length >= LEAST && length / MOST_PIECES < UINT32_MAX / 2;
}

void shm_joint_open(struct shm_joint *s, uint32_t slot, uint64_t address, uint64_t length)
{
    struct word before = unpack(relaxed(&s->claim));

    atomic_store_explicit(&s->address, address, memory_order_relaxed);
    atomic_store_explicit(&s->length, length, memory_order_relaxed);
    atomic_store_explicit(&s->slot, slot, memory_order_relaxed);
    atomic_store_explicit(&s->piece, piece_of(length), memory_order_relaxed);
    atomic_store_explicit(&s->written, 0, memory_order_relaxed);
    atomic_store_explicit(&s->given_back, 0, memory_order_relaxed);
    struct word now = {.number = before.number + 1, .last = (uint16_t)count(s)};
    atomic_store_explicit(&s->claim, pack(now), memory_order_release);
}

static int exchange(struct shm_joint *s, struct word from, struct word to)
{
    uint64_t expected = pack(from);

    return atomic_compare_exchange_strong_explicit(&s->claim, &expected, pack(to),
                                                   memory_order_acq_rel, memory_order_relaxed);
}

int shm_joint_claim_first(struct shm_joint *s, struct shm_piece *piece)
{
    struct word now, then;

    do {
        then = now = unpack(relaxed(&s->claim));
        if (now.first == now.last)
            return 0;
        then.first++;
    } while (!exchange(s, now, then));
    *piece = nth(s, now.first);
    return 1;
}

void shm_joint_close(struct shm_joint *s)
{
    struct word now, then;

    do {
        then = now = unpack(relaxed(&s->claim));
        then.first = then.last;
    } while (!exchange(s, now, then));
}

int shm_joint_claim_last(struct shm_joint *s, struct shm_claim *claim)
{
    struct word now = unpack(atomic_load_explicit(&s->claim, memory_order_acquire));

    if (now.first == now.last || atomic_load_explicit(&s->given_back, memory_order_relaxed))
        return 0;
    struct word then = {.number = now.number, .first = now.first, .last = now.last - 1};
    /* The exchange fails if the message has changed meanwhile. */
    *claim = (struct shm_claim){
        .piece = nth(s, then.last),
        .address = relaxed(&s->address),
        .slot = atomic_load_explicit(&s->slot, memory_order_relaxed),
    };
    return exchange(s, now, then);
}

void shm_joint_put(struct shm_joint *s, int written)
{
    _Atomic uint32_t *counter = written ? &s->written : &s->given_back;

    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_release);
}

enum shm_joint_state shm_joint_look(const struct shm_joint *s, struct shm_piece *piece)
{
    struct word now = unpack(atomic_load_explicit(&s->claim, memory_order_acquire));
    uint32_t back = atomic_load_explicit(&s->given_back, memory_order_acquire);
    uint32_t written = atomic_load_explicit(&s->written, memory_order_acquire);

    if (written + back < count(s) - now.last)
        return SHM_JOINT_WAITING;
    if (back)
        *piece = nth(s, now.last);
    return back ? SHM_JOINT_RETURNED : SHM_JOINT_SETTLED;
}
