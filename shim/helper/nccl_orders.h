/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that a helper for NCCL shares with its owner: orders in the sequence of the owner's calls,
 * and counters by which the streams of both wait for each other. It lies in the payload of the
 * mailbox's first channel; plans lie in the window there.
 *
 * All communicators have one sequence. NCCL demands that communicators on one device are issued in
 * one order on all ranks, and the owner's program keeps such an order. An order only enqueues work,
 * so one that waits on the device does not delay those behind it.
 *
 * The owner posts; it waits for answers to JOIN, STAGE and PLAN, never for those to RUN, which are
 * told by `done` alone. There is one channel for each communicator.
 */
#ifndef COLLSHIM_SHIM_HELPER_NCCL_ORDERS_H
#define COLLSHIM_SHIM_HELPER_NCCL_ORDERS_H

#include <stdatomic.h>
#include <stdint.h>

enum {
    NCCL_ORDERS_CHANNELS = 8,
    NCCL_ORDERS_QUEUED = 256,
    NCCL_ORDERS_PLANS = 32,
    NCCL_ORDERS_TEXT = 192,
    NCCL_ORDERS_PATH = 4096
};
enum { NCCL_ORDERS_ID_BYTES = 128, NCCL_ORDERS_HANDLE_BYTES = 64, NCCL_ORDERS_LIBRARY = -1 };

enum nccl_order_kind {
    NCCL_ORDER_START, /* load the libraries, open the device; answered */
    NCCL_ORDER_ID,    /* make a unique id for a channel; answered in `id` */
    NCCL_ORDER_JOIN, /* the channel's communicator: with the helpers of its other ranks; answered */
    NCCL_ORDER_STAGE, /* open the owner's memory; answered */
    NCCL_ORDER_PLAN,  /* take the steps in the window as a plan of the channel; answered */
    NCCL_ORDER_RUN,   /* carry a slice that lies in that memory */
    NCCL_ORDER_LEAVE, /* end the communicator behind its work; `joined` says when that is done */
    NCCL_ORDER_CUT    /* the same at once (ncclCommAbort) */
};

struct nccl_order {
    uint32_t kind; /* enum nccl_order_kind */
    int32_t channel;
    /* NCCL_ORDER_JOIN */
    int32_t rank, nranks, most_blocks;
    unsigned char id[NCCL_ORDERS_ID_BYTES];
    /* NCCL_ORDER_STAGE */
    unsigned char handle[NCCL_ORDERS_HANDLE_BYTES];
    uint64_t offset; /* of the helper's part, from the base of the allocation */
    /* NCCL_ORDER_PLAN; NCCL_ORDER_RUN: which, or NCCL_ORDERS_LIBRARY: the library's own collective
     */
    int32_t plan;
    uint32_t nsteps;
    uint64_t scratch_bytes;
    /* NCCL_ORDER_RUN */
    uint32_t ticket;
    uint64_t count;                 /* elements */
    int32_t type, op;               /* NCCL's numbers */
    int32_t kernel_type, kernel_op; /* the same for kernels, where there is a plan */
};

struct nccl_order_channel {
    _Alignas(128) _Atomic uint32_t go;    /* the ticket up to which slices lie ready; by a stream */
    _Alignas(128) _Atomic uint32_t done;  /* the ticket up to which they are carried; by a stream */
    _Alignas(128) _Atomic uint32_t asked; /* by the owner: orders that want an answer */
    _Atomic uint32_t answered;            /* by the helper */
    int32_t status;                       /* of the last answer: 0, or -1 and why */
    _Atomic int32_t broken;               /* enqueued work has failed, see why */
    _Atomic int32_t joined;               /* there is a communicator here */
    char why[NCCL_ORDERS_TEXT];
    unsigned char id[NCCL_ORDERS_ID_BYTES];
};

struct nccl_orders {
    /* Written before NCCL_ORDER_START: the very libraries that the owner has, and its device. */
    char nccl_path[NCCL_ORDERS_PATH], cuda_path[NCCL_ORDERS_PATH], bus[32];
    /* Pages of their own, which both pin. */
    _Alignas(4096) struct nccl_order_channel channel[NCCL_ORDERS_CHANNELS];
    _Alignas(4096) _Atomic uint32_t posted;      /* by the owner */
    _Alignas(128) _Atomic uint32_t taken;        /* by the helper */
    struct nccl_order order[NCCL_ORDERS_QUEUED]; /* number i at i % NCCL_ORDERS_QUEUED */
};

#endif
