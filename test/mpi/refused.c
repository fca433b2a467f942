/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that are wrong on one rank alone, and calls whose ranks disagree.
 *
 * refused SEED alone: faults that the library finds in one rank's arguments. Rank 0 alone makes the
 * call, so code that asks the others first waits for ever. A communicator of one rank tells the
 * faults that the library refuses. If it refuses none, all ranks make the call together.
 *
 * refused SEED lengths [CASE]: ranks whose sizes differ. Each rank gets the answer that the library
 * itself gives it, found out by the same call past any preload. (In some, Open MPI waits for ever
 * on three ranks, and MPICH on two.)
 *
 * refused SEED operations: ranks whose operations differ, the one of which they have agreed on.
 *
 * refused SEED unequal COUNT: ranks whose sizes differ a little, around so many elements. The call
 * ends on every rank, and is an error on at least one. COUNT is to be such that the plans of both
 * sizes have the same messages.
 *
 * refused SEED beside BYTES [CASE]: ranks whose sizes lie on both sides of COLLSHIM_MIN_BYTES. Each
 * rank gets the answer that the library itself gives it.
 *
 * After every wrong call a right one of the same function is made, whose result is checked.
 */
#include "test/mpi/native.h"
#include "test/mpi/collectives.h"

enum { MOST = 16, BLOCK = 2, ROOM = MOST * BLOCK * 10 };

/* The functions of an MPI library: those that the program sees, and those past any preload. */
#define COUNT int
#define DISPL int
struct library {
#define FORMS(Name, name, parameters, arguments) int(*Name) parameters;
#include "shim/preload/collectives.def"
};

static const struct library seen = {
#define FORMS(Name, name, parameters, arguments) MPI_##Name,
#include "shim/preload/collectives.def"
};
static struct library native;

/* Both sides of a call, whichever of it the function takes. */
struct arguments {
    int *send, *receive;
    int sends, receives; /* elements of a block */
    MPI_Datatype send_type, receive_type;
    int root;
    int negative; /* the first of the counts is */
};

static MPI_Datatype uncommitted;

static void fill(int *counts, int *displs, int n, int each)
{
    for (int i = 0; i < n; i++) {
        counts[i] = each;
        displs[i] = i * each;
    }
}

static int call(const struct library *mpi, enum collective f, const struct arguments *a,
                MPI_Comm comm)
{
    int size, sc[MOST], sd[MOST], rc[MOST], rd[MOST];
    MPI_Datatype st[MOST], rt[MOST];
    int same = a->send == a->receive; /* libraries compare vectors by their pointers */

    MPI_Comm_size(comm, &size);
    fill(sc, sd, size, a->sends);
    fill(rc, rd, size, a->receives);
    for (int i = 0; i < size; i++) {
        st[i] = a->send_type;
        rt[i] = a->receive_type;
    }
    if (a->negative)
        sc[0] = rc[0] = -1;
    int sends = a->negative ? -1 : a->sends;
    switch (f) {
    case ALLGATHER:
        return mpi->Allgather(a->send, sends, a->send_type, a->receive, a->receives,
                              a->receive_type, comm);
    case ALLGATHERV: /* of a negative one among the counts, Open MPI 4.1.4 dies */
        return mpi->Allgatherv(a->send, sends, a->send_type, a->receive, a->negative ? sd : rc, rd,
                               a->receive_type, comm);
    case ALLREDUCE:
        return mpi->Allreduce(a->send, a->receive, sends, a->send_type, MPI_SUM, comm);
    case REDUCE:
        return mpi->Reduce(a->send, a->receive, sends, a->send_type, MPI_SUM, a->root, comm);
    case REDUCE_SCATTER:
        return mpi->Reduce_scatter(a->send, a->receive, sc, a->send_type, MPI_SUM, comm);
    case REDUCE_SCATTER_BLOCK:
        return mpi->Reduce_scatter_block(a->send, a->receive, sends, a->send_type, MPI_SUM, comm);
    case SCAN:
        return mpi->Scan(a->send, a->receive, sends, a->send_type, MPI_SUM, comm);
    case EXSCAN:
        return mpi->Exscan(a->send, a->receive, sends, a->send_type, MPI_SUM, comm);
    case BCAST:
        return mpi->Bcast(a->receive, sends, a->send_type, a->root, comm);
    case GATHER:
        return mpi->Gather(a->send, sends, a->send_type, a->receive, a->receives, a->receive_type,
                           a->root, comm);
    case GATHERV:
        return mpi->Gatherv(a->send, sends, a->send_type, a->receive, rc, rd, a->receive_type,
                            a->root, comm);
    case SCATTER:
        return mpi->Scatter(a->send, sends, a->send_type, a->receive, a->receives, a->receive_type,
                            a->root, comm);
    case SCATTERV:
        return mpi->Scatterv(a->send, sc, sd, a->send_type, a->receive, a->receives,
                             a->receive_type, a->root, comm);
    case ALLTOALL:
        return mpi->Alltoall(a->send, sends, a->send_type, a->receive, a->receives, a->receive_type,
                             comm);
    case ALLTOALLV:
        return mpi->Alltoallv(a->send, sc, sd, a->send_type, a->receive, same ? sc : rc,
                              same ? sd : rd, a->receive_type, comm);
    case ALLTOALLW:
        for (int i = 0; i < size; i++) {
            sd[i] *= (int)sizeof(int);
            rd[i] *= (int)sizeof(int);
        }
        return mpi->Alltoallw(a->send, sc, sd, st, a->receive, same ? sc : rc, same ? sd : rd,
                              same ? st : rt, comm);
    case COLLECTIVES:
        break;
    }
    return MPI_ERR_OTHER;
}

