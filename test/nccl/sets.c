/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of messages: exchanges of all ranks, and what only looks like one to some of them. Every
 * byte says from whom it is, for whom and in which exchange.
 */
#include <stdlib.h>
#include <unistd.h>

#include "test/nccl/ranks.h"

enum { PHASES = 3 };

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static unsigned char mark(int from, int to, int round, size_t i)
{
    return (unsigned char)(from * 31 + to * 7 + round * 13 + (int)(i % 251));
}

/* An exchange: how much each sends to each, and in which of a rank's groups. Same on all ranks. */
struct exchange {
    int round;
    size_t bytes[16][16];
    int phase[16][16]; /* of the pair */
    int last[16];      /* per rank: phases up to which number go in one group with the first */
    int streams;
};

struct exchange_buffers {
    char *in, *out, *host;
    size_t sent, received;
};

static struct exchange_buffers fill(const struct rank *r, const struct exchange *x)
{
    struct exchange_buffers b = {0};
    size_t at = 0;

    for (int p = 0; p < r->nranks; p++) {
        b.sent += x->bytes[r->rank][p];
        b.received += x->bytes[p][r->rank];
    }
    b.host = malloc(b.sent + b.received + 1);
    if (!b.host)
        abort();
    for (int p = 0; p < r->nranks; p++)
        for (size_t i = 0; i < x->bytes[r->rank][p]; i++)
            b.host[at++] = (char)mark(r->rank, p, x->round, i);
    b.in = device_new(b.sent);
    b.out = device_new(b.received);
    device_write(b.in, b.host, b.sent);
    return b;
}

static void verify(struct rank *r, const struct exchange *x, struct exchange_buffers *b,
                   const char *what)
{
    size_t at = 0, wrong = 0;

    device_read(b->host, b->out, b->received);
    for (int p = 0; p < r->nranks; p++)
        for (size_t i = 0; i < x->bytes[p][r->rank]; i++)
            wrong += (unsigned char)b->host[at++] != mark(p, r->rank, x->round, i);
    check(r, !wrong, "%s, round %d: %zu bytes are wrong", what, x->round, wrong);
    device_free(b->in);
    device_free(b->out);
    free(b->host);
}

/* The messages of some phases, as one group. */
static void send_phases(struct rank *r, ncclComm_t comm, const struct exchange *x,
                        const struct exchange_buffers *b, int first, int last, CUstream other)
{
    size_t from = 0, to = 0;

    NCCL(ncclGroupStart());
    for (int p = 0; p < r->nranks; p++) {
        size_t out = x->bytes[r->rank][p], in = x->bytes[p][r->rank];
        CUstream s = x->streams > 1 && p % 2 ? other : r->stream;

        if (out && x->phase[r->rank][p] >= first && x->phase[r->rank][p] <= last)
            NCCL(ncclSend(b->in + from, out, ncclUint8, p, comm, s));
        if (in && x->phase[p][r->rank] >= first && x->phase[p][r->rank] <= last)
            NCCL(ncclRecv(b->out + to, in, ncclUint8, p, comm, s));
        from += out;
        to += in;
    }
    NCCL(ncclGroupEnd());
}

static void send_all(struct rank *r, ncclComm_t comm, const struct exchange *x,
                     const struct exchange_buffers *b, CUstream other)
{
    send_phases(r, comm, x, b, 0, x->last[r->rank], other);
    for (int p = x->last[r->rank] + 1; p < PHASES; p++)
        send_phases(r, comm, x, b, p, p, other);
}

/* All ranks to all ranks at once, most of it to one; some pairs silent where sparse. */
static struct exchange skewed(const struct rank *r, int round, unsigned *seed, int sparse)
{
    struct exchange x = {.round = round};

    for (int from = 0; from < r->nranks; from++) {
        x.last[from] = PHASES - 1;
        for (int to = 0; to < r->nranks; to++) {
            unsigned n = next_random(seed);

            x.bytes[from][to] = to == round % r->nranks ? r->count * 2 : r->count / 8 + n % 100 + 1;
            if (sparse && n % 4 == 0)
                x.bytes[from][to] = 0;
        }
    }
    return x;
}

static void run(struct rank *r, ncclComm_t comm, const struct exchange *x, CUstream other,
                const char *what)
{
    struct exchange_buffers b = fill(r, x);

    send_all(r, comm, x, &b, other);
    stream_wait(r->stream);
    verify(r, x, &b, what);
}

/* PyTorch's all_to_all as a group: the first one full, later ones with silent pairs. */
static void test_sets(struct rank *r)
{
    CUstream other = stream_new();
    unsigned seed = 1;

    for (int round = 0; round < 12; round++) {
        struct exchange x = skewed(r, round, &seed, round > 3 && round % 2);

        x.streams = 1 + round % 3 / 2;
        run(r, r->comm, &x, other, "an exchange");
    }
    CUDA(StreamDestroy(other));
}

