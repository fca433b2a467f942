/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers that keep the roll (shim/record/roll/roll.h), around those of sited.c where a report
 * is wanted, else around the plain ones. The backend hands them out where COLLSHIM_STUCK is set, so
 * a call pays nothing else.
 *
 * A communicator has the same number on all its ranks without a message: a hash of its group's
 * ranks in MPI_COMM_WORLD, and of the call on another one that made it. The order in which it is
 * first used tells nothing, as ranks may start calls on several in any order. So one that was made
 * by an unknown function has no line.
 *
 * Starts of a persistent request have a line of their own: ranks need not start several in one
 * order.
 */
#include <pthread.h>

#include "config/base/hash.h"
#include "shim/mpi/api/numbering.h"
#include "shim/mpi/api/process.h"
#include "shim/mpi/api/wrappers.h"
#include "shim/mpi/call/predefined.h"
#include "shim/mpi/comm/group_hash.h"
#include "shim/preload/words.h"
#include "shim/record/roll/roll.h"
#include "shim/record/sites/call_site.h"

enum { COUNTS = 512, SIZES = 64, WORLD = 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct {
    uint64_t hash;
    uint64_t times;
} counts[COUNTS];

/* Bytes of predefined types. */
static struct {
    MPI_Datatype type;
    uint64_t bytes;
} sizes[SIZES];

/* How often it was asked about that hash, which is not 0; 0: of too many. */
static uint64_t count_of(uint64_t hash)
{
    uint64_t times = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < COUNTS && !times; i++)
        if (counts[i].hash == hash || !counts[i].hash) {
            counts[i].hash = hash;
            times = ++counts[i].times;
        }
    pthread_mutex_unlock(&lock);
    return times;
}

/* The line of a communicator with the group of another one. origin: of all with that group this one
   alone has it, on all its ranks; 0: not known. */
static struct roll_line *add_line(MPI_Comm comm, MPI_Comm like, uint64_t origin)
{
    int size = 0, rank = 0;
    uint64_t hash = origin ? group_hash(like, &size, &rank) : 0;

    return roll_add((uintptr_t)comm, hash ? hash_bytes(hash, &origin, sizeof origin) | 1 : 0, size,
                    rank);
}

/* The origin of a communicator that the present call on that line makes. */
static uint64_t origin_of(const struct roll_line *l)
{
    return l ? hash_bytes(l->id, &l->state, sizeof l->state) | 1 : 0;
}

static void note_made(MPI_Comm comm, MPI_Comm like, uint64_t origin)
{
    if (!roll || comm == MPI_COMM_NULL || !mpi_process.world_size)
        return;
    roll_drop((uintptr_t)comm);
    add_line(comm, like, origin);
}

/* The same of one that no call on a line makes: the call's number among those of its group and
   `kind`. */
static void note_counted(MPI_Comm comm, uint64_t kind)
{
    int size, rank;
    uint64_t hash = roll && comm != MPI_COMM_NULL ? group_hash(comm, &size, &rank) : 0;
    uint64_t times = hash && kind ? count_of(hash_bytes(hash, &kind, sizeof kind) | 1) : 0;

    note_made(comm, comm, times ? hash_bytes(kind, &times, sizeof times) | 1 : 0);
}

/* Before MPI_Init the library judges. */
static struct roll_line *line_of(MPI_Comm comm)
{
    int known;
    struct roll_line *l;

    if (!roll || comm == MPI_COMM_NULL)
        return NULL;
    l = roll_find((uintptr_t)comm, &known);
    return known || !mpi_process.world_size ? l : add_line(comm, comm, 0);
}

void mpi_rolled_open(void)
{
    struct roll_line *l = roll ? add_line(MPI_COMM_WORLD, MPI_COMM_WORLD, WORLD) : NULL;

    if (l)
        l->is_world = 1;
}

