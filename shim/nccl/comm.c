/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/nccl/comm.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/hash.h"
#include "config/host.h"
#include "shim/decide/count.h"
#include "shim/decide/job.h"
#include "shim/decide/reporter.h"
#include "shim/nccl/ppg.h"
#include "shim/nccl/scratch.h"
#include "shim/nccl/stored.h"

enum { BUCKETS = 64 };

struct entry {
    struct entry *next;
    ncclComm_t handle;
    struct nccl_comm *comm; /* owned by reference */
    uint64_t children;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *bucket[BUCKETS];

/* What a rank tells the others when a communicator is made. */
struct note {
    uint64_t node_key, settings;
    int32_t device, usable;
    char version[16];
    int16_t one_queue; /* CUDA_DEVICE_MAX_CONNECTIONS is 1 */
    int16_t elsewhere; /* made in another context than its device's primary one */
    int32_t channels;  /* of a message, at most */
    uint64_t stored;   /* what COLLSHIM_STORE holds, hashed */
};
_Static_assert(sizeof(struct note) <= NOTICE_BYTES, "a note must fit");

uint64_t nccl_comm_mix(uint64_t a, uint64_t b)
{
    a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
    a = (a ^ a >> 30) * 0xbf58476d1ce4e5b9u;
    return a ^ a >> 27;
}

/* The host as NCCL sees it: NCCL_HOSTID, or the name and the boot, which containers share. */
static uint64_t node_key(void)
{
    const char *set = secure_getenv("NCCL_HOSTID");

    return set && *set ? hash_text(HASH_SEED, set) : host_key();
}

/* All streams of the process share one queue of the device: a round that waits for the one before
 * it holds up whatever was enqueued behind it. The library's own call is one kernel, and does not.
 */
static int has_one_queue(void)
{
    const char *set = secure_getenv("CUDA_DEVICE_MAX_CONNECTIONS");

    return set && strtol(set, NULL, 0) == 1;
}

/* As NCCL_VERSION_CODE; 0: it cannot be read. */
static int version_of(const char *version)
{
    int major, minor, patch;

    return sscanf(version, "NCCL %d.%d.%d", &major, &minor, &patch) == 3
               ? major * 10000 + minor * 100 + patch
               : 0;
}

/* Are this library's groups of messages safe between nodes, where ranks have different peers? One
 * whose version cannot be read is not. */
static int has_uniform_batches(const char *version)
{
    return version_of(version) >= 22807;
}

/*
 * Channels of a message between nodes: what the program says, else what NCCL chooses at most
 * (ncclTopoGetNchannels, paths.cc): before 2.29 one for each of the rank's NICs, of which there
 * are 4 at most, and at least two; later one for each 14 GB/s of them, up to 100 GB/s. All messages
 * of a communicator, those inside a node too, have as many as the pair of ranks with the fewest.
 */
static int channels_of(const struct nccl_comm *c)
{
    static const char *const names[] = {"NCCL_NCHANNELS_PER_PEER", "NCCL_NCHANNELS_PER_NET_PEER"};
    enum { OLD = 4, NEW = 8, MOST = 64 };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *set = secure_getenv(names[i]);
        long n = set ? strtol(set, NULL, 0) : 0;

        if (n > 0)
            return n < MOST ? (int)n : MOST;
    }
    if (c->channels > 0)
        return c->channels < MOST ? c->channels : MOST;
    return version_of(c->copy->version) < 22900 ? OLD : NEW;
}

/* A kernel of messages has room for 250 batches, and each channel of a message may need one of its
 * own (scheduleP2pTasksToPlan, enqueue.cc). Inside a node eight peers share them. */
uint32_t nccl_comm_most_messages(const struct nccl_comm *c)
{
    enum { BATCHES = 240, LEAST = 2, NEAR_RANKS = 8, NEAR = 40 };
    uint32_t most = BATCHES / (uint32_t)(c->channels > 0 ? c->channels : 1);

    if (c->topo->nnodes == 1 && c->nranks <= NEAR_RANKS)
        return NEAR;
    return most > LEAST ? most : LEAST;
}

/* The table ------------------------------------------------------------------------------------ */

