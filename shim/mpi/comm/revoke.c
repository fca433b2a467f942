/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank sees in the library's progress engine that a communicator is revoked. That engine runs
 * wherever a rank waits: in our schedules, and in the library's collectives on our communicators.
 *
 * Rejected: intercepting MPIX_Comm_revoke. A program may look for that name to learn whether its
 * library has failure mitigation, and would find ours.
 */
#include "shim/mpi/comm/revoke.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "shim/mpi/api/progress.h"

static int (*comm_revoke)(MPI_Comm comm);
static int (*comm_is_revoked)(MPI_Comm comm, int *flag);
static const unsigned char *enabled; /* the library's: a bool, set in MPI_Init */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list */
static struct revocable *followed;
static int looking; /* the progress engine calls look() */

static void find(void *libmpi, const char *name, void *to)
{
    void *symbol = dlsym(libmpi, name);

    memcpy(to, &symbol, sizeof symbol);
}

void revoke_open(void *libmpi)
{
    find(libmpi, "PMPIX_Comm_revoke", &comm_revoke);
    find(libmpi, "PMPIX_Comm_is_revoked", &comm_is_revoked);
    find(libmpi, "ompi_ftmpi_enabled", &enabled);
}

static int is_possible(void)
{
    return comm_revoke && comm_is_revoked && enabled && *enabled;
}

static void revoke(MPI_Comm comm)
{
    if (comm != MPI_COMM_NULL)
        comm_revoke(comm);
}

/* Under the lock. Channels follow the private communicator that they were made on. */
static void revoke_private(struct revocable *r)
{
    if (r->revoked)
        return;
    r->revoked = 1;
    revoke(r->private_comm);
    for (int i = 0; i < r->variants->n; i++)
        revoke(r->variants->made[i].comm);
}

/* In the progress engine. A thread that holds the lock may come here from inside the library. */
static int look(void)
{
    int flag, moved = 0;

    if (!__atomic_load_n(&followed, __ATOMIC_RELAXED) || pthread_mutex_trylock(&lock) != 0)
        return 0;
    for (struct revocable *r = followed; r; r = r->next)
        if (!r->revoked && comm_is_revoked(r->follows, &flag) == MPI_SUCCESS && flag) {
            revoke_private(r);
            moved = 1;
        }
    pthread_mutex_unlock(&lock);
    return moved;
}

void revoke_follow(struct revocable *r)
{
    if (!is_possible())
        return;
    pthread_mutex_lock(&lock);
    r->next = followed;
    __atomic_store_n(&followed, r, __ATOMIC_RELAXED);
    if (!looking)
        looking = progress_add(look) == 0;
    pthread_mutex_unlock(&lock);
}

void revoke_unfollow(struct revocable *r)
{
    pthread_mutex_lock(&lock);
    for (struct revocable **at = &followed; *at; at = &(*at)->next)
        if (*at == r) {
            __atomic_store_n(at, r->next, __ATOMIC_RELAXED);
            break;
        }
    pthread_mutex_unlock(&lock);
}

void revoke_failed(MPI_Comm private_comm)
{
    if (!is_possible())
        return;
    pthread_mutex_lock(&lock);
    for (struct revocable *r = followed; r; r = r->next)
        if (r->private_comm == private_comm) {
            revoke_private(r);
            *r->verdict = REASON_FAILED;
        }
    pthread_mutex_unlock(&lock);
}
