/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device SEED CALLS [fails | killed | lost]: random collectives. Each buffer of each rank lies in
 * host memory, device memory, a pool, managed memory, or memory mapped in two parts, at any
 * address. The default stream writes it just before the call, without waiting. The expected bytes
 * are those of the same call with host buffers, gaps and surroundings included. CUDA is loaded
 * after MPI_Init, as the runtime does. fails: errors are returned. A call is right, or an error on
 * at least one rank; ranks without an error have the right bytes. (With an operation of the user's,
 * which the library serves, only if no rank has an error.) A rank may lose its device on the way;
 * its buffers are in host memory from then on. killed: half-way, one of rank 1's helpers is. lost:
 * helpers fail in other ways.
 *
 * Without the preload, only a library that takes device memory passes.
 */
#define _GNU_SOURCE
#include "test/mpi/collectives.h"
#include "test/mpi/driver.h"
#include "test/mpi/harness.h"
#include "test/mpi/own_helper.h"

enum { AROUND = 64, MOST_COUNT = 3000, MOST_RANKS = 16 };
enum kind { HOST, DEVICE, POOL, MANAGED, MAPPED, KINDS };

#define STREAM NULL /* the default one */

/* Buffers -------------------------------------------------------------------------------------- */
struct buffer {
    enum kind kind;
    size_t bytes, offset; /* of the data in the allocation */
    char *at;             /* the buffer that MPI gets */
    address allocation;
    address reserved, part[2]; /* MAPPED, of part_bytes each */
    size_t part_bytes;
    char *host;     /* pinned; where the bytes come from and go to */
    int not_pinned; /* the device was lost before */
};

static size_t whole(const struct buffer *b)
{
    return b->bytes + 2 * AROUND + b->offset;
}

/* With the middle of the bytes where one part ends. */
static void map(struct buffer *b)
{
    const struct properties on = {.type = PINNED, .where = {ON_DEVICE, own_device}};
    const struct access access = {on.where, READ_WRITE};
    size_t grain = 1;

    NEED(MemGetAllocationGranularity(&grain, &on, 0));
    b->part_bytes = (whole(b) + grain - 1) / grain * grain;
    NEED(MemAddressReserve(&b->reserved, 2 * b->part_bytes, 0, 0, 0));
    for (size_t i = 0; i < 2; i++) {
        NEED(MemCreate(&b->part[i], b->part_bytes, &on, 0));
        NEED(MemMap(b->reserved + i * b->part_bytes, b->part_bytes, 0, b->part[i], 0));
    }
    NEED(MemSetAccess(b->reserved, 2 * b->part_bytes, &access, 1));
    b->allocation = b->reserved + b->part_bytes - (whole(b) / 2 + 255) / 256 * 256;
}

static void unmap(const struct buffer *b)
{
    NEED(MemUnmap(b->reserved, 2 * b->part_bytes));
    for (int i = 0; i < 2; i++)
        NEED(MemRelease(b->part[i]));
    NEED(MemAddressFree(b->reserved, 2 * b->part_bytes));
}

/* b->host holds the bytes. */
static void place(struct buffer *b)
{
    b->at = b->host + b->offset + AROUND;
    if (b->kind == HOST)
        return;
    if (b->kind == DEVICE)
        NEED(MemAlloc(&b->allocation, whole(b)));
    else if (b->kind == POOL)
        NEED(MemAllocAsync(&b->allocation, whole(b), STREAM));
    else if (b->kind == MAPPED)
        map(b);
    else
        NEED(MemAllocManaged(&b->allocation, whole(b), 1));
    if (lost()) {
        b->kind = HOST;
        return;
    }
    b->at = (char *)(uintptr_t)b->allocation + b->offset + AROUND;
    NEED(MemcpyHtoDAsync(b->allocation, b->host, whole(b), STREAM));
}

static void bring_back(struct buffer *b)
{
    if (b->kind != HOST) {
        NEED(MemcpyDtoHAsync(b->host, b->allocation, whole(b), STREAM));
        NEED(CtxSynchronize());
    }
    if (b->kind == MAPPED)
        unmap(b);
    else if (b->kind != HOST)
        NEED(MemFree(b->allocation));
}

static struct buffer make(struct draw *d, size_t bytes, int alignment)
{
    struct buffer b = {.kind = (enum kind)draw_below(d, KINDS), .bytes = bytes};
    void *host = NULL;