static struct entry **place_of(ncclComm_t handle)
{
    struct entry **at = &bucket[(uintptr_t)handle / 64 % BUCKETS];

    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

struct nccl_comm *nccl_comm_find(ncclComm_t handle)
{
    struct nccl_comm *c = NULL;
    struct entry *e;

    pthread_mutex_lock(&lock);
    e = *place_of(handle);
    if (e) {
        c = e->comm;
        c->users++;
    }
    pthread_mutex_unlock(&lock);
    return c;
}

static void comm_free(struct nccl_comm *c)
{
    if (c->notes >= 0)
        close(c->notes);
    ppg_forget(c->ppg);
    if (c->cu) {
        nccl_guard_forget(c);
        scratch_give(c->context, c->scratch, c->scratch_bytes, c->last);
        for (struct nccl_comm_kept *k = c->kept, *next; k; k = next) {
            next = k->next;
            scratch_give(c->context, k->at, k->bytes, k->last);
            free(k);
        }
    }
    for (int i = 0; i < COMM_PLANS; i++)
        nccl_plan_clear(&c->plan[i]);
    redop_forget_all(c);
    registered_forget(c);
    topo_free(c->topo);
    free(c->connected);
    free(c->sent);
    free(c);
}

void nccl_comm_release(struct nccl_comm *c)
{
    int users;

    pthread_mutex_lock(&lock);
    users = --c->users;
    pthread_mutex_unlock(&lock);
    if (!users)
        comm_free(c);
}

void nccl_comm_remove(ncclComm_t handle, int at_once)
{
    struct entry **at, *e;

    pthread_mutex_lock(&lock);
    at = place_of(handle);
    e = *at;
    if (e)
        *at = e->next;
    pthread_mutex_unlock(&lock);
    if (!e)
        return;
    __atomic_store_n(&e->comm->stopped, 1,
                     __ATOMIC_SEQ_CST); /* or its helpers end it: open_helpers */
    ppg_end(__atomic_load_n(&e->comm->ppg, __ATOMIC_SEQ_CST), at_once);
    nccl_comm_release(e->comm);
    free(e);
}

uint64_t nccl_comm_next_child(ncclComm_t parent)
{
    uint64_t n = 0;
    struct entry *e;

    pthread_mutex_lock(&lock);
    e = *place_of(parent);
    if (e)
        n = ++e->children;
    pthread_mutex_unlock(&lock);
    return n;
}

/* NULL without memory: the other ranks then hear that this one is missing. */
static struct nccl_comm *comm_make(struct nccl_copy *copy, ncclComm_t handle, uint64_t key)
{
    struct nccl_comm *c = calloc(1, sizeof *c);
    struct entry *e = calloc(1, sizeof *e);

