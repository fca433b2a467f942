/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations shared by the files of this folder; none leaves the library.
 *
 * Thread rule: all functions below but log_line() run on the one thread that holds the binding lock
 * (bind.c). bind_first_call() takes it. Nothing here calls MPI, except family_find(), which asks
 * the library for its version.
 */
#ifndef COLLSHIM_SHIM_PRELOAD_PRELOAD_H
#define COLLSHIM_SHIM_PRELOAD_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "backend.h"

/* ---- log.c ---- */

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/*
 * One line on stderr, "collshim: " in front, if COLLSHIM_LOG (default warn) lets the level
 * through and this process is rank 0 or has no rank yet. Keeps errno. Any thread.
 */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- stubs.c: the table, and the code an application calls ---- */

/*
 * A slot holds the address a stub jumps to. It starts as the stub's first-call function and
 * is overwritten once, with release order, by the thread that binds.
 */
struct symbol {
    const char *pmpi_name; /* "PMPI_Allgather" */
    const char *mpi_name;  /* "MPI_Allgather" */
    const char *name;      /* "Allgather", as a backend says it */
    void **mpi_slot;
    void **pmpi_slot;
};

extern const struct symbol symbol_table[];
extern const size_t symbol_count;

/* ---- bind.c ---- */

/*
 * Called by a stub whose slot is not bound yet. Binds every slot, once per process. Returns the
 * function of this call, with the signature of the symbol; never NULL. slot: the stub's own of the
 * symbol's two. Any thread; blocks while another thread binds. A backend may call MPI while it
 * opens; that call gets the library's own function. If no MPI is loaded nothing is remembered, and
 * the next call looks again. caller: an address in the code that calls.
 */
void *bind_first_call(const struct symbol *symbol, void **slot, const void *caller);

/*
 * Take the binding lock, for nccl.c as well. False, and not taken: this thread is binding already
 * and is to have the library's own functions.
 */
bool bind_enter(void);
void bind_leave(void);

/* ---- find.c: loaded objects ---- */

struct library {
    void *handle;       /* a reference of our own, never closed: slots point into it */
    const void *object; /* its identity, as object_of() gives it */
    const void *front;  /* the object with its MPI_X, if that is another one; else NULL */
    const char *path;   /* owned here, never freed */
    bool global;        /* lookups in the global scope reach it */
};

/* The loaded object that holds this address, or NULL. Compare for identity only. */
const void *object_of(const void *address);

/* libcollshim.so itself, as object_of() would give it. */
const void *object_self(void);

/*
 * The signs of a library. It defines `owns` itself, and `whole`, which tools do not wrap. `front`
 * may be in another object of it (NULL: never).
 */
struct library_marks {
    const char *api; /* for messages */
    const char *owns, *whole, *front;
    bool by_caller; /* of two that are not global, each caller has its own */
};

/*
 * Find the library of this process that has the marks, among all loaded objects but this one.
 * Returns 0 and fills *library, or -ENOENT or -ENOMEM and leaves it.
 */
int find_library(const struct library_marks *marks, struct library *library);

/* The function of that name as the object which holds the address finds it among what it needs, or
   else the first that any object defines. Never one of ours. NULL: there is none. */
void *library_function(const void *caller, const char *name);

/* The object that holds this address, with a reference of our own. Returns as find_library(). */
int library_open(const void *address, struct library *library);
void library_close(const struct library *library);

/* ---- bind.c ---- */

/* Does a backend serve MPI? */
extern int bind_serves_mpi;

/* For host.thread_own of MPI's backend (0) or NCCL's (1). */
long bind_thread_own(int backend);

/* ---- pmix.c ---- */

/* Handed to MPI's backend. */
extern struct backend_announcement announcement;

/* ---- family.c ---- */

struct family {
    const char *name;                /* of the backend file: libcollshim-NAME.so */
    const char *symbol;              /* the family's libraries have it, no others do */
    bool (*confirm)(void *function); /* if set, decides where `symbol` is there */
    const char *words[4];            /* or one of these is in the version's first line */
    int err_other;                   /* its MPI_ERR_OTHER */
};

/*
 * Which family the library is of; NULL if of none known. Writes the first line of its version
 * into `version` (size bytes), or "" where the library has no such call.
 */
const struct family *family_find(void *libmpi, char *version, size_t size);

/* ---- open.c ---- */

/*
 * Open the backend beside libcollshim.so and ask for its functions. host: filled in, lives as
 * long as the process. Returns the backend's table (the backend's own, never freed), or NULL
 * after logging why there is none, at absent_level if the file is missing. A table that is
 * empty is not an error: the backend wants no call.
 */
const struct backend_entry *backend_open(const struct backend_host *host,
                                         enum log_level absent_level);

#endif
