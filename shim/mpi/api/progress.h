/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's progress engine calls us: in every MPI call of the application that waits or tests,
 * for any event. MPI wants a nonblocking collective to advance there, so without such a hook none
 * is rerouted.
 */
#ifndef COLLSHIM_SHIM_MPI_PROGRESS_H
#define COLLSHIM_SHIM_MPI_PROGRESS_H

/* The result of a poll. PROGRESS_OVER: it need not be called again. */
enum progress { PROGRESS_OVER, PROGRESS_NONE, PROGRESS_MADE };

/*
 * Called by any thread that is inside MPI, by several at once under MPI_THREAD_MULTIPLE, and again
 * from inside itself where it calls MPI. It must not wait.
 */
typedef enum progress (*progress_poll)(void);

/* Look for the hook of the library behind that handle of dlopen. Once, before MPI_Init. */
void progress_open(void *libmpi);

/* Has this rank's library one? After MPI_Init. */
int progress_exists(void);

/* From here on poll is called, until it returns PROGRESS_OVER. There is one poll function. Any
   thread; not while it is on. Returns 0, or -1 if the library refuses. */
int progress_start(progress_poll poll);

/* Open MPI: from here on look is called too, as poll is; it returns 1 if anything moved. Once.
   Returns 0, or -1 if the library refuses. */
int progress_add(int (*look)(void));

/* Does the library drop its hooks in MPI_Finalize before it calls the delete callbacks of
   MPI_COMM_SELF? MPICH does. It waits there until every poll has returned PROGRESS_OVER. */
int progress_ends(void);

/* One turn of the progress engine of a library with MPIX_Stream_progress. Returns an MPI code. */
int progress_make(void);

/* Before the library's MPI_Finalize: poll is called no more, or returns PROGRESS_OVER. */
void progress_close(void);

#endif
