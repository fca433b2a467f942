/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collshim-never: a random job that a seed and a number make again. It draws communicators, a few
 * collectives with types and sizes, how many calls, and the work between them. All ranks draw the
 * same. Each prints when it began and ended, the time it was in MPI, and a digest of all results.
 *
 * The job asks nothing of a preload, so `run` starts it with one and without, and compares.
 * Operands are such that any order of a reduction gives the same bits.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_SITES = 4, CLASSES = 5, PLACES = 3, MOST_MADE = 100, LEAST_BYTES = 64 };
/* Bytes of a vector, or of all blocks together. */
static const double LEAST = 8, MOST = 4 << 20;
/* The share of jobs, in percent, with calls that follow each other at once. */
enum { AT_ONCE = 50 };

enum what {
    ALLGATHER,
    ALLGATHERV,
    ALLREDUCE,
    ALLTOALL,
    ALLTOALLV,
    BARRIER,
    BCAST,
    EXSCAN,
    GATHER,
    GATHERV,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    SCATTER,
    SCATTERV,
    COLLECTIVES
};

/* A rank gives a vector, its block, or a block for each rank. */
enum given { VECTOR, BLOCK, BLOCKS };

/* weight: how often it is drawn, of the sum of all; programs call some far more than others.
   factor: of the time that its bytes take on one rail, about. */