    if (!c || !e || copy->real.CommCount(handle, &c->nranks) != ncclSuccess ||
        copy->real.CommUserRank(handle, &c->rank) != ncclSuccess ||
        !(c->sent = calloc(2 * (size_t)c->nranks, sizeof *c->sent)) ||
        !(c->connected = calloc((size_t)c->nranks, 1))) {
        if (c)
            free(c->sent);
        free(c);
        free(e);
        return NULL;
    }
    c->copy = copy;
    c->handle = handle;
    c->key = key;
    c->users = 1;
    c->notes = -1;
    guard_open(&c->guard, 1, count_now);
    c->received = c->sent + c->nranks;
    *e = (struct entry){.handle = handle, .comm = c};
    nccl_comm_remove(handle, 1); /* one that ended unseen, at the same address */
    pthread_mutex_lock(&lock);
    struct entry **at = place_of(handle);
    e->next = *at;
    *at = e;
    pthread_mutex_unlock(&lock);
    reporter_rank(c->rank, c->nranks, key, copy->version);
    if (c->rank == 0)
        settings_complain();
    return c;
}

/* NCCL works in the context that is current when a communicator is made; kernels and events of ours
 * are of the primary one. */
static int is_elsewhere(const struct nccl_comm *c, int device)
{
    CUcontext context = NULL;
    CUdevice current;

    return c->cu->CtxGetCurrent(&context) == CUDA_SUCCESS && context && context != c->context &&
           c->cu->CtxGetDevice(&current) == CUDA_SUCCESS && current == device;
}

static void post_note(struct nccl_comm *c)
{
    struct note note = {.node_key = node_key(), .settings = settings_hash()};
    char text[NOTICE_BYTES] = {0};
    CUdevice device = 0;

    c->cu = cuda_open(CUDA_IF_LOADED);
    note.usable = c->cu && c->copy->real.CommCuDevice(c->handle, &note.device) == ncclSuccess &&
                  c->cu->DeviceGet(&device, note.device) == CUDA_SUCCESS &&
                  c->cu->DevicePrimaryCtxRetain(&c->context, device) == CUDA_SUCCESS;
    note.elsewhere = note.usable && is_elsewhere(c, device);
    note.one_queue = has_one_queue();
    note.channels = c->channels = channels_of(c);
    note.stored = nccl_stored_hash(c->copy->version);
    strncpy(note.version, c->copy->version, sizeof note.version - 1);
    memcpy(text, &note, sizeof note);
    if (c->nranks == 1)
        c->verdict = REASON_ONE_RANK;
    else if (c->nranks > COMM_RANKS_MOST)
        c->verdict = REASON_TOO_MANY;
    else if ((c->notes = notice_post(&c->board, c->key, c->nranks, c->rank, text, sizeof text)) < 0)
        c->verdict = REASON_NOT_EVERYWHERE;
}

void nccl_comm_add_by_id(struct nccl_copy *copy, ncclComm_t handle, const ncclUniqueId *id,
                         int channels)
{
    struct nccl_comm *c = comm_make(copy, handle, hash_bytes(HASH_SEED, id, sizeof *id));

    if (!c)
        return;
    c->channels = channels;
    if (notice_find(id, &c->board) < 0)
        c->verdict = REASON_NOT_EVERYWHERE;
    else
        post_note(c);
}

void nccl_comm_add_child(struct nccl_copy *copy, ncclComm_t handle, ncclComm_t parent, uint64_t nth,
                         int by, int channels)
{
    struct nccl_comm *from = nccl_comm_find(parent);
    uint64_t key = from ? nccl_comm_mix(nccl_comm_mix(from->key, nth), (uint64_t)(int64_t)by) : 0;
    struct nccl_comm *c = comm_make(copy, handle, key);

    if (c && from && from->board.length) {
        c->board = from->board;
        c->channels = channels ? channels : from->channels;
        post_note(c);
    } else if (c) {
        c->verdict = from && from->verdict ? from->verdict : REASON_UNKNOWN;
    }
    if (from)
        nccl_comm_release(from);
}

void nccl_comm_add_native(struct nccl_copy *copy, ncclComm_t handle, enum reason why)
{
    struct nccl_comm *c = comm_make(copy, handle, 0);

    if (c)
        c->verdict = why;
}

/* The others' notes --------------------------------------------------------------------------- */

static int make_topology(struct nccl_comm *c, const struct topo_report *reports)
{
    char why[256];
    int rc = settings.cfg.topology[0]
                 ? topo_parse(settings.cfg.topology, c->nranks, &c->topo, why, sizeof why)
                 : topo_from_reports(reports, c->nranks, 0, &c->topo);

    if (rc == -EINVAL && c->rank == 0)
        say(CFG_LEVEL_INFO, "COLLSHIM_TOPOLOGY for %d NCCL ranks: %s", c->nranks, why);
    return rc;
}

static enum reason judge_notes(struct nccl_comm *c, const char *notes)
{
    struct topo_report *reports = calloc((size_t)c->nranks, sizeof *reports);
    enum reason verdict = reports ? REASON_NONE : REASON_NOT_READY;
    int one_queue = 0, elsewhere = 0, several_nodes = 0, rc;
    struct note first, n;

