/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that runs far ahead of its stream, as in a backward pass that waits for nothing. */
#include "test/nccl/ranks.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS = 2500, AHEAD = 500 };

/* Call i is made once call i - ahead is over. */
static void run_ahead(struct rank *r, int ahead)
{
    CUevent behind[AHEAD];
    float *data = device_new(r->count * sizeof *data), *host = calloc(r->count, sizeof *host);
    int wrong = 0;

    if (!host)
        abort();
    device_write(data, host, r->count * sizeof *host);
    for (int i = 0; i < ahead; i++)
        CUDA(EventCreate(&behind[i], CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < CALLS; i++) {
        if (i >= ahead)
            CUDA(EventSynchronize(behind[i % ahead]));
        NCCL(ncclAllReduce(data, data, r->count, ncclFloat, ncclSum, r->comm, r->stream));
        CUDA(EventRecord(behind[i % ahead], r->stream));
    }
    stream_wait(r->stream);
    device_read(host, data, r->count * sizeof *host);
    for (size_t i = 0; i < r->count; i++)
        wrong += host[i] != 0;
    check(r, !wrong, "a sum of zeroes is none");
    free(host);
    device_free(data);
    for (int i = 0; i < ahead; i++)
        CUDA(EventDestroy(behind[i]));
}

static void test_ahead(struct rank *r)
{
    run_ahead(r, AHEAD);
}

/* Ranks are threads or processes: each sets it, while no stream has work. */
static void set_links(struct rank *r, const char *links)
{
    ranks_meet(r);
    setenv("NCCLSIM", links, 1);
    ranks_meet(r);
}

/* Links change under a job that has settled: by turns NCCL knows of one slow link, and of all,
   which are fast. */
static void test_links_change(struct rank *r)
{
    static const char *const links[] = {"near=200 far=0.5 rings=1", "near=200 far=50"};
    const char *set = getenv("NCCLSIM");
    char *before = strdup(set ? set : "");

    if (!before)
        abort();
    for (int turn = 0; turn < 4; turn++) {
        set_links(r, links[turn % 2]);
        run_ahead(r, 4);
    }
    set_links(r, before);
    free(before);
}

const struct test_case cases_ahead[] = {
    {"ahead", test_ahead}, {"links_change", test_links_change}, {NULL, NULL}};
