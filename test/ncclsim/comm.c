/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators: made, looked at, ended. One that has ended stays in memory, so that a later use is
 * seen to be one.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test/ncclsim/ncclsim.h"

#define LIVE 0x6e63636c636f6d6du
#define ENDED 0x6e63636c64656164u
#define PATIENCE_S 60 /* for ranks that never come to an initialisation */

__typeof__(gpusim_submit) *sim_submit;
__typeof__(gpusim_capture) *sim_capture;
__typeof__(gpusim_use) *sim_use;
__typeof__(gpusim_done) *sim_done;
__typeof__(gpusim_reserve) *sim_reserve;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct cuda_calls *cuda;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list */
static struct ncclComm *comms;
static __thread char last_error[SIM_TEXT];

static void open_driver(void)
{
    void *library;

    cuda = cuda_open(CUDA_LOAD);
    library = cuda ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (!library)
        return;
    *(void **)&sim_submit = dlsym(library, "gpusim_submit");
    *(void **)&sim_capture = dlsym(library, "gpusim_capture");
    *(void **)&sim_use = dlsym(library, "gpusim_use");
    *(void **)&sim_done = dlsym(library, "gpusim_done");
    *(void **)&sim_reserve = dlsym(library, "gpusim_reserve");
    if (!sim_submit || !sim_capture || !sim_use || !sim_done || !sim_reserve ||
        cuda->Init(0) != CUDA_SUCCESS)
        cuda = NULL;
}

const struct cuda_calls *sim_cuda(void)
{
    pthread_once(&once, open_driver);
    return cuda;
}

ncclResult_t comm_error(ncclComm_t comm, ncclResult_t result, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(last_error, sizeof last_error, format, list);
    va_end(list);
    if (comm)
        memcpy(comm->last, last_error, sizeof last_error);
    return result;
}

static struct ncclComm *known(ncclComm_t comm)
{
    struct ncclComm *c;

    pthread_mutex_lock(&lock);
    for (c = comms; c && c != comm; c = c->next)
        ;
    pthread_mutex_unlock(&lock);
    return c;
}

ncclResult_t comm_check(ncclComm_t comm, const char *caller)
{
    const struct ncclComm *c = known(comm);

    if (!c || __atomic_load_n(&c->magic, __ATOMIC_ACQUIRE) != LIVE) {
        fprintf(stderr, "ncclsim: %s: the communicator %s\n", caller, c ? "has ended" : "is none");
        return comm_error(NULL, ncclInvalidArgument, "%s: no communicator", caller);
    }
    if (__atomic_load_n(&c->initialising, __ATOMIC_ACQUIRE))
        return comm_error(NULL, ncclInvalidUsage, "%s: initialisation is in progress", caller);
    if (c->finalized || c->aborted)
        return comm_error(comm, ncclInvalidUsage, "%s: the communicator is %s", caller,
                          c->aborted ? "aborted" : "finalized");
    return c->started;
}

int comm_others(const struct ncclComm *comm, struct other *others)
{
    int n = 0;

    pthread_mutex_lock(&lock);
    for (const struct ncclComm *c = comms; c && n < SIM_OTHERS; c = c->next)
        if (c != comm && c->magic == LIVE && c->device == comm->device && c->board)
            others[n++] = (struct other){c->board->number,
                                         __atomic_load_n(&c->collectives, __ATOMIC_ACQUIRE)};
    pthread_mutex_unlock(&lock);
    return n;
}

/* Initialising ------------------------------------------------------------------------------- */

/* The front is the real library's: a random number and the address of the creator's socket. */
struct id {
    uint64_t magic;
    struct sockaddr_in address;
    char unused[48 - 8 - sizeof(struct sockaddr_in)];
    int pid, fd;
};

static uint64_t host_number(void)
{
    char name[256] = "";
    const char *set = getenv("NCCL_HOSTID");
    uint64_t hash = 5381;

    gethostname(name, sizeof name - 1);
    for (const char *s = set && *set ? set : name; *s; s++)
        hash = hash * 33 ^ (unsigned char)*s;
    return hash;
}

