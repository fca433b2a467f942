/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/comm/registered.h"

#include <pthread.h>
#include <stdlib.h>

#include "shim/nccl/call/call.h"
#include "shim/nccl/call/thread.h"
#include "shim/nccl/comm/comm.h"

struct registered_buffer {
    struct registered_buffer *next;
    void *buffer;
    size_t bytes;
    int kept_back; /* NCCL has not heard of it */
    void *given;   /* the handle that the program has; NULL: not yet */
    void *real;    /* NCCL's */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all lists */
/* Handles of ours that outlived their communicator's entry, which ends at ncclCommFinalize: a few,
 * never freed. */
static struct registered_buffer *orphans;

static void take_out(struct registered_buffer **at, const struct registered_buffer *b)
{
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
}

ncclResult_t registered_add(struct nccl_comm *c, void *buffer, size_t bytes, void **handle)
{
    struct registered_buffer *b;
    ncclResult_t result;

    if (!buffer || !bytes || !handle) /* the library's to refuse */
        return REAL(c->copy, CommRegister, c->handle, buffer, bytes, handle);
    b = malloc(sizeof *b);
    if (!b)
        return ncclSystemError;
    pthread_mutex_lock(&lock);
    *b = (struct registered_buffer){.next = c->registrations.first,
                                    .buffer = buffer,
                                    .bytes = bytes,
                                    .kept_back = c->registrations.held};
    c->registrations.first = b;
    if (b->kept_back)
        *handle = b->given = b;
    pthread_mutex_unlock(&lock);
    if (b->kept_back)
        return ncclSuccess;
    /* counted before NCCL has it, so that no call is rerouted meanwhile */
    result = REAL(c->copy, CommRegister, c->handle, buffer, bytes, handle);
    pthread_mutex_lock(&lock);
    if (result == ncclSuccess && *handle) { /* NULL: NCCL_LOCAL_REGISTER=0, nothing is registered */
        b->given = b->real = *handle;
    } else {
        take_out(&c->registrations.first, b);
        free(b);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

ncclResult_t registered_drop(struct nccl_copy *copy, struct nccl_comm *c, ncclComm_t comm,
                             void *handle)
{
    struct registered_buffer **list = c ? &c->registrations.first : &orphans, *b;
    int kept_back = 0;

    pthread_mutex_lock(&lock);
    for (b = *list; b && (!handle || b->given != handle); b = b->next)
        ;
    if (b) {
        take_out(list, b);
        handle = b->real;
        kept_back = b->kept_back;
        free(b);
    }
    pthread_mutex_unlock(&lock);
    return kept_back ? ncclSuccess : REAL(copy, CommDeregister, comm, handle);
}

int registered_hold(struct nccl_comm *c)
{
    int some;

    pthread_mutex_lock(&lock);
    c->registrations.held = 1;
    some = c->registrations.first != NULL;
    pthread_mutex_unlock(&lock);
    return some;
}

void registered_release(struct nccl_comm *c)
{
    if (__atomic_load_n(&c->stopped, __ATOMIC_ACQUIRE))
        return; /* the library may have freed the communicator */
    pthread_mutex_lock(&lock);
    c->registrations.held = 0;
    for (struct registered_buffer *b = c->registrations.first; b; b = b->next) {
        if (!b->kept_back)
            continue;
        b->kept_back = 0;
        if (REAL(c->copy, CommRegister, c->handle, b->buffer, b->bytes, &b->real) == ncclSuccess)
            continue;
        b->real = NULL; /* which ncclCommDeregister takes, and does nothing */
        say(CFG_LEVEL_WARN, "NCCL does not register %zu bytes at %p, which rank %d asked for",
            b->bytes, b->buffer, c->rank);
    }
    pthread_mutex_unlock(&lock);
}

void registered_forget(struct nccl_comm *c)
{
    pthread_mutex_lock(&lock);
    for (struct registered_buffer *b = c->registrations.first, *next; b; b = next) {
        next = b->next;
        if (b->given != b) {
            free(b);
            continue;
        }
        b->next = orphans;
        orphans = b;
    }
    pthread_mutex_unlock(&lock);
}

static int is_mapped(const struct nccl_comm *c, const void *p)
{
    CUmemGenericAllocationHandle handle;

    if (!p || c->cu->MemRetainAllocationHandle(&handle, (void *)(uintptr_t)p) != CUDA_SUCCESS)
        return 0;
    c->cu->MemRelease(handle);
    return 1;
}

int registered_in_graph(const struct nccl_comm *c, const struct nccl_call *call)
{
    return is_mapped(c, call->send) || is_mapped(c, call->recv);
}
