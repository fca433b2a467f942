/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small calls that come again. A call with the function, counts, predefined types, operation and
 * root of an earlier one on its communicator is as right and as large as that was. While the guard
 * is settled on the same contender, it goes the same way without the questions in between. Code and
 * data of these are cold after a program's own work: 16 ranks on two cores were 7 % slower by one
 * of the library's algorithms than with it forced, and are about 4 % so (docs/figures.md, 1 KiB).
 *
 * The counts that all ranks keep advance as if all questions had been asked, since another rank may
 * have to ask them. Rejected: remembering larger calls, whose way depends on rails and helpers too.
 *
 * Thread rule: as struct mpi_comm, where the calls are kept.
 */
#ifndef COLLSHIM_SHIM_MPI_SETTLED_H
#define COLLSHIM_SHIM_MPI_SETTLED_H

#include <mpi.h>
#include <stdint.h>

#include "shim/decide/reasons.h"

struct guard_entry;
struct mpi_call;
struct mpi_comm;
struct plan_variant;
struct variant_comm;

enum { SETTLED_KEPT = 8 }; /* calls of a communicator, a power of two */

/* Equal in calls that are alike; zero where a function has no such argument. */
struct settled_like {
    int (*native)(const struct mpi_call *call); /* which function (mpi_call) */
    MPI_Count count[2];                         /* sent, or both; received */
    MPI_Datatype type[2]; /* sent, unless in place; received; MPI_DATATYPE_NULL: not significant */
    MPI_Op op;
    int root;
};

/* Buffers of a call that are significant on this rank. */
enum settled_buffers {
    SETTLED_OWN,     /* own alone, which is not in place */
    SETTLED_AT_ROOT, /* both at the root, own alone elsewhere */
    SETTLED_BOTH
};

/* A call that may come again. own may be MPI_IN_PLACE, all is the other buffer. */
struct settled_call {
    struct settled_like like;
    enum settled_buffers buffers;
    const void *own, *all;
};

/* Such a call with a buffer for what is sent and one for what is received, on all ranks. */
static inline struct settled_call settled_both(int (*native)(const struct mpi_call *call),
                                               const void *sent, MPI_Count nsent,
                                               MPI_Datatype sent_type, const void *received,
                                               MPI_Count nreceived, MPI_Datatype received_type)
{
    return (struct settled_call){
        .like = {.native = native, .count = {nsent, nreceived}, .type = {sent_type, received_type}},
        .buffers = SETTLED_BOTH,
        .own = sent,
        .all = received};
}

/* One that is kept; like.native NULL: none. */
struct settled {
    struct settled_like like;
    uint64_t total;
    int in_place, never;                /* never: some type is not predefined */
    uint32_t key;                       /* the guard's, of its entry */
    int entry;                          /* which */
    enum reason why;                    /* the library serves as it likes */
    const struct plan_variant *variant; /* NULL: it does */
    struct variant_comm *place;         /* of the variant; NULL: it needs none */
};

/*
 * Is the call, whose total is known, like one that is kept, and does all still hold? Then it is
 * carried out: returns 1, and *rc is what the MPI function returns. Else call->settled is s.
 */
int settled_again(struct mpi_call *call, const struct settled_call *s, int *rc);

/* The guard is settled on this way of the call. Keeps it if it is a small blocking one that has
   call->settled. v: the variant, prepared; NULL: the library as it likes, and why. */
void settled_keep(struct mpi_comm *c, const struct mpi_call *call, const struct plan_variant *v,
                  enum reason why);

#endif
