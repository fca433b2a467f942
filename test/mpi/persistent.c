/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives: persistent [SEED [ROUNDS [native]]]
 *
 * Each communicator has several requests, of random functions, sizes, types and places. A round
 * writes new data and starts some of them, by MPI_Start or MPI_Startall. Each rank has an order of
 * its own, but one for the library's own requests, since MPICH matches them by it. The round makes
 * blocking and nonblocking calls and messages on the same communicators. It completes the requests
 * in one of MPI's forms, among null and inactive ones. Now and then a request is freed, inactive,
 * and another one made. Counts and displacements are overwritten once the request is made, where
 * the library has read them. Types are freed then, unless `native` says the library serves. Open
 * MPI 4 does not survive it then, and MPI_Request_get_status of MPICH 4 never finds its own
 * persistent collectives done. Expected values are the test's own, and what lies between elements
 * must stay.
 */
#include "test/mpi/completion.h"
#include "test/mpi/persistent_calls.h"
#include "test/mpi/random_call.h"

enum { MOST = 300, ALL = 10, COMMS = 3, MOST_TAKEN = ALL + 2 };

struct persistent {
    struct call call, lent; /* the second is what MPI sees */
    int rerouted, keeps_types;
    MPI_Request request;
};

static struct place places[COMMS];
static struct persistent requests[ALL];
static long expected_started, expected_made;
static int natively;

#define FUNCTION static void init(struct call *c, MPI_Request *request)
#define CALL(Name, name, ...) MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request)
#define COUNT int
#define BLOCKS narrow
#include "test/mpi/make_call.h"

#define FUNCTION static void init_wide(struct call *c, MPI_Request *request)
#define CALL(Name, name, ...) MPI_##Name##_init_c(__VA_ARGS__, MPI_INFO_NULL, request)
#define COUNT MPI_Count
#define BLOCKS wide
#include "test/mpi/make_call.h"

static void make_request(struct persistent *p, struct draw *d)
{
    struct call *c = &p->call;

    call_draw(c, places, COMMS, draw_below(d, 12) ? MOST : MOST_LARGE, d);
    p->lent = *c;
    if (!draw_below(d, 3) && persistent_large_counts())
        init_wide(&p->lent, &p->request);
    else
        init(&p->lent, &p->request);
    call_spoil_blocks(&p->lent);
    p->rerouted = c->n && c->at->size > 1;
    p->keeps_types = natively || (MPI_VERSION < 4 && !p->rerouted);
    if (!p->keeps_types)
        call_free_types(c);
    expected_made++;
}

static void drop_request(struct persistent *p)
{
    if (p->keeps_types)
        call_free_types(&p->call);
    MPI_Request_free(&p->request);
    if (p->request != MPI_REQUEST_NULL)
        fail("MPI_Request_free leaves a request");
    call_free(&p->call);
}

/* A ring of messages, a blocking and a nonblocking collective, while the others are under way. */
static void meanwhile(struct draw *d, int number)
{
    const struct place *p = &places[draw_below(d, COMMS)];
    int right = (p->rank + 1) % p->size, left = (p->rank + p->size - 1) % p->size, got = -1;
    int mine = p->rank + number, sum[2] = {0, 0};
    MPI_Request request;

    MPI_Sendrecv(&mine, 1, MPI_INT, right, 3, &got, 1, MPI_INT, left, 3, p->comm,
                 MPI_STATUS_IGNORE);
    if (got != left + number)
        fail("a message beside persistent calls holds %d, expected %d", got, left + number);
    MPI_Iallreduce(&mine, &sum[0], 1, MPI_INT, MPI_SUM, p->comm, &request);
    MPI_Allreduce(&mine, &sum[1], 1, MPI_INT, MPI_SUM, p->comm);
    expected_started += p->size > 1;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++)
        if (sum[i] != p->size * number + p->size * (p->size - 1) / 2)
            fail("a sum beside persistent calls is %d", sum[i]);
}

static void start(MPI_Request *q, int n, struct draw *own)
{
    if (draw_below(own, 2)) {
        MPI_Startall(n, q);
        return;
    }
    for (int i = 0; i < n; i++)
        MPI_Start(&q[i]);
}

static void one_round(int number)
{
    struct draw d = draw_from(7, (uint64_t)number); /* equal on all ranks */
    struct draw own = draw_from(11 + (uint64_t)world_rank, (uint64_t)number);
    int order[ALL], taken = 0, own_only = !natively, form;
    MPI_Request q[MOST_TAKEN];
    char how[64];

    if (!draw_below(&d, 3)) {
        struct persistent *again = &requests[draw_below(&d, ALL)];

        drop_request(again);
        make_request(again, &d);
    }
    for (int i = 0; i < ALL; i++)
        if (draw_below(&d, 2)) {
            int at = requests[i].rerouted && !natively ? draw_below(&own, taken + 1) : taken;

            order[taken++] = order[at];
            order[at] = i;
            requests[i].call.key = (uint64_t)draw_below(&d, 1 << 30) << 24;
            call_fill(&requests[i].call);
            expected_started += requests[i].rerouted && !natively;
            own_only &= requests[i].rerouted;
        }
    form = draw_below(&d, own_only ? FORMS : FORMS_OF_ALL);
    snprintf(how, sizeof how, "persistent, in round %d, completed by %s", number, forms[form]);
    for (int i = 0; i < taken; i++)
        q[i] = requests[order[i]].request;
    start(q, taken, &own);
    q[taken] = MPI_REQUEST_NULL;
    q[taken + 1] = q[taken];
    for (int i = 0, idle = 1; i < ALL && idle; i++) {
        for (int k = 0; k < taken; k++)
            idle &= order[k] != i;
        if (idle && requests[i].rerouted && !natively)
            q[taken + 1] = requests[i].request; /* inactive */
        idle = !idle;
    }
    if (draw_below(&d, 2))
        meanwhile(&d, number);
    complete(q, taken + 2, taken, form, &own);
    for (int i = 0; i < taken; i++) {
        requests[order[i]].request = q[i];
        if (q[i] == MPI_REQUEST_NULL)
            fail("%s takes a persistent request away", forms[form]);
        call_check(&requests[order[i]].call, how);
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 100, code;
    struct draw d;
    long all;

    natively = argc > 3;
    MPI_Init(&argc, &argv);
    test_began("persistent", argc, argv);
    if (!persistent_calls()) {
        printf("this mpi.h has no persistent collectives\n");
        MPI_Finalize();
        return EXIT_SKIP;
    }
    if (world_size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    places_make(places, COMMS);
    d = draw_from(3, 0);
    for (int i = 0; i < ALL; i++)
        make_request(&requests[i], &d);
    for (int i = 0; i < rounds && !failures; i++)
        one_round(i);
    for (int i = 0; i < ALL; i++)
        drop_request(&requests[i]);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&places[i].comm);
    MPI_Reduce(&expected_started, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!world_rank)
        printf("persistent: to start: nonblocking=%ld, made=%ld\n", all, expected_made);
    code = test_ended();
    MPI_Finalize();
    return code;
}