static struct ncclComm *comm_new(int nranks, int rank, int blocking)
{
    struct ncclComm *c = calloc(1, sizeof *c);

    if (!c)
        abort();
    c->magic = LIVE;
    c->nranks = nranks;
    c->rank = rank;
    c->blocking = blocking;
    cuda->CtxGetCurrent(&c->context);
    if (cuda->CtxGetDevice(&c->device) != CUDA_SUCCESS) {
        free(c);
        return NULL;
    }
    c->initialising = 1;
    pthread_mutex_lock(&lock);
    c->next = comms;
    comms = c;
    pthread_mutex_unlock(&lock);
    return c;
}

static ncclResult_t refuse(struct ncclComm *c, int result, const char *what)
{
    board_fail(c->board, result, "rank %d: %s", c->rank, what);
    return comm_error(c, (ncclResult_t)c->board->failed, "%s", c->board->why);
}

/* NCCL_MULTI_RANK_GPU_ENABLE, from 2.30.3 on. */
static int may_share_devices(void)
{
    const char *set = getenv("NCCL_MULTI_RANK_GPU_ENABLE");

    return set && atoi(set) && sim_version() >= 23003;
}

/* Take this rank's place on the board and wait for the others. */
static ncclResult_t join(struct ncclComm *c)
{
    struct board *b = c->board;
    struct member *m = &b->member[c->rank];
    uint32_t none = 0;
    int nobody = 0;
    time_t begun = time(NULL);
    unsigned turns = 0;

    if (!__atomic_compare_exchange_n(&b->nranks, &none, (uint32_t)c->nranks, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE) &&
        none != (uint32_t)c->nranks)
        return refuse(c, ncclInvalidArgument, "the ranks disagree on how many they are");
    if (!__atomic_compare_exchange_n(&m->pid, &nobody, (int)getpid(), 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return refuse(c, ncclInvalidUsage, "there already, or the unique id has been used");
    m->device = c->device;
    m->host = host_number();
    __atomic_add_fetch(&b->joined, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&b->joined, __ATOMIC_ACQUIRE) < (uint32_t)c->nranks) {
        if (board_pause(c, &turns) < 0)
            return comm_error(c, b->failed ? (ncclResult_t)b->failed : ncclInvalidUsage, "%s",
                              b->why);
        if (time(NULL) - begun > PATIENCE_S)
            return refuse(c, ncclSystemError, "not all ranks came");
    }
    for (int r = 0; r < c->nranks; r++)
        if (r != c->rank && b->member[r].host == m->host && b->member[r].device == m->device &&
            !may_share_devices())
            return refuse(c, ncclInvalidUsage, "Duplicate GPU detected");
    return ncclSuccess;
}

struct init {
    struct ncclComm *comm;
    int pid, fd;
};

static ncclResult_t initialise(void *data)
{
    struct init *i = data;
    struct ncclComm *c = i->comm;
    ncclResult_t result;

    c->board = board_open(i->pid, i->fd);
    result = c->board ? join(c) : ncclSystemError;
    free(i);
    c->started = result;
    __atomic_store_n(&c->initialising, 0, __ATOMIC_RELEASE);
    return result;
}

static void *initialise_aside(void *data)
{
    initialise(data);
    return NULL;
}

static int is_blocking(const ncclConfig_t *config)
{
    const char *set = getenv("NCCL_COMM_BLOCKING");

    if (set && *set)
        return atoi(set) != 0;
    return !config || config->blocking == NCCL_CONFIG_UNDEF_INT || config->blocking != 0;
}

static ncclResult_t begin(ncclComm_t *comm, int nranks, int rank, int pid, int fd, int blocking)
{
    struct init *i = malloc(sizeof *i);
    pthread_t thread;

    if (!i)
        abort();
    *i = (struct init){comm_new(nranks, rank, blocking), pid, fd};
    *comm = i->comm;
    if (!i->comm) {
        free(i);
        return comm_error(NULL, ncclUnhandledCudaError, "no current device");
    }
    if (blocking)
        return group_defer(initialise, i);
    if (pthread_create(&thread, NULL, initialise_aside, i))
        abort();
    pthread_detach(thread);
    return ncclInProgress;
}

NCCL_API(ncclResult_t, GetVersion, (int *version))
{
    if (!version)
        return ncclInvalidArgument;
    *version = sim_version();
    return ncclSuccess;
}

NCCL_API(ncclResult_t, GetUniqueId, (ncclUniqueId * id))
{
    struct id mine = {.address = {.sin_family = AF_INET}};

    if (!id)
        return ncclInvalidArgument;
    mine.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    mine.pid = getpid();
    mine.fd = board_make(); /* open as long as the process: others come through it */
    if (mine.fd < 0)
        return ncclSystemError;
    struct board *b = board_open(mine.pid, mine.fd);
    mine.magic = b ? b->number : 0;
    board_close(b);
    memset(id, 0, sizeof *id);
    memcpy(id, &mine, sizeof mine);
    return b ? ncclSuccess : ncclSystemError;
}

NCCL_API(ncclResult_t, CommInitRankConfig,
         (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config))
{
    struct id in;

    memcpy(&in, &id, sizeof in);
    if (!sim_cuda())
        return comm_error(NULL, ncclUnhandledCudaError, "no simulated driver");
    if (!comm || nranks < 1 || nranks > SIM_RANKS || rank < 0 || rank >= nranks)
        return comm_error(NULL, ncclInvalidArgument, "no rank %d of %d (at most %d)", rank, nranks,
                          SIM_RANKS);
    if (config && config->magic != 0xcafebeef)
        return comm_error(NULL, ncclInvalidArgument, "a config that was not initialised");
    return begin(comm, nranks, rank, in.pid, in.fd, is_blocking(config));
}

NCCL_API(ncclResult_t, CommInitRank, (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank))
{
    return pncclCommInitRankConfig(comm, nranks, id, rank, NULL);
}

NCCL_API(ncclResult_t, CommInitRankScalable,
         (ncclComm_t * comm, int nranks, int rank, int nids, ncclUniqueId *ids,
          ncclConfig_t *config))
{
    return nids < 1 ? ncclInvalidArgument
                    : pncclCommInitRankConfig(comm, nranks, ids[0], rank, config);
}

NCCL_API(ncclResult_t, CommInitAll, (ncclComm_t * comm, int ndev, const int *devlist))
{
    ncclUniqueId id;
    ncclResult_t bad = ncclGetUniqueId(&id);

    if (!sim_cuda())
        return ncclUnhandledCudaError;
    if (ndev < 1)
        return ncclInvalidArgument;
    pncclGroupStart();
    for (int i = 0; i < ndev && !bad; i++) {
        CUcontext ctx;

        if (cuda->DevicePrimaryCtxRetain(&ctx, devlist ? devlist[i] : i) != CUDA_SUCCESS) {
            bad = ncclInvalidArgument;
            break;
        }
        cuda->CtxPushCurrent(ctx);
        bad = pncclCommInitRank(&comm[i], ndev, id, i);
        cuda->CtxPopCurrent(NULL);
    }
    ncclResult_t ended = pncclGroupEnd();
    return bad ? bad : ended;
}

/* Split and shrink ----------------------------------------------------------------------------- */

/* May it have a child now? Two children of one parent in a group fail on an H100 with 2.28.3 and
 * 2.28.9, or hang: their initialisations share the parent's bootstrap ("Message truncated"). */
static ncclResult_t may_split(ncclComm_t comm, const char *caller)
{
    ncclResult_t bad = comm_check(comm, caller);

    if (!bad && group_open() && comm->split_in == group_number()) {
        fprintf(stderr, "ncclsim: %s: the second child of a communicator in one group\n", caller);
        return group_refuse(comm_error(comm, ncclInternalError, "Message truncated"));
    }
    if (!bad)
        comm->split_in = group_number();
    if (!bad && __atomic_load_n(&comm->done, __ATOMIC_ACQUIRE) != comm->issued) {
        fprintf(stderr, "ncclsim: %s: operations are outstanding\n", caller);
        return comm_error(comm, ncclInvalidUsage, "%s: operations are outstanding", caller);
    }
    return bad;
}

/* In a group the program has the child when that ends, and NULL before (ncclCommInitChildComm and
 * ncclCommInitRankFunc, init.cc, v2.28.9-1). */
struct child {
    ncclComm_t made, *newcomm;
};

static ncclResult_t hand_over(void *data)
{
    struct child *child = data;

    *child->newcomm = child->made;
    free(child);
    return ncclSuccess;
}

static ncclResult_t begin_child(ncclComm_t *newcomm, int nranks, int rank, int pid, int fd,
                                int blocking)
{
    struct child *child = group_open() && blocking ? calloc(1, sizeof *child) : NULL;
    ncclResult_t result;

    if (!child)
        return begin(newcomm, nranks, rank, pid, fd, blocking);
    child->newcomm = newcomm;
    result = begin(&child->made, nranks, rank, pid, fd, blocking);
    return result ? result : group_defer(hand_over, child);
}

NCCL_API(ncclResult_t, CommSplit,
         (ncclComm_t comm, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config))
{
    ncclResult_t bad = may_split(comm, "CommSplit");
    int leader = -1, rank = 0, nranks = 0, fd;
    struct offer *offers, at;

    if (bad)
        return bad;
    offers = comm->board->offer;
    fd = board_make();
    offers[comm->rank] = (struct offer){color, key, getpid(), fd};
    if (board_meet(comm, &comm->board->host) < 0)
        return ncclSystemError;
    for (int r = 0; r < comm->nranks; r++) {
        if (offers[r].color != color)
            continue;
        leader = leader < 0 ? r : leader;
        nranks++;
        rank += offers[r].key < key || (offers[r].key == key && r < comm->rank);
    }
    at = offers[leader];
    if (board_meet(comm, &comm->board->host) < 0)
        return ncclSystemError;
    *newcomm = NULL;
    if (color == NCCL_SPLIT_NOCOLOR)
        return ncclSuccess;
    return begin_child(newcomm, nranks, rank, at.pid, at.fd,
                       config ? is_blocking(config) : comm->blocking);
}

NCCL_API(ncclResult_t, CommShrink,
         (ncclComm_t comm, int *excluded, int nexcluded, ncclComm_t *newcomm, ncclConfig_t *config,
          int flags))
{
    int leader = -1, rank = 0, nranks = 0;
    char out[SIM_RANKS] = {0};
    time_t begun = time(NULL);
    struct offer *o;
    ncclResult_t bad;

    if (flags & NCCL_SHRINK_ABORT && known(comm))
        __atomic_store_n(&comm->aborted, 1, __ATOMIC_RELEASE);
    else if ((bad = may_split(comm, "CommShrink")))
        return bad;
    for (int i = 0; i < nexcluded; i++)
        if (excluded[i] >= 0 && excluded[i] < comm->nranks)
            out[excluded[i]] = 1;
    if (out[comm->rank])
        return comm_error(comm, ncclInvalidArgument, "an excluded rank shrinks");
    for (int r = 0; r < comm->nranks; r++) {
        if (out[r])
            continue;
        leader = leader < 0 ? r : leader;
        rank += r < comm->rank;
        nranks++;
    }
    /* the ranks that are left out never come: no gate, but a note on the leader's place */
    o = &comm->board->offer[leader];
    if (leader == comm->rank) {
        o->pid = getpid();
        o->fd = board_make();
        __atomic_store_n(&o->key, nranks, __ATOMIC_RELAXED);
        __atomic_store_n(&o->color, -2, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&o->color, __ATOMIC_ACQUIRE) != -2) {
        if (time(NULL) - begun > PATIENCE_S)
            return ncclSystemError;
        usleep(200);
    }
    *newcomm = NULL;
    return begin_child(newcomm, nranks, rank, o->pid, o->fd,
                       config ? is_blocking(config) : comm->blocking);
}

/* Ending --------------------------------------------------------------------------------------- */

static void drain(const struct ncclComm *c)
{
    while (__atomic_load_n(&c->done, __ATOMIC_ACQUIRE) != c->issued && !c->aborted)
        usleep(100);
}

NCCL_API(ncclResult_t, CommFinalize, (ncclComm_t comm))
{
    ncclResult_t bad = comm_check(comm, "CommFinalize");

    if (bad)
        return bad;
    drain(comm);
    comm->finalized = 1;
    return ncclSuccess;
}

static int is_live(ncclComm_t comm, const char *caller)
{
    const struct ncclComm *c = known(comm);

    if (c && c->magic == LIVE)
        return 1;
    fprintf(stderr, "ncclsim: %s: the communicator %s\n", caller, c ? "has ended" : "is none");
    return 0;
}

NCCL_API(ncclResult_t, CommDestroy, (ncclComm_t comm))
{
    if (!comm)
        return ncclSuccess;
    if (!is_live(comm, "CommDestroy"))
        return ncclInvalidArgument;
    drain(comm);
    comm_disconnect(comm);
    __atomic_store_n(&comm->magic, ENDED, __ATOMIC_RELEASE);
    return ncclSuccess;
}

/* Work that waits goes on and finds the mark; nothing here waits for it. */
NCCL_API(ncclResult_t, CommAbort, (ncclComm_t comm))
{
    if (!comm)
        return ncclSuccess;
    if (!is_live(comm, "CommAbort"))
        return ncclInvalidArgument;
    __atomic_store_n(&comm->aborted, 1, __ATOMIC_RELEASE);
    comm_disconnect(comm);
    __atomic_store_n(&comm->magic, ENDED, __ATOMIC_RELEASE);
    return ncclSuccess;
}

NCCL_API(ncclResult_t, CommRevoke, (ncclComm_t comm, int flags))
{
    ncclResult_t bad = comm_check(comm, "CommRevoke");

    if (bad || flags)
        return bad ? bad : ncclInvalidArgument;
    __atomic_store_n(&comm->aborted, 1, __ATOMIC_RELEASE);
    return ncclSuccess;
}

/* Asking --------------------------------------------------------------------------------------- */

NCCL_API(const char *, GetErrorString, (ncclResult_t result))
{
    static const char *const texts[] = {"no error",
                                        "unhandled cuda error",
                                        "unhandled system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error",
                                        "NCCL operation in progress"};

    return (unsigned)result < ncclNumResults ? texts[result] : "unknown result code";
}

NCCL_API(const char *, GetLastError, (ncclComm_t comm))
{
    return comm && known(comm) && comm->last[0] ? comm->last : last_error;
}

NCCL_API(ncclResult_t, CommGetAsyncError, (ncclComm_t comm, ncclResult_t *error))
{
    if (!is_live(comm, "CommGetAsyncError"))
        return ncclInvalidArgument;
    if (__atomic_load_n(&comm->initialising, __ATOMIC_ACQUIRE))
        *error = ncclInProgress;
    else
        *error = comm->started         ? comm->started
                 : comm->board->failed ? (ncclResult_t)comm->board->failed
                                       : ncclSuccess;
    return ncclSuccess;
}

NCCL_API(ncclResult_t, CommCount, (const ncclComm_t comm, int *count))
{
    *count = is_live(comm, "CommCount") ? comm->nranks : 0;
    return *count ? ncclSuccess : ncclInvalidArgument;
}

NCCL_API(ncclResult_t, CommCuDevice, (const ncclComm_t comm, int *device))
{
    if (!is_live(comm, "CommCuDevice"))
        return ncclInvalidArgument;
    *device = comm->device;
    return ncclSuccess;
}

NCCL_API(ncclResult_t, CommUserRank, (const ncclComm_t comm, int *rank))
{
    if (!is_live(comm, "CommUserRank"))
        return ncclInvalidArgument;
    *rank = comm->rank;
    return ncclSuccess;
}
