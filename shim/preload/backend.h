/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between libcollshim.so and a backend. Every process loads libcollshim.so, which
 * knows no MPI. A backend libcollshim-FAMILY.so is compiled against one mpi.h (or nccl.h), and
 * opened only in a process that runs that library.
 *
 * The preload finds the MPI, opens the backend of its family once, and asks it
 * which functions it replaces. A function the backend does not name is bound to
 * the original symbol, so that calling it costs one indirect jump. The backend
 * reads the settings; the preload reads none of them, but for COLLSHIM_LOG.
 */
#ifndef COLLSHIM_SHIM_PRELOAD_BACKEND_H
#define COLLSHIM_SHIM_PRELOAD_BACKEND_H

#define BACKEND_ABI 7
#define BACKEND_OPEN_SYMBOL "collshim_backend_open"

/*
 * A key that the MPI library is to publish together with its own, so that other ranks can look it
 * up (pmix.c). The backend sets `key` before the library's MPI_Init and NULL after it; the preload
 * fills in the rest meanwhile. One thread: the one in MPI_Init.
 */
enum { ANNOUNCEMENT_BESIDE = 8 };
struct backend_announcement {
    const char *key; /* borrowed from the backend; NULL: nothing to announce */
    int value;       /* the value published under it: the version, as a number */
    int placed;      /* it is published with the library's keys */
    int nbeside;     /* keys of the library beside it that other hosts can read */
    char beside[ANNOUNCEMENT_BESIDE][64];
};

/* Each thread has so much memory in libcollshim.so for each backend, all zero at first. */
enum { BACKEND_THREAD_BYTES = 312 };

static inline void *backend_thread_pointer(void)
{
#if defined(__x86_64__)
    void *self; /* __builtin_thread_pointer needs GCC 11 here */

    __asm__("mov %%fs:0, %0" : "=r"(self));
    return self;
#else
    return __builtin_thread_pointer();
#endif
}

/* The library that the preload found. All pointers stay valid for the life of the process. */
struct backend_host {
    int abi;                     /* BACKEND_ABI of the preload */
    const char *api;             /* "MPI" or "NCCL" */
    void *library;               /* dlopen handle of the object that owns PMPI_Init or
                                    pncclCommInitRank; never closed */
    const char *library_path;    /* its path, for messages */
    const char *family;          /* "openmpi", "mpich", "abi" or "nccl" */
    const char *library_version; /* MPI_Get_library_version, first line; "NCCL 2.28.9" */
    struct backend_announcement *announcement; /* MPI's backends; NULL for NCCL's */
    long thread_own;       /* bytes from any thread's pointer to its memory; not 0 */
    const int *serves_mpi; /* NCCL's: does a backend serve MPI in this process, by now? */
};

/* One function the backend replaces. */
struct backend_entry {
    const char *name; /* without the MPI_ or nccl prefix: "Allgather" */
    void *function;   /* same signature as MPI_<name> or nccl<name> */
};

/*
 * Exported by every backend under BACKEND_OPEN_SYMBOL. Called once, by the thread that makes the
 * first intercepted call, before or after MPI_Init; it must not call MPI. Returns the entries,
 * ended by one whose name is NULL. If this backend cannot serve this process, it returns NULL with
 * one line in `why` (size bytes). Then the preload prints the line and binds everything to the
 * original symbols. The NCCL backend is called once for each copy of NCCL in the process, and gives
 * each its own functions.
 */
typedef const struct backend_entry *(*backend_open_fn)(const struct backend_host *host, char *why,
                                                       unsigned size);

#endif