    b.offset = (size_t)(draw_below(d, 16) * alignment);
    if (!draw_below(d, 6))
        b.offset += 1; /* a number may begin anywhere, for MPI */
    NEED(MemHostAlloc(&host, whole(&b), 1));
    b.not_pinned = !host;
    b.host = host ? host : malloc(whole(&b));
    need(!b.host, "malloc");
    return b;
}

static void drop(const struct buffer *b)
{
    if (b->not_pinned)
        free(b->host);
    else
        NEED(MemFreeHost(b->host));
}

/* Types and operations ------------------------------------------------------------------------- */
struct type_row {
    const char *name;
    MPI_Datatype type;
    MPI_Op op; /* MPI_OP_NULL: not reduced */
    int extent, alignment;
    void (*fill)(struct draw *, char *, size_t);
};

static void fill_bytes(struct draw *d, char *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (char)draw_below(d, 256);
}

static void fill_ints(struct draw *d, char *to, size_t n)
{
    for (size_t i = 0; i + sizeof(int) <= n; i += sizeof(int))
        memcpy(to + i, &(int){draw_below(d, 1000) - 500}, sizeof(int));
}

static void fill_floats(struct draw *d, char *to, size_t n)
{
    for (size_t i = 0; i + sizeof(float) <= n; i += sizeof(float))
        memcpy(to + i, &(float){(float)(draw_below(d, 200) - 100)}, sizeof(float));
}

static void fill_doubles(struct draw *d, char *to, size_t n)
{
    for (size_t i = 0; i + sizeof(double) <= n; i += sizeof(double))
        memcpy(to + i, &(double){draw_below(d, 2000) - 1000}, sizeof(double));
}

/* Pairs with their gaps filled too: nothing may change them. */
static void fill_pairs(struct draw *d, char *to, size_t n)
{
    struct {
        double value;
        int index;
    } pair;

    fill_bytes(d, to, n);
    for (size_t i = 0; i + sizeof pair <= n; i += sizeof pair) {
        memcpy(to + i, &(double){draw_below(d, 50)}, sizeof(double));
        memcpy(to + i + sizeof(double), &(int){draw_below(d, 1000)}, sizeof(int));
    }
}

static MPI_Datatype gappy;

/* Adds the first two of three ints, of which gappy consists. */
static void add_gappy(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        for (int k = 0; k < 2; k++) {
            int x, y;
            memcpy(&x, (char *)in + 12 * i + 4 * k, 4);
            memcpy(&y, (char *)inout + 12 * i + 4 * k, 4);
            x += y;
            memcpy((char *)inout + 12 * i + 4 * k, &x, 4);
        }
}

static struct type_row types[7];

static void open_types(void)
{
    MPI_Datatype vector;
    MPI_Op add;

    MPI_Type_vector(1, 2, 3, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 12, &gappy);
    MPI_Type_commit(&gappy);
    MPI_Type_free(&vector);
    MPI_Op_create(add_gappy, 1, &add);
    types[0] = (struct type_row){"int", MPI_INT, MPI_SUM, 4, 4, fill_ints};
    types[1] = (struct type_row){"double", MPI_DOUBLE, MPI_SUM, 8, 8, fill_doubles};
    types[2] = (struct type_row){"byte", MPI_BYTE, MPI_BXOR, 1, 1, fill_bytes};
    types[3] = (struct type_row){"double and int", MPI_DOUBLE_INT, MPI_MAXLOC, 16, 8, fill_pairs};
    types[4] = (struct type_row){"float complex", MPI_C_FLOAT_COMPLEX, MPI_SUM, 8, 4, fill_floats};
    types[5] = (struct type_row){"two of three ints", gappy, add, 12, 4, fill_ints};
    types[6] = (struct type_row){"max of ints", MPI_INT, MPI_MAX, 4, 4, fill_ints};
}

/* Calls ---------------------------------------------------------------------------------------- */
struct problem {
    int collective, root, in_place, n; /* n: elements of a block */
    const struct type_row *t;
    int count[MOST_RANKS], displ[MOST_RANKS];
    int bytes[2 * MOST_RANKS];                /* displacements in bytes: to each, from each */
    int to[MOST_RANKS], to_displ[MOST_RANKS]; /* this rank's bytes for each */
    MPI_Datatype types[MOST_RANKS];
};