    memcpy(&first, notes, sizeof first);
    c->stored = first.stored != 0;
    for (int r = 0; r < c->nranks && !verdict; r++) {
        memcpy(&n, notes + (size_t)r * NOTICE_BYTES, sizeof n);
        reports[r] = (struct topo_report){.node_key = n.node_key, .gpu = n.device, .world_rank = r};
        if (!n.usable)
            verdict = REASON_NOT_READY;
        else if (n.settings != first.settings ||
                 strncmp(n.version, first.version, sizeof n.version) != 0)
            verdict = REASON_DISAGREED;
        one_queue |= n.one_queue;
        elsewhere |= n.elsewhere;
        c->channels = n.channels > c->channels ? n.channels : c->channels;
        c->stored &= n.stored == first.stored;
        several_nodes |= n.node_key != first.node_key;
    }
    if (!verdict && elsewhere)
        verdict = REASON_CONTEXT;
    if (!verdict && one_queue)
        verdict = REASON_ONE_QUEUE;
    if (!verdict && several_nodes && !has_uniform_batches(c->copy->version))
        verdict = REASON_OLD;
    if (!verdict) {
        rc = make_topology(c, reports);
        verdict = rc == -EINVAL ? REASON_TOPOLOGY : rc ? REASON_NOT_READY : REASON_NONE;
        if (!rc)
            job_has_nodes(c->topo->nnodes);
    }
    free(reports);
    return verdict;
}

enum reason nccl_comm_judged(struct nccl_comm *c)
{
    char *notes;
    int fd = c->notes;

    if (fd < 0)
        return c->verdict;
    c->notes = -1;
    guard_open(&c->guard, 1, count_now);
    c->verdict = REASON_NOT_EVERYWHERE;
    notes = malloc((size_t)c->nranks * NOTICE_BYTES);
    if (!notes)
        close(fd);
    else if (notice_read(fd, c->nranks, notes, NOTICE_BYTES, &c->stopped) == 0) {
        c->verdict = judge_notes(c, notes);
        c->unconfirmed = 1;
    }
    free(notes);
    return c->verdict;
}

/* At first one rank may be far behind, since it loads or compiles longer than the others. */
static int is_time_to_confirm(struct nccl_comm *c)
{
    enum { RARER = 8, LAST = 512 };
    uint32_t call = c->unconfirmed++, n = call;

    while (n > 1 && n % RARER == 0)
        n /= RARER;
    return n == 1 && call <= LAST;
}

/* A rank without memory: the others must hear of it before they send anything. And whether a rank
 * has registered a buffer. */
static void confirm(struct nccl_comm *c)
{
    double any[] = {c->verdict != REASON_NONE, registered_hold(c)};

    if (nccl_comm_largest(c, any, 2) == 0) {
        c->unconfirmed = 0;
        c->confirmed = 1;
        if (!c->verdict)
            c->verdict = any[0] > 0   ? REASON_NOT_READY
                         : any[1] > 0 ? REASON_REGISTERED
                                      : REASON_NONE;
    }
    if (c->unconfirmed || c->verdict)
        registered_release(c);
}

/* Has a rank registered one since? The more calls there were, the rarer that is asked. */
static void look_for_registered(struct nccl_comm *c)
{
    uint64_t call = ++c->confirmed;
    double any;

    if (call & (call - 1))
        return;
    any = registered_hold(c);
    if (nccl_comm_largest(c, &any, 1) == 0 && any > 0)
        nccl_comm_keep_native(c, REASON_REGISTERED);
}

void nccl_comm_keep_native(struct nccl_comm *c, enum reason why)
{
    if (c->notes >= 0)
        close(c->notes);
    c->notes = -1;
    guard_open(&c->guard, 1, count_now);
    c->unconfirmed = 0;
    if (!c->verdict)
        c->verdict = why;
    registered_release(c);
}

enum reason nccl_comm_verdict(struct nccl_comm *c)
{
    nccl_comm_judged(c);
    if (c->unconfirmed && is_time_to_confirm(c))
        confirm(c);
    else if (!c->unconfirmed && !c->verdict)
        look_for_registered(c);
    if (__atomic_load_n(&c->stopped, __ATOMIC_ACQUIRE)) /* it ended meanwhile, and its helpers */
        return REASON_NOT_READY;
    return c->verdict ? c->verdict : c->unconfirmed ? REASON_NOT_READY : REASON_NONE;
}
