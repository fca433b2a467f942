/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/comm/sampled.h"

#include <pthread.h>
#include <stdlib.h>

#include "config/base/hash.h"
#include "shim/mpi/api/attribute.h"
#include "shim/mpi/api/calls.h"
#include "shim/mpi/comm/group_hash.h"
#include "shim/record/sites/call_site.h"
#include "shim/record/waits/sample.h"

enum { GROUPS = 256 };

struct sampled {
    uint64_t id; /* 0: its calls are not sampled */
    uint32_t ranks, copies;
    int rank;
    struct series *series[SITE_BARRIER + 1]; /* owned; NULL: none yet */
};

static int keyval = MPI_KEYVAL_INVALID;
static uint64_t opened;
static struct sampled none;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct {
    uint64_t hash, times;
} groups[GROUPS];

static int on_copy(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *made)
{
    struct sampled *old = value, *new = old->id ? calloc(1, sizeof *new) : NULL;

    (void)comm, (void)key, (void)extra;
    *made = new != NULL;
    if (!new)
        return MPI_SUCCESS;
    uint32_t nth = __atomic_add_fetch(&old->copies, 1, __ATOMIC_RELAXED);
    new->id = hash_bytes(old->id, &nth, sizeof nth) | 1;
    new->ranks = old->ranks;
    new->rank = old->rank;
    *(void **)copy = new;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    attribute_gone();
    struct sampled *s = value;

    if (s == &none)
        return MPI_SUCCESS;
    for (size_t i = 0; i < sizeof s->series / sizeof *s->series; i++)
        series_end(s->series[i]);
    free(s);
    return MPI_SUCCESS;
}

void sampled_open(uint64_t now)
{
    opened = now;
    if (mpi.Comm_create_keyval(on_copy, on_delete, &keyval, NULL) != MPI_SUCCESS)
        keyval = MPI_KEYVAL_INVALID;
}

/* The number of the group's next communicator; 0: the table is full. */
static uint64_t number_of(uint64_t hash)
{
    uint64_t id = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; hash && i < GROUPS && !id; i++)
        if (groups[i].hash == hash || !groups[i].times) {
            groups[i].hash = hash;
            groups[i].times++;
            id = hash_bytes(hash, &groups[i].times, sizeof groups[i].times) | 1;
        }
    pthread_mutex_unlock(&lock);
    return id;
}

static struct sampled *make(MPI_Comm comm)
{
    int size = 0, rank = 0;
    struct sampled *s = calloc(1, sizeof *s);
    uint64_t hash = s ? group_hash(comm, &size, &rank) : 0;

    if (hash && size > 1)
        *s = (struct sampled){.id = number_of(hash), .ranks = (uint32_t)size, .rank = rank};
    if (!s || !s->id) {
        free(s);
        s = &none;
    }
    if (!attribute_set(comm, keyval, s) && s != &none) {
        free(s);
        s = &none;
    }
    return s;
}

#define last THREAD_OWN(sampled, struct attribute_seen)

int sampled_keeps_next(MPI_Comm comm, unsigned collective)
{
    if (keyval == MPI_KEYVAL_INVALID || !sample_role(collective, 0))
        return 0;
    const struct sampled *s = attribute_find(comm, keyval, &last);
    const struct series *series = s ? s->series[collective] : NULL;
    return !s || (s->id && (!series || series_keeps_next(series)));
}

void sampled_call(MPI_Comm comm, int root, uint64_t now)
{
    const struct site_call *call = &site_now;

    if (keyval == MPI_KEYVAL_INVALID || !sample_role(call->collective, 0))
        return;
    struct sampled *s = attribute_find(comm, keyval, &last);
    if (!s)
        s = make(comm);
    if (!s->id)
        return;
    struct series **series = &s->series[call->collective];
    if (!*series &&
        !(*series = series_make(&(struct series_key){s->id, s->ranks, call->collective})))
        return;
    series_add(*series,
               (struct sample){.entry = call->began,
                               .exit = now,
                               .work = call->began - (call->ended ? call->ended : opened),
                               .combining = call->combining,
                               .landed = call->landed,
                               .row = call->row,
                               .role = (uint8_t)sample_role(call->collective, root == s->rank)});
}

void sampled_failed(MPI_Comm comm)
{
    struct sampled *s = attribute_last(comm, &last);

    if (s)
        s->id = 0;
}
