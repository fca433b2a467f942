/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random legal program: wild [SEED [STEPS [FIRST-LAST,...]]]
 *
 * Each step follows from the seed and its number alone, so that others can be left out: the third
 * argument names the steps that are made. A step makes or frees a communicator of a tree of them,
 * or makes a call on one: blocking, nonblocking or persistent, of any function, type and place.
 * Messages and one-sided traffic are in flight meanwhile. A step completes some of what is under
 * way, each rank in an order of its own. Results are those that the test computes, or go into a
 * digest, which is the same with and without collshim (test/fuzz/programs.sh). One thread alone.
 */
#include "test/mpi/completion.h"
#include "test/mpi/persistent_calls.h"
#include "test/mpi/random_call.h"

enum { MOST = 400, COMMS = 6, PENDING = 10, NUMBERS = 600, MESSAGE = 700 };
enum form { NONBLOCKING, PERSISTENT_FORM, MESSAGE_FORM };

/* MPICH 4.0.2's own persistent calls fail when they are started again, and its Reduce when the root
   sums in place. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
enum { RESTARTS = 0, REDUCES_IN_PLACE = 0 };
#else
enum { RESTARTS = 1, REDUCES_IN_PLACE = 1 };
#endif

static struct place places[COMMS];
static uint64_t digest;

#define FUNCTION static void call_now(struct call *c)
#define CALL(Name, name, ...) MPI_##Name(__VA_ARGS__)
#define COUNT int
#define BLOCKS narrow
#include "test/mpi/make_call.h"

#define FUNCTION static void call_start(struct call *c, MPI_Request *request)
#define CALL(Name, name, ...) MPI_I##name(__VA_ARGS__, request)
#define COUNT int
#define BLOCKS narrow
#include "test/mpi/make_call.h"

#define FUNCTION static void call_init(struct call *c, MPI_Request *request)
#define CALL(Name, name, ...) MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request)
#define COUNT int
#define BLOCKS narrow
#include "test/mpi/make_call.h"

/* An operation under way. Its counts stay where they are: MPI may read them until the end. */
static struct pending {
    enum form form;
    struct call call;
    int again;       /* a persistent one: it is to be started once more */
    int *sent, *got; /* messages: owned */
    int number;      /* the step */
    const struct place *at;
    MPI_Request request[2];
} * pending[PENDING]; /* owned */
static int npending;

static void note(const void *data, size_t bytes)
{
    const unsigned char *at = data;

    for (size_t i = 0; i < bytes; i++)
        digest = mix(digest + at[i] + 1);
}

static int right_of(const struct place *p)
{
    return (p->rank + 1) % p->size;
}

static int left_of(const struct place *p)
{
    return (p->rank + p->size - 1) % p->size;
}

static int message_value(int number, int from, int i)
{
    return (int)(mix((uint64_t)number * 4096 + (uint64_t)from * 64 + (uint64_t)i % 61) % 1000003);
}

static int *numbers(int n)
{
    int *at = malloc((size_t)n * sizeof *at);

    if (!at)
        abort();
    for (int i = 0; i < n; i++)
        at[i] = GAP;
    return at;
}

/* Requests and messages ------------------------------------------------------------------------ */

static void message_check(const struct pending *p)
{
    for (int i = 0; i < MESSAGE; i++)
        if (p->got[i] != message_value(p->number, left_of(p->at), i)) {
            fail("step %d: number %d of a message is %d", p->number, i, p->got[i]);
            return;
        }
}

/* It is complete. A persistent call may begin anew, with other data. Returns whether it has. */
static int take_result(struct pending *p)
{
    char how[64];

    snprintf(how, sizeof how, "step %d", p->number);
    if (p->form == MESSAGE_FORM) {
        message_check(p);
        free(p->sent);
        free(p->got);
        return 0;
    }
    call_check(&p->call, how);
    if (p->form == PERSISTENT_FORM && p->again) {
        p->again = 0;
        p->call.key += 1000003;
        call_fill(&p->call);
        MPI_Start(&p->request[0]);
        return 1;
    }
    if (p->form == PERSISTENT_FORM)
        MPI_Request_free(&p->request[0]);
    call_free_types(&p->call);
    call_free(&p->call);
    return 0;
}

/* Those from `first` on; all ranks alike, but in an order of their own. */
static void complete_from(int first, struct draw *d, struct draw *own)
{
    MPI_Request q[2 * PENDING];
    int n = 0, form = draw_below(d, FORMS_OF_ALL), left = first;

    for (int i = first; i < npending; i++)
        for (int k = 0; k < (pending[i]->form == MESSAGE_FORM ? 2 : 1); k++)
            q[n++] = pending[i]->request[k];
    if (n > COMPLETED_AT_ONCE)
        form = 0;
    for (int i = first; i < npending;
         i++) /* MPICH 4.0.2's Waitany finds inactive ones of its own */
        form = pending[i]->form == PERSISTENT_FORM ? form % 2 : form;
    if (n)
        complete(q, n, n, form, own);
    n = 0;
    for (int i = first; i < npending; i++)
        for (int k = 0; k < (pending[i]->form == MESSAGE_FORM ? 2 : 1); k++)
            pending[i]->request[k] = q[n++];
    for (int i = first; i < npending; i++)
        if (take_result(pending[i]))
            pending[left++] = pending[i];
        else
            free(pending[i]);
    npending = left;
}