/* The same exchange again and again, with others' hosts at different places in their programs. */
static void test_sets_repeated(struct rank *r)
{
    for (int round = 0; round < 60; round++) {
        unsigned seed = 5;
        struct exchange x = skewed(r, round, &seed, 0);

        if (round % 8 == 5)
            usleep((unsigned)r->rank * 3000);
        run(r, r->comm, &x, r->stream, "an exchange as before");
    }
}

enum { SCENES = 3, ROUNDS = 5 };

/* All pairs the same, so that no size tells one exchange from the next, and cut into groups: rank 0
 * all at once while the others do not, the other way round, as it comes; then all at once. */
static struct exchange in_parts(const struct rank *r, int scene, int round, unsigned *seed)
{
    struct exchange x = {.round = round};

    for (int a = 0; a < r->nranks; a++) {
        for (int b = 0; b < r->nranks; b++) {
            x.bytes[a][b] = r->count;
            x.phase[a][b] = (a < b ? a + 3 * b : b + 3 * a) % PHASES;
        }
        x.last[a] = scene == 0   ? (a ? 0 : PHASES - 1)
                    : scene == 1 ? (a ? PHASES - 1 : 0)
                                 : (int)(next_random(seed) % PHASES);
        if (round > 2)
            x.last[a] = PHASES - 1;
    }
    return x;
}

/* Ranks cut the same exchanges into groups as they like: a full one to some, to others not. No rank
   waits in between, so that one rank's first exchange meets another one's fourth. */
static void test_sets_apart(struct rank *r)
{
    struct exchange_buffers b[ROUNDS];
    struct exchange x[ROUNDS];
    unsigned seed = 7;

    for (int scene = 0; scene < SCENES; scene++) {
        ncclComm_t comm = ranks_comm(r);

        for (int round = 0; round < ROUNDS; round++) {
            x[round] = in_parts(r, scene, round, &seed);
            b[round] = fill(r, &x[round]);
        }
        for (int round = 0; round < ROUNDS; round++)
            send_all(r, comm, &x[round], &b[round], r->stream);
        stream_wait(r->stream);
        for (int round = 0; round < ROUNDS; round++)
            verify(r, &x[round], &b[round], "an exchange in parts");
        NCCL(ncclCommDestroy(comm));
    }
}

/* The first and the last rank have nothing for each other, so the last one's exchange may end
 * before the first one's begins: a program may count on that. */
static void test_sets_loose(struct rank *r)
{
    CUstream other = stream_new();
    CUdeviceptr flag = (CUdeviceptr)device_new(4);
    uint32_t zero = 0;
    int last = r->nranks - 1;
    unsigned seed = 3;

    for (int round = 0; round < 4; round++) {
        struct exchange x = skewed(r, round, &seed, 0);
        struct exchange_buffers b;

        if (round && last > 1)
            x.bytes[0][last] = x.bytes[last][0] = 0;
        b = fill(r, &x);
        device_write((void *)flag, &zero, sizeof zero);
        if (round && last > 1 && r->rank == 0)
            CUDA(StreamWaitValue32(r->stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
        send_all(r, r->comm, &x, &b, r->stream);
        if (last > 1 && r->rank == last)
            stream_wait(r->stream);
        ranks_meet(r);
        CUDA(StreamWriteValue32(other, flag, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
        stream_wait(other);
        stream_wait(r->stream);
        verify(r, &x, &b, "a loose exchange");
    }
    device_free((void *)flag);
    CUDA(StreamDestroy(other));
}

/* The call returns while the stream is blocked. */
static void test_sets_blocked(struct rank *r)
{
    CUstream other = stream_new();
    CUdeviceptr flag = (CUdeviceptr)device_new(4);
    uint32_t zero = 0;
    unsigned seed = 3;

    for (int round = 0; round < 3; round++) {
        struct exchange x = skewed(r, round, &seed, 0);
        struct exchange_buffers b = fill(r, &x);

        device_write((void *)flag, &zero, sizeof zero);
        CUDA(StreamWaitValue32(r->stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
        send_all(r, r->comm, &x, &b, r->stream);
        check(r, cu->StreamQuery(r->stream) == CUDA_ERROR_NOT_READY, "the stream is not blocked");
        CUDA(StreamWriteValue32(other, flag, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
        stream_wait(r->stream);
        verify(r, &x, &b, "an exchange behind a blocked stream");
    }
    device_free((void *)flag);
    CUDA(StreamDestroy(other));
}

const struct test_case cases_sets[] = {
    {"sets", test_sets},
    {"sets_repeated", test_sets_repeated},
    {"sets_apart", test_sets_apart},
    {"sets_loose", test_sets_loose},
    {"sets_blocked", test_sets_blocked},
    {NULL, NULL},
};