static int run(const struct problem *p, void *send, void *receive)
{
    const MPI_Comm w = MPI_COMM_WORLD;
    MPI_Datatype t = p->t->type;
    int here = world_rank == p->root;
    void *in = p->in_place ? MPI_IN_PLACE : send;
    void *at_root = p->in_place && here ? MPI_IN_PLACE : send;
    void *from_root = p->in_place && here ? MPI_IN_PLACE : receive;

    switch (p->collective) {
    case ALLGATHER:
        return MPI_Allgather(in, p->n, t, receive, p->n, t, w);
    case ALLGATHERV:
        return MPI_Allgatherv(in, p->count[world_rank], t, receive, p->count, p->displ, t, w);
    case ALLREDUCE:
        return MPI_Allreduce(in, receive, p->n, t, p->t->op, w);
    case REDUCE:
        return MPI_Reduce(at_root, receive, p->n, t, p->t->op, p->root, w);
    case REDUCE_SCATTER:
        return MPI_Reduce_scatter(in, receive, p->count, t, p->t->op, w);
    case REDUCE_SCATTER_BLOCK:
        return MPI_Reduce_scatter_block(in, receive, p->n, t, p->t->op, w);
    case SCAN:
        return MPI_Scan(in, receive, p->n, t, p->t->op, w);
    case EXSCAN:
        return MPI_Exscan(in, receive, p->n, t, p->t->op, w);
    case BCAST:
        return MPI_Bcast(receive, p->n, t, p->root, w);
    case GATHER:
        return MPI_Gather(at_root, p->n, t, receive, p->n, t, p->root, w);
    case GATHERV:
        return MPI_Gatherv(at_root, p->count[world_rank], t, receive, p->count, p->displ, t,
                           p->root, w);
    case SCATTER:
        return MPI_Scatter(send, p->n, t, from_root, p->n, t, p->root, w);
    case SCATTERV:
        return MPI_Scatterv(send, p->count, p->displ, t, from_root, p->count[world_rank], t,
                            p->root, w);
    case ALLTOALL:
        return MPI_Alltoall(in, p->n, t, receive, p->n, t, w);
    case ALLTOALLV:
        return MPI_Alltoallv(in, p->to, p->to_displ, t, receive, p->count, p->displ, t, w);
    case ALLTOALLW:
        return MPI_Alltoallw(in, p->to, p->bytes, p->types, receive, p->count,
                             p->bytes + world_size, p->types, w);
    }
    return MPI_ERR_ARG;
}

/* A problem that is the same on all ranks, but for what each sends to whom. Returns the bytes of
   the vectors. */
static size_t pose(struct draw *d, struct problem *p)
{
    int size = world_size, extent, at = 0, sent = 0;

    *p = (struct problem){.collective = draw_below(d, COLLECTIVES),
                          .root = draw_below(d, size),
                          .in_place = !draw_below(d, 4),
                          .n = 1 + draw_below(d, draw_below(d, 3) ? 200 : MOST_COUNT),
                          .t = &types[draw_below(d, (int)(sizeof types / sizeof *types))]};
    /* MPICH 4.0.2's own Gather, Scatter and Alltoall truncate what has gaps. */
    if ((p->collective == GATHER || p->collective == SCATTER || p->collective == ALLTOALL) &&
        p->t->extent > 8)
        p->t = &types[0];
    extent = p->t->extent;
    /* MPICH 4.0.2's own in-place Reduce of a few KiB crashes. */
    if (p->collective >= ALLTOALLV || p->collective == REDUCE)
        p->in_place = 0;
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) { /* i to j */
            int n = draw_below(d, 4) ? 1 + draw_below(d, p->n) : 0;
            int exchange = p->collective >= ALLTOALLV;
            if (i == world_rank)
                p->to[j] = n;
            if (exchange ? j == world_rank : j == 0)
                p->count[i] = n;
        }
    if (p->collective == REDUCE_SCATTER)
        p->count[0]++; /* some element there is */
    for (int i = 0; i < size; i++) {
        int gap = p->collective == REDUCE_SCATTER ? 0 : draw_below(d, 3);
        p->types[i] = p->t->type;
        p->displ[i] = at + gap;
        at = p->displ[i] + p->count[i];
        p->to_displ[i] = sent + gap;
        sent = p->to_displ[i] + p->to[i];
        p->bytes[i] = p->to_displ[i] * extent;
        p->bytes[size + i] = p->displ[i] * extent;
    }
    int most = p->n * size;
    most = at > most ? at : most;
    most = sent > most ? sent : most;
    return (size_t)most * (size_t)extent;
}

