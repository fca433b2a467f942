/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The launcher's key-value store (PMIx) answers the question, because asking it about a
 * rank needs nothing from that rank: each rank publishes a key, others look it up with a
 * time limit. The answer must be the same everywhere although limits may expire early on
 * one rank: only the root decides, and it says yes only if every rank has promised, by
 * its own key, to wait for that decision without a limit. A rank promises only after it
 * has seen that the root is there.
 *
 * PMIx is used if the MPI library has loaded it already (Open MPI 4 and later do), through
 * the few functions and types below, whose layout is fixed since PMIx 3. MPICH's Hydra has no
 * such store within reach, but hands the whole environment to every rank.
 */
#include "shim/mpi/presence.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { FANOUT = 16, PATIENCE_S = 10, FOR_EVER = -1 };
enum { PMIX_SUCCESS_CODE = 0, PMIX_SCOPE_GLOBAL = 3, PMIX_TYPE_INT = 6 };

struct pmix_proc {
    char nspace[256];
    uint32_t rank;
};

struct pmix_value {
    uint16_t type;
    union {
        int integer;
        char room[24]; /* the largest member of pmix_value_t's union */
        uint64_t alignment;
    } data;
};

struct pmix_info {
    char key[512];
    uint32_t flags;
    struct pmix_value value;
};

struct pmix {
    int (*Init)(struct pmix_proc *, void *, size_t);
    int (*Put)(int, const char *, struct pmix_value *);
    int (*Commit)(void);
    int (*Get)(const struct pmix_proc *, const char *, const struct pmix_info *, size_t,
               struct pmix_value **);
    int (*Finalize)(void *, size_t);
    struct pmix_proc self;
};

static int pmix_open(struct pmix *x)
{
    void *library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_NOLOAD);

    if (!library)
        return 0;
    *(void **)&x->Init = dlsym(library, "PMIx_Init");
    *(void **)&x->Put = dlsym(library, "PMIx_Put");
    *(void **)&x->Commit = dlsym(library, "PMIx_Commit");
    *(void **)&x->Get = dlsym(library, "PMIx_Get");
    *(void **)&x->Finalize = dlsym(library, "PMIx_Finalize");
    dlclose(library); /* the MPI library keeps it loaded */
    return x->Init && x->Put && x->Commit && x->Get && x->Finalize &&
           x->Init(&x->self, NULL, 0) == PMIX_SUCCESS_CODE;
}

static int publish(struct pmix *x, const char *key, int number)
{
    struct pmix_value value = {.type = PMIX_TYPE_INT, .data.integer = number};

    return x->Put(PMIX_SCOPE_GLOBAL, key, &value) == PMIX_SUCCESS_CODE &&
           x->Commit() == PMIX_SUCCESS_CODE;
}

/* One attempt to look a number up; -1 if it is not there. */
static int ask(struct pmix *x, const struct pmix_proc *there, const char *key)
{
    struct pmix_info limit = {.key = "pmix.timeout",
                              .value = {.type = PMIX_TYPE_INT, .data.integer = 1}};
    struct pmix_value *found = NULL;

    if (x->Get(there, key, &limit, 1, &found) != PMIX_SUCCESS_CODE || !found)
        return -1;
    /* The value is 32 bytes of PMIx's own, once per job, and left alone: only PMIx may free it. */
    return found->data.integer;
}

/*
 * What a rank published, or -1 if it did not in `limit_s` seconds (FOR_EVER: wait). A server
 * that holds other keys of that rank says at once that it lacks this one, so ask again.
 */
static int look_up(struct pmix *x, int rank, const char *key, int limit_s)
{
    struct pmix_proc there = x->self;
    time_t end = time(NULL) + limit_s;
    long pause_ns = 100000;

    there.rank = (uint32_t)rank;
    for (;;) {
        int number = ask(x, &there, key);
        if (number >= 0 || (limit_s != FOR_EVER && time(NULL) > end))
            return number;
        nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
        if (pause_ns < 20000000)
            pause_ns *= 2;
    }
}

/* Levels of the tree below a rank: how much longer than a leaf it may take to answer. */
static int height(int rank, int size)
{
    int levels = 0;

    for (long first = rank; first * FANOUT + 1 < size; first = first * FANOUT + 1)
        levels++;
    return levels;
}

/* Do all ranks below this one in the tree promise? *missing names one that does not. */
static int children_promise(struct pmix *x, int rank, int size, int *missing)
{
    for (long child = (long)rank * FANOUT + 1;
         child <= (long)rank * FANOUT + FANOUT && child < size; child++) {
        int limit = PATIENCE_S * (height((int)child, size) + 2);
        if (look_up(x, (int)child, "collshim.promise", limit) != 1) {
            *missing = (int)child;
            return 0;
        }
    }
    return 1;
}

static int decide(struct pmix *x, int rank, int size, int *missing)
{
    if (!publish(x, "collshim.here", 1))
        return 0;
    if (rank && look_up(x, 0, "collshim.here", PATIENCE_S) != 1) {
        *missing = 0;
        return 0; /* without this promise nobody gets a yes */
    }
    int all = children_promise(x, rank, size, missing);
    if (!rank) {
        publish(x, "collshim.decision", all);
        return all;
    }
    if (!publish(x, "collshim.promise", all))
        return 0;
    return look_up(x, 0, "collshim.decision", FOR_EVER) == 1;
}

int presence_everywhere(int rank, int size, int *missing)
{
    struct pmix x = {0};

    *missing = -1;
    if (size == 1 || !pmix_open(&x))
        return 1;
    int all = decide(&x, rank, size, missing);
    x.Finalize(NULL, 0); /* undoes our PMIx_Init; the library's own stays */
    return all;
}