static uint64_t new_type_bytes(MPI_Datatype type, size_t slot)
{
    struct predefined p;
    MPI_Count bytes;

    if (type == MPI_DATATYPE_NULL || mpi.Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0)
        return 0;
    if (predefined_of(type, &p)) {
        pthread_mutex_lock(&lock);
        if (!sizes[slot].bytes) { /* never written again, as others read it */
            sizes[slot].bytes = (uint64_t)bytes;
            __atomic_store_n(&sizes[slot].type, type, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&lock);
    }
    return (uint64_t)bytes;
}

static inline uint64_t bytes_in(MPI_Count count, MPI_Datatype type)
{
    uintptr_t handle = (uintptr_t)type;
    size_t slot = (handle ^ handle >> 8) % SIZES;

    return (uint64_t)count * (__atomic_load_n(&sizes[slot].type, __ATOMIC_ACQUIRE) == type && handle
                                  ? sizes[slot].bytes
                                  : new_type_bytes(type, slot));
}

#define ANY ROLL_NO_BYTES
#define NONE ROLL_NO_ROOT

/* Bytes that all ranks pass alike, and the root, from the parameters of each collective. On a root
   that works in place only its other side counts. */
#define WHAT_Allgather bytes_in(recvcount, recvtype), NONE
#define WHAT_Allgatherv ANY, NONE
#define WHAT_Allreduce bytes_in(count, type), NONE
#define WHAT_Reduce bytes_in(count, type), root
#define WHAT_Reduce_scatter ANY, NONE
#define WHAT_Reduce_scatter_block bytes_in(count, type), NONE
#define WHAT_Scan bytes_in(count, type), NONE
#define WHAT_Exscan bytes_in(count, type), NONE
#define WHAT_Bcast bytes_in(count, type), root
#define WHAT_Gather                                                                                \
    is_root(l, root) ? bytes_in(recvcount, recvtype) : bytes_in(sendcount, sendtype), root
#define WHAT_Gatherv ANY, root
#define WHAT_Scatter                                                                               \
    is_root(l, root) ? bytes_in(sendcount, sendtype) : bytes_in(recvcount, recvtype), root
#define WHAT_Scatterv ANY, root
#define WHAT_Alltoall bytes_in(recvcount, recvtype), NONE
#define WHAT_Alltoallv ANY, NONE
#define WHAT_Alltoallw ANY, NONE
#define WHAT_Neighbor_allgather ANY, NONE
#define WHAT_Neighbor_allgatherv ANY, NONE
#define WHAT_Neighbor_alltoall ANY, NONE
#define WHAT_Neighbor_alltoallv ANY, NONE
#define WHAT_Neighbor_alltoallw ANY, NONE

static inline int is_root(const struct roll_line *l, int root)
{
    return l->rank == root;
}

static inline struct roll_line *enter(struct roll_line *l, enum roll_what what, enum roll_form form,
                                      uint64_t bytes, int root, const void *from, const char *cfa)
{
    return roll_enter(l, (struct roll_call){.bytes = bytes,
                                            .root = root,
                                            .site = roll_site(from, cfa),
                                            .what = (uint8_t)what,
                                            .form = (uint8_t)form});
}

/* For functions without such a parameter; those of others hide it. */
#pragma GCC diagnostic ignored "-Wshadow"
enum { root = ROLL_NO_ROOT };

#define SITED(started, call)                                                                       \
    (settings_want_report()                                                                        \
         ? (site_enter(HERE), mpi_sited_leave(__builtin_dwarf_cfa(), comm, call, root, started))   \
         : (call))
#define HERE __builtin_return_address(0), __builtin_dwarf_cfa()
#define ENTER(comm, what, form, ...)                                                               \
    struct roll_line *l = line_of(comm);                                                           \
    if (l)                                                                                         \
    enter(l, what, form, __VA_ARGS__, HERE)

/* A persistent request, ours or the library's; its line lives as long. */
static void note_request(struct roll_line *l, int rc, const MPI_Request *request)
{
    const struct roll_call *call;
    struct roll_line *own;

    if (!l || rc != MPI_SUCCESS || *request == MPI_REQUEST_NULL)
        return;
    call = &l->call[l->state / 2 % ROLL_CALLS];
    roll_drop((uintptr_t)*request);
    own = roll_add((uintptr_t)*request, hash_bytes(l->id, &call->number, sizeof call->number) | 1,
                   l->size, l->rank);
    if (own) {
        own->is_request = 1;
        own->call[0] = *call; /* each start begins with it */
    }
}

static void note_start(MPI_Request request, const void *from, const char *cfa)
{
    int known;
    struct roll_line *l =
        roll && request != MPI_REQUEST_NULL ? roll_find((uintptr_t)request, &known) : NULL;

    if (l && l->is_request) {
        const struct roll_call last = l->call[l->state / 2 % ROLL_CALLS];

        enter(l, (enum roll_what)last.what, ROLL_STARTED, last.bytes, last.root, from, cfa);
    }
}

#define BLOCKING(Name, name, parameters, arguments)                                                \
    int NAMED(mpi_rolled_##Name) parameters                                                        \
    {                                                                                              \
        ENTER(comm, ROLL_##Name, ROLL_BLOCKING, WHAT_##Name);                                      \
        int rc = SITED(0, NAMED(mpi_wrap_##Name) arguments);                                       \
                                                                                                   \
        roll_leave(l);                                                                             \
        return rc;                                                                                 \
    }
#define NONBLOCKING(Name, name, parameters, arguments)                                             \
    int NAMED(mpi_rolled_I##name) parameters                                                       \
    {                                                                                              \
        ENTER(comm, ROLL_##Name, ROLL_STARTED, WHAT_##Name);                                       \
        return SITED(1, NAMED(mpi_wrap_I##name) arguments);                                        \
    }
#define PERSISTENT_(Name, parameters, arguments)                                                   \
    int NAMED(mpi_rolled_##Name##_init) parameters                                                 \
    {                                                                                              \
        ENTER(comm, ROLL_##Name, ROLL_MADE, WHAT_##Name);                                          \
        int rc = SITED(1, NAMED(mpi_wrap_##Name##_init) arguments);                                \
                                                                                                   \
        note_request(l, rc, request);                                                              \
        roll_leave(l);                                                                             \
        return rc;                                                                                 \
    }
#define ALL(Name, name, parameters, arguments)                                                     \
    BLOCKING(Name, name, parameters, arguments)                                                    \
    NONBLOCKING(Name, name, (LIST parameters, MPI_Request * request), (LIST arguments, request))   \
    PERSISTENT_(Name, (LIST parameters, MPI_Info info, MPI_Request * request),                     \
                (LIST arguments, info, request))
#define FORMS ALL
#include "shim/mpi/api/width_int.h"
#include "shim/preload/collectives.def"
#define FORMS ALL
#include "shim/mpi/api/width_large.h"
#include "shim/preload/collectives.def"
#include "shim/mpi/api/width_none.h"

int mpi_rolled_Barrier(MPI_Comm comm)
{
    ENTER(comm, ROLL_Barrier, ROLL_BLOCKING, ANY, NONE);
    int rc = settings_want_report() ? mpi_sited_Barrier(comm) : mpi_library.Barrier(comm);

    roll_leave(l);
    return rc;
}

int mpi_rolled_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    ENTER(comm, ROLL_Barrier, ROLL_STARTED, ANY, NONE);
    return mpi_library.Ibarrier(comm, request);
}

int mpi_rolled_Finalize(void)
{
    ENTER(MPI_COMM_WORLD, ROLL_Finalize, ROLL_BLOCKING, ANY, NONE);
    int rc = mpi_wrap_Finalize();

    roll_leave(l);
    return rc;
}

/* The last argument is where the new communicator goes. */
#define MADE(name, parameters, arguments, made)                                                    \
    int mpi_rolled_##name parameters                                                               \
    {                                                                                              \
        ENTER((MPI_Comm)a1, ROLL_##name, ROLL_BLOCKING, ANY, NONE);                                \
        uint64_t origin = origin_of(l);                                                            \
        int rc = mpi_wrap_##name arguments;                                                        \
                                                                                                   \
        roll_leave(l);                                                                             \
        if (rc == MPI_SUCCESS)                                                                     \
            note_made(*(const MPI_Comm *)made, *(const MPI_Comm *)made, origin);                   \
        return rc;                                                                                 \
    }
#define ROLL_MAKER(name, n) MADE(name, (PARAMS_##n), (ARGS_##n), a##n)
#include "shim/mpi/entry/rolled.def"

/* The ranks of the group alone call it, so it has no place among the parent's calls. */
int mpi_rolled_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made)
{
    const struct roll_line *l = line_of(comm);
    int rc = mpi_wrap_Comm_create_group((uintptr_t)comm, (uintptr_t)group, (uintptr_t)tag,
                                        (uintptr_t)made);

    if (rc == MPI_SUCCESS)
        note_counted(*made, l ? hash_bytes(l->id, &tag, sizeof tag) | 1 : 0);
    return rc;
}

/* An intercommunicator has no line. */
int mpi_rolled_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm *made)
{
    int rc = mpi_wrap_Intercomm_merge((uintptr_t)comm, (uintptr_t)high, (uintptr_t)made);

    if (rc == MPI_SUCCESS)
        note_counted(*made, HASH_SEED);
    return rc;
}

/* The libraries give the handle at once. One that comes later has no line. */
#define IDUP(name, parameters, arguments)                                                          \
    int mpi_rolled_##name parameters                                                               \
    {                                                                                              \
        ENTER(comm, ROLL_Comm_dup, ROLL_STARTED, ANY, NONE);                                       \
        uint64_t origin = origin_of(l);                                                            \
        if (copy)                                                                                  \
            *copy = MPI_COMM_NULL;                                                                 \
        int rc = mpi_wrap_##name arguments;                                                        \
                                                                                                   \
        if (rc == MPI_SUCCESS)                                                                     \
            note_made(*copy, comm, origin);                                                        \
        return rc;                                                                                 \
    }
IDUP(Comm_idup, (MPI_Comm comm, MPI_Comm *copy, MPI_Request *request), (comm, copy, request))
IDUP(Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *copy, MPI_Request *request),
     (comm, info, copy, request))

/* A handle that the library frees may come again at once, in another thread. */
static void drop_comm(const MPI_Comm *comm)
{
    if (roll && comm && *comm != MPI_COMM_NULL && *comm != MPI_COMM_WORLD)
        roll_drop((uintptr_t)*comm);
}

int mpi_rolled_Comm_free(MPI_Comm *comm)
{
    drop_comm(comm);
    return mpi_wrap_Comm_free(comm);
}

int mpi_rolled_Comm_disconnect(MPI_Comm *comm)
{
    drop_comm(comm);
    return mpi_wrap_Comm_disconnect(comm);
}

int mpi_rolled_Start(MPI_Request *request)
{
    if (request)
        note_start(*request, HERE);
    return mpi_wrap_Start(request);
}

int mpi_rolled_Startall(int n, MPI_Request *request)
{
    for (int i = 0; request && i < n; i++)
        note_start(request[i], HERE);
    return mpi_wrap_Startall(n, request);
}

int mpi_rolled_Request_free(MPI_Request *request)
{
    if (roll && request && *request != MPI_REQUEST_NULL)
        roll_drop((uintptr_t)*request);
    return mpi_wrap_Request_free(request);
}