/* The same bytes, for the second run. */
static char *copy_of(const struct buffer *b)
{
    char *copy = malloc(whole(b));

    need(!copy, "malloc");
    return memcpy(copy, b->host, whole(b));
}

/* The bytes between the parts of a pair belong to no element. */
static int is_between(const struct problem *p, const struct buffer *b, size_t i)
{
    size_t from = b->offset + AROUND;

    return p->t->fill == fill_pairs && i >= from && i < from + b->bytes && (i - from) % 16 >= 12;
}

static void compare(const struct problem *p, const struct buffer *b, const char *expected,
                    const char *which, int call)
{
    static const char *const kinds[] = {"host", "device", "pool", "managed", "mapped"};

    if (b->kind != HOST && lost())
        return; /* unknown */
    for (size_t i = 0; i < whole(b); i++)
        if (b->host[i] != expected[i] && !is_between(p, b, i)) {
            fail("call %d, %s of %d x %s%s, root %d: %s buffer (%s): byte %ld is %d, not %d", call,
                 collective_names[p->collective], p->n, p->t->name, p->in_place ? ", in place" : "",
                 p->root, which, kinds[b->kind], (long)i - AROUND - (long)b->offset, b->host[i],
                 expected[i]);
            return;
        }
}

static long errors;

static void one_call(int call, int may_fail)
{
    struct draw all = draw_from((uint64_t)call, 1000);
    struct draw own = draw_from((uint64_t)call, (uint64_t)world_rank);
    struct problem p;
    size_t bytes = pose(&all, &p);
    struct buffer send = make(&own, bytes, p.t->alignment);
    struct buffer receive = make(&own, bytes, p.t->alignment);
    char *sent, *received;

    fill_bytes(&own, send.host, whole(&send));
    fill_bytes(&own, receive.host, whole(&receive));
    p.t->fill(&own, send.host + send.offset + AROUND, bytes);
    p.t->fill(&own, receive.host + receive.offset + AROUND, bytes);
    sent = copy_of(&send);
    received = copy_of(&receive);
    place(&send);
    place(&receive);
    int rc = run(&p, send.at, receive.at);
    bring_back(&send);
    bring_back(&receive);
    int wrong = run(&p, sent + send.offset + AROUND, received + receive.offset + AROUND);
    int failed = rc != MPI_SUCCESS;
    if (may_fail)
        MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!may_fail)
        need(wrong, "the call with host memory");
    if (rc != MPI_SUCCESS && !may_fail)
        fail("call %d, %s: error %d", call, collective_names[p.collective], rc);
    if (rc == MPI_SUCCESS && wrong == MPI_SUCCESS && (!failed || p.t->type != gappy)) {
        compare(&p, &send, sent, "send", call);
        compare(&p, &receive, received, "receive", call);
    }
    errors += (rc != MPI_SUCCESS) + (wrong != MPI_SUCCESS);
    free(sent);
    free(received);
    drop(&send);
    drop(&receive);
}

int main(int argc, char **argv)
{
    int calls = argc > 2 ? atoi(argv[2]) : 100, may_fail = argc > 3 && !strcmp(argv[3], "fails");
    int killed = argc > 3 && !strcmp(argv[3], "killed");
    int helpers_fail = killed || (argc > 3 && !strcmp(argv[3], "lost"));
    long all_errors = 0;

    mark_helpers();
    MPI_Init(&argc, &argv);
    test_began("device", argc, argv);
    open_types();
    load_cuda();
    if (may_fail)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int call = 0; call < calls; call++) {
        if (killed && world_rank == 1 && call == calls / 2)
            kill_a_helper();
        one_call(call, may_fail);
    }
    MPI_Reduce(&errors, &all_errors, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    check_violations();
    int rc = test_ended();
    if (!world_rank)
        printf("errors returned: %ld\n", all_errors);
    MPI_Type_free(&gappy);
    MPI_Op_free(&types[5].op);
    MPI_Finalize();
    /* Memory that a failed helper may have open is not freed before the process ends. */
    return (!helpers_fail && is_left_over()) || rc;
}
