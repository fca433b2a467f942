/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results: every collective, type, operation and some awkward counts, some ranks in place and
 * others not, which NCCL leaves to each. Each expectation is computed here; nothing is compared
 * with another library's answer.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/nccl/ranks.h"

/* NCCL's operations, and such as the program makes: the scalar from the host, or on the device. */
enum { SCALED = ncclNumOps_dummy, SCALED_ON_DEVICE, OPERATIONS };
static const char *const op_names[OPERATIONS] = {
    "sum", "prod", "max", "min", "avg", "a scaled sum", "a sum scaled on the device"};

static double scalar(int type, int r)
{
    return (1 + r % 3) * (type_is_integer(type) ? 1.0 : 0.5);
}

/* Integers of both signs, whose sum is no multiple of nranks; now and then one whose sum does not
 * fit a byte, and wraps. Floats that are divided exactly, and some whose sum would be infinite. */
static double element_of_average(int type, int nranks, int r, size_t i)
{
    if (!type_is_integer(type))
        return i % 11 == 10 && !(nranks & (nranks - 1)) ? type_large(type)
                                                        : nranks * ldexp(1, (int)(i % 3));
    if (i % 11 == 10)
        return 100;
    return (double)((i + (size_t)r * 3) % 7) * (type_is_signed(type) && i % 2 ? -1 : 1);
}

/* Rank r's value of element i: 0 or 1, so that every type holds the sum of 8 ranks exactly.
   Products have at most one 2, scaled sums two or three 1. */
static double element(int type, int op, int nranks, int r, size_t i)
{
    switch (op) {
    case ncclProd:
        return (size_t)r == i % 5 ? 2 : 1;
    case ncclAvg:
        return element_of_average(type, nranks, r, i);
    case SCALED:
    case SCALED_ON_DEVICE:
        return (i + (size_t)r) % 4 == 0;
    default:
        return (double)((i + (size_t)r * 3) % 7 < 3);
    }
}

/* In a sum integers wrap, and are divided towards 0; all floats are the same. */
static double average(int type, int nranks, size_t i, double sum)
{
    char wrapped[8];

    if (!type_is_integer(type))
        return element(type, ncclAvg, nranks, 0, i);
    number_write(type, wrapped, 0, sum);
    return trunc(number_read(type, wrapped, 0) / nranks);
}

static double combined(int type, int op, int nranks, size_t i)
{
    double x = 0;

    for (int r = 0; r < nranks; r++) {
        double y = element(type, op, nranks, r, i);

        if (op >= SCALED)
            y *= scalar(type, r);
        x = r == 0           ? y
            : op == ncclProd ? x * y
            : op == ncclMax  ? (y > x ? y : x)
            : op == ncclMin  ? (y < x ? y : x)
                             : x + y;
    }
    return op == ncclAvg ? average(type, nranks, i, x) : x;
}

enum { BYTES_GUARD = 64 };

/* Buffers of one call: input and output on the device, one beside the other, and on the host. */
struct buffers {
    char *device, *host;
    size_t in, out;
};

static struct buffers buffers_new(size_t in, size_t out)
{
    struct buffers b = {.in = in, .out = out};

    b.device = device_new(in + out + 2 * BYTES_GUARD);
    b.host = malloc(in + out + 2 * BYTES_GUARD);
    if (!b.host)
        abort();
    memset(b.host, 0x5a, in + out + 2 * BYTES_GUARD);
    return b;
}

static char *out_of(const struct buffers *b, char *base)
{
    size_t at = (b->in + BYTES_GUARD + 15) / 16 * 16;

    return base + (at > b->in + BYTES_GUARD ? b->in + BYTES_GUARD : at);
}

static void buffers_send(struct buffers *b)
{
    device_write(b->device, b->host, b->in + b->out + 2 * BYTES_GUARD);
}

/* Fetch the result; what lies behind it must be as it was. */
static void buffers_fetch(struct rank *r, struct buffers *b, const char *what)
{
    const char *behind = out_of(b, b->host) + b->out;
    int intact = 1;

    stream_wait(r->stream);
    device_read(b->host, b->device, b->in + b->out + 2 * BYTES_GUARD);
    for (int i = 0; i < BYTES_GUARD / 2; i++)
        intact &= behind[i] == 0x5a;
    check(r, intact, "%s: wrote past the end", what);
}

