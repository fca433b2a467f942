/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans and their builder. A planner appends operations in any order. Finishing groups them by
 * queue with one counting sort, so that a queue is consecutive memory. The finished plan is one
 * allocation: a rank of a large machine keeps many. The builder's operations are that allocation,
 * and are sorted in place, because most of a large plan's time is that of touching new memory.
 */
#include "planners/plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNED(n) (((n) + 15) & ~(size_t)15)
#define OPS_AT ALIGNED(sizeof(struct plan)) /* in the plan's memory */

struct plan_builder {
    char *memory;        /* owned: the plan's, of which operations are there yet */
    struct plan_op *ops; /* inside it */
    struct plan_queue *queues;
    uint32_t *deps;
    uint32_t *index; /* open addressing over queues: position + 1, or 0 */
    uint32_t nops, nqueues, ndeps;
    uint32_t ops_room, queues_room, deps_room, index_room;
    uint64_t chunk_bytes;
    int rank, nranks;
    int error;
};

/* A place that an operation reads or writes. */
struct operand {
    enum plan_buffer buffer;
    uint64_t offset;
};

static const struct operand nowhere = {PLAN_NONE, 0};

const char *plan_kind_name(uint8_t kind)
{
    static const char *const names[PLAN_KINDS] = {[PLAN_SEND] = "SEND",
                                                  [PLAN_RECV] = "RECV",
                                                  [PLAN_COPY] = "COPY",
                                                  [PLAN_REDUCE] = "REDUCE",
                                                  [PLAN_RECV_REDUCE] = "RECV_REDUCE"};

    return kind < PLAN_KINDS ? names[kind] : "?";
}

const char *plan_buffer_name(uint8_t buffer)
{
    static const char *const names[] = {[PLAN_INPUT] = "input",
                                        [PLAN_OUTPUT] = "output",
                                        [PLAN_SCRATCH] = "scratch",
                                        [PLAN_HOST] = "host",
                                        [PLAN_NONE] = "-"};

    return buffer <= PLAN_NONE ? names[buffer] : "?";
}

struct plan_builder *plan_build_begin(int rank, int nranks, uint64_t chunk_bytes)
{
    struct plan_builder *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->rank = rank;
    b->nranks = nranks;
    b->chunk_bytes = chunk_bytes;
    b->error = chunk_bytes - 1 < PLAN_MOST_CHUNK ? 0 : -EOVERFLOW;
    return b;
}

void plan_build_discard(struct plan_builder *b)
{
    if (!b)
        return;
    free(b->memory);
    free(b->queues);
    free(b->deps);
    free(b->index);
    free(b);
}

/* Make room for one more element; 0 or -ENOMEM. */
static int grow(void **array, uint32_t *room, uint32_t used, size_t element)
{
    if (used < *room)
        return 0;
    uint32_t wanted = *room ? *room * 2 : 64;
    void *larger = realloc(*array, wanted * element);
    if (!larger)
        return -ENOMEM;
    *array = larger;
    *room = wanted;
    return 0;
}

static uint32_t queue_hash(int peer, int tag, enum plan_kind kind)
{
    uint32_t h = (uint32_t)peer * 2654435761u ^ (uint32_t)tag * 2246822519u ^ (uint32_t)kind;

    return h ^ h >> 15;
}

static void index_insert(struct plan_builder *b, uint32_t q)
{
    const struct plan_queue *queue = &b->queues[q];
    uint32_t at = queue_hash(queue->peer, queue->tag, queue->kind);

    while (b->index[at &= b->index_room - 1])
        at++;
    b->index[at] = q + 1;
}

/* The index is kept at most half full. */
static int index_grow(struct plan_builder *b)
{
    if (2 * (b->nqueues + 1) <= b->index_room)
        return 0;
    uint32_t room = b->index_room ? b->index_room * 4 : 64;
    uint32_t *index = calloc(room, sizeof *index);
    if (!index)
        return -ENOMEM;
    free(b->index);
    b->index = index;
    b->index_room = room;
    for (uint32_t q = 0; q < b->nqueues; q++)
        index_insert(b, q);
    return 0;
}

