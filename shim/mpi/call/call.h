/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collective call of the application on its way. Each collective has its own file, which fills
 * a struct mpi_call: what the call asks for, where its blocks lie, and the library's own function
 * for it.
 */
#ifndef COLLSHIM_SHIM_MPI_CALL_H
#define COLLSHIM_SHIM_MPI_CALL_H

#include <mpi.h>

#include "planners/choose/registry.h"
#include "shim/decide/base/reasons.h"
#include "shim/mpi/call/layout.h"
#include "shim/mpi/call/reduction.h"

/* One block of the application's memory and where its packed bytes belong. */
struct call_block {
    char *user;
    MPI_Count count;   /* elements */
    uint64_t packed;   /* offset in the packed buffer */
    int is_own;        /* the block has a layout of its own: */
    struct layout own; /* else it has the call's */
};

/* The block's layout; all: the call's, of that side. */
static inline const struct layout *call_block_layout(const struct call_block *b,
                                                     const struct layout *all)
{
    return b->is_own ? &b->own : all;
}

/* The form of a call (forms.h). */
struct mpi_call;
struct call_form {
    int (*native)(const struct mpi_call *call); /* of mpi_call */
    MPI_Request *request; /* of a nonblocking call, or a persistent one; NULL: it blocks */
    MPI_Info info;        /* of a persistent call */
    int persistent;
};

struct library_buffer;
struct matrix_call;
struct mpi_comm;

/* The memory of a call that outlives its start. */
struct call_owned {
    void *room;     /* of a nonblocking call: its sizes, and where blocks start */
    int lacks_room; /* there is no memory for it: these are the communicator's */
    int ntypes;
    MPI_Datatype *types;           /* [ntypes] in room: owned too */
    struct late_sizes *late_sizes; /* of one whose sizes are not known yet; or NULL */
};

/* The input: one block, unless in place; or the first of n, which are then packed. */
struct call_input {
    struct layout layout;
    struct call_block block;
    int n;
    int stage; /* it must not be read where it lies */
    struct call_block (*blocks)(const struct mpi_call *call, int i);
};

/* The output: n blocks; block(call, i) is the i-th. */
struct call_output {
    struct layout layout;
    struct call_block (*block)(const struct mpi_call *call, int i);
    int n;
    int held;      /* the block that is filled from the start, or NO_BLOCK */
    int dense;     /* the whole output is already packed, from block(0).user on */
    int unchanged; /* nothing is written to it here (root of a broadcast) */
};

struct mpi_call {
    enum plan_collective collective;
    MPI_Comm comm;
    struct plan_request request; /* but for topo, rank and chunk_bytes */
    uint64_t total;              /* bytes of the whole collective, the same on all ranks */
    uint32_t passed;       /* calls like it since the ranks were last asked about sizes; as total */
    const void *arguments; /* of the MPI call, for the functions below; */
    size_t arguments_bytes;   /* so many: a call that outlives its start keeps a copy */
    MPI_Request *nonblocking; /* where the request goes; NULL: the call blocks */
    int persistent;           /* it makes the request, to be started later */
    int combines;             /* reduction is set */
    struct reduction reduction;
    struct call_input input;
    struct call_output output;
    struct call_owned owned;

    /* The library's own function with the application's arguments, but on `comm` (called by
       library_call). The other tells which of the arguments are buffers: it fills in at most two
       and returns how many, or 0 if the library judges them. */
    int (*native)(const struct mpi_call *call);
    int (*buffers)(const struct mpi_call *call, struct library_buffer *list);

    /* native, with elements that are alike on all ranks, for algorithms that split a message by
       them; totals that an int holds only. NULL: native's are. */
    int (*native_alike)(const struct mpi_call *call);

    /* Called once, before code of the program may run behind the decision: it need not return.
       native: as in the outcome. NULL: nobody asks. */
    void (*decided)(const struct mpi_call *call, enum reason native);
    struct matrix_call *exchange; /* for it */

    int wrong;    /* an MPI code: this rank cannot serve the call (mpi_reroute_wrong); or 0 */
    double begun; /* where plans are new with every call: when it began, less what agreeing took, so
                     that the guard counts both against a reroute; else 0 */
};

/* Free the call's room and types. */
void mpi_call_drop(const struct mpi_call *call);

/* How a call went. */
struct mpi_outcome {
    int rc;             /* the MPI function's */
    int unhandled;      /* the code that the error handler has not heard of yet, or MPI_SUCCESS */
    enum reason native; /* why it ran natively, and calls like it will; else REASON_NONE */
    int by_library;     /* the library's function has run on the program's communicator, last */
};

#define NO_BLOCK (-1)

/* A call as each one begins. arguments, buffers: as in struct mpi_call. */
static inline struct mpi_call
mpi_call_begin(enum plan_collective collective, MPI_Comm comm, const struct call_form *form,
               const void *arguments, size_t arguments_bytes,
               int (*buffers)(const struct mpi_call *, struct library_buffer *))
{
    return (struct mpi_call){.collective = collective,
                             .comm = comm,
                             .request = {.collective = collective, .grain = 1},
                             .arguments = arguments,
                             .arguments_bytes = arguments_bytes,
                             .nonblocking = form->request,
                             .persistent = form->persistent,
                             .native = form->native,
                             .buffers = buffers};
}

#endif
