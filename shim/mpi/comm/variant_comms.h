/* SPDX-License-Identifier: BSD-3-Clause */
/* The private communicators of the library's own algorithms (variants.h). */
#ifndef COLLSHIM_SHIM_MPI_VARIANT_COMMS_H
#define COLLSHIM_SHIM_MPI_VARIANT_COMMS_H

#include <mpi.h>

#include "planners/choose/variants.h"

/* For Open MPI. One serves all collectives that have the same number. COLLSHIM_ALGORITHM names one
   for each collective at most. Owned by the communicator's state, all zero at first. */
struct variants {
    int n;
    struct variant_comm {
        const struct plan_variant *like; /* one of those that it serves */
        MPI_Comm comm;                   /* MPI_COMM_NULL: it could not be made, on all ranks */
    } made[COLL_COUNT];
};

void variants_free(struct variants *v);

#endif