static int class_of(int code)
{
    int class;

    MPI_Error_class(code, &class);
    return class;
}

static int *send, *receive;

static struct arguments right_arguments(void)
{
    return (struct arguments){send, receive, BLOCK, BLOCK, MPI_INT, MPI_INT, 0, 0};
}

/* Where rank `rank` has what rank `from` gave it, in elements, or -1: it gets nothing of it. */
static int place_of(enum collective f, int rank, int from)
{
    int rooted = f == GATHER || f == GATHERV;

    if (f == BCAST || f == SCATTER || f == SCATTERV)
        return from ? -1 : 0;
    return rooted && rank ? -1 : from * BLOCK;
}

static int combines(enum collective f)
{
    return f >= ALLREDUCE && f <= EXSCAN;
}

/* In a right call a rank sends its number everywhere. */
static void right_call(enum collective f, MPI_Comm comm, const char *after)
{
    struct arguments a = right_arguments();
    int size, rank;

    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < ROOM; i++) {
        send[i] = rank + 1;
        receive[i] = f == BCAST && !rank ? 1 : -1;
    }
    int class = class_of(call(&seen, f, &a, comm));
    if (class != MPI_SUCCESS)
        fail("%s, right after %s: class %d", collective_names[f], after, class);
    for (int from = 0; from < size && !combines(f); from++) {
        int at = place_of(f, rank, from);
        if (at >= 0 && (receive[at] != from + 1 || receive[at + BLOCK - 1] != from + 1))
            fail("%s, right after %s: %d from rank %d", collective_names[f], after, receive[at],
                 from);
    }
    int terms = f == SCAN ? rank + 1 : f == EXSCAN ? rank : size; /* none: nothing is written */
    int sum = terms ? terms * (terms + 1) / 2 : -1;
    if (combines(f) && (f != REDUCE || !rank) && receive[0] != sum)
        fail("%s, right after %s: a sum of %d", collective_names[f], after, receive[0]);
}

/* Faults that one rank's own arguments have. */
enum fault { ALIAS, NEGATIVE, NULL_TYPE, UNCOMMITTED, NO_ROOT, IN_PLACE, NO_ADDRESS, FAULTS };

static const char *const fault_names[FAULTS] = {
    "buffers that coincide", "a negative count",   "a null type", "a type that is not committed",
    "no such root",          "MPI_IN_PLACE twice", "no address"};

static int has_root(enum collective f)
{
    return f == REDUCE || f == BCAST || (f >= GATHER && f <= SCATTERV);
}

/* Does the function have such arguments, and no library die of them? */
static int suits(enum collective f, enum fault fault)
{
#ifdef OPEN_MPI
    if (fault == NO_ADDRESS ||
        ((f == SCATTER || f == SCATTERV) && (fault == NULL_TYPE || fault == NEGATIVE)))
        return 0;
#endif
#ifndef OPEN_MPI /* on one rank MPICH copies less than nothing, over what lies behind the buffers  \
                  */
    if (fault == NEGATIVE && combines(f) && f != REDUCE_SCATTER)
        return 0;
#endif
#if (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000) || defined(MPI_ABI_VERSION)
    if (fault == NULL_TYPE && combines(f))
        return 0;
#endif
    if (f == BCAST && (fault == ALIAS || fault == IN_PLACE))
        return 0;
    if (fault == UNCOMMITTED)
        return !combines(f);
    return fault != NO_ROOT || has_root(f);
}

