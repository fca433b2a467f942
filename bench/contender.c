/* SPDX-License-Identifier: BSD-3-Clause */
#include "contender.h"
#include "pattern.h"

#include <stdio.h>

static uint64_t generation; /* of data: never repeats, the same on all ranks */

const char *bench_contender_name(const struct bench_contender *c)
{
    return c->algorithm ? c->algorithm->name : "collshim";
}

/* The last rank that receives anything at all: of a Reduce that is the root. */
static int last_receiver(const struct bench_run *run, const struct bench_problem *problem)
{
    int last = problem->recv_bytes ? run->shape->rank : -1;

    run->native->Allreduce(MPI_IN_PLACE, &last, 1, MPI_INT, MPI_MAX, run->control);
    return last;
}

double bench_call_once(const struct bench_run *run, const struct bench_collective *row,
                       const struct bench_problem *problem, struct bench_contender *c, int corrupt)
{
    double outcome[3] = {0, 0, 0}; /* microseconds, refused, wrong */
    double start;
    int rc;

    generation++;
    row->fill(problem, generation);
    bench_pattern_poison(problem->recv, problem->recv_bytes);
    if (c->algorithm)
        bench_algorithm_force(c->algorithm);
    run->native->Barrier(run->control);
    start = MPI_Wtime();
    rc = row->call(problem, c->mpi, c->comm);
    outcome[0] = (MPI_Wtime() - start) * 1e6;
    /* Checking is hard work: on few cores, ranks that are through would take them from the rest. */
    run->native->Barrier(run->control);
    if (c->algorithm)
        bench_algorithm_release(c->algorithm);
    if (corrupt && last_receiver(run, problem) == run->shape->rank)
        problem->recv[problem->recv_bytes / 2] ^= 0x10;
    outcome[1] = rc != MPI_SUCCESS;
    if (!outcome[1] && run->options->verify) {
        size_t at = row->check(problem, generation);

        outcome[2] = at != BENCH_PATTERN_RIGHT;
        if (outcome[2] != 0)
            fprintf(stderr,
                    "collshim: bench: %s, %zu bytes per rank, %s: rank %d received a wrong byte at "
                    "offset %zu of %zu\n",
                    row->name, problem->bytes, bench_contender_name(c), run->shape->rank, at,
                    problem->recv_bytes);
    }
    run->native->Allreduce(MPI_IN_PLACE, outcome, 3, MPI_DOUBLE, MPI_MAX, run->control);
    if (outcome[1] != 0)
        c->verdict = BENCH_REFUSED;
    else if (outcome[2] != 0)
        c->verdict = BENCH_WRONG;
    return outcome[0];
}

int bench_sharers(const struct bench_run *run)
{
    const struct bench_shape *s = run->shape;

    return run->options->emulated ? s->ranks : s->on_node[s->node_of[s->rank]];
}
