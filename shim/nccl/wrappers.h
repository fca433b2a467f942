/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of an application's thread: whether it is inside NCCL already, its groups, and the
 * communicators that these will have made. The wrappers use it.
 */
#ifndef COLLSHIM_SHIM_NCCL_WRAPPERS_H
#define COLLSHIM_SHIM_NCCL_WRAPPERS_H

#include "shim/decide/floats.h"
#include "shim/nccl/group.h"
#include "shim/nccl/process.h"

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

#define UNPACK(...) __VA_ARGS__
#define NCCL_WRAP(need, name, params, args)                                                        \
    ncclResult_t nccl_wrap_##name(struct nccl_copy *copy, UNPACK params);
#define NCCL_BARE(need, name) ncclResult_t nccl_wrap_##name(struct nccl_copy *copy);
#include "transports/nccl_calls.def"

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
