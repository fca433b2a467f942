/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedule: what one rank does in one collective, as data.
 *
 * A plan is a set of queues. A queue holds operations of one kind, towards one
 * peer with one tag, and runs them in order; different queues run at the same
 * time. There is no global step: an operation runs as soon as the operations it
 * names have moved past the bytes it shares with them.
 *
 * Messages match by queue: the i-th SEND of rank a to rank b with a tag meets the
 * i-th RECV or RECV_REDUCE of rank b from rank a with that tag, and both have the same
 * length. (A tag between two ranks has receives of one kind only.) Those with tags from
 * PLAN_NETWORK_TAG on they go through the network's transport, also where the peer is nearer.
 *
 * Every operation moves its bytes in chunks of plan->chunk_bytes (the last one shorter), in order.
 * Chunks are a loop in the engine that runs the plan, not copies of operations here, so that a
 * plan's size does not depend on the message size.
 *
 * Dependencies are by bytes. A chunk may start when, for every operation named
 * as a dependency, those bytes that both touch (and at least one writes) are
 * done; an operation named although it shares no bytes must be done altogether.
 * So a chunk can be forwarded as soon as it has arrived, and two operations need
 * not be cut alike. The checker (check.h) proves that no hazard is left unnamed.
 *
 * Input, output and scratch are memory of one kind: the host's, or a device's. PLAN_HOST is always
 * the host's. COPY alone crosses between them. A message has PLAN_HOST at both ends or at none.
 * Both operands of a combination lie in PLAN_HOST, or neither.
 *
 * Buffers hold packed bytes. The caller packs and unpacks application data with gaps or another
 * order. Offsets and lengths are bytes.
 *
 * A planner writes; all others read a const struct plan. Thread rule: a finished plan is immutable.
 */
#ifndef COLLSHIM_PLANNERS_PLAN_H
#define COLLSHIM_PLANNERS_PLAN_H

#include <stddef.h>
#include <stdint.h>

enum plan_kind {
    PLAN_SEND,        /* src -> peer */
    PLAN_RECV,        /* peer -> dst */
    PLAN_COPY,        /* src -> dst */
    PLAN_REDUCE,      /* dst = dst op src */
    PLAN_RECV_REDUCE, /* peer -> dst, combined with src on the way: dst = src op received; src and
                         dst are the same bytes or do not meet */
    PLAN_KINDS
};

enum plan_buffer {
    PLAN_INPUT,   /* the caller's send buffer, only read */
    PLAN_OUTPUT,  /* the caller's receive buffer */
    PLAN_SCRATCH, /* private to the call, contents undefined at the start */
    PLAN_HOST,    /* likewise, and in host memory where the others lie on a device */
    PLAN_NONE
};

/* MPI promises tags up to 0x7fff. The last one is for notices. */
enum { PLAN_NETWORK_TAG = 0x4000, PLAN_TAGS = 0x7fff };

/* 32 bytes: a rank among thousands has tens of thousands of operations. */
struct plan_op {
    uint64_t src_off;     /* unused where src is PLAN_NONE */
    uint64_t dst_off;     /* unused where dst is PLAN_NONE */
    uint64_t length : 58; /* > 0 */
    uint64_t src : 3;     /* enum plan_buffer */
    uint64_t dst : 3;
    uint64_t queue : 23;
    uint64_t first_dep : 25; /* its dependencies are deps[first_dep .. first_dep + ndeps) */
    uint64_t ndeps : 16;
};
/* The most that these fields hold. */
#define PLAN_LONGEST (((uint64_t)1 << 58) - 1)
enum { PLAN_MOST_QUEUES = 1 << 23, PLAN_MOST_DEPS = 1 << 25 };

/* The longest chunk, and so the longest message: MPI counts its bytes in an int. */
enum { PLAN_MOST_CHUNK = 1 << 30 };