static void complete_all(struct draw *d, struct draw *own)
{
    while (npending)
        complete_from(0, d, own);
}

static struct pending *new_pending(enum form form, int number, struct draw *d, struct draw *own)
{
    if (npending == PENDING)
        complete_all(d, own);
    struct pending *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    p->form = form;
    p->number = number;
    return pending[npending++] = p;
}

/* Steps ---------------------------------------------------------------------------------------- */

static void step_blocking(int number, struct draw *d, struct draw *own)
{
    struct call c;
    char how[64];

    (void)own;
    snprintf(how, sizeof how, "blocking, step %d", number);
    call_draw(&c, places, COMMS, draw_below(d, 8) ? MOST : MOST_LARGE, d);
    c.key = (uint64_t)draw_below(d, 1 << 30) << 24;
    call_fill(&c);
    call_now(&c);
    call_check(&c, how);
    call_free_types(&c);
    call_free(&c);
}

static void step_start(int number, struct draw *d, struct draw *own)
{
    int persistent = draw_below(d, 3) == 0 && persistent_calls();
    struct pending *p = new_pending(persistent ? PERSISTENT_FORM : NONBLOCKING, number, d, own);

    call_draw(&p->call, places, COMMS, draw_below(d, 8) ? MOST : MOST_LARGE, d);
    p->call.key = (uint64_t)draw_below(d, 1 << 30) << 24;
    p->at = p->call.at;
    p->again = draw_below(d, 2) && RESTARTS;
    call_fill(&p->call);
    if (persistent) {
        call_init(&p->call, &p->request[0]);
        MPI_Start(&p->request[0]);
    } else {
        call_start(&p->call, &p->request[0]);
    }
}

static void step_message(int number, struct draw *d, struct draw *own)
{
    struct pending *p = new_pending(MESSAGE_FORM, number, d, own);
    int any = draw_below(d, 2);

    p->at = &places[draw_below(d, COMMS)];
    p->sent = numbers(MESSAGE);
    p->got = numbers(MESSAGE);
    for (int i = 0; i < MESSAGE; i++)
        p->sent[i] = message_value(number, p->at->rank, i);
    MPI_Irecv(p->got, MESSAGE, MPI_INT, any ? MPI_ANY_SOURCE : left_of(p->at), number, p->at->comm,
              &p->request[0]);
    MPI_Isend(p->sent, MESSAGE, MPI_INT, right_of(p->at), number, p->at->comm, &p->request[1]);
}

static void step_complete(int number, struct draw *d, struct draw *own)
{
    (void)number;
    complete_from(npending ? draw_below(d, npending) : 0, d, own);
}

#ifdef MPI_WIN_NULL /* not in the header of shim/abi */
/* One-sided: a window, open from one step to another. */
static struct {
    MPI_Win win;
    const struct place *at;
    int *memory, *put; /* owned; NULL: there is none */
    int number;
} window;

static void window_close(void)
{
    if (!window.memory)
        return;
    MPI_Win_fence(0, window.win);
    for (int i = 0; i < MESSAGE; i++)
        if (window.memory[i] != message_value(window.number, left_of(window.at), i)) {
            fail("step %d: number %d of a window is %d", window.number, i, window.memory[i]);
            break;
        }
    MPI_Win_free(&window.win);
    free(window.memory);
    free(window.put);
    window.memory = NULL;
}

/* Data that is put stays in flight until a later step, or is there at once. */
static void step_window(int number, struct draw *d, struct draw *own)
{
    (void)own;
    if (window.memory) {
        window_close();
        return;
    }
    window.at = &places[draw_below(d, COMMS)];
    window.number = number;
    window.put = numbers(MESSAGE);
    for (int i = 0; i < MESSAGE; i++)
        window.put[i] = message_value(number, window.at->rank, i);
    window.memory = numbers(MESSAGE);
    MPI_Win_create(window.memory, MESSAGE * sizeof(int), sizeof(int), MPI_INFO_NULL,
                   window.at->comm, &window.win);
    MPI_Win_fence(0, window.win);
    MPI_Put(window.put, MESSAGE, MPI_INT, right_of(window.at), 0, MESSAGE, MPI_INT, window.win);
}
#else
static void window_close(void)
{
}
#define step_window step_complete
#endif

/* A child of one communicator in place of another, with which nothing is under way any more. */
static void step_communicator(int number, struct draw *d, struct draw *own)
{
    struct place *p = &places[1 + draw_below(d, COMMS - 1)];
    const struct place *parent = &places[draw_below(d, COMMS)];
    int colours = 1 + draw_below(d, 3), turn = draw_below(d, 64);
    MPI_Comm made;

    (void)number;
    complete_all(d, own);
    window_close();
    if (colours == 1)
        MPI_Comm_dup(parent->comm, &made);
    else
        MPI_Comm_split(parent->comm, parent->rank % colours, (parent->rank * 7 + turn) % 5, &made);
    MPI_Comm_free(&p->comm);
    p->comm = made;
    place_measure(p);
}

