/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl_plugin/names.h"

#include <stdio.h>
#include <string.h>

#include "config/base/text.h"

static const struct {
    const char *function;
    enum plan_collective collective;
    int number;   /* of ncclFunc_t; -1: a tuner is not asked for it */
    int of_ranks; /* the whole is count elements for each rank */
} collectives[] = {
    {"Broadcast", COLL_BCAST, 0, 0},     {"Reduce", COLL_REDUCE, 1, 0},
    {"AllGather", COLL_ALLGATHER, 2, 1}, {"ReduceScatter", COLL_REDUCE_SCATTER_BLOCK, 3, 1},
    {"AllReduce", COLL_ALLREDUCE, 4, 0}, {"AlltoAll", COLL_ALLTOALL, -1, 1},
    {"Gather", COLL_GATHER, -1, 1},      {"Scatter", COLL_SCATTER, -1, 1},
};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives };

/* In the order of NCCL_ALGO_TREE and NCCL_PROTO_LL. */
static const char *const algorithms[] = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
static const char *const protocols[] = {"ll", "ll128", "simple"};

int names_collective_number(int number)
{
    for (int i = 0; number >= 0 && i < COLLECTIVES; i++)
        if (collectives[i].number == number)
            return (int)collectives[i].collective;
    return -1;
}

int names_collective(const char *function)
{
    for (int i = 0; function && i < COLLECTIVES; i++)
        if (!strcmp(collectives[i].function, function))
            return (int)collectives[i].collective;
    return -1;
}

/* By the digits in the name: ncclInt8, ncclFloat8e4m3, ncclBfloat16. ncclUint8 is called Unknown.
 */
static size_t type_bytes(const char *datatype)
{
    size_t bits = 0;

    for (datatype = datatype ? datatype : ""; *datatype && !text_is_digit(*datatype);)
        datatype++;
    for (; text_is_digit(*datatype) && bits < 100; datatype++)
        bits = bits * 10 + (size_t)(*datatype - '0');
    return bits < 8 ? 1 : bits / 8;
}

uint64_t names_total(enum plan_collective c, size_t count, const char *datatype, int nranks)
{
    uint64_t bytes = (uint64_t)count * type_bytes(datatype);

    for (int i = 0; i < COLLECTIVES; i++)
        if (collectives[i].collective == c && collectives[i].of_ranks)
            bytes *= (uint64_t)nranks;
    return bytes;
}

static int index_of(const char *name, size_t size, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i]) == size && !memcmp(list[i], name, size))
            return (int)i;
    return -1;
}

void names_indices(const struct plan_variant *v, int *algorithm, int *protocol)
{
    const char *name = plan_variant_name(v), *slash = strchr(name, '/');

    *algorithm =
        index_of(name, (size_t)(slash - name), algorithms, sizeof algorithms / sizeof *algorithms);
    *protocol =
        index_of(slash + 1, strlen(slash + 1), protocols, sizeof protocols / sizeof *protocols);
}

void names_lower(const char *name, char *text, size_t size)
{
    snprintf(text, size, "%s", name && *name ? name : "-");
    for (; *text; text++)
        *text = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
}