/* The queue of that kind, peer and tag, made if it is new; 0 with b->error set on failure. */
static uint32_t queue_of(struct plan_builder *b, enum plan_kind kind, int peer, int tag)
{
    if (tag < 0 || tag >= PLAN_TAGS || b->nqueues == PLAN_MOST_QUEUES) {
        b->error = -EOVERFLOW;
        return 0;
    }
    if (index_grow(b) < 0) {
        b->error = -ENOMEM;
        return 0;
    }
    uint32_t at = queue_hash(peer, tag, kind);
    for (uint32_t found; (found = b->index[at &= b->index_room - 1]); at++) {
        const struct plan_queue *queue = &b->queues[found - 1];
        if (queue->kind == kind && queue->peer == peer && queue->tag == tag)
            return found - 1;
    }
    void *queues = b->queues;
    if (grow(&queues, &b->queues_room, b->nqueues, sizeof *b->queues) < 0) {
        b->error = -ENOMEM;
        return 0;
    }
    b->queues = queues;
    b->queues[b->nqueues] =
        (struct plan_queue){.kind = (uint8_t)kind, .peer = peer, .tag = (uint16_t)tag};
    b->nqueues++;
    index_insert(b, b->nqueues - 1);
    return b->nqueues - 1;
}

static int grow_ops(struct plan_builder *b)
{
    uint32_t room = b->ops_room ? b->ops_room * 2 : 64;
    char *memory = realloc(b->memory, OPS_AT + room * sizeof *b->ops);

    if (!memory)
        return -ENOMEM;
    b->memory = memory;
    b->ops = (struct plan_op *)(memory + OPS_AT);
    b->ops_room = room;
    return 0;
}

static uint32_t append(struct plan_builder *b, enum plan_kind kind, int peer, int tag,
                       struct operand from, struct operand to, uint64_t length)
{
    if (b->error || !length)
        return PLAN_NO_OP;
    uint32_t queue = queue_of(b, kind, peer, tag);
    if (length > PLAN_LONGEST)
        b->error = -EOVERFLOW;
    if (b->error)
        return PLAN_NO_OP;
    if (b->nops == b->ops_room && (b->error = grow_ops(b)) < 0)
        return PLAN_NO_OP;
    b->ops[b->nops] = (struct plan_op){.src = from.buffer,
                                       .src_off = from.offset,
                                       .dst = to.buffer,
                                       .dst_off = to.offset,
                                       .length = length & PLAN_LONGEST,
                                       .queue = queue % PLAN_MOST_QUEUES,
                                       .first_dep = b->ndeps % PLAN_MOST_DEPS};
    b->queues[queue].nops++;
    return b->nops++;
}

uint32_t plan_send(struct plan_builder *b, int peer, int tag, enum plan_buffer src,
                   uint64_t src_off, uint64_t length)
{
    return append(b, PLAN_SEND, peer, tag, (struct operand){src, src_off}, nowhere, length);
}

uint32_t plan_recv(struct plan_builder *b, int peer, int tag, enum plan_buffer dst,
                   uint64_t dst_off, uint64_t length)
{
    return append(b, PLAN_RECV, peer, tag, nowhere, (struct operand){dst, dst_off}, length);
}

uint32_t plan_copy(struct plan_builder *b, int tag, enum plan_buffer src, uint64_t src_off,
                   enum plan_buffer dst, uint64_t dst_off, uint64_t length)
{
    return append(b, PLAN_COPY, -1, tag, (struct operand){src, src_off},
                  (struct operand){dst, dst_off}, length);
}

uint32_t plan_reduce(struct plan_builder *b, int tag, enum plan_buffer src, uint64_t src_off,
                     enum plan_buffer dst, uint64_t dst_off, uint64_t length)
{
    return append(b, PLAN_REDUCE, -1, tag, (struct operand){src, src_off},
                  (struct operand){dst, dst_off}, length);
}

uint32_t plan_recv_reduce(struct plan_builder *b, int peer, int tag, enum plan_buffer src,
                          uint64_t src_off, enum plan_buffer dst, uint64_t dst_off, uint64_t length)
{
    return append(b, PLAN_RECV_REDUCE, peer, tag, (struct operand){src, src_off},
                  (struct operand){dst, dst_off}, length);
}

void plan_after(struct plan_builder *b, uint32_t op)
{
    void *deps = b->deps;

    if (b->error || op == PLAN_NO_OP || !b->nops)
        return;
    struct plan_op *last = &b->ops[b->nops - 1];
    if (last->ndeps == UINT16_MAX || b->ndeps == PLAN_MOST_DEPS - 1) {
        b->error = -EOVERFLOW;
        return;
    }
    if (grow(&deps, &b->deps_room, b->ndeps, sizeof *b->deps) < 0) {
        b->error = -ENOMEM;
        return;
    }
    b->deps = deps;
    b->deps[b->ndeps++] = op;
    last->ndeps++;
}

/* Fill where[nops]: the place of each operation in the plan. Queues get their first one. */
static void find_places(struct plan_builder *b, uint32_t *where)
{
    uint32_t next = 0;

    for (uint32_t q = 0; q < b->nqueues; q++) {
        b->queues[q].first_op = next;
        next += b->queues[q].nops;
    }
    for (uint32_t i = 0; i < b->nops; i++)
        where[i] = b->queues[b->ops[i].queue].first_op++;
    for (uint32_t q = 0; q < b->nqueues; q++)
        b->queues[q].first_op -= b->queues[q].nops;
}

