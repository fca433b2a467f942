/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator's helpers as its calls and the watch know them. The watch is one thread of the
 * process. It sees that a helper failed, here or on another rank, closes what has ended, and does
 * nothing else.
 *
 * When a helper fails, its rank rings the alarm. Each rank then says how many calls it has given to
 * its helpers, and whether these are done. From the largest number on, all ranks use the library.
 * If no call was under way, that is all. Otherwise calls before it are lost on every rank. The
 * application's streams stay behind the lost call until the program knows of it, so that no
 * operation uses an invalid result. A program that never asks waits, as it does when NCCL loses a
 * peer.
 */
#ifndef COLLSHIM_SHIM_NCCL_PPG_WATCH_H
#define COLLSHIM_SHIM_NCCL_PPG_WATCH_H

#include <pthread.h>
#include <stdatomic.h>

#include "shim/nccl/comm/comm.h"

enum ppg_condition {
    PPG_WORKS,
    PPG_FAILED,   /* a helper did, and the ranks are agreeing on what that means */
    PPG_UNHARMED, /* nothing was under way: from call `until` on, the library */
    PPG_HARMED,   /* calls before `until` are lost */
    PPG_UNSETTLED /* the ranks could not agree: every call fails */
};

/* Memory between calls and helpers. The calls'. */
struct ppg_staging {
    CUcontext context;
    char *at; /* [helpers] pieces; from the pool (scratch.h) */
    uint64_t bytes, piece_bytes;
    CUevent last; /* after its last use; owned */
    int has_run;
};

struct ppg {
    struct ppg *next; /* the watch's */
    int usable;       /* 0: no helpers are used, on all ranks alike */
    int watched;      /* by the watch, which frees it */
    int helpers, channel, rank, nranks;
    int mps; /* is there a Multi-Process Service? */
    struct notice_board board;
    uint64_t key;
    int alarm, verdict;   /* descriptors; owned by the watch; -1: none */
    pthread_mutex_t lock; /* of calls with condition */
    uint64_t calls;       /* so far, with helpers or without: the same on all ranks */
    uint64_t until;       /* the number of the first that no rank gives to its helpers */
    _Atomic int condition;
    _Atomic int told;        /* the program knows */
    _Atomic int fault;       /* a call could not be enqueued as a whole */
    _Atomic int ends;        /* 1: behind its work, 2: at once */
    _Atomic int forgotten;   /* no call is in it any more */
    int left;                /* the helpers have been told that it ends; the watch's */
    _Atomic uint32_t ticket; /* of the last call, in the helpers' counters */
    struct ppg_staging staging;
};

/* Listen for an alarm of the communicator's, and watch from now on. Returns 0 or -1; ends with
 * ppg_end() and ppg_forget(). */
int ppg_watch(struct ppg *p);

/* Is a communicator of this process ending, so that a channel will soon be free? */
int ppg_watch_expects(void);

/* The helpers' part of ncclCommGetAsyncError's result. NULL is fine. */
ncclResult_t ppg_state(struct ppg *p);

/* The communicator ends; at_once: without regard to work under way. Does not wait. NULL is fine. */
void ppg_end(struct ppg *p, int at_once);

/* It has no user any more; it ends by itself. NULL is fine. */
void ppg_forget(struct ppg *p);

#endif
