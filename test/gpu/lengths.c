/* SPDX-License-Identifier: BSD-3-Clause */
/* A launch for more bytes than 32 bits count: it is noted, not made, so it needs no memory. */
#include <string.h>

#include "test/gpu/gpu.h"

static struct cuda_reduce_batch launched;
static unsigned blocks, rows;

static CUresult note(CUfunction f, unsigned x, unsigned y, unsigned z, unsigned threads,
                     unsigned threads_y, unsigned threads_z, unsigned shared, CUstream stream,
                     void **parameters, void **extra)
{
    (void)f, (void)z, (void)threads, (void)threads_y, (void)threads_z, (void)shared;
    (void)stream, (void)extra;
    blocks = x;
    rows = y;
    memcpy(&launched, parameters[0], sizeof launched);
    return CUDA_SUCCESS;
}

void gpu_test_lengths(void)
{
    struct cuda_calls noting = *cu;
    struct cuda_reducer *r;
    unsigned enough = 0;

    noting.LaunchKernel = note;
    if (cuda_reducer_create(&noting, &r) < 0) {
        gpu_skip("lengths", "there are no kernels");
        return;
    }
    for (int shift = 30; shift <= 40; shift++)
        for (int more = -1; more <= 1; more++) {
            struct cuda_reduce_args args[2] = {
                {.sources = 2, .count = ((uint64_t)1 << shift) + (uint64_t)more},
                {.sources = 2, .count = 1}};
            int rc = cuda_reduce_several(r, REDUCE_OP_sum, REDUCE_TYPE_u8, args, 2, NULL);

            enough = enough ? enough : blocks;
            gpu_check(rc == 0 && rows == 2 && launched.pass[0].count == args[0].count &&
                          blocks >= enough / 2,
                      "2^%d%+d bytes: %llu in %u blocks", shift, more,
                      (unsigned long long)launched.pass[0].count, blocks);
        }
    cuda_reducer_free(r);
}
