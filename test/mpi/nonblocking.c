/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking collectives: nonblocking [SEED [ROUNDS]]
 *
 * A round starts several calls on several communicators, all of random functions, sizes, types and
 * places. It makes blocking calls and messages beside them. It completes all in one of MPI's forms,
 * each rank in an order of its own. Types are freed once the call has started, and counts and
 * displacements are overwritten where the library has read them. Expected values are the test's
 * own, and what lies between elements must stay.
 */
#include "test/mpi/completion.h"
#include "test/mpi/large_counts.h"
#include "test/mpi/random_call.h"

enum { MOST = 300, AT_ONCE = 9, COMMS = 4 };

static struct place places[COMMS];
static long expected_started;

#define FUNCTION static void start(struct call *c, MPI_Request *request)
#define CALL(Name, name, ...) MPI_I##name(__VA_ARGS__, request)
#define COUNT int
#define BLOCKS narrow
#include "test/mpi/make_call.h"

/* By the names of MPI 4.0. */
#define FUNCTION static void start_wide(struct call *c, MPI_Request *request)
#define CALL(Name, name, ...) MPI_I##name##_c(__VA_ARGS__, request)
#define COUNT MPI_Count
#define BLOCKS wide
#include "test/mpi/make_call.h"

/* Is it rerouted where all calls are that can be? */
static int is_rerouted(const struct call *c)
{
    const char *mode = getenv("COLLSHIM_MODE");
    int compared = mode && !strcmp(mode, "verify");

    return c->n && c->at->size > 1 && !(kinds[c->what].asks && compared);
}

/* A ring of messages and a blocking collective, while the others are under way. */
static void meanwhile(struct draw *d, int number)
{
    const struct place *p = &places[draw_below(d, COMMS)];
    int right = (p->rank + 1) % p->size, left = (p->rank + p->size - 1) % p->size, got = -1;
    int mine = p->rank + number, sum = 0;

    MPI_Sendrecv(&mine, 1, MPI_INT, right, 3, &got, 1, MPI_INT, left, 3, p->comm,
                 MPI_STATUS_IGNORE);
    if (got != left + number)
        fail("a message beside nonblocking calls holds %d, expected %d", got, left + number);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, p->comm);
    if (sum != p->size * number + p->size * (p->size - 1) / 2)
        fail("a blocking sum beside nonblocking calls is %d", sum);
}

static void one_round(int number)
{
    struct draw d = draw_from(7, (uint64_t)number); /* equal on all ranks */
    struct draw own = draw_from(11 + (uint64_t)world_rank, (uint64_t)number);
    int n = 1 + draw_below(&d, AT_ONCE), form = draw_below(&d, FORMS);
    struct call *call = calloc((size_t)n, sizeof *call), *lent = calloc((size_t)n, sizeof *lent);
    MPI_Request request[AT_ONCE];
    char how[64];

    if (!call || !lent)
        abort();
    snprintf(how, sizeof how, "nonblocking, completed by %s", forms[form]);
    for (int i = 0; i < n; i++) {
        call_draw(&call[i], places, COMMS, draw_below(&d, 12) ? MOST : MOST_LARGE, &d);
        call[i].key = (uint64_t)draw_below(&d, 1 << 30) << 24;
        call_fill(&call[i]);
        lent[i] = call[i];
        if (!draw_below(&d, 3) && large_counts())
            start_wide(&lent[i], &request[i]);
        else
            start(&lent[i], &request[i]);
        call_spoil_blocks(&lent[i]);
        call_free_types(&call[i]);
        expected_started += is_rerouted(&call[i]);
        if (!draw_below(&d, 6))
            meanwhile(&d, number);
    }
    complete(request, n, n, form, &own);
    for (int i = 0; i < n; i++) {
        if (request[i] != MPI_REQUEST_NULL)
            fail("%s leaves a request", forms[form]);
        call_check(&call[i], how);
        call_free(&call[i]);
    }
    free(lent);
    free(call);
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 100, code;
    long all;

    MPI_Init(&argc, &argv);
    test_began("nonblocking", argc, argv);
    if (world_size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    places_make(places, COMMS);
    for (int i = 0; i < rounds && !failures; i++)
        one_round(i);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&places[i].comm);
    MPI_Reduce(&expected_started, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!world_rank)
        printf("nonblocking: to start: nonblocking=%ld\n", all);
    code = test_ended();
    MPI_Finalize();
    return code;
}
