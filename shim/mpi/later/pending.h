/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that are under way while the application does something else. A communicator's pending
 * calls run one after the other in the order in which they were started, which MPI makes equal on
 * all its ranks: its transport matches messages by their order. Calls of different communicators
 * run side by side. The library's progress engine advances them (progress.h), from any MPI call of
 * the application.
 *
 * Thread rule: any thread may start a call, wait or be the one that advances; one lock serves the
 * process. done() is called under it.
 */
#ifndef COLLSHIM_SHIM_MPI_PENDING_H
#define COLLSHIM_SHIM_MPI_PENDING_H

#include <stddef.h>

#include "shim/mpi/later/late_sizes.h"
#include "shim/mpi/run/background.h"
#include "shim/mpi/run/run.h"
#include "shim/mpi/run/staging.h"

/* A call, to be started once, or again whenever it is done. Owned by the caller; between a start
   and done() it must not move, nor may the application's buffers and vectors. */
struct pending {
    struct pending *next; /* behind it on its communicator */
    struct mpi_comm *comm;
    struct ready ready;     /* ready.call.arguments are a copy of its own */
    struct staging staging; /* open while the call runs, or, if it is kept, from its first run on */
    struct mpi_plan *plan;  /* held */
    struct background *background; /* owned: helpers carry the call; NULL: this rank alone */
    MPI_Datatype type[2]; /* owned: of input and output, where the application may free its own */
    void *arguments;      /* owned; so are ready.call's room and types */
    MPI_Request beside;   /* owned: COLLSHIM_MODE=verify: the library's call, for the application */
    int compares;         /* there is, or was, one */
    int kept;             /* it will be started again: staging stays open */
    int sized;           /* the sizes are known, of a call that is started without (late_sizes.h) */
    int begun, opened;   /* the engine or the helpers; the staging */
    int carried;         /* helpers are at work */
    int through, result; /* the engine is, with this code */
    int failed;          /* its code, or an MPI code with which the call runs without data */
    int code;            /* an MPI code, once it is done */
    void (*done)(struct pending *p);
};

/*
 * Get a call ready. ready: of run_prepare, one process and no variant; call.arguments_bytes of
 * arguments are copied, and call.owned becomes p's. Sends nothing. Returns an MPI code; on an
 * error nothing is owned, but that is freed.
 */
int pending_open(struct pending *p, struct mpi_comm *c, const struct ready *ready, int kept,
                 void (*done)(struct pending *p));

/* How many processes of this rank carry it. */
int pending_processes(const struct pending *p);

/* Get the memory of a kept call, so that a start needs none. Returns 0 or a negative code. */
int pending_reserve(struct pending *p);

/* COLLSHIM_MODE=verify, before the start: the library serves the application, and ours runs beside
   it to be compared. Returns an MPI code: the library refuses the call. */
int pending_compare(struct pending *p);

/* Start it: behind all that were started on its communicator. Never waits. Once it is through, and
   closed unless it is kept, p->done(p) is called, after which p is no longer touched. p->comm may
   be gone by then, unless the call is kept. */
void pending_start(struct pending *p);

/* Let go of what it owns, but p itself. Not while it is under way; from done() is fine. Twice is
   fine. */
void pending_close(struct pending *p);

/* Wait until nothing is pending on that communicator: before anything else uses its transport. */
void pending_drain(struct mpi_comm *c);

/* Calls are kept, so many more or, negative, fewer: while there is one, the library's progress
   engine keeps calling us, so that a start need not ask it to. */
void pending_keep(int more);

/* In MPI_Finalize: wait for all of them, of all communicators. */
void pending_finish(void);

/* Before the library's MPI_Finalize, where it calls no hook any more: what is started from here on
   has ended when its start returns. */
void pending_last(void);

/* Hold the lock, for what poll() advances besides; leave has it polled. Not from done(). */
void pending_enter(void);
void pending_leave(void);

/* That is this, one for the process; under the lock. step: one look, under the lock; returns 1 if
   anything moved; *left: is anything left? end: behind it, without the lock. */
void pending_besides(int (*step)(int *left), void (*end)(void));

#endif
