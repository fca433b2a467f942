/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's own algorithms, where COLLSHIM_ALGORITHM names one (planners/choose/variants.h):
 * which of them all ranks can use, and a call by one of them.
 *
 * Open MPI chooses algorithms for a communicator when it makes one; so a variant has a private
 * communicator, made by the first call that needs it (variants_openmpi.c). MPICH looks at each
 * call; so a variable is set around the call (variants_mpich.c). Both change something that all
 * threads see, so variants are not used under MPI_THREAD_MULTIPLE. A variable that is set already
 * stays, and the variants of its collective are not used.
 *
 * The calls go to private communicators whose errors return; so nothing is left changed behind an
 * error handler that does not return.
 *
 * Thread rule: opening, offering and closing are single-threaded; the rest as struct mpi_comm.
 */
#ifndef COLLSHIM_SHIM_MPI_VARIANTS_H
#define COLLSHIM_SHIM_MPI_VARIANTS_H

#include <mpi.h>

#include "planners/choose/variants.h"
#include "shim/decide/base/reasons.h"

struct mpi_comm;
struct mpi_call;

/* When the library is known. libmpi: its dlopen handle. No MPI calls. */
void variants_open(void *libmpi);

/* After MPI_Init: what this rank's library can be told to use. Local. */
void variants_offer(struct variant_set *set);

/* All ranks can use these. After MPI_Init; until then none. */
void variants_agreed(const struct variant_set *set);
extern struct variant_set variants_usable;

/* Before the library's MPI_Finalize. */
void variants_close(void);

/* COLLSHIM_ALGORITHM's choice for the collective; NULL if the library has no such algorithm, which
   is logged once. */
const struct plan_variant *variants_named(enum plan_collective c);

/*
 * Get ready for the call by that variant. Collective over the communicator where it is the first
 * such call. REASON_NONE, or why it cannot be, on all ranks alike.
 */
enum reason variants_prepare(struct mpi_comm *c, const struct plan_variant *v,
                             const struct mpi_call *call);

/* The call; prepared. It has another communicator and function meanwhile. Returns an MPI code, of
   which no error handler has heard. */
int variants_run(struct mpi_comm *c, const struct plan_variant *v, struct mpi_call *call);

/* How one library is told. */
struct variant_way {
    enum variant_library library;
    /* Is it that library? */
    int (*open)(void *libmpi);
    /* The algorithms that the library can be told to use: adds to set. */
    void (*offer)(struct variant_set *set);
    void (*close)(void);
    /* The call that makes a variant's communicator is between these two; NULL: it needs none.
       begin: 0, or -1 and nothing is changed. prefer: for an info object, or NULL. */
    int (*make_begin)(const struct plan_variant *v, const char **key, const char **prefer);
    void (*make_end)(const struct plan_variant *v);
    /* The call itself is between these two. */
    int (*call_begin)(const struct plan_variant *v);
    void (*call_end)(const struct plan_variant *v);
};
extern const struct variant_way variants_openmpi, variants_mpich;

/* A variable of the collective is left alone, since it has another value than the library's. Says
   so once. */
void variants_say_fixed(const char *variable);

#endif
