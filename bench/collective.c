/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of rows, and the memory of one problem. Buffers are made anew for every size, so that
 * what a smaller size leaves behind can never pass for a result of a larger one.
 */
#include "collective.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct bench_collective *const bench_collectives[] = {
    &bench_allgather,
    &bench_allgatherv,
    NULL,
};

const struct bench_collective *bench_collective_find(const char *name)
{
    for (size_t i = 0; bench_collectives[i]; i++) {
        if (strcmp(bench_collectives[i]->name, name) == 0)
            return bench_collectives[i];
    }
    return NULL;
}

int bench_problem_make(const struct bench_collective *row, const struct bench_shape *shape,
                       size_t bytes, struct bench_problem *problem)
{
    int rc;

    memset(problem, 0, sizeof(*problem));
    problem->shape = shape;
    problem->bytes = bytes;
    problem->counts = calloc((size_t)shape->ranks, sizeof(int));
    problem->displs = calloc((size_t)shape->ranks, sizeof(int));
    if (!problem->counts || !problem->displs)
        return -ENOMEM;
    rc = row->lay_out(problem);
    if (rc)
        return rc;
    problem->send = malloc(problem->send_bytes ? problem->send_bytes : 1);
    problem->recv = malloc(problem->recv_bytes ? problem->recv_bytes : 1);
    return problem->send && problem->recv ? 0 : -ENOMEM;
}

void bench_problem_free(struct bench_problem *problem)
{
    free(problem->counts);
    free(problem->displs);
    free(problem->send);
    free(problem->recv);
    memset(problem, 0, sizeof(*problem));
}
