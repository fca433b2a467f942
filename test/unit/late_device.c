/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/unit/late_device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/random.h"

enum { JOBS = 512 };

struct job {
    enum { FREE, WAITING, CARRIED_OUT } state;
    int way; /* from a device: 2, to a device: 1 */
    long started;
    const void *a, *b; /* b: NULL if copied */
    void *dst;
    size_t bytes;
};

struct late_device {
    const unsigned char *(*holds)[2];
    int n, fail_at, failed;
    xport_combine combine;
    void *context;
    struct rng rng;
    long started;
    void *cells;
    struct job job[JOBS];
};

static int on_device(const struct late_device *l, const void *p)
{
    for (int i = 0; i < l->n; i++)
        if ((const unsigned char *)p >= l->holds[i][0] && (const unsigned char *)p < l->holds[i][1])
            return 1;
    return 0;
}

/* The oldest job of that way that waits, and is not younger than `started`. */
static struct job *oldest(struct late_device *l, int way, long started)
{
    struct job *found = NULL;

    for (int i = 0; i < JOBS; i++) {
        struct job *j = &l->job[i];
        if (j->state == WAITING && j->way == way && j->started <= started &&
            (!found || j->started < found->started))
            found = j;
    }
    return found;
}

static void carry_out(struct late_device *l, const struct job *last)
{
    struct job *j;

    while ((j = oldest(l, last->way, last->started))) {
        if (j->b)
            l->combine(l->context, j->a, j->b, j->dst, j->bytes);
        else
            memmove(j->dst, j->a, j->bytes);
        j->state = CARRIED_OUT;
    }
}

static int begin(struct late_device *l, struct job job, unsigned *number)
{
    unsigned i = 0;

    if (l->fail_at && l->started + 1 >= l->fail_at) {
        l->failed = 1;
        return -EIO;
    }
    while (i < JOBS && l->job[i].state != FREE)
        i++;
    must(i < JOBS, "too many jobs");
    job.state = WAITING;
    job.started = ++l->started;
    l->job[i] = job;
    *number = i;
    if (!rng_below(&l->rng, 3))
        carry_out(l, &l->job[i]);
    return 0;
}

static int late_copy(void *state, void *dst, const void *src, size_t bytes, unsigned *number)
{
    struct late_device *l = state;

    must(on_device(l, dst) || on_device(l, src), "the device is given host memory to copy");
    return begin(
        l,
        (struct job){
            .way = on_device(l, src) * 2 + on_device(l, dst), .a = src, .dst = dst, .bytes = bytes},
        number);
}

static int late_combine(void *state, const void *a, const void *b, void *dst, size_t bytes,
                        unsigned *number)
{
    struct late_device *l = state;

    must(on_device(l, dst) && on_device(l, a), "the device is to combine into host memory");
    return begin(l, (struct job){.way = 3, .a = a, .b = b, .dst = dst, .bytes = bytes}, number);
}

static int late_test(void *state, unsigned number)
{
    struct late_device *l = state;
    struct job *j = &l->job[number];

    must(j->state != FREE, "there is no such job");
    if (rng_below(&l->rng, 3))
        return 0;
    carry_out(l, j);
    j->state = FREE;
    return 1;
}

static void *late_cells(void *state, size_t bytes)
{
    struct late_device *l = state;

    free(l->cells);
    l->cells = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    return l->cells;
}

static void late_settle(void *state)
{
    struct late_device *l = state;

    for (int i = 0; i < JOBS; i++)
        l->job[i].state = FREE;
}

struct late_device *late_device_open(const unsigned char *(*holds)[2], int n, xport_combine combine,
                                     void *context, uint64_t seed, int fail_at, struct device *d)
{
    struct late_device *l = calloc(1, sizeof *l);

    must(l, "out of memory");
    l->holds = holds;
    l->n = n;
    l->combine = combine;
    l->context = context;
    l->rng.state = seed;
    l->fail_at = fail_at;
    *d = (struct device){.state = l,
                         .copy = late_copy,
                         .combine = late_combine,
                         .test = late_test,
                         .cells = late_cells,
                         .settle = late_settle};
    return l;
}

int late_device_failed(const struct late_device *l)
{
    return l->failed;
}

void late_device_close(struct late_device *l)
{
    for (int i = 0; i < JOBS; i++)
        must(l->job[i].state == FREE, "a job is under way after the call");
    free(l->cells);
    free(l);
}
