/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of rows, and the memory of one problem. Buffers are made anew for every size, so that
 * old bytes of a smaller size can never pass for a result of a larger one. The free memory is
 * checked first: malloc promises more than there is, and the kernel would end the job.
 */
#include "collective.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct bench_collective *const bench_collectives[] = {
    &bench_allgather,
    &bench_allgatherv,
    &bench_allreduce,
    &bench_reduce_scatter,
    &bench_reduce_scatter_block,
    &bench_scan,
    &bench_exscan,
    &bench_bcast,
    &bench_reduce,
    &bench_gather,
    &bench_gatherv,
    &bench_scatter,
    &bench_scatterv,
    &bench_alltoall,
    &bench_alltoallv,
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

/* Bytes the kernel could still hand out, or SIZE_MAX if it does not say. */
static size_t available_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    size_t kib = 0, found = SIZE_MAX;

    while (file && found == SIZE_MAX && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "MemAvailable: %zu", &kib) == 1)
            found = kib * 1024;
    }
    if (file)
        fclose(file);
    return found;
}

int bench_problem_place_blocks(struct bench_problem *problem, int equal, size_t *all)
{
    static const size_t turns[] = {5, 15, 10, 0, 20};
    size_t elements = problem->bytes / problem->unit, at = 0;

    for (int r = 0; r < problem->shape->ranks; r++) {
        size_t tenths = equal ? 10 : turns[(size_t)r % (sizeof(turns) / sizeof(turns[0]))];
        size_t count = elements / 10 * tenths + elements % 10 * tenths / 10;

        if (count > INT_MAX)
            return -EOVERFLOW;
        problem->counts[r] = (int)count;
        problem->offsets[r] = at;
        at += count * problem->unit;
    }
    *all = at;
    return 0;
}

int bench_problem_make(const struct bench_collective *row, const struct bench_shape *shape,
                       size_t bytes, int sharers, struct bench_problem *problem)
{
    int rc;

    memset(problem, 0, sizeof(*problem));
    problem->shape = shape;
    problem->bytes = bytes;
    problem->unit = 1;
    problem->counts = calloc((size_t)shape->ranks, sizeof(int));
    problem->offsets = calloc((size_t)shape->ranks, sizeof(size_t));
    problem->displs = calloc((size_t)shape->ranks, sizeof(int));
    problem->recv_counts = calloc((size_t)shape->ranks, sizeof(int));
    problem->recv_displs = calloc((size_t)shape->ranks, sizeof(int));
    if (!problem->counts || !problem->offsets || !problem->displs || !problem->recv_counts ||
        !problem->recv_displs)
        return -ENOMEM;
    rc = row->lay_out(problem);
    if (rc)
        return rc;
    if (problem->send_bytes + problem->recv_bytes > available_memory() / (size_t)sharers)
        return -ENOMEM;
    problem->send = malloc(problem->send_bytes ? problem->send_bytes : 1);
    problem->recv = malloc(problem->recv_bytes ? problem->recv_bytes : 1);
    return problem->send && problem->recv ? 0 : -ENOMEM;
}

void bench_problem_free(struct bench_problem *problem)
{
    free(problem->counts);
    free(problem->offsets);
    free(problem->displs);
    free(problem->recv_counts);
    free(problem->recv_displs);
    free(problem->send);
    free(problem->recv);
    memset(problem, 0, sizeof(*problem));
}
