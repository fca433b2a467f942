/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trial has three rounds. The first warms the reroute up (its plan, its connections) and is not
 * counted; the second measures every candidate once; the third measures those again that are not
 * far behind. A library's call that is several times slower is thus paid for once. Each rank
 * counts the better of its two measurements, since a rank that enters late makes the others wait
 * in whichever candidate's turn it was; and the slowest rank's counts, because in a rooted
 * collective the others may be through long before the result is there.
 */
#include "shim/mpi/guard.h"

#include <float.h>

#include "shim/mpi/calls.h"

enum { WARM_UP, FIRST, SECOND };
enum { CALLS_BEFORE_NEXT_LOOK = 1000 };
static const double far_behind = 1.5;      /* times the best: not measured again */
static const double native_far_behind = 3; /* its first call may have had to connect */
static const double clearly_faster = 0.95; /* a new winner's time to the old one's */

struct guard_entry *guard_find(struct guard *g, enum plan_collective c, uint64_t total, int n)
{
    int k = total ? 63 - __builtin_clzll(total) : 0;

    k = k < 12 ? 0 : k - 12;
    return &g->entry[c][k < GUARD_CLASSES ? k : GUARD_CLASSES - 1][n - 2];
}

/* The next candidate of the round at or after `from`, or n. */
static int next_alive(const struct guard_entry *e, int n, int from)
{
    if (e->round == WARM_UP && from == GUARD_NATIVE)
        from++;
    while (from < n && !(e->alive & 1u << from))
        from++;
    return from;
}

static void begin_trial(struct guard_entry *e, int n, int round)
{
    e->settled = 0;
    e->round = (uint8_t)round;
    e->alive = (uint8_t)((1u << n) - 1);
    e->next = (uint8_t)next_alive(e, n, 0);
    for (int i = 0; i < GUARD_CANDIDATES; i++)
        e->seconds[i] = DBL_MAX;
}

int guard_pick(struct guard_entry *e, int n)
{
    if (!e->settled && !e->alive)
        begin_trial(e, n, WARM_UP);
    else if (e->settled && e->calls >= CALLS_BEFORE_NEXT_LOOK)
        begin_trial(e, n, FIRST);
    return e->settled ? e->best : e->next;
}

/* Agree on the slowest rank's time and drop who is far behind. Returns the fastest, or -1. */
static int agree(struct guard_entry *e, int n, double *slowest, MPI_Comm comm)
{
    double mine[GUARD_CANDIDATES] = {0};
    int fastest = -1;

    for (int i = 0; i < n; i++)
        mine[i] = e->alive & 1u << i ? e->seconds[i] : DBL_MAX;
    if (mpi.Allreduce(mine, slowest, n, MPI_DOUBLE, MPI_MAX, comm) != MPI_SUCCESS)
        return -1;
    for (int i = 0; i < n; i++)
        if (e->alive & 1u << i && (fastest < 0 || slowest[i] < slowest[fastest]))
            fastest = i;
    for (int i = 0; i < n; i++)
        if (slowest[i] > slowest[fastest] * (i == GUARD_NATIVE ? native_far_behind : far_behind))
            e->alive &= (uint8_t) ~(1u << i);
    return fastest;
}

int guard_note(struct guard_entry *e, int n, int picked, double seconds, MPI_Comm comm)
{
    double slowest[GUARD_CANDIDATES];

    if (e->settled) {
        e->calls++;
        return 0;
    }
    if (e->round != WARM_UP && seconds < e->seconds[picked])
        e->seconds[picked] = seconds;
    e->next = (uint8_t)next_alive(e, n, picked + 1);
    if (e->next < n)
        return 0;
    if (e->round != WARM_UP) {
        int fastest = agree(e, n, slowest, comm);
        if (fastest < 0)
            return -1;
        /* best is 0, the library, before the first decision: what is not clearly faster stays off.
         */
        if (e->round == SECOND) {
            int keep =
                e->alive & 1u << e->best && slowest[fastest] > slowest[e->best] * clearly_faster;
            e->best = keep ? e->best : (uint8_t)fastest;
            e->settled = 1;
            e->calls = 0;
            return 1;
        }
    }
    e->round++;
    e->next = (uint8_t)next_alive(e, n, 0);
    return 0;
}