static struct arguments spoilt(enum fault fault)
{
    struct arguments a = right_arguments();

    switch (fault) {
    case ALIAS:
        a.send = a.receive;
        break;
    case NEGATIVE:
        a.negative = 1;
        break;
    case NULL_TYPE:
        a.send_type = MPI_DATATYPE_NULL;
        break;
    case UNCOMMITTED:
        a.send_type = uncommitted;
        break;
    case NO_ROOT:
        a.root = MOST;
        break;
    case IN_PLACE:
        a.send = a.receive = MPI_IN_PLACE;
        break;
    case NO_ADDRESS:
        a.send = a.receive = NULL;
        break;
    case FAULTS:
        break;
    }
    return a;
}

static void alone(enum collective f, enum fault fault, MPI_Comm comm, MPI_Comm one)
{
    struct arguments a = spoilt(fault);
    int want = 0;

    if (!world_rank)
        want = class_of(call(&native, f, &a, one));
    MPI_Bcast(&want, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (want != MPI_SUCCESS && !world_rank) {
        int got = class_of(call(&seen, f, &a, comm));
        if (got != want)
            fail("%s with %s on one rank: class %d, the library alone: %d", collective_names[f],
                 fault_names[fault], got, want);
    }
    /* Types that are not committed are not to be tried where they are let pass. */
    if (want == MPI_SUCCESS && fault == ALIAS && class_of(call(&seen, f, &a, comm)) != MPI_SUCCESS)
        fail("%s with %s on all ranks: an error", collective_names[f], fault_names[fault]);
    MPI_Barrier(MPI_COMM_WORLD);
    right_call(f, comm, fault_names[fault]);
}

static MPI_Comm new_comm(MPI_Comm from)
{
    MPI_Comm comm;

    MPI_Comm_dup(from, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

/* On a communicator that has seen no call before, and again after some. */
static void try_alone(void)
{
    MPI_Comm one = new_comm(MPI_COMM_SELF);

    for (int f = 0; f < COLLECTIVES; f++) {
        MPI_Comm comm = new_comm(MPI_COMM_WORLD);

        for (int again = 0; again < 2; again++)
            for (int fault = 0; fault < FAULTS; fault++)
                if (suits((enum collective)f, (enum fault)fault))
                    alone((enum collective)f, (enum fault)fault, comm, one);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_free(&one);
}

/* Calls in which rank 0 has another size than the others, in elements. */
static const struct {
    enum collective f;
    int zero[2], others[2]; /* sent, received */
} unlike[] = {
    {BCAST, {1, 0}, {10, 0}},       {BCAST, {10, 0}, {1, 0}},     {ALLREDUCE, {1, 0}, {10, 0}},
    {ALLREDUCE, {10, 0}, {1, 0}},   {REDUCE, {10, 0}, {1, 0}},    {REDUCE, {1, 0}, {10, 0}},
    {ALLGATHER, {1, 10}, {10, 10}}, {GATHER, {10, 1}, {10, 10}},  {SCATTER, {1, 10}, {10, 10}},
    {GATHERV, {10, 10}, {5, 5}},    {SCATTERV, {10, 10}, {5, 5}},
#ifndef OPEN_MPI /* it waits for ever */
    {ALLTOALL, {20, 10}, {10, 10}},
#endif
};
enum { UNLIKE = sizeof unlike / sizeof *unlike };

static struct arguments unlike_arguments(int i)
{
    struct arguments a = right_arguments();
    const int *sizes = world_rank ? unlike[i].others : unlike[i].zero;

    a.sends = sizes[0];
    a.receives = sizes[1];
    return a;
}

static void try_lengths(int only)
{
    for (int i = 0; i < UNLIKE; i++) {
        if (only >= 0 && i != only)
            continue;
        enum collective f = unlike[i].f;
        struct arguments a = unlike_arguments(i);
        MPI_Comm theirs = new_comm(MPI_COMM_WORLD), ours = new_comm(MPI_COMM_WORLD);
        int want = class_of(call(&native, f, &a, theirs));
        MPI_Barrier(MPI_COMM_WORLD);
        int got = class_of(call(&seen, f, &a, ours));

        if ((got != MPI_SUCCESS) != (want != MPI_SUCCESS))
            fail("%s, case %d of unlike sizes: class %d, the library alone: %d",
                 collective_names[f], i, got, want);
        /* Traces of the library's call may disturb its own next call. */
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm fresh = new_comm(MPI_COMM_WORLD);
        right_call(f, fresh, "unlike sizes");
        MPI_Comm_free(&fresh);
    }
}

/* Ranks that know the operation of their sum meet one with a product: the call ends as the
   library's does, and so does what comes behind. */
static void try_operations(void)
{
    MPI_Comm comm = new_comm(MPI_COMM_WORLD);
    int in = 1, out = 0;

    for (int i = 0; i < 3; i++)
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
    MPI_Reduce(&in, &out, 1, MPI_INT, world_rank ? MPI_SUM : MPI_PROD, 0, comm);
    right_call(ALLREDUCE, comm, "unlike operations");
    MPI_Comm_free(&comm);
}

/* Room for vectors of so many elements, and for what right_call needs. */
static void make_room(int elements)
{
    size_t n = elements > ROOM ? (size_t)elements : ROOM;

    send = realloc(send, n * sizeof *send);
    receive = realloc(receive, n * sizeof *receive);
    if (!send || !receive)
        MPI_Abort(MPI_COMM_WORLD, 2);
    memset(send, 0, n * sizeof *send);
    memset(receive, 0, n * sizeof *receive);
}

/* The ranks but 0 have two elements more. */
static void try_unequal(int count)
{
    static const enum collective some[] = {BCAST, ALLREDUCE, ALLGATHER, GATHER, SCATTER, ALLTOALL};
    int n = count + (world_rank ? 2 : 0);

    make_room((count + 2) * MOST);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        struct arguments a = right_arguments();
        MPI_Comm comm = new_comm(MPI_COMM_WORLD);

        a.sends = a.receives = n;
        int wrong = class_of(call(&seen, some[i], &a, comm)) != MPI_SUCCESS, any;
        MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (!any)
            fail("%s of unequal sizes: no rank has an error", collective_names[some[i]]);
        right_call(some[i], comm, "unequal sizes");
        MPI_Comm_free(&comm);
    }
}

/* One rank's size is the threshold, the others' are smaller; then the other way round. Each time on
   a communicator that has seen no call. */
static void try_beside(int threshold, int only)
{
    static const enum collective some[] = {
#ifndef OPEN_MPI /* it waits for ever */
        ALLREDUCE,
#endif
        BCAST,     REDUCE, ALLGATHER, GATHER, SCATTER, ALLTOALL};

    make_room(threshold);
    for (size_t i = 0; i < 2 * (sizeof some / sizeof *some); i++) {
        if (only >= 0 && (int)i != only)
            continue;
        enum collective f = some[i / 2];
        int whole = threshold / (int)sizeof *send;
        struct arguments a = right_arguments();
        MPI_Comm theirs = new_comm(MPI_COMM_WORLD), ours = new_comm(MPI_COMM_WORLD);

        a.sends = f == BCAST || combines(f) ? whole : whole / world_size;
        if (!world_rank == (i % 2 != 0))
            a.sends -= 2;
        a.receives = a.sends;
        int want = class_of(call(&native, f, &a, theirs));
        MPI_Barrier(MPI_COMM_WORLD);
        int got = class_of(call(&seen, f, &a, ours));
        if ((got != MPI_SUCCESS) != (want != MPI_SUCCESS))
            fail("%s beside the threshold: class %d, the library alone: %d", collective_names[f],
                 got, want);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm fresh = new_comm(MPI_COMM_WORLD);
        right_call(f, fresh, "sizes beside the threshold");
        MPI_Comm_free(&fresh);
    }
}

static void native_library(void)
{
    native_open();
#define FORMS(Name, name, parameters, arguments)                                                   \
    *(void **)&native.Name = native_symbol("PMPI_" #Name);
#include "shim/preload/collectives.def"
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "alone";

    MPI_Init(&argc, &argv);
    test_began("refused", argc, argv);
    native_library();
    if (world_size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    make_room(ROOM);
    MPI_Type_vector(1, 1, 2, MPI_INT, &uncommitted);
    /* Open MPI raises some of these errors on MPI_COMM_WORLD, on any communicator. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!strcmp(what, "operations"))
        try_operations();
    else if (!strcmp(what, "lengths"))
        try_lengths(argc > 3 ? atoi(argv[3]) : -1);
    else if (!strcmp(what, "beside"))
        try_beside(argc > 3 ? atoi(argv[3]) : 64 << 10, argc > 4 ? atoi(argv[4]) : -1);
    else if (!strcmp(what, "unequal"))
        try_unequal(argc > 3 ? atoi(argv[3]) : 50000);
    else
        try_alone();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&uncommitted);
    free(send);
    free(receive);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