static void buffers_free(struct buffers *b)
{
    device_free(b->device);
    free(b->host);
}

/* The operation of one call. A scalar on the device comes there by the stream, behind everything
 * that was enqueued before the call. */
struct operation {
    ncclRedOp_t op;
    char *on_device, *pinned; /* NULL: none */
};

static struct operation operation_begin(struct rank *r, int type, int op)
{
    struct operation o = {.op = (ncclRedOp_t)op};
    char here[8];

    if (op < SCALED)
        return o;
    number_write(type, here, 0, scalar(type, r->rank));
    if (op == SCALED) {
        NCCL(ncclRedOpCreatePreMulSum(&o.op, here, (ncclDataType_t)type, ncclScalarHostImmediate,
                                      r->comm));
        memset(here, 0, sizeof here);
        return o;
    }
    o.on_device = device_new(sizeof here);
    CUDA(MemHostAlloc((void **)&o.pinned, sizeof here, 0));
    memcpy(o.pinned, here, sizeof here);
    NCCL(ncclRedOpCreatePreMulSum(&o.op, o.on_device, (ncclDataType_t)type, ncclScalarDevice,
                                  r->comm));
    CUDA(MemcpyHtoDAsync((CUdeviceptr)o.on_device, o.pinned, sizeof here, r->stream));
    return o;
}

/* The program may forget it before the stream has come to the call. */
static void operation_end(struct rank *r, struct operation *o)
{
    if ((int)o->op >= SCALED)
        NCCL(ncclRedOpDestroy(o->op, r->comm));
    if (!o->on_device)
        return;
    stream_wait(r->stream);
    device_free(o->on_device);
    CUDA(MemFreeHost(o->pinned));
}

enum shape { ALLREDUCE, REDUCE_SCATTER, REDUCE, SHAPES };

static void reduce_case(struct rank *r, enum shape shape, int type, int op, size_t count,
                        int in_place)
{
    static const char *const names[] = {"AllReduce", "ReduceScatter", "Reduce"};
    size_t bytes = type_bytes(type),
           all = shape == REDUCE_SCATTER ? count * (size_t)r->nranks : count;
    size_t first = shape == REDUCE_SCATTER ? count * (size_t)r->rank : 0, wrong = 0;
    int root = r->nranks - 1, mine = shape != REDUCE || r->rank == root;
    struct buffers b = buffers_new(all * bytes, in_place ? 0 : count * bytes);
    char what[128], *out, *at;

    snprintf(what, sizeof what, "%s %s %s of %zu%s", names[shape], type_name(type), op_names[op],
             count, in_place ? " in place" : "");
    for (size_t i = 0; i < all; i++)
        number_write(type, b.host, i, element(type, op, r->nranks, r->rank, i));
    buffers_send(&b);
    struct operation o = operation_begin(r, type, op);
    out = in_place ? b.device + first * bytes : out_of(&b, b.device);
    switch (shape) {
    case ALLREDUCE:
        NCCL(ncclAllReduce(b.device, out, count, (ncclDataType_t)type, o.op, r->comm, r->stream));
        break;
    case REDUCE_SCATTER:
        NCCL(ncclReduceScatter(b.device, out, count, (ncclDataType_t)type, o.op, r->comm,
                               r->stream));
        break;
    default:
        NCCL(
            ncclReduce(b.device, out, count, (ncclDataType_t)type, o.op, root, r->comm, r->stream));
    }
    operation_end(r, &o);
    if (in_place) {
        stream_wait(r->stream);
        device_read(b.host, b.device, b.in);
        at = b.host + first * bytes;
    } else {
        buffers_fetch(r, &b, what);
        at = out_of(&b, b.host);
        for (size_t i = 0; i < all; i++)
            wrong += number_read(type, b.host, i) != element(type, op, r->nranks, r->rank, i);
        check(r, !wrong, "%s: the input has changed", what);
    }
    wrong = 0;
    for (size_t i = 0; mine && i < count; i++)
        wrong += number_read(type, at, i) != combined(type, op, r->nranks, first + i);
    check(r, !wrong, "%s: %zu elements are wrong", what, wrong);
    buffers_free(&b);
}

