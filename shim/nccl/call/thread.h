/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of an application's thread: whether it is inside NCCL already, its groups (group.h),
 * and the communicators that these will have made.
 */
#ifndef COLLSHIM_SHIM_NCCL_THREAD_H
#define COLLSHIM_SHIM_NCCL_THREAD_H

#include "shim/decide/base/floats.h"
#include "shim/nccl/call/call.h"

struct nccl_comm;
struct group_call {
    struct nccl_call call;
    struct nccl_comm *c; /* held until the group ends */
    int index;           /* as they were called */
    int issued;          /* in NCCL's group already */
};

struct nccl_group {
    int depth;
    struct group_call *call; /* [n] owned */
    int n, room;
    int some_issued;  /* at least one is */
    uint64_t of;      /* the communicator of the first call; 0: there was none */
    int several;      /* calls are of several communicators */
    int failed;       /* NCCL has refused a call, or: */
    int lacks_memory; /* a call could not be kept. Nothing of the group happens */
};

struct pending; /* a communicator whose making ends with the group */

struct thread {
    int inside; /* NCCL's own calls of its exports come back here: they are not the application's */
    const void *from; /* the caller of the call that this thread is in, if a report is wanted */
    const char *cfa;  /* its stack then */
    struct nccl_group group[COPIES];
    struct pending *pending; /* owned */
};

/* Initial-exec would be a little faster, but a library opened late may find no room for it. */
extern __thread struct thread this_thread;

/* The library's own function, which may call its exports, that is us, on the way. */
#define REAL(copy, name, ...)                                                                      \
    __extension__({                                                                                \
        FLOATS_THEIRS;                                                                             \
        this_thread.inside++;                                                                      \
        ncclResult_t real_result = (copy)->real.name(__VA_ARGS__);                                 \
        this_thread.inside--;                                                                      \
        real_result;                                                                               \
    })

#endif