static const struct row {
    const char *name;
    int weight;
    enum given given;
    double factor;
} rows[COLLECTIVES] = {
    [ALLGATHER] = {"allgather", 3, BLOCK, 1},
    [ALLGATHERV] = {"allgatherv", 2, BLOCK, 2},
    [ALLREDUCE] = {"allreduce", 8, VECTOR, 1},
    [ALLTOALL] = {"alltoall", 4, BLOCKS, 1},
    [ALLTOALLV] = {"alltoallv", 3, BLOCKS, 2},
    [BARRIER] = {"barrier", 1, VECTOR, 0},
    [BCAST] = {"bcast", 5, VECTOR, 1},
    [EXSCAN] = {"exscan", 1, VECTOR, 3},
    [GATHER] = {"gather", 2, BLOCK, 1},
    [GATHERV] = {"gatherv", 1, BLOCK, 1},
    [REDUCE] = {"reduce", 3, VECTOR, 1},
    [REDUCE_SCATTER] = {"reduce_scatter", 1, BLOCKS, 1},
    [REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", 2, BLOCKS, 1},
    [SCAN] = {"scan", 1, VECTOR, 3},
    [SCATTER] = {"scatter", 2, BLOCKS, 1},
    [SCATTERV] = {"scatterv", 1, BLOCKS, 1},
};

enum form { BYTES, INTS, LONGS, FLOATS, DOUBLES, SIGNS, PAIRS };

struct kind {
    const char *name;
    MPI_Datatype type;
    MPI_Op op;
    size_t size;
    enum form form;
};

enum scheme { WORLD, COPY, HALVES, EVEN_AND_ODD, MIXED, MADE, SCHEMES };

static const char *const scheme_names[SCHEMES] = {
    "the world",     "a copy", "halves", "even and odd ranks", "world, copy and halves",
    "made and freed"};

struct site {
    enum what what;
    const struct kind *kind;
    int where; /* in MIXED: which communicator */
    int root, in_place;
    size_t bytes;
};

struct plan {
    enum scheme scheme;
    int calls, each; /* each: of the calls, on a communicator that is made and freed */
    int n_sites;
    struct site sites[MOST_SITES];
    int fresh_sizes;  /* no size comes twice */
    int work, uneven; /* steps of arithmetic between calls; some ranks have none, others double */
};

/* The command line, and this rank. */
static struct {
    uint64_t seed, job;
    int fabric, corrupt;
    double limit_s, delay_us;
    int rank, ranks;
} self = {.seed = 1, .limit_s = 2};

/* Results: this rank's digest, and its time in MPI. */
static uint64_t digest;
static double in_mpi;

static uint64_t mix(uint64_t x) /* splitmix64 (Steele, Lea, Flood 2014) */
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t drawn;

static int draw(int n)
{
    return (int)(mix(++drawn) % (uint64_t)n);
}

/* From least to most, its logarithm uniform. */
static double draw_log(double least, double most)
{
    double part = (double)(mix(++drawn) >> 11) / 9007199254740992.0;

    return least * pow(most / least, part);
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static enum what draw_collective(void)
{
    int sum = 0, at, what = 0;

    for (int i = 0; i < COLLECTIVES; i++)
        sum += rows[i].weight;
    for (at = draw(sum); at >= rows[what].weight; what++)
        at -= rows[what].weight;
    return (enum what)what;
}

/* About what the library takes for the calls of a site: a rail of 100 Mbit/s, or memory. */
static double seconds_of(const struct plan *p, const struct site *s)
{
    double calls = (double)p->calls / p->n_sites;
    double bytes_per_s = self.fabric ? 12.5e6 : 1e9 / self.ranks;

    return calls * rows[s->what].factor * (double)s->bytes / bytes_per_s;
}

/* Halves the size that takes longest until all calls are within the limit. */
static void shrink(struct plan *p)
{
    for (;;) {
        double sum = 0, most = 0;
        struct site *longest = NULL;

        for (int i = 0; i < p->n_sites; i++) {
            struct site *s = &p->sites[i];
            double seconds = seconds_of(p, s);

            sum += seconds;
            if (s->bytes > LEAST_BYTES && seconds > most) {
                most = seconds;
                longest = s;
            }
        }
        if (sum <= self.limit_s || !longest)
            return;
        longest->bytes /= 2;
    }
}

static void draw_plan(struct plan *p, const struct kind *kinds, int n_kinds)
{
    static const int least[CLASSES] = {1, 2, 10, 100, 1000}, most[CLASSES] = {1, 9, 99, 999, 2000};
    /* `run` deals out places in turn, so each has jobs of each class. */
    int class = (int)(self.job / PLACES % CLASSES);

    drawn = mix(self.seed) ^ mix(~self.job);
    p->calls = (int)draw_log(least[class], most[class] + .99);
    p->scheme = (enum scheme)draw(SCHEMES);
    p->n_sites = 1 + draw(p->calls < MOST_SITES ? p->calls : MOST_SITES);
    p->each = p->n_sites * (1 + draw(3));
    if (p->calls / p->each > MOST_MADE) /* making one takes as long as some calls */
        p->each = p->calls / MOST_MADE;
    p->fresh_sizes = draw(5) == 0;
    for (int i = 0; i < p->n_sites; i++) {
        struct site *s = &p->sites[i];

        s->what = draw_collective();
        s->kind = &kinds[draw(n_kinds)];
        s->where = draw(3);
        s->root = draw(1 << 20);
        s->in_place = draw(4) == 0 && (s->what == ALLREDUCE || s->what == ALLGATHER);
        s->bytes = (size_t)draw_log(LEAST, MOST);
    }
    shrink(p);
    if (draw(100) >= AT_ONCE) {
        double ns = 1e9 * self.limit_s / 4 / p->calls / (self.ranks > 2 ? self.ranks / 2. : 1);

        p->work = (int)draw_log(1000, ns < 1e6 ? (ns > 2000 ? ns : 2000) : 1e6);
        p->uneven = draw(3) == 0;
    }
}

static void describe(const struct plan *p)
{
    printf("never-job %d calls on %s", p->calls, scheme_names[p->scheme]);
    if (p->scheme == MADE)
        printf(" for %d", p->each);
    if (p->fresh_sizes)
        printf(", no size twice");
    if (p->work)
        printf(", %d ns of work%s between", p->work, p->uneven ? ", uneven," : "");
    for (int i = 0; i < p->n_sites; i++) {
        const struct site *s = &p->sites[i];

        printf("%s %s", i ? "," : ":", rows[s->what].name);
        if (s->what != BARRIER)
            printf(" %zu %s%s", s->bytes, s->kind->name, s->in_place ? " in place" : "");
    }
    puts("");
    fflush(stdout);
}

/* Operands of which any order gives the same sum, product, maximum or bits. */
static void fill(char *at, size_t n, const struct kind *kind, uint64_t key)
{
    uint64_t x = mix(key);

    for (size_t i = 0; i < n; i++) {
        uint64_t v;

        x = x * 6364136223846793005u + 1442695040888963407u;
        v = x >> 40;
        switch (kind->form) {
        case BYTES:
            at[i] = (char)v;
            break;
        case INTS:
            ((int *)(void *)at)[i] = (int)v;
            break;
        case LONGS:
            ((long *)(void *)at)[i] = (long)x;
            break;
        case FLOATS:
            ((float *)(void *)at)[i] = (float)(v & 255);
            break;
        case DOUBLES:
            ((double *)(void *)at)[i] = (double)(v & 65535);
            break;
        case SIGNS:
            ((double *)(void *)at)[i] = v & 1 ? 1 : -1;
            break;
        case PAIRS:
            ((int *)(void *)at)[2 * i] = (int)(v & 1023);
            ((int *)(void *)at)[2 * i + 1] = self.rank;
            break;
        }
    }
}

static uint64_t digest_of(const char *at, size_t bytes)
{
    uint64_t h = bytes, word = 0;

    for (; bytes >= sizeof(word); at += sizeof(word), bytes -= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        h = (h ^ word) * 0x9fb21c651e98df25u;
        h ^= h >> 29;
    }
    for (; bytes; at++, bytes--)
        h = (h ^ (unsigned char)*at) * 0x9fb21c651e98df25u;
    return h;
}

static void work(const struct plan *p)
{
    static volatile double sink;
    int steps = p->uneven ? p->work * (self.rank % 3) : p->work;
    double x = sink;

    for (int i = 0; i < steps / 4; i++) /* four clock cycles' latency each, and some ns */
        x = x * .999 + 1e-3;
    sink = x;
}

/* Counts and places of a call's blocks. */
struct blocks {
    int *send, *send_at, *receive, *receive_at;
    int sent, received; /* in all */
};

static int place_blocks(const int *counts, int *at, int n)
{
    int sum = 0;

    for (int i = 0; i < n; i++) {
        at[i] = sum;
        sum += counts[i];
    }
    return sum;
}

/* Blocks of none, half and all of n elements. */
static void uneven_blocks(struct blocks *b, const struct site *s, int me, int ranks, int n)
{
    for (int i = 0; i < ranks; i++) {
        b->send[i] = n * ((s->what == ALLTOALLV ? i + me : i) % 3) / 2;
        b->receive[i] = b->send[i];
    }
    b->sent = place_blocks(b->send, b->send_at, ranks);
    b->received = place_blocks(b->receive, b->receive_at, ranks);
}

/* The elements of a call: of the vector, or of a block. */
static int count_of(const struct plan *p, const struct site *s, int ranks, int call)
{
    size_t parts = rows[s->what].given == VECTOR ? 1 : (size_t)ranks;
    size_t n = s->bytes / s->kind->size / parts;

    return (int)(n ? n : 1) + (p->fresh_sizes ? call : 0);
}

/* One call, timed. Returns how many elements of out it has given this rank. */
static int call_once(const struct site *s, int n, char *in, char *out, struct blocks *b,
                     MPI_Comm comm, uint64_t key)
{
    const struct kind *k = s->kind;
    MPI_Datatype t = k->type;
    int me, ranks, root, got = n;
    double start;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    root = s->root % ranks;
    uneven_blocks(b, s, me, ranks, n);
    fill(in, (size_t)n * (size_t)(rows[s->what].given == BLOCKS ? ranks : 1), k,
         key + (uint64_t)self.rank);
    if (s->in_place)
        memcpy(out + (s->what == ALLGATHER ? (size_t)me * (size_t)n * k->size : 0), in,
               (size_t)n * k->size);
    start = now_us();
    switch (s->what) {
    case ALLGATHER:
        MPI_Allgather(s->in_place ? MPI_IN_PLACE : in, n, t, out, n, t, comm);
        got = n * ranks;
        break;
    case ALLGATHERV:
        MPI_Allgatherv(in, b->send[me], t, out, b->receive, b->receive_at, t, comm);
        got = b->received;
        break;
    case ALLREDUCE:
        MPI_Allreduce(s->in_place ? MPI_IN_PLACE : in, out, n, t, k->op, comm);
        break;
    case ALLTOALL:
        MPI_Alltoall(in, n, t, out, n, t, comm);
        got = n * ranks;
        break;
    case ALLTOALLV:
        MPI_Alltoallv(in, b->send, b->send_at, t, out, b->receive, b->receive_at, t, comm);
        got = b->received;
        break;
    case BCAST:
        MPI_Bcast(me == root ? in : out, n, t, root, comm);
        got = me == root ? 0 : n;
        break;
    case EXSCAN:
        MPI_Exscan(in, out, n, t, k->op, comm);
        got = me ? n : 0;
        break;
    case GATHER:
        MPI_Gather(in, n, t, out, n, t, root, comm);
        got = me == root ? n * ranks : 0;
        break;
    case GATHERV:
        MPI_Gatherv(in, b->send[me], t, out, b->receive, b->receive_at, t, root, comm);
        got = me == root ? b->received : 0;
        break;
    case REDUCE:
        MPI_Reduce(in, out, n, t, k->op, root, comm);
        got = me == root ? n : 0;
        break;
    case REDUCE_SCATTER:
        MPI_Reduce_scatter(in, out, b->receive, t, k->op, comm);
        got = b->receive[me];
        break;
    case REDUCE_SCATTER_BLOCK:
        MPI_Reduce_scatter_block(in, out, n, t, k->op, comm);
        break;
    case SCAN:
        MPI_Scan(in, out, n, t, k->op, comm);
        break;
    case SCATTER:
        MPI_Scatter(in, n, t, out, n, t, root, comm);
        break;
    case SCATTERV:
        MPI_Scatterv(in, b->send, b->send_at, t, out, b->receive[me], t, root, comm);
        got = b->receive[me];
        break;
    default:
        MPI_Barrier(comm);
        got = 0;
    }
    while (self.delay_us > 0 && now_us() < start + self.delay_us)
        ;
    in_mpi += now_us() - start;
    return got;
}

/* A communicator of the scheme's; which: of those that take turns. */
static MPI_Comm make(enum scheme scheme, int which)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    double start = now_us();

    if (scheme == MIXED)
        scheme = which == 0 ? WORLD : which == 1 ? COPY : HALVES;
    if (scheme == MADE)
        scheme = which % 3 == 2 ? HALVES : COPY;
    if (scheme == COPY)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else if (scheme == HALVES)
        MPI_Comm_split(MPI_COMM_WORLD, 2 * self.rank / self.ranks, self.rank, &comm);
    else if (scheme == EVEN_AND_ODD)
        MPI_Comm_split(MPI_COMM_WORLD, self.rank % 2, self.rank, &comm);
    in_mpi += now_us() - start;
    return comm;
}

static void release(MPI_Comm *comm)
{
    double start = now_us();

    if (*comm != MPI_COMM_WORLD)
        MPI_Comm_free(comm);
    in_mpi += now_us() - start;
}

static void run(const struct plan *p, char *in, char *out, struct blocks *b)
{
    int n_comms = p->scheme == MIXED ? 3 : 1;
    MPI_Comm comms[3];

    for (int i = 0; i < n_comms; i++)
        comms[i] = make(p->scheme, i);
    for (int call = 0; call < p->calls; call++) {
        const struct site *s = &p->sites[call % p->n_sites];
        MPI_Comm comm = comms[s->where % n_comms];
        uint64_t key = mix(self.seed ^ mix(self.job)) + ((uint64_t)call << 20);
        int ranks, n;

        MPI_Comm_size(comm, &ranks);
        n = call_once(s, count_of(p, s, ranks, call), in, out, b, comm, key);
        if (self.corrupt)
            out[0] ^= 0x10;
        digest = mix(digest + digest_of(out, (size_t)n * s->kind->size));
        work(p);
        if (p->scheme == MADE && (call + 1) % p->each == 0 && call + 1 < p->calls) {
            release(&comms[0]);
            comms[0] = make(p->scheme, (call + 1) / p->each);
        }
    }
    for (int i = 0; i < n_comms; i++)
        release(&comms[i]);
}

static int parse(int argc, char **argv)
{
    static const struct option table[] = {{"seed", 1, NULL, 's'},  {"job", 1, NULL, 'j'},
                                          {"place", 1, NULL, 'p'}, {"limit", 1, NULL, 'l'},
                                          {"delay", 1, NULL, 'd'}, {"corrupt", 0, NULL, 'c'},
                                          {"help", 0, NULL, 'h'},  {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
        switch (c) {
        case 's':
            self.seed = strtoull(optarg, NULL, 10);
            break;
        case 'j':
            self.job = strtoull(optarg, NULL, 10);
            break;
        case 'p':
            self.fabric = strcmp(optarg, "one") != 0;
            break;
        case 'l':
            self.limit_s = strtod(optarg, NULL);
            break;
        case 'd':
            self.delay_us = strtod(optarg, NULL);
            break;
        case 'c':
            self.corrupt = 1;
            break;
        default:
            fprintf(stderr,
                    "collshim-never --seed N --job N --place one|affine|striped [--limit SECONDS]\n"
                    "               [--delay US] [--corrupt]\n"
                    "A job of bench/never/run. --limit: of its calls, about (default: 2). --delay: "
                    "of each call, and\n"
                    "--corrupt, a wrong byte in each result: must be found.\n");
            return c == 'h' ? 0 : 2;
        }
    }
    return -1;
}

int main(int argc, char **argv)
{
    int status = parse(argc, argv);
    double begin = now_us(), end;

    if (status >= 0)
        return status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self.ranks);

    const struct kind kinds[] = {
        {"bytes, or", MPI_UNSIGNED_CHAR, MPI_BOR, 1, BYTES},
        {"int, max", MPI_INT, MPI_MAX, sizeof(int), INTS},
        {"int, sum", MPI_INT, MPI_SUM, sizeof(int), INTS},
        {"long, xor", MPI_LONG, MPI_BXOR, sizeof(long), LONGS},
        {"float, sum", MPI_FLOAT, MPI_SUM, sizeof(float), FLOATS},
        {"double, sum", MPI_DOUBLE, MPI_SUM, sizeof(double), DOUBLES},
        {"double, min", MPI_DOUBLE, MPI_MIN, sizeof(double), DOUBLES},
        {"double, product", MPI_DOUBLE, MPI_PROD, sizeof(double), SIGNS},
        {"pair, maxloc", MPI_2INT, MPI_MAXLOC, 2 * sizeof(int), PAIRS},
    };
    struct plan plan = {0};
    size_t most = 0, ranks = (size_t)self.ranks;
    int *numbers = calloc(4 * ranks, sizeof(*numbers));
    struct blocks b = {numbers, numbers + ranks, numbers + 2 * ranks, numbers + 3 * ranks, 0, 0};
    char *in, *out;

    draw_plan(&plan, kinds, (int)(sizeof(kinds) / sizeof(*kinds)));
    for (int i = 0; i < plan.n_sites; i++)
        most = plan.sites[i].bytes > most ? plan.sites[i].bytes : most;
    /* At least an element in each block, and one more with each call whose size is fresh. */
    most += ranks * sizeof(double) * (size_t)(1 + (plan.fresh_sizes ? plan.calls : 0));
    in = calloc(most, 1);
    out = calloc(most, 1);
    if (!numbers || !in || !out) {
        fprintf(stderr, "collshim-never: no memory for %zu bytes\n", 2 * most);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (self.rank == 0)
        describe(&plan);
    MPI_Barrier(MPI_COMM_WORLD); /* ranks leave MPI_Init at different times */
    run(&plan, in, out, &b);
    MPI_Finalize();
    end = now_us();
    printf("never %d %.0f %.0f %.1f %016llx %d\n", self.rank, begin, end, in_mpi,
           (unsigned long long)digest, self.ranks);
    return 0;
}
