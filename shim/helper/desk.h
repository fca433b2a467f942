/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that a helper for NCCL shares with its owner: orders in the sequence of the owner's calls,
 * and counters by which the streams of both wait for each other. It lies in the papers of the
 * mailbox's first channel; plans lie in the window there.
 *
 * All communicators have one sequence. NCCL demands that communicators on one device are issued in
 * one order on all ranks, and the owner's program keeps such an order. An order only enqueues work,
 * so one that waits on the device does not delay those behind it.
 *
 * The owner posts; it waits for answers to JOIN, STAGE and PLAN, never for those to RUN, which are
 * told by `done` alone. There is one channel for each communicator.
 */
#ifndef COLLSHIM_SHIM_HELPER_DESK_H
#define COLLSHIM_SHIM_HELPER_DESK_H

#include <stdatomic.h>
#include <stdint.h>

enum { DESK_CHANNELS = 8, DESK_ORDERS = 256, DESK_PLANS = 32, DESK_TEXT = 192, DESK_PATH = 4096 };
enum { DESK_ID_BYTES = 128, DESK_HANDLE_BYTES = 64, DESK_LIBRARY = -1 };

enum desk_kind {
    DESK_START, /* load the libraries, open the device; answered */
    DESK_ID,    /* make a unique id for a channel; answered in `id` */
    DESK_JOIN,  /* the channel's communicator: with the helpers of its other ranks; answered */
    DESK_STAGE, /* open the owner's memory; answered */
    DESK_PLAN,  /* take the steps in the window as a plan of the channel; answered */
    DESK_RUN,   /* carry a slice that lies in that memory */
    DESK_LEAVE, /* end the communicator behind its work; `joined` says when that is done */
    DESK_CUT    /* the same at once (ncclCommAbort) */
};

struct desk_order {
    uint32_t kind; /* enum desk_kind */
    int32_t channel;
    /* DESK_JOIN */
    int32_t rank, nranks, most_blocks;
    unsigned char id[DESK_ID_BYTES];
    /* DESK_STAGE */
    unsigned char handle[DESK_HANDLE_BYTES];
    uint64_t offset; /* of the helper's part, from the base of the allocation */
    /* DESK_PLAN; DESK_RUN: which, or DESK_LIBRARY: the library's own collective */
    int32_t plan;
    uint32_t nsteps;
    uint64_t scratch_bytes;
    /* DESK_RUN */
    uint32_t ticket;
    uint64_t count;                 /* elements */
    int32_t type, op;               /* NCCL's numbers */
    int32_t kernel_type, kernel_op; /* the same for kernels, where there is a plan */
};

struct desk_channel {
    _Alignas(128) _Atomic uint32_t go;    /* the ticket up to which slices lie ready; by a stream */
    _Alignas(128) _Atomic uint32_t done;  /* the ticket up to which they are carried; by a stream */
    _Alignas(128) _Atomic uint32_t asked; /* by the owner: orders that want an answer */
    _Atomic uint32_t answered;            /* by the helper */
    int32_t status;                       /* of the last answer: 0, or -1 and why */
    _Atomic int32_t broken;               /* enqueued work has failed, see why */
    _Atomic int32_t joined;               /* there is a communicator here */
    char why[DESK_TEXT];
    unsigned char id[DESK_ID_BYTES];
};

struct desk {
    /* Written before DESK_START: the very libraries that the owner has, and its device. */
    char nccl_path[DESK_PATH], cuda_path[DESK_PATH], bus[32];
    /* Pages of their own, which both pin. */
    _Alignas(4096) struct desk_channel channel[DESK_CHANNELS];
    _Alignas(4096) _Atomic uint32_t posted; /* by the owner */
    _Alignas(128) _Atomic uint32_t taken;   /* by the helper */
    struct desk_order order[DESK_ORDERS];   /* number i at i % DESK_ORDERS */
};

#endif