static void test_reductions(struct rank *r)
{
    const size_t counts[] = {1, 3, r->count};

    for (int shape = 0; shape < SHAPES; shape++)
        for (int type = 0; type < ncclNumTypes; type++)
            for (int op = 0; op < OPERATIONS; op++)
                for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                    reduce_case(r, (enum shape)shape, type, op, counts[c],
                                (type + op + (int)c + r->rank / 2) & 1);
}

/* A byte that says whose it is, for whom, and where. */
static char mark(int from, int to, size_t i)
{
    return (char)(from * 31 + to * 7 + (int)(i % 251));
}

enum {
    MOVE_ALLGATHER,
    MOVE_BROADCAST,
    MOVE_BCAST,
    MOVE_ALLTOALL,
    MOVE_GATHER,
    MOVE_SCATTER,
    MOVES
};

static void move_case(struct rank *r, int move, int type, size_t count, int in_place)
{
    static const char *const names[] = {"AllGather", "Broadcast", "Bcast",
                                        "AlltoAll",  "Gather",    "Scatter"};
    size_t bytes = count * type_bytes(type), n = (size_t)r->nranks, rank = (size_t)r->rank;
    int root = r->nranks / 2, at_root = r->rank == root, gathers = 0, wrong = 0;
    int personal = move == MOVE_ALLTOALL || move == MOVE_SCATTER;
    size_t blocks_in = personal ? n : 1, blocks_out;
    char what[128], *in, *out;
    struct buffers b;

    gathers = move == MOVE_ALLGATHER || move == MOVE_ALLTOALL || move == MOVE_GATHER;
    blocks_out = gathers ? n : 1;
    in_place = in_place && (move == MOVE_ALLGATHER || move == MOVE_BROADCAST);
    b = buffers_new(blocks_in * bytes, blocks_out * bytes);
    snprintf(what, sizeof what, "%s %s of %zu%s", names[move], type_name(type), count,
             in_place ? " in place" : "");
    for (size_t k = 0; k < blocks_in; k++)
        for (size_t i = 0; i < bytes; i++)
            b.host[k * bytes + i] = mark(r->rank, personal ? (int)k : 0, i);
    in = b.host;
    if (in_place || move == MOVE_BCAST) {
        in = out_of(&b, b.host) + (move == MOVE_ALLGATHER ? rank * bytes : 0);
        memcpy(in, b.host, bytes);
    }
    buffers_send(&b);
    in = b.device + (in - b.host);
    out = out_of(&b, b.device);
    ncclDataType_t t = (ncclDataType_t)type;
    switch (move) {
    case MOVE_ALLGATHER:
        NCCL(ncclAllGather(in, out, count, t, r->comm, r->stream));
        break;
    case MOVE_BROADCAST:
        NCCL(ncclBroadcast(in, out, count, t, root, r->comm, r->stream));
        break;
    case MOVE_BCAST:
        NCCL(ncclBcast(out, count, t, root, r->comm, r->stream));
        break;
    case MOVE_ALLTOALL:
        NCCL(ncclAlltoAll(in, out, count, t, r->comm, r->stream));
        break;
    case MOVE_GATHER:
        NCCL(ncclGather(in, out, count, t, root, r->comm, r->stream));
        break;
    default:
        NCCL(ncclScatter(in, out, count, t, root, r->comm, r->stream));
    }
    buffers_fetch(r, &b, what);
    for (size_t k = 0; k < blocks_out && (at_root || move != MOVE_GATHER); k++)
        for (size_t i = 0; i < bytes; i++)
            wrong += out_of(&b, b.host)[k * bytes + i] !=
                     mark(gathers ? (int)k : root, personal ? r->rank : 0, i);
    check(r, !wrong, "%s: %d bytes are wrong", what, wrong);
    buffers_free(&b);
}