struct plan_queue {
    uint32_t first_op; /* its operations are ops[first_op .. first_op + nops) */
    uint32_t nops;
    int32_t peer; /* rank in the communicator; -1 for COPY and REDUCE */
    uint16_t tag;
    uint8_t kind; /* enum plan_kind */
};

struct plan {
    const char *algorithm; /* borrowed from the registry row */
    int rank, nranks;
    uint64_t chunk_bytes; /* 1 ... PLAN_MOST_CHUNK */
    uint64_t input_bytes, output_bytes, scratch_bytes, host_bytes;
    uint32_t nqueues, nops, ndeps;
    const struct plan_queue *queues;
    const struct plan_op *ops; /* grouped by queue */
    const uint32_t *deps;      /* indexes into ops */
};

/* Does a queue of that kind take what a peer sends? */
static inline int plan_receives(uint8_t kind)
{
    return kind == PLAN_RECV || kind == PLAN_RECV_REDUCE;
}

/* Does it read or write host memory of the plan's own? */
static inline int plan_uses_host(const struct plan_op *op)
{
    return op->src == PLAN_HOST || op->dst == PLAN_HOST;
}

/* "SEND" and so on, for people. */
const char *plan_kind_name(uint8_t kind);

/* "input" and so on; "-" for PLAN_NONE. */
const char *plan_buffer_name(uint8_t buffer);

/* Bytes a finished plan occupies, itself included. */
size_t plan_footprint(const struct plan *p);
void plan_free(struct plan *p); /* NULL is fine */

/*
 * How many of dep's bytes, from its start, must be done before the first `end`
 * bytes of op may be (0 <= end <= op->length). This is the whole meaning of a
 * dependency; engine and checker both call it.
 */
uint64_t plan_dep_need(const struct plan_op *op, uint64_t end, const struct plan_op *dep);

/*
 * Building. Errors (memory, more than 65535 dependencies of one operation, more than fits its
 * fields, a tag beyond PLAN_TAGS, a chunk of 0 or beyond PLAN_MOST_CHUNK) stay in the builder, and
 * plan_build_finish returns them. So a planner reads like the schedule it writes. An operation of
 * length 0 is dropped: its id is PLAN_NO_OP, which plan_after ignores.
 */
#define PLAN_NO_OP UINT32_MAX
struct plan_builder;

/* NULL if out of memory. Ends with plan_build_finish or plan_build_discard. */
struct plan_builder *plan_build_begin(int rank, int nranks, uint64_t chunk_bytes);
void plan_build_discard(struct plan_builder *b); /* NULL is fine */

/* Append an operation to its queue; returns its id for plan_after. */
uint32_t plan_send(struct plan_builder *b, int peer, int tag, enum plan_buffer src,
                   uint64_t src_off, uint64_t length);
uint32_t plan_recv(struct plan_builder *b, int peer, int tag, enum plan_buffer dst,
                   uint64_t dst_off, uint64_t length);
uint32_t plan_copy(struct plan_builder *b, int tag, enum plan_buffer src, uint64_t src_off,
                   enum plan_buffer dst, uint64_t dst_off, uint64_t length);
uint32_t plan_reduce(struct plan_builder *b, int tag, enum plan_buffer src, uint64_t src_off,
                     enum plan_buffer dst, uint64_t dst_off, uint64_t length);

uint32_t plan_recv_reduce(struct plan_builder *b, int peer, int tag, enum plan_buffer src,
                          uint64_t src_off, enum plan_buffer dst, uint64_t dst_off,
                          uint64_t length);

/* The operation appended last starts only after `op` (an id, or PLAN_NO_OP). */
void plan_after(struct plan_builder *b, uint32_t op);

/*
 * Close the plan. Frees the builder in every case. Returns 0 and *plan_p (free
 * with plan_free), or -ENOMEM or -EOVERFLOW; on error *plan_p is untouched.
 */
int plan_build_finish(struct plan_builder *b, const char *algorithm, uint64_t input_bytes,
                      uint64_t output_bytes, uint64_t scratch_bytes, uint64_t host_bytes,
                      struct plan **plan_p);

#endif
