/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small calls that come again. A call with the function, counts, predefined types, operation and
 * root of an earlier one on its communicator is as right and as large as that was. While the guard
 * is settled on the same contender, it goes the same way without the questions in between.
 *
 * Code and data of these questions are cold after a program's own work, and a call of 16 ranks on
 * two cores waits for the last rank's. So a call that differs from the library's at most by its
 * communicator is remembered in a cache line, which a wrapper looks at before all else
 * (settled_passes): as many of them pass as the guard leaves alone. Others have a longer look
 * (settled_again): by an algorithm that takes bytes, or a variable around the call.
 *
 * The counts that all ranks keep advance as if all questions had been asked, since another rank may
 * have to ask them. Those of calls that passed are brought up to date before they are read
 * (settled_flush). So `collshim top` may be some hundred of them behind. Rejected: remembering
 * larger calls, whose way depends on rails and helpers too.
 *
 * Thread rule: as struct mpi_comm, where the calls are kept.
 */
#ifndef COLLSHIM_SHIM_MPI_SETTLED_H
#define COLLSHIM_SHIM_MPI_SETTLED_H

#include <mpi.h>
#include <stdint.h>

#include "planners/registry.h"
#include "shim/decide/reasons.h"

struct guard_entry;
struct mpi_call;
struct mpi_comm;
struct plan_variant;
struct variant_comm;

enum { SETTLED_KEPT = 8 }; /* calls of a communicator */

/* Equal in calls that are alike: arguments as given, also those without a meaning on this rank;
   zero where a function has no such argument. They are compared, and nothing is asked about them.
 */
struct settled_like {
    int (*native)(const struct mpi_call *call); /* which function (mpi_call) */
    MPI_Count count[2];                         /* of the first buffer, or of both; of the second */
    MPI_Datatype type[2];
    MPI_Op op;
    int root;
};

/* Such a call with a count and a type for each buffer, or with one for all. */
static inline struct settled_like settled_of_two(int (*native)(const struct mpi_call *call),
                                                 MPI_Count sent, MPI_Datatype sent_type,
                                                 MPI_Count received, MPI_Datatype received_type,
                                                 int root)
{
    return (struct settled_like){.native = native,
                                 .count = {sent, received},
                                 .type = {sent_type, received_type},
                                 .root = root};
}

static inline struct settled_like settled_of_one(int (*native)(const struct mpi_call *call),
                                                 MPI_Count count, MPI_Datatype type, MPI_Op op,
                                                 int root)
{
    return (struct settled_like){
        .native = native, .count = {count}, .type = {type, type}, .op = op, .root = root};
}

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

/* One that is kept; like.native NULL: none. */
struct settled {
    struct settled_like like;
    enum plan_collective collective;
    uint64_t total, reach;              /* reach: as in struct settled_line */
    int in_place, never;                /* never: some type is not predefined */
    uint32_t key;                       /* the guard's, of its entry */
    int entry;                          /* which */
    enum reason why;                    /* the library serves as it likes */
    const struct plan_variant *variant; /* NULL: it does */
    struct variant_comm *place;         /* of the variant; NULL: it needs none */
};

/* The same in one cache line: `left` more calls like it pass. */
struct settled_line {
    int (*native)(const struct mpi_call *call);
    MPI_Datatype type[2];
    MPI_Op op;
    uint64_t *counter; /* of such calls (count.h); NULL: by the library's own algorithm */
    int32_t count[2];
    int32_t root;
    uint32_t left;
    uint32_t last;  /* which of struct settled_lines' calls was its last one */
    uint32_t reach; /* bytes of the other buffer that own must not lie in; 0: own alone matters */
} __attribute__((aligned(64)));

struct settled_lines {
    uint32_t calls;               /* that passed, by any line, since they were counted */
    uint32_t open;                /* lines that may have calls left, a bit each */
    uint32_t given[SETTLED_KEPT]; /* what `left` of each was then */
    MPI_Comm by[SETTLED_KEPT];    /* of an algorithm of the library's: its communicator */
    struct settled_line line[SETTLED_KEPT];
} __attribute__((aligned(64)));

/*
 * Is it a call of the library's that needs no question? Counts it if so, and *comm is the
 * communicator that the library gets; settled_end follows, with what it returned. Asked by wrappers
 * of blocking calls, before all else; inlined, because most programs have no such call.
 */
int settled_is_passing(MPI_Comm *comm, const struct settled_like *like, const void *own,
                       const void *all);
int settled_end_by(MPI_Comm comm, int rc);
extern int settled_any; /* a line was opened in this process */
static inline int settled_passes(MPI_Comm *comm, const struct settled_like *like, const void *own,
                                 const void *all)
{
    return __atomic_load_n(&settled_any, __ATOMIC_RELAXED) &&
           settled_is_passing(comm, like, own, all);
}
static inline int settled_end(MPI_Comm comm, MPI_Comm by, int rc)
{
    return by == comm ? rc : settled_end_by(comm, rc);
}

/* Bring the communicator's counts up to date, and let no call pass until settled_again has seen one
   like it: the guard may be read and changed. By mpi_comm_find. */
void settled_flush(struct mpi_comm *c);

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