/* Every type with every operation that it has; sums and products of so small numbers are exact in
   any order. */
static void step_numbers(int number, struct draw *d, struct draw *own)
{
    const MPI_Datatype types[] = {MPI_INT,      MPI_LONG,   MPI_UNSIGNED_CHAR, MPI_UINT16_T,
                                  MPI_UINT64_T, MPI_DOUBLE, MPI_FLOAT};
    const MPI_Op ops[] = {MPI_SUM,  MPI_PROD, MPI_MAX,  MPI_MIN, MPI_BAND,
                          MPI_BXOR, MPI_BOR,  MPI_LAND, MPI_LOR, MPI_LXOR};
    const struct place *p = &places[draw_below(d, COMMS)];
    int type = draw_below(d, 7), op = draw_below(d, type < 5 ? 10 : 4), n = draw_below(d, NUMBERS);
    int what = draw_below(d, 4), in_place = draw_below(d, 2) && (what != 1 || REDUCES_IN_PLACE),
        root = draw_below(d, 64) % p->size;
    union {
        double d[NUMBERS];
        float f[NUMBERS];
        unsigned char byte[NUMBERS * sizeof(double)];
    } in = {{0}}, out = {{0}};
    int size, top = op == 1 ? 2 : 8;

    (void)number;
    MPI_Type_size(types[type], &size);
    for (int i = 0; i < n; i++) {
        int value = draw_below(own, top);

        if (type == 5)
            in.d[i] = value;
        else if (type == 6)
            in.f[i] = (float)value;
        else
            in.byte[i * size] = (unsigned char)value; /* of the lowest worth here */
    }
    const void *from = in_place && (what != 1 || p->rank == root) ? MPI_IN_PLACE : &in;
    out = in;
    if (what == 0)
        MPI_Allreduce(from, &out, n, types[type], ops[op], p->comm);
    else if (what == 1)
        MPI_Reduce(from, &out, n, types[type], ops[op], root, p->comm);
    else if (what == 2)
        MPI_Scan(from, &out, n, types[type], ops[op], p->comm);
    else
        MPI_Bcast(&out, n, types[type], root, p->comm);
    if (what != 1 || p->rank == root)
        note(&out, (size_t)n * (size_t)size);
}

/* A ring of the communicator's ranks, its neighbours' numbers, and the end of it. */
static void step_neighbors(int number, struct draw *d, struct draw *own)
{
    const struct place *p = &places[draw_below(d, COMMS)];
    int n = 1 + draw_below(d, 99), cyclic = 1, got[200];
    int all = draw_below(d, 2);
    MPI_Comm ring;

    (void)own;
    MPI_Cart_create(p->comm, 1, &p->size, &cyclic, 0, &ring);
    int *sent = numbers(200);
    memset(got, 0, sizeof got);
    for (int i = 0; i < 200; i++)
        sent[i] = message_value(number, p->rank, i);
    if (all)
        MPI_Neighbor_alltoall(sent, n, MPI_INT, got, n, MPI_INT, ring);
    else
        MPI_Neighbor_allgather(sent, n, MPI_INT, got, n, MPI_INT, ring);
    note(got, sizeof got);
    free(sent);
    MPI_Comm_free(&ring);
}

static void step_barrier(int number, struct draw *d, struct draw *own)
{
    (void)number, (void)own;
    MPI_Barrier(places[draw_below(d, COMMS)].comm);
}

static void (*const steps[])(int number, struct draw *d, struct draw *own) = {
    step_blocking, step_blocking, step_blocking,  step_start,  step_start,
    step_start,    step_message,  step_complete,  step_window, step_communicator,
    step_numbers,  step_numbers,  step_neighbors, step_barrier};

/* Is the number in a list of numbers and ranges? Without a list, yes. */
static int is_kept(const char *list, int number)
{
    while (list && *list) {
        char *end;
        long first = strtol(list, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;

        if (number >= first && number <= last)
            return 1;
        list = *end ? end + 1 : end;
    }
    return !list;
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[2]) : 60, code;
    struct draw d, own;
    uint64_t all = 0;

    MPI_Init(&argc, &argv);
    test_began("wild", argc, argv);
    if (world_size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm_split(MPI_COMM_WORLD, i < 3 ? 0 : world_rank % (i - 1), i == 1 ? -world_rank : 0,
                       &places[i].comm);
        place_measure(&places[i]);
    }
    for (int i = 0; i < count; i++) {
        d = draw_from(3, (uint64_t)i);
        own = draw_from(5 + (uint64_t)world_rank, (uint64_t)i);
        if (is_kept(argc > 3 ? argv[3] : NULL, i))
            steps[draw_below(&d, sizeof steps / sizeof *steps)](i, &d, &own);
    }
    complete_all(&d, &own);
    window_close();
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&places[i].comm);
    MPI_Reduce(&digest, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!world_rank)
        printf("wild: digest %016llx\n", (unsigned long long)all);
    code = test_ended();
    MPI_Finalize();
    return code;
}
