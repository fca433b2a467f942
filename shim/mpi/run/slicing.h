/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One slice of a call: its plan, its order to a helper, and the way of its bytes. slices.c runs a
 * blocking call in slices, background.c a nonblocking one.
 */
#ifndef COLLSHIM_SHIM_MPI_SLICING_H
#define COLLSHIM_SHIM_MPI_SLICING_H

#include "planners/choose/slices.h"
#include "shim/helper/helpers.h"
#include "shim/mpi/call/call.h"
#include "shim/mpi/comm/comm.h"

/* The whole call's packed buffers, as the request says, in host memory or on a device. failed: 0,
   or the code with which the call has failed on this rank already; buffers may be NULL then. */
struct slicing_buffers {
    char *input, *output;
    struct device *device;          /* begun; NULL: host memory */
    struct cuda_gpu *gpu;           /* whose that is */
    const struct cuda_place *place; /* and where */
    int failed;
};

/* One call in slices. */
struct slicing {
    struct mpi_comm *comm;
    const struct mpi_call *call;
    const struct plan_algorithm *algorithm;
    int n;   /* slices */
    int own; /* 1: slice 0 is the rank's, slice i its i-th helper's; 0: all are helpers' */
    size_t most_chunk; /* bytes of a chunk; 0: as the call has it */
    struct slicing_buffers whole;
    char *lent[HELPERS_MAX + 1]; /* slices that lie on the device, by number; else NULL */
    int code;                    /* with which the call has failed on this rank, or 0 */
    int failed;                  /* a helper of this rank did, and the others have been told */
    int heard;                   /* of another rank's */
    struct load_link crossing;   /* of the slices that were begun */
};

/* The request, the window and the plan of a slice; plan and engine as from mpi_comm_engine. */
struct slice {
    struct plan_request request;
    struct slice_window window;
    const struct plan *plan;
    struct engine *engine;
    struct load_link crossing;
};

/* The i-th. Returns as mpi_comm_engine. */
int slicing_get(struct slicing *s, int i, struct slice *slice);

/* The helper of slice i. */
static inline int slicing_helper(const struct slicing *s, int i)
{
    return i - s->own;
}

/* Must the rank copy for this helper? */
int slicing_is_staged(const struct slicing *s, int helper);

/* Give the slice to its helper. Returns 0 if it cannot be given. */
int slicing_hand_out(struct slicing *s, int i, const struct slice *slice);

/* Bytes of a slice from the application's memory into the window, or back. Return 0 or a negative
   code. */
int slicing_copy_in(const struct slicing *s, const struct slice_part *p, char *window);
int slicing_copy_out(const struct slicing *s, const struct slice_part *p, const char *window);

/* Copy the result of a helper's slice out of the window; fine for a helper that has died since. */
int slicing_take(const struct slicing *s, int i, const struct slice_window *w);

/* Copied, for orders: the same bytes. */
struct mailbox_pieces slicing_pieces(const struct slicing *s, const struct slice_part *p);

/* Room for slice i on the device, its window and behind that its scratch: the helper's, or with 0
   the rank's own. NULL: none, or not there. */
char *slicing_lend(struct slicing *s, int i, const struct slice *slice, size_t *scratch_at);

void slicing_add_crossing(struct slicing *s, const struct slice *slice);

/* A helper of this rank failed: tell all other ranks, by an empty message of that tag. */
enum { SLICING_NOTICE = 32767 }; /* above the tags of plans; every MPI has it */
void slicing_tell_others(struct slicing *s);

/*
 * Look once, without waiting. *next: the slice to look at, at first s->own. Returns 1 once there is
 * nothing to wait for: all helpers are done, or s->failed or s->heard says that one is lost. *rc:
 * an MPI code.
 */
int slicing_look(struct slicing *s, int *next, int *rc);

#endif
