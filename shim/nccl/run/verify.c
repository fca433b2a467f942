/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/run/verify.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shim/nccl/call/scratch.h"
#include "shim/nccl/comm/agree.h"
#include "shim/nccl/comm/comm_plans.h"
#include "shim/nccl/run/schedule.h"

/* Comparing ----------------------------------------------------------------------------------- */

static const struct {
    unsigned char exponent, mantissa; /* bits; 0: no floating-point number */
} formats[REDUCE_TYPE_COUNT] = {
    [REDUCE_TYPE_f16] = {5, 10}, [REDUCE_TYPE_bf16] = {8, 7}, [REDUCE_TYPE_e4m3] = {4, 3},
    [REDUCE_TYPE_e5m2] = {5, 2}, [REDUCE_TYPE_f32] = {8, 23}, [REDUCE_TYPE_f64] = {11, 52},
};

/* The largest exponent stands for infinity and NaN, but of e4m3 for numbers too. */
static double number(enum reduce_type type, const char *at, size_t size)
{
    int m = formats[type].mantissa, e, bias = (1 << (formats[type].exponent - 1)) - 1;
    int last = (1 << formats[type].exponent) - 1;
    uint64_t bits = 0, fraction;
    double value;

    memcpy(&bits, at, size);
    e = (int)(bits >> m) & last;
    fraction = bits & ((1ull << m) - 1);
    if (e == last && (type != REDUCE_TYPE_e4m3 || fraction == 7))
        value = fraction ? NAN : INFINITY;
    else
        value = e ? ldexp(1 + ldexp((double)fraction, -m), e - bias)
                  : ldexp((double)fraction, 1 - bias - m);
    return bits >> (size * 8 - 1) ? -value : value;
}

/* Are they the same, as the header says? nranks: how often a result was rounded. */
static int is_same(const void *a, const void *b, size_t bytes, enum reduce_type type, int rounded,
                   int nranks)
{
    size_t size = reduce_type_bytes(type), n = bytes / size;
    double largest = 0;

    if (!memcmp(a, b, bytes))
        return 1;
    if (!rounded || !formats[type].exponent)
        return 0;
    for (size_t i = 0; i < n; i++) {
        double x = fabs(number(type, (const char *)a + i * size, size));

        largest = isfinite(x) && x > largest ? x : largest;
    }
    for (size_t i = 0; i < n; i++) {
        double x = number(type, (const char *)a + i * size, size);
        double y = number(type, (const char *)b + i * size, size);

        if (x == y || (isnan(x) && isnan(y)))
            continue;
        if (!(fabs(x - y) <= nranks * ldexp(largest, -formats[type].mantissa)))
            return 0;
    }
    return 1;
}

/* Calls under way ------------------------------------------------------------------------------ */