static void test_moves(struct rank *r)
{
    const size_t counts[] = {1, 5, r->count};

    for (int move = 0; move < MOVES; move++)
        for (int type = 0; type < ncclNumTypes; type++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                for (int in_place = 0; in_place < 2; in_place++)
                    if (c < 2 || type % 4 == 0)
                        move_case(r, move, type, counts[c], in_place);
}

/* How much rank `from` sends `to` in a skewed exchange: nothing to some, most to rank 0. */
static size_t skewed(const struct rank *r, int from, int to, int round)
{
    if ((from + to + round) % 5 == 4)
        return 0;
    return to == round % r->nranks ? r->count * 2 : r->count / 8 + (size_t)(from * 3 + to);
}

static void exchange(struct rank *r, int round)
{
    size_t in = 0, out = 0, from = 0, to = 0;
    int wrong = 0;

    for (int p = 0; p < r->nranks; p++) {
        in += skewed(r, r->rank, p, round);
        out += skewed(r, p, r->rank, round);
    }
    struct buffers b = buffers_new(in, out);
    for (int p = 0; p < r->nranks; p++)
        for (size_t i = 0; i < skewed(r, r->rank, p, round); i++)
            b.host[from++] = mark(r->rank, p, i);
    buffers_send(&b);
    from = 0;
    NCCL(ncclGroupStart());
    for (int p = 0; p < r->nranks; p++) {
        size_t sends = skewed(r, r->rank, p, round), receives = skewed(r, p, r->rank, round);

        if (sends)
            NCCL(ncclSend(b.device + from, sends, ncclUint8, p, r->comm, r->stream));
        if (receives)
            NCCL(ncclRecv(out_of(&b, b.device) + to, receives, ncclUint8, p, r->comm, r->stream));
        from += sends;
        to += receives;
    }
    NCCL(ncclGroupEnd());
    buffers_fetch(r, &b, "send and receive");
    to = 0;
    for (int p = 0; p < r->nranks; p++)
        for (size_t i = 0; i < skewed(r, p, r->rank, round); i++)
            wrong += out_of(&b, b.host)[to++] != mark(p, r->rank, i);
    check(r, !wrong, "send and receive, round %d: %d bytes are wrong", round, wrong);
    buffers_free(&b);
}

static void test_exchanges(struct rank *r)
{
    for (int round = 0; round < 2 * r->nranks; round++)
        exchange(r, round);
}

/* Two messages between the same ranks in one group arrive in the order of the calls; a ring of
 * messages that are not part of an exchange. */
static void test_messages(struct rank *r)
{
    size_t n = r->count / 4 + 1;
    int next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks, wrong = 0;
    struct buffers b = buffers_new(2 * n, 2 * n);

    for (size_t i = 0; i < 2 * n; i++)
        b.host[i] = mark(r->rank, i < n ? 0 : 1, i);
    buffers_send(&b);
    NCCL(ncclGroupStart());
    for (size_t k = 0; k < 2; k++) {
        NCCL(ncclSend(b.device + k * n, n, ncclInt8, next, r->comm, r->stream));
        NCCL(ncclRecv(out_of(&b, b.device) + k * n, n, ncclInt8, before, r->comm, r->stream));
    }
    NCCL(ncclGroupEnd());
    buffers_fetch(r, &b, "messages");
    for (size_t i = 0; i < 2 * n; i++)
        wrong += out_of(&b, b.host)[i] != mark(before, i < n ? 0 : 1, i);
    check(r, !wrong, "two messages in a group: %d bytes are wrong", wrong);
    buffers_free(&b);
}

/* An operation that the library alone knows of. */
static void test_premul_unseen(struct rank *r)
{
    float half = 0.5f, *host = malloc(r->count * sizeof *host), *data;
    ncclRedOp_t op;
    size_t wrong = 0;

    if (!host)
        abort();
    data = device_new(r->count * sizeof *data);
    NCCL(pncclRedOpCreatePreMulSum(&op, &half, ncclFloat, ncclScalarHostImmediate, r->comm));
    for (size_t i = 0; i < r->count; i++)
        host[i] = (float)(i % 9);
    device_write(data, host, r->count * sizeof *host);
    NCCL(ncclAllReduce(data, data, r->count, ncclFloat, op, r->comm, r->stream));
    stream_wait(r->stream);
    device_read(host, data, r->count * sizeof *host);
    for (size_t i = 0; i < r->count; i++)
        wrong += host[i] != 0.5f * (float)(i % 9) * (float)r->nranks;
    check(r, !wrong, "an operation made unseen: %zu elements are wrong", wrong);
    NCCL(ncclRedOpDestroy(op, r->comm));
    device_free(data);
    free(host);
}

const struct test_case cases_results[] = {
    {"reductions", test_reductions},       {"moves", test_moves},
    {"exchanges", test_exchanges},         {"messages", test_messages},
    {"premul_unseen", test_premul_unseen}, {NULL, NULL},
};
