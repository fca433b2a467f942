/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mixture-of-experts step, the application of the NIMBLE paper: each rank owns some tokens and
 * holds one expert. A gate gives every token an expert, by chance and with a favourite; tokens are
 * sent to their experts (dispatch), go through a feed-forward network of two layers there
 * (compute), and the results are sent back (combine). Both exchanges are MPI_Alltoallv. It knows
 * nothing of collshim.
 *
 * Right results are known in two ways. Element 0 of a token is its number, and the network leaves
 * it as it is, so every token that comes back is recognised. For some tokens each owner computes
 * the network itself, to the same bits, because the order of operations is the same on all ranks.
 *
 * moe TOKENS HOT STEPS [WARM_UP]: prints "step checksum" for each step; with WARM_UP also the
 * medians of the phases over the steps after these, as JSON. HOT: the favourite's share, 0 to 1.
 * Exit status 1 if a result was wrong.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 128, HIDDEN = 4 * WIDTH, AT_ONCE = 8, SAMPLES = 8, FAVOURITE = 0 };
enum phase { DISPATCH, COMPUTE, COMBINE, PHASES };

typedef float token[WIDTH];

struct expert {
    float in[HIDDEN][WIDTH], out[WIDTH][HIDDEN];
};

struct job {
    int rank, size;
    long tokens; /* of this rank; the first is number `first` */
    long first;
    double hot;
    struct expert *own, *other;
    int *choice;       /* [tokens] expert of each */
    long *order;       /* [tokens] as they lie in `sent`: by expert */
    token *sent, *got; /* of this rank: sent out, and come back */
    token *work;       /* for this rank's expert */
    long room;         /* tokens in work */
    int *count[2], *displ[2];
    MPI_Datatype type; /* a token */
    double *time[PHASES];
    int wrong;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* 0 .. 1, another one for every a and b. */
static double chance(uint64_t a, uint64_t b)
{
    return (double)(mix(mix(a + 1) + b) >> 40) / (double)(1 << 24);
}

static void *get(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p) {
        fprintf(stderr, "moe: out of memory; fewer tokens would do\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return p;
}

static void make_expert(struct expert *e, int number)
{
    uint64_t stream = (uint64_t)number << 32;

    for (int h = 0; h < HIDDEN; h++)
        for (int i = 0; i < WIDTH; i++) {
            uint64_t at = stream + (uint64_t)(h * WIDTH + i);

            /* The number, element 0, goes neither in nor out. */
            e->in[h][i] = i ? (float)(chance(1, at) - 0.5) / WIDTH : 0;
            e->out[i][h] = i ? (float)(chance(2, at) - 0.5) / HIDDEN : 0;
        }
}

static void make_token(float *t, long number, int step)
{
    t[0] = (float)number;
    for (int i = 1; i < WIDTH; i++)
        t[i] = (float)chance((uint64_t)number << 20 | (uint64_t)step, (uint64_t)i);
}

/* Some tokens at once, each on its own: x + out * relu(in * x). */
static void network(const struct expert *e, token *tokens, long n)
{
    float x[WIDTH][AT_ONCE] = {{0}}, hidden[HIDDEN][AT_ONCE];

    for (int i = 0; i < WIDTH; i++)
        for (long at = 0; at < n; at++)
            x[i][at] = tokens[at][i];
    for (int h = 0; h < HIDDEN; h++) {
        float sum[AT_ONCE] = {0};

        for (int i = 0; i < WIDTH; i++)
            for (int at = 0; at < AT_ONCE; at++)
                sum[at] += e->in[h][i] * x[i][at];
        for (int at = 0; at < AT_ONCE; at++)
            hidden[h][at] = sum[at] > 0 ? sum[at] : 0;
    }
    for (int i = 0; i < WIDTH; i++) {
        float sum[AT_ONCE];

        for (int at = 0; at < AT_ONCE; at++)
            sum[at] = x[i][at];
        for (int h = 0; h < HIDDEN; h++)
            for (int at = 0; at < AT_ONCE; at++)
                sum[at] += e->out[i][h] * hidden[h][at];
        for (long at = 0; at < n; at++)
            tokens[at][i] = sum[at];
    }
}

static void networks(const struct expert *e, token *tokens, long n)
{
    for (long i = 0; i < n; i += AT_ONCE)
        network(e, tokens + i, n - i < AT_ONCE ? n - i : AT_ONCE);
}

/* Which expert each token goes to; tokens in the order of their experts. */
static void route(struct job *j, int step)
{
    memset(j->count[0], 0, sizeof(int) * (size_t)j->size);
    for (long i = 0; i < j->tokens; i++) {
        uint64_t number = (uint64_t)(j->first + i), at = 2 * (uint64_t)step;
        int favourite = j->size == 1 || chance(number, at) < j->hot;
        int any = (int)(chance(number, at + 1) * (j->size - 1));

        j->choice[i] = favourite ? FAVOURITE : (FAVOURITE + 1 + any) % j->size;
        j->count[0][j->choice[i]]++;
    }
    for (int r = 0, at = 0; r < j->size; at += j->count[0][r++])
        j->displ[0][r] = at;
    for (long i = 0; i < j->tokens; i++) {
        int *at = &j->displ[0][j->choice[i]];

        j->order[*at] = i;
        make_token(j->sent[(*at)++], j->first + i, step);
    }
    for (int r = 0; r < j->size; r++)
        j->displ[0][r] -= j->count[0][r];
}

/* Returns how many tokens there are for this rank's expert. */
static long dispatch(struct job *j)
{
    long n = 0;

    MPI_Alltoall(j->count[0], 1, MPI_INT, j->count[1], 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < j->size; r++) {
        j->displ[1][r] = (int)n;
        n += j->count[1][r];
    }
    if (n > j->room) {
        free(j->work);
        j->room = n + n / 4;
        j->work = get((size_t)j->room, sizeof(token));
    }
    MPI_Alltoallv(j->sent, j->count[0], j->displ[0], j->type, j->work, j->count[1], j->displ[1],
                  j->type, MPI_COMM_WORLD);
    return n;
}

static void combine(struct job *j)
{
    MPI_Alltoallv(j->work, j->count[1], j->displ[1], j->type, j->got, j->count[0], j->displ[0],
                  j->type, MPI_COMM_WORLD);
}

static void complain(struct job *j, const char *what, long number)
{
    if (!j->wrong++)
        fprintf(stderr, "moe: rank %d: token %ld %s\n", j->rank, number, what);
}

/* Some of the tokens that went to this expert. */
static void check_expert(struct job *j, int expert, int step)
{
    long n = j->count[0][expert], stride = n / SAMPLES + 1;
    token own[1];

    make_expert(j->other, expert);
    for (long i = step % stride; i < n; i += stride) {
        long at = j->displ[0][expert] + i;

        make_token(own[0], j->first + j->order[at], step);
        networks(j->other, own, 1);
        if (memcmp(own[0], j->got[at], sizeof(token)))
            complain(j, "has another result than its owner computes", j->first + j->order[at]);
    }
}

static uint64_t check(struct job *j, int step)
{
    uint64_t mine = 0, all = 0;

    for (long at = 0; at < j->tokens; at++) {
        long number = j->first + j->order[at];

        if (j->got[at][0] != (float)number)
            complain(j, "comes back as another", number);
        for (int i = 0; i < WIDTH; i++) {
            uint32_t bits;

            memcpy(&bits, &j->got[at][i], sizeof bits);
            mine += mix((uint64_t)number * WIDTH + (uint64_t)i + 1) * bits;
        }
    }
    check_expert(j, FAVOURITE, step);
    check_expert(j, (j->rank + step) % j->size, step);
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return all;
}

/* Phases end for all at once: a rank's waiting time belongs to the phase. A waiting rank sleeps,
   because ranks may share a core with those that still compute. */
static double mark(double since, double *phase)
{
    MPI_Request request;
    int all = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (MPI_Test(&request, &all, MPI_STATUS_IGNORE) == MPI_SUCCESS && !all)
        usleep(100);
    double now = MPI_Wtime();

    if (phase)
        *phase = now - since;
    return now;
}

static void run_step(struct job *j, int step)
{
    route(j, step);
    double at = mark(0, NULL);
    long n = dispatch(j);
    at = mark(at, &j->time[DISPATCH][step]);
    networks(j->own, j->work, n);
    at = mark(at, &j->time[COMPUTE][step]);
    combine(j);
    mark(at, &j->time[COMBINE][step]);
    uint64_t sum = check(j, step);
    if (!j->rank)
        printf("%d %016llx\n", step, (unsigned long long)sum);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void print_times(struct job *j, long tokens, int steps, int warm_up)
{
    static const char *const names[PHASES] = {"dispatch_ms", "compute_ms", "combine_ms"};
    double all = 0;

    printf("{\"tokens\": %ld, \"hot\": %g, \"ranks\": %d, \"token_bytes\": %zu", tokens, j->hot,
           j->size, sizeof(token));
    for (int p = 0; p < PHASES; p++) {
        qsort(j->time[p] + warm_up, (size_t)(steps - warm_up), sizeof(double), ascending);
        double median = j->time[p][warm_up + (steps - warm_up) / 2];

        all += median;
        printf(", \"%s\": %.3f", names[p], median * 1e3);
    }
    printf(", \"step_ms\": %.3f}\n", all * 1e3);
}

static void open_job(struct job *j, long tokens, int steps)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &j->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &j->size);
    j->first = tokens * j->rank / j->size;
    j->tokens = tokens * (j->rank + 1) / j->size - j->first;
    j->own = get(1, sizeof *j->own);
    j->other = get(1, sizeof *j->other);
    j->choice = get((size_t)j->tokens, sizeof *j->choice);
    j->order = get((size_t)j->tokens, sizeof *j->order);
    j->sent = get((size_t)j->tokens, sizeof(token));
    j->got = get((size_t)j->tokens, sizeof(token));
    j->work = get(1, sizeof(token));
    for (int i = 0; i < 2; i++) {
        j->count[i] = get((size_t)j->size, sizeof(int));
        j->displ[i] = get((size_t)j->size, sizeof(int));
    }
    for (int p = 0; p < PHASES; p++)
        j->time[p] = get((size_t)steps, sizeof(double));
    make_expert(j->own, j->rank);
    MPI_Type_contiguous(WIDTH, MPI_FLOAT, &j->type);
    MPI_Type_commit(&j->type);
}

static void close_job(struct job *j)
{
    MPI_Type_free(&j->type);
    for (int p = 0; p < PHASES; p++)
        free(j->time[p]);
    for (int i = 0; i < 2; i++) {
        free(j->count[i]);
        free(j->displ[i]);
    }
    free(j->work);
    free(j->got);
    free(j->sent);
    free(j->order);
    free(j->choice);
    free(j->other);
    free(j->own);
}

int main(int argc, char **argv)
{
    long tokens = argc > 3 ? atol(argv[1]) : 0;
    int steps = argc > 3 ? atoi(argv[3]) : 0, warm_up = argc > 4 ? atoi(argv[4]) : -1, wrong;
    struct job j = {.hot = argc > 3 ? atof(argv[2]) : -1};

    MPI_Init(&argc, &argv);
    if (tokens < 1 || tokens >= 1 << 24 || steps < 1 || warm_up >= steps || !(j.hot >= 0) ||
        j.hot > 1) {
        fprintf(stderr,
                "usage: moe TOKENS HOT STEPS [WARM_UP]: fewer than 2^24 tokens, HOT of 0 to "
                "1, fewer steps of WARM_UP than STEPS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    open_job(&j, tokens, steps);
    for (int step = 0; step < steps; step++)
        run_step(&j, step);
    if (!j.rank && warm_up >= 0)
        print_times(&j, tokens, steps, warm_up);
    MPI_Allreduce(&j.wrong, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    close_job(&j);
    MPI_Finalize();
    return wrong > 0;
}