struct result {
    struct result *next;
    const struct cuda_calls *cu; /* borrowed */
    CUcontext context;
    CUevent there; /* owned */
    char *host;    /* owned: [2 * bytes] */
    size_t bytes;
    enum plan_collective collective;
    enum reduce_type type;
    int rounded, rank, nranks;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct result *pending;
static size_t pending_bytes;

enum { PENDING_MOST = 512 << 20 };

static void verify_settle(struct result *r)
{
    int same = is_same(r->host, r->host + r->bytes, r->bytes, r->type, r->rounded, r->nranks);

    count_verified(r->collective, same);
    if (!same)
        say(CFG_LEVEL_ERROR,
            "verify: NCCL %s of %zu bytes differs from the library's result on rank %d",
            plan_collective_name(r->collective), r->bytes, r->rank);
    r->cu->MemFreeHost(r->host);
    r->cu->EventDestroy(r->there);
    free(r);
}

void verify_sweep(void)
{
    struct result *ready = NULL;

    pthread_mutex_lock(&lock);
    for (struct result **at = &pending, *r; (r = *at);) {
        if (r->cu->EventQuery(r->there) != CUDA_SUCCESS) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        pending_bytes -= 2 * r->bytes;
        r->next = ready;
        ready = r;
    }
    pthread_mutex_unlock(&lock);
    for (struct result *next; ready; ready = next) {
        const struct cuda_calls *cu = ready->cu;

        next = ready->next;
        cu->CtxPushCurrent(ready->context);
        verify_settle(ready);
        cu->CtxPopCurrent(NULL);
    }
}

/* A place for a result, or NULL: then it is not compared. */
static struct result *expect(const struct nccl_bundle *b, enum plan_collective collective,
                             size_t bytes)
{
    const struct cuda_calls *cu = b->c->cu;
    struct result *r = calloc(1, sizeof *r);
    size_t waiting;

    pthread_mutex_lock(&lock);
    waiting = pending_bytes += 2 * bytes;
    pthread_mutex_unlock(&lock);
    if (r && waiting <= PENDING_MOST &&
        cu->EventCreate(&r->there, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS &&
        cu->MemHostAlloc((void **)&r->host, 2 * bytes, 0) == CUDA_SUCCESS) {
        r->cu = cu;
        r->context = b->c->device.context;
        r->bytes = bytes;
        r->collective = collective;
        r->rank = b->c->rank;
        r->nranks = b->c->nranks;
        return r;
    }
    pthread_mutex_lock(&lock);
    pending_bytes -= 2 * bytes;
    pthread_mutex_unlock(&lock);
    if (r && r->there)
        cu->EventDestroy(r->there);
    free(r);
    return NULL;
}

/* Fetch bytes at `from` to the library's (0) or our (1) side of the result. */
static void fetch(struct result *r, int side, size_t at, const char *from, size_t bytes,
                  CUstream stream)
{
    if (bytes)
        r->cu->MemcpyDtoHAsync(r->host + (size_t)side * r->bytes + at, (CUdeviceptr)from, bytes,
                               stream);
}

static void await(struct result *r, CUstream stream)
{
    r->cu->EventRecord(r->there, stream);
    pthread_mutex_lock(&lock);
    r->next = pending;
    pending = r;
    pthread_mutex_unlock(&lock);
}

/* Running both --------------------------------------------------------------------------------- */

/* Our own output instead of the application's. */
struct shadow {
    char *at; /* of the pool; NULL: there is none */
    uint64_t got;
    size_t bytes;
};

static int shadow_take(struct shadow *s, const struct nccl_bundle *b, size_t bytes)
{
    s->bytes = bytes;
    s->at = scratch_take(b->c->cu, bytes ? bytes : 1, &s->got);
    return s->at != NULL;
}

static void shadow_give(struct shadow *s, const struct nccl_bundle *b)
{
    CUevent last = NULL;

    if (s->at && b->c->cu->EventCreate(&last, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) {
        b->c->cu->EventRecord(last, b->stream);
        scratch_give(b->c->device.context, s->at, s->got, last);
    }
}

static ncclResult_t reroute_aside(struct nccl_bundle *b, struct nccl_part *p, int way,
                                  struct shadow *s)
{
    const struct plan_candidate *by = nccl_part_way(p, way);
    struct plan_request q = schedule_request(p->call, b->c, by);
    struct nccl_call aside = *p->call;
    ncclResult_t result = ncclSuccess;

    if (!nccl_comm_all(b->c, shadow_take(s, b, plan_output_bytes(&q, b->c->rank)))) {
        p->why = REASON_NOT_READY;
        return ncclSuccess;
    }
    aside.recv = s->at;
    p->why = nccl_run_part(b->c, &aside, by, 0, &result);
    if (!p->why)
        p->why = REASON_VERIFIED;
    return result;
}

static void compare_later(const struct nccl_bundle *b, const struct nccl_part *p,
                          const struct shadow *s)
{
    struct result *r = s->bytes ? expect(b, p->call->collective, s->bytes) : NULL;

    if (!r)
        return;
    r->type = nccl_call_reduce_type(p->call);
    r->rounded = p->call->combines && nccl_call_rounds_results(p->call);
    fetch(r, 0, 0, p->call->recv, s->bytes, b->stream);
    fetch(r, 1, 0, s->at, s->bytes, b->stream);
    await(r, b->stream);
}

static ncclResult_t verify_parts(struct nccl_bundle *b, int way)
{
    struct shadow *shadow = calloc((size_t)b->n, sizeof *shadow);
    ncclResult_t result = ncclSuccess, ended;

    if (!nccl_comm_all(b->c, shadow != NULL)) {
        free(shadow);
        return nccl_run_native(b, REASON_NOT_READY);
    }
    for (int i = 0; i < b->n && !result; i++)
        if (!b->part[i].why)
            result = reroute_aside(b, &b->part[i], way, &shadow[i]);
    ended = nccl_run_native(b, REASON_NOT_READY);
    for (int i = 0; i < b->n; i++) {
        if (!result && !ended && b->part[i].why == REASON_VERIFIED)
            compare_later(b, &b->part[i], &shadow[i]);
        shadow_give(&shadow[i], b);
    }
    free(shadow);
    return ended ? ended : result;
}

static ncclResult_t verify_set(struct nccl_bundle *b, int way)
{
    const struct plan_candidate *by = nccl_part_way(b->lead, way);
    struct plan_request q = schedule_set_request(b->set, b->c, by);
    const struct rounds *rounds = nccl_comm_rounds(b->c, &q, by->algorithm, 0, b->stream);
    int n = b->c->nranks;
    size_t all = b->set->offset[1][n];
    char **at = malloc((size_t)n * sizeof *at);
    struct shadow shadow = {0};
    struct nccl_set aside = *b->set;
    ncclResult_t result, ended;
    struct result *r;

    if (!rounds || !nccl_comm_all(b->c, at && shadow_take(&shadow, b, all))) {
        shadow_give(&shadow, b);
        free(at);
        return nccl_run_native(b, REASON_NOT_READY);
    }
    for (int p = 0; p < n; p++)
        at[p] = shadow.at + b->set->offset[1][p];
    aside.out.at = at;
    result = schedule_run_set(b->c, b->part[0].call, &aside, rounds);
    count_rerouted(COLL_ALLTOALLV, by->algorithm, 1, b->total, 0);
    ended = nccl_run_native(b, REASON_VERIFIED);
    r = all && !result && !ended ? expect(b, COLL_ALLTOALLV, all) : NULL;
    if (r) {
        for (int p = 0; p < n; p++)
            fetch(r, 0, b->set->offset[1][p], b->set->at[1][p],
                  b->set->offset[1][p + 1] - b->set->offset[1][p], b->stream);
        fetch(r, 1, 0, shadow.at, all, b->stream);
        await(r, b->stream);
    }
    shadow_give(&shadow, b);
    free(at);
    return ended ? ended : result;
}

ncclResult_t verify_bundle(struct nccl_bundle *b)
{
    verify_sweep();
    return nccl_run_joined(b, 0, b->set ? verify_set : verify_parts);
}
