/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/call/scratch.h"

#include <pthread.h>
#include <stdlib.h>

struct piece {
    struct piece *next;
    CUcontext context;
    char *at;
    uint64_t bytes;
    CUevent last;
};

/* Memory that another process may have open is never freed. */
static struct kept {
    struct kept *next;
    const char *at;
} * kept;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *idle;

static int fits(const struct piece *p, const struct cuda_calls *cu, CUcontext context,
                uint64_t bytes)
{
    return p->context == context && p->bytes >= bytes &&
           (!p->last || cu->EventQuery(p->last) == CUDA_SUCCESS);
}

char *scratch_take(const struct cuda_calls *cu, uint64_t bytes, uint64_t *got)
{
    struct piece **at = &idle, *found;
    CUcontext context = NULL;
    CUdeviceptr made;
    char *p = NULL;

    if (cu->CtxGetCurrent(&context) != CUDA_SUCCESS)
        return NULL;
    pthread_mutex_lock(&lock);
    while (*at && !fits(*at, cu, context, bytes))
        at = &(*at)->next;
    found = *at;
    if (found)
        *at = found->next;
    pthread_mutex_unlock(&lock);
    if (found) {
        p = found->at;
        *got = found->bytes;
        if (found->last)
            cu->EventDestroy(found->last);
        free(found);
        return p;
    }
    *got = bytes;
    return cu->MemAlloc(&made, bytes) == CUDA_SUCCESS ? (char *)made : NULL;
}

void scratch_give(CUcontext context, char *p, uint64_t bytes, CUevent last)
{
    struct piece *piece = p ? malloc(sizeof *piece) : NULL;

    if (!piece)
        return; /* lost rather than freed while it may be in use */
    *piece = (struct piece){.context = context, .at = p, .bytes = bytes, .last = last};
    pthread_mutex_lock(&lock);
    piece->next = idle;
    idle = piece;
    pthread_mutex_unlock(&lock);
}

void scratch_keep(const char *p)
{
    struct kept *k = p ? malloc(sizeof *k) : NULL;

    if (!k)
        return;
    pthread_mutex_lock(&lock);
    *k = (struct kept){kept, p};
    kept = k;
    pthread_mutex_unlock(&lock);
}

/* Lock held. */
static int is_kept(const char *p)
{
    const struct kept *k = kept;

    while (k && k->at != p)
        k = k->next;
    return k != NULL;
}

/* Take out the entries without a user. */
static struct piece *take_idle(const struct cuda_calls *cu)
{
    struct piece *taken = NULL;

    pthread_mutex_lock(&lock);
    for (struct piece **at = &idle, *p; (p = *at);) {
        if (is_kept(p->at) || (p->last && cu->EventQuery(p->last) != CUDA_SUCCESS)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        p->next = taken;
        taken = p;
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

void scratch_trim(const struct cuda_calls *cu)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    int relaxed = cu->ThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;

    for (struct piece *p = take_idle(cu), *next; p; p = next) {
        next = p->next;
        cu->CtxPushCurrent(p->context);
        if (p->last)
            cu->EventDestroy(p->last);
        cu->MemFree((CUdeviceptr)p->at);
        cu->CtxPopCurrent(NULL);
        free(p);
    }
    if (relaxed)
        cu->ThreadExchangeStreamCaptureMode(&mode);
}