/* Cycle by cycle. Afterwards where[i] == i. */
static void sort_ops(struct plan_op *ops, uint32_t nops, uint32_t *where)
{
    for (uint32_t i = 0; i < nops; i++) {
        struct plan_op op = ops[i];
        uint32_t to = where[i];

        while (to != i) {
            struct plan_op there = ops[to];
            uint32_t next = where[to];

            ops[to] = op;
            where[to] = to;
            op = there;
            to = next;
        }
        ops[i] = op;
        where[i] = i;
    }
}

int plan_build_finish(struct plan_builder *b, const char *algorithm, uint64_t input_bytes,
                      uint64_t output_bytes, uint64_t scratch_bytes, uint64_t host_bytes,
                      struct plan **plan_p)
{
    size_t queues_at = OPS_AT + b->nops * sizeof *b->ops;
    size_t deps_at = queues_at + b->nqueues * sizeof *b->queues;
    uint32_t *where = malloc((b->nops + 1) * sizeof *where);
    int rc = b->error ? b->error : where ? 0 : -ENOMEM;

    if (!rc) {
        find_places(b, where);
        for (uint32_t d = 0; d < b->ndeps; d++)
            b->deps[d] = where[b->deps[d]];
        sort_ops(b->ops, b->nops, where);
        char *memory = realloc(b->memory, deps_at + b->ndeps * sizeof *b->deps);
        rc = memory ? 0 : -ENOMEM;
        b->memory = memory ? memory : b->memory;
    }
    if (!rc) {
        struct plan *p = (struct plan *)b->memory;
        struct plan_queue *queues = (struct plan_queue *)(b->memory + queues_at);
        uint32_t *deps = (uint32_t *)(b->memory + deps_at);

        if (b->nops)
            memcpy(queues, b->queues, b->nqueues * sizeof *queues);
        if (b->ndeps)
            memcpy(deps, b->deps, b->ndeps * sizeof *deps);
        *p = (struct plan){.algorithm = algorithm,
                           .rank = b->rank,
                           .nranks = b->nranks,
                           .chunk_bytes = b->chunk_bytes,
                           .input_bytes = input_bytes,
                           .output_bytes = output_bytes,
                           .scratch_bytes = scratch_bytes,
                           .host_bytes = host_bytes,
                           .nqueues = b->nqueues,
                           .nops = b->nops,
                           .ndeps = b->ndeps,
                           .queues = queues,
                           .ops = (struct plan_op *)(b->memory + OPS_AT),
                           .deps = deps};
        *plan_p = p;
        b->memory = NULL;
    }
    free(where);
    plan_build_discard(b);
    return rc;
}

void plan_free(struct plan *p)
{
    free(p);
}

size_t plan_footprint(const struct plan *p)
{
    return OPS_AT + p->nops * sizeof *p->ops + p->nqueues * sizeof *p->queues +
           p->ndeps * sizeof *p->deps;
}

/* Do [a, a + alen) and [b, b + blen) of two buffers meet? */
static int meet(uint8_t abuf, uint64_t a, uint64_t alen, uint8_t bbuf, uint64_t b, uint64_t blen)
{
    return abuf == bbuf && abuf != PLAN_NONE && a < b + blen && b < a + alen;
}

/* One pair of ranges: does the whole of op meet dep there, and up to which byte of dep must it
 * wait? */
static void pair_need(uint8_t buf, uint64_t off, uint64_t length, uint64_t end, uint8_t dep_buf,
                      uint64_t dep_off, uint64_t dep_length, int *shared, uint64_t *need)
{
    if (!meet(buf, off, length, dep_buf, dep_off, dep_length))
        return;
    *shared = 1;
    if (off + end <= dep_off)
        return;
    uint64_t upto = off + end - dep_off;
    if (upto > dep_length)
        upto = dep_length;
    if (upto > *need)
        *need = upto;
}

uint64_t plan_dep_need(const struct plan_op *op, uint64_t end, const struct plan_op *dep)
{
    uint64_t need = 0;
    int shared = 0;

    /* Reading after writing, writing after reading, writing after writing. If an operation also
       reads its destination (REDUCE), the destination pair covers that. */
    pair_need(op->src, op->src_off, op->length, end, dep->dst, dep->dst_off, dep->length, &shared,
              &need);
    pair_need(op->dst, op->dst_off, op->length, end, dep->src, dep->src_off, dep->length, &shared,
              &need);
    pair_need(op->dst, op->dst_off, op->length, end, dep->dst, dep->dst_off, dep->length, &shared,
              &need);
    return shared ? need : dep->length;
}
